"""The checks of chapter 13: a right answer passes, each mistake is called by its name, anything
else gets a helpful message.
"""

import math

import numpy as np
import torch
from exercise_checks import ExerciseChecks, constant

from sinpe import (
    DynamicNTK,
    Extension,
    Llama3,
    NTKAware,
    Rotary,
    YaRN,
    exercises,
    inverse_frequencies,
)

CHECKS = {
    "sharper": exercises.check_sharpening,
    "base": exercises.check_base_for_pair,
    "parts": exercises.check_by_parts,
    "step": exercises.check_dynamic_step,
}


def sharper(s):
    """The package's own: the score of a vector with itself at distance 0, over the plain one."""
    q, here = torch.ones(1, 1, 1, 8, dtype=torch.float64), torch.tensor([0])
    a, b = Rotary(8, extension=YaRN(float(s), 64)).rotate(q, q, here, here)
    return ((a * b).sum() / (q * q).sum()).item()


def base_by_search(base, s, pair, d):
    """Bisection on the logarithm of the base."""
    low, high = math.log(base), math.log(base) + 100
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (
            (middle, high)
            if math.exp(-2 * pair / d * middle) > base ** (-2 * pair / d) / s
            else (low, middle)
        )
    return math.exp(low)


def parts_loop(inv_freq, s, length, least, most):
    out = []
    for w in inv_freq:
        turns = length / (2 * math.pi / w)
        kept = 0.0 if turns < least else 1.0 if turns > most else (turns - least) / (most - least)
        out.append(kept * w + (1 - kept) * w / s)
    return out


def kept(w, length, least, most):
    return np.clip((length * w / 2 / np.pi - least) / (most - least), 0, 1)


def attend(q, keys, values, scale=True):
    scores = keys @ q / (np.sqrt(len(q)) if scale else 1)
    weights = np.exp(scores) / np.exp(scores).sum()
    return weights @ values


def rotate(rows, positions, extension, length):
    """The package's rotation with the frequencies of that length, row by row."""
    frequencies = Rotary(rows.shape[-1], extension=extension).inverse_frequencies(length)
    z = (rows[:, 0::2] + 1j * rows[:, 1::2]) * np.exp(1j * np.outer(positions, frequencies))
    return np.stack([z.real, z.imag], -1).reshape(rows.shape)


def whole(q, k, v, keys, values, trained):
    """One pass of the package's module over all positions."""
    n, d = len(keys) + 1, len(q)
    rope, at = Rotary(d, extension=DynamicNTK(1.0, trained)), torch.arange(n)
    both = torch.from_numpy(np.vstack([keys, k]))[None, None]
    queries = torch.from_numpy(np.vstack([np.zeros((n - 1, d)), q]))[None, None]
    queries, both = rope.rotate(queries, both, at, at)
    return attend(queries[0, 0, -1].numpy(), both[0, 0].numpy(), np.vstack([values, v]))


def step(
    q,
    k,
    v,
    keys,
    values,
    trained,
    extension=None,
    at=None,
    length=None,
    own=True,
    scale=True,
    turned=None,
    values_too=False,
):
    t = len(keys)
    extension, length, at = (
        extension or DynamicNTK(1.0, trained),
        length or t + 1,
        t if at is None else at,
    )
    keys = rotate(keys, np.arange(t), extension, length) if turned is None else turned
    new_q, new_k = (rotate(x[None], [at], extension, length)[0] for x in (q, k))
    if own:
        keys, values = np.vstack([keys, new_k]), np.vstack([values, v])
    return attend(
        new_q,
        keys,
        rotate(values, np.arange(len(values)), extension, length) if values_too else values,
        scale,
    )


def own_times(q, k, v, keys, values, trained):
    stored = [
        rotate(keys[p : p + 1], [p], DynamicNTK(1.0, trained), p + 1)[0] for p in range(len(keys))
    ]
    return step(q, k, v, keys, values, trained, turned=np.array(stored))


class Scaled(Extension):
    """Any change of frequencies as an extension, for one row at a time."""

    length_dependent = True

    def __init__(self, change):
        self.change = change

    def __call__(self, inv_freq, base, seq_len):
        length = 1 if seq_len is None else int(seq_len.max())
        return torch.as_tensor(self.change(inv_freq.numpy(), length)), 1.0


def ratio(n, trained):
    return max(1, n / trained)


RIGHT = [
    ("sharper", sharper),
    ("sharper", lambda s: (1 + math.log(s) / 10) ** 2),
    ("sharper", lambda s: torch.tensor((0.1 * math.log(s) + 1) ** 2, dtype=torch.float64)),
    ("base", base_by_search),
    ("base", lambda b, s, i, d: (b ** (2 * i / d) * s) ** (d / (2 * i))),
    ("parts", parts_loop),
    ("parts", lambda w, s, n, a, b: torch.from_numpy(w / s + kept(w, n, a, b) * (w - w / s))),
    ("parts", lambda w, s, n, a, b: Llama3(s, a, b, n)(w, None, None)[0]),
    ("step", whole),
    ("step", step),
]
MISTAKES = [
    ("sharper", lambda s: math.sqrt(0.1 * math.log(s) + 1), "square root"),
    ("sharper", lambda s: 1 / (1 + math.log(s) / 10), "inverted and not squared"),
    (
        "parts",
        lambda w, s, n, a, b: (
            w / s + (w - w / s) * np.maximum((n * w / 2 / np.pi - a) / (b - a), 0)
        ),
        "not clipped above",
    ),
    (
        "parts",
        lambda w, s, n, a, b: (
            w / s + (w - w / s) * np.minimum((n * w / 2 / np.pi - a) / (b - a), 1)
        ),
        "not clipped below",
    ),
    ("step", lambda *case: step(*case, at=len(case[3]) + 1), "position counted from 1"),
    ("sharper", lambda s: 0.1 * math.log(s) + 1, "square forgotten"),
    ("sharper", lambda s: sharper(s) ** 2, "applied twice"),
    ("sharper", lambda s: 0.2 * math.log(s) + 2, "added instead of squared"),
    ("sharper", lambda s: 1 / sharper(s), "inverted"),
    ("sharper", lambda s: (0.1 * math.log10(s) + 1) ** 2, "decimal logarithm"),
    ("sharper", lambda s: (0.1 * math.log2(s) + 1) ** 2, "binary logarithm"),
    ("sharper", lambda s: 0.01 * math.log(s) ** 2, "the 1 forgotten"),
    ("base", lambda b, s, i, d: b * s ** (d / (d - 2)), "the last pair's base"),
    ("base", lambda b, s, i, d: s * b, "base times s"),
    ("base", lambda b, s, i, d: base_by_search(10_000.0, s, i, d), "base left at 10000"),
    ("base", lambda b, s, i, d: b * s ** (2 * i / d), "exponent inverted"),
    ("base", lambda b, s, i, d: b * s ** (d / i), "column instead of pair"),
    ("base", lambda b, s, i, d: b / s ** (d / 2 / i), "base made smaller"),
    ("base", lambda b, s, i, d: b * s ** (d / (2 * (i + 1))), "counted from 1"),
    ("base", lambda b, s, i, d: base_by_search(b, s, i, d) / b, "the power alone"),
    ("base", lambda b, s, i, d: base_by_search(b, s, i, d) * s ** (-1 / i), "d − 2 in place of d"),
    (
        "parts",
        lambda w, s, n, a, b: w / s * kept(w, n, a, b) + w * (1 - kept(w, n, a, b)),
        "ramp reversed",
    ),
    ("parts", lambda w, s, n, a, b: parts_loop(w, s, 2 * math.pi * n, a, b), "2π forgotten"),
    ("parts", lambda w, s, n, a, b: parts_loop(w, s, s * n, a, b), "new length used"),
    (
        "parts",
        lambda w, s, n, a, b: w / s + (n * w / 2 / np.pi - a) / (b - a) * (w - w / s),
        "not clipped",
    ),
    (
        "parts",
        lambda w, s, n, a, b: 1 / (kept(w, n, a, b) / w + (1 - kept(w, n, a, b)) / (w / s)),
        "wavelengths mixed",
    ),
    (
        "parts",
        lambda w, s, n, a, b: [x if n * x >= 2 * math.pi * a else x / s for x in w],
        "no ramp",
    ),
    (
        "parts",
        lambda w, s, n, a, b: [x if n * x > 2 * math.pi * b else x / s for x in w],
        "no ramp, cut at the upper bound",
    ),
    (
        "parts",
        lambda w, s, n, a, b: [
            x / s + (x - x / s) * min(max(math.log(n * x / 2 / math.pi / a, b / a), 0), 1)
            for x in w
        ],
        "ramp over the logarithm",
    ),
    ("parts", lambda w, s, n, a, b: w / s, "all divided"),
    ("parts", lambda w, s, n, a, b: parts_loop(w, 1 / s, n, a, b), "multiplied by s"),
    (
        "parts",
        lambda w, s, n, a, b: YaRN(s, n, b, a)(w, w[1] ** (-len(w)), None)[0],
        "ramp over the pairs",
    ),
    ("step", lambda *a: step(*a, turned=a[3]), "keys not turned"),
    ("step", own_times, "keys as they were stored"),
    ("step", lambda *a: step(*a, extension=Scaled(lambda w, n: w)), "plain frequencies"),
    (
        "step",
        lambda *a: step(
            *a,
            extension=Scaled(
                lambda w, n: inverse_frequencies(
                    2 * len(w), 1e4 * (n / a[5]) ** (len(w) / (len(w) - 1))
                )
            ),
        ),
        "short texts stretched",
    ),
    ("step", lambda *a: step(*a, length=len(a[3])), "length without the new token"),
    (
        "step",
        lambda *a: step(
            *a, extension=Scaled(lambda w, n: inverse_frequencies(2 * len(w), 1e4 * ratio(n, a[5])))
        ),
        "base times the factor",
    ),
    (
        "step",
        lambda *a: step(*a, extension=Scaled(lambda w, n: w / ratio(n, a[5]))),
        "frequencies divided",
    ),
    ("step", lambda *a: step(*a, at=0), "position restarts"),
    ("step", lambda *a: step(*a, own=False), "the new token left out"),
    ("step", lambda *a: step(*a, scale=False), "√head_dim forgotten"),
    ("step", lambda *a: step(*a, values_too=True), "values rotated"),
]


def test_every_mistake_that_a_check_knows_is_tried():
    named = {}
    for name, _, mistake in MISTAKES:
        named.setdefault(name, set()).add(mistake)
    assert {name: len(found) for name, found in named.items()} == {
        "sharper": 9,
        "base": 9,
        "parts": 13,
        "step": 12,
    }


def test_the_last_pair_gives_ntk_aware_scaling():
    def by_package(base, s, pair, d):
        # the factor at the last pair that makes this one s
        fitting = NTKAware(s ** ((d - 2) / (2 * pair)))
        return fitting(inverse_frequencies(d, base), base, None)[0][1] ** (-d / 2)

    assert exercises.check_base_for_pair(by_package)


WRONG = [
    ("sharper", constant(1.3), "expected"),
    ("sharper", constant("more"), "expected numbers"),
    ("sharper", constant(float("nan")), "expected"),
    ("base", constant(40_889.94), "expected"),
    ("base", constant(np.ones(3)), "shape"),
    ("parts", constant(np.ones(3)), "shape"),
    ("parts", lambda w, s, n, a, b: w, "expected"),
    ("parts", lambda w, s, n, a, b: np.full_like(w, np.nan), "expected"),
    ("step", lambda q, k, v, ks, vs, n: v, "expected"),
    ("step", constant(np.zeros(2)), "shape"),
    ("step", lambda *a: step(*a, extension=DynamicNTK(2.0, a[5])), "expected"),
    ("step", lambda *a: whole(*a) * np.nan, "expected"),
]


class TestChecks(ExerciseChecks):
    CHECKS, RIGHT, MISTAKES, WRONG = CHECKS, RIGHT, MISTAKES, WRONG


def test_answers_that_work_in_place_are_judged_by_what_they_return():
    def slowed(inv_freq, s, length, least, most):
        inv_freq[:] = parts_loop(inv_freq, s, length, least, most)
        return inv_freq

    def turned(q, k, v, keys, values, trained):
        keys[:], before = 0.0, keys.copy()
        return whole(q, k, v, before, values, trained)

    assert exercises.check_by_parts(slowed) and exercises.check_dynamic_step(turned)
