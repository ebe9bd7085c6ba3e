"""Learned positions: a table's rows, trained like any weight, and a clear end."""

import pytest
import torch

from sinpe import LearnedEncoding


def test_adds_the_row_of_each_position():
    method, x = LearnedEncoding(6, 10), torch.randn(2, 3, 6, generator=torch.Generator().manual_seed(0))
    positions = torch.tensor([[0, 1, 9], [4, 4, 2]])
    out = method.embed(x, positions)
    for b in range(2):
        for t in range(3):
            assert torch.equal(out[b, t], x[b, t] + method.table[positions[b, t]])


def test_only_the_rows_that_were_read_learn():
    method = LearnedEncoding(4, 8)
    method.embed(torch.zeros(1, 3, 4), torch.tensor([0, 2, 2])).sum().backward()
    assert method.table.grad[:, 0].tolist() == [1, 0, 2, 0, 0, 0, 0, 0]


def test_is_saved_and_has_the_initial_spread():
    method = LearnedEncoding(64, 500, init_std=0.05)
    assert list(method.state_dict()) == ["table"]
    assert method.table.std().item() == pytest.approx(0.05, rel=0.02)
    assert LearnedEncoding(64, 500).table.std().item() == pytest.approx(0.02, rel=0.02)


@pytest.mark.parametrize(
    ("positions", "message"), [([0, 1, 10], "position 10 has no row: .* max_len=10"), ([0, -1, 2], "position -1 has no row: .* max_len=10")]
)
def test_there_is_no_row_beyond_the_table(positions, message):
    with pytest.raises(ValueError, match=message):
        LearnedEncoding(6, 10).embed(torch.zeros(1, 3, 6), torch.tensor(positions))


def test_longer_than_the_table_names_both_lengths():
    with pytest.raises(ValueError, match="position 229 has no row: the table was made for max_len=200"):
        LearnedEncoding(4, 200).embed(torch.zeros(1, 230, 4), torch.arange(230))


@pytest.mark.parametrize(
    ("x", "positions", "message"),
    [
        ((1, 3, 5), torch.arange(3), r"x must have shape \(batch, seq, 6\), got \(1, 3, 5\)"),
        ((1, 3, 6), torch.arange(4), r"positions must have shape \(3,\)"),
        ((1, 3, 6), torch.tensor([0.0, 0.5, 1.0]), "positions must be integers"),
    ],
)
def test_bad_inputs_are_refused(x, positions, message):
    with pytest.raises(ValueError, match=message):
        LearnedEncoding(6, 10).embed(torch.zeros(x), positions)


@pytest.mark.parametrize(("arguments", "message"), [((6, 0), "max_len .* 0"), ((0, 6), "d_model .* 0"), ((4, 4, -1.0), "init_std .* -1")])
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        LearnedEncoding(*arguments)
