"""No position at all: the baseline that every other method is compared with."""

from sinpe.positions.base import PositionMethod


class NoPosition(PositionMethod):
    """Leaves every opening at the identity. A causal Transformer can still learn order (Haviv et
    al. 2022, https://arxiv.org/abs/2203.16634).
    """
