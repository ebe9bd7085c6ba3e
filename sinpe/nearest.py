"""Numbers in float32 and float16, each the one nearest to an exact value that is known to float64
only. NumPy only.

A float64 value is off by a little, which matters for the few that lie so close to the middle
between two numbers of the narrow type that it could tip them. Those are found, and looked at again
with more digits, as in Ziv 1991, https://doi.org/10.1145/114697.116813
"""

from decimal import Decimal, localcontext

import numpy as np

DIGITS = 120  # of the last look
_AREA = 2**14  # pairs turned at a time, so that the temporaries stay in the cache
_A_TURN = 2.0**-50  # the error that a complex product and the sines of a factor add at most


def put(out, value, error, look_closer):
    """Round float64 values into `out`, each to the nearest number of its type; value is destroyed.

    error: by how much each is off at most, a number or an array. look_closer(index) returns the
        right numbers for those that a middle lies so close to, index as np.nonzero gives it.
    """
    value += error
    out[...] = value  # from above, so that what is zero stays 0.0
    value -= 2 * error
    unsure = out != value.astype(out.dtype)
    if unsure.any():
        index = np.nonzero(unsure)
        out[index] = look_closer(index)


def turn(parts, first, waves, look_closer):
    """Codes of the whole positions first, first + 1, …, by the shift theorem.

    As a complex number sin + i·cos a code is turned by k through the factor cos kω − i·sin kω.
    Turns by 1, 2, 4, … double the rows, from the one of `first`; the last of them make a table of
    turns instead, so that one product for each number is left: row step·a + b is row b, turned.
    parts: (out, part) for each array to fill, a row for each position; part picks its numbers from
        the complex ones, (rows, pairs) -> (rows, columns) real.
    waves: (rows, 1) positions -> their sines and cosines, float64 (rows, pairs).
    look_closer: as in put, and which of the parts is asked for, counted from 0.
    """
    count = len(parts[0][0])
    bits = max(count - 1, 1).bit_length()
    sin, cos = waves(np.array([first, *(2.0**k for k in range(bits))])[:, None])
    codes, turns, pairs = sin[:1] + 1j * cos[:1], cos[1:] - 1j * sin[1:], sin.shape[1]
    inner = min((bits + 1) // 2, max(_AREA // pairs, 1).bit_length() - 1)
    codes = _doubled(codes, turns[:inner])
    starts = _doubled(np.ones((1, pairs), complex), turns[inner:])
    error, step, turned = (bits + 2) * _A_TURN, len(codes), np.empty_like(codes)
    for start in range(0, count, step):
        np.multiply(codes, starts[start // step], out=turned)
        for k, (out, part) in enumerate(parts):
            rows = out[start : start + step]

            def closer(index, start=start, k=k):
                return look_closer((index[0] + start, index[1]), k)

            put(rows, part(turned)[: len(rows)], error, closer)


def _doubled(rows, turns):
    for one in turns:
        rows = np.concatenate([rows, rows * one])
    return rows


def nearest(value, dtype):
    """The number of dtype nearest to a Decimal."""
    guess = dtype.type(float(value))  # rounded twice, so it may be a neighbour of the right one
    around = [guess, *(np.nextafter(guess, dtype.type(side)) for side in (-np.inf, np.inf))]
    return min(around, key=lambda number: abs(Decimal(float(number)) - value))


def decimal_waves(angle):
    """Sine and cosine of a Decimal, to about DIGITS digits less those of the angle: power series of
    a part of it, doubled until it is whole.
    """
    with localcontext() as context:
        context.prec = DIGITS
        doublings = max(4 * (angle.adjusted() + 1), 0)
        x, term, sums = angle / 2**doublings, Decimal(1), [Decimal(0), Decimal(0)]
        for n in range(1, 100):  # cosine and sine in turn
            sums[(n - 1) % 2] += term if (n - 1) % 4 < 2 else -term
            term *= x / n
        cos, sin = sums
        for _ in range(doublings):
            sin, cos = 2 * sin * cos, cos * cos - sin * sin
    return sin, cos
