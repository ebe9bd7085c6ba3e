"""Learned positions: one trained row a position, and nothing beyond the last row."""

import torch
from torch import nn
from torch.nn import functional as F

from sinpe.positions.base import PositionMethod, check_positive, check_size
from sinpe.positions.checks import check_embeddings, check_real, visible


class LearnedEncoding(PositionMethod):
    """Adds a trained row to each embedding: x[b, t] + weight[positions[b, t]].

    d_model, max_len: the table's width and length, weight: (max_len, d_model). init_std: standard
        deviation of the initial rows.
    generator: where they are drawn from.
    Unlike a table that follows from a formula, this one is trained, belongs to the `state_dict`,
    and is cast with the module.
    Source: Gehring et al. 2017, §3.1, https://arxiv.org/abs/1705.03122; init_std as in BERT.
    Raises ValueError for bad arguments here; at the call for a wrong shape, or a position that has
    no row.
    """

    def __init__(self, d_model, max_len, init_std=0.02, *, generator=None):
        super().__init__()
        self.d_model, self.max_len = check_size("d_model", d_model), check_size("max_len", max_len)
        self.init_std = check_positive("init_std", init_std)
        self.weight = nn.Parameter(torch.empty(max_len, d_model))
        nn.init.normal_(self.weight, std=self.init_std, generator=generator)

    def embed(self, x, positions):
        """x: (batch, seq, d_model); positions: integers (seq,) or (batch, seq), from 0 to max_len −
        1. Returns the shape, dtype and device of x.
        """
        positions = check_embeddings(x, positions, self.d_model)
        return x + self.rows(positions).to(x.dtype)

    forward = embed

    def rows(self, positions):
        """The trained rows of these positions, integers of any shape: (*positions.shape,
        d_model).
        """
        positions = check_real("positions", positions)
        if positions.is_floating_point():
            raise ValueError(
                f"positions must be integers, got {positions.dtype}: a learned table has no rows"
                " between its rows"
            )
        self._check_rows(positions)
        return F.embedding(positions.to(self.weight.device), self.weight)

    def extra_repr(self):
        return f"d_model={self.d_model}, max_len={self.max_len}, init_std={self.init_std:g}"

    def _check_rows(self, positions):
        """Skipped under a compiler, which cannot branch on values; the look-up itself still refuses
        what has no row.
        """
        if not visible(positions) or not positions.numel():
            return
        low, high = positions.min().item(), positions.max().item()
        if low < 0 or high >= self.max_len:
            length = (
                f"positions up to {high}, so a table of at least {high + 1} rows"
                if high >= self.max_len
                else f"position {low}"
            )
            raise ValueError(
                f"positions must be between 0 and {self.max_len - 1}: the learned table has"
                f" max_len={self.max_len} rows, got {length}"
            )
