"""Seven requirements on a position code, each a measurement that a code can fail.

A code is a function: code(positions, length, d_model) -> one row of numbers a position, shape
(n, width). positions: float64, shape (n,); length: the number of positions in the text; d_model:
the width that is asked for, which a code may ignore. Chapter 02 scores its candidates here.
"""

from dataclasses import dataclass

import numpy as np

from sinpe.tables import table

FIRST = np.arange(1000.0)
FAR = 2.0**20 + np.arange(100)
OFFSETS = (1, 7, 0.5)
LONG = 2**21  # a text that holds all positions of FAR and SCATTERED
# whole positions for the fit and others for the test: neighbours would show slow hands at rest
SCATTERED = np.random.default_rng(0).choice(2_000_000, (2, 2000), replace=False).astype(float)


@dataclass(frozen=True)
class Requirement:
    """What is asked, how it is measured, and the limit that it must keep."""

    claim: str
    measure: object  # code -> a number, where code(positions, length) -> codes
    at_most: float = np.inf
    at_least: float = -np.inf

    def holds(self, measured):
        return bool(self.at_least <= measured <= self.at_most)


@dataclass(frozen=True)
class Score:
    """One requirement of one code: what was measured, and whether it keeps the limit."""

    measured: float
    passed: bool


def closest(codes):
    """The smallest distance between two rows of `codes`, shape (n, width); 0 where they are not
    finite.
    """
    if not np.isfinite(codes).all():
        return 0.0
    gaps = (codes[i + 1 :] - codes[i] for i in range(len(codes) - 1))
    return min(float(np.linalg.norm(gap, axis=1).min()) for gap in gaps)


def largest_change(codes, others):
    """The largest difference of two entries; infinite where codes are not finite."""
    finite = np.isfinite(codes).all() and np.isfinite(others).all()
    return float(np.abs(codes - others).max()) if finite else np.inf


def shift_error(code):
    """How badly one matrix for each offset moves the codes: fitted on 2000 scattered positions, the
    largest error on 2000 others.
    """
    fit, test = SCATTERED
    here, there = code(fit, LONG), code(test, LONG)
    moved = np.concatenate([code(fit + k, LONG) for k in OFFSETS], axis=1)
    wanted = np.concatenate([code(test + k, LONG) for k in OFFSETS], axis=1)
    if not all(np.isfinite(codes).all() for codes in (here, there, moved, wanted)):
        return np.inf
    return largest_change(there @ np.linalg.lstsq(here, moved, rcond=None)[0], wanted)


def _largest_step(codes):
    return largest_change(codes[1:], codes[:-1])


REQUIREMENTS = {
    "fixed": Requirement(
        "asking twice gives the same codes",
        lambda code: largest_change(code(FIRST, 1000), code(FIRST, 1000)),
        at_most=0.0,
    ),
    "bounded": Requirement(
        "around position one million all entries are within −1 and 1",
        lambda code: float(np.abs(code(FAR, LONG)).max()),
        at_most=1.0,
    ),
    "unique": Requirement(
        "the two closest codes among the first 1000 are at least 0.01 apart",
        lambda code: closest(code(FIRST, 1000)),
        at_least=0.01,
    ),
    "smooth": Requirement(
        "a step of 0.01 positions moves no entry by more than 0.1",
        lambda code: _largest_step(code(np.arange(0, 64, 0.01), 64)),
        at_most=0.1,
    ),
    "length": Requirement(
        "a text of 1000 and one of 9000 begin with the same codes",
        lambda code: largest_change(code(FIRST, 1000), code(FIRST, 9000)),
        at_most=0.0,
    ),
    "anywhere": Requirement(
        "codes around one million are finite and repeat none of the first hundred",
        lambda code: closest(code(np.append(FIRST[:100], FAR), LONG)),
        at_least=1e-9,
    ),
    "linear": Requirement(
        "one matrix moves all codes by 1, one by 7, one by ½, with an error below 1e-8",
        shift_error,
        at_most=1e-8,
    ),
}


def score(code, d_model=64):
    """{requirement: Score} of a code at one width. ValueError where it does not return one row of
    real numbers a position.
    """
    if not callable(code):
        raise ValueError(f"code must be a function, got {type(code).__name__}")

    def checked(positions, length):
        codes = np.asarray(code(positions.copy(), length, d_model))
        if codes.ndim != 2 or len(codes) != len(positions) or not codes.shape[1]:
            raise ValueError(
                f"code must return one row a position, shape ({len(positions)}, width),"
                f" got {codes.shape}"
            )
        if codes.dtype.kind not in "biuf":
            raise ValueError(f"code must return real numbers, got dtype {codes.dtype}")
        return codes.astype(np.float64)

    measured = {name: asked.measure(checked) for name, asked in REQUIREMENTS.items()}
    return {name: Score(value, REQUIREMENTS[name].holds(value)) for name, value in measured.items()}


def scoreboard(scores):
    """A table of scores {name: what score returned}: one row a name, one column a requirement; a
    "no" says what was measured. ValueError where there is no score.
    """
    if not scores:
        raise ValueError(f"scores must hold at least one code, got {scores!r}")
    rows = [
        [name, *("yes" if one.passed else f"no: {one.measured:.1g}" for one in found.values())]
        for name, found in scores.items()
    ]
    return table(
        rows, dict.fromkeys(["code", *REQUIREMENTS], ""), caption="Which code keeps which limit."
    )
