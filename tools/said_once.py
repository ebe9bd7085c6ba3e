"""A hook for pytest: a file that cannot be read is reported once. Where tests run in two processes,
each of them reports it.
"""

import pytest


@pytest.hookimpl(tryfirst=True)  # before the report is written
def pytest_sessionfinish(session):
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter and "error" in reporter.stats:
        errors = {(e.nodeid, e.when, e.longreprtext): e for e in reporter.stats["error"]}
        reporter.stats["error"] = list(errors.values())
