"""Checks for chapter 09: clipped rows, the relative shift, T5's buckets, and the four terms of
Transformer-XL.
"""

import numpy as np

from sinpe.exercises._check import NO_RETURN, NOT_ATTEMPTED, Mistake, Verdict, _array, check


def check_shaw_rows(attempt):
    """attempt(n, max_distance) -> (n, n) integers: the row of Shaw's table that query i reads for
    key j, clip(j − i) + max_distance.
    """

    def rows(clip, sign=1, shift=1):
        def build(n, k):
            offset = sign * np.subtract.outer(np.arange(n), np.arange(n)).T  # j − i
            return clip(offset, k) + shift * k

        return build

    def clip(offset, k):
        return np.clip(offset, -k, k)

    mistakes = (
        Mistake(
            "sign of the relative position reversed",
            rows(clip, sign=-1),
            "yours grows to the left. Relative position is key minus query, j − i.",
        ),
        Mistake(
            "distances not clipped",
            rows(lambda d, k: d),
            "the table has 2·max_distance + 1 rows only: clip j − i before you add max_distance.",
        ),
        Mistake(
            "clipped at one end only",
            rows(lambda d, k: np.minimum(d, k)),
            "keys far ahead are clipped, keys far behind are not: rows become negative.",
        ),
        Mistake(
            "clipped at one end only",
            rows(lambda d, k: np.maximum(d, -k)),
            "keys far behind are clipped, keys far ahead are not: rows run out of the table.",
        ),
        Mistake(
            "clipped at the wrong end",
            rows(lambda d, k: np.clip(d, -k, k - 1)),
            "the last row, for max_distance ahead, is never read: clip at +max_distance.",
        ),
        Mistake(
            "clipped at the wrong end",
            rows(lambda d, k: np.clip(d, -k + 1, k)),
            "row 0, for max_distance behind, is never read: clip at −max_distance.",
        ),
        Mistake(
            "clipped after the shift",
            lambda n, k: np.clip(rows(lambda d, k: d)(n, k), -k, k),
            "clip j − i first, then add max_distance.",
        ),
        Mistake(
            "shift left out",
            rows(clip, shift=0),
            "row numbers start at 0: add max_distance. As it is, −1 reads the *last* row, without"
            " an error.",
        ),
        Mistake(
            "direction lost",
            rows(lambda d, k: np.minimum(abs(d), k)),
            "behind and ahead are different rows: do not take the absolute value.",
        ),
        Mistake(
            "direction lost",
            rows(lambda d, k: np.minimum(abs(d), k), shift=0),
            "behind and ahead are different rows: do not take the absolute value.",
        ),
    )
    return check(
        attempt,
        rows(clip),
        [(4, 2), (7, 3), (5, 1)],
        mistakes,
        praise="2·max_distance + 1 rows, each diagonal one of them.",
    )


def _shift(x, *, pad="left", keep=slice(1, None)):
    q, k = x.shape
    zero = np.zeros((q, 1))
    padded = np.concatenate([zero, x] if pad == "left" else [x, zero], axis=1)
    return padded.reshape(k + 1, q)[keep].reshape(q, k)


def check_relative_shift(attempt):
    """attempt(x): x (q, k), column c of row i belongs to distance k − 1 − c; -> (q, k) by keys,
    judged where a causal mask lets through.

    The queries are the last q of k positions, so query i may read keys 0 … i + k − q.
    """
    rng = np.random.default_rng(9)
    cases = [
        (np.arange(15.0).reshape(3, 5),),
        (rng.normal(size=(4, 4)),),
        (rng.normal(size=(2, 7)),),
    ]
    answers = []
    try:
        for (x,) in cases:
            answer = attempt(x.copy()) if callable(attempt) else attempt
            if answer is None or answer is Ellipsis:
                return NO_RETURN if answer is None and callable(attempt) else NOT_ATTEMPTED
            answers.append(_array(answer, keep=True))
    except NotImplementedError:
        return NOT_ATTEMPTED
    except Exception as error:
        return Verdict("error", f"your code raised {type(error).__name__}: {error}")
    for (x,), answer in zip(cases, answers, strict=True):
        if answer is None:
            return Verdict("wrong", "return the shifted matrix as an array of numbers.")
        if answer.shape != x.shape:
            return Verdict(
                "wrong", f"expected shape {x.shape}, the shape of x, got {answer.shape}."
            )
    found = dict(zip((x.tobytes() for (x,) in cases), answers, strict=True))
    mistakes = (
        Mistake(
            "sliced at the wrong end",
            _seen(lambda x: _shift(x, keep=slice(None, -1))),
            "drop the first row of the reshaped matrix, not the last one.",
        ),
        Mistake(
            "padded on the right",
            _seen(lambda x: _shift(x, pad="right")),
            "the column of zeros goes in front.",
        ),
        Mistake(
            "padded on the right",
            _seen(lambda x: _shift(x, pad="right", keep=slice(None, -1))),
            "the column of zeros goes in front, and the first row is dropped.",
        ),
        Mistake(
            "nothing shifted",
            _seen(lambda x: x),
            "row i must move left by q − 1 − i places. Reshape to (k + 1, q), not back to (q, k"
            " + 1).",
        ),
        Mistake(
            "shifted by i instead of q − 1 − i",
            _seen(lambda x: np.stack([np.roll(row, -i) for i, row in enumerate(x)])),
            "the last row stays, the first one moves most.",
        ),
        Mistake(
            "shifted the wrong way",
            _seen(lambda x: np.stack([np.roll(row, len(x) - 1 - i) for i, row in enumerate(x)])),
            "rows move to the left: the first one by q − 1.",
        ),
        Mistake(
            "columns read in the wrong order",
            _seen(lambda x: _shift(x[:, ::-1])),
            "column 0 belongs to the largest distance, k − 1.",
        ),
    )
    return check(
        _seen(lambda x: found[x.tobytes()]),
        _seen(_shift),
        cases,
        mistakes,
        praise="equal to an explicit gather wherever the mask lets through.",
    )


def _seen(function):
    """The answer with zeros where a causal mask hides it, since any value is right there."""
    return lambda x: np.where(
        np.tri(*x.shape, x.shape[1] - x.shape[0], dtype=bool), function(x), 0.0
    )


def check_bucket(attempt):
    """attempt(relative_position, bidirectional) -> T5's bucket of one key − query, with 32 buckets
    and max_distance 128.
    """
    # every edge has a distance on both of its sides
    relative = (-300, *range(-160, 161), 300)
    cases = [(r, bidirectional) for bidirectional in (True, False) for r in relative]
    mistakes = (
        Mistake(
            "sign of the relative position reversed",
            lambda r, b: _bucket(-r, b),
            "relative position is key − query: positive means the key is ahead.",
        ),
        Mistake(
            "offset of the other direction missing",
            lambda r, b: _bucket(r, b) % 16 if b else _bucket(r, b),
            "keys ahead of the query use buckets 16 to 31.",
        ),
        Mistake(
            "last bucket not capped",
            lambda r, b: _bucket(r, b, cap=False),
            "beyond max_distance the logarithm goes on growing: take the minimum with the last"
            " bucket.",
        ),
        Mistake(
            "buckets not halved",
            lambda r, b: _bucket(r, b, halve=False),
            "a bidirectional model has 16 buckets a direction: 8 exact ones, 8 wide ones.",
        ),
        Mistake(
            "rounded instead of floored",
            lambda r, b: _bucket(r, b, floor=round),
            "a wide bucket starts at its edge: round down.",
        ),
        Mistake(
            "keys ahead not collected in bucket 0",
            lambda r, b: _bucket(r if b else -abs(r), b),
            "in the causal form every key ahead falls into bucket 0.",
        ),
        Mistake(
            "no exact buckets",
            lambda r, b: _bucket(r, b, exact=False),
            "half of the buckets of a direction hold one distance each; only the others are"
            " logarithmic.",
        ),
        Mistake(
            "direction lost",
            lambda r, b: _bucket(-abs(r), b),
            "ahead and behind have buckets of their own.",
        ),
    )
    return check(attempt, _bucket, cases, mistakes, praise="every edge is right, in both forms.")


def _bucket(relative, bidirectional, *, cap=True, halve=True, floor=np.floor, exact=True):
    buckets, offset, distance = 32, 0, max(-relative, 0)
    if bidirectional:
        distance, buckets = abs(relative), 16 if halve else 32
        offset = 16 if relative > 0 else 0
    near = buckets // 2
    if distance < near and exact:
        return offset + distance
    if exact:
        wide = near + floor(np.log(distance / near) / np.log(128 / near) * (buckets - near) + 1e-12)
    else:
        wide = floor(np.log(max(distance, 1)) / np.log(128) * buckets + 1e-12)
    return int(offset + (min(wide, buckets - 1) if cap else wide))


def check_four_terms(attempt):
    """attempt(q, k, r, u, v) -> Transformer-XL's scores (n, n), divided by √head_dim.

    q, k: (n, head_dim); r: (2n − 1, head_dim), row n − 1 + δ is W r_δ for the distance δ = i − j,
        query minus key; u, v: (head_dim,).
    """
    rng = np.random.default_rng(10)
    cases = [
        tuple(rng.normal(size=shape) for shape in ((n, h), (n, h), (2 * n - 1, h), (h,), (h,)))
        for n, h in ((3, 4), (5, 9))
    ]

    def reversed_sign(q, k, r, u, v):
        return _four(q, k, r[::-1], u, v)

    mistakes = (
        Mistake(
            "sign of the distance reversed",
            reversed_sign,
            "row n − 1 + δ belongs to δ = i − j, query minus key: behind is positive here.",
        ),
        Mistake(
            "u and v swapped",
            lambda q, k, r, u, v: _four(q, k, r, v, u),
            "u meets the content of the key, v meets its distance.",
        ),
        Mistake(
            "1/√head_dim forgotten",
            lambda q, k, r, u, v: _four(q, k, r, u, v) * len(u) ** 0.5,
            "all four terms are divided by √head_dim.",
        ),
        Mistake(
            "only the content term scaled",
            lambda q, k, r, u, v: (
                _four(q, k, r, u, v) * len(u) ** 0.5 - q @ k.T * (len(u) ** 0.5 - 1) / len(u) ** 0.5
            ),
            "all four terms are divided by √head_dim.",
        ),
        Mistake(
            "u left out",
            lambda q, k, r, u, v: _four(q, k, r, 0 * u, v),
            "the third term, u · k_j, is missing.",
        ),
        Mistake(
            "v left out",
            lambda q, k, r, u, v: _four(q, k, r, u, 0 * v),
            "the fourth term, v · W r_(i−j), is missing.",
        ),
        Mistake(
            "content term left out",
            lambda q, k, r, u, v: _four(q, k, r, u, v) - q @ k.T / len(u) ** 0.5,
            "the first term, q_i · k_j, is missing.",
        ),
        Mistake(
            "position of the key instead of the distance",
            lambda q, k, r, u, v: ((q + u) @ k.T + (q + v) @ r[len(q) - 1 :].T) / len(u) ** 0.5,
            "every row of your scores reads the same rows of r: the distance i − j changes with i.",
        ),
    )
    return check(
        attempt, _four, cases, mistakes, praise="four terms, one position vector for each distance."
    )


def _four(q, k, r, u, v):
    n = len(q)
    i, j = np.ogrid[:n, :n]
    position = ((q + v)[:, None] * r[n - 1 + i - j]).sum(-1)
    return ((q + u) @ k.T + position) / len(u) ** 0.5
