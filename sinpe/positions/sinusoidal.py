"""Sinusoidal positional encoding as a torch module. Every number comes from `sinpe.formula`."""

from functools import lru_cache

import torch

from sinpe import formula
from sinpe.positions.base import PositionMethod, cast_once, check_size, onto
from sinpe.positions.checks import check_embeddings, check_real, visible, wide

TYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


class SinusoidalEncoding(PositionMethod):
    """Adds PE(position) to the embeddings: x[b, t] + PE(positions[b, t]).

    d_model, base, layout, spacing: as in `sinpe.sinusoidal_encoding`.
    max_len: how many rows 0 … max_len − 1 are cached. It is no limit: any other position (beyond,
        negative, fractional) is computed when asked for and has the same value as in a longer
        table.
    Rows are kept in float32, each number the nearest to the exact one, and are not part of
    `state_dict`. Other types are rounded once from float64 rows, `table`, which take a sine each
    and are made when first asked for. Codes of float positions can be differentiated by the
    position, as often as wanted.
    Source: Vaswani et al. 2017, §3.5, https://arxiv.org/abs/1706.03762
    Raises ValueError for bad arguments here, for a wrong width or shape at the call.
    """

    def __init__(self, d_model, base=10_000.0, layout="interleaved", spacing="paper", max_len=4096):
        super().__init__()
        # raises for bad arguments
        formula.sinusoidal_encoding(0, d_model, base, layout=layout, spacing=spacing)
        if isinstance(max_len, bool) or not isinstance(max_len, int) or max_len < 0:
            raise ValueError(
                f"max_len must be a non-negative integer, got {formula.shown(max_len)}"
            )
        check_size("max_len", max(max_len, 1), 2**53)
        self.d_model, self.base, self.max_len = int(d_model), float(base), max_len
        self.layout, self.spacing = layout, spacing
        self.derive("codes", self._codes)
        self.derive("inv_freq", self._inv_freq)

    @property
    def table(self):
        """The rows 0 … max_len − 1 in float64, shared by all modules of the same arguments."""
        return _exact_table(*self.codes.shape, *self._arguments(), self.codes.device)

    def embed(self, x, positions):
        """x: (batch, seq, d_model); positions: (seq,) or (batch, seq), real. Returns x +
        PE(positions) in the shape, dtype and device of x.
        """
        return x + self.rows(check_embeddings(x, positions, self.d_model), x.dtype)

    forward = embed

    def rows(self, positions, dtype=torch.float32):
        """PE(positions): (*positions.shape, d_model) in the given dtype (float16, bfloat16, float32
        or float64), on the device of the table.

        positions: integers, float32 or float64 of any shape.
        """
        if not isinstance(dtype, torch.dtype) or dtype not in TYPES:
            raise ValueError(f"dtype must be one of {', '.join(map(str, TYPES))}, got {dtype!r}")
        positions = check_real("positions", positions).to(self.codes.device)
        look_up = _rows if visible(positions) else _rows_operator
        exact = dtype != torch.float32
        rows = look_up(self.codes, positions.detach(), exact, *self._arguments())
        rows = cast_once(rows, dtype) if exact else rows
        return self._with_derivatives(rows, positions) if positions.is_floating_point() else rows

    def _with_derivatives(self, rows, positions):
        """The same numbers, from NumPy, as a function of the positions: PE(p + δ) is PE(p) turned
        by δ (chapter 04), here at δ = 0.
        """
        exact = rows.to(wide(rows.dtype))
        delta = (positions - positions.detach()).to(exact.dtype)
        angle = delta[..., None] * self.inv_freq.to(exact.dtype)
        if self.layout == "interleaved":
            angle = angle.repeat_interleave(2, -1)
            across = torch.stack([exact[..., 1::2], -exact[..., 0::2]], -1).flatten(-2)
        else:
            angle = torch.cat([angle, angle], -1)
            sin, cos = exact.chunk(2, -1)
            across = torch.cat([cos, -sin], -1)
        return (exact * angle.cos() + across * angle.sin()).to(rows.dtype)

    def extra_repr(self):
        return (
            f"d_model={self.d_model}, base={self.base:g}, layout={self.layout!r},"
            f" spacing={self.spacing!r}, max_len={self.max_len}"
        )

    def _arguments(self):
        return self.base, self.layout, self.spacing

    def _codes(self):
        return _table(self.max_len, self.d_model, *self._arguments(), "float32")

    def _inv_freq(self):
        return torch.from_numpy(
            formula.inverse_frequencies(self.d_model, self.base, spacing=self.spacing)
        )


def _table(positions, d_model, base, layout, spacing, dtype):
    return torch.from_numpy(
        formula.sinusoidal_encoding(
            positions, d_model, base, layout=layout, spacing=spacing, dtype=dtype
        )
    )


@lru_cache(maxsize=4)
def _exact_table(length, d_model, base, layout, spacing, device):
    with torch.device("cpu"), torch.inference_mode(False):
        return onto(device, _table(length, d_model, base, layout, spacing, "float64"))


def _rows(
    codes: torch.Tensor,
    positions: torch.Tensor,
    exact: bool,
    base: float,
    layout: str,
    spacing: str,
) -> torch.Tensor:
    """Kept rows where all positions have one, computed rows otherwise; in float64 if exact."""
    if not positions.is_floating_point() and _inside(positions, len(codes)):
        if exact:
            codes = _exact_table(*codes.shape, base, layout, spacing, codes.device)
        return codes[positions]
    dtype = "float64" if exact else "float32"
    rows = _table(positions.cpu().numpy(), codes.shape[1], base, layout, spacing, dtype)
    return onto(codes.device, rows)


# A compiler cannot branch on values, so it is given the whole function as one operator with a known
# shape.
_rows_operator = torch.library.custom_op("sinpe::sinusoidal_rows", _rows, mutates_args=())


@_rows_operator.register_fake
def _(codes, positions, exact, base, layout, spacing):
    wide = onto(codes.device, torch.empty(0, dtype=torch.float64)).dtype
    return codes.new_empty((*positions.shape, codes.shape[1]), dtype=wide if exact else codes.dtype)


@_rows_operator.register_vmap
def _(info, in_dims, codes, positions, *options):
    return _rows_operator(codes, positions.movedim(in_dims[1], 0), *options), 0


def _inside(positions, length):
    return positions.numel() == 0 or bool((positions.amin() >= 0) & (positions.amax() < length))
