"""LearnedEncoding: a trained row a position, in every type, and a clear error where there is no
row.
"""

import copy

import pytest
import torch

from sinpe import LearnedEncoding, Transformer, TransformerConfig

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
