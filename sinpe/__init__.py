"""Sinusoidal positional encoding: the formula in NumPy, and position methods for Transformers in
torch.
"""

from importlib import import_module

from sinpe.formula import (
    inverse_frequencies,
    shift_matrix,
    similarity,
    sinusoidal_encoding,
    sinusoidal_encoding_2d,
    wavelengths,
)

__version__ = "0.1.0"

__all__ = [
    "Alibi",
    "DynamicNTK",
    "Extension",
    "LearnedEncoding",
    "LearnedEncoding2D",
    "Llama3",
    "LongRoPE",
    "NTKAware",
    "NoPosition",
    "PositionInterpolation",
    "PositionMethod",
    "Rotary",
    "RotaryAxes",
    "RotaryTables",
    "ShawRelative",
    "SinusoidalEncoding",
    "T5Bias",
    "TokenEmbedding",
    "Transformer",
    "TransformerConfig",
    "TransformerXLRelative",
    "XPos",
    "YaRN",
    "alibi_slopes",
    "axial_frequencies",
    "grid_positions",
    "inverse_frequencies",
    "mixed_frequencies",
    "move_padding",
    "mrope_positions",
    "relative_position_bucket",
    "resize_grid_table",
    "section_frequencies",
    "shift_matrix",
    "similarity",
    "sinusoidal_encoding",
    "sinusoidal_encoding_2d",
    "wavelengths",
]

_TORCH = {  # resolved on first use, so that `import sinpe` needs NumPy alone
    **{name: "sinpe.positions" for name in __all__ if name not in globals()},
    "TokenEmbedding": "sinpe.embedding",
    "Transformer": "sinpe.transformer",
    "TransformerConfig": "sinpe.transformer",
}


def __getattr__(name):
    if name in _TORCH:
        return getattr(import_module(_TORCH[name]), name)
    raise AttributeError(f"module 'sinpe' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_TORCH})
