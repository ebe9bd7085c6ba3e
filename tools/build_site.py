"""Build the site with warnings as errors, check that every page of _toc.yml was really built, and
say where to open it.

    python tools/build_site.py          # to _build/html
    python tools/build_site.py /tmp     # to /tmp/_build/html
    python tools/build_site.py . --zip  # and once more as _build/site.zip, to be handed on

A build that reuses older pages does not repeat their warnings, so everything is read again each
time; that takes seconds, since notebooks are not executed here (`make test` does that).
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import third_party
import yaml
from scratch import settle

ROOT = Path(__file__).resolve().parent.parent


class StrictLoader(yaml.SafeLoader):
    """YAML in which a repeated key is an error: it would silently replace what came before."""

    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key, deep=deep) for key, _ in node.value]
        repeated = sorted({str(key) for key in keys if keys.count(key) > 1})
        if repeated:
            raise yaml.constructor.ConstructorError(
                None, None, f"repeated key: {', '.join(repeated)}", node.start_mark
            )
        return super().construct_mapping(node, deep)


def read(path):
    """A YAML file."""
    return yaml.load(Path(path).read_text(encoding="utf-8"), StrictLoader)


def pages(toc):
    """Every page of a table of contents, in reading order."""
    if isinstance(toc, list):
        return [page for item in toc for page in pages(item)]
    if not isinstance(toc, dict):
        return []
    own = [toc[key] for key in ("root", "file") if key in toc]
    return own + [page for key in ("parts", "chapters", "sections") for page in pages(toc.get(key))]


def missing(toc, html):
    """Pages that were not built, in words; those listed twice too."""
    listed = pages(toc)
    problems = [
        f"{page}: stands {listed.count(page)} times in _toc.yml"
        for page in dict.fromkeys(listed)
        if listed.count(page) > 1
    ]
    for page in dict.fromkeys(listed):
        built = html / f"{page}.html"
        if not built.is_file() or "</html>" not in built.read_text(encoding="utf-8"):
            problems.append(f"{page}: {built} was not built")
    return problems


def build(folder, builder="html"):
    """Run Jupyter Book. Old pages are removed first, so that what is there afterwards was built
    now.
    """
    shutil.rmtree(folder / "_build" / builder, ignore_errors=True)
    command = [
        "build",
        str(ROOT),
        "--path-output",
        str(folder),
        "--builder",
        builder,
        "-W",
        "-n",
        "--keep-going",
        "--all",
    ]
    return subprocess.run(
        [sys.executable, "-c", "from jupyter_book.cli.main import main; main()", *command],
        check=False,
        cwd=ROOT,
    ).returncode


def main(folder=".", zipped=""):
    if zipped not in ("", "--zip"):
        sys.exit(f"usage: python tools/build_site.py [folder [--zip]], got {zipped!r}")
    folder = (ROOT / folder).resolve()
    html = folder / "_build/html"
    _, toc = read(ROOT / "_config.yml"), read(ROOT / "_toc.yml")
    with tempfile.TemporaryDirectory() as scratch:
        settle(scratch)
        failed = build(folder)
    if failed:
        sys.exit("the site was not built: see the warnings above, which are errors here")
    problems = missing(toc, html)
    if problems:
        sys.exit("\n".join(problems))
    third_party.place(html)
    print(f"{len(pages(toc))} pages. Open {(html / 'index.html').as_uri()}")
    if zipped:
        print(shutil.make_archive(str(html.parent / "site"), "zip", html))


if __name__ == "__main__":
    main(*sys.argv[1:])
