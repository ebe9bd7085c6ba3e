"""Checks for chapter 11: slopes, the bias, the window that a slope means, and the score that a far
key needs.
"""

import math

import numpy as np

from sinpe.exercises._check import Mistake, check


def check_slopes(attempt):
    """attempt(n_heads) -> the authors' slopes, in their order, for any number of heads."""
    mistakes = (
        Mistake(
            "exponent starts at 0",
            _starting_at_zero,
            "your first slope is too steep by one step: head 1 has 2^(−8/n), not 1.",
        ),
        Mistake(
            "plain rule for every head count",
            lambda n: [2 ** (-8 * h / n) for h in range(1, n + 1)],
            "right for powers of two. For 12 heads: the slopes for 8, then every other one for 16.",
        ),
        Mistake(
            "sorted",
            lambda n: sorted(_authors(n), reverse=True),
            "the right numbers in another order: the slopes for the smaller power come first, the"
            " extra ones after them.",
        ),
        Mistake(
            "sorted",
            lambda n: sorted(_authors(n)),
            "your list begins with the flattest head: the slopes for the smaller power come first,"
            " the steepest of them in front, and the extra ones after them.",
        ),
        Mistake(
            "the first slopes of the next power",
            lambda n: _powers(_above(n))[:n],
            "the flat heads are lost: take all slopes of the power below, then every other one of"
            " the power above.",
        ),
        Mistake(
            "the wrong half of the next power",
            lambda n: _powers(_below(n)) + _powers(2 * _below(n))[1::2][: n - _below(n)],
            "those slopes are in the list already: take the ones between them, [0::2].",
        ),
        Mistake(
            "extra slopes not every other one",
            lambda n: _powers(_below(n)) + _powers(2 * _below(n))[: n - _below(n)],
            "of the power above take every other slope, or you get some of the list twice.",
        ),
        Mistake(
            "powers of one half",
            lambda n: [2.0**-h for h in range(1, n + 1)],
            "that is the series for 8 heads; for n heads the ratio is 2^(−8/n).",
        ),
        Mistake(
            "negative slopes",
            lambda n: [-m for m in _authors(n)],
            "slopes are positive; the minus belongs to the bias.",
        ),
    )
    return check(
        attempt,
        _authors,
        [(8,), (12,), (3,), (6,), (1,), (16,)],
        mistakes,
        praise="powers of two and all others, in the authors' order.",
    )


def check_alibi_bias(attempt):
    """attempt(slope, q_positions, k_positions) -> (q_len, k_len): −slope · |q − k|."""

    def bias(form):
        return lambda m, q, k: (
            form(m, q[:, None].astype(float), k[None, :].astype(float)) + np.zeros((len(q), len(k)))
        )

    cases = [(0.5, np.arange(4), np.arange(4)), (0.25, np.array([5, 6]), np.array([0, 3, 5, 9, 7]))]
    mistakes = (
        Mistake(
            "positive bias",
            bias(lambda m, q, k: m * abs(q - k)),
            "yours rewards far keys: the bias is zero on the diagonal and negative elsewhere.",
        ),
        Mistake(
            "keys ahead rewarded",
            bias(lambda m, q, k: -m * (q - k)),
            "without the absolute value a key ahead of the query gets a bonus; a causal mask hides"
            " that, an encoder does not.",
        ),
        Mistake(
            "keys behind rewarded",
            bias(lambda m, q, k: m * (q - k)),
            "yours rewards far keys behind the query: the sign is wrong, and the absolute value is"
            " missing.",
        ),
        Mistake(
            "key-only form",
            bias(lambda m, q, k: m * k),
            "slope · k is the authors' code; a causal softmax cannot tell it from the bias, but"
            " here the bias itself is asked for.",
        ),
        Mistake(
            "query and key axes swapped",
            lambda m, q, k: -m * abs(np.subtract.outer(k, q)).astype(float),
            "rows are queries, columns are keys.",
        ),
        Mistake(
            "slope left out",
            bias(lambda m, q, k: -abs(q - k)),
            "multiply the distance by the slope.",
        ),
        Mistake(
            "divided by the slope",
            bias(lambda m, q, k: -abs(q - k) / m),
            "multiply by the slope: a steep head has a short window.",
        ),
        Mistake(
            "places instead of positions",
            bias(lambda m, q, k: -m * abs(np.arange(len(q))[:, None] - np.arange(k.shape[1]))),
            "use the positions that are given: they may start anywhere and have gaps.",
        ),
        Mistake(
            "distance squared",
            bias(lambda m, q, k: -m * (q - k) ** 2),
            "the bias is linear in the distance.",
        ),
    )
    return check(
        attempt,
        bias(lambda m, q, k: -m * abs(q - k)),
        cases,
        mistakes,
        praise="zero where positions agree, and linear in the distance.",
    )


def check_alibi_window(attempt):
    """attempt(slope, share) -> the least number of nearest keys that hold `share` of the weight,
    equal scores and an endless past.
    """
    cases = [(0.5, 0.9), (2**-8, 0.5), (0.0625, 0.99), (0.25, 0.05), (1 / 3, 0.632)]

    def keys(m, share):
        return math.ceil(-math.log(1 - share) / m)

    mistakes = (
        Mistake(
            "rounded down",
            lambda m, s: math.floor(-math.log(1 - s) / m),
            "that many keys hold a little less than the share: round up.",
        ),
        Mistake(
            "not rounded", lambda m, s: -math.log(1 - s) / m, "a number of keys is whole: round up."
        ),
        Mistake(
            "the share itself instead of what is left",
            lambda m, s: math.ceil(-math.log(s) / m),
            "after w keys, e^(−m·w) is left outside; set that equal to 1 − share.",
        ),
        Mistake(
            "logarithm to base 2",
            lambda m, s: math.ceil(-math.log2(1 - s) / m),
            "the softmax is built on e: use the natural logarithm.",
        ),
        Mistake(
            "logarithm to base 10",
            lambda m, s: math.ceil(-math.log10(1 - s) / m),
            "the softmax is built on e: use the natural logarithm.",
        ),
        Mistake(
            "1/slope whatever the share",
            lambda m, s: math.ceil(1 / m),
            "1/slope is where the factor falls to 1/e; the share asks for another power of e.",
        ),
        Mistake(
            "one key too many",
            lambda m, s: math.ceil(-math.log(1 - s) / m) + 1,
            "the token itself, at distance 0, is one of the keys: w keys are the distances 0 … w"
            " − 1.",
        ),
    )
    return check(
        attempt,
        keys,
        cases,
        mistakes,
        praise="1 − e^(−m·w) of the weight lies on the w nearest keys.",
    )


def check_needed_score(attempt):
    """attempt(slope, distance, n) -> how far above the others' common score key `distance` must
    score to get half of the weight of n keys.
    """
    cases = [(0.5, 10, 64), (0.0625, 40, 50), (2**-8, 100, 1000), (0.25, 0, 8)]

    def needed(m, d, n, *, others=lambda r, d: r != d, sign=1.0):
        r = np.arange(n)
        return sign * m * d + math.log(np.exp(-m * r[others(r, d)]).sum())

    mistakes = (
        Mistake(
            "penalty only",
            lambda m, d, n: m * d,
            "that makes it equal to *one* key without penalty; half of the weight means as much as"
            " all other keys together.",
        ),
        Mistake(
            "the key counted among the others",
            lambda m, d, n: needed(m, d, n, others=lambda r, d: r >= 0),
            "leave the key itself out of the sum over the others.",
        ),
        Mistake(
            "the others without their penalty",
            lambda m, d, n: m * d + math.log(n - 1),
            "the other keys pay for their distance as well.",
        ),
        Mistake(
            "sign of the penalty",
            lambda m, d, n: needed(m, d, n, sign=-1.0),
            "the penalty has to be made up for: add slope · distance.",
        ),
        Mistake(
            "own penalty left out",
            lambda m, d, n: needed(m, d, n, sign=0.0),
            "the far key pays slope · distance itself; add it.",
        ),
        Mistake(
            "nearer keys only",
            lambda m, d, n: needed(m, d, n, others=lambda r, d: r < d) if d else 0.0,
            "keys beyond it take weight as well: sum over all n − 1 others.",
        ),
        Mistake(
            "factor instead of score",
            lambda m, d, n: math.exp(needed(m, d, n)),
            "a score stands in the exponent: take the logarithm.",
        ),
    )
    return check(
        attempt,
        needed,
        cases,
        mistakes,
        praise="slope · distance, plus the logarithm of what the others hold.",
    )


def _below(n):
    return 1 << (n.bit_length() - 1)


def _above(n):
    return 1 << (n - 1).bit_length()


def _powers(n):
    return [2 ** (-8 * h / n) for h in range(1, n + 1)]


def _authors(n):
    return _powers(_below(n)) + _powers(2 * _below(n))[0::2][: n - _below(n)]


def _starting_at_zero(n):
    def powers(n):
        return [2 ** (-8 * h / n) for h in range(n)]

    return powers(_below(n)) + powers(2 * _below(n))[0::2][: n - _below(n)]
