"""Extensions of Rotary: each against its published rule, and against the values that go wrong in
practice.
"""

import math

import numpy as np
import pytest
import torch

from sinpe import (
    DynamicNTK,
    Llama3,
    NTKAware,
    PositionInterpolation,
    Rotary,
    YaRN,
    inverse_frequencies,
)

D, BASE = 128, 10_000.0
PLAIN = inverse_frequencies(D, BASE)


def test_position_interpolation_reads_position_p_as_p_over_factor():
    q, k = (
        torch.randn(1, 2, 5, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(s))
        for s in (0, 1)
    )
    positions = torch.arange(5) * 8
    interpolated = Rotary(16, extension=PositionInterpolation(4.0)).rotate(
        q, k, positions, positions
    )
    plain = Rotary(16).rotate(q, k, positions / 4, positions / 4)
    assert all(torch.allclose(a, b) for a, b in zip(interpolated, plain, strict=True))


def test_ntk_aware_raises_the_base_keeps_the_fastest_pair_and_interpolates_the_slowest():
    inv_freq, factor = NTKAware(4.0)(PLAIN, BASE, None)
    raised = BASE * 4 ** (D / (D - 2))
    assert raised == pytest.approx(40889.94, abs=0.005)
    assert np.allclose(inv_freq, [raised ** (-2 * i / D) for i in range(D // 2)], rtol=1e-13)
    assert inv_freq[0] == 1 and inv_freq[-1] == pytest.approx(PLAIN[-1] / 4) and factor == 1


@pytest.mark.parametrize(("seq_len", "base"), [(4096, 30527.74), (8192, 72195.86)])
def test_dynamic_ntk_at_known_lengths(seq_len, base):
    method = Rotary(D, extension=DynamicNTK(2.0, 2048))
    assert np.allclose(
        method.inverse_frequencies(seq_len),
        [base ** (-2 * i / D) for i in range(D // 2)],
        rtol=1e-6,
    )
    assert np.array_equal(method.inverse_frequencies(2048), PLAIN) and np.array_equal(
        method.inverse_frequencies(), PLAIN
    )


def test_dynamic_ntk_leaves_short_inputs_alone_bit_for_bit_and_takes_each_rows_own_length():
    q, k = (
        torch.randn(2, 2, 6, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(s))
        for s in (0, 1)
    )
    dynamic, plain = Rotary(8, extension=DynamicNTK(2.0, 8)), Rotary(8)
    short, long = torch.arange(6) + 2, torch.arange(6) + 20
    rows = torch.stack([short, long])
    got = dynamic.rotate(q, k, rows, rows)
    for a, b in zip(got, plain.rotate(q, k, rows, rows), strict=True):
        assert torch.equal(a[0], b[0])
        assert not torch.allclose(a[1], b[1])
    frozen = Rotary(8, base=BASE * (2 * 26 / 8 - 1) ** (8 / 6))  # the row's length is 26
    for a, b in zip(got, frozen.rotate(q, k, rows, rows), strict=True):
        assert torch.allclose(a[1], b[1], atol=1e-12)


def test_dynamic_ntk_with_factor_one_is_the_papers_rule():
    assert np.allclose(
        Rotary(D, extension=DynamicNTK(1.0, 2048)).inverse_frequencies(6144),
        NTKAware(3.0)(PLAIN, BASE, None)[0],
        rtol=1e-13,
    )


def test_dynamic_ntk_lets_early_rows_depend_on_later_tokens():
    q, k = (
        torch.randn(1, 1, 12, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(s))
        for s in (0, 1)
    )
    method, p = Rotary(8, extension=DynamicNTK(2.0, 4)), torch.arange(12)
    full, _ = method.rotate(q, k, p, p)
    part, _ = method.rotate(q[:, :, :6], k[:, :, :6], p[:6], p[:6])
    assert not torch.allclose(full[:, :, :6], part, atol=1e-3)


@pytest.mark.parametrize(
    ("factor", "attention"),
    [(4, 1.138629), (16, 1.277259), (32, 1.346574), (64, 1.415888), (1, 1.0)],
)
def test_yarn_scales_queries_and_keys_by_its_attention_factor_once_each(factor, attention):
    method = Rotary(D, extension=YaRN(float(factor), 4096))
    assert method.attention_factor() == pytest.approx(attention, abs=5e-7)
    q, k = (
        torch.randn(1, 1, 3, D, dtype=torch.float64, generator=torch.Generator().manual_seed(s))
        for s in (0, 1)
    )
    for before, after in zip(
        (q, k), method.rotate(q, k, torch.arange(3), torch.arange(3)), strict=True
    ):
        assert torch.allclose(after.norm(dim=-1), attention * before.norm(dim=-1), rtol=1e-6)
    assert Rotary(D, extension=YaRN(4.0, 4096, attention_factor=1.0)).attention_factor() == 1


def test_yarn_correction_range_and_a_literal_ramp():
    yarn = YaRN(4.0, 4096)
    assert yarn.correction_range(D, BASE) == pytest.approx((20.944482, 45.026881), abs=5e-7)
    low, high = 20, 46
    for i, got in enumerate(yarn(PLAIN, BASE, None)[0]):
        ramp = min(max((i - low) / (high - low), 0), 1)
        assert got == pytest.approx(PLAIN[i] * (1 - ramp) + PLAIN[i] / 4 * ramp, rel=1e-12)


def test_yarn_stays_finite_where_the_range_is_empty_or_outside():
    for length in (4, 8, 10**7):
        inv_freq, _ = YaRN(4.0, length)(inverse_frequencies(8), BASE, None)
        assert np.isfinite(inv_freq).all() and (inv_freq > 0).all()


def test_llama3_by_its_three_cases():
    plain, cases = inverse_frequencies(D, 500_000.0), set()
    inv_freq, factor = Llama3(8.0, 1.0, 4.0, 8192)(plain, 500_000.0, None)
    assert factor == 1
    for w, got in zip(plain, inv_freq, strict=True):
        wavelength = 2 * math.pi / w
        if wavelength < 8192 / 4:
            expected, case = w, "kept"
        elif wavelength > 8192 / 1:
            expected, case = w / 8, "divided"
        else:
            smooth = (8192 / wavelength - 1) / (4 - 1)
            expected, case = (1 - smooth) * w / 8 + smooth * w, "blended"
        cases.add(case)
        assert got == pytest.approx(expected, rel=1e-12)
    assert cases == {"kept", "divided", "blended"}


@pytest.mark.parametrize(
    "make",
    [
        PositionInterpolation,
        NTKAware,
        lambda f: DynamicNTK(f, 16),
        lambda f: YaRN(f, 16),
        lambda f: Llama3(f, 1.0, 4.0, 16),
    ],
)
def test_a_factor_of_one_changes_nothing_and_a_smaller_one_is_refused(make):
    assert np.allclose(make(1.0)(PLAIN, BASE, None)[0], PLAIN, rtol=1e-15)
    for bad in (0.5, 0, -1.0, float("nan"), float("inf"), "4", True):
        with pytest.raises(ValueError, match="factor"):
            make(bad)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: YaRN(4.0, 0), "original_max_len .* 0"),
        (lambda: YaRN(4.0, 64, beta_fast=1, beta_slow=32), "beta_fast=1, beta_slow=32"),
        (lambda: YaRN(4.0, 64, attention_factor=-1.0), "attention_factor .* -1"),
        (lambda: DynamicNTK(2.0, 2.5), r"original_max_len .* 2\.5"),
        (lambda: Llama3(8.0, 4.0, 1.0, 64), "high_freq_factor=1.0, low_freq_factor=4.0"),
    ],
)
def test_bad_arguments_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
