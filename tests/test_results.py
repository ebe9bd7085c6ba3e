"""The recorded studies: whole, small, and their statistics recomputed from the raw files by code that shares nothing with the package's."""

import json
import math
import os
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from sinpe.experiments import analysis, measures, predictions, records
from sinpe.experiments.studies import STUDIES, get_study
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
    """Both sides of a comparison, found from its name alone."""
    if "best rate" in name:
        return tuple(best_rate(raw, int(name.split(": d ")[1].split(",")[0]), scale) for scale in (None, 1.0))
    wanted = {"norm": "pre" if "pre-norm" in name else "post", "tied": "untied" not in name}
    if "std " in name:
        wanted["init_std"] = {"d^-1/2": None, "1": 1.0, "0.02": 0.02}[name.split("std ")[1].split(",")[0]]
    if "words" in name:
        wanted["task"] = "next_word"
    if "four times" in name:
        wanted["steps"] = 1600
    if "which" in name:
        wanted |= {"task": "which_first" if "which_first" in name else "which_more", "steps": 200, "learning_rate": 1e-3, "causal": False}
    if name.startswith("PE shrunk"):
        shrunk = select(raw, **wanted, scale=1.0, options={"amplitude": 1 / math.sqrt(128)})
        return shrunk, select(raw, **wanted, scale=None if "factor on" in name else 1.0)
    if name.startswith("base"):
        return select(raw, **wanted, options={"base": float(name.split()[1])}), select(raw, **wanted)
    if name.startswith("sinusoidal"):
        wanted["scale"] = 1.0 if "factor off" in name else None
        return select(raw, **wanted), select(raw, **wanted, position="none" if "no position" in name else "learned")
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
    return min(rates.values(), key=lambda runs: np.mean([runs[seed]["validation_loss"] for seed in common]))


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


@pytest.mark.parametrize("question", ["init", "control", "width", "word", "order", "base", "longer"])
def test_every_comparison_is_recomputed(raw, found, question):
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


@pytest.mark.parametrize("number", range(1, len(predictions.PREDICTIONS) + 1))
def test_every_prediction_is_judged_anew(raw, found, number):
    """From the files: each outcome from its comparison, each size from the two that it compares."""
    study, loaded, findings = found
    judgement = predictions.judge(findings.values(), analysis.paired(study, loaded, findings.values()))[number - 1]
    sizes = [(test, shown, outcome) for test, shown, outcome in judgement.results if isinstance(test, predictions.Smaller)]
    samples = []
    for test, _, _ in sizes:
        small, large = (
            {seed: a[seed]["test_loss"] - b[seed]["test_loss"] for seed in set(a) & set(b)} for a, b in (sides(raw, test.small), sides(raw, test.large))
        )
        signs = [np.sign(np.mean(list(side.values()))) for side in (small, large)]
        samples.append(np.array([signs[0] * small[seed] - signs[1] * large[seed] for seed in sorted(set(small) & set(large))]))
    for (_, shown, outcome), x, p in zip(sizes, samples, holm([stats.ttest_1samp(x, 0).pvalue for x in samples]), strict=True):
        assert float(shown.split()[0]) == pytest.approx(x.mean(), abs=6e-4)
        assert outcome == ("undecided" if p > 0.05 else "confirmed" if x.mean() < 0 else "refuted")
    for test, _, outcome in judgement.results:
        if isinstance(test, predictions.Outcome):
            verdict = findings[test.comparison].difference.verdict
            assert outcome == ("confirmed" if verdict == test.expected else "undecided" if verdict == "undecided" else "refuted")
    outcomes = [outcome for _, _, outcome in judgement.results]
    expected = "confirmed" if set(outcomes) == {"confirmed"} else "mixed" if "confirmed" in outcomes else "refuted" if "refuted" in outcomes else "undecided"
    assert judgement.verdict == expected


def test_one_short_record_is_made_again():
    """The cheapest record of the study, run again here: identical on the machine that made it, close on another, judged by order on another text."""
    study = get_study("embedding-scale")
    (cell,) = study.select(["which_more, std d^-1/2, factor on"])
    loaded = [record for record in records.load_records(study) if record["seed"] == 101]
    record = next(r for r in loaded if records.identity(r["config"]) == records.identity(cell.config))
    (checked,) = verify(study, [record], workers=1)
    assert checked.good, f"recorded {checked.recorded:.4f}, again {checked.again:.4f}, largest difference {checked.distance:.3g} ({checked.kind})"


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_is_complete(name):
    study = get_study(name)
    assert len(records.load_records(study)) == len(study.runs())


def test_the_headline_table_is_recomputed():
    """Losses in windows, their intervals, and "worse than at 64" with Holm's correction, from the raw files of the length study."""
    rows = defaultdict(dict)
    for path in (records.RESULTS / "length").glob("*.json"):
        record = json.loads(path.read_text())
        config = record["config"]
        if not config.get("measure_options"):
            rows[config.get("position", "sinusoidal")][record["seed"]] = record["metrics"]
    study = get_study("length")
    loaded = records.load_records(study)
    methods = {cell.arm: cell for cell in study.cells if cell.arm in rows}
    shown, changes = analysis.across(study, loaded, "windows"), analysis.change(study, loaded, "windows", list(methods.values()))
    assert set(rows) == set(measures.METHODS) == set(methods)
    pairs, samples = [], []
    for method, runs in rows.items():
        for length in (64, 128, 256, 512, 1024):
            values = [runs[seed][f"windows_{length}"] for seed in sorted(runs) if f"windows_{length}" in runs[seed]]
            e = shown[methods[method]][length]
            if not values:
                assert method == "learned" and length > 64 and e is None and changes[methods[method]][length] is None
                continue
            assert (e.n, e.mean) == (5, pytest.approx(np.mean(values)))
            assert (e.low, e.high) == pytest.approx(stats.t.interval(0.95, 4, np.mean(values), stats.sem(values)))
            if length > 64:
                pairs.append((method, length))
                samples.append(np.array(values) - [runs[seed]["windows_64"] for seed in sorted(runs)])
    p = holm([stats.ttest_1samp(x, 0).pvalue for x in samples])
    outside = holm([max(stats.ttest_1samp(x, -0.02, alternative="greater").pvalue, stats.ttest_1samp(x, 0.02, alternative="less").pvalue) for x in samples])
    for (method, length), x, p_zero, p_out in zip(pairs, samples, p, outside, strict=True):
        sure = p_zero <= 0.05 and abs(x.mean()) >= 0.02
        expected = ("lower" if x.mean() < 0 else "higher") if sure else "equal" if p_out <= 0.05 else "undecided"
        assert changes[methods[method]][length].verdict == expected, (method, length)


def test_what_rotary_extensions_change_is_recomputed():
    """Each extension minus plain rotary, and each tuned one minus the tuned control, with Holm's intervals, from the raw files of the length study."""
    rows = defaultdict(dict)
    for path in (records.RESULTS / "length").glob("*.json"):
        record = json.loads(path.read_text())
        if record["config"].get("position") == "rope":
            options = dict(map(tuple, record["config"].get("measure_options", ())))
            rows[options.get("extension", "plain"), "tune" in options][record["seed"]] = record["metrics"]
    names = {name for name, _ in rows} - {"plain"}
    assert len(names) == 4 and len(rows) == 10 and all(len(runs) == 5 for runs in rows.values())

    def gap(these, those, n):
        return np.array([rows[these][seed][f"windows_{n}"] - rows[those][seed][f"windows_{n}"] for seed in sorted(rows[those])])

    plain, control = ("plain", False), ("plain", True)
    sizes = (64, 128, 256, 512, 1024)
    asked = {
        "extension": {(name, n): gap((name, False), plain, n) for name in names for n in sizes[1:]},
        "fine-tune": {(name, n): gap((name, True), control, n) for name in names for n in sizes} | {("control", n): gap(control, plain, n) for n in sizes},
    }
    loaded = records.load_records("length")
    for section, reference in (("extension", "method: rope"), ("fine-tune", "fine-tune: rope, tuned")):
        samples = list(asked[section].values())
        p = np.array([stats.ttest_1samp(x, 0).pvalue for x in samples])
        outside = [max(stats.ttest_1samp(x, -0.02, alternative="greater").pvalue, stats.ttest_1samp(x, 0.02, alternative="less").pvalue) for x in samples]
        order, alpha = p.argsort(kind="stable"), 0.05 / np.arange(len(p), 0, -1)
        failed = np.flatnonzero(p[order] > alpha)
        if failed.size:
            alpha[failed[0] :] = alpha[failed[0]]
        expected = dict(zip(asked[section], zip(samples, holm(p), holm(outside), alpha[order.argsort(kind="stable")], strict=True), strict=True))
        shown = {
            (cell.arm.split(", ")[1], n): difference
            for cell, row in analysis.differences_from("length", loaded, reference, "windows").items()
            if cell.section == section and cell.arm != "rope, tuned"
            for n, difference in row.items()
            if difference is not None
        }
        assert set(shown) == {key for key in expected if key[0] != "control"}
        for key, difference in shown.items():
            x, p_zero, p_out, level = expected[key]
            interval = stats.t.interval(1 - level, 4, x.mean(), stats.sem(x))
            assert (difference.plain.mean, difference.low, difference.high) == pytest.approx((x.mean(), *interval)), key
            sure = p_zero <= 0.05 and abs(x.mean()) >= 0.02
            assert difference.verdict == (("lower" if x.mean() < 0 else "higher") if sure else "equal" if p_out <= 0.05 else "undecided"), key


def test_nothing_but_records_lies_among_the_results():
    assert {path.suffix for path in Path(records.RESULTS).rglob("*") if path.is_file() and not path.name.startswith(".")} == {".json"}
    assert os.path.commonpath([FOLDER, records.RESULTS]) == str(records.RESULTS)
