"""The chapters to hand out: all exercises, their checks, and no answer."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import hand_out as tool
import nbformat
import pytest

ROOT = Path(__file__).resolve().parent.parent
CHAPTERS = sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))


def parts(path):
    """(cells, cells to hand out, solutions) of a chapter."""
    whole = nbformat.read(path, as_version=4)
    handed_out = tool.without_solutions(whole)
    nbformat.validate(handed_out)
    solutions = [c.source for c in whole.cells if c.source.startswith("# @title Solution")]
    return whole.cells, handed_out.cells, solutions


def lines(source):
    """The lines of a function's body that say something, without comments and blanks."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            found |= {ast.unparse(statement) for statement in node.body}
    given = ("...", "return ...", "super().__init__()")
    return {line for line in found if line not in given and len(line) > 12}


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem[:2])
def test_every_exercise_is_there_and_no_solution(path):
    whole, handed_out, solutions = parts(path)
    assert solutions and len(whole) - len(handed_out) == len(solutions)
    text = "\n".join(cell.source for cell in handed_out)
    stubs = re.findall(r"^exercises\.check_\w+\(", text, re.MULTILINE)
    titles = re.findall(r"^### Exercise \d+", text, re.MULTILINE)
    assert len(titles) == len(solutions) and len(stubs) >= len(titles)
    assert "@title Solution" not in text and "Show the solution" not in str(handed_out)
    below = text[text.index("## Exercises") :]
    assert "<details" not in below and "## Test yourself" in below and "## Recap" in below
    assert [c.id for c in handed_out] == [
        c.id for c in whole if not c.source.startswith("# @title Solution")
    ]


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem[:2])
def test_no_line_of_a_solution_is_left_below_the_exercises(path):
    """What a chapter explains above them may hold the idea; the exercises and what follows may
    not.
    """
    whole, handed_out, solutions = parts(path)
    start = next(
        i for i, c in enumerate(handed_out) if re.search(r"^## Exercises$", c.source, re.MULTILINE)
    )
    left = {line for c in handed_out[start:] if c.cell_type == "code" for line in lines(c.source)}
    answers = set().union(*map(lines, solutions))
    assert answers and left & answers == set()
    printed = "\n".join(o.get("text", "") for c in handed_out[start:] for o in c.get("outputs", []))
    of_solutions = [
        o.text
        for c in whole
        if c.source.startswith("# @title Solution")
        for o in c.outputs
        if o.output_type == "stream"
    ]
    assert not any(output.strip() and output in printed for output in of_solutions)


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem[:2])
def test_nothing_that_is_left_needs_a_solution(path):
    """No cell uses a name that only a solution defines."""
    _, handed_out, solutions = parts(path)

    def defined(sources):
        return {
            name.id
            for source in sources
            for name in ast.walk(ast.parse(source))
            if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
        } | {
            node.name
            for source in sources
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.FunctionDef | ast.ClassDef)
        }

    code = [c.source for c in handed_out if c.cell_type == "code" and not c.source.startswith("%")]
    only = defined(solutions) - defined(code)
    used = {
        name.id
        for source in code
        for name in ast.walk(ast.parse(source))
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Load)
    }
    imported = {
        (a.asname or a.name).split(".")[0]
        for source in code
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for a in node.names
    }
    arguments = {
        a.arg for source in code for a in ast.walk(ast.parse(source)) if isinstance(a, ast.arg)
    }
    assert (only & used) - imported - arguments == set()


def test_the_command_writes_every_chapter(tmp_path):
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools/hand_out.py"), str(tmp_path)],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    written = tmp_path / "_build/exercises"
    assert sorted(p.name for p in written.iterdir()) == [path.name for path in CHAPTERS]
    assert str(written) in done.stdout
    notebook = nbformat.read(written / CHAPTERS[0].name, as_version=4)
    assert "# @title Solution" not in str(notebook) and "## Exercises" in str(notebook)
