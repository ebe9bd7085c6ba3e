"""Sinusoidal positional encoding: the formula in NumPy, and position methods for Transformers in torch."""

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

_TORCH = {  # resolved on first use, so that `import sinpe` needs NumPy alone
    "PositionMethod": "sinpe.positions",
    "LearnedEncoding": "sinpe.positions",
    "NoPosition": "sinpe.positions",
    "SinusoidalEncoding": "sinpe.positions",
    "TokenEmbedding": "sinpe.embedding",
    "Transformer": "sinpe.transformer",
    "TransformerConfig": "sinpe.transformer",
}

__all__ = [
    "LearnedEncoding",
    "NoPosition",
    "PositionMethod",
    "SinusoidalEncoding",
    "TokenEmbedding",
    "Transformer",
    "TransformerConfig",
    "inverse_frequencies",
    "shift_matrix",
    "similarity",
    "sinusoidal_encoding",
    "sinusoidal_encoding_2d",
    "wavelengths",
]


def __getattr__(name):
    if name in _TORCH:
        return getattr(import_module(_TORCH[name]), name)
    raise AttributeError(f"module 'sinpe' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_TORCH})
