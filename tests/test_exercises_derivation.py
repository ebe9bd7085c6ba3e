"""The checks of chapter 02 accept the right answer, name each known mistake and are not fooled by
an unknown one.
"""

import numpy as np
import pytest

from sinpe import exercises, inverse_frequencies


def ladder(d, b):
    return b ** (-np.arange(0, d, 2) / d)


def overflowing(x, exponent):
    with np.errstate(over="ignore"):
        return x**exponent


def distances(inv_freq, offsets):
    return np.sqrt((2 - 2 * np.cos(np.outer(offsets, inv_freq))).sum(axis=1))


RIGHT = {
    "check_column_exponent": lambda c, d: (c - c % 2) / d,
    "check_frequency_ladder": ladder,
    "check_base_for": lambda w, d: np.exp(np.log(w / 2 / np.pi) * d / (d - 2)),
    "check_smallest_distance": lambda w, n: distances(w, np.arange(1, n + 1)).min(),
}
MISTAKES = [
    ("check_column_exponent", "column index used as pair index", lambda c, d: 2 * c / d),
    ("check_column_exponent", "an exponent of its own for the cosine", lambda c, d: c / d),
    ("check_column_exponent", "exponent doubled", lambda c, d: 2 * (c - c % 2) / d),
    ("check_column_exponent", "the 2 is missing", lambda c, d: (c // 2) / d),
    ("check_column_exponent", "tensor2tensor's grid", lambda c, d: (c // 2) / (d / 2 - 1)),
    ("check_column_exponent", "minus sign included", lambda c, d: -2 * (c // 2) / d),
    (
        "check_frequency_ladder",
        "exponent doubled",
        lambda d, b: 1 / b ** (2 * np.arange(0, d, 2) / d),
    ),
    (
        "check_frequency_ladder",
        "an exponent of its own for the cosine",
        lambda d, b: b ** (-np.arange(d) / d),
    ),
    (
        "check_frequency_ladder",
        "every frequency twice",
        lambda d, b: b ** (-2 * (np.arange(d) // 2) / d),
    ),
    (
        "check_frequency_ladder",
        "base and exponent swapped",
        lambda d, b: (np.arange(0, d, 2) / d) ** (1 / b),
    ),
    (
        "check_frequency_ladder",
        "base and exponent swapped",
        lambda d, b: (np.arange(0, d, 2) / d) ** b,
    ),
    (
        "check_frequency_ladder",
        "floor division",
        lambda d, b: np.exp(np.arange(d // 2) * (-np.log(b) / d // 2)),
    ),
    (
        "check_frequency_ladder",
        "floor division",
        lambda d, b: np.exp(np.arange(0, d, 2) * (-np.log(b) / d // 2)),
    ),
    (
        "check_frequency_ladder",
        "floor division",
        lambda d, b: np.exp(np.arange(d // 2) * -(np.log(b) / d // 2)),
    ),
    (
        "check_frequency_ladder",
        "floor division",
        lambda d, b: np.exp(np.arange(0, d, 2) * -(np.log(b) // d)),
    ),
    (
        "check_frequency_ladder",
        "floor division",
        lambda d, b: np.exp(np.arange(0, d, 2) * (-np.log(b) // d)),
    ),
    (
        "check_frequency_ladder",
        "base and exponent swapped",
        lambda d, b: [(2 * i / d) ** -b for i in range(d // 2)],
    ),
    (
        "check_frequency_ladder",
        "base and exponent swapped",
        lambda d, b: [1 / (2 * i / d) ** (1 / b) for i in range(d // 2)],
    ),
    (
        "check_frequency_ladder",
        "base and exponent swapped",
        lambda d, b: np.array([np.inf, *overflowing(d / np.arange(2, d, 2), b)]),
    ),
    ("check_frequency_ladder", "the 2 is missing", lambda d, b: b ** (-np.arange(d // 2) / d)),
    (
        "check_frequency_ladder",
        "tensor2tensor's grid",
        lambda d, b: b ** (-np.arange(d // 2) / (d // 2 - 1)),
    ),
    (
        "check_frequency_ladder",
        "wavelengths instead of frequencies",
        lambda d, b: 2 * np.pi / ladder(d, b),
    ),
    ("check_frequency_ladder", "sign of the exponent", lambda d, b: b ** (np.arange(0, d, 2) / d)),
    ("check_frequency_ladder", "slowest first", lambda d, b: ladder(d, b)[::-1]),
    (
        "check_frequency_ladder",
        "pairs counted from 1",
        lambda d, b: b ** (-np.arange(2, d + 1, 2) / d),
    ),
    ("check_base_for", "2π·base taken as the longest wavelength", lambda w, d: w / 2 / np.pi),
    ("check_base_for", "2π forgotten", lambda w, d: w ** (d / (d - 2))),
    ("check_base_for", "exponent upside down", lambda w, d: (w / 2 / np.pi) ** ((d - 2) / d)),
    ("check_base_for", "the exponent is no ratio", lambda w, d: (w / 2 / np.pi) ** d),
    ("check_base_for", "the exponent is no ratio", lambda w, d: (w / 2 / np.pi) ** (d - 2)),
    ("check_base_for", "the exponent is no ratio", lambda w, d: (w / 2 / np.pi) ** (d // 2)),
    ("check_frequency_ladder", "base left at 10000", lambda d, b: ladder(d, 10_000.0)),
    ("check_base_for", "the last pair is d/2 − 1", lambda w, d: (w / 2 / np.pi) ** (d / (d - 1))),
    (
        "check_smallest_distance",
        "offset 0 included",
        lambda w, n: distances(w, np.arange(n + 1)).min(),
    ),
    (
        "check_smallest_distance",
        "squared distance",
        lambda w, n: (distances(w, np.arange(1, n + 1)) ** 2).min(),
    ),
    (
        "check_smallest_distance",
        "the factor 2 is missing",
        lambda w, n: distances(w, np.arange(1, n + 1)).min() / 2**0.5,
    ),
    (
        "check_smallest_distance",
        "last offset left out",
        lambda w, n: distances(w, np.arange(1, n)).min(),
    ),
    ("check_smallest_distance", "neighbours only", lambda w, n: distances(w, [1])[0]),
    (
        "check_smallest_distance",
        "largest distance",
        lambda w, n: distances(w, np.arange(1, n + 1)).max(),
    ),
]


@pytest.mark.parametrize("name", RIGHT)
def test_right_answer_passes(name):
    verdict = getattr(exercises, name)(RIGHT[name])
    assert verdict, verdict
    assert repr(verdict).startswith("Correct")


@pytest.mark.parametrize(("name", "mistake", "wrong"), MISTAKES)
def test_known_mistake_is_named(name, mistake, wrong):
    verdict = getattr(exercises, name)(wrong)
    assert not verdict
    assert (verdict.status, verdict.mistake) == ("mistake", mistake), verdict


@pytest.mark.parametrize("name", RIGHT)
def test_untouched_stub_is_not_attempted(name):
    assert repr(getattr(exercises, name)(lambda *args: ...)).startswith("Not attempted")


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize(
    "garbage",
    [
        lambda *a: np.nan,
        lambda *a: np.full(3, np.inf),
        lambda *a: "seven",
        lambda *a: np.zeros((2, 3, 4)),
        lambda *a: {},
        lambda *a: [1, [2]],
        lambda: 1,
        5,
    ],
    ids=["nan", "inf", "text", "shape", "dict", "ragged", "no arguments", "not a function"],
)
def test_garbage_is_refused_with_a_message(name, garbage):
    verdict = getattr(exercises, name)(garbage)
    assert not verdict
    assert verdict.status in ("wrong", "error")
    assert verdict.mistake is None
    assert len(verdict.message) > 20


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize(
    "change",
    [lambda v: v * 1.001, lambda v: v + 0.01, lambda v: -3 * v],
    ids=["scaled", "shifted", "negated"],
)
def test_unlisted_wrong_answer_gets_no_name(name, change):
    verdict = getattr(exercises, name)(lambda *args: change(np.asarray(RIGHT[name](*args))))
    assert (verdict.status, verdict.mistake) == ("wrong", None), verdict


@pytest.mark.parametrize("name", RIGHT)
def test_exception_is_reported(name):
    def broken(*args):
        raise ZeroDivisionError("by zero")

    assert "ZeroDivisionError: by zero" in repr(getattr(exercises, name)(broken))


def test_a_ladder_in_float32_is_right_too():
    assert exercises.check_frequency_ladder(
        lambda d, b: np.exp(np.arange(0, d, 2, dtype=np.float32) * np.float32(-np.log(b) / d))
    )


@pytest.mark.parametrize("constant", [0, 1])
def test_a_constant_ladder_gets_no_name(constant):
    assert (
        exercises.check_frequency_ladder(lambda d, b: np.full(d // 2, float(constant))).mistake
        is None
    )


def test_right_ladder_is_the_package_one():
    np.testing.assert_allclose(ladder(512, 10_000.0), inverse_frequencies(512), rtol=1e-14)
