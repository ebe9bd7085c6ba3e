"""The recorded studies. Every cell takes part in a comparison, and a study is the list of its comparisons, the most important first."""

import math
from functools import lru_cache

from sinpe.experiments.study import Cell, Comparison, Study
from sinpe.tasks import build_task
from sinpe.training import RunConfig
from sinpe.transformer import TransformerConfig

STDS = {"d^-1/2": None, "1": 1.0, "0.02": 0.02}  # the paper's authors, PyTorch's default, GPT-2 and BERT
RATES = {"1/3": 1 / 3, "1": 1.0, "3": 3.0}
ON_OFF = ("on", "off")


def get_study(study):
    """A study by its name; a Study is returned as it is. Raises ValueError for an unknown name."""
    if isinstance(study, Study):
        return study
    if study not in STUDIES:
        raise ValueError(f"study must be one of {', '.join(map(repr, STUDIES))}, got {study!r}")
    return STUDIES[study]()


@lru_cache(maxsize=1)
def embedding_scale():
    """Does the factor sqrt(d_model) on the embeddings matter: when, and why?"""
    early = [*_initialisations(), *_controls(), *_widths(64, 128, 256), *_words(), *_order(), *_bases(), *_longer()]
    return Study("embedding-scale", embedding_scale.__doc__, (*early, *_widths(512)))


def _initialisations():
    """Standard deviation x factor x tied x norm; the paper's, tied, has the most seeds."""
    for std in STDS:
        for tied in (True, False):
            for norm in ("post", "pre"):
                on, off = (_initialisation(std, tied, norm, factor) for factor in ON_OFF)
                yield Comparison("init", f"factor on - off: std {std}, {_tied(tied)}, {norm}-norm", on, off)


def _initialisation(std="d^-1/2", tied=True, norm="post", factor="on"):
    config = _text(factor, std=STDS[std], tied=tied, norm=norm)
    return Cell("init", f"std {std}, {_tied(tied)}, {norm}-norm, factor {factor}", config, 10 if std == "d^-1/2" and tied else 5)


def _controls():
    """PE shrunk by sqrt(d) has the factor's ratio without the factor; without position there is no ratio; learned positions grow as they need."""
    for norm, seeds in (("post", 10), ("pre", 5)):
        shrunk = Cell("control", f"PE shrunk, {norm}-norm", _text("off", norm=norm, position_options=(("amplitude", 1 / math.sqrt(128)),)), seeds)
        for factor in ON_OFF:
            yield Comparison("control", f"PE shrunk - factor {factor}: {norm}-norm", shrunk, _initialisation(norm=norm, factor=factor))
    for position, name in (("none", "no position"), ("learned", "learned positions")):
        sides = [Cell("control", f"{name}, factor {factor}", _text(factor, position=position)) for factor in ON_OFF]
        yield Comparison("control", f"factor on - off: {name}", *sides)
        other = Cell("control", f"{name}, std 0.02, pre-norm, factor off", _text("off", std=0.02, norm="pre", position=position))
        yield Comparison("control", f"sinusoidal - {name}: std 0.02, tied, pre-norm, factor off", _initialisation("0.02", norm="pre", factor="off"), other)


def _widths(*widths):
    """Each side takes the learning rate that is best for it, so that the gap is not a matter of tuning."""
    for d in widths:
        sides = [
            [Cell("width", f"d {d}, factor {factor}, rate x {name}", _text(factor, d=d, rate=rate), 3 if d == 512 else 5) for name, rate in RATES.items()]
            for factor in ON_OFF
        ]
        yield Comparison("width", f"factor on - off: d {d}, best rate", *sides)


def _words():
    """Words: 4000 rows in the matrix that is tied."""
    for name, std in STDS.items():
        sides = [Cell("word", f"std {name}, factor {factor}", _text(factor, task="next_word", std=std)) for factor in ON_OFF]
        yield Comparison("word", f"factor on - off: words, std {name}", *sides)


def _order():
    """What is lost when one of the two drowns the other: order, which the one task asks for, or identity, which is all that the other needs?"""
    for task in ("which_first", "which_more"):
        for std in ("d^-1/2", "1"):
            on, off = (Cell("order", f"{task}, std {std}, factor {factor}", _synthetic(task, STDS[std], factor)) for factor in ON_OFF)
            yield Comparison("order", f"factor on - off: {task}, std {std}", on, off)
            if std == "d^-1/2":
                none = Cell("order", f"{task}, no position", _synthetic(task, None, "on", "none"))
                yield Comparison("order", f"sinusoidal - no position: {task}", on, none)


def _bases():
    for base in (1e2, 1e6):
        other = Cell("base", f"base {base:g}", _text("on", position_options=(("base", base),)))
        yield Comparison("base", f"base {base:g} - base 10000", other, _initialisation())


def _longer():
    """Four times the steps: does the gap close?"""
    for std, norm in (("d^-1/2", "post"), ("0.02", "pre")):
        sides = [Cell("longer", f"std {std}, {norm}-norm, factor {factor}", _text(factor, std=STDS[std], norm=norm, steps=1600)) for factor in ON_OFF]
        yield Comparison("longer", f"factor on - off: four times the steps, std {std}, {norm}-norm", *sides)


def _text(factor, *, task="next_character", d=128, std=None, tied=True, norm="post", rate=1.0, steps=400, **options):
    """A decoder on English text. The learning rate falls with width as d^-1/2; `rate` multiplies it."""
    model = _model(task, factor, d, std, norm, tied=tied, causal=True)
    rate *= 2e-3 * math.sqrt(128 / d)  # exact on every machine, and so are the names of records
    return RunConfig(model, task=task, length=64, batch_size=8, steps=steps, learning_rate=rate, warmup=steps // 10, evaluation_sequences=64, **options)


def _synthetic(task, std, factor, position="sinusoidal"):
    """An encoder on a synthetic task."""
    model = _model(task, factor, 128, std, "post", tied=True, causal=False)
    return RunConfig(model, position, task=task, length=32, batch_size=16, steps=200, learning_rate=1e-3, warmup=20, evaluation_sequences=256)


def _model(task, factor, d, std, norm, **options):
    scale = {"on": None, "off": 1.0}[factor]
    return TransformerConfig(build_task(task).vocab_size, d, n_layers=2, n_heads=4, d_ff=4 * d, norm=norm, init_std=std, scale=scale, **options)


def _tied(tied):
    return "tied" if tied else "untied"


STUDIES = {"embedding-scale": embedding_scale}
