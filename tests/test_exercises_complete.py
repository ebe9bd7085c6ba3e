"""A check of an exercise is whole: gathered for the notebooks, and tested."""

import inspect
import pkgutil
import re
from importlib import import_module
from pathlib import Path

import pytest

from sinpe import exercises

TESTS = "\n".join(
    path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_exercises_*.py")
)
CHAPTERS = "\n".join(
    path.read_text(encoding="utf-8")
    for path in (Path(__file__).parent.parent / "notebooks").glob("*.ipynb")
)
CHECKS = {
    name: check
    for module in pkgutil.iter_modules(exercises.__path__, f"{exercises.__name__}.")
    for name, check in inspect.getmembers(import_module(module.name), inspect.isfunction)
    if name.startswith("check_") and check.__module__ == module.name
}


@pytest.mark.parametrize("name", CHECKS)
def test_it_is_gathered_and_tested(name):
    module = CHECKS[name].__module__
    assert getattr(exercises, name, None) is CHECKS[name], (
        f"sinpe/exercises/__init__.py: write `from {module} import {name}`"
    )
    assert re.search(rf"\b{name}\b", TESTS), (
        f"tests/test_exercises_{module.rpartition('.')[2]}.py: add {name} to CHECKS, with right"
        " answers and with each mistake that it knows"
    )


@pytest.mark.parametrize("name", CHECKS)
def test_it_stands_in_a_chapter(name):
    assert f"exercises.{name}(" in CHAPTERS, f"no chapter has an exercise with {name}: remove it"
