"""ALiBi: attention with linear biases. Position enters at the scores, as a penalty that grows with
the distance.
"""

import torch

from sinpe.formula import WIDEST
from sinpe.positions.base import PositionMethod, check_size
from sinpe.positions.checks import check_pair, wide
from sinpe.positions.relative import (
    along_diagonals,
    offsets,
    relative_positions,
    toeplitz,
)


def alibi_slopes(n_heads):
    """The authors' slopes m_h in their order, float64 of shape (n_heads,).

    For n = 2^a heads: 2^(−8/n), 2^(−16/n), …, 2^(−8), steepest first. Otherwise the slopes of the
    largest power of two below n, followed by every other slope of twice that power, so that the
    order starts again. Raises ValueError unless n_heads is a positive integer up to 2^20.
    """
    check_size("n_heads", n_heads, WIDEST)
    power = 1 << (n_heads.bit_length() - 1)
    slopes = [2 ** (-8 * (h + 1) / power) for h in range(power)]
    between = [2 ** (-4 * (h + 1) / power) for h in range(0, 2 * (n_heads - power), 2)]
    return torch.tensor(slopes + between, dtype=torch.float64)


class Alibi(PositionMethod):
    """Adds −m_h · |q − k| to the scores of head h.

    alibi_heads: how many heads are given a slope, the first ones, and then the slopes of that many
        heads; None means all. The others get 0: they see no positions.
    The authors' code adds m_h · k, which differs by a constant in each row under a causal mask, and
    softmax cannot tell.
    Source: Press, Smith and Lewis 2022, https://arxiv.org/abs/2108.12409
    Raises ValueError for numbers of heads that are not positive integers, and for more heads with
    a slope than there are.
    """

    bias_of_positions = True

    def __init__(self, n_heads, alibi_heads=None):
        super().__init__()
        self.n_heads = check_size("n_heads", n_heads, WIDEST)
        self.alibi_heads = n_heads if alibi_heads is None else alibi_heads
        if check_size("alibi_heads", self.alibi_heads, WIDEST) > n_heads:
            raise ValueError(
                f"alibi_heads must be at most n_heads, got alibi_heads={alibi_heads},"
                f" n_heads={n_heads}"
            )
        self.derive("slopes", self._slopes)

    def score_bias(self, q, k, q_positions, k_positions):
        """q, k: (batch, heads, len, head_dim) -> (1 | batch, heads, q_len, k_len), zero where the
        positions agree; float32, or float64 for float64 queries. k may have fewer heads.
        """
        q_positions, k_positions = check_pair(q, k, q_positions, k_positions, self.n_heads)
        # 2L − 1 distances instead of L² pairs
        if along_diagonals(q_positions, k_positions):
            every = self._penalty(offsets(q_positions, k_positions), q.dtype)
            return toeplitz(every, k.shape[2])[None]
        distance = relative_positions(q_positions, k_positions)
        return self._penalty(distance, q.dtype).movedim(0, 1)

    def _penalty(self, distance, dtype):
        """(*shape) -> (heads, *shape)"""
        slopes = self.slopes.reshape(-1, *[1] * distance.ndim)
        return -(slopes * distance.abs()).to(wide(dtype))

    def _slopes(self):
        rest = torch.zeros(self.n_heads - self.alibi_heads, dtype=torch.float64)
        return torch.cat([alibi_slopes(self.alibi_heads), rest])

    def extra_repr(self):
        return f"n_heads={self.n_heads}, alibi_heads={self.alibi_heads}"
