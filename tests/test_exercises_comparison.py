"""The checks of chapter 14: a right answer passes, each mistake is called by its name, anything
else gets a helpful message.
"""

import numpy as np
from exercise_checks import ExerciseChecks

from sinpe import LearnedEncoding, ShawRelative, T5Bias, TransformerXLRelative, exercises

CHECKS = {
    "judged": exercises.check_judged,
    "added": exercises.check_added_parameters,
    "block": exercises.check_block_loss,
}


def judged(total, length):
    out = [(0, 0, length - 1)]
    while out[-1][0] + length // 2 + length <= total:
        start = out[-1][0] + length // 2
        out.append((start, out[-1][2] + 1, start + length - 1))
    return out


def added(method, n_heads, head_dim, length, max_distance, n_buckets):
    makers = {
        "learned": lambda: LearnedEncoding(n_heads * head_dim, length),
        "shaw": lambda: ShawRelative(n_heads, head_dim, max_distance),
        "transformer-xl": lambda: TransformerXLRelative(n_heads, head_dim),
        "t5": lambda: T5Bias(n_heads, n_buckets=n_buckets, max_distance=4 * n_buckets),
    }
    return sum(p.numel() for p in makers[method]().parameters()) if method in makers else 0


def block(places):
    return np.average([x for _, _, x in places], weights=[b - a + 1 for a, b, _ in places])


def but(method, value):
    """Right, except for one method."""
    return lambda m, h, w, n, k, b: value(h, w, n, k, b) if m == method else added(m, h, w, n, k, b)


RIGHT = [
    ("judged", judged),
    ("judged", lambda n, w: np.array(judged(n, w))),
    ("added", added),
    ("block", block),
]
MISTAKES = [
    (
        "judged",
        lambda n, w: [(s, s, s + w - 1) for s in range(0, n - w + 1, w)],
        "blocks side by side",
    ),
    ("judged", lambda n, w: [(s, s, e) for s, _, e in judged(n, w)], "judged twice"),
    (
        "judged",
        lambda n, w: [(s, s + w // 2, e) for s, _, e in judged(n, w)],
        "first window halved",
    ),
    (
        "judged",
        lambda n, w: [(s, s, e if s == 0 else s + w // 2 - 1) for s, _, e in judged(n, w)],
        "the wrong half",
    ),
    (
        "judged",
        lambda n, w: [(s, a - s, e - s) for s, a, e in judged(n, w)],
        "places within the window",
    ),
    ("judged", lambda n, w: [(s, a, e + 1) for s, a, e in judged(n, w)], "end not included"),
    ("judged", lambda n, w: judged(n, w)[:-1], "one window too few"),
    (
        "judged",
        lambda n, w: [(s, s + (w // 2 if s else 0), s + w - 1) for s in range(0, n - w, w // 2)],
        "no window at the end",
    ),
    (
        "judged",
        lambda n, w: judged(n + w // 2, w)[: len(judged(n, w)) + 1],
        "a window beyond the end",
    ),
    ("added", but("shaw", lambda h, w, n, k, b: h * w * (k + 1)), "one side only"),
    ("added", but("shaw", lambda h, w, n, k, b: h * w * 2 * k), "zero forgotten"),
    ("added", but("shaw", lambda h, w, n, k, b: 2 * h * w * (2 * k + 1)), "values counted too"),
    (
        "added",
        but("shaw", lambda h, w, n, k, b: w * (2 * k + 1)),
        "one set of vectors for all heads",
    ),
    ("added", but("t5", lambda h, w, n, k, b: b), "one set of buckets for all heads"),
    (
        "added",
        lambda m, h, w, n, k, b: (
            added(m, 1, w, n, k, b) if m in ("shaw", "t5") else added(m, h, w, n, k, b)
        ),
        "heads forgotten",
    ),
    ("added", but("t5", lambda h, w, n, k, b: h * (2 * n - 1)), "a number for each distance"),
    ("added", but("learned", lambda h, w, n, k, b: n), "a number for each position"),
    ("added", but("transformer-xl", lambda h, w, n, k, b: 2 * h * w), "only the biases"),
    ("added", but("transformer-xl", lambda h, w, n, k, b: (h * w) ** 2), "only the matrix"),
    ("added", but("sinusoidal", lambda h, w, n, k, b: n * h * w), "the sinusoidal table counted"),
    ("added", but("alibi", lambda h, w, n, k, b: h), "slopes counted"),
    ("block", lambda p: np.mean([x for _, _, x in p]), "not weighted"),
    (
        "block",
        lambda p: np.average([x for _, _, x in p], weights=[b - a for a, b, _ in p]),
        "weights one too small",
    ),
    ("block", lambda p: sum((b - a + 1) * x for a, b, x in p), "sum instead of mean"),
    ("block", lambda p: sum((b - a + 1) * x for a, b, x in p) / p[-1][1], "last place as length"),
    ("block", lambda p: p[-1][2], "the last range alone"),
]
WRONG = [
    ("judged", lambda n, w: [], "shape"),
    ("judged", lambda n, w: [(s, a + 1, e) for s, a, e in judged(n, w)], "expected"),
    ("judged", lambda n, w: "all of them", "expected numbers"),
    ("added", lambda m, h, w, n, k, b: 0, "expected"),
    ("added", lambda m, h, w, n, k, b: "none", "expected numbers"),
    ("block", lambda p: 0.0, "expected"),
    ("block", lambda p: [x for _, _, x in p], "shape"),
]


class TestChecks(ExerciseChecks):
    CHECKS, RIGHT, MISTAKES, WRONG = CHECKS, RIGHT, MISTAKES, WRONG
