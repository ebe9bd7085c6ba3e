"""Learned positions: one trained row a position, and nothing beyond the last row; or one a patch of
a picture, and rows between the rows for another grid.
"""

import torch
from torch import nn
from torch.nn import functional as F

from sinpe.formula import WIDEST, shown
from sinpe.positions.base import (
    PositionMethod,
    check_positive,
    check_positive_or_zero,
    check_size,
)
from sinpe.positions.checks import (
    check_embeddings,
    check_floating,
    check_real,
    full_precision,
    visible,
    wide,
)

MODES = ("bicubic", "bilinear")


class LearnedEncoding(PositionMethod):
    """Adds a trained row to each embedding: x[b, t] + weight[positions[b, t]].

    d_model, max_len: the table's width and length, weight: (max_len, d_model). init_std: standard
        deviation of the initial rows.
    generator: where they are drawn from.
    Unlike a table that follows from a formula, this one is trained, belongs to the `state_dict`,
    and is cast with the module.
    Source: Gehring et al. 2017, §3.1, https://arxiv.org/abs/1705.03122; init_std as in BERT.
    Raises ValueError for bad arguments here; at the call for a wrong shape, or a position that has
    no row.
    """

    def __init__(self, d_model, max_len, init_std=0.02, *, generator=None):
        super().__init__()
        self.d_model, self.max_len = check_size("d_model", d_model), check_size("max_len", max_len)
        self.init_std = check_positive("init_std", init_std)
        self.weight = nn.Parameter(torch.empty(max_len, d_model))
        nn.init.normal_(self.weight, std=self.init_std, generator=generator)

    def embed(self, x, positions):
        """x: (batch, seq, d_model); positions: integers (seq,) or (batch, seq), from 0 to max_len −
        1. Returns the shape, dtype and device of x.
        """
        positions = check_embeddings(x, positions, self.d_model)
        return x + self.rows(positions).to(x.dtype)

    forward = embed

    def rows(self, positions):
        """The trained rows of these positions, integers of any shape: (*positions.shape,
        d_model).
        """
        positions = check_real("positions", positions)
        if positions.is_floating_point():
            raise ValueError(
                f"positions must be integers, got {positions.dtype}: a learned table has no rows"
                " between its rows"
            )
        self._check_rows(positions)
        return F.embedding(positions.to(self.weight.device), self.weight)

    def extra_repr(self):
        return f"d_model={self.d_model}, max_len={self.max_len}, init_std={self.init_std:g}"

    def _check_rows(self, positions):
        """Skipped under a compiler, which cannot branch on values; the look-up itself still refuses
        what has no row.
        """
        if not visible(positions) or not positions.numel():
            return
        low, high = positions.min().item(), positions.max().item()
        if low < 0 or high >= self.max_len:
            length = (
                f"positions up to {high}, so a table of at least {high + 1} rows"
                if high >= self.max_len
                else f"position {low}"
            )
            raise ValueError(
                f"positions must be between 0 and {self.max_len - 1}: the learned table has"
                f" max_len={self.max_len} rows, got {length}"
            )


class LearnedEncoding2D(nn.Module):
    """Adds a trained row to each patch of a picture, and to the class token before them.

    d_model: the width. size: (rows, columns) of the grid the table is for. n_prefix: how many
        tokens without a place stand before the patches, such as a class token.
    init_std, generator: as in LearnedEncoding. weight: (n_prefix + rows · columns, d_model), the
        patches row by row.
    Another grid is served by interpolation; options: those of `resize_grid_table`.
    Source: Dosovitskiy et al. 2020, §3.1 and §3.2, https://arxiv.org/abs/2010.11929
    Raises ValueError for bad arguments here, and at the call for a wrong shape.
    """

    def __init__(self, d_model, size, n_prefix=0, init_std=0.02, *, generator=None, **options):
        super().__init__()
        self.d_model, self.size = check_size("d_model", d_model), _check_grid("size", size)
        self.n_prefix = _check_prefix(n_prefix)
        self.init_std, self.options = check_positive("init_std", init_std), options
        n_rows = self.n_prefix + self.size[0] * self.size[1]
        self.weight = nn.Parameter(torch.empty(n_rows, d_model))
        nn.init.normal_(self.weight, std=self.init_std, generator=generator)
        self.rows((1, 1))  # bad options are refused here

    def forward(self, x, size=None):
        """x: (batch, n_prefix + rows · columns, d_model) -> the same shape, dtype and device. size:
        the grid of x; None means the table's own.
        """
        check_floating("x", x)
        rows, columns = size = self.size if size is None else _check_grid("size", size)
        n_tokens = self.n_prefix + rows * columns
        if x.ndim != 3 or x.shape[1] != n_tokens or x.shape[2] != self.d_model:
            raise ValueError(
                f"x must have shape (batch, {n_tokens}, {self.d_model}) for n_prefix="
                f"{self.n_prefix} and size={size}, got {tuple(x.shape)}"
            )
        return x + self.rows(size).to(x.dtype)

    def rows(self, size=None):
        """The table for a grid of this size, (n_prefix + rows · columns, d_model)."""
        size = self.size if size is None else size
        return resize_grid_table(
            self.weight, self.size, size, n_prefix=self.n_prefix, **self.options
        )

    def extra_repr(self):
        return f"d_model={self.d_model}, size={self.size}, n_prefix={self.n_prefix}"


def resize_grid_table(
    table, size, new_size, *, n_prefix=0, mode="bicubic", antialias=False, offset=0.0
):
    """A table of learned positions for a grid of `size`, interpolated for a grid of `new_size`:
    (n_prefix + rows · columns, d) -> the same with the new rows and columns.

    size, new_size: (rows, columns). The table itself is returned where they are the same.
    n_prefix: rows at the beginning that have no place, such as a class token's; they are kept.
    mode: "bicubic" or "bilinear". Row i lies at (i + ½) · old / new − ½ of the old grid, and beyond
        its border the outermost rows are repeated (align_corners=False in torch).
    antialias: widens the kernel where the grid shrinks, and takes −½ for the constant of the cubic,
        which is −¾ otherwise, so that enlarging too gives other numbers.
    offset: added to the new size in that formula. 0.1 is what DINOv2's models without registers
        were published with, against a rounding error in the number of rows.
    transformers' ViT and DINOv2 take the defaults; DINOv2 with registers and timm take
    antialias=True; DINOv2's own code takes offset=0.1 for models without registers. Half types are
    interpolated in float32 and rounded once.
    """
    check_floating("table", table)
    size, new_size = _check_grid("size", size), _check_grid("new_size", new_size)
    n_prefix = _check_prefix(n_prefix)
    if table.ndim != 2 or table.shape[0] != n_prefix + size[0] * size[1]:
        raise ValueError(
            f"table must have shape ({n_prefix + size[0] * size[1]}, d) for n_prefix={n_prefix} and"
            f" size={size}, got {tuple(table.shape)}"
        )
    if not isinstance(mode, str) or mode not in MODES:
        raise ValueError(f"mode must be one of {', '.join(map(repr, MODES))}, got {mode!r}")
    if not isinstance(antialias, bool):
        raise ValueError(f"antialias must be True or False, got {antialias!r}")
    if check_positive_or_zero("offset", offset) >= 1:
        raise ValueError(f"offset must be below 1, got {offset!r}")
    if size == new_size:
        return table
    # torch 2.13 repeats the first row where an antialiased result has one column
    exchanged = antialias and new_size[1] == 1
    scales = [(n + offset) / old for n, old in zip(new_size, size, strict=True)]
    where = {"scale_factor": scales} if offset else {"size": list(new_size)}
    with full_precision(table.device):
        grid = table[n_prefix:].to(wide(table.dtype)).unflatten(0, size).movedim(-1, 0)[None]
        if exchanged:
            grid, where = grid.mT, {key: value[::-1] for key, value in where.items()}
        grid = F.interpolate(grid, **where, mode=mode, align_corners=False, antialias=antialias)
        patches = (grid.mT if exchanged else grid)[0].movedim(0, -1).flatten(0, 1)
        return torch.cat([table[:n_prefix], patches.to(table.dtype)])


def _check_grid(name, size):
    """size as a pair of positive integers."""
    if not isinstance(size, tuple | list | torch.Size) or len(size) != 2:
        raise ValueError(f"{name} must be a pair (rows, columns), got {size!r}")
    return tuple(check_size(f"{name}[{i}]", n, WIDEST) for i, n in enumerate(size))


def _check_prefix(n_prefix):
    if isinstance(n_prefix, bool) or not isinstance(n_prefix, int) or n_prefix < 0:
        raise ValueError(f"n_prefix must be a non-negative integer, got {shown(n_prefix)}")
    if n_prefix > WIDEST:
        raise ValueError(f"n_prefix must be at most {WIDEST}, got {shown(n_prefix)}")
    return n_prefix
