"""The training loop: a frozen configuration in, one record out. On the command line: python -m
sinpe.training --help
"""

import argparse
import math
import sys
import time
from dataclasses import asdict, dataclass, field

import torch
from torch.nn import functional as F
from tqdm import tqdm

from sinpe.experiments import build_position, machine, measures
from sinpe.positions.base import check_positive, check_size
from sinpe.tasks import IGNORE, build_task
from sinpe.transformer import Transformer, TransformerConfig


@dataclass(frozen=True)
class RunConfig:
    """Everything that decides a run. The learning rate warms up linearly and falls to a tenth along
    a cosine.

    position, position_options: see experiments.build_position. task: see tasks.build_task. length:
        tokens a sequence.
    evaluations: points on the validation curve after the first. evaluation_sequences: held-out
        sequences a point; the final numbers read all.
    seed: feeds separate generators for weights and batches. Evaluation data are the same for every
        seed.
    measure, measure_options: what is measured at the end, see experiments.measures.
    """

    model: TransformerConfig
    position: str = "sinusoidal"
    position_options: tuple = ()
    task: str = "next_character"
    length: int = 64
    batch_size: int = 32
    steps: int = 400
    learning_rate: float = 2e-3
    warmup: int = 40
    evaluations: int = 20
    evaluation_sequences: int = 256
    seed: int = 0
    measure: str = "held_out"
    measure_options: tuple = ()

    def __post_init__(self):
        for name in ("length", "batch_size", "steps", "evaluations", "evaluation_sequences"):
            check_size(name, getattr(self, name))
        check_positive("learning_rate", self.learning_rate)
        for name in ("warmup", "seed"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise ValueError(f"{name} must be a non-negative integer, got {value!r}")
        for name in ("position_options", "measure_options"):
            value = getattr(self, name)
            if not isinstance(value, tuple) or not all(
                isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str)
                for pair in value
            ):
                raise ValueError(
                    f"{name} must be a tuple of pairs, each of a name and a value, got {value!r}"
                )
        measures.check(self)
        task = build_task(self.task)
        if task.vocab_size != self.model.vocab_size:
            raise ValueError(
                f"task {self.task!r} has vocab_size={task.vocab_size}, the model has"
                f" {self.model.vocab_size}"
            )
        if task.needs_causal and not self.model.causal:
            raise ValueError(
                f"task {self.task!r} needs causal=True: a model that sees the next token only"
                " copies it"
            )


@dataclass
class Run:
    """A model in training: `fit` trains it, `evaluate` reads it on held-out data. device: where,
    "cpu" or "cuda" say.
    """

    config: RunConfig
    device: str = "cpu"
    curve: list = field(default_factory=list)  # (step, validation loss in nats a target)

    def __post_init__(self):
        self.task = build_task(self.config.task)
        self.model = Transformer(
            self.config.model, build_position(self.config), seed=self.config.seed
        ).to(self.device)
        self._validation = self.held_out("validation", self.config.evaluation_sequences)

    def fit(self, progress=lambda steps: steps):
        """Train for config.steps steps. progress: wraps the iterable of steps (tqdm, say). Returns
        self.

        Raises FloatingPointError when the loss is no longer finite.
        """
        config = self.config
        batches = torch.Generator().manual_seed(2 * config.seed + 1_000_003)
        optimizer = self.optimizer()
        due = {round(i * config.steps / config.evaluations) for i in range(config.evaluations + 1)}
        self.curve = [(0, self.evaluate(self._validation)["loss"])]
        for step in progress(range(1, config.steps + 1)):
            for group in optimizer.param_groups:
                group["lr"] = config.learning_rate * _schedule(step, config)
            loss = self.step(
                optimizer,
                self._here(self.task.batch("train", config.batch_size, config.length, batches)),
            )
            if not math.isfinite(loss):
                raise FloatingPointError(f"the training loss is {loss} at step {step} of {config}")
            if step in due:
                self.curve.append((step, self.evaluate(self._validation)["loss"]))
        return self

    def optimizer(self):
        """A new optimizer of this model's weights."""
        return torch.optim.AdamW(
            self.model.parameters(),
            lr=self.config.learning_rate,
            betas=(0.9, 0.98),
            weight_decay=0.0,
            fused=True,
        )

    def step(self, optimizer, batch):
        """One update on (tokens, targets). Returns the loss; one that is not finite updates
        nothing.
        """
        tokens, targets = batch
        loss = _loss(self.model(tokens), targets)
        value = loss.item()
        if math.isfinite(value):
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            optimizer.step()
        return value

    @torch.no_grad()
    def evaluate(self, data):
        """data: a list of (tokens, targets) -> {"loss": nats a target, "accuracy": share of targets
        hit}. Raises ValueError if nothing is asked.
        """
        loss = hits = count = 0
        for tokens, targets in data:
            logits, asked = self.model(tokens), targets != IGNORE
            loss += _loss(logits, targets).item() * asked.sum().item()
            hits += (logits.argmax(-1) == targets)[asked].sum().item()
            count += asked.sum().item()
        if not count:
            raise ValueError(
                "data must ask for something: all targets of its"
                f" {sum(len(tokens) for tokens, _ in data)} sequences are {IGNORE}"
            )
        return {"loss": loss / count, "accuracy": hits / count}

    def validation(self):
        """Loss and accuracy on all validation data: what choices, of a learning rate say, are made
        on.
        """
        return self.evaluate(self.held_out("validation"))

    def test(self):
        """Loss and accuracy on all test data: what is reported."""
        return self.evaluate(self.held_out("test"))

    def held_out(self, split, sequences=None, length=None):
        """Evaluation batches that every seed and method shares. sequences: None is all there are.
        length: None is that of the training.
        """
        tokens, targets = self.task.held_out(split, length or self.config.length, sequences)
        return [
            self._here(batch) for batch in zip(tokens.split(64), targets.split(64), strict=True)
        ]

    def _here(self, batch):
        return tuple(part.to(self.device) for part in batch)


def train(config, progress=lambda steps: steps, device="cpu"):
    """Run one configuration and return its record: {"config", "seed", "curve", "metrics",
    "environment"}, all plain values.
    """
    measures.check_text(config, config.measure)
    machine.reset_peak_memory()
    start = time.perf_counter()
    run = Run(config, device).fit(progress)
    metrics = measures.MEASURES[config.measure](run, **dict(config.measure_options))
    if not all(map(math.isfinite, measures.numbers(metrics))):
        raise FloatingPointError(f"the held-out loss is not finite after {config}: {metrics}")
    environment = {
        **machine.describe(device),
        "seconds": round(time.perf_counter() - start, 2),
        "peak_memory_mb": machine.peak_memory(),
    }
    if hasattr(run.task, "corpus"):
        environment["corpus_sha256"] = run.task.corpus.sha256
    return {
        "config": asdict(config),
        "seed": config.seed,
        "curve": [list(point) for point in run.curve],
        "metrics": metrics,
        "environment": environment,
    }


def _schedule(step, config):
    warm = min(1.0, step / max(1, config.warmup))
    return warm * (0.55 + 0.45 * math.cos(math.pi * step / config.steps))


def _loss(logits, targets):
    return F.cross_entropy(logits.float().flatten(0, 1), targets.flatten(), ignore_index=IGNORE)


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
