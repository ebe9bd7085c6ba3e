"""What the tests share: where things are, a fresh Python process, and reproducible
hypothesis runs.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

ROOT = Path(__file__).resolve().parent.parent
# run_notebooks and check_notebooks are tested as modules too
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests")]

import pages
import said_once
from browser import chromium
from explorer_pages import opened
from scratch import settle

# The same examples on every machine, and no limit in seconds: a busy machine is slow.
settings.register_profile(
    "course", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("course")
# For tools/mutants.py: whether a test fails, not the smallest example of how.
settings.register_profile(
    "mutants",
    settings.get_profile("course"),
    max_examples=30,
    phases=[Phase.explicit, Phase.generate],
)


def pytest_configure(config):
    config.pluginmanager.register(said_once)
    config.pluginmanager.register(pages)
    if not hasattr(config, "workerinput"):  # the other processes inherit it
        folder = tempfile.TemporaryDirectory()
        config.add_cleanup(folder.cleanup)
        settle(folder.name)


@pytest.fixture(scope="session")
def root():
    """The repository's folder."""
    return ROOT


@pytest.fixture(scope="session")
def run_python():
    """run_python(code_or_arguments, **environment) -> what a fresh Python process printed; fails if
    the process does.
    """

    def run(code, *arguments, **environment):
        environment = {**os.environ, "PYTHONUTF8": "1", **environment}
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            capture_output=True,
            text=True,
            encoding="utf-8",
            env=environment,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """The package as somebody installs it from the repository, built from a copy."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE", "LICENSE-text"):
        shutil.copy(ROOT / name, folder)
    shutil.copytree(ROOT / "sinpe", folder / "sinpe", ignore=shutil.ignore_patterns("__pycache__"))
    code = "from setuptools import build_meta; print(build_meta.build_wheel('dist'))"
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return folder / "dist" / done.stdout.splitlines()[-1]


@pytest.fixture(scope="session")
def foreign_kernel(tmp_path_factory):
    """A folder for JUPYTER_PATH with a kernel that is called python3, as ours is, and belongs to a
    Python that cannot start.
    """
    folder = tmp_path_factory.mktemp("jupyter")
    spec = folder / "kernels" / "python3" / "kernel.json"
    spec.parent.mkdir(parents=True)
    spec.write_text(
        json.dumps(
            {
                "argv": [str(folder / "no-such-python"), "{connection_file}"],
                "display_name": "Python 3",
                "language": "python",
            }
        )
    )
    return str(folder)


@pytest.fixture(scope="module")
def one_thread():
    """One thread for torch, as in the runs of a study, so that losses agree to the last digit."""
    import torch  # most tests do not need it

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def browser():
    """A headless Chromium."""
    with chromium() as browser:
        yield browser


@pytest.fixture
def show(browser, tmp_path):
    """show(html, width=…, theme=…) -> a page with this body: see explorer_pages."""
    contexts = []
    yield opened(browser, tmp_path, contexts)
    for context in contexts:
        context.close()
