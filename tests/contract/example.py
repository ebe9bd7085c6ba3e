"""A small course with one notebook that keeps every rule. The tests of the rules break it in one
place at a time.
"""

import nbformat
from new_chapter import FIGURE as DRAWN
from new_chapter import skeleton

from contract.notebook import SETUP, Course, Notebook
from contract.spine import launch_line

NAME = "01_small.ipynb"
CONFIG = "repository:\n  url: https://github.com/owner/name\n  branch: main\n"
TOC = (
    "format: jb-book\nroot: book/index\nparts:\n  - caption: One\n    chapters:\n      - file:"
    " notebooks/01_small\n      - file: book/notation\n"
)
FIGURE = {**DRAWN, "figure": {**DRAWN["figure"], "name": "fig-01-wave"}}
SVG = '<svg xmlns="http://www.w3.org/2000/svg"><path d="M 0 1"/></svg>'
SHOWN = {  # what the cells show
    "figure": {"image/svg+xml": SVG, "image/png": "iVBORw0KGgo=", "text/plain": "figure"},
    "values": "largest: 1.0000 at 1.5708\n",
    "spread": "spread ≈0.31\n",
    "numbers": {
        "text/html": "<table><caption>Three angles.</caption></table>",
        "text/plain": "Three angles.",
    },
}
NOT_ATTEMPTED = {"text/plain": "Not attempted: replace the `...`."}


def course(folder):
    """The example course, written into an empty folder."""
    for name, text in {
        "_config.yml": CONFIG,
        "_toc.yml": TOC,
        "book/index.md": "# Start\n",
        "book/notation.md": "# Notation\n\n## The base\n\n(the-label)=\n",
    }.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "notebooks").mkdir()
    (folder / "notebooks" / NAME).write_text(text_of(nodes(Course(folder))), encoding="utf-8")
    return Course(folder)


def text_of(node):
    return nbformat.v4.writes(nbformat.from_dict(node)) + "\n"


def find(node, name):
    """The cell with this id."""
    return next(cell for cell in node.cells if cell.id == name)


def nodes(example):
    """The skeleton of a new chapter as it is after a run; cell ids say what each cell is."""
    launch = launch_line(Notebook(NAME, "", example))
    setup = SETUP.format(repository=example.repository)
    node = skeleton(NAME, "A small chapter", launch, setup)
    count = 0
    for cell in node.cells:
        if cell.cell_type == "code":
            count += 1
            shown = SHOWN.get(cell.id, NOT_ATTEMPTED if cell.id.startswith("stub") else None)
            cell.execution_count = count
            cell.outputs = [output(shown, count, cell.metadata)] if shown else []
    return node


def output(shown, count, metadata=None):
    """A stream from a text; the value of a cell from a dict of kinds."""
    if isinstance(shown, str):
        return nbformat.v4.new_output("stream", name="stdout", text=shown)
    alt = (metadata or {}).get("mystnb", {}).get("image", {}).get("alt")
    return nbformat.v4.new_output(
        "execute_result",
        data=shown,
        execution_count=count,
        metadata={kind: {"alt": alt} for kind in shown if alt and kind.startswith("image/")},
    )
