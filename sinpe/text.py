"""Real text without a download: English, the language reference that every CPython ships in
`pydoc_data.topics`, and code, a part of its standard library.
"""

import hashlib
import inspect
import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import import_module

import torch

UNKNOWN = "<unk>"
# in pure Python, and in every release since 3.11
SOURCES = (
    "ast calendar cmd codecs configparser copy csv dataclasses fnmatch fractions functools getopt"
    " glob gzip heapq"
).split()


@dataclass(frozen=True)
class Corpus:
    """A text as token ids, split once: the first 80 % for training, 10 % for validation, 10 % for
    the test. Here a token is a character.

    text: the whole text; the vocabulary is its set of characters, sorted. Raises ValueError for
        what is no text, and for a text under 100 characters.
    """

    text: str

    def __post_init__(self):
        _check_text(self.text)
        if len(self.text) < 100:
            raise ValueError(
                f"text must have at least 100 characters to be split, got {len(self.text)}"
            )

    @cached_property
    def symbols(self):
        """The vocabulary in the order of the ids."""
        return sorted(set(self.text))

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
        """One of "train", "validation", "test" -> int64 ids of shape (tokens,)."""
        bounds = {"train": (0.0, 0.8), "validation": (0.8, 0.9), "test": (0.9, 1.0)}
        if not isinstance(name, str) or name not in bounds:
            raise ValueError(f"split must be one of {', '.join(map(repr, bounds))}, got {name!r}")
        start, stop = (round(part * len(self._ids)) for part in bounds[name])
        return self._ids[start:stop]

    def encode(self, text):
        """Text -> int64 ids (tokens,). Raises ValueError for what is no text, and for a character
        that the corpus lacks.
        """
        _check_text(text)
        index = {symbol: i for i, symbol in enumerate(self.symbols)}
        try:
            return torch.tensor([index[symbol] for symbol in text], dtype=torch.int64)
        except KeyError as error:
            raise ValueError(
                f"text has a character that the corpus lacks: {error.args[0]!r}"
            ) from None

    def decode(self, ids):
        """Ids, one row of integers -> text, the inverse of encode. Raises ValueError for an id
        outside 0 … vocab_size − 1, such as the −100 of a target that is not asked for.
        """
        return "".join(self.symbols[i] for i in self._checked(ids))

    def _checked(self, ids):
        """`ids` as a list, or ValueError. A negative one would count from the end of the list."""
        listed = ids.tolist() if hasattr(ids, "tolist") else ids
        if isinstance(listed, str | bytes | dict) or not isinstance(listed, Iterable):
            raise ValueError(f"ids must be a row of integers, got {ids!r:.100}")
        listed = [i.item() if getattr(i, "ndim", None) == 0 else i for i in listed]
        for i in listed:
            if isinstance(i, bool) or not isinstance(i, int) or not 0 <= i < self.vocab_size:
                raise ValueError(
                    f"ids must be integers in 0 … {self.vocab_size - 1}, got {i!r:.100}"
                )
        return listed

    def baselines(self):
        """Test loss in nats a token of two models that ignore context: {"uniform": ln V, "unigram":
        training frequencies, add-one smoothed}.
        """
        counts = torch.bincount(self.split("train"), minlength=self.vocab_size).double() + 1
        unigram = -(counts / counts.sum()).log()[self.split("test")].mean()
        return {"uniform": math.log(self.vocab_size), "unigram": unigram.item()}


@dataclass(frozen=True)
class WordCorpus(Corpus):
    """A text as word ids. A token is a word or a run of one punctuation mark, with the space before
    it, or other white space, so none is lost.

    size: of the vocabulary, that is `<unk>` and the most frequent tokens of the training part.
    Tokens beyond them are read as `<unk>`. Raises ValueError unless 1 < size.
    """

    size: int = 4000

    def __post_init__(self):
        super().__post_init__()
        if isinstance(self.size, bool) or not isinstance(self.size, int) or self.size < 2:
            raise ValueError(f"size must be an integer above 1, got {self.size!r}")

    @staticmethod
    def tokens(text):
        """The text cut into tokens; joined again they are the text. Raises ValueError for what is
        no text.
        """
        _check_text(text)
        return [match.group() for match in re.finditer(r" ?\w+| ?([^\w\s])\1*|\s+", text)]

    @cached_property
    def symbols(self):
        tokens = self.tokens(self.text)
        counts = Counter(tokens[: round(0.8 * len(tokens))])
        return [UNKNOWN, *(token for token, _ in counts.most_common(self.size - 1))]

    def encode(self, text):
        """Text -> int64 ids (tokens,); 0, that is `<unk>`, for a token that the vocabulary lacks.
        Raises ValueError for what is no text.
        """
        index = {symbol: i for i, symbol in enumerate(self.symbols)}
        return torch.tensor([index.get(token, 0) for token in self.tokens(text)], dtype=torch.int64)


def _check_text(text):
    """ValueError unless text is a str that can be written as UTF-8."""
    if not isinstance(text, str):
        raise ValueError(f"text must be a str, got {type(text).__name__}")
    if any("\ud800" <= character <= "\udfff" for character in set(text)):
        raise ValueError("text must be characters, got half of a surrogate pair")


@lru_cache(maxsize=1)
def english():
    """The help topics of this Python, in alphabetical order of their names, as one Corpus of
    characters.

    The topics repeat each other. Each paragraph is kept where it comes first, since 8 % of the test
    text would otherwise have been trained on.
    """
    topics, seen, kept = import_module("pydoc_data.topics").topics, set(), []
    for name in sorted(topics):
        for paragraph in topics[name].split("\n\n"):
            words = " ".join(paragraph.split())
            if words not in seen:
                seen.add(words)
                kept.append(paragraph.strip("\n"))
    return Corpus("\n\n".join(kept))


@lru_cache(maxsize=1)
def english_words():
    """The same text as words: 4000 of them, the rest `<unk>`."""
    return WordCorpus(english().text)


@lru_cache(maxsize=1)
def source():
    """Code of this Python's standard library, module after module, as one Corpus of characters.
    Raises OSError where a Python comes without it.
    """
    return Corpus("\n\n".join(inspect.getsource(import_module(name)) for name in SOURCES))
