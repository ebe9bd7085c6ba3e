"""The contract of notebooks: every rule of tests/contract on every notebook, and the table of
contents against the folder.
"""

import re
import tomllib
from pathlib import Path

import pytest
from contract import RULES, Course, kinds

COURSE = Course(Path(__file__).resolve().parent.parent)


def test_there_are_notebooks():
    assert COURSE.stored, "notebooks/ holds no notebook"


def test_every_notebook_is_in_the_table_of_contents_exactly_once():
    for name in COURSE.stored:
        count = COURSE.listed.count(name)
        assert count == 1, (
            f"notebooks/{name} stands {count} times in _toc.yml: write `- file:"
            f" notebooks/{name.removesuffix('.ipynb')}` once, in reading order"
        )


def test_every_notebook_of_the_table_of_contents_exists():
    missing = [name for name in COURSE.listed if name not in COURSE.stored]
    assert not missing, f"_toc.yml lists notebooks that are not in notebooks/: {', '.join(missing)}"


def test_notebooks_are_numbered_in_reading_order():
    assert COURSE.listed == sorted(COURSE.listed), (
        f"_toc.yml lists {COURSE.listed}, which is not the order of their numbers"
    )
    for name in COURSE.listed:
        assert re.fullmatch(r"\d\d_[a-z0-9]+(?:_[a-z0-9]+)*\.ipynb", name), (
            f"{name}: a name is two digits and small words, like 02_deriving_the_formula.ipynb"
        )
    numbers = [name[:2] for name in COURSE.listed]
    assert len(set(numbers)) == len(numbers), f"two notebooks share a number: {COURSE.listed}"


@pytest.mark.parametrize("name", COURSE.stored)
@pytest.mark.parametrize("rule", RULES)
def test_rule(rule, name):
    notebook = COURSE.notebook(name)
    problems = list(RULES[rule](notebook))
    assert not problems, (
        f"{name} breaks the rule “{RULES[rule].__doc__.splitlines()[0]}”\n"
        + "\n".join(f"- {problem}" for problem in problems)
    )


def test_the_formatter_keeps_to_the_columns_of_a_page():
    settings = tomllib.loads((COURSE.root / "notebooks/ruff.toml").read_text(encoding="utf-8"))
    assert settings["line-length"] == kinds.COLUMNS
