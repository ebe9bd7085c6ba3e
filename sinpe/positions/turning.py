"""Sines and cosines of position × frequency, exact far out, and the turning of feature pairs by
them.
"""

from typing import NamedTuple

import torch

from sinpe.positions.checks import check_heads, visible, wide

# from so many numbers on, fewer passes over memory pay for more calls
LARGE = 2**15
COMPLEX = {torch.float32: torch.complex64, torch.float64: torch.complex128}


class Angles(NamedTuple):
    """What turns features at given positions, in the type of the rotation.

    sin, cos: (1, seq, columns) or (batch, 1, seq, columns), a column a pair for interleaved
        features; for the half layout a column a feature, the sines of the first half with a minus.
        The axis of size 1 comes after seq for heads_axis=2.
    both: cos + i·sin for interleaved features. Compilers prefer the two, and everything else
        takes this one.
    """

    sin: torch.Tensor | None
    cos: torch.Tensor | None
    both: torch.Tensor | None = None


class RotaryTables:
    """The sines and cosines of one set of positions, computed once for all layers of a forward
    pass: `Rotary.tables` makes them.

    They hold numbers and no reference to the positions: what happens to those later changes
    nothing, and other positions need other tables. They follow the device of the positions, take
    part in autograd, and are never changed.
    """

    def __init__(self, method, queries, keys, sizes, dtype, heads_axis):
        """queries, keys: Angles. sizes: the batch and length of each."""
        self.layout, self.head_dim = method.layout, method.head_dim
        self.rotary_dim, self.heads_axis = method.rotary_dim, heads_axis
        self.queries, self.keys, self.sizes, self.dtype = queries, keys, sizes, dtype

    def rotate(self, q, k):
        """What `Rotary.rotate` gives for these positions. q, k: as there, with heads_axis as the
        tables were made. ValueError where they do not fit the tables.
        """
        check_heads(q, k, head_dim=self.head_dim, heads_axis=self.heads_axis)
        self._check("q", q, *self.sizes[0])
        self._check("k", k, *self.sizes[1])
        return (
            turn(q, self.queries, self.layout, self.rotary_dim),
            turn(k, self.keys, self.layout, self.rotary_dim),
        )

    def _check(self, name, x, batch, length):
        shape = x.shape
        if shape[3 - self.heads_axis] != length:
            raise ValueError(
                f"the tables have {length} positions for {name}, {name} has length"
                f" {shape[3 - self.heads_axis]}"
            )
        if batch != 1 and batch != shape[0]:
            raise ValueError(f"the tables have batch size {batch}, {name} has {shape[0]}")
        if wide(x.dtype) != self.dtype:
            raise ValueError(
                f"the tables are {self.dtype}, {name} is {x.dtype}: make them with dtype={x.dtype}"
            )

    def __repr__(self):
        (_, q_len), (_, k_len) = self.sizes
        return f"RotaryTables(q_len={q_len}, k_len={k_len}, dtype={self.dtype})"


def angles_at(positions, rule, layout, dtype, heads_axis=1, kept=False):
    """Angles for these positions, times the attention factor, in the type that `dtype` is turned
    in.

    rule: inv_freq, the factor, and the upper half of inv_freq or None, as in `sin_cos`.
    kept: they may outlive the call, into a compiler and out of one.
    """
    inv_freq, factor, high = rule
    sin, cos = sin_cos(positions, inv_freq, high)
    if isinstance(factor, torch.Tensor) or factor != 1:
        sin, cos = factor * sin, factor * cos
    return as_angles(sin, cos, layout, dtype, -3 if heads_axis == 1 else -2, kept)


def as_angles(sin, cos, layout, dtype, heads=None, kept=False):
    """Sines and cosines, a column a pair, as Angles. heads: where an axis for them is to be put."""
    dtype, both = wide(dtype), None

    def placed(table):
        return table if heads is None else table.unsqueeze(heads)

    if layout == "half":
        columns = placed(torch.cat([-sin, sin, cos, cos], -1).to(dtype))
        return Angles(*columns.chunk(2, -1))
    if not torch.compiler.is_compiling():
        both = placed(torch.complex(cos, sin).to(COMPLEX[dtype]))
        if not kept:
            return Angles(None, None, both)
    return Angles(placed(sin.to(dtype)), placed(cos.to(dtype)), both)


def turn(x, angles, layout, rotary_dim):
    """The first rotary_dim features of x turned, in the type of the angles, and rounded once.

    x: (batch, heads, seq, head_dim), or with heads and seq exchanged as the axes of the angles are.
    """
    how, type_ = _turn_interleaved if layout == "interleaved" else _turn_half, wide(x.dtype)
    if type_ == x.dtype and rotary_dim == x.shape[-1]:
        return how(x, angles)
    turned = how(x[..., :rotary_dim].to(type_), angles).to(x.dtype)
    rest = x[..., rotary_dim:]
    return torch.cat([turned, rest], -1) if rest.shape[-1] else turned


def _turn_interleaved(x, angles):
    """Each pair (a, b) as the complex number a + ib, times cos + i·sin: one pass over memory."""
    if angles.both is None or torch.compiler.is_compiling():
        sin, cos = angles.sin, angles.cos
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * angles.both).flatten(-2)


def _turn_half(x, angles):
    """(a, b) times cos plus (b, a) times (−sin, sin): fewer passes over memory than the halves one
    by one.
    """
    sin, cos, half = angles.sin, angles.cos, x.shape[-1] // 2
    if x.numel() < LARGE or not _unwatched(x, cos):
        return torch.addcmul(x * cos, x.roll(half, -1), sin)
    turned = x * cos
    turned[..., :half].addcmul_(x[..., half:], sin[..., :half])
    turned[..., half:].addcmul_(x[..., :half], sin[..., half:])
    return turned


def _unwatched(x, table):
    """Whether nobody differentiates or traces, so that a result may be built in place."""
    watched = torch.is_grad_enabled() and (x.requires_grad or table.requires_grad)
    return not watched and visible(x) and visible(table)


def sin_cos(positions, inv_freq, high=None):
    """Sine and cosine of position × frequency: (*positions.shape, pairs) in float64.

    The rounding error of each product is carried along, as in `sinpe.formula`, so that positions up
    to 2^20 stay exact to float32.
    inv_freq: (pairs,), or (batch, 1, pairs) with positions (batch, seq).
    high: the upper half of inv_freq in float64, where it is known (`upper_half`).
    """
    exact = inv_freq.dtype == torch.float64
    if high is None or not exact:
        high = upper_half(inv_freq)
    w1, w2 = high, inv_freq - high
    number = _one_small_integer(positions) if exact else None
    if number is not None:  # it is its own upper half, and the products of the lower one are 0
        every = inv_freq.expand(*positions.shape, -1) if inv_freq.ndim == 1 else inv_freq
        angle = every * number
        rest = torch.add(w1 * number - angle, w2, alpha=number)
    else:
        p = positions.to(inv_freq.dtype)[..., None]
        angle, p1 = p * inv_freq, upper_half(p)
        p2, rest = p - p1, p1 * w1 - angle
        for a, b in ((p1, w2), (p2, w1), (p2, w2)):
            rest = torch.addcmul(rest, a, b)
    sin, cos = angle.sin(), angle.cos()
    return torch.addcmul(sin, rest, cos), torch.addcmul(cos, rest, sin, value=-1)


def upper_half(x):
    """x rounded to half its bits (Veltkamp), for numbers far below 2^900: what is left has half of
    them too.
    """
    c = (2.0**27 + 1 if x.dtype == torch.float64 else 2.0**12 + 1) * x
    return c - (c - x)


def split(x):
    """x as the sum of two numbers of half the bits."""
    high = upper_half(x)
    return high, x - high


def _one_small_integer(positions):
    """The position of a decoding step as a float, if it has half the bits of one; None if there are
    more, or nobody may look.
    """
    if (
        positions.numel() != 1
        or positions.dtype != torch.int64
        or positions.device.type != "cpu"
        or not visible(positions)
    ):
        return None
    number = positions.item()
    return float(number) if -(2**26) <= number <= 2**26 else None
