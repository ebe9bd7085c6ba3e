"""Checks for chapter 02: where columns, frequencies and wavelengths of the formula come from."""

import numpy as np

from sinpe.exercises._check import Mistake, Verdict, check
from sinpe.formula import inverse_frequencies


def check_column_exponent(attempt):
    """attempt(column, d_model) -> e, such that the column holds a sine or cosine of p · base^(−e).

    e = 2⌊column / 2⌋ / d_model, for integers 0 ≤ column < d_model. Source: Vaswani et al. 2017,
    §3.5.
    """
    cases = [(0, 8), (1, 8), (2, 8), (7, 8), (254, 512), (511, 512)]
    mistakes = (
        Mistake(
            "column index used as pair index",
            lambda c, d: 2 * c / d,
            "the i in 2i/d counts pairs. Column c belongs to pair c // 2; 2·c/d doubles the"
            " exponent.",
        ),
        Mistake(
            "an exponent of its own for the cosine",
            lambda c, d: c / d,
            "columns 2i and 2i + 1 share one frequency; otherwise sin² + cos² of a pair is not 1.",
        ),
        Mistake(
            "exponent doubled",
            lambda c, d: 4 * (c // 2) / d,
            "c // 2 is i, and the exponent is 2i/d; twice that squares every frequency.",
        ),
        Mistake(
            "the 2 is missing",
            lambda c, d: (c // 2) / d,
            "the exponent is 2i/d, and i = c // 2 alone is half of it: the ladder would end at"
            " √base.",
        ),
        Mistake(
            "tensor2tensor's grid",
            lambda c, d: (c // 2) / (d // 2 - 1),
            "dividing i by d/2 − 1 is another set of frequencies; the paper divides by d/2.",
        ),
        Mistake(
            "minus sign included",
            lambda c, d: -2 * (c // 2) / d,
            "the minus already stands in base^(−e); return the positive e.",
        ),
    )
    return check(
        attempt,
        lambda c, d: 2 * (c // 2) / d,
        cases,
        mistakes,
        praise="columns 2i and 2i + 1 share the exponent 2i/d_model.",
    )


def check_frequency_ladder(attempt):
    """attempt(d_model, base) -> the d_model / 2 angular frequencies base^(−2i / d_model), fastest
    first.

    Recognises the faults that published code and course work contain. Source: Vaswani et al. 2017,
    §3.5.
    """
    cases = [(4, 10_000.0), (8, 10_000.0), (256, 10_000.0), (16, 100.0), (8, 2.0)]
    floored = (  # every way to write the exponent in which a // may slip in
        lambda d, b: np.exp(_pairs(d) * (-np.log(b) / d // 2)),
        lambda d, b: np.exp(_pairs(d) * (-np.log(b) // (d / 2))),
        lambda d, b: np.exp(2 * _pairs(d) * (-np.log(b) / d // 2)),
        lambda d, b: np.exp(2 * _pairs(d) * (-np.log(b) // d)),
        lambda d, b: np.exp(-_pairs(d) * (np.log(b) / d // 2)),
        lambda d, b: np.exp(-_pairs(d) * (np.log(b) // (d / 2))),
        lambda d, b: np.exp(-2 * _pairs(d) * (np.log(b) / d // 2)),
        lambda d, b: np.exp(-2 * _pairs(d) * (np.log(b) // d)),
        lambda d, b: b ** (-2.0 * _pairs(d) // d),
    )
    mistakes = (
        Mistake(
            "exponent doubled",
            lambda d, b: b ** (-4 * _pairs(d) / d),
            "np.arange(0, d, 2) is already 2i: multiplying by 2 again squares every frequency.",
        ),
        Mistake(
            "an exponent of its own for the cosine",
            lambda d, b: b ** (-np.arange(d) / d),
            "one frequency a pair, not one a column: the shape is (d_model // 2,).",
        ),
        Mistake(
            "every frequency twice",
            lambda d, b: np.repeat(inverse_frequencies(d, b), 2),
            "right numbers, but one a pair is asked for: the shape is (d_model // 2,).",
        ),
        Mistake(
            _SWAPPED,
            lambda d, b: (2 * _pairs(d) / d) ** (1 / b),
            "base is raised to a power that depends on i; here i was raised to a power that depends"
            " on base.",
        ),
        Mistake(
            _SWAPPED,
            lambda d, b: (2 * _pairs(d) / d) ** b,
            "base is raised to a power that depends on i; here i was raised to the power of base.",
        ),
        Mistake(
            _SWAPPED,
            lambda d, b: _power(2 * _pairs(d) / d, -1 / b),
            "base is raised to a power that depends on i; here i was raised to a power of base.",
        ),
        Mistake(
            _SWAPPED,
            lambda d, b: _power(2 * _pairs(d) / d, -b),
            "base is raised to a power that depends on i; here i was raised to the power of base.",
        ),
        *(Mistake("floor division", wrong, _FLOOR) for wrong in floored),
        Mistake(
            "the 2 is missing",
            lambda d, b: b ** (-_pairs(d) / d),
            "the exponent of pair i is 2i/d; yours is half of it, and the ladder ends at 1/√base.",
        ),
        Mistake(
            "tensor2tensor's grid",
            lambda d, b: inverse_frequencies(d, b, spacing="tensor2tensor"),
            "this grid ends at exactly 1/base; the paper divides by d/2 and stops one step"
            " earlier.",
        ),
        Mistake(
            "wavelengths instead of frequencies",
            lambda d, b: 2 * np.pi / inverse_frequencies(d, b),
            "2π/ω is the number of positions in one turn; ω is the angle turned in one position.",
        ),
        Mistake(
            "sign of the exponent",
            lambda d, b: 1 / inverse_frequencies(d, b),
            "base^(+2i/d) divides the position in the formula; the frequency is its inverse.",
        ),
        Mistake(
            "slowest first",
            lambda d, b: inverse_frequencies(d, b)[::-1],
            "pair 0 is the fastest: ω_0 = 1.",
        ),
        Mistake(
            "base left at 10000",
            lambda d, b: inverse_frequencies(d),
            "pass the base on: your frequencies are those of 10000 whatever it is.",
        ),
        Mistake(
            "pairs counted from 1",
            lambda d, b: b ** (-2 * (_pairs(d) + 1) / d),
            "i starts at 0, so that the first frequency is exactly 1.",
        ),
    )
    verdict = check(
        attempt,
        inverse_frequencies,
        cases,
        mistakes,
        praise="one frequency a pair, from 1 down to base^(−(d−2)/d).",
        tolerance=1e-6,
    )
    # 0 to a negative power, in plain Python
    if verdict.status == "error" and any(_all_ones(attempt, base) for base in (0.0, np.inf)):
        return Verdict(
            "mistake",
            "base is raised to a power that depends on i; here i was raised to a power that depends"
            " on base.",
            _SWAPPED,
        )
    return verdict


def check_base_for(attempt):
    """attempt(longest, d_model) -> the base whose longest wavelength 2π · base^((d_model − 2) /
    d_model) is `longest`.
    """
    cases = [(1_000.0, 8), (60_000.0, 64), (1e6, 128)]
    mistakes = (
        Mistake(
            "2π·base taken as the longest wavelength",
            lambda w, d: w / (2 * np.pi),
            "the printed formula never reaches 2π·base: the last exponent is (d − 2)/d, not 1.",
        ),
        Mistake(
            "2π forgotten",
            lambda w, d: w ** (d / (d - 2)),
            "a wavelength is a whole turn: 2π divided by the frequency.",
        ),
        Mistake(
            "exponent upside down",
            lambda w, d: (w / (2 * np.pi)) ** ((d - 2) / d),
            "solve for base: the exponent (d − 2)/d moves to the other side as d/(d − 2).",
        ),
        Mistake(
            "the last pair is d/2 − 1",
            lambda w, d: (w / (2 * np.pi)) ** (d / (d - 1)),
            "the last pair index is d/2 − 1, so 2i = d − 2, not d − 1.",
        ),
        *(
            Mistake(
                "the exponent is no ratio",
                wrong,
                "the exponent is d/(d − 2), a little above 1: a whole width in its place is"
                " astronomical.",
            )
            for wrong in (
                lambda w, d: (w / (2 * np.pi)) ** d,
                lambda w, d: (w / (2 * np.pi)) ** (d - 2),
                lambda w, d: (w / (2 * np.pi)) ** (d / 2),
            )
        ),
    )
    return check(
        attempt,
        lambda w, d: (w / (2 * np.pi)) ** (d / (d - 2)),
        cases,
        mistakes,
        praise="base = (longest / 2π)^(d/(d − 2)).",
    )


def check_smallest_distance(attempt):
    """attempt(inv_freq, max_offset) -> the smallest distance between two codes whose offset is 1,
    2, …, max_offset.

    distance² = Σ_i 2·(1 − cos(ω_i Δ)), the same for every pair of positions that far apart.
    """
    cases = [
        (inverse_frequencies(16), 300),
        (np.array([1.0]), 710),
        (np.array([1.0, 0.5]), 20),
        (np.array([0.01]), 50),
    ]
    mistakes = (
        Mistake(
            "offset 0 included",
            lambda w, n: 0.0,
            "a code is at distance 0 from itself: start at offset 1.",
        ),
        Mistake(
            "squared distance",
            lambda w, n: _distances(w, n).min() ** 2,
            "a square root is missing.",
        ),
        Mistake(
            "the factor 2 is missing",
            lambda w, n: _distances(w, n).min() / np.sqrt(2),
            "each pair contributes 2 − 2 cos(ωΔ): a sine and a cosine column.",
        ),
        Mistake(
            "last offset left out",
            lambda w, n: _distances(w, n - 1).min(),
            "max_offset itself counts: np.arange(1, max_offset + 1).",
        ),
        Mistake(
            "neighbours only",
            lambda w, n: _distances(w, 1).min(),
            "the closest codes need not be neighbours: try every offset.",
        ),
        Mistake(
            "largest distance",
            lambda w, n: _distances(w, n).max(),
            "the smallest one is asked for.",
        ),
    )
    return check(
        attempt,
        lambda w, n: _distances(w, n).min(),
        cases,
        mistakes,
        praise="the smallest distance over all offsets.",
    )


_SWAPPED = "base and exponent swapped"
_FLOOR = (
    "a // rounds down to a whole number. Mind that -log(base)/d//2 is read as (-log(base)/d)//2:"
    " write -log(base)/(d//2)."
)


def _pairs(d_model):
    return np.arange(d_model // 2)


def _power(x, exponent):
    with np.errstate(divide="ignore", over="ignore"):
        return x**exponent


def _all_ones(attempt, base):
    """True where a base of 0 or ∞ gives ones: it stands in the exponent. In its place it would give
    zeros or an error.
    """
    try:
        return bool(np.all(np.asarray(attempt(8, base), float) == 1))
    except Exception:
        return False


def _distances(inv_freq, max_offset):
    half = np.outer(np.arange(1, max_offset + 1), inv_freq) / 2
    return 2 * np.sqrt((np.sin(half) ** 2).sum(axis=1))
