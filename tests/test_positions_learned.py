"""LearnedEncoding: a trained row a position, in every type, and a clear error where there is no
row.
"""

import copy
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from peers import peer

from sinpe import (
    LearnedEncoding,
    LearnedEncoding2D,
    Transformer,
    TransformerConfig,
    resize_grid_table,
)

D = 6
TYPES = [torch.float64, torch.float32, torch.bfloat16, torch.float16]


def method(max_len=20, **options):
    return LearnedEncoding(D, max_len, generator=torch.Generator().manual_seed(0), **options)


def test_adds_the_row_of_each_position():
    learned, x = method(), torch.randn(3, 5, D)
    positions = torch.tensor([[0, 1, 2, 3, 4], [7, 6, 5, 4, 3], [19, 0, 19, 0, 19]])
    out = learned.embed(x, positions)
    for b in range(3):
        for t in range(5):
            assert torch.equal(out[b, t], x[b, t] + learned.weight[positions[b, t]])
    assert torch.equal(learned(x, positions), out)


def test_positions_go_along_time_also_where_batch_equals_time_or_one():
    for batch, seq in ((3, 5), (4, 4), (1, 6), (6, 1)):
        out = method().embed(torch.zeros(batch, seq, D), torch.arange(seq))
        for b in range(batch):
            assert torch.equal(out[b], method().weight[:seq])


def test_blocks_left_padding_and_packing():
    learned, x = method(), torch.zeros(1, 20, D)
    full = learned.embed(x, torch.arange(20))
    for start in range(18):
        assert torch.equal(
            learned.embed(x[:, :2], torch.arange(start, start + 2)), full[:, start : start + 2]
        )
    padded = learned.embed(torch.zeros(2, 4, D), torch.tensor([[0, 1, 2, 3], [0, 0, 0, 1]]))
    assert torch.equal(padded[1, 3], full[0, 1])


def test_initial_rows_have_the_asked_spread_and_come_from_the_generator():
    for std in (0.02, 0.7):
        weight = LearnedEncoding(64, 500, std, generator=torch.Generator().manual_seed(1)).weight
        assert weight.std().item() == pytest.approx(std, rel=0.02)
    assert torch.equal(method().weight, method().weight)
    before = torch.random.get_rng_state()
    method()
    assert torch.equal(before, torch.random.get_rng_state())


@pytest.mark.parametrize("dtype", TYPES)
def test_type_and_device_of_the_input_are_kept(dtype):
    x = torch.zeros(1, 4, D, dtype=dtype)
    for learned in (method(), method().to(dtype)):
        out = learned.embed(x, torch.arange(4))
        assert out.dtype == dtype and out.device == x.device
        assert torch.equal(out[0], method().weight[:4].to(dtype))


def test_rows_are_trained_and_only_those_that_were_used():
    learned = method()
    learned.embed(torch.zeros(2, 3, D), torch.tensor([0, 1, 5])).sum().backward()
    assert learned.weight.grad.abs().sum(1).nonzero().flatten().tolist() == [0, 1, 5]


def test_the_table_is_in_the_checkpoint_and_another_length_does_not_load():
    assert list(method().state_dict()) == ["weight"]
    with pytest.raises(RuntimeError, match="size mismatch"):
        method(10).load_state_dict(method(20).state_dict())


def test_survives_copies_and_meta():
    assert torch.equal(copy.deepcopy(method()).weight, method().weight)
    out = (
        method()
        .to("meta")
        .embed(torch.zeros(2, 3, D, device="meta"), torch.arange(3, device="meta"))
    )
    assert out.shape == (2, 3, D)


def test_longer_than_the_table_is_refused_naming_both_lengths():
    with pytest.raises(
        ValueError,
        match="max_len=200 rows, got positions up to 229, so a table of at least 230 rows",
    ):
        LearnedEncoding(D, 200).embed(torch.zeros(1, 230, D), torch.arange(230))
    model = Transformer(TransformerConfig(9, D, 1, 2, 8), LearnedEncoding(D, 4))
    with pytest.raises(ValueError, match="max_len=4"):
        model(torch.zeros(1, 5, dtype=torch.long))
    assert model(torch.zeros(1, 4, dtype=torch.long)).shape == (1, 4, 9)


def test_before_the_first_row_and_between_rows_is_refused():
    with pytest.raises(ValueError, match="between 0 and 19: .* got position -1"):
        method().embed(torch.zeros(1, 2, D), torch.tensor([-1, 0]))
    with pytest.raises(ValueError, match="integers, got torch.float32"):
        method().embed(torch.zeros(1, 2, D), torch.tensor([0.5, 1.0]))


@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")
def test_compiles_and_exports_and_still_refuses_what_has_no_row():
    learned, x = method(8), torch.zeros(1, 4, D)
    compiled = torch.compile(learned, fullgraph=True, backend="aot_eager")
    exported = torch.export.export(learned, (x, torch.arange(4))).module()
    for run in (compiled, exported):
        assert torch.equal(run(x, torch.arange(4) + 2), learned(x, torch.arange(4) + 2))
        with pytest.raises((IndexError, RuntimeError)):
            run(x, torch.arange(4) + 5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 4), "d_model .* 0"),
        ((4, 0), "max_len .* 0"),
        ((4, 2.0), r"max_len .* 2\.0"),
        ((4, 4, 0), "init_std .* 0"),
        ((4, 4, float("nan")), "init_std .* nan"),
    ],
)
def test_bad_arguments_are_refused_by_name(arguments, message):
    with pytest.raises(ValueError, match=message):
        LearnedEncoding(*arguments)


@pytest.mark.parametrize(
    ("x", "positions", "message"),
    [
        ((2, 3, 1), (3,), r"x must have shape \(batch, seq, 6\), got \(2, 3, 1\)"),
        ((3, D), (3,), r"\(3, 6\)"),
        ((2, 3, D), (4,), r"positions must have shape \(3,\)"),
        ((2, 3, D), (5, 3), "positions has batch size 5, x has 2"),
    ],
)
def test_bad_shapes_are_refused_at_the_call(x, positions, message):
    with pytest.raises(ValueError, match=message):
        method().embed(torch.zeros(x), torch.zeros(positions, dtype=torch.long))


def test_a_width_that_does_not_fit_the_model_is_refused():
    with pytest.raises(ValueError, match="d_model=6, the model has d_model=8"):
        Transformer(TransformerConfig(9, 8, 1, 2, 8), method())


# --- a table for a grid, and its resizing


def kernel(x, mode, constant):
    """The weight of a row at distance x: a hat, or Keys' cubic."""
    x = abs(x)
    if mode == "bilinear":
        return max(1 - x, 0)
    a = constant
    if x <= 1:
        return (a + 2) * x**3 - (a + 3) * x**2 + 1
    return a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a if x < 2 else 0


def weights(old, new, mode, antialias, offset):
    """(new, old): how much of each old row is in each new one, one pair at a time."""
    scale, reach = old / (new + offset), 2 if mode == "bicubic" else 1
    out = np.zeros((new, old))
    for i in range(new):
        at = (i + 0.5) * scale - 0.5
        if antialias:  # a wider kernel, over what exists of it
            wide = max(scale, 1)
            near = range(
                max(math.floor(at - reach * wide) - 1, 0),
                min(old, math.ceil(at + reach * wide) + 2),
            )
            row = {j: kernel((j - at) / wide, mode, -0.5) for j in near}
            for j, weight in row.items():
                out[i, j] = weight / sum(row.values())
        else:  # the outermost rows stand for what lies beyond them
            at = max(at, 0) if mode == "bilinear" else at
            for j in range(math.floor(at) - reach, math.floor(at) + reach + 1):
                out[i, min(max(j, 0), old - 1)] += kernel(j - at, mode, -0.75)
    return out


def literally_resized(table, size, new_size, n_prefix, mode, antialias, offset=0.0):
    grid = table[n_prefix:].reshape(*size, -1)
    rows, columns = (
        weights(old, new, mode, antialias, offset) for old, new in zip(size, new_size, strict=True)
    )
    patches = np.einsum("ir,jc,rcd->ijd", rows, columns, grid)
    return np.concatenate([table[:n_prefix], patches.reshape(-1, table.shape[1])])


@settings(deadline=None, max_examples=60)
@given(
    st.tuples(st.integers(1, 8), st.integers(1, 8)),
    st.tuples(st.integers(1, 12), st.integers(1, 12)),
    st.integers(0, 2),
    st.sampled_from(["bicubic", "bilinear"]),
    st.booleans(),
)
def test_resizing_is_the_literal_interpolation(size, new_size, n_prefix, mode, antialias):
    rows = n_prefix + size[0] * size[1]
    table = np.random.default_rng(rows).normal(size=(rows, 3))
    got = resize_grid_table(
        torch.from_numpy(table), size, new_size, n_prefix=n_prefix, mode=mode, antialias=antialias
    )
    if size == new_size:
        assert np.array_equal(got, table)
    else:
        right = literally_resized(table, size, new_size, n_prefix, mode, antialias)
        assert np.abs(got.numpy() - right).max() < 1e-12


@pytest.mark.parametrize("size", [(7, 5), (37, 37)])
@pytest.mark.parametrize("new_size", [(9, 4), (39, 61), (85, 2)])
def test_the_offset_of_dinov2_moves_the_rows_and_not_their_number(size, new_size):
    table = np.random.default_rng(0).normal(size=(1 + size[0] * size[1], 2))
    got = resize_grid_table(torch.from_numpy(table), size, new_size, n_prefix=1, offset=0.1)
    right = literally_resized(table, size, new_size, 1, "bicubic", False, 0.1)
    assert got.shape[0] == 1 + new_size[0] * new_size[1]
    assert np.abs(got.numpy() - right).max() < 1e-12
    plain = literally_resized(table, size, new_size, 1, "bicubic", False)
    assert np.abs(right - plain).max() > 1e-3


def test_prefix_rows_are_kept_and_a_constant_and_a_ramp_survive():
    grid = torch.arange(6.0).repeat_interleave(5)[:, None].expand(-1, 2)
    table = torch.cat([torch.full((2, 2), -9.0), grid]).double()
    for mode in ("bicubic", "bilinear"):
        for antialias in (False, True):
            options = {"n_prefix": 2, "mode": mode, "antialias": antialias}
            out = resize_grid_table(table, (6, 5), (12, 7), **options)
            assert torch.equal(out[:2], table[:2])
            inner = out[2:].view(12, 7, 2)[4:8, :, 0]
            expected = ((torch.arange(4, 8) + 0.5) / 2 - 0.5)[:, None].double()
            # Keys' cubic keeps straight lines for the constant −½ alone
            straight = torch.allclose(inner, expected.expand(4, 7), atol=1e-12)
            assert straight == (antialias or mode == "bilinear")
            same = resize_grid_table(torch.ones(30, 2).double(), (6, 5), (4, 9), mode=mode)
            assert torch.allclose(same, torch.ones(36, 2).double(), atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_types_are_interpolated_in_float32_and_rounded_once(dtype):
    table = torch.randn(26, 4, generator=torch.Generator().manual_seed(0)).to(dtype)
    got = resize_grid_table(table, (5, 5), (9, 8), n_prefix=1)
    right = resize_grid_table(table.float(), (5, 5), (9, 8), n_prefix=1)
    assert got.dtype == dtype and torch.equal(got, right.to(dtype))
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(resize_grid_table(table, (5, 5), (9, 8), n_prefix=1), got)


@torch.no_grad()
@pytest.mark.parametrize("pixels", [(32, 48), (64, 32), (80, 112)])
def test_resizing_is_that_of_vit_and_dinov2_in_transformers(pixels):
    new = (pixels[0] // 8, pixels[1] // 8)
    for family, antialias in (("vit", False), ("dinov2", False), ("dinov2_with_registers", True)):
        module = peer(f"transformers.models.{family}.modeling_{family}")
        stem = {"vit": "ViT", "dinov2": "Dinov2", "dinov2_with_registers": "Dinov2WithRegisters"}
        config = getattr(module, f"{stem[family]}Config")(
            hidden_size=12, image_size=56, patch_size=8
        )
        theirs = getattr(module, f"{stem[family]}Embeddings")(config)
        table = theirs.position_embeddings.normal_(generator=torch.Generator().manual_seed(0))
        right = theirs.interpolate_pos_encoding(torch.zeros(1, 1 + new[0] * new[1], 12), *pixels)
        got = resize_grid_table(table[0], (7, 7), new, n_prefix=1, antialias=antialias)
        assert torch.equal(got, right[0])
        method = LearnedEncoding2D(12, (7, 7), n_prefix=1, antialias=antialias)
        method.load_state_dict({"weight": table[0]})
        x = torch.randn(2, 1 + new[0] * new[1], 12)
        assert torch.equal(method(x, new), x + right)


def test_the_table_of_a_grid_is_added_row_by_row():
    method = LearnedEncoding2D(D, (3, 4), n_prefix=1, generator=torch.Generator().manual_seed(0))
    x = torch.randn(2, 13, D)
    out = method(x)
    assert list(method.state_dict()) == ["weight"] and method.weight.shape == (13, D)
    assert torch.equal(out[:, 0], x[:, 0] + method.weight[0])
    for row in range(3):
        for column in range(4):
            i = 1 + 4 * row + column
            assert torch.equal(out[:, i], x[:, i] + method.weight[i])
    for dtype in TYPES:
        assert method(x.to(dtype)).dtype == dtype
    assert torch.equal(copy.deepcopy(method)(x), out)
    assert method.to("meta")(x.to("meta"), (3, 4)).shape == x.shape


def test_a_resized_table_is_trained_and_compiled():
    method = LearnedEncoding2D(3, (2, 3), n_prefix=1).double()
    x = torch.randn(1, 1 + 4 * 5, 3, dtype=torch.float64)
    assert torch.autograd.gradcheck(
        lambda weight: torch.func.functional_call(method, {"weight": weight}, (x, (4, 5))),
        (method.weight,),
    )
    compiled = torch.compile(method, fullgraph=True, backend="aot_eager")
    assert torch.allclose(compiled(x, (4, 5)), method(x, (4, 5)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda t: resize_grid_table(t, (2, 2), (3, 3)),
            r"shape \(4, d\) for n_prefix=0 and size=\(2, 2\), got \(5, 2\)",
        ),
        (
            lambda t: resize_grid_table(t, 2, (3, 3)),
            r"size must be a pair \(rows, columns\), got 2",
        ),
        (
            lambda t: resize_grid_table(t, (2, 2), (3, 0), n_prefix=1),
            r"new_size\[1\] must be .*, got 0",
        ),
        (
            lambda t: resize_grid_table(t, (2, 2), (3, 3), n_prefix=-1),
            "n_prefix must be .*, got -1",
        ),
        (
            lambda t: resize_grid_table(t, (2, 2), (3, 3), n_prefix=1, mode="cubic"),
            "mode must be one of 'bicubic', 'bilinear', got 'cubic'",
        ),
        (
            lambda t: resize_grid_table(t, (2, 2), (3, 3), n_prefix=1, antialias=1),
            "antialias must be True or False, got 1",
        ),
        (
            lambda t: resize_grid_table(t, (2, 2), (3, 3), n_prefix=1, offset=1.0),
            r"offset must be below 1, got 1\.0",
        ),
        (
            lambda t: resize_grid_table(t, (2, 2), (3, 3), n_prefix=1, offset=-0.1),
            r"offset must be 0 or a positive .*, got -0\.1",
        ),
        (
            lambda t: resize_grid_table(t.long(), (2, 2), (3, 3), n_prefix=1),
            "table must be a floating-point tensor",
        ),
        (lambda _: LearnedEncoding2D(4, 3), r"size must be a pair \(rows, columns\), got 3"),
        (lambda _: LearnedEncoding2D(4, (3, 3), init_std=0), "init_std .* 0"),
        (lambda _: LearnedEncoding2D(4, (3, 3), mode="cubic"), "mode must be one of"),
        (
            lambda _: LearnedEncoding2D(4, (3, 3))(torch.zeros(1, 8, 4)),
            r"shape \(batch, 9, 4\) for n_prefix=0 and size=\(3, 3\), got \(1, 8, 4\)",
        ),
        (
            lambda _: LearnedEncoding2D(4, (3, 3))(torch.zeros(1, 9, 4), (2, 2)),
            r"shape \(batch, 4, 4\)",
        ),
    ],
)
def test_bad_grids_are_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call(torch.zeros(5, 2))
