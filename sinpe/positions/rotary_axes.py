"""Rotary position embedding where a position is several numbers: row and column, or frame, row and
column.
"""

import numpy as np
import torch
from torch import nn

from sinpe.positions.base import PositionMethod, check_positive
from sinpe.positions.checks import check_pair
from sinpe.positions.rotary import check_turned
from sinpe.positions.turning import as_angles, split, turn


class RotaryAxes(PositionMethod):
    """Turns pair i of every query and key by Σ_a p_a · F[a, i], so that q·k depends on the
    difference of the positions only, on every axis.

    A position is one number an axis, F one frequency an axis and pair: the angle of a pair is a
    linear form of the position, and the published methods differ in F alone. One axis is `Rotary`.
    Where every column of F has one number that is not zero, each pair belongs to one axis
    and scores are a sum of one function an axis: `axial_frequencies` has a ladder for every axis
    (images and video: FLUX, SAM 2, Wan), `section_frequencies` one ladder that the axes share
    (vision and language: Qwen2-VL's M-RoPE, Qwen3-VL). In `mixed_frequencies` every pair sees all
    axes (RoPE-Mixed). A matrix of your own is as good.

    frequencies: F, (axes, pairs) for all heads or (heads, axes, pairs), an array or a tensor.
    layout: "interleaved" pairs features (2i, 2i + 1), "half" pairs (i, i + rotary_dim/2), over all
        axes; as in Rotary.
    learned: the frequencies become a parameter, which starts from what was given; otherwise they
        are derived data, float64, and not in `state_dict`.
    rotary_dim: how many features are turned, the first ones; None means all. There are rotary_dim/2
        pairs.
    attention_factor: what queries and keys are multiplied by beside the rotation (YaRN).
    Positions have shape (seq, axes) or (batch, seq, axes), and are never guessed from the order.
    Angles are float64 with their rounding error carried along, the rotation is float32 (float64 for
    float64 inputs), rounded once at the end.
    Raises ValueError for a matrix of another shape or with numbers that are not finite, a bad
    width, layout or factor; at the call for positions of another shape or number of axes.
    Source: Heo et al. 2024, https://arxiv.org/abs/2403.13298; Wang et al. 2024,
    https://arxiv.org/abs/2409.12191
    """

    def __init__(
        self,
        head_dim,
        frequencies,
        layout="interleaved",
        learned=False,
        *,
        rotary_dim=None,
        attention_factor=1.0,
    ):
        super().__init__()
        self.head_dim, self.rotary_dim = check_turned(head_dim, rotary_dim, layout)
        if not isinstance(learned, bool):
            raise ValueError(f"learned must be True or False, got {learned!r}")
        self.layout, self.learned = layout, learned
        self.attention_factor = check_positive("attention_factor", attention_factor)
        self.given = _matrix(frequencies, self.rotary_dim // 2)
        self.axes = self.given.shape[-2]
        self.n_heads = self.given.shape[0] if self.given.ndim == 3 else None
        self.derive("initial" if learned else "frequencies", self._given)
        if learned:
            self.frequencies = nn.Parameter(torch.empty(self.given.shape))
            with torch.no_grad():
                self.frequencies.copy_(self._given())

    def rotate(self, q, k, q_positions, k_positions):
        """q, k: (batch, heads, q_len | k_len, head_dim); positions: (len, axes) or (batch, len,
        axes) -> q and k in the same shape, dtype and device. k may have fewer heads than q (grouped
        queries) where all heads share their frequencies.
        """
        q_positions, k_positions = check_pair(
            q, k, q_positions, k_positions, self.n_heads, self.head_dim, self.axes
        )
        if self.n_heads and k.shape[1] != self.n_heads:
            raise ValueError(
                f"k must have {self.n_heads} heads, as q has, where each has frequencies of its"
                f" own, got {k.shape[1]}"
            )
        tables = self._tables(q_positions, q.dtype)
        again = k_positions is q_positions and k.dtype == q.dtype
        k_tables = tables if again else self._tables(k_positions, k.dtype)
        return (
            turn(q, tables, self.layout, self.rotary_dim),
            turn(k, k_tables, self.layout, self.rotary_dim),
        )

    def _tables(self, positions, dtype):
        """Angles, times the attention factor, in the type of the rotation: broadcastable to (batch,
        heads, seq, pairs); twice as many columns for the half layout, as in Rotary.
        """
        # a learned matrix may be narrow: angles are as wide as the device allows all the same
        widest = self.initial.dtype if self.learned else self.frequencies.dtype
        sin, cos = axes_sin_cos(positions, self.frequencies.to(widest))
        if self.attention_factor != 1:
            sin, cos = self.attention_factor * sin, self.attention_factor * cos
        return as_angles(sin, cos, self.layout, dtype)

    def _given(self):
        return torch.from_numpy(self.given.copy())

    def extra_repr(self):
        shape = "×".join(map(str, self.given.shape))
        return (
            f"head_dim={self.head_dim}, frequencies={shape}, layout={self.layout!r},"
            f" learned={self.learned}, rotary_dim={self.rotary_dim},"
            f" attention_factor={self.attention_factor:g}"
        )


def axes_sin_cos(positions, frequencies):
    """Sine and cosine of Σ_a p_a · F[a, i] in float64, with the rounding errors of products and
    sums carried along.

    positions: (seq, axes) or (batch, seq, axes); frequencies: (axes, pairs) or (heads, axes, pairs)
    -> (1 | heads, seq, pairs) or (batch, 1 | heads, seq, pairs).
    """
    p, angle, rest = positions.to(frequencies.dtype), 0.0, 0.0
    for axis in range(frequencies.shape[-2]):
        at, w = p[..., None, :, axis, None], frequencies[..., None, axis, :]
        product = at * w
        total = angle + product
        # as constants: they round to nothing, and so do their gradients
        rest = rest + _product_error(at.detach(), w.detach(), product.detach())
        rest = rest + _sum_error(angle, product, total)
        angle = total
    sin, cos = angle.sin(), angle.cos()
    return torch.addcmul(sin, rest, cos), torch.addcmul(cos, rest, sin, value=-1)


def _product_error(a, b, product):
    """a·b − product (Dekker 1971), for product = fl(a·b)."""
    (a1, a2), (b1, b2) = split(a), split(b)
    rest = a1 * b1 - product
    for x, y in ((a1, b2), (a2, b1), (a2, b2)):
        rest = torch.addcmul(rest, x, y)
    return rest


def _sum_error(a, b, total):
    """a + b − total (Knuth), for total = fl(a + b)."""
    if not isinstance(a, torch.Tensor):  # the first term, exact
        return 0.0
    a, b, total = a.detach(), b.detach(), total.detach()
    part = total - a
    return (a - (total - part)) + (b - part)


def _matrix(frequencies, pairs):
    """frequencies as a float64 array of its own, (axes, pairs) or (heads, axes, pairs)."""
    try:
        if isinstance(frequencies, torch.Tensor):
            given = frequencies.detach().cpu()  # NumPy has no bfloat16
            frequencies = (given.double() if given.is_floating_point() else given).numpy()
        matrix = np.array(frequencies)
    except (TypeError, ValueError, RuntimeError):  # rows of different lengths, or no values
        matrix = np.empty(0, dtype=object)
    if matrix.dtype.kind not in "iuf" or not matrix.ndim:
        raise ValueError(f"frequencies must be a matrix of numbers, got {frequencies!r:.100}")
    if matrix.ndim not in (2, 3) or matrix.shape[-1] != pairs or not matrix.size:
        raise ValueError(
            f"frequencies must have shape (axes, {pairs}) or (heads, axes, {pairs}), a column for"
            f" each pair of rotary_dim={2 * pairs}, got {matrix.shape}"
        )
    matrix = matrix.astype(np.float64)
    if not np.isfinite(matrix).all():
        raise ValueError(f"frequencies must be finite, got {matrix[~np.isfinite(matrix)][0]}")
    return matrix
