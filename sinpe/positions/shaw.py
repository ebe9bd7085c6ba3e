"""Shaw's relative positions: a learned vector for each clipped distance, compared with the
query.
"""

import torch
from torch import nn

from sinpe.positions.base import PositionMethod, check_size
from sinpe.positions.checks import check_pair, full_precision, wide
from sinpe.positions.relative import relative_positions


class ShawRelative(PositionMethod):
    """Adds q_i · a_c / √head_dim to the scores, where c = clip(k − q, −max_distance, max_distance):
    2·max_distance + 1 vectors a head.

    On the keys' side only: the paper's ablation finds that the values' side adds nothing to it.
    Source: Shaw, Uszkoreit and Vaswani 2018, https://arxiv.org/abs/1803.02155
    Raises ValueError for sizes that are not positive integers.
    """

    def __init__(self, n_heads, head_dim, max_distance):
        super().__init__()
        self.n_heads, self.head_dim = (
            check_size("n_heads", n_heads),
            check_size("head_dim", head_dim),
        )
        self.max_distance = check_size("max_distance", max_distance)
        self.vectors = nn.Parameter(torch.empty(n_heads, 2 * max_distance + 1, head_dim))
        nn.init.normal_(self.vectors, std=0.02)

    def score_bias(self, q, k, q_positions, k_positions):
        """q, k: (batch, heads, len, head_dim) -> (batch, heads, q_len, k_len), float32, or float64
        for float64 queries. k may have fewer heads.
        """
        q_positions, k_positions = check_pair(
            q, k, q_positions, k_positions, self.n_heads, self.head_dim
        )
        distance = relative_positions(q_positions, k_positions)
        rows = (distance.clamp(-self.max_distance, self.max_distance) + self.max_distance).long()
        dtype = wide(q.dtype)
        with full_precision(q.device):
            # (batch, heads, q_len, 2·max_distance + 1)
            vectors = self.vectors.to(dtype).transpose(-2, -1)
            scores = q.to(dtype) @ vectors / self.head_dim**0.5
        return scores.gather(-1, rows[:, None].expand(*scores.shape[:2], -1, -1))
