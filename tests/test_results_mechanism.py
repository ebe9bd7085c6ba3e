"""What is printed of the study "mechanism", recomputed from its raw files with numpy and scipy:
beside what the package computes, what chapters 06 and 07 show in tables, and what the paper says.
However much of the study is there.
"""

import re
from functools import cache
from pathlib import Path

import nbformat
import numpy as np
import paper
import pytest
import recomputed
import recomputed_mechanism as again
from bs4 import BeautifulSoup

from sinpe.experiments import analysis, get_study, load_records
from sinpe.experiments.predictions import judge
from sinpe.experiments.predictions_mechanism import MECHANISM, SEEN

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"
CHAPTERS = ("06_embedding_scaling", "07_scaling_experiment", "18_reading_an_experiment")
STUDY = get_study("mechanism")
SIGNED = r"[−+]\d\.\d{3}"


@pytest.fixture(scope="module")
def package():
    """Findings by name, and judgements."""
    records = load_records(STUDY)
    found = analysis.compare(STUDY, records)
    judged = judge(found, analysis.paired(STUDY, records, found), MECHANISM)
    return {f.name: f for f in found}, judged


def test_the_plan_is_the_same():
    """Names, questions and numbers of pairs, written down twice."""
    theirs = {}
    for comparison in STUDY.comparisons:
        theirs.setdefault(comparison.question, []).append(comparison.name)
    ours = {question: list(comparisons) for question, comparisons in again.plan().items()}
    assert {q: sorted(n) for q, n in ours.items()} == {q: sorted(n) for q, n in theirs.items()}
    progress = analysis.progress(STUDY, load_records(STUDY))
    assert again.planned() == {name: planned for name, (_, planned) in progress.items()}
    assert again.planned_runs() == len(STUDY.runs())
    for name, (there, planned) in progress.items():
        assert there == min(len(again.gaps().get(name, ())), planned) or there < 2, name


def test_every_run_belongs_to_an_arm():
    known = set()
    for comparisons in again.plan().values():
        for sides in comparisons.values():
            for side in sides:
                known |= {again.key(s) for s in (side if isinstance(side, list) else [side])}
    assert set(again.runs()) <= known


def test_every_comparison_is_recomputed(package):
    found, _ = package
    assert set(found) == set(again.findings())
    for name, ours in again.findings().items():
        recomputed.same(found[name], ours, name)


@pytest.mark.parametrize("prediction", MECHANISM, ids=lambda p: str(p.number))
def test_every_prediction_is_judged_anew(package, prediction):
    judgement = package[1][prediction.number - 1]
    assert [outcome for _, _, outcome in judgement.results] == again.outcomes(prediction)
    assert judgement.verdict == recomputed.verdict(again.outcomes(prediction))
    smaller = [(t, shown) for t, shown, _ in judgement.results if hasattr(t, "small")]
    for (_, shown), ours in zip(smaller, again.sizes([t for t, _ in smaller]), strict=True):
        if ours:
            numbers = [float(x) for x in re.findall(r"[-+]\d+\.\d+", shown)]
            assert np.allclose(numbers, ours[:3], rtol=0, atol=5.1e-4), shown


# --- what the chapters show


@cache
def code(chapter):
    """The code cells of a chapter."""
    cells = nbformat.read(NOTEBOOKS / f"{chapter}.ipynb", as_version=4).cells
    return [cell for cell in cells if cell.cell_type == "code"]


def tables(chapter):
    """(source of the cell, caption, rows) of each table that a chapter stores."""
    for cell in code(chapter):
        for output in cell.outputs:
            html = output.get("data", {}).get("text/html", "")
            for found in BeautifulSoup(html, "html.parser").select("table.sinpe-table"):
                rows = [
                    [part.get_text(strip=True) for part in line.find_all(["th", "td"])]
                    for line in found.select("tbody tr")
                ]
                yield cell.source, found.caption.get_text(strip=True), rows


def lines(chapter):
    """(source, row) of the tables that show a difference with its interval, where the chapter reads
    the study.
    """
    if not any('"mechanism"' in cell.source for cell in code(chapter)):
        return []
    return [(source, row) for source, _, rows in tables(chapter) for row in rows if interval(row)]


def interval(row):
    return next((c for c in row if re.fullmatch(rf"{SIGNED} to {SIGNED}", c)), None)


def signed(value):
    return f"{value:+.3f}".replace("-", "−")


def fits(row, name):
    """Whether everything that a row says of a difference is true of this comparison."""
    f, said = again.findings()[name], set(row)
    pairs, planned = f["n"], again.planned()[name]
    true = {signed(f["mean"]), f"{signed(f['low'])} to {signed(f['high'])}"}
    counts = {str(pairs), f"{pairs} of {planned}"}
    words = {f["verdict"]} | ({"not complete"} if pairs < planned else set())
    return (
        true <= said
        and all(c in counts for c in row if re.fullmatch(r"\d+( of \d+)?", c))
        and all(c in words for c in row if c in VERDICTS)
    )


VERDICTS = paper.VERDICTS


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_difference_in_a_table_is_recomputed(chapter):
    """Mean, interval, pairs and verdict of each row are those of one comparison, and the cell names
    it.
    """
    for source, row in lines(chapter):
        found = [name for name in again.findings() if fits(row, name)]
        assert found, f"{chapter}: not reproduced: {' | '.join(row)}"
        told = {name: name.split(": ")[-1].removesuffix(", tied, pre-norm") for name in found}
        assert any(part in source for part in told.values()), f"{chapter}: {row}, {found}"


# --- what the paper says


class Raw:
    """What `paper.page` asks for, from the raw files."""

    def __init__(self):
        self.claims, self.seen = {p.number: p.claim for p in MECHANISM}, SEEN
        found = [record for seeds in again.runs().values() for record in seeds.values()]
        self.made, self.planned = len(found), again.planned_runs()
        self.hours = sum(record["environment"]["seconds"] for record in found) / 3600
        self.logged = again.logged

    def finding(self, name):
        f = again.findings().get(name)
        return f and tuple(f[part] for part in ("mean", "low", "high", "n", "verdict"))

    def outcomes(self, number):
        prediction, planned = MECHANISM[number - 1], again.planned()
        found = again.outcomes(prediction)
        names = {n for t in prediction.tests for n in vars(t).values() if n in planned}
        complete = all(len(again.gaps().get(name, ())) >= planned[name] for name in names)
        return found, recomputed.verdict(found) if complete else "not complete"

    def pairs_planned(self, name):
        return again.planned()[name]

    def losses(self, norm, arm):
        return again.losses(again.ARMS[arm] | {"norm": norm})


def test_every_number_of_the_paper_is_recomputed():
    """The page is its text with the numbers of the raw files filled in."""
    again_written = paper.page(paper.TEXT.read_text(encoding="utf-8"), Raw())
    assert paper.PAGE.read_text(encoding="utf-8") == again_written, (
        "book/paper.md does not say what the records say: run `make paper`, and read it"
    )


def test_a_sentence_of_the_paper_stops_it_when_the_records_no_longer_bear_it():
    numbers = Raw()
    name, found = next(iter(again.findings().items()))
    text = "[[holds {} " + name + "]]\nIt is so, by [[gap " + name + "]].\n"
    assert paper.page(text.format(found["verdict"]), numbers).startswith("It is so, by ")
    for other in set(VERDICTS) - {found["verdict"]}:
        with pytest.raises(SystemExit, match=r"no longer holds.*rewrite the paragraph"):
            paper.page(text.format(other), numbers)
    with pytest.raises(SystemExit, match=r"names none of the verdicts"):
        paper.page(text.format("smaller"), numbers)
