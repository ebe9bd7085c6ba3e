"""Position methods for Transformers: one module a method, all with the three openings of `PositionMethod`."""

from sinpe.positions.base import PositionMethod
from sinpe.positions.learned import LearnedEncoding
from sinpe.positions.none import NoPosition
from sinpe.positions.sinusoidal import SinusoidalEncoding

__all__ = ["LearnedEncoding", "NoPosition", "PositionMethod", "SinusoidalEncoding"]
