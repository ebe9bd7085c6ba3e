"""The checks of chapter 15: a right answer passes, each mistake is called by its name, anything
else gets a helpful message.
"""

import numpy as np
import pytest
from exercise_checks import ExerciseChecks, constant

from sinpe import exercises
from sinpe.exercises.nothing_else import Shift

CHECKS = {
    "half step": exercises.check_has_half_step,
    "generator": exercises.check_generator,
    "length": exercises.check_kept_length,
    "frequencies": exercises.check_frequencies_of,
}


def half_step_by_product(matrix):
    """The determinant as the product of the eigenvalues."""
    return bool(np.prod(np.linalg.eigvals(matrix)).real > 0)


def difference(shift, h=1e-5):
    return (shift(h) - shift(-h)) / (2 * h)


def by_logarithm(shift):
    """log T_h / h from the eigenvalues of T_h."""
    values, vectors = np.linalg.eig(shift(0.01))
    return (vectors @ np.diag(np.log(values)) @ np.linalg.inv(vectors)).real / 0.01


def kept(s):
    inverse = np.linalg.inv(s)
    return inverse.T @ inverse


def spectrum(generator):
    return np.linalg.eigvalsh(1j * generator)[::-1]


def positive(generator):
    values = spectrum(generator)
    return values[values > 1e-9]


def from_the_square(generator):
    """√ of minus the eigenvalues of A²: every ω twice, zeros as rounding leaves them."""
    with np.errstate(invalid="ignore"):
        return np.sqrt(-np.linalg.eigvalsh(generator @ generator))


def first_of_two(generator):
    """Singular values come in twos, as large as the frequencies."""
    values = np.linalg.svd(generator, compute_uv=False)[::2]
    return values[values > 1e-9]


RIGHT = [
    ("half step", half_step_by_product),
    ("half step", lambda t: np.linalg.slogdet(t)[0] == 1),
    ("generator", difference),
    ("generator", by_logarithm),
    ("length", kept),
    ("frequencies", positive),
    ("frequencies", first_of_two),
]
MISTAKES = [
    (
        "half step",
        lambda t: not np.isclose(np.linalg.eigvals(t), -1).any(),
        "every eigenvalue −1 excluded",
    ),
    ("half step", constant(True), "reflections counted in"),
    ("half step", lambda t: not half_step_by_product(t), "the wrong way round"),
    (
        "half step",
        lambda t: bool((np.linalg.eigvalsh((t + t.T) / 2) > 1e-12).all()),
        "positive definite wanted",
    ),
    ("generator", lambda f: f(1) - f(0), "a whole step"),
    ("generator", lambda f: (f(1e-5) - f(-1e-5)) / 1e-5, "factor 2"),
    ("generator", lambda f: (f(1e-6) - f(-1e-6)) / 4e-6, "factor ½"),
    ("generator", lambda f: difference(f).T, "sign turned"),
    ("generator", lambda f: (f(1 + 1e-5) - f(1 - 1e-5)) / 2e-5, "derivative elsewhere"),
    ("length", lambda s: np.linalg.inv(s) @ np.linalg.inv(s).T, "factors exchanged"),
    ("length", lambda s: s @ s.T, "not inverted"),
    ("length", lambda s: s.T @ s, "not inverted"),
    ("length", np.linalg.inv, "the inverse alone"),
    ("frequencies", np.linalg.eigvals, "complex eigenvalues"),
    ("frequencies", lambda a: np.linalg.eigvals(a).imag, "both signs"),
    ("frequencies", lambda a: np.sort(np.linalg.eigvals(a).imag), "both signs"),
    ("frequencies", spectrum, "both signs"),
    (
        "frequencies",
        lambda a: np.concatenate([-positive(a), positive(a)[::-1]]),
        "both signs",
    ),
    ("frequencies", lambda a: np.repeat(positive(a), 2), "every frequency twice"),
    ("frequencies", from_the_square, "every frequency twice"),
    ("frequencies", lambda a: from_the_square(a)[::-1], "every frequency twice"),
    (
        "frequencies",
        lambda a: np.abs(np.linalg.eigvals(a)),
        "every frequency twice",
    ),
    ("frequencies", lambda a: np.append(positive(a), 1e-17), "zeros kept"),
    (
        "frequencies",
        lambda a: np.sort(np.abs(np.linalg.eigvals(a)))[::-2],
        "zeros kept",
    ),
    ("frequencies", lambda a: positive(a) ** 2, "squares of the frequencies"),
    ("frequencies", lambda a: np.sort(positive(a)), "smallest first"),
]
WRONG = [
    ("half step", constant(False), "not the right answer"),
    ("generator", lambda f: difference(f, 0.5), "the largest difference for arguments a shift"),
    ("length", lambda s: np.eye(len(s)), "the largest difference"),
    ("frequencies", lambda a: positive(a) + 0.01, "the largest difference"),
    ("frequencies", constant(np.zeros((2, 3))), "expected shape"),
]


class TestChapter15(ExerciseChecks):
    CHECKS, RIGHT, MISTAKES, WRONG = CHECKS, RIGHT, MISTAKES, WRONG


@pytest.mark.parametrize("d", [2, 3, 6])
def test_the_families_of_the_check_are_exponentials(d):
    """Against the power series, and as a group of orthogonal matrices."""
    square = np.random.default_rng(d).normal(size=(d, d))
    shift = Shift(square - square.T)
    series = term = np.eye(d)
    for n in range(1, 60):
        term = term @ shift.generator / n
        series = series + term
    np.testing.assert_allclose(shift(1), series, rtol=0, atol=1e-11)
    np.testing.assert_allclose(shift(0.7) @ shift(-2), shift(-1.3), rtol=0, atol=1e-12)
    np.testing.assert_allclose(shift(3).T @ shift(3), np.eye(d), rtol=0, atol=1e-12)


def test_the_kept_length_is_kept_by_every_shift_in_the_crooked_basis():
    rng = np.random.default_rng(0)
    s = rng.normal(size=(4, 4))
    shift = s @ Shift(np.kron(np.diag([1, 0.3]), [[0, 1], [-1, 0]]))(2.0) @ np.linalg.inv(s)
    np.testing.assert_allclose(shift.T @ kept(s) @ shift, kept(s), rtol=1e-9, atol=1e-9)
    assert exercises.check_kept_length(kept)


def test_a_numpy_truth_is_a_truth():
    assert exercises.check_has_half_step(lambda t: np.linalg.det(t) > 0)
