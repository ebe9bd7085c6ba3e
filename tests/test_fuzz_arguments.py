"""Every argument of every public function, given what nobody should give it: a result, or an error
that names the argument. A value that is taken counts as the plain number it stands for.
"""

import inspect
import math
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import sinpe
from sinpe import Rotary, RotaryAxes, SinusoidalEncoding, Transformer, TransformerConfig, XPos

Q = torch.linspace(-1, 1, 64).reshape(1, 2, 4, 8)
X = torch.linspace(-1, 1, 32).reshape(1, 4, 8)
AT = torch.arange(4)
GRID = sinpe.grid_positions(2, 2)
PAIR = {"q": Q, "k": Q, "q_positions": AT, "k_positions": AT}
SMALL = {"vocab_size": 9, "d_model": 8, "n_layers": 1, "n_heads": 2, "d_ff": 8}


def maker(name, **right):
    return getattr(sinpe, name), right


def opening(make, name, **right):
    """A method of a fresh object, so that no call spoils the next one."""
    return lambda **arguments: getattr(make(), name)(**arguments), right


def extended(name, **right):
    """An extension, made and used."""

    def call(**arguments):
        extension = getattr(sinpe, name)(**arguments)
        return Rotary(8, extension=extension).inverse_frequencies(64)

    return call, right


def ready(path, **right):
    return lambda **arguments: Transformer(TransformerConfig(**SMALL), path())(**arguments), right


CALLS = {
    "inverse_frequencies": maker("inverse_frequencies", d_model=8, base=100.0, spacing="paper"),
    "wavelengths": maker("wavelengths", d_model=8, base=100.0, spacing="paper"),
    "sinusoidal_encoding": maker(
        "sinusoidal_encoding", positions=[0, 3], d_model=8, base=100.0, layout="interleaved",
        spacing="paper", dtype=np.float64,
    ),
    "sinusoidal_encoding_2d": maker(
        "sinusoidal_encoding_2d", height=2, width=3, d_model=8, base=100.0, layout="interleaved",
        spacing="paper", dtype=np.float64,
    ),
    "shift_matrix": maker("shift_matrix", offset=3, d_model=8, base=100.0, layout="interleaved"),
    "similarity": maker("similarity", offsets=[0, 3], d_model=8, base=100.0),
    "alibi_slopes": maker("alibi_slopes", n_heads=4),
    "Alibi": maker("Alibi", n_heads=4, alibi_heads=None),
    "Alibi.score_bias": opening(lambda: sinpe.Alibi(2), "score_bias", **PAIR),
    "T5Bias": maker("T5Bias", n_heads=2, n_buckets=8, max_distance=16, bidirectional=False),
    "T5Bias.score_bias": opening(lambda: sinpe.T5Bias(2), "score_bias", **PAIR),
    "relative_position_bucket": maker(
        "relative_position_bucket", relative_position=AT, bidirectional=False, n_buckets=8,
        max_distance=16,
    ),
    "ShawRelative": maker("ShawRelative", n_heads=2, head_dim=8, max_distance=3),
    "ShawRelative.score_bias": opening(lambda: sinpe.ShawRelative(2, 8, 3), "score_bias", **PAIR),
    "TransformerXLRelative": maker("TransformerXLRelative", n_heads=2, head_dim=8),
    "TransformerXLRelative.score_bias": opening(
        lambda: sinpe.TransformerXLRelative(2, 8), "score_bias", **PAIR
    ),
    "LearnedEncoding": maker(
        "LearnedEncoding", d_model=8, max_len=9, init_std=0.02, generator=None
    ),
    "LearnedEncoding.embed": opening(
        lambda: sinpe.LearnedEncoding(8, 9), "embed", x=X, positions=AT
    ),
    "LearnedEncoding.rows": opening(lambda: sinpe.LearnedEncoding(8, 9), "rows", positions=AT),
    "LearnedEncoding2D": maker(
        "LearnedEncoding2D", d_model=8, size=(2, 2), n_prefix=0, init_std=0.02, generator=None
    ),
    "LearnedEncoding2D.forward": opening(
        lambda: sinpe.LearnedEncoding2D(8, (2, 2)), "forward", x=X, size=(2, 2)
    ),
    "LearnedEncoding2D.rows": opening(
        lambda: sinpe.LearnedEncoding2D(8, (2, 2)), "rows", size=(2, 2)
    ),
    "resize_grid_table": maker(
        "resize_grid_table", table=torch.ones(5, 8), size=(2, 2), new_size=(3, 3), n_prefix=1,
        mode="bicubic", antialias=False, offset=0.0,
    ),
    "SinusoidalEncoding": maker(
        "SinusoidalEncoding", d_model=8, base=100.0, layout="interleaved", spacing="paper",
        max_len=9,
    ),
    "SinusoidalEncoding.embed": opening(
        lambda: SinusoidalEncoding(8), "embed", x=X, positions=AT
    ),
    "SinusoidalEncoding.rows": opening(
        lambda: SinusoidalEncoding(8), "rows", positions=AT, dtype=torch.float32
    ),
    "Rotary": maker(
        "Rotary", head_dim=8, base=100.0, layout="interleaved", rotary_dim=4, extension=None
    ),
    "Rotary.rotate": opening(lambda: Rotary(8), "rotate", **PAIR, heads_axis=1),
    "Rotary.rotate_one": opening(
        lambda: Rotary(8, extension=sinpe.DynamicNTK(2.0, 4)), "rotate_one", x=Q, positions=AT,
        seq_len=9, heads_axis=1,
    ),
    "Rotary.shift": opening(lambda: Rotary(8), "shift", k=Q, offset=3, seq_len=9, heads_axis=1),
    "Rotary.tables": opening(
        lambda: Rotary(8), "tables", q_positions=AT, k_positions=AT, dtype=torch.float32,
        heads_axis=1,
    ),
    "RotaryTables.rotate": opening(lambda: Rotary(8).tables(AT), "rotate", q=Q, k=Q),
    "Rotary.inverse_frequencies": opening(lambda: Rotary(8), "inverse_frequencies", seq_len=9),
    "Rotary.attention_factor": opening(lambda: Rotary(8), "attention_factor", seq_len=9),
    "XPos": maker("XPos", head_dim=8, base=100.0, scale_base=512, centre=0),
    "XPos.rotate": opening(lambda: XPos(8), "rotate", **PAIR, heads_axis=1),
    "RotaryAxes": maker(
        "RotaryAxes", head_dim=8, frequencies=sinpe.axial_frequencies((4, 4)),
        layout="interleaved", learned=False, rotary_dim=None, attention_factor=1.0,
    ),
    "RotaryAxes.rotate": opening(
        lambda: RotaryAxes(8, sinpe.axial_frequencies((4, 4))), "rotate",
        q=Q, k=Q, q_positions=GRID, k_positions=GRID,
    ),
    "axial_frequencies": maker("axial_frequencies", widths=(4, 4), base=100.0),
    "section_frequencies": maker(
        "section_frequencies", sections=(2, 1, 1), base=100.0, order="blocks", extension=None
    ),
    "mixed_frequencies": maker(
        "mixed_frequencies", pairs=4, axes=2, base=10.0, n_heads=None, generator=None
    ),
    "grid_positions": maker("grid_positions", height=2, width=2, start=0, step=1),
    "mrope_positions": maker("mrope_positions", parts=[2, (1, 2, 2)], frame_step=1),
    "move_padding": maker(
        "move_padding", positions=AT[None], attention_mask=torch.tensor([[False, True, True, True]])
    ),
    "PositionInterpolation": extended("PositionInterpolation", factor=4.0),
    "NTKAware": extended("NTKAware", factor=4.0),
    "DynamicNTK": extended("DynamicNTK", factor=4.0, original_max_len=16),
    "YaRN": extended(
        "YaRN", factor=4.0, original_max_len=16, beta_fast=32.0, beta_slow=1.0,
        attention_factor=None, truncate=True,
    ),
    "Llama3": extended(
        "Llama3", factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_len=16
    ),
    "LongRoPE": extended(
        "LongRoPE", short_factor=(1.0, 1.0, 1.0, 1.0), long_factor=(1.0, 2.0, 3.0, 4.0),
        original_max_len=16, max_len=64, attention_factor=None,
    ),
    "TokenEmbedding": maker(
        "TokenEmbedding", vocab_size=9, d_model=8, init_std=0.1, scale=1.0, generator=None
    ),
    "TokenEmbedding.forward": opening(
        lambda: sinpe.TokenEmbedding(9, 8), "forward", tokens=torch.tensor([[1, 2]])
    ),
    "TransformerConfig": maker(
        "TransformerConfig", **SMALL, causal=True, norm="pre", tied=True, init_std=0.1, scale=1.0,
        logit_scale=1.0, dropout=0.0,
    ),
    "Transformer": maker(
        "Transformer", config=TransformerConfig(**SMALL), position=sinpe.NoPosition(), seed=0
    ),
    "Transformer.forward": ready(
        lambda: SinusoidalEncoding(8), tokens=torch.tensor([[1, 2, 3]]),
        positions=torch.arange(3), attention_mask=torch.tensor([[True, True, True]]),
    ),
}  # fmt: skip
HANDED_ON = {  # what is no argument of ours: a class to derive from, or nothing to give
    "Extension", "NoPosition", "PositionMethod", "RotaryTables",
}  # fmt: skip

NO_NUMBER = [True, False, np.True_, "8", b"8", 1j, {}, object(), int, math.nan, ...]
ODD_NUMBERS = [
    0, -1, 1, 2, 3, 2.5, -0.0, math.inf, -math.inf, 2**70, -(2**70), 10**400, 1e308, 1e-320,
    np.int8(4), np.uint64(2**63), np.float32(2.5), np.float64(4), np.array(4), np.array([4]),
    torch.tensor(4), torch.tensor(2.5), torch.tensor([4.0]), Fraction(5, 2), Decimal("2.5"),
]  # fmt: skip
ODD_TENSORS = [
    torch.zeros(0), torch.zeros(0, dtype=torch.long), torch.tensor(3), torch.ones(4, 4, 4, 4, 4),
    torch.full((4,), math.nan), torch.full((1, 2, 4, 8), math.inf).half(), AT.bool(), AT + 0j,
    AT.to("meta"), AT.to_sparse(), torch.tensor([2**62] * 4), torch.tensor([-(2**63)] * 4),
    torch.tensor([1e30] * 4), torch.zeros(1, 2, 4, 0), torch.zeros(1, 0, 4, 8), Q.long(), Q[:, :1],
    np.arange(4), np.array(["a"]), np.array([None]), np.array([2**63], np.uint64), np.zeros((0, 4)),
]  # fmt: skip
ODD_THINGS = [
    None,
    (),
    [4, 4],
    [],
    [[1], [2, 3]],
    "",
    "paper",
    "half",
    (0, 0),
    (2, -1),
    (2**40, 2**40),
]
ODD_THINGS += [torch.float32, np.float16, torch.int32, lambda *a: a, range(3), [math.nan] * 4]
HOSTILE = [*NO_NUMBER, *ODD_NUMBERS, *ODD_TENSORS, *ODD_THINGS]
# A tensor without an axis is one position or token, an integer a number of them; np.dtype takes
# whatever has a dtype; a tensor without values tells a table of its own nothing.
OWN_MEANING = {"positions", "relative_position", "tokens", "dtype", "parts"}
UNTOLD = {"LearnedEncoding.rows", "SinusoidalEncoding.rows", "Rotary.tables"}
ALSO = {  # how else an error calls an argument: by what it is part of, or what it was made into
    "base": "beyond float64",
    "height": "positions",
    "x": "positions",
    "frequencies": "pairs",
    "d_model": "n_heads",
    "n_heads": "head_dim",
    "extension": "must return",
    "heads_axis": "positions must have shape",
    "head_dim": "rotary_dim",
}


def hostile(good):
    """What to give instead of a right value: most of it where tensors belong."""
    if isinstance(good, torch.Tensor | np.ndarray):
        return HOSTILE
    if isinstance(good, str | bool | None):
        return [*NO_NUMBER, *ODD_NUMBERS[:6], *ODD_TENSORS[-4:], *ODD_THINGS]
    return [*NO_NUMBER, *ODD_NUMBERS, *ODD_TENSORS[:4], *ODD_TENSORS[-6:], *ODD_THINGS]


def plain(value):
    """The number of Python that a value stands for, or None where it stands for none."""
    if isinstance(value, np.generic | np.ndarray | torch.Tensor) and np.ndim(value) == 0:
        return value.item()
    return float(value) if isinstance(value, Fraction | Decimal) else None


def numbers(result):
    """All numbers of a result, as arrays."""
    if isinstance(result, torch.nn.Module):
        return []  # a random state of its own; what was made of the value is in its fields
    if isinstance(result, tuple | list):
        return [number for one in result for number in numbers(one)]
    if isinstance(result, torch.Tensor):
        return [] if result.is_meta else [result.detach().to_dense().float().numpy()]
    return [np.asarray(result, float)] if isinstance(result, np.ndarray | float | int) else []


def attempt(call, arguments):
    """(result, error) of a call, random numbers from a fresh start. An error of another kind than
    ValueError and TypeError goes through.
    """
    with warnings.catch_warnings(), torch.random.fork_rng(devices=[]):
        warnings.simplefilter("error")
        torch.manual_seed(0)
        try:
            return call(**arguments), None
        except (ValueError, TypeError) as error:
            return None, str(error)


def test_every_public_name_is_tried():
    tried = {name.partition(".")[0] for name in CALLS}
    assert tried | HANDED_ON == set(sinpe.__all__)
    for name in sinpe.__all__:
        if name in CALLS:
            taken = set(inspect.signature(getattr(sinpe, name)).parameters) - {"options"}
            assert taken == set(CALLS[name][1]), name


@pytest.mark.parametrize("name", CALLS)
def test_an_odd_argument_gives_a_result_or_an_error_that_names_it(name):
    call, right = CALLS[name]
    assert attempt(call, right)[1] is None
    for argument, good in right.items():
        a_number = isinstance(good, int | float) and not isinstance(good, bool)
        for value in hostile(good):
            if name in UNTOLD and getattr(value, "is_meta", False):
                continue
            shown = f"{name}({argument}={value!r:.80})"
            try:
                result, error = attempt(call, {**right, argument: value})
            except Exception as other:  # noqa: BLE001 - the test says which
                pytest.fail(f"{shown}: {type(other).__name__}: {other}")
            if error is not None:
                known = argument in error or ALSO.get(argument, argument) in error
                assert known, f"{shown} does not name the argument: {error}"
                continue
            refused = a_number and any(value is one for one in NO_NUMBER)
            assert not refused, f"{shown} was taken"
            same = plain(value)
            if same is not None and argument not in OWN_MEANING:
                again, error = attempt(call, {**right, argument: same})
                assert error is None, f"{shown} was taken, and {same!r} was not: {error}"
                for one, other in zip(numbers(result), numbers(again), strict=True):
                    assert np.array_equal(one, other, equal_nan=True), f"{shown} is not {same!r}"


@given(st.sampled_from(sorted(CALLS)), st.data())
@settings(max_examples=100)
def test_two_odd_arguments_give_a_result_or_a_value_error(name, data):
    call, right = CALLS[name]
    chosen = data.draw(st.sets(st.sampled_from(sorted(right)), min_size=1, max_size=2))
    odd = {argument: HOSTILE[data.draw(st.integers(0, len(HOSTILE) - 1))] for argument in chosen}
    if name not in UNTOLD or not any(getattr(value, "is_meta", False) for value in odd.values()):
        attempt(call, {**right, **odd})
