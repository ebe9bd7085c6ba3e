"""Tasks: what they ask, that the answers are right, and that chance is what it is said to be."""

import re

import pytest
import torch

from sinpe.tasks import (
    FILLER,
    IGNORE,
    QUERY,
    A,
    B,
    Copy,
    Induction,
    MarkerPosition,
    NextToken,
    Previous,
    Reverse,
    WhichFirst,
    WhichMore,
    build_task,
    text_of,
)
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


def rows(task, split, length, count=300):
    tokens, targets = task.batch(split, count, length, generator())
    assert tokens.dtype == targets.dtype == torch.int64 and tokens.shape == targets.shape == (
        count,
        length,
    )
    assert 0 <= tokens.min() and tokens.max() < task.vocab_size and targets.max() < task.vocab_size
    return zip(tokens.tolist(), targets.tolist(), strict=True)


@pytest.mark.parametrize("length", [2, 3, 7, 12])
@pytest.mark.parametrize("split", ["train", "test"])
@pytest.mark.parametrize(("task", "answer"), [(Copy(), list), (Reverse(), lambda body: body[::-1])])
def test_copy_and_reverse_ask_for_what_was_said_before_the_query(task, answer, split, length):
    sizes = set()
    for row, target in rows(task, split, length):
        n = row.index(QUERY)
        said = answer(row[:n])
        assert min(row[:n]) >= FILLER
        assert row == [*row[:n], QUERY, *said[:-1]] + [QUERY] * (length - 2 * n)
        assert target == [IGNORE] * n + said + [IGNORE] * (length - 2 * n)
        sizes.add(n)
    assert sizes == (set(range(1, length // 2 + 1)) if split == "train" else {length // 2})


def test_previous_asks_for_the_token_before():
    for row, target in rows(Previous(), "train", 9):
        assert target == [IGNORE, *row[:-1]] and min(row) >= FILLER


@pytest.mark.parametrize("split", ["train", "test"])
def test_marker_position_counts_what_stands_between_the_marker_and_the_query(split):
    task, sizes, answers = MarkerPosition(), set(), set()
    for row, target in rows(task, split, 12, 800):
        query, marker = row.index(QUERY), row.index(A)
        assert (
            row.count(A) == 1
            and set(row[query:]) == {QUERY}
            and min(row[i] for i in range(query) if i != marker) >= FILLER
        )
        assert [i for i, t in enumerate(target) if t != IGNORE] == [query]
        assert target[query] - FILLER == query - marker - 1
        sizes.add(query)
        answers.add(target[query] - FILLER)
    assert sizes == ({8, 9, 10, 11} if split == "train" else {11}) and answers == set(range(8))


@pytest.mark.parametrize("length", [3, 10, 11])
def test_induction_asks_for_the_value_of_each_key_that_occurred_before(length):
    task, asked = Induction(kinds=3), 0
    for row, target in rows(task, "train", length):
        value_of = {}
        for i, (token, t) in enumerate(zip(row, target, strict=True)):
            if i % 2:
                assert t == IGNORE and FILLER + task.kinds <= token < task.vocab_size
                assert value_of.setdefault(row[i - 1], token) == token
            else:
                assert FILLER <= token < FILLER + task.kinds
                assert t == value_of.get(token, IGNORE)
                asked += t != IGNORE
    assert asked > 50


def test_values_are_drawn_anew_and_every_answer_is_as_frequent():
    for task in (Copy(), Reverse(), Previous(), MarkerPosition(), Induction()):
        _, targets = task.batch("test", 4000, 16, generator())
        counts = torch.bincount(targets[targets != IGNORE])
        counts = counts[counts > 0]
        assert len(counts) == 8 and (counts / counts.sum() - 1 / 8).abs().max() < 0.02
    tokens, _ = Induction().batch("test", 50, 16, generator())
    assert len({tuple(row) for row in tokens[:, 1::2].tolist()}) == 50


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
    assert torch.equal(tokens.flatten(), ids[: tokens.numel()]) and torch.equal(
        targets.flatten(), ids[1 : tokens.numel() + 1]
    )
    # what is left asks for fewer tokens than a sequence has
    assert 0 <= len(ids) - 1 - targets.numel() < length
    few, _ = task.held_out("test", length, 7)
    places = [int((tokens == row).all(1).nonzero()[0]) for row in few]
    assert places == [i * len(tokens) // 7 for i in range(7)]
    assert torch.equal(task.held_out("test", length, 10**9)[0], tokens)


SYNTHETIC = [
    "which_first",
    "which_more",
    "copy",
    "reverse",
    "previous",
    "marker_position",
    "induction",
    "three_back",
]


@pytest.mark.parametrize("name", SYNTHETIC)
def test_held_out_sequences_of_a_synthetic_task_are_fixed_and_differ_between_splits(name):
    task = build_task(name)
    (tokens, _), (again, _), (other, _) = (
        task.held_out(split, 12) for split in ("test", "test", "validation")
    )
    assert len(tokens) == 2048 and len(task.held_out("test", 12, 5)[0]) == 5
    assert torch.equal(tokens, again) and not torch.equal(tokens, other)


@pytest.mark.parametrize("name", ["next_character", "next_word", *SYNTHETIC])
def test_the_generator_decides_the_batch(name):
    task = build_task(name)
    first, again, other = (task.batch("train", 8, 10, generator(seed)) for seed in (1, 1, 2))
    assert torch.equal(first[0], again[0]) and torch.equal(first[1], again[1])
    assert not torch.equal(first[0], other[0])


def test_bad_input_is_refused_by_name():
    for bad in ("sort", None, ["copy"]):
        with pytest.raises(ValueError, match=f"task must be one of .* got {re.escape(repr(bad))}"):
            build_task(bad)
    for bad in (None, ["copy"]):
        with pytest.raises(ValueError, match=f"name of one, got {re.escape(repr(bad))}"):
            text_of(bad)
    assert text_of("next_word") == "english" and text_of("copy") is None
    with pytest.raises(ValueError, match="length must be at least 3 .* got 2"):
        WhichFirst().batch("train", 1, 2, generator())
    with pytest.raises(ValueError, match="length must be at least 5 .* got 4"):
        WhichMore().batch("train", 1, 4, generator())
    for task, least in (
        (Copy(), 2),
        (Reverse(), 2),
        (Previous(), 2),
        (MarkerPosition(), 9),
        (MarkerPosition(reach=3), 4),
        (Induction(), 3),
    ):
        with pytest.raises(
            ValueError,
            match=f"length must be at least {least} for {type(task).__name__}, got {least - 1}",
        ):
            task.batch("train", 1, least - 1, generator())
        task.batch("train", 1, least, generator())
    with pytest.raises(ValueError, match="length must be below .* got 10000000"):
        NextToken(english()).batch("test", 1, 10_000_000, generator())
    with pytest.raises(ValueError, match="length must be below .* got 10000000"):
        NextToken(english()).held_out("test", 10_000_000)


@pytest.mark.parametrize(
    "name",
    [
        "next_character",
        "which_first",
        "which_more",
        "copy",
        "reverse",
        "previous",
        "marker_position",
        "induction",
        "three_back",
    ],
)
def test_bad_sizes_and_splits_are_refused_by_name(name):
    task = build_task(name)
    for bad in (0, -1, 2.0, "2", True):
        with pytest.raises(ValueError, match=f"batch_size must be a positive integer, got {bad!r}"):
            task.batch("train", bad, 16, generator())
        with pytest.raises(ValueError, match=f"length must be a positive integer, got {bad!r}"):
            task.batch("train", 2, bad, generator())
        with pytest.raises(ValueError, match=f"sequences must be a positive integer, got {bad!r}"):
            task.held_out("test", 16, bad)
    for bad_sizes in ((2**31, 16), (2**62, 16), (2, 2**62)):
        if name == "next_character" and bad_sizes[1] > 16:
            continue  # longer than the text
        with pytest.raises(ValueError, match=r"batch_size · length must be at most 2147483648 "):
            task.batch("train", *bad_sizes, generator())
    with pytest.raises(ValueError, match=r"generator must be a torch.Generator or None, got int"):
        task.batch("train", 2, 16, 5)
    for bad in ("exam", "training", None, ["test"]):
        with pytest.raises(ValueError, match=f"split must be one of .* got {re.escape(repr(bad))}"):
            task.held_out(bad, 16)
        with pytest.raises(ValueError, match=f"split must be one of .* got {re.escape(repr(bad))}"):
            task.batch(bad, 2, 16, generator())


@pytest.mark.parametrize(
    "make", [WhichFirst, WhichMore, Copy, Reverse, Previous, MarkerPosition, Induction]
)
def test_a_task_needs_at_least_one_symbol(make):
    for bad in (0, -1, 2.5):
        with pytest.raises(
            ValueError, match=f"(fillers|reach|kinds) must be a positive integer, got {bad}"
        ):
            make(bad)
    with pytest.raises(ValueError, match=f"must be at most 1048576, got {2**40}"):
        make(2**40)


@pytest.mark.parametrize("bad", [None, 5, "text"])
def test_text_is_read_from_a_corpus(bad):
    with pytest.raises(ValueError, match=f"corpus must be a Corpus, got {type(bad).__name__}"):
        NextToken(bad)
