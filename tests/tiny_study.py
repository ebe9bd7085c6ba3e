"""Studies whose runs take milliseconds, for the tests of sinpe.experiments; run as a script it is their command line.

python tests/tiny_study.py SIZE run --folder FOLDER     SIZE: "quick", or "slow" with runs of about half a second
"""

import os
import sys

from sinpe.experiments import studies
from sinpe.experiments.study import Cell, Comparison, Study
from sinpe.tasks import WhichFirst
from sinpe.training import RunConfig
from sinpe.transformer import TransformerConfig


def config(**changes):
    """A run of milliseconds."""
    model = TransformerConfig(WhichFirst().vocab_size, d_model=8, n_layers=1, n_heads=2, d_ff=8, causal=False)
    options = {"task": "which_first", "length": 6, "batch_size": 4, "steps": 4, "evaluations": 2, "evaluation_sequences": 4, "warmup": 1}
    return RunConfig(**{"model": model, **options, **changes})


def die(config):
    """In place of a run: one that takes its process with it."""
    os.abort()


def study(name="tiny", seeds=3, **changes):
    """Three arms: with position, without, and with position at two learning rates."""
    on = Cell("position", "on", config(**changes), seeds)
    off = Cell("position", "off", config(position="none", **changes), seeds)
    rates = tuple(Cell("rate", f"x {factor}", config(learning_rate=factor * 2e-3, **changes), seeds) for factor in (1, 3))
    return Study(name, "Does a tiny model need position?", (Comparison("position", "on - off", on, off), Comparison("rate", "best rate - off", rates, off)))


SIZES = {"quick": lambda: study(), "slow": lambda: study("slow", seeds=2, steps=300)}

if __name__ == "__main__":
    from sinpe.experiments.__main__ import main

    size = sys.argv.pop(1)
    studies.STUDIES.clear()
    studies.STUDIES[SIZES[size]().name] = SIZES[size]
    sys.exit(main())
