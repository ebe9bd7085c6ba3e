"""Extensions of Rotary: each against its published rule, and against the values that go wrong in
practice.
"""

import math

import numpy as np
import pytest
import torch
from peers import peer

from sinpe import (
    DynamicNTK,
    Llama3,
    LongRoPE,
    NTKAware,
    PositionInterpolation,
    Rotary,
    Transformer,
    TransformerConfig,
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


# --- LongRoPE, and YaRN without rounded bounds

SHORT = tuple(1 + i / 40 for i in range(D // 2))
LONG = tuple(1 + i**1.5 / 8 for i in range(D // 2))


@pytest.mark.parametrize("seq_len", [None, 1, 4096, 4097, 131_072])
def test_longrope_divides_each_frequency_by_the_factor_of_its_list(seq_len):
    method = Rotary(D, extension=LongRoPE(SHORT, list(LONG), 4096, 131_072))
    factors = LONG if seq_len is not None and seq_len > 4096 else SHORT
    for i, got in enumerate(method.inverse_frequencies(seq_len)):
        assert got == pytest.approx(BASE ** (-2 * i / D) / factors[i], rel=1e-13)
    # ln 32 / ln 4096 = 5/12
    assert method.attention_factor(seq_len) == pytest.approx(math.sqrt(17 / 12), rel=1e-15)
    assert not method.storable_keys


def test_longrope_switches_by_the_length_of_each_row():
    q, k = (
        torch.randn(3, 2, 6, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(s))
        for s in (0, 1)
    )
    rule = LongRoPE([1.0, 1.1, 1.2, 1.3], [2.0, 4.0, 8.0, 16.0], 8, 64, attention_factor=1.5)
    # the largest key at 7, at 8, and one that was read long before the end of a padded row
    rows = torch.stack([torch.arange(6) + 2, torch.arange(6) + 3, torch.tensor([9, 1, 2, 3, 4, 5])])
    got = Rotary(8, extension=rule).rotate(q, k, rows, rows)
    plain = inverse_frequencies(8)
    for row, factors in enumerate((rule.short_factor, rule.long_factor, rule.long_factor)):
        frozen = Rotary(8, extension=lambda *_, f=factors: (plain / f, 1.5))
        for a, b in zip(got, frozen.rotate(q, k, rows, rows), strict=True):
            assert torch.allclose(a[row], b[row], atol=1e-13)


def test_longrope_does_not_count_padding_and_refuses_packed_rows():
    config = TransformerConfig(11, d_model=16, n_layers=1, n_heads=2, d_ff=24)
    rule = LongRoPE([1.0] * 4, [2.0] * 4, 8, 64)
    model = Transformer(config, Rotary(8, extension=rule))
    tokens = torch.randint(11, (1, 6), generator=torch.Generator().manual_seed(0))
    padded = torch.cat([torch.zeros(1, 3, dtype=torch.long), tokens], 1)
    positions = torch.tensor([[70, 80, 90, 0, 1, 2, 3, 4, 5]])
    out = model(padded, positions, torch.arange(9).ge(3)[None])
    assert torch.allclose(out[:, 3:], model(tokens), atol=1e-5)
    with pytest.raises(ValueError, match="takes one length a row"):
        model(tokens, None, torch.ones(1, 6, 6, dtype=torch.bool))


def test_longrope_changes_with_the_key_that_crosses_the_border_and_not_again():
    method = Rotary(8, extension=LongRoPE([1.0] * 4, [2.0, 3.0, 4.0, 5.0], 8, 64))
    k = torch.randn(1, 1, 12, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    turned = [
        method.rotate(k[:, :, :n], k[:, :, :n], torch.arange(n), torch.arange(n))[1][:, :, :7]
        for n in (7, 8, 9, 12)
    ]
    assert torch.equal(turned[0], turned[1]) and torch.equal(turned[2], turned[3])
    assert not torch.allclose(turned[1], turned[2], atol=1e-3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"short_factor": [1.0] * 3}, "as many numbers, got 3 and 4"),
        ({"short_factor": [1.0, 0.0, 1.0, 1.0]}, "short_factor must be a list of positive finite"),
        ({"long_factor": [1.0, math.inf, 1.0, 1.0]}, "long_factor must be a list of positive fin"),
        ({"long_factor": 4.0}, r"long_factor must be a list .*, got 4\.0"),
        ({"long_factor": "1234"}, "long_factor must be a list .*, got '1234'"),
        ({"original_max_len": 0}, "original_max_len must be a positive integer, got 0"),
        ({"max_len": 8}, "max_len must be at least .*, got max_len=8, original_max_len=16"),
        ({"original_max_len": 1}, "original_max_len=1 has no logarithm"),
        ({"attention_factor": -1.0}, r"attention_factor must be .*, got -1\.0"),
    ],
)
def test_longrope_refuses_settings_by_name(change, message):
    settings = {
        "short_factor": [1.0] * 4,
        "long_factor": [2.0] * 4,
        "original_max_len": 16,
        "max_len": 64,
    }
    with pytest.raises(ValueError, match=message):
        LongRoPE(**{**settings, **change})


def test_longrope_refuses_lists_of_another_width():
    rule = LongRoPE([1.0] * 4, [2.0] * 4, 16, 64)
    with pytest.raises(ValueError, match=r"each of the 8 pairs \(rotary_dim=16\), got 4"):
        Rotary(16, extension=rule)
    assert Rotary(16, rotary_dim=8, extension=rule).rotary_dim == 8


def test_longrope_keeps_its_lists_from_changes_and_can_be_compared():
    short = [1.0] * 4
    rule = LongRoPE(short, [2] * 4, 16, 16)
    short[0] = 7.0
    assert rule == LongRoPE((1.0,) * 4, (2.0,) * 4, 16, 16)
    assert hash(rule) == hash(LongRoPE((1.0,) * 4, (2.0,) * 4, 16, 16))
    assert Rotary(8, extension=rule).attention_factor() == 1  # no longer than trained


LENGTHS = {"below": (0, 24), "at the border": (0, 32), "above": (9, 24), "far above": (100, 24)}


@pytest.mark.parametrize("where", LENGTHS)
@pytest.mark.parametrize("partial", [1.0, 0.75])
def test_longrope_is_phi_3s_in_transformers(where, partial):
    """Phi-3 turns all features, Phi-4-mini three quarters of them."""
    phi3 = peer("transformers.models.phi3.modeling_phi3")
    start, length = LENGTHS[where]
    n = int(32 * partial) // 2
    lists = {"short_factor": list(SHORT[:n]), "long_factor": list(LONG[:n])}
    config = phi3.Phi3Config(
        hidden_size=128,
        num_attention_heads=4,
        max_position_embeddings=256,
        original_max_position_embeddings=32,
        rope_parameters={
            "rope_type": "longrope",
            "rope_theta": 10_000.0,
            "partial_rotary_factor": partial,
            "factor": 8.0,
            **lists,
        },
    )
    ours = Rotary(
        32,
        layout="half",
        rotary_dim=2 * n,
        extension=LongRoPE(
            **lists,
            original_max_len=32,
            max_len=256,
        ),
    )
    generator = torch.Generator().manual_seed(2)
    q, k = (torch.randn(1, 4, length, 32, generator=generator).clamp(-4, 4) for _ in range(2))
    at = torch.arange(start, start + length)
    cos, sin = phi3.Phi3RotaryEmbedding(config)(q, at[None])
    theirs = phi3.apply_rotary_pos_emb(q, k, cos, sin)
    for mine, other in zip(ours.rotate(q, k, at, at), theirs, strict=True):
        assert (mine - other).abs().max() < 1e-4  # angles in float32, at positions up to 124
    utils = peer("transformers.modeling_rope_utils")
    for seq_len in (32, 33):
        inv_freq, factor = utils.ROPE_INIT_FUNCTIONS["longrope"](config, "cpu", seq_len=seq_len)
        assert ours.inverse_frequencies(seq_len) == pytest.approx(inv_freq.double(), rel=2e-6)
        assert ours.attention_factor(seq_len) == pytest.approx(factor, rel=1e-15)


def test_yarn_without_rounded_bounds_is_gpt_oss():
    """Its published settings, which are those transformers assumes where a file says nothing."""
    oss = peer("transformers.models.gpt_oss.modeling_gpt_oss")
    utils = peer("transformers.modeling_rope_utils")
    config = oss.GptOssConfig()
    inv_freq, factor = utils.ROPE_INIT_FUNCTIONS["yarn"](config, "cpu")
    method = Rotary(64, 150_000.0, "half", extension=YaRN(32.0, 4096, truncate=False))
    assert method.inverse_frequencies() == pytest.approx(inv_freq.double(), rel=2e-6)
    assert method.attention_factor() == pytest.approx(factor, rel=1e-15)
    rounded = Rotary(64, 150_000.0, extension=YaRN(32.0, 4096)).inverse_frequencies()
    assert np.abs(rounded / inv_freq.double().numpy() - 1).max() > 0.5  # not a detail
    q, at = torch.randn(1, 4, 30, 64, generator=torch.Generator().manual_seed(2)), torch.arange(30)
    theirs = oss.apply_rotary_pos_emb(q, q, *oss.GptOssRotaryEmbedding(config)(q, at[None]))
    assert (method.rotate(q, q, at, at)[0] - theirs[0]).abs().max() < 3e-5


def test_yarn_without_rounded_bounds_ramps_between_the_exact_ones():
    yarn = YaRN(4.0, 4096, truncate=False)
    low, high = yarn.correction_range(D, BASE)
    for i, got in enumerate(yarn(PLAIN, BASE, None)[0]):
        ramp = min(max((i - low) / (high - low), 0), 1)
        assert got == pytest.approx(PLAIN[i] * (1 - ramp) + PLAIN[i] / 4 * ramp, rel=1e-12)
    for length in (4, 8, 10**7):
        inv_freq, _ = YaRN(4.0, length, truncate=False)(inverse_frequencies(8), BASE, None)
        assert np.isfinite(inv_freq).all() and (inv_freq > 0).all()
    with pytest.raises(ValueError, match="truncate must be True or False, got 1"):
        YaRN(4.0, 4096, truncate=1)
