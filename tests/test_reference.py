"""The reference pages agree with the package: every public name is documented, every parameter has
its row in the register, and docstrings become readable pages.
"""

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

import sinpe
from sinpe import explorers

ROOT = Path(__file__).resolve().parent.parent
API, NOTATION = (
    (ROOT / "book" / page).read_text(encoding="utf-8") for page in ("api.md", "notation.md")
)
LISTED = re.findall(r"^\.\. auto(?:function|class):: ([\w.]+)", API, re.MULTILINE)
REGISTERED = [
    name
    for line in NOTATION.splitlines()
    if line.startswith("|")
    for cell in re.split(r"(?<!\\)\|", line)[1:3]
    for name in re.findall(r"`(\w+)`", cell)
]


def test_the_reference_lists_every_public_name():
    for name in sinpe.__all__:
        kind = "class" if inspect.isclass(getattr(sinpe, name)) else "function"
        assert f"sinpe.{name}" in LISTED, (
            f"book/api.md: write `.. auto{kind}:: sinpe.{name}` beside its kin"
        )
    for explorer in explorers.EXPLORERS:
        assert f"sinpe.explorers.{explorer.__name__}" in LISTED, "book/api.md"


@pytest.mark.parametrize("name", LISTED)
def test_what_the_reference_lists_has_a_docstring(name):
    module, _, attribute = name.rpartition(".")
    assert getattr(import_module(module), attribute).__doc__, name


@pytest.mark.parametrize("name", sinpe.__all__)
def test_every_parameter_is_in_the_register_of_names(name):
    """Those of a public function, or of a class and its public methods."""
    public = getattr(sinpe, name)
    functions = [public]
    if inspect.isclass(public):
        functions += [
            function
            for key, function in vars(public).items()
            if inspect.isfunction(function) and not key.startswith("_")
        ]
    parameters = {p for function in functions for p in inspect.signature(function).parameters}
    missing = sorted(parameters - {*REGISTERED, "self", "fn", "recurse", "name", "make"})
    assert not missing, (
        f"book/notation.md: {name} has {', '.join(missing)}; write a row for each, with its name in"
        " backticks under “In code”, or use the name that the register has for the same thing"
    )


def test_no_name_is_registered_twice():
    twice = {name for name in REGISTERED if REGISTERED.count(name) > 1}
    assert not twice, f"book/notation.md: {twice} have two rows; one name means one thing"


# --- docstrings


@pytest.fixture
def render(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "book" / "_ext")
    return import_module("docstrings").render


@pytest.mark.parametrize(
    "docstring, expected",
    [
        ("One line.", "One line.\n"),
        (
            "A sentence that goes on\nin the next line.\nA new one.",
            "A sentence that goes on in the next line.\n\nA new one.\n",
        ),
        (
            "x: (batch, seq); y: real,\n    or None. Returns x.",
            "``x``\n    (batch, seq)\n\n``y``\n    real, or None.\n\nReturns x.\n",
        ),
        ("x, y: both. z: no parameter.", "``x``, ``y``\n    both. z: no parameter.\n"),
        (
            "Formula:\n\n    a = b*c\n\nRest |p| and `code` and \\*args.",
            "Formula:\n\n::\n\n    a = b*c\n\nRest \\|p\\| and ``code`` and \\*args.\n",
        ),
        ("Example.\n\n>>> f(1)\n2", "Example.\n\n>>> f(1)\n2\n"),
    ],
)
def test_docstrings_become_pages(render, docstring, expected):
    assert "\n".join(render(docstring.split("\n"), ["x", "y"])) == expected
