"""Checks for chapter 01: which layers see order, and what is left when they do not."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from sinpe.exercises._check import NO_RETURN, NOT_ATTEMPTED, Mistake, Verdict, _array, check

SYMMETRIES = {
    "self-attention": "equivariant",
    "feed-forward network on each token": "equivariant",
    "mean over the tokens": "invariant",
    "self-attention, then the mean": "invariant",
    "convolution of width 3": "neither",
    "causal self-attention": "neither",
}


def check_symmetries(answers):
    """answers: {layer: "equivariant", "invariant" or "neither"} for the six layers of
    SYMMETRIES.
    """
    if answers is None or answers is Ellipsis:
        return NOT_ATTEMPTED
    if not isinstance(answers, dict) or set(answers) != set(SYMMETRIES):
        return Verdict(
            "wrong",
            f"keep the dictionary with its {len(SYMMETRIES)} layers as keys and change the values"
            " only.",
        )
    if any(answer is None or answer is Ellipsis for answer in answers.values()):
        return NOT_ATTEMPTED
    words = ("equivariant", "invariant", "neither")
    odd = [
        answer for answer in answers.values() if not isinstance(answer, str) or answer not in words
    ]
    if odd:
        return Verdict(
            "wrong", f"each value is one of {', '.join(map(repr, words))}; you have {odd[0]!r}."
        )
    wrong = [layer for layer, answer in answers.items() if answer != SYMMETRIES[layer]]
    if not wrong:
        return Verdict("correct", f"all {len(SYMMETRIES)} layers are sorted.")
    if answers["self-attention"] == "invariant":
        return Verdict(
            "mistake",
            "its output rows do move, together with the input rows. Unchanged is a stronger claim.",
            "equivariance mistaken for invariance",
        )
    if "equivariant" in (answers["mean over the tokens"], answers["self-attention, then the mean"]):
        return Verdict(
            "mistake",
            "after the mean there is a single vector: no row is left that could move along.",
            "pooling mistaken for equivariance",
        )
    if answers["causal self-attention"] != "neither":
        return Verdict(
            "mistake",
            "the mask belongs to the slots and stays where it is while the tokens move.",
            "the mask forgotten",
        )
    return Verdict(
        "wrong",
        f"{len(answers) - len(wrong)} of {len(answers)} are right; look again at: {wrong[0]}.",
    )


@dataclass(frozen=True, repr=False)
class _Layer:
    """A layer with a readable name, so that a message can say which one it was."""

    name: str
    function: object

    def __call__(self, x):
        return self.function(x)

    def __repr__(self):
        return self.name


def _gap_cases():
    rng = np.random.default_rng(1)
    x, w = rng.normal(size=(5, 5)), rng.normal(size=(5, 5))
    weights = np.exp(x @ w @ x.T)
    attention = _Layer("self-attention", lambda y: _softmax(y @ w @ y.T) @ y)
    running_sum = _Layer("a running sum", lambda y: np.cumsum(y, axis=0))
    fixed_mixing = _Layer("a fixed mixing of the rows", lambda y: weights @ y)
    return [
        # orders that are not their own inverse: P and its transpose differ
        (attention, x, np.array([1, 2, 0, 4, 3])),
        (running_sum, x, np.array([1, 2, 3, 4, 0])),
        (fixed_mixing, x, np.array([2, 0, 1, 4, 3])),
    ]


def check_gap(attempt):
    """attempt(layer, x, order): the largest entry of |layer(Px) − P layer(x)|, where Px is
    x[order].
    """

    def right(layer, x, order):
        return np.abs(layer(x[order]) - layer(x)[order]).max()

    mistakes = [
        Mistake(
            "columns permuted instead of rows",
            lambda f, x, order: np.abs(f(x[:, order]) - f(x)[:, order]).max(),
            "a row is a token, a column is a feature. P acts from the left and reorders rows:"
            " x[order], not x[:, order].",
        ),
        Mistake(
            "P and its transpose mixed up",
            lambda f, x, order: np.abs(f(x[order]) - f(x)[np.argsort(order)]).max(),
            "one side uses the order, the other its inverse. A swap of two tokens hides this, a"
            " cycle of three shows it.",
        ),
        Mistake(
            "invariance tested instead of equivariance",
            lambda f, x, order: np.abs(f(x[order]) - f(x)).max(),
            "the output rows have to move too before you compare: layer(x)[order].",
        ),
        Mistake(
            "input not permuted",
            lambda f, x, order: np.abs(f(x) - f(x)[order]).max(),
            "the layer has to run on the permuted input: layer(x[order]).",
        ),
        Mistake(
            "absolute value missing",
            lambda f, x, order: (f(x[order]) - f(x)[order]).max(),
            "a large negative difference is a difference as well: take the absolute value before"
            " the maximum.",
        ),
    ]
    return check(
        attempt,
        right,
        _gap_cases(),
        mistakes,
        praise="your gap is zero where it should be and right where it is not.",
    )


def _softmax(scores, axis=-1):
    e = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def _lower(n):
    return np.tril(np.ones((n, n), bool))


def _attend(q, k, v, *, mask=None, root=None, axis=-1):
    """Masked attention with every part that a reader may get wrong open to change."""
    scores = q @ k.T / (np.sqrt(q.shape[1]) if root is None else root)
    mask = _lower(len(q)) if mask is None else mask
    return _softmax(np.where(mask, scores, -np.inf), axis) @ v


def check_causal_attention(attempt):
    """attempt(q, k, v): softmax(q kᵀ/√d + mask) v, in which token t reads tokens 0 … t. Shapes (n,
    d), (n, d), (n, d_v).
    """
    rng = np.random.default_rng(2)
    cases = [
        tuple(rng.normal(size=(n, width)) for width in (d, d, d_v))
        for n, d, d_v in ((5, 4, 3), (7, 9, 2))
    ]

    def first_row_hidden(q, k, v):
        out = np.full((len(q), v.shape[1]), np.nan)
        out[1:] = _attend(q[1:], k[:-1], v[:-1])  # token t reads 0 … t − 1
        return out

    def unscaled(q, k, v):
        return _attend(q, k, v, root=1.0)

    hidden = _hides_itself(attempt, first_row_hidden, cases)
    if hidden is not None:
        return hidden
    mistakes = [
        Mistake(
            "softmax over the wrong axis",
            lambda q, k, v: _attend(q, k, v, axis=0),
            "each query's weights sum to 1: normalise along the keys, the last axis.",
        ),
        Mistake(
            "1/√d forgotten",
            unscaled,
            "divide the scores by the square root of the width of q and k.",
        ),
        Mistake(
            "divided by d instead of √d",
            lambda q, k, v: _attend(q, k, v, root=q.shape[1]),
            "it is the square root of the width that the scores are divided by.",
        ),
        Mistake(
            "divided by √n",
            lambda q, k, v: _attend(q, k, v, root=np.sqrt(len(q))),
            "d is the width of q and k, not the number of tokens.",
        ),
        Mistake(
            "mask on the wrong triangle",
            lambda q, k, v: _attend(q, k, v, mask=_lower(len(q)).T),
            "row = query, column = key: a query may read columns up to its own, the lower"
            " triangle.",
        ),
        Mistake(
            "no mask",
            lambda q, k, v: _attend(q, k, v, mask=np.ones((len(q), len(q)), bool)),
            "every token still reads the tokens after it.",
        ),
        Mistake(
            "future scores set to 0 instead of −∞",
            lambda q, k, v: _softmax(q @ k.T / np.sqrt(q.shape[1]) * _lower(len(q))) @ v,
            "a score of 0 becomes a weight of e⁰ = 1 before normalising. Only −∞ becomes 0.",
        ),
        Mistake(
            "masked after the softmax",
            lambda q, k, v: (_softmax(q @ k.T / np.sqrt(q.shape[1])) * _lower(len(q))) @ v,
            "the rows no longer sum to 1. Mask the scores, before the softmax.",
        ),
        Mistake(
            "queries and keys swapped",
            lambda q, k, v: _attend(k, q, v),
            "rows belong to queries: q @ k.T, not k @ q.T.",
        ),
    ]
    return check(
        attempt,
        lambda q, k, v: _attend(q, k, v),
        cases,
        mistakes,
        praise="each token reads itself and what came before it.",
    )


def _hides_itself(attempt, expected, cases):
    """The mistake of masking the diagonal as well: the first row has nothing to read and becomes
    NaN (or 0), the rest averages over 0 … t − 1.
    """
    try:
        with np.errstate(invalid="ignore"):
            answers = [np.asarray(attempt(*case), float) for case in cases]
    except Exception:
        return None  # `check` reports it
    for answer, case in zip(answers, cases, strict=True):
        if answer.shape != expected(*case).shape or not np.allclose(
            answer[1:], expected(*case)[1:]
        ):
            return None
    return Verdict(
        "mistake",
        "the first token has nothing left to read, and no token reads itself. Keep the diagonal.",
        "own token hidden",
    )


def first_of(tokens):
    """The marker, A or B, that comes first."""
    return next(token for token in tokens if token in ("A", "B"))


def check_twin(attempt):
    """attempt(tokens): a sequence that no encoder without position can tell from `tokens` at the
    final "?", and whose answer is the other marker.
    """
    sequences = [
        ["x", "A", "y", "B", "?"],
        ["B", "x", "x", "y", "A", "?"],
        ["A", "B", "?"],
        ["x", "y", "z", "B", "A", "z", "?"],
    ]
    for tokens in sequences:
        try:
            twin = attempt(list(tokens))
        except NotImplementedError:
            return NOT_ATTEMPTED
        except Exception as error:
            return Verdict("error", f"your code raised {type(error).__name__}: {error}")
        if twin is None or twin is Ellipsis:
            return NO_RETURN if twin is None and callable(attempt) else NOT_ATTEMPTED
        if not isinstance(twin, list | tuple) or not all(isinstance(token, str) for token in twin):
            return Verdict(
                "wrong",
                f"return a list of tokens for {' '.join(tokens)}, not {type(twin).__name__}.",
            )
        pair = f"{' '.join(tokens)}  →  {' '.join(twin)}"
        if Counter(twin) != Counter(tokens):
            return Verdict(
                "mistake",
                f"{pair}: some token was added, lost or changed, and attention sees that.",
                "another bag",
            )
        if twin[-1] != "?":
            return Verdict(
                "mistake",
                f"{pair}: the answer is read at the last row, which now belongs to another token.",
                "query moved",
            )
        if first_of(twin) == first_of(tokens):
            return Verdict(
                "mistake",
                f"{pair}: the same marker still comes first, so telling them apart is not needed.",
                "same answer",
            )
    return Verdict(
        "correct",
        "same bag, same query, other answer: no encoder without position can get both right.",
    )


def check_counting_head(attempt):
    """attempt(vocab_size): (w_q, w_k, w_v) for one causal head on one-hot tokens, token 0 at the
    start, whose output in row t is 1/(t + 1).
    """
    rng = np.random.default_rng(3)
    for size in (4, 7):
        x = np.eye(size)[np.concatenate([[0], rng.integers(1, size, 11)])]
        try:
            head = attempt(size)
        except NotImplementedError:
            return NOT_ATTEMPTED
        except Exception as error:
            return Verdict("error", f"your code raised {type(error).__name__}: {error}")
        if head is None or head is Ellipsis:
            return NO_RETURN if head is None and callable(attempt) else NOT_ATTEMPTED
        if not isinstance(head, list | tuple) or len(head) != 3:
            return Verdict("wrong", "return three matrices: w_q, w_k, w_v.")
        if any(w is None or w is Ellipsis for w in head):
            return NOT_ATTEMPTED
        w_q, w_k, w_v = map(_array, head)
        if w_q is None or w_k is None or w_v is None:
            return Verdict("wrong", "w_q, w_k and w_v must be matrices of numbers.")
        if not (
            w_q.ndim == w_k.ndim == w_v.ndim == 2
            and w_q.shape == w_k.shape
            and len(w_q) == size
            and w_v.shape == (size, 1)
        ):
            shapes = ", ".join(str(w.shape) for w in (w_q, w_k, w_v))
            return Verdict(
                "wrong",
                f"for vocab_size={size} the shapes must be ({size}, d), ({size}, d) and ({size},"
                f" 1); yours are {shapes}.",
            )
        if not all(np.isfinite(w).all() for w in (w_q, w_k, w_v)):
            return Verdict("wrong", "the matrices must hold finite numbers.")
        verdict = _judge_count(x, w_q, w_k, w_v)
        if verdict is not None:  # a Verdict that names a mistake is false
            return verdict
    return Verdict("correct", "the causal mask alone turned into a position: t = 1/output − 1.")


def _judge_count(x, w_q, w_k, w_v):
    """None if the head counts, else what is wrong with it."""
    out = _attend(x @ w_q, x @ w_k, x @ w_v)[:, 0]
    count = np.arange(1, len(x) + 1)
    if np.allclose(out, 1 / count):
        return None
    scores = (x @ w_q) @ (x @ w_k).T
    if not np.allclose(scores, scores[:, :1]):
        return Verdict(
            "mistake",
            "a query that prefers some keys does not count them. Give every key the same score, for"
            " example 0.",
            "attention not uniform",
        )
    if np.allclose(out, 1 - 1 / count):
        return Verdict(
            "mistake",
            "the value must be 1 for the start token and 0 for all others, not the other way"
            " round.",
            "every token marked but the first",
        )
    if np.allclose(out, out[0]):
        return Verdict(
            "mistake",
            "every token has the same value, and the average of equal values counts nothing.",
            "all values equal",
        )
    row = int(np.abs(out - 1 / count).argmax())
    return Verdict(
        "wrong", f"row {row} should give {1 / count[row]:.6g}, yours gives {out[row]:.6g}."
    )
