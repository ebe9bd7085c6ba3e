"""SinusoidalEncoding: the numbers of sinpe.formula, at explicit positions, in every type, through
every module operation.
"""

import copy
import io

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sinpe import SinusoidalEncoding, formula, sinusoidal_encoding
from sinpe.positions import sinusoidal
from sinpe.positions.base import cast_once

D = 16
TYPES = [torch.float64, torch.float32, torch.bfloat16, torch.float16]


def codes(positions, **options):
    return torch.from_numpy(sinusoidal_encoding(np.asarray(positions), D, **options))


@pytest.mark.parametrize("layout", ["interleaved", "concatenated"])
@pytest.mark.parametrize("spacing", ["paper", "tensor2tensor"])
def test_equals_numpy_bit_for_bit(layout, spacing):
    method = SinusoidalEncoding(D, layout=layout, spacing=spacing, max_len=8)
    for dtype in (np.float16, np.float32, np.float64):
        expected = sinusoidal_encoding(
            np.arange(12), D, layout=layout, spacing=spacing, dtype=dtype
        )
        assert np.array_equal(
            method.rows(torch.arange(12), torch.from_numpy(expected).dtype).numpy(), expected
        )


@pytest.mark.parametrize("dtype", TYPES)
def test_type_and_device_of_the_input_are_kept_and_the_error_is_half_an_ulp(dtype):
    method, x = SinusoidalEncoding(D, max_len=64), torch.zeros(1, 200, D, dtype=dtype)
    out = method.embed(x, torch.arange(200) * 5000)
    assert out.dtype == dtype and out.device == x.device
    bound = {
        torch.float64: 0,
        torch.float32: 2.0**-25,
        torch.float16: 2.0**-12,
        torch.bfloat16: 2.0**-9,
    }[dtype]
    assert (out[0].double() - codes(np.arange(200) * 5000)).abs().max() <= bound


def test_low_precision_keeps_neighbours_apart():
    """Angles computed in bfloat16 would keep 641 distinct codes of 2048, and float16 positions
    would be infinite from 65520 on.
    """
    rows = SinusoidalEncoding(64).rows(torch.arange(2048), torch.bfloat16)
    assert len(torch.unique(rows, dim=0)) == 2048
    assert SinusoidalEncoding(64).rows(torch.tensor([70_000]), torch.float16).isfinite().all()


def test_positions_go_along_time_also_where_batch_equals_time_or_one():
    for batch, seq in ((3, 5), (4, 4), (1, 6), (6, 1)):
        out = SinusoidalEncoding(4).embed(torch.zeros(batch, seq, 4), torch.arange(seq))
        for b in range(batch):
            for t in range(seq):
                assert torch.equal(
                    out[b, t], torch.from_numpy(sinusoidal_encoding(seq, 4, dtype=np.float32)[t])
                )


def test_adds_to_the_embeddings():
    x = torch.randn(2, 3, D, generator=torch.Generator().manual_seed(0))
    assert torch.equal(
        SinusoidalEncoding(D).embed(x, torch.arange(3)), x + codes(np.arange(3)).float()
    )
    assert torch.equal(
        SinusoidalEncoding(D)(x, torch.arange(3)), SinusoidalEncoding(D).embed(x, torch.arange(3))
    )


def test_longer_than_the_table_equals_a_longer_table():
    x, positions = torch.zeros(1, 230, D), torch.arange(230)
    assert torch.equal(
        SinusoidalEncoding(D, max_len=200).embed(x, positions),
        SinusoidalEncoding(D, max_len=230).embed(x, positions),
    )
    assert torch.equal(
        SinusoidalEncoding(D, max_len=0).embed(x, positions),
        SinusoidalEncoding(D, max_len=230).embed(x, positions),
    )


@settings(deadline=None)
@given(
    st.lists(st.one_of(st.integers(-(2**40), 2**40), st.integers(0, 40)), min_size=1, max_size=8)
)
def test_a_row_depends_on_its_own_position_only(positions):
    method = SinusoidalEncoding(D, max_len=32)
    together = method.rows(torch.tensor(positions))
    alone = torch.cat([method.rows(torch.tensor([p])) for p in positions])
    assert torch.equal(together, alone)


def test_explicit_positions_blocks_left_padding_and_packing():
    method, x = SinusoidalEncoding(D, max_len=16), torch.zeros(1, 20, D)
    full = method.embed(x, torch.arange(20))
    for size in (1, 2, 3):
        for start in range(20 - size):
            assert torch.equal(
                method.embed(x[:, :size], torch.arange(start, start + size)),
                full[:, start : start + size],
            )
    padded = method.embed(torch.zeros(2, 4, D), torch.tensor([[0, 1, 2, 3], [0, 0, 0, 1]]))
    assert torch.equal(padded[1, 3], full[0, 1])
    packed = method.embed(torch.zeros(1, 5, D), torch.tensor([[0, 1, 2, 0, 1]]))
    assert torch.equal(packed[0, 3:], full[0, :2])


def test_fractional_negative_and_empty_positions():
    method = SinusoidalEncoding(D)
    positions = np.array([0.5, -3.0, 2.0**21 + 0.25])
    assert torch.equal(method.rows(torch.from_numpy(positions), torch.float64), codes(positions))
    assert torch.equal(method.rows(torch.tensor([-7]), torch.float64), codes([-7]))
    assert method.embed(torch.zeros(2, 0, D), torch.arange(0)).shape == (2, 0, D)


def test_not_in_the_checkpoint_and_strict_loading_works_both_ways():
    short, long = SinusoidalEncoding(D, max_len=10), SinusoidalEncoding(D, max_len=100)
    assert short.state_dict() == {}
    short.load_state_dict(long.state_dict(), strict=True)
    long.load_state_dict(short.state_dict(), strict=True)


def test_float64_rows_are_made_once_and_only_when_asked_for(monkeypatch):
    made, original = [], formula.sinusoidal_encoding

    def counted(positions, *given, dtype=np.float64, **options):
        made.append((np.dtype(dtype).name, np.size(positions)))
        return original(positions, *given, dtype=dtype, **options)

    sinusoidal._exact_table.cache_clear()
    monkeypatch.setattr(formula, "sinusoidal_encoding", counted)
    method, other = SinusoidalEncoding(D, max_len=8), SinusoidalEncoding(D, max_len=8)
    del made[:]
    assert method.rows(torch.arange(8)).dtype == torch.float32 and made == []
    for kind in (torch.bfloat16, torch.float16, torch.float64):
        assert method.rows(torch.arange(8), kind).dtype == kind
    assert other.table.dtype == torch.float64 and made == [("float64", 1)]
    method.rows(torch.arange(9)), method.rows(torch.arange(9), torch.bfloat16)
    assert made[1:] == [("float32", 9), ("float64", 9)]


def test_the_kept_rows_stay_float32_and_the_nearest():
    method = SinusoidalEncoding(D, max_len=8)
    expected = codes(np.arange(8), dtype=np.float32)
    for moved in (method, method.double(), method.half(), method.to_empty(device="cpu")):
        assert moved.codes.dtype == torch.float32 and torch.equal(moved.codes, expected)
    with torch.inference_mode():
        sinusoidal._exact_table.cache_clear()
        method.rows(torch.arange(8), torch.float64)
    assert not method.table.is_inference()


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("positions", [torch.arange(4), torch.tensor([[7, 900]])])
def test_the_operator_is_told_the_type_and_the_shape_without_values(exact, positions):
    method = SinusoidalEncoding(D, max_len=8)
    given = method.codes, positions, exact, 1e4, "interleaved", "paper"
    torch.library.opcheck(sinusoidal._rows_operator, given)
    assert torch.equal(sinusoidal._rows_operator(*given), sinusoidal._rows(*given))
    batched = torch.vmap(lambda p: sinusoidal._rows_operator(given[0], p, *given[2:]))
    assert torch.equal(
        batched(positions[None].expand(2, *positions.shape))[1], batched(positions[None])[0]
    )


def test_survives_half_double_meta_copies_and_pickling():
    method = SinusoidalEncoding(D, max_len=32)
    exact = method.rows(torch.arange(40), torch.float64)
    stream = io.BytesIO()
    torch.save(method, stream)
    stream.seek(0)
    with torch.device("meta"):
        on_meta = SinusoidalEncoding(D, max_len=32)
    for other in (
        copy.deepcopy(method).half().float(),
        copy.deepcopy(method).bfloat16(),
        copy.deepcopy(method).double(),
        copy.deepcopy(method).to("meta").to_empty(device="cpu"),
        copy.deepcopy(method).to_empty(device="cpu"),
        on_meta.to_empty(device="cpu"),
        torch.load(stream, weights_only=False),
    ):
        assert torch.equal(other.rows(torch.arange(40), torch.float64), exact)
    assert on_meta.to("meta").embed(torch.zeros(2, 3, D, device="meta"), torch.arange(3)).shape == (
        2,
        3,
        D,
    )


def test_autocast_changes_nothing():
    method, x = SinusoidalEncoding(D), torch.zeros(1, 2048, D)
    with torch.autocast("cpu", torch.bfloat16):
        inside = method.embed(x, torch.arange(2048))
    assert torch.equal(inside, method.embed(x, torch.arange(2048)))


@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")
def test_compile_and_export_without_graph_breaks():
    method, x = SinusoidalEncoding(D, max_len=8), torch.randn(2, 12, D)
    compiled = torch.compile(method, fullgraph=True, backend="aot_eager")
    half = x.bfloat16()
    assert torch.equal(compiled(half, torch.arange(12)), method(half, torch.arange(12)))
    exported = torch.export.export(method, (x, torch.arange(12))).module()
    for positions in (torch.arange(12), torch.arange(12) - 5, torch.arange(24).reshape(2, 12)):
        assert torch.equal(compiled(x, positions), method(x, positions))
    assert torch.equal(exported(x, torch.arange(12)), method(x, torch.arange(12)))
    assert torch.equal(exported(x, torch.arange(12) + 3), method(x, torch.arange(12) + 3))


def test_gradient_is_that_of_an_addition():
    x = torch.randn(1, 3, D, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: SinusoidalEncoding(D)(x, torch.arange(3)), x)


def test_the_cached_table_cannot_be_changed_through_the_rows():
    method = SinusoidalEncoding(D)
    method.rows(torch.arange(4), torch.float64).zero_()
    assert torch.equal(method.rows(torch.arange(4), torch.float64), codes(np.arange(4)))
    assert cast_once(method.table, torch.float32).shape == (4096, D)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"d_model": 7}, "d_model .* 7"),
        ({"d_model": 0}, "d_model .* 0"),
        ({"d_model": 4, "base": -1}, "base .* -1"),
        ({"d_model": 4, "base": float("nan")}, "base .* nan"),
        ({"d_model": 4, "layout": "halves"}, "layout .* 'halves'"),
        ({"d_model": 4, "spacing": "t2t"}, "spacing .* 't2t'"),
        ({"d_model": 4, "max_len": -1}, "max_len .* -1"),
        ({"d_model": 4, "max_len": 2.5}, "max_len .* 2.5"),
    ],
)
def test_bad_arguments_are_refused_at_construction(arguments, message):
    with pytest.raises(ValueError, match=message):
        SinusoidalEncoding(**arguments)


@pytest.mark.parametrize(
    ("x", "positions", "message"),
    [
        ((2, 3, 6), (3,), r"x must have shape \(batch, seq, 16\), got \(2, 3, 6\)"),
        ((2, 3, 1), (3,), r"\(2, 3, 1\)"),
        ((3, D), (3,), r"\(3, 16\)"),
        ((2, 3, D), (4,), r"positions must have shape \(3,\) or \(batch, 3\), got \(4,\)"),
        ((2, 3, D), (5, 3), "positions has batch size 5, x has 2"),
    ],
)
def test_bad_shapes_are_refused_at_the_call(x, positions, message):
    with pytest.raises(ValueError, match=message):
        SinusoidalEncoding(D).embed(torch.zeros(x), torch.zeros(positions, dtype=torch.long))


def test_positions_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match="positions must be finite, got nan"):
        SinusoidalEncoding(D).rows(torch.tensor([0.0, float("nan")]))


@pytest.mark.parametrize(
    "x",
    [
        torch.zeros(1, 3, D, dtype=torch.long),
        torch.zeros(1, 3, D, dtype=torch.complex64),
        np.zeros((1, 3, D)),
    ],
)
def test_inputs_that_cannot_hold_a_code_are_refused(x):
    with pytest.raises(ValueError, match="x must be a floating-point tensor, got"):
        SinusoidalEncoding(D).embed(x, torch.arange(3))


@pytest.mark.parametrize(
    "positions",
    [[0, 1, 2], None, torch.tensor([True, False, True]), torch.zeros(3, dtype=torch.complex64)],
)
def test_positions_that_are_not_real_tensors_are_refused(positions):
    with pytest.raises(ValueError, match="positions must be a tensor of integers or floats, got"):
        SinusoidalEncoding(D).embed(torch.zeros(1, 3, D), positions)
