"""xPos: rotary position embedding with a decay on each pair, meant to make far tokens fade."""

import torch

from sinpe.positions.base import check_positive
from sinpe.positions.rotary import Rotary

GAMMA = 0.4


class XPos(Rotary):
    """Rotary, with queries multiplied by ζ_i^((q − c) / scale_base) and keys by ζ_i^((c − k) /
    scale_base), ζ_i = (2i/d + 0.4) / 1.4.

    In q·k the pair i is damped by ζ_i^((q − k) / scale_base), so keys behind the query fade; keys
    ahead of it would be amplified: causal models only. c, the middle of each row's keys, cancels in
    the scores and keeps the factors small: features of size 1 stay finite while positions are
    within 36 000 of c in float32 and bfloat16, 4 300 in float16 (for scale_base = 512, in
    proportion otherwise). Interleaved layout.
    Source: Sun et al. 2022, https://arxiv.org/abs/2212.10554
    """

    def __init__(self, head_dim, base=10_000.0, scale_base=512):
        super().__init__(head_dim, base)
        self.scale_base = check_positive("scale_base", scale_base)
        self.derive("log_decay", self._log_decay)

    def rotate(self, q, k, q_positions, k_positions):
        """q, k: (batch, heads, q_len | k_len, head_dim) -> both in the same shape, dtype and
        device.
        """
        if k.shape[2] == 0:  # no keys, no middle of them, and no scores to damp
            return super().rotate(q, k, q_positions, k_positions)
        wide = torch.float64 if q.dtype == torch.float64 else torch.float32
        turned = super().rotate(q.to(wide), k.to(wide), q_positions, k_positions)
        centre = (k_positions.amin(-1, keepdim=True) + k_positions.amax(-1, keepdim=True)).to(
            self.log_decay.dtype
        ) / 2
        powers = (
            (q_positions - centre) / self.scale_base,
            (centre - k_positions) / self.scale_base,
        )
        return tuple(
            (x * self._decay(power).to(wide)).to(q.dtype)
            for x, power in zip(turned, powers, strict=True)
        )

    def _decay(self, power):
        """(seq,) or (batch, seq) -> (1, seq, head_dim) or (batch, 1, seq, head_dim), one value for
        both features of a pair.
        """
        return (power[..., None] * self.log_decay).exp().repeat_interleave(2, -1)[..., None, :, :]

    def _log_decay(self, device):
        pair = torch.arange(self.head_dim // 2, dtype=torch.float64)
        return ((2 * pair / self.head_dim + GAMMA) / (1 + GAMMA)).log().to(device)
