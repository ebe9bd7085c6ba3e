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


# of a float32 answer, by its own entries and by the largest one: what its rounding costs
FLOAT32 = 1e-5, 1e-6
# how far an answer may be off, by the largest entry, and still be called a rounded one
ROUNDED = {"float16": 1e-2, "bfloat16": 5e-2, "float32": 1e-3, "float64": 1e-6}
REDUCTIONS = {"max": np.max, "min": np.min, "mean": np.mean, "sum": np.sum}


@dataclass(frozen=True)
class Mistake:
    """A known wrong answer: a short name, the wrong function (or value), and what to look at."""

    name: str
    wrong: object
    hint: str


def check(
    attempt,
    right,
    cases=((),),
    mistakes=(),
    *,
    praise="matches the right answer.",
    tolerance=1e-9,
    rounding=True,
    otherwise=None,
):
    """Compare an attempt with the right answer on every case, and with each known mistake where it
    differs.

    attempt, right and Mistake.wrong: functions of the case's arguments, or plain values when there
    is one empty case. An attempt that is (or returns) None or `...`, or raises NotImplementedError,
    is "not attempted". A mistake is named only if it reproduces the attempt on every case and
    differs from the right answer on at least one. A float32 answer is right, or a known mistake,
    where its own rounding is all that it is off by; more rounding is called by its name. rounding:
    False for a caller that judges it itself. otherwise: what to say of any other wrong answer,
    where to show the right one beside it would be the solution.
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
    verdict = _rounded(answers, expected, cases, mistakes, praise) if rounding else None
    if verdict is None and callable(attempt):
        verdict = _not_reduced(answers, expected, tolerance)
    if verdict is None:
        difference = otherwise or _difference(answers, expected, cases, tolerance)
        verdict = Verdict("wrong", difference)
    return verdict


def _rounded(answers, expected, cases, mistakes, praise):
    """A verdict on numbers that miss the right ones, or those of a mistake, by rounding alone; else
    None. The nearest decides: a wide tolerance may hold several.
    """
    kind = kind_of(answers)
    if any(isinstance(e, str | bool) for e in expected) or all(
        np.array_equal(e, np.round(np.asarray(e, float))) for e in expected
    ):
        return None  # whole numbers have no rounding
    found = [(_miss(answers, expected), Verdict("correct", praise))]
    for mistake in mistakes:
        wrong = [_answer(mistake.wrong, case) for case in cases]
        found.append((_miss(answers, wrong), Verdict("mistake", mistake.hint, mistake.name)))
    (own, largest), verdict = min(found, key=lambda one: one[0])
    if kind == "float32" and own <= 1:
        return verdict
    if verdict and largest <= ROUNDED.get(kind, 0):
        return Verdict(
            "mistake",
            "the first digits are right and the others are lost to rounding on the way: compute in"
            " float64, and cast last.",
            "rounded" if kind == "float64" else f"low precision, {kind}",
        )
    return None


def _miss(answers, expected):
    """How far numbers are off: the largest gap in units of a float32's rounding, and by the largest
    entry of its case. Infinite where the two cannot be compared.
    """
    own = largest = 0.0
    for answer, right in zip(map(_array, answers), expected, strict=True):
        if isinstance(right, str | bool):
            return np.inf, np.inf
        right = np.asarray(right, float)
        if answer is None or answer.shape != right.shape or not np.isfinite(answer - right).all():
            return np.inf, np.inf
        gap, size = np.abs(answer - right), np.abs(right)
        scale = size.max(initial=0) or 1.0
        relative, absolute = FLOAT32
        own = max(own, (gap / (relative * size + absolute * scale)).max(initial=0))
        largest = max(largest, gap.max(initial=0) / scale)
    return own, largest


def _not_reduced(answers, expected, tolerance):
    """A verdict on arrays whose maximum (sum, …) is the one number that was asked for, or None."""
    arrays = [_array(answer) for answer in answers]
    if any(isinstance(e, str | bool) or np.ndim(e) for e in expected) or any(
        a is None or a.size < 2 for a in arrays
    ):
        return None
    for name, reduced in REDUCTIONS.items():
        if _same([reduced(a) for a in arrays], expected, tolerance):
            return Verdict(
                "mistake",
                f"one number is asked for, and you return an array: its {name} would be right. Is"
                f" `.{name}()` missing?",
                f"{name} missing",
            )
    return None


def kind_of(answers):
    """The narrowest type of float among answers, "float32" say, or None where none is a float."""
    kinds = []
    for answer in answers:
        try:
            kinds.append(str(getattr(answer, "dtype", None) or np.asarray(answer).dtype))
        except Exception:  # it is the reader's, and may be anything
            return None
    kinds = [kind.removeprefix("torch.") for kind in kinds]
    return next((kind for kind in ROUNDED if kind in kinds), None)


def _answer(function, case):
    """What a function, or a plain value, says to a case; ∞ where it is too large for a float."""
    try:
        return function(*case) if callable(function) else function
    except OverflowError:
        return np.inf


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


def _array(value, keep=False):
    """`value` as float64 (tensors included), or None where it is not numbers. keep: leave float32
    as it is.
    """
    try:
        found = np.asarray(
            value.detach().double().cpu() if hasattr(value, "detach") else value, float
        )
    except Exception:  # it is the reader's, and may be anything
        return None
    return found.astype(np.float32) if keep and kind_of([value]) == "float32" else found


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
        if not right.shape:
            return f"expected one number{where}, got an array of shape {values.shape}."
        return f"expected shape {right.shape}{where}, got {values.shape}."
    gap = np.where(np.isfinite(values), np.abs(values - right), np.inf)
    at = np.unravel_index(gap.argmax(), gap.shape)
    index = f" at index {tuple(map(int, at))}" if at else ""
    digits = next((n for n in (6, 9, 12) if f"{right[at]:.{n}g}" != f"{values[at]:.{n}g}"), 17)
    return (
        f"the largest difference{where} is{index}: expected {right[at]:.{digits}g}, got"
        f" {values[at]:.{digits}g}."
    )


def _short(argument):
    return (
        f"an array of shape {argument.shape}"
        if hasattr(argument, "shape") and argument.shape
        else repr(argument)
    )
