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

    sin, cos: (seq, columns) or (batch, seq, columns), a column a pair for interleaved features; for
        the half layout a column a feature, the sines of the first half with a minus.
    both: cos + i·sin for interleaved features. Compilers prefer the two, and everything else
        takes this one.
    """

    sin: torch.Tensor | None
    cos: torch.Tensor | None
    both: torch.Tensor | None = None

    def at_heads(self, heads_axis):
        """The same with an axis for the heads."""
        before = -3 if heads_axis == 1 else -2
        return Angles(*(None if table is None else table.unsqueeze(before) for table in self))


class RotaryTables:
    """The sines and cosines of one set of positions, computed once for all layers of a forward
    pass: `Rotary.tables` makes them.

    They hold numbers and no reference to the positions: what happens to those later changes
    nothing, and other positions need other tables. They follow the device of the positions, take
    part in autograd, and are never changed.
    """

    def __init__(self, method, queries, keys, lengths, dtype, heads_axis):
        self.layout, self.head_dim, self.rotary_dim = (
            method.layout,
            method.head_dim,
            method.rotary_dim,
        )
        self.queries, self.keys, self.lengths = queries, keys, lengths
        self.dtype, self.heads_axis = dtype, heads_axis

    def rotate(self, q, k):
        """What `Rotary.rotate` gives for these positions. q, k: as there, with heads_axis as the
        tables were made. ValueError where they do not fit the tables.
        """
        check_heads(q, k, head_dim=self.head_dim, heads_axis=self.heads_axis)
        for name, x, (batch, length) in zip(("q", "k"), (q, k), self.lengths, strict=True):
            if wide(x.dtype) != self.dtype:
                raise ValueError(
                    f"the tables are {self.dtype}, {name} is {x.dtype}: make them with"
                    f" dtype={x.dtype}"
                )
            if x.shape[3 - self.heads_axis] != length:
                raise ValueError(
                    f"the tables have {length} positions for {name}, {name} has length"
                    f" {x.shape[3 - self.heads_axis]}"
                )
            if batch not in (1, x.shape[0]):
                raise ValueError(f"the tables have batch size {batch}, {name} has {x.shape[0]}")
        return self._turn(q, self.queries), self._turn(k, self.keys)

    def _turn(self, x, angles):
        return turn(x, angles, self.layout, self.rotary_dim)

    def __repr__(self):
        (_, q_len), (_, k_len) = self.lengths
        return f"RotaryTables(q_len={q_len}, k_len={k_len}, dtype={self.dtype})"


def angles_at(positions, inv_freq, factor, layout, dtype, kept=False):
    """Angles for these positions, times the attention factor, in the type that `dtype` is turned
    in. kept: they may outlive the call, into a compiler and out of one.
    """
    sin, cos = sin_cos(positions, inv_freq)
    if isinstance(factor, torch.Tensor) or factor != 1:
        sin, cos = factor * sin, factor * cos
    dtype = wide(dtype)
    both = None
    if layout == "interleaved" and not torch.compiler.is_compiling():
        both = torch.complex(cos, sin).to(COMPLEX[dtype])
        if not kept:
            return Angles(None, None, both)
    sin, cos = sin.to(dtype), cos.to(dtype)
    if layout == "half":
        sin, cos = torch.cat([-sin, sin], -1), torch.cat([cos, cos], -1)
    return Angles(sin, cos, both)


def turn(x, angles, layout, rotary_dim):
    """The first rotary_dim features of x turned, in the type of the angles, and rounded once.

    x: (batch, heads, seq, head_dim) or with seq and heads exchanged, as the axes of the angles are.
    """
    how = _turn_interleaved if layout == "interleaved" else _turn_half
    part = x if rotary_dim == x.shape[-1] else x[..., :rotary_dim]
    turned = how(part, angles)
    return turned if part is x else torch.cat([turned, x[..., rotary_dim:]], -1)


def _turn_interleaved(x, angles):
    """Each pair (a, b) as the complex number a + ib, times cos + i·sin: one pass over memory."""
    if angles.both is None or torch.compiler.is_compiling():
        sin, cos = angles[:2]
        wider = x.to(cos.dtype)
        a, b = wider[..., 0::2], wider[..., 1::2]
        return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2).to(x.dtype)
    pairs = x.to(wide(x.dtype)).unflatten(-1, (-1, 2)).contiguous()
    return torch.view_as_real(torch.view_as_complex(pairs) * angles.both).flatten(-2).to(x.dtype)


def _turn_half(x, angles):
    """(a, b) times cos plus (b, a) times (−sin, sin): fewer passes over memory than the halves one
    by one.
    """
    sin, cos = angles[:2]
    wider, half = x.to(cos.dtype), x.shape[-1] // 2
    if x.numel() < LARGE or not _unwatched(x, cos):
        return torch.addcmul(wider * cos, wider.roll(half, -1), sin).to(x.dtype)
    turned = wider * cos
    turned[..., :half].addcmul_(wider[..., half:], sin[..., :half])
    turned[..., half:].addcmul_(wider[..., :half], sin[..., half:])
    return turned.to(x.dtype)


def _unwatched(x, table):
    """Whether nobody differentiates or traces, so that a result may be built in place."""
    watched = torch.is_grad_enabled() and (x.requires_grad or table.requires_grad)
    return not watched and visible(x) and visible(table)


def sin_cos(positions, inv_freq):
    """Sine and cosine of position × frequency: (*positions.shape, pairs) in float64.

    The rounding error of each product is carried along, as in `sinpe.formula`, so that positions up
    to 2^20 stay exact to float32.
    inv_freq: (pairs,), or (batch, 1, pairs) with positions (batch, seq).
    """
    p = positions.to(inv_freq.dtype)[..., None]
    angle = p * inv_freq
    w1, w2 = _split(inv_freq)
    if inv_freq.dtype == torch.float64 and _few_and_small(positions):
        # p is its own first half, and the products of its second are 0
        rest = torch.addcmul(p * w1 - angle, p, w2)
    else:
        p1, p2 = _split(p)
        rest = p1 * w1 - angle
        for a, b in ((p1, w2), (p2, w1), (p2, w2)):
            rest = torch.addcmul(rest, a, b)
    sin, cos = angle.sin(), angle.cos()
    return torch.addcmul(sin, rest, cos), torch.addcmul(cos, rest, sin, value=-1)


def _few_and_small(positions):
    """Whether these are the integers of a decoding step, which a look shows to have half the bits
    of a float64. Elsewhere looking costs more than it saves.
    """
    return (
        positions.dtype == torch.int64
        and positions.device.type == "cpu"
        and visible(positions)
        and positions.numel() <= 16
        and all(-(2**26) <= p <= 2**26 for p in positions.flatten().tolist())
    )


def _split(x):
    """x as the sum of two numbers of half the bits (Veltkamp), for positions far below 2^900."""
    c = (2.0**27 + 1 if x.dtype == torch.float64 else 2.0**12 + 1) * x
    high = c - (c - x)
    return high, x - high
