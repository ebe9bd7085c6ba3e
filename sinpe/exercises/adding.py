"""Checks for chapter 05: weights of a concatenation, the ratio of word to code, position's part of
a score, and adding at given positions.
"""

import numpy as np

from sinpe.exercises._check import Mistake, check
from sinpe.formula import sinusoidal_encoding


def check_concatenation_parameters(attempt):
    """attempt(vocab_size, d_model, d_pos) -> trained weights: words of width d_model, fixed codes
    of width d_pos, one matrix back to d_model, no bias.
    """

    def right(v, d, p):
        return v * d + d * (d + p)

    mistakes = (
        Mistake(
            "projection forgotten",
            lambda v, d, p: v * d,
            "the matrix from d + d_pos back to d is trained as well.",
        ),
        Mistake(
            "table forgotten", lambda v, d, p: d * (d + p), "the table of words is trained as well."
        ),
        Mistake(
            "codes' columns only",
            lambda v, d, p: v * d + d * p,
            "the matrix multiplies the word as well: it has d + d_pos columns.",
        ),
        Mistake(
            "words' columns only",
            lambda v, d, p: v * d + d * d,
            "the matrix multiplies the code as well: it has d + d_pos columns.",
        ),
        Mistake(
            "square of the full width",
            lambda v, d, p: v * d + (d + p) ** 2,
            "the matrix leads back to width d, so it has d rows and not d + d_pos.",
        ),
        Mistake(
            "code stored with every word",
            lambda v, d, p: v * (d + p) + d * (d + p),
            "the code is fixed and is put beside the word later: the table is vocab_size ×"
            " d_model.",
        ),
        Mistake(
            "no projection, wider table",
            lambda v, d, p: v * (d + p),
            "the table keeps width d; what is trained besides is one matrix.",
        ),
        Mistake(
            "bias counted", lambda v, d, p: right(v, d, p) + d, "here the projection has no bias."
        ),
        Mistake(
            "one matrix each for query, key and value",
            lambda v, d, p: v * d + 3 * d * (d + p),
            "the pair is projected once, before the first layer.",
        ),
    )
    cases = [(1000, 64, 16), (37_000, 512, 512), (50, 8, 4), (50, 8, 0)]
    return check(
        attempt,
        right,
        cases,
        mistakes,
        praise="the table of words, and one matrix of d × (d + d_pos).",
    )


def check_ratio(attempt):
    """attempt(words, codes, ratio) -> the words scaled so that RMS(words) / RMS(codes) = ratio;
    words (vocab, d), codes (seq, d).
    """
    rng = np.random.default_rng(5)
    cases = [
        (scale * rng.normal(size=(vocab, d)), sinusoidal_encoding(n, d), r)
        for scale, vocab, d, n, r in ((0.02, 40, 8, 12, 2.0), (3.0, 9, 16, 30, 0.1))
    ]
    mistakes = (
        Mistake(
            "ratio upside down",
            lambda w, c, r: w * (_rms(c) / _rms(w) / r),
            "token over position: above 1 the words are the louder ones.",
        ),
        Mistake(
            "present size of the words ignored",
            lambda w, c, r: w * r,
            "that multiplies the ratio the tables have now; first divide by it.",
        ),
        Mistake(
            "present size of the words ignored",
            lambda w, c, r: w * (r * _rms(c)),
            "the words have a size already: divide by their RMS.",
        ),
        Mistake(
            "size of the codes ignored",
            lambda w, c, r: w * (r / _rms(w)),
            "now the words have RMS = ratio; the codes are not of RMS 1.",
        ),
        Mistake(
            "norm instead of RMS",
            lambda w, c, r: w * (r * np.linalg.norm(c) / np.linalg.norm(w)),
            "a whole table's norm grows with its number of rows; take the mean of the squares.",
        ),
        Mistake(
            "squares instead of roots",
            lambda w, c, r: w * (r * _rms(c) ** 2 / _rms(w) ** 2),
            "RMS is the root of the mean square.",
        ),
        Mistake(
            "standard deviation instead of RMS",
            lambda w, c, r: w * (r * c.std() / w.std()),
            "codes have a mean, which the standard deviation leaves out: take the mean of the"
            " squares.",
        ),
        Mistake(
            "ratio of powers",
            lambda w, c, r: w * (np.sqrt(r) * _rms(c) / _rms(w)),
            "that sets the ratio of mean squares; the ratio is of their roots.",
        ),
        Mistake(
            "each row scaled by itself",
            _row_by_row,
            "one factor for the whole table: words may differ in size.",
        ),
        Mistake(
            "codes scaled instead",
            lambda w, c, r: c * (_rms(w) / _rms(c) / r),
            "return the words; the codes stay as they are.",
        ),
        Mistake(
            "the factor alone",
            lambda w, c, r: r * _rms(c) / _rms(w),
            "that is the right factor; return the words multiplied by it.",
        ),
        Mistake(
            "the sum instead of the words",
            lambda w, c, r: w[: len(c)] + c[: len(w)],
            "return the scaled table of words; nothing is added yet.",
        ),
    )
    return check(
        attempt,
        lambda w, c, r: w * (r * _rms(c) / _rms(w)),
        cases,
        mistakes,
        praise="the table has the size that was asked for.",
    )


def check_position_part(attempt):
    """attempt(x, p, w_q, w_k) -> (seq, seq): the scaled scores of x + p minus those of x; x, p
    (seq, d_model), w_q, w_k (head_dim, d_model).
    """
    rng = np.random.default_rng(6)
    cases = [
        (rng.normal(size=(n, d)), sinusoidal_encoding(n, d), *rng.normal(size=(2, h, d)))
        for n, d, h in ((5, 8, 4), (7, 12, 3))
    ]

    def parts(*names):
        return lambda x, p, q, k: sum(
            _scores({"x": x, "p": p}[a], {"x": x, "p": p}[b], q, k) for a, b in names
        )

    right = parts("xp", "px", "pp")
    mistakes = (
        Mistake(
            "mixed terms forgotten",
            parts("pp"),
            "(x + p)·(x + p) has four terms: two of them mix content and position.",
        ),
        Mistake(
            "position–position forgotten",
            parts("xp", "px"),
            "the code of the query also meets the code of the key.",
        ),
        Mistake(
            "position–content forgotten",
            parts("xp", "pp"),
            "the code of the query meets the content of the key as well.",
        ),
        Mistake(
            "content–position forgotten",
            parts("px", "pp"),
            "the content of the query meets the code of the key as well.",
        ),
        Mistake(
            "mixed terms taken for equal",
            parts("xp", "xp", "pp"),
            "W_q and W_k differ, so content–position is not position–content.",
        ),
        Mistake(
            "mixed terms taken for equal",
            parts("px", "px", "pp"),
            "W_q and W_k differ, so content–position is not position–content.",
        ),
        Mistake(
            "the whole score",
            parts("xx", "xp", "px", "pp"),
            "take away what is there without codes: content–content.",
        ),
        Mistake(
            "content–content only", parts("xx"), "that is the part that does not need position."
        ),
        Mistake(
            "wrong sign",
            lambda *case: -right(*case),
            "with the codes minus without them, not the other way round.",
        ),
        Mistake(
            "√head_dim forgotten",
            lambda x, p, q, k: right(x, p, q, k) * len(q) ** 0.5,
            "scores are divided by √head_dim.",
        ),
        Mistake(
            "divided by √d_model",
            lambda x, p, q, k: right(x, p, q, k) * (len(q) / q.shape[1]) ** 0.5,
            "the width of a head is the number of rows of w_q.",
        ),
        Mistake(
            "divided by head_dim",
            lambda x, p, q, k: right(x, p, q, k) / len(q) ** 0.5,
            "divide by the root of head_dim.",
        ),
        Mistake(
            "queries and keys swapped",
            lambda x, p, q, k: right(x, p, q, k).T,
            "rows are queries, made by w_q; columns are keys, made by w_k.",
        ),
    )
    return check(
        attempt,
        right,
        cases,
        mistakes,
        praise="two mixed terms and position–position: three of the four.",
    )


def check_added_positions(attempt):
    """attempt(x, positions) -> x plus the code of each token's position; x (batch, seq, d_model),
    positions (seq,) or (batch, seq).
    """
    rng = np.random.default_rng(7)
    places = (
        np.arange(4) + 3,
        np.array([[0, 0, 1, 2], [0, 1, 2, 3], [7, 8, 0, 1], [5, 5, 9, 2]]),
        np.array([[4, 2, 9]]),
        np.array([6, 1, 8, 0, 2]),
    )
    # batch = seq in two cases, so that a swapped axis gives numbers and no error
    shapes = ((4, 4, 8), (4, 4, 8), (1, 3, 6), (3, 5, 4))
    cases = [(rng.normal(size=shape), at) for shape, at in zip(shapes, places, strict=True)]
    mistakes = (
        Mistake(
            "positions ignored",
            lambda x, at: x + sinusoidal_encoding(x.shape[1], x.shape[2]),
            "they are given: 0 … seq − 1 is right only for rows that start at 0.",
        ),
        Mistake(
            "the first row's positions for all",
            lambda x, at: x + _codes(x, at if at.ndim == 1 else at[:1]),
            "a row of the batch may have its own positions.",
        ),
        Mistake(
            "positions start at 1", lambda x, at: x + _codes(x, at + 1), "use them as they are."
        ),
        Mistake(
            "counted on from the first position",
            lambda x, at: x + _codes(x, at[..., :1] + np.arange(x.shape[1])),
            "a row may jump, as where padding ends or a second text begins: use every position as"
            " it is.",
        ),
        Mistake(
            "halves",
            lambda x, at: (
                x + sinusoidal_encoding(at.astype(float), x.shape[2], layout="concatenated")
            ),
            "use the paper's layout, each sine beside its cosine, as `sinusoidal_encoding`"
            " gives it.",
        ),
        Mistake("added twice", lambda x, at: x + 2 * _codes(x, at), "the code is added once."),
        Mistake(
            "x is lost", lambda x, at: 0 * x + _codes(x, at), "return the sum, not the codes alone."
        ),
        Mistake(
            "scaled",
            lambda x, at: x * x.shape[2] ** 0.5 + _codes(x, at),
            "here x is added as it is; the factor √d_model belongs to the embedding.",
        ),
        Mistake(
            "multiplied", lambda x, at: x * _codes(x, at), "the codes are added, not multiplied."
        ),
    )
    verdict = check(
        attempt,
        lambda x, at: x + _codes(x, at),
        cases,
        mistakes,
        praise="each token has the code of its own position, in every row.",
    )
    along_batch = _wrong_axis(attempt, cases[:2]) if verdict.status in ("wrong", "error") else None
    # `or` would not do: a verdict is true only when correct
    return verdict if along_batch is None else along_batch


def _wrong_axis(attempt, square):
    """The verdict where codes run along the batch, seen where batch = seq: other shapes give an
    error.
    """
    wrong = (
        lambda x, at: (
            x + (_codes(x, at).swapaxes(0, 1) if at.ndim == 2 else _codes(x, at)[:, None])
        ),
        lambda x, at: x + _codes(x, at if at.ndim == 1 else at[:, 0])[:, None],
    )
    hint = (
        "token t of row b gets the code of another row: yours run along the batch. Positions belong"
        " to the second axis of x."
    )
    mistakes = [Mistake("broadcast over the wrong axis", along, hint) for along in wrong]
    verdict = check(attempt, lambda x, at: x + _codes(x, at), square, mistakes)
    return verdict if verdict.mistake else None


def _codes(x, positions):
    return sinusoidal_encoding(positions.astype(float), x.shape[2])


def _rms(values):
    return np.sqrt(np.mean(values**2))


def _row_by_row(words, codes, ratio):
    return words * (ratio * _rms(codes) / np.sqrt(np.mean(words**2, axis=1, keepdims=True)))


def _scores(a, b, w_q, w_k):
    return (a @ w_q.T) @ (b @ w_k.T).T / np.sqrt(len(w_q))
