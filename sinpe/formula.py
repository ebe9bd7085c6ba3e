"""The sinusoidal positional encoding and everything about it that can be proved. NumPy only.

    PE(pos, 2i)     = sin(pos · ω_i)          ω_i = base^(−2i / d_model),   i = 0 … d_model/2 − 1
    PE(pos, 2i + 1) = cos(pos · ω_i)

Source: Vaswani et al. 2017, "Attention Is All You Need", §3.5, https://arxiv.org/abs/1706.03762
"""

import operator
from decimal import Decimal, localcontext
from functools import lru_cache

import numpy as np

from sinpe.nearest import DIGITS, decimal_waves, nearest, put, turn

LAYOUTS = ("interleaved", "concatenated")
SPACINGS = ("paper", "tensor2tensor")
_BLOCK = 1 << 14  # angles computed at a time, so that the temporaries stay in the cache
WIDEST = 2**20  # far beyond any model: a slip is refused instead of computed for hours
_TINY = 2.0**-30  # below this, sin(e) = e and cos(e) = 1 to float64 rounding
_JUDGED = 2.0**22  # the largest angle at which float64 values are known to be as exact as here:
_VALUE_OFF, _ANGLE_OFF = 2.0**-49, 2.0**-100  # sixteen times what sine, sum and digits of ω miss
_TURNED = 2**11  # pairs; of wider codes too few rows fit into the cache to be worth turning


def inverse_frequencies(d_model, base=10_000.0, *, spacing="paper"):
    """Angular frequencies ω_i = base^(−2i / d_model), in radians per position, fastest first.

    spacing: "paper" divides the pair index by d_model/2; "tensor2tensor" by d_model/2 − 1, which is
        another grid, not another order: its last frequency is exactly 1/base.
    Returns float64 of shape (d_model // 2,), each value correctly rounded.
    Raises ValueError for an odd or non-positive d_model, a base that is not positive and finite, an
    unknown spacing.
    """
    return _frequencies(
        _even_width("d_model", d_model),
        _positive("base", base),
        _one_of("spacing", spacing, SPACINGS),
    )[0].copy()


def wavelengths(d_model, base=10_000.0, *, spacing="paper"):
    """Wavelengths 2π / ω_i in positions, shortest first; float64 of shape (d_model // 2,). Errors
    as in inverse_frequencies.
    """
    return 2 * np.pi / inverse_frequencies(d_model, base, spacing=spacing)


def sinusoidal_encoding(
    positions, d_model, base=10_000.0, *, layout="interleaved", spacing="paper", dtype=np.float64
):
    """Sinusoidal codes of the given positions, shape (\\*positions.shape, d_model).

    positions: an integer scalar n means 0 … n − 1; a float or an array (0-d included) holds real
        positions, which may be negative or fractional.
    layout: "interleaved" puts each sine beside its cosine (the paper); "concatenated" puts all
        sines first.
    dtype: float16, float32 or float64. Angles are carried to about twice float64 precision and
        rounded to dtype once, at the end: for |position| up to 2^53 the absolute error is at most
        half an ulp of 1 in float16 and float32 (2.99e-8 there), and 4e-16 in float64, where NumPy's
        own sine and cosine are the limit. Up to |position · ω| = 2^22, each float16 and float32
        value is the number nearest to the exact one.
    The code of a position never depends on the other positions in the call.
    Raises ValueError for positions that are not finite or not real, and as inverse_frequencies
    does.

    >>> sinusoidal_encoding(2, 4).round(4)
    array([[0.    , 1.    , 0.    , 1.    ],
           [0.8415, 0.5403, 0.01  , 1.    ]])
    """
    d_model = _even_width("d_model", d_model)
    base = _positive("base", base)
    layout = _one_of("layout", layout, LAYOUTS)
    spacing = _one_of("spacing", spacing, SPACINGS)
    dtype = _float_dtype(dtype)
    positions = _positions(positions)
    out = np.empty((*positions.shape, d_model), dtype)
    rows, flat = out.reshape(-1, d_model), positions.reshape(-1)
    span = None if dtype == np.float64 else _span(flat, d_model, base, spacing)
    if span is None:
        _fill(rows, flat, d_model, base, spacing, layout)
    elif np.array_equal(flat, span):
        _turn(rows, span, d_model, base, spacing, layout)
    else:
        every = np.empty((len(span), d_model), dtype)
        _turn(every, span, d_model, base, spacing, layout)
        np.take(every, (flat - span[0]).astype(np.int64), axis=0, out=rows)
    return out


def sinusoidal_encoding_2d(
    height,
    width,
    d_model,
    base=10_000.0,
    *,
    layout="interleaved",
    spacing="paper",
    dtype=np.float64,
):
    """Codes of a grid, shape (height, width, d_model): the first half of the features encodes the
    row, the second the column.

    d_model must be divisible by 4, since each half is a sinusoidal encoding of its own. Other
    errors as in sinusoidal_encoding.
    """
    d_model = _even_width("d_model", d_model)
    if d_model % 4:
        raise ValueError(
            "d_model must be divisible by 4 (rows and columns each need sine-cosine pairs), got"
            f" {d_model}"
        )
    height, width = _side("height", height), _side("width", width)
    options = {"layout": layout, "spacing": spacing, "dtype": dtype}
    out = np.empty((height, width, d_model), _float_dtype(dtype))
    out[..., : d_model // 2] = sinusoidal_encoding(height, d_model // 2, base, **options)[:, None]
    out[..., d_model // 2 :] = sinusoidal_encoding(width, d_model // 2, base, **options)
    return out


def shift_matrix(offset, d_model, base=10_000.0, *, layout="interleaved"):
    """The orthogonal matrix T_k with T_k @ PE(p) == PE(p + k) for every p; shape (d_model,
    d_model), float64.

    In the interleaved layout it is block-diagonal with one rotation [[cos kω, sin kω], [−sin kω,
    cos kω]] a pair.
    offset: any finite real k. Errors as in sinusoidal_encoding.
    """
    d_model, offset = (
        _even_width("d_model", d_model),
        _positions(_scalar("offset", offset), "offset"),
    )
    _one_of("layout", layout, LAYOUTS)
    _, sin, cos = next(_sin_cos(offset.reshape(1), d_model, _positive("base", base), "paper"))
    pair = np.arange(d_model // 2)
    even, odd = (2 * pair, 2 * pair + 1) if layout == "interleaved" else (pair, pair + d_model // 2)
    matrix = np.zeros((d_model, d_model))
    matrix[even, even] = matrix[odd, odd] = cos[0]
    matrix[even, odd], matrix[odd, even] = sin[0], -sin[0]
    return matrix


def similarity(offsets, d_model, base=10_000.0):
    """Normalised dot product of two codes that are `offsets` apart: κ(Δ) = (2/d_model) Σ_i cos(ω_i
    Δ), so κ(0) = 1.

    offsets: a real number or an array of them (an integer scalar is one offset here). Returns
    float64 of the same shape. Errors as in sinusoidal_encoding.
    """
    offsets = _positions(_array("offsets", offsets), "offsets")
    out = np.empty(offsets.size)
    for block, _, cos in _sin_cos(
        offsets.reshape(-1), _even_width("d_model", d_model), _positive("base", base), "paper"
    ):
        out[block] = cos.mean(axis=1)
    return out.reshape(offsets.shape)[()]


@lru_cache(maxsize=64)
def _frequencies(d_model, base, spacing):
    """ω as an unevaluated sum of two float64 arrays: the correctly rounded value and the rest."""
    pairs = d_model // 2
    with localcontext() as context:
        context.prec = 50
        exact = _decimal_frequencies(range(pairs), d_model, base, spacing)
        high = np.array([float(w) for w in exact])
        if not np.isfinite(high).all():
            raise ValueError(f"base={base} gives frequencies beyond float64 at d_model={d_model}")
        low = np.array([float(w - Decimal(h)) for w, h in zip(exact, high.tolist(), strict=True)])
    high.flags.writeable = low.flags.writeable = False
    return high, low


def _decimal_frequencies(pairs, d_model, base, spacing):
    steps = d_model // 2 if spacing == "paper" else max(d_model // 2 - 1, 1)
    log_base = Decimal(base).ln()
    return [(-log_base * i / steps).exp() for i in pairs]


def _sin_cos(positions, d_model, base, spacing):
    """Yield (slice, sin, cos) over blocks of a flat array of positions; sin and cos have shape
    (block, d_model // 2).

    At position 10^6 a float64 angle is off by 1e-10, enough to spoil the last rounding, so the part
    of position × frequency that float64 drops is kept as `rest` and added by the angle-sum
    identities.
    """
    high, low = _frequencies(d_model, base, spacing)
    if positions.size and np.abs(positions).max() > np.finfo(float).max / max(high[0], high[-1], 1):
        raise ValueError(
            f"position {positions[np.abs(positions).argmax()]} times frequency"
            f" {max(high[0], high[-1])} is beyond float64"
        )
    step = max(1, _BLOCK // len(high))
    for start in range(0, len(positions), step):
        block = slice(start, min(start + step, len(positions)))
        yield block, *_waves(positions[block, None], high, low)


def _waves(p, high, low):
    """Sine and cosine of p · (high + low), in the shape to which the three broadcast."""
    angle = p * high
    rest = _product_error(p, high, angle) + p * low
    sin, cos = np.sin(angle), np.cos(angle)
    sin, cos = sin + rest * cos, cos - rest * sin
    large = np.abs(rest) > _TINY  # only beyond |angle| ≈ 10^7
    if large.any():
        a, e = angle[large], rest[large]
        sin[large] = np.clip(np.sin(a) * np.cos(e) + np.cos(a) * np.sin(e), -1, 1)
        cos[large] = np.clip(np.cos(a) * np.cos(e) - np.sin(a) * np.sin(e), -1, 1)
    return sin, cos


def _halves(rows, layout):
    """The columns of the sines, and those of the cosines."""
    if layout == "interleaved":
        return rows[:, 0::2], rows[:, 1::2]
    return np.split(rows, 2, axis=1)


def _fill(rows, positions, d_model, base, spacing, layout):
    """Codes of any positions, a sine and a cosine for each pair."""
    halves, pair = _halves(rows, layout), np.arange(d_model // 2)
    for block, *waves in _sin_cos(positions, d_model, base, spacing):
        for cosine, (half, value) in enumerate(zip(halves, waves, strict=True)):
            if rows.dtype == np.float64:
                half[block] = value
            else:
                p = positions[block, None]
                _round(half[block], value, p, pair, cosine, d_model, base, spacing)


def _span(positions, d_model, base, spacing):
    """The whole numbers from the least position to the greatest, or None where a sine for each is
    called for: they are not whole, too far out, too far apart, or too few.
    """
    pairs = d_model // 2
    if positions.size * pairs < _BLOCK or pairs > _TURNED:
        return None
    low, high = positions.min(), positions.max()
    fastest = max(1, *_frequencies(d_model, base, spacing)[0][[0, -1]])
    near = max(-low, high) * fastest <= _JUDGED and high - low < 2 * positions.size
    whole = near and (positions == np.rint(positions)).all()
    return np.arange(low, high + 1) if whole else None


def _turn(rows, span, d_model, base, spacing, layout):
    """Codes of consecutive whole positions in a narrow type, a product for each number."""
    high, low = _frequencies(d_model, base, spacing)

    def look_closer(index, part):
        """What turning left open, by a sine."""
        row, column = index
        pair, cosine = (column // 2, column % 2) if layout == "interleaved" else (column, part)
        p, out = span[row], np.empty(len(row), rows.dtype)
        value = np.choose(cosine, _waves(p, high[pair], low[pair]))
        _round(out, value, p, pair, cosine, d_model, base, spacing)
        return out

    if layout == "interleaved":
        parts = [(rows, lambda codes: codes.view(np.float64))]
    else:
        parts = list(zip(_halves(rows, layout), (np.real, np.imag), strict=True))
    turn(parts, span[0], lambda p: _waves(p, high, low), look_closer)


def _round(out, value, p, pair, cosine, d_model, base, spacing):
    """Values of _waves into out, each to the nearest number of its type; what float64 cannot decide
    by the exact sine or cosine.
    """
    angle = np.abs(p * _frequencies(d_model, base, spacing)[0][pair])
    error = np.where(angle <= _JUDGED, _VALUE_OFF * np.abs(value) + _ANGLE_OFF * angle, 0)

    def look_closer(index):
        found = []
        asked = [np.broadcast_to(x, out.shape)[index].tolist() for x in (p, pair, cosine)]
        for position, i, which in zip(*asked, strict=True):
            with localcontext() as context:
                context.prec = DIGITS
                (frequency,) = _decimal_frequencies([i], d_model, base, spacing)
                angle = Decimal(position) * frequency
            found.append(nearest(decimal_waves(angle)[which], out.dtype))
        return found

    put(out, value, error, look_closer)


def _product_error(a, b, product):
    """a·b − product exactly (Dekker 1971), for product = fl(a·b). Zero where splitting would
    overflow.
    """
    (a1, a2), (b1, b2) = _split(a), _split(b)
    return ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2


def _split(x):
    """x as the sum of two float64 numbers of at most 26 bits each."""
    mantissa, exponent = np.frexp(x)  # scaling first, so that huge values do not overflow
    c = 134217729.0 * mantissa
    # never ±1, which ldexp could lift beyond the largest number
    high = np.clip(c - (c - mantissa), -1 + 2.0**-26, 1 - 2.0**-26)
    return np.ldexp(high, exponent), np.ldexp(mantissa - high, exponent)


def _positions(positions, name="positions"):
    if isinstance(positions, int | np.integer) and not isinstance(positions, bool):
        return np.arange(_side(name, positions), dtype=np.float64)
    given = _array(name, positions)
    if given.dtype.kind not in "iuf":
        raise ValueError(f"{name} must be real numbers, got dtype {given.dtype}")
    positions = given.astype(np.float64)
    if not np.isfinite(positions).all():
        raise ValueError(f"{name} must be finite, got {positions[~np.isfinite(positions)].flat[0]}")
    if (
        given.dtype.kind in "iu"
        and given.size
        and max(abs(int(given.max())), abs(int(given.min()))) > 2**53
    ):
        raise ValueError(
            f"integer {name} must be at most 2**53 in size to be exact, got"
            f" {max(given.max(), given.min(), key=lambda v: abs(int(v)))}"
        )
    return positions


def _array(name, value):
    try:
        return np.asarray(value)
    except (TypeError, ValueError):  # a tensor without values, rows of different lengths
        raise ValueError(f"{name} must be a number or an array of numbers, got {value!r}") from None


def _scalar(name, value):
    value = _array(name, value)
    if value.ndim:
        raise ValueError(f"{name} must be a single number, got an array of shape {value.shape}")
    return value


def _even_width(name, value):
    try:
        number = _count(name, value)
    except ValueError:
        number = 0
    if number < 2 or number % 2:
        raise ValueError(
            f"{name} must be an even positive integer, because each frequency needs a sine and a"
            f" cosine; got {shown(value)}"
        )
    if number > WIDEST:
        raise ValueError(f"{name} must be at most {WIDEST}, got {shown(value)}")
    return number


def _count(name, value):
    try:
        number = -1 if isinstance(value, bool | np.bool_) else operator.index(value)
    except TypeError:
        raise ValueError(f"{name} must be an integer, got {shown(value)}") from None
    if number < 0:
        raise ValueError(f"{name} must be a non-negative integer, got {shown(value)}")
    return number


def _side(name, value):
    number = _count(name, value)
    if number > 2**53:
        raise ValueError(f"{name} must be at most 2**53 to be exact, got {shown(number)}")
    return number


def _positive(name, value):
    try:
        number = np.nan if isinstance(value, str | bytes | bool | np.bool_) else float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be a positive finite number, got {shown(value)}") from None
    if not 0 < number < np.inf:
        raise ValueError(f"{name} must be a positive finite number, got {shown(value)}")
    return number


def shown(value):
    """A value as errors name it: an integer of hundreds of digits by its size."""
    if isinstance(value, int) and value.bit_length() > 64:
        return f"an integer of {value.bit_length()} bits"
    return repr(value)


def _one_of(name, value, allowed):
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")
    return value


def _float_dtype(dtype):
    try:
        resolved = np.dtype(dtype)
    except TypeError:
        resolved = None
    if resolved not in (np.float16, np.float32, np.float64):
        raise ValueError(f"dtype must be float16, float32 or float64, got {dtype!r}")
    return resolved
