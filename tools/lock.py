"""Write constraints.txt: the newest versions that pyproject.toml allows, as pip would install them
into an empty environment.

    python tools/lock.py            # torch stays at the release that is locked
    python tools/lock.py 2.14.0     # torch moves to this one

It is made with the oldest Python that the package supports, since a release that still runs there
also runs on newer ones. Nothing is installed. Left out are the CUDA libraries, which an ordinary
build of torch pins by itself on Linux.
"""

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "constraints.txt"
HEADER = """\
# Exact versions with which the site is built and tested. Written by `make lock`; do not edit.
# Use: pip install -c constraints.txt -e ".[book,test]"
"""
CUDA = re.compile(r"(nvidia|cuda)-|triton$")


def canonical(name):
    """A distribution's name as the lock writes it: PyYAML -> pyyaml, ruamel.yaml -> ruamel-yaml."""
    return re.sub(r"[-_.]+", "-", name).lower()


def locked():
    """The lock as a dict: {"numpy": "2.4.6", …}."""
    return dict(
        line.split("==")
        for line in LOCK.read_text(encoding="utf-8").splitlines()
        if "==" in line and not line.startswith("#")
    )


def resolve(torch):
    """What pip would install with every extra and this release of torch."""
    extras = ",".join(
        tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
            "optional-dependencies"
        ]
    )
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        pip = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--disable-pip-version-check",
            "--dry-run",
            "--ignore-installed",
            "--report",
            str(report),
        ]
        subprocess.run([*pip, f"{ROOT}[{extras}]", f"torch=={torch}"], check=True)
        found = [
            item["metadata"] for item in json.loads(report.read_text(encoding="utf-8"))["install"]
        ]
    # "2.13.0+cpu" is the same release as "2.13.0"
    pins = {canonical(item["name"]): item["version"].split("+")[0] for item in found}
    return {name: pins[name] for name in sorted(pins) if name != "sinpe" and not CUDA.match(name)}


def main(arguments):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    oldest = project["requires-python"].removeprefix(">=")
    if ".".join(map(str, sys.version_info[:2])) != oldest:
        sys.exit(
            f"the lock is made with Python {oldest}, the oldest that is supported, and this is"
            f" {sys.version.split()[0]}: PYTHON=python{oldest} make lock"
        )
    pins = resolve(*arguments or [locked()["torch"]])
    LOCK.write_text(
        HEADER + "".join(f"{name}=={version}\n" for name, version in pins.items()), encoding="utf-8"
    )
    print(f"{LOCK.name}: {len(pins)} versions")


if __name__ == "__main__":
    main(sys.argv[1:])
