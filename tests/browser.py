"""A real Chromium and a local web server, for the tests that look at pages."""

import os
from contextlib import contextmanager

import pytest
from chromium import FLAGS, chromium_path, served

__all__ = ["chromium", "served", "watch"]
PATIENCE = 600_000  # ms until a page counts as hanging: many notebooks may be running beside it


@contextmanager
def chromium():
    """A headless browser. Without one the test is skipped, or fails where CI is set, since there it
    must not go unnoticed.
    """
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = chromium_path(playwright)
        if path is None:
            (pytest.fail if os.environ.get("CI") else pytest.skip)(
                "no Chromium: install it, or name it in the environment variable CHROMIUM"
            )
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS, timeout=PATIENCE)
        try:
            yield browser
        finally:
            browser.close()


def watch(page, address):
    """A list that fills with what a page must not do: requests elsewhere, console warnings and
    errors, uncaught errors, failed requests. From now on the page is given time.
    """
    page.set_default_timeout(PATIENCE)
    problems = []
    page.on(
        "request",
        lambda r: (
            problems.append(f"request to {r.url}")
            if not r.url.startswith((address, "data:", "blob:"))
            else None
        ),
    )
    # the icon is still on its way when a page is left at once
    page.on(
        "requestfailed",
        lambda r: (
            problems.append(f"failed request for {r.url}")
            if not (r.url.endswith("favicon.svg") and r.failure == "net::ERR_ABORTED")
            else None
        ),
    )
    page.on(
        "response",
        lambda r: problems.append(f"{r.status} for {r.url}") if r.status >= 400 else None,
    )
    page.on(
        "console",
        lambda m: (
            problems.append(f"console {m.type}: {m.text}")
            if m.type in ("error", "warning")
            else None
        ),
    )
    page.on("pageerror", lambda e: problems.append(f"uncaught: {e}"))
    return problems
