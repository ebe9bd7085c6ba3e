"""The test of the tests: change one stored number in a copy of a notebook, and nbval must notice.

nbval's own comparison is fed stored outputs, so chapters need not run again for it. One small
notebook goes the whole way.
"""

import copy
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import run_notebooks
from contract import Course
from nbval.plugin import IPyNbFile, coalesce_streams, get_sanitize_patterns

ROOT = Path(__file__).resolve().parent.parent
COURSE = Course(ROOT)
NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?")
FEWEST = 20  # numbers a chapter must show for its comparison to mean anything


@pytest.fixture
def nbval_cells(request, monkeypatch):
    """nbval_cells(path) -> nbval's own items for a notebook, with the course's replacements, as
    `pytest --nbval` would make them.
    """
    monkeypatch.setattr(request.config.option, "nbval_lax", False)
    monkeypatch.setattr(request.config.option, "nbval", True)

    def collect(path):
        file = IPyNbFile.from_parent(request.session, path=path)
        file.sanitize_patterns.update(
            get_sanitize_patterns((ROOT / "tests" / "nbval.cfg").read_text(encoding="utf-8"))
        )
        return list(file.collect())

    return collect


def texts(outputs):
    """[(container, key)] of every text in these outputs that nbval compares."""
    found = []
    for output in outputs:
        if output.output_type == "stream":
            found.append((output, "text"))
        else:
            found += [
                (output.data, kind) for kind in output.get("data", {}) if kind.startswith("text/")
            ]
    return found


def changes(outputs):
    """Yield (number, behind ≈ or not, copy of the outputs in which its last digit differs) for
    every number in a text of these outputs.
    """
    for place, (container, key) in enumerate(texts(outputs)):
        text = container[key]
        for found in NUMBER.finditer(text):
            mantissa = found.end() if "e" not in found[0] else found.start() + found[0].index("e")
            other = str((int(text[mantissa - 1]) + 1) % 10)
            changed = copy.deepcopy(outputs)
            target, kind = texts(changed)[place]
            target[kind] = text[: mantissa - 1] + other + text[mantissa:]
            yield found[0], text[: found.start()].endswith(("≈", "≈-", "≈−", "≈+")), changed


@pytest.mark.parametrize("name", COURSE.stored)
def test_every_stored_number_is_compared(name, nbval_cells, tmp_path):
    compared, approximate = 0, 0
    for cell in nbval_cells(Path(shutil.copy(ROOT / "notebooks" / name, tmp_path))):
        assert cell.options["check"] and not cell.options["skip"], (
            f"{name}, In [{cell.cell_num + 1}]: is exempt from comparison"
        )
        assert cell.cell.execution_count is not None, (
            f"{name}, In [{cell.cell_num + 1}]: has no execution count, so nbval skips it"
        )
        stored = coalesce_streams(copy.deepcopy(cell.cell.outputs))
        assert cell.compare_outputs(copy.deepcopy(stored), copy.deepcopy(stored)), (
            f"{name}, In [{cell.cell_num + 1}]: does not equal itself"
        )
        for number, behind_sign, changed in changes(stored):
            same = cell.compare_outputs(copy.deepcopy(stored), changed)
            assert same == behind_sign, f"{name}, In [{cell.cell_num + 1}]: changing {number} " + (
                "behind ≈ is refused" if behind_sign else "goes unnoticed"
            )
            compared, approximate = compared + (not behind_sign), approximate + behind_sign
    assert compared >= FEWEST, (
        f"{name}: only {compared} numbers are compared, {approximate} stand behind ≈: print more"
        " results, as numbers"
    )
    assert approximate <= compared, (
        f"{name}: {approximate} numbers stand behind ≈ and only {compared} are compared: round"
        " instead, or print verdicts"
    )


@pytest.mark.parametrize("name", COURSE.stored)
def test_every_stored_output_is_compared(name, nbval_cells, tmp_path):
    for cell in nbval_cells(Path(shutil.copy(ROOT / "notebooks" / name, tmp_path))):
        stored = coalesce_streams(copy.deepcopy(cell.cell.outputs))
        warning = nbformat.v4.new_output("stream", name="stderr", text="UserWarning: new")
        assert not cell.compare_outputs([*copy.deepcopy(stored), warning], copy.deepcopy(stored)), (
            f"{name}, In [{cell.cell_num + 1}]: a new warning goes unnoticed"
        )
        for number in range(len(stored)):
            fewer = copy.deepcopy(stored[:number] + stored[number + 1 :])
            assert not cell.compare_outputs(fewer, copy.deepcopy(stored)), (
                f"{name}, In [{cell.cell_num + 1}]: a missing output goes unnoticed"
            )


# One small notebook, the whole way through the command that `make test` runs.

PICTURE = """\
class Picture:
    def _repr_mimebundle_(self, include=None, exclude=None):
        path = f"<path d='M 0 {max(values)}'/>"
        return {"image/svg+xml": f"<svg>{path}</svg>", "text/plain": "figure"}


Picture()"""
CELLS = [
    "values = [0.5, 0.25, 0.125]",
    'print(f"sum {sum(values):.3f}, largest {max(values):.2f}")',
    (
        'spread = max(values) - min(values)\nprint(f"spread ≈{spread:.3f}, in range")\nassert 0.3 <'
        " spread < 0.4"
    ),
    PICTURE,
    'assert max(values) == 0.5\n"done"',
]


def stdout(number, old, new):
    def change(node):
        output = node.cells[number].outputs[0]
        assert old in output.text
        output.text = output.text.replace(old, new)

    return change


def svg(node):
    node.cells[3].outputs[0].data["image/svg+xml"] = "<svg><path d='M 0 7'/></svg>"


def code(number, old, new):
    def change(node):
        assert old in node.cells[number].source
        node.cells[number].source = node.cells[number].source.replace(old, new)

    return change


def cleared(node):
    for cell in node.cells:
        cell.execution_count, cell.outputs = None, []


PASS = {"unchanged": [], "other_picture_and_approximate_value": [svg, stdout(2, "≈0.375", "≈9.99")]}
FAIL = {  # what the notebook stores or does, and words of the verdict
    "changed_number": (
        [stdout(1, "0.875", "0.876")],
        [r"In \[2\].*printed text differs in line 1: stored 'sum 0\.876.*now 'sum 0\.875"],
    ),
    "cleared": (
        [cleared],
        [
            r"In \[1\].*was stored without having been run",
            r"In \[5\].*was stored without having been run",
        ],
    ),
    "new_warning": (
        [code(0, "values", "import warnings\nwarnings.warn('careful', stacklevel=1)\nvalues")],
        [r"In \[1\].*now gives stderr that is not stored: .*UserWarning: careful"],
    ),
    "failing_assert": (
        [code(2, "0.3 <", "0.4 <")],
        [r"In \[3\].*raised AssertionError at `assert 0\.4 < spread < 0\.4`"],
    ),
    "exempt_and_out_of_time": (
        [
            lambda node: node.cells[0].metadata.update(tags=["nbval-skip"]),
            code(1, "print(", "# NBVAL_IGNORE_OUTPUT\n_ = ("),
            code(2, "spread =", "import threading\nthreading.Event().wait()\nspread ="),
        ],
        [
            r"In \[1\].*is skipped",
            r"In \[2\].*switches the comparison off",
            r"In \[3\].*timeout of 10 seconds",
            r"In \[4\].*was not checked, because an earlier cell ran out of time",
        ],
    ),
    "many_faults": (
        [
            code(0, "values", "open('x.txt', 'w').close()\nvalues"),
            code(1, "print(", 'print("more");print('),
            stdout(2, "in range", "out of range"),
            code(3, "Picture()", "1 / 0"),
            lambda node: node.cells[4].outputs[0].data.update({"text/plain": "'over'"}),
        ],
        [
            r"In \[2\].*printed text differs in line 1: stored 'sum .* now 'more'",
            r"In \[3\].*printed text differs in line 1: stored .*out of range",
            r"In \[4\].*raised ZeroDivisionError at `1 / 0`: division by zero",
            r"In \[5\].*the shown value differs in line 1: stored \"'over'\", now \"'done'\"",
            r"left files behind: x\.txt",
        ],
    ),
    "output_gone": (
        [code(1, "print(", "_ = (")],
        [r"In \[2\].*no longer gives printed text that is stored: 'sum"],
    ),
    "text_only": (
        [lambda node: node.update(cells=[nbformat.v4.new_markdown_cell("# Text")])],
        ["no cell was run"],
    ),
}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The small notebook, executed and stored by tools/run_notebooks.py."""
    path = tmp_path_factory.mktemp("small") / "00_small.ipynb"
    node = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source) for source in CELLS],
        metadata=run_notebooks.NOTEBOOK_METADATA,
    )
    path.write_text(nbformat.writes(node), encoding="utf-8")
    run_notebooks.execute(path)
    return path


@pytest.fixture
def check(small, tmp_path, foreign_kernel):
    """check({name: [change, …]}) -> the finished command, run on changed copies of the small
    notebook.
    """

    def run(changes, *options):
        for name, steps in changes.items():
            node = nbformat.read(small, as_version=4)
            for change in steps:
                change(node)
            (tmp_path / f"{name}.ipynb").write_text(nbformat.writes(node), encoding="utf-8")
        command = [
            sys.executable,
            ROOT / "tools" / "check_notebooks.py",
            *sorted(tmp_path.glob("*.ipynb")),
            "--cell-seconds",
            "10",
            *options,
        ]
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            encoding="utf-8",
            cwd=tmp_path,
            env={**os.environ, "JUPYTER_PATH": foreign_kernel},
            check=False,
        )

    return run


def test_a_notebook_passes_unchanged_and_where_only_pictures_and_approximate_values_differ(check):
    done = check(PASS, "--threads", "2", "--hash-seed", "7", "--cold-cache")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 of 2 notebooks passed" in done.stdout


def test_every_fault_of_a_notebook_is_found_and_said_in_words(check, tmp_path):
    (tmp_path / "damaged.ipynb").write_text("{")
    done = check({name: changes for name, (changes, _) in FAIL.items()})
    assert done.returncode == 1, done.stdout + done.stderr
    # by the one process, or by the other
    assert done.stdout.count("ERROR collecting") == 1
    verdict = done.stdout[done.stdout.index("notebook  ") :]
    for name, (_, sentences) in {**FAIL, "damaged": ((), ["cannot be read"])}.items():
        assert re.search(rf"^{name} .* FAILED$", verdict, re.MULTILINE), (
            f"{name} passed:\n{done.stdout}"
        )
        for words in sentences:
            assert re.search(rf"^{name}.*{words}", verdict, re.MULTILINE), (
                f"{name} is not explained:\n{verdict}"
            )
    assert (
        verdict.rstrip()
        .splitlines()[-1]
        .startswith(f"{len(FAIL) + 1} of {len(FAIL) + 1} notebooks failed")
    )


def test_a_name_that_fits_no_notebook_is_an_error(run_python, root):
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import check_notebooks\ntry:"
        " check_notebooks.main(['99_nothing'])\nexcept SystemExit as error: print(error)"
    )
    assert run_python(code, str(root / "tools")).strip() == "no such notebook: 99_nothing"
