"""The three places where position can enter a Transformer: the embeddings, the queries and keys,
the scores.
"""

import math

import torch
from torch import nn


class PositionMethod(nn.Module):
    """A position method fills one or more of three openings; each is the identity unless
    overridden.

    Positions are explicit everywhere, shape (seq,) or (batch, seq), and may start anywhere.
    A method that only fits certain models sets `d_model`, `n_heads` or `head_dim`; Transformer
    checks them.
    """

    d_model: int | None = None
    n_heads: int | None = None
    head_dim: int | None = None

    def __init__(self):
        super().__init__()
        self._derived = {}

    def embed(self, x, positions):
        """x: (batch, seq, d_model) -> the same shape, dtype and device."""
        return x

    def rotate(self, q, k, q_positions, k_positions):
        """q, k: (batch, heads, q_len | k_len, head_dim) -> both in the same shape, dtype and
        device.
        """
        return q, k

    def score_bias(self, q, k, q_positions, k_positions):
        """None, or a float32 term broadcastable to (batch, heads, q_len, k_len), added to
        q·k/√head_dim before mask and softmax.
        """

    def derive(self, name, make):
        """Register a table that follows from the arguments: never saved, never cast, rebuilt where
        `to_empty` would leave it undefined.

        make(device) -> tensor on that device.
        """
        self._derived[name] = make
        self.register_buffer(name, make(torch.empty(0).device), persistent=False)

    def _apply(self, fn, recurse=True):
        """Move derived tables with the module, but keep them out of dtype changes, which would
        round them for good.
        """
        tables = {name: self._buffers.pop(name) for name in self._derived}
        super()._apply(fn, recurse)
        for name, table in tables.items():
            device = fn(torch.empty(0, device=table.device)).device
            keep = not table.is_meta and table.dtype == _widest(device)
            self.register_buffer(
                name, table.to(device) if keep else self._derived[name](device), persistent=False
            )
        return self


def _widest(device):
    """float64, or float32 on devices that have nothing wider."""
    return torch.float32 if device.type == "mps" else torch.float64


def cast_once(x, dtype):
    """float64 -> dtype with a single rounding.

    torch converts float64 to half types through float32, which rounds twice and can miss the
    nearest value. Rounding the first step to odd (Boldo and Melquiond 2008) leaves the second one
    to decide as if it had seen every digit.
    """
    if dtype not in (torch.float16, torch.bfloat16) or x.dtype != torch.float64:
        return x.to(dtype)
    single = x.to(torch.float32)
    rest = x - single.double()
    bits = single.view(torch.int32)
    # away from zero: +1 on the magnitude's bits
    step = torch.sign(rest).int() * torch.sign(x).int()
    odd = torch.where((rest != 0) & (bits % 2 == 0), bits + step, bits)
    return odd.view(torch.float32).to(dtype)


def check_positions(name, positions, length, batch=None):
    """ValueError unless positions is a tensor of real numbers of shape (seq,) or (batch, seq) with
    seq == length.
    """
    if (
        not isinstance(positions, torch.Tensor)
        or positions.dtype == torch.bool
        or positions.is_complex()
    ):
        got = positions.dtype if isinstance(positions, torch.Tensor) else type(positions).__name__
        raise ValueError(f"{name} must be a tensor of integers or floats, got {got}")
    if positions.dtype in (torch.float16, torch.bfloat16):
        raise ValueError(
            f"{name} must be integers, float32 or float64: {positions.dtype} cannot tell"
            " neighbouring positions apart (256 and 257 in bfloat16)"
        )
    if positions.ndim not in (1, 2) or positions.shape[-1] != length:
        raise ValueError(
            f"{name} must have shape ({length},) or (batch, {length}), got {tuple(positions.shape)}"
        )
    if torch.compiler.is_compiling():  # comparing them would tie two sizes together in the graph
        return
    if batch is not None and positions.ndim == 2 and positions.shape[0] not in (1, batch):
        raise ValueError(
            f"{name} has batch size {positions.shape[0]}, queries and keys have {batch}"
        )


def check_floating(name, x):
    """ValueError unless x is a floating-point tensor."""
    if not isinstance(x, torch.Tensor) or not x.is_floating_point():
        raise ValueError(
            f"{name} must be a floating-point tensor, got {getattr(x, 'dtype', type(x).__name__)}"
        )


def check_heads(q, k, n_heads=None, head_dim=None):
    """ValueError unless q and k are (batch, n_heads, len, head_dim) with the same batch and head
    size, and the same heads where n_heads is given.
    """
    for name, x in {"q": q, "k": k}.items():
        check_floating(name, x)
        if (
            x.ndim != 4
            or (n_heads or x.shape[1]) != x.shape[1]
            or (head_dim or x.shape[3]) != x.shape[3]
        ):
            raise ValueError(
                f"{name} must have shape (batch, {n_heads or 'heads'}, len,"
                f" {head_dim or 'head_dim'}), got {tuple(x.shape)}"
            )
    if q.shape[0] != k.shape[0] or q.shape[3] != k.shape[3]:
        raise ValueError(
            f"q and k must agree in batch and head_dim, got {tuple(q.shape)} and {tuple(k.shape)}"
        )


def check_size(name, value):
    """`value`, or ValueError unless it is a positive integer."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} must be a positive integer, got {value!r}")
    return value


def check_positive(name, value):
    """`value` as a float, or ValueError unless it is positive and finite."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise ValueError(f"{name} must be a positive finite number, got {value!r}")
    return float(value)
