"""Checks for chapter 10: a rotation, a key for a chosen distance, the permutation between layouts,
and a step with a cache.
"""

import numpy as np

from sinpe.exercises._check import NO_RETURN, NOT_ATTEMPTED, Mistake, Verdict, _array, check
from sinpe.formula import inverse_frequencies


def check_full_turns(attempt):
    """attempt(length, rotary_dim, base) -> how many pairs complete at least one turn within
    `length` positions, 2π/ω_i ≤ length.
    """
    mistakes = (
        Mistake(
            "2π forgotten",
            lambda n, d, b: _count(1 / inverse_frequencies(d, b) <= n),
            "1/ω_i positions turn a pair by one radian only.",
        ),
        Mistake(
            "columns instead of pairs",
            lambda n, d, b: 2 * _turns(n, d, b),
            "each pair is two columns and one hand.",
        ),
        Mistake(
            "half a turn counted",
            lambda n, d, b: _count(np.pi / inverse_frequencies(d, b) <= n),
            "π/ω_i is half a turn.",
        ),
        Mistake(
            "the other pairs counted",
            lambda n, d, b: d // 2 - _turns(n, d, b),
            "those are the pairs that do not get round.",
        ),
        Mistake(
            "base left at 10000",
            lambda n, d, b: _turns(n, d, 10_000.0),
            "pass the base on: a larger one slows all pairs but the first.",
        ),
        Mistake(
            "exponent doubled",
            lambda n, d, b: _count(2 * np.pi <= n * inverse_frequencies(d, b) ** 2),
            "ω_i = base^(−2i/rotary_dim), i the pair.",
        ),
    )
    return check(
        attempt,
        _turns,
        [(4096, 128, 500_000.0), (64, 32, 10_000.0), (2048, 64, 1e6)],
        mistakes,
        praise="the rest never comes round in that length.",
    )


def check_rotation(attempt):
    """attempt(x, position, rotary_dim) -> x (head_dim,) with its first rotary_dim features turned
    in neighbouring pairs, the rest as it was.
    """
    rng = np.random.default_rng(10)
    cases = [
        (rng.normal(size=16), 3, 8),
        (rng.normal(size=12), 50, 12),
        (rng.normal(size=20), 7, 12),
    ]
    mistakes = (
        Mistake(
            "wrong sign",
            lambda x, p, r: _turn(x, -p, r),
            "(a, b) becomes (a cos − b sin, a sin + b cos): yours turns by −p, as T_p does.",
        ),
        Mistake(
            "layouts mixed",
            lambda x, p, r: _turn(x, p, r, "half"),
            "yours pairs feature i with i + rotary_dim/2; here neighbours are a pair.",
        ),
        Mistake(
            "rotated twice", lambda x, p, r: _turn(x, 2 * p, r), "the angle is position·ω_i, once."
        ),
        Mistake(
            "head_dim in the exponent",
            _turn_by_head_dim,
            "the exponent divides by rotary_dim, the width that is turned.",
        ),
        Mistake(
            "all features turned",
            lambda x, p, r: _turn(x, p, len(x)),
            "only the first rotary_dim features turn; the others stay.",
        ),
        Mistake(
            "the rest dropped",
            lambda x, p, r: _turn(x, p, r)[:r],
            "the features after rotary_dim are returned unchanged.",
        ),
        Mistake(
            "a reflection",
            _reflect,
            "cos, sin, sin, −cos is a mirror: a rotation is cos, −sin, sin, cos.",
        ),
        Mistake(
            "exponent doubled",
            lambda x, p, r: _turn(x, p, r, power=2),
            "ω_i = base^(−2i/rotary_dim) with i the pair, not the column.",
        ),
        Mistake(
            "degrees",
            lambda x, p, r: _turn(x, np.radians(p), r),
            "position·ω_i is in radians already.",
        ),
    )
    return check(
        attempt,
        _turn,
        cases,
        mistakes,
        praise="each pair by its own angle, the rest untouched.",
    )


def check_key_for(attempt):
    """attempt(q, distance) -> a key vector that scores highest with q when it stands `distance`
    tokens before the query (interleaved layout).
    """
    rng = np.random.default_rng(11)
    answers = []
    for d, distance in ((32, 5), (64, 40), (16, 17)):
        q = rng.normal(size=d)
        try:
            answer = attempt(q.copy(), distance) if callable(attempt) else attempt
        except NotImplementedError:
            return NOT_ATTEMPTED
        except Exception as error:
            return Verdict("error", f"your code raised {type(error).__name__}: {error}")
        if answer is None or answer is Ellipsis:
            return NO_RETURN if answer is None and callable(attempt) else NOT_ATTEMPTED
        answers.append((q, distance, answer))
    verdicts = [_read_key(*answer) for answer in answers]
    wrong = next((verdict for verdict in verdicts if not verdict), None)
    if wrong is None:
        return Verdict(
            "correct",
            "the score is largest at the distance that was asked for, of all between −100 and 100.",
        )
    # a slip is named only where it explains every case
    same = all(not verdict and verdict.mistake == wrong.mistake for verdict in verdicts)
    if wrong.mistake is None or same:
        return wrong
    return Verdict(
        "wrong", "the largest score is not where it should be in every case: try two distances."
    )


def check_half_rows(attempt):
    """attempt(w, n_heads) -> rows of a query or key matrix (n_heads · head_dim, d_model) reordered
    from interleaved to half-split pairs.
    """
    rng = np.random.default_rng(12)
    cases = [
        (rng.normal(size=(16, 16)), 2),
        (rng.normal(size=(36, 36)), 3),
        (rng.normal(size=(24, 24)), 1),
        (rng.normal(size=(8, 16)), 2),  # a key matrix of grouped queries
        (rng.normal(size=(24, 18)), 3),
    ]
    square = [case for case in cases if case[0].shape[0] == case[0].shape[1]]
    mistakes = (
        Mistake(
            "permutation inverted",
            lambda w, h: _rows(w, h, _to_half(len(w) // h).argsort()),
            "even features come first.",
        ),
        Mistake(
            "permuted across heads",
            lambda w, h: w[_to_half(len(w))],
            "reorder inside each head, not over all rows at once.",
        ),
        Mistake(
            "columns instead of rows",
            lambda w, h: _rows(w.T, h, _to_half(w.shape[1] // h)).T,
            "features of q are rows of W_q.",
        ),
        Mistake(
            "layouts mixed",
            lambda w, h: w,
            "the rows are as they were: interleaved weights would meet a half-split rotation.",
        ),
    )

    def right(w, h):
        return _rows(w, h, _to_half(len(w) // h))

    verdict = check(
        attempt,
        right,
        cases,
        mistakes,
        praise="even features first, then odd ones, head by head.",
    )
    if verdict or verdict.mistake or not check(attempt, right, square):
        return verdict
    return Verdict(
        "mistake",
        "it works where the matrix is square. With grouped queries a key matrix has fewer rows than"
        " columns: only the rows, n_heads · head_dim, are divided among the heads.",
        "matrix taken for square",
    )


def check_cached_step(attempt):
    """attempt(q, k, v, keys, values) -> the new token's attention output. keys (t, d) are rotated
    already, at 0 … t − 1; q, k, v (d,) are not.
    """
    rng = np.random.default_rng(13)
    cases = []
    for t, d in ((1, 8), (5, 8), (9, 16)):
        keys = np.array([_turn(row, p, d) for p, row in enumerate(rng.normal(size=(t, d)))])
        cases.append((*rng.normal(size=(3, d)), keys, rng.normal(size=(t, d))))
    mistakes = (
        Mistake(
            "rotated twice",
            lambda q, k, v, ks, vs: _step(q, k, v, _turn_rows(ks), vs),
            "cached keys were turned when they were stored.",
        ),
        Mistake(
            "position restarts",
            lambda q, k, v, ks, vs: _step(q, k, v, ks, vs, at=0),
            "the new token stands at t, not at 0.",
        ),
        Mistake(
            "position off by one",
            lambda q, k, v, ks, vs: _step(q, k, v, ks, vs, at=len(ks) - 1),
            "the cached tokens stand at 0 … t − 1.",
        ),
        Mistake(
            "position off by one",
            lambda q, k, v, ks, vs: _step(q, k, v, ks, vs, at=len(ks) + 1),
            "the cached tokens stand at 0 … t − 1.",
        ),
        Mistake(
            "values rotated",
            lambda q, k, v, ks, vs: _step(q, k, _turn(v, len(ks), len(v)), ks, vs),
            "values are never turned.",
        ),
        Mistake(
            "values rotated",
            lambda q, k, v, ks, vs: _step(q, k, _turn(v, len(ks), len(v)), ks, _turn_rows(vs)),
            "values are never turned.",
        ),
        Mistake(
            "query not rotated",
            lambda q, k, v, ks, vs: _step(_turn(q, -len(ks), len(q)), k, v, ks, vs),
            "the query turns by its position too.",
        ),
        Mistake(
            "key not rotated",
            lambda q, k, v, ks, vs: _step(q, _turn(k, -len(ks), len(k)), v, ks, vs),
            "turn the new key by its position as well.",
        ),
        Mistake(
            "wrong sign",
            lambda q, k, v, ks, vs: _step(q, k, v, ks, vs, at=-len(ks)),
            "the cached keys were turned by +p.",
        ),
        Mistake(
            "layouts mixed",
            lambda q, k, v, ks, vs: _step(q, k, v, ks, vs, layout="half"),
            "the cached keys are turned in neighbouring pairs.",
        ),
        Mistake(
            "the new token left out",
            lambda q, k, v, ks, vs: _attend(_turn(q, len(ks), len(q)), ks, vs),
            "a token sees itself as well.",
        ),
        Mistake(
            "√head_dim forgotten",
            lambda q, k, v, ks, vs: _step(q * len(q) ** 0.5, k, v, ks, vs),
            "divide the scores by √head_dim.",
        ),
    )
    return check(
        attempt,
        _step,
        cases,
        mistakes,
        praise="the same output as a pass over the whole sequence, at the cost of one row.",
    )


def _count(mask):
    return int(np.count_nonzero(mask))


def _turns(length, rotary_dim, base):
    return _count(2 * np.pi / inverse_frequencies(rotary_dim, base) <= length)


def _pairs(rotary_dim, layout):
    i = np.arange(rotary_dim // 2)
    return (2 * i, 2 * i + 1) if layout == "interleaved" else (i, i + rotary_dim // 2)


def _turn(x, position, rotary_dim, layout="interleaved", power=1, inv_freq=None):
    angle = position * (inverse_frequencies(rotary_dim) ** power if inv_freq is None else inv_freq)
    out = np.array(x, float)
    first, second = _pairs(rotary_dim, layout)
    a, b = out[first], out[second]
    out[first], out[second] = (
        a * np.cos(angle) - b * np.sin(angle),
        a * np.sin(angle) + b * np.cos(angle),
    )
    return out


def _turn_rows(rows):
    return np.array([_turn(row, p, rows.shape[1]) for p, row in enumerate(rows)])


def _turn_by_head_dim(x, position, rotary_dim):
    return _turn(x, position, rotary_dim, inv_freq=inverse_frequencies(len(x))[: rotary_dim // 2])


def _reflect(x, position, rotary_dim):
    flipped = np.array(x, float)
    flipped[1:rotary_dim:2] *= -1
    return _turn(flipped, position, rotary_dim)


def _to_half(head_dim):
    return np.r_[0:head_dim:2, 1:head_dim:2]


def _rows(w, n_heads, order):
    return w.reshape(n_heads, -1, w.shape[1])[:, order].reshape(w.shape)


def _attend(q, keys, values):
    scores = keys @ q / np.sqrt(len(q))
    weights = np.exp(scores - scores.max())
    return weights @ values / weights.sum()


def _step(q, k, v, keys, values, at=None, layout="interleaved"):
    at, d = len(keys) if at is None else at, len(q)
    return _attend(
        _turn(q, at, d, layout), np.vstack([keys, _turn(k, at, d, layout)]), np.vstack([values, v])
    )


def _read_key(q, distance, answer):
    """Where the key scores highest with the query: distance = query's position − key's position,
    from −100 to 100.
    """
    key = _array(answer)
    if key is None:
        return Verdict("wrong", "return the key as an array of numbers.")
    if key.shape != q.shape:
        return Verdict("wrong", f"expected a key of shape {q.shape}, got {key.shape}.")
    if not np.isfinite(key).all():
        return Verdict("wrong", "the key must be finite.")
    if not key.any():
        return Verdict("wrong", "a key of zeros scores 0 at every distance.")
    tried = np.arange(-100, 101)

    def peak(layout):
        return int(tried[np.argmax([_turn(q, t, len(q), layout) @ key for t in tried])])

    found = peak("interleaved")
    if found == distance:
        return Verdict("correct", "")
    known = {
        -distance: (
            "wrong sign",
            "yours peaks as far ahead of the query as it should lie behind it.",
        ),
        0: ("not turned", "yours scores highest beside the query: turn it by the distance."),
        2 * distance: ("rotated twice", "yours peaks at twice the distance: one turn is enough."),
    }
    if found in known:
        return Verdict("mistake", known[found][1], known[found][0])
    if peak("half") == distance:
        return Verdict(
            "mistake", "it works for half-split pairs; here neighbours are a pair.", "layouts mixed"
        )
    return Verdict("wrong", f"for distance {distance} the largest score is at distance {found}.")
