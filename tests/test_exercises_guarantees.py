"""The checks of chapter 04: a right answer passes, each mistake is called by its name, anything
else gets a helpful message.
"""

import numpy as np
import pytest
import torch

from sinpe import exercises, inverse_frequencies, shift_matrix, sinusoidal_encoding

CHECKS = {
    "worst offset": exercises.check_worst_offset,
    "similarity": exercises.check_similarity,
    "shift matrix": exercises.check_shift_matrix,
    "share": exercises.check_offset_share,
    "head": exercises.check_narrow_head,
}


def angles(k, d):
    return k * inverse_frequencies(d)


def blocks(angle, upper=1.0, lower=-1.0):
    cos, sin = np.diag(np.cos(angle)), np.diag(np.sin(angle))
    return np.block([[cos, upper * sin], [lower * sin, cos]])


def diagonals(scores):
    return [np.diagonal(scores, offset) for offset in range(1 - len(scores), len(scores))]


def between(scores):
    return sum(len(s) * (s.mean() - scores.mean()) ** 2 for s in diagonals(scores)) / scores.size


def by_distance(scores):
    """The share when 3 back and 3 ahead are one group."""
    n = len(scores)
    groups = [
        [scores[p, q] for p in range(n) for q in range(n) if abs(p - q) == distance]
        for distance in range(n)
    ]
    return (
        sum(len(s) * (np.mean(s) - scores.mean()) ** 2 for s in groups) / scores.size / scores.var()
    )


def head(k, d, h, q_shift=-1, k_shift=0):
    return shift_matrix(q_shift * k, d)[:h], shift_matrix(k_shift * k, d)[:h]


def one_key_head(k, d, h):
    """Every query looks at key 7: the query does not depend on the position."""
    w_q, w_k = np.zeros((h, d)), np.eye(d)[:h]
    # the slowest cosine is close to 1 on short sequences
    w_q[:, -1] = sinusoidal_encoding(np.array(7), d)[:h]
    return w_q, w_k


def sines_head(k, d, h):
    w = np.zeros((h, d))
    w[np.arange(h // 2), 2 * np.arange(h // 2)] = 1
    return w, w.copy()


def pairs_head(k, d, pairs):
    """Whole pairs, one of which is given by its number."""
    rows = np.ravel([[2 * i, 2 * i + 1] for i in pairs])
    return shift_matrix(-k, d)[rows], np.eye(d)[rows]


def slowest_head(k, d, h):
    """Whole pairs that have hardly moved after 40 positions."""
    return pairs_head(k, d, range((d - h) // 2, d // 2))


def middle_head(k, d, h):
    return pairs_head(k, d, range((d - h) // 4, (d - h) // 4 + h // 2))


def one_fast_pair_head(k, d, h):
    return pairs_head(k, d, [0, *range((d - h) // 2 + 1, d // 2)])


def spread_head(k, d, h):
    """Pairs from the whole ladder, at equal steps."""
    return pairs_head(k, d, range(0, d // 2, d // h))


def weight_on_the_right_key(head, k, d, h, gain, length=40):
    """The mean attention weight, with scores scaled so that the largest is `gain`."""
    w_q, w_k = head(k, d, h)
    codes = sinusoidal_encoding(length, d)
    scores = (codes @ w_q.T) @ (codes @ w_k.T).T
    scores *= gain / np.abs(scores).max()
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return np.diagonal(weights, -k).mean()


def halves_head(k, d, h):
    keep = np.r_[: h // 2, d // 2 : d // 2 + h // 2]
    return shift_matrix(-k, d, layout="concatenated")[keep], np.eye(d)[keep]


RIGHT = [
    ("worst offset", 11),
    ("worst offset", np.int64(11)),
    (
        "similarity",
        lambda p, q, d: (
            sinusoidal_encoding(np.array(p), d) @ sinusoidal_encoding(np.array(q), d) / (d / 2)
        ),
    ),
    ("similarity", lambda p, q, d: np.cos((p - q) * inverse_frequencies(d)).mean()),
    ("shift matrix", lambda k, d: blocks(angles(k, d))),
    ("share", lambda s: between(s) / s.var()),
    ("head", head),
    ("head", lambda k, d, h: (head(k, d, h)[0] * 30, head(k, d, h)[1] / 7)),
    ("head", lambda k, d, h: head(k, d, h, q_shift=0, k_shift=1)),
    ("head", lambda k, d, h: [m.tolist() for m in head(k, d, h)]),
    ("head", lambda k, d, h: [torch.tensor(m, requires_grad=True) for m in head(k, d, h)]),
    ("head", lambda k, d, h: tuple(m.astype(np.float32) for m in head(k, d, h))),
    ("head", lambda k, d, h: tuple(m[2 : h + 2] for m in head(k, d, d))),
    ("head", spread_head),
]
MISTAKES = [
    ("worst offset", 50, "degrees"),
    ("worst offset", 22, "most explained instead of least"),
    ("worst offset", 2, "only the first quarter turn tried"),
    ("similarity", lambda p, q, d: np.cos(angles(q - p, d)).sum(), "2/d forgotten"),
    ("similarity", lambda p, q, d: np.cos(angles(q - p, d)).sum() / d, "divided by d"),
    ("similarity", lambda p, q, d: np.cos(np.radians(angles(q - p, d))).mean(), "degrees"),
    ("similarity", lambda p, q, d: np.cos(angles(q, d)).mean(), "position instead of offset"),
    ("similarity", lambda p, q, d: np.cos(angles(p, d)).mean(), "position instead of offset"),
    ("similarity", lambda p, q, d: np.cos(angles(q + p, d)).mean(), "sign of the sines flipped"),
    (
        "similarity",
        lambda p, q, d: (np.sin(angles(p, d)) * np.sin(angles(q, d))).sum() * 2 / d,
        "sines alone",
    ),
    (
        "similarity",
        lambda p, q, d: (np.cos(angles(p, d)) * np.cos(angles(q, d))).sum() * 2 / d,
        "cosines alone",
    ),
    (
        "similarity",
        lambda p, q, d: np.cos((q - p) * 10_000.0 ** (-4 * np.arange(d // 2) / d)).mean(),
        "doubled exponent",
    ),
    ("shift matrix", lambda k, d: blocks(angles(k, d)).T, "shifts backwards"),
    ("shift matrix", lambda k, d: blocks(-angles(k, d)), "shifts backwards"),
    ("shift matrix", lambda k, d: shift_matrix(k, d), "layout mixed"),
    ("shift matrix", lambda k, d: shift_matrix(k, d).T, "layout mixed"),
    ("shift matrix", lambda k, d: blocks(angles(k, d), lower=1.0), "minus sign missing"),
    ("shift matrix", lambda k, d: blocks(angles(k, d), 0.0, 0.0), "sines alone"),
    ("shift matrix", lambda k, d: blocks(np.radians(angles(k, d))), "degrees"),
    (
        "shift matrix",
        lambda k, d: blocks(k * 10_000.0 ** (-4 * np.arange(d // 2) / d)),
        "doubled exponent",
    ),
    ("shift matrix", lambda k, d: blocks(angles(1, d)), "offset left out"),
    ("shift matrix", lambda k, d: blocks(np.full(d // 2, k)), "one frequency for all"),
    ("share", lambda s: s.mean(axis=1).var() / s.var(), "rows instead of diagonals"),
    ("share", lambda s: s.mean(axis=0).var() / s.var(), "columns instead of diagonals"),
    ("share", lambda s: between(s[:, ::-1]) / s.var(), "anti-diagonals"),
    ("share", by_distance, "sign of the offset lost"),
    ("share", lambda s: np.var([x.mean() for x in diagonals(s)]) / s.var(), "offsets not weighted"),
    ("share", lambda s: np.sqrt(between(s)) / s.std(), "standard deviations"),
    (
        "share",
        lambda s: sum(((x - x.mean()) ** 2).sum() for x in diagonals(s)) / s.size / s.var(),
        "within instead of between",
    ),
    ("share", between, "not divided by the total"),
    (
        "share",
        lambda s: sum(len(x) * x.mean() ** 2 for x in diagonals(s)) / (s**2).sum(),
        "mean not subtracted",
    ),
    ("head", lambda k, d, h: head(k, d, h, q_shift=1), "looks ahead"),
    ("head", lambda k, d, h: head(k, d, h, q_shift=0), "looks at itself"),
    ("head", lambda k, d, h: head(k, d, h, q_shift=-1, k_shift=-1), "looks at itself"),
    ("head", lambda k, d, h: head(k, d, h, q_shift=-1, k_shift=1), "looks 2k back"),
    ("head", lambda k, d, h: head(k, d, d), "head_dim ignored"),
    ("head", lambda k, d, h: tuple(m.T for m in head(k, d, h)), "matrices transposed"),
    ("head", one_key_head, "position instead of offset"),
    ("head", sines_head, "sines alone"),
    ("head", halves_head, "layout mixed"),
    ("head", slowest_head, "slow pairs"),
    ("head", middle_head, "slow pairs"),
    ("head", one_fast_pair_head, "slow pairs"),
    ("head", lambda k, d, h: tuple(1e6 * m for m in slowest_head(k, d, h)), "slow pairs"),
    ("similarity", lambda p, q, d: np.cos(angles(q - p, d)), "mean missing"),
]


@pytest.mark.parametrize(("name", "answer"), RIGHT)
def test_right_answers_pass(name, answer):
    verdict = CHECKS[name](answer)
    assert verdict and verdict.status == "correct", verdict


@pytest.mark.parametrize(("name", "answer", "mistake"), MISTAKES)
def test_each_mistake_is_called_by_its_name(name, answer, mistake):
    verdict = CHECKS[name](answer)
    assert not verdict and verdict.mistake == mistake, verdict
    assert mistake in repr(verdict) and len(verdict.message.split()) >= 4


def raises(*_):
    raise NotImplementedError


@pytest.mark.parametrize("name", CHECKS)
@pytest.mark.parametrize("stub", [..., None])
def test_an_untouched_stub_is_not_attempted(name, stub):
    assert CHECKS[name](stub).status == "not attempted"


@pytest.mark.parametrize("name", [name for name in CHECKS if name != "worst offset"])
@pytest.mark.parametrize("stub", [lambda *_: ..., lambda *_: None, raises])
def test_an_untouched_function_is_not_attempted(name, stub):
    assert CHECKS[name](stub).status == "not attempted"


@pytest.mark.parametrize("answer", [lambda *_: (..., ...), lambda *_: (None, np.eye(3))])
def test_an_untouched_head_is_not_attempted(answer):
    assert exercises.check_narrow_head(answer).status == "not attempted"


def constant(value):
    return lambda *_: value


WRONG = [
    ("worst offset", 5, "smallest"),
    ("worst offset", "eleven", "cos²"),
    ("worst offset", [11, 33], "cos²"),
    ("worst offset", float("nan"), "cos²"),
    ("similarity", constant(0.5), "expected"),
    ("similarity", constant("x"), "expected numbers"),
    ("similarity", constant(np.zeros(3)), "shape"),
    ("similarity", constant(float("nan")), "expected"),
    ("similarity", lambda p, q, d: np.cos(0.9 * angles(q - p, d)).mean(), "expected"),
    ("shift matrix", constant(np.eye(3)), "shape"),
    ("shift matrix", lambda k, d: np.full((d, d), np.nan), "expected"),
    ("shift matrix", lambda k, d: np.eye(d), "expected"),
    ("share", constant(0.0), "expected"),
    ("share", lambda s: s, "shape"),
    ("share", lambda s: 0.9 * between(s) / s.var(), "expected"),
    ("head", constant(3), "two matrices"),
    ("head", constant(("a", "b")), "numbers"),
    ("head", constant((np.eye(4), np.eye(4))), "shape"),
    ("head", lambda k, d, h: (np.full((h, d), np.nan),) * 2, "finite"),
    ("head", lambda k, d, h: (np.zeros((h, d)),) * 2, "alike"),
    (
        "head",
        lambda k, d, h: tuple(np.random.default_rng(0).normal(size=(2, h, d))),
        "should score key",
    ),
    ("head", lambda k, d, h: head(k + 1, d, h), "should score key"),
    ("head", lambda k, d, h: head(1, d, h), "should score key"),
]


@pytest.mark.parametrize(("name", "answer", "words"), WRONG)
def test_other_answers_are_wrong_but_not_called_a_known_mistake(name, answer, words):
    verdict = CHECKS[name](answer)
    assert verdict.status == "wrong" and verdict.mistake is None and words in verdict.message, (
        verdict
    )


@pytest.mark.parametrize("name", [name for name in CHECKS if name != "worst offset"])
def test_an_exception_is_reported(name):
    verdict = CHECKS[name](lambda *_: 1 / 0)
    assert verdict.status == "error" and "ZeroDivisionError" in verdict.message


def test_the_worst_offset_is_not_given_away():
    assert "11" not in repr(exercises.check_worst_offset(30))


@pytest.mark.parametrize("arguments", [(3, 64, 16), (1, 32, 8)])
def test_the_margin_parts_heads_that_look_from_heads_that_do_not(arguments):
    """The slowest pairs give every key the same weight, 1/40, whatever the gain."""
    for right in (head, spread_head):
        assert weight_on_the_right_key(right, *arguments, gain=100) > 0.7
    for slow in (slowest_head, middle_head, one_fast_pair_head):
        assert weight_on_the_right_key(slow, *arguments, gain=100) < 0.4
    assert weight_on_the_right_key(slowest_head, *arguments, gain=100) == pytest.approx(
        1 / 40, abs=0.001
    )
