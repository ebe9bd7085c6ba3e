"""Checks for chapter 12: Whisper's table, DETR's grid, similarity on a grid, a timestep's code, and
NeRF's features.
"""

import numpy as np

from sinpe.exercises._check import Mistake, check
from sinpe.formula import similarity

_B = 10_000.0


def check_whisper_table(attempt):
    """attempt(length, channels) -> the encoder table of Whisper, shape (length, channels): all
    sines, then all cosines, exponent i/(channels/2 − 1).
    """
    right = _whisper()
    mistakes = (
        Mistake(
            "the paper's spacing",
            _whisper(shift=0),
            "divide the pair index by channels/2 − 1: the slowest frequency is exactly 1/10000.",
        ),
        Mistake(
            "interleaved", _whisper(layout="interleaved"), "all sines come first, then all cosines."
        ),
        Mistake(
            "cosines first",
            _whisper(layout="cos | sin"),
            "the first half holds the sines: row 0 starts with zeros.",
        ),
        Mistake("positions start at 1", _whisper(start=1), "the first row is position 0."),
        Mistake(
            "interleaved, with the paper's spacing",
            _whisper(shift=0, layout="interleaved"),
            "that is the formula as printed; Whisper has halves and the divisor n − 1.",
        ),
        Mistake(
            "divided by the width",
            _whisper(divisor=lambda n: 2 * n - 1),
            "count pairs, not columns: the divisor is channels/2 − 1.",
        ),
        Mistake(
            "base left out of the logarithm",
            _whisper(base=np.e),
            "the increment is log(10000)/(channels/2 − 1).",
        ),
        Mistake(
            "in seconds",
            _whisper(scale=0.02),
            "positions are counted in steps of 20 ms, not in seconds.",
        ),
        Mistake(
            "axes swapped",
            lambda n, d: right(n, d).T,
            "rows are positions and columns are channels.",
        ),
    )
    return check(
        attempt,
        right,
        [(5, 8), (12, 16), (300, 6)],
        mistakes,
        praise="halves, and the grid that ends at 1/10000.",
        tolerance=1e-3,
    )


def check_detr_grid(attempt):
    """attempt(height, width, d_model) -> DETR's codes of an image without padding: the row's half
    first, counted from 1, last one at 2π, interleaved.
    """
    mistakes = (
        Mistake(
            "column first", _detr(first="column"), "the row's half comes first: pos_y, then pos_x."
        ),
        Mistake(
            "positions start at 0",
            _detr(start=0),
            "the cumulative sum of the mask counts 1, 2, 3, …",
        ),
        Mistake(
            "2π forgotten",
            _detr(scale=1.0),
            "after the division by the last count the fraction is multiplied by 2π.",
        ),
        Mistake("π instead of 2π", _detr(scale=np.pi), "the last row stands at 2π, a whole turn."),
        Mistake(
            "not normalised",
            _detr(normal=lambda n: 1.0, scale=1.0),
            "divide by the last count, then multiply by 2π.",
        ),
        Mistake(
            "not divided by the last count",
            _detr(normal=lambda n: 1.0),
            "2π is the factor of a fraction: divide by the last count first.",
        ),
        Mistake(
            "divided by one less",
            _detr(start=0, normal=lambda n: n - 1),
            "the count goes from 1 to n and is divided by n.",
        ),
        Mistake(
            "one size for both axes",
            lambda h, w, d: _detr(sizes=(h, h))(h, w, d),
            "rows are divided by the height, columns by the width.",
        ),
        Mistake(
            "one size for both axes",
            lambda h, w, d: _detr(sizes=(w, w))(h, w, d),
            "rows are divided by the height, columns by the width.",
        ),
        Mistake(
            "halves instead of pairs",
            _detr(layout="sin | cos"),
            "sine and cosine stand side by side within each half.",
        ),
        Mistake(
            "cosine before sine",
            _detr(layout="cosine before sine"),
            "each pair is sine, then cosine.",
        ),
        Mistake(
            "tensor2tensor's spacing",
            _detr(shift=1),
            "the exponent is divided by the number of pairs, as in the paper.",
        ),
        Mistake(
            "full width in the exponent",
            _detr(full=True),
            "each half is a code of its own, of width d_model/2.",
        ),
        Mistake(
            "channels first",
            lambda h, w, d: np.moveaxis(_detr()(h, w, d), -1, 0),
            "here channels come last: (height, width, d_model).",
        ),
    )
    return check(
        attempt,
        _detr(),
        [(3, 5, 8), (6, 4, 16), (2, 7, 24)],
        mistakes,
        praise="once around the circle, from the first count to the last.",
        tolerance=1e-4,
    )


def check_grid_similarity(attempt):
    """attempt(dy, dx, d_model) -> κ₂, the normalised dot product of two grid codes: the mean of the
    kernels at width d_model/2.
    """

    def kernels(dy, dx, d):
        return similarity(float(dy), d), similarity(float(dx), d)

    mistakes = (
        Mistake(
            "product instead of mean",
            lambda y, x, d: np.prod(kernels(y, x, d // 2)),
            "features side by side add their dot products: a sum, divided by 2.",
        ),
        Mistake(
            "sum instead of mean",
            lambda y, x, d: sum(kernels(y, x, d // 2)),
            "κ₂(0, 0) must be 1: divide by 2.",
        ),
        Mistake(
            "full width",
            lambda y, x, d: np.mean(kernels(y, x, d)),
            "each axis has a code of width d_model/2, with the frequencies of that width.",
        ),
        Mistake(
            "one kernel of the distance",
            lambda y, x, d: similarity(float(np.hypot(y, x)), d // 2),
            "the axes are encoded apart: no pair sees the distance.",
        ),
        Mistake(
            "one kernel of the sum",
            lambda y, x, d: similarity(float(y + x), d // 2),
            "each axis has its own kernel: add those, not the offsets.",
        ),
        Mistake(
            "row only",
            lambda y, x, d: kernels(y, x, d // 2)[0],
            "the column's half counts as well.",
        ),
        Mistake(
            "column only",
            lambda y, x, d: kernels(y, x, d // 2)[1],
            "the row's half counts as well.",
        ),
        Mistake(
            "not normalised",
            lambda y, x, d: d / 4 * sum(kernels(y, x, d // 2)),
            "divide by the squared length d_model/2.",
        ),
        Mistake(
            "divided by d_model",
            lambda y, x, d: sum(kernels(y, x, d // 2)) / 4,
            "the squared length of a code is d_model/2.",
        ),
    )
    cases = [(3, 5, 16), (0, 9, 64), (2, -7, 8)]
    return check(
        attempt,
        lambda y, x, d: np.mean(kernels(y, x, d // 2)),
        cases,
        mistakes,
        praise="along an arm of the cross one of the two stays at 1.",
    )


def check_timesteps(attempt):
    """attempt(t, d) -> codes of FLUX's timesteps, (len(t), d): t from 0 to 1 times 1000, cosines
    first, then sines, exponent i/(d/2).
    """
    mistakes = (
        Mistake(
            "timesteps not scaled",
            _timesteps(scale=1.0),
            "t is a fraction: multiply by 1000 before the sine.",
        ),
        Mistake(
            "result scaled instead of the timestep",
            lambda t, d: 1000 * _timesteps(scale=1.0)(t, d),
            "the factor belongs inside sine and cosine.",
        ),
        Mistake(
            "sines first",
            _timesteps(layout="sin | cos"),
            "the first half holds the cosines: at t = 0 it is all ones.",
        ),
        Mistake(
            "interleaved",
            _timesteps(layout="interleaved"),
            "halves, not pairs: all cosines, then all sines.",
        ),
        Mistake(
            "interleaved",
            _timesteps(layout="cosine before sine"),
            "halves, not pairs: all cosines, then all sines.",
        ),
        Mistake(
            "tensor2tensor's spacing",
            _timesteps(shift=1),
            "FLUX divides by d/2; d/2 − 1 is DDPM's.",
        ),
        Mistake(
            "DDPM's convention",
            _timesteps(shift=1, layout="sin | cos"),
            "FLUX has the cosines first and divides by d/2.",
        ),
        Mistake(
            "divided by the width",
            _timesteps(divisor=lambda n: 2 * n),
            "the exponent of pair i is i/(d/2).",
        ),
        Mistake(
            "rounded to whole steps",
            lambda t, d: _timesteps()(np.round(1000 * t) / 1000, d),
            "timesteps may be fractions: do not round them.",
        ),
        Mistake(
            "rounded to whole steps",
            lambda t, d: _timesteps()(np.floor(1000 * t) / 1000, d),
            "timesteps may be fractions: do not round them.",
        ),
        Mistake(
            "2π in the angle",
            _timesteps(scale=2000 * np.pi),
            "there is no 2π here: the angle is 1000·t·ω_i.",
        ),
        Mistake("axes swapped", lambda t, d: _timesteps()(t, d).T, "one row a timestep."),
    )
    cases = [
        (np.array([0.0, 0.25, 1.0]), 8),
        (np.array([0.0123, 0.3456, 0.9999]), 16),
        (np.array([0.7001]), 6),
    ]
    return check(
        attempt,
        _timesteps(),
        cases,
        mistakes,
        praise="a step between two steps has a code as well.",
        tolerance=1e-3,
    )


def check_nerf_features(attempt):
    """attempt(points, L) -> NeRF's γ as in the paper, (n, 6L): for each coordinate sin(2^k πp),
    cos(2^k πp), k = 0 … L − 1.
    """
    mistakes = (
        Mistake(
            "π forgotten",
            _nerf(scale=1.0),
            "the paper has 2^k·π; it is the released code that has none.",
        ),
        Mistake(
            "one octave too high",
            _nerf(scale=2 * np.pi),
            "the lowest frequency is 2^0·π: k runs from 0, and the factor is π, not 2π.",
        ),
        Mistake(
            "frequencies fall",
            _nerf(power=lambda L: -np.arange(L)),
            "here they grow: 2 to the power of k. A base below 1 does that.",
        ),
        Mistake(
            "fastest frequency first",
            _nerf(power=lambda L: np.arange(L)[::-1]),
            "the lowest frequency comes first.",
        ),
        Mistake(
            "multiples instead of powers",
            lambda p, L: _nerf_columns(p, np.pi * np.arange(1, L + 1)),
            "the ladder is geometric: 1, 2, 4, …, not 1, 2, 3, …",
        ),
        Mistake(
            "halves", _nerf(order="halves"), "sine and cosine of one frequency stand side by side."
        ),
        Mistake(
            "cosine before sine",
            _nerf(order="cosine before sine"),
            "each pair is sine, then cosine.",
        ),
        Mistake(
            "ordered by frequency",
            _nerf(order="released"),
            "all features of the first coordinate come first, then the second, then the third.",
        ),
        Mistake(
            "the released code",
            _nerf(scale=1.0, order="released"),
            "it has no π and orders by frequency; here the paper's form is asked for.",
        ),
        Mistake(
            "the released code",
            lambda p, L: np.column_stack([p, _nerf(scale=1.0, order="released")(p, L)]),
            "it has no π, orders by frequency and keeps the point; here the paper's form is asked"
            " for.",
        ),
        Mistake(
            "coordinates kept beside the code",
            lambda p, L: np.column_stack([p, _nerf()(p, L)]),
            "the paper's γ has 6L features, without the point itself.",
        ),
    )
    rng = np.random.default_rng(12)
    cases = [
        (rng.uniform(-1, 1, (4, 3)), 4),
        (rng.uniform(-1, 1, (2, 3)), 3),
        (rng.uniform(-1, 1, (3, 3)), 6),
    ]
    return check(
        attempt,
        _nerf(),
        cases,
        mistakes,
        praise="powers of two from π upwards, one coordinate after the other.",
        tolerance=1e-4,
    )


def _arranged(angle, layout):
    sin, cos = np.sin(angle), np.cos(angle)
    if layout in ("sin | cos", "cos | sin"):
        return np.concatenate([sin, cos] if layout == "sin | cos" else [cos, sin], axis=-1)
    pair = [sin, cos] if layout == "interleaved" else [cos, sin]
    return np.stack(pair, axis=-1).reshape(*angle.shape[:-1], -1)


def _ladder(pairs, shift, base=_B, divisor=None):
    return base ** (-np.arange(pairs) / (divisor(pairs) if divisor else max(pairs - shift, 1)))


def _whisper(shift=1, layout="sin | cos", start=0, base=_B, divisor=None, scale=1.0):
    return lambda n, d: _arranged(
        scale * (np.arange(n) + start)[:, None] * _ladder(d // 2, shift, base, divisor), layout
    )


def _timesteps(scale=1000.0, layout="cos | sin", shift=0, divisor=None):
    return lambda t, d: _arranged(
        scale * np.asarray(t, float)[:, None] * _ladder(d // 2, shift, divisor=divisor), layout
    )


def _detr(
    first="row",
    start=1,
    scale=2 * np.pi,
    normal=lambda n: n + 1e-6,
    sizes=None,
    layout="interleaved",
    shift=0,
    full=False,
):
    def grid(height, width, d_model):
        pairs = d_model // 4
        ladder = _ladder(2 * pairs, shift)[:pairs] if full else _ladder(pairs, shift)
        rows, columns = (
            _arranged((scale * (np.arange(n) + start) / normal(size))[:, None] * ladder, layout)
            for n, size in zip((height, width), sizes or (height, width), strict=True)
        )
        y, x = np.repeat(rows[:, None], width, axis=1), np.repeat(columns[None], height, axis=0)
        return np.concatenate([y, x] if first == "row" else [x, y], axis=-1)

    return grid


def _nerf(scale=np.pi, power=np.arange, order="paper"):
    return lambda points, L: _nerf_columns(points, scale * 2.0 ** power(L), order)


def _nerf_columns(points, frequencies, order="paper"):
    angle = np.asarray(points, float)[..., None] * frequencies  # (n, 3, L)
    if order == "released":
        return (
            np.stack([np.sin(angle), np.cos(angle)], axis=-1)
            .transpose(0, 2, 3, 1)
            .reshape(len(angle), -1)
        )
    layout = {"paper": "interleaved", "halves": "sin | cos"}.get(order, order)
    return _arranged(angle, layout).reshape(len(angle), -1)
