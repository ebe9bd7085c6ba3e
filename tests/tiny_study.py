"""Studies whose runs take milliseconds (a second where they measure more), for the tests of
sinpe.experiments; run as a script it is their command line.

python tests/tiny_study.py SIZE run --folder FOLDER     SIZE: "quick", or "slow" with runs of about
half a second
"""

import os
import sys

from sinpe.experiments import studies
from sinpe.experiments.study import Cell, Comparison, Study
from sinpe.tasks import WhichFirst, build_task
from sinpe.training import RunConfig
from sinpe.transformer import TransformerConfig


def config(**changes):
    """A run of milliseconds."""
    model = TransformerConfig(
        WhichFirst().vocab_size, d_model=8, n_layers=1, n_heads=2, d_ff=8, causal=False
    )
    options = {
        "task": "which_first",
        "length": 6,
        "batch_size": 4,
        "steps": 4,
        "evaluations": 2,
        "evaluation_sequences": 4,
        "warmup": 1,
    }
    return RunConfig(**{"model": model, **options, **changes})


def die(config):
    """In place of a run: one that takes its process with it."""
    os.abort()


def study(name="tiny", seeds=3, **changes):
    """Three arms: with position, without, and with position at two learning rates."""
    on = Cell("position", "on", config(**changes), seeds)
    off = Cell("position", "off", config(position="none", **changes), seeds)
    rates = tuple(
        Cell("rate", f"x {factor}", config(learning_rate=factor * 2e-3, **changes), seeds)
        for factor in (1, 3)
    )
    return Study(
        name,
        "Does a tiny model need position?",
        (
            Comparison("position", "on - off", on, off),
            Comparison("rate", "best rate - off", rates, off),
        ),
    )


def decoder(task="next_character", position="rope", **changes):
    """A run of a decoder of width 8, trained at length 4."""
    model = TransformerConfig(build_task(task).vocab_size, d_model=8, n_layers=1, n_heads=2, d_ff=8)
    options = {
        "length": 4,
        "batch_size": 4,
        "steps": 3,
        "evaluations": 1,
        "evaluation_sequences": 4,
        "warmup": 1,
    }
    return RunConfig(model, position, task=task, **{**options, **changes})


def length_study(seeds=2):
    """As `length`: sinusoids, learned positions, rotary, and rotary extended; compared at the
    training length and at the longest.
    """
    measured = {
        "sinusoidal": (),
        "rope": (),
        "learned": (),
        "ntk-aware": (("extension", "ntk-aware"),),
    }
    cells = {
        name: Cell(
            "method",
            name,
            decoder(
                position="rope" if options else name, measure="lengths", measure_options=options
            ),
            seeds,
        )
        for name, options in measured.items()
    }
    pairs = [(n, name) for n in (4, 64) for name in ("rope", "learned", "ntk-aware")]
    compared = tuple(
        Comparison(
            "method",
            f"{name} - sinusoidal, read at {n}",
            cells[name],
            cells["sinusoidal"],
            f"windows_{n}",
        )
        for n, name in pairs
    )
    return Study("tiny-length", "", compared, quantities=("windows", "blocks"))


def tasks_study(seeds=2):
    """As `tasks`."""
    sinusoidal, learned = (
        Cell("previous", name, decoder("previous", name, measure="multiples"), seeds)
        for name in ("sinusoidal", "learned")
    )
    compared = tuple(
        Comparison(
            "previous", f"learned - sinusoidal at {n} x", learned, sinusoidal, f"accuracy_{n}"
        )
        for n in (1, 4)
    )
    return Study("tiny-tasks", "", compared, quantities=("accuracy",))


def cost_study(seeds=2):
    """As `cost`."""
    timed = decoder(
        "which_more", "none", length=8, steps=1, measure="cost", measure_options=(("repeats", 2),)
    )
    return Study(
        "tiny-cost", "", (), uncompared=(Cell("cost", "length 8", timed, seeds),), alone=True
    )


SIZES = {"quick": lambda: study(), "slow": lambda: study("slow", seeds=2, steps=300)}

if __name__ == "__main__":
    from sinpe.experiments.__main__ import main

    size = sys.argv.pop(1)
    studies.STUDIES.clear()
    studies.STUDIES[SIZES[size]().name] = SIZES[size]
    sys.exit(main())
