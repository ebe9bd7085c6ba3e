"""The recorded scaling study: whole, small, and its statistics recomputed from the raw files by code that shares nothing with the package's."""

import json
import os
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from sinpe.experiments import analysis, predictions, records
from sinpe.experiments.studies import get_study
from sinpe.experiments.verify import verify

FOLDER = records.RESULTS / "embedding-scale"


@pytest.fixture(scope="module")
def raw():
    """Every file as JSON, with the configuration flattened."""
    rows = []
    for path in sorted(FOLDER.glob("*.json")):
        record = json.loads(path.read_text())
        config = record["config"]
        row = {**{k: v for k, v in config.items() if k != "model"}, **config["model"], **record["metrics"], "curve": record["curve"]}
        row["options"] = dict(map(tuple, config["position_options"]))
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
    assert sum(path.stat().st_size for path in records.RESULTS.rglob("*") if path.is_file()) <= 1e6
    assert {cell.seeds for cell in study.cells} <= {3, 5, 10}
    assert all(cell.seeds >= 5 for cell in study.cells if cell.config.model.d_model < 512)


def test_every_record_says_where_and_on_what_it_was_made(found):
    for record in found[1]:
        environment = record["environment"]
        assert {"torch", "numpy", "python", "processor", "kernels", "threads", "seconds", "peak_memory_mb"} <= set(environment)
        assert ("corpus_sha256" in environment) == record["config"]["task"].startswith("next")
        assert environment["threads"] == 1 and 18 <= len(record["curve"]) <= 21


CENTRE = {
    "task": "next_character", "position": "sinusoidal", "options": {}, "d_model": 128, "tied": True, "norm": "post",
    "init_std": None, "scale": None, "steps": 400, "learning_rate": 2e-3, "causal": True,
}  # fmt: skip


def rows_like(raw, *, whatever=(), **wanted):
    """The runs that differ from the study's centre only as said. whatever: what may have any value."""
    wanted = {key: value for key, value in (CENTRE | wanted).items() if key not in whatever}
    return [row for row in raw if all(row[key] == value for key, value in wanted.items())]


def select(raw, **wanted):
    """{seed: row} of the runs that differ from the study's centre only as said."""
    return {row["seed"]: row for row in rows_like(raw, **wanted)}


def sides(raw, name):
    """Both sides of a comparison of the factor, found from its name alone."""
    std = {"d^-1/2": None, "1": 1.0, "0.02": 0.02}[name.split("std ")[1].split(",")[0]]
    wanted = {"init_std": std, "tied": "untied" not in name, "norm": "pre" if "pre-norm" in name else "post"}
    if "words" in name:
        wanted["task"] = "next_word"
    if "four times" in name:
        wanted["steps"] = 1600
    if "which" in name:
        wanted |= {"task": name.split(": ")[1].split(",")[0], "steps": 200, "learning_rate": 1e-3, "causal": False}
    return select(raw, **wanted, scale=None), select(raw, **wanted, scale=1.0)


def holm(p):
    """Adjusted p-values by the definition: the largest of (m − rank) · p over all that are not larger."""
    p = np.asarray(p)
    order = p.argsort(kind="stable")
    adjusted = np.maximum.accumulate((len(p) - np.arange(len(p))) * p[order]).clip(max=1)
    return adjusted[order.argsort(kind="stable")]


def by_seed(these, those):
    seeds = sorted(set(these) & set(those))
    return np.array([these[seed]["test_loss"] - those[seed]["test_loss"] for seed in seeds])


def steps_to(curve, loss):
    steps, values = np.array(curve).T
    first = int(np.argmax(values <= loss))
    if first == 0 or values[first] == values[first - 1]:
        return steps[first]
    return np.interp(-loss, [-values[first - 1], -values[first]], [steps[first - 1], steps[first]])


@pytest.mark.parametrize("question", ["init", "word", "longer"])
def test_comparisons_of_the_factor_are_recomputed(raw, found, question):
    chosen = [finding for finding in found[2].values() if finding.question == question]
    data = [sides(raw, finding.name) for finding in chosen]
    samples = [by_seed(*pair) for pair in data]
    p = [stats.ttest_1samp(x, 0).pvalue for x in samples]
    outside = [max(stats.ttest_1samp(x, -0.02, alternative="greater").pvalue, stats.ttest_1samp(x, 0.02, alternative="less").pvalue) for x in samples]
    for finding, pair, x, p_zero, p_out in zip(chosen, data, samples, holm(p), holm(outside), strict=True):
        d = finding.difference
        assert d.plain.n == len(x) and np.isclose(d.plain.mean, x.mean(), rtol=1e-9)
        assert np.allclose((d.plain.low, d.plain.high), stats.t.interval(0.95, len(x) - 1, x.mean(), stats.sem(x)), rtol=1e-6)
        assert np.isclose(d.p, p_zero, rtol=1e-5, atol=1e-12) and np.isclose(d.p_equal, p_out, rtol=1e-5, atol=1e-12)
        sure = p_zero <= 0.05 and abs(x.mean()) >= 0.02
        assert d.verdict == (("lower" if x.mean() < 0 else "higher") if sure else "equal" if p_out <= 0.05 else "undecided")
        target = max(row["curve"][-1][1] for side in pair for seed, row in side.items() if seed in finding.seeds)
        for steps, side in zip((finding.steps_these, finding.steps_those), pair, strict=True):
            assert np.isclose(steps, np.mean([steps_to(side[seed]["curve"], target) for seed in finding.seeds]))


@pytest.mark.parametrize("d", [64, 128, 256, 512])
def test_the_best_rate_is_chosen_on_validation_and_read_on_test(raw, found, d):
    finding = found[2][f"factor on - off: d {d}, best rate"]
    best = []
    for scale in (None, 1.0):
        rates = defaultdict(dict)
        for row in rows_like(raw, whatever=["learning_rate"], d_model=d, scale=scale):
            rates[row["learning_rate"]][row["seed"]] = row
        assert len(rates) == 3
        common = set.intersection(*map(set, rates.values()))
        best.append(min(rates.values(), key=lambda runs: np.mean([runs[seed]["validation_loss"] for seed in common])))
    x = by_seed(*best)
    assert np.isclose(finding.difference.plain.mean, x.mean()) and finding.difference.plain.n == len(x)


def test_sizes_of_gaps_are_recomputed(raw, found):
    """Every `Smaller` of prediction 3, straight from the files."""
    study, loaded, findings = found
    judged = predictions.judge(findings.values(), analysis.paired(study, loaded, findings.values()))[2]
    tests = [(test, shown, outcome) for test, shown, outcome in judged.results if isinstance(test, predictions.Smaller)]
    samples = []
    for test, _, _ in tests:
        small, large = (
            {seed: a[seed]["test_loss"] - b[seed]["test_loss"] for seed in sorted(set(a) & set(b))} for a, b in (sides(raw, test.small), sides(raw, test.large))
        )
        seeds = sorted(set(small) & set(large))
        signs = [np.sign(np.mean(list(side.values()))) for side in (small, large)]
        samples.append(np.array([signs[0] * small[seed] - signs[1] * large[seed] for seed in seeds]))
    for (_, shown, outcome), x, p in zip(tests, samples, holm([stats.ttest_1samp(x, 0).pvalue for x in samples]), strict=True):
        assert float(shown.split()[0]) == pytest.approx(x.mean(), abs=6e-4)
        assert outcome == ("undecided" if p > 0.05 else "confirmed" if x.mean() < 0 else "refuted")


def test_one_short_record_is_made_again():
    """The cheapest record of the study, run again here: identical on the machine that made it, close on another, judged by order on another text."""
    study = get_study("embedding-scale")
    (cell,) = study.select(["which_more, std d^-1/2, factor on"])
    loaded = [record for record in records.load_records(study) if record["seed"] == 101]
    record = next(r for r in loaded if records.identity(r["config"]) == records.identity(cell.config))
    (checked,) = verify(study, [record], workers=1)
    assert checked.good, f"recorded {checked.recorded:.4f}, again {checked.again:.4f}, largest difference {checked.distance:.3g} ({checked.kind})"


def test_nothing_but_records_lies_among_the_results():
    assert {path.suffix for path in Path(records.RESULTS).rglob("*") if path.is_file() and not path.name.startswith(".")} == {".json"}
    assert os.path.commonpath([FOLDER, records.RESULTS]) == str(records.RESULTS)
