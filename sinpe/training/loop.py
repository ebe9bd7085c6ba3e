"""The training loop: a frozen configuration in, one record out."""

import math
import time
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field

import torch
from torch.nn import functional as F

from sinpe.tasks import IGNORE, build_task
from sinpe.training import machine, measures
from sinpe.training.build import build_position
from sinpe.training.config import RunConfig
from sinpe.training.log import Log
from sinpe.training.treatments import build_treatment
from sinpe.transformer import Transformer


@dataclass
class Run:
    """A model in training: `fit` trains it, `evaluate` reads it on held-out data. device: where,
    "cpu" or "cuda" say. Raises ValueError for a device that this machine lacks.
    """

    config: RunConfig
    device: str = "cpu"
    curve: list = field(default_factory=list)  # (step, validation loss in nats a target)
    log: dict = field(default_factory=dict)  # see log.Log

    def __post_init__(self):
        if not isinstance(self.config, RunConfig):
            raise ValueError(f"config must be a RunConfig, got {type(self.config).__name__}")
        machine.check_device(self.device)
        self.task = build_task(self.config.task)
        self.model = Transformer(
            self.config.model, build_position(self.config), seed=self.config.seed
        ).to(self.device)
        self.model.eval()  # but in a step
        self.treatment = build_treatment(self.config)
        # multiples of the learning rate, which a treatment may move
        self.rates = {
            group: getattr(self.config, f"{group}_rate") for group in ("table", "output", "rest")
        }
        self._validation = self.held_out("validation", self.config.evaluation_sequences)

    def fit(self, progress=lambda steps: steps):
        """Train for config.steps steps. progress: wraps the iterable of steps (tqdm, say). Returns
        self.

        Raises FloatingPointError when the loss is no longer finite.
        """
        if not callable(progress):
            raise ValueError(f"progress must be a function of an iterable, got {progress!r:.100}")
        config = self.config
        batches = torch.Generator().manual_seed(2 * config.seed + 1_000_003)
        optimizer = self.optimizer()
        points = min(config.evaluations, config.steps)  # more than every step there are none
        due = {round(i * config.steps / points) for i in range(points + 1)}
        self.treatment.start(self)
        log = Log(self, config.log_every) if config.log_every else None
        self.curve = [(0, self.evaluate(self._validation)["loss"])]
        for step in progress(range(1, config.steps + 1)):
            for group in optimizer.param_groups:
                rate = config.learning_rate * _schedule(step, config)
                group["lr"] = rate * self.rates[group["name"]]
            batch = self._here(self.task.batch("train", config.batch_size, config.length, batches))
            with log.step(self, step, batch) if log else nullcontext() as watch:
                loss = self.step(optimizer, batch, watch)
                self.treatment.after(self, step)
            if log:
                log.loss(step, loss)
            if not math.isfinite(loss):
                raise FloatingPointError(f"the training loss is {loss} at step {step} of {config}")
            if step in due:
                self.curve.append((step, self.evaluate(self._validation)["loss"]))
        self.log = log.series if log else {}
        return self

    def optimizer(self):
        """A new optimizer of this model's weights; those whose rate is 0 are frozen."""
        config, groups = self.config, []
        for name, weights in self._groups().items():
            rate = getattr(config, f"{name}_rate")
            for weight in weights:
                weight.requires_grad_(rate > 0)
                if not rate:
                    weight.grad = None  # one of an earlier backward would count in clipping
            if weights and rate:
                groups.append({"params": weights, "name": name, "lr": config.learning_rate * rate})
        if config.optimizer == "sgd":
            return torch.optim.SGD(groups, momentum=0.9)
        return torch.optim.AdamW(groups, betas=(0.9, 0.98), weight_decay=0.0, fused=True)

    def _groups(self):
        """The weights, by the rate that is theirs."""
        model = self.model
        named = {
            "table": [model.embedding.table.weight],
            "output": [] if model.unembedding is None else [model.unembedding.weight],
        }
        apart = {id(weight) for weights in named.values() for weight in weights}
        return {**named, "rest": [w for w in model.parameters() if id(w) not in apart]}

    def step(self, optimizer, batch, watch=None):
        """One update on (tokens, targets). watch: called between backward and clipping. Returns the
        loss; one that is not finite updates nothing. Raises ValueError unless the two are tensors
        of one shape.
        """
        tokens, targets = _checked("batch", batch)
        self.model.train()
        loss = _loss(self.model(tokens), targets)
        self.model.eval()
        value = loss.item()
        if math.isfinite(value):
            optimizer.zero_grad()
            loss.backward()
            if watch is not None:
                watch()
            if self.config.clip is not None:
                torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip)
            optimizer.step()
        return value

    @torch.no_grad()
    def evaluate(self, data):
        """data: a list of (tokens, targets) -> {"loss": nats a target, "accuracy": share of targets
        hit}. Raises ValueError if nothing is asked, and unless the two are tensors of one shape.
        """
        if not isinstance(data, list | tuple):
            raise ValueError(f"data must be a list of batches, got {type(data).__name__}")
        self.model.eval()  # a step that failed has left it in training, where dropout is at work
        loss = hits = count = 0
        for tokens, targets in (_checked("data", batch) for batch in data):
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
        """Loss and accuracy on all validation sequences, see `held_out`: what choices, of a
        learning rate say, are made on.
        """
        return self.evaluate(self.held_out("validation"))

    def test(self):
        """Loss and accuracy on all test sequences, see `held_out`: what is reported."""
        return self.evaluate(self.held_out("test"))

    def held_out(self, split, sequences=None, length=None):
        """Evaluation batches that every seed and method shares: a list of (tokens, targets).

        length: of a sequence; None is that of the training. sequences: how many; None is all there
        are. Of text these are whole sequences side by side from the start of the split. The fewer
        than `length` tokens after the last one are not judged, so that every token is predicted in
        sequences of one length. Raises ValueError for sizes below 1 and other splits than
        "validation" and "test" (text has "train" too).
        """
        length = self.config.length if length is None else length
        tokens, targets = self.task.held_out(split, length, sequences)
        return [
            self._here(batch) for batch in zip(tokens.split(64), targets.split(64), strict=True)
        ]

    def _here(self, batch):
        return tuple(part.to(self.device) for part in batch)


def train(config, progress=lambda steps: steps, device="cpu"):
    """Run one configuration and return its record: {"config", "seed", "curve", "metrics",
    "environment"}, all plain values. Raises ValueError and FloatingPointError as `Run` does.
    """
    if not isinstance(config, RunConfig):
        raise ValueError(f"config must be a RunConfig, got {type(config).__name__}")
    machine.check_device(device)
    measures.check_text(config, config.measure)
    machine.reset_peak_memory()
    start = time.perf_counter()
    run = Run(config, device).fit(progress)
    metrics = measures.MEASURES[config.measure](run, **dict(config.measure_options))
    if not all(map(math.isfinite, measures.numbers(metrics))):
        raise FloatingPointError(f"the held-out loss is not finite after {config}: {metrics}")
    curve = [list(point) for point in run.curve]
    for name, values in {"curve": curve, "log": run.log}.items():
        if not all(map(math.isfinite, measures.numbers(values))):
            raise FloatingPointError(f"the {name} is not finite after {config}: {values}")
    if run.log:
        metrics = {**metrics, "log": run.log}
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
        "curve": curve,
        "metrics": metrics,
        "environment": environment,
    }


def _schedule(step, config):
    warm = min(1.0, step / max(1, config.warmup))
    return warm * (0.55 + 0.45 * math.cos(math.pi * step / config.steps))


def _checked(name, batch):
    """`batch`, or ValueError unless it is two tensors of one shape."""
    if not isinstance(batch, list | tuple) or not all(isinstance(x, torch.Tensor) for x in batch):
        raise ValueError(f"{name} must hold pairs of tokens and targets, got {batch!r:.100}")
    if len(batch) != 2 or batch[0].shape != batch[1].shape or batch[1].dtype != torch.int64:
        got = ", ".join(f"{x.dtype} {tuple(x.shape)}" for x in batch)
        raise ValueError(f"{name} must be tokens and int64 targets of one shape, got {got}")
    return batch


def _loss(logits, targets):
    try:
        return F.cross_entropy(logits.float().flatten(0, 1), targets.flatten(), ignore_index=IGNORE)
    except IndexError:
        raise ValueError(
            f"targets must be {IGNORE} or in 0 … {logits.shape[-1] - 1}, got"
            f" {targets.min().item()} … {targets.max().item()}"
        ) from None
