"""How exact the tables are, measured against mpmath: a slow literal loop, and a fast reference for
every position up to 2^20.
"""

from decimal import Decimal, localcontext
from functools import lru_cache

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sinpe import formula, inverse_frequencies, similarity, sinusoidal_encoding, wavelengths
from sinpe import nearest as nearest_numbers

FLOAT32 = 2.99e-8  # half an ulp of 1, 2^-25, and a little
FLOAT16 = 2.0**-12 * (1 + 1e-9)
# NumPy's sine and cosine are not correctly rounded: an ulp there, and one for the rest of the angle
FLOAT64 = 4e-16
TOP = 2**20
# Near multiples of π/2, where sine or cosine is almost zero: numerators of the continued fractions
# of π and π/2, and what float32 finds hard.
ADVERSARIAL = [
    0,
    1,
    2,
    11,
    22,
    333,
    355,
    710,
    2048,
    2049,
    16_383,
    16_384,
    16_385,
    65_535,
    65_536,
    103_993,
    104_348,
    208_341,
    312_689,
    833_719,
    TOP - 1,
    TOP,
]

widths = st.integers(2, 64).map(lambda half: 2 * half)
bases = st.one_of(st.just(10_000.0), st.floats(1.5, 1e7))
spacings = st.sampled_from(["paper", "tensor2tensor"])


@lru_cache
def exact_frequencies(d_model, base=10_000.0, spacing="paper"):
    """base^(−2i/d), literally, with 60 digits."""
    steps = d_model // 2 if spacing == "paper" else max(d_model // 2 - 1, 1)
    with mpmath.workdps(60):
        return [mpmath.power(mpmath.mpf(base), -mpmath.mpf(i) / steps) for i in range(d_model // 2)]


def exact_code(position, d_model, base=10_000.0, spacing="paper"):
    """One code, literally from the formula: a list of mpmath numbers, sine and cosine beside each
    other.
    """
    code = []
    with mpmath.workdps(60):
        for frequency in exact_frequencies(d_model, base, spacing):
            cos, sin = mpmath.cos_sin(mpmath.mpf(position) * frequency)
            code += [sin, cos]
    return code


def largest_error(code, exact):
    with mpmath.workdps(60):
        return max(
            float(abs(mpmath.mpf(float(value)) - right))
            for value, right in zip(code, exact, strict=True)
        )


def exact_table(start, length, frequencies):
    """sin and cos of (start … start + length − 1) × frequency, each of shape (length,
    len(frequencies)), right to 1e-15.

    Written as sin(a + b) with a = a multiple of √length and b = the rest, so that mpmath computes
    few values and NumPy only adds and multiplies.
    """
    positions, step = np.arange(start, start + length), int(length**0.5)
    high, low = np.unique(positions // step), np.arange(step)
    tables = []
    with mpmath.workdps(30):
        for points in (step * high, low):
            values = [[mpmath.cos_sin(int(p) * w) for w in frequencies] for p in points]
            tables.append(np.array(values, dtype=float))
    (cos_a, sin_a), (cos_b, sin_b) = (
        np.moveaxis(tables[0][positions // step - high[0]], -1, 0),
        np.moveaxis(tables[1][positions % step], -1, 0),
    )
    return sin_a * cos_b + cos_a * sin_b, cos_a * cos_b - sin_a * sin_b


def nearest(value, dtype):
    """The number of dtype nearest to an mpmath value: the guess or a neighbour of it."""
    guess = dtype(float(value))
    around = [guess, np.nextafter(guess, dtype(-2)), np.nextafter(guess, dtype(2))]
    with mpmath.workdps(60):
        return min(around, key=lambda number: abs(mpmath.mpf(float(number)) - value))


def not_nearest(table, exact, positions, frequency, cosine):
    """How many numbers of a column are not the nearest of their type to the truth, which `exact`
    knows to 1e-15. Where that is not enough to tell, mpmath says.
    """
    below, above = ((exact + off).astype(table.dtype) for off in (-2e-15, 2e-15))
    right = below.copy()
    for row in np.nonzero(below != above)[0]:
        with mpmath.workdps(60):
            value = mpmath.cos_sin(int(positions[row]) * frequency)[0 if cosine else 1]
            right[row] = nearest(value, table.dtype.type)
    return np.count_nonzero(table != right)


def test_the_fast_reference_agrees_with_the_literal_loop():
    sin, cos = exact_table(TOP - 3, 3, exact_frequencies(6))
    for row, position in enumerate(range(TOP - 3, TOP)):
        assert (
            largest_error(np.stack([sin[row], cos[row]], axis=1).ravel(), exact_code(position, 6))
            < 1e-15
        )


@given(
    st.one_of(st.sampled_from(ADVERSARIAL), st.integers(-TOP, TOP), st.floats(-TOP, TOP)),
    widths,
    bases,
    spacings,
)
def test_float32_is_within_half_an_ulp_of_one(position, d_model, base, spacing):
    code = sinusoidal_encoding(float(position), d_model, base, spacing=spacing, dtype=np.float32)
    assert largest_error(code, exact_code(float(position), d_model, base, spacing)) <= FLOAT32


@pytest.mark.parametrize(
    ("dtype", "bound"), [(np.float16, FLOAT16), (np.float32, FLOAT32), (np.float64, FLOAT64)]
)
@pytest.mark.parametrize("d_model", [4, 6, 64, 254, 512, 1024])
def test_hard_positions_at_every_width(d_model, dtype, bound):
    table = sinusoidal_encoding(np.array(ADVERSARIAL), d_model, dtype=dtype)
    for code, position in zip(table, ADVERSARIAL, strict=True):
        assert largest_error(code, exact_code(position, d_model)) <= bound


@pytest.mark.parametrize(("d_model", "base"), [(4, 10_000.0), (6, 10_000.0), (8, 1.0e6), (4, 1.01)])
def test_every_position_up_to_two_to_the_twenty(d_model, base):
    step = 2**18
    frequencies = exact_frequencies(d_model, base)
    for start in range(0, TOP + 1, step):
        length = min(step, TOP + 1 - start)
        table, (sin, cos) = (
            sinusoidal_encoding(np.arange(start, start + length), d_model, base, dtype=np.float32),
            exact_table(start, length, frequencies),
        )
        assert np.abs(table[:, 0::2] - sin).max() <= FLOAT32
        assert np.abs(table[:, 1::2] - cos).max() <= FLOAT32
        positions = range(start, start + length)
        for i, frequency in enumerate(frequencies):
            assert not_nearest(table[:, 2 * i], sin[:, i], positions, frequency, False) == 0
            assert not_nearest(table[:, 2 * i + 1], cos[:, i], positions, frequency, True) == 0


@pytest.mark.parametrize(("d_model", "length"), [(16, 4096), (128, 512), (512, 128), (1024, 64)])
def test_stretches_of_positions_at_every_width(d_model, length):
    frequencies, rng = exact_frequencies(d_model), np.random.default_rng(d_model)
    for start in [0, TOP - length + 1, *rng.integers(0, TOP - length, 2).tolist()]:
        table, (sin, cos) = (
            sinusoidal_encoding(np.arange(start, start + length), d_model, dtype=np.float32),
            exact_table(start, length, frequencies),
        )
        assert np.abs(table[:, 0::2] - sin).max() <= FLOAT32
        assert np.abs(table[:, 1::2] - cos).max() <= FLOAT32
        positions = range(start, start + length)
        for i, frequency in enumerate(frequencies):
            assert not_nearest(table[:, 2 * i], sin[:, i], positions, frequency, False) == 0
            assert not_nearest(table[:, 2 * i + 1], cos[:, i], positions, frequency, True) == 0


@given(
    st.one_of(st.sampled_from(ADVERSARIAL), st.integers(-TOP, TOP), st.floats(-TOP, TOP)),
    widths,
    bases,
    spacings,
    st.sampled_from([np.float32, np.float16]),
)
def test_narrow_types_hold_the_nearest_number(position, d_model, base, spacing, dtype):
    code = sinusoidal_encoding(float(position), d_model, base, spacing=spacing, dtype=dtype)
    exact = exact_code(float(position), d_model, base, spacing)
    assert code.tolist() == [nearest(value, dtype) for value in exact]


@pytest.mark.parametrize("layout", formula.LAYOUTS)
@pytest.mark.parametrize(("dtype", "off"), [(np.float32, 2.0**-29), (np.float16, 2.0**-15)])
@pytest.mark.parametrize("far", [False, True])
def test_doubt_is_settled_by_more_digits(monkeypatch, layout, dtype, off, far):
    """Errors that are made to look a million times larger send many numbers to the second look,
    and to the last one, which knows them to a hundred digits: the table stays the same.
    """
    first = TOP - 300 if far else -150
    ask = {"positions": np.arange(first, first + 300), "d_model": 128}
    right = sinusoidal_encoding(**ask, layout=layout, dtype=dtype)
    settled, original = [], formula.decimal_waves
    monkeypatch.setattr(
        formula, "decimal_waves", lambda angle: settled.append(1) or original(angle)
    )
    monkeypatch.setattr(nearest_numbers, "_A_TURN", off / 2)
    assert np.array_equal(sinusoidal_encoding(**ask, layout=layout, dtype=dtype), right)
    assert len(settled) < 3
    monkeypatch.setattr(formula, "_VALUE_OFF", off)
    assert np.array_equal(sinusoidal_encoding(**ask, layout=layout, dtype=dtype), right)
    assert len(settled) > 300


def test_the_last_look_is_exact_to_a_hundred_digits():
    with mpmath.workdps(130), localcontext() as context:
        context.prec = 125
        for angle in ("0", "1e-30", "0.5", "-3", "1e-400", "4194303.123456789", "-99999.75"):
            found = formula.decimal_waves(Decimal(angle))
            cos, sin = mpmath.cos_sin(mpmath.mpf(angle))
            for mine, theirs in zip(found, (sin, cos), strict=True):
                assert abs(mpmath.mpf(str(mine)) - theirs) <= mpmath.mpf("1e-100") * abs(theirs)


@pytest.mark.parametrize(("middle", "even"), [(1 + 2.0**-24, 1), (1 + 3 * 2.0**-24, 1 + 2.0**-22)])
def test_of_two_neighbours_the_nearer_one_is_taken(middle, even):
    """float64 cannot hold what lies 1e-30 beside the middle; the even neighbour is not always
    right.
    """
    low, high = np.float32(middle - 2.0**-24), np.float32(middle + 2.0**-24)
    assert np.float32(middle) == even
    for side, right in ((Decimal("-1e-30"), low), (Decimal("1e-30"), high)):
        with localcontext() as context:
            context.prec = 60
            assert nearest_numbers.nearest(Decimal(middle) + side, np.dtype(np.float32)) == right


def test_only_numbers_beside_a_middle_are_looked_at_again():
    value = np.array([[0.25, 1 + 2.0**-24], [1 + 2.0**-24 + 3e-15, 0.3]])
    out, asked = np.empty((2, 2), np.float32), []
    nearest_numbers.put(
        out, value.copy(), 2e-15, lambda index: asked.append(np.transpose(index).tolist()) or [9.0]
    )
    assert asked == [[[0, 1]]]
    assert out.tolist() == [[0.25, 9.0], [float(np.float32(1 + 2.0**-23)), float(np.float32(0.3))]]


@pytest.mark.parametrize(
    "position", [2.0**30 + 0.5, 1e9, 2.0**40, 1e15, 2.0**53, -(2.0**53), 0.1, -1e-9, 1e-300, 5e-324]
)
def test_huge_tiny_and_fractional_positions(position):
    for dtype, bound in ((np.float16, FLOAT16), (np.float32, FLOAT32), (np.float64, FLOAT64)):
        assert (
            largest_error(sinusoidal_encoding(position, 8, dtype=dtype), exact_code(position, 8))
            <= bound
        )


@given(widths, st.one_of(st.just(10_000.0), st.floats(1e-3, 1e12)), spacings)
def test_frequencies_are_correctly_rounded(d_model, base, spacing):
    for value, right in zip(
        inverse_frequencies(d_model, base, spacing=spacing),
        exact_frequencies(d_model, base, spacing),
        strict=True,
    ):
        assert value == float(right)  # mpmath rounds to nearest when it converts


def test_a_base_of_any_number_type_gives_the_same_frequencies():
    for base in (10_000, np.float32(10_000), np.int64(10_000), Decimal(10_000)):
        assert np.array_equal(inverse_frequencies(8, base), inverse_frequencies(8))


@given(st.integers(0, TOP), widths)
def test_similarity_is_exact_to_rounding(offset, d_model):
    with mpmath.workdps(40):
        right = sum(mpmath.cos(offset * w) for w in exact_frequencies(d_model)) / (d_model // 2)
    assert abs(similarity(offset, d_model) - float(right)) < 1e-15


@pytest.mark.parametrize(
    ("d_model", "longest"), [(4, 628), (16, 19_869), (64, 47_117), (128, 54_410), (512, 60_611)]
)
def test_the_longest_wavelength_stays_below_the_often_quoted_limit(d_model, longest):
    assert round(wavelengths(d_model)[-1]) == longest
    assert wavelengths(d_model)[0] == 2 * np.pi
    assert wavelengths(d_model)[-1] < 2 * np.pi * 10_000
    assert np.isclose(
        wavelengths(d_model, spacing="tensor2tensor")[-1], 2 * np.pi * 10_000, rtol=1e-15
    )
