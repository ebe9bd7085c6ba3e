"""Rotary position embedding: position enters at the queries and keys, as rotations of their feature
pairs.
"""

import numpy as np
import torch

from sinpe import formula
from sinpe.positions.base import PositionMethod, check_positive, check_size, move_padding
from sinpe.positions.checks import check_pair, wide
from sinpe.positions.extensions import check_declared, depends_on_length, extended

LAYOUTS = ("interleaved", "half")


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
        self.head_dim = check_size("head_dim", head_dim)
        self.rotary_dim = head_dim if rotary_dim is None else check_size("rotary_dim", rotary_dim)
        if self.rotary_dim % 2 or self.rotary_dim > head_dim:
            raise ValueError(
                f"rotary_dim must be even and at most head_dim, got rotary_dim={self.rotary_dim},"
                f" head_dim={head_dim}"
            )
        check_size("rotary_dim", self.rotary_dim, formula.WIDEST)
        if layout not in LAYOUTS:
            raise ValueError(
                f"layout must be one of {', '.join(map(repr, LAYOUTS))}, got {layout!r}"
            )
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

    def rotate(self, q, k, q_positions, k_positions):
        """q, k: (batch, heads, q_len | k_len, head_dim) -> both in the same shape, dtype and
        device. k may have fewer heads than q (grouped queries).
        """
        positions = check_pair(q, k, q_positions, k_positions, head_dim=self.head_dim)
        return self._rotated(q, k, *positions)

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

    def _rotated(self, q, k, q_positions, k_positions):
        rule = self._rule(k_positions)
        tables = self._tables(q_positions, *rule, q.dtype)
        again = k_positions is q_positions and k.dtype == q.dtype
        k_tables = tables if again else self._tables(k_positions, *rule, k.dtype)
        return self._turn(q, *tables), self._turn(k, *k_tables)

    def _rule(self, k_positions):
        """Frequencies and attention factor for these keys: of shape (pairs,) and a number, or
        broadcastable to (batch, 1, pairs) where they depend on each row's length.
        """
        if not self.length_dependent:
            return self.inv_freq, self.factor
        lengths = None
        if k_positions.shape[-1]:
            longest = k_positions.amax(-1, keepdim=True) + 1
            lengths = longest.to(self.inv_freq.dtype)[..., None]
        return self.extension(self.inv_freq.clone(), self.base, lengths)

    def _tables(self, positions, inv_freq, factor, dtype):
        """Sine and cosine, times the attention factor, in the type of the rotation: (1, seq, pairs)
        or (batch, 1, seq, pairs).

        For the half layout each has 2 · pairs columns, the sines of the first half with a minus.
        """
        sin, cos = sin_cos(positions, inv_freq)
        if isinstance(factor, torch.Tensor) or factor != 1:
            sin, cos = factor * sin, factor * cos
        sin, cos = (table.to(wide(dtype))[..., None, :, :] for table in (sin, cos))
        if self.layout == "interleaved":
            return sin, cos
        return torch.cat([-sin, sin], -1), torch.cat([cos, cos], -1)

    def _turn(self, x, sin, cos):
        turn = _turn_interleaved if self.layout == "interleaved" else _turn_half
        first, rest = x[..., : self.rotary_dim], x[..., self.rotary_dim :]
        turned = turn(first.to(sin.dtype), sin, cos).to(x.dtype)
        return torch.cat([turned, rest], -1) if rest.shape[-1] else turned

    def _inv_freq(self):
        # where the rule depends on the length, it is applied to the plain ones at each call
        used = self.plain.copy() if self.length_dependent else self.inverse_frequencies()
        return torch.from_numpy(used)

    def _extended(self, seq_len):
        if seq_len is not None:
            number = seq_len.item() if isinstance(seq_len, np.generic) else seq_len
            seq_len = check_positive("seq_len", number)
        if self.extension is None:
            return self.plain.copy(), 1.0
        return extended(self.extension, self.plain, self.base, seq_len)

    def extra_repr(self):
        return (
            f"head_dim={self.head_dim}, base={self.base:g}, layout={self.layout!r},"
            f" rotary_dim={self.rotary_dim}, extension={self.extension}"
        )


def _turn_interleaved(x, sin, cos):
    """Each pair (a, b) as the complex number a + ib, times cos + i·sin: one pass over memory.
    Compilers prefer it spelt out.
    """
    if torch.compiler.is_compiling():
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * torch.complex(cos, sin)).flatten(-2)


def _turn_half(x, sin, cos):
    """(a, b) times cos plus (b, a) times (−sin, sin): fewer passes over memory than the halves one
    by one.
    """
    return torch.addcmul(x * cos, x.roll(x.shape[-1] // 2, -1), sin)


def sin_cos(positions, inv_freq):
    """Sine and cosine of position × frequency: (*positions.shape, pairs) in float64.

    The rounding error of each product is carried along, as in `sinpe.formula`, so that positions up
    to 2^20 stay exact to float32.
    inv_freq: (pairs,), or (batch, 1, pairs) with positions (batch, seq).
    """
    p = positions.to(inv_freq.dtype)[..., None]
    angle = p * inv_freq
    (p1, p2), (w1, w2) = _split(p), _split(inv_freq)
    rest = p1 * w1 - angle
    for a, b in ((p1, w2), (p2, w1), (p2, w2)):
        rest = torch.addcmul(rest, a, b)
    sin, cos = angle.sin(), angle.cos()
    return torch.addcmul(sin, rest, cos), torch.addcmul(cos, rest, sin, value=-1)


def _split(x):
    """x as the sum of two numbers of half the bits (Veltkamp), for positions far below 2^900."""
    c = (2.0**27 + 1 if x.dtype == torch.float64 else 2.0**12 + 1) * x
    high = c - (c - x)
    return high, x - high
