"""The checks of chapter 12: a right answer passes, each mistake is called by its name, anything
else gets a helpful message.
"""

import math

import numpy as np
import torch
from exercise_checks import ExerciseChecks, constant

from sinpe import exercises, similarity, sinusoidal_encoding, sinusoidal_encoding_2d

CHECKS = {
    "whisper": exercises.check_whisper_table,
    "detr": exercises.check_detr_grid,
    "kernel": exercises.check_grid_similarity,
    "time": exercises.check_timesteps,
    "nerf": exercises.check_nerf_features,
}


def published_whisper(length, channels, dtype=torch.float64):
    """The released function in other words."""
    step = math.log(10_000) / (channels // 2 - 1)
    w = torch.exp(-step * torch.arange(channels // 2, dtype=dtype))
    angle = torch.arange(length, dtype=dtype)[:, None] * w[None]
    return torch.cat([angle.sin(), angle.cos()], dim=1)


def published_detr(
    height, width, d_model, scale=2 * math.pi, eps=1e-6, divide=True, first="y", dtype=torch.float32
):
    """The released module in other words, for one image without padding."""
    valid, features = torch.ones(height, width, dtype=torch.bool), d_model // 2
    y, x = valid.cumsum(0, dtype=dtype), valid.cumsum(1, dtype=dtype)
    if divide:
        y, x = y / (y[-1:] + eps), x / (x[:, -1:] + eps)
    divisor = 10_000 ** (2 * (torch.arange(features, dtype=dtype) // 2) / features)
    halves = []
    for p in (y, x) if first == "y" else (x, y):
        angle = scale * p[..., None] / divisor
        halves.append(
            torch.stack([angle[..., 0::2].sin(), angle[..., 1::2].cos()], dim=-1).flatten(-2)
        )
    return torch.cat(halves, dim=-1)


def grid(rows, columns, d_model, **options):
    y, x = (
        sinusoidal_encoding(np.asarray(at, float), d_model // 2, **options)
        for at in (rows, columns)
    )
    shape = (len(rows), len(columns), d_model // 2)
    return np.concatenate([np.broadcast_to(y[:, None], shape), np.broadcast_to(x, shape)], axis=-1)


def circle(n, start=1, scale=2 * np.pi):
    return scale * np.arange(start, n + start) / (n + 1e-6)


def diffusers(t, d, flip=True, shift=0, scale=1000):
    exponent = -math.log(10_000) * torch.arange(d // 2, dtype=torch.float64) / (d // 2 - shift)
    angle = scale * torch.as_tensor(t)[:, None] * exponent.exp()
    return torch.cat([angle.cos(), angle.sin()] if flip else [angle.sin(), angle.cos()], dim=-1)


def from_code(*positions):
    def kernel(dy, dx, d_model):
        codes = sinusoidal_encoding_2d(20, 20, d_model)
        return codes[8, 8] @ codes[8 + dy, 8 + dx] / (d_model / 2)

    return kernel


def nerf(points, L, scale=np.pi, powers=None):
    rows = []
    for point in points:
        rows.append(
            [
                f(2.0**k * scale * p)
                for p in point
                for k in (range(L) if powers is None else powers(L))
                for f in (np.sin, np.cos)
            ]
        )
    return np.array(rows)


def nerf_released(points, L, keep=True, scale=1.0):
    columns = [points] * keep
    for k in range(L):
        columns += [np.sin(scale * 2.0**k * points), np.cos(scale * 2.0**k * points)]
    return np.concatenate(columns, axis=1)


def kappa(x, d):
    return similarity(float(x), d)


RIGHT = [
    ("whisper", published_whisper),
    ("whisper", lambda n, d: published_whisper(n, d, torch.float32)),
    (
        "whisper",
        lambda n, d: sinusoidal_encoding(
            n, d, layout="concatenated", spacing="tensor2tensor"
        ).tolist(),
    ),
    ("detr", published_detr),
    ("detr", lambda h, w, d: grid(circle(h), circle(w), d)),
    ("kernel", lambda y, x, d: (kappa(y, d // 2) + kappa(x, d // 2)) / 2),
    ("kernel", from_code()),
    ("time", diffusers),
    (
        "time",
        lambda t, d: np.roll(
            sinusoidal_encoding(1000 * t, d, layout="concatenated"), d // 2, axis=1
        ),
    ),
    ("nerf", nerf),
    ("nerf", lambda p, L: sinusoidal_encoding(np.pi * p, 2 * L, base=2.0**-L).reshape(len(p), -1)),
]
MISTAKES = [
    (
        "whisper",
        lambda n, d: sinusoidal_encoding(n, d, layout="concatenated"),
        "the paper's spacing",
    ),
    ("whisper", lambda n, d: sinusoidal_encoding(n, d, spacing="tensor2tensor"), "interleaved"),
    ("whisper", lambda n, d: np.roll(published_whisper(n, d), d // 2, axis=1), "cosines first"),
    ("whisper", lambda n, d: published_whisper(n + 1, d)[1:], "positions start at 1"),
    ("whisper", lambda n, d: sinusoidal_encoding(n, d), "interleaved, with the paper's spacing"),
    (
        "whisper",
        lambda n, d: sinusoidal_encoding(n, d, 10_000 ** (d / 2 / (d - 1)), layout="concatenated"),
        "divided by the width",
    ),
    (
        "whisper",
        lambda n, d: sinusoidal_encoding(
            n, d, math.e, layout="concatenated", spacing="tensor2tensor"
        ),
        "base left out of the logarithm",
    ),
    (
        "whisper",
        lambda n, d: sinusoidal_encoding(
            0.02 * np.arange(n), d, layout="concatenated", spacing="tensor2tensor"
        ),
        "in seconds",
    ),
    ("whisper", lambda n, d: published_whisper(n, d).T, "axes swapped"),
    ("detr", lambda h, w, d: published_detr(h, w, d, first="x"), "column first"),
    # the same table, made otherwise
    ("detr", lambda h, w, d: published_detr(w, h, d).swapaxes(0, 1), "column first"),
    ("detr", lambda h, w, d: grid(circle(h, 0), circle(w, 0), d), "positions start at 0"),
    ("detr", lambda h, w, d: published_detr(h, w, d, scale=1.0), "2π forgotten"),
    ("detr", lambda h, w, d: published_detr(h, w, d, scale=math.pi), "π instead of 2π"),
    ("detr", lambda h, w, d: published_detr(h, w, d, scale=1.0, divide=False), "not normalised"),
    (
        "detr",
        lambda h, w, d: published_detr(h, w, d, divide=False),
        "not divided by the last count",
    ),
    (
        "detr",
        lambda h, w, d: grid(np.linspace(0, 2 * np.pi, h), np.linspace(0, 2 * np.pi, w), d),
        "divided by one less",
    ),
    (
        "detr",
        lambda h, w, d: grid(circle(h), 2 * np.pi * np.arange(1, w + 1) / h, d),
        "one size for both axes",
    ),
    (
        "detr",
        lambda h, w, d: grid(2 * np.pi * np.arange(1, h + 1) / w, circle(w), d),
        "one size for both axes",
    ),
    (
        "detr",
        lambda h, w, d: grid(circle(h), circle(w), d, layout="concatenated"),
        "halves instead of pairs",
    ),
    (
        "detr",
        lambda h, w, d: grid(circle(h), circle(w), d)[..., np.arange(d) ^ 1],
        "cosine before sine",
    ),
    (
        "detr",
        lambda h, w, d: grid(circle(h), circle(w), d, spacing="tensor2tensor"),
        "tensor2tensor's spacing",
    ),
    # √base does the same
    (
        "detr",
        lambda h, w, d: grid(circle(h), circle(w), d, base=100.0),
        "full width in the exponent",
    ),
    ("detr", lambda h, w, d: published_detr(h, w, d).permute(2, 0, 1), "channels first"),
    ("kernel", lambda y, x, d: kappa(y, d // 2) * kappa(x, d // 2), "product instead of mean"),
    ("kernel", lambda y, x, d: kappa(y, d // 2) + kappa(x, d // 2), "sum instead of mean"),
    ("kernel", lambda y, x, d: (kappa(y, d) + kappa(x, d)) / 2, "full width"),
    ("kernel", lambda y, x, d: kappa(math.hypot(y, x), d // 2), "one kernel of the distance"),
    ("kernel", lambda y, x, d: kappa(x + y, d // 2), "one kernel of the sum"),
    ("kernel", lambda y, x, d: kappa(y, d // 2), "row only"),
    ("kernel", lambda y, x, d: kappa(x, d // 2), "column only"),
    ("kernel", lambda y, x, d: from_code()(y, x, d) * d / 2, "not normalised"),
    ("kernel", lambda y, x, d: from_code()(y, x, d) / 2, "divided by d_model"),
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
    ("nerf", lambda p, L: nerf(p, L, scale=1.0), "π forgotten"),
    ("nerf", lambda p, L: nerf(p, L, scale=2 * np.pi), "one octave too high"),
    # the same numbers
    ("nerf", lambda p, L: nerf(p, L, powers=lambda L: range(1, L + 1)), "one octave too high"),
    ("nerf", lambda p, L: nerf(p, L, powers=lambda L: range(0, -L, -1)), "frequencies fall"),
    (
        "nerf",
        lambda p, L: nerf(p, L, powers=lambda L: reversed(range(L))),
        "fastest frequency first",
    ),
    (
        "nerf",
        lambda p, L: nerf(p, L, powers=lambda L: np.log2(np.arange(1, L + 1))),
        "multiples instead of powers",
    ),
    (
        "nerf",
        lambda p, L: sinusoidal_encoding(
            np.pi * p, 2 * L, base=2.0**-L, layout="concatenated"
        ).reshape(len(p), -1),
        "halves",
    ),
    ("nerf", lambda p, L: nerf(p, L)[:, np.arange(6 * L) ^ 1], "cosine before sine"),
    ("nerf", lambda p, L: nerf_released(p, L, keep=False, scale=np.pi), "ordered by frequency"),
    ("nerf", lambda p, L: nerf_released(p, L, keep=False), "the released code"),
    ("nerf", nerf_released, "the released code"),
    ("nerf", lambda p, L: np.column_stack([p, nerf(p, L)]), "coordinates kept beside the code"),
]


WRONG = [
    ("whisper", constant(np.zeros(3)), "shape"),
    ("whisper", constant("x"), "expected numbers"),
    ("whisper", lambda n, d: np.full((n, d), np.nan), "expected"),
    (
        "whisper",
        lambda n, d: sinusoidal_encoding(
            n, d, 500.0, layout="concatenated", spacing="tensor2tensor"
        ),
        "expected",
    ),
    ("detr", constant(np.zeros((2, 2))), "shape"),
    ("detr", lambda h, w, d: published_detr(h, w, d) * 0, "expected"),
    # DINO's temperature
    ("detr", lambda h, w, d: grid(circle(h), circle(w), d, base=20.0), "expected"),
    ("detr", lambda h, w, d: grid(circle(h, 2), circle(w, 2), d), "expected"),
    ("kernel", constant(1.0), "expected"),
    ("kernel", constant([1.0, 2.0]), "shape"),
    ("kernel", lambda y, x, d: from_code()(y, x, d) + 0.01, "expected"),
    ("time", constant("x"), "expected numbers"),
    ("time", lambda t, d: diffusers(t, d, scale=100), "expected"),
    ("time", lambda t, d: diffusers(1 - t, d), "expected"),
    ("nerf", constant(np.zeros((1, 1))), "shape"),
    ("nerf", lambda p, L: nerf(p + 0.1, L), "expected"),
    ("nerf", lambda p, L: np.full((len(p), 6 * L), np.nan), "expected"),
]


class TestChecks(ExerciseChecks):
    CHECKS, RIGHT, MISTAKES, WRONG = CHECKS, RIGHT, MISTAKES, WRONG


def test_answers_that_work_in_place_are_judged_by_what_they_return():
    def scaled(t, d):
        t *= 1000
        return diffusers(t, d, scale=1)

    assert exercises.check_timesteps(scaled)
