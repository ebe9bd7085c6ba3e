"""ALiBi: attention with linear biases. Position enters at the scores, as a penalty that grows with
the distance.
"""

import torch

from sinpe.positions.base import PositionMethod, check_heads, check_size
from sinpe.positions.relative import relative_positions


def alibi_slopes(n_heads):
    """The authors' slopes m_h, steepest first, float64 of shape (n_heads,).

    For n = 2^a heads: 2^(−8/n), 2^(−16/n), …, 2^(−8). Otherwise the slopes of the largest power of
    two below n, followed by every other slope of twice that power. Raises ValueError unless n_heads
    is a positive integer.
    """
    check_size("n_heads", n_heads)
    power = 1 << (n_heads.bit_length() - 1)
    slopes = [2 ** (-8 * (h + 1) / power) for h in range(power)]
    between = [2 ** (-4 * (h + 1) / power) for h in range(0, 2 * (n_heads - power), 2)]
    return torch.tensor(slopes + between, dtype=torch.float64)


class Alibi(PositionMethod):
    """Adds −m_h · |q − k| to the scores of head h.

    The authors' code adds m_h · k, which differs by a constant in each row under a causal mask, and
    softmax cannot tell.
    Source: Press, Smith and Lewis 2022, https://arxiv.org/abs/2108.12409
    """

    def __init__(self, n_heads):
        super().__init__()
        self.n_heads = check_size("n_heads", n_heads)
        self.derive("slopes", self._slopes)

    def score_bias(self, q, k, q_positions, k_positions):
        """q, k: (batch, heads, len, head_dim) -> float32 (1 | batch, heads, q_len, k_len), zero
        where the positions agree.
        """
        check_heads(q, k, self.n_heads)
        distance = relative_positions(q, k, q_positions, k_positions).abs()
        return -(self.slopes[:, None, None] * distance[:, None]).float()

    def _slopes(self, device):
        return alibi_slopes(self.n_heads).to(device)
