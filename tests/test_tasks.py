"""Tasks: what they ask, that the answers are right, and that chance is what it is said to be."""

import pytest
import torch

from sinpe.tasks import FILLER, IGNORE, QUERY, A, B, NextToken, WhichFirst, WhichMore, build_task
from sinpe.text import english


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("length", [3, 4, 12])
def test_which_first_asks_for_the_marker_that_came_first(length):
    task = WhichFirst()
    tokens, targets = task.batch("train", 400, length, generator())
    assert tokens.shape == targets.shape == (400, length)
    for row, target in zip(tokens.tolist(), targets.tolist(), strict=True):
        assert (row.count(A), row.count(B), row.count(QUERY)) == (1, 1, 1)
        assert row[-1] == QUERY and max(row) < task.vocab_size
        assert target[:-1] == [IGNORE] * (length - 1)
        assert target[-1] == (A if row.index(A) < row.index(B) else B)
    assert 0.4 < (targets[:, -1] == A).float().mean() < 0.6


@pytest.mark.parametrize("length", [5, 6, 12])
def test_which_more_asks_for_the_more_frequent_marker(length):
    tokens, targets = WhichMore().batch("train", 400, length, generator())
    for row, target in zip(tokens.tolist(), targets.tolist(), strict=True):
        assert row[-1] == QUERY and target[:-1] == [IGNORE] * (length - 1)
        assert target[-1] == (A if row.count(A) > row.count(B) else B)
        fewer, more = sorted((row.count(A), row.count(B)))
        assert fewer == 1 and more in (2, 3)
        assert sum(t >= FILLER for t in row) >= length - 5
    assert 0.4 < (targets[:, -1] == A).float().mean() < 0.6


def test_marker_places_are_spread_evenly():
    tokens, _ = WhichFirst().batch("train", 8000, 9, generator())
    share = (tokens[:, :-1] == A).float().mean(0)
    assert (share - 1 / 8).abs().max() < 0.02


def test_next_character_is_a_window_and_the_window_after_it():
    task = NextToken(english())
    tokens, targets = task.batch("test", 16, 32, generator())
    text = task.corpus.decode(task.corpus.split("test").tolist())
    for row, target in zip(tokens.tolist(), targets.tolist(), strict=True):
        assert row[1:] == target[:-1]
        assert task.corpus.decode(row) + task.corpus.decode(target[-1:]) in text


@pytest.mark.parametrize("name", ["next_character", "next_word"])
def test_held_out_windows_are_the_whole_split_once_or_spread_over_it(name):
    task = build_task(name)
    ids, length = task.corpus.split("test"), 50
    tokens, targets = task.held_out("test", length)
    assert len(tokens) == (len(ids) - 1) // length
    assert torch.equal(tokens.flatten(), ids[: tokens.numel()]) and torch.equal(targets.flatten(), ids[1 : tokens.numel() + 1])
    few, _ = task.held_out("test", length, 7)
    places = [int((tokens == row).all(1).nonzero()[0]) for row in few]
    assert places == [i * len(tokens) // 7 for i in range(7)]
    assert torch.equal(task.held_out("test", length, 10**9)[0], tokens)


@pytest.mark.parametrize("name", ["which_first", "which_more"])
def test_held_out_sequences_of_a_synthetic_task_are_fixed_and_differ_between_splits(name):
    task = build_task(name)
    (tokens, _), (again, _), (other, _) = (task.held_out(split, 12) for split in ("test", "test", "validation"))
    assert len(tokens) == 2048 and len(task.held_out("test", 12, 5)[0]) == 5
    assert torch.equal(tokens, again) and not torch.equal(tokens, other)


@pytest.mark.parametrize("name", ["next_character", "next_word", "which_first", "which_more"])
def test_the_generator_decides_the_batch(name):
    task = build_task(name)
    first, again, other = (task.batch("train", 8, 10, generator(seed)) for seed in (1, 1, 2))
    assert torch.equal(first[0], again[0]) and torch.equal(first[1], again[1])
    assert not torch.equal(first[0], other[0])


def test_bad_input_is_refused_by_name():
    with pytest.raises(ValueError, match="task must be one of .* got 'copy'"):
        build_task("copy")
    with pytest.raises(ValueError, match="length must be at least 3 .* got 2"):
        WhichFirst().batch("train", 1, 2, generator())
    with pytest.raises(ValueError, match="length must be at least 5 .* got 4"):
        WhichMore().batch("train", 1, 4, generator())
    with pytest.raises(ValueError, match="length must be below .* got 10000000"):
        NextToken(english()).batch("test", 1, 10_000_000, generator())
    with pytest.raises(ValueError, match="length must be below .* got 10000000"):
        NextToken(english()).held_out("test", 10_000_000)
