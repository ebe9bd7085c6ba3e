"""The checks of chapter 18: a right answer passes, each mistake is called by its name, anything
else gets a helpful message.
"""

import math
from collections import Counter

import numpy as np
from exercise_checks import ExerciseChecks
from scipy import integrate, stats

from sinpe import exercises

CHECKS = {
    "alarm": exercises.check_false_alarm,
    "equal": exercises.check_equivalence,
    "prediction": exercises.check_prediction,
    "best": exercises.check_best_of,
}


def two_tests(x, margin):
    """Both one-sided tests, by scipy."""
    above = stats.ttest_1samp(x, -margin, alternative="greater").pvalue
    below = stats.ttest_1samp(x, margin, alternative="less").pvalue
    return above, below


def p_equal(x, margin, df=None, ddof=1, root=True, size=abs):
    n = len(x)
    error = np.std(x, ddof=ddof) / (math.sqrt(n) if root else 1)
    return stats.t.sf((margin - size(np.mean(x))) / error, n - 1 if df is None else df(n))


def prediction(outcomes):
    count = Counter(outcomes)
    if count["confirmed"] == len(outcomes):
        return "confirmed"
    return next(
        (v for k, v in (("confirmed", "mixed"), ("refuted", "refuted")) if count[k]), "undecided"
    )


def largest(n):
    """The mean of the largest of n normal numbers, from its density."""

    def part(x):
        return x * n * stats.norm.pdf(x) * stats.norm.cdf(x) ** (n - 1)

    return integrate.quad(part, -10, 10, limit=200)[0]


RIGHT = [
    ("alarm", lambda m, alpha: 1 - (1 - alpha) ** m),
    ("alarm", lambda m, alpha: stats.binom.sf(0, m, alpha)),
    ("equal", lambda x, margin: max(two_tests(x, margin))),
    ("equal", p_equal),
    ("prediction", prediction),
    ("best", lambda n, s: s * largest(n)),
    ("best", lambda n, s: -s * largest(n) * -1),
]
MISTAKES = [
    ("alarm", lambda m, alpha: m * alpha, "sum of the chances"),
    ("alarm", lambda m, alpha: min(1, m * alpha), "capped sum"),
    ("alarm", lambda m, alpha: stats.binom.pmf(0, m, alpha), "chance of none"),
    ("alarm", lambda m, alpha: stats.binom.pmf(m, m, alpha), "all at once"),
    ("alarm", lambda m, alpha: stats.binom.pmf(1, m, alpha), "exactly one"),
    ("equal", lambda x, margin: 2 * max(two_tests(x, margin)), "both tails"),
    ("equal", lambda x, margin: stats.ttest_1samp(x, 0).pvalue, "test of zero"),
    ("equal", lambda x, margin: min(two_tests(x, margin)), "farther end"),
    (
        "equal",
        lambda x, margin: min(p_equal(x, margin), 1 - p_equal(x, margin)),
        "sign of t lost",
    ),
    ("equal", lambda x, margin: two_tests(x, margin)[1], "sign of the mean"),
    ("equal", two_tests, "max missing"),
    ("equal", lambda x, margin: p_equal(x, margin, root=False), "spread of one run"),
    ("equal", lambda x, margin: p_equal(x, margin, ddof=0), "population formula"),
    ("equal", lambda x, margin: p_equal(x, margin, df=lambda n: n), "degrees of freedom"),
    (
        "prediction",
        lambda o: "refuted" if "refuted" in o else prediction(o),
        "one refutation refutes",
    ),
    (
        "prediction",
        lambda o: (
            "mixed"
            if {"confirmed", "refuted"} <= {*o}
            else next((x for x in ("confirmed", "refuted") if x in o), "undecided")
        ),
        "undecided forgotten",
    ),
    (
        "prediction",
        lambda o: "undecided" if "undecided" in o else prediction(o),
        "one doubt leaves all open",
    ),
    (
        "prediction",
        lambda o: {"undecided": "refuted"}.get(prediction(o), prediction(o)),
        "not confirmed taken for refuted",
    ),
    (
        "prediction",
        lambda o: max(("confirmed", "refuted", "undecided"), key=o.count),
        "majority",
    ),
    ("best", lambda n, s: s * (2 * math.log(n)) ** 0.5, "bound in the place of the value"),
    ("best", lambda n, s: -s * largest(n), "negative"),
    ("best", lambda n, s: s * stats.norm.ppf(0.5 ** (1 / n)), "median"),
    ("best", lambda n, s: s * stats.norm.ppf(n / (n + 1)), "quantile"),
    ("best", lambda n, s: s / n**0.5, "error of the mean"),
    ("best", lambda n, s: largest(n), "spread left out"),
    ("best", lambda n, s: s * largest(n + 1), "largest of n + 1"),
]
WRONG = [
    ("alarm", lambda m, alpha: alpha, "expected"),
    ("alarm", lambda m, alpha: [alpha] * m, "shape"),
    ("equal", lambda x, margin: 0.5, "expected"),
    ("equal", lambda x, margin: x, "shape"),
    ("prediction", lambda o: "mixed", "not the right answer"),
    ("prediction", lambda o: len(o), "not the right answer"),
    ("best", lambda n, s: 0.0, "expected"),
    ("best", lambda n, s: "the first", "expected numbers"),
]


class TestChecks(ExerciseChecks):
    CHECKS, RIGHT, MISTAKES, WRONG = CHECKS, RIGHT, MISTAKES, WRONG
