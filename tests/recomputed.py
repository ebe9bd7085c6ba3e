"""The recorded studies read and judged by code that shares nothing with the package's own."""

import json
from pathlib import Path

import numpy as np
from scipy import stats

RESULTS = Path(__file__).parent.parent / "sinpe" / "results"

MARGIN = 0.02


def raw_records(study):
    """Every record of a study, from files of one each and from the packed one: what is shared, then
    what a line adds.
    """
    shared, group, packed = None, None, RESULTS / study / "records.jsonl"
    found = [json.loads(path.read_text()) for path in sorted((RESULTS / study).glob("*.json"))]
    for line in packed.read_text().splitlines() if packed.exists() else ():
        values = json.loads(line)
        if "records" in values:
            shared = values["shared"]
        elif "config" in values:
            group = values
        else:
            record = {"config": group["config"]}
            for source in (shared, group["shared"], values):
                add(record, source)
            columns = record["curve"]
            record["curve"] = list(map(list, zip(columns["step"], columns["loss"], strict=True)))
            found.append(record)
    return found


def add(target, values):
    """Put values into a dict of dicts."""
    for key, value in values.items():
        if isinstance(value, dict):
            add(target.setdefault(key, {}), value)
        else:
            target[key] = value


def key(settings, left_out):
    """Settings, with what is left out of them, as something to look up by, numbers rounded."""
    settings = left_out | settings
    assert settings.keys() == left_out.keys(), settings.keys() - left_out.keys()

    def plain(value):
        if isinstance(value, dict):
            return tuple(sorted((name, plain(v)) for name, v in value.items()))
        if isinstance(value, list | tuple):
            return tuple(map(plain, value))
        known = isinstance(value, str | bool) or value is None
        return value if known else round(float(value), 9)

    return tuple((name, plain(settings[name])) for name in sorted(settings))


def same(finding, ours, name):
    """Assert that the package's finding is the one recomputed: question, pairs, mean, interval, the
    standard deviation where it was recomputed, both p-values, verdict.
    """
    theirs = finding.difference
    assert finding.question == ours["question"] and theirs.plain.n == ours["n"], name
    numbers = {"mean": theirs.plain.mean, "low": theirs.low, "high": theirs.high}
    if "std" in ours:
        numbers["std"] = theirs.plain.std
    for part, value in numbers.items():
        assert np.isclose(value, ours[part], rtol=1e-6, atol=1e-9), (name, part)
    for part in ("p", "p_equal"):
        assert np.isclose(getattr(theirs, part), ours[part], rtol=1e-5, atol=1e-12), (name, part)
    assert theirs.verdict == ours["verdict"], name


def verdict(outcomes):
    """Of a prediction, from the outcomes of its tests."""
    kinds = set(outcomes)
    if len(kinds) == 1:
        return kinds.pop()
    for kind, word in (("not run", "not run"), ("confirmed", "mixed"), ("refuted", "refuted")):
        if kind in kinds:
            return word
    raise AssertionError(kinds)


def holm(p):
    """Adjusted p-values by the definition: the largest of (m − rank) · p over all that are not
    larger.
    """
    p = np.asarray(p)
    order = p.argsort(kind="stable")
    adjusted = np.maximum.accumulate((len(p) - np.arange(len(p))) * p[order]).clip(max=1)
    return adjusted[order.argsort(kind="stable")]


def levels(p):
    """The level at which each difference is judged: 0.05 over the number of those left, from the
    smallest p-value on, until one fails, which decides for the rest.
    """
    order, alpha = np.argsort(p, kind="stable"), 0.05 / np.arange(len(p), 0, -1)
    failed = np.flatnonzero(np.asarray(p)[order] > alpha)
    if failed.size:
        alpha[failed[0] :] = alpha[failed[0]]
    return alpha[order.argsort(kind="stable")]


def half_widths(samples):
    """Half the width of each corrected interval."""
    alpha = levels([stats.ttest_1samp(x, 0).pvalue for x in samples])
    return [
        stats.t.ppf(1 - a / 2, len(x) - 1) * stats.sem(x)
        for x, a in zip(samples, alpha, strict=True)
    ]


def judged(samples):
    """Lists of paired differences that are judged together -> [(verdict, corrected p of "zero",
    corrected p of "outside the margin")].
    """
    zero = [stats.ttest_1samp(x, 0).pvalue for x in samples]
    outside = [
        max(
            stats.ttest_1samp(x, -MARGIN, alternative="greater").pvalue,
            stats.ttest_1samp(x, MARGIN, alternative="less").pvalue,
        )
        for x in samples
    ]
    return [
        (_verdict(np.mean(x), p, q), p, q)
        for x, p, q in zip(samples, holm(zero), holm(outside), strict=True)
    ]


def _verdict(mean, p_zero, p_outside):
    if p_zero <= 0.05 and abs(mean) >= MARGIN:
        return "lower" if mean < 0 else "higher"
    return "equal" if p_outside <= 0.05 else "undecided"
