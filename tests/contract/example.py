"""A small course with one notebook that keeps every rule. The tests of the rules break it in one
place at a time.
"""

import nbformat

from contract.notebook import Course, Notebook
from contract.set_up import set_up
from contract.spine import SOLUTION, launch_line

NAME = "01_small.ipynb"
CONFIG = "repository:\n  url: https://github.com/owner/name\n  branch: main\n"
TOC = (
    "format: jb-book\nroot: book/index\nparts:\n  - caption: One\n    chapters:\n      - file:"
    " notebooks/01_small\n      - file: book/notation\n"
)
FIGURE = {
    "figure": {"name": "fig-01-wave", "caption": "One period of the sine wave."},
    "image": {"alt": "A curve rises from zero, falls, and returns to zero."},
}
SVG = '<svg xmlns="http://www.w3.org/2000/svg"><path d="M 0 1"/></svg>'


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
    """The notebook as nbformat nodes; cell ids say what each cell is."""
    title = launch_line(Notebook(NAME, "", example))
    node = nbformat.v4.new_notebook(
        metadata={
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    cells = [
        ("title", f"# A small chapter\n\nAfter it you can read a wave.\n\n{title}"),
        (
            "goals",
            (
                "**You will be able to**\n\n- draw a wave\n- name its length\n- test it\n\n**You"
                " need** nothing.\n\n**Time**: 5 minutes to read, 3 seconds to run."
            ),
        ),
        ("setup", set_up("owner/name"), None, {"tags": ["remove-cell"]}),
        ("imports", "import numpy as np\n\nfrom sinpe import exercises, figures", None),
        (
            "text",
            (
                "## A wave\n\nIts value is $\\sin(x)$, see [notation](../book/notation.md#the-base)"
                " and [below](#exercises).\n\n**Predict** where it is largest."
            ),
        ),
        (
            "values",
            (
                'x = np.linspace(0, 1, 5)\nwave = np.sin(x)\nprint(f"largest:'
                ' {wave.max():.4f}")\nassert wave.argmax() == 4'
            ),
            ["largest: 0.8415\n"],
        ),
        (
            "spread",
            'print(f"spread ≈{wave.std():.2f}")\nassert 0.2 < wave.std() < 0.4',
            ["spread ≈0.30\n"],
        ),
        (
            "figure",
            (
                'assert (wave >= 0).all()\nfigures.lines(x, {"sine": wave}, xlabel="x",'
                ' ylabel="value")'
            ),
            [{"image/svg+xml": SVG, "image/png": "iVBORw0KGgo=", "text/plain": "figure"}],
            {"mystnb": FIGURE},
        ),
        (
            "more",
            "## Another thing\n\nPlain words, `code`, and more words."
            + " One sentence follows another here." * 60,
        ),
        ("mistakes", "## Common mistakes\n\nThe sine of degrees."),
        ("mistake", "assert abs(np.sin(90)) < 1", None),
        (
            "real",
            (
                "## In real code\n\n[This file](https://github.com/owner/other/blob/main/x.py)"
                " does it."
            ),
        ),
        ("exercises", "## Exercises"),
    ]
    for number in (1, 2, 3):
        cells += [
            (f"exercise-{number}", f"### Exercise {number}: a wave\n\nDraw it."),
            (
                f"stub-{number}",
                f"def wave_{number}(x):\n    ...\n\n\nexercises.check_wave(wave_{number})",
                [{"text/plain": "Not attempted: replace the `...`."}],
            ),
            (
                f"solution-{number}",
                (
                    f"# @title Solution\ndef wave_{number}(x):\n    return np.sin(x)\n\n\nassert"
                    f" exercises.check_wave(wave_{number})"
                ),
                None,
                SOLUTION,
            ),
        ]
    cells += [
        ("recap", "## Recap\n\n- You drew a wave.\n- You named its length.\n- You tested it.\n"),
        (
            "reading",
            (
                "## Further reading\n\n- Author, 2017, [A paper](https://arxiv.org/abs/1706.03762):"
                " the source."
            ),
        ),
    ]
    count = 0
    for name, source, *rest in cells:
        if not rest:
            node.cells.append(nbformat.v4.new_markdown_cell(source.rstrip("\n"), id=name))
            continue
        count += 1
        outputs, metadata = (
            [output(shown, count, rest[1:]) for shown in rest[0] or []],
            nbformat.from_dict(rest[1] if len(rest) > 1 else {}),
        )
        node.cells.append(
            nbformat.v4.new_code_cell(
                source, id=name, metadata=metadata, execution_count=count, outputs=outputs
            )
        )
    return node


def output(shown, count, metadata=()):
    """A stream from a text; the value of a cell from a dict of kinds."""
    if isinstance(shown, str):
        return nbformat.v4.new_output("stream", name="stdout", text=shown)
    alt = (
        {"alt": metadata[0]["mystnb"]["image"]["alt"]}
        if metadata and "image" in metadata[0].get("mystnb", {})
        else {}
    )
    return nbformat.v4.new_output(
        "execute_result",
        data=shown,
        execution_count=count,
        metadata={kind: dict(alt) for kind in shown if kind.startswith("image/")},
    )
