"""What the page on running the course promises: places, systems, the one setting, and the commands
for where there is no make.
"""

import ast
import json
import re
from pathlib import Path

import build_site
import environment
import pytest
from contract.set_up import set_up

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "book/how-to-run.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
CODE = [
    path
    for place in ("sinpe", "tests", "tools", "benchmarks", "book")
    for path in (ROOT / place).rglob("*.py")
]
ELSEWHERE = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"} | {
    "_winapi",
    "msvcrt",
    "winreg",
    "winsound",
}


@pytest.mark.parametrize("path", CODE, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_nothing_that_one_system_lacks_is_imported_with_a_module(path):
    """Only inside a function that guards it: everything can be imported and collected anywhere."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
    }
    imported = [
        name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom) and id(node) not in inside
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
        )
    ]
    assert not ELSEWHERE & {name.partition(".")[0] for name in imported}


def test_every_place_has_a_section():
    rows = re.findall(r"^\| \[[^]]+\]\(#([\w-]+)\)", PAGE, re.MULTILINE)
    titles = {re.sub(r"\W+", "-", title.lower()): title for title in SECTIONS}
    assert set(rows) <= set(titles)
    for place in ("Binder", "Colab", "Kaggle", "VS Code", "machine", "make", "lecture room"):
        assert any(place in titles[row] for row in rows), place
    assert "Without a network" in SECTIONS


def test_the_setting_is_the_one_that_the_cell_reads():
    cell = set_up("owner/name")
    assert re.findall(r'environ\.get\("(\w+)"', cell) == ["SINPE_SOURCE"]
    assert "`SINPE_SOURCE`" in SECTIONS["What the first cell does"]
    assert "%env SINPE_SOURCE=" in SECTIONS["What the first cell does"]
    assert 'book/how-to-run.html#when-the-first-cell-fails"' in cell
    assert "\n(when-the-first-cell-fails)=\n## When the first cell fails\n" in PAGE


def test_the_bounds_that_are_stated_are_those_of_the_list():
    bounds = environment.lower_bounds()
    stated = re.search(r"NumPy ([\d.]+) or newer and\s+PyTorch ([\d.]+) or newer", PAGE).groups()
    assert stated == (bounds["numpy"], bounds["torch"])
    assert f"depends on numpy>={bounds['numpy']}" in SECTIONS["When the first cell fails"]
    for section, pattern in {
        "What the first cell does": r"those of (.*?) that are missing",
        "Without a network": r"to that file\. (.*?) have to be there",
    }.items():
        (named,) = re.findall(pattern, SECTIONS[section].replace("\n", " "))
        assert re.split(", | and ", named.lower().replace("pytorch", "torch")) == list(bounds)
    (without,) = re.findall(r"pip install (.*) ipykernel$", PAGE, re.MULTILINE)
    assert without.split() == [name for name in bounds if name != "torch"]


def test_the_systems_that_are_said_to_be_tested_are_those_of_the_workflows():
    table = dict(
        re.findall(
            r"^\| (\w[^|]+?) \| (.+?) \|$", SECTIONS["Which systems it runs on"], re.MULTILINE
        )
    )
    flow = build_site.read(ROOT / ".github/workflows/check.yml")["jobs"]
    matrix = flow["package"]["strategy"]["matrix"]
    (mac,) = matrix["include"]
    assert all(name.startswith("ubuntu-") for name in matrix["os"]) and mac["os"] == "macos-15"
    linux = table["Linux, x86-64"]
    everything = flow["everything"]["steps"][1]["with"]["python-version"]
    assert re.findall(r"3\.\d+", linux) == [*matrix["python"], everything]
    assert re.findall(r"3\.\d+", table["macOS, Apple silicon"]) == [mac["python"]]
    assert table["Windows"].startswith("Nothing.") and table["macOS, Intel"].startswith("Nothing.")
    newest = ".".join(map(str, environment.NEWEST_PYTHON))
    assert f"With a Python newer than {newest}" in SECTIONS["Which systems it runs on"]


def test_chapters_2_4_15_and_17_alone_need_no_torch():
    needs = {}
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")
        needs[path.name[:2]] = bool(
            re.search(r"^\s*(import|from) (torch|sinpe\.experiments)\b", code, re.MULTILINE)
        )
    assert [number for number, torch in needs.items() if not torch] == ["02", "04", "15", "17"]


def test_the_commands_without_make_run_the_tools_that_make_runs():
    commands = re.search(r"```bash\n(.*?)```", SECTIONS["Without make"], re.DOTALL)[1].splitlines()
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert commands[0] == "python3 -m venv .venv"
    for command in commands[1:]:
        python, *words = command.split()
        assert python == ".venv/bin/python"
        if words[0] != "-m":
            assert f"$(PY) {words[0]}" in makefile and (ROOT / words[0]).is_file()
    install = commands[1]
    assert "-c constraints.txt" in install and set(
        re.search(r"\[(.*)\]", install)[1].split(",")
    ) == {"book", "test"}
