"""The checks of chapter 08: a right answer passes, each mistake is called by its name, anything
else gets a helpful message.
"""

import numpy as np
import torch
from exercise_checks import ExerciseChecks
from torch.nn import functional as F

from sinpe import exercises

CHECKS = {
    "size": exercises.check_table_size,
    "ids": exercises.check_position_ids,
    "counts": exercises.check_row_counts,
    "p": exercises.check_p_value,
    "stretch": exercises.check_stretched_table,
}


def ids_by_loop(real):
    out = np.zeros(real.shape, int)
    for b, row in enumerate(real):
        place = 0
        for t, here in enumerate(row):
            out[b, t] = place if here else 0
            place += here
    return out


def ids_on_the_right(real):
    """Padding behind the text reads the last row, which exists."""
    return np.where(real, np.cumsum(real, 1) - 1, real.shape[1] - 1)


def counts_by_loop(lengths, n_rows):
    out = [0] * n_rows
    for length in lengths:
        for row in range(min(length, n_rows)):
            out[row] += 1
    return out


def p_value(observed, null):
    return np.mean(np.append(np.asarray(null) >= observed, True))


def resized(table, n, *, ends):
    return F.interpolate(torch.tensor(table).T[None], size=n, mode="linear", align_corners=ends)[
        0
    ].T


def by_columns(table, n):
    """NumPy's own interpolation, one column at a time."""
    where = np.linspace(0, len(table) - 1, n)
    return np.stack([np.interp(where, np.arange(len(table)), column) for column in table.T], 1)


RIGHT = [
    ("size", lambda n, d, p: d * len(range(p + 1 + n))),
    ("size", lambda n, d, p: np.int64(d * n + d * p + d)),
    ("ids", ids_by_loop),
    ("ids", ids_on_the_right),
    ("ids", lambda real: (torch.tensor(real).long().cumsum(-1) - 1).clamp(min=0)),
    ("ids", lambda real: ids_by_loop(real).tolist()),
    ("counts", counts_by_loop),
    (
        "counts",
        lambda lengths, n: (
            len(lengths) - np.searchsorted(np.sort(lengths), np.arange(n), side="right")
        ),
    ),
    ("p", p_value),
    ("p", lambda observed, null: sum(v >= observed for v in [*null, observed]) / (len(null) + 1)),
    ("stretch", by_columns),
    ("stretch", lambda table, n: resized(table, n, ends=True)),
]
MISTAKES = [
    ("size", lambda n, d, p: n * d, "rows before the first position left out"),
    ("size", lambda n, d, p: (p + n) * d, "off by one row"),
    ("size", lambda n, d, p: (p + 2 + n) * d, "off by one row"),
    ("size", lambda n, d, p: 2 * d + n * d, "a fixed offset of 2"),
    ("size", lambda n, d, p: len(range(p + 1 + n)), "rows only"),
    ("size", lambda n, d, p: n * d + p + 1, "offset not multiplied by the width"),
    ("ids", lambda real: np.cumsum(real, 1), "ids from 1"),
    ("ids", lambda real: np.cumsum(real, 1) * real + 1, "fairseq's ids"),
    ("ids", lambda real: (ids_by_loop(real) + 1) * real, "ids from 1"),
    ("ids", lambda real: np.tile(np.arange(real.shape[1]), (len(real), 1)), "padding counted"),
    (
        "ids",
        lambda real: np.nonzero(np.ones_like(real))[1].reshape(real.shape) * real,
        "padding counted",
    ),
    ("ids", lambda real: np.cumsum(real, 1) - 1, "ids of −1"),
    ("ids", lambda real: np.where(real, ids_by_loop(real), -1), "ids of −1"),
    ("ids", lambda real: np.maximum(np.cumsum(real, 0) - 1, 0), "summed along the batch"),
    (
        "ids",
        lambda real: np.maximum(np.cumsum(real).reshape(real.shape) - 1, 0),
        "the whole batch in one sum",
    ),
    ("ids", lambda real: ids_by_loop(real[:, ::-1])[:, ::-1], "counted from the end"),
    (
        "ids",
        lambda real: np.maximum(np.cumsum(1 - real.astype(int), 1) - 1, 0),
        "padding and text exchanged",
    ),
    (
        "counts",
        lambda lengths, n: [sum(x >= p for x in lengths) for p in range(n)],
        "off by one row",
    ),
    (
        "counts",
        lambda lengths, n: [sum(x > p + 1 for x in lengths) for p in range(n)],
        "off by one row",
    ),
    (
        "counts",
        lambda lengths, n: len(lengths) - np.array(counts_by_loop(lengths, n)),
        "the texts that miss the row",
    ),
    (
        "counts",
        lambda lengths, n: np.bincount(lengths - 1, minlength=n),
        "only the last row of each text",
    ),
    (
        "counts",
        lambda lengths, n: [list(lengths).count(p) for p in range(n)],
        "a histogram of lengths",
    ),
    (
        "counts",
        lambda lengths, n: np.array(counts_by_loop(lengths, n)) / len(lengths),
        "shares instead of counts",
    ),
    ("counts", lambda lengths, n: counts_by_loop(lengths, n)[::-1], "in reverse order"),
    (
        "p",
        lambda observed, null: np.mean(np.asarray(null) >= observed),
        "the true order not counted",
    ),
    (
        "p",
        lambda observed, null: (1 + sum(v >= observed for v in null)) / len(null),
        "1 added on one side only",
    ),
    (
        "p",
        lambda observed, null: sum(v >= observed for v in null) / (1 + len(null)),
        "1 added on one side only",
    ),
    (
        "p",
        lambda observed, null: (1 + sum(v > observed for v in null)) / (1 + len(null)),
        "ties left out",
    ),
    (
        "p",
        lambda observed, null: (1 + sum(v <= observed for v in null)) / (1 + len(null)),
        "the wrong tail",
    ),
    (
        "p",
        lambda observed, null: (1 + sum(abs(v) >= abs(observed) for v in null)) / (1 + len(null)),
        "both tails",
    ),
    ("p", lambda observed, null: 1 - p_value(observed, null), "1 − p"),
    ("p", lambda observed, null: sum(v >= observed for v in null), "count instead of share"),
    (
        "p",
        lambda observed, null: p_value(observed, null) * (1 + len(null)),
        "count instead of share",
    ),
    ("stretch", lambda table, n: resized(table, n, ends=False), "middles instead of ends"),
    (
        "stretch",
        lambda table, n: np.stack(
            [np.interp(np.arange(n) * len(table) / n, np.arange(len(table)), c) for c in table.T], 1
        ),
        "wrong end",
    ),
    (
        "stretch",
        lambda table, n: np.stack(
            [
                np.interp(np.arange(n) * (len(table) - 1) / n, np.arange(len(table)), c)
                for c in table.T
            ],
            1,
        ),
        "wrong end",
    ),
    ("stretch", lambda table, n: by_columns(table, n)[::-1], "wrong end"),
    (
        "stretch",
        lambda table, n: table[np.linspace(0, len(table) - 1, n).round().astype(int)],
        "nearest row",
    ),
    (
        "stretch",
        lambda table, n: table[np.linspace(0, len(table) - 1, n).astype(int)],
        "nearest row",
    ),
    (
        "stretch",
        lambda table, n: np.array([table[i * len(table) // n] for i in range(n)]),
        "each row repeated",
    ),
    ("stretch", lambda table, n: np.concatenate([table, table])[:n], "tiled"),
    (
        "stretch",
        lambda table, n: np.concatenate([table, np.repeat(table[-1:], n, 0)])[:n],
        "last row repeated",
    ),
    ("stretch", lambda table, n: mixed_the_wrong_way(table, n), "weights exchanged"),
    ("stretch", lambda table, n: by_columns(table.T, n).T, "width stretched"),
]
WRONG = [
    ("size", lambda n, d, p: 7, "expected"),
    ("size", lambda n, d, p: "large", "expected numbers"),
    ("size", lambda n, d, p: (n, d), "shape"),
    ("ids", lambda real: np.zeros(real.shape), "expected"),
    ("ids", lambda real: ids_by_loop(real)[0], "shape"),
    ("ids", lambda real: ids_by_loop(real) + 0.5, "expected"),
    ("ids", lambda real: np.where(real, ids_by_loop(real), 99), "expected"),
    ("ids", lambda real: "left", "expected numbers"),
    ("counts", lambda lengths, n: np.zeros(n), "expected"),
    ("counts", lambda lengths, n: counts_by_loop(lengths, n)[:-1], "shape"),
    ("counts", lambda lengths, n: [float("nan")] * n, "expected"),
    ("p", lambda observed, null: 0.05, "expected"),
    ("p", lambda observed, null: null, "shape"),
    ("stretch", lambda table, n: np.zeros((n, table.shape[1])), "expected"),
    ("stretch", lambda table, n: table, "shape"),
    ("stretch", lambda table, n: by_columns(table, n) + 1e-3, "expected"),
]


class TestChecks(ExerciseChecks):
    CHECKS, RIGHT, MISTAKES, WRONG = CHECKS, RIGHT, MISTAKES, WRONG


def mixed_the_wrong_way(table, n):
    out = []
    for where in np.linspace(0, len(table) - 1, n):
        low = min(int(where), len(table) - 2)
        out.append((where - low) * table[low] + (1 - where + low) * table[low + 1])
    return np.array(out)


def test_an_attempt_cannot_change_the_case_it_is_judged_on():
    def spoils(real):
        out = ids_by_loop(real)
        real[:] = False
        return out

    assert exercises.check_position_ids(spoils)
