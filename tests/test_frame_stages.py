"""`make test` runs every stage and sums them up, and needs of the machine no more than it says: no
writable home, no locale, no plain path, no speed.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import check_notebooks
import nbformat
import pytest
import run_notebooks
import said_once
import scratch
from check_notebooks import Record, judge, summary, table

ROOT = Path(__file__).resolve().parent.parent


# --- stages


def stages(folder, *arguments):
    """The finished command, run in a folder."""
    command = [sys.executable, ROOT / "tools/stages.py", *arguments]
    return subprocess.run(command, check=False, cwd=folder, capture_output=True, text=True)


@pytest.fixture
def fakes(tmp_path):
    """A folder with one script that fails and one that passes; both say that they ran."""
    (tmp_path / "bad one.py").write_text("print('bad ran')\nraise SystemExit(3)\n")
    (tmp_path / "good.py").write_text("import sys\nprint('good ran', sys.argv[1:])\n")
    return tmp_path


def test_a_stage_that_fails_does_not_hide_the_next(fakes):
    done = stages(fakes, "first: 'bad one.py'", "second: good.py -n 2", "third: good.py")
    assert done.returncode == 1
    assert re.search(r"bad ran\n(.*\n)+good ran \['-n', '2'\]\n(.*\n)+good ran \[\]\n", done.stdout)
    table = done.stdout.partition("verdict\n")[2].splitlines()
    assert [re.split(r"\s{2,}", line) for line in table[:3]] == [
        ["first", "0.0", "FAILED (status 3)"],
        ["second", "0.0", "passed"],
        ["third", "0.0", "passed"],
    ]
    assert table[-1] == "first failed: see above"


def test_where_every_stage_passes_it_passes(fakes):
    done = stages(fakes, "only: good.py")
    assert done.returncode == 0 and done.stdout.endswith("\neverything passed\n")


@pytest.mark.parametrize("wrong", [["good.py"], ["a: good.py", "a: good.py"]])
def test_a_stage_has_a_name_of_its_own(fakes, wrong):
    done = stages(fakes, *wrong)
    assert done.returncode == 1 and "with a name of its own" in done.stderr


def test_what_two_processes_say_is_reported_once():
    said = [
        SimpleNamespace(nodeid=name, when="collect", longreprtext=words)
        for name, words in (("a.py", "no"), ("b.py", "no"), ("a.py", "no"), ("a.py", "nor that"))
    ]
    reporter = SimpleNamespace(stats={"error": list(said)})
    for plugin in (reporter, None):  # a process that only runs tests has no reporter
        manager = SimpleNamespace(get_plugin={"terminalreporter": plugin}.get)
        said_once.pytest_sessionfinish(
            SimpleNamespace(config=SimpleNamespace(pluginmanager=manager))
        )
    assert reporter.stats["error"] == [said[2], said[1], said[3]]


# --- budgets

SECONDS = check_notebooks.SECONDS
OVER = {  # what a notebook used, and words of the sentence about it
    "time": ({"seconds": 9 * SECONDS, "cpu": 1.5 * SECONDS}, "took 60 s of processor time"),
    "memory": ({"memory": int(1.5 * check_notebooks.MEMORY)}, "took 2.25 GB of memory"),
}


@pytest.fixture
def notebook(tmp_path):
    """A copy of a notebook, alone in its folder."""
    path = tmp_path / "02_small" / "02_small.ipynb"
    path.parent.mkdir()
    path.write_text("{}")
    return path


@pytest.mark.parametrize("kind", OVER)
def test_a_budget_is_reported_and_fails_where_it_has_to(kind, notebook):
    used, words = OVER[kind]
    for strict, times, verdict in (
        (False, 1, "over budget"),
        (True, 1, "FAILED"),
        (False, 3, "FAILED"),
    ):
        record = Record(cells=1, **{name: times * value for name, value in used.items()})
        records = {"02_small": record}
        judge([notebook], records, strict)
        assert record.verdict == verdict
        assert re.search(rf"^02_small .* {verdict}$", table(records), re.MULTILINE)
        assert times == 3 or f"02_small: {words}" in table(records)
        assert summary(records).startswith(
            "1 of 1 notebooks passed, over their budget"
            if verdict == "over budget"
            else "1 of 1 notebooks failed: 02_small"
        )


def test_the_size_of_a_notebook_is_a_budget_too(notebook):
    notebook.write_bytes(b" " * int(1.5 * check_notebooks.SIZE))
    record = Record(cells=1)
    judge([notebook], {"02_small": record}, strict=False)
    assert record.remarks == ["02_small: is 1.50 MB large; the budget is 1 MB"]


def test_a_busy_machine_costs_no_budget_and_neither_does_a_second_thread(notebook):
    for used in ({"seconds": 100 * SECONDS, "cpu": 0.9 * SECONDS}, {"seconds": 30, "cpu": 55}):
        record = Record(cells=1, **used)
        judge([notebook], {"02_small": record}, strict=True)
        assert record.verdict == "passed"


@pytest.mark.parametrize("ci, status", [("", 0), ("true", 1)])
def test_ci_is_strict(monkeypatch, notebook, capsys, ci, status):
    slow = {"02_small": Record(cells=1, seconds=2 * SECONDS, cpu=2 * SECONDS)}
    monkeypatch.setenv("CI", ci)
    monkeypatch.setattr(check_notebooks, "run", lambda *_: (pytest.ExitCode.OK, slow))
    for changes_the_environment in ("environment", "settle"):
        monkeypatch.setattr(check_notebooks, changes_the_environment, lambda *_: {})
    assert check_notebooks.main([str(notebook)]) == status
    assert "the budget is 40 s" in capsys.readouterr().out


# --- conditions


def bare(home, **more):
    """The variables of a machine with this home and no locale, without those that the tests set."""
    ours = ("MPLCONFIGDIR", "IPYTHONDIR", "JUPYTER", "LANG", "LC_", "PYTHONUTF8", "XDG_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**kept, "HOME": str(home), "LC_ALL": "C", **more}


def test_a_notebook_runs_without_a_home_and_a_locale_in_a_path_with_spaces_and_letters(tmp_path):
    """Executed, stored, run again and compared, with a figure and with letters that ASCII lacks."""
    folder = tmp_path / "ein Kurs für Leser"
    folder.mkdir()
    sources = [
        "import matplotlib.pyplot as plt",
        "figure, axes = plt.subplots()\nprint('≈', len(figure.axes))\nplt.close(figure)",
    ]
    node = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(s) for s in sources])
    (folder / "02_small.ipynb").write_text(nbformat.writes(node), encoding="utf-8")
    execute = (
        "import sys; from pathlib import Path; import run_notebooks;"
        " run_notebooks.FOLDER = Path(sys.argv[1]); run_notebooks.main([])"
    )
    # nothing can be made below a file, not even by root
    environment = bare(os.devnull, PYTHONPATH=str(ROOT / "tools"), TMPDIR=str(folder))
    for command in (
        ["-c", execute, str(folder)],
        [ROOT / "tools/check_notebooks.py", folder / "02_small.ipynb"],
    ):
        done = subprocess.run(
            [sys.executable, *command],
            check=False,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            encoding="utf-8",
        )
        assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    stored = nbformat.read(folder / "02_small.ipynb", as_version=4)
    assert stored.cells[1].outputs[0].text == "≈ 1\n"
    assert "1 of 1 notebooks passed" in done.stdout


def test_fonts_are_listed_once_in_the_environment_or_where_that_cannot_be(tmp_path, monkeypatch):
    made = []

    def listing():
        made.append(Path(os.environ["MPLCONFIGDIR"]))
        (made[-1] / "fontlist-v1.json").touch()

    for name in (
        "MPLCONFIGDIR",
        "IPYTHONDIR",
        "JUPYTER_CONFIG_DIR",
        "JUPYTER_DATA_DIR",
        "JUPYTER_RUNTIME_DIR",
    ):
        monkeypatch.setenv(name, "")
    monkeypatch.setattr(scratch, "list_fonts", listing)
    monkeypatch.setattr(scratch.sys, "prefix", str(tmp_path))
    (tmp_path / "a").mkdir()
    scratch.settle(tmp_path / "a")
    scratch.settle(tmp_path / "a")
    assert made == [tmp_path / "matplotlib"]
    monkeypatch.setattr(scratch.os, "access", lambda *_: False)
    scratch.settle(tmp_path / "a")
    assert made[1:] == [tmp_path / "a" / "matplotlib"]


def test_limits_in_seconds_are_there_for_what_hangs():
    """No cell comes near them, on the slowest machine either: time counts in budgets."""
    assert run_notebooks.HANG_SECONDS >= 10 * check_notebooks.EXPERIMENT_SECONDS
