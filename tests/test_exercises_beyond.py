"""The checks of chapter 12: a right answer passes, each mistake is called by its name, anything
else gets a helpful message.
"""

import math

import numpy as np
import torch
from exercise_checks import ExerciseChecks, constant

from sinpe import exercises, similarity, sinusoidal_encoding, sinusoidal_encoding_2d

CHECKS = {
    "kernel": exercises.check_grid_similarity,
    "axis": exercises.check_first_axis,
    "time": exercises.check_timesteps,
    "ids": exercises.check_image_ids,
    "rotary": exercises.check_axial_rotary,
}


def diffusers(t, d, flip=True, shift=0, scale=1000):
    exponent = -math.log(10_000) * torch.arange(d // 2, dtype=torch.float64) / (d // 2 - shift)
    angle = scale * torch.as_tensor(t)[:, None] * exponent.exp()
    return torch.cat([angle.cos(), angle.sin()] if flip else [angle.sin(), angle.cos()], dim=-1)


def from_code():
    def kernel(dy, dx, d_model):
        codes = sinusoidal_encoding_2d(20, 20, d_model)
        return codes[8, 8] @ codes[8 + dy, 8 + dx] / (d_model / 2)

    return kernel


def kappa(x, d):
    return similarity(float(x), d)


def moved_half(table, height, width):
    """Which half differs between two neighbours of a row: the other one is the row's."""
    first, second = np.abs(table[0] - table[1]).reshape(2, -1).max(axis=1)
    return "row" if first < second else "column"


def down(table, height, width):
    """The same, looking at the patch below."""
    same = np.allclose(table[0, : table.shape[1] // 2], table[width, : table.shape[1] // 2])
    return "column" if same else "row"


def turned_round(answer):
    return lambda *case: {"row": "column", "column": "row"}[answer(*case)]


def as_in_transformers(before, rows, columns, after, behind=max, start=None, swap=False):
    """Token by token."""
    ids, start = [], before if start is None else start
    for n in range(before):
        ids.append([n, n, n])
    for row in range(rows):
        for column in range(columns):
            place = [start + row, start + column]
            ids.append([before, *(place[::-1] if swap else place)])
    for n in range(after):
        ids.append([before + behind(rows, columns) + n] * 3)
    return np.array(ids)


def image_only(change):
    """The right ids, with those of the image changed by change(ids, rows, columns)."""

    def answer(before, rows, columns, after):
        ids = as_in_transformers(before, rows, columns, after)
        inside = slice(before, before + rows * columns)
        ids[inside] = change(ids[inside].copy(), rows, columns)
        return ids

    return answer


def counted_frames(ids, rows, columns):
    ids[:, 0] += np.arange(rows * columns)
    return ids


def by_columns(ids, rows, columns):
    return ids.reshape(rows, columns, 3).swapaxes(0, 1).reshape(-1, 3)


def text_has_a_frame_only(before, rows, columns, after):
    ids = as_in_transformers(before, rows, columns, after)
    ids[:before, 1:] = 0
    ids[before + rows * columns :, 1:] = 0
    return ids


def ladder(pairs, width, base=100.0):
    return [base ** (-2 * i / width) for i in range(pairs)]


def patch_by_patch(
    x, height, width, place=lambda row, column: (row, column), own=None, base=100.0, apart=None
):
    """One pair of one patch at a time. own: frequencies of the two axes; apart: how far the
    features of a pair stand from each other.
    """
    head_dim = x.shape[1]
    n = head_dim // 4
    rows = own(n) if own else [ladder(n, 2 * n, base)] * 2
    out = x.copy()
    for patch in range(height * width):
        at = place(patch // width, patch % width)
        for i, (axis, j) in enumerate([(axis, j) for axis in (0, 1) for j in range(n)]):
            angle = at[axis] * rows[axis][j]
            first, second = apart(i, axis, j, n) if apart else (2 * i, 2 * i + 1)
            a, b = x[patch, first], x[patch, second]
            out[patch, first] = a * math.cos(angle) - b * math.sin(angle)
            out[patch, second] = a * math.sin(angle) + b * math.cos(angle)
    return out


def complex_numbers(x, height, width):
    n = x.shape[1] // 4
    y, w = np.arange(height).repeat(width), np.array(ladder(n, 2 * n))
    angle = np.concatenate([np.outer(y, w), np.outer(np.tile(np.arange(width), height), w)], axis=1)
    return (x.reshape(len(x), -1, 2) @ [1, 1j] * np.exp(1j * angle)).view(float).reshape(x.shape)


def with_places(place, **options):
    return lambda x, h, w: patch_by_patch(x, h, w, place, **options)


def one_position(at):
    """Rotary over all pairs, by one number a patch."""

    def answer(x, height, width):
        d = x.shape[1]
        angle = np.outer(
            [at(p // width, p % width, p) for p in range(len(x))], ladder(d // 2, d, 100)
        )
        z = (x[:, 0::2] + 1j * x[:, 1::2]) * np.exp(1j * angle)
        return np.stack([z.real, z.imag], axis=-1).reshape(x.shape)

    return answer


def wrong_rows(x, height, width):
    """The row and the column of a patch as if a row had `height` patches."""
    n = x.shape[1] // 4
    w = np.array(ladder(n, 2 * n))
    y, column = np.arange(len(x)) // height, np.arange(len(x)) % height
    z = x.reshape(len(x), -1, 2) @ [1, 1j]
    z = z * np.exp(1j * np.concatenate([np.outer(y, w), np.outer(column, w)], axis=1))
    return np.stack([z.real, z.imag], axis=-1).reshape(x.shape)


def half_head(i, axis, j, n):
    return i, i + 2 * n


def half_axis(i, axis, j, n):
    return 2 * n * axis + j, 2 * n * axis + j + n


RIGHT = [
    ("kernel", lambda y, x, d: (kappa(y, d // 2) + kappa(x, d // 2)) / 2),
    ("kernel", from_code()),
    ("axis", moved_half),
    ("axis", down),
    ("time", diffusers),
    (
        "time",
        lambda t, d: np.roll(
            sinusoidal_encoding(1000 * t, d, layout="concatenated"), d // 2, axis=1
        ),
    ),
    ("ids", as_in_transformers),
    ("ids", lambda *case: torch.from_numpy(as_in_transformers(*case))),
    ("rotary", patch_by_patch),
    ("rotary", complex_numbers),
]
MISTAKES = [
    ("kernel", lambda y, x, d: kappa(y, d // 2) * kappa(x, d // 2), "product instead of mean"),
    ("kernel", lambda y, x, d: kappa(y, d // 2) + kappa(x, d // 2), "sum instead of mean"),
    ("kernel", lambda y, x, d: (kappa(y, d) + kappa(x, d)) / 2, "full width"),
    ("kernel", lambda y, x, d: kappa(math.hypot(y, x), d // 2), "one kernel of the distance"),
    ("kernel", lambda y, x, d: kappa(x + y, d // 2), "one kernel of the sum"),
    ("kernel", lambda y, x, d: kappa(y, d // 2), "row only"),
    ("kernel", lambda y, x, d: kappa(x, d // 2), "column only"),
    ("kernel", lambda y, x, d: from_code()(y, x, d) * d / 2, "not normalised"),
    ("kernel", lambda y, x, d: from_code()(y, x, d) / 2, "divided by d_model"),
    ("axis", turned_round(moved_half), "answers exchanged"),
    ("axis", lambda t, h, w: moved_half(t[:, ::-1], h, w), "answers exchanged"),
    ("axis", constant("row"), "row taken for granted"),
    ("axis", constant("column"), "column taken for granted"),
    ("axis", lambda t, h, w: down(t, w, h), "next row in the wrong place"),
    ("time", lambda t, d: diffusers(t, d, scale=1), "timesteps not scaled"),
    ("time", lambda t, d: 1000 * diffusers(t, d, scale=1), "result scaled instead of the timestep"),
    ("time", lambda t, d: diffusers(t, d, flip=False), "sines first"),
    ("time", lambda t, d: sinusoidal_encoding(1000 * t, d), "interleaved"),
    ("time", lambda t, d: sinusoidal_encoding(1000 * t, d)[:, np.arange(d) ^ 1], "interleaved"),
    ("time", lambda t, d: diffusers(t, d, shift=1), "tensor2tensor's spacing"),
    ("time", lambda t, d: diffusers(t, d, flip=False, shift=1), "DDPM's convention"),
    ("time", lambda t, d: diffusers(t, d, shift=-d // 2), "divided by the width"),
    ("time", lambda t, d: diffusers(np.round(t, 3), d), "rounded to whole steps"),
    ("time", lambda t, d: diffusers(np.floor(1000 * t) / 1000, d), "rounded to whole steps"),
    ("time", lambda t, d: diffusers(t, d, scale=2000 * np.pi), "2π in the angle"),
    ("time", lambda t, d: diffusers(t, d).T, "axes swapped"),
    (
        "ids",
        lambda b, r, c, a: as_in_transformers(b, r, c, a, behind=lambda r, c: r * c),
        "counted on by tokens",
    ),
    (
        "ids",
        lambda b, r, c, a: np.tile(np.arange(b + r * c + a), (3, 1)).T,
        "one number for each token",
    ),
    ("ids", lambda b, r, c, a: as_in_transformers(b, r, c, a, swap=True), "axes swapped"),
    ("ids", lambda *case: np.roll(as_in_transformers(*case), -1, axis=1), "axes swapped"),
    ("ids", lambda b, r, c, a: as_in_transformers(b, r, c, a, start=0), "image counted from 0"),
    ("ids", image_only(lambda ids, r, c: ids - ids[0]), "image counted from 0, frame too"),
    ("ids", image_only(counted_frames), "frame counted up"),
    (
        "ids",
        lambda b, r, c, a: as_in_transformers(b, r, c, a, behind=lambda r, c: r),
        "after the last row",
    ),
    (
        "ids",
        lambda b, r, c, a: as_in_transformers(b, r, c, a, behind=lambda r, c: c),
        "after the last column",
    ),
    (
        "ids",
        lambda b, r, c, a: as_in_transformers(b, r, c, a, behind=lambda r, c: max(r, c) - 1),
        "one number used twice",
    ),
    (
        "ids",
        lambda b, r, c, a: as_in_transformers(b, r, c, a, behind=lambda r, c: max(r, c) + 1),
        "one number left out",
    ),
    ("ids", image_only(by_columns), "column by column"),
    ("ids", lambda *case: as_in_transformers(*case).T, "axes first"),
    ("ids", text_has_a_frame_only, "text without row and column"),
    ("rotary", with_places(lambda row, column: (column, row)), "axes swapped"),
    (
        "rotary",
        with_places(lambda r, c: (r, c), own=lambda n: [ladder(n, 4 * n)] * 2),
        "frequencies over the whole width",
    ),
    # √base does the same
    ("rotary", with_places(lambda r, c: (r, c), base=10.0), "frequencies over the whole width"),
    (
        "rotary",
        with_places(
            lambda r, c: (r, c), own=lambda n: [ladder(2 * n, 4 * n)[:n], ladder(2 * n, 4 * n)[n:]]
        ),
        "one ladder for both axes",
    ),
    ("rotary", with_places(lambda r, c: (0, c)), "positions as a batch of rows"),
    ("rotary", one_position(lambda r, c, p: c), "positions as a batch of rows"),
    ("rotary", one_position(lambda r, c, p: p), "one counter for all patches"),
    ("rotary", one_position(lambda r, c, p: r + c), "row and column added up"),
    ("rotary", wrong_rows, "height taken for width"),
    ("rotary", with_places(lambda r, c: (r + 1, c + 1)), "counted from 1"),
    ("rotary", with_places(lambda r, c: (-r, -c)), "turned the other way"),
    ("rotary", with_places(lambda r, c: (r, c), base=10_000.0), "base left at 10000"),
    ("rotary", with_places(lambda r, c: (r, c), apart=half_head), "halves instead of pairs"),
    ("rotary", with_places(lambda r, c: (r, c), apart=half_axis), "halves instead of pairs"),
]


WRONG = [
    ("kernel", constant(1.0), "expected"),
    ("kernel", constant([1.0, 2.0]), "shape"),
    ("kernel", lambda y, x, d: from_code()(y, x, d) + 0.01, "expected"),
    ("axis", constant("diagonal"), "two neighbours"),
    ("axis", constant(0), "two neighbours"),
    ("axis", lambda t, h, w: "row" if h == w else "column", "two neighbours"),
    ("time", constant("x"), "expected numbers"),
    ("time", lambda t, d: diffusers(t, d, scale=100), "expected"),
    ("time", lambda t, d: diffusers(1 - t, d), "expected"),
    ("ids", constant(np.zeros((2, 3))), "shape"),
    ("ids", lambda *case: as_in_transformers(*case) + 1, "expected"),
    ("ids", lambda *case: as_in_transformers(*case)[:, 1:], "shape"),
    ("rotary", constant("x"), "expected numbers"),
    ("rotary", lambda x, h, w: x, "expected"),
    ("rotary", lambda x, h, w: np.full(x.shape, np.nan), "expected"),
    ("rotary", with_places(lambda r, c: (r, 2 * c)), "expected"),
]


class TestChecks(ExerciseChecks):
    CHECKS, RIGHT, MISTAKES, WRONG = CHECKS, RIGHT, MISTAKES, WRONG


def test_answers_that_work_in_place_are_judged_by_what_they_return():
    def scaled(t, d):
        t *= 1000
        return diffusers(t, d, scale=1)

    assert exercises.check_timesteps(scaled)
