"""xPos: rotary position embedding with a decay on each pair, meant to make far tokens fade."""

import torch

from sinpe.formula import shown
from sinpe.positions.base import check_positive, move_padding
from sinpe.positions.checks import check_pair, wide
from sinpe.positions.rotary import Rotary

GAMMA = 0.4


class XPos(Rotary):
    """Rotary, with queries multiplied by ζ_i^((q − c) / scale_base) and keys by ζ_i^((c − k) /
    scale_base), ζ_i = (2i/d + 0.4) / 1.4.

    In q·k the pair i is damped by ζ_i^((q − k) / scale_base), so keys behind the query fade; keys
    ahead of it would be amplified: causal models only. c cancels in the scores and keeps the
    factors small: features of size 1 stay finite while positions are within 36 000 of c in float32
    and bfloat16, 4 300 in float16 (for scale_base = 512, in proportion otherwise). Interleaved
    layout.
    centre: c. None takes the middle of each row's keys, so queries and keys agree only if one call
        turned them; a number is the same in every call, so that turned keys may be stored.
    Source: Sun et al. 2022, https://arxiv.org/abs/2212.10554
    """

    causal_only = True

    def __init__(self, head_dim, base=10_000.0, scale_base=512, centre=None):
        super().__init__(head_dim, base)
        self.scale_base = check_positive("scale_base", scale_base)
        if centre is not None and (
            isinstance(centre, bool)
            or not isinstance(centre, int | float)
            or not abs(centre) <= 2**53
        ):
            raise ValueError(
                f"centre must be None or a number up to 2**53 in size, got {shown(centre)}"
            )
        self.centre = centre
        self.storable_keys = centre is not None
        self.derive("log_decay", self._log_decay)

    def rotate(self, q, k, q_positions, k_positions, *, heads_axis=1):
        """As in Rotary. What turns one tensor, or comes back to a turned one, is refused: a query
        and a key at the same place get different factors.
        """
        q_positions, k_positions = check_pair(
            q, k, q_positions, k_positions, head_dim=self.head_dim, heads_axis=heads_axis
        )
        turned = self._rotated(
            q.to(wide(q.dtype)), k.to(wide(k.dtype)), q_positions, k_positions, heads_axis
        )
        if (
            self.centre is None and not k_positions.shape[-1]
        ):  # no keys, no middle of them, and no scores
            return turned[0].to(q.dtype), turned[1].to(k.dtype)
        centre = self._centre(k_positions)
        powers = (q_positions - centre) / self.scale_base, (centre - k_positions) / self.scale_base
        return tuple(
            (x * self._decay(power, heads_axis).to(x.dtype)).to(given.dtype)
            for x, power, given in zip(turned, powers, (q, k), strict=True)
        )

    def rotate_one(self, x, positions, *, seq_len=None, heads_axis=1):
        self._refuse("rotate_one")

    def shift(self, k, offset, *, seq_len=None, heads_axis=1):
        self._refuse("shift")

    def tables(self, q_positions, k_positions=None, *, dtype=None, heads_axis=1):
        self._refuse("tables")

    def _refuse(self, name):
        raise ValueError(
            f"XPos has no {name}: it scales queries and keys by different factors; use rotate"
        )

    def place_padding(self, positions, attention_mask):
        """Padding far away would make factors overflow, and move the middle of the keys."""
        return move_padding(positions, attention_mask)

    def _centre(self, k_positions):
        """(1,) or (batch, 1)"""
        if self.centre is not None:
            return self.log_decay.new_full((1,), self.centre)
        first, last = k_positions.amin(-1, keepdim=True), k_positions.amax(-1, keepdim=True)
        return (first.to(self.log_decay.dtype) + last.to(self.log_decay.dtype)) / 2

    def _decay(self, power, heads_axis):
        """(seq,) or (batch, seq) -> (1, seq, head_dim) or (batch, 1, seq, head_dim), one value for
        both features of a pair; for heads_axis=2 the axes of heads and seq exchanged.
        """
        decay = (power[..., None] * self.log_decay).exp().repeat_interleave(2, -1)
        return decay.unsqueeze(-3 if heads_axis == 1 else -2)

    def _log_decay(self):
        pair = torch.arange(self.head_dim // 2, dtype=torch.float64)
        return ((2 * pair / self.head_dim + GAMMA) / (1 + GAMMA)).log()

    def extra_repr(self):
        return (
            f"head_dim={self.head_dim}, base={self.base:g}, scale_base={self.scale_base:g},"
            f" centre={self.centre}"
        )
