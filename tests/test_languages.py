"""The pages in Polish and Japanese: one story with the same formulas, and every number in them is
computed here.
"""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest
import recomputed_mechanism as mechanism
import torch

import sinpe
from sinpe.experiments import analysis, get_study, load_records

BOOK = Path(__file__).resolve().parent.parent / "book"
PAGES = {name: (BOOK / f"{name}.md").read_text(encoding="utf-8") for name in ("pl", "ja")}
ARMS = ("none", "sinusoidal", "learned", "shaw", "transformer-xl", "rope", "alibi")  # as tabled


def formulas(page):
    found = re.findall(r"\$\$(.+?)\$\$", page, re.DOTALL)
    return [" ".join(formula.split()).rstrip(".") for formula in found]


def rows(page):
    """The cells of the table of methods."""
    lines = [line for line in page.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def test_both_pages_have_the_same_formulas_code_and_chapters():
    polish, japanese = PAGES["pl"], PAGES["ja"]
    assert formulas(polish) == formulas(japanese) and len(formulas(polish)) == 4
    code, other = (re.findall(r"```python\n(.*?)```", page, re.DOTALL) for page in PAGES.values())
    assert code == other and len(code) == 1
    linked = [set(re.findall(r"notebooks/(\w+)\.ipynb", page)) for page in PAGES.values()]
    assert linked[0] == linked[1] and len(linked[0]) == 5


@pytest.mark.parametrize("page", PAGES)
def test_the_code_runs(page, tmp_path):
    lines = tmp_path / "page.py"
    lines.write_text(re.search(r"```python\n(.*?)```", PAGES[page], re.DOTALL)[1], encoding="utf-8")
    space = runpy.run_path(str(lines))
    assert space["PE"].shape == (64, 16) and "assert" in lines.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_the_table_of_methods_is_that_of_the_records(page):
    study = get_study("length")
    across = analysis.across(study, load_records(study), "windows")
    found = {c.arm: lengths for c, lengths in across.items() if c.config.steps == 2000}
    table = rows(PAGES[page])
    assert len(table) == len(ARMS)
    for arm, (_, _, *told) in zip(ARMS, table, strict=True):
        for length, said in zip((64, 1024), told, strict=True):
            measured = found[arm][length]
            if measured is None:  # a table that has no such row
                assert not re.search(r"\d", said)
            else:
                assert said.replace(",", ".") == f"{measured.mean:.2f}"
    beyond = found["sinusoidal"][128].mean - found["sinusoidal"][64].mean
    assert 1.95 < beyond < 2.1  # "two nats"
    trained = [arm for arm in ARMS if found[arm][1024] and arm != "none"]
    assert all(found[arm][1024].mean > found[arm][64].mean for arm in trained)


@pytest.mark.parametrize("page", PAGES)
def test_the_numbers_of_the_formula(page):
    text = PAGES[page].replace("{,}", ".").replace(",", ".")
    waves = sinpe.wavelengths(512)
    assert f"{waves[0]:.2f}" == "6.28" and r"2\pi \approx 6.28" in text
    assert f"{waves[-1]:,.0f}".replace(",", " ") == "60 611" and "60 611" in text
    assert (2 / 512) ** 0.5 == 1 / 16 and r"\sqrt{2/d} = 1/16" in text
    gap = mechanism.findings()["post: LF - QS"]["mean"]
    assert f"{-gap:.2f}" == "0.31" and "0.31" in text
    rises = np.diff(sinpe.similarity(np.arange(101), 512)) > 0
    assert rises.argmax() == 43 and re.search(r"43 (a|から) 44", text)
    assert torch.tensor(256).bfloat16() == torch.tensor(257).bfloat16() and "257" in text
    sizes = np.linalg.svd(sinpe.sinusoidal_encoding(64, 512), compute_uv=False) ** 2
    directions = np.searchsorted(np.cumsum(sizes) / sizes.sum(), 0.999) + 1
    assert directions == 22 and "22" in text


def test_every_number_of_a_page_is_known():
    """A number that no test above decides would be a new claim."""
    decided = {"1", "2", "3", "6", "14", "15"}  # chapters, and what stands in formulas
    decided |= {"2.16", "2.49", "1.52", "3.80", "1.56", "1.44", "1.57", "1.45", "1.46", "1.47"}
    decided |= {"3.47", "1.61", "6.28", "60", "611", "0.31", "43", "44", "22", "256", "257"}
    decided |= {"64", "1024", "512", "128", "400", "10000", "16", "32", "0"}
    for page in PAGES.values():
        prose = re.sub(r"```.*?```|\$\$.*?\$\$|<[^>]*>|\]\([^)]*\)", " ", page, flags=re.DOTALL)
        prose = prose.replace("{,}", ".")
        found = set(re.findall(r"\d+(?:[.,]\d+)?", re.sub(r"(?<=\d),(?=\d)", ".", prose)))
        assert found - decided == set()


def test_the_table_of_terms_is_complete():
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in (BOOK / "terms.txt").read_text(encoding="utf-8").splitlines()
        if line.startswith("| ")
    ]
    assert lines[0] == ["English", "Polski", "日本語"] and len(lines) > 20
    for english, polish, japanese in lines[1:]:
        assert english.isascii() or "√" in english
        assert polish and re.search(r"[぀-ヿ一-鿿]", japanese)
    for page in PAGES.values():
        assert page.rstrip().endswith("```{include} terms.txt\n```")
