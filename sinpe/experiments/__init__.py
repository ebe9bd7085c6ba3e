"""Studies of trained models: from a configuration to what it needs, and from a study to its records.

On the command line: python -m sinpe.experiments --help
"""

from importlib import import_module

import torch

from sinpe.experiments.amplitude import Amplitude
from sinpe.positions import LearnedEncoding, NoPosition, SinusoidalEncoding

_LATER = {  # resolved on first use: sinpe.training needs build_position, and these need sinpe.training
    "Cell": "sinpe.experiments.studies",
    "Study": "sinpe.experiments.studies",
    "get_study": "sinpe.experiments.studies",
    "RecordError": "sinpe.experiments.records",
    "load_records": "sinpe.experiments.records",
    "run_study": "sinpe.experiments.runner",
}

__all__ = ["Amplitude", "Cell", "RecordError", "Study", "build_position", "get_study", "load_records", "run_study"]


def build_position(config):
    """The position method that a RunConfig names, with its options: the one place where names become objects.

    "none" | "sinusoidal" | "learned" (with config.length rows unless max_len says otherwise, drawn from config.seed).
    One option belongs to no method: amplitude, a factor on whatever the method adds to the embeddings.
    Raises ValueError for any other name, or for options that the method does not take.
    """
    makers = {
        "none": lambda **options: NoPosition(**options),
        "sinusoidal": lambda **options: SinusoidalEncoding(config.model.d_model, **options),
        "learned": lambda **options: LearnedEncoding(config.model.d_model, **{"max_len": config.length, "generator": _generator(config), **options}),
    }
    if config.position not in makers:
        raise ValueError(f"position must be one of {', '.join(map(repr, makers))}, got {config.position!r}")
    options = dict(config.position_options)
    amplitude = options.pop("amplitude", None)
    try:
        method = makers[config.position](**options)
    except TypeError as error:
        raise ValueError(f"position_options {dict(config.position_options)} do not suit {config.position!r}: {error}") from None
    return method if amplitude is None else Amplitude(method, amplitude)


def _generator(config):
    """Initial weights of a method come from a stream of their own, so that the model's do not depend on the method."""
    return torch.Generator().manual_seed(3 * config.seed + 2_000_003)


def __getattr__(name):
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'sinpe.experiments' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_LATER})
