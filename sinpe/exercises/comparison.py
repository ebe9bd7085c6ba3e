"""Checks for chapter 14: which characters a sliding window judges, what methods add in parameters,
and the loss of a block from its places.
"""

from sinpe.exercises._check import Mistake, check

_SIZES = [(64, 16), (20, 4), (48, 48), (33, 8)]
_SHAPES = [
    (method, *shape)
    for method in ("none", "sinusoidal", "learned", "shaw", "transformer-xl", "t5", "rope", "alibi")
    for shape in ((4, 32, 64, 16, 32), (8, 16, 100, 12, 20))
]
_PLACES = [
    ([(0, 0, 3.2), (1, 1, 2.6), (2, 3, 2.3), (4, 7, 2.0), (8, 15, 1.9)],),
    ([(0, 0, 4.0), (1, 1, 1.0), (2, 3, 1.0)],),
    (
        [
            (0, 0, 2.5),
            (1, 1, 2.4),
            (2, 3, 2.2),
            (4, 7, 2.1),
            (8, 15, 2.0),
            (16, 31, 2.6),
            (32, 63, 3.4),
        ],
    ),
]


def check_judged(attempt):
    """attempt(total, length) -> list of (start of the window, first judged place, last judged
    place), windows of `length` that start every length // 2.
    """
    mistakes = (
        Mistake(
            "blocks side by side",
            lambda n, w: [(s, s, s + w - 1) for s in range(0, n - w + 1, w)],
            "the windows overlap: a new one starts every length // 2.",
        ),
        Mistake(
            "judged twice",
            lambda n, w: [(s, s, s + w - 1) for s, _, _ in _judged(n, w)],
            "after the first window only the second half is judged, or places count twice.",
        ),
        Mistake(
            "first window halved",
            lambda n, w: [(s, s + w // 2, b) for s, _, b in _judged(n, w)],
            "the first window is judged everywhere: nothing else judges its first half.",
        ),
        Mistake(
            "the wrong half",
            lambda n, w: [(s, s, s + (w if s == 0 else w // 2) - 1) for s, _, _ in _judged(n, w)],
            "the second half is judged: it has at least length // 2 places before it.",
        ),
        Mistake(
            "places within the window",
            lambda n, w: [(s, a - s, b - s) for s, a, b in _judged(n, w)],
            "count the places in the text, not from the window's start.",
        ),
        Mistake(
            "end not included",
            lambda n, w: [(s, a, b + 1) for s, a, b in _judged(n, w)],
            "the last judged place is start + length − 1.",
        ),
        Mistake(
            "one window too few",
            lambda n, w: _judged(n, w)[:-1],
            "a window that ends exactly at the end of the text counts.",
        ),
        Mistake(
            "no window at the end",
            lambda n, w: [row for row in _judged(n, w) if row[0] < n - w],
            "range leaves out its end: a window may begin at total − length.",
        ),
        Mistake(
            "a window beyond the end",
            lambda n, w: [
                *_judged(n, w),
                (
                    _judged(n, w)[-1][0] + w // 2,
                    *(x + w // 2 for x in (_judged(n, w)[-1][0] + w // 2, _judged(n, w)[-1][2])),
                ),
            ],
            "a window must fit into the text.",
        ),
    )
    return check(
        attempt,
        _judged,
        _SIZES,
        mistakes,
        praise="every place once, and after the first window with half a window before it.",
    )


def check_added_parameters(attempt):
    """attempt(method, n_heads, head_dim, length, max_distance, n_buckets) -> parameters that one
    shared instance of the method adds to a model.
    """
    mistakes = (
        Mistake(
            "one side only",
            lambda m, h, w, n, k, b: h * w * (k + 1) if m == "shaw" else _added(m, h, w, n, k, b),
            "distances run from −max_distance to max_distance: 2·max_distance + 1 rows.",
        ),
        Mistake(
            "values counted too",
            lambda m, h, w, n, k, b: (
                2 * _added(m, h, w, n, k, b) if m == "shaw" else _added(m, h, w, n, k, b)
            ),
            "the vectors are for the keys only here; the paper has a second set for the values.",
        ),
        Mistake(
            "one set of vectors for all heads",
            lambda m, h, w, n, k, b: (
                _added(m, 1, w, n, k, b) if m == "shaw" else _added(m, h, w, n, k, b)
            ),
            "here each head has its own rows.",
        ),
        Mistake(
            "one set of buckets for all heads",
            lambda m, h, w, n, k, b: (
                _added(m, 1, w, n, k, b) if m == "t5" else _added(m, h, w, n, k, b)
            ),
            "each head has a number for every bucket.",
        ),
        Mistake(
            "zero forgotten",
            lambda m, h, w, n, k, b: h * w * 2 * k if m == "shaw" else _added(m, h, w, n, k, b),
            "distance 0 has a row too.",
        ),
        Mistake(
            "heads forgotten",
            lambda m, h, w, n, k, b: (
                _added(m, 1, w, n, k, b) if m in ("shaw", "t5") else _added(m, h, w, n, k, b)
            ),
            "here each head has its own rows and its own buckets.",
        ),
        Mistake(
            "a number for each distance",
            lambda m, h, w, n, k, b: h * (2 * n - 1) if m == "t5" else _added(m, h, w, n, k, b),
            "T5 learns one number a bucket and head, whatever the length.",
        ),
        Mistake(
            "a number for each position",
            lambda m, h, w, n, k, b: n if m == "learned" else _added(m, h, w, n, k, b),
            "a row of the table has d_model = n_heads · head_dim numbers.",
        ),
        Mistake(
            "only the biases",
            lambda m, h, w, n, k, b: (
                2 * h * w if m == "transformer-xl" else _added(m, h, w, n, k, b)
            ),
            "beside u and v there is the matrix for the codes of distances.",
        ),
        Mistake(
            "only the matrix",
            lambda m, h, w, n, k, b: (
                (h * w) ** 2 if m == "transformer-xl" else _added(m, h, w, n, k, b)
            ),
            "u and v have n_heads · head_dim numbers each.",
        ),
        Mistake(
            "the sinusoidal table counted",
            lambda m, h, w, n, k, b: n * h * w if m == "sinusoidal" else _added(m, h, w, n, k, b),
            "the sinusoidal table is computed: nothing in it is trained.",
        ),
        Mistake(
            "slopes counted",
            lambda m, h, w, n, k, b: h if m == "alibi" else _added(m, h, w, n, k, b),
            "ALiBi's slopes are fixed: nothing is trained.",
        ),
    )
    return check(
        attempt,
        _added,
        _SHAPES,
        mistakes,
        praise="most methods add nothing, and only the learned table grows with the length.",
    )


def check_block_loss(attempt):
    """attempt(places) -> mean loss of the whole block from a list of (first place, last place, mean
    loss between them).
    """
    mistakes = (
        Mistake(
            "not weighted",
            lambda p: sum(x for _, _, x in p) / len(p),
            "the ranges are of different size: weight each by its number of places.",
        ),
        Mistake(
            "weights one too small",
            lambda p: sum((b - a) * x for a, b, x in p) / sum(b - a for a, b, _ in p),
            "both ends count: last − first + 1 places.",
        ),
        Mistake(
            "sum instead of mean",
            lambda p: sum((b - a + 1) * x for a, b, x in p),
            "divide by the number of places.",
        ),
        Mistake(
            "last place as length",
            lambda p: sum((b - a + 1) * x for a, b, x in p) / p[-1][1],
            "places count from 0: the block has last + 1 of them.",
        ),
        Mistake(
            "the last range alone",
            lambda p: p[-1][2],
            "the early places belong to the block as well.",
        ),
    )
    return check(
        attempt, _block, _PLACES, mistakes, praise="each range counts as often as it has places."
    )


def _judged(total, length):
    return [
        (s, s if s == 0 else s + length - length // 2, s + length - 1)
        for s in range(0, total - length + 1, length // 2)
    ]


def _added(method, n_heads, head_dim, length, max_distance, n_buckets):
    width = n_heads * head_dim
    added = {
        "learned": length * width,
        "shaw": width * (2 * max_distance + 1),
        "transformer-xl": 2 * width + width**2,
        "t5": n_heads * n_buckets,
    }
    return added.get(method, 0)


def _block(places):
    return sum((last - first + 1) * loss for first, last, loss in places) / sum(
        last - first + 1 for first, last, _ in places
    )
