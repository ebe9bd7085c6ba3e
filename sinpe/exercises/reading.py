"""Checks for chapter 18: a false alarm among many comparisons, equality that is shown, the verdict
on a prediction, and the lead of the best of several.
"""

import math
from itertools import product
from statistics import NormalDist, fmean, pstdev, stdev

from sinpe.exercises._check import Mistake, check

_ALARMS = [(12, 0.05), (37, 0.05), (3, 0.1), (1, 0.05), (400, 0.01)]
_DIFFERENCES = [
    ([0.004, -0.011, 0.009, 0.002, -0.006, 0.003], 0.02),
    ([-0.031, -0.002, -0.025, 0.004, -0.018], 0.02),
    ([0.05, 0.03, 0.06, 0.02], 0.02),  # a mean outside the margin
    ([-0.4, 0.1, 0.3, -0.2, 0.05, 0.1, -0.1], 0.25),
]
_OUTCOMES = [
    (list(outcomes),)
    for count in (1, 2, 3)
    for outcomes in product(("confirmed", "refuted", "undecided"), repeat=count)
]
_BEST = [(1, 0.04), (2, 1.0), (5, 0.0265), (10, 2.0), (100, 0.5), (5000, 1.0)]


def check_false_alarm(attempt):
    """attempt(m, alpha) -> the chance of at least one p-value of at most alpha among m independent
    ones of true zeros.
    """
    mistakes = (
        Mistake(
            "sum of the chances",
            lambda m, alpha: m * alpha,
            "that is an upper bound, and may exceed 1: two alarms in one study count once.",
        ),
        Mistake(
            "capped sum",
            lambda m, alpha: min(1.0, m * alpha),
            "the sum is an upper bound, however it is capped: two alarms in one study count once.",
        ),
        Mistake(
            "chance of none",
            lambda m, alpha: (1 - alpha) ** m,
            "that is the chance of no alarm at all: take it from 1.",
        ),
        Mistake(
            "all at once",
            lambda m, alpha: alpha**m,
            "that is the chance that every comparison raises an alarm.",
        ),
        Mistake(
            "exactly one",
            lambda m, alpha: m * alpha * (1 - alpha) ** (m - 1),
            "at least one means one or more.",
        ),
    )
    return check(
        attempt,
        lambda m, alpha: 1 - (1 - alpha) ** m,
        _ALARMS,
        mistakes,
        praise="one minus the chance that all of them keep silent.",
        tolerance=1e-6,
    )


def check_equivalence(attempt):
    """attempt(values, margin) -> the larger p-value of the two one-sided tests against −margin and
    +margin.
    """
    mistakes = (
        Mistake(
            "both tails",
            lambda x, margin: _p_equal(x, margin, tails=2),
            "each of the two tests is one-sided: half of what lies outside ±t.",
        ),
        Mistake(
            "test of zero",
            lambda x, margin: 1 - _t(abs(_ratio(fmean(x), x)), len(x) - 1),
            "that asks whether the difference is zero; the margin has to be ruled out.",
        ),
        Mistake(
            "farther end",
            lambda x, margin: _tail(_ratio(margin + abs(fmean(x)), x), len(x) - 1),
            "both tests must reject, so the larger p-value counts: that of the nearer end.",
        ),
        Mistake(
            "sign of t lost",
            lambda x, margin: _tail(abs(_ratio(margin - abs(fmean(x)), x)), len(x) - 1),
            "a mean outside the margin has a negative t, and then p is above one half.",
        ),
        Mistake(
            "sign of the mean",
            lambda x, margin: _tail(_ratio(margin - fmean(x), x), len(x) - 1),
            "a negative mean is nearer to −margin: take its size.",
        ),
        Mistake(
            "spread of one run",
            lambda x, margin: _p_equal(x, margin, error=lambda s, n: s),
            "divide the standard deviation by √n: the test is about the mean.",
        ),
        Mistake(
            "population formula",
            lambda x, margin: _p_equal(x, margin, spread=pstdev),
            "the standard deviation of a sample divides by n − 1.",
        ),
        Mistake(
            "degrees of freedom",
            lambda x, margin: _p_equal(x, margin, lost=0),
            "n differences leave n − 1 degrees of freedom.",
        ),
    )
    return check(
        attempt,
        _p_equal,
        _DIFFERENCES,
        mistakes,
        praise="the p-value of the nearer end, one-sided.",
        tolerance=1e-4,
    )


def check_prediction(attempt):
    """attempt(outcomes) -> "confirmed", "mixed", "refuted" or "undecided"."""
    mistakes = (
        Mistake(
            "one refutation refutes",
            lambda o: "refuted" if "refuted" in o else _verdict(o),
            "where some tests are confirmed and others are not, the prediction is mixed.",
        ),
        Mistake(
            "undecided forgotten",
            lambda o: _verdict([x for x in o if x != "undecided"] or o),
            "a test that is undecided is not confirmed: with it the prediction is mixed.",
        ),
        Mistake(
            "one doubt leaves all open",
            lambda o: "undecided" if "undecided" in o else _verdict(o),
            "what the other tests showed is not undone by one that shows nothing.",
        ),
        Mistake(
            "not confirmed taken for refuted",
            lambda o: _verdict(o).replace("undecided", "refuted"),
            "refuted needs a test that came out against the prediction.",
        ),
        Mistake(
            "majority",
            lambda o: max(("confirmed", "refuted", "undecided"), key=o.count),
            "tests do not vote: all must be confirmed, and some confirmed make it mixed.",
        ),
    )
    return check(
        attempt,
        _verdict,
        _OUTCOMES,
        mistakes,
        praise="all, some, none and one against, or none and none against.",
    )


def check_best_of(attempt):
    """attempt(n, spread) -> by how much the lowest of n normal values is expected to lie below
    their mean.
    """
    mistakes = (
        Mistake(
            "bound in the place of the value",
            lambda n, s: s * math.sqrt(2 * math.log(n)),
            "√(2 ln n) is an upper bound, and half a spread too high: take equation (3).",
        ),
        Mistake(
            "negative",
            lambda n, s: -s * _expected_largest(n),
            "the lead is asked for as a positive number.",
        ),
        Mistake(
            "median",
            lambda n, s: s * NormalDist().inv_cdf(0.5 ** (1 / n)),
            "that is the median of the largest, where Φ(x)ⁿ = ½; the mean is asked for.",
        ),
        Mistake(
            "quantile",
            lambda n, s: s * NormalDist().inv_cdf(n / (n + 1)),
            "that is the value which one of n + 1 exceeds, not the mean of the largest.",
        ),
        Mistake(
            "error of the mean",
            lambda n, s: s / math.sqrt(n),
            "that is how the mean of n scatters; the lowest moves away as n grows.",
        ),
        Mistake(
            "spread left out",
            lambda n, s: _expected_largest(n),
            "for values with another spread, multiply by it.",
        ),
        Mistake(
            "largest of n + 1",
            lambda n, s: s * _expected_largest(n + 1),
            "one of one has no lead at all.",
        ),
    )
    return check(
        attempt,
        lambda n, s: s * _expected_largest(n),
        _BEST,
        mistakes,
        praise="the mean of the largest of n, times the spread.",
        tolerance=1e-3,
    )


def _t(t, df):
    # its package needs torch, the other checks do not
    from sinpe.experiments.estimates import t_probability

    return t_probability(t, df)


def _ratio(distance, x, spread=stdev, error=lambda s, n: s / math.sqrt(n)):
    return distance / error(spread(x), len(x))


def _tail(t, df, tails=1):
    """The chance of more than t, at one end or at both."""
    tail = (1 - _t(abs(t), df)) / 2
    return tails * (tail if t > 0 else 1 - tail)


def _p_equal(x, margin, spread=stdev, error=lambda s, n: s / math.sqrt(n), lost=1, tails=1):
    return _tail(_ratio(margin - abs(fmean(x)), x, spread, error), len(x) - lost, tails)


def _verdict(outcomes):
    if set(outcomes) == {"confirmed"}:
        return "confirmed"
    if "confirmed" in outcomes:
        return "mixed"
    return "refuted" if "refuted" in outcomes else "undecided"


def _expected_largest(n):
    """Of n standard normal numbers, by a sum over their distribution function."""
    cdf, step = NormalDist().cdf, 1 / 256
    below, total = 0.0, 0.0
    for k in range(-9 * 256, 9 * 256):
        above = cdf((k + 1) * step) ** n
        total += (k + 0.5) * step * (above - below)
        below = above
    return total
