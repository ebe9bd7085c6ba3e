"""Where a Chromium is, for the tools and the tests that need one."""

import os
import shutil
from pathlib import Path

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def chromium_path(playwright):
    """The browser named in CHROMIUM, on the path, or playwright's own; None if there is none."""
    names = [
        os.environ.get("CHROMIUM"),
        "chromium",
        "chromium-browser",
        "google-chrome",
        "google-chrome-stable",
    ]
    found = [shutil.which(name) for name in names if name] + [playwright.chromium.executable_path]
    return next((path for path in found if path and Path(path).exists()), None)
