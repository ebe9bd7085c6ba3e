"""One training run on the command line: python -m sinpe.training --help"""

import argparse
import sys

from tqdm import tqdm

from sinpe.tasks import build_task
from sinpe.training import RunConfig, train
from sinpe.transformer import TransformerConfig


def main(arguments=None):
    """Train the small Transformer on English text and compare its held-out loss with models that
    ignore context.
    """
    parser = argparse.ArgumentParser(prog="python -m sinpe.training", description=main.__doc__)
    parser.add_argument(
        "--position",
        default="sinusoidal",
        help="position method, such as none, sinusoidal (default), learned, rope or alibi",
    )
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--d-model", type=int, default=128)
    parser.add_argument("--length", type=int, default=64, help="characters a sequence")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    try:
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
        record = train(
            config, progress=lambda steps: tqdm(steps, unit="step", disable=not sys.stderr.isatty())
        )
    except ValueError as error:
        parser.error(str(error))
    rows = {
        **corpus.baselines(),
        f"Transformer, {options.position}": record["metrics"]["test_loss"],
    }
    print(
        f"English text, {len(corpus.text):,} characters, {corpus.vocab_size} symbols. Loss on the"
        " test part, nats a character:"
    )
    for name, loss in rows.items():
        print(f"  {name:24} {loss:.3f}")


if __name__ == "__main__":
    main()
