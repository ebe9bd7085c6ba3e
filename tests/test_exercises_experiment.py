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
    "twin": exercises.check_without_factor,
    "apart": exercises.check_separation,
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


def apart(these, those, start=(0, 1), speed=(0, 2)):
    """Whether a product differs; which numbers of a side are in it."""
    values = [[math.prod(side[i] for i in of) for side in (these, those)] for of in (start, speed)]
    return tuple(abs(a / b - 1) > 1e-9 for a, b in values)


def beside_itself(these, those):
    (c, std, rate), (k, spread, pace) = these, those
    return not math.isclose(c * std, k * spread), not math.isclose(rate / std, pace / spread)


RIGHT = [
    ("twin", lambda c, std, rate: (c * std, c * rate)),
    ("twin", lambda c, std, rate: np.array([std, rate]) * c),
    ("twin", lambda c, std, rate: [round(c * std, 12), round(c * rate, 12)]),
    ("apart", apart),
    ("apart", lambda a, b: np.array(apart(a, b))),
    ("apart", lambda a, b: list(map(int, apart(a, b)))),
    (
        "apart",
        lambda a, b: (
            round(math.log(a[0] * a[1] / b[0] / b[1]), 6) != 0,
            round(math.log(a[0] * a[2] / b[0] / b[2]), 6) != 0,
        ),
    ),
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
    ("twin", lambda c, std, rate: (std * c, rate), "rate forgotten"),
    ("twin", lambda c, std, rate: (std, rate * c), "start forgotten"),
    ("twin", lambda c, std, rate: (std / c, rate / c), "divided"),
    ("twin", lambda c, std, rate: (std * c, rate / c), "rate divided"),
    ("twin", lambda c, std, rate: (std * c, rate * c * c), "factor squared, as with SGD"),
    ("apart", lambda a, b: (a[1] != b[1], a[2] != b[2]), "factor left out"),
    ("apart", lambda a, b: apart(a, b, speed=(2,)), "rate without the factor"),
    ("apart", lambda a, b: apart(a, b, start=(1,)), "start without the factor"),
    ("apart", beside_itself, "speed beside itself"),
    ("apart", lambda a, b: [not x for x in apart(a, b)], "same instead of different"),
    ("apart", lambda a, b: apart(a, b)[::-1], "order swapped"),
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
    ("twin", lambda c, std, rate: c * std, "shape"),
    ("twin", lambda c, std, rate: (1.0, rate), "expected"),
    ("apart", lambda a, b: (True, True), "expected"),
    ("apart", lambda a, b: True, "shape"),
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
