"""Rotary: a literal rotation, what it keeps, its two layouts, and exact angles far out."""

import copy
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from peers import peer
from torch.autograd import forward_ad

from sinpe import (
    Alibi,
    DynamicNTK,
    Llama3,
    LongRoPE,
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
from sinpe.positions.turning import LARGE, upper_half

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


# --- what was computed before there were tables, written out


def before(x, positions, method):
    """Every product with its error, both numbers split; one temporary a step."""

    def split(x):
        c = (2.0**27 + 1) * x
        high = c - (c - x)
        return high, x - high

    p, w = positions.double()[..., None], method.inv_freq
    (p1, p2), (w1, w2) = split(p), split(w)
    rest = p1 * w1 - p * w
    for a, b in ((p1, w2), (p2, w1), (p2, w2)):
        rest = torch.addcmul(rest, a, b)
    sin, cos = (p * w).sin(), (p * w).cos()
    sin, cos = torch.addcmul(sin, rest, cos), torch.addcmul(cos, rest, sin, value=-1)
    if method.factor != 1:
        sin, cos = method.factor * sin, method.factor * cos
    wide = torch.float64 if x.dtype == torch.float64 else torch.float32
    sin, cos = (table.to(wide)[..., None, :, :] for table in (sin, cos))
    first, rest = x[..., : method.rotary_dim].to(wide), x[..., method.rotary_dim :]
    if method.layout == "interleaved":
        pairs = torch.view_as_complex(first.unflatten(-1, (-1, 2)).contiguous())
        turned = torch.view_as_real(pairs * torch.complex(cos, sin)).flatten(-2)
    else:
        sin, cos = torch.cat([-sin, sin], -1), torch.cat([cos, cos], -1)
        turned = torch.addcmul(first * cos, first.roll(first.shape[-1] // 2, -1), sin)
    return torch.cat([turned.to(x.dtype), rest], -1)


PLACES = {
    "one": torch.tensor([4097]),
    "one, not small": torch.tensor([[2**26 + 1]]),
    "rows": torch.tensor([[3], [2**26]]),
    "beyond half the bits": torch.tensor([2**26 + 1, 2**40 + 1, -(2**33) - 7]),
    "floats": torch.tensor([0.25, -3.5, 1e6]).double(),
    "many": torch.arange(-5, 700),
}


@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("layout", ["interleaved", "half"])
@pytest.mark.parametrize("rotary_dim", [64, 24])
def test_values_are_what_they_were_bit_for_bit(places, layout, rotary_dim):
    positions = PLACES[places]
    generator = torch.Generator().manual_seed(6)
    for extension in (None, YaRN(4.0, 64)):
        method = Rotary(64, layout=layout, rotary_dim=rotary_dim, extension=extension)
        for dtype in (torch.float64, torch.float32, torch.bfloat16):
            q = torch.randn(2, 3, positions.shape[-1], 64, generator=generator).to(dtype)
            # as projections leave them, in memory (batch, len, heads, head_dim)
            k = q.transpose(1, 2).contiguous().transpose(1, 2)
            for grad in (False, True):
                given = q.clone().requires_grad_(grad)
                got = method.rotate(given, k, positions, positions.clone())
                for x, turned in zip((q, k), got, strict=True):
                    assert torch.equal(turned, before(x, positions, method))
            with torch.no_grad():
                assert torch.equal(
                    method.rotate(given, k, positions, positions)[0], before(q, positions, method)
                )


@given(st.integers(-(2**26), 2**26))
def test_integers_of_half_the_bits_are_their_own_upper_half(p):
    assert upper_half(torch.tensor(p, dtype=torch.float64)) == p


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is:DeprecationWarning")
def test_a_result_that_is_built_in_place_can_still_be_differentiated_forwards():
    """No gradient is asked for, so the large half layout is turned in place."""
    method, at = Rotary(64, layout="half"), torch.arange(600)
    x, direction = torch.randn(2, 1, 1, 600, 64)
    assert x.numel() >= LARGE
    with torch.no_grad(), forward_ad.dual_level():
        turned = method.rotate_one(forward_ad.make_dual(x, direction), at)
        tangent = forward_ad.unpack_dual(turned).tangent
    assert torch.allclose(tangent, method.rotate_one(direction, at), atol=1e-6)


# --- the order of the axes, one tensor alone, shifted keys


VARIANTS = {
    "interleaved": lambda: Rotary(16),
    "half": lambda: Rotary(16, layout="half"),
    "partial": lambda: Rotary(16, rotary_dim=6),
    "half partial yarn": lambda: Rotary(16, layout="half", rotary_dim=10, extension=YaRN(4.0, 64)),
    "dynamic": lambda: Rotary(16, extension=DynamicNTK(2.0, 8)),
    "longrope": lambda: Rotary(16, extension=LongRoPE([1.0] * 8, [2.0] * 8, 8, 64)),
}


@pytest.fixture(params=VARIANTS)
def variant(request):
    return VARIANTS[request.param]()


@pytest.mark.parametrize("heads", [3, 7])  # 7 as the length, where an exchange would go unnoticed
def test_heads_behind_the_length_are_the_same_after_transposing(variant, heads):
    generator = torch.Generator().manual_seed(7)
    q = torch.randn(2, heads, 7, 16, generator=generator)
    k = torch.randn(2, 1, 7, 16, generator=generator)
    for positions in (torch.arange(7) + 5, torch.arange(14).view(2, 7)):
        expected = variant.rotate(q, k, positions, positions)
        exchanged = [x.transpose(1, 2).contiguous() for x in (q, k)]
        ways = [
            variant.rotate(*exchanged, positions, positions, heads_axis=2),
            variant.tables(positions, heads_axis=2).rotate(*exchanged),
        ]
        for way in ways:
            for x, right in zip(way, expected, strict=True):
                assert torch.allclose(x.transpose(1, 2), right, atol=1e-6)
        lengths = positions.max(-1).values + 1
        one = variant.rotate_one(exchanged[0], positions, seq_len=lengths, heads_axis=2)
        assert torch.allclose(one.transpose(1, 2), expected[0], atol=1e-6)
        back = variant.shift(ways[0][1], -3, seq_len=lengths, heads_axis=2).transpose(1, 2)
        right = variant.shift(expected[1], -3, seq_len=lengths)
        assert torch.allclose(back, right, atol=1e-6)


def test_xpos_takes_the_other_order_too():
    q, at = torch.randn(2, 3, 7, 16), torch.arange(7) * 40
    for method in (XPos(16), XPos(16, centre=100)):
        right = method.rotate(q, q, at, at)
        other = method.rotate(q.transpose(1, 2), q.transpose(1, 2), at, at, heads_axis=2)
        for a, b in zip(other, right, strict=True):
            assert torch.allclose(a.transpose(1, 2), b, atol=1e-5)


@pytest.mark.parametrize("axis", [0, 3, -1, True, 1.0, "2"])
def test_other_orders_are_refused(axis):
    x, at = torch.randn(1, 2, 3, 16), torch.arange(3)
    for call in (
        lambda: Rotary(16).rotate(x, x, at, at, heads_axis=axis),
        lambda: Rotary(16).rotate_one(x, at, heads_axis=axis),
        lambda: Rotary(16).shift(x, 1, heads_axis=axis),
        lambda: Rotary(16).tables(at, heads_axis=axis),
    ):
        with pytest.raises(ValueError, match=f"heads_axis must be 1, .*, or 2, .* got {axis!r}"):
            call()


def test_the_other_order_is_named_where_a_shape_is_wrong():
    with pytest.raises(ValueError, match=r"q must have shape \(batch, len, heads, 16\), got \(3,"):
        Rotary(16).rotate(*[torch.zeros(3, 16)] * 2, *[torch.arange(3)] * 2, heads_axis=2)
    with pytest.raises(ValueError, match=r"q_positions must have shape \(2,\) .* got \(3,\)"):
        Rotary(16).rotate(*[torch.zeros(1, 2, 3, 16)] * 2, *[torch.arange(3)] * 2, heads_axis=2)


def test_one_tensor_alone_is_turned_as_in_the_pair(variant):
    q = torch.randn(2, 3, 7, 16, generator=torch.Generator().manual_seed(8))
    k, rows = q[:, :2], torch.stack([torch.arange(7), torch.arange(7) * 5])
    for dtype in (torch.float32, torch.bfloat16):
        pair = variant.rotate(q.to(dtype), k.to(dtype), rows, rows)
        lengths = rows.max(-1).values + 1
        assert torch.equal(variant.rotate_one(q.to(dtype), rows, seq_len=lengths), pair[0])
        assert torch.equal(variant.rotate_one(k.to(dtype), rows, seq_len=lengths), pair[1])
    right = variant.rotate(q, q, rows[1], rows[1])[0]
    for length in (31, 31.0, np.int64(31), torch.tensor(31)):
        assert torch.equal(variant.rotate_one(q, rows[1], seq_len=length), right)


def test_one_tensor_alone_needs_a_length_where_the_rule_has_one():
    x, at = torch.randn(2, 3, 7, 16), torch.arange(7)
    for extension in (DynamicNTK(2.0, 8), LongRoPE([1.0] * 8, [2.0] * 8, 8, 64)):
        method = Rotary(16, extension=extension)
        words = f"^{type(extension).__name__}.* one tensor does not tell: give seq_len"
        with pytest.raises(ValueError, match=words):
            method.rotate_one(x, at)
        with pytest.raises(ValueError, match=words):
            method.shift(x, -1)
        with pytest.raises(ValueError, match=r"have shape \(2,\), got \(3,\)"):
            method.rotate_one(x, at, seq_len=torch.tensor([1, 2, 3]))
        with pytest.raises(ValueError, match="seq_len must be a positive finite number, got 0"):
            method.rotate_one(x, at, seq_len=0)
    with pytest.raises(ValueError, match=r"x must have shape \(batch, heads, len, 16\)"):
        Rotary(16).rotate_one(x[..., :8], at)
    with pytest.raises(ValueError, match="positions has batch size 3, x has 2"):
        Rotary(16).rotate_one(x, at.expand(3, 7))


UNITS = {torch.float32: 2.0**-24, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}


@settings(deadline=None, max_examples=40)
@given(
    st.sampled_from(list(VARIANTS)[:4]),
    st.sampled_from(list(UNITS)),
    st.integers(-(2**17), 2**17),
    st.integers(0, 2**17),
    st.integers(0, 2**31),
)
def test_shifted_keys_are_within_the_stated_distance_of_keys_turned_once(
    name, dtype, offset, start, seed
):
    method = VARIANTS[name]()
    k = torch.randn(1, 2, 5, 16, generator=torch.Generator().manual_seed(seed)).to(dtype)
    at = torch.arange(5) + start
    once = method.rotate_one(k, at)
    shifted = method.shift(once, offset)
    exact = method.rotate_one(k.double(), at + offset)
    assert shifted.dtype == dtype
    n, unit = method.rotary_dim, UNITS[dtype]
    assert torch.equal(shifted[..., n:], k[..., n:])
    as_pairs = (
        (lambda x: x[..., :n].unflatten(-1, (2, -1)).movedim(-2, -1))
        if (method.layout == "half")
        else (lambda x: x[..., :n].unflatten(-1, (-1, 2)))
    )
    length = as_pairs(exact).norm(dim=-1)
    # float16 has no numbers between multiples of 2^-24 near 0
    least = 2.0**-24 if dtype == torch.float16 else 0.0
    for got, roundings, places in (
        (shifted, 2, offset),
        (method.shift(shifted, -offset), 3, 0),
    ):
        right = method.rotate_one(k.double(), at + places)
        error = as_pairs(got.double() - right).norm(dim=-1)
        assert (error <= roundings * (unit + 2.0**-21) * length + roundings * least).all()


def test_each_key_may_be_shifted_by_its_own_offset():
    """A cache without its middle: what lies behind the gap moves up, what lies before stays."""
    method = Rotary(16, layout="half", extension=YaRN(4.0, 64))
    k, at = torch.randn(2, 3, 8, 16, dtype=torch.float64), torch.arange(8)
    kept = torch.tensor([0, 1, 5, 6, 7])
    turned = method.rotate_one(k, at)[:, :, kept]
    right = method.rotate_one(k[:, :, kept], torch.arange(5))
    for offset in (torch.arange(5) - kept, (torch.arange(5) - kept).expand(2, 5)):
        assert torch.allclose(method.shift(turned, offset), right, atol=1e-13)
    moved = method.shift(right, torch.tensor([[3.5], [-2.0]]).expand(2, 5))
    for row, places in ((0, 3.5), (1, -2.0)):
        alone = method.rotate_one(k[:, :, kept], torch.arange(5).double() + places)
        assert torch.allclose(moved[row], alone[row], atol=1e-13)
    assert torch.equal(method.shift(turned, torch.tensor(-2)), method.shift(turned, -2))


@pytest.mark.parametrize(
    ("offset", "words"),
    [
        ("3", "offset must be a number or a tensor, got '3'"),
        (True, "offset must be a number or a tensor, got True"),
        (float("nan"), "offset must be at most 2\\*\\*53 in size, got nan"),
        (2**60, "offset must be at most 2\\*\\*53 in size"),
        (torch.arange(4), r"offset must have shape \(5,\) or \(batch, 5\), got \(4,\)"),
        (torch.zeros(3, 5), "offset has batch size 3, k has 2"),
        (torch.zeros(5).bfloat16(), "bfloat16 cannot tell neighbouring positions apart"),
    ],
)
def test_offsets_that_are_none_are_refused(offset, words):
    with pytest.raises(ValueError, match=words):
        Rotary(16).shift(torch.zeros(2, 3, 5, 16), offset)


@pytest.mark.parametrize("name", ["rotate_one", "shift", "tables"])
def test_xpos_refuses_what_treats_queries_and_keys_alike(name):
    with pytest.raises(ValueError, match=f"XPos has no {name}: it scales queries and keys"):
        getattr(XPos(16), name)(torch.zeros(1, 1, 2, 16), torch.arange(2))


# --- tables that layers share


def inputs(dtype=torch.float32, length=6):
    generator = torch.Generator().manual_seed(9)
    q = torch.randn(2, 3, length, 16, generator=generator).to(dtype)
    return q, torch.randn(2, 1, length + 2, 16, generator=generator).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_tables_give_what_rotate_gives_bit_for_bit(variant, dtype):
    q, k = inputs(dtype)
    k_rows = torch.stack([torch.arange(8), torch.arange(8) * 3])
    for q_at, k_at in ((torch.arange(6) + 2, torch.arange(8)), (k_rows[:, 2:], k_rows)):
        tables = variant.tables(q_at, k_at, dtype=dtype)
        for grad in (False, True):
            given = q.clone().requires_grad_(grad)
            expected = variant.rotate(given, k, q_at, k_at)
            for layer in range(2):
                for a, b in zip(tables.rotate(given, k), expected, strict=True):
                    assert torch.equal(a, b), f"layer {layer}"
    both = variant.tables(k_at[:, :6], dtype=dtype).rotate(q, q)
    assert torch.equal(both[0], variant.rotate(q, q, k_at[:, :6], k_at[:, :6])[0])


def test_tables_do_not_follow_positions_that_change_later():
    method, at = Rotary(16), torch.arange(6)
    q, _ = inputs()
    tables, expected = method.tables(at), method.rotate(q, q, at, at)[0]
    at += 100
    assert torch.equal(tables.rotate(q, q)[0], expected)
    assert torch.equal(copy.deepcopy(tables).rotate(q, q)[0], expected)
    with ThreadPoolExecutor(4) as threads:
        turned = threads.map(lambda _: tables.rotate(q, q)[0], range(20))
        assert all(torch.equal(x, expected) for x in turned)
    assert not torch.equal(method.tables(at).rotate(q, q)[0], expected)


def test_gradients_pass_through_shared_tables():
    method = Rotary(8, layout="half", rotary_dim=6)
    at = torch.tensor([0.0, 1.5, 40.0], dtype=torch.float64, requires_grad=True)
    x = torch.randn(1, 2, 3, 8, dtype=torch.float64, requires_grad=True)

    def two_layers(x, at):
        tables = method.tables(at, dtype=torch.float64)
        q, k = tables.rotate(x, x)
        return tables.rotate(q * k, k)[0]

    assert torch.autograd.gradcheck(two_layers, (x, at))


@pytest.mark.parametrize("layout", ["interleaved", "half"])
def test_tables_cross_the_border_of_a_compiler_in_both_directions(layout):
    torch.compiler.reset()
    method, (q, _), at = Rotary(16, layout=layout), inputs(), torch.arange(6)
    expected = method.rotate(q, q, at, at)
    compiled = {
        "all": lambda q, at: method.tables(at).rotate(q, q),
        "tables": lambda q, at: method.tables(at),
        "rotation": lambda q, tables: tables.rotate(q, q),
        "one": lambda q, at: (method.rotate_one(q, at), method.shift(q, 5)),
    }
    compiled = {
        name: torch.compile(call, fullgraph=True, backend="aot_eager")
        for name, call in compiled.items()
    }
    ways = [compiled["all"](q, at), compiled["rotation"](q, method.tables(at))]
    ways.append(compiled["tables"](q, at).rotate(q, q))
    ways.append(compiled["rotation"](q, compiled["tables"](q, at)))
    for way in ways:
        for a, b in zip(way, expected, strict=True):
            assert torch.allclose(a, b, atol=1e-6)
    one, shifted = compiled["one"](q, at)
    assert torch.allclose(one, expected[0], atol=1e-6)
    assert torch.allclose(shifted, method.shift(q, 5), atol=1e-6)


def test_tables_on_meta():
    method = Rotary(16).to("meta")
    q, at = torch.zeros(2, 3, 6, 16, device="meta"), torch.arange(6, device="meta")
    turned, _ = method.tables(at).rotate(q, q)
    assert turned.shape == q.shape and turned.is_meta
    assert method.shift(q, 2).is_meta and method.rotate_one(q, at).is_meta


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda q, k: (q[:, :, :5], k), "6 positions for q, q has length 5"),
        (lambda q, k: (q, k[:, :, :5]), "8 positions for k, k has length 5"),
        (lambda q, k: (q.double(), k), r"are torch.float32, q is torch.float64: .* dtype=torch.fl"),
        (lambda q, k: (q, k.double()), r"are torch.float32, k is torch.float64"),
        (lambda q, k: (q[:1], k[:1]), "the tables have batch size 2, k has 1"),
        (lambda q, k: (q[..., :8], k), r"q must have shape \(batch, heads, len, 16\)"),
    ],
)
def test_tables_refuse_what_does_not_fit_them(change, words):
    tables = Rotary(16).tables(torch.arange(6), torch.arange(16).view(2, 8))
    with pytest.raises(ValueError, match=words):
        tables.rotate(*change(*inputs()))


def test_tables_need_positions_and_a_type():
    method = Rotary(16)
    with pytest.raises(ValueError, match=r"q_positions must have shape \(len,\) .* got \(\)"):
        method.tables(torch.tensor(3))
    with pytest.raises(ValueError, match="k_positions must be a tensor of integers or floats"):
        method.tables(torch.arange(3), [0, 1, 2])
    with pytest.raises(ValueError, match=r"dtype must be a floating-point type, got torch.int64"):
        method.tables(torch.arange(3), dtype=torch.int64)


def test_heads_of_the_latent_attention_of_deepseek_are_turned_as_it_says():
    """The published mscale and mscale_all_dim are both 1: their quotient, 1, is the attention
    factor; the second one multiplies the softmax's scale, by its square.
    """
    deepseek = peer("transformers.models.deepseek_v3.modeling_deepseek_v3")
    for m, all_dim in ((1.0, 1.0), (0.707, 1.0)):
        config = deepseek.DeepseekV3Config(
            max_position_embeddings=163_840,
            rope_parameters={
                "rope_type": "yarn",
                "rope_theta": 10_000.0,
                "factor": 40.0,
                "original_max_position_embeddings": 4096,
                "mscale": m,
                "mscale_all_dim": all_dim,
            },
        )
        grow = [0.1 * a * math.log(40.0) + 1 for a in (m, all_dim)]
        method = Rotary(64, extension=YaRN(40.0, 4096, attention_factor=grow[0] / grow[1]))
        q, at = torch.randn(1, 4, 20, 64), torch.arange(20)
        cos, sin = deepseek.DeepseekV3RotaryEmbedding(config)(q, at[None])
        theirs = deepseek.apply_rotary_pos_emb_interleave(q, q, cos, sin)[0]
        # it leaves the pairs as halves
        ours = method.rotate_one(q, at).unflatten(-1, (-1, 2)).movedim(-1, -2).flatten(-2)
        assert (ours - theirs).abs().max() < 3e-5
        scale = deepseek.yarn_apply_mscale(config.rope_parameters, 192**-0.5)
        assert scale == pytest.approx(192**-0.5 * grow[1] ** 2, rel=1e-12)
