"""Checks for chapter 12: similarity on a grid, the axis that comes first, the code of a timestep,
position ids around an image, and rotary on a grid.
"""

import numpy as np

from sinpe.exercises._check import Mistake, check
from sinpe.formula import similarity

_B = 10_000.0


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


def check_first_axis(attempt):
    """attempt(table, height, width) -> "row" or "column": the axis that the first half of a table
    of codes stands for; table has shape (height · width, d), one row of patches after the other.
    """

    def right(table, height, width):
        return _first(table, 1)

    def other(table, height, width):
        return "column" if right(table, height, width) == "row" else "row"

    mistakes = (
        Mistake(
            "answers exchanged",
            other,
            "patches 0 and 1 stand side by side, in one row: the half that stays the same there is"
            " the row's. Or did you look at the second half?",
        ),
        Mistake(
            "row taken for granted",
            lambda t, h, w: "row",
            "some tables have the column first, as MAE's: look at the numbers.",
        ),
        Mistake(
            "column taken for granted",
            lambda t, h, w: "column",
            "some tables have the row first, as DETR's: look at the numbers.",
        ),
        Mistake(
            "next row in the wrong place",
            lambda t, h, w: "row" if _first(t, h) == "column" else "column",
            "the next row begins `width` patches on, not `height`: on a square image nobody sees"
            " the difference.",
        ),
    )
    cases = [
        (_grid(height, width, d, column_first, **options), height, width)
        for height, width, d, column_first, options in (
            (4, 4, 16, False, {}),
            (4, 4, 16, True, {}),
            (3, 5, 8, False, {"layout": "sin | cos"}),
            (3, 5, 8, True, {"start": 1, "scale": 2 * np.pi / 5}),
            (6, 2, 24, True, {"layout": "sin | cos", "shift": 1}),
            (2, 7, 24, False, {"start": 1, "scale": 2 * np.pi / 7}),
        )
    ]
    return check(
        attempt,
        right,
        cases,
        mistakes,
        praise="two neighbours in one row are enough, on a square image too.",
        otherwise='the answer is the text "row" or "column": compare two neighbours in one row.',
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


def check_image_ids(attempt):
    """attempt(before, rows, columns, after) -> frame, row and column of each token, shape (tokens,
    3): `before` text tokens, an image of rows · columns tokens, `after` text tokens.
    """
    mistakes = (
        Mistake(
            "counted on by tokens",
            _ids(behind=lambda r, c: r * c),
            "an image takes as many numbers as its longer side has tokens, not as it has tokens.",
        ),
        Mistake(
            "one number for each token",
            lambda b, r, c, a: np.repeat(np.arange(b + r * c + a)[:, None], 3, axis=1),
            "the tokens of an image have a row and a column; only text has the same on all axes.",
        ),
        Mistake(
            "axes swapped",
            lambda b, r, c, a: _ids()(b, r, c, a)[:, [0, 2, 1]],
            "the order is frame, row, column.",
        ),
        Mistake(
            "axes swapped",
            lambda b, r, c, a: _ids()(b, r, c, a)[:, [1, 2, 0]],
            "the order is frame, row, column.",
        ),
        Mistake(
            "image counted from 0",
            _ids(begins=lambda b: 0),
            "row and column of an image count from the number that the next text token would have.",
        ),
        Mistake(
            "image counted from 0, frame too",
            _ids(begins=lambda b: 0, frame=lambda b: 0),
            "an image begins at the number that the next text token would have, on every axis.",
        ),
        Mistake(
            "frame counted up",
            _ids(running=True),
            "all tokens of an image belong to one frame.",
        ),
        Mistake(
            "after the last row",
            _ids(behind=lambda r, c: r),
            "text goes on after the largest number on any axis: think of a wide image.",
        ),
        Mistake(
            "after the last column",
            _ids(behind=lambda r, c: c),
            "text goes on after the largest number on any axis: think of a tall image.",
        ),
        Mistake(
            "one number used twice",
            _ids(behind=lambda r, c: max(r, c) - 1),
            "the largest number is taken already: text goes on with the next one.",
        ),
        Mistake(
            "one number left out",
            _ids(behind=lambda r, c: max(r, c) + 1),
            "text goes on with the number right after the largest one.",
        ),
        Mistake(
            "column by column",
            _ids(by_columns=True),
            "tokens come row by row: the column changes fastest.",
        ),
        Mistake(
            "axes first",
            lambda b, r, c, a: _ids()(b, r, c, a).T,
            "here a token is a row: shape (tokens, 3). Transformers stores (3, batch, tokens).",
        ),
        Mistake(
            "text without row and column",
            lambda b, r, c, a: np.where(_is_text(b, r, c, a), [1, 0, 0], 1) * _ids()(b, r, c, a),
            "a text token has the same number on all three axes: that makes it plain rotary.",
        ),
    )
    return check(
        attempt,
        _ids(),
        [(3, 2, 4, 2), (1, 3, 2, 3), (4, 1, 6, 1)],
        mistakes,
        praise="text walks along the diagonal, and the image is a block on it.",
    )


def check_axial_rotary(attempt):
    """attempt(x, height, width) -> x (height · width, head_dim) with its first half turned by the
    row of each patch and its second half by the column, neighbouring pairs, base 100.
    """
    rng = np.random.default_rng(12)
    mistakes = (
        Mistake(
            "axes swapped",
            _axial(at=lambda y, x: (x, y)),
            "the first half of the features belongs to the row, the second to the column.",
        ),
        Mistake(
            "frequencies over the whole width",
            _axial(ladder=lambda n: (_hundred(n, 4 * n), _hundred(n, 4 * n))),
            "an axis has head_dim/2 features of its own: the exponent of pair i is"
            " −2i/(head_dim/2).",
        ),
        Mistake(
            "one ladder for both axes",
            _axial(ladder=lambda n: np.split(_hundred(2 * n, 4 * n), 2)),
            "here each axis has its own ladder from 1 down; yours gives the slow pairs to the"
            " column.",
        ),
        Mistake(
            "positions as a batch of rows",
            _axial(at=lambda y, x: (0 * y, x)),
            "each row of the image is counted as a text of its own, and no pair knows the row.",
        ),
        Mistake(
            "positions as a batch of rows",
            lambda z, h, w: _turned(z, np.outer(_yx(h, w)[1], _hundred(z.shape[1] // 2))),
            "each row of the image is counted as a text of its own, and no pair knows the row.",
        ),
        Mistake(
            "one counter for all patches",
            lambda z, h, w: _turned(z, np.outer(np.arange(h * w), _hundred(z.shape[1] // 2))),
            "a patch has two numbers; yours has one, as if the image were a text.",
        ),
        Mistake(
            "row and column added up",
            lambda z, h, w: _turned(z, np.outer(sum(_yx(h, w)), _hundred(z.shape[1] // 2))),
            "here each pair belongs to one axis; yours cannot tell a step down from one to the"
            " right.",
        ),
        Mistake(
            "height taken for width",
            lambda z, h, w: _axial(at=lambda y, x: divmod(np.arange(h * w), h))(z, h, w),
            "a row has `width` patches: row and column are index // width and index % width.",
        ),
        Mistake(
            "counted from 1",
            _axial(at=lambda y, x: (y + 1, x + 1)),
            "the first patch stands at (0, 0) here. (For scores among patches it makes no"
            " difference.)",
        ),
        Mistake(
            "turned the other way",
            _axial(at=lambda y, x: (-y, -x)),
            "(a, b) becomes (a cos − b sin, a sin + b cos).",
        ),
        Mistake(
            "base left at 10000",
            _axial(ladder=lambda n: (_ladder(n, 0), _ladder(n, 0))),
            "an image has few rows: the base is 100 here.",
        ),
        Mistake(
            "halves instead of pairs",
            _axial(layout="half"),
            "feature 0 turns with its neighbour 1, not with the one half a head away.",
        ),
        Mistake(
            "halves instead of pairs",
            _axial(layout="half of the axis"),
            "feature 0 turns with its neighbour 1, not with the one a quarter of a head away.",
        ),
    )
    return check(
        attempt,
        _axial(),
        [
            (rng.normal(size=(6, 8)), 2, 3),
            (rng.normal(size=(12, 16)), 4, 3),
            (rng.normal(size=(5, 24)), 5, 1),
        ],
        mistakes,
        praise="two clocks side by side, each with its own axis.",
        tolerance=1e-6,
    )


def _arranged(angle, layout):
    sin, cos = np.sin(angle), np.cos(angle)
    if layout in ("sin | cos", "cos | sin"):
        return np.concatenate([sin, cos] if layout == "sin | cos" else [cos, sin], axis=-1)
    pair = [sin, cos] if layout == "interleaved" else [cos, sin]
    return np.stack(pair, axis=-1).reshape(*angle.shape[:-1], -1)


def _ladder(pairs, shift, base=_B, divisor=None):
    return base ** (-np.arange(pairs) / (divisor(pairs) if divisor else max(pairs - shift, 1)))


def _timesteps(scale=1000.0, layout="cos | sin", shift=0, divisor=None):
    return lambda t, d: _arranged(
        scale * np.asarray(t, float)[:, None] * _ladder(d // 2, shift, divisor=divisor), layout
    )


def _first(table, step):
    """The axis of the first half, if the patch `step` places on stands in the same row."""
    half = table.shape[1] // 2
    return "row" if np.allclose(table[0, :half], table[step, :half], atol=1e-9) else "column"


def _grid(height, width, d, column_first, start=0, scale=1.0, layout="interleaved", shift=0):
    y, x = (
        _arranged(scale * (at[:, None] + start) * _ladder(d // 4, shift), layout)
        for at in _yx(height, width)
    )
    return np.concatenate([x, y] if column_first else [y, x], axis=1)


def _yx(height, width):
    """Row and column of each patch, row by row."""
    return divmod(np.arange(height * width), width)


def _ids(begins=lambda b: b, frame=lambda b: b, behind=max, running=False, by_columns=False):
    def ids(before, rows, columns, after):
        text = np.repeat(np.arange(before)[:, None], 3, axis=1)
        y, x = _yx(rows, columns)
        if by_columns:
            x, y = divmod(np.arange(rows * columns), rows)
        t = frame(before) + (np.arange(rows * columns) if running else 0 * y)
        image = np.stack([t, begins(before) + y, begins(before) + x], axis=1)
        rest = before + behind(rows, columns) + np.arange(after)
        return np.concatenate([text, image, np.repeat(rest[:, None], 3, axis=1)])

    return ids


def _is_text(before, rows, columns, after):
    return np.repeat([True, False, True], [before, rows * columns, after])[:, None]


def _hundred(pairs, width=None):
    """`pairs` frequencies of the ladder with base 100, of features in `width`."""
    return 100.0 ** (-2 * np.arange(pairs) / (width or 2 * pairs))


def _axial(
    at=lambda y, x: (y, x), ladder=lambda n: (_hundred(n), _hundred(n)), layout="interleaved"
):
    def rotary(x, height, width):
        angles = [
            np.outer(p, w)
            for p, w in zip(at(*_yx(height, width)), ladder(x.shape[1] // 4), strict=True)
        ]
        if layout == "half of the axis":
            halves = zip(np.split(x, 2, axis=1), angles, strict=True)
            return np.concatenate([_turned(part, a, "half") for part, a in halves], axis=1)
        return _turned(x, np.concatenate(angles, axis=1), layout)

    return rotary


def _turned(x, angle, layout="interleaved"):
    a, b = np.split(x, 2, axis=1) if layout == "half" else (x[:, 0::2], x[:, 1::2])
    turned = a * np.cos(angle) - b * np.sin(angle), a * np.sin(angle) + b * np.cos(angle)
    if layout == "half":
        return np.concatenate(turned, axis=1)
    return np.stack(turned, axis=-1).reshape(x.shape)
