"""The checks of chapter 17: a right answer passes, each mistake is called by its name, anything
else gets a helpful message.
"""

import math

import numpy as np
import pytest
from exercise_checks import ExerciseChecks, constant

from sinpe import exercises, similarity, sinusoidal_encoding

CHECKS = {
    "offset": exercises.check_offset_for,
    "ripple": exercises.check_ripple,
    "spots": exercises.check_spots,
    "share": exercises.check_expected_share,
}
EULER = 0.57721566490153286


def by_power(value, base):
    return base ** (1 - value) * np.exp(-EULER)


def ends(x, d, base):
    """Left end whole, right end left out, less the half of each that the trapezoid counts."""
    step = 2 / d
    return step * np.cos(x) - step * (np.cos(x) + np.cos(x / base)) / 2


def counted(x, d, base):
    """One by one, from the angle between neighbours at the fast end."""
    between, m = x * 2 * math.log(base) / d, 0
    while between >= 2 * math.pi * (m + 1):
        m += 1
    return m


def literal(kappa, power=2, diagonals=None, top=1.0, bottom=1.0):
    """The formula over all positions, offset by offset."""
    length = len(kappa)
    mean = np.mean([[kappa[abs(p - q)] for q in range(length)] for p in range(length)])
    between = pairs = 0.0
    for offset in diagonals or range(1 - length, length):
        n = length - abs(offset)
        square = [[kappa[abs(p - q)] ** power for q in range(n)] for p in range(n)]
        between, pairs = between + n * np.mean(square), pairs + n
    return (between / pairs - top * mean**2) / (1 - bottom * mean**2)


def unweighted(kappa):
    length = len(kappa)
    mean = np.mean([[kappa[abs(p - q)] for q in range(length)] for p in range(length)])
    means = []
    for offset in range(1 - length, length):
        n = length - abs(offset)
        means.append(np.mean([[kappa[abs(p - q)] ** 2 for q in range(n)] for p in range(n)]))
    return (np.mean(means) - mean**2) / (1 - mean**2)


RIGHT = [
    ("offset", by_power),
    ("ripple", ends),
    ("spots", counted),
    ("spots", lambda x, d, b: np.floor(x * np.log(b) / np.pi / d)),
    ("share", literal),
]
MISTAKES = [
    ("offset", lambda v, b: b ** (1 - v), "γ left out"),
    ("offset", lambda v, b: b ** (1 - v) * np.exp(EULER), "γ with the wrong sign"),
    ("offset", lambda v, b: b**v / np.exp(EULER), "value instead of what is lost"),
    ("offset", lambda v, b: np.log(by_power(v, b)), "logarithm instead of offset"),
    ("offset", lambda v, b: 10 ** np.log(by_power(v, b)), "logarithms mixed"),
    ("offset", lambda v, b: np.exp((1 - v) * np.log10(b) - EULER), "logarithms mixed"),
    ("offset", lambda v, b: by_power(v, 10_000), "base fixed"),
    ("ripple", lambda x, d, b: 2 * ends(x, d, b), "ends counted whole"),
    ("ripple", lambda x, d, b: -ends(x, d, b), "sign turned"),
    ("ripple", lambda x, d, b: (np.cos(x) + np.cos(x / b)) / d, "both ends added"),
    ("ripple", lambda x, d, b: np.cos(x) / d, "slow end left out"),
    (
        "ripple",
        lambda x, d, b: (np.cos(x) - np.cos(x / b ** ((d - 2) / d))) / d,
        "last pair taken for the end",
    ),
    ("ripple", lambda x, d, b: ends(np.radians(x), d, b), "degrees"),
    ("spots", lambda x, d, b: counted(2 * x, d, b), "half turns"),
    ("spots", lambda x, d, b: counted(x, 2 * d, b), "pairs and width mixed"),
    ("spots", lambda x, d, b: np.round(x * np.log(b) / np.pi / d), "rounded to the nearest"),
    ("spots", lambda x, d, b: counted(x, d, b) + 1, "one too many"),
    ("spots", lambda x, d, b: x * math.log(b) / math.pi / d, "not a whole number"),
    ("spots", lambda x, d, b: x * math.log10(b) / math.pi / d // 1, "decimal logarithm"),
    ("spots", lambda x, d, b: x * math.log(b) / d // 1, "π left out"),
    ("share", lambda k: literal(k, power=1), "κ instead of its square"),
    ("share", lambda k: literal(k, top=0, bottom=0), "mean not subtracted"),
    ("share", lambda k: literal(k, bottom=0), "mean subtracted in one place"),
    ("share", lambda k: literal(k, top=0), "mean subtracted in one place"),
    ("share", unweighted, "offsets not weighted"),
    ("share", lambda k: literal(k, diagonals=range(len(k))), "one side only"),
]
WRONG = [
    ("offset", constant(100.0), "expected"),
    ("offset", constant(np.zeros(3)), "one number"),
    ("ripple", constant(0.0), "expected"),
    ("ripple", lambda x, d, b: 0.9 * ends(x, d, b), "expected"),
    ("spots", constant(7), "whole turns"),
    ("spots", constant("three"), "whole turns"),
    ("share", constant(0.1), "expected"),
    ("share", lambda k: k, "one number"),
]


class TestChapter17(ExerciseChecks):
    CHECKS, RIGHT, MISTAKES, WRONG = CHECKS, RIGHT, MISTAKES, WRONG


def test_the_number_of_spots_is_not_given_away():
    assert "expected" not in repr(exercises.check_spots(constant(7)))


@pytest.mark.parametrize(("d", "length"), [(8, 6), (16, 20)])
def test_the_expected_share_is_that_of_random_matrices(d, length):
    """Against exact expectations: the variances are quadratic in the entries of A, so that their
    means over uncorrelated entries are sums over the entries one by one.
    """
    codes = sinusoidal_encoding(length, d)
    offset = np.subtract.outer(np.arange(length), np.arange(length))
    between = total = 0.0
    for i in range(d):
        for j in range(d):
            scores = np.outer(codes[:, i], codes[:, j])
            means = np.array([[scores[offset == o].mean() for o in row] for row in offset])
            between, total = between + means.var(), total + scores.var()
    expected = literal(similarity(np.arange(length), d))
    assert between / total == pytest.approx(expected, rel=1e-9)


def test_the_share_is_a_quarter_on_16_positions_and_falls():
    """What chapters 04 and 17 say about a random head, at width 64."""
    shares = [literal(similarity(np.arange(length), 64)) for length in (16, 64)]
    assert shares == pytest.approx([0.253, 0.148], abs=0.001)


def test_the_first_rise_at_width_512_is_too_small_to_see():
    assert similarity(44, 512) - similarity(43, 512) == pytest.approx(4.55e-5, rel=0.01)


def test_the_mean_square_of_the_similarity_tends_to_one_over_the_width():
    squares = similarity(np.arange(1, 200_001, 7), 64) ** 2
    assert squares.mean() == pytest.approx(1 / 64, rel=0.05)


def test_first_rises_follow_from_two_terms_of_the_ends():
    """Chapter 17's table: the limit of infinite width, by a plain sum, with the corrections."""
    x, base = np.arange(1.0, 101), 10_000.0
    frequency = base ** -((np.arange(50_000) + 0.5) / 50_000)
    limit = np.array([np.cos(frequency * offset).mean() for offset in x])
    rises = {}
    for d in (64, 128, 256, 512, 1024):
        at_ends = (np.cos(x) - np.cos(x / base)) / d
        slopes = np.log(base) * (x / base * np.sin(x / base) - x * np.sin(x)) / (3 * d**2)
        curves = limit, limit + at_ends, limit + at_ends + slopes, similarity(x, d)
        up = [np.flatnonzero(np.diff(np.append(1, curve)) > 0)[:1].tolist() for curve in curves]
        rises[d] = [found[0] if found else None for found in up]
    assert rises == {
        64: [None, 5, 5, 5],
        128: [None, 11, 11, 11],
        256: [None, 18, 24, 24],
        512: [None, 18, 43, 43],
        1024: [None, 37, 68, 68],
    }


@pytest.mark.parametrize("d", [128, 512])
def test_the_scatter_far_away_is_that_of_the_hands_in_step(d):
    """Chapter 17: the mean square of κ less its limit is H_M / (d ln B)."""
    base = 10_000.0
    frequency = base ** -((np.arange(400_000) + 0.5) / 400_000)
    offsets = np.random.default_rng(0).integers(3000, 20_000, 150)
    limit = np.array([np.cos(frequency * offset).mean() for offset in offsets])
    measured = ((similarity(offsets, d) - limit) ** 2).mean()
    spots = (offsets * np.log(base) / (np.pi * d)).astype(int)
    expected = np.mean([(1 / np.arange(1, m + 1)).sum() for m in spots]) / (d * np.log(base))
    assert measured == pytest.approx(expected, rel=0.25)
