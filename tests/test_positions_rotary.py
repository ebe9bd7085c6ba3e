"""Rotary: a literal rotation, what it keeps, its two layouts, and exact angles far out."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sinpe import (
    Alibi,
    DynamicNTK,
    Llama3,
    NTKAware,
    PositionInterpolation,
    Rotary,
    XPos,
    YaRN,
    inverse_frequencies,
    shift_matrix,
)
from sinpe.positions import base
from sinpe.positions.rotary import sin_cos

EXTENSIONS = [
    None,
    PositionInterpolation(4.0),
    NTKAware(4.0),
    YaRN(4.0, 64),
    Llama3(8.0, 1.0, 4.0, 64),
    DynamicNTK(2.0, 2**20),
]


def pair_of(tensors_seed, length, head_dim, dtype=torch.float64):
    generator = torch.Generator().manual_seed(tensors_seed)
    return tuple(
        torch.randn(2, 3, length, head_dim, generator=generator, dtype=torch.float64).to(dtype)
        for _ in range(2)
    )


def literal(x, positions, head_dim, rotary_dim, base, layout):
    """One pair at a time: (a, b) -> (a cos − b sin, a sin + b cos) at angle position · base^(−2i /
    rotary_dim).
    """
    out = x.clone()
    for t, p in enumerate(positions):
        for i in range(rotary_dim // 2):
            angle = p * base ** (-2 * i / rotary_dim)
            one, other = (2 * i, 2 * i + 1) if layout == "interleaved" else (i, i + rotary_dim // 2)
            a, b = x[..., t, one], x[..., t, other]
            out[..., t, one], out[..., t, other] = (
                a * math.cos(angle) - b * math.sin(angle),
                a * math.sin(angle) + b * math.cos(angle),
            )
    return out


@settings(deadline=None, max_examples=30)
@given(
    st.integers(1, 6).map(lambda n: 2 * n),
    st.integers(0, 5),
    st.sampled_from(["interleaved", "half"]),
    st.sampled_from([10.0, 1e4, 5e5]),
    st.lists(st.integers(-1000, 1000), min_size=1, max_size=4),
)
def test_equals_a_literal_rotation(rotary_dim, untouched, layout, base, positions):
    head_dim = rotary_dim + untouched
    q, k = pair_of(0, len(positions), head_dim)
    method = Rotary(head_dim, base, layout, rotary_dim)
    for x, turned in zip(
        (q, k), method.rotate(q, k, torch.tensor(positions), torch.tensor(positions)), strict=True
    ):
        assert torch.allclose(
            turned, literal(x, positions, head_dim, rotary_dim, base, layout), atol=1e-11
        )
        assert torch.equal(turned[..., rotary_dim:], x[..., rotary_dim:])


@pytest.mark.parametrize("extension", EXTENSIONS, ids=repr)
def test_scores_depend_on_the_offset_only_and_norms_are_kept(extension):
    q, k = pair_of(1, 6, 16)
    method = Rotary(16, extension=extension)
    here = method.rotate(q, k, torch.arange(6), torch.arange(6))
    there = method.rotate(q, k, torch.arange(6) + 5000, torch.arange(6) + 5000)
    assert torch.allclose(here[0] @ here[1].mT, there[0] @ there[1].mT, atol=1e-9)
    assert torch.allclose(here[0].norm(dim=-1), method.attention_factor() * q.norm(dim=-1))


def test_position_zero_is_left_alone_and_the_rotation_is_chapter_fours():
    """Rotary turns by +p, and T_p of the codes turns by −p in the (sine, cosine) plane: its
    transpose.
    """
    q, k = pair_of(2, 4, 8)
    turned, _ = Rotary(8).rotate(q, k, torch.arange(4), torch.arange(4))
    assert torch.equal(turned[..., 0, :], q[..., 0, :])
    for p in range(4):
        assert torch.allclose(
            turned[..., p, :], q[..., p, :] @ torch.from_numpy(shift_matrix(p, 8)), atol=1e-12
        )


def test_half_equals_interleaved_after_a_permutation_of_q_and_k():
    q, k = pair_of(3, 5, 12)
    to_half = [*range(0, 8, 2), *range(1, 8, 2), *range(8, 12)]
    p = torch.arange(5)
    inter, half = Rotary(12, rotary_dim=8), Rotary(12, layout="half", rotary_dim=8)
    q1, k1 = inter.rotate(q, k, p, p)
    q2, k2 = half.rotate(q[..., to_half], k[..., to_half], p, p)
    assert torch.allclose(q1[..., to_half], q2) and torch.allclose(q1 @ k1.mT, q2 @ k2.mT)
    # mixed layouts differ
    assert not torch.allclose(
        q1 @ k1.mT, half.rotate(q, k, p, p)[0] @ half.rotate(q, k, p, p)[1].mT, atol=1e-2
    )


def test_frequencies_of_a_partial_rotation_divide_by_rotary_dim():
    assert np.array_equal(Rotary(256, rotary_dim=64).inverse_frequencies(), inverse_frequencies(64))


def exact_sin_cos(positions, inv_freq):
    import mpmath

    with mpmath.workdps(40):
        angles = [[mpmath.mpf(int(p)) * mpmath.mpf(float(w)) for w in inv_freq] for p in positions]
        return tuple(
            np.array([[float(f(a)) for a in row] for row in angles])
            for f in (mpmath.sin, mpmath.cos)
        )


@pytest.mark.parametrize("extension", EXTENSIONS, ids=repr)
def test_angles_are_exact_far_out(extension):
    """Within half an ulp of 1 in float32 at positions up to 2^20, for every extension."""
    method = Rotary(128, extension=extension)
    positions = torch.cat(
        [
            torch.tensor([1, 2**20, 2**20 - 1, 999_983]),
            torch.randint(2**20, (12,), generator=torch.Generator().manual_seed(5)),
        ]
    )
    for got, exact in zip(
        sin_cos(positions, method.inv_freq),
        exact_sin_cos(positions, method.inverse_frequencies()),
        strict=True,
    ):
        assert np.abs(got.float().double().numpy() - exact).max() <= 2.99e-8
        assert np.abs(got.numpy() - exact).max() <= 1e-15


@pytest.mark.parametrize("position", [1_000, 100_000, 1_000_000])
def test_without_float64_only_the_rounded_frequencies_are_left_to_err(position, monkeypatch):
    """On such a device the frequencies are float32, and the rounding error of each product is
    carried along: never worse than the position times half an ulp of the largest frequency below 1,
    and at least three times as good as products in plain float32.
    """
    monkeypatch.setattr(base, "_widest", lambda device: torch.float32)
    method, positions = Rotary(32), torch.arange(position - 199, position + 1)
    assert method.inv_freq.dtype == torch.float32
    exact = torch.stack(sin_cos(positions, torch.from_numpy(inverse_frequencies(32))))
    carried = torch.stack(sin_cos(positions, method.inv_freq))
    angle = torch.outer(positions.float(), method.inv_freq).double()
    plain = torch.stack([angle.sin(), angle.cos()])
    worst, worst_plain = ((x.double() - exact).abs().max() for x in (carried, plain))
    assert worst <= position * 2.0**-25 + 2.0**-22 and worst < worst_plain / 3


@pytest.mark.parametrize(
    ("dtype", "ulp"),
    [(torch.float32, 2.0**-23), (torch.bfloat16, 2.0**-7), (torch.float16, 2.0**-10)],
)
@pytest.mark.parametrize("layout", ["interleaved", "half"])
@pytest.mark.parametrize("extension", EXTENSIONS, ids=repr)
def test_low_precision_inputs_are_turned_by_exact_angles_and_rounded_once(
    dtype, ulp, layout, extension
):
    q, k = pair_of(4, 8, 32, dtype)
    positions = torch.arange(8) * 149_001
    got = Rotary(32, layout=layout, extension=extension).rotate(q, k, positions, positions)
    exact = Rotary(32, layout=layout, extension=extension).rotate(
        q.double(), k.double(), positions, positions
    )
    for a, b in zip(got, exact, strict=True):
        assert ((a.double() - b).abs() <= 0.51 * ulp * b.abs().clamp(min=1) + 2.0**-22 * 4).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"head_dim": 65}, "rotary_dim=65, head_dim=65"),
        ({"head_dim": 8, "rotary_dim": 3}, "rotary_dim=3, head_dim=8"),
        ({"head_dim": 8, "rotary_dim": 10}, "rotary_dim=10, head_dim=8"),
        ({"head_dim": 0}, "head_dim .* 0"),
        ({"head_dim": 8, "base": -1.0}, "base .* -1"),
        ({"head_dim": 8, "layout": "halves"}, "layout .* 'halves'"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Rotary(**arguments)


def test_a_wrong_head_size_is_refused_at_the_call():
    with pytest.raises(
        ValueError, match=r"k must have shape \(batch, heads, len, 8\), got \(1, 2, 3, 6\)"
    ):
        Rotary(8).rotate(
            torch.zeros(1, 2, 3, 8), torch.zeros(1, 2, 3, 6), torch.arange(3), torch.arange(3)
        )


@pytest.mark.parametrize("make", [Rotary, XPos])
def test_keys_may_have_fewer_heads(make):
    """Grouped queries: a head is turned by itself, so 2 key heads give what 8 with the same content
    would.
    """
    method = make(16)
    q, k, at = torch.randn(2, 8, 5, 16), torch.randn(2, 2, 5, 16), torch.arange(5)
    turned_q, turned_k = method.rotate(q, k, at, at)
    every_q, every_k = method.rotate(q, k.repeat_interleave(4, 1), at, at)
    assert torch.equal(turned_q, every_q) and torch.equal(turned_k.repeat_interleave(4, 1), every_k)


def test_positions_that_cannot_be_meant_are_refused():
    rope, x, at = Rotary(16), torch.randn(2, 4, 5, 16), torch.arange(5)
    for bad, words in (
        (at.numpy(), "must be a tensor of integers or floats, got ndarray"),
        (at.bfloat16(), "bfloat16 cannot tell neighbouring positions apart"),
        (at.half(), "float16 cannot tell neighbouring positions apart"),
        (at.expand(3, 5), "has batch size 3, queries and keys have 2"),
    ):
        with pytest.raises(ValueError, match=words):
            rope.rotate(x, x, at, bad)
        with pytest.raises(ValueError, match=words):
            Alibi(4).score_bias(x, x, bad, at)


@pytest.mark.parametrize("extension", ["yarn", {"factor": 4.0}, YaRN])
def test_an_extension_is_an_object(extension):
    with pytest.raises(ValueError, match="extension must be None or an object such as"):
        Rotary(16, extension=extension)


def test_a_length_dependent_extension_without_keys():
    rope = Rotary(16, extension=DynamicNTK(2.0, 8))
    q, none, at = torch.randn(1, 2, 3, 16), torch.randn(1, 2, 0, 16), torch.arange(3)
    turned, empty = rope.rotate(q, none, at, at[:0])
    assert torch.equal(turned, Rotary(16).rotate(q, q, at, at)[0]) and empty.shape == none.shape
