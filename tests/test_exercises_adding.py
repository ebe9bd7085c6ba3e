"""The checks of chapter 05: a right answer passes, each mistake is called by its name, anything
else gets a helpful message.
"""

import numpy as np
import torch
from exercise_checks import ExerciseChecks, constant

from sinpe import SinusoidalEncoding, exercises, sinusoidal_encoding

CHECKS = {
    "count": exercises.check_concatenation_parameters,
    "ratio": exercises.check_ratio,
    "part": exercises.check_position_part,
    "added": exercises.check_added_positions,
}


def by_layers(vocab_size, d_model, d_pos):
    """Counted on real modules."""
    modules = torch.nn.ModuleList(
        [
            torch.nn.Embedding(vocab_size, d_model),
            torch.nn.Linear(d_model + d_pos, d_model, bias=False),
        ]
    )
    return sum(weight.numel() for weight in modules.parameters())


def rms(values):
    return np.linalg.norm(values) / np.sqrt(values.size)


def scaled(words, codes, ratio):
    return words / rms(words) * rms(codes) * ratio


def score(a, b, w_q, w_k):
    """One entry at a time."""
    out = np.empty((len(a), len(b)))
    for i in range(len(a)):
        for j in range(len(b)):
            out[i, j] = (w_q @ a[i]) @ (w_k @ b[j]) / len(w_q) ** 0.5
    return out


def part(x, p, w_q, w_k):
    return score(x + p, x + p, w_q, w_k) - score(x, x, w_q, w_k)


def added(x, positions):
    """One token at a time."""
    out = x.copy()
    for b in range(x.shape[0]):
        for t in range(x.shape[1]):
            at = positions[t] if positions.ndim == 1 else positions[b, t]
            out[b, t] += sinusoidal_encoding(float(at), x.shape[2])
    return out


def by_module(x, positions):
    return SinusoidalEncoding(x.shape[2]).embed(torch.from_numpy(x), torch.from_numpy(positions))


def along_batch(x, positions):
    codes = sinusoidal_encoding(positions.astype(float), x.shape[2])
    return x + (codes[:, None] if positions.ndim == 1 else codes.transpose(1, 0, 2))


def by_first_column(x, positions):
    at = positions if positions.ndim == 1 else positions[:, 0]
    return x + sinusoidal_encoding(at.astype(float), x.shape[2])[:, None]


def in_halves(x, positions):
    codes = added(0 * x, positions)
    return x + np.concatenate([codes[..., 0::2], codes[..., 1::2]], axis=-1)


RIGHT = [
    ("count", by_layers),
    ("count", lambda v, d, p: d * (v + d + p)),
    ("ratio", scaled),
    ("ratio", lambda w, c, r: torch.from_numpy(scaled(w, c, r))),
    ("ratio", lambda w, c, r: scaled(w, c, r).tolist()),
    ("part", part),
    ("part", lambda x, p, q, k: torch.from_numpy(part(x, p, q, k))),
    ("part", lambda x, p, q, k: score(x, p, q, k) + score(p, x + p, q, k)),
    ("added", added),
    ("added", by_module),
    ("added", lambda x, at: x + sinusoidal_encoding(100, x.shape[2])[at]),
]
MISTAKES = [
    ("count", lambda v, d, p: v * d, "projection forgotten"),
    ("count", lambda v, d, p: d * (d + p), "table forgotten"),
    ("count", lambda v, d, p: v * d + p * d, "codes' columns only"),
    ("count", lambda v, d, p: v * d + d**2, "words' columns only"),
    ("count", lambda v, d, p: v * d + (d + p) ** 2, "square of the full width"),
    ("count", lambda v, d, p: (v + d) * (d + p), "code stored with every word"),
    ("count", lambda v, d, p: v * (d + p), "no projection, wider table"),
    ("count", lambda v, d, p: by_layers(v, d, p) + d, "bias counted"),
    ("count", lambda v, d, p: v * d + 3 * d * (d + p), "one matrix each for query, key and value"),
    ("ratio", lambda w, c, r: scaled(w, c, 1 / r), "ratio upside down"),
    ("ratio", lambda w, c, r: r * w, "present size of the words ignored"),
    ("ratio", lambda w, c, r: r * rms(c) * w, "present size of the words ignored"),
    ("ratio", lambda w, c, r: w / rms(w) * r, "size of the codes ignored"),
    ("ratio", lambda w, c, r: w / np.linalg.norm(w) * np.linalg.norm(c) * r, "norm instead of RMS"),
    ("ratio", lambda w, c, r: w * r * (c**2).mean() / (w**2).mean(), "squares instead of roots"),
    ("ratio", lambda w, c, r: w / np.std(w) * np.std(c) * r, "standard deviation instead of RMS"),
    ("ratio", lambda w, c, r: scaled(w, c, r**0.5), "ratio of powers"),
    (
        "ratio",
        lambda w, c, r: np.array([scaled(row, c, r) for row in w]),
        "each row scaled by itself",
    ),
    ("ratio", lambda w, c, r: c * rms(w) / rms(c) / r, "codes scaled instead"),
    ("ratio", lambda w, c, r: r * rms(c) / rms(w), "the factor alone"),
    ("ratio", lambda w, c, r: w[: len(c)] + c[: len(w)], "the sum instead of the words"),
    ("part", lambda x, p, q, k: score(p, p, q, k), "mixed terms forgotten"),
    (
        "part",
        lambda x, p, q, k: score(x, p, q, k) + score(p, x, q, k),
        "position–position forgotten",
    ),
    ("part", lambda x, p, q, k: score(x + p, p, q, k), "position–content forgotten"),
    ("part", lambda x, p, q, k: score(p, x + p, q, k), "content–position forgotten"),
    (
        "part",
        lambda x, p, q, k: 2 * score(x, p, q, k) + score(p, p, q, k),
        "mixed terms taken for equal",
    ),
    (
        "part",
        lambda x, p, q, k: 2 * score(p, x, q, k) + score(p, p, q, k),
        "mixed terms taken for equal",
    ),
    ("part", lambda x, p, q, k: score(x + p, x + p, q, k), "the whole score"),
    ("part", lambda x, p, q, k: score(x, x, q, k), "content–content only"),
    ("part", lambda x, p, q, k: -part(x, p, q, k), "wrong sign"),
    ("part", lambda x, p, q, k: part(x, p, q, k) * np.sqrt(len(q)), "√head_dim forgotten"),
    (
        "part",
        lambda x, p, q, k: part(x, p, q, k) * np.sqrt(len(q)) / np.sqrt(x.shape[1]),
        "divided by √d_model",
    ),
    ("part", lambda x, p, q, k: part(x, p, q, k) / np.sqrt(len(q)), "divided by head_dim"),
    ("part", lambda x, p, q, k: part(x, p, q, k).T, "queries and keys swapped"),
    ("part", lambda x, p, q, k: part(x, p, k, q), "queries and keys swapped"),
    ("added", along_batch, "broadcast over the wrong axis"),
    ("added", by_first_column, "broadcast over the wrong axis"),
    ("added", lambda x, at: x + sinusoidal_encoding(x.shape[1], x.shape[2]), "positions ignored"),
    (
        "added",
        lambda x, at: added(x, at if at.ndim == 1 else at[0]),
        "the first row's positions for all",
    ),
    ("added", lambda x, at: added(x, at + 1), "positions start at 1"),
    (
        "added",
        lambda x, at: added(x, np.add.outer(at[..., 0], np.arange(x.shape[1]))),
        "counted on from the first position",
    ),
    ("added", in_halves, "halves"),
    ("added", lambda x, at: added(added(x, at), at), "added twice"),
    ("added", lambda x, at: added(0 * x, at), "x is lost"),
    ("added", lambda x, at: added(x * np.sqrt(x.shape[2]), at), "scaled"),
    ("added", lambda x, at: x * added(0 * x, at), "multiplied"),
]


WRONG = [
    ("count", constant(17), "expected"),
    ("count", constant("many"), "expected numbers"),
    ("count", constant(float("nan")), "expected"),
    ("ratio", constant(np.zeros((2, 2))), "shape"),
    ("ratio", lambda w, c, r: w * np.nan, "expected"),
    ("ratio", lambda w, c, r: scaled(w, c, 2 * r), "expected"),
    # right for one of the cases only
    ("ratio", lambda w, c, r: scaled(w, c, r) if r > 1 else scaled(w, c, 1 / r), "expected"),
    ("part", constant("x"), "expected numbers"),
    ("part", constant(np.zeros(3)), "shape"),
    ("part", lambda x, p, q, k: part(x, 2 * p, q, k), "expected"),
    ("part", lambda x, p, q, k: part(x, p, q, k) * np.nan, "expected"),
    ("added", constant(np.zeros(3)), "shape"),
    ("added", lambda x, at: x, "expected"),
    ("added", lambda x, at: added(x, at + 2), "expected"),
    ("added", lambda x, at: added(x, at) * np.nan, "expected"),
]


class TestChecks(ExerciseChecks):
    CHECKS, RIGHT, MISTAKES, WRONG = CHECKS, RIGHT, MISTAKES, WRONG


def test_answers_that_work_in_place_are_judged_by_what_they_return():
    def summed(x, positions):
        x += sinusoidal_encoding(positions.astype(float), x.shape[2])
        return x

    def louder(words, codes, ratio):
        words *= ratio * rms(codes) / rms(words)
        return words

    assert exercises.check_added_positions(summed) and exercises.check_ratio(louder)
