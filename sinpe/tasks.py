"""What a model is trained on: each task makes batches of (tokens, targets); targets are IGNORE
where nothing is asked.

`batch` draws at random, from a torch.Generator (None: from torch's own); `held_out` gives the same
data to every model that is compared, and all there is of them if no number is named. Bad sizes and
splits raise ValueError.
"""

from dataclasses import dataclass

import torch

from sinpe.positions.base import check_size
from sinpe.text import Corpus, english, english_words, source

SPLITS = ("train", "validation", "test")
IGNORE = -100  # torch's default ignore_index
LARGEST = 2**31  # tokens in one batch: 16 GB of ids
SYMBOLS = 2**20  # of one synthetic alphabet, at most
DRAWS = 2048  # held-out sequences of a synthetic task, whose supply is endless
# of a text that says a passage twice: in 64ths of a sequence, the least and the largest distance of
# the copies, and their size; in characters, how many of the second are only read, and are asked
WHOLE, NEAREST, FARTHEST, PASSAGE = 64, 25, 50, 14
CUE, JUDGED = 4, 10
PASSAGES = 512  # held-out sequences of it, and of the facts below
# of a text that says facts and asks for them: how many kinds, and values of each; in 64ths of a
# sequence, how much later they are asked for
KINDS, SOONEST, LATEST = 8, 27, 46
# the synthetic alphabet: two markers, the question, and the first of the fillers
A, B, QUERY, FILLER = 0, 1, 2, 3


@dataclass(frozen=True)
class NextToken:
    """Predict each next character, or word, of a Corpus. Asks for a causal model."""

    corpus: Corpus
    needs_causal = True

    def __post_init__(self):
        if not isinstance(self.corpus, Corpus):
            raise ValueError(f"corpus must be a Corpus, got {type(self.corpus).__name__}")

    @property
    def vocab_size(self):
        return self.corpus.vocab_size

    def batch(self, split, batch_size, length, generator):
        """Random windows of a split -> tokens, targets, both int64 (batch_size, length)."""
        ids = self._long_enough(split, length)
        _check_batch(batch_size, length, generator)
        return _windows(
            ids, torch.randint(len(ids) - length, (batch_size,), generator=generator), length
        )

    def held_out(self, split, length, sequences=None):
        """Windows side by side, from the start of the split: all that are whole, or this many of
        them spread over it. What is left at the end asks for fewer than `length` tokens and is not
        read.
        """
        ids = self._long_enough(split, length)
        there = (len(ids) - 1) // length
        count = there if sequences is None else min(check_size("sequences", sequences), there)
        return _windows(ids, torch.arange(count) * there // count * length, length)

    def _long_enough(self, split, length):
        ids = self.corpus.split(split)
        check_size("length", length)
        if length >= len(ids):
            raise ValueError(
                f"length must be below the {len(ids)} tokens of the {split} split, got {length}"
            )
        return ids


@dataclass(frozen=True)
class RepeatedPassage(NextToken):
    """Predict each next character of a text in which a passage is said twice: 14/64 of a sequence,
    again 25/64 to 50/64 of it later, in the place of what stood there. In sequences of 256 that
    is 56 characters, 100 to 200 later.

    In training every character is asked for, as in any text. Held out, only ten of the second
    copy, its fifth to fourteenth: the first four tell that it is one.
    """

    def batch(self, split, batch_size, length, generator):
        """Tokens, targets, both int64 (batch_size, length): length at least 64."""
        return self._repeated(split, batch_size, length, generator)[:2]

    def held_out(self, split, length, sequences=None, copy=1):
        """Drawn from a stream of its own, the same each time. copy: 0 asks for the same characters
        where they stand for the first time.
        """
        generator = _stream(split)
        if type(copy) is not int or copy not in (0, 1):
            raise ValueError(f"copy must be 0 or 1, got {copy!r}")
        count = PASSAGES if sequences is None else check_size("sequences", sequences)
        tokens, targets, starts = self._repeated(split, count, length, generator)
        place = torch.arange(length) + 1 - starts[copy]  # in the passage, of what is asked for
        return tokens, torch.where((place >= CUE) & (place < CUE + JUDGED), targets, IGNORE)

    def _repeated(self, split, batch_size, length, generator):
        """Tokens, targets, and where the two copies start, each (batch_size, 1)."""
        if check_size("length", length) < WHOLE:
            raise ValueError(f"length must be at least {WHOLE} for a passage, got {length}")
        tokens, targets = super().batch(split, batch_size, length, generator)
        text = torch.cat([tokens, targets[:, -1:]], 1)
        nearest, farthest, passage = (length * n // WHOLE for n in (NEAREST, FARTHEST, PASSAGE))
        later = torch.randint(nearest, farthest + 1, (batch_size, 1), generator=generator)
        first = torch.rand(batch_size, 1, generator=generator) * (length - passage + 2 - later)
        first = first.long()
        second = first + later
        place = torch.arange(length + 1)
        again = (place >= second) & (place < second + passage)
        text = torch.where(again, text.gather(1, (place - later).clamp(min=0)), text)
        return text[:, :-1], text[:, 1:], (first, second)


@dataclass(frozen=True)
class Facts(NextToken):
    """Text in which eight facts are said in a row and asked for in another order, from about 27/64
    to 46/64 of a sequence later: 100 to 200 characters in one of 256. Chance is 1/8 for whoever
    reads which fact is asked for, and no character between helps.

    A fact is one symbol, of eight kinds with eight values each; a question is the symbol of a kind,
    and its answer is the next token. Text, here “…”, asks for nothing.
    … a3 b7 c1 … b? b7 c? c1 a? a3 … -> b7 after b?, c1 after c?, a3 after a?
    """

    @property
    def vocab_size(self):
        """The characters, then eight questions, then the facts, kind by kind."""
        return self.corpus.vocab_size + KINDS + KINDS**2

    def batch(self, split, batch_size, length, generator):
        """Tokens, targets, both int64 (batch_size, length): length at least 64."""
        if check_size("length", length) < WHOLE:
            raise ValueError(f"length must be at least {WHOLE} for facts, got {length}")
        tokens, _ = super().batch(split, batch_size, length, generator)
        least, most = (length * n // WHOLE for n in (SOONEST, LATEST))
        later = torch.randint(least, most + 1, (batch_size, 1), generator=generator)
        room = length - 2 * KINDS - later + 1
        first = (torch.rand(batch_size, 1, generator=generator) * room).long()
        values = torch.randint(KINDS, (batch_size, KINDS), generator=generator)
        said, asked = (
            torch.rand(batch_size, KINDS, generator=generator).argsort(1) for _ in range(2)
        )
        question = self.corpus.vocab_size
        fact = question + KINDS * (1 + torch.arange(KINDS)) + values
        answers = fact.gather(1, asked)
        asking = torch.stack([question + asked, answers], -1).flatten(1)
        tokens = tokens.scatter(1, first + torch.arange(KINDS), fact.gather(1, said))
        tokens = tokens.scatter(1, first + later + torch.arange(2 * KINDS), asking)
        targets = torch.full_like(tokens, IGNORE)
        return tokens, targets.scatter(1, first + later + 2 * torch.arange(KINDS), answers)

    def held_out(self, split, length, sequences=None):
        """Drawn from a stream of its own, the same each time."""
        generator = _stream(split)
        count = PASSAGES if sequences is None else check_size("sequences", sequences)
        return self.batch(split, count, length, generator)


class Synthetic:
    """What the synthetic tasks share: splits are told apart by their generator. Held-out sequences
    have the length that is asked for.

    So do those for training, except in the tasks whose question stands at a place that depends on
    the length: there each row has a random one up to it, since a model that has seen a single
    length cannot know which places go with the length. What is left of such a row asks nothing.
    """

    needs_causal = False

    def __post_init__(self):
        for name, value in vars(self).items():
            if check_size(name, value) > SYMBOLS:
                raise ValueError(f"{name} must be at most {SYMBOLS}, got {value}")

    @property
    def vocab_size(self):
        return FILLER + self.fillers

    def held_out(self, split, length, sequences=None):
        """The first sequences of a stream that no training run draws from."""
        generator = _stream(split)
        count = DRAWS if sequences is None else check_size("sequences", sequences)
        return self.batch(split, count, length, generator)


@dataclass(frozen=True)
class WhichFirst(Synthetic):
    """One A and one B among fillers, then a query: the target at the query is the marker that came
    first. Chance is 1/2.

    fill A fill fill B fill ? -> A
    """

    fillers: int = 5

    def batch(self, split, batch_size, length, generator):
        """Tokens, targets, both int64 (batch_size, length)."""
        tokens = _fillers(self, split, batch_size, length, generator, least=3)
        places = (
            torch.rand(batch_size, length - 1, generator=generator).argsort(1)[:, :2].sort(1).values
        )
        first = torch.randint(2, (batch_size,), generator=generator)
        tokens.scatter_(1, places, torch.stack([first, 1 - first], 1))
        return tokens, _answer_at_query(first, length)


@dataclass(frozen=True)
class WhichMore(Synthetic):
    """Some As and some more or fewer Bs among fillers, then a query: the target is the marker that
    occurs more often. Chance is 1/2.

    The control for WhichFirst: a bag of tokens is enough.
    """

    fillers: int = 5

    def batch(self, split, batch_size, length, generator):
        """Tokens, targets (batch_size, length). The winner occurs 2 or 3 times, the other once."""
        tokens = _fillers(self, split, batch_size, length, generator, least=5)
        winner = torch.randint(2, (batch_size,), generator=generator)
        times = torch.randint(2, 4, (batch_size,), generator=generator)
        places = torch.rand(batch_size, length - 1, generator=generator).argsort(1)
        # a random order of the places: the first `times` take the winner, the next one the other
        rank = places.argsort(1)
        body = torch.where(rank < times[:, None], winner[:, None], tokens[:, :-1])
        tokens[:, :-1] = torch.where(rank == times[:, None], 1 - winner[:, None], body)
        return tokens, _answer_at_query(winner, length)


@dataclass(frozen=True)
class Copy(Synthetic):
    """n random symbols, then a query, then the same symbols: each is asked for after the one before
    it. Chance is 1/fillers. n is length // 2 at most.

    a b c ? a b -> . . . a b c
    """

    fillers: int = 8

    def batch(self, split, batch_size, length, generator):
        """Tokens, targets, both int64 (batch_size, length)."""
        return self._answered(split, batch_size, length, generator, lambda step, n: step)

    def _answered(self, split, batch_size, length, generator, source):
        """source: (step of the answer, n) -> which symbol it is."""
        half = _check_sizes(self, split, batch_size, length, generator, 2) // 2
        n = _sizes(split, batch_size, half, generator)
        body = torch.randint(FILLER, self.vocab_size, (batch_size, half), generator=generator)
        place = torch.arange(length).expand(batch_size, length)
        answer = body.gather(1, source(place - n, n).clamp(0, half - 1))
        asked = (place >= n) & (place < 2 * n)
        said = torch.where(asked, answer, QUERY).roll(1, 1)  # what was answered is the next token
        tokens = torch.where(
            place < n,
            body.gather(1, place.clamp(max=half - 1)),
            torch.where(place == n, QUERY, said),
        )
        return torch.where(place < 2 * n, tokens, QUERY), torch.where(asked, answer, IGNORE)


@dataclass(frozen=True)
class Reverse(Copy):
    """Copy, backwards.

    a b c ? c b -> . . . c b a
    """

    def batch(self, split, batch_size, length, generator):
        """Tokens, targets, both int64 (batch_size, length)."""
        return self._answered(split, batch_size, length, generator, lambda step, n: n - 1 - step)


@dataclass(frozen=True)
class Previous(Synthetic):
    """Random symbols: the target at each is the one before it. Chance is 1/fillers.

    a b c d -> . a b c
    """

    fillers: int = 8

    def batch(self, split, batch_size, length, generator):
        """Tokens, targets, both int64 (batch_size, length)."""
        tokens = torch.randint(
            FILLER,
            self.vocab_size,
            (batch_size, _check_sizes(self, split, batch_size, length, generator, 2)),
            generator=generator,
        )
        targets = tokens.roll(1, 1)
        targets[:, 0] = IGNORE
        return tokens, targets


@dataclass(frozen=True)
class ThreeBack(Previous):
    """Random symbols: the target at each is the one three places before it. Chance is 1/fillers.

    a b c d e -> . . . a b
    """

    def batch(self, split, batch_size, length, generator):
        """Tokens, targets, both int64 (batch_size, length): length at least 4."""
        if check_size("length", length) < 4:
            raise ValueError(f"length must be at least 4 for ThreeBack, got {length}")
        tokens, _ = super().batch(split, batch_size, length, generator)
        targets = tokens.roll(3, 1)
        targets[:, :3] = IGNORE
        return tokens, targets


@dataclass(frozen=True)
class MarkerPosition(Synthetic):
    """One marker among fillers, then a query: how many fillers stand between the two? 0 … reach −
    1, said as symbols. Chance is 1/reach.

    fill fill A fill fill ? -> 2
    """

    reach: int = 8

    @property
    def fillers(self):
        return self.reach

    def batch(self, split, batch_size, length, generator):
        """Tokens, targets, both int64 (batch_size, length). Needs length > reach."""
        _check_sizes(self, split, batch_size, length, generator, self.reach + 1)
        query = _sizes(split, batch_size, length - 1, generator, least=self.reach)
        distance = torch.randint(self.reach, (batch_size, 1), generator=generator)
        tokens = torch.randint(FILLER, self.vocab_size, (batch_size, length), generator=generator)
        tokens.scatter_(1, query - 1 - distance, A)
        place = torch.arange(length)
        return torch.where(place < query, tokens, QUERY), torch.where(
            place == query, FILLER + distance, IGNORE
        )


@dataclass(frozen=True)
class Induction(Synthetic):
    """Pairs of a key and its value, which every sequence draws anew: asked is the value of each key
    that occurred before. Chance is 1/kinds.

    Keys and values are different symbols, kinds of each.  k 3 m 1 k 3 m 1 -> . . . . 3 . 1 .
    """

    kinds: int = 8

    @property
    def fillers(self):
        return 2 * self.kinds

    def batch(self, split, batch_size, length, generator):
        """Tokens, targets, both int64 (batch_size, length). An odd length ends with a key."""
        pairs = (_check_sizes(self, split, batch_size, length, generator, 3) + 1) // 2
        value_of = torch.randint(self.kinds, (batch_size, self.kinds), generator=generator)
        keys = torch.randint(self.kinds, (batch_size, pairs), generator=generator)
        values = value_of.gather(1, keys)
        again = (keys[:, :, None] == keys[:, None, :]).tril(-1).any(-1)
        tokens = torch.stack([keys, self.kinds + values], -1).flatten(1) + FILLER
        targets = torch.full_like(tokens, IGNORE)
        targets[:, ::2] = torch.where(again, self.kinds + values + FILLER, IGNORE)
        return tokens[:, :length], targets[:, :length]


def text_of(name):
    """Which text a task reads: "english", "source", or None for any other name."""
    if not isinstance(name, str):
        raise ValueError(f"task must be the name of one, got {name!r:.100}")
    return {
        "next_character": "english",
        "next_word": "english",
        "next_source_character": "source",
        "repeated_passage": "english",
        "facts": "english",
    }.get(name)


def build_task(name):
    """The task that a RunConfig names: "next_character" | "next_word" of English,
    "next_source_character" of code, or a synthetic one: "which_first" | "which_more" | "copy" |
    "reverse" | "previous" | "marker_position" | "induction" | "three_back"; or
    "repeated_passage" | "facts", in English.
    """
    makers = {
        "next_character": lambda: NextToken(english()),
        "next_word": lambda: NextToken(english_words()),
        "next_source_character": lambda: NextToken(source()),
        "which_first": WhichFirst,
        "which_more": WhichMore,
        "copy": Copy,
        "reverse": Reverse,
        "previous": Previous,
        "marker_position": MarkerPosition,
        "induction": Induction,
        "repeated_passage": lambda: RepeatedPassage(english()),
        "facts": lambda: Facts(english()),
        "three_back": ThreeBack,
    }
    if not isinstance(name, str) or name not in makers:
        raise ValueError(f"task must be one of {', '.join(map(repr, makers))}, got {name!r}")
    return makers[name]()


def _stream(split):
    """The generator of held-out sequences that are drawn, the same each time."""
    seeds = {"validation": 11, "test": 12}
    if not isinstance(split, str) or split not in seeds:
        raise ValueError(f"split must be one of {', '.join(map(repr, seeds))}, got {split!r}")
    return torch.Generator().manual_seed(seeds[split])


def _windows(ids, starts, length):
    windows = ids[starts[:, None] + torch.arange(length + 1)]
    return windows[:, :-1], windows[:, 1:]


def _fillers(task, split, batch_size, length, generator, least):
    tokens = torch.randint(
        FILLER,
        task.vocab_size,
        (batch_size, _check_sizes(task, split, batch_size, length, generator, least)),
        generator=generator,
    )
    tokens[:, -1] = QUERY
    return tokens


def _check_sizes(task, split, batch_size, length, generator, least):
    """`length`, or ValueError."""
    if not isinstance(split, str) or split not in SPLITS:
        raise ValueError(f"split must be one of {', '.join(map(repr, SPLITS))}, got {split!r}")
    _check_batch(batch_size, length, generator)
    if length < least:
        raise ValueError(f"length must be at least {least} for {type(task).__name__}, got {length}")
    return length


def _check_batch(batch_size, length, generator):
    tokens = check_size("batch_size", batch_size) * check_size("length", length)
    if tokens > LARGEST:
        raise ValueError(
            f"batch_size · length must be at most {LARGEST} tokens, got {batch_size} · {length}"
        )
    if generator is not None and not isinstance(generator, torch.Generator):
        raise ValueError(
            f"generator must be a torch.Generator or None, got {type(generator).__name__}"
        )


def _sizes(split, batch_size, most, generator, least=1):
    """(batch_size, 1): random sizes for training, the largest otherwise."""
    if split != "train":
        return torch.full((batch_size, 1), most)
    return torch.randint(least, most + 1, (batch_size, 1), generator=generator)


def _answer_at_query(answer, length):
    targets = torch.full((len(answer), length), IGNORE)
    targets[:, -1] = answer
    return targets
