"""What rotary needs on several axes: matrices of frequencies, and positions in grids."""

import operator

import numpy as np
import torch

from sinpe.formula import WIDEST, inverse_frequencies, shown
from sinpe.positions.base import check_size
from sinpe.positions.extensions import check_declared, depends_on_length, extended

ORDERS = ("blocks", "interleaved")


def axial_frequencies(widths, base=10_000.0):
    """Every axis has pairs of its own with a ladder of its own: the next widths[a] // 2 pairs turn
    by p_a · base^(−2i / widths[a]), i = 0 … widths[a]/2 − 1, and no other axis moves them.

    widths: how many features each axis turns, even integers; their sum is RotaryAxes's rotary_dim.
        (16, 56, 56) with base 10 000 is FLUX and Qwen-Image, (128, 128) SAM 2's memory attention.
    Published code differs in the positions that go with it: x before y (Llama 4, SAM 2) or y first,
    counted from 0 or from 1 (Llama 4, torchtune), stretched to the grid of the training (timm's
    EVA-02), or centres of patches between −1 and 1, with frequencies times 2π (DINOv3, base 100).
    Returns float64 NumPy (axes, sum(widths) // 2).
    Raises ValueError for widths that are not even positive integers, and as inverse_frequencies.
    """
    widths = _sizes("widths", widths)
    if any(width % 2 for width in widths):
        raise ValueError(f"widths must be even, because a pair is turned as one, got {widths}")
    out, start = np.zeros((len(widths), sum(widths) // 2)), 0
    for axis, width in enumerate(widths):
        out[axis, start : start + width // 2] = inverse_frequencies(width, base)
        start += width // 2
    return out


def section_frequencies(sections, base=10_000.0, *, order="blocks", extension=None):
    """One ladder for all axes: pair i turns by p_a · base^(−i / pairs), where a is the axis that
    pair i belongs to and pairs = sum(sections).

    sections: how many pairs each axis has. (16, 24, 24) for frame, row and column is Qwen2-VL's
        `mrope_section`.
    order: "blocks" gives the fastest pairs to the first axis, the next to the second, and so on
        (Qwen2-VL, GLM-4V). "interleaved" deals the pairs out in turn, and what is left over at the
        slow end goes to the first axis (Qwen3-VL), so that every axis has fast and slow pairs.
    extension: None, or a rule of `sinpe.positions.extensions` that does not depend on the length;
        it changes the ladder before it is dealt out. Its attention factor has to be 1, since no
        matrix holds it: give RotaryAxes that factor.
    A text token has the same position on every axis, and gets what Rotary gives it.
    Returns float64 NumPy (axes, pairs).
    Raises ValueError for sections that are not positive integers, or that cannot be dealt out in
    turn; for another order; for an extension that depends on the length or has a factor.
    Source: Wang et al. 2024, https://arxiv.org/abs/2409.12191, and transformers.
    """
    sections = _sizes("sections", sections)
    if not isinstance(order, str) or order not in ORDERS:
        raise ValueError(f"order must be one of {', '.join(map(repr, ORDERS))}, got {order!r}")
    axis, pairs = _dealt(sections, order), sum(sections)
    ladder = _extended(extension, inverse_frequencies(2 * pairs, base), float(base))
    out = np.zeros((len(sections), pairs))
    out[axis, np.arange(pairs)] = ladder
    return out


def mixed_frequencies(pairs, axes=2, base=10.0, *, n_heads=None, generator=None):
    """Directions that mix the axes: axes perpendicular ones, drawn at random, each with pairs/axes
    pairs and the ladder base^(−axes · i / pairs). A start for learned frequencies.

    n_heads: None, or as many matrices, each with directions of its own.
    generator: where the directions are drawn from, a torch.Generator on the CPU.
    An axial matrix sees a diagonal only as a sum of a row and a column; a pair whose direction is
    diagonal sees it at once. base=10 with learned=True is RoPE-Mixed (Heo et al. 2024,
    https://arxiv.org/abs/2403.13298, by the released code).
    Returns float64 NumPy (axes, pairs) or (n_heads, axes, pairs).
    Raises ValueError for sizes that are not positive integers, pairs that axes does not divide.
    """
    pairs, axes = check_size("pairs", pairs), check_size("axes", axes)
    if pairs % axes:
        raise ValueError(f"pairs must be divisible by axes, got pairs={pairs}, axes={axes}")
    heads = 1 if n_heads is None else check_size("n_heads", n_heads)
    ladder = inverse_frequencies(2 * pairs // axes, base)
    directions = _rotations(heads, axes, generator)
    out = (directions[..., None] * ladder).reshape(heads, axes, pairs)
    return out[0] if n_heads is None else out


def grid_positions(height, width, *, start=0, step=1):
    """Row and column of every patch, row by row: (height · width, 2).

    start: position of the first row and column; step: from one to the next. Each is a number or a
        pair (row, column). start=1 is Llama 4's; start=(−(height − height // 2), −(width − width //
        2)) Qwen-Image's, with the origin in the middle; step=(16/height, 16/width) EVA-02's, which
        stretches an image to 16 × 16; start=(−1 + 1/height, −1 + 1/width) with step=(2/height,
        2/width) are DINOv3's centres between −1 and 1.
    Returns int64 for integers, else float64.
    Raises ValueError for sizes that are not positive integers, start or step that are not finite.
    """
    sizes = check_size("height", height), check_size("width", width)
    starts, steps = _two("start", start), _two("step", step)
    places = [a + b * np.arange(n) for n, a, b in zip(sizes, starts, steps, strict=True)]
    return torch.from_numpy(np.stack(np.meshgrid(*places, indexing="ij"), -1).reshape(-1, 2))


def mrope_positions(parts, *, frame_step=1):
    """Frame, row and column of every token of texts and images in one sequence: int64 (seq, 3).

    parts: what follows what: an integer is that many text tokens, (frames, height, width) an image
        (one frame) or a video, in tokens as the language model gets them.
    frame_step: how far one frame is from the next, rounded down after multiplying.
    A text token has one number on all three axes. An image counts from there on each axis, and what
    follows it starts after its largest number: [3, (1, 2, 2), 2] gives 0 0 0, 1 1 1, 2 2 2; 3 3 3,
    3 3 4, 3 4 3, 3 4 4; 5 5 5, 6 6 6. So an image of n × n tokens takes n numbers of the context.
    Qwen2-VL, whose code in transformers 5 goes on after max(height, width) behind a video too.
    Raises ValueError for other parts, or a frame_step that is negative or not finite.
    Source: Wang et al. 2024, §2.1, https://arxiv.org/abs/2409.12191
    """
    if not isinstance(parts, list | tuple):
        raise ValueError(f"parts must be a list, got {parts!r:.100}")
    step = _finite("frame_step", frame_step)
    if step < 0:
        raise ValueError(f"frame_step must not be negative, got {frame_step!r}")
    pieces, place = [np.zeros((0, 3), np.int64)], 0
    for part in parts:
        grid = [part] if isinstance(part, int) else part
        counts = _sizes("parts", grid, sizes=(1, 3), most=2**32)
        if len(counts) == 1:
            piece = np.repeat(np.arange(counts[0])[:, None], 3, 1)
        else:
            piece = np.stack(np.indices(counts), -1).reshape(-1, 3)
            piece[:, 0] = np.floor(piece[:, 0] * step)
        pieces.append(piece + place)
        place = pieces[-1].max() + 1
    return torch.from_numpy(np.concatenate(pieces))


def _dealt(sections, order):
    """The axis of each pair."""
    axes, pairs = len(sections), sum(sections)
    if order == "blocks":
        return np.repeat(np.arange(axes), sections)
    out = np.zeros(pairs, int)
    for axis in range(1, axes):
        turns = np.arange(axis, axes * sections[axis], axes)
        if turns[-1] >= pairs:
            raise ValueError(
                f"sections={sections} cannot be interleaved: axis {axis} would get pair {turns[-1]}"
                f" of {pairs}; the axes before it need more pairs"
            )
        out[turns] = axis
    return out


def _extended(extension, ladder, base):
    if extension is None:
        return ladder
    if not callable(extension) or isinstance(extension, type) or depends_on_length(extension):
        raise ValueError(
            "extension must be None or an object such as YaRN(4.0, 2048) that does not depend on"
            f" the length, got {extension!r}"
        )
    check_declared(extension, ladder, base)
    ladder, factor = extended(extension, ladder, base, None)
    if factor != 1:
        raise ValueError(
            f"extension multiplies queries and keys by {factor:g}, which frequencies cannot hold:"
            f" make it with attention_factor=1.0 and give RotaryAxes attention_factor={factor:g};"
            f" got {extension!r}"
        )
    return ladder


def _rotations(count, axes, generator):
    """Rotations of the axes, all equally likely: (count, axes, axes), a direction a column."""
    drawn = torch.randn(
        count, axes, axes, generator=generator, dtype=torch.float64, device="cpu"
    ).numpy()
    q, r = np.linalg.qr(drawn)
    q = q * np.sign(np.diagonal(r, axis1=-2, axis2=-1))[:, None]
    q[..., -1] *= np.linalg.det(q)[:, None]  # ±1: no reflections
    return q


def _sizes(name, values, sizes=None, most=WIDEST):
    """A list of positive integers up to `most`, of one of the lengths."""
    try:
        counts = [-1 if isinstance(v, bool) else operator.index(v) for v in values]
    except (TypeError, RuntimeError):  # no integers, or a tensor without values
        counts = []
    if min(counts, default=0) < 1 or (sizes and len(counts) not in sizes):
        shapes = "integers or (frames, height, width), all positive" if sizes else None
        raise ValueError(f"{name} must be {shapes or 'positive integers'}, got {shown(values)}")
    if max(counts) > most:
        raise ValueError(f"{name} must be at most {most} each, got {shown(max(counts))}")
    return counts


def _two(name, value):
    pair = value if isinstance(value, list | tuple) else (value, value)
    if len(pair) != 2:
        raise ValueError(f"{name} must be a number or two, got {value!r}")
    return [_finite(name, number) for number in pair]


def _finite(name, value):
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or isinstance(value, float) and not np.isfinite(value):
        raise ValueError(f"{name} must be a finite number, got {shown(value)}")
    if abs(value) > 2**53:
        raise ValueError(f"{name} must be at most 2**53 in size, got {shown(value)}")
    return value
