"""Transformer-XL's relative attention: the four-term score, with learned biases in the place of the
query's position.
"""

import torch
from torch import nn

from sinpe import formula
from sinpe.positions.base import PositionMethod, check_size
from sinpe.positions.checks import check_pair, full_precision, wide
from sinpe.positions.relative import along_diagonals, offsets
from sinpe.positions.rotary import sin_cos


class TransformerXLRelative(PositionMethod):
    """Adds (u · k_j + (q_i + v) · W r_(i−j)) / √head_dim to the scores, where r is the sinusoidal
    code of width n_heads · head_dim.

    u, v: (n_heads, head_dim), zero at first; W: a matrix for each head. The rows are gathered by k
    − q. The paper's relative shift gives the same numbers for consecutive positions.
    Source: Dai et al. 2019, §3.3, https://arxiv.org/abs/1901.02860
    Raises ValueError for sizes that are not positive integers, or whose product is odd.
    """

    def __init__(self, n_heads, head_dim):
        super().__init__()
        self.n_heads, self.head_dim = (
            check_size("n_heads", n_heads),
            check_size("head_dim", head_dim),
        )
        width = n_heads * head_dim
        if width % 2:
            raise ValueError(
                "n_heads · head_dim must be even, because each frequency needs a sine and a"
                f" cosine; got n_heads={n_heads}, head_dim={head_dim}"
            )
        check_size("n_heads · head_dim", width, formula.WIDEST)
        self.u, self.v = (
            nn.Parameter(torch.zeros(n_heads, head_dim)),
            nn.Parameter(torch.zeros(n_heads, head_dim)),
        )
        # of W: sines in the first half of the last axis, cosines in the second
        self.weight = nn.Parameter(torch.empty(n_heads, head_dim, width))
        nn.init.xavier_uniform_(self.weight.view(width, width))
        self.derive("inv_freq", self._inv_freq)

    def score_bias(self, q, k, q_positions, k_positions):
        """q, k: (batch, heads, len, head_dim) -> (batch, heads, q_len, k_len), float32, or float64
        for float64 queries. k may have fewer heads.
        """
        q_positions, k_positions = check_pair(
            q, k, q_positions, k_positions, self.n_heads, self.head_dim
        )
        dtype = wide(q.dtype)
        if k.shape[1] < self.n_heads:
            k = k.repeat_interleave(self.n_heads // k.shape[1], 1)
        with full_precision(q.device):
            # (batch, heads, 1, k_len)
            content = self.u.to(dtype)[:, None] @ k.to(dtype).transpose(-2, -1)
            query = q.to(dtype) + self.v.to(dtype)[:, None]
            weight = self.weight.to(dtype)
            if along_diagonals(q_positions, k_positions):
                codes = self._codes(-offsets(q_positions, k_positions), dtype)
                every = self._every(query, weight, codes)
                column, row = (torch.arange(n, device=q.device) for n in (k.shape[2], q.shape[2]))
                column = column - row[:, None] + (q.shape[2] - 1)  # of the distance, in `every`
                position = every.gather(-1, column.expand(*every.shape[:2], -1, -1))
            else:
                position = self._pairs(query @ weight, q_positions, k_positions)
        return (content + position) / self.head_dim**0.5

    def _inv_freq(self):
        return torch.from_numpy(formula.inverse_frequencies(self.n_heads * self.head_dim))

    def _codes(self, distances, dtype):
        sin, cos = sin_cos(distances, self.inv_freq)
        return torch.cat([sin, cos], -1).to(dtype)

    def _every(self, query, weight, codes):
        """(q + v) · W r for every query and distance, (batch, heads, q_len, distances): the cheaper
        of the two orders, which differ by up to n_heads times.
        """
        batch, q_len, n, width = query.shape[0], query.shape[2], len(codes), codes.shape[1]
        if n * width + batch * q_len * n < batch * q_len * (width + n * self.n_heads):
            return query @ (weight @ codes.T)
        return query @ weight @ codes.T

    def _pairs(self, query, q_positions, k_positions):
        """The same products for positions with gaps: r_(i−j) is r_j reflected and turned by i
        (chapter 04), so turn the query instead.
        """
        dtype = query.dtype
        q_sin, q_cos = (
            table.to(dtype)[..., None, :, :] for table in sin_cos(q_positions, self.inv_freq)
        )
        a, b = query.chunk(2, -1)  # a·sin(i − j) + b·cos(i − j)
        turned = torch.cat([b * q_sin - a * q_cos, a * q_sin + b * q_cos], -1)
        return turned @ self._codes(k_positions, dtype)[..., None, :, :].transpose(-2, -1)
