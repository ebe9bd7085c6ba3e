"""The recorded studies: whole, small, and their statistics recomputed from the raw files by code
that shares nothing with the package's.
"""

import math
from collections import defaultdict
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from recomputed import holm, judged, raw_records
from scipy import stats

from sinpe.experiments import analysis, predictions, records
from sinpe.experiments.studies import STUDIES, get_study
from sinpe.experiments.verify import verify
from sinpe.training import RunConfig
from sinpe.transformer import TransformerConfig

GROWING = set()  # studies that are still being run


@pytest.fixture(scope="module")
def raw():
    """Every record, with the configuration and its defaults flattened."""
    rows = []
    defaults = {
        field.name: field.default for field in fields(RunConfig) + fields(TransformerConfig)
    }
    for record in raw_records("embedding-scale"):
        config = record["config"]
        row = {
            **defaults,
            **{k: v for k, v in config.items() if k != "model"},
            **config["model"],
            **record["metrics"],
            "curve": record["curve"],
        }
        row["options"] = dict(map(tuple, row["position_options"]))
        rows.append(row | {"seed": record["seed"]})
    return rows


@pytest.fixture(scope="module")
def found():
    study = get_study("embedding-scale")
    loaded = records.load_records(study)
    findings = analysis.compare(study, loaded)
    return study, loaded, {finding.name: finding for finding in findings}


def test_all_planned_runs_are_there_and_small(found):
    study, loaded, _ = found
    assert len(loaded) == len(study.runs())
    assert {cell.seeds for cell in study.cells} <= {3, 5, 10}
    assert all(cell.seeds >= 5 for cell in study.cells if cell.config.model.d_model < 512)


def test_every_record_says_where_and_on_what_it_was_made(found):
    for record in found[1]:
        environment = record["environment"]
        assert {
            "torch",
            "numpy",
            "python",
            "processor",
            "kernels",
            "threads",
            "seconds",
            "peak_memory_mb",
        } <= set(environment)
        assert ("corpus_sha256" in environment) == record["config"]["task"].startswith("next")
        assert environment["threads"] == 1 and 18 <= len(record["curve"]) <= 21


CENTRE = {
    "task": "next_character",
    "position": "sinusoidal",
    "options": {},
    "d_model": 128,
    "tied": True,
    "norm": "post",
    "init_std": None,
    "scale": None,
    "steps": 400,
    "learning_rate": 2e-3,
    "causal": True,
}


def rows_like(raw, *, whatever=(), **wanted):
    """The runs that differ from the study's centre only as said. whatever: what may have
    any value.
    """
    wanted = {key: value for key, value in (CENTRE | wanted).items() if key not in whatever}
    return [row for row in raw if all(row[key] == value for key, value in wanted.items())]


def select(raw, **wanted):
    """{seed: row} of the runs that differ from the study's centre only as said."""
    return {row["seed"]: row for row in rows_like(raw, **wanted)}


def sides(raw, name):
    """Both sides of a comparison, found from its name alone."""
    if "best rate" in name:
        return tuple(
            best_rate(raw, int(name.split(": d ")[1].split(",")[0]), scale) for scale in (None, 1.0)
        )
    wanted = {"norm": "pre" if "pre-norm" in name else "post", "tied": "untied" not in name}
    if "std " in name:
        wanted["init_std"] = {"d^-1/2": None, "1": 1.0, "0.02": 0.02}[
            name.split("std ")[1].split(",")[0]
        ]
    if "words" in name:
        wanted["task"] = "next_word"
    if "four times" in name:
        wanted["steps"] = 1600
    if "which" in name:
        wanted |= {
            "task": "which_first" if "which_first" in name else "which_more",
            "steps": 200,
            "learning_rate": 1e-3,
            "causal": False,
        }
    if name.startswith("PE shrunk"):
        shrunk = select(raw, **wanted, scale=1.0, options={"amplitude": 1 / math.sqrt(128)})
        return shrunk, select(raw, **wanted, scale=None if "factor on" in name else 1.0)
    if name.startswith("base"):
        return select(raw, **wanted, options={"base": float(name.split()[1])}), select(
            raw, **wanted
        )
    if name.startswith("sinusoidal"):
        wanted["scale"] = 1.0 if "factor off" in name else None
        return select(raw, **wanted), select(
            raw, **wanted, position="none" if "no position" in name else "learned"
        )
    for position, words in (("none", "no position"), ("learned", "learned positions")):
        if words in name:
            wanted["position"] = position
    return select(raw, **wanted, scale=None), select(raw, **wanted, scale=1.0)


def best_rate(raw, d, scale):
    """The runs at the rate with the lowest mean validation loss."""
    rates = defaultdict(dict)
    for row in rows_like(raw, whatever=["learning_rate"], d_model=d, scale=scale):
        rates[row["learning_rate"]][row["seed"]] = row
    assert len(rates) == 3
    common = set.intersection(*map(set, rates.values()))
    return min(
        rates.values(), key=lambda runs: np.mean([runs[seed]["validation_loss"] for seed in common])
    )


def by_seed(these, those):
    seeds = sorted(set(these) & set(those))
    return np.array([these[seed]["test_loss"] - those[seed]["test_loss"] for seed in seeds])


def steps_to(curve, loss):
    steps, values = np.array(curve).T
    first = int(np.argmax(values <= loss))
    if first == 0 or values[first] == values[first - 1]:
        return steps[first]
    return np.interp(-loss, [-values[first - 1], -values[first]], [steps[first - 1], steps[first]])


@pytest.mark.parametrize(
    "question", ["init", "control", "width", "word", "order", "base", "longer"]
)
def test_every_comparison_is_recomputed(raw, found, question):
    chosen = [finding for finding in found[2].values() if finding.question == question]
    data = [sides(raw, finding.name) for finding in chosen]
    samples = [by_seed(*pair) for pair in data]
    for finding, pair, x, (verdict, p_zero, p_out) in zip(
        chosen, data, samples, judged(samples), strict=True
    ):
        d = finding.difference
        assert d.plain.n == len(x) and np.isclose(d.plain.mean, x.mean(), rtol=1e-9)
        assert np.allclose(
            (d.plain.low, d.plain.high),
            stats.t.interval(0.95, len(x) - 1, x.mean(), stats.sem(x)),
            rtol=1e-6,
        )
        assert np.isclose(d.p, p_zero, rtol=1e-5, atol=1e-12) and np.isclose(
            d.p_equal, p_out, rtol=1e-5, atol=1e-12
        )
        assert d.verdict == verdict
        target = max(
            row["curve"][-1][1]
            for side in pair
            for seed, row in side.items()
            if seed in finding.seeds
        )
        for steps, side in zip((finding.steps_these, finding.steps_those), pair, strict=True):
            assert np.isclose(
                steps, np.mean([steps_to(side[seed]["curve"], target) for seed in finding.seeds])
            )


@pytest.mark.parametrize("number", range(1, len(predictions.PREDICTIONS) + 1))
def test_every_prediction_is_judged_anew(raw, found, number):
    """From the files: each outcome from its comparison, each size from the two that it compares."""
    study, loaded, findings = found
    judgement = predictions.judge(
        findings.values(), analysis.paired(study, loaded, findings.values())
    )[number - 1]
    sizes = [
        (test, shown, outcome)
        for test, shown, outcome in judgement.results
        if isinstance(test, predictions.Smaller)
    ]
    samples = []
    for test, _, _ in sizes:
        small, large = (
            {seed: a[seed]["test_loss"] - b[seed]["test_loss"] for seed in set(a) & set(b)}
            for a, b in (sides(raw, test.small), sides(raw, test.large))
        )
        signs = [np.sign(np.mean(list(side.values()))) for side in (small, large)]
        samples.append(
            np.array(
                [
                    signs[0] * small[seed] - signs[1] * large[seed]
                    for seed in sorted(set(small) & set(large))
                ]
            )
        )
    for (_, shown, outcome), x, p in zip(
        sizes, samples, holm([stats.ttest_1samp(x, 0).pvalue for x in samples]), strict=True
    ):
        assert float(shown.split()[0]) == pytest.approx(x.mean(), abs=6e-4)
        assert outcome == ("undecided" if p > 0.05 else "confirmed" if x.mean() < 0 else "refuted")
    for test, _, outcome in judgement.results:
        if isinstance(test, predictions.Outcome):
            verdict = findings[test.comparison].difference.verdict
            assert outcome == (
                "confirmed"
                if verdict == test.expected
                else "undecided"
                if verdict == "undecided"
                else "refuted"
            )
    outcomes = [outcome for _, _, outcome in judgement.results]
    expected = (
        "confirmed"
        if set(outcomes) == {"confirmed"}
        else (
            "mixed"
            if "confirmed" in outcomes
            else "refuted"
            if "refuted" in outcomes
            else "undecided"
        )
    )
    assert judgement.verdict == expected


def test_one_short_record_is_made_again():
    """The cheapest record of the study, run again here: identical on the machine that made it,
    close on another, judged by order on another text.
    """
    study = get_study("embedding-scale")
    (cell,) = study.select(["which_more, std d^-1/2, factor on"])
    loaded = [record for record in records.load_records(study) if record["seed"] == 101]
    record = next(
        r for r in loaded if records.identity(r["config"]) == records.identity(cell.config)
    )
    (checked,) = verify(study, [record], workers=1)
    assert checked.good, (
        f"recorded {checked.recorded:.4f}, again {checked.again:.4f}, largest difference"
        f" {checked.distance:.3g} ({checked.kind})"
    )


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_is_complete_or_growing(name):
    study = get_study(name)
    made = {(records.identity(r["config"]), r["seed"]) for r in records.load_records(study)}
    planned = {(records.identity(config), config.seed) for config in study.runs()}
    assert made <= planned if name in GROWING else made == planned


def test_results_stay_small():
    """In bytes, whole studies as they are packed; a study that grows has a file a run."""
    sizes = {
        name: sum(p.stat().st_size for p in (records.RESULTS / name).glob("*") if p.is_file())
        for name in STUDIES
    }
    assert sizes["embedding-scale"] <= 300e3
    assert sizes["mechanism"] <= 3.6e6  # its runs hold a log
    assert sum(sizes.values()) <= 6e6


def test_nothing_but_records_lies_among_the_results():
    for path in Path(records.RESULTS).rglob("*"):
        if path.is_file() and not path.name.startswith("."):
            assert path.parent.name in STUDIES and path.parent.parent == records.RESULTS
            single = path.suffix == ".json" and path.parent.name in GROWING
            assert path.name == records.PACKED or single, path
