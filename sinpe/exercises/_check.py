"""How an exercise is checked: compare with the right answer, then with known wrong ones, and name
the mistake.
"""

from copy import deepcopy
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, repr=False)
class Verdict:
    """What a check found. True only for a right answer, so that `assert check(...)` works.

    status: "correct", "mistake", "wrong", "error" or "not attempted"; mistake: the name of the
        recognised mistake, or None.
    """

    status: str
    message: str
    mistake: str | None = None

    def __bool__(self):
        return self.status == "correct"

    def __repr__(self):
        return (
            f"{self.status.capitalize()}: {self.message}"
            if self.mistake is None
            else f"Not yet ({self.mistake}): {self.message}"
        )


NOT_ATTEMPTED = Verdict(
    "not attempted", "replace the `...` with your answer and run the cell again."
)
NO_RETURN = Verdict("not attempted", "your function returns None: is a `return` missing?")


@dataclass(frozen=True)
class Mistake:
    """A known wrong answer: a short name, the wrong function (or value), and what to look at."""

    name: str
    wrong: object
    hint: str


def check(
    attempt, right, cases=((),), mistakes=(), *, praise="matches the right answer.", tolerance=1e-9
):
    """Compare an attempt with the right answer on every case, and with each known mistake where it
    differs.

    attempt, right and Mistake.wrong: functions of the case's arguments, or plain values when there
    is one empty case. An attempt that is (or returns) None or `...`, or raises NotImplementedError,
    is "not attempted". A mistake is named only if it reproduces the attempt on every case and
    differs from the right answer on at least one.
    """
    try:
        # an attempt may work in place, and use up a list
        answers = [_answer(attempt, deepcopy(case)) for case in cases]
    except NotImplementedError:
        answers = [...]
    except Exception as error:
        return Verdict("error", f"your code raised {type(error).__name__}: {error}")
    if any(answer is None or answer is Ellipsis for answer in answers):
        return (
            NO_RETURN
            if callable(attempt) and all(answer is None for answer in answers)
            else NOT_ATTEMPTED
        )
    expected = [_answer(right, case) for case in cases]
    if _same(answers, expected, tolerance):
        return Verdict("correct", praise)
    for mistake in mistakes:
        if _same(answers, [_answer(mistake.wrong, case) for case in cases], tolerance):
            return Verdict("mistake", mistake.hint, mistake.name)
    return Verdict("wrong", _difference(answers, expected, cases, tolerance))


def _answer(function, case):
    return function(*case) if callable(function) else function


def _same(answers, expected, tolerance):
    return all(_equal(a, e, tolerance) for a, e in zip(answers, expected, strict=True))


def _equal(answer, expected, tolerance):
    if isinstance(expected, str | bool):
        return type(answer) is type(expected) and answer == expected
    answer, expected = _array(answer), np.asarray(expected, float)
    return (
        answer is not None
        and answer.shape == expected.shape
        and np.allclose(answer, expected, rtol=tolerance, atol=tolerance, equal_nan=False)
    )


def _array(value):
    """`value` as float64 (tensors included), or None where it is not numbers."""
    try:
        return np.asarray(
            value.detach().double().cpu() if hasattr(value, "detach") else value, float
        )
    except Exception:  # it is the reader's, and may be anything
        return None


def _difference(answers, expected, cases, tolerance):
    case, answer, right = next(
        (c, a, e)
        for c, a, e in zip(cases, answers, expected, strict=True)
        if not _equal(a, e, tolerance)
    )
    where = f" for arguments {', '.join(map(_short, case))}" if case else ""
    if isinstance(right, str | bool):
        return f"not the right answer{where}. Read the section once more."
    values, right = _array(answer), np.asarray(right, float)
    if values is None:
        return f"expected numbers{where}, got {type(answer).__name__}."
    if values.shape != right.shape:
        return f"expected shape {right.shape}{where}, got {values.shape}."
    gap = np.where(np.isfinite(values), np.abs(values - right), np.inf)
    at = np.unravel_index(gap.argmax(), gap.shape)
    index = f" at index {tuple(map(int, at))}" if at else ""
    return (
        f"the largest difference{where} is{index}: expected {right[at]:.6g}, got {values[at]:.6g}."
    )


def _short(argument):
    return (
        f"an array of shape {argument.shape}"
        if hasattr(argument, "shape") and argument.shape
        else repr(argument)
    )
