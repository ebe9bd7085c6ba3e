"""Checks for chapter 04: what follows from the formula, and a head built from it."""

import numpy as np

from sinpe.exercises._check import NO_RETURN, NOT_ATTEMPTED, Mistake, Verdict, _array, check
from sinpe.formula import inverse_frequencies, shift_matrix, similarity, sinusoidal_encoding

LEAD = 1e-2  # of the largest score: with less, softmax sees no one key before the scores reach 300


def check_worst_offset(attempt):
    """attempt: the whole offset k from 1 to 50 at which all sines together explain least of the
    fastest sine, R² = cos²(k).
    """
    k = np.arange(1, 51)
    mistakes = (
        Mistake(
            "degrees",
            int(k[np.argmin(np.cos(np.radians(k)) ** 2)]),
            "the angle is k radians: one position turns the fastest hand by 1 radian.",
        ),
        Mistake(
            "most explained instead of least",
            int(k[np.argmax(np.cos(k) ** 2)]),
            "cos(22) is close to −1, but its square is close to 1.",
        ),
        Mistake(
            "only the first quarter turn tried",
            2,
            "2 is the whole number next to π/2, but later quarter turns fall closer to a whole"
            " number.",
        ),
    )
    return check(
        attempt,
        int(k[np.argmin(np.cos(k) ** 2)]),
        mistakes=mistakes,
        praise="11 is 7/4 turns almost exactly: 7π/2 is 10.9956.",
        otherwise="that is not the offset: compute cos²(k) for every k from 1 to 50 and take the"
        " smallest.",
    )


def check_similarity(attempt):
    """attempt(p, q, d_model) -> κ(q − p) = (2/d_model) Σ_i cos(ω_i (q − p)), from the two
    positions.
    """
    cases = [(3, 4, 4), (10, 7, 16), (5, 105, 64), (2, 9, 8)]
    mistakes = (
        Mistake(
            "2/d forgotten",
            lambda p, q, d: _cosines(q - p, d).sum(),
            "a code has squared length d/2: divide by it, so that κ(0) = 1.",
        ),
        Mistake(
            "divided by d",
            lambda p, q, d: _cosines(q - p, d).sum() / d,
            "there are d/2 pairs, not d: κ(0) must be 1.",
        ),
        Mistake(
            "degrees",
            lambda p, q, d: np.cos(np.radians((q - p) * inverse_frequencies(d))).mean(),
            "frequencies are radians per position.",
        ),
        Mistake(
            "position instead of offset",
            lambda p, q, d: _cosines(q, d).mean(),
            "κ takes the difference q − p, not one of the positions.",
        ),
        Mistake(
            "position instead of offset",
            lambda p, q, d: _cosines(p, d).mean(),
            "κ takes the difference q − p, not one of the positions.",
        ),
        Mistake(
            "sign of the sines flipped",
            lambda p, q, d: _cosines(q + p, d).mean(),
            "cos·cos + sin·sin is the cosine of the difference; with − it is of the sum.",
        ),
        Mistake(
            "sines alone",
            lambda p, q, d: (_sines(p, d) * _sines(q, d)).mean(),
            "the cosine columns are half of every code: add their products.",
        ),
        Mistake(
            "cosines alone",
            lambda p, q, d: (_cosines(p, d) * _cosines(q, d)).mean(),
            "the sine columns are half of every code: add their products.",
        ),
        Mistake(
            "doubled exponent",
            lambda p, q, d: np.cos((q - p) * inverse_frequencies(d) ** 2).mean(),
            "ω_i = base^(−2i/d) with i the pair index, not the column.",
        ),
    )
    return check(
        attempt,
        lambda p, q, d: similarity(q - p, d),
        cases,
        mistakes,
        praise="one number from the offset alone, 1 when it is 0.",
    )


def check_shift_matrix(attempt):
    """attempt(k, d_model) -> T_k for codes in the concatenated layout (all sines, then all
    cosines).
    """

    def built(angles, low=-1.0, high=1.0):
        cos, sin = np.diag(np.cos(angles)), np.diag(np.sin(angles))
        return np.block([[cos, high * sin], [low * sin, cos]])

    def angles(k, d):
        return k * inverse_frequencies(d)

    cases = [(3, 4), (1, 8), (-2, 6), (10, 16)]
    mistakes = (
        Mistake(
            "shifts backwards",
            lambda k, d: built(angles(k, d)).T,
            "yours is the transpose, T of −k: the minus sign belongs to the lower left block.",
        ),
        Mistake(
            "layout mixed",
            lambda k, d: shift_matrix(k, d),
            "yours is for interleaved pairs; here all sines come first, then all cosines.",
        ),
        Mistake(
            "layout mixed",
            lambda k, d: shift_matrix(-k, d),
            "yours is for interleaved pairs (and shifts backwards); here all sines come first.",
        ),
        Mistake(
            "minus sign missing",
            lambda k, d: built(angles(k, d), low=1.0),
            "cos(a + b) = cos a cos b − sin a sin b: a rotation needs one minus.",
        ),
        Mistake(
            "sines alone",
            lambda k, d: built(angles(k, d), low=0.0, high=0.0),
            "sin(a + b) needs cos a as well: the off-diagonal blocks are missing.",
        ),
        Mistake(
            "degrees", lambda k, d: built(np.radians(angles(k, d))), "k·ω is in radians already."
        ),
        Mistake(
            "doubled exponent",
            lambda k, d: built(k * inverse_frequencies(d) ** 2),
            "ω_i = base^(−2i/d) with i the pair index, not the column.",
        ),
        Mistake(
            "offset left out", lambda k, d: built(angles(1, d)), "the angle is k·ω_i, not ω_i."
        ),
        Mistake(
            "one frequency for all",
            lambda k, d: built(np.full(d // 2, float(k))),
            "every pair turns at its own speed: the angle is k·ω_i.",
        ),
    )
    return check(
        attempt,
        lambda k, d: shift_matrix(k, d, layout="concatenated"),
        cases,
        mistakes,
        praise="four diagonal blocks, one rotation a pair.",
    )


def check_offset_share(attempt):
    """attempt(scores) -> variance between offsets (weighted by how many pairs have that offset)
    divided by the total variance.
    """
    rng = np.random.default_rng(4)
    p = np.arange(6)
    cases = [
        (rng.normal(size=(5, 5)),),
        (rng.normal(size=(6, 6)) + 2 * p + 3,),
        (np.cos(np.subtract.outer(p, p)) + rng.normal(size=(6, 6)),),
    ]
    mistakes = (
        Mistake(
            "rows instead of diagonals",
            lambda s: s.mean(1).var() / s.var(),
            "a row is one query position; one offset is one diagonal.",
        ),
        Mistake(
            "columns instead of diagonals",
            lambda s: s.mean(0).var() / s.var(),
            "a column is one key position; one offset is one diagonal.",
        ),
        Mistake(
            "anti-diagonals",
            lambda s: _share(s[::-1]),
            "on an anti-diagonal p + q is constant; the offset is q − p.",
        ),
        Mistake(
            "sign of the offset lost",
            lambda s: _share(s, lambda o: abs(o)),
            "3 back and 3 ahead are different offsets.",
        ),
        Mistake(
            "offsets not weighted",
            lambda s: _diagonals(s).var() / s.var(),
            "a long diagonal holds more pairs than a short one: weight by their number.",
        ),
        Mistake(
            "standard deviations",
            lambda s: np.sqrt(_share(s)),
            "a share of variance is a ratio of variances, not of their roots.",
        ),
        Mistake(
            "within instead of between",
            lambda s: 1 - _share(s),
            "that is what is left inside the diagonals; their means are asked for.",
        ),
        Mistake(
            "not divided by the total",
            lambda s: _share(s) * s.var(),
            "a share has no unit: divide by the variance of all scores.",
        ),
        Mistake(
            "mean not subtracted",
            _raw_share,
            "a variance is measured from the mean of all scores, not from 0.",
        ),
    )
    return check(
        attempt, _share, cases, mistakes, praise="1 for a score that depends on the offset alone."
    )


def check_narrow_head(attempt):
    """attempt(k, d_model, head_dim) -> (w_q, w_k), each (head_dim, d_model), so that query p scores
    key p − k highest.

    Any pair of matrices that does so by a clear margin is right: the best key must be ahead of the
    second by a hundredth of the largest score. Codes are interleaved, positions 0 … 39, keys
    anywhere in the sequence.
    """
    if attempt is None or attempt is Ellipsis:
        return NOT_ATTEMPTED
    for k, d_model, head_dim in ((3, 64, 16), (1, 32, 8), (5, 512, 64)):
        verdict = _check_head(attempt, k, d_model, head_dim)
        if not verdict:
            return verdict
    return Verdict(
        "correct",
        "every query that has a token k places back scores it highest, in a head narrower than the"
        " model.",
    )


def _check_head(attempt, k, d_model, head_dim, length=40):
    try:
        answer = attempt(k, d_model, head_dim)
    except NotImplementedError:
        return NOT_ATTEMPTED
    except Exception as error:
        return Verdict("error", f"your code raised {type(error).__name__}: {error}")
    if answer is None or answer is Ellipsis:
        return NO_RETURN if answer is None and callable(attempt) else NOT_ATTEMPTED
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        return Verdict("wrong", "return two matrices, w_q and w_k.")
    if any(matrix is None or matrix is Ellipsis for matrix in answer):
        return NOT_ATTEMPTED
    w_q, w_k = map(_array, answer)
    if w_q is None or w_k is None:
        return Verdict("wrong", "w_q and w_k must be arrays of numbers.")
    where = f" for k = {k}, d_model = {d_model}, head_dim = {head_dim}"
    if w_q.shape == w_k.shape == (d_model, d_model):
        return Verdict(
            "mistake",
            f"the head has {d_model} rows{where}: keep head_dim of them, head_dim/2 whole pairs.",
            "head_dim ignored",
        )
    if w_q.shape == w_k.shape == (d_model, head_dim):
        return Verdict(
            "mistake",
            "here a query is W_q x, so the matrices are (head_dim, d_model): transpose them.",
            "matrices transposed",
        )
    if w_q.shape != (head_dim, d_model) or w_k.shape != (head_dim, d_model):
        return Verdict(
            "wrong",
            f"expected two arrays of shape {(head_dim, d_model)}{where}, got {w_q.shape} and"
            f" {w_k.shape}.",
        )
    if not (np.isfinite(w_q).all() and np.isfinite(w_k).all()):
        return Verdict("wrong", f"w_q and w_k must be finite{where}.")
    return _read_head(w_q, w_k, k, d_model, length, where)


def _read_head(w_q, w_k, k, d_model, length, where):
    """Say where the head looks, on rows whose targets p − 2k … p + 2k all exist where a mistake is
    to be named.
    """
    codes, p = sinusoidal_encoding(length, d_model), np.arange(length)
    if np.ptp(_scores(w_q, w_k, codes), axis=1).max() == 0:
        return Verdict(
            "wrong", f"every query scores all keys alike{where}: are the matrices still zero?"
        )
    looks = _scores(w_q, w_k, codes).argmax(axis=1)
    if (looks[k:] == p[k:] - k).all():
        lead = _lead(_scores(w_q, w_k, codes)[k:])
        if lead >= LEAD:
            return Verdict("correct", "")
        return Verdict(
            "mistake",
            f"the right key leads by {lead:.0e} of the largest score only{where}, and a hundredth"
            " is asked for: softmax gives its neighbours about the same weight. Keep pairs that"
            " turn fast.",
            "slow pairs",
        )
    inner = slice(2 * k, length - 2 * k)
    if not (w_q[:, 1::2].any() or w_k[:, 1::2].any()):
        return Verdict(
            "mistake",
            "your matrices read the sine columns only; a pair needs its cosine too.",
            "sines alone",
        )
    for offset, name, hint in (
        (
            k,
            "looks ahead",
            (
                "yours finds the key k places ahead: the query must be turned by −k, the transpose"
                " of T_k."
            ),
        ),
        (
            0,
            "looks at itself",
            "yours finds the query's own position: turn the query and leave the key as it is.",
        ),
        (
            -2 * k,
            "looks 2k back",
            "the shift was applied to the query and to the key: once is enough.",
        ),
    ):
        if (looks[inner] == p[inner] + offset).all():
            return Verdict("mistake", hint, name)
    if (looks[inner] == looks[inner][0]).all():
        return Verdict(
            "mistake",
            f"every query scores key {looks[inner][0]} highest{where}: a position, not an offset.",
            "position instead of offset",
        )
    halves = _scores(w_q, w_k, sinusoidal_encoding(length, d_model, layout="concatenated")).argmax(
        axis=1
    )
    if (halves[k:] == p[k:] - k).all():
        return Verdict(
            "mistake",
            "it works for codes with all sines first; here sine and cosine of a pair stand side by"
            " side.",
            "layout mixed",
        )
    row = int(np.flatnonzero(looks[k:] != p[k:] - k)[0]) + k
    return Verdict(
        "wrong",
        f"query {row} should score key {row - k} highest{where}, but scores key {looks[row]}"
        " highest.",
    )


def _lead(scores):
    """How far the best key of a query is ahead of the second, as a share of the largest score; the
    least of all queries.
    """
    second, best = np.sort(scores, axis=1)[:, -2:].T
    return (best - second).min() / np.abs(scores).max()


def _scores(w_q, w_k, codes):
    return (codes @ w_q.T) @ (codes @ w_k.T).T


def _cosines(position, d_model):
    return np.cos(position * inverse_frequencies(d_model))


def _sines(position, d_model):
    return np.sin(position * inverse_frequencies(d_model))


def _diagonals(scores):
    """Mean score of every offset, from −(n − 1) to n − 1."""
    return np.array(
        [np.diagonal(scores, offset).mean() for offset in range(1 - len(scores), len(scores))]
    )


def _groups(scores, key):
    p = np.arange(len(scores))
    _, group = np.unique(key(p - p[:, None]).ravel(), return_inverse=True)
    return (np.bincount(group, scores.ravel()) / np.bincount(group))[group]


def _share(scores, key=lambda offset: offset):
    return _groups(scores, key).var() / scores.var()


def _raw_share(scores):
    return (_groups(scores, lambda offset: offset) ** 2).mean() / (scores**2).mean()
