"""Corpus: real text that is there on every Python, split once, with honest baselines."""

import hashlib
import math
from collections import Counter

import pytest
import torch

from sinpe.text import Corpus, english


def test_english_is_a_large_real_text():
    corpus = english()
    assert len(corpus.text) > 400_000
    assert 80 < corpus.vocab_size < 200
    assert corpus.text.count(" the ") > 2000
    assert corpus.sha256 == hashlib.sha256(corpus.text.encode()).hexdigest()
    assert english() is corpus


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
    train, test = corpus.text[: round(0.8 * len(corpus.text))], corpus.text[round(0.9 * len(corpus.text)) :]
    counts = Counter(train)
    total = len(train) + corpus.vocab_size
    expected = sum(-math.log((counts[c] + 1) / total) for c in test) / len(test)
    assert corpus.baselines()["unigram"] == pytest.approx(expected)
    assert corpus.baselines()["uniform"] == pytest.approx(math.log(len(set(corpus.text))))


def test_bad_input_is_refused_by_name():
    with pytest.raises(ValueError, match="at least 100 characters .* got 3"):
        Corpus("abc")
    with pytest.raises(ValueError, match="split must be one of .* got 'dev'"):
        english().split("dev")
    with pytest.raises(ValueError, match="lacks: '猫'"):
        english().encode("猫")
