"""One training run on the command line: python -m sinpe.training --help"""

import argparse
import os
import sys

import torch
from tqdm import tqdm

from sinpe.tasks import build_task
from sinpe.training import RunConfig, train
from sinpe.training.machine import memory
from sinpe.training.measures import METHODS
from sinpe.transformer import TransformerConfig

COPIES = 4  # of a model's numbers while it is trained: weights, gradients, two means of Adam


def main(arguments=None):
    """Train the small Transformer on English text and compare its held-out loss with models that
    ignore context.
    """
    parser = argparse.ArgumentParser(prog="python -m sinpe.training", description=main.__doc__)
    parser.add_argument(
        "--position",
        default="sinusoidal",
        help=f"position method, one of {', '.join(METHODS)} (default sinusoidal)",
    )
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--d-model", type=int, default=128)
    parser.add_argument("--length", type=int, default=64, help="characters a sequence")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    try:
        if options.position not in METHODS:
            raise ValueError(
                f"position must be one of {', '.join(map(repr, METHODS))}, got {options.position!r}"
            )
        corpus = build_task("next_character").corpus
        model = TransformerConfig(
            corpus.vocab_size, d_model=options.d_model, d_ff=4 * options.d_model
        )
        config = RunConfig(
            model,
            options.position,
            steps=options.steps,
            length=options.length,
            warmup=options.steps // 10,
            seed=options.seed,
        )
        _check_memory(model)
        record = train(
            config, progress=lambda steps: tqdm(steps, unit="step", disable=not sys.stderr.isatty())
        )
        _report(corpus, options.position, record)
    except ValueError as error:
        parser.error(str(error))
    except FloatingPointError as error:
        return _failed(str(error))
    except (MemoryError, RuntimeError) as error:
        if not _is_shortage(error):
            raise
        return _failed("not enough memory: try a smaller --d-model or --length")
    except KeyboardInterrupt:
        print("\nInterrupted: nothing is kept of a single run.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # whoever read the output has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return 0


def _report(corpus, position, record):
    rows = {**corpus.baselines(), f"Transformer, {position}": record["metrics"]["test_loss"]}
    print(
        f"English text, {len(corpus.text):,} characters, {corpus.vocab_size} symbols. Loss on the"
        " test part, nats a character:"
    )
    for name, loss in rows.items():
        print(f"  {name:24} {loss:.3f}")
    sys.stdout.flush()


def _check_memory(model):
    """ValueError for a model that cannot be trained in the memory of this machine. A system that
    promises more than it has would end the process without a word.
    """
    layer = 4 * model.d_model**2 + 2 * model.d_model * model.d_ff
    weights = model.n_layers * layer + model.vocab_size * model.d_model
    needed, there = 4 * COPIES * weights // 10**6, memory()
    if there is not None and needed > there:
        raise ValueError(
            f"d_model must leave room: with {model.d_model} the model takes {needed:,} MB in"
            f" training, and this machine has {there:,} MB"
        )


def _is_shortage(error):
    """Whether an error says that memory ran out. torch has a class of its own only on a GPU."""
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or "allocate" in str(error)


def _failed(message):
    print(f"error: {message}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
