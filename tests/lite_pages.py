"""What the tests of the browser edition share: one built by the command that people use, and Python
for it that needs no foreign server.

Pyodide's program comes from npm and the kernel's own packages from pip, of the releases that the
edition names. NumPy for the browser is in no registry: empty packages stand for it and its like.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

import environment
import pytest

ROOT = Path(__file__).resolve().parent.parent
EXTENSION = "extensions/@jupyterlite/pyodide-kernel-extension/static"
KERNEL = "@jupyterlite/pyodide-kernel-extension:kernel"
OWN = ("ipython", "jedi", "micropip", "packaging")  # what the kernel asks of the mirror


def built(folder):
    """The edition in a new folder; skips where its extra is not installed."""
    if not find_spec("jupyterlite_core"):
        pytest.skip("the extra `lite` is not installed")
    command = [sys.executable, str(ROOT / "tools/build_lite.py"), str(folder)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "_build/lite"


def mirror(edition):
    """(address, release) of the Pyodide that the edition asks for."""
    schema = (edition / EXTENSION / "schema/kernel.v0.schema.json").read_text(encoding="utf-8")
    address = json.loads(schema)["properties"]["pyodideUrl"]["default"]
    return address, re.fullmatch(r"https://[\w.]+/pyodide/v([\d.]+)/full/pyodide.mjs", address)[1]


def fetched(command, folder, what):
    """Run a program that brings files into a folder. Without a network the test is skipped, or
    fails where CI is set.
    """
    done = subprocess.run(command, check=False, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(
            f"{what} cannot be had here: {done.stderr[-500:]}"
        )


def alone(edition):
    """Give the edition a Python of its own, so that it asks nothing of the mirror."""
    if not shutil.which("npm"):
        pytest.skip("npm is not installed, and Pyodide is in no other registry")
    folder = edition / "static/pyodide"
    folder.mkdir(parents=True, exist_ok=True)
    release = mirror(edition)[1]
    fetched(["npm", "pack", "--silent", f"pyodide@{release}"], folder, f"Pyodide {release}")
    with tarfile.open(folder / f"pyodide-{release}.tgz") as archive:
        for member in archive.getmembers():
            name = member.name.removeprefix("package/")
            if re.fullmatch(
                r"pyodide(\.asm)?\.(mjs|wasm)|pyodide-lock.json|python_stdlib.zip", name
            ):
                (folder / name).write_bytes(archive.extractfile(member).read())
    lock = folder / "pyodide-lock.json"
    listed = json.loads(lock.read_text(encoding="utf-8"))
    wheels = kernels_own(listed["packages"])
    pins = [
        f"{listed['packages'][name]['name']}=={listed['packages'][name]['version']}"
        for name in wheels
    ]
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    python = listed["info"]["python"].rpartition(".")[0]
    fetched([*pip, f"--python-version={python}", *pins], folder, "what the kernel imports")
    for name in environment.lower_bounds():
        if name != "torch":
            stub(folder, listed["packages"][name])
            wheels.append(name)
    for name in wheels:
        package = listed["packages"][name]
        package["sha256"] = sha256((folder / package["file_name"]).read_bytes()).hexdigest()
    listed["packages"] = {name: listed["packages"][name] for name in wheels}
    lock.write_text(json.dumps(listed), encoding="utf-8")
    path = edition / "jupyter-lite.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    plugin = config["jupyter-config-data"]["litePluginSettings"][KERNEL]
    plugin |= {"pyodideUrl": "./static/pyodide/pyodide.mjs", "disablePyPIFallback": True}
    path.write_text(json.dumps(config), encoding="utf-8")


def kernels_own(packages):
    """Names of the packages that the kernel needs, with what those need."""
    names = list(OWN)
    for name in names:
        for other in packages[name]["depends"]:
            if (key := other.lower().replace("_", "-")) not in names:
                names.append(key)
    return names


def stub(folder, package):
    """Write an empty package in the place of one that only the mirror has."""
    name, version = package["name"].lower(), package["version"]
    package |= {"file_name": f"{name}-{version}-py3-none-any.whl", "depends": []}
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / package["file_name"], "w") as wheel:
        wheel.writestr(f"{name}/__init__.py", "")
        wheel.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")
