"""The study "far" from its raw files, and beside it those of "length": arms told by their settings,
which are written down here once more, comparisons paired by seed, corrected, judged. Shares nothing
with the package's own reading of records, and takes from it only what was predicted.
"""

from functools import cache

import numpy as np
import recomputed
from recomputed import MARGIN, holm, levels, raw_records
from scipy import stats

LOUD = round(0.5**0.5, 9)
# what a file leaves out has these values
LEFT_OUT = {
    "position": "sinusoidal",
    "position_options": {},
    "task": "next_character",
    "length": 64,
    "batch_size": 32,
    "steps": 400,
    "learning_rate": 0.002,
    "warmup": 40,
    "measure": "held_out",
    "measure_options": {},
    "treatment": "none",
    "d_model": 128,
}
READ = [64, 128, 256, 512, 1024]
TEXT = {
    "steps": 2000,
    "warmup": 200,
    "batch_size": 8,
    "measure": "windows",
    "measure_options": {"lengths": READ},
}
AT_256 = {"length": 256, "batch_size": 2}
METHODS = ("none", "sinusoidal", "learned", "shaw", "transformer-xl", "t5", "rope", "xpos", "alibi")
EXTENSIONS = {
    "rope, tuned": {},
    "rope, position-interpolation, tuned": {"extension": "position-interpolation"},
    "rope, ntk-aware, tuned": {"extension": "ntk-aware"},
    "rope, yarn, tuned": {"extension": "yarn"},
}


def position(method, length=64, fitted=True):
    """How a method is set for texts of a length."""
    options = {"learned": {"init_std": LOUD}, "t5": {"max_distance": length} if fitted else {}}
    return {"position": method, "position_options": options.get(method, {})}


def skyline(method):
    return "far", TEXT | AT_256 | position(method, 256)


FILLED = ("far", TEXT | position("t5"))


def in_length(method, **measured):
    """A run of the study "length"."""
    setting = TEXT | {"measure": "lengths", "measure_options": measured}
    return "length", setting | position(method, fitted=False)


def facts(method, length):
    changes = {"task": "facts", "steps": 1000, "warmup": 100, "measure": "exact"}
    changes |= {"measure_options": {"lengths": [64, 128, 256]}}
    return "far", TEXT | (AT_256 if length == 256 else {}) | position(method, length) | changes


def passage(method):
    changes = {"task": "repeated_passage", "steps": 2000, "warmup": 200}
    return "far", facts(method, 256)[1] | changes


def raised(factor, tune):
    options = {"base": 10_000.0 * factor, "lengths": READ, "tune": tune}
    return "far", TEXT | position("rope") | {"measure_options": options}


def tuned_longer(extension):
    options = {"tune": 240} | ({"extension": extension} if extension else {})
    return "far", in_length("rope", **options)[1]


def copied(method):
    return "far", {
        "task": "copy",
        "d_model": 64,
        "length": 16,
        "batch_size": 32,
        "steps": 2000,
        "warmup": 200,
        "measure": "exact",
        "measure_options": {"lengths": [16, 32, 64]},
        **position(method, fitted=False),
    }


def racer(name, steps):
    setting = {"task": "three_back", "d_model": 32, "length": 32, "batch_size": 32}
    setting |= {"steps": steps, "warmup": steps // 10, "learning_rate": 0.007}
    if name == "frozen table":
        setting |= {"treatment": "frozen-positions"}
    if "table" in name:
        return "far", setting | position("learned")
    base = float(name.removeprefix("base "))
    return "far", setting | {"position_options": {} if base == 10_000 else {"base": base}}


def rated(method, times):
    setting = TEXT | position(method) | {"measure": "held_out", "measure_options": {}}
    return "far", setting | {"learning_rate": 0.002 * times}


def three_rates(method):
    middle = FILLED if method == "t5" else in_length(method)
    return [middle, rated(method, 1 / 3), rated(method, 3)]


def planned_comparisons():
    """{question: {name: (one side, the other, its metric, the other's)}} of the study itself; a
    side of which the best is chosen is a list.
    """
    plan = {}

    def add(question, name, these, those, metric, other=None):
        assert name not in plan.setdefault(question, {})
        plan[question][name] = these, those, metric, other or metric

    for n in (64, 256, 1024):
        for m in ("transformer-xl", "alibi", "t5"):
            name = f"{m} - rope, trained at 256, read at {n}"
            add("skyline", name, skyline(m), skyline("rope"), f"windows_{n}")
        for a in (13, 50):
            name = f"base x {a}, tuned 60 steps - base x 4, tuned 60 steps, read at {n}"
            add("raised base", name, raised(a, 60), raised(4, 60), f"windows_{n}")
            for label, extension in (
                ("yarn", "yarn"),
                ("position-interpolation", "position-interpolation"),
                ("plain", None),
            ):
                name = f"base x {a}, tuned 240 steps - {label}, tuned 240 steps, read at {n}"
                sides = raised(a, 240), tuned_longer(extension)
                add("tuned longer", name, *sides, f"windows_{n}")
    name = "t5, trained at 256 - t5, largest distance 64, read at 256"
    add("skyline", name, skyline("t5"), FILLED, "windows_256")
    asked = ("none", "sinusoidal", "t5", "alibi", "rope", "transformer-xl")
    for what in ("loss", "exact"):
        for m in asked:
            for length in (64, 256):
                if m != "rope":
                    name = f"{what} of {m} - rope, trained at {length}, at 256"
                    sides = facts(m, length), facts("rope", length)
                    add(f"facts, {what}", name, *sides, f"{what}_256")
            name = f"{what} of {m}: trained at 64 - at 256, at 256"
            add(f"facts, {what}", name, facts(m, 64), facts(m, 256), f"{what}_256")
    for n in (16, 32, 64):
        for m in METHODS:
            if m != "sinusoidal":
                name = f"{m} - sinusoidal, copy at {n}"
                add("copy", name, copied(m), copied("sinusoidal"), f"exact_{n}")
    for steps in (125, 250):
        for pair in (
            "base 10 - base 10000",
            "base 100 - base 10000",
            "table - base 10000",
            "frozen table - base 10000",
            "table - base 10",
            "table - base 100",
            "table - frozen table",
        ):
            sides = (racer(name, steps) for name in pair.split(" - "))
            add(f"race, {steps} steps", f"{pair}, {steps} steps", *sides, "test_accuracy")
    for n in (64, 128, 256):
        name = f"transformer-xl - rope, second copy at {n}"
        add("passage", name, passage("transformer-xl"), passage("rope"), f"loss_{n}")
    for m in METHODS:
        add("rate", f"{m}: rate x 3 - x 1/3", rated(m, 3), rated(m, 1 / 3), "test_loss")
    return plan


def comparisons_beside():
    """The same of what stands beside the study "length", and within runs."""
    plan = {}

    def add(question, name, these, those, metric, other=None):
        assert name not in plan.setdefault(question, {})
        plan[question][name] = these, those, metric, other or metric

    for m in ("rope", "transformer-xl", "alibi", "t5"):
        short = FILLED if m == "t5" else in_length(m)
        for n in READ:
            name = f"{m}: trained at 256 - at 64, read at {n}"
            add("trained at the length", name, skyline(m), short, f"windows_{n}")
            if n > 64:
                name, one = f"{m}, trained at 256: read at {n} - at 64", skyline(m)
                add("gain of context", name, one, one, f"windows_{n}", "windows_64")
        name = f"{m}: trained and read at 256 - at 64"
        add("each at its length", name, skyline(m), short, "windows_256", "windows_64")
    t5 = {
        "none": in_length("none"),
        "t5": in_length("t5"),
        "t5, largest distance 32": (
            "length",
            in_length("t5")[1] | {"position_options": {"max_distance": 32}},
        ),
        "alibi": in_length("alibi"),
        "rope": in_length("rope"),
    }
    for n in READ:
        for name, other in t5.items():
            add(
                "t5 fitted",
                f"t5, largest distance 64 - {name}, read at {n}",
                FILLED,
                other,
                f"windows_{n}",
            )
    others = {name: in_length("rope", tune=60, **e) for name, e in EXTENSIONS.items()}
    others["rope, yarn"] = in_length("rope", extension="yarn")
    for n in (64, 256, 1024):
        for factor in (4, 13, 50):
            for name, other in others.items():
                add(
                    f"raised base, read at {n}",
                    f"base x {factor}, tuned - {name}, read at {n}",
                    raised(factor, 60),
                    other,
                    f"windows_{n}",
                )
    for m in METHODS:
        if m != "rope":
            sides = three_rates(m), three_rates("rope")
            add("best rate", f"{m} - rope, best of three rates", *sides, "test_loss")
    for m in ("rope", "transformer-xl"):
        for n in (64, 128, 256):
            name = f"{m}, trained at 256: second copy - first, at {n}"
            add("use of the copy", name, passage(m), passage(m), f"loss_{n}", f"first_{n}")
    return plan


def key(settings):
    return recomputed.key(settings, LEFT_OUT)


@cache
def runs(study):
    """{settings: {seed: metrics}}"""
    found = {}
    for record in raw_records(study):
        config = LEFT_OUT | {k: v for k, v in record["config"].items() if k != "model"}
        config |= record["config"]["model"]
        for name in ("position_options", "measure_options"):
            config[name] = dict(config[name])
        here = found.setdefault(key({name: config[name] for name in LEFT_OUT}), {})
        assert record["seed"] not in here
        here[record["seed"]] = record["metrics"]
    return found


def values(side, metric):
    """{seed: value} of a side; of several, of the one with the lowest mean validation loss over the
    seeds that all have.
    """
    if isinstance(side, list):
        three = [values(one, "validation_loss") for one in side]
        seeds = set.intersection(*map(set, three))
        if not seeds:
            return {}
        side = side[int(np.argmin([np.mean([v[s] for s in sorted(seeds)]) for v in three]))]
    study, settings = side
    there = runs(study).get(key(settings), {})
    return {seed: m[metric] for seed, m in sorted(there.items()) if metric in m}


@cache
def gaps():
    """{name: {seed: difference}} of the comparisons with two pairs at least."""
    found = {}
    for comparisons in {**planned_comparisons(), **comparisons_beside()}.values():
        for name, (these, those, metric, other) in comparisons.items():
            a, b = values(these, metric), values(those, other)
            seeds = sorted(a.keys() & b.keys())
            if len(seeds) > 1:
                found[name] = {seed: a[seed] - b[seed] for seed in seeds}
    return found


def p_values(x):
    """Of a mean of zero, and of one outside the margin. Where nothing scatters, it is certain."""
    if np.ptp(x) == 0:
        return float(x[0] == 0), float(abs(x[0]) >= MARGIN)
    sides = ((-MARGIN, "greater"), (MARGIN, "less"))
    outside = max(stats.ttest_1samp(x, m, alternative=side).pvalue for m, side in sides)
    return stats.ttest_1samp(x, 0).pvalue, outside


@cache
def findings():
    """{name: {question, n, mean, low, high, verdict, p, p_equal}}, corrected within a question."""
    found = {}
    for question, comparisons in {**planned_comparisons(), **comparisons_beside()}.items():
        names = [name for name in comparisons if name in gaps()]
        if not names:
            continue
        samples = [np.array(list(gaps()[name].values())) for name in names]
        zero, outside = zip(*map(p_values, samples), strict=True)
        rows = zip(names, samples, levels(zero), holm(zero), holm(outside), strict=True)
        for name, x, alpha, p, q in rows:
            half = stats.t.ppf(1 - alpha / 2, len(x) - 1) * np.std(x, ddof=1) / np.sqrt(len(x))
            mean = x.mean()
            if p <= 0.05 and abs(mean) >= MARGIN:
                word = "lower" if mean < 0 else "higher"
            else:
                word = "equal" if q <= 0.05 else "undecided"
            found[name] = {
                "question": question,
                "n": len(x),
                "mean": mean,
                "low": mean - half,
                "high": mean + half,
                "verdict": word,
                "p": p,
                "p_equal": q,
            }
    return found


def outcomes(prediction):
    """ "confirmed", "refuted", "undecided" or "not run" of each test of a prediction."""
    smaller = [t for t in prediction.tests if hasattr(t, "small")]
    assert len(smaller) <= 1  # so that nothing is corrected
    found = []
    for test in prediction.tests:
        if hasattr(test, "small"):
            small, large = (gaps().get(name, {}) for name in (test.small, test.large))
            seeds = sorted(small.keys() & large.keys())
            if not seeds:
                found.append("not run")
                continue
            signs = [1 if np.mean(list(g.values())) >= 0 else -1 for g in (small, large)]
            x = np.array([signs[0] * small[s] - signs[1] * large[s] for s in seeds])
            p = p_values(x)[0]
            found.append("undecided" if p > 0.05 else "confirmed" if x.mean() < 0 else "refuted")
        elif test.comparison not in findings():
            found.append("not run")
        else:
            word = findings()[test.comparison]["verdict"]
            same = word == test.expected
            found.append("confirmed" if same else "undecided" if word == "undecided" else "refuted")
    return found
