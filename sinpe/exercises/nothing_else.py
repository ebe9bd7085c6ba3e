"""Checks for chapter 15: one-parameter groups, their generators, and the planes that they turn."""

from dataclasses import dataclass

import numpy as np

from sinpe.exercises._check import Mistake, Verdict, check


def check_has_half_step(attempt):
    """attempt(matrix) -> whether an orthogonal matrix T_1 has a real square root T_½ that is
    orthogonal.

    (det T_½)² = det T_1, so a determinant of −1 excludes it; every rotation has one.
    """
    turn = _orthogonal(np.random.default_rng(4), 4)
    cases = [
        np.diag([1.0, -1.0]),
        -np.eye(2),
        _rotation(1.0),
        np.diag([1.0, -1.0, -1.0]),
        -np.eye(3),
        np.eye(3)[[1, 2, 0]],
        np.eye(4)[[1, 2, 3, 0]],
        turn,
        turn[[1, 0, 2, 3]],
    ]

    def checked(matrix):
        answer = attempt(matrix) if callable(attempt) else attempt
        return bool(answer) if isinstance(answer, np.bool_) else answer

    det = np.linalg.det
    mistakes = (
        Mistake(
            "every eigenvalue −1 excluded",
            lambda t: bool((np.abs(np.linalg.eigvals(t) + 1) > 1e-6).all()),
            "two eigenvalues −1 make half a turn in a plane, and half of that is a quarter turn.",
        ),
        Mistake(
            "reflections counted in",
            lambda t: True,
            "two half steps make a whole one, so det T_1 = (det T_½)²: can that be −1?",
        ),
        Mistake(
            "the wrong way round",
            lambda t: bool(det(t) < 0),
            "determinant −1 is the one that no square of a real matrix has.",
        ),
        Mistake(
            "positive definite wanted",
            lambda t: bool((np.linalg.eigvalsh(t + t.T) > 0).all()),
            "half a turn has a half step too: the square root need not be symmetric.",
        ),
    )
    return check(
        checked,
        lambda t: bool(det(t) > 0),
        [(case,) for case in cases],
        mistakes,
        praise="rotations have half steps, reflections have none.",
    )


def check_generator(attempt):
    """attempt(shift) -> the generator A of a family shift(k) = exp(kA), its derivative at k = 0."""
    rng = np.random.default_rng(7)
    squares = [rng.normal(size=(d, d)) / 2 for d in (2, 3, 6)]
    cases = [(Shift(square - square.T),) for square in squares]
    mistakes = (
        Mistake(
            "a whole step",
            lambda shift: shift(1) - np.eye(len(shift(0))),
            "T_1 − I is the way of one whole step: divide a tiny step by its length.",
        ),
        Mistake(
            "factor 2",
            lambda shift: 2 * shift.generator,
            "from −h to h the step is 2h long.",
        ),
        Mistake(
            "factor ½",
            lambda shift: shift.generator / 2,
            "from 0 to h the step is h long, not 2h.",
        ),
        Mistake(
            "sign turned",
            lambda shift: -shift.generator,
            "T_{−h} − T_h goes backwards. (The transpose of A is −A as well.)",
        ),
        Mistake(
            "derivative elsewhere",
            lambda shift: shift.generator @ shift(1),
            "at k = 1 the derivative is A·T_1; the generator is the one at k = 0.",
        ),
    )
    return check(
        attempt,
        lambda shift: shift.generator,
        cases,
        mistakes,
        praise="T_k = exp(kA) with this A.",
        tolerance=1e-6,
    )


def check_kept_length(attempt):
    """attempt(S) -> the symmetric G with Sᵀ G S = I, whose length x·Gx every shift S·R·S⁻¹
    keeps, R orthogonal.
    """
    rng = np.random.default_rng(3)
    cases = [(rng.normal(size=(d, d)) + d * np.eye(d),) for d in (2, 4, 5)]
    inverse = np.linalg.inv
    mistakes = (
        Mistake(
            "factors exchanged",
            lambda s: inverse(s.T @ s),
            "SᵀS is another matrix than SSᵀ: multiply SᵀGS = I by S⁻¹ from the right.",
        ),
        Mistake(
            "not inverted",
            lambda s: s @ s.T,
            "G has to undo S on both sides: SᵀGS = I.",
        ),
        Mistake("not inverted", lambda s: s.T @ s, "G has to undo S on both sides: SᵀGS = I."),
        Mistake(
            "the inverse alone",
            inverse,
            "S⁻¹ undoes one side of SᵀGS = I; the transpose on the left waits too.",
        ),
    )
    return check(
        attempt,
        lambda s: inverse(s @ s.T),
        cases,
        mistakes,
        praise="G = (SSᵀ)⁻¹.",
        tolerance=1e-8,
    )


def check_frequencies_of(attempt):
    """attempt(generator) -> the positive frequencies of a real skew-symmetric matrix, largest
    first.

    The eigenvalues of a skew-symmetric matrix are ±iω and zeros: each ω > 0 counts once.
    """
    rng = np.random.default_rng(2)
    cases = [(a - a.T,) for a in (rng.normal(size=(d, d)) for d in (4, 5, 6))]
    cases.append((np.pad(cases[0][0], (0, 2)),))  # an even width with two constant coordinates

    def checked(generator):
        answer = attempt(generator) if callable(attempt) else attempt
        return "complex" if np.iscomplexobj(answer) else answer

    signs = "ω and −ω are the same plane, turned over: keep the positive ones."
    twice = "a plane has two eigenvalues, iω and −iω, but one frequency; a zero is no plane."
    zeros_kept = "a zero (or 1e-16) is a coordinate that never moves, not a frequency: drop it."
    both_signs = (
        _spectrum,
        lambda a: _spectrum(a)[::-1],
        lambda a: _without_zeros(_spectrum(a)),
        lambda a: _without_zeros(_spectrum(a)[::-1]),
    )
    mistakes = (
        Mistake(
            "complex eigenvalues",
            lambda a: "complex",
            "the eigenvalues are iω: return the real numbers ω, for example from"
            " np.linalg.eigvalsh(1j * generator).",
        ),
        *(
            Mistake(
                "both signs",
                wrong,
                signs,
            )
            for wrong in both_signs
        ),
        Mistake(
            "every frequency twice",
            lambda a: np.sort(np.abs(_spectrum(a)))[::-1],
            twice,
        ),
        Mistake(
            "every frequency twice",
            lambda a: np.repeat(_frequencies(a), 2),
            twice,
        ),
        Mistake("zeros kept", lambda a: _spectrum(a)[::-1][: (len(a) + 1) // 2], zeros_kept),
        Mistake(
            "squares of the frequencies",
            lambda a: _frequencies(a) ** 2,
            "the eigenvalues of A² are −ω²: a square root is missing.",
        ),
        Mistake(
            "smallest first",
            lambda a: _frequencies(a)[::-1],
            "sort from the largest to the smallest.",
        ),
    )
    verdict = check(
        checked, _frequencies, cases, mistakes, praise="one frequency a plane, zeros left out."
    )
    # rounding decides which zeros are above 0, and in which order equal sizes stand
    if verdict.status == "wrong" and check(
        lambda a: _without_zeros(attempt(a)), _frequencies, cases
    ):
        return Verdict("mistake", zeros_kept, "zeros kept")
    for name, hint, wrong in (
        ("both signs", signs, lambda a: _without_zeros(_spectrum(a))),
        ("every frequency twice", twice, lambda a: np.repeat(_frequencies(a), 2)),
    ):
        if verdict.status == "wrong" and check(
            lambda a: np.sort(_without_zeros(attempt(a))), lambda a, w=wrong: np.sort(w(a)), cases
        ):
            return Verdict("mistake", hint, name)
    return verdict


@dataclass(frozen=True, repr=False, eq=False)
class Shift:
    """exp(kA) as a function of k, for a skew-symmetric A."""

    generator: np.ndarray

    def __call__(self, k):
        omegas, vectors = np.linalg.eigh(1j * self.generator)  # A = V diag(−iω) V*
        return ((vectors * np.exp(-1j * omegas * k)) @ vectors.conj().T).real

    def __repr__(self):
        return f"a shift in {len(self.generator)} dimensions"


def _rotation(angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, s], [-s, c]])


def _orthogonal(rng, d):
    """A random orthogonal matrix of determinant +1."""
    q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return q * np.sign(np.linalg.det(q)) ** np.eye(d)[0]


def _without_zeros(values):
    """The values that are above rounding. A root of a zero that came out below 0 is none."""
    values = np.asarray(values, float)
    return values[np.abs(values) > 1e-6 * np.nanmax(np.abs(values))]


def _spectrum(generator):
    """The real numbers ±ω and 0, ascending: eigenvalues of the Hermitian matrix iA."""
    return np.linalg.eigvalsh(1j * generator)


def _frequencies(generator):
    spectrum = _spectrum(generator)[::-1]
    return spectrum[spectrum > 1e-9 * spectrum[0]]
