"""The checks of chapter 01: a right answer passes, each mistake is called by its name, everything
else gets a sentence that helps.
"""

import numpy as np
import pytest
import torch

from sinpe.exercises import (
    check_causal_attention,
    check_counting_head,
    check_gap,
    check_symmetries,
    check_twin,
)
from sinpe.exercises.order import SYMMETRIES, first_of

RNG = np.random.default_rng(0)


def softmax(scores, axis=-1):
    e = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def lower(scores, diagonal=0):
    return np.tril(np.ones(scores.shape, bool), diagonal)


def scores_of(q, k):
    return q @ k.T / np.sqrt(q.shape[1])


def causal_attention(q, k, v):
    s = scores_of(q, k)
    return softmax(np.where(lower(s), s, -np.inf)) @ v


def gap(layer, x, order):
    return np.abs(layer(x[order]) - layer(x)[order]).max()


def twin(tokens):
    return [{"A": "B", "B": "A"}.get(token, token) for token in tokens]


def counting_head(size):
    return np.zeros((size, 1)), np.zeros((size, 1)), np.eye(size)[:, :1]


FUNCTION_CHECKS = {
    check_gap: gap,
    check_causal_attention: causal_attention,
    check_twin: twin,
    check_counting_head: counting_head,
}


@pytest.mark.parametrize("check, right", FUNCTION_CHECKS.items())
def test_right_answer(check, right):
    verdict = check(right)
    assert verdict and verdict.status == "correct" and str(verdict).startswith("Correct: ")


@pytest.mark.parametrize("check", FUNCTION_CHECKS)
@pytest.mark.parametrize("answer", [None, ..., NotImplementedError])
def test_untouched_stub(check, answer):
    def stub(*arguments):
        if answer is NotImplementedError:
            raise NotImplementedError
        return answer

    verdict = check(stub)
    assert not verdict and str(verdict).startswith("Not attempted: ")


@pytest.mark.parametrize("check", FUNCTION_CHECKS)
def test_an_exception_is_reported(check):
    def attempt(*arguments):
        raise KeyError("the reader's own bug")

    verdict = check(attempt)
    assert (
        not verdict
        and verdict.status == "error"
        and "KeyError" in verdict.message
        and "the reader's own bug" in verdict.message
    )


@pytest.mark.parametrize("check", FUNCTION_CHECKS)
@pytest.mark.parametrize(
    "garbage",
    [
        float("nan"),
        np.nan * np.ones((5, 3)),
        np.zeros((2, 2, 2)),
        "a string",
        17,
        [],
        {"a": 1},
        object(),
    ],
    ids=lambda garbage: type(garbage).__name__,
)
def test_garbage_is_refused_with_a_sentence(check, garbage):
    verdict = check(lambda *arguments: garbage)
    assert not verdict and verdict.mistake in (None, "another bag") and len(verdict.message) > 20


@pytest.mark.parametrize("check, right", FUNCTION_CHECKS.items())
def test_messages_carry_no_address(check, right):
    for attempt in (lambda *arguments: object(), lambda *arguments: 1.5):
        assert " at 0x" not in str(check(attempt))


# --- symmetries ---


def test_symmetries_right():
    assert check_symmetries(dict(SYMMETRIES))


def test_symmetries_untouched():
    for answers in (
        None,
        ...,
        dict.fromkeys(SYMMETRIES, ...),
        {**SYMMETRIES, "self-attention": None},
    ):
        assert check_symmetries(answers).status == "not attempted"


@pytest.mark.parametrize(
    "change, mistake",
    [
        ({"self-attention": "invariant"}, "equivariance mistaken for invariance"),
        ({"mean over the tokens": "equivariant"}, "pooling mistaken for equivariance"),
        ({"self-attention, then the mean": "equivariant"}, "pooling mistaken for equivariance"),
        ({"causal self-attention": "equivariant"}, "the mask forgotten"),
        ({"causal self-attention": "invariant"}, "the mask forgotten"),
        ({"convolution of width 3": "equivariant"}, None),
        ({"feed-forward network on each token": "neither"}, None),
    ],
)
def test_symmetries_mistakes(change, mistake):
    verdict = check_symmetries({**SYMMETRIES, **change})
    assert not verdict and verdict.mistake == mistake
    if mistake is None:
        assert "5 of 6" in verdict.message and next(iter(change)) in verdict.message


@pytest.mark.parametrize(
    "answers",
    [
        17,
        "invariant",
        {},
        {"self-attention": "equivariant"},
        {**SYMMETRIES, "extra": "neither"},
        ["neither"] * 6,
    ],
)
def test_symmetries_wrong_form(answers):
    verdict = check_symmetries(answers)
    assert not verdict and verdict.mistake is None and "dictionary" in verdict.message


@pytest.mark.parametrize("word", ["Equivariant", "yes", 3, ["neither"]])
def test_symmetries_unknown_word(word):
    verdict = check_symmetries({**SYMMETRIES, "self-attention": word})
    assert not verdict and verdict.mistake is None and repr(word) in verdict.message


def test_symmetries_hold():
    """The answers of the first exercise are facts: measure them."""
    x, w, c = RNG.normal(size=(5, 4)), RNG.normal(size=(4, 4)), RNG.normal(size=(3, 4, 4))
    order = np.array([1, 2, 0, 4, 3])

    def attention(x):
        return softmax(x @ w @ x.T) @ x

    def convolution(x):
        padded = np.pad(x, ((1, 1), (0, 0)))
        return sum(padded[i : i + len(x)] @ c[i] for i in range(3))

    layers = {
        "self-attention": attention,
        "feed-forward network on each token": lambda x: np.maximum(x @ w, 0) @ w.T,
        "mean over the tokens": lambda x: x.mean(axis=0),
        "self-attention, then the mean": lambda x: attention(x).mean(axis=0),
        "convolution of width 3": convolution,
        "causal self-attention": lambda x: causal_attention(x @ w, x, x),
    }
    for name, layer in layers.items():
        out, shuffled = layer(x), layer(x[order])
        invariant = np.allclose(out, shuffled)
        equivariant = out.ndim == 2 and np.allclose(out[order], shuffled)
        assert SYMMETRIES[name] == (
            "invariant" if invariant else "equivariant" if equivariant else "neither"
        )


# --- gap ---


@pytest.mark.parametrize(
    "attempt, mistake",
    [
        (
            lambda f, x, order: np.abs(f(x[:, order]) - f(x)[:, order]).max(),
            "columns permuted instead of rows",
        ),
        (
            lambda f, x, order: np.abs(
                f(x @ np.eye(len(x))[order].T) - f(x) @ np.eye(len(x))[order].T
            ).max(),
            "columns permuted instead of rows",
        ),
        (
            lambda f, x, order: np.abs(
                f(np.eye(len(x))[order] @ x) - np.eye(len(x))[order].T @ f(x)
            ).max(),
            "P and its transpose mixed up",
        ),
        (
            lambda f, x, order: np.abs(f(x[order]) - f(x)).max(),
            "invariance tested instead of equivariance",
        ),
        (lambda f, x, order: np.abs(f(x) - f(x)[order]).max(), "input not permuted"),
        (lambda f, x, order: (f(x[order]) - f(x)[order]).max(), "absolute value missing"),
        (lambda f, x, order: np.abs(f(x[order]) - f(x)[order]), "max missing"),
    ],
)
def test_gap_mistakes(attempt, mistake):
    verdict = check_gap(attempt)
    assert (
        not verdict
        and verdict.mistake == mistake
        and str(verdict).startswith(f"Not yet ({mistake}): ")
    )


@pytest.mark.parametrize(
    "attempt",
    [
        lambda f, x, order: np.abs(f(x[order]) - f(x)[order]).mean(),
        lambda f, x, order: np.abs(f(x[order]) - f(x)[order]).min(),
        lambda f, x, order: 2 * gap(f, x, order),
        lambda f, x, order: 0.0,
        lambda f, x, order: 2 * np.abs(f(x[order]) - f(x)[order]),
    ],
)
def test_gap_other_wrong_answers(attempt):
    verdict = check_gap(attempt)
    assert not verdict and verdict.status == "wrong" and verdict.mistake is None


def test_gap_both_inverse():
    """Using the inverse order on both sides measures the same property, but of another order: not
    the value asked for.
    """
    verdict = check_gap(lambda f, x, order: gap(f, x, np.argsort(order)))
    assert verdict.status == "wrong"


def test_gap_by_matrix():
    assert check_gap(
        lambda f, x, order: np.abs(
            f(np.eye(len(x))[order] @ x) - np.eye(len(x))[order] @ f(x)
        ).max()
    )


# --- causal attention ---


def masked(q, k, v, mask, *, scores=None, axis=-1):
    s = scores_of(q, k) if scores is None else scores
    with np.errstate(invalid="ignore"):
        return softmax(np.where(mask, s, -np.inf), axis) @ v


@pytest.mark.parametrize(
    "attempt, mistake",
    [
        (lambda q, k, v: masked(q, k, v, lower(q @ k.T), axis=0), "softmax over the wrong axis"),
        (lambda q, k, v: masked(q, k, v, lower(q @ k.T), scores=q @ k.T), "1/√d forgotten"),
        (
            lambda q, k, v: masked(q, k, v, lower(q @ k.T), scores=q @ k.T / q.shape[1]),
            "divided by d instead of √d",
        ),
        (
            lambda q, k, v: masked(q, k, v, lower(q @ k.T), scores=q @ k.T / np.sqrt(len(q))),
            "divided by √n",
        ),
        (lambda q, k, v: masked(q, k, v, lower(q @ k.T).T), "mask on the wrong triangle"),
        (lambda q, k, v: masked(q, k, v, lower(q @ k.T, -1)), "own token hidden"),
        (lambda q, k, v: np.nan_to_num(masked(q, k, v, lower(q @ k.T, -1))), "own token hidden"),
        (lambda q, k, v: softmax(scores_of(q, k)) @ v, "no mask"),
        (
            lambda q, k, v: softmax(scores_of(q, k) * lower(q @ k.T)) @ v,
            "future scores set to 0 instead of −∞",
        ),
        (
            lambda q, k, v: (softmax(scores_of(q, k)) * lower(q @ k.T)) @ v,
            "masked after the softmax",
        ),
        (lambda q, k, v: causal_attention(k, q, v), "queries and keys swapped"),
    ],
)
def test_causal_attention_mistakes(attempt, mistake):
    verdict = check_causal_attention(attempt)
    assert not verdict and verdict.mistake == mistake and verdict.message


def test_causal_attention_large_negative_mask():
    """−1e9 in place of −∞ is common and right to rounding."""
    assert check_causal_attention(
        lambda q, k, v: softmax(np.where(lower(q @ k.T), scores_of(q, k), -1e9)) @ v
    )


def test_causal_attention_in_torch():
    def attempt(q, k, v):
        q, k, v = (torch.from_numpy(a)[None] for a in (q, k, v))
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)[0]

    assert check_causal_attention(attempt)


def test_causal_attention_by_loop():
    def attempt(q, k, v):
        rows = [
            softmax(np.array([q[t] @ k[s] for s in range(t + 1)]) / np.sqrt(q.shape[1]))
            @ v[: t + 1]
            for t in range(len(q))
        ]
        return np.array(rows)

    assert check_causal_attention(attempt)


@pytest.mark.parametrize(
    "attempt",
    [
        lambda q, k, v: v,
        lambda q, k, v: causal_attention(q, k, v) + 1e-3,
        lambda q, k, v: causal_attention(q, k, v)[::-1],
        lambda q, k, v: softmax(np.where(lower(q @ k.T), scores_of(q, k), -np.inf)),
        lambda q, k, v: causal_attention(q, q, v),
        lambda q, k, v: np.full((len(q), v.shape[1]), np.nan),
        lambda q, k, v: masked(q, k, v, lower(q @ k.T, 1)),
    ],
)
def test_causal_attention_other_wrong_answers(attempt):
    verdict = check_causal_attention(attempt)
    assert not verdict and verdict.status in ("wrong", "error") and verdict.mistake is None


# --- twin ---


@pytest.mark.parametrize(
    "attempt, mistake",
    [
        (lambda tokens: tokens, "same answer"),
        (lambda tokens: [*sorted(tokens[:-1], key=lambda t: t in ("A", "B")), "?"], "same answer"),
        (lambda tokens: tokens[::-1], "query moved"),
        (lambda tokens: [*twin(tokens), "x"], "another bag"),
        (lambda tokens: ["A" if t == "B" else t for t in tokens], "another bag"),
        (lambda tokens: twin([*tokens[:-1]]), "another bag"),
    ],
)
def test_twin_mistakes(attempt, mistake):
    verdict = check_twin(attempt)
    assert not verdict and verdict.mistake == mistake and "→" in verdict.message


def test_twin_other_right_answers():
    """Any order of the bag will do that keeps the question mark and turns the answer round."""
    assert check_twin(lambda tokens: tuple(twin(tokens)))
    assert check_twin(lambda tokens: [*tokens[:-1][::-1], "?"])


def test_twin_does_not_trust_the_reader_with_its_own_list():
    def in_place(tokens):
        tokens[:] = twin(tokens)
        return tokens

    assert check_twin(in_place)


def test_first_of():
    assert first_of(["x", "B", "y", "A", "?"]) == "B"


# --- counting head ---


@pytest.mark.parametrize(
    "head, mistake",
    [
        (
            lambda n: (np.zeros((n, 1)), np.zeros((n, 1)), 1 - np.eye(n)[:, :1]),
            "every token marked but the first",
        ),
        (lambda n: (np.eye(n), np.eye(n), np.eye(n)[:, :1]), "attention not uniform"),
        (lambda n: (np.zeros((n, 1)), np.zeros((n, 1)), np.ones((n, 1))), "all values equal"),
        (lambda n: (np.zeros((n, 1)), np.zeros((n, 1)), np.zeros((n, 1))), "all values equal"),
        (lambda n: (np.zeros((n, 1)), np.zeros((n, 1)), 2 * np.eye(n)[:, :1]), None),
        (lambda n: (np.zeros((n, 1)), np.zeros((n, 1)), np.eye(n)[:, 1:2]), None),
    ],
)
def test_counting_head_mistakes(head, mistake):
    verdict = check_counting_head(head)
    assert not verdict and verdict.mistake == mistake and verdict.message


def test_counting_head_other_right_answers():
    ones, value = np.ones, counting_head(5)[2]
    assert check_counting_head(lambda n: (np.zeros((n, 3)), ones((n, 3)), np.eye(n)[:, :1]))
    # equal scores, though not zero
    assert check_counting_head(lambda n: (ones((n, 2)), ones((n, 2)), np.eye(n)[:, :1]))
    assert value.shape == (5, 1)


@pytest.mark.parametrize(
    "head",
    [
        lambda n: (np.zeros(n), np.zeros(n), np.zeros(n)),
        lambda n: (np.zeros((n, 1)), np.zeros((n, 2)), np.eye(n)[:, :1]),
        lambda n: (np.zeros((n, 1)), np.zeros((n, 1)), np.eye(n)),
        lambda n: (np.zeros((1, n)), np.zeros((1, n)), np.eye(n)[:1]),
        lambda n: tuple(w[:4] for w in counting_head(max(n, 4))),
    ],
)
def test_counting_head_shapes(head):
    verdict = check_counting_head(head)
    assert verdict.status == "wrong" and "shapes must be" in verdict.message


def test_counting_head_not_finite():
    assert (
        "finite"
        in check_counting_head(
            lambda n: (np.full((n, 1), np.inf), np.zeros((n, 1)), np.eye(n)[:, :1])
        ).message
    )


def test_counting_head_partly_attempted():
    assert check_counting_head(lambda n: (np.zeros((n, 1)), ..., ...)).status == "not attempted"
