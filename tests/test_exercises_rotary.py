"""The checks of chapter 10: a right answer passes, each mistake is called by its name, anything
else gets a helpful message.
"""

import numpy as np
import torch
from exercise_checks import ExerciseChecks, constant

from sinpe import Rotary, exercises

CHECKS = {
    "turns": exercises.check_full_turns,
    "rotation": exercises.check_rotation,
    "key": exercises.check_key_for,
    "rows": exercises.check_half_rows,
    "step": exercises.check_cached_step,
}


def frequencies(d, base=10_000.0):
    return base ** (-2 * np.arange(d // 2) / d)


def turn(x, position, rotary_dim, layout="interleaved", **options):
    """The package's own rotation of one vector."""
    method = Rotary(len(x), layout=layout, rotary_dim=rotary_dim, **options)
    q = torch.from_numpy(np.array(x, float))[None, None, None]
    return method.rotate(q, q, torch.tensor([position]), torch.tensor([position]))[0][
        0, 0, 0
    ].numpy()


def literal(x, position, rotary_dim):
    """The same by hand, so that fractional positions work as well."""
    out, z = np.array(x, float), x[:rotary_dim:2] + 1j * x[1:rotary_dim:2]
    z = z * np.exp(1j * position * frequencies(rotary_dim))
    out[:rotary_dim:2], out[1:rotary_dim:2] = z.real, z.imag
    return out


def by_head_dim(x, position, rotary_dim):
    out, z = np.array(x, float), x[:rotary_dim:2] + 1j * x[1:rotary_dim:2]
    z = z * np.exp(1j * position * 10_000.0 ** (-2 * np.arange(rotary_dim // 2) / len(x)))
    out[:rotary_dim:2], out[1:rotary_dim:2] = z.real, z.imag
    return out


def mirror(x, position, rotary_dim):
    angle, out = position * frequencies(rotary_dim), np.array(x, float)
    a, b = x[:rotary_dim:2], x[1:rotary_dim:2]
    out[:rotary_dim:2], out[1:rotary_dim:2] = (
        a * np.cos(angle) + b * np.sin(angle),
        a * np.sin(angle) - b * np.cos(angle),
    )
    return out


def llama_permute(w, n_heads):
    """Hugging Face's conversion of Llama weights, in other words."""
    return w.reshape(n_heads, -1, 2, w.shape[1]).swapaxes(1, 2).reshape(w.shape)


def llama_permute_square(w, n_heads, dim):
    """As it was before grouped queries: raises where rows and columns differ in number."""
    return w.reshape(n_heads, dim // n_heads // 2, 2, dim).swapaxes(1, 2).reshape(dim, dim)


def inverse_permute(w, n_heads):
    return w.reshape(n_heads, 2, -1, w.shape[1]).swapaxes(1, 2).reshape(w.shape)


def attend(q, keys, values, scale=True):
    scores = keys @ q / (np.sqrt(len(q)) if scale else 1)
    weights = np.exp(scores) / np.exp(scores).sum()
    return weights @ values


def all_turned(rows):
    return np.array([turn(row, p, len(row)) for p, row in enumerate(rows)])


def step(
    q,
    k,
    v,
    keys,
    values,
    at=0,
    again=False,
    values_too=False,
    turn_q=True,
    turn_k=True,
    sign=1,
    layout="interleaved",
    scale=True,
):
    t, d = len(keys) + at, len(q)
    keys = all_turned(keys) if again else keys
    k = turn(k, sign * t, d, layout) if turn_k else k
    q = turn(q, sign * t, d, layout) if turn_q else q
    values = np.vstack([values, v])
    return attend(q, np.vstack([keys, k]), all_turned(values) if values_too else values, scale)


RIGHT = [
    ("turns", lambda n, d, b: int((2 * np.pi / frequencies(d, b) <= n).sum())),
    ("turns", lambda n, d, b: sum(n * w >= 2 * np.pi for w in frequencies(d, b))),
    ("rotation", turn),
    ("rotation", lambda x, p, r: torch.from_numpy(literal(x, p, r))),
    ("key", lambda q, n: turn(q, n, len(q))),
    ("key", lambda q, n: 7 * turn(q, n, len(q))),
    ("key", lambda q, n: turn(q, n, len(q)).tolist()),
    # two pairs are enough
    ("key", lambda q, n: turn(np.r_[q[:4], np.zeros(len(q) - 4)], n, len(q))),
    ("rows", llama_permute),
    (
        "rows",
        lambda w, h: np.concatenate(
            [part[np.r_[0 : len(part) : 2, 1 : len(part) : 2]] for part in np.split(w, h)]
        ),
    ),
    ("step", step),
]
MISTAKES = [
    ("turns", lambda n, d, b: int((1 / frequencies(d, b) <= n).sum()), "2π forgotten"),
    (
        "turns",
        lambda n, d, b: 2 * int((2 * np.pi / frequencies(d, b) <= n).sum()),
        "columns instead of pairs",
    ),
    ("turns", lambda n, d, b: int((np.pi / frequencies(d, b) <= n).sum()), "half a turn counted"),
    (
        "turns",
        lambda n, d, b: int((2 * np.pi / frequencies(d, b) > n).sum()),
        "the other pairs counted",
    ),
    ("turns", lambda n, d, b: int((2 * np.pi / frequencies(d) <= n).sum()), "base left at 10000"),
    (
        "turns",
        lambda n, d, b: int((2 * np.pi / frequencies(d, b * b) <= n).sum()),
        "exponent doubled",
    ),
    ("rotation", lambda x, p, r: turn(x, -p, r), "wrong sign"),
    ("rotation", lambda x, p, r: turn(x, p, r, "half"), "layouts mixed"),
    ("rotation", lambda x, p, r: turn(turn(x, p, r), p, r), "rotated twice"),
    ("rotation", by_head_dim, "head_dim in the exponent"),
    ("rotation", lambda x, p, r: turn(x, p, len(x)), "all features turned"),
    ("rotation", lambda x, p, r: turn(x, p, r)[:r], "the rest dropped"),
    ("rotation", mirror, "a reflection"),
    ("rotation", lambda x, p, r: turn(x, p, r, base=1e8), "exponent doubled"),
    ("rotation", lambda x, p, r: literal(x, np.pi * p / 180, r), "degrees"),
    ("key", lambda q, n: turn(q, -n, len(q)), "wrong sign"),
    ("key", lambda q, n: q, "not turned"),
    ("key", lambda q, n: turn(q, 2 * n, len(q)), "rotated twice"),
    ("key", lambda q, n: turn(q, n, len(q), "half"), "layouts mixed"),
    ("rows", inverse_permute, "permutation inverted"),
    ("rows", lambda w, h: w[np.r_[0 : len(w) : 2, 1 : len(w) : 2]], "permuted across heads"),
    ("rows", lambda w, h: llama_permute(w.T, h).T, "columns instead of rows"),
    ("rows", lambda w, h: w, "layouts mixed"),
    ("rows", lambda w, h: llama_permute_square(w, h, len(w)), "matrix taken for square"),
    ("rows", lambda w, h: llama_permute_square(w, h, w.shape[1]), "matrix taken for square"),
    ("step", lambda *a: step(*a, again=True), "rotated twice"),
    ("step", lambda *a: step(*a, at=-len(a[3])), "position restarts"),
    ("step", lambda *a: step(*a, at=1), "position off by one"),
    ("step", lambda *a: step(*a, values_too=True), "values rotated"),
    (
        "step",
        lambda q, k, v, ks, vs: step(q, k, turn(v, len(ks), len(v)), ks, vs),
        "values rotated",
    ),
    ("step", lambda *a: step(*a, turn_q=False), "query not rotated"),
    ("step", lambda *a: step(*a, turn_k=False), "key not rotated"),
    ("step", lambda *a: step(*a, sign=-1), "wrong sign"),
    ("step", lambda *a: step(*a, layout="half"), "layouts mixed"),
    (
        "step",
        lambda q, k, v, ks, vs: attend(turn(q, len(ks), len(q)), ks, vs),
        "the new token left out",
    ),
    ("step", lambda *a: step(*a, scale=False), "√head_dim forgotten"),
]


WRONG = [
    ("turns", constant(3), "expected"),
    ("turns", constant("many"), "expected numbers"),
    ("turns", constant(float("nan")), "expected"),
    ("rotation", constant(np.zeros(3)), "shape"),
    ("rotation", constant("x"), "expected numbers"),
    ("rotation", lambda x, p, r: np.full(len(x), np.nan), "expected"),
    ("rotation", lambda x, p, r: turn(x, p + 1, r), "expected"),
    ("rotation", lambda x, p, r: turn(x, p, r, base=500.0), "expected"),
    ("key", constant("x"), "numbers"),
    ("key", constant(np.ones(3)), "shape"),
    ("key", lambda q, n: np.zeros_like(q), "zeros"),
    ("key", lambda q, n: q * np.nan, "finite"),
    ("key", lambda q, n: turn(q, n + 1, len(q)), "largest score"),
    ("key", lambda q, n: -q, "largest score"),
    ("key", lambda q, n: turn(q, 5, len(q)), "largest score"),  # right for one of the cases only
    # wrong sign in some cases only
    ("key", lambda q, n: turn(q, n if n == 5 else -n, len(q)), "largest score"),
    ("rows", constant(np.zeros((2, 2))), "shape"),
    ("rows", lambda w, h: w[::-1], "expected"),
    ("rows", lambda w, h: np.full_like(w, np.nan), "expected"),
    ("step", lambda q, k, v, ks, vs: v, "expected"),
    ("step", constant(np.zeros(2)), "shape"),
    ("step", lambda q, k, v, ks, vs: q * np.nan, "expected"),
    ("step", lambda *a: step(*a, at=2), "expected"),
]


class TestChecks(ExerciseChecks):
    CHECKS, RIGHT, MISTAKES, WRONG = CHECKS, RIGHT, MISTAKES, WRONG


def test_answers_that_work_in_place_are_judged_by_what_they_return():
    def turned(x, position, rotary_dim, sign=1):
        x[:] = turn(x, sign * position, rotary_dim)
        return x

    def reordered(w, n_heads):
        w[:] = llama_permute(w, n_heads)
        return w

    assert exercises.check_rotation(turned) and exercises.check_half_rows(reordered)
    assert exercises.check_rotation(lambda *case: turned(*case, sign=-1)).mistake == "wrong sign"
