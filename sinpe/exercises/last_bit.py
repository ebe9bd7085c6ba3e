"""Checks of chapter 16: what a type can promise, the first whole number that it lacks, what a
product drops, a table filled by turning.
"""

from fractions import Fraction

import numpy as np

from sinpe.exercises._check import Mistake, check
from sinpe.formula import shift_matrix, sinusoidal_encoding

BITS = [(8,), (11,), (24,), (53,)]


def check_largest_rounding_error(attempt):
    """attempt(bits) -> how far rounding to `bits` significant bits moves a number between −1 and 1
    at most: 2^−(bits + 1).
    """
    mistakes = (
        Mistake(
            "a whole gap",
            lambda bits: 2.0**-bits,
            "that is the gap between two numbers just below 1 (or half the gap above it, where no"
            " code lies). The nearest one is at most half a gap away.",
        ),
        Mistake(
            "the gap above 1",
            lambda bits: 2.0 ** (1 - bits),
            "codes lie below 1, where the gap is half as wide as above; and the nearest number is"
            " at most half a gap away.",
        ),
        Mistake(
            "a quarter of a gap",
            lambda bits: 2.0 ** (-bits - 2),
            "the gap between ½ and 1 is 2^−bits: half of it is twice your answer.",
        ),
        Mistake(
            "decimal digits",
            lambda bits: 10.0**-bits,
            "the digits of the type are binary: powers of 2.",
        ),
    )
    return check(
        attempt,
        lambda bits: 2.0 ** (-bits - 1),
        BITS,
        mistakes,
        praise="half of the gap just below 1.",
        tolerance=2.0**-60,
    )


def check_first_missing(attempt):
    """attempt(bits) -> the smallest whole number that a type with `bits` significant bits lacks."""
    powers = "2^bits is there, as every power of two is; the next one is not."
    mistakes = (
        Mistake("the last one that is there", lambda bits: 2**bits, powers),
        Mistake(
            "one bit short",
            lambda bits: 2 ** (bits - 1) + 1,
            "the leading bit counts among the significant ones: with 3 bits, 5 is 101 and fits.",
        ),
        Mistake(
            "one bit too many",
            lambda bits: 2 ** (bits + 1) + 1,
            "with 3 bits, 9 is 1001 and does not fit any more.",
        ),
        Mistake(
            "the largest below",
            lambda bits: 2**bits - 1,
            "2^bits − 1 is all ones, and fits.",
        ),
    )
    return check(
        attempt, lambda bits: 2**bits + 1, BITS[:3], mistakes, praise="256, 2048 and 2^24, plus 1."
    )


def check_dropped(attempt):
    """attempt(a, b) -> the exact product of two float64 numbers minus a * b, as a float."""
    rng = np.random.default_rng(16)
    # large, so that what is dropped is of the order of 1 and no tolerance hides it
    cases = [tuple(map(float, rng.uniform(1e8, 1e9, 2))) for _ in range(4)]

    def right(a, b):
        return float(Fraction(a) * Fraction(b) - Fraction(a * b))

    mistakes = (
        Mistake(
            "nothing left",
            lambda a, b: 0.0,
            "the product was rounded before you looked at the rest: float64 minus the same float64"
            " is 0. Keep the exact product in another type, or multiply in halves.",
        ),
        Mistake(
            "sign turned",
            lambda a, b: -right(a, b),
            "asked for is the exact product minus a * b, not the other way round.",
        ),
        Mistake(
            "the exact product",
            lambda a, b: float(Fraction(a) * Fraction(b)),
            "that is the product; a * b still has to be taken off, before the result becomes a"
            " float.",
        ),
        Mistake(
            "rounded first",
            lambda a, b: float(
                Fraction(a).limit_denominator(10**6) * Fraction(b).limit_denominator(10**6)
                - Fraction(a * b)
            ),
            "limit_denominator changes the factors: Fraction(a) alone is exact.",
        ),
        Mistake(
            "decimals of the printed number",
            lambda a, b: float(Fraction(repr(a)) * Fraction(repr(b)) - Fraction(a * b)),
            "from the printed digits comes another number: give the float itself to Fraction or"
            " Decimal, not its text.",
        ),
    )
    return check(attempt, right, cases, mistakes, praise="exact, with no digit lost.")


def check_fill_by_turning(attempt):
    """attempt(codes, shift, blocks) -> the codes of the positions 0 … blocks · n − 1 from those of
    0 … n − 1 and the matrix that shifts a code by n.
    """
    cases = [
        (sinusoidal_encoding(n, d), shift_matrix(n, d), blocks)
        for n, d, blocks in ((5, 4, 3), (8, 6, 6), (3, 16, 2))
    ]

    def chain(codes, shift, blocks):
        return np.concatenate([codes @ np.linalg.matrix_power(shift, k) for k in range(blocks)])

    mistakes = (
        Mistake(
            "turned backwards",
            chain,
            "the codes are rows. A row is shifted by codes @ shift.T; codes @ shift goes back.",
        ),
        Mistake(
            "turned once only",
            lambda codes, shift, blocks: np.concatenate(
                [codes, *[codes @ shift.T for _ in range(blocks - 1)]]
            ),
            "every block is the second one: turn the block before it, or take a power of the"
            " matrix.",
        ),
        Mistake(
            "powers of the entries",
            lambda codes, shift, blocks: np.concatenate(
                [codes @ shift.T**k if k else codes for k in range(blocks)]
            ),
            "shift**k raises each entry to the power k; a matrix power is"
            " np.linalg.matrix_power(shift, k).",
        ),
        Mistake(
            "one turn too many",
            lambda codes, shift, blocks: chain(codes, shift.T, blocks + 1)[len(codes) :],
            "the first block is the codes themselves.",
        ),
        Mistake(
            "repeated",
            lambda codes, shift, blocks: np.tile(codes, (blocks, 1)),
            "position n does not have the code of position 0: turn each block.",
        ),
    )
    return check(
        attempt,
        lambda codes, shift, blocks: sinusoidal_encoding(len(codes) * blocks, codes.shape[1]),
        cases,
        mistakes,
        praise="no sine was needed.",
        tolerance=1e-9,
    )
