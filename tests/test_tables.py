"""Tables: what stands in them, the same bytes everywhere, and bad input named."""

import re

import numpy as np
import pytest
from bs4 import BeautifulSoup
from nbval.plugin import get_sanitize_patterns

from sinpe.tables import table

COLUMNS = {"model": "", "accuracy": "≈.2f", "loss (nats)": ".3f", "steps": "", "verdict": ""}
ROWS = [
    ["no position", 0.5, 0.6931, 100, "chance"],
    ["a<b & c", -0.988, -1.5, np.int64(50), "solved"],
    ["a<b & c", 1, None, 7, "50"],
]


@pytest.fixture
def shown():
    return table(ROWS, COLUMNS, caption="Accuracy < 1 & loss.")._repr_mimebundle_()


def cells(html):
    page = BeautifulSoup(html, "html.parser")
    return [[cell.text for cell in row.select("th, td")] for row in page.select("tr")]


def test_both_forms_say_the_same_and_every_row_has_a_heading(shown):
    wanted = [
        ["model", "accuracy", "loss (nats)", "steps", "verdict"],
        ["no position", "≈0.50", "0.693", "100", "chance"],
        ["a<b & c", "≈−0.99", "−1.500", "50", "solved"],
        ["a<b & c", "≈1.00", "–", "7", "50"],
    ]
    assert cells(shown["text/html"]) == wanted
    caption, *lines = shown["text/plain"].split("\n")
    assert caption == "Accuracy < 1 & loss." and [line.split(" | ") for line in lines] == wanted
    page = BeautifulSoup(shown["text/html"], "html.parser")
    assert page.caption.text == caption and len(page.select("tbody th")) == 3
    assert [cell.text for cell in page.select("thead th")] == wanted[0]
    assert set(shown) == {"text/html", "text/plain"}


def test_numbers_stand_on_the_right_and_words_on_the_left(shown):
    right = re.findall(r"\.(col\d) *\{[^{}]*text-align: right", shown["text/html"])
    assert right == ["col0", "col1", "col2"]  # "50" in the last one stands among words


def test_intervals_and_counts_are_numbers_too():
    """They stay on one line, on the right; a column with a word in it does not."""
    rows = [["a", "−0.376 to −0.337", "5 of 16", "5 to ten"], ["b", None, "24", "1 to 2"]]
    html = table(rows, dict.fromkeys(["n", "interval", "pairs", "words"], ""), caption="T.").html()
    assert re.findall(r"\.(col\d) *\{[^{}]*text-align: right", html) == ["col0", "col1"]


def test_only_values_behind_the_sign_differ_between_machines(root):
    """Values of other lengths and signs leave the same text behind for the comparison."""
    patterns = get_sanitize_patterns((root / "tests/nbval.cfg").read_text(encoding="utf-8"))

    def compared(value):
        shown = table([["a", value, 1.0]], {"n": "", "x": "≈.2e", "y": ".1f"}, caption="A table.")
        texts = []
        for text in shown._repr_mimebundle_().values():
            for pattern, replacement in patterns:
                text = re.sub(pattern, replacement, text)
            texts.append(text)
        return texts

    assert compared(1.5) == compared(-1.234e-7) and "≈N" in compared(1.5)[1]


def test_the_same_bytes_in_another_process(shown, run_python):
    code = (
        "import numpy as np; from sinpe.tables import table; import sys;"
        f"print(table({[[*r[:3], int(r[3]), r[4]] for r in ROWS]!r}, {COLUMNS!r},"
        " caption='Accuracy < 1 & loss.').html())"
    )
    assert run_python(code).rstrip("\n") == shown["text/html"].rstrip("\n")


def test_importing_it_leaves_pandas_alone(run_python):
    assert run_python("import sys, sinpe.tables; print('pandas' in sys.modules)").strip() == "False"


@pytest.mark.parametrize(
    ("rows", "columns", "caption", "words"),
    [
        ([], {"a": "", "b": ""}, "A table.", "rows has 0"),
        ([["x"]], {"a": ""}, "A table.", r"columns \['a'\]"),
        ([["x", 1]], {"a": "", " ": ""}, "A table.", r"columns \['a', ' '\]"),
        ([["x", 1]], {"a": "", "b": ""}, " ", "caption ' '"),
        ([["x"]], {"a": "", "b": ""}, "A table.", r"rows must have 2 cells.*\['x'\]"),
        ([["x", 0.1]], {"a": "", "b": ""}, "A table.", "columns must give 'b' a format.*0.1"),
        (None, {"a": "", "b": ""}, "A table.", "rows must be sequences of cells, got None"),
        ([1, 2], {"a": "", "b": ""}, "A table.", r"rows must be sequences .* got \[1, 2\]"),
        (["xy"], {"a": "", "b": ""}, "A table.", r"rows must be sequences .* got \['xy'\]"),
        ([["x", 1]], ["a", "b"], "A table.", r"columns must be headings .* got \['a', 'b'\]"),
        ([["x", 1]], {"a": "", "b": None}, "A table.", "columns must be headings .* None"),
        ([["x", 1]], {"a": "", "b": ""}, None, "caption must be a text, got None"),
        ([["x", [1]]], {"a": "", "b": ".2f"}, "A table.", r"'b' the format '.2f'.* suit \[1\]"),
        ([["x", 1.0]], {"a": "", "b": "q"}, "A table.", "'b' the format 'q'.* suit 1.0"),
    ],
)
def test_bad_input_is_named(rows, columns, caption, words):
    with pytest.raises(ValueError, match=words):
        table(rows, columns, caption=caption)
