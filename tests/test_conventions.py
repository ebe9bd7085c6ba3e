"""Published conventions outside text: each is the one formula with other options. Compared with
scalar loops, written from the sources.
"""

import math
from itertools import product

import numpy as np
import pytest

from sinpe import inverse_frequencies, similarity, sinusoidal_encoding, sinusoidal_encoding_2d


def columns(angles, layout):
    """One row from its angles, pair by pair."""
    sines, cosines = [math.sin(a) for a in angles], [math.cos(a) for a in angles]
    interleaved = [f(a) for a in angles for f in (math.sin, math.cos)]
    return {"sin | cos": sines + cosines, "cos | sin": cosines + sines}.get(layout, interleaved)


def table(positions, width, last, layout, scale=1.0, base=10_000.0):
    """last: what the pair index is divided by."""
    return np.array(
        [
            columns([scale * p * base ** (-i / last) for i in range(width // 2)], layout)
            for p in positions
        ]
    )


def swap(codes):
    return np.roll(codes, codes.shape[1] // 2, axis=1)


STEPS, PARTS = [0, 1, 7, 250, 999], [0.0, 0.001, 0.3337, 1.0]
DETR = [(k + 1) / (9 + 1e-6) for k in range(9)]
NEAR = [-1.0, -0.3, 0.0, 0.77, 1.0]
HALVES, T2T = {"layout": "concatenated"}, {"spacing": "tensor2tensor"}
PUBLISHED = {
    "Whisper": (
        table(range(1500), 16, 7, "sin | cos"),
        lambda: sinusoidal_encoding(1500, 16, **HALVES, **T2T),
    ),
    "DDPM": (
        table(STEPS, 32, 15, "sin | cos"),
        lambda: sinusoidal_encoding(np.array(STEPS), 32, **HALVES, **T2T),
    ),
    "DiT": (
        table(STEPS, 32, 16, "cos | sin"),
        lambda: swap(sinusoidal_encoding(np.array(STEPS), 32, **HALVES)),
    ),
    "FLUX": (
        table(PARTS, 32, 16, "cos | sin", 1000.0),
        lambda: swap(sinusoidal_encoding(1000 * np.array(PARTS), 32, **HALVES)),
    ),
    "DETR, one axis": (
        table(DETR, 24, 12, "interleaved", 2 * math.pi),
        lambda: sinusoidal_encoding(2 * np.pi * np.array(DETR), 24),
    ),
    "DINO, one axis": (
        table(DETR, 24, 12, "interleaved", 2 * math.pi, 20.0),
        lambda: sinusoidal_encoding(2 * np.pi * np.array(DETR), 24, 20.0),
    ),
    "NeRF, one axis": (
        np.array([columns([2**k * math.pi * p for k in range(10)], "interleaved") for p in NEAR]),
        lambda: sinusoidal_encoding(np.pi * np.array(NEAR), 20, 2.0**-10),
    ),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_conventions_are_options_of_one_formula(name):
    literal, ours = PUBLISHED[name]
    assert np.abs(literal - ours()).max() < 1e-11


def test_a_base_below_one_makes_frequencies_grow_in_powers_of_two():
    assert np.array_equal(inverse_frequencies(20, 2.0**-10), 2.0 ** np.arange(10))


def test_the_table_of_masked_autoencoders_is_a_grid_with_its_axes_exchanged():
    n, d = 5, 16
    half = d // 2
    literal = np.empty((n * n, d))
    for row, column in product(range(n), range(n)):
        x, y = (
            columns([p * 10_000.0 ** (-i / (half / 2)) for i in range(half // 2)], "sin | cos")
            for p in (column, row)
        )
        literal[row * n + column] = x + y
    assert (
        np.abs(
            sinusoidal_encoding_2d(n, n, d, **HALVES).transpose(1, 0, 2).reshape(n * n, d) - literal
        ).max()
        < 1e-12
    )


@pytest.mark.parametrize("layout", ["interleaved", "concatenated"])
def test_the_similarity_on_a_grid_is_the_mean_of_two_kernels(layout):
    grid = sinusoidal_encoding_2d(9, 11, 32, layout=layout)
    for (y, x), (row, column) in product(product((0, 4, 8), (0, 5, 10)), repeat=2):
        expected = (similarity(float(row - y), 16) + similarity(float(column - x), 16)) / 2
        assert abs(grid[y, x] @ grid[row, column] / 16 - expected) < 1e-12


def test_exchanged_halves_turn_every_hand_the_other_way():
    """(cos a, sin a) is (sin b, cos b) of b = π/2 − a: one step ahead is one step back for each
    frequency.
    """
    d, p = 8, np.arange(50)
    exchanged = swap(sinusoidal_encoding(p, d, **HALVES))
    back = [sinusoidal_encoding(np.pi / 2 / w - p, d, **HALVES) for w in inverse_frequencies(d)]
    for i, codes in enumerate(back):
        assert np.abs(exchanged[:, [i, i + d // 2]] - codes[:, [i, i + d // 2]]).max() < 1e-9
