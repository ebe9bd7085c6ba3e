"""Write the chapters without the solutions of their exercises, to hand out.

    python tools/hand_out.py          # to _build/exercises
    python tools/hand_out.py /tmp     # to /tmp/_build/exercises

Left out are the cells with solutions, and the folded answers below the heading Exercises. The
answers to what a chapter lets its reader predict stay: the next paragraph tells them anyway.
"""

import re
import shutil
import sys
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parent.parent
SOLUTION = "# @title Solution"
ANSWER = re.compile(r"\n*<details>.*?</details>", re.DOTALL)


def without_solutions(notebook):
    """A copy of a notebook, to hand out."""
    handed_out, exercises = nbformat.from_dict(notebook), False
    handed_out.cells = []
    for cell in notebook.cells:
        if cell.source.startswith(SOLUTION):
            continue
        cell = nbformat.from_dict(cell)
        exercises |= cell.cell_type == "markdown" and bool(
            re.search(r"^## Exercises$", cell.source, re.MULTILINE)
        )
        if exercises and cell.cell_type == "markdown":
            cell.source = ANSWER.sub("", cell.source)
        handed_out.cells.append(cell)
    return handed_out


def main(folder="."):
    target = (ROOT / folder).resolve() / "_build/exercises"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    chapters = sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))
    for path in chapters:
        notebook = without_solutions(nbformat.read(path, as_version=4))
        nbformat.write(notebook, target / path.name)
    print(f"{len(chapters)} chapters without solutions: {target}")


if __name__ == "__main__":
    main(*sys.argv[1:])
