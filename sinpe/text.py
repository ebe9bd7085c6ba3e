"""Real English text without a download: the language reference that every CPython ships in `pydoc_data.topics`."""

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import import_module

import torch


@dataclass(frozen=True)
class Corpus:
    """A text as character ids, split once: the first 80 % for training, 10 % for validation, 10 % for the test.

    text: the whole text; the vocabulary is its set of characters, sorted. Raises ValueError for a text under 100 characters.
    """

    text: str

    def __post_init__(self):
        if len(self.text) < 100:
            raise ValueError(f"text must have at least 100 characters to be split, got {len(self.text)}")

    @cached_property
    def symbols(self):
        return "".join(sorted(set(self.text)))

    @property
    def vocab_size(self):
        return len(self.symbols)

    @cached_property
    def sha256(self):
        """Fingerprint of the text: it differs between Python releases, so every result names it."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @cached_property
    def _ids(self):
        return self.encode(self.text)

    def split(self, name):
        """One of "train", "validation", "test" -> int64 ids of shape (characters,)."""
        bounds = {"train": (0.0, 0.8), "validation": (0.8, 0.9), "test": (0.9, 1.0)}
        if name not in bounds:
            raise ValueError(f"split must be one of {', '.join(map(repr, bounds))}, got {name!r}")
        start, stop = (round(part * len(self.text)) for part in bounds[name])
        return self._ids[start:stop]

    def encode(self, text):
        """Characters -> int64 ids (len(text),). Raises ValueError for a character that the corpus lacks."""
        index = {symbol: i for i, symbol in enumerate(self.symbols)}
        try:
            return torch.tensor([index[symbol] for symbol in text], dtype=torch.int64)
        except KeyError as error:
            raise ValueError(f"text has a character that the corpus lacks: {error.args[0]!r}") from None

    def decode(self, ids):
        """Ids -> characters, the inverse of encode."""
        return "".join(self.symbols[i] for i in ids)

    def baselines(self):
        """Test loss in nats a character of two models that ignore context: {"uniform": ln V, "unigram": training frequencies, add-one smoothed}."""
        counts = torch.bincount(self.split("train"), minlength=self.vocab_size).double() + 1
        unigram = -(counts / counts.sum()).log()[self.split("test")].mean()
        return {"uniform": math.log(self.vocab_size), "unigram": unigram.item()}


@lru_cache(maxsize=1)
def english():
    """The help topics of this Python, in alphabetical order of their names, as one Corpus."""
    topics = import_module("pydoc_data.topics").topics
    return Corpus("\n".join(topics[name] for name in sorted(topics)))
