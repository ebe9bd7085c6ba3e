"""What holds for the checks of every chapter: a right answer passes, a mistake is called by its
name, anything else gets a helpful message.
"""

from copy import deepcopy

import numpy as np
import pytest
import torch


class ExerciseChecks:
    """A subclass whose name begins with Test sets these four, with `name` a key of CHECKS.

    CHECKS: {name: check}. RIGHT: (name, answer). MISTAKES: (name, answer, name of the mistake).
        WRONG: (name, answer, words of the message).
    """

    CHECKS, RIGHT, MISTAKES, WRONG = {}, [], [], []

    def pytest_generate_tests(self, metafunc):
        columns = [
            argument
            for argument in metafunc.fixturenames
            if argument in ("name", "answer", "mistake", "words")
        ]
        rows = {
            ("name", "answer"): self.RIGHT,
            ("name", "answer", "mistake"): self.MISTAKES,
            ("name", "answer", "words"): self.WRONG,
            ("name",): self.CHECKS,
        }
        metafunc.parametrize(columns if len(columns) > 1 else columns[0], rows[tuple(columns)])

    def test_right_answers_pass(self, name, answer):
        verdict = self.CHECKS[name](answer)
        assert verdict and verdict.status == "correct", verdict

    def test_right_answers_in_float32_pass_or_are_told_apart_by_name(self, name, answer):
        for cast in (np.float32, torch_float32):
            verdict = self.CHECKS[name](in_float32(answer, cast))
            assert verdict.status == "correct" or "float32" in str(verdict.mistake), verdict

    def test_answers_that_use_up_their_arguments_are_judged_by_what_they_return(self, name, answer):
        def greedy(*arguments):
            value = deepcopy(answer(*arguments))
            for argument in arguments:
                if isinstance(argument, list):
                    argument.clear()
                elif hasattr(argument, "shape") and argument.shape:
                    argument[...] = 7
            return value

        if callable(answer):
            for attempt in (greedy, answer):
                verdict = self.CHECKS[name](attempt)
                assert verdict.status == "correct", verdict

    def test_each_mistake_is_called_by_its_name(self, name, answer, mistake):
        verdict = self.CHECKS[name](answer)
        assert not verdict and verdict.mistake == mistake, verdict
        assert mistake in repr(verdict) and len(verdict.message.split()) >= 4

    def test_other_answers_are_wrong_but_not_called_a_known_mistake(self, name, answer, words):
        verdict = self.CHECKS[name](answer)
        assert verdict.status == "wrong" and verdict.mistake is None and words in verdict.message, (
            verdict
        )

    @pytest.mark.parametrize(
        "stub", [..., None, lambda *_: ..., lambda *_: None, lambda *_: _raise(NotImplementedError)]
    )
    def test_an_untouched_stub_is_not_attempted(self, name, stub):
        assert self.CHECKS[name](stub).status == "not attempted"

    def test_a_forgotten_return_is_said(self, name):
        assert "is a `return` missing" in self.CHECKS[name](lambda *_: None).message

    def test_what_cannot_become_numbers_is_wrong(self, name):
        class Broken:
            def __array__(self, *_, **__):
                raise RuntimeError("not a number")

        verdict = self.CHECKS[name](lambda *_: Broken())
        assert not verdict and verdict.message

    def test_an_exception_is_reported(self, name):
        verdict = self.CHECKS[name](lambda *_: 1 / 0)
        assert verdict.status == "error" and "ZeroDivisionError" in verdict.message


def constant(value):
    """An answer that is the same whatever it is asked."""
    return lambda *_: value


def _raise(error):
    raise error


def in_float32(answer, cast):
    """The same answer, its floats in single precision: one value, an array, or a few of them."""

    def narrow(value):
        if isinstance(value, tuple):
            return tuple(map(narrow, value))
        if isinstance(value, str | bool | int) or value is None:
            return value
        try:
            found = np.asarray(value)
        except ValueError:  # rows of several lengths
            return value
        return cast(value) if found.dtype == np.float64 else value

    return (lambda *case: narrow(answer(*case))) if callable(answer) else narrow(answer)


def torch_float32(value):
    return torch.tensor(np.asarray(value), dtype=torch.float32)
