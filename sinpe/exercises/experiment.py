"""Checks for chapter 07: a twin without the factor, a paired interval, a choice that does not touch
the test set, what a comparison separates, a verdict; and for chapter 18: Holm's correction.
"""

import math
from statistics import NormalDist, fmean, pstdev, stdev

from sinpe.exercises._check import Mistake, check

_PAIRS = [
    ([2.10, 2.02, 2.25, 1.98, 2.07], [2.31, 2.20, 2.49, 2.22, 2.27]),
    ([1.40, 1.52, 1.47], [1.38, 1.55, 1.41]),
    (
        [0.9, 1.1, 1.0, 1.3, 0.7, 1.2, 0.8, 1.15, 0.95, 1.05],
        [1.0, 1.0, 1.1, 1.2, 0.9, 1.3, 0.7, 1.2, 1.0, 1.1],
    ),
]
_P_VALUES = [
    ([0.012, 0.2, 0.001, 0.03],),
    ([0.04, 0.03, 0.02],),
    ([0.5, 0.004, 0.009, 0.011, 0.6],),
    ([0.045, 0.5, 0.9],),
]
_SCORES = [
    (
        {
            0.001: ([2.20, 2.24, 2.22], [2.25, 2.21, 2.26]),
            0.002: ([2.05, 2.20, 2.15], [2.12, 2.18, 2.20]),
            0.006: ([2.01, 2.30, 2.35], [2.02, 2.28, 2.05]),
        },
    ),
    (
        {
            0.001: ([1.9, 2.0], [2.0, 2.2]),
            0.004: ([1.80, 2.02], [1.9, 2.4]),
            0.008: ([1.7, 2.3], [1.75, 2.65]),
        },
    ),
]
_TABLES = [(128**0.5, 128**-0.5, 0.002), (16.0, 0.02, 0.001), (8.0, 1.0, 0.003)]
_OFF, _ON = (1.0, 0.0625, 0.002), (16.0, 0.0625, 0.002)  # width 256
_SIDES = [
    (_ON, _OFF),
    (_ON, (1.0, 1.0, 0.032)),
    (_OFF, (1.0, 0.0625, 0.032)),
    (_OFF, (1.0, 1.0, 0.002)),
    (_ON, (1.0, 1.0, 0.002)),
    ((4.0, 0.25, 0.002), (2.0, 0.5, 0.004)),
    ((4.0, 0.25, 0.004), (2.0, 0.25, 0.008)),
]
_ESTIMATES = [
    (-0.20, -0.25, -0.15, 0.02),
    (0.30, 0.1, 0.5, 0.02),
    (0.001, -0.01, 0.012, 0.02),
    (-0.05, -0.15, 0.05, 0.02),
    (0.012, 0.006, 0.018, 0.02),
    (-0.012, -0.018, -0.006, 0.02),
    (0.012, 0.001, 0.030, 0.02),
    (0.03, -0.03, 0.09, 0.1),
    (-0.05, -0.07, -0.03, 0.1),
]


def check_paired_interval(attempt):
    """attempt(these, those) -> (mean, low, high): the mean of these − those, paired, and its 95 % t
    interval.
    """
    mistakes = (
        Mistake(
            "not paired",
            _unpaired,
            "the spread must be that of the differences, seed by seed, not of the two lists.",
        ),
        Mistake(
            "spread of one run",
            lambda a, b: _interval(a, b, error=lambda s, n: s),
            "divide the standard deviation by √n: the interval is for the mean.",
        ),
        Mistake(
            "normal quantile",
            lambda a, b: _interval(a, b, quantile=_normal),
            "with few seeds 1.96 is too small: take Student's t with n − 1.",
        ),
        Mistake(
            "degrees of freedom",
            lambda a, b: _interval(a, b, quantile=lambda n: _t(0.95, n)),
            "n differences leave n − 1 degrees of freedom.",
        ),
        Mistake(
            "population formula",
            lambda a, b: _interval(a, b, spread=pstdev),
            "the standard deviation of a sample divides by n − 1.",
        ),
        Mistake(
            "one-sided quantile",
            lambda a, b: _interval(a, b, quantile=lambda n: _t(0.90, n - 1)),
            "95 % between low and high leaves 2.5 % on each side.",
        ),
        Mistake(
            "wrong sign",
            lambda a, b: _interval(b, a),
            "these minus those: negative where these are lower.",
        ),
    )
    return check(
        attempt,
        _interval,
        _PAIRS,
        mistakes,
        praise="the interval is that of the differences.",
        tolerance=1e-3,
    )


def check_without_factor(attempt):
    """attempt(factor, std, rate) -> (std, rate) of a table without a factor that trains alike under
    Adam, untied.
    """
    mistakes = (
        Mistake(
            "rate forgotten",
            lambda c, std, rate: (c * std, rate),
            "the start is right; but an entry of the input also moved factor · rate a step.",
        ),
        Mistake(
            "start forgotten",
            lambda c, std, rate: (std, c * rate),
            "the speed is right; but the input also started factor times as large.",
        ),
        Mistake(
            "divided",
            lambda c, std, rate: (std / c, rate / c),
            "the table has to do what the factor did: multiply.",
        ),
        Mistake(
            "rate divided",
            lambda c, std, rate: (c * std, rate / c),
            "Adam does not see that the factor made the gradient larger: the input moves by"
            " factor · rate, so the rate grows too.",
        ),
        Mistake(
            "factor squared, as with SGD",
            lambda c, std, rate: (c * std, c**2 * rate),
            "that is right for SGD, whose step grows with the gradient; Adam's does not.",
        ),
    )
    return check(
        attempt,
        lambda c, std, rate: (c * std, c * rate),
        _TABLES,
        mistakes,
        praise="the input starts at factor · std and moves by factor · rate, and no more is seen.",
    )


def check_separation(attempt):
    """attempt(these, those) -> (start differs, speed differs); each side is (factor, std, rate) of
    an untied model.
    """
    mistakes = (
        Mistake(
            "factor left out",
            lambda a, b: (_differ(a[1], b[1]), _differ(a[2], b[2])),
            "what is read is factor · row: multiply before you compare.",
        ),
        Mistake(
            "speed beside itself",
            lambda a, b: (_differ(a[0] * a[1], b[0] * b[1]), _differ(a[2] / a[1], b[2] / b[1])),
            "rate / std is the step beside the token; asked is the step beside the position.",
        ),
        Mistake(
            "rate without the factor",
            lambda a, b: (_differ(a[0] * a[1], b[0] * b[1]), _differ(a[2], b[2])),
            "the factor multiplies a step of the table too.",
        ),
        Mistake(
            "start without the factor",
            lambda a, b: (_differ(a[1], b[1]), _differ(a[0] * a[2], b[0] * b[2])),
            "the factor multiplies the start of the table too.",
        ),
        Mistake(
            "same instead of different",
            lambda a, b: tuple(not x for x in _separation(a, b)),
            "True where the two sides differ.",
        ),
        Mistake(
            "order swapped",
            lambda a, b: _separation(a, b)[::-1],
            "first the start, then the speed.",
        ),
    )
    return check(
        attempt,
        _separation,
        _SIDES,
        mistakes,
        praise="with both True a comparison cannot say why, with none it compares equals.",
    )


def check_holm(attempt):
    """attempt(p_values) -> list of booleans: which of them Holm's method rejects at 5 % for all
    together.
    """
    mistakes = (
        Mistake(
            "no correction",
            lambda p: [x <= 0.05 for x in p],
            "with many tests some are below 0.05 by luck.",
        ),
        Mistake(
            "Bonferroni",
            lambda p: [x <= 0.05 / len(p) for x in p],
            "right for the smallest; the next is held against 0.05 / (m − 1), and so on.",
        ),
        Mistake(
            "went on after a failure",
            _holm_without_stop,
            "the first that fails stops the row: all larger p-values fail too.",
        ),
        Mistake(
            "Benjamini and Hochberg",
            _benjamini,
            "that one controls the share of false discoveries, not the chance of any.",
        ),
        Mistake(
            "order of the list lost",
            lambda p: sorted(_holm(p), reverse=True),
            "the answers belong in the order in which the p-values came.",
        ),
    )
    return check(
        attempt,
        _holm,
        _P_VALUES,
        mistakes,
        praise="the smallest against 0.05 / m, the next against 0.05 / (m − 1), until one fails.",
    )


def check_choose_then_test(attempt):
    """attempt(scores) -> mean test loss at the rate with the best validation loss; scores: {rate:
    (validation losses, test losses)} over seeds.
    """
    mistakes = (
        Mistake(
            "chosen on test",
            lambda s: min(fmean(test) for _, test in s.values()),
            "the test set was used for the choice: the result is too good.",
        ),
        Mistake(
            "best single run",
            lambda s: min(x for _, test in s.values() for x in test),
            "one lucky seed is not a rate; and it was looked up on test.",
        ),
        Mistake(
            "best seed on validation",
            lambda s: fmean(s[min(s, key=lambda r: min(s[r][0]))][1]),
            "rates are compared by their mean over seeds.",
        ),
        Mistake(
            "validation reported",
            lambda s: min(fmean(val) for val, _ in s.values()),
            "what was used for the choice cannot be the result.",
        ),
    )
    return check(
        attempt,
        lambda s: fmean(s[min(s, key=lambda r: fmean(s[r][0]))][1]),
        _SCORES,
        mistakes,
        praise="chosen on validation, read on test.",
    )


def check_verdict(attempt):
    """attempt(mean, low, high, margin) -> "lower", "higher", "equal" or "undecided"."""
    mistakes = (
        Mistake(
            "not significant taken for equal",
            lambda m, lo, hi, w: _verdict(m, lo, hi, w).replace("undecided", "equal"),
            "a wide interval shows nothing: equal needs one inside ±margin.",
        ),
        Mistake(
            "margin ignored",
            lambda m, lo, hi, w: (
                "lower" if hi < 0 else "higher" if lo > 0 else _verdict(m, lo, hi, w)
            ),
            "a difference inside the margin is too small to matter, however sure it is.",
        ),
        Mistake(
            "interval ignored",
            lambda m, lo, hi, w: "lower" if m <= -w else "higher" if m >= w else "equal",
            "the mean alone does not say how sure it is.",
        ),
        Mistake(
            "signs swapped",
            lambda m, lo, hi, w: {"lower": "higher", "higher": "lower"}.get(
                _verdict(m, lo, hi, w), _verdict(m, lo, hi, w)
            ),
            "a negative difference means lower, not higher.",
        ),
    )
    return check(
        attempt,
        _verdict,
        _ESTIMATES,
        mistakes,
        praise="sure and large, sure and small, or not sure.",
    )


def _separation(these, those):
    return tuple(_differ(these[0] * these[i], those[0] * those[i]) for i in (1, 2))


def _differ(a, b):
    return not math.isclose(a, b, rel_tol=1e-6)


def _interval(
    these,
    those,
    spread=stdev,
    quantile=lambda n: _t(0.95, n - 1),
    error=lambda s, n: s / math.sqrt(n),
):
    values = [a - b for a, b in zip(these, those, strict=True)]
    mean, half = fmean(values), quantile(len(values)) * error(spread(values), len(values))
    return mean, mean - half, mean + half


def _unpaired(these, those):
    n, mean = len(these), fmean(these) - fmean(those)
    half = _t(0.95, 2 * n - 2) * math.sqrt((stdev(these) ** 2 + stdev(those) ** 2) / n)
    return mean, mean - half, mean + half


def _t(level, df):
    # its package needs torch, the other checks do not
    from sinpe.experiments.estimates import t_quantile

    return t_quantile(level, df)


def _normal(n):
    return NormalDist().inv_cdf(0.975)


def _holm(p_values):
    out, going = [False] * len(p_values), True
    for rank, i in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        going = going and p_values[i] <= 0.05 / (len(p_values) - rank)
        out[i] = going
    return out


def _holm_without_stop(p_values):
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    return [p_values[i] <= 0.05 / (len(p_values) - order.index(i)) for i in range(len(p_values))]


def _benjamini(p_values):
    m, ordered = len(p_values), sorted(p_values)
    limit = max(
        (p for rank, p in enumerate(ordered, start=1) if p <= 0.05 * rank / m), default=-1.0
    )
    return [p <= limit for p in p_values]


def _verdict(mean, low, high, margin):
    if (high < 0 or low > 0) and abs(mean) >= margin:
        return "lower" if mean < 0 else "higher"
    return "equal" if -margin < low and high < margin else "undecided"
