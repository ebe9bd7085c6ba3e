"""Position methods for Transformers: one module a method, all with the three openings of
`PositionMethod`.
"""

from sinpe.positions.alibi import Alibi, alibi_slopes
from sinpe.positions.axes import (
    axial_frequencies,
    grid_positions,
    mixed_frequencies,
    mrope_positions,
    section_frequencies,
)
from sinpe.positions.base import PositionMethod, move_padding
from sinpe.positions.extensions import (
    DynamicNTK,
    Extension,
    Llama3,
    LongRoPE,
    NTKAware,
    PositionInterpolation,
    YaRN,
)
from sinpe.positions.learned import LearnedEncoding, LearnedEncoding2D, resize_grid_table
from sinpe.positions.none import NoPosition
from sinpe.positions.rotary import Rotary, RotaryTables
from sinpe.positions.rotary_axes import RotaryAxes
from sinpe.positions.shaw import ShawRelative
from sinpe.positions.sinusoidal import SinusoidalEncoding
from sinpe.positions.t5_bias import T5Bias, relative_position_bucket
from sinpe.positions.transformer_xl import TransformerXLRelative
from sinpe.positions.xpos import XPos

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
    "TransformerXLRelative",
    "XPos",
    "YaRN",
    "alibi_slopes",
    "axial_frequencies",
    "grid_positions",
    "mixed_frequencies",
    "move_padding",
    "mrope_positions",
    "relative_position_bucket",
    "resize_grid_table",
    "section_frequencies",
]
