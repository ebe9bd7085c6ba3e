"""Build the browser edition into _build/lite: JupyterLite with the chapters that need no PyTorch,
which Python runs inside the reader's browser.

    python tools/build_lite.py             # to _build/lite, and beside the pages of a built site
    python tools/build_lite.py /tmp        # to /tmp/_build/lite, …
    python tools/build_lite.py . --place   # only put what is built beside the pages

A chapter belongs to it if its notebook says so: `"lite": true` in the metadata. Nothing is
downloaded here. The program comes from the packages jupyterlite-core and jupyterlite-pyodide-kernel
and `sinpe` from this folder; a reader's browser fetches Python and NumPy from Pyodide's public
mirror, of the one release that the kernel's package names.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import distribution
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import third_party
import yaml
from build_slides import published
from environment import lower_bounds
from scratch import settle

ROOT = Path(__file__).resolve().parent.parent
KERNEL = "@jupyterlite/pyodide-kernel-extension:kernel"
# from the folder of the script that starts Python, against which the browser reads addresses
WHEELS = "../../../../pypi"
# book/_ext/lite.py hides the button between these marks, and place() takes them away
HIDDEN = ("<!--lite ", " lite-->")
LINK = re.compile(r"\]\((?:\.\./)?((?:book/)?)([\w-]+)\.(?:ipynb|md)(#[^)]*)?\)")
MADE_HERE = re.compile(r".*__pycache__|.*/(INSTALLER|REQUESTED|direct_url\.json|RECORD)$")


def chapters(root=ROOT):
    """The notebooks that say that they run in a browser, in reading order: {name: notebook}."""
    found = {}
    for path in sorted((root / "notebooks").glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        if notebook["metadata"].get("lite"):
            found[path.stem] = notebook
    return found


def with_links(text, names, base):
    """Markdown in which links to pages that are not in the edition lead to the published site."""

    def moved(match):
        folder, name, anchor = match[1] or "notebooks/", match[2], match[3] or ""
        return match[0] if name in names else f"]({base}{folder}{name}.html{anchor})"

    return LINK.sub(moved, text)


def stage(folder, base):
    """Write the chapters into a folder, as the edition offers them. Returns their names."""
    folder.mkdir(parents=True)
    found = chapters()
    for name, notebook in found.items():
        for cell in notebook["cells"]:
            if cell["cell_type"] == "markdown":
                text = with_links("".join(cell["source"]), found, base)
                cell["source"] = text.splitlines(keepends=True)
        text = json.dumps(notebook, ensure_ascii=False, indent=1)
        (folder / f"{name}.ipynb").write_text(text + "\n", encoding="utf-8")
    return list(found)


def own_wheel(folder):
    """Build sinpe into a folder, from a copy of what it is made of, but without the records of the
    studies, most of its weight, which only PyTorch can read. Returns the wheel's name.
    """
    with tempfile.TemporaryDirectory() as scratch:
        for name in ("pyproject.toml", "README.md", "LICENSE", "LICENSE-text"):
            shutil.copy(ROOT / name, scratch)
        leave = shutil.ignore_patterns("__pycache__", "results")
        shutil.copytree(ROOT / "sinpe", Path(scratch, "sinpe"), ignore=leave)
        code = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
        command = [sys.executable, "-c", code, str(folder)]
        done = subprocess.run(command, check=False, cwd=scratch, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"the wheel of sinpe was not built:\n{done.stderr[-3000:]}")
    (wheel,) = folder.glob("sinpe-*.whl")
    return wheel.name


def packed(name, folder):
    """Make a wheel of a package in pure Python that is installed here: what its own wheel held."""
    there = distribution(name)
    if "Root-Is-Purelib: true" not in there.read_text("WHEEL"):
        raise ValueError(f"{name} {there.version} is not pure Python")
    record = f"{name}-{there.version}.dist-info/RECORD"
    kept = [file.as_posix() for file in there.files if not MADE_HERE.match(file.as_posix())]
    with ZipFile(folder / f"{name}-{there.version}-py3-none-any.whl", "w", ZIP_DEFLATED) as wheel:
        for file in kept:
            wheel.write(there.locate_file(file), file)
        wheel.writestr(record, "".join(f"{file},,\n" for file in [*kept, record]))


def settings(wheel, title):
    """jupyter-lite.json: Python starts with sinpe and what that imports, so the first cell of a
    chapter finds everything in place.
    """
    needed = [name for name in lower_bounds() if name != "torch"]
    preloaded = {"loadPyodideOptions": {"packages": [*needed, f"{WHEELS}/{wheel}"]}}
    return {
        "jupyter-lite-schema-version": 0,
        "jupyter-config-data": {
            "appName": title,
            "appUrl": "./tree",
            "faviconUrl": "./tree/favicon.ico",
            "exposeAppInBrowser": True,  # for tools/check_lite.py
            "litePluginSettings": {KERNEL: preloaded},
        },
    }


def build(target):
    """Write the edition into a folder, and return the names of its chapters."""
    base, _ = published()
    title = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["title"]
    with tempfile.TemporaryDirectory() as scratch:
        settle(scratch)
        lite = Path(scratch, "lite")
        names = stage(lite / "contents/notebooks", base)
        (lite / "pypi").mkdir()
        wheel = own_wheel(lite / "pypi")
        packed("comm", lite / "pypi")  # the kernel needs it, and Pyodide does not bring it
        text = json.dumps(settings(wheel, title), indent=2)
        (lite / "jupyter-lite.json").write_text(text, encoding="utf-8")
        code = "from jupyterlite_core.app import main; main()"
        words = "build --apps notebooks --apps tree --contents contents --no-sourcemaps".split()
        command = [sys.executable, "-c", code, *words, "--lite-dir", str(lite)]
        command += ["--output-dir", str(lite / "site")]
        done = subprocess.run(command, check=False, cwd=lite, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"the browser edition was not built:\n{(done.stdout + done.stderr)[-3000:]}")
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(lite / "site", target)
    return names


def place(folder):
    """Copy the built edition beside the pages of a built site, and show its button on the chapters
    that it holds; nothing where either is missing.
    """
    lite, html = folder / "_build/lite", folder / "_build/html"
    if (lite / "index.html").is_file() and (html / "index.html").is_file():
        shutil.rmtree(html / "lite", ignore_errors=True)
        shutil.copytree(lite, html / "lite")
        third_party.place(html)
        for path in sorted((lite / "files/notebooks").glob("*.ipynb")):
            page = html / "notebooks" / f"{path.stem}.html"
            text = page.read_text(encoding="utf-8")
            for mark in HIDDEN:
                text = text.replace(mark, "")
            page.write_text(text, encoding="utf-8")
        print(f"Browser edition: {(html / 'lite').as_uri()}, once it is served (make serve)")


def main(folder=".", *options):
    folder = (ROOT / folder).resolve()
    if options not in ((), ("--place",)):
        sys.exit(f"options are --place or none, got {' '.join(options)}")
    if not options:
        names = build(folder / "_build/lite")
        size = sum(f.stat().st_size for f in (folder / "_build/lite").rglob("*") if f.is_file())
        print(f"{len(names)} chapters that run in a browser, {size / 1e6:.0f} MB: _build/lite")
    place(folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
