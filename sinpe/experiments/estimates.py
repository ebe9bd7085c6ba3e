"""Means with intervals, paired differences, correction for many comparisons. Plain numbers in,
plain numbers out.
"""

import math
import sys
from dataclasses import dataclass
from numbers import Real
from statistics import fmean, stdev

LEVEL = 0.95
MANY = 200  # degrees of freedom for which an expansion takes the place of sums
MARGIN = 0.02  # nats, or share of right answers: the smallest difference of interest


@dataclass(frozen=True)
class Estimate:
    """Mean of n values with the interval low … high for the true mean, and the standard deviation
    of one value.
    """

    mean: float
    low: float
    high: float
    std: float
    n: int


@dataclass(frozen=True)
class Difference:
    """A paired difference among others that were planned with it.

    plain: its estimate with the uncorrected interval. low, high, p: corrected by Holm's method for
        all differences.
    p_equal: corrected p-value of "the true difference lies outside ±margin" (two one-sided tests).
    verdict: "lower" | "higher": not zero, and as large as the margin at least; "equal": inside the
        margin; else "undecided".
    """

    plain: Estimate
    low: float
    high: float
    p: float
    p_equal: float
    verdict: str


def is_number(value):
    """Whether a value is a real number that a float can hold; True and False are none."""
    # compared, not converted: an integer may be too large for a float
    return (
        isinstance(value, Real)
        and not isinstance(value, bool)
        and -sys.float_info.max <= value <= sys.float_info.max
    )


def estimate(values, level=LEVEL):
    """Mean of independent values with its t interval. One value has an infinite interval. Raises
    ValueError for none, for what is no finite number, and for a sum that no float holds.
    """
    _check_level(level)
    listed = _listed("values", "finite numbers, at least one", values)
    if not listed or not all(map(is_number, listed)):
        raise ValueError(f"values must be finite numbers, at least one, got {listed!r:.200}")
    values = [float(value) for value in listed]
    try:
        mean, n = fmean(values), len(values)
    except OverflowError:
        raise ValueError(
            f"values must have a sum that a float holds, got {listed!r:.200}"
        ) from None
    if n == 1:
        return Estimate(mean, -math.inf, math.inf, math.nan, n)
    std = stdev(values)
    half = t_quantile(level, n - 1) * std / math.sqrt(n)
    return Estimate(mean, mean - half, mean + half, std, n)


def differences(samples, level=LEVEL, margin=MARGIN):
    """Judge several lists of paired differences, planned together -> one Difference each, in the
    same order.

    Holm (1979): with the p-values in ascending order, the first is held against (1 − level) / m,
    the next against (1 − level) / (m − 1), and so on until one fails, which decides for all after
    it. Each interval has the level at which its difference was judged. Raises ValueError for values
    that are not finite, a level that is not between 0 and 1, and a margin below 0.
    """
    _check_level(level)
    if not is_number(margin) or margin < 0:
        raise ValueError(f"margin must be a finite number, 0 or more, got {margin!r}")
    samples = _listed("samples", "a list of lists of numbers", samples)
    samples = [_listed("values", "finite numbers, at least one", values) for values in samples]
    plain = [estimate(values, level) for values in samples]
    p, alphas = _holm([_p_zero(e) for e in plain], level)
    p_equal, _ = _holm([_p_outside(e, margin) for e in plain], level)
    out = []
    for values, e, alpha, p_zero, p_out in zip(samples, plain, alphas, p, p_equal, strict=True):
        corrected = estimate(values, 1 - alpha)
        verdict = "undecided"
        if p_zero <= 1 - level and abs(e.mean) >= margin:
            verdict = "lower" if e.mean < 0 else "higher"
        elif p_out <= 1 - level:
            verdict = "equal"
        out.append(Difference(e, corrected.low, corrected.high, p_zero, p_out, verdict))
    return out


def steps_to_reach(curve, loss):
    """The step at which a curve of (step, loss) first comes down to a loss, on the straight line
    between two points; None if it never does. Raises ValueError unless curve is pairs of finite
    numbers, and loss one.
    """
    if not is_number(loss):
        raise ValueError(f"loss must be a finite number, got {loss!r}")
    curve, before = _listed("curve", "pairs of a step and a loss", curve), None
    for point in curve:
        if not isinstance(point, list | tuple) or len(point) != 2 or not all(map(is_number, point)):
            raise ValueError(f"curve must be pairs of a step and a loss, got {point!r:.100} in it")
    for step, value in curve:
        if value <= loss:
            if before is None or before[1] == value:
                return float(step)
            return before[0] + (step - before[0]) * (before[1] - loss) / (before[1] - value)
        before = step, value
    return None


def t_probability(t, df):
    """P(|T| ≤ t) for Student's t with an integer number of degrees of freedom: the finite sums of
    Abramowitz and Stegun, 26.7.3 and 26.7.4, and for many degrees of freedom Hill's expansion
    (1970, Algorithm 395), which is exact to rounding there. Raises ValueError for a t that is no
    number, and a df that is no positive integer.
    """
    if isinstance(t, bool) or not isinstance(t, Real) or not abs(t) <= math.inf:
        raise ValueError(f"t must be a number, got {t!r}")
    if isinstance(df, bool) or not isinstance(df, int) or df < 1:
        raise ValueError(f"df must be a positive integer, got {df!r}")
    t = float(min(abs(t), sys.float_info.max))  # a longer integer is as good as infinite
    if df > MANY:
        return math.erf(_normal(t, float(min(df, 2**53))) / math.sqrt(2))
    angle = math.atan(abs(t) / math.sqrt(df))
    odd = df % 2
    term = math.cos(angle) if odd else 1.0
    total = 0.0
    for k in range(2 + odd, df + 1, 2):
        total += term
        term *= math.cos(angle) ** 2 * (k - 1) / k
    total *= math.sin(angle)
    return 2 / math.pi * (angle + total) if odd else total


def t_quantile(level, df):
    """The t with P(|T| ≤ t) = level, by bisection of its angle. Raises ValueError unless 0 < level
    < 1, and for a df that is no positive integer.
    """
    _check_level(level)
    t_probability(0.0, df)  # for what it refuses
    scale = math.sqrt(min(df, 2**53))
    low, high = 0.0, math.pi / 2
    while low < (middle := (low + high) / 2) < high:
        if t_probability(scale * math.tan(middle), df) < level:
            low = middle
        else:
            high = middle
    return scale * math.tan(low)


def _normal(t, df):
    """The value of a normal variable that is exceeded as often as a large t, by Hill's
    expansion.
    """
    a = df - 0.5
    z = math.sqrt(a * math.log1p(t / df * t))
    if z > 40:  # exceeded never, for a float; the powers below would be infinite
        return z
    b = 48 * a**2
    far = (4 * z**7 + 33 * z**5 + 240 * z**3 + 855 * z) / (10 * b * (b + 0.8 * z**4 + 100))
    return z + (z**3 + 3 * z) / b - far


def _listed(name, wanted, values):
    """`values` as a list of its entries, or ValueError."""
    try:
        if not isinstance(values, str | bytes | dict):
            return list(values)
    except TypeError:
        pass
    raise ValueError(f"{name} must be {wanted}, got {values!r:.200}")


def _check_level(level):
    if not is_number(level) or not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, got {level!r}")


def _holm(p_values, level):
    """Adjusted p-values, and the alpha against which each one was held."""
    adjusted, alphas, m = [1.0] * len(p_values), [1.0] * len(p_values), len(p_values)
    largest, failed = 0.0, None
    for rank, i in enumerate(sorted(range(m), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (m - rank) * p_values[i]))
        alpha = failed or (1 - level) / (m - rank)
        failed = failed or (alpha if p_values[i] > alpha else None)
        adjusted[i], alphas[i] = largest, alpha
    return adjusted, alphas


def _p_zero(e):
    """Two-sided p-value of a mean of zero."""
    if e.n == 1:
        return 1.0
    t, df = abs(_ratio(e.mean, e)), e.n - 1
    p = 1 - t_probability(t, df)
    return p if p > 1e-6 or df > MANY or t == math.inf else _far_tails(t, df)


def _far_tails(t, df):
    """P(|T| > t) where it is so small that one minus the rest would lose its digits, and Holm's
    method the order: the incomplete beta function as a series of positive terms.
    """
    x, a = df / (df + t * t), df / 2
    term, total, n = 1.0, 1.0, 0
    while term > 1e-17 * total:
        term *= x * (a + 0.5 + n) / (a + 1 + n)
        total, n = total + term, n + 1
    front = a * math.log(x) + math.log1p(-x) / 2 - math.log(a)
    return total * math.exp(front + math.lgamma(a + 0.5) - math.lgamma(a) - math.lgamma(0.5))


def _p_outside(e, margin):
    """The larger p-value of the two one-sided tests against −margin and +margin."""
    if e.n == 1:
        return 1.0
    t = _ratio(margin - abs(e.mean), e)
    tail = (1 - t_probability(t, e.n - 1)) / 2
    return tail if t > 0 else 1 - tail


def _ratio(distance, e):
    error = e.std / math.sqrt(e.n)
    return distance / error if error else math.copysign(math.inf, distance) if distance else 0.0
