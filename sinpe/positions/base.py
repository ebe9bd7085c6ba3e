"""The three places where position can enter a Transformer: the embeddings, the queries and keys,
the scores.
"""

import math

import torch
from torch import nn

from sinpe.formula import shown
from sinpe.positions.checks import check_mask, check_type


class PositionMethod(nn.Module):
    """A position method fills one or more of three openings; each is the identity unless
    overridden.

    Positions are explicit everywhere, shape (seq,) or (batch, seq), and may start anywhere:
    integers of any type, float32 or float64. A method that only fits certain models sets `d_model`,
    `n_heads` or `head_dim`, or `causal_only` where keys ahead of the query have no right value;
    Transformer checks them. `storable_keys` says whether a key, once turned, stays right however
    the text goes on, so that a cache may keep it. `axes` is set where a position is that many
    numbers; positions then have shape (seq, axes) or (batch, seq, axes). `bias_of_positions` says
    that `score_bias` takes the type and the sizes of q and k, and no value: layers may share what
    it returns.
    """

    d_model: int | None = None
    n_heads: int | None = None
    head_dim: int | None = None
    axes: int | None = None
    causal_only: bool = False
    storable_keys: bool = True
    bias_of_positions: bool = False

    def __init__(self):
        super().__init__()
        self._derived, self._single = {}, frozenset()

    def embed(self, x, positions):
        """x: (batch, seq, d_model) -> the same shape, dtype and device."""
        return x

    def rotate(self, q, k, q_positions, k_positions):
        """q, k: (batch, heads, q_len | k_len, head_dim) -> both in the same shape, dtype and
        device.
        """
        return q, k

    def score_bias(self, q, k, q_positions, k_positions):
        """None, or a term broadcastable to (batch, heads, q_len, k_len), added to q·k/√head_dim
        before mask and softmax: float32, or float64 for float64 queries.
        """

    def place_padding(self, positions, attention_mask):
        """The positions that the other openings are to get where some tokens are masked.

        attention_mask: as in Transformer, which calls this. A method whose numbers for a token
        depend on the positions of others moves those of padding, which may be anything, to where
        they change nothing; the rest leave them.
        """
        return positions

    def derive(self, name, make):
        """Register a table that follows from the arguments: never saved, never cast, rebuilt where
        `to_empty` would leave it undefined.

        make() -> float64 tensor on the CPU; it is kept in float32 on devices that have no float64.
        One that is float32 already stays so.
        """
        self._derived[name] = make
        self._build(name, torch.empty(0).device)

    def _build(self, name, device):
        with torch.device("cpu"):
            table = self._derived[name]()
        self._single = self._single | {name} if table.dtype == torch.float32 else self._single
        self.register_buffer(name, onto(device, table), persistent=False)

    def _apply(self, fn, recurse=True):
        """Move derived tables with the module, but keep them out of dtype changes, which would
        round them for good.
        """
        tables = {name: self._buffers.pop(name) for name in self._derived}
        super()._apply(fn, recurse)
        for name, table in tables.items():
            device = fn(torch.empty(0, device=table.device)).device
            wanted = torch.float32 if name in self._single else _widest(device)
            if table.is_meta or table.dtype != wanted:
                self._build(name, device)
            else:
                self.register_buffer(name, table.to(device), persistent=False)
        return self

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *rest):
        """With assign=True a model that was built on meta becomes real without `_apply`: its tables
        too, beside the method's own weights or else on the default device.
        """
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)
        if local_metadata.get("assign_to_params_buffers", False):
            own = [weight.device for weight in self._parameters.values() if weight is not None]
            for name in self._derived:
                if self._buffers[name].is_meta:
                    self._build(name, own[0] if own else torch.empty(0).device)


def move_padding(positions, attention_mask):
    """positions with those of padding moved onto the row's first token: (batch, seq).

    attention_mask: (batch, seq), True for tokens, or (batch, seq, seq), where padding is what
    neither reads nor is read. A row without tokens gets zeros.
    Raises ValueError for positions that are no tensor of real numbers, a mask that is no tensor of
    booleans or integers, or shapes that do not fit.
    """
    check_type("positions", positions)
    readable = check_mask(attention_mask)
    if readable.ndim not in (2, 3) or readable.shape[-1] != readable.shape[1]:
        raise ValueError(
            "attention_mask must have shape (batch, seq) or (batch, seq, seq), got"
            f" {tuple(readable.shape)}"
        )
    tokens = readable if readable.ndim == 2 else readable.any(-1) | readable.any(-2)
    batch, seq = tokens.shape
    if positions.shape not in ((seq,), (1, seq), (batch, seq)):
        raise ValueError(
            f"positions must have shape ({seq},), (1, {seq}) or ({batch}, {seq}), got"
            f" {tuple(positions.shape)}"
        )
    if positions.device != tokens.device:
        raise ValueError(
            f"positions must be on {tokens.device}, as attention_mask is, got {positions.device}"
        )
    positions = positions.expand(tokens.shape)
    if not positions.shape[-1]:
        return positions
    first = positions.gather(-1, tokens.int().argmax(-1, keepdim=True))
    return torch.where(tokens, positions, first * tokens.any(-1, keepdim=True))


def onto(device, table):
    """A float32 or float64 table on a device, in float32 where there is no float64: the type first,
    since some devices refuse float64 on arrival.
    """
    return table.to(_widest(device) if table.dtype == torch.float64 else table.dtype).to(device)


def _widest(device):
    """float64, or float32 on devices that have nothing wider, which say so in either way."""
    try:
        torch.zeros(1, dtype=torch.float64, device=device)
    except (TypeError, RuntimeError):
        return torch.float32
    return torch.float64


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


def check_size(name, value, most=2**63 - 1):
    """`value`, or ValueError unless it is a positive integer, at most `most`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} must be a positive integer, got {shown(value)}")
    if value > most:
        raise ValueError(f"{name} must be at most {most}, got {shown(value)}")
    return value


def check_positive(name, value):
    """`value` as a float, or ValueError unless it is positive and finite."""
    wrong = f"{name} must be a positive finite number, got {shown(value)}"
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise ValueError(wrong)
    try:
        return float(value)
    except OverflowError:
        raise ValueError(wrong) from None


def check_positive_or_zero(name, value):
    """`value` as a float, or ValueError unless it is 0, or positive and finite."""
    if isinstance(value, int | float) and not isinstance(value, bool) and value == 0:
        return 0.0
    try:
        return check_positive(name, value)
    except ValueError as error:
        raise ValueError(str(error).replace("must be", "must be 0 or", 1)) from None
