"""The checks of chapter 07: a right answer passes, each mistake is called by its name, anything
else gets a helpful message.
"""

import math

import numpy as np
from exercise_checks import ExerciseChecks
from scipy import stats

from sinpe import exercises

CHECKS = {
    "interval": exercises.check_paired_interval,
    "holm": exercises.check_holm,
    "choose": exercises.check_choose_then_test,
    "verdict": exercises.check_verdict,
}


def interval(these, those, ddof=1, t=None, root=True, sign=1):
    d = sign * np.subtract(these, those)
    n = len(d)
    t = stats.t.ppf(0.975, n - 1) if t is None else t(n)
    half = t * d.std(ddof=ddof) / (math.sqrt(n) if root else 1)
    return d.mean(), d.mean() - half, d.mean() + half


def by_scipy(these, those):
    found = stats.ttest_rel(these, those)
    low, high = found.confidence_interval(0.95)
    return np.mean(np.subtract(these, those)), low, high


def unpaired(these, those):
    found = stats.ttest_ind(these, those)
    low, high = found.confidence_interval(0.95)
    return np.mean(these) - np.mean(those), low, high


def holm(p):
    out = [False] * len(p)
    for rank, i in enumerate(np.argsort(p)):
        if p[i] > 0.05 / (len(p) - rank):
            break
        out[i] = True
    return out


def choose(scores, by=np.mean, on=0, read=1):
    best = min(scores, key=lambda rate: by(scores[rate][on]))
    return np.mean(scores[best][read])


def verdict(mean, low, high, margin, *, sure=True, large=True, wide="undecided"):
    if (not sure or high < 0 or low > 0) and (not large or abs(mean) >= margin):
        return "lower" if mean < 0 else "higher"
    return "equal" if -margin < low and high < margin else wide


RIGHT = [
    ("interval", interval),
    ("interval", by_scipy),
    ("interval", lambda a, b: np.round(by_scipy(a, b), 4)),
    # from a printed table
    ("interval", lambda a, b: interval(a, b, t=lambda n: {5: 2.776, 3: 4.303, 10: 2.262}[n])),
    ("holm", holm),
    ("holm", lambda p: np.array(holm(p))),
    ("holm", lambda p: tuple(map(int, holm(p)))),
    ("choose", choose),
    (
        "choose",
        lambda s: sum(min(s.values(), key=lambda v: sum(v[0]))[1]) / len(next(iter(s.values()))[1]),
    ),
    ("verdict", verdict),
]
MISTAKES = [
    ("interval", unpaired, "not paired"),
    ("interval", lambda a, b: interval(a, b, root=False), "spread of one run"),
    ("interval", lambda a, b: interval(a, b, t=lambda n: 1.96), "normal quantile"),
    (
        "interval",
        lambda a, b: interval(a, b, t=lambda n: stats.t.ppf(0.975, n)),
        "degrees of freedom",
    ),
    ("interval", lambda a, b: interval(a, b, ddof=0), "population formula"),
    (
        "interval",
        lambda a, b: interval(a, b, t=lambda n: stats.t.ppf(0.95, n - 1)),
        "one-sided quantile",
    ),
    ("interval", lambda a, b: interval(a, b, sign=-1), "wrong sign"),
    ("holm", lambda p: np.array(p) <= 0.05, "no correction"),
    ("holm", lambda p: np.array(p) <= 0.05 / len(p), "Bonferroni"),
    (
        "holm",
        lambda p: [x <= 0.05 / (len(p) - sorted(p).index(x)) for x in p],
        "went on after a failure",
    ),
    ("holm", lambda p: stats.false_discovery_control(p) <= 0.05, "Benjamini and Hochberg"),
    ("holm", lambda p: sorted(holm(p))[::-1], "order of the list lost"),
    ("choose", lambda s: min(np.mean(test) for _, test in s.values()), "chosen on test"),
    ("choose", lambda s: np.min([test for _, test in s.values()]), "best single run"),
    ("choose", lambda s: choose(s, by=min), "best seed on validation"),
    ("choose", lambda s: choose(s, read=0), "validation reported"),
    (
        "verdict",
        lambda m, lo, hi, w: verdict(m, lo, hi, w, wide="equal"),
        "not significant taken for equal",
    ),
    ("verdict", lambda m, lo, hi, w: verdict(m, lo, hi, w, large=False), "margin ignored"),
    (
        "verdict",
        lambda m, lo, hi, w: verdict(m, lo, hi, w, sure=False, wide="equal"),
        "interval ignored",
    ),
    ("verdict", lambda m, lo, hi, w: verdict(-m, -hi, -lo, w), "signs swapped"),
]
WRONG = [
    ("interval", lambda a, b: np.mean(a) - np.mean(b), "shape"),
    ("interval", lambda a, b: (0.0, -1.0, 1.0), "expected"),
    ("interval", lambda a, b: "narrow", "expected numbers"),
    ("holm", lambda p: [True] * len(p), "expected"),
    ("holm", lambda p: [not x for x in holm(p)], "expected"),
    ("holm", lambda p: sum(holm(p)), "shape"),
    ("choose", lambda s: 0.0, "expected"),
    ("choose", lambda s: min(s), "expected"),
    ("choose", lambda s: "the second", "expected numbers"),
    ("verdict", lambda m, lo, hi, w: "lower", "not the right answer"),
    ("verdict", lambda m, lo, hi, w: -1, "not the right answer"),
]


class TestChecks(ExerciseChecks):
    CHECKS, RIGHT, MISTAKES, WRONG = CHECKS, RIGHT, MISTAKES, WRONG


def test_a_number_that_no_float_holds_is_wrong_and_no_crash():
    verdict = exercises.check_paired_interval(lambda these, those: (10**400, 0, 0))
    assert verdict.status == "wrong"
