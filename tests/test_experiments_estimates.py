"""Statistics: against scipy, against a literal recomputation, and where nothing can be said."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from sinpe.experiments.estimates import (
    MARGIN,
    differences,
    estimate,
    steps_to_reach,
    t_probability,
    t_quantile,
)


@pytest.mark.parametrize("df", [1, 2, 3, 4, 5, 9, 10, 29, 200])
def test_the_t_distribution_is_that_of_scipy(df):
    for t in (0.0, 0.01, 0.5, 1.0, 2.5, 10.0, 300.0):
        assert t_probability(t, df) == pytest.approx(1 - 2 * stats.t.sf(t, df), abs=1e-14)
        assert t_probability(-t, df) == t_probability(t, df)
    for level in (0.01, 0.5, 0.95, 0.99, 0.9999):
        assert t_quantile(level, df) == pytest.approx(stats.t.ppf((1 + level) / 2, df), rel=1e-10)
    assert t_probability(math.inf, df) == 1


@pytest.mark.parametrize("df", [199, 200, 201, 202, 1001, 10**7, 2**70])
def test_many_degrees_of_freedom_take_no_longer_and_are_as_exact(df):
    for t in (0.0, 1e-9, 0.01, 1.0, 1.96, 5.0, 39.0, 1e9, 1e200, math.inf, 10**400):
        expected = 1 - 2 * stats.t.sf(float(min(t, 1e300)), float(df))
        assert t_probability(t, df) == pytest.approx(expected, abs=1e-14)
    for level in (1e-6, 0.5, 0.95, 0.9999):
        expected = stats.t.ppf((1 + level) / 2, float(df))
        assert t_quantile(level, df) == pytest.approx(expected, rel=1e-9)


def test_known_quantiles():
    assert t_quantile(0.95, 1) == pytest.approx(12.706, abs=5e-4)
    assert t_quantile(0.95, 4) == pytest.approx(2.776, abs=5e-4)
    assert t_quantile(0.95, 9) == pytest.approx(2.262, abs=5e-4)


def test_an_interval_is_that_of_scipy_and_a_literal_one():
    values = [1.93, 1.97, 1.9, 2.04, 1.95]
    e = estimate(values)
    mean = sum(values) / 5
    std = math.sqrt(sum((value - mean) ** 2 for value in values) / 4)
    assert (e.mean, e.std, e.n) == (pytest.approx(mean), pytest.approx(std), 5)
    assert (e.low, e.high) == pytest.approx(stats.t.interval(0.95, 4, mean, std / math.sqrt(5)))
    assert (estimate(values, 0.99).low, estimate(values, 0.99).high) == pytest.approx(
        stats.t.interval(0.99, 4, mean, std / math.sqrt(5))
    )


def test_the_interval_covers_the_truth_as_often_as_it_says():
    draws = np.random.default_rng(0).normal(3.0, 2.0, (2000, 5))
    covered = [e.low <= 3 <= e.high for e in map(estimate, draws)]
    assert np.mean(covered) == pytest.approx(0.95, abs=0.015)


def samples(seed=0, n=5):
    """Differences like those of a study: large, small, none, and tiny with hardly any spread."""
    rng = np.random.default_rng(seed)
    return [
        rng.normal(mean, std, n).tolist()
        for mean, std in [
            (-0.3, 0.03),
            (0.2, 0.04),
            (0.0, 0.03),
            (0.004, 0.001),
            (-0.05, 0.03),
            (0.03, 0.05),
            (-0.01, 0.2),
        ]
    ]


@pytest.mark.parametrize(("seed", "n"), list(itertools.product(range(8), (3, 5, 10))))
def test_differences_equal_a_literal_recomputation(seed, n):
    data = samples(seed, n)
    m = len(data)
    p = [stats.ttest_1samp(values, 0).pvalue for values in data]
    outside = [
        max(
            stats.ttest_1samp(v, -MARGIN, alternative="greater").pvalue,
            stats.ttest_1samp(v, MARGIN, alternative="less").pvalue,
        )
        for v in data
    ]
    for values, d, p_one, out_one in zip(data, differences(data), p, outside, strict=True):
        # Holm, without a loop: the adjusted value is the largest of the smaller ones, each times
        # what was left
        smaller = [q for q in p if q <= p_one]
        adjusted = max(min(1, (m - sum(r < q for r in p)) * q) for q in smaller)
        adjusted_out = max(
            min(1, (m - sum(r < q for r in outside)) * q) for q in outside if q <= out_one
        )
        assert d.p == pytest.approx(adjusted, abs=1e-12)
        assert d.p_equal == pytest.approx(adjusted_out, abs=1e-12)
        mean = sum(values) / n
        if adjusted <= 0.05 and abs(mean) >= MARGIN:
            assert d.verdict == ("lower" if mean < 0 else "higher")
        else:
            assert d.verdict == ("equal" if adjusted_out <= 0.05 else "undecided")
        assert (d.low > 0 or d.high < 0) == (adjusted <= 0.05)  # interval and test agree
        assert d.low <= d.plain.low and d.high >= d.plain.high
    assert n == 3 or any(d.verdict == "lower" for d in differences(data))


def test_a_single_difference_is_not_corrected():
    (d,) = differences([[0.1, 0.12, 0.14]])
    assert (d.low, d.high) == pytest.approx((d.plain.low, d.plain.high))
    assert d.p == pytest.approx(stats.ttest_1samp([0.1, 0.12, 0.14], 0).pvalue)


def test_false_findings_stay_rare_however_many_comparisons_there_are():
    rng = np.random.default_rng(1)
    studies = [differences(rng.normal(0, 0.1, (20, 5)).tolist()) for _ in range(150)]
    assert (
        np.mean([any(d.verdict in ("lower", "higher") for d in study) for study in studies]) < 0.08
    )


def test_equal_needs_evidence_and_a_small_but_certain_difference_is_not_called_large():
    certain, small, vague, edge = differences(
        [
            [0.001, 0.002, 0.0, 0.001],
            [0.010, 0.011, 0.010, 0.011],
            [0.1, -0.1, 0.05, -0.06],
            [0.019, 0.0195, 0.0198, 0.0193],
        ]
    )
    assert (certain.verdict, small.verdict, vague.verdict) == ("equal", "equal", "undecided")
    assert edge.p < 0.05 and edge.verdict in ("equal", "undecided")


def test_values_without_any_spread():
    same, none = differences([[0.5, 0.5, 0.5], [0.0, 0.0, 0.0]])
    assert (same.p, same.verdict, same.low, same.high) == (0, "higher", 0.5, 0.5)
    assert (none.p, none.p_equal, none.verdict) == (1, 0, "equal")


def test_one_value_has_no_interval_and_none_is_refused():
    assert (estimate([2.0]).low, estimate([2.0]).high, estimate([2.0]).n) == (
        -math.inf,
        math.inf,
        1,
    )
    assert differences([[2.0]])[0].verdict == "undecided"
    assert differences([]) == []
    for bad in ([], [1.0, math.nan], [math.inf]):
        with pytest.raises(ValueError, match="values must be finite numbers"):
            estimate(bad)
    with pytest.raises(ValueError, match="df must be .* 0"):
        t_probability(1, 0)
    with pytest.raises(ValueError, match="level must be .* 1"):
        t_quantile(1, 3)


def test_wrong_kinds_of_values_levels_and_margins_are_refused_whatever_the_number_of_values():
    for bad in (5, None, "12", ["a"], ["1"], [None], [[1.0]], [True], [10**400], np.float64(1)):
        with pytest.raises(ValueError, match="values must be finite numbers, at least one, got"):
            estimate(bad)
    for bad in (0, 1, -1, 2, "a", math.nan, True, None):
        for use in (
            lambda b: estimate([1.0], b),
            lambda b: estimate([1.0, 2.0], b),
            lambda b: differences([[1.0, 2.0]], level=b),
            lambda b: t_quantile(b, 3),
            lambda b: t_quantile(b, 10**9),
        ):
            with pytest.raises(ValueError, match=f"level must be between 0 and 1, got {bad!r}"):
                use(bad)
    for bad in (-0.1, math.nan, math.inf, "a", None, True):
        with pytest.raises(
            ValueError, match=f"margin must be a finite number, 0 or more, got {bad!r}"
        ):
            differences([[1.0, 2.0]], margin=bad)
    for bad in (None, 5, "ab", {"a": [1.0]}):
        with pytest.raises(ValueError, match="samples must be a list of lists of numbers, got"):
            differences(bad)
    for bad in (5, None, "12", [True]):
        with pytest.raises(ValueError, match="values must be finite numbers, at least one, got"):
            differences([[1.0, 2.0], bad])
    for bad in (None, "1", True, math.nan):
        with pytest.raises(ValueError, match=f"t must be a number, got {bad!r}"):
            t_probability(bad, 3)
    for bad in (None, "1", True, 2.0, 0, -1):
        with pytest.raises(ValueError, match=f"df must be a positive integer, got {bad!r}"):
            t_quantile(0.95, bad)
    with pytest.raises(ValueError, match="values must have a sum that a float holds"):
        estimate([1e308] * 3)


def test_values_may_come_from_anything_that_can_be_listed():
    assert estimate(iter([1.0, 2.0])) == estimate(np.array([1, 2])) == estimate((1.0, 2.0))
    assert differences(iter([iter([1.0, 2.0])])) == differences([[1.0, 2.0]])


def test_steps_to_reach_a_loss():
    curve = [(0, 4.0), (20, 3.0), (40, 2.0), (60, 2.5), (80, 1.0)]
    assert steps_to_reach(curve, 3.0) == 20
    assert steps_to_reach(curve, 2.5) == 30
    assert steps_to_reach(curve, 1.5) == pytest.approx(60 + 20 * 2 / 3)
    assert steps_to_reach(curve, 5.0) == 0
    assert steps_to_reach(curve, 1.0) == 80
    assert steps_to_reach(curve, 0.5) is None
    assert steps_to_reach([(0, 1.0), (5, 1.0)], 1.0) == 0
    for bad in (None, 5, "ab", [1], [(0,)], [(0, "a")], [(0, math.nan)], [(True, 1.0)]):
        with pytest.raises(ValueError, match="curve must be pairs of a step and a loss, got"):
            steps_to_reach(bad, 1.0)
    for bad in (None, "1", math.nan, True):
        with pytest.raises(ValueError, match=f"loss must be a finite number, got {bad!r}"):
            steps_to_reach(curve, bad)


@pytest.mark.parametrize("n", [2, 3, 5, 16, 24])
def test_tiny_p_values_keep_their_digits_and_their_order(n):
    """Where Holm's method has to rank differences that are all beyond doubt."""
    base = np.linspace(-1, 1, n)
    samples = [list(shift + base) for shift in (10.0, 100.0, 300.0, 1000.0)]
    found = differences(samples)
    p = np.array([stats.ttest_1samp(x, 0).pvalue for x in samples])
    order = np.argsort(p)
    expected = np.maximum.accumulate((4 - np.arange(4)) * p[order]).clip(max=1)[order.argsort()]
    assert np.allclose([d.p for d in found], expected, rtol=1e-8, atol=0)
