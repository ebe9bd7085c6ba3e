"""Sinusoidal positional encoding as a torch module. Every number comes from `sinpe.formula`."""

import numpy as np
import torch

from sinpe import formula
from sinpe.positions.base import PositionMethod, cast_once, check_floating, check_positions


class SinusoidalEncoding(PositionMethod):
    """Adds PE(position) to the embeddings: x[b, t] + PE(positions[b, t]).

    d_model, base, layout, spacing: as in `sinpe.sinusoidal_encoding`.
    max_len: how many rows 0 … max_len − 1 are cached. It is no limit: any other position (beyond,
        negative, fractional) is computed when asked for and has the same value as in a longer
        table.
    The table is float64, is not part of `state_dict`, and is rounded once to the type of x.
    Source: Vaswani et al. 2017, §3.5, https://arxiv.org/abs/1706.03762
    Raises ValueError for bad arguments here, for a wrong width or shape at the call.
    """

    def __init__(self, d_model, base=10_000.0, layout="interleaved", spacing="paper", max_len=4096):
        super().__init__()
        # raises for bad arguments
        formula.sinusoidal_encoding(0, d_model, base, layout=layout, spacing=spacing)
        if isinstance(max_len, bool) or not isinstance(max_len, int) or max_len < 0:
            raise ValueError(f"max_len must be a non-negative integer, got {max_len!r}")
        self.d_model, self.base, self.layout, self.spacing, self.max_len = (
            int(d_model),
            float(base),
            layout,
            spacing,
            max_len,
        )
        self.derive("table", self._table)

    def embed(self, x, positions):
        """x: (batch, seq, d_model); positions: (seq,) or (batch, seq), real. Returns x +
        PE(positions) in the shape, dtype and device of x.
        """
        check_floating("x", x)
        if x.ndim != 3 or x.shape[-1] != self.d_model:
            raise ValueError(
                f"x must have shape (batch, seq, {self.d_model}), got {tuple(x.shape)}"
            )
        check_positions("positions", positions, x.shape[1])
        if positions.ndim == 2 and positions.shape[0] != x.shape[0]:
            raise ValueError(f"positions has batch size {positions.shape[0]}, x has {x.shape[0]}")
        return x + self.rows(positions, x.dtype)

    forward = embed

    def rows(self, positions, dtype=torch.float32):
        """PE(positions): (*positions.shape, d_model) in the given dtype, on the device of the
        table.
        """
        positions = positions.to(self.table.device)
        real = (
            type(positions) is torch.Tensor
            and not positions.is_meta
            and not torch.compiler.is_compiling()
        )
        rows = (_rows if real else _rows_operator)(
            self.table, positions, self.base, self.layout, self.spacing
        )
        return cast_once(rows, dtype)

    def extra_repr(self):
        return (
            f"d_model={self.d_model}, base={self.base:g}, layout={self.layout!r},"
            f" spacing={self.spacing!r}, max_len={self.max_len}"
        )

    def _table(self, device):
        return _to_torch(
            formula.sinusoidal_encoding(
                self.max_len, self.d_model, self.base, layout=self.layout, spacing=self.spacing
            ),
            device,
        )


def _rows(
    table: torch.Tensor, positions: torch.Tensor, base: float, layout: str, spacing: str
) -> torch.Tensor:
    """Cached rows where all positions are cached ones, computed rows otherwise."""
    if not positions.is_floating_point() and _inside(positions, len(table)):
        return table[positions.long()]
    codes = formula.sinusoidal_encoding(
        _to_numpy(positions), table.shape[1], base, layout=layout, spacing=spacing
    )
    return _to_torch(codes, table.device)


# A compiler cannot branch on values, so it is given the whole function as one operator with a known
# shape.
_rows_operator = torch.library.custom_op("sinpe::sinusoidal_rows", _rows, mutates_args=())


@_rows_operator.register_fake
def _(table, positions, base, layout, spacing):
    return table.new_empty((*positions.shape, table.shape[1]))


def _inside(positions, length):
    return positions.numel() == 0 or bool((positions.amin() >= 0) & (positions.amax() < length))


def _to_numpy(positions):
    positions = positions.detach().cpu()
    return (positions.double() if positions.is_floating_point() else positions).numpy()


def _to_torch(codes, device):
    if device.type == "meta":
        return torch.empty(codes.shape, dtype=torch.float64, device=device)
    return torch.from_numpy(codes.astype(np.float32) if device.type == "mps" else codes).to(device)
