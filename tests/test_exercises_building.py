"""The checks of chapter 03: right answers pass, each known mistake is named, anything else is
neither accepted nor mislabelled.
"""

import math
import re
import warnings

import numpy as np
import pytest
import torch

import sinpe
from sinpe.exercises import check_adding, check_module, check_precision, check_spacings, check_table

# --- tables: one function a style, so that recognition cannot hang on how the code is written ---


def fill(n, sine, cosine=None, dtype=np.float64):
    out = np.empty((n, 2 * len(sine)), dtype)
    p = np.arange(n)[:, None]
    out[:, 0::2], out[:, 1::2] = np.sin(p * sine), np.cos(p * (sine if cosine is None else cosine))
    return out


def fill_angles(angles):
    return np.stack([np.sin(angles), np.cos(angles)], -1).reshape(len(angles), -1)


def right_loop(n, d):
    return [
        [(math.sin if j % 2 == 0 else math.cos)(p / 10000 ** (2 * (j // 2) / d)) for j in range(d)]
        for p in range(n)
    ]


def right_torch(n, d):
    pe, position = torch.zeros(n, d), torch.arange(n).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d, 2) * (-math.log(10000.0) / d))
    pe[:, 0::2], pe[:, 1::2] = torch.sin(position * div_term), torch.cos(position * div_term)
    return pe


def right_where(n, d):
    j = np.arange(d)
    angle = np.arange(n)[:, None] / np.power(10000, 2 * (j // 2) / np.float32(d))
    return np.where(j % 2 == 0, np.sin(angle), np.cos(angle))


def right_halves_zipped(n, d):
    angle = np.outer(np.arange(n), 1 / 10000 ** np.linspace(0, 1, d // 2, endpoint=False))
    return np.stack([np.sin(angle), np.cos(angle)], -1).reshape(n, d)


RIGHT = {
    "loop": right_loop,
    "torch": right_torch,
    "where": right_where,
    "zipped": right_halves_zipped,
    "package": sinpe.sinusoidal_encoding,
    "float32": lambda n, d: sinpe.sinusoidal_encoding(n, d, dtype=np.float32),
    "float16": lambda n, d: sinpe.sinusoidal_encoding(n, d, dtype=np.float16),
    "float32 angles": lambda n, d: fill(
        n, (10000 ** (-np.arange(0, d, 2) / d)).astype(np.float32), dtype=np.float32
    ),
    "bfloat16": lambda n, d: torch.from_numpy(sinpe.sinusoidal_encoding(n, d)).to(torch.bfloat16),
    "half tensor": lambda n, d: right_torch(n, d).half(),
    "tensor that wants a gradient": lambda n, d: right_torch(n, d).requires_grad_(),
}


@pytest.mark.parametrize("table", RIGHT.values(), ids=RIGHT)
def test_right_tables_pass(table):
    assert check_table(table), check_table(table)


def test_a_silent_odd_width_is_mentioned():
    assert "odd width" in check_table(right_where).message
    assert "odd width" not in check_table(sinpe.sinusoidal_encoding).message


def a2_column_index(n, d):
    pe = np.zeros((n, d))
    for p in range(n):
        for j in range(d):
            angle = p / 10000 ** (j / d)
            pe[p, j] = np.sin(angle) if j % 2 == 0 else np.cos(angle)
    return pe


def a2_a3_stepping_loop(n, d):
    pe = torch.zeros(n, d)
    for p in range(n):
        for i in range(0, d, 2):
            pe[p, i] = math.sin(p / (10000 ** ((2 * i) / d)))
            pe[p, i + 1] = math.cos(p / (10000 ** ((2 * (i + 1)) / d)))
    return pe


def a3_torch(n, d):
    pe, i = torch.zeros(n, d), torch.arange(0, d, 2).float()
    angle = torch.arange(n).unsqueeze(1) / 10000 ** (2 * i / d)
    pe[:, ::2], pe[:, 1::2] = angle.sin(), angle.cos()
    return pe


def a4_power(n, d):
    return fill(n, np.power(np.arange(0, d, 2) / d, 1 / 10000))


def a4_loop(n, d):
    return [
        [(math.sin if j % 2 == 0 else math.cos)(p / (2 * (j // 2) / d) ** 10000) for j in range(d)]
        for p in range(n)
    ]


def a5_torch(n, d):
    pe, position = torch.zeros(n, d), torch.arange(n).unsqueeze(1).float()
    div_term = torch.exp(torch.arange(d // 2) * (-math.log(10000.0) / d // 2))
    pe[:, 0::2], pe[:, 1::2] = torch.sin(position * div_term), torch.cos(position * div_term)
    return pe


def in_type(dtype, result=None):
    def table(n, d):
        position, i = torch.arange(n).to(dtype)[:, None], torch.arange(0, d, 2).to(dtype)
        angle = position * torch.exp(i * (-math.log(10000.0) / d))
        return torch.stack([angle.sin(), angle.cos()], -1).flatten(1).to(result or dtype)

    return table


def numpy_half(n, d):
    angle = np.arange(n, dtype=np.float16)[:, None] * (10000 ** (-np.arange(0, d, 2) / d)).astype(
        np.float16
    )
    return np.stack([np.sin(angle), np.cos(angle)], -1).reshape(n, d)


def w(d):
    return 10000.0 ** (-np.arange(0, d, 2) / d)


def integers(n, d):
    out = np.zeros((n, d), int)
    out[:, 0::2], out[:, 1::2] = (
        np.sin(np.arange(n)[:, None] * w(d)),
        np.cos(np.arange(n)[:, None] * w(d)),
    )
    return out


WRONG = {
    "A2, column index": (a2_column_index, "separate cosine exponent"),
    "A2, next pair": (
        lambda n, d: fill(n, w(d), 10000.0 ** (-(np.arange(0, d, 2) + 2) / d)),
        "separate cosine exponent",
    ),
    "A2, float32": (
        lambda n, d: fill(n, w(d), 10000.0 ** (-(np.arange(0, d, 2) + 1) / d), np.float32),
        "separate cosine exponent",
    ),
    "A2, some other cosine": (
        lambda n, d: fill(n, w(d), w(d) * 0.7 + 0.01),
        "separate cosine exponent",
    ),
    "A2 and A3": (a2_a3_stepping_loop, "doubled exponent and separate cosine exponent"),
    "A3, torch": (a3_torch, "doubled exponent"),
    "A3, divided by half": (
        lambda n, d: fill(n, 1 / 10000 ** (2 * np.arange(d // 2) / (d / 2))),
        "doubled exponent",
    ),
    "A3, half precision result": (lambda n, d: a3_torch(n, d).half(), "doubled exponent"),
    "A3, bfloat16 result": (lambda n, d: a3_torch(n, d).bfloat16(), "doubled exponent"),
    "A4, root": (a4_power, "base and exponent swapped"),
    "A4, power": (
        lambda n, d: fill(n, (np.arange(0, d, 2) / d) ** 10000),
        "base and exponent swapped",
    ),
    "A4, divided": (
        lambda n, d: fill(n, 1 / (np.arange(0, d, 2) / d) ** 10000),
        "base and exponent swapped",
    ),
    "A4, loop that divides by zero": (a4_loop, "base and exponent swapped"),
    "A5, torch": (a5_torch, "floor division"),
    "A5, minus outside": (
        lambda n, d: fill(n, np.exp(np.arange(d // 2) * -(np.log(10000) / d // 2))),
        "floor division",
    ),
    "A5, minus outside, by the width": (
        lambda n, d: fill(n, np.exp(np.arange(0, d, 2) * -(np.log(10000) // d))),
        "floor division",
    ),
    "A5, python operator": (
        lambda n, d: fill(n, np.exp(np.arange(0, d, 2) * (-np.log(10000) // d))),
        "floor division",
    ),
    "A4, negative root": (
        lambda n, d: fill(n, (np.arange(0, d, 2) / d) ** (-1 / 10000)),
        "base and exponent swapped",
    ),
    "A5, of the position": (
        lambda n, d: fill_angles(np.arange(n)[:, None] // (1 / w(d))),
        "floor division",
    ),
    "A5, whole exponent": (
        lambda n, d: fill(n, 10000.0 ** -(np.arange(0, d, 2) // d)),
        "floor division",
    ),
    "A11, float16": (in_type(torch.float16), "low-precision angles, float16"),
    "A11, float16 kept as float32": (
        in_type(torch.float16, torch.float32),
        "low-precision angles, float16",
    ),
    "A11, bfloat16": (in_type(torch.bfloat16), "low-precision angles, bfloat16"),
    "A11, bfloat16 kept as float32": (
        in_type(torch.bfloat16, torch.float32),
        "low-precision angles, bfloat16",
    ),
    "A11, bfloat16 positions only": (
        lambda n, d: fill_angles(torch.arange(n).bfloat16().double().numpy()[:, None] * w(d)),
        "low-precision angles, bfloat16",
    ),
    "A11, bfloat16 frequencies only": (
        lambda n, d: fill_angles(
            np.arange(n)[:, None] * torch.from_numpy(w(d)).bfloat16().double().numpy()
        ),
        "low-precision angles, bfloat16",
    ),
    "A11, numpy": (numpy_half, "low-precision angles, float16"),
    "A12": (
        lambda n, d: fill(n, sinpe.inverse_frequencies(d, spacing="tensor2tensor")),
        "tensor2tensor spacing",
    ),
    "layout": (
        lambda n, d: sinpe.sinusoidal_encoding(n, d, layout="concatenated"),
        "concatenated layout",
    ),
    "tensor2tensor": (
        lambda n, d: sinpe.sinusoidal_encoding(
            n, d, layout="concatenated", spacing="tensor2tensor", dtype=np.float32
        ),
        "tensor2tensor spacing and concatenated layout",
    ),
    "A3, concatenated": (
        lambda n, d: np.hstack(
            [np.sin(np.arange(n)[:, None] * w(d) ** 2), np.cos(np.arange(n)[:, None] * w(d) ** 2)]
        ),
        "doubled exponent and concatenated layout",
    ),
    "degrees": (lambda n, d: fill(n, np.radians(w(d))), "degrees"),
    "turns": (lambda n, d: fill(n, 2 * np.pi * w(d)), "full turns instead of radians"),
    "transposed": (lambda n, d: sinpe.sinusoidal_encoding(n, d).T, "axes swapped"),
    "arguments": (lambda n, d: sinpe.sinusoidal_encoding(d, n), "arguments swapped"),
    "from 2": (lambda n, d: sinpe.sinusoidal_encoding(n + 2, d)[2:], "positions start at 2"),
    "from 1": (lambda n, d: sinpe.sinusoidal_encoding(n + 1, d)[1:], "positions start at 1"),
    "swapped": (
        lambda n, d: sinpe.sinusoidal_encoding(n, d).reshape(n, -1, 2)[..., ::-1].reshape(n, d),
        "sine and cosine swapped",
    ),
    "sines only": (
        lambda n, d: np.sin(np.arange(n)[:, None] * np.repeat(w(d), 2)),
        "sine in every column",
    ),
    "growing": (lambda n, d: fill(n, 1 / w(d)), "exponent without minus"),
    "half": (lambda n, d: fill(n, w(d) ** 0.5), "halved exponent"),
    "reversed": (lambda n, d: fill(n, w(d)[::-1]), "slowest frequency first"),
    "integers": (integers, "integer table"),
}


@pytest.mark.parametrize(("table", "name"), WRONG.values(), ids=WRONG)
def test_each_table_mistake_is_named(table, name):
    verdict = check_table(table)
    assert not verdict
    assert verdict.mistake == name, verdict
    assert len(verdict.message) > 20


OTHER = {
    "another base": lambda n, d: sinpe.sinusoidal_encoding(n, d, base=1000),
    "nearly the base": lambda n, d: sinpe.sinusoidal_encoding(n, d, base=9990),
    "very nearly the base": lambda n, d: sinpe.sinusoidal_encoding(
        n, d, base=10010, dtype=np.float32
    ),
    "linear frequencies": lambda n, d: fill(n, np.linspace(1, 1e-4, d // 2)),
    "d + 1": lambda n, d: fill(n, 10000.0 ** (-np.arange(0, d, 2) / (d + 1))),
    "scaled": lambda n, d: 2 * sinpe.sinusoidal_encoding(n, d),
    "cosines of ones": lambda n, d: np.where(
        np.arange(d) % 2, 1.0, sinpe.sinusoidal_encoding(n, d)
    ),
    "noise": lambda n, d: np.random.default_rng(0).normal(size=(n, d)),
    "small noise": (
        lambda n, d: (
            sinpe.sinusoidal_encoding(n, d) + 0.01 * np.random.default_rng(0).normal(size=(n, d))
        )
    ),
    "zeros in the second half": (
        lambda n, d: sinpe.sinusoidal_encoding(n, d) * (np.arange(n) < n // 2)[:, None]
    ),
    "NaN": lambda n, d: np.full((n, d), np.nan),
    "extra axis": lambda n, d: sinpe.sinusoidal_encoding(n, d)[None],
    "a number": lambda n, d: 3.0,
    "text": lambda n, d: "PE",
    "empty": lambda n, d: np.empty((0, d)),
}


@pytest.mark.parametrize("table", OTHER.values(), ids=OTHER)
def test_other_wrong_tables_are_neither_accepted_nor_mislabelled(table):
    verdict = check_table(table)
    assert verdict.status == "wrong" and verdict.mistake is None, verdict
    assert "expected" in verdict.message


@pytest.mark.parametrize(
    ("check", "answer"),
    [
        (check_table, lambda n, d: sinpe.sinusoidal_encoding(n, d) * (1 - 3e-4)),
        (check_precision, lambda p, d: sinpe.sinusoidal_encoding(p, d) * (1 - 1e-8)),
        (check_precision, lambda p, d: fill_at(p * 1.0, w(d), np.float32) * np.float32(1 - 3e-7)),
    ],
)
def test_a_small_difference_can_be_read_off_the_message(check, answer):
    verdict = check(answer)
    expected, got = re.search(r"expected (\S+), got (\S+)\.$", verdict.message).groups()
    assert not verdict and expected != got, verdict


@pytest.mark.parametrize("check", [check_table, check_adding, check_precision])
def test_stubs_and_errors(check):
    def stub(*arguments): ...

    def raises(*arguments):
        raise KeyError("nothing here")

    def todo(*arguments):
        raise NotImplementedError

    for untouched in (stub, todo, None, ..., lambda *a: ...):
        assert repr(check(untouched)).startswith("Not attempted"), check(untouched)
    assert check(raises).status == "error"
    assert "KeyError" in check(raises).message


def test_checks_are_silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_table(a4_power)
        check_table(lambda n, d: fill(n, 1 / (np.arange(0, d, 2) / d) ** 10000))
        check_precision(lambda p, d: fill_at(p.astype(np.float16), w(d).astype(np.float16)))


# --- adding to a batch ---

TABLE = sinpe.sinusoidal_encoding(50, 4)
TENSOR = torch.from_numpy(TABLE).float()


def in_place(x):
    x += TENSOR[: x.shape[1]].numpy() if isinstance(x, np.ndarray) else TENSOR[: x.shape[1]]
    return x


def by_loop(x):
    out = x.clone() if isinstance(x, torch.Tensor) else x.copy()
    for b in range(x.shape[0]):
        for t in range(x.shape[1]):
            out[b, t] += TENSOR[t]
    return out


@pytest.mark.parametrize(
    "add",
    [
        lambda x: x + TENSOR[: x.shape[1]],
        lambda x: x + TABLE[None, : x.shape[1]],
        lambda x: np.asarray(x) + TABLE[: x.shape[1]],
        lambda x: np.add(x, TABLE[: len(x[0])]),
        lambda x: sinpe.SinusoidalEncoding(4)(x, torch.arange(x.shape[1])),
        in_place,
        by_loop,
    ],
)
def test_right_sums_pass(add):
    assert check_adding(add), check_adding(add)


TUTORIAL = TENSOR[:, None]  # (max_len, 1, d_model), made for (seq, batch, d_model)


@pytest.mark.parametrize(
    ("add", "name"),
    [
        (lambda x: x + TUTORIAL[: x.size(0)], "position along the batch axis"),
        (lambda x: x + TENSOR[: x.shape[0], None], "position along the batch axis"),
        (lambda x: np.asarray(x) + TABLE[: len(x)][:, None, :], "position along the batch axis"),
        # raises but for batch 1 or batch == seq
        (lambda x: x + TENSOR[: x.size(0)], "position along the batch axis"),
        (
            lambda x: torch.stack([row + TENSOR[b] for b, row in enumerate(x)]),
            "position along the batch axis",
        ),
        (lambda x: x + TENSOR[0], "one position for all tokens"),
        (lambda x: x + TENSOR[x.shape[1]], "one position for all tokens"),
        (
            lambda x: (x.reshape(-1, 4) + TENSOR[: x.shape[0] * x.shape[1]]).reshape(x.shape),
            "positions run on",
        ),
        (lambda x: x + TENSOR[1 : x.shape[1] + 1], "positions start at 1"),
        (lambda x: x + TENSOR[2 : x.shape[1] + 2], "positions start at 2"),  # fairseq's
        (lambda x: x + TENSOR[: x.shape[1]].flip(0), "positions reversed"),
        (lambda x: TENSOR[: x.shape[1]].expand(x.shape), "x is lost"),
        (lambda x: x * TENSOR[: x.shape[1]], "multiplied"),
        (lambda x: 2 * x + TENSOR[: x.shape[1]], "scaled"),
        (lambda x: x + a3_torch(x.shape[1], 4), "doubled exponent"),
        (
            lambda x: x + a2_a3_stepping_loop(x.shape[1], 4),
            "doubled exponent and separate cosine exponent",
        ),
        (
            lambda x: (
                x + torch.as_tensor(sinpe.sinusoidal_encoding(x.shape[1], 4, layout="concatenated"))
            ),
            "concatenated layout",
        ),
    ],
)
def test_each_sum_mistake_is_named(add, name):
    verdict = check_adding(add)
    assert verdict.mistake == name, verdict


@pytest.mark.parametrize(
    "add",
    [
        lambda x: x,
        lambda x: x + 1,
        lambda x: x + 0.5 * TENSOR[: x.shape[1]],
        lambda x: x + torch.randn(x.shape, generator=torch.Generator().manual_seed(0)),
        lambda x: x[0],
        lambda x: x.float() * float("nan"),
        lambda x: "sum",
    ],
)
def test_other_wrong_sums_are_neither_accepted_nor_mislabelled(add):
    verdict = check_adding(add)
    assert not verdict and verdict.mistake is None and verdict.status in ("wrong", "error"), verdict


# --- far positions ---


def fill_at(p, frequencies, dtype=None):
    angle = p[:, None] * frequencies
    out = np.stack([np.sin(angle), np.cos(angle)], -1).reshape(len(p), -1)
    return out if dtype is None else out.astype(dtype)


def torch_angles(dtype, result=None):
    def encode(positions, d):
        angle = torch.as_tensor(positions).to(dtype)[:, None] * torch.exp(
            torch.arange(0, d, 2).to(dtype) * (-math.log(10000.0) / d)
        )
        return torch.stack([angle.sin(), angle.cos()], -1).flatten(1).to(result or dtype)

    return encode


@pytest.mark.parametrize(
    "encode",
    [
        lambda p, d: fill_at(p, w(d)),
        lambda p, d: fill_at(p, w(d), np.float32),
        lambda p, d: fill_at(
            p.astype(float), np.exp(-np.log(10000) * np.arange(0, d, 2) / d), np.float32
        ),
        lambda p, d: fill_at(p.astype(np.float32).astype(float), w(d), np.float16),
        torch_angles(torch.float64),
        torch_angles(torch.float64, torch.float32),
        torch_angles(torch.float64, torch.float16),
        torch_angles(torch.float64, torch.bfloat16),
        lambda p, d: sinpe.sinusoidal_encoding(p, d, dtype=np.float32),
        lambda p, d: [
            [f(x * 10000 ** (-i / d)) for i in range(0, d, 2) for f in (math.sin, math.cos)]
            for x in map(int, p)
        ],
    ],
)
def test_right_precision_passes(encode):
    assert check_precision(encode), check_precision(encode)


@pytest.mark.parametrize(
    ("encode", "name"),
    [
        (torch_angles(torch.float32), "low-precision angles, float32"),
        (torch_angles(torch.float32, torch.float64), "low-precision angles, float32"),
        (torch_angles(torch.float32, torch.bfloat16), "low-precision angles, float32"),
        (torch_angles(torch.float32, torch.float16), "low-precision angles, float32"),
        (torch_angles(torch.float16), "low-precision angles, float16"),
        (torch_angles(torch.float16, torch.float32), "low-precision angles, float16"),
        (torch_angles(torch.bfloat16), "low-precision angles, bfloat16"),
        (torch_angles(torch.bfloat16, torch.float32), "low-precision angles, bfloat16"),
        (
            lambda p, d: fill_at(p.astype(np.float32), w(d).astype(np.float32)),
            "low-precision angles, float32",
        ),
        (
            lambda p, d: fill_at(p.astype(np.float16), w(d).astype(np.float16)),
            "low-precision angles, float16",
        ),
        (
            lambda p, d: fill_at(p.astype(float), w(d).astype(np.float32).astype(float)),
            "low-precision angles, float32",
        ),
        (
            lambda p, d: fill_at(p.astype(np.float16).astype(np.float32), w(d)),
            "low-precision angles, float16",
        ),
        (lambda p, d: fill_at(p.astype(float), w(d) ** 2), "doubled exponent"),
        (lambda p, d: sinpe.sinusoidal_encoding(p + 1, d), "positions start at 1"),
        (lambda p, d: sinpe.sinusoidal_encoding(p + 2, d), "positions start at 2"),
        (
            lambda p, d: sinpe.sinusoidal_encoding(p, d, layout="concatenated"),
            "concatenated layout",
        ),
    ],
)
def test_each_precision_mistake_is_named(encode, name):
    verdict = check_precision(encode)
    assert verdict.mistake == name, verdict


@pytest.mark.parametrize(
    "encode",
    [
        lambda p, d: sinpe.sinusoidal_encoding(p, d, base=9990),
        lambda p, d: sinpe.sinusoidal_encoding(p, d, base=10_001, dtype=np.float32),
        lambda p, d: sinpe.sinusoidal_encoding(p, d, base=20_000, dtype=np.float16),
        lambda p, d: sinpe.sinusoidal_encoding(np.minimum(p, 512), d),
        lambda p, d: sinpe.sinusoidal_encoding(p, d) * 1.001,
        lambda p, d: np.zeros((len(p), d)),
        lambda p, d: np.full((len(p), d), np.nan),
        lambda p, d: np.zeros(d),
        lambda p, d: "codes",
    ],
)
def test_other_precision_answers_are_neither_accepted_nor_mislabelled(encode):
    verdict = check_precision(encode)
    assert not verdict and verdict.mistake is None, verdict


# --- a module ---


class Good(torch.nn.Module):
    """The chapter's solution with one thing changed by each subclass below."""

    persistent = False

    def __init__(self, d_model, max_len=16):
        super().__init__()
        self.d_model = self.width(d_model)
        self.keep(
            torch.from_numpy(sinpe.sinusoidal_encoding(max_len, d_model + d_model % 2)[:, :d_model])
        )

    def width(self, d_model):
        if d_model % 2:
            raise ValueError("odd")
        return d_model

    def keep(self, table):
        self.register_buffer("table", table, persistent=self.persistent)

    def rows(self, x):
        if x.shape[1] > len(self.table):
            return torch.from_numpy(sinpe.sinusoidal_encoding(x.shape[1], self.d_model))
        return self.table[: x.shape[1]]

    def check(self, x):
        if x.shape[-1] != self.d_model:
            raise ValueError("width")

    def forward(self, x):
        self.check(x)
        return x + self.rows(x).to(x.dtype)


class BatchAxis(Good):
    def rows(self, x):
        return self.table[: x.shape[0], None]


class Promotes(Good):
    def forward(self, x):
        self.check(x)
        return x + self.rows(x)


class AnyWidth(Good):
    def check(self, x):
        pass


class OddWidth(Good):
    def width(self, d_model):
        return d_model


class DiesAtOddWidth(Good):
    def width(self, d_model):
        torch.zeros(3, d_model)[:, 1::2] = torch.zeros(3, (d_model + 1) // 2)
        return d_model


class Saved(Good):
    persistent = True


class Attribute(Good):
    def keep(self, table):
        self.table = table


class InAList(Good):
    def keep(self, table):
        self.tables = [table]

    @property
    def table(self):
        return self.tables[0]


class Trained(Good):
    def keep(self, table):
        self.table = torch.nn.Parameter(table)


class Short(Good):
    def rows(self, x):
        return self.table[: x.shape[1]]


class Doubled(Good):
    def keep(self, table):
        super().keep(a3_torch(len(table), table.shape[1]))


@pytest.mark.parametrize("make", [Good, sinpe.SinusoidalEncoding, lambda d: Good(d, 6000)])
def test_right_modules_pass(make):
    assert check_module(make), check_module(make)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (BatchAxis, "position along the batch axis"),
        (Doubled, "doubled exponent"),
        (Promotes, "output type"),
        (AnyWidth, "width mismatch"),
        (OddWidth, "odd width"),
        (DiesAtOddWidth, "odd width"),
        (Trained, "trained table"),
        (Saved, "saved in the checkpoint"),
        (Attribute, "plain attribute"),
        (InAList, "plain attribute"),
        (Short, "longer than the table"),
    ],
)
def test_each_module_mistake_is_named(make, name):
    assert check_module(make).mistake == name, check_module(make)


def test_module_stubs_and_errors():
    class Stub(torch.nn.Module):
        def __init__(self, d_model):
            super().__init__()

        def forward(self, x): ...

    for untouched in (Stub, lambda d: None, lambda d: ...):
        assert repr(check_module(untouched)).startswith("Not attempted"), check_module(untouched)
    assert check_module(lambda d: 1 / 0).status == "error"
    assert check_module(lambda d: np.zeros(d)).status == "wrong"
    assert check_module(lambda d: torch.nn.Linear(d, d)).status == "wrong"
    assert check_module(lambda d: torch.nn.Flatten()).status == "error"


# --- reading ---

# the exponent in every way in which it is written, with a // where a / should stand
FLOORED = {
    "exp(2i · (−ln / d // 2))": lambda i, d: np.exp(2 * i * (-np.log(1e4) / d // 2)),
    "exp(2i · (−ln // d))": lambda i, d: np.exp(2 * i * (-np.log(1e4) // d)),
    "exp(i · (−ln / d // 2))": lambda i, d: np.exp(i * (-np.log(1e4) / d // 2)),
    "exp(i · (−ln // (d / 2)))": lambda i, d: np.exp(i * (-np.log(1e4) // (d / 2))),
    "exp(−2i · (ln / d // 2))": lambda i, d: np.exp(-2 * i * (np.log(1e4) / d // 2)),
    "exp(−2i · (ln // d))": lambda i, d: np.exp(-2 * i * (np.log(1e4) // d)),
    "exp(−i · (ln / d // 2))": lambda i, d: np.exp(-i * (np.log(1e4) / d // 2)),
    "exp(−i · (ln // (d / 2)))": lambda i, d: np.exp(-i * (np.log(1e4) // (d / 2))),
    "1 / B^(2i // d)": lambda i, d: 1 / 1e4 ** (2 * i // d),
    "B^(−2i // d)": lambda i, d: 1e4 ** (-2.0 * i // d),
    "1 / B^(4i // d)": lambda i, d: 1 / 1e4 ** (4 * i // d),
    "B^(−4i // d)": lambda i, d: 1e4 ** (-4.0 * i // d),
    "B^(−2(i // 2) / d)": lambda i, d: 1e4 ** (-2 * (i // 2) / d),
}


@pytest.mark.parametrize("frequencies", FLOORED.values(), ids=FLOORED)
@pytest.mark.parametrize("halves", [False, True], ids=["interleaved", "concatenated"])
def test_each_floor_division_is_named(frequencies, halves):
    def table(n, d):
        angle = np.arange(n)[:, None] * frequencies(np.arange(d // 2), d)
        parts = [np.sin(angle), np.cos(angle)]
        return np.hstack(parts) if halves else np.stack(parts, -1).reshape(n, d)

    verdict = check_table(table)
    assert "floor division" in (verdict.mistake or ""), verdict
    assert ("concatenated layout" in verdict.mistake) == halves, verdict


SPACINGS = {"A": "paper", "B": "tensor2tensor", "C": "doubled", "D": "floored", "E": "paper"}


def test_spacings():
    assert check_spacings(SPACINGS)
    assert repr(check_spacings({letter: ... for letter in SPACINGS})).startswith("Not attempted")
    assert repr(check_spacings(None)).startswith("Not attempted")
    assert check_spacings(SPACINGS | {"C": "paper"}).mistake == "C is not paper"
    assert check_spacings(SPACINGS | {"B": "papre"}).status == "wrong"


def test_the_lines_to_read_are_what_the_answers_say():
    d_model = 512
    lines = {
        "A": np.exp(np.arange(0, d_model, 2) * (-np.log(10000) / d_model)),
        "B": np.exp(np.arange(d_model // 2) * (-np.log(10000) / (d_model // 2 - 1))),
        "E": 1 / 10000 ** (np.arange(d_model // 2) / (d_model / 2)),
    }
    for letter, frequencies in lines.items():
        np.testing.assert_allclose(
            frequencies, sinpe.inverse_frequencies(d_model, spacing=SPACINGS[letter]), rtol=1e-13
        )
    np.testing.assert_allclose(
        10000 ** (-2 * np.arange(0, d_model, 2) / d_model),
        sinpe.inverse_frequencies(d_model) ** 2,
        rtol=1e-13,
    )
    np.testing.assert_allclose(
        np.exp(np.arange(d_model // 2) * (-np.log(10000) / d_model // 2))[1], np.exp(-1)
    )


def test_a_forgotten_return_of_a_sum_is_said():
    def forgets(x):
        x + 1

    verdict = check_adding(forgets)
    assert verdict.status == "not attempted" and "is a `return` missing" in verdict.message
    assert "replace the `...`" in check_adding(lambda x: ...).message
