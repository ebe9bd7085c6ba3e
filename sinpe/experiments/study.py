"""What a study is: which configurations are run with which seeds, and which of them are
compared.
"""

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import groupby

from sinpe.positions.base import check_size
from sinpe.tasks import PASSAGES, build_task
from sinpe.training import RunConfig
from sinpe.training.measures import (
    BLOCKS,
    LENGTHS,
    METHODS,
    MULTIPLES,
    REPEATS,
    SEQUENCES,
    SLICE,
    TUNED,
    unmeasured,
)

FIRST_SEED = 101  # those below belong to pilots
# seconds for a head and a pair of tokens
A_PAIR = {"shaw": 4e-9, "t5": 3e-9, "alibi": 4e-9, "transformer-xl": 7e-9}


@dataclass(frozen=True)
class Cell:
    """One configuration, and how many seeds it gets. section: the question it belongs to; arm: what
    sets it apart there.
    """

    section: str
    arm: str
    config: RunConfig
    seeds: int = 5

    def __post_init__(self):
        if not isinstance(self.config, RunConfig):
            raise ValueError(f"config must be a RunConfig, got {self.config!r:.100}")
        check_size("seeds", self.seeds)

    @property
    def name(self):
        return f"{self.section}: {self.arm}"

    def runs(self, seeds=None):
        """Its configurations with seeds 101, 102, …; seeds: how many, None for as many as
        planned.
        """
        return [
            replace(self.config, seed=FIRST_SEED + i)
            for i in range(self.seeds if seeds is None else seeds)
        ]


@dataclass(frozen=True)
class Comparison:
    """Test loss of these minus test loss of those, paired by seed. A side of several cells stands
    for the one that is best on validation data.

    question: comparisons with the same one are judged together. metric: another number of the
        record than the test loss.
    """

    question: str
    name: str
    these: Cell | tuple[Cell, ...]
    those: Cell | tuple[Cell, ...]
    metric: str = "test_loss"

    def __post_init__(self):
        for side in ("these", "those"):
            cells = getattr(self, side)
            cells = (cells,) if isinstance(cells, Cell) else cells
            _check_all(side, cells, Cell)
            object.__setattr__(self, side, tuple(cells))
            if not cells:
                raise ValueError(f"{side} must be a cell or several, got none for {self.name!r}")


@dataclass(frozen=True)
class Study:
    """Comparisons in order of importance, so that an interrupted study is useful. Their cells are
    what is run.

    quantities: what its runs measure at several lengths, "windows" for windows_64, windows_128, …
    uncompared: cells that take part in no comparison. alone: its runs are timed, so they are made
        one at a time.
    """

    name: str
    about: str
    comparisons: tuple[Comparison, ...]
    quantities: tuple[str, ...] = ()
    uncompared: tuple[Cell, ...] = ()
    alone: bool = False

    def __post_init__(self):
        _check_all("comparisons", self.comparisons, Comparison)
        _check_all("uncompared", self.uncompared, Cell)
        for what, those in {"cells": self.cells, "comparisons": self.comparisons}.items():
            name, times = (
                Counter(one.name for one in those).most_common(1)[0] if those else (None, 1)
            )
            if times > 1:
                raise ValueError(
                    f"{what} must have names of their own, got {times} that are called {name!r}"
                )

    @cached_property
    def cells(self):
        """Every cell once, in the order in which the comparisons ask for it."""
        compared = [
            cell
            for comparison in self.comparisons
            for cell in (*comparison.these, *comparison.those)
        ]
        return list(dict.fromkeys([*compared, *self.uncompared]))

    def select(self, only=()):
        """Cells whose name contains one of these texts, or the one text; all cells without any.
        Raises ValueError if there is none.
        """
        only = (only,) if isinstance(only, str) else only
        # every name contains an empty text
        if not isinstance(only, list | tuple | set) or not all(
            isinstance(text, str) and text for text in only
        ):
            raise ValueError(f"only must be a text or a list of texts, none empty, got {only!r}")
        chosen = [
            cell for cell in self.cells if not only or any(text in cell.name for text in only)
        ]
        if not chosen:
            sections = ", ".join(dict.fromkeys(cell.section for cell in self.cells))
            raise ValueError(
                f"no cell of {self.name!r} has {' or '.join(map(repr, only))} in its name. Its"
                f" sections: {sections}"
            )
        return chosen

    def runs(self, seeds=None, only=()):
        """Every run once: by section, and in a section seed by seed, so that cells to be compared
        grow together.
        """
        if seeds is not None:
            check_size("seeds", seeds)
        ordered = []
        for _, section in groupby(self.select(only), key=lambda cell: cell.section):
            columns = [cell.runs(seeds) for cell in section]
            ordered += [
                column[i]
                for i in range(max(map(len, columns)))
                for column in columns
                if i < len(column)
            ]
        return list(dict.fromkeys(ordered))


def _check_all(name, those, kind):
    """ValueError unless those are a tuple or list of one kind."""
    if not isinstance(those, list | tuple) or not all(isinstance(one, kind) for one in those):
        raise ValueError(f"{name} must be a tuple of {kind.__name__}s, got {those!r:.100}")


def core_seconds(config):
    """What a run costs on one core of a server of 2021 (AMD EPYC, AVX2), roughly: a fixed part a
    step, the rest by tokens. Backward is twice forward.
    """
    read = config.length * config.evaluation_sequences * (config.evaluations + 1) + _held_out(
        config.task, config.length
    )
    return _training_seconds(config) + _forward_seconds(config) * read + _measuring_seconds(config)


def _training_seconds(config):
    once = config.steps * (0.008 + 3 * _forward_seconds(config) * config.batch_size * config.length)
    return 2 * once if config.treatment == "yoked" else once  # which trains its leader too


def _forward_seconds(config):
    """Seconds a token. What a method does for each pair of tokens counts where it is not part of
    torch's own attention.
    """
    model = config.model
    weights = (
        model.n_layers * (4 * model.d_model**2 + 2 * model.d_model * model.d_ff)
        + model.d_model * model.vocab_size
    )
    pairs = model.n_layers * model.n_heads * config.length * A_PAIR.get(config.position, 0)
    return 3.1e-11 * weights + 6e-8 * model.d_model + 2e-9 * model.vocab_size + pairs


def _measuring_seconds(config):
    """Seconds for what is measured besides the held-out data."""
    options, length = dict(config.measure_options), config.length
    if config.measure == "lengths":
        a_token = sum(
            _forward_seconds(unmeasured(config, length=factor * length)) for factor in LENGTHS
        )
        seconds = 2 * a_token * BLOCKS * LENGTHS[-1] * length  # windows that overlap by half
        return seconds + _tuning_seconds(config, options.get("tune"))
    if config.measure == "windows":
        read = (length, *options["lengths"])
        a_token = sum(_forward_seconds(unmeasured(config, length=n)) for n in read)
        return 2 * a_token * SLICE + _tuning_seconds(config, options.get("tune"))
    if config.measure == "exact":
        times, count = (
            (3, PASSAGES) if hasattr(build_task(config.task), "corpus") else (2, SEQUENCES)
        )
        longer = [unmeasured(config, length=n) for n in options["lengths"]]
        return times * count * sum(_forward_seconds(long) * long.length for long in longer)
    if config.measure == "multiples":
        longer = [unmeasured(config, length=factor * length) for factor in MULTIPLES]
        return sum(_forward_seconds(long) * SEQUENCES * long.length for long in longer)
    if config.measure == "cost":
        forward = sum(_forward_seconds(unmeasured(config, position=method)) for method in METHODS)
        return (options.get("repeats", REPEATS) + 2) * 4 * forward * config.batch_size * length
    return 0


def _tuning_seconds(config, steps):
    """Seconds for training on at four times the length."""
    if not steps:
        return 0
    changes = {"length": TUNED * config.length, "batch_size": config.batch_size // TUNED}
    return _training_seconds(unmeasured(config, steps=steps, **changes))


@lru_cache
def _held_out(task, length):
    """How many held-out tokens the final numbers of a run read."""
    return sum(
        build_task(task).held_out(split, length)[0].numel() for split in ("validation", "test")
    )
