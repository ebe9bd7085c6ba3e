"""The set-up cell: the first code cell of every notebook, the same in all of them.

Where sinpe is there it does nothing and prints nothing; a folder of this name beside the notebook,
a clone say, is found too, but has no origin. Elsewhere it installs sinpe with what that needs, and
holds pip to the version of everything that is installed: a package that the kernel has loaded must
not be replaced under it. Where pip cannot do that, the cell says so in one sentence and ends as an
error, which keeps the cells below from running.

    python tests/contract/set_up.py    # write it into all notebooks, after a change here
"""

from pathlib import Path

import nbformat
import yaml

SOURCE = r"""# @title Set-up: installs sinpe where it is missing. Run this cell first
from importlib.util import find_spec

# What is installed already keeps its version
if not getattr(find_spec("sinpe"), "origin", None):
    import os
    import re
    import sys
    import tempfile
    from pathlib import Path
    from subprocess import run

    home = "git+https://github.com/OWNER/NAME"
    guide = "https://OWNER.github.io/NAME/book/how-to-run.html#when-the-first-cell-fails"
    source = os.environ.get("SINPE_SOURCE") or home

    class NotInstalled(Exception):
        def _render_traceback_(self):  # the sentence without a traceback
            return [str(self)]

    def pip(*words):
        command = [sys.executable, "-m", "pip", "--no-color", *words]
        return run(command, check=False, capture_output=True, errors="replace")

    print(f"Installing sinpe from {source}")
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder, "kept.txt")
        kept.write_text(pip("list", "--format=freeze").stdout)
        done = pip("install", "--no-input", f"--constraint={kept}", source)
    if done.returncode:
        output = done.stdout + done.stderr
        said = re.findall(r".*(?:depends on|\(constraint\)).*", output)
        said = said or re.findall(r".*(?:fatal:|ERROR:|No module).*", output)
        why = "; ".join(map(str.strip, said or ["pip gives no reason"]))
        what = f"sinpe could not be installed from {source} ({why})"
        raise NotInstalled(f"{what}: set SINPE_SOURCE to another place, or see {guide}")"""


def set_up(repository):
    """The source of the cell in the course at owner/name."""
    owner, name = repository.split("/")
    return SOURCE.replace("OWNER", owner).replace("NAME", name)


def write(root):
    """Put the cell into every notebook of the course at root, in place of the set-up cell that is
    there. Returns the names of those that changed.
    """
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    source = set_up(config["repository"]["url"].removeprefix("https://github.com/"))
    changed = []
    for path in sorted((root / "notebooks").glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        first = next(cell for cell in notebook.cells if cell.cell_type == "code")
        if first.metadata.get("tags") == ["remove-cell"] and first.source != source:
            first.source = source
            path.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")
            changed.append(path.name)
    return changed


if __name__ == "__main__":
    print("\n".join(write(Path(__file__).resolve().parents[2])) or "nothing to do")
