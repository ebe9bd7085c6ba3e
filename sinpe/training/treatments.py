"""Treatments: what a study does to a run in training that no plain number says. A RunConfig names
one of them; "none" does nothing.

A treatment steps in twice: `start`, before the first step, and `after`, after each update. What a
token sounds like in the model is factor · row; its loudness is the RMS of that over the tokens of
the text.
"""

from dataclasses import dataclass, replace

import torch

from sinpe.positions.base import check_positive, check_positive_or_zero


@dataclass
class Treatment:
    """Nothing is done."""

    def start(self, run):
        """Before the first step."""

    def after(self, run, step):
        """After the update of this step, before anything is evaluated."""


@dataclass
class CopiedOutput(Treatment):
    """The output matrix starts as a copy of the embedding matrix, and goes its own way."""

    def __post_init__(self):
        self.copied = False

    @torch.no_grad()
    def start(self, run):
        if not self.copied:  # trained again, a run goes on from what the output has learned
            run.model.unembedding.weight.copy_(run.model.embedding.table.weight)
            self.copied = True


@dataclass
class FrozenPositions(Treatment):
    """What the position method learns stays as it starts."""

    def start(self, run):
        for weight in run.model.layers[0].attention.position.parameters():
            weight.requires_grad_(False)


@dataclass
class ScaledWayIn(Treatment):
    """The gradient that reaches the embedding matrix by the way in is multiplied by `factor`; 0
    cuts it off, so that a tied matrix learns from its logits alone. The forward pass is the same.
    """

    factor: float

    def __post_init__(self):
        check_positive_or_zero("factor", self.factor)
        self.hook = None

    def start(self, run):
        def scale(module, inputs, output):
            if output.requires_grad:
                output.register_hook(lambda gradient: gradient * self.factor)

        if self.hook is None:  # trained again, a run is treated as before
            self.hook = run.model.embedding.register_forward_hook(scale)


@dataclass
class Led(Treatment):
    """The factor on the embeddings is set after each update, so that the loudness of the tokens
    follows a path of its own; `path` gives it.

    The table's learning rate is divided by what the factor is multiplied by, so that the nominal
    step of the input stays as configured.
    """

    usual = None  # the factor as configured: trained again, a run starts from a moved one

    def start(self, run):
        if self.usual is None:
            self.usual = run.model.embedding.scale
        self.weights = frequencies(run.task)
        self.path = self.leading(run)

    @torch.no_grad()
    def after(self, run, step):
        embedding, wanted = run.model.embedding, self.path(step)
        rows = loudness(run.model, self.weights, factor=1.0)
        if not wanted or not rows:
            raise FloatingPointError(
                f"the loudness of the tokens is 0 at step {step} of {run.config}, and no factor"
                " leads it from there"
            )
        embedding.scale = wanted / rows
        run.rates["table"] = run.config.table_rate * self.usual / embedding.scale

    def leading(self, run):
        """A function: step -> loudness after it."""
        raise NotImplementedError


@dataclass
class Pinned(Led):
    """Tokens stay as loud as they started."""

    def leading(self, run):
        start = loudness(run.model, self.weights)
        return lambda step: start


@dataclass
class Yoked(Led):
    """Tokens are as loud after each step as in another run: one of the same configuration and seed,
    untreated, whose table has the rate `table_rate`. It is trained first.
    """

    table_rate: float

    def __post_init__(self):
        check_positive("table_rate", self.table_rate)

    def leading(self, run):
        config = replace(
            run.config,
            treatment="none",
            treatment_options=(),
            table_rate=self.table_rate,
            log_every=0,
            evaluations=1,
            evaluation_sequences=1,
        )
        leader = type(run)(config, run.device)
        heard = leader.treatment = Heard()
        leader.fit()
        return heard.path.__getitem__


@dataclass
class Heard(Treatment):
    """Nothing is done, and the loudness of the tokens is kept: path[step]."""

    def start(self, run):
        self.weights = frequencies(run.task)
        self.path = [loudness(run.model, self.weights)]

    def after(self, run, step):
        self.path.append(loudness(run.model, self.weights))


TREATMENTS = {
    "none": Treatment,
    "copied-output": CopiedOutput,
    "frozen-positions": FrozenPositions,
    "scaled-way-in": ScaledWayIn,
    "pinned": Pinned,
    "yoked": Yoked,
}


def build_treatment(config):
    """The treatment that a RunConfig names, with its options. Raises ValueError for a name or
    options that do not exist, and for one that does not suit the run.
    """
    name, options = config.treatment, config.treatment_options
    if not isinstance(name, str) or name not in TREATMENTS:
        raise ValueError(
            f"treatment must be one of {', '.join(map(repr, TREATMENTS))}, got {name!r}"
        )
    try:
        treatment = TREATMENTS[name](**dict(options))
    except TypeError as error:
        raise ValueError(f"treatment_options {options!r} do not suit {name!r}: {error}") from None
    if isinstance(treatment, CopiedOutput) and config.model.tied:
        raise ValueError(f"treatment {name!r} needs an output of its own, got tied=True")
    if isinstance(treatment, Led | ScaledWayIn) and not config.table_rate:
        raise ValueError(f"treatment {name!r} needs a table that moves, got table_rate=0")
    if isinstance(treatment, Led) and config.measure != "held_out":
        raise ValueError(
            f"treatment {name!r} moves a factor that no other measure than 'held_out' knows, got"
            f" measure={config.measure!r}"
        )
    return treatment


def frequencies(task):
    """How often each token occurs in the training text, as shares of it: float32 (vocab_size,).
    Where a task has no text, all are alike.
    """
    if not hasattr(task, "corpus"):
        return torch.full((task.vocab_size,), 1 / task.vocab_size)
    counts = torch.bincount(task.corpus.split("train"), minlength=task.vocab_size)
    return counts / counts.sum()


@torch.no_grad()
def loudness(model, weights, factor=None):
    """RMS of the entries of factor · row, each token weighted by how often it occurs. factor: None
    is the embedding's own.
    """
    embedding = model.embedding
    rows = embedding.table.weight * (embedding.scale if factor is None else factor)
    return weighted_rms(rows, weights)


def weighted_rms(rows, weights):
    """RMS of the entries of (vocab_size, d_model), each row weighted: a float."""
    return (weights.to(rows.device) @ rows.square().mean(1)).sqrt().item()
