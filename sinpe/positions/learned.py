"""A learned table: one trained vector a position, as in BERT and GPT-2."""

import torch
from torch import nn

from sinpe.positions.base import PositionMethod, check_floating, check_positions, check_positive, check_size


class LearnedEncoding(PositionMethod):
    """Adds row `position` of a trained table of max_len rows to the embeddings; beyond it nothing is defined.

    init_std: standard deviation of the initial rows (BERT and GPT-2 use 0.02).
    Source: Gehring et al. 2017, https://arxiv.org/abs/1705.03122; Devlin et al. 2019, https://arxiv.org/abs/1810.04805
    Raises ValueError for bad sizes here, and at the call for a position that has no row.
    """

    def __init__(self, d_model, max_len, init_std=0.02):
        super().__init__()
        self.d_model, self.max_len = check_size("d_model", d_model), check_size("max_len", max_len)
        self.table = nn.Parameter(torch.empty(max_len, d_model))
        nn.init.normal_(self.table, std=check_positive("init_std", init_std))

    def embed(self, x, positions):
        """x: (batch, seq, d_model); positions: (seq,) or (batch, seq), integers in 0 … max_len − 1. Returns x plus the rows, in the dtype of x."""
        check_floating("x", x)
        if x.ndim != 3 or x.shape[-1] != self.d_model:
            raise ValueError(f"x must have shape (batch, seq, {self.d_model}), got {tuple(x.shape)}")
        check_positions("positions", positions, x.shape[1])
        if positions.is_floating_point():
            raise ValueError(f"positions must be integers, since a table has no rows in between; got {positions.dtype}")
        if not torch.compiler.is_compiling() and not positions.is_meta and positions.numel():
            low, high = positions.amin().item(), positions.amax().item()
            if low < 0 or high >= self.max_len:
                raise ValueError(f"position {low if low < 0 else high} has no row: the table was made for max_len={self.max_len}")
        return x + self.table[positions].to(x.dtype)
