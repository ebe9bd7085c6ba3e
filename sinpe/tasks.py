"""What a model is trained on: each task makes batches of (tokens, targets); targets are IGNORE where nothing is asked.

`batch` draws at random; `held_out` gives the same data to every model that is compared, and all there is of them if no number is named.
"""

from dataclasses import dataclass

import torch

from sinpe.text import Corpus, english, english_words

IGNORE = -100  # torch's default ignore_index
DRAWS = 2048  # held-out sequences of a synthetic task, whose supply is endless
A, B, QUERY, FILLER = 0, 1, 2, 3  # the synthetic alphabet: two markers, the question, and the first of the fillers


@dataclass(frozen=True)
class NextToken:
    """Predict each next character, or word, of a Corpus. Asks for a causal model."""

    corpus: Corpus
    needs_causal = True

    @property
    def vocab_size(self):
        return self.corpus.vocab_size

    def batch(self, split, batch_size, length, generator):
        """Random windows of a split -> tokens, targets, both int64 (batch_size, length)."""
        ids = self._long_enough(split, length)
        return _windows(ids, torch.randint(len(ids) - length, (batch_size,), generator=generator), length)

    def held_out(self, split, length, sequences=None):
        """Windows side by side: the whole split read once, or this many of them spread over it."""
        ids = self._long_enough(split, length)
        there = (len(ids) - 1) // length
        count = min(sequences or there, there)
        return _windows(ids, torch.arange(count) * there // count * length, length)

    def _long_enough(self, split, length):
        ids = self.corpus.split(split)
        if length >= len(ids):
            raise ValueError(f"length must be below the {len(ids)} tokens of the {split} split, got {length}")
        return ids


class Synthetic:
    """What the synthetic tasks share: every split has the same distribution and is told apart by its generator."""

    needs_causal = False

    @property
    def vocab_size(self):
        return FILLER + self.fillers

    def held_out(self, split, length, sequences=None):
        """The first sequences of a stream that no training run draws from."""
        return self.batch(split, sequences or DRAWS, length, torch.Generator().manual_seed({"validation": 11, "test": 12}[split]))


@dataclass(frozen=True)
class WhichFirst(Synthetic):
    """One A and one B among fillers, then a query: the target at the query is the marker that came first. Chance is 1/2.

    fill A fill fill B fill ? -> A
    """

    fillers: int = 5

    def batch(self, split, batch_size, length, generator):
        """Tokens, targets, both int64 (batch_size, length)."""
        tokens = _fillers(self, batch_size, length, generator, least=3)
        places = torch.rand(batch_size, length - 1, generator=generator).argsort(1)[:, :2].sort(1).values
        first = torch.randint(2, (batch_size,), generator=generator)
        tokens.scatter_(1, places, torch.stack([first, 1 - first], 1))
        return tokens, _answer_at_query(first, length)


@dataclass(frozen=True)
class WhichMore(Synthetic):
    """Some As and some more or fewer Bs among fillers, then a query: the target is the marker that occurs more often. Chance is 1/2.

    The control for WhichFirst: a bag of tokens is enough.
    """

    fillers: int = 5

    def batch(self, split, batch_size, length, generator):
        """Tokens, targets (batch_size, length). The winner occurs 2 or 3 times, the other once."""
        tokens = _fillers(self, batch_size, length, generator, least=5)
        winner = torch.randint(2, (batch_size,), generator=generator)
        times = torch.randint(2, 4, (batch_size,), generator=generator)
        places = torch.rand(batch_size, length - 1, generator=generator).argsort(1)
        rank = places.argsort(1)  # a random order of the places: the first `times` take the winner, the next one the other
        body = torch.where(rank < times[:, None], winner[:, None], tokens[:, :-1])
        tokens[:, :-1] = torch.where(rank == times[:, None], 1 - winner[:, None], body)
        return tokens, _answer_at_query(winner, length)


def build_task(name):
    """The task that a RunConfig names: "next_character" | "next_word" | "which_first" | "which_more"."""
    makers = {
        "next_character": lambda: NextToken(english()),
        "next_word": lambda: NextToken(english_words()),
        "which_first": WhichFirst,
        "which_more": WhichMore,
    }
    if name not in makers:
        raise ValueError(f"task must be one of {', '.join(map(repr, makers))}, got {name!r}")
    return makers[name]()


def _windows(ids, starts, length):
    windows = ids[starts[:, None] + torch.arange(length + 1)]
    return windows[:, :-1], windows[:, 1:]


def _fillers(task, batch_size, length, generator, least):
    if length < least:
        raise ValueError(f"length must be at least {least} for {type(task).__name__}, got {length}")
    tokens = torch.randint(FILLER, task.vocab_size, (batch_size, length), generator=generator)
    tokens[:, -1] = QUERY
    return tokens


def _answer_at_query(answer, length):
    targets = torch.full((len(answer), length), IGNORE)
    targets[:, -1] = answer
    return targets
