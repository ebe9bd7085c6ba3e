"""What is measured once a model is trained: a RunConfig names one of these functions, and what it
returns are the metrics of the record.

Losses and accuracies are rounded to five decimals, so that a record stays small. A reading that a
method does not have is left out: a learned table has no rows beyond its last one, so it has no loss
there.
"""

import inspect
import statistics
import time
from dataclasses import MISSING, fields, replace

import torch
from torch.nn import functional as F

from sinpe.positions import LearnedEncoding
from sinpe.positions.base import check_positive, check_size
from sinpe.tasks import IGNORE, NextToken, RepeatedPassage, build_task
from sinpe.training import machine
from sinpe.training.amplitude import Amplitude
from sinpe.training.build import EXTENSIONS, build_position

METHODS = ("none", "sinusoidal", "learned", "shaw", "transformer-xl", "t5", "rope", "xpos", "alibi")
LENGTHS = (1, 2, 4, 8, 16)  # times the training length: where text is read
MULTIPLES = (1, 2, 3, 4)  # times the training length: where tasks are asked
BLOCKS = 16  # of the longest length: the slice of the test text that all lengths read
SEQUENCES = 1024  # of a task at each length
SLICE = 16_384  # characters of the test text that "windows" reads: as many as "lengths" from 64
REPEATS = 9  # rounds of timing: one that starts with each method
TUNED = 4  # times the training length: where a model is trained on
TOGETHER = 2048  # tokens that are read in one pass
ASKED = ("factor", "original_max_len")  # what a reading knows of an extension's arguments


def held_out(run):
    """Loss and accuracy on all validation and all test sequences of the training length."""
    return {
        f"{split}_{name}": value
        for split, score in (("validation", run.validation()), ("test", run.test()))
        for name, value in score.items()
    }


def lengths(run, extension=None, tune=0):
    """Losses in nats a character on one slice of the test text, the same one at every length, read
    at 1, 2, 4, 8 and 16 times the training length.

    blocks_n: in blocks of n characters side by side. windows_n: in windows of n that start every
    n/2; a window is judged in its second half, the first window everywhere, so that each character
    is judged once, and with n/2 characters before it. position_n: the loss of blocks_n by place in
    the block: 0, 1, 2–3, 4–7, …, the last n/2.
    extension: of a rotary model, put in after training, with factor n / training length. tune:
    steps of further training at four times the training length with that extension, or None, whose
    factor then stays 4; as many tokens a step as before, at a fifth of the learning rate. The
    losses on all validation and test sequences are those before any of this. Raises ValueError for
    an odd length, and for a text that is shorter than 256 training lengths.
    """
    _check_lengths(run.config, extension, tune)
    check_text(run.config, "lengths")
    found, config, trained = _held_out_losses(run), run.config, run.config.length
    ids = run.task.corpus.split("test")[: BLOCKS * LENGTHS[-1] * trained + 1]
    if tune:
        run = _with_extension(run, extension, TUNED, **_longer(config, tune)).fit()
    for length in (factor * trained for factor in LENGTHS):
        if _undefined(run.config, length):
            continue
        reader = run if tune else _with_extension(run, extension, length / trained)
        losses = token_losses(reader.model, ids.to(run.device), length, length // 2).double()
        blocks = losses[::2]
        judged = torch.cat([losses[0], losses[1:, length // 2 :].flatten()])
        by_place = [part.mean().item() for part in blocks.mean(0).tensor_split(places(length)[1:])]
        found |= _rounded(
            {
                f"blocks_{length}": blocks.mean().item(),
                f"windows_{length}": judged.mean().item(),
                f"position_{length}": by_place,
            }
        )
    return found


def multiples(run):
    """Accuracy on sequences of a synthetic task at 1, 2, 3 and 4 times the training length:
    accuracy_1 … accuracy_4, besides the held-out losses.
    """
    check_text(run.config, "multiples")
    found = _held_out_losses(run)
    for factor in MULTIPLES:
        length = factor * run.config.length
        if not _undefined(run.config, length):
            found[f"accuracy_{factor}"] = round(
                run.evaluate(run.held_out("test", SEQUENCES, length))["accuracy"], 5
            )
    return found


def windows(run, lengths, base=None, tune=0):
    """Losses in nats a character on the first 16 384 characters of the test text, in windows of
    each of these lengths as in the measure "lengths": windows_n; own is that of the training
    length, untuned and at the base of the training.

    base: of a rotary model, exchanged after training. tune: steps of further training with it, as
    in "lengths". The losses on all validation and test sequences are those before any of this.
    Raises ValueError for an odd length, and for a text that is too short.
    """
    _check_windows(run.config, lengths, base, tune)
    check_text(run.config, "windows")
    found, ids = _held_out_losses(run), run.task.corpus.split("test")[: SLICE + 1]
    found["own"] = _in_windows(run, ids, run.config.length)
    changes = {} if base is None else {"position_options": (("base", base),)}
    if tune:
        run = _with_extension(run, None, None, **_longer(run.config, tune), **changes).fit()
    else:
        run = _with_extension(run, None, None, **changes)
    found |= {f"windows_{n}": _in_windows(run, ids, n) for n in lengths}
    return _rounded(found)


def exact(run, lengths):
    """On held-out test sequences of each of these lengths: loss_n, accuracy_n, and exact_n, the
    share of sequences in which every target is hit; first_n is the loss where the same characters
    stand for the first time, for a task that says a passage twice.

    Targets are hit with the true ones before them as input. All are hit just when a model that
    reads its own answers makes no mistake.
    """
    _check_exact(run.config, lengths)
    found = _held_out_losses(run)
    for n in lengths:
        if _undefined(run.config, n):
            continue
        count = None if hasattr(run.task, "corpus") else SEQUENCES
        data = run.held_out("test", count, n)
        score = run.evaluate(data)
        found |= {f"loss_{n}": score["loss"], f"accuracy_{n}": score["accuracy"]}
        found[f"exact_{n}"] = all_hit(run.model, data)
        if isinstance(run.task, RepeatedPassage):
            tokens, targets = run.task.held_out("test", n, copy=0)
            first = [
                tuple(part.to(run.device) for part in pair)
                for pair in zip(tokens.split(64), targets.split(64), strict=True)
            ]
            found[f"first_{n}"] = run.evaluate(first)["loss"]
    return _rounded(found)


@torch.no_grad()
def all_hit(model, data):
    """Share of sequences in which every target is hit. data: a list of (tokens, targets)."""
    whole = [
        ((model(tokens).argmax(-1) == targets) | (targets == IGNORE)).all(1)
        for tokens, targets in data
    ]
    return torch.cat(whole).double().mean().item()


def _in_windows(run, ids, length):
    """Mean loss of windows that overlap by half and are judged in their second half, the first one
    everywhere.
    """
    losses = token_losses(run.model, ids.to(run.device), length, length // 2).double()
    return torch.cat([losses[0], losses[1:, length // 2 :].flatten()]).mean().item()


def cost(run, repeats=REPEATS):
    """What each position method costs in a model of this shape, for batches of this size and
    length: every method in this process, in turn.

    parameters: of the model. training_seconds, inference_seconds: median over `repeats` rounds of
    one step (forward, backward, update) and one forward pass. training_mb, inference_mb: the most
    that tensors take at a time, in MB, beyond those of the model and its optimizer. Raises
    ValueError for a run on another device than the CPU, where neither the clock nor the count would
    hold.
    """
    _check_cost(run.config, repeats)
    if torch.device(run.device).type != "cpu":
        raise ValueError(f"device must be 'cpu' for measure 'cost', got {str(run.device)!r}")
    runs = {method: type(run)(unmeasured(run.config, position=method)) for method in METHODS}
    data = run.held_out("test", run.config.batch_size)[0]
    work = {
        name: {method: make(other, data) for method, other in runs.items()}
        for name, make in (("training", _training_work), ("inference", _inference_work))
    }
    found = {
        **_held_out_losses(run),
        "parameters": {
            method: sum(p.numel() for p in other.model.parameters())
            for method, other in runs.items()
        },
    }
    for name, works in work.items():
        # the first time is another: memory is fetched, the optimizer makes its state
        for do in works.values():
            do()
        found[f"{name}_mb"] = {
            method: round(machine.peak_of_tensors(do), 4) for method, do in works.items()
        }
        taken = {method: [] for method in works}
        for turn in range(repeats):
            for method in (*METHODS[turn % len(METHODS) :], *METHODS[: turn % len(METHODS)]):
                start = time.perf_counter()
                works[method]()
                taken[method].append(time.perf_counter() - start)
        found[f"{name}_seconds"] = {
            method: float(f"{statistics.median(times):.4g}") for method, times in taken.items()
        }
    return found


MEASURES = {
    "held_out": held_out,
    "lengths": lengths,
    "multiples": multiples,
    "cost": cost,
    "windows": windows,
    "exact": exact,
}


def check(config):
    """ValueError unless the measure of a RunConfig exists, takes its options and suits its task and
    its method: said before a model is trained.
    """
    if not isinstance(config.measure, str) or config.measure not in MEASURES:
        raise ValueError(
            f"measure must be one of {', '.join(map(repr, MEASURES))}, got {config.measure!r}"
        )
    try:
        options = (
            inspect.signature(MEASURES[config.measure])
            .bind(None, **dict(config.measure_options))
            .arguments
        )
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"measure_options {config.measure_options!r} do not suit {config.measure!r}: {error}"
        ) from None
    if config.measure in CHECKS:
        CHECKS[config.measure](
            config, **{name: value for name, value in options.items() if name != "run"}
        )


def _check_lengths(config, extension=None, tune=0):
    if not hasattr(build_task(config.task), "corpus"):
        raise ValueError(f"measure 'lengths' reads text, which task {config.task!r} has none of")
    if config.length % 2:
        raise ValueError(
            "length must be even for measure 'lengths', whose windows move by half of it, got"
            f" {config.length}"
        )
    _check_steps(tune)
    if extension is not None:
        known = [
            name
            for name, make in EXTENSIONS.items()
            if all(field.name in ASKED or field.default is not MISSING for field in fields(make))
        ]
        if extension not in known or config.position != "rope":
            raise ValueError(
                f"extension must be one of {', '.join(map(repr, known))} and the position 'rope',"
                f" got {extension!r} and {config.position!r}"
            )
        if config.position_options:
            raise ValueError(
                "position_options must be empty where an extension is put in, got"
                f" {config.position_options!r} and {extension!r}"
            )
    _check_tuning(config, tune)


def _check_steps(tune):
    if isinstance(tune, bool) or not isinstance(tune, int) or tune < 0:
        raise ValueError(f"tune must be a non-negative integer, got {tune!r}")


def _check_tuning(config, tune):
    if tune and config.treatment != "none":
        raise ValueError(
            "treatment must be 'none' where tune trains on: it would be put on a second time, got"
            f" {config.treatment!r}"
        )
    if tune and config.batch_size % TUNED:
        raise ValueError(
            f"batch_size must be a multiple of {TUNED} where tune keeps the tokens a step at"
            f" {TUNED} times the length, got {config.batch_size}"
        )
    if tune and _undefined(config, TUNED * config.length):
        raise ValueError(
            f"tune reads {TUNED * config.length} positions, and the learned table of"
            f" {config.position!r} has fewer rows: give it a larger max_len"
        )


def _check_cost(config, repeats=REPEATS):
    check_size("repeats", repeats)
    if config.position_options:
        raise ValueError(
            "position_options must be empty for measure 'cost', which builds every method, got"
            f" {config.position_options!r}"
        )
    for method in METHODS:
        build_position(unmeasured(config, position=method))


def _check_windows(config, lengths, base=None, tune=0):
    if not isinstance(build_task(config.task), NextToken):
        raise ValueError(f"measure 'windows' reads text, which task {config.task!r} has none of")
    _check_sizes(lengths)
    for length in (config.length, *lengths):
        if length % 2 or length > SLICE // 2:
            raise ValueError(
                "lengths must be even, since windows move by half of one, and at most"
                f" {SLICE // 2}, got {length}"
            )
        if _undefined(config, length):
            raise ValueError(f"lengths must be at most those of the learned table, got {length}")
    if base is not None:
        check_positive("base", base)
        if config.position != "rope" or config.position_options:
            raise ValueError(
                "base is exchanged in a plain rotary model, got the position"
                f" {config.position!r} with {config.position_options!r}"
            )
    _check_steps(tune)
    _check_tuning(config, tune)


def _check_exact(config, lengths):
    _check_sizes(lengths)


def _check_sizes(lengths):
    if not isinstance(lengths, tuple) or not lengths:
        raise ValueError(f"lengths must be a tuple of them, got {lengths!r}")
    for length in lengths:
        check_size("lengths", length)


CHECKS = {
    "lengths": _check_lengths,
    "cost": _check_cost,
    "windows": _check_windows,
    "exact": _check_exact,
}
READS = {"lengths": BLOCKS * LENGTHS[-1], "multiples": MULTIPLES[-1]}  # lengths of text


def check_text(config, measure):
    """ValueError unless the test text is as long as what the measure reads of it: shorter, it would
    be another text at each length.
    """
    corpus, lengths = getattr(build_task(config.task), "corpus", None), READS.get(measure, 0)
    if measure == "windows" and len(corpus.split("test")) <= SLICE:
        there = len(corpus.split("test"))
        raise ValueError(f"measure 'windows' reads {SLICE} test tokens, and there are {there}")
    if corpus is not None and lengths * config.length >= len(corpus.split("test")):
        there = len(corpus.split("test"))
        most = (there - 1) // lengths
        raise ValueError(
            f"length must be at most {most} for measure {measure!r}, which reads {lengths} lengths"
            f" of {there} test tokens, got {config.length}"
        )


@torch.no_grad()
def token_losses(model, ids, length, step):
    """Loss in nats of each next token, in windows of `length` that start every `step` tokens. ids:
    int64 (tokens,). Returns float32 (windows, length).
    """
    if not isinstance(ids, torch.Tensor) or ids.ndim != 1 or ids.dtype != torch.int64:
        tensor = isinstance(ids, torch.Tensor)
        got = f"{ids.dtype} {tuple(ids.shape)}" if tensor else type(ids).__name__
        raise ValueError(f"ids must be an int64 tensor of shape (tokens,), got {got}")
    if check_size("length", length) >= len(ids):
        raise ValueError(f"length must be below the {len(ids)} tokens that are read, got {length}")
    step = min(check_size("step", step), len(ids))  # more would only skip more of nothing
    if not callable(model):
        raise ValueError(f"model must be a function of tokens, got {type(model).__name__}")
    starts = torch.arange(0, len(ids) - length, step, device=ids.device)
    windows = ids[starts[:, None] + torch.arange(length + 1, device=ids.device)]
    parts = windows.split(max(1, TOGETHER // length))
    return torch.cat(
        [
            F.cross_entropy(
                model(part[:, :-1]).float().transpose(1, 2), part[:, 1:], reduction="none"
            )
            for part in parts
        ]
    )


def places(length):
    """Where the ranges of places begin by which a loss is told: 0, 1, 2, 4, 8, …"""
    return [0, *(2**k for k in range((check_size("length", length) - 1).bit_length()))]


def _with_extension(run, extension, factor, **changes):
    """The same weights under a rotation with an extension; `run` itself where nothing changes."""
    if extension is None and not changes:
        return run
    if extension is not None:
        asked = dict(zip(ASKED, (float(factor), run.config.length), strict=True))
        options = tuple(
            (field.name, asked[field.name])
            for field in fields(EXTENSIONS[extension])
            if field.name in asked
        )
        changes |= {"position": extension, "position_options": options}
    other = type(run)(unmeasured(run.config, **changes), run.device)
    other.model.load_state_dict(run.model.state_dict())
    return other


def _longer(config, steps):
    """What changes where a model is trained on at four times the length."""
    return {
        "length": TUNED * config.length,
        "batch_size": config.batch_size // TUNED,
        "steps": steps,
        "warmup": steps // 10,
        "evaluations": 1,
        "learning_rate": config.learning_rate / 5,
    }


def unmeasured(config, **changes):
    """A configuration that serves a measurement and is itself not measured."""
    return replace(config, measure="held_out", measure_options=(), **changes)


def _undefined(config, length):
    """Whether the method has nothing to say about the last of so many positions."""
    position = build_position(config)
    table = position.method if isinstance(position, Amplitude) else position
    return isinstance(table, LearnedEncoding) and length > table.max_len


def _training_work(run, data):
    optimizer = run.optimizer()

    def step():
        run.step(optimizer, data)
        # what a step takes it gives back, or the next one would be counted without it
        optimizer.zero_grad()

    return step


def _inference_work(run, data):
    def forward():
        with torch.no_grad():
            run.model(data[0])

    return forward


def _held_out_losses(run):
    return _rounded({name: value for name, value in held_out(run).items() if name.endswith("loss")})


def _rounded(values):
    """Numbers to five decimals, in dicts of numbers and of lists."""
    return {
        name: [round(v, 5) for v in value] if isinstance(value, list) else round(value, 5)
        for name, value in values.items()
    }


def numbers(values):
    """Every number in metrics, whatever lists and dicts they lie in."""
    if isinstance(values, dict | list):
        return [
            number
            for value in (values.values() if isinstance(values, dict) else values)
            for number in numbers(value)
        ]
    return [values]
