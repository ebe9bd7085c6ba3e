"""From a run's configuration to what it needs."""

import torch

from sinpe import positions as methods

__all__ = ["build_position"]

EXTENSIONS = {
    "position-interpolation": methods.PositionInterpolation,
    "ntk-aware": methods.NTKAware,
    "dynamic-ntk": methods.DynamicNTK,
    "yarn": methods.YaRN,
    "llama3": methods.Llama3,
}


def build_position(config):
    """The position method that a RunConfig names, with its options: the one place where names become objects.

    "none" | "sinusoidal" | "learned" | "shaw" | "transformer-xl" | "t5" | "rope" | "xpos" | "alibi", or "rope" with an extension:
    "position-interpolation" | "ntk-aware" | "dynamic-ntk" | "yarn" | "llama3", whose options are the extension's.
    A table that is not told its size has config.length rows. Raises ValueError for any other name, or for options that the method does not take.
    """
    model = config.model
    makers = {
        "none": methods.NoPosition,
        "sinusoidal": lambda **options: methods.SinusoidalEncoding(model.d_model, **options),
        "learned": lambda max_len=config.length, **options: methods.LearnedEncoding(model.d_model, max_len, **options),
        "shaw": lambda max_distance=16, **options: methods.ShawRelative(model.n_heads, model.head_dim, max_distance, **options),
        "transformer-xl": lambda **options: methods.TransformerXLRelative(model.n_heads, model.head_dim, **options),
        "t5": lambda **options: methods.T5Bias(model.n_heads, **{"bidirectional": not model.causal, **options}),
        "rope": lambda **options: methods.Rotary(model.head_dim, **options),
        "xpos": lambda **options: methods.XPos(model.head_dim, **options),
        "alibi": lambda **options: methods.Alibi(model.n_heads, **options),
        **{name: _extended(make, model.head_dim) for name, make in EXTENSIONS.items()},
    }
    if config.position not in makers:
        raise ValueError(f"position must be one of {', '.join(map(repr, makers))}, got {config.position!r}")
    try:
        with torch.random.fork_rng(devices=[]):  # what a method learns starts from the run's seed, and nobody else's numbers change
            torch.manual_seed(config.seed)
            return makers[config.position](**dict(config.position_options))
    except TypeError as error:
        raise ValueError(f"position_options {dict(config.position_options)} do not suit {config.position!r}: {error}") from None


def _extended(make, head_dim):
    return lambda **options: methods.Rotary(head_dim, extension=make(**options))
