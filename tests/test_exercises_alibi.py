"""The checks of chapter 11: a right answer passes, each mistake is called by its name, anything
else gets a helpful message.
"""

import math

import numpy as np
from exercise_checks import ExerciseChecks

from sinpe import alibi_slopes, exercises

CHECKS = {
    "slopes": exercises.check_slopes,
    "bias": exercises.check_alibi_bias,
    "window": exercises.check_alibi_window,
    "needed": exercises.check_needed_score,
}


def plain(n):
    return [2 ** (-8 * h / n) for h in range(1, n + 1)]


def below(n):
    return 2 ** math.floor(math.log2(n))


def authors(n, part=slice(0, None, 2), series=plain):
    return series(below(n)) + series(2 * below(n))[part][: n - below(n)]


def from_zero(n):
    return [2 ** (-8 * h / n) for h in range(n)]


def mpt(n):
    power = 2 ** math.ceil(math.log2(n))
    return plain(n) if power == n else (plain(power)[1::2] + plain(power)[::2])[:n]


def apart(q, k):
    return np.subtract.outer(q, k).astype(float)


def needed(m, d, n, keep=lambda r, d: r != d, penalty=1.0):
    return penalty * m * d + math.log(sum(math.exp(-m * r) for r in range(n) if keep(r, d)))


def keys(m, s, log=math.log, rounded=math.ceil):
    return rounded(-log(1 - s) / m)


RIGHT = [
    ("slopes", authors),
    ("slopes", mpt),  # the same list, described otherwise
    ("slopes", alibi_slopes),
    ("bias", lambda m, q, k: -m * abs(apart(q, k))),
    ("bias", lambda m, q, k: (m * np.minimum(apart(q, k), -apart(q, k))).tolist()),
    ("window", keys),
    ("window", lambda m, s: next(w for w in range(1, 10_000) if 1 - math.exp(-m * w) >= s)),
    ("needed", needed),
]
MISTAKES = [
    ("slopes", lambda n: authors(n, series=from_zero), "exponent starts at 0"),
    ("slopes", plain, "plain rule for every head count"),
    ("slopes", lambda n: np.sort(alibi_slopes(n).numpy())[::-1], "sorted"),
    ("slopes", lambda n: np.sort(alibi_slopes(n).numpy()), "sorted"),
    (
        "slopes",
        lambda n: plain(2 ** math.ceil(math.log2(n)))[:n],
        "the first slopes of the next power",
    ),
    ("slopes", lambda n: authors(n, part=slice(1, None, 2)), "the wrong half of the next power"),
    ("slopes", lambda n: authors(n, part=slice(None)), "extra slopes not every other one"),
    ("slopes", lambda n: 0.5 ** np.arange(1, n + 1), "powers of one half"),
    ("slopes", lambda n: -alibi_slopes(n), "negative slopes"),
    ("bias", lambda m, q, k: m * abs(apart(q, k)), "positive bias"),
    ("bias", lambda m, q, k: -m * apart(q, k), "keys ahead rewarded"),
    ("bias", lambda m, q, k: m * apart(q, k), "keys behind rewarded"),
    ("bias", lambda m, q, k: m * k + 0.0 * apart(q, k), "key-only form"),
    ("bias", lambda m, q, k: -m * abs(apart(k, q)), "query and key axes swapped"),
    ("bias", lambda m, q, k: -abs(apart(q, k)), "slope left out"),
    ("bias", lambda m, q, k: -abs(apart(q, k)) / m, "divided by the slope"),
    (
        "bias",
        lambda m, q, k: -m * abs(apart(np.arange(len(q)), np.arange(len(k)))),
        "places instead of positions",
    ),
    ("bias", lambda m, q, k: -m * apart(q, k) ** 2, "distance squared"),
    ("window", lambda m, s: keys(m, s, rounded=math.floor), "rounded down"),
    ("window", lambda m, s: keys(m, s, rounded=float), "not rounded"),
    (
        "window",
        lambda m, s: math.ceil(-math.log(s) / m),
        "the share itself instead of what is left",
    ),
    ("window", lambda m, s: keys(m, s, log=math.log2), "logarithm to base 2"),
    ("window", lambda m, s: keys(m, s, log=math.log10), "logarithm to base 10"),
    ("window", lambda m, s: math.ceil(1 / m), "1/slope whatever the share"),
    ("window", lambda m, s: keys(m, s) + 1, "one key too many"),
    ("needed", lambda m, d, n: m * d, "penalty only"),
    (
        "needed",
        lambda m, d, n: needed(m, d, n, keep=lambda r, d: True),
        "the key counted among the others",
    ),
    ("needed", lambda m, d, n: m * d + math.log(n - 1), "the others without their penalty"),
    ("needed", lambda m, d, n: needed(m, d, n, penalty=-1.0), "sign of the penalty"),
    ("needed", lambda m, d, n: needed(m, d, n, penalty=0.0), "own penalty left out"),
    (
        "needed",
        lambda m, d, n: needed(m, d, n, keep=lambda r, d: r < d) if d else 0.0,
        "nearer keys only",
    ),
    ("needed", lambda m, d, n: math.exp(needed(m, d, n)), "factor instead of score"),
]
WRONG = [
    ("slopes", lambda n: [0.5] * n, "expected"),
    ("slopes", lambda n: [0.5], "shape"),
    ("slopes", lambda n: "steep", "expected numbers"),
    ("slopes", lambda n: [float("nan")] * n, "expected"),
    ("slopes", lambda n: [1.1 * m for m in authors(n)], "expected"),
    ("bias", lambda m, q, k: np.zeros(3), "shape"),
    ("bias", lambda m, q, k: -0.9 * m * abs(apart(q, k)), "expected"),
    ("bias", lambda m, q, k: np.full((len(q), len(k)), np.nan), "expected"),
    ("window", lambda m, s: 7, "expected"),
    ("window", lambda m, s: keys(m, s) + 3, "expected"),
    ("window", lambda m, s: "many", "expected numbers"),
    ("needed", lambda m, d, n: 0.0, "expected"),
    ("needed", lambda m, d, n: needed(m, d, n) + 0.1, "expected"),
    ("needed", lambda m, d, n: np.arange(n), "shape"),
]


class TestChecks(ExerciseChecks):
    CHECKS, RIGHT, MISTAKES, WRONG = CHECKS, RIGHT, MISTAKES, WRONG
