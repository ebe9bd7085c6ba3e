"""The checks of chapter 09: a right answer passes, each mistake is called by its name, anything
else gets a helpful message.
"""

import math

import numpy as np
import torch
from exercise_checks import ExerciseChecks

from sinpe import exercises, relative_position_bucket

CHECKS = {
    "rows": exercises.check_shaw_rows,
    "shift": exercises.check_relative_shift,
    "bucket": exercises.check_bucket,
    "terms": exercises.check_four_terms,
}


def offset(n):
    return np.arange(n)[None, :] - np.arange(n)[:, None]


def gather_shift(x):
    (q, k), out = x.shape, np.full(x.shape, 7.0)  # ahead of the query anything is right
    for i in range(q):
        for j in range(i + k - q + 1):
            out[i, j] = x[i, j + q - 1 - i]
    return out


def padded_shift(x, pad="front", keep=slice(1, None)):
    q, k = x.shape
    zero = np.zeros((q, 1))
    return (
        np.hstack([zero, x] if pad == "front" else [x, zero]).reshape(k + 1, q)[keep].reshape(q, k)
    )


def roll(x, by):
    return np.stack([np.roll(row, by(i, len(x))) for i, row in enumerate(x)])


def package_bucket(r, bidirectional):
    return relative_position_bucket(torch.tensor([r]), bidirectional=bidirectional)[0]


def bucket(r, bidirectional, *, halve=True, cap=True, offset=True, whole=math.floor, exact=True):
    B = 16 if bidirectional and halve else 32
    distance = abs(r) if bidirectional else max(-r, 0)
    start = 16 if bidirectional and r > 0 and offset else 0
    if exact and distance < B // 2:
        return start + distance
    if exact:
        b = B // 2 + whole(
            math.log(distance / (B // 2)) / math.log(128 / (B // 2)) * (B // 2) + 1e-12
        )
    else:
        b = whole(math.log(max(distance, 1)) / math.log(128) * B + 1e-12)
    return start + (min(b, B - 1) if cap else b)


def terms(q, k, r, u, v, *, sign=1, content=1.0, scale=True, distance=True):
    n, h = q.shape
    out = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            wr = r[n - 1 + sign * (i - j)] if distance else r[n - 1 + j]
            out[i, j] = content * q[i] @ k[j] + q[i] @ wr + u @ k[j] + v @ wr
    return out / math.sqrt(h) if scale else out


def plain_bucket(r, bidirectional):
    """The formula as it is read, without care for rounding."""
    B = 16 if bidirectional else 32
    start, distance = (16 * (r > 0), abs(r)) if bidirectional else (0, max(-r, 0))
    e = B // 2
    if distance < e:
        return start + distance
    return start + min(B - 1, e + int(math.log(distance / e) / math.log(128 / e) * e))


def shifted_edge(bidirectional, distance, by=-1):
    """Right, but for one distance, which has the bucket of its neighbour: an edge is a token late
    (by = −1) or early (by = 1).
    """

    def shifted(r, both):
        moved = both == bidirectional and abs(r) == distance
        return bucket(r + by * np.sign(r) if moved else r, both)

    return shifted


def every_edge_shifted():
    """Right answers but for one edge, of each wide bucket in turn, a token late or early."""
    for both in (True, False):
        places = [package_bucket(-n, both) for n in range(161)]
        edges = [n for n in range(1, 161) if places[n] != places[n - 1]][7 if both else 15 :]
        for edge in edges:
            yield shifted_edge(both, edge)
            yield shifted_edge(both, edge - 1, by=1)


RIGHT = [
    ("rows", lambda n, m: np.clip(offset(n), -m, m) + m),
    ("rows", lambda n, m: torch.tensor(offset(n)).clamp(-m, m) + m),
    ("rows", lambda n, m: np.clip(offset(n) + m, 0, 2 * m).tolist()),
    ("shift", gather_shift),
    ("shift", padded_shift),
    ("shift", lambda x: roll(x, lambda i, q: i + 1 - q)),
    ("bucket", bucket),
    ("bucket", package_bucket),
    ("bucket", plain_bucket),
    ("terms", terms),
]
MISTAKES = [
    ("rows", lambda n, m: np.clip(-offset(n), -m, m) + m, "sign of the relative position reversed"),
    ("rows", lambda n, m: offset(n) + m, "distances not clipped"),
    ("rows", lambda n, m: np.minimum(offset(n), m) + m, "clipped at one end only"),
    ("rows", lambda n, m: np.maximum(offset(n), -m) + m, "clipped at one end only"),
    ("rows", lambda n, m: np.clip(offset(n), -m, m - 1) + m, "clipped at the wrong end"),
    ("rows", lambda n, m: np.clip(offset(n), 1 - m, m) + m, "clipped at the wrong end"),
    ("rows", lambda n, m: np.clip(offset(n) + m, -m, m), "clipped after the shift"),
    ("rows", lambda n, m: np.clip(offset(n), -m, m), "shift left out"),
    ("rows", lambda n, m: np.minimum(abs(offset(n)), m) + m, "direction lost"),
    ("rows", lambda n, m: np.minimum(abs(offset(n)), m), "direction lost"),
    ("shift", lambda x: padded_shift(x, keep=slice(-1)), "sliced at the wrong end"),
    ("shift", lambda x: padded_shift(x, pad="back"), "padded on the right"),
    ("shift", lambda x: padded_shift(x, pad="back", keep=slice(-1)), "padded on the right"),
    ("shift", lambda x: x, "nothing shifted"),
    ("shift", lambda x: roll(x, lambda i, q: -i), "shifted by i instead of q − 1 − i"),
    ("shift", lambda x: roll(x, lambda i, q: q - 1 - i), "shifted the wrong way"),
    ("shift", lambda x: padded_shift(np.fliplr(x)), "columns read in the wrong order"),
    ("bucket", lambda r, b: bucket(-r, b), "sign of the relative position reversed"),
    ("bucket", lambda r, b: bucket(r, b, offset=False), "offset of the other direction missing"),
    ("bucket", lambda r, b: bucket(r, b, cap=False), "last bucket not capped"),
    ("bucket", lambda r, b: bucket(r, b, halve=False), "buckets not halved"),
    ("bucket", lambda r, b: bucket(r, b, whole=round), "rounded instead of floored"),
    ("bucket", lambda r, b: bucket(r if b else -abs(r), b), "keys ahead not collected in bucket 0"),
    ("bucket", lambda r, b: bucket(r, b, exact=False), "no exact buckets"),
    ("bucket", lambda r, b: bucket(-abs(r), b), "direction lost"),
    ("terms", lambda *a: terms(*a, sign=-1), "sign of the distance reversed"),
    ("terms", lambda q, k, r, u, v: terms(q, k, r, v, u), "u and v swapped"),
    ("terms", lambda *a: terms(*a, scale=False), "1/√head_dim forgotten"),
    (
        "terms",
        lambda q, k, r, u, v: (
            terms(q, k, r, u, v, content=0.0, scale=False) + q @ k.T / math.sqrt(len(u))
        ),
        "only the content term scaled",
    ),
    ("terms", lambda q, k, r, u, v: terms(q, k, r, np.zeros_like(u), v), "u left out"),
    ("terms", lambda q, k, r, u, v: terms(q, k, r, u, np.zeros_like(v)), "v left out"),
    ("terms", lambda *a: terms(*a, content=0.0), "content term left out"),
    ("terms", lambda *a: terms(*a, distance=False), "position of the key instead of the distance"),
]
WRONG = [
    (
        "bucket",
        lambda r, b: bucket(r, b) if abs(r) < (8 if b else 16) else bucket(r + 0.3 * np.sign(r), b),
        "expected",
    ),
    *(("bucket", shift, "expected") for shift in every_edge_shifted()),
    ("shift", lambda x: "x", "numbers"),
    ("rows", lambda n, m: np.zeros((n, n)), "expected"),
    ("rows", lambda n, m: np.zeros(n), "shape"),
    ("rows", lambda n, m: np.full((n, n), np.nan), "expected"),
    ("rows", lambda n, m: np.clip(offset(n), -m, m) + m + 1, "expected"),
    ("rows", lambda n, m: "rows", "expected numbers"),
    ("shift", lambda x: x.T, "shape"),
    ("shift", lambda x: np.zeros_like(x), "expected"),
    ("shift", lambda x: np.full(x.shape, np.nan), "expected"),
    ("shift", lambda x: 2 * gather_shift(x), "expected"),
    ("bucket", lambda r, b: 3, "expected"),
    ("bucket", lambda r, b: bucket(r, b) + 1, "expected"),
    ("bucket", lambda r, b: float("nan"), "expected"),
    ("bucket", lambda r, b: [1, 2], "shape"),
    ("terms", lambda q, *_: np.zeros((len(q), len(q))), "expected"),
    ("terms", lambda q, *_: q, "shape"),
    ("terms", lambda *a: terms(*a) * 1.01, "expected"),
]


class TestChecks(ExerciseChecks):
    CHECKS, RIGHT, MISTAKES, WRONG = CHECKS, RIGHT, MISTAKES, WRONG


def test_what_stands_ahead_of_the_query_is_not_judged():
    assert exercises.check_relative_shift(
        lambda x: np.where(np.tri(*x.shape, x.shape[1] - x.shape[0]), gather_shift(x), np.nan)
    )
