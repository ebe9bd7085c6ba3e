"""Rotary position embedding: position enters at the queries and keys, as rotations of their feature
pairs.
"""

import numpy as np
import torch

from sinpe import formula
from sinpe.formula import shown
from sinpe.positions.base import PositionMethod, check_positive, check_size, move_padding
from sinpe.positions.checks import (
    check_head,
    check_heads_axis,
    check_pair,
    check_positions,
    check_real,
    check_rows,
    wide,
)
from sinpe.positions.extensions import check_declared, depends_on_length, extended
from sinpe.positions.turning import RotaryTables, angles_at, sin_cos, turn, upper_half

__all__ = ["Rotary", "RotaryTables", "sin_cos"]
LAYOUTS = ("interleaved", "half")


def check_turned(head_dim, rotary_dim, layout):
    """(head_dim, rotary_dim) of a head whose first rotary_dim features are turned, None for all.
    ValueError unless they fit and the layout is known.
    """
    head_dim = check_size("head_dim", head_dim)
    rotary_dim = head_dim if rotary_dim is None else check_size("rotary_dim", rotary_dim)
    if rotary_dim % 2 or rotary_dim > head_dim:
        raise ValueError(
            f"rotary_dim must be even and at most head_dim, got rotary_dim={rotary_dim},"
            f" head_dim={head_dim}"
        )
    check_size("rotary_dim", rotary_dim, formula.WIDEST)
    if not isinstance(layout, str) or layout not in LAYOUTS:
        raise ValueError(f"layout must be one of {', '.join(map(repr, LAYOUTS))}, got {layout!r}")
    return head_dim, rotary_dim


class Rotary(PositionMethod):
    """Turns pair i of every query and key by position · ω_i, ω_i = base^(−2i / rotary_dim), so that
    q·k depends on k − q only.

    layout: "interleaved" pairs features (2i, 2i + 1) (the paper, GPT-J, Llama's own code); "half"
        pairs (i, i + rotary_dim/2) (GPT-NeoX, Hugging Face). One is the other after a permutation
        of the features of q and k.
    rotary_dim: how many features are turned, the first ones; None means all. The rest is left
        untouched.
    extension: None, or what changes the frequencies for longer contexts: one of
        `sinpe.positions.extensions`, or a callable of your own (see `Extension` there).
    Angles are float64 with their rounding error carried along, the rotation is float32
    (float64 for float64 inputs), rounded once at the end.
    Source: Su et al. 2021, https://arxiv.org/abs/2104.09864
    Raises ValueError for odd or unfitting widths, a base that is not positive, an unknown layout,
    an extension that depends on the length without saying so or gives what are no frequencies.
    """

    def __init__(
        self, head_dim, base=10_000.0, layout="interleaved", rotary_dim=None, extension=None
    ):
        super().__init__()
        self.head_dim, self.rotary_dim = check_turned(head_dim, rotary_dim, layout)
        if extension is not None and (not callable(extension) or isinstance(extension, type)):
            raise ValueError(
                f"extension must be None or an object such as YaRN(4.0, 2048), got {extension!r}"
            )
        self.plain = formula.inverse_frequencies(self.rotary_dim, base)
        self.base, self.layout, self.extension = float(base), layout, extension
        self.length_dependent = depends_on_length(extension)
        self.storable_keys = not self.length_dependent
        self.factor = self.attention_factor()
        check_declared(extension, self.plain, self.base)
        self.derive("inv_freq", self._inv_freq)
        self.derive("inv_freq_high", self._inv_freq_high)

    def inverse_frequencies(self, seq_len=None):
        """Frequencies in use at that length (None: whatever is used where no length is known), a
        float64 NumPy array (rotary_dim // 2,).
        """
        return self._extended(seq_len)[0]

    def attention_factor(self, seq_len=None):
        """What `rotate` multiplies queries and keys by, beside the rotation: scores grow by its
        square.
        """
        return self._extended(seq_len)[1]

    def rotate(self, q, k, q_positions, k_positions, *, heads_axis=1):
        """q, k: (batch, heads, q_len | k_len, head_dim) -> both in the same shape, dtype and
        device. k may have fewer heads than q (grouped queries).

        heads_axis=2: q, k are (batch, q_len | k_len, heads, head_dim).
        """
        q_positions, k_positions = check_pair(
            q, k, q_positions, k_positions, head_dim=self.head_dim, heads_axis=heads_axis
        )
        return self._rotated(q, k, q_positions, k_positions, heads_axis)

    def rotate_one(self, x, positions, *, seq_len=None, heads_axis=1):
        """x: queries or keys alone, (batch, heads, len, head_dim), as `rotate` turns them.

        seq_len: where the extension depends on it, the length of each row, which is that of its
        keys: a number, or a tensor (batch,). Without it that is a ValueError.
        """
        check_head("x", x, None, self.head_dim, heads_axis)
        length = x.shape[3 - heads_axis]
        batch = x.shape[0]
        positions = check_positions("positions", positions, length, batch, "x has", device=x.device)
        rule = self._rule(self._lengths(seq_len, batch))
        return self._turned(x, positions, rule, heads_axis)

    def shift(self, k, offset, *, seq_len=None, heads_axis=1):
        """Turned keys of a cache, as if each had stood `offset` places further on: (batch, heads,
        len, head_dim) -> the same. After the first 100 tokens were dropped, offset is −100.

        offset: a number, or a tensor (len,), (1, len) or (batch, len), a number a key. The
            attention factor, which the keys have, is not applied again.
        seq_len: as in rotate_one, the length for which the keys were turned.
        The keys are rounded once more. With u half the distance from 1 to the next number of their
        type, each pair comes within 2u + 2⁻²¹ times its length of the pair turned once and exactly,
        where a single rotation comes within u + 2⁻²¹; every further shift adds as much again.
        Source: keys are cached and their positions in the cache counted anew by Xiao et al. 2023,
        §3.2, https://arxiv.org/abs/2309.17453
        """
        check_head("k", k, None, self.head_dim, heads_axis)
        places = self._offsets(offset, k.shape[3 - heads_axis], k.shape[0], k.device)
        inv_freq, _, high = self._rule(self._lengths(seq_len, k.shape[0]))
        return self._turned(k, places, (inv_freq, 1.0, high), heads_axis)

    def tables(self, q_positions, k_positions=None, *, dtype=torch.float32, heads_axis=1):
        """The sines and cosines of these positions, once for all layers of a forward pass:
        `tables.rotate(q, k)` is `rotate(q, k, q_positions, k_positions)`.

        k_positions: None if they are the queries'. dtype: the type of the queries and keys; tables
        are the same for float32 and all narrower ones. heads_axis: as in `rotate`.
        """
        if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
            raise ValueError(f"dtype must be a floating-point type, got {dtype}")
        check_heads_axis(heads_axis)
        q_positions = check_rows("q_positions", q_positions)
        k_positions = q_positions if k_positions is None else check_rows("k_positions", k_positions)
        queries, keys = self._angles(q_positions, k_positions, dtype, dtype, heads_axis, kept=True)
        sizes = [
            (p.shape[0] if p.ndim == 2 else 1, p.shape[-1]) for p in (q_positions, k_positions)
        ]
        return RotaryTables(self, queries, keys, sizes, wide(dtype), heads_axis)

    def place_padding(self, positions, attention_mask):
        """A length is counted over tokens only; a row has one."""
        if not self.length_dependent:
            return positions
        if attention_mask.ndim == 3:
            raise ValueError(
                f"{self.extension} takes one length a row, but attention_mask of shape"
                f" {tuple(attention_mask.shape)} lets each query read keys of its own: give each"
                " text a row of its own, and a mask (batch, seq)"
            )
        return move_padding(positions, attention_mask)

    def _rotated(self, q, k, q_positions, k_positions, heads_axis=1):
        queries, keys = self._angles(q_positions, k_positions, q.dtype, k.dtype, heads_axis)
        return (
            turn(q, queries, self.layout, self.rotary_dim),
            turn(k, keys, self.layout, self.rotary_dim),
        )

    def _angles(self, q_positions, k_positions, q_dtype, k_dtype, heads_axis, kept=False):
        """What turns the queries, and what turns the keys."""
        rule = self._rule(self._row_lengths(k_positions))
        queries = angles_at(q_positions, rule, self.layout, q_dtype, heads_axis, kept)
        if k_positions is q_positions and k_dtype == q_dtype:
            return queries, queries
        return queries, angles_at(k_positions, rule, self.layout, k_dtype, heads_axis, kept)

    def _turned(self, x, positions, rule, heads_axis):
        angles = angles_at(positions, rule, self.layout, x.dtype, heads_axis)
        return turn(x, angles, self.layout, self.rotary_dim)

    def _rule(self, lengths):
        """Frequencies and attention factor at these lengths, of shape (pairs,) and a number, or
        broadcastable to (batch, 1, pairs) where they depend on each row's; and the upper half of
        the frequencies, where it is known.
        """
        if not self.length_dependent:
            return self.inv_freq, self.factor, self.inv_freq_high
        return *self.extension(self.inv_freq.clone(), self.base, lengths), None

    def _row_lengths(self, k_positions):
        """Each row's largest key position plus one, (1, 1) or (batch, 1, 1); None where nothing
        asks for it, or there are no keys.
        """
        if not self.length_dependent or not k_positions.shape[-1]:
            return None
        longest = k_positions.amax(-1, keepdim=True) + 1
        return longest.to(self.inv_freq.dtype)[..., None]

    def _lengths(self, seq_len, batch):
        """seq_len of rotate_one and shift in the same form."""
        if seq_len is None:
            if not self.length_dependent:
                return None
            raise ValueError(
                f"{self.extension} turns by the length of the whole row, which one tensor does not"
                " tell: give seq_len"
            )
        if not isinstance(seq_len, torch.Tensor):
            return self.inv_freq.new_full((1, 1), _number("seq_len", seq_len))
        seq_len = check_real("seq_len", seq_len)
        if seq_len.shape not in ((), (1,), (batch,)):
            raise ValueError(
                f"seq_len must be a number or have shape ({batch},), got {tuple(seq_len.shape)}"
            )
        return seq_len.to(self.inv_freq.dtype).reshape(-1, 1, 1)

    def _offsets(self, offset, length, batch, device):
        if isinstance(offset, torch.Tensor) and offset.ndim:
            return check_positions("offset", offset, length, batch, "k has", device=device)
        if isinstance(offset, torch.Tensor):
            return check_real("offset", offset).reshape(1)
        if isinstance(offset, bool) or not isinstance(offset, int | float):
            raise ValueError(f"offset must be a number or a tensor, got {shown(offset)}")
        if not abs(offset) <= 2**53:
            raise ValueError(f"offset must be at most 2**53 in size, got {shown(offset)}")
        return self.inv_freq.new_full((1,), offset)

    def _inv_freq(self):
        # where the rule depends on the length, it is applied to the plain ones at each call
        used = self.plain.copy() if self.length_dependent else self.inverse_frequencies()
        return torch.from_numpy(used)

    def _inv_freq_high(self):
        return upper_half(self._inv_freq())

    def _extended(self, seq_len):
        if seq_len is not None:
            seq_len = _number("seq_len", seq_len)
        if self.extension is None:
            return self.plain.copy(), 1.0
        return extended(self.extension, self.plain, self.base, seq_len)

    def extra_repr(self):
        return (
            f"head_dim={self.head_dim}, base={self.base:g}, layout={self.layout!r},"
            f" rotary_dim={self.rotary_dim}, extension={self.extension}"
        )


def _number(name, value):
    """`value` as a positive number, NumPy's included."""
    return check_positive(name, value.item() if isinstance(value, np.generic) else value)
