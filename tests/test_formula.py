"""The formula's defining properties, the faults people have made with it, and what bad input is
told. Precision: test_formula_precision.py.
"""

import inspect
import math
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import sinpe
from sinpe import (
    formula,
    inverse_frequencies,
    shift_matrix,
    similarity,
    sinusoidal_encoding,
    sinusoidal_encoding_2d,
    wavelengths,
)

widths = st.integers(1, 40).map(lambda half: 2 * half)
layouts = st.sampled_from(["interleaved", "concatenated"])
spacings = st.sampled_from(["paper", "tensor2tensor"])
dtypes = st.sampled_from([np.float16, np.float32, np.float64])
positions = st.floats(-1e6, 1e6)


def literal(position, d_model, base=10_000.0, layout="interleaved", spacing="paper"):
    """One code by a loop over columns, straight from the paper."""
    code = [0.0] * d_model
    for i in range(d_model // 2):
        exponent = i / max(d_model // 2 - 1, 1) if spacing == "tensor2tensor" else 2 * i / d_model
        angle = position / base**exponent
        sine, cosine = (2 * i, 2 * i + 1) if layout == "interleaved" else (i, d_model // 2 + i)
        code[sine], code[cosine] = math.sin(angle), math.cos(angle)
    return code


# What it returns


@given(st.integers(0, 1000), widths, st.floats(1.5, 1e6), layouts, spacings)
def test_a_code_is_the_formula(position, d_model, base, layout, spacing):
    code = sinusoidal_encoding(float(position), d_model, base, layout=layout, spacing=spacing)
    assert np.allclose(code, literal(position, d_model, base, layout, spacing), rtol=0, atol=1e-12)


def test_the_defaults_are_the_paper():
    signature = inspect.signature(sinusoidal_encoding).parameters
    assert [signature[name].default for name in ("base", "layout", "spacing", "dtype")] == [
        10_000.0,
        "interleaved",
        "paper",
        np.float64,
    ]
    assert np.allclose(sinusoidal_encoding(50, 16), [literal(p, 16) for p in range(50)], atol=1e-13)


@pytest.mark.parametrize("count", [0, 1, 7, np.int32(7), np.uint8(3)])
def test_an_integer_means_that_many_positions(count):
    table = sinusoidal_encoding(count, 6)
    assert table.shape == (int(count), 6)
    assert np.array_equal(table, sinusoidal_encoding(np.arange(int(count)), 6))


@pytest.mark.parametrize("position", [3.0, np.float32(3), np.array(3), np.array(3.0)])
def test_a_float_or_a_0d_array_is_one_position(position):
    assert np.array_equal(sinusoidal_encoding(position, 6), sinusoidal_encoding(4, 6)[3])


@given(arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4), widths, layouts, dtypes)
def test_the_shape_is_that_of_the_positions_and_a_column_axis(shape, d_model, layout, dtype):
    table = sinusoidal_encoding(
        np.linspace(-5, 5, math.prod(shape)).reshape(shape), d_model, layout=layout, dtype=dtype
    )
    assert table.shape == (*shape, d_model)
    assert table.dtype == dtype


@pytest.mark.parametrize("empty", [0, [], np.array([]), np.array([], dtype=int), np.zeros((2, 0))])
def test_no_positions_give_no_rows(empty):
    assert sinusoidal_encoding(empty, 8).shape == (*(np.shape(empty) or (0,)), 8)
    assert similarity(np.zeros((2, 0)), 8).shape == (2, 0)


@pytest.mark.parametrize(
    "given_as", [list, tuple, np.int64, np.int8, np.uint16, np.float32, np.float16]
)
def test_positions_may_come_in_any_real_type(given_as):
    values = [0, 1, 5, 100]
    as_given = given_as(values) if given_as in (list, tuple) else np.array(values, given_as)
    assert np.array_equal(
        sinusoidal_encoding(as_given, 8), sinusoidal_encoding(np.array(values, float), 8)
    )


@given(
    arrays.arrays(float, st.integers(1, 60), elements=positions),
    widths,
    spacings,
    dtypes,
    st.data(),
)
def test_a_code_does_not_depend_on_its_neighbours(values, d_model, spacing, dtype, data):
    together = sinusoidal_encoding(values, d_model, spacing=spacing, dtype=dtype)
    at = data.draw(st.integers(0, len(values) - 1))
    assert np.array_equal(
        together[at], sinusoidal_encoding(values[at], d_model, spacing=spacing, dtype=dtype)
    )
    order = np.array(data.draw(st.permutations(range(len(values)))))
    assert np.array_equal(
        together[order], sinusoidal_encoding(values[order], d_model, spacing=spacing, dtype=dtype)
    )
    assert np.array_equal(
        together[::2], sinusoidal_encoding(values[::2], d_model, spacing=spacing, dtype=dtype)
    )


@pytest.mark.parametrize("d_model", [2, 16, 512])
def test_many_positions_at_once_equal_few_at_a_time(d_model):
    block = 2 * formula._BLOCK // d_model  # rows that the implementation computes together
    length = 3 * block + 7
    whole = sinusoidal_encoding(length, d_model, dtype=np.float32)
    for start, stop in (
        (0, 1),
        (block - 1, block + 1),
        (block, 2 * block),
        (2 * block - 3, length),
    ):
        assert np.array_equal(
            whole[start:stop],
            sinusoidal_encoding(np.arange(start, stop), d_model, dtype=np.float32),
        )


@given(
    st.integers(-(2**20), 2**20 - 2**15),
    st.sampled_from([2, 6, 16, 130, 512]),
    st.floats(1, 1e6),
    layouts,
    spacings,
    st.sampled_from([np.float32, np.float16]),
    st.data(),
)
@settings(max_examples=25, deadline=None)
def test_a_code_has_the_same_bits_in_any_company(
    start, d_model, base, layout, spacing, dtype, data
):
    """Alone, in a long block, in a longer one, out of order, with repeats, in a batch, or among
    fractions: the ways to compute it differ, the number does not.
    """

    def bits(positions):
        options = {"layout": layout, "spacing": spacing, "dtype": dtype}
        return sinusoidal_encoding(positions, d_model, base, **options).view(f"u{dtype().itemsize}")

    length = 2 * formula._BLOCK // (d_model // 2) + data.draw(st.integers(1, 300))
    block = np.arange(start, start + length)
    together = bits(block)
    some = np.array(data.draw(st.lists(st.integers(0, length - 1), min_size=1, max_size=20)))
    assert np.array_equal(together[some], np.stack([bits(np.array(p)) for p in block[some]]))
    assert np.array_equal(together[some], bits(np.append(block[some] * 1.0, 0.5))[:-1])
    assert np.array_equal(together, bits(np.arange(start - 77, start + length))[77:])
    order = np.random.default_rng(length).integers(0, length, (3, length))
    assert np.array_equal(together[order], bits(block[order]))


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_a_table_takes_a_product_for_each_number_and_few_sines(monkeypatch, dtype):
    asked, original = [], formula._waves
    monkeypatch.setattr(
        formula,
        "_waves",
        lambda p, high, low: asked.append(np.broadcast(p, high).size) or original(p, high, low),
    )
    sinusoidal_encoding(4096, 512, dtype=dtype)
    assert asked[0] == 13 * 256  # one position, and the turns by 1, 2, 4, … 2048
    assert sum(asked[1:]) < 500  # what float64 leaves open, position 0 among it


def test_a_table_needs_little_memory_beside_itself():
    sinusoidal_encoding(4096, 512, dtype=np.float32)  # frequencies are kept
    tracemalloc.start()
    table = sinusoidal_encoding(4096, 512, dtype=np.float32)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert table.nbytes <= peak < table.nbytes + 2 * 2**20


@given(positions, widths, spacings)
def test_the_sines_are_odd_and_the_cosines_even(position, d_model, spacing):
    sin, cos = np.split(
        sinusoidal_encoding(position, d_model, layout="concatenated", spacing=spacing), 2
    )
    sin_back, cos_back = np.split(
        sinusoidal_encoding(-position, d_model, layout="concatenated", spacing=spacing), 2
    )
    assert np.array_equal(sin_back, -sin)
    assert np.array_equal(cos_back, cos)


@given(st.floats(allow_nan=False, allow_infinity=False), widths, st.floats(1, 1e9))
def test_every_finite_position_gives_points_on_unit_circles(position, d_model, base):
    code = sinusoidal_encoding(position, d_model, base).reshape(-1, 2)
    assert np.allclose(np.hypot(code[:, 0], code[:, 1]), 1, rtol=0, atol=1e-15)


def test_smaller_types_are_the_exact_values_rounded_once():
    exact = sinusoidal_encoding(5000, 64)
    for dtype in (np.float32, np.float16):
        assert np.mean(sinusoidal_encoding(5000, 64, dtype=dtype) == exact.astype(dtype)) == 1


def test_a_base_of_one_turns_every_pair_alike():
    assert np.array_equal(inverse_frequencies(8, 1), np.ones(4))


@given(
    st.integers(1, 6),
    st.integers(1, 6),
    st.integers(1, 10).map(lambda q: 4 * q),
    layouts,
    spacings,
    dtypes,
)
def test_a_grid_encodes_the_row_in_one_half_and_the_column_in_the_other(
    height, width, d_model, layout, spacing, dtype
):
    options = {"layout": layout, "spacing": spacing, "dtype": dtype}
    grid = sinusoidal_encoding_2d(height, width, d_model, 100.0, **options)
    assert (grid.shape, grid.dtype) == ((height, width, d_model), dtype)
    for row in range(height):
        for column in range(width):
            halves = [
                sinusoidal_encoding(float(p), d_model // 2, 100.0, **options) for p in (row, column)
            ]
            assert np.array_equal(grid[row, column], np.concatenate(halves))


def test_an_empty_grid_has_no_codes():
    assert sinusoidal_encoding_2d(0, 3, 8).shape == (0, 3, 8)


# Shifts and similarity


@given(positions, positions, widths, st.floats(2, 1e6), layouts)
def test_a_shift_matrix_moves_every_code(position, offset, d_model, base, layout):
    code, moved = (
        sinusoidal_encoding(p, d_model, base, layout=layout) for p in (position, position + offset)
    )
    # position + offset was rounded
    slack = 4 * np.finfo(float).eps * (abs(position) + abs(offset) + 1)
    assert np.allclose(
        shift_matrix(offset, d_model, base, layout=layout) @ code, moved, rtol=0, atol=slack
    )


@given(positions, widths, layouts)
def test_a_shift_matrix_is_orthogonal_and_its_inverse_shifts_back(offset, d_model, layout):
    matrix = shift_matrix(offset, d_model, layout=layout)
    assert np.allclose(matrix @ matrix.T, np.eye(d_model), rtol=0, atol=1e-15)
    assert np.array_equal(matrix.T, shift_matrix(-offset, d_model, layout=layout))
    assert np.isclose(np.linalg.det(matrix), 1)


@given(st.integers(-1000, 1000), st.integers(-1000, 1000), widths, layouts)
def test_two_shifts_make_one(first, second, d_model, layout):
    both = shift_matrix(first, d_model, layout=layout) @ shift_matrix(
        second, d_model, layout=layout
    )
    assert np.allclose(
        both, shift_matrix(first + second, d_model, layout=layout), rtol=0, atol=1e-14
    )


def test_no_shift_is_the_identity():
    for layout in formula.LAYOUTS:
        assert np.array_equal(shift_matrix(0, 8, layout=layout), np.eye(8))


def test_a_shift_matrix_has_one_rotation_a_pair():
    matrix, w = shift_matrix(3, 6), inverse_frequencies(6)
    for i in range(3):
        block = [
            [math.cos(3 * w[i]), math.sin(3 * w[i])],
            [-math.sin(3 * w[i]), math.cos(3 * w[i])],
        ]
        assert np.allclose(matrix[2 * i : 2 * i + 2, 2 * i : 2 * i + 2], block, rtol=0, atol=1e-15)
    assert np.count_nonzero(matrix) == 12


@given(positions, positions, widths, st.floats(2, 1e6))
def test_similarity_is_the_normalised_dot_product(position, offset, d_model, base):
    product = sinusoidal_encoding(position, d_model, base) @ sinusoidal_encoding(
        position + offset, d_model, base
    )
    slack = 4 * np.finfo(float).eps * (abs(position) + abs(offset) + 1)
    assert np.isclose(
        similarity(offset, d_model, base), product / (d_model / 2), rtol=0, atol=slack
    )


@given(positions, widths)
def test_similarity_knows_no_direction_and_is_one_at_zero(offset, d_model):
    assert similarity(offset, d_model) == similarity(-offset, d_model)
    assert similarity(0, d_model) == 1
    assert abs(similarity(offset, d_model)) <= 1


def test_similarity_keeps_the_shape_of_the_offsets():
    assert np.ndim(similarity(5, 8)) == 0  # an integer is one offset here
    assert isinstance(similarity(5, 8), float)
    assert similarity([[1, 2], [3, 4], [5, 6]], 8).shape == (3, 2)
    assert similarity(np.arange(3), 8)[2] == similarity(2, 8)


def test_similarity_is_not_monotone_and_goes_below_zero():
    kernel = similarity(np.arange(20_000), 512)
    assert np.argmax(np.diff(kernel) > 0) == 43  # falls to Δ = 43, then rises for the first time
    assert kernel.argmin() == 18_469
    assert round(kernel.min(), 3) == -0.148


@pytest.mark.parametrize(("d_model", "nearest"), [(64, 1.47), (4, 0.0016)])
def test_no_two_codes_meet_within_200_000_positions(d_model, nearest):
    distance = np.sqrt(d_model * (1 - similarity(np.arange(1, 200_001), d_model)))
    assert float(f"{distance.min():.3g}" if nearest > 1 else f"{distance.min():.2g}") == nearest


def test_a_short_text_uses_few_directions():
    """Chapter 05's count, from the eigenvalues of the matrix of dot products and not from singular
    values of the table.
    """
    for length, count in ((64, 22), (512, 116)):
        energy = np.linalg.eigvalsh(
            256 * similarity(np.subtract.outer(np.arange(length), np.arange(length)), 512)
        )[::-1]
        held = np.cumsum(energy) / (256 * length)
        assert held[count - 2] < 0.999 <= held[count - 1]


@pytest.mark.parametrize("loudness", [1 / 32, 1, 32])
def test_a_projection_reads_the_word_whatever_the_position(loudness):
    codes, words = (
        sinusoidal_encoding(16, 128),
        loudness * np.random.default_rng(0).normal(size=(100, 128)),
    )
    used = np.linalg.qr(codes.T)[0]
    outside = np.eye(128) - used @ used.T  # the directions that no code uses
    sums = (words[:, None] + codes) @ outside
    assert np.abs(sums - (words @ outside)[:, None]).max() < 1e-9
    assert (np.linalg.norm(words @ outside, axis=1) > 0.8 * np.linalg.norm(words, axis=1)).all()


def test_concatenating_and_projecting_is_a_sum_of_two_projections():
    rng = np.random.default_rng(1)
    x, p, weight = rng.normal(size=(5, 12)), sinusoidal_encoding(5, 12), rng.normal(size=(7, 24))
    assert np.allclose(
        np.concatenate([x, p], axis=1) @ weight.T, x @ weight[:, :12].T + p @ weight[:, 12:].T
    )
    tied = np.concatenate([weight[:, :12], weight[:, :12]], axis=1)
    assert np.allclose(np.concatenate([x, p], axis=1) @ tied.T, (x + p) @ weight[:, :12].T)


# Faults that people reported, each with the input that showed it


@pytest.mark.parametrize("d_model", [1, 3, 7, 127])
@pytest.mark.parametrize(
    "function",
    [
        inverse_frequencies,
        wavelengths,
        lambda d: sinusoidal_encoding(4, d),
        lambda d: shift_matrix(1, d),
        lambda d: similarity(1, d),
    ],
)
def test_an_odd_width_is_refused_because_each_frequency_needs_a_sine_and_a_cosine(
    d_model, function
):
    with pytest.raises(ValueError, match=rf"d_model.*sine and a cosine.*{d_model}"):
        function(d_model)


def test_the_cosine_shares_the_frequency_of_its_sine():
    table = sinusoidal_encoding(100, 4)
    assert np.allclose(table[1], [0.841471, 0.540302, 0.01, 0.99995], rtol=0, atol=1e-6)
    assert np.allclose(table[:, 0::2] ** 2 + table[:, 1::2] ** 2, 1, rtol=0, atol=1e-15)


def test_the_exponent_is_not_doubled():
    assert np.allclose(
        [inverse_frequencies(4)[-1], inverse_frequencies(8)[-1]], [0.01, 0.001], rtol=1e-15
    )
    assert np.isclose(wavelengths(512)[-1], 60_611, atol=1)
    assert np.allclose(sinusoidal_encoding(2, 4)[1, 2:], [0.00999983, 0.99995000], atol=1e-8)


def test_base_and_exponent_are_not_swapped():
    assert np.allclose(inverse_frequencies(8), [1, 0.1, 0.01, 0.001], rtol=1e-15)


def test_the_logarithm_is_not_divided_with_floor():
    assert math.isclose(math.log(inverse_frequencies(256)[1]), -0.0719557841, abs_tol=1e-10)
    assert math.isclose(wavelengths(256)[-1], 2 * math.pi * 10_000 ** (254 / 256), rel_tol=1e-14)


def test_a_longer_table_extends_a_shorter_one():
    assert np.array_equal(sinusoidal_encoding(230, 16)[:200], sinusoidal_encoding(200, 16))
    assert np.array_equal(
        sinusoidal_encoding(230, 16)[200:], sinusoidal_encoding(np.arange(200, 230), 16)
    )


def test_low_precision_keeps_its_codes_apart_because_angles_are_exact():
    half = sinusoidal_encoding(np.array([70_000]), 64, dtype=np.float16)
    assert np.isfinite(half).all()
    for dtype, least in ((np.float32, 2048), (np.float16, 2048)):
        assert len(np.unique(sinusoidal_encoding(2048, 64, dtype=dtype), axis=0)) == least
    naive = np.arange(10**6, 10**6 + 100, dtype=np.float32)[:, None] * inverse_frequencies(
        64
    ).astype(np.float32)
    exact = sinusoidal_encoding(np.arange(10**6, 10**6 + 100), 64)
    assert np.abs(np.sin(naive) - exact[:, 0::2]).max() > 1e-2  # what float32 angles would give
    assert (
        np.abs(
            sinusoidal_encoding(np.arange(10**6, 10**6 + 100), 64, dtype=np.float32) - exact
        ).max()
        < 2.99e-8
    )


@pytest.mark.parametrize(("d_model", "ratio"), [(512, 0.965), (16, 0.316)])
def test_tensor2tensor_has_other_frequencies_and_not_another_order(d_model, ratio):
    paper, other = (
        inverse_frequencies(d_model),
        inverse_frequencies(d_model, spacing="tensor2tensor"),
    )
    assert round(other[-1] / paper[-1], 3) == ratio
    assert other[-1] == 1e-4
    assert not np.allclose(np.sort(paper), np.sort(other))


def test_the_last_frequency_of_each_spacing_at_width_four():
    assert inverse_frequencies(4)[-1] == 0.01
    assert inverse_frequencies(4, spacing="tensor2tensor")[-1] == 0.0001


@given(positions, widths, spacings)
def test_layouts_are_a_permutation_of_each_other(position, d_model, spacing):
    permutation = np.concatenate([np.arange(0, d_model, 2), np.arange(1, d_model, 2)])
    interleaved, concatenated = (
        sinusoidal_encoding(position, d_model, layout=layout, spacing=spacing)
        for layout in formula.LAYOUTS
    )
    assert np.array_equal(interleaved[permutation], concatenated)
    matrices = [shift_matrix(position, d_model, layout=layout) for layout in formula.LAYOUTS]
    assert np.array_equal(matrices[0][np.ix_(permutation, permutation)], matrices[1])


def test_the_smallest_width_has_one_pair_in_both_spacings():
    for spacing in formula.SPACINGS:
        assert np.array_equal(inverse_frequencies(2, spacing=spacing), [1.0])


# Bad input

WIDTH = [0, -2, 3, 2.0, 2.5, "4", None, True, np.True_, np.array([4, 6]), 1 + 0j, math.nan]
BASE = [
    0,
    -1,
    -0.0,
    math.nan,
    math.inf,
    -math.inf,
    "x",
    "10000",
    None,
    True,
    np.True_,
    1j,
    [1, 2],
    np.array([1.0, 2.0]),
    10**400,
]
POSITIONS = [
    -1,
    True,
    None,
    "3",
    1j,
    math.nan,
    math.inf,
    -math.inf,
    [0, math.nan],
    np.array([1, np.inf]),
    ["a"],
    [None],
    {1, 2},
    np.array([True]),
    [2**53 + 1],
    np.array([2**64 - 1], np.uint64),
    np.array([1 + 0j]),
    np.array(["2026-01-01"], "M8[D]"),
]
OFFSET = [True, None, "3", 1j, math.nan, math.inf, [1, 2], np.array([1.0]), 2**53 + 1]
OPTION = ["", "paper ", "Interleaved", None, 0, ("interleaved",)]
DTYPE = [
    int,
    "int8",
    "float128x",
    complex,
    np.longdouble if np.longdouble != np.float64 else int,
    "bfloat16",
    object,
    7,
]
COUNT = [-1, 2.0, "3", None, True, [2]]


def cases():
    for name, function in {
        "inverse_frequencies": lambda **bad: inverse_frequencies(**{"d_model": 8, **bad}),
        "wavelengths": lambda **bad: wavelengths(**{"d_model": 8, **bad}),
        "sinusoidal_encoding": lambda **bad: sinusoidal_encoding(
            **{"positions": 3, "d_model": 8, **bad}
        ),
        "sinusoidal_encoding_2d": lambda **bad: sinusoidal_encoding_2d(
            **{"height": 2, "width": 3, "d_model": 8, **bad}
        ),
        "shift_matrix": lambda **bad: shift_matrix(**{"offset": 1, "d_model": 8, **bad}),
        "similarity": lambda **bad: similarity(**{"offsets": 1, "d_model": 8, **bad}),
    }.items():
        known = inspect.signature(getattr(sinpe, name)).parameters
        bad = {
            "d_model": [*WIDTH, *([6] if name.endswith("2d") else [])],
            "base": BASE,
            "positions": POSITIONS,
            "offset": OFFSET,
            "offsets": POSITIONS[1:],
            "layout": OPTION,
            "spacing": OPTION,
            "dtype": DTYPE,
            "height": COUNT,
            "width": COUNT,
        }
        assert set(known) <= set(bad)  # every argument of every function is tried
        for argument in known:
            for value in bad[argument]:
                yield pytest.param(
                    function, argument, value, id=f"{name}-{argument}-{value!r}"[:80]
                )


@pytest.mark.parametrize(("function", "argument", "value"), list(cases()))
def test_bad_input_is_refused_by_a_message_that_names_argument_and_value(function, argument, value):
    with pytest.raises(ValueError) as caught:
        function(**{argument: value})
    message = str(caught.value)
    assert argument in message
    shown = [
        repr(value),
        str(value),
        *(str(part) for part in np.ravel(np.asarray(value, object))),
        str(np.asarray(value).dtype),
        str(np.shape(value)),
    ]
    if isinstance(value, int) and value.bit_length() > 64:  # by its size instead of its digits
        shown = [f"an integer of {value.bit_length()} bits"]
    assert any(text in message for text in shown), message


def test_lists_of_unequal_length_are_refused_by_name():
    ragged = [1, [2, 3]]
    for name, function in {
        "positions": lambda: sinusoidal_encoding(ragged, 4),
        "offset": lambda: shift_matrix(ragged, 4),
        "offsets": lambda: similarity(ragged, 4),
    }.items():
        with pytest.raises(ValueError, match=rf"^{name} must be a number .* got \[1, \[2, 3\]\]"):
            function()


def test_an_angle_beyond_float64_is_refused_and_the_largest_within_is_served():
    """A base below 1 has frequencies above 1: a product can leave float64 where no factor does."""
    with pytest.raises(ValueError, match=r"position 1e\+308 times frequency 3\d\.\d+ is beyond"):
        sinusoidal_encoding([1e308], 4, base=1e-3)
    with pytest.raises(ValueError, match=r"position -1e\+308 times frequency"):
        sinusoidal_encoding([0.0, -1e308], 4, base=1e-3)
    for codes in (sinusoidal_encoding([1e306], 4, base=1e-3), sinusoidal_encoding([1e308], 4)):
        assert np.isfinite(codes).all()
        assert np.allclose(codes[..., 0::2] ** 2 + codes[..., 1::2] ** 2, 1)


def test_an_option_must_be_named():
    with pytest.raises(TypeError):
        sinusoidal_encoding(3, 8, 10_000.0, "interleaved")


# Side effects


def test_inputs_are_not_modified_and_may_be_read_only():
    values = np.linspace(-3, 3, 7)
    before = values.copy()
    values.flags.writeable = False
    for function in (sinusoidal_encoding, similarity):
        function(values, 8)
        assert np.array_equal(values, before)


@pytest.mark.parametrize(
    "function",
    [
        lambda: inverse_frequencies(8),
        lambda: wavelengths(8),
        lambda: sinusoidal_encoding(3, 8),
        lambda: sinusoidal_encoding(np.arange(3.0), 8),
        lambda: sinusoidal_encoding_2d(2, 3, 8),
        lambda: shift_matrix(1, 8),
        lambda: similarity(np.arange(3), 8),
    ],
)
def test_what_is_returned_belongs_to_the_caller(function):
    first = function()
    expected = first.copy()
    assert first.flags.writeable
    first[...] = 7
    assert np.array_equal(function(), expected)


def test_threads_get_the_same_values():
    # more than the cache of frequencies holds
    jobs = [(d_model, base) for d_model in range(2, 130, 2) for base in (10.0, 10_000.0, 5e5)]

    def job(arguments):
        return inverse_frequencies(*arguments), sinusoidal_encoding(20, *arguments)

    with ThreadPoolExecutor(8) as pool:
        at_once = list(pool.map(job, jobs * 2))
    for (frequencies, table), arguments in zip(at_once, jobs * 2, strict=True):
        assert np.array_equal(frequencies, inverse_frequencies(*arguments))
        assert np.array_equal(table, sinusoidal_encoding(20, *arguments))


@pytest.mark.parametrize(
    "statement",
    [
        "import sinpe",
        "import sinpe.formula",
        "from sinpe import sinusoidal_encoding, similarity; sinusoidal_encoding(4, 8)",
        "import sinpe; dir(sinpe)",
    ],
)
def test_the_formula_needs_numpy_alone(run_python, statement):
    heavy = ("torch", "matplotlib", "scipy", "tqdm", "IPython", "pandas")
    assert (
        run_python(
            f"import sys\n{statement}\nprint([name for name in {heavy} if name in sys.modules])"
        ).strip()
        == "[]"
    )


def test_the_formula_leaves_numpys_state_alone():
    before = np.geterr()
    sinusoidal_encoding(np.array([1e300, 0.0]), 8)
    assert np.geterr() == before


def test_public_names_are_reexported():
    for name in (
        "inverse_frequencies",
        "wavelengths",
        "sinusoidal_encoding",
        "sinusoidal_encoding_2d",
        "shift_matrix",
        "similarity",
    ):
        assert getattr(sinpe, name) is getattr(formula, name)
        assert name in sinpe.__all__
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = sinpe.no_such_name
