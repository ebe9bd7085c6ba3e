"""The checks of chapter 16: a right answer passes, each mistake is called by its name, anything
else gets a helpful message.
"""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
import torch
from exercise_checks import ExerciseChecks, constant

from sinpe import exercises, shift_matrix, sinusoidal_encoding

CHECKS = {
    "rounding": exercises.check_largest_rounding_error,
    "missing": exercises.check_first_missing,
    "dropped": exercises.check_dropped,
    "turning": exercises.check_fill_by_turning,
}


def by_fraction(a, b):
    return float(Fraction(a) * Fraction(b) - Fraction(a * b))


def by_decimal(a, b):
    with localcontext() as context:
        context.prec = 120
        return float(Decimal(a) * Decimal(b) - Decimal(a * b))


def by_halves(a, b):
    def halves(x):
        shifted = 134_217_729.0 * x
        high = shifted - (shifted - x)
        return high, x - high

    (a1, a2), (b1, b2) = halves(a), halves(b)
    return ((a1 * b1 - a * b) + a1 * b2 + a2 * b1) + a2 * b2


def each_from_the_last(codes, shift, blocks):
    filled = [codes]
    while len(filled) < blocks:
        filled.append(filled[-1] @ shift.T)
    return np.concatenate(filled)


def by_powers(codes, shift, blocks):
    power = np.linalg.matrix_power
    return np.vstack([(power(shift, k) @ codes.T).T for k in range(blocks)])


def by_sines(codes, shift, blocks):
    return sinusoidal_encoding(len(codes) * blocks, codes.shape[1])


RIGHT = [
    ("rounding", lambda bits: 2.0**-bits / 2),
    ("rounding", lambda bits: np.spacing(1.0) * 2.0 ** (52 - bits - 1)),
    ("missing", lambda bits: 2**bits + 1),
    ("missing", lambda bits: (1 << bits) | 1),
    ("dropped", by_fraction),
    ("dropped", by_decimal),
    ("dropped", by_halves),
    ("turning", each_from_the_last),
    ("turning", by_powers),
    ("turning", by_sines),
]
MISTAKES = [
    ("rounding", lambda bits: 2.0**-bits, "a whole gap"),
    ("rounding", lambda bits: 2.0 ** (-bits + 1), "the gap above 1"),
    ("rounding", lambda bits: 2.0**-bits / 4, "a quarter of a gap"),
    ("rounding", lambda bits: 10.0**-bits, "decimal digits"),
    ("missing", lambda bits: 2**bits, "the last one that is there"),
    ("missing", lambda bits: 2 ** (bits - 1) + 1, "one bit short"),
    ("missing", lambda bits: 2 ** (bits + 1) + 1, "one bit too many"),
    ("missing", lambda bits: 2**bits - 1, "the largest below"),
    ("dropped", lambda a, b: a * b - a * b, "nothing left"),
    ("dropped", lambda a, b: float(Fraction(a) * Fraction(b)) - a * b, "nothing left"),
    ("dropped", lambda a, b: -by_fraction(a, b), "sign turned"),
    ("dropped", lambda a, b: a * b, "the exact product"),
    (
        "dropped",
        lambda a, b: float(Fraction(str(a)) * Fraction(str(b)) - Fraction(a * b)),
        "decimals of the printed number",
    ),
    (
        "dropped",
        lambda a, b: float(
            Fraction(a).limit_denominator() * Fraction(b).limit_denominator() - Fraction(a * b)
        ),
        "rounded first",
    ),
    ("turning", lambda c, t, n: each_from_the_last(c, t.T, n), "turned backwards"),
    ("turning", lambda c, t, n: np.vstack([c] + [c @ t.T] * (n - 1)), "turned once only"),
    (
        "turning",
        lambda c, t, n: np.vstack([c] + [c @ (t**k).T for k in range(1, n)]),
        "powers of the entries",
    ),
    (
        "turning",
        lambda c, t, n: each_from_the_last(c, t, n + 1)[len(c) :],
        "one turn too many",
    ),
    ("turning", lambda c, t, n: np.concatenate([c] * n), "repeated"),
]
WRONG = [
    ("rounding", lambda bits: 2.0 ** (-bits / 2), "the largest difference"),
    ("missing", constant(257), "expected"),
    ("missing", lambda bits: float(np.float32(2**bits + 1)), "expected"),
    ("dropped", lambda a, b: 1.0, "the largest difference"),
    ("turning", lambda c, t, n: c, "expected shape"),
    ("turning", lambda c, t, n: np.zeros((len(c) * n, c.shape[1])), "the largest difference"),
]


class TestChapter16(ExerciseChecks):
    CHECKS, RIGHT, MISTAKES, WRONG = CHECKS, RIGHT, MISTAKES, WRONG


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16, torch.float32])
def test_the_answers_are_those_of_the_types(kind):
    bits = round(1 - np.log2(torch.finfo(kind).eps))
    assert exercises.check_first_missing(lambda b: 2**b + 1)
    missing = torch.tensor(2**bits + 1, dtype=torch.int64)
    assert missing.to(kind).long() != missing
    whole = torch.arange(2 ** min(bits, 12))
    assert torch.equal(whole.to(kind).long(), whole)
    below = torch.nextafter(torch.tensor(1, dtype=kind), torch.tensor(0, dtype=kind))
    assert 1 - below.double().item() == 2.0**-bits


def test_turning_by_a_power_is_turning_again():
    codes, shift = sinusoidal_encoding(7, 8), shift_matrix(7, 8)
    np.testing.assert_allclose(
        by_powers(codes, shift, 5), by_sines(codes, shift, 5), rtol=0, atol=1e-13
    )
