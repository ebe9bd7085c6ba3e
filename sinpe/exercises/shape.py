"""Checks for chapter 17: the law of the similarity, its ripple, hands in step, and the share of the
offset.
"""

import numpy as np

from sinpe.exercises._check import Mistake, check
from sinpe.formula import similarity

GAMMA = np.euler_gamma


def check_offset_for(attempt):
    """attempt(value, base) -> the offset at which the law 1 − (ln Δ + γ)/ln base has this value."""
    cases = [(0.5, 10_000), (0.25, 10_000), (0.8, 500_000), (0.1, 100)]
    mistakes = (
        Mistake(
            "γ left out",
            lambda v, b: np.exp((1 - v) * np.log(b)),
            "the law has ln Δ + γ in its bracket: Euler's constant, 0.577, moves the offset too.",
        ),
        Mistake(
            "γ with the wrong sign",
            lambda v, b: np.exp((1 - v) * np.log(b) + GAMMA),
            "solve (1 − value)·ln B = ln Δ + γ for ln Δ: γ changes sides, and its sign.",
        ),
        Mistake(
            "value instead of what is lost",
            lambda v, b: np.exp(v * np.log(b) - GAMMA),
            "the logarithm counts what is lost since 1: use 1 − value.",
        ),
        Mistake(
            "logarithm instead of offset",
            lambda v, b: (1 - v) * np.log(b) - GAMMA,
            "that is ln Δ: take its exponential.",
        ),
        Mistake(
            "logarithms mixed",
            lambda v, b: 10 ** ((1 - v) * np.log(b) - GAMMA),
            "a natural logarithm is undone by exp, not by a power of 10.",
        ),
        Mistake(
            "logarithms mixed",
            lambda v, b: np.exp((1 - v) * np.log10(b) - GAMMA),
            "the law has natural logarithms on both sides.",
        ),
        Mistake(
            "base fixed",
            lambda v, b: np.exp((1 - v) * np.log(10_000) - GAMMA),
            "the base is an argument, not always 10000.",
        ),
    )
    return check(
        attempt,
        lambda v, b: np.exp((1 - v) * np.log(b) - GAMMA),
        cases,
        mistakes,
        praise="Δ = B^(1 − value)·e^(−γ).",
    )


def check_ripple(attempt):
    """attempt(offset, d_model, base) -> what the two ends of the sum add to the limit,
    (cos Δ − cos(Δ/base))/d_model.
    """
    cases = [(3, 64, 10_000), (10, 512, 10_000), (44, 512, 100), (7.5, 16, 500)]
    cos = np.cos
    mistakes = (
        Mistake(
            "ends counted whole",
            lambda x, d, b: (cos(x) - cos(x / b)) * 2 / d,
            "the integral counts each end half already: half of the step 2/d is missing or too"
            " much.",
        ),
        Mistake(
            "sign turned",
            lambda x, d, b: (cos(x / b) - cos(x)) / d,
            "the sum counts the fast end in full and leaves out the slow one.",
        ),
        Mistake(
            "both ends added",
            lambda x, d, b: (cos(x) + cos(x / b)) / d,
            "the slow end is left out of the sum, so its half is subtracted.",
        ),
        Mistake(
            "slow end left out",
            lambda x, d, b: cos(x) / d,
            "the integral also counts half of its slow end, which the sum does not reach.",
        ),
        Mistake(
            "last pair taken for the end",
            lambda x, d, b: (cos(x) - cos(x * b ** (2 / d - 1))) / d,
            "the integral ends at u = 1, frequency 1/B; the last pair stands a step before it.",
        ),
        Mistake(
            "degrees",
            lambda x, d, b: (cos(np.radians(x)) - cos(np.radians(x / b))) / d,
            "the angles are radians: the fastest hand turns by 1 a position.",
        ),
    )
    return check(
        attempt,
        lambda x, d, b: (cos(x) - cos(x / b)) / d,
        cases,
        mistakes,
        praise="zero at 0, and never larger than 2/d.",
    )


def check_spots(attempt):
    """attempt(offset, d_model, base) -> how many places of the ladder an offset leaves in step:
    the whole numbers m ≥ 1 with offset·ln(base) ≥ π·d_model·m.
    """
    cases = [(1000, 512, 10_000), (100, 512, 10_000), (20_000, 512, 10_000), (700, 64, 100)]

    def spots(x, d, b):
        return int(x * np.log(b) / (np.pi * d))

    mistakes = (
        Mistake(
            "half turns",
            lambda x, d, b: spots(2 * x, d, b),
            "neighbours are in step after whole turns, 2π, and the ladder has d/2 pairs.",
        ),
        Mistake(
            "pairs and width mixed",
            lambda x, d, b: spots(x, 2 * d, b),
            "neighbours differ by the factor B^(−2/d): the angle between them is ωΔ·2 ln B/d.",
        ),
        Mistake(
            "rounded to the nearest",
            lambda x, d, b: round(x * np.log(b) / (np.pi * d)),
            "a spot is there or not: round down.",
        ),
        Mistake(
            "one too many",
            lambda x, d, b: spots(x, d, b) + 1,
            "m = 0 is no spot: at the slow end hands are close together, not a turn apart.",
        ),
        Mistake(
            "not a whole number",
            lambda x, d, b: x * np.log(b) / (np.pi * d),
            "spots are counted: round down to a whole number.",
        ),
        Mistake(
            "decimal logarithm",
            lambda x, d, b: int(x * np.log10(b) / (np.pi * d)),
            "the derivative of B^(−u) has the natural logarithm of B.",
        ),
        Mistake(
            "π left out",
            lambda x, d, b: int(x * np.log(b) / d),
            "a whole turn is 2π radians.",
        ),
    )
    return check(
        attempt,
        spots,
        cases,
        mistakes,
        praise="one for each whole turn.",
        otherwise="not the right answer: where does the angle between neighbours, ωΔ·2 ln B/d,"
        " reach m whole turns with ω at most 1?",
    )


def check_expected_share(attempt):
    """attempt(kappa) -> the expected share of the offset on len(kappa) positions, from the
    similarities κ(0), κ(1), … alone.
    """
    cases = [(similarity(np.arange(n), d),) for n, d in ((5, 8), (12, 64), (40, 16))]
    mistakes = (
        Mistake(
            "κ instead of its square",
            lambda k: _share(k, power=1),
            "the covariance of two scores is a product of two similarities: κ².",
        ),
        Mistake(
            "mean not subtracted",
            lambda k: _between(k),
            "a variance is measured from the mean of all scores: subtract the square of the mean"
            " of κ, above and below the line.",
        ),
        Mistake(
            "mean subtracted in one place",
            lambda k: _between(k) - _mean(k) ** 2,
            "the total variance is 1 less the square of the mean of κ, too.",
        ),
        Mistake(
            "mean subtracted in one place",
            lambda k: _between(k) / (1 - _mean(k) ** 2),
            "the mean belongs to both variances: it is missing above the line.",
        ),
        Mistake(
            "mean not squared",
            lambda k: (_between(k) - _mean(k)) / (1 - _mean(k)),
            "the mean score has variance (mean of κ)²: once for the queries, once for the keys.",
        ),
        Mistake(
            "offsets not weighted",
            lambda k: _share(k, weighted=False),
            "a long diagonal holds more pairs than a short one: weight by n over L².",
        ),
        Mistake(
            "one side only",
            lambda k: _share(k, sides=1),
            "the offsets go from −(L − 1) to L − 1: every one but 0 occurs on both sides.",
        ),
        Mistake(
            "κ(0) left out",
            lambda k: (_between(k, own=False) - _mean(k) ** 2) / (1 - _mean(k) ** 2),
            "the mean over p and p' includes p = p', where κ is 1.",
        ),
    )
    return check(
        attempt,
        _share,
        cases,
        mistakes,
        praise="one number from the curve alone, whatever the head.",
    )


def _means(values, own=True):
    """The mean of f(p − p') over p, p' < n, for n = 1 … len(values)."""
    means = []
    for n in range(1, len(values) + 1):
        weights = n - np.arange(n)
        total = 2 * (weights * values[:n]).sum() - n * values[0] * (1 if own else 2)
        means.append(total / n**2)
    return np.array(means)


def _mean(kappa):
    return _means(kappa)[-1]


def _between(kappa, power=2, weighted=True, sides=2, own=True):
    means = _means(kappa**power, own)  # for n = 1 … L; offsets ±(L − n) have n pairs
    count = np.arange(1, len(kappa) + 1) if weighted else np.ones(len(kappa))
    times = np.append(np.full(len(kappa) - 1, sides), 1)
    return (times * count * means).sum() / (times * count).sum()


def _share(kappa, power=2, weighted=True, sides=2):
    mean = _mean(kappa) ** 2
    return (_between(kappa, power, weighted, sides) - mean) / (1 - mean)
