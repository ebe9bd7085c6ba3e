"""The study "mechanism" from its raw files: arms told by their settings, which are written down
here once more, comparisons paired by seed, corrected, judged. Shares nothing with the package's
own reading of records, and takes from it only what was predicted.
"""

import math
from functools import cache

import numpy as np
import recomputed
from recomputed import half_widths, holm, judged, raw_records
from scipy import integrate, stats

ROOT = math.sqrt(128)
# what a run has where it says nothing else, as far as arms differ in it
CENTRE = {
    "d_model": 128,
    "norm": "post",
    "tied": False,
    "init_std": None,
    "scale": 1.0,
    "logit_scale": 1.0,
    "dropout": 0.0,
    "position": "sinusoidal",
    "position_options": {},
    "task": "next_character",
    "steps": 400,
    "learning_rate": 0.002,
    "warmup": 40,
    "table_rate": 1.0,
    "output_rate": 1.0,
    "rest_rate": 1.0,
    "optimizer": "adamw",
    "clip": None,
    "treatment": "none",
    "treatment_options": {},
}
# what a file leaves out has these values
LEFT_OUT = CENTRE | {"norm": "pre", "tied": True, "scale": None, "clip": 1.0}
FAST, LOUD = {"table_rate": ROOT}, {"init_std": 1.0}
OFF, ON = {"tied": True}, {"tied": True, "scale": None}
TIED_FAST = {"init_std": 1 / 128, "scale": None, "logit_scale": ROOT}
TIED_SLOW = {"init_std": 1.0, "logit_scale": 1 / ROOT}
COPY = {"treatment": "copied-output"}


def _way_in(factor):
    return {"treatment": "scaled-way-in", "treatment_options": {"factor": factor}}


ARMS = {
    "QS": {},
    "QF": FAST,
    "LS": LOUD,
    "LF": LOUD | FAST,
    "Y": {"treatment": "yoked", "treatment_options": FAST},
    "P": {"treatment": "pinned"} | FAST,
    "Q0": {"table_rate": 0.0},
    "L0": LOUD | {"table_rate": 0.0},
    "S-": {"position_options": {"amplitude": 1 / ROOT}},
    "S+": LOUD | FAST | {"position_options": {"amplitude": ROOT}},
    "K": {"position": "constant"},
    "N": {"position": "none"},
    "QF, output fast": FAST | {"output_rate": ROOT},
    "LS, output slow": LOUD | {"output_rate": 1 / ROOT},
    "T-QS": OFF,
    "T-LF": ON,
    "T-QF": {"tied": True} | TIED_FAST,
    "T-LS": {"tied": True} | TIED_SLOW,
    "T-QS, way in x": OFF | _way_in(ROOT),
    "T-LF, way in /": ON | _way_in(1 / ROOT),
    "T-QS, way in cut": OFF | _way_in(0.0),
    "T-LF, way in cut": ON | _way_in(0.0),
    "E-QS": COPY,
    "E-LF": COPY | {"scale": None},
    "E-QF": COPY | TIED_FAST,
    "E-LS": COPY | TIED_SLOW,
    "E-QF, even": COPY | TIED_FAST | {"output_rate": 1 / ROOT},
    "E-LS, even": COPY | TIED_SLOW | {"output_rate": ROOT},
}
PATH = (
    "QF - QS",
    "LF - QS",
    "QF - LF",
    "LF - LS",
    "Y - QS",
    "Y - QF",
    "P - QS",
    "P - QF",
    "L0 - Q0",
)
SIZE = ("S- - LF", "S+ - QS", "S- - QS", "S+ - LF", "LS - QS")
SHARE = (
    "T-LF - T-QS",
    "T-QS, way in x - T-QS",
    "T-LF, way in / - T-LF",
    "T-LF, way in / - T-QS, way in x",
    "T-QS, way in cut - T-QS",
    "T-LF, way in cut - T-LF",
    "T-QF - T-QS",
    "T-LS - T-LF",
    "T-QF - T-LF",
)
COPIED = ("T-QS - E-QS", "T-LF - E-LF", "T-QF - E-QF", "T-LS - E-LS")
COPIED += ("E-LF - E-QS", "E-QF, even - E-QF", "E-LS, even - E-LS")
LOGITS = ("QF, output fast - QF", "LS, output slow - LS", "K - N", "K - QS", "N - QS")
RATIOS = tuple(2.0**k for k in range(-5, 5))
SETTINGS = {
    "dropout 0.1": {"dropout": 0.1},
    "clipped": {"clip": 1.0},
    "warm-up 160": {"warmup": 160},
    "words": {"task": "next_word"},
    "source code": {"task": "next_source_character"},
}


def _at_width(d, arm):
    changes = {"d_model": d, "learning_rate": 0.002 * math.sqrt(128 / d)}
    settings = ARMS[arm] | changes
    if "table_rate" in settings:
        settings["table_rate"] = math.sqrt(d)
    if settings.get("treatment_options"):
        settings["treatment_options"] = {"table_rate": math.sqrt(d)}
    return settings


def _at_ratio(ratio, speed):
    std = None if ratio == 0.125 else ratio * math.sqrt(0.5)
    return {"init_std": std} | (FAST if speed == "fast" else {})


def plan():
    """{question: {name of a comparison: (settings of one side, of the other)}}; a side from which
    the best is chosen is a list.
    """
    questions = {}
    for norm in ("post", "pre"):
        for question, pairs in (
            ("path and speed", PATH),
            ("size and start", SIZE),
            ("share", SHARE),
        ):
            questions[f"{norm}: {question}"] = _pairs(norm, pairs, {"norm": norm})
    questions["shared or copied"] = _pairs("post", COPIED, {})
    questions["logits and dilution"] = _pairs("post", LOGITS, {})
    six = ("QF - QS", "LF - QS", "QF - LF", "LF - LS", "Y - QS", "Y - QF")
    questions["clipped"] = _pairs("clipped", six, {"clip": 1.0})
    questions["other rates"] = {
        f"best rate of all others: {pair}": tuple(
            [ARMS[arm] | {"rest_rate": r, "output_rate": r} for r in (1 / 3, 1.0, 3.0)]
            for arm in pair.split(" - ")
        )
        for pair in six[:3]
    }
    questions["ratio, speed"] = {
        f"fast - slow: ratio {r:g}": (_at_ratio(r, "fast"), _at_ratio(r, "slow")) for r in RATIOS
    }
    for speed in ("slow", "fast"):
        questions[f"ratio, {speed}"] = {
            f"ratio {r:g} - 1: {speed}": (_at_ratio(r, speed), _at_ratio(1.0, speed))
            for r in RATIOS
            if r != 1
        }
    for d in (64, 256, 512):
        questions[f"width {d}"] = {
            f"d {d}: {pair}": tuple(_at_width(d, arm) for arm in pair.split(" - ")) for pair in six
        }
    questions["position"] = {
        f"factor on - off: {p}, tied, pre-norm": tuple(
            side | {"norm": "pre", "position": p} for side in (ON, OFF)
        )
        for p in ("none", "rope", "alibi")
    }
    questions["robust"] = {
        f"factor on - off: {name}": (ON | change, OFF | change) for name, change in SETTINGS.items()
    }
    questions["robust"]["factor on - off: SGD, best rate"] = tuple(
        [
            side | {"optimizer": "sgd", "learning_rate": rate}
            for rate in (0.001, 0.003, 0.01, 0.03, 0.1)
        ]
        for side in (ON, OFF)
    )
    longer = {"steps": 1600, "warmup": 160}
    questions["longer"] = _pairs("1600 steps", six[:4], longer)
    return questions


def _pairs(where, pairs, change):
    return {
        f"{where}: {pair}": tuple(ARMS[arm] | change for arm in pair.split(" - ")) for pair in pairs
    }


def key(settings):
    return recomputed.key(settings, CENTRE)


@cache
def runs():
    """{settings: {seed: record}}"""
    found = {}
    for record in raw_records("mechanism"):
        config = LEFT_OUT | {k: v for k, v in record["config"].items() if k != "model"}
        config |= record["config"]["model"]
        for name in ("position_options", "treatment_options"):
            config[name] = dict(config[name])
        here = found.setdefault(key({name: config[name] for name in CENTRE}), {})
        assert record["seed"] not in here
        here[record["seed"]] = record
    return found


def losses(settings, name="test_loss"):
    """{seed: loss}"""
    return {seed: r["metrics"][name] for seed, r in sorted(runs().get(key(settings), {}).items())}


def _chosen(side):
    """A side's losses; of several, the one with the lowest mean validation loss over the seeds that
    all have.
    """
    if isinstance(side, dict):
        return losses(side)
    seeds = set.intersection(*(set(losses(settings)) for settings in side))
    if not seeds:
        return {}
    means = [
        np.mean([losses(settings, "validation_loss")[seed] for seed in sorted(seeds)])
        for settings in side
    ]
    return losses(side[int(np.argmin(means))])


@cache
def gaps():
    """{name: {seed: difference}} of the comparisons with two pairs at least."""
    found = {}
    for comparisons in plan().values():
        for name, sides in comparisons.items():
            these, those = map(_chosen, sides)
            seeds = sorted(these.keys() & those.keys())
            if len(seeds) > 1:
                found[name] = {seed: these[seed] - those[seed] for seed in seeds}
    return found


@cache
def findings():
    """{name: {mean, low, high, n, std, p, p_equal, verdict, question}}, corrected within a
    question.
    """
    found = {}
    for question, comparisons in plan().items():
        names = [name for name in comparisons if name in gaps()]
        if not names:
            continue
        samples = [np.array(list(gaps()[name].values())) for name in names]
        for name, x, half, (verdict, p, p_equal) in zip(
            names, samples, half_widths(samples), judged(samples), strict=True
        ):
            found[name] = {
                "mean": x.mean(),
                "low": x.mean() - half,
                "high": x.mean() + half,
                "n": len(x),
                "std": x.std(ddof=1),
                "p": p,
                "p_equal": p_equal,
                "verdict": verdict,
                "question": question,
            }
    return found


def logged(norm, arm, what):
    """{seed: {step: value}} of what the log of an arm holds."""
    there = runs().get(key(ARMS[arm] | {"norm": norm}), {})
    logs = {seed: record["metrics"]["log"] for seed, record in there.items()}
    return {seed: dict(zip(log["step"], log[what], strict=True)) for seed, log in logs.items()}


@cache
def seeds_planned():
    """{settings: the seeds that they will have}"""
    many = ("QS", "LF", "S-", "S+", "T-QS", "T-LF", "T-QS, way in x", "T-LF, way in /")
    found = {}
    for question, comparisons in plan().items():
        for sides in comparisons.values():
            for side in sides:
                for settings in side if isinstance(side, list) else [side]:
                    found.setdefault(key(settings), 10 if question == "clipped" else 5)
    for norm in ("post", "pre"):
        for arm, settings in ARMS.items():
            if (k := key(settings | {"norm": norm})) in found:
                found[k] = 24 if arm in many else 16
    return found


def planned_runs():
    """How many runs the study will have."""
    return sum(seeds_planned().values())


def planned():
    """{name of a comparison: the pairs that it will have}"""

    def pairs(side):
        if isinstance(side, list):
            return min(map(pairs, side))
        return seeds_planned()[key(side)]

    return {
        name: min(map(pairs, sides))
        for comparisons in plan().values()
        for name, sides in comparisons.items()
    }


def sizes(tests):
    """Outcomes of tests that one difference is smaller than another, corrected together ->
    [(mean, low, high, p, outcome) or None where it was not run].
    """
    samples, out = {}, {}
    for test in tests:
        small, large = gaps().get(test.small, {}), gaps().get(test.large, {})
        seeds = sorted(small.keys() & large.keys())
        if seeds:
            signs = [math.copysign(1, np.mean(list(g.values()))) for g in (small, large)]
            samples[test] = np.array([signs[0] * small[s] - signs[1] * large[s] for s in seeds])
    if samples:
        p = holm([stats.ttest_1samp(x, 0).pvalue for x in samples.values()])
        halves = half_widths(list(samples.values()))
        for (test, x), one, half in zip(samples.items(), p, halves, strict=True):
            outcome = "undecided" if one > 0.05 else "confirmed" if x.mean() < 0 else "refuted"
            out[test] = x.mean(), x.mean() - half, x.mean() + half, one, outcome
    return [out.get(test) for test in tests]


def outcomes(prediction):
    """ "confirmed", "refuted", "undecided" or "not run" of each test of a prediction."""
    smaller = [test for test in prediction.tests if hasattr(test, "small")]
    by_size = dict(zip(smaller, sizes(smaller), strict=True))
    found = []
    for test in prediction.tests:
        if test in by_size:
            found.append(by_size[test][-1] if by_size[test] else "not run")
        elif test.comparison not in findings():
            found.append("not run")
        else:
            verdict = findings()[test.comparison]["verdict"]
            found.append(
                "confirmed"
                if verdict == test.expected
                else "undecided"
                if verdict == "undecided"
                else "refuted"
            )
    return found


def power(n, std, *, true=0.0, equal=False, alpha=0.05, margin=0.02):
    """The chance that n pairs whose differences scatter by std are judged different from zero
    (equal: shown to be equal within the margin), if the true difference is `true`.
    """
    df, shift = n - 1, true * math.sqrt(n) / std
    if not equal:
        t = stats.t.ppf(1 - alpha / 2, df)
        return stats.nct.sf(t, df, shift) + stats.nct.cdf(-t, df, shift)
    t, room = stats.t.ppf(1 - alpha, df), margin * math.sqrt(n) / std

    def part(q):  # the spread found, over the true one
        inside = room - t * q
        chance = stats.norm.cdf(inside - shift) - stats.norm.cdf(-inside - shift)
        return chance * stats.chi.pdf(q * math.sqrt(df), df) * math.sqrt(df)

    return integrate.quad(part, 0, room / t, limit=200)[0]
