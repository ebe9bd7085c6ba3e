"""Corpus: real text that is there on every Python, split once, with honest baselines."""

import hashlib
import math
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest
import torch

from sinpe.text import SOURCES, UNKNOWN, Corpus, WordCorpus, english, english_words, source


def test_english_is_a_large_real_text():
    corpus = english()
    assert len(corpus.text) > 300_000
    assert 80 < corpus.vocab_size < 200
    assert corpus.text.count(" the ") > 2000
    assert corpus.sha256 == hashlib.sha256(corpus.text.encode()).hexdigest()
    assert english() is corpus


def test_no_paragraph_comes_twice_and_none_is_lost():
    topics = import_module("pydoc_data.topics").topics
    words = [" ".join(paragraph.split()) for paragraph in english().text.split("\n\n")]
    assert len(words) == len(set(words))
    assert set(words) - {""} == {
        " ".join(p.split()) for topic in topics.values() for p in topic.split("\n\n")
    } - {""}


def test_the_test_text_was_not_trained_on():
    train, test = (english().decode(english().split(name).tolist()) for name in ("train", "test"))
    windows = [test[start : start + 64] for start in range(0, len(test) - 64, 64)]
    assert sum(window in train for window in windows) < 0.01 * len(windows)


def test_code_is_another_text_of_the_same_kind_of_size():
    """Real modules, each whole, and hardly a window of the test part was trained on."""
    corpus = source()
    assert 300_000 < len(corpus.text) < 600_000 and 80 < corpus.vocab_size < 300
    assert corpus.text.count("    def ") > 500 and corpus.sha256 != english().sha256
    assert source() is corpus
    for name in SOURCES:
        path = Path(import_module(name).__file__)
        assert path.read_text(encoding="utf-8") in corpus.text
    train, test = (corpus.decode(corpus.split(name).tolist()) for name in ("train", "test"))
    windows = [test[start : start + 64] for start in range(0, len(test) - 64, 64)]
    assert sum(window in train for window in windows) < 0.02 * len(windows)


def test_words_are_cut_without_loss_and_as_documented():
    assert WordCorpus.tokens('the "self.x" is 3.14 === a\n\n  b_1?') == [
        "the",
        ' "',
        "self",
        ".",
        "x",
        '"',
        " is",
        " 3",
        ".",
        "14",
        " ===",
        " a",
        "\n\n  ",
        "b_1",
        "?",
    ]
    assert "".join(WordCorpus.tokens(english().text)) == english().text
    assert WordCorpus.tokens("") == []


def test_the_word_vocabulary_comes_from_the_training_part_alone():
    corpus = english_words()
    assert corpus.text == english().text and corpus.sha256 == english().sha256
    assert corpus.vocab_size == len(set(corpus.symbols)) == 4000 and corpus.symbols[0] == UNKNOWN
    tokens = corpus.tokens(corpus.text)
    counts = Counter(tokens[: round(0.8 * len(tokens))])
    assert set(corpus.symbols[1:]) <= set(counts)
    assert min(counts[token] for token in corpus.symbols[1:]) >= max(
        n for token, n in counts.items() if token not in corpus.symbols
    )
    unknown = {name: (corpus.split(name) == 0).double().mean().item() for name in ("train", "test")}
    assert 0 < unknown["train"] < 0.05 and unknown["train"] < unknown["test"] < 0.15


def test_words_encode_and_decode():
    corpus = english_words()
    text = "The class statement is a compound statement."
    assert corpus.decode(corpus.encode(text).tolist()) == text
    assert corpus.decode(corpus.encode("a zyzzyva").tolist()) == "a" + UNKNOWN
    assert corpus.encode("").shape == (0,)
    assert len(corpus.encode(corpus.text)) == sum(
        len(corpus.split(name)) for name in ("train", "validation", "test")
    )


def test_splits_are_the_whole_text_once_and_in_order():
    corpus = english()
    parts = [corpus.split(name) for name in ("train", "validation", "test")]
    assert corpus.decode(torch.cat(parts).tolist()) == corpus.text
    assert [round(len(part) / len(corpus.text), 3) for part in parts] == [0.8, 0.1, 0.1]


def test_encode_and_decode_are_inverse():
    corpus = Corpus("the quick brown fox jumps over the lazy dog. " * 5)
    assert corpus.decode(corpus.encode("brown dog").tolist()) == "brown dog"
    assert corpus.encode("").shape == (0,)


def test_baselines_equal_a_literal_count():
    corpus = Corpus("abracadabra, said the wizard; nothing happened. " * 8)
    train, test = (
        corpus.text[: round(0.8 * len(corpus.text))],
        corpus.text[round(0.9 * len(corpus.text)) :],
    )
    counts = Counter(train)
    total = len(train) + corpus.vocab_size
    expected = sum(-math.log((counts[c] + 1) / total) for c in test) / len(test)
    assert corpus.baselines()["unigram"] == pytest.approx(expected)
    assert corpus.baselines()["uniform"] == pytest.approx(math.log(len(set(corpus.text))))


def test_bad_input_is_refused_by_name():
    with pytest.raises(ValueError, match="at least 100 characters .* got 3"):
        Corpus("abc")
    for size in (1, 0, True, 2.5):
        with pytest.raises(ValueError, match=f"size must be an integer above 1, got {size}"):
            WordCorpus("a" * 200, size)
    with pytest.raises(ValueError, match="split must be one of .* got 'dev'"):
        english().split("dev")
    with pytest.raises(ValueError, match="lacks: '猫'"):
        english().encode("猫")


CORPORA = (Corpus("the quick brown fox. " * 9), WordCorpus("the quick brown fox. " * 9, 4))


@pytest.mark.parametrize("corpus", CORPORA, ids=["characters", "words"])
def test_ids_that_are_none_are_not_decoded(corpus):
    last = corpus.vocab_size - 1
    assert corpus.decode([last]) == corpus.decode(torch.tensor([last])) == corpus.symbols[-1]
    assert corpus.decode([torch.tensor(0), torch.tensor(last)]) == corpus.decode([0, last])
    for bad in (-1, -100, last + 1, 10**30, True, 1.0, "1", None, [1]):
        with pytest.raises(ValueError, match=f"ids must be integers in 0 … {last}, got "):
            corpus.decode([0, bad])
    for bad in (torch.tensor([0, -100]), torch.tensor([1.0]), torch.tensor([[0, 1]])):
        with pytest.raises(ValueError, match=f"ids must be integers in 0 … {last}, got "):
            corpus.decode(bad)
    for bad in (None, 5, "12", b"12", {0: 1}, torch.tensor(1)):
        with pytest.raises(ValueError, match="ids must be a row of integers, got"):
            corpus.decode(bad)


@pytest.mark.parametrize("bad", [None, 5, ["t", "h"] * 99, b"th" * 99])
def test_what_is_no_text_is_refused(bad):
    uses = (Corpus, WordCorpus, WordCorpus.tokens, *(corpus.encode for corpus in CORPORA))
    for use in uses:
        with pytest.raises(ValueError, match=f"text must be a str, got {type(bad).__name__}"):
            use(bad)


def test_half_of_a_surrogate_pair_is_no_text():
    with pytest.raises(ValueError, match="text must be characters, got half of a surrogate pair"):
        Corpus("\ud800" * 200)
