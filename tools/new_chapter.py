"""Write a new chapter that keeps every rule already, for its author to replace piece by piece.

    python tools/new_chapter.py 19_my_topic "My topic"

It runs as it is: `make notebooks NB=19` stores its outputs. What else a chapter needs is printed.
"""

import re
import sys
from pathlib import Path

import nbformat
import run_notebooks

ROOT = Path(__file__).resolve().parent.parent
# how a folded solution says so on the site
PROMPTS = {"code_prompt_show": "Show the solution", "code_prompt_hide": "Hide the solution"}
FIGURE = {
    "figure": {"name": "fig-{number}-wave", "caption": "One half period of the sine wave."},
    "image": {"alt": "A curve rises from zero to one, falls, and returns to zero."},
}

OPENING = [
    (
        "goals",
        """\
**You will be able to**

- draw a wave;
- find where it is largest;
- test that it lies between −1 and 1.

**You need** what earlier chapters gave, by name.

**Time** 2 minutes to read, about 3 seconds to run.""",
    ),
    ("setup", None),
    (
        "imports",
        """\
# @title Imports
import numpy as np

from sinpe import exercises, figures
from sinpe.tables import table""",
        "made",
    ),
    (
        "answer",
        """\
Where is a sine wave largest?

> **In short.** Where its angle is a quarter turn, about 1.57. Its value there is 1, and it is
> larger nowhere.

The next picture shows it: the curve rises up to the middle and falls behind it.""",
    ),
    (
        "figure",
        """\
# @title Draw the wave
x = np.linspace(0, np.pi, 101)
wave = np.sin(x)
figures.lines(x, {"sine": wave}, xlabel="angle (radians)", ylabel="sine")""",
        "figure",
    ),
    (
        "check",
        """\
# @title Check: the wave rises to the middle and falls behind it
assert (np.diff(wave[:51]) > 0).all()
assert (np.diff(wave[50:]) < 0).all()""",
        "check",
    ),
    (
        "text",
        """\
## A claim in words

Then its equation, $y = \\sin x$; the line that computes it; and what came out. An idea is a cell of
a few lines, in view. What is only drawn or tabulated is made by a cell whose code is folded, and
what only has to hold is asserted in a check, folded too.

**Predict** where the wave is largest, before you run the next cell.

<details><summary>Answer</summary>

At a quarter turn, $x = \\pi / 2$.

</details>""",
    ),
    (
        "values",
        """\
highest = wave.argmax()
print(f"largest: {wave[highest]:.4f} at {x[highest]:.4f}")""",
    ),
    (
        "values-check",
        """\
# @title Check: the largest value is 1, at a quarter turn
assert wave[highest] == 1
assert abs(x[highest] - np.pi / 2) < 1e-12""",
        "check",
    ),
    (
        "spread",
        """\
print(f"spread ≈{wave.std():.2f}")
assert 0.2 < wave.std() < 0.4  # behind ≈ stands what may differ between machines""",
    ),
    (
        "more",
        """\
## A second section

Say before a table what the reader will see, and after it what they saw. A heading of the table
names the unit of what is below it. Here are three angles and their sines.""",
    ),
    (
        "numbers",
        """\
# @title Tabulate three angles
columns = {"angle": "", "radians": ".3f", "sine": ".3f"}
angles = {"none": 0, "quarter turn": 50, "half turn": 100}
rows = [[name, x[i], wave[i]] for name, i in angles.items()]
table(rows, columns, caption="Three angles and their sines.")""",
        "made",
    ),
    (
        "mistakes",
        """\
## Common mistakes

**Degrees.** NumPy takes radians, so the sine of 90 is not 1. Name the mistake, and let the check
below it show how it is found.""",
    ),
    (
        "mistake",
        """\
# @title Check: the sine of 90 radians is not that of a quarter turn
assert abs(np.sin(90) - np.sin(np.pi / 2)) > 0.1""",
        "check",
    ),
    (
        "real",
        """\
## In real code

Say how published implementations do it, and where they differ from the formula:
[NumPy's sine](https://github.com/numpy/numpy/blob/main/numpy/_core/umath.py) takes arrays.""",
    ),
    ("exercises", "## Exercises"),
]
EXERCISE = [
    (
        "exercise-{n}",
        """\
### Exercise {n}: measure the gap

Write the check of this exercise into `sinpe/exercises`; this one is chapter 01's. Return the
largest entry of $|f(PX) - P f(X)|$ for a layer $f$, a matrix `x` and an `order`.""",
    ),
    (
        "stub-{n}",
        """\
def gap_{n}(layer, x, order):
    return ...


exercises.check_gap(gap_{n})""",
    ),
    (
        "solution-{n}",
        """\
# @title Solution
def gap_{n}(layer, x, order):
    return np.abs(layer(x[order]) - layer(x)[order]).max()


assert exercises.check_gap(gap_{n})""",
        "solution",
    ),
]
CLOSING = [
    (
        "test",
        """\
## Test yourself

**1.** Where is a sine wave largest?

<details><summary>Answer</summary>

Where its angle is a quarter turn.

</details>

**2.** How large is it there?

<details><summary>Answer</summary>

It is 1.

</details>

**3.** Does NumPy count angles in degrees?

<details><summary>Answer</summary>

No, in radians.

</details>""",
    ),
    (
        "recap",
        """\
## Recap

- The wave is one call of `np.sin`.
- It is largest at a quarter turn.
- It lies between −1 and 1, and a check says so.""",
    ),
    (
        "reading",
        """\
## Further reading

- [Vaswani et al. (2017), Attention Is All You Need](https://arxiv.org/abs/1706.03762): say in one
  sentence what a reader finds there.""",
    ),
]


def skeleton(name, title, launch, setup):
    """A notebook, not yet run. name: its file name; launch: the line of links to Binder and Colab;
    setup: the set-up cell's code.
    """
    number, cells = name[:2], [*OPENING]
    for n in (1, 2, 3):
        cells += [
            (identity.format(n=n), text.replace("{n}", str(n)), *kind)
            for identity, text, *kind in EXERCISE
        ]
    first = f"# {title}\n\nSay in one sentence what the reader will have after it.\n\n{launch}"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(first, id="title")])
    for identity, text, *kind in [*cells, *CLOSING]:
        if identity == "setup":
            cell = nbformat.v4.new_code_cell(setup, metadata={"tags": ["remove-cell"]})
        elif kind or _is_code(identity):
            cell = nbformat.v4.new_code_cell(text, metadata=_metadata(number, *kind))
        else:
            cell = nbformat.v4.new_markdown_cell(text)
        notebook.cells.append({**cell, "id": identity})
    return run_notebooks.clean(nbformat.from_dict(notebook))


def _is_code(identity):
    return identity in ("values", "spread") or identity.startswith("stub")


def _metadata(number, kind="idea"):
    if kind == "idea":
        return {}
    metadata = {"tags": ["hide-input" if kind in ("made", "figure") else "hide-cell"]}
    if kind == "solution":
        metadata["mystnb"] = dict(PROMPTS)
    if kind == "figure":
        figure = {**FIGURE["figure"], "name": FIGURE["figure"]["name"].format(number=number)}
        metadata["mystnb"] = {**FIGURE, "figure": figure}
    return metadata


def main(arguments, root=ROOT):
    if len(arguments) != 2 or not re.fullmatch(r"\d\d_[a-z0-9]+(_[a-z0-9]+)*", arguments[0]):
        raise SystemExit(__doc__)
    stem, title = arguments
    path = root / "notebooks" / f"{stem}.ipynb"
    others = sorted((root / "notebooks").glob("*.ipynb"))
    taken = [other.name for other in others if other.name[:3] == stem[:3]]
    if taken:
        raise SystemExit(f"the number {stem[:2]} is taken by {taken[0]}")
    # launch links and set-up cell are those of every chapter, but for the file's name
    model = nbformat.read(others[0], as_version=4)
    launch = model.cells[0].source.split("\n\n")[-1].replace(others[0].name, path.name)
    setup = next(cell.source for cell in model.cells if cell.cell_type == "code")
    path.write_text(
        nbformat.writes(skeleton(path.name, title, launch, setup)) + "\n", encoding="utf-8"
    )
    number = int(stem[:2])
    links = launch.removeprefix("Run it: ")
    print(f"""\
wrote {path.relative_to(root)}. A chapter also needs one line each:
  _toc.yml       - file: notebooks/{stem}
  book/index.md  {number}. [{title}](../notebooks/{stem}.ipynb). Afterwards you can …
  README.md      | [{number}. {title}](notebooks/{stem}.ipynb) | … | {links} |
Then: make notebooks NB={stem[:2]}""")


if __name__ == "__main__":
    main(sys.argv[1:])
