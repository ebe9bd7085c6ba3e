"""What a study is: which configurations are run with which seeds, and which of them are compared."""

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import groupby

from sinpe.tasks import build_task
from sinpe.training import RunConfig

FIRST_SEED = 101  # those below belong to pilots


@dataclass(frozen=True)
class Cell:
    """One configuration, and how many seeds it gets. section: the question it belongs to; arm: what sets it apart there."""

    section: str
    arm: str
    config: RunConfig
    seeds: int = 5

    @property
    def name(self):
        return f"{self.section}: {self.arm}"

    def runs(self, seeds=None):
        """Its configurations with seeds 101, 102, …; seeds: how many, None for as many as planned."""
        return [replace(self.config, seed=FIRST_SEED + i) for i in range(self.seeds if seeds is None else seeds)]


@dataclass(frozen=True)
class Comparison:
    """Test loss of these minus test loss of those, paired by seed. A side of several cells stands for the one that is best on validation data.

    question: comparisons with the same one are judged together.
    """

    question: str
    name: str
    these: Cell | tuple[Cell, ...]
    those: Cell | tuple[Cell, ...]

    def __post_init__(self):
        for side in ("these", "those"):
            cells = getattr(self, side)
            object.__setattr__(self, side, (cells,) if isinstance(cells, Cell) else tuple(cells))


@dataclass(frozen=True)
class Study:
    """Comparisons in order of importance, so that an interrupted study is useful. Their cells are what is run."""

    name: str
    about: str
    comparisons: tuple[Comparison, ...]

    @cached_property
    def cells(self):
        """Every cell once, in the order in which the comparisons ask for it."""
        return list(dict.fromkeys(cell for comparison in self.comparisons for cell in (*comparison.these, *comparison.those)))

    def select(self, only=()):
        """Cells whose name contains one of these texts; all cells without any. Raises ValueError if there is none."""
        chosen = [cell for cell in self.cells if not only or any(text in cell.name for text in only)]
        if not chosen:
            sections = ", ".join(dict.fromkeys(cell.section for cell in self.cells))
            raise ValueError(f"no cell of {self.name!r} has {' or '.join(map(repr, only))} in its name. Its sections: {sections}")
        return chosen

    def runs(self, seeds=None, only=()):
        """Every run once: by section, and in a section seed by seed, so that cells to be compared grow together."""
        ordered = []
        for _, section in groupby(self.select(only), key=lambda cell: cell.section):
            columns = [cell.runs(seeds) for cell in section]
            ordered += [column[i] for i in range(max(map(len, columns))) for column in columns if i < len(column)]
        return list(dict.fromkeys(ordered))


def core_seconds(config):
    """What a run costs on one core of a server of 2021 (AMD EPYC, AVX2), roughly: a fixed part a step, the rest by tokens. Backward is twice forward."""
    model = config.model
    weights = model.n_layers * (4 * model.d_model**2 + 2 * model.d_model * model.d_ff) + model.d_model * model.vocab_size
    forward = 3.1e-11 * weights + 6e-8 * model.d_model + 2e-9 * model.vocab_size  # seconds a token
    read = config.length * config.evaluation_sequences * (config.evaluations + 1) + _held_out(config.task, config.length)
    return config.steps * (0.008 + 3 * forward * config.batch_size * config.length) + forward * read


@lru_cache
def _held_out(task, length):
    """How many held-out tokens the final numbers of a run read."""
    return sum(build_task(task).held_out(split, length)[0].numel() for split in ("validation", "test"))
