"""From a name to a position method."""

import torch

from sinpe import positions as methods
from sinpe.training.amplitude import Amplitude, Constant
from sinpe.transformer import TransformerConfig

EXTENSIONS = {
    "position-interpolation": methods.PositionInterpolation,
    "ntk-aware": methods.NTKAware,
    "dynamic-ntk": methods.DynamicNTK,
    "yarn": methods.YaRN,
    "llama3": methods.Llama3,
}


def build_position(config):
    """The position method that a RunConfig names, with its options: the one place where names
    become objects.

    "none" | "sinusoidal" | "learned" | "shaw" | "transformer-xl" | "t5" | "rope" | "xpos" |
    "alibi", or "rope" with an extension: "position-interpolation" | "ntk-aware" | "dynamic-ntk" |
    "yarn" | "llama3", whose options are the extension's; or the control "constant". A learned table
    has config.length rows unless max_len says otherwise. What a method learns starts from
    config.seed. One option belongs to no method: amplitude, a factor on whatever the method adds to
    the embeddings. Raises ValueError for any other name, or for options that the method does not
    take.
    """
    model = getattr(config, "model", None)
    if not isinstance(model, TransformerConfig):
        raise ValueError(f"config must be a RunConfig, got {config!r:.100}")
    makers = {
        "none": methods.NoPosition,
        "sinusoidal": lambda **options: methods.SinusoidalEncoding(model.d_model, **options),
        "learned": lambda max_len=config.length, **options: methods.LearnedEncoding(
            model.d_model, max_len, **options
        ),
        "shaw": lambda max_distance=16, **options: methods.ShawRelative(
            model.n_heads, model.head_dim, max_distance, **options
        ),
        "transformer-xl": lambda **options: methods.TransformerXLRelative(
            model.n_heads, model.head_dim, **options
        ),
        "t5": lambda **options: methods.T5Bias(
            model.n_heads, **{"bidirectional": not model.causal, **options}
        ),
        "rope": lambda **options: methods.Rotary(model.head_dim, **options),
        "xpos": lambda **options: methods.XPos(model.head_dim, **options),
        "alibi": lambda **options: methods.Alibi(model.n_heads, **options),
        "constant": lambda: Constant(model.d_model, config.length),
        **{name: _rotary_with(make, model.head_dim) for name, make in EXTENSIONS.items()},
    }
    if not isinstance(config.position, str) or config.position not in makers:
        raise ValueError(
            f"position must be one of {', '.join(map(repr, makers))}, got {config.position!r}"
        )
    try:
        options = dict(config.position_options)
    except (TypeError, ValueError):
        raise ValueError(
            f"position_options must be pairs of a name and a value, got {config.position_options!r}"
        ) from None
    amplitude = options.pop("amplitude", None)
    try:
        # a stream of its own, so that the model's weights do not depend on the method
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(3 * config.seed + 2_000_003)
            method = makers[config.position](**options)
    except TypeError as error:
        raise ValueError(
            f"position_options {dict(config.position_options)} do not suit {config.position!r}:"
            f" {error}"
        ) from None
    return method if amplitude is None else Amplitude(method, amplitude)


def _rotary_with(make, head_dim):
    return lambda **options: methods.Rotary(head_dim, extension=make(**options))
