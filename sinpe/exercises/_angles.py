"""How many significant bits do the angles behind a table carry? Rounded angles leave codes right
near 0 and ever wronger further out.
"""

import numpy as np

from sinpe.formula import inverse_frequencies

# what a few roundings leave of 24, 11 and 8
BITS = {"float32": (15.0, 25.5), "float16": (8.2, 15.0), "bfloat16": (3.0, 8.2)}
# what casting the finished codes does to an angle
NOISE = {"float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}


def short_type(positions, codes, kind):
    """The type whose angles explain what is wrong with the codes: "float32", "float16", "bfloat16",
    or None. kind: the type of the codes.
    """
    near = positions <= 100
    if (
        not np.isfinite(codes[near]).all()
        or np.abs(np.hypot(codes[near, 0::2], codes[near, 1::2]) - 1).max() > 0.01
    ):
        return None
    angle, gap = _gaps(positions[near], codes[near], kind)
    if gap.any():  # already too wrong here
        found = None if _smooth(angle, gap) else _named(angle, gap)
        return (
            kind if kind in ("float16", "bfloat16") and found in ("float16", "bfloat16") else found
        )
    if not np.isfinite(codes).all():
        return "float16"  # positions from 65520 on are infinite in float16, and in no other type
    return _named(*_gaps(positions[~near], codes[~near], kind))


def _gaps(positions, codes, kind):
    """Angles of at least one radian, and by how much more than the codes' own rounding these miss
    them; 0 elsewhere.
    """
    angle = positions[:, None] * inverse_frequencies(codes.shape[1])
    gap = (
        np.remainder(np.arctan2(codes[:, 0::2], codes[:, 1::2]) - angle + np.pi, 2 * np.pi) - np.pi
    )
    return angle, np.where(
        angle >= 1, np.sign(gap) * np.maximum(np.abs(gap) - NOISE.get(kind, 1e-15 * angle), 0), 0
    )


def _named(angle, gap):
    if not gap.any():
        return None
    bits = -np.log2((np.abs(gap) / np.maximum(angle, 1)).max())
    return next((name for name, (low, high) in BITS.items() if low < bits <= high), None)


def _smooth(angle, gap):
    """True where the relative gap is the same at every position and grows in step with the pair
    index: another base, not rounding.
    """
    pairs = np.flatnonzero((angle >= 1).sum(axis=0) > 2)
    used = np.where(angle >= 1, angle, 0)[:, pairs]
    slopes = (gap[:, pairs] * used).sum(axis=0) / (used**2).sum(axis=0)
    steady = np.abs(gap[:, pairs] - used * slopes).max() < 0.1 * np.abs(gap).max()
    logs = np.log1p(slopes)
    return (
        steady
        and np.abs(logs - pairs * (pairs @ logs) / (pairs @ pairs)).max() < 0.1 * np.abs(logs).max()
    )
