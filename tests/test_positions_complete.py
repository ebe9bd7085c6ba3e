"""A position method is whole: exported, tested by itself, known by a name. What a new one lacks is
said here, with the file to write it in.
"""

import inspect
import pkgutil
import re
from importlib import import_module
from pathlib import Path

import pytest
from tiny_study import config

import sinpe
from sinpe import positions
from sinpe.training.build import build_position

ROOT = Path(__file__).resolve().parent.parent
METHODS = {
    name: method
    for module in pkgutil.iter_modules(positions.__path__, f"{positions.__name__}.")
    for name, method in vars(import_module(module.name)).items()
    if inspect.isclass(method)
    and issubclass(method, sinpe.PositionMethod)
    and method is not sinpe.PositionMethod
    and not name.startswith("_")
}
OPENINGS = ("embed", "rotate", "score_bias")
# the studies are of texts, where a position is one number
NOT_FOR_TEXT = {"RotaryAxes"}


@pytest.mark.parametrize("name", METHODS)
def test_it_is_exported(name):
    module = METHODS[name].__module__
    assert getattr(positions, name, None) is METHODS[name] and name in positions.__all__, (
        f"sinpe/positions/__init__.py: write `from {module} import {name}`, and {name!r} in __all__"
    )
    assert name in sinpe.__all__, f"sinpe/__init__.py: write {name!r} in __all__"


@pytest.mark.parametrize("name", METHODS)
def test_it_has_a_test_file_of_its_own(name):
    """All but what fills no opening, for which the common rules are the test."""
    method = METHODS[name]
    if any(getattr(method, o) is not getattr(sinpe.PositionMethod, o) for o in OPENINGS):
        stem = method.__module__.rpartition(".")[2]
        path = ROOT / "tests" / f"test_positions_{stem}.py"
        assert path.exists() and name in path.read_text(encoding="utf-8"), (
            f"write tests/{path.name}: {name} against a slow, literal version of its formula"
        )


def names():
    """The names that build_position takes, as it lists them itself."""
    with pytest.raises(ValueError, match="position must be one of") as refused:
        build_position(config(position="no such name"))
    return re.findall(r"'([^']+)'", str(refused.value))[:-1]


def built(name):
    try:
        return type(build_position(config(position=name)))
    except ValueError:  # an extension of rotary, which has options without a default
        return None


@pytest.mark.parametrize("name", [name for name in METHODS if name not in NOT_FOR_TEXT])
def test_it_can_be_trained_by_name(name):
    assert METHODS[name] in map(built, names()), (
        f"sinpe/training/build.py: give {name} a line in build_position, and its name in the"
        " docstring there"
    )


def test_every_name_is_documented():
    documented = set(re.findall(r'"([a-z0-9-]+)"', build_position.__doc__))
    assert set(names()) == documented, "sinpe/training/build.py: the docstring of build_position"
