"""What is wrong with a sinusoidal table? Rebuilds it with every known mistake, and with every two
of them.

Five choices make a table: the frequencies, whether a cosine shares its sine's, where the columns
go, the first position, the unit of the angle. Each has a right value and named wrong ones. Only
what comes out counts, never how the code is written.
"""

from functools import lru_cache
from itertools import product

import numpy as np

B = 10_000.0
RIGHT = None  # the name of a choice that is no mistake
FLOORED, SWAPPED, SEPARATE = (
    "floor division",
    "base and exponent swapped",
    "separate cosine exponent",
)
DOUBLED, MINUS_ONE, DEGREES = "doubled exponent", "tensor2tensor spacing", "degrees"

FREQUENCIES = (  # ω of pair i at width d; one name may stand for several ways to slip
    (RIGHT, lambda i, d: B ** (-2 * i / d)),
    (DOUBLED, lambda i, d: B ** (-4 * i / d)),
    ("halved exponent", lambda i, d: B ** (-i / d)),
    (MINUS_ONE, lambda i, d: B ** (-i / max(d // 2 - 1, 1))),
    ("exponent without minus", lambda i, d: B ** (2 * i / d)),
    ("slowest frequency first", lambda i, d: B ** (-2 * i[::-1] / d)),
    (SWAPPED, lambda i, d: (2 * i / d) ** (1 / B)),
    (SWAPPED, lambda i, d: (2 * i / d) ** (-1 / B)),
    (SWAPPED, lambda i, d: (2 * i / d) ** B),
    (FLOORED, lambda i, d: np.exp(i * (-np.log(B) / d // 2))),
    (FLOORED, lambda i, d: np.exp(i * (-np.log(B) // (d / 2)))),
    (FLOORED, lambda i, d: np.exp(2 * i * (-np.log(B) // d))),
    (FLOORED, lambda i, d: np.exp(2 * i * (-np.log(B) / d // 2))),
    (FLOORED, lambda i, d: np.exp(-i * (np.log(B) / d // 2))),
    (FLOORED, lambda i, d: np.exp(-i * (np.log(B) // (d / 2)))),
    (FLOORED, lambda i, d: np.exp(-2 * i * (np.log(B) // d))),
    (FLOORED, lambda i, d: np.exp(-2 * i * (np.log(B) / d // 2))),
    (FLOORED, lambda i, d: B ** -(2.0 * i // d)),
    (FLOORED, lambda i, d: B ** (-2.0 * i // d)),
    (FLOORED, lambda i, d: B ** -(4.0 * i // d)),
    (FLOORED, lambda i, d: B ** (-4.0 * i // d)),
    (FLOORED, lambda i, d: B ** (-2 * (i // 2) / d)),
)
COSINES = (
    (RIGHT, None),  # the sine's
    (SEPARATE, lambda i, d: B ** (-(2 * i + 1) / d)),
    (SEPARATE, lambda i, d: B ** (-(2 * i + 2) / d)),
    (SEPARATE, lambda i, d: B ** (-(4 * i + 1) / d)),
    (SEPARATE, lambda i, d: B ** (-(4 * i + 2) / d)),
    (SEPARATE, lambda i, d: B ** (-(4 * i + 4) / d)),
    (SEPARATE, lambda i, d: B ** (-4 * i / d)),
    (SEPARATE, lambda i, d: B ** (-2 * i / d)),
)
COLUMNS = (
    (RIGHT, lambda sin, cos: np.stack([sin, cos], axis=-1).reshape(len(sin), -1)),
    ("concatenated layout", lambda sin, cos: np.concatenate([sin, cos], axis=1)),
    ("concatenated layout, cosines first", lambda sin, cos: np.concatenate([cos, sin], axis=1)),
    (
        "sine and cosine swapped",
        lambda sin, cos: np.stack([cos, sin], axis=-1).reshape(len(sin), -1),
    ),
    ("sine in every column", lambda sin, cos: np.repeat(sin, 2, axis=1)),
    ("cosine in every column", lambda sin, cos: np.repeat(cos, 2, axis=1)),
    ("axes swapped", lambda sin, cos: np.stack([sin, cos], axis=-1).reshape(len(sin), -1).T),
)
STARTS = ((RIGHT, 0), ("positions start at 1", 1), ("positions start at 2", 2))
ANGLES = (
    (RIGHT, lambda angle: angle),
    (DEGREES, np.radians),
    (DEGREES, np.degrees),
    ("full turns instead of radians", lambda angle: 2 * np.pi * angle),
    (FLOORED, lambda angle: np.floor(angle + 1e-9)),  # position // wavelength
)

HINTS = {
    DOUBLED: (
        "the frequencies fall twice as fast as they should. Look at what your index counts: one"
        " that runs over the columns 0, 2, 4, … already is 2i. Or do you keep the 2 and also divide"
        " by d_model/2?"
    ),
    "halved exponent": (
        "the frequencies fall half as fast as they should. The exponent of pair i is 2i/d_model;"
        " yours is i/d_model."
    ),
    MINUS_ONE: (
        "you divide the pair index by d_model/2 − 1, as tensor2tensor does. The paper divides by"
        " d_model/2: other frequencies, not another order."
    ),
    "exponent without minus": (
        "frequencies must fall from 1 towards 1/10000; yours grow. Divide by 10000^(2i/d_model), or"
        " put a minus in the exponent."
    ),
    "slowest frequency first": "the fastest pair comes first: the exponent grows with the column.",
    SWAPPED: (
        "the fixed 10000 is the base of the power, and the changing 2i/d_model is its exponent;"
        " yours are the other way round."
    ),
    FLOORED: (
        "a // rounds down to a whole number: the exponent, the index in it, or the angle. Mind that"
        " a / b // 2 means (a / b) // 2, not a / (b / 2)."
    ),
    SEPARATE: (
        "a sine and its cosine must share one frequency, so that sin² + cos² = 1. Your cosine"
        " columns have exponents of their own."
    ),
    "concatenated layout": (
        "all sines come first and all cosines after them. The paper puts each cosine right behind"
        " its sine, in columns 2i and 2i + 1."
    ),
    "concatenated layout, cosines first": (
        "all cosines come first. The paper puts sine and cosine of pair i side by side, in columns"
        " 2i and 2i + 1."
    ),
    "sine and cosine swapped": (
        "even columns hold sines and odd ones cosines; yours are the other way round, so that the"
        " first row starts with 1."
    ),
    "sine in every column": "odd columns need the cosine.",
    "cosine in every column": "even columns need the sine.",
    "axes swapped": "rows are positions and columns are features: the shape is (n, d_model).",
    "arguments swapped": (
        "the first argument is the number of positions, the second one is d_model."
    ),
    "positions start at 1": (
        "the first row is position 0, so it reads 0, 1, 0, 1, …; yours is the code of position 1."
    ),
    "positions start at 2": (
        "the first row is position 0; yours is the code of position 2. fairseq counts from"
        " padding_idx + 1, which is 2 there, because its tables keep a row for padding."
    ),
    DEGREES: "sine and cosine take radians here: pass position × frequency as it is.",
    "full turns instead of radians": (
        "there is no 2π in the formula: the angle is position × frequency, in radians."
    ),
}


def hint(names):
    return " Also: ".join(HINTS[name] for name in names)


def tolerance(table):
    """How far a right table may be off: a little over half an ulp of 1 in a half type, otherwise
    what float32 angles cost on short tables.
    """
    kind = str(getattr(table, "dtype", ""))
    return 2.5e-3 if "bfloat16" in kind else 3e-4 if "float16" in kind else 1e-4


def diagnose(tables, allowed):
    """Names of the mistakes that reproduce every table of {(n, d_model): array}; () where nothing
    known does. At most two, fewest first.
    """
    # a small one rules most candidates out
    cases = sorted(tables, key=lambda case: tables[case].size)
    with np.errstate(all="ignore"):
        for names, choices in _candidates():
            if all(_same(tables[case], _build(*case, *choices), allowed) for case in cases):
                return names
        right = _candidates()[0][1]
        if all(_same(tables[case], _build(*case[::-1], *right), allowed) for case in cases):
            return ("arguments swapped",)
        foreign = all(_foreign_cosines(case, tables[case], allowed) for case in cases)
        return (SEPARATE,) if foreign else ()


@lru_cache(maxsize=1)
def _candidates():
    """Every table with at most two wrong choices as (names, choices), the right one first."""
    found = []
    for choices in product(FREQUENCIES, COSINES, COLUMNS, STARTS, ANGLES):
        names = tuple(name for name, _ in choices if name is not RIGHT)
        # one function only: hardly with another slip
        if len(names) == 1 or len(names) < 3 and not any("every" in name for name in names):
            found.append((names, [value for _, value in choices]))
    return sorted(found, key=lambda candidate: len(candidate[0]))


def _build(n, d_model, frequency, cosine, place, start, turn):
    i, p = np.arange(d_model // 2), np.arange(n)[:, None] + start
    w = frequency(i, d_model)
    w_cosine = w if cosine is None else cosine(i, d_model)
    return place(np.sin(turn(p * w)), np.cos(turn(p * w_cosine)))


def _same(table, wrong, allowed):
    return table.shape == wrong.shape and np.allclose(
        table, wrong, rtol=0, atol=allowed, equal_nan=True
    )


def _foreign_cosines(case, table, allowed):
    """Right sines beside cosines of any other frequency w, known by cos((p + 1)w) = 2 cos(w)
    cos(pw) − cos((p − 1)w).
    """
    if table.shape != case:
        return False
    sin, cos = table[:, 0::2], table[:12, 1::2]
    right = (
        _same(sin, _build(*case, *_candidates()[0][1])[:, 0::2], allowed)
        and np.abs(cos[0] - 1).max() <= allowed
    )
    moves = np.ptp(cos[:, 0]) > 0.1  # a constant is no cosine
    return (
        right and moves and np.abs(cos[2:] - 2 * cos[1] * cos[1:-1] + cos[:-2]).max() <= 4 * allowed
    )
