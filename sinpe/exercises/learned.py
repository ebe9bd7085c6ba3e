"""Checks for chapter 08: the size of a table, position ids, what trains a row, a p-value, and a
stretched table.
"""

import numpy as np

from sinpe.exercises._check import Mistake, check


def check_table_size(attempt):
    """attempt(max_tokens, d_model, padding_idx) -> numbers in a table whose real positions start at
    row padding_idx + 1.
    """
    cases = [(512, 768, 1), (100, 16, 0), (64, 8, 3)]
    mistakes = (
        Mistake(
            "rows before the first position left out",
            lambda n, d, p: n * d,
            "position 0 reads row padding_idx + 1: the rows before it exist as well.",
        ),
        Mistake(
            "off by one row",
            lambda n, d, p: (n + p) * d,
            "rows 0 … padding_idx are padding_idx + 1 rows, not padding_idx.",
        ),
        Mistake(
            "off by one row",
            lambda n, d, p: (n + p + 2) * d,
            "the last position is max_tokens − 1 and reads row padding_idx + max_tokens: one row"
            " less.",
        ),
        Mistake(
            "a fixed offset of 2",
            lambda n, d, p: (n + 2) * d,
            "2 is right where padding is token 1; in general it is padding_idx + 1.",
        ),
        Mistake(
            "rows only",
            lambda n, d, p: n + p + 1,
            "that is the number of rows: each holds d_model numbers.",
        ),
        Mistake(
            "offset not multiplied by the width",
            lambda n, d, p: n * d + p + 1,
            "every row has d_model numbers, the first ones too.",
        ),
    )
    return check(
        attempt,
        lambda n, d, p: (n + p + 1) * d,
        cases,
        mistakes,
        praise="padding_idx + 1 rows come before the first position.",
    )


def check_position_ids(attempt):
    """attempt(real): booleans (batch, seq), True where a token is no padding -> integer ids of the
    same shape, judged at real tokens.

    Padding may have any id from 0 to seq − 1.
    """
    cases = [
        (
            np.array(
                [[0, 0, 0, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0, 1, 1]], bool
            ),
        ),
        (np.array([[1, 1, 1, 0, 0], [0, 1, 1, 1, 0], [0, 0, 1, 1, 1]], bool),),
    ]

    def judged(function):
        """Ids of padding that exist all count as 0."""

        def ids(real):
            answer = function(real.copy()) if callable(function) else function
            if answer is None or answer is Ellipsis:
                return answer
            try:
                found = np.array(answer.numpy() if hasattr(answer, "numpy") else answer, float)
            except (TypeError, ValueError):
                return answer
            if found.shape == real.shape:
                found[~real & (found >= 0) & (found < real.shape[1]) & (found % 1 == 0)] = 0
            return found

        return ids

    def right(real):
        return np.maximum(np.cumsum(real, axis=1) - 1, 0)

    mistakes = (
        Mistake(
            "ids from 1",
            lambda m: np.cumsum(m, axis=1),
            "the running sum is 1 at the first real token: subtract one.",
        ),
        Mistake(
            "ids from 1",
            lambda m: np.cumsum(m, axis=1) * m,
            "the running sum is 1 at the first real token: subtract one.",
        ),
        Mistake(
            "fairseq's ids",
            lambda m: (np.cumsum(m, axis=1) + 1) * m + (1 - m),
            "fairseq and RoBERTa count from padding_idx + 1 = 2; here the first real token is 0.",
        ),
        Mistake(
            "padding counted",
            lambda m: np.broadcast_to(np.arange(m.shape[1]), m.shape),
            "yours counts columns: a text must not start later because padding stands before it.",
        ),
        Mistake(
            "padding counted",
            lambda m: np.arange(m.shape[1]) * m,
            "yours counts columns: a text must not start later because padding stands before it.",
        ),
        Mistake(
            "ids of −1",
            lambda m: np.cumsum(m, axis=1) - 1,
            "padding on the left gets −1, and there is no such row: clamp at 0.",
        ),
        Mistake(
            "ids of −1",
            lambda m: np.cumsum(m, axis=1) * m - 1,
            "padding gets −1, and there is no such row: clamp at 0.",
        ),
        Mistake(
            "summed along the batch",
            lambda m: np.maximum(np.cumsum(m, axis=0) - 1, 0),
            "add up along the sequence, axis 1: the texts of a batch do not follow each other.",
        ),
        Mistake(
            "the whole batch in one sum",
            lambda m: np.maximum(np.cumsum(m).reshape(m.shape) - 1, 0),
            "without axis=1 the second text goes on counting where the first one stopped.",
        ),
        Mistake(
            "counted from the end",
            lambda m: np.maximum(np.cumsum(m[:, ::-1], axis=1)[:, ::-1] - 1, 0),
            "the first real token is 0, not the last one.",
        ),
        Mistake(
            "padding and text exchanged",
            lambda m: np.maximum(np.cumsum(~m, axis=1) - 1, 0),
            "yours counts padding: sum where `real` is True.",
        ),
    )
    mistakes = tuple(Mistake(m.name, judged(m.wrong), m.hint) for m in mistakes)
    return check(
        judged(attempt),
        judged(right),
        cases,
        mistakes,
        praise="each text starts at 0, wherever its padding stands.",
    )


def check_row_counts(attempt):
    """attempt(lengths, n_rows) -> (n_rows,): how many of the texts are longer than p, for each row
    p.
    """
    cases = [(np.array([5, 3, 8, 3, 1]), 10), (np.array([2, 2, 7]), 7), (np.array([4]), 4)]

    def counted(compare):
        return lambda lengths, n: compare(np.asarray(lengths)[:, None], np.arange(n)).sum(0)

    mistakes = (
        Mistake(
            "off by one row",
            counted(lambda length, p: length >= p),
            "a text of 5 tokens reads rows 0 to 4: it must be longer than p.",
        ),
        Mistake(
            "off by one row",
            counted(lambda length, p: length > p + 1),
            "a text of 5 tokens reads row 4 as well.",
        ),
        Mistake(
            "the texts that miss the row",
            counted(lambda length, p: length <= p),
            "those are the texts that end before row p; the longer ones train it.",
        ),
        Mistake(
            "only the last row of each text",
            counted(lambda length, p: length == p + 1),
            "a text trains every row up to its last one, not the last one alone.",
        ),
        Mistake(
            "a histogram of lengths",
            counted(lambda length, p: length == p),
            "a text trains every row up to its last one: count all lengths above p.",
        ),
        Mistake(
            "shares instead of counts",
            lambda lengths, n: counted(np.greater)(lengths, n) / len(lengths),
            "asked for is how many texts, not which share.",
        ),
        Mistake(
            "in reverse order",
            lambda lengths, n: counted(np.greater)(lengths, n)[::-1],
            "row 0 comes first: every text trains it.",
        ),
    )
    return check(
        attempt,
        counted(np.greater),
        cases,
        mistakes,
        praise="row p is trained by the texts longer than p, and by no other.",
    )


def check_p_value(attempt):
    """attempt(observed, null) -> (1 + how many of null are at least observed) / (1 + len(null))."""
    cases = [
        (0.5, [0.1, 0.6, 0.5, -0.2]),
        (2.0, [0.0] * 9),
        (-1.0, [0.3, -2.0, 0.1]),
        (0.5, [-0.9, 0.7, 0.2]),
    ]

    def share(compare, *, more=1, count=1):
        return lambda observed, null: (
            (more + sum(compare(value, observed) for value in null)) / (count + len(null))
        )

    mistakes = (
        Mistake(
            "the true order not counted",
            share(lambda v, o: v >= o, more=0, count=0),
            "without the 1 above and below, p can be 0, which no finite number of shuffles can"
            " show.",
        ),
        Mistake(
            "1 added on one side only",
            share(lambda v, o: v >= o, count=0),
            "the true order is one of the orders: add 1 below as well, or p can exceed 1.",
        ),
        Mistake(
            "1 added on one side only",
            share(lambda v, o: v >= o, more=0),
            "the true order is at least as smooth as itself: add 1 above as well.",
        ),
        Mistake(
            "ties left out",
            share(lambda v, o: v > o),
            "a shuffle that is just as smooth counts: ≥, not >.",
        ),
        Mistake(
            "the wrong tail",
            share(lambda v, o: v <= o),
            "smooth means large: count the shuffles at or above the observed value.",
        ),
        Mistake(
            "both tails",
            share(lambda v, o: abs(v) >= abs(o)),
            "only large values mean smooth: do not take absolute values.",
        ),
        Mistake(
            "1 − p",
            lambda o, null: 1 - share(lambda v, o: v >= o)(o, null),
            "yours is large when the table is smooth: that is 1 − p.",
        ),
        Mistake(
            "count instead of share",
            lambda o, null: sum(v >= o for v in null),
            "divide by the number of orders.",
        ),
        Mistake(
            "count instead of share",
            lambda o, null: 1 + sum(v >= o for v in null),
            "divide by the number of orders.",
        ),
    )
    return check(
        attempt,
        share(lambda v, o: v >= o),
        cases,
        mistakes,
        praise="never 0, and 1/(1 + shuffles) at best.",
    )


def check_stretched_table(attempt):
    """attempt(table, n_rows): table (rows, width) -> (n_rows, width), linear, old ends at
    new ends.
    """
    rng = np.random.default_rng(8)
    cases = [
        (rng.normal(size=(4, 3)), 8),
        (np.arange(10.0).reshape(5, 2) ** 2, 7),
        (rng.normal(size=(3, 3)), 5),
    ]

    def read(table, where):
        where = np.clip(where, 0, len(table) - 1)
        low = np.minimum(where.astype(int), len(table) - 2)
        return (1 - (where - low))[:, None] * table[low] + (where - low)[:, None] * table[low + 1]

    def ends(table, n):
        return read(table, np.linspace(0, len(table) - 1, n))

    def r(n):
        return np.arange(n)

    mistakes = (
        Mistake(
            "middles instead of ends",
            lambda t, n: read(t, (r(n) + 0.5) * len(t) / n - 0.5),
            "yours is align_corners=False: there the middles of the rows stay in place. Here row 0"
            " and the last row must.",
        ),
        Mistake(
            "wrong end",
            lambda t, n: read(t, r(n) * len(t) / n),
            "yours steps by rows/n_rows and reaches the last row too early: step by (rows −"
            " 1)/(n_rows − 1).",
        ),
        Mistake(
            "wrong end",
            lambda t, n: read(t, r(n) * (len(t) - 1) / n),
            "yours never reaches the last row: divide by n_rows − 1.",
        ),
        Mistake(
            "wrong end",
            lambda t, n: read(t, len(t) - 1 - (n - 1 - r(n))[::-1] * (len(t) - 1) / (n - 1)),
            "yours runs from the last row to the first.",
        ),
        Mistake(
            "nearest row",
            lambda t, n: t[np.rint(np.linspace(0, len(t) - 1, n)).astype(int)],
            "yours copies the nearest row; between two rows mix them by distance.",
        ),
        Mistake(
            "nearest row",
            lambda t, n: t[np.linspace(0, len(t) - 1, n).astype(int)],
            "yours copies the row below; between two rows mix them by distance.",
        ),
        Mistake(
            "each row repeated",
            lambda t, n: t[r(n) * len(t) // n],
            "yours repeats rows; between two rows mix them by distance.",
        ),
        Mistake(
            "tiled",
            lambda t, n: t[r(n) % len(t)],
            "yours starts again from row 0; stretch the table instead.",
        ),
        Mistake(
            "last row repeated",
            lambda t, n: t[np.minimum(r(n), len(t) - 1)],
            "yours keeps the rows and repeats the last one; stretch the table instead.",
        ),
        Mistake(
            "weights exchanged",
            lambda t, n: _exchanged(t, n),
            "the nearer row gets the larger weight: 1 − part for the lower, part for the upper.",
        ),
        Mistake(
            "width stretched",
            lambda t, n: ends(t.T, n).T,
            "stretch along axis 0, the positions; the width stays.",
        ),
    )
    return check(
        attempt,
        ends,
        cases,
        mistakes,
        praise="first row to first row, last to last, straight lines between.",
        tolerance=1e-6,
    )


def _exchanged(table, n):
    where = np.linspace(0, len(table) - 1, n)
    low = np.minimum(where.astype(int), len(table) - 2)
    part = (where - low)[:, None]
    return part * table[low] + (1 - part) * table[low + 1]
