"""Rotary on several axes: a literal rotation, what scores may depend on, one axis alone, heads with
frequencies of their own, learned frequencies, exact angles; the matrices and positions that go with
it; and its place in the Transformer.
"""

import math
import re
import runpy
from decimal import Decimal, localcontext

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import sinpe
from sinpe import (
    NoPosition,
    Rotary,
    RotaryAxes,
    Transformer,
    TransformerConfig,
    axial_frequencies,
    grid_positions,
    inverse_frequencies,
    mixed_frequencies,
    mrope_positions,
    section_frequencies,
)
from sinpe.positions.rotary_axes import axes_sin_cos

LAYOUTS = ["interleaved", "half"]


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def pair_of(length, head_dim, dtype=torch.float64, heads=3, seed=0):
    generator = seeded(seed)
    shape = (2, heads, length, head_dim)
    return [
        torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype) for _ in range(2)
    ]


def matrices(heads=None):
    """One of every kind for heads of 24 features and two axes."""
    return {
        "axial": axial_frequencies((16, 8)),
        "blocks": section_frequencies((7, 5)),
        "interleaved": section_frequencies((7, 5), order="interleaved"),
        "mixed": mixed_frequencies(12, generator=seeded()),
        "heads": mixed_frequencies(12, n_heads=3, generator=seeded()),
        "any": np.random.default_rng(0).normal(size=(2, 12)),
    }


KINDS = list(matrices())


def scores(method, q, k, q_positions, k_positions):
    q, k = method.rotate(q, k, q_positions, k_positions)
    return q @ k.mT


# --- the rotation


def literal(x, positions, frequencies, layout, rotary_dim):
    """One pair, one token at a time."""
    out, pairs = x.clone(), rotary_dim // 2
    for head in range(x.shape[1]):
        own = frequencies[head] if np.ndim(frequencies) == 3 else frequencies
        for t, place in enumerate(positions.tolist()):
            for i in range(pairs):
                angle = math.fsum(p * own[a][i] for a, p in enumerate(place))
                one, other = (2 * i, 2 * i + 1) if layout == "interleaved" else (i, i + pairs)
                a, b = x[:, head, t, one], x[:, head, t, other]
                out[:, head, t, one] = a * math.cos(angle) - b * math.sin(angle)
                out[:, head, t, other] = a * math.sin(angle) + b * math.cos(angle)
    return out


@settings(max_examples=40)
@given(
    axes=st.integers(1, 4),
    pairs=st.integers(1, 5),
    untouched=st.integers(0, 3),
    per_head=st.booleans(),
    layout=st.sampled_from(LAYOUTS),
    whole=st.booleans(),
    seed=st.integers(0, 9),
)
def test_equals_a_literal_rotation(axes, pairs, untouched, per_head, layout, whole, seed):
    random = np.random.default_rng(seed)
    frequencies = random.normal(size=(2, axes, pairs) if per_head else (axes, pairs))
    positions = torch.from_numpy(random.uniform(-50, 50, size=(4, axes)))
    if whole:
        positions = positions.round().long()
    q, k = pair_of(4, 2 * pairs + untouched, heads=2, seed=seed)
    method = RotaryAxes(2 * pairs + untouched, frequencies, layout, rotary_dim=2 * pairs)
    turned = method.rotate(q, k, positions, positions)
    for x, out in zip((q, k), turned, strict=True):
        expected = literal(x, positions, frequencies, layout, 2 * pairs)
        assert torch.allclose(out, expected, rtol=0, atol=1e-11)
        assert torch.equal(out[..., 2 * pairs :], x[..., 2 * pairs :])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    "frequencies",
    [
        axial_frequencies((16,)),
        section_frequencies((8,)),
        section_frequencies((8,), order="interleaved"),
    ],
)
def test_one_axis_is_rotary_to_the_last_bit(frequencies, dtype, layout):
    q, k = pair_of(6, 16, dtype)
    at = torch.tensor([0, 1, -7, 500, 8191, 2**20])
    ours = RotaryAxes(16, frequencies, layout).rotate(q, k, at[:, None], at[:, None])
    theirs = Rotary(16, layout=layout).rotate(q, k, at, at)
    assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("order", ["blocks", "interleaved"])
def test_with_sections_a_text_token_gets_what_rotary_gives_it(order):
    """One number on all axes."""
    q, k = pair_of(6, 32)
    at = torch.arange(6) * 999
    method = RotaryAxes(32, section_frequencies((6, 5, 5), 1e6, order=order), "half")
    ours = method.rotate(q, k, at[:, None].expand(-1, 3), at[:, None].expand(-1, 3))
    theirs = Rotary(32, 1e6, "half").rotate(q, k, at, at)
    assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))


# --- what scores depend on


@settings(max_examples=30)
@given(
    kind=st.sampled_from(KINDS),
    layout=st.sampled_from(LAYOUTS),
    offset=st.lists(st.floats(-500, 500), min_size=2, max_size=2),
    seed=st.integers(0, 9),
)
def test_scores_depend_on_the_difference_of_positions_and_norms_are_kept(
    kind, layout, offset, seed
):
    method = RotaryAxes(24, matrices()[kind], layout)
    q, k = pair_of(5, 24, seed=seed)
    at = torch.rand(5, 2, generator=seeded(seed), dtype=torch.float64) * 40
    moved = at + torch.tensor(offset, dtype=torch.float64)
    here, there = scores(method, q, k, at, at), scores(method, q, k, moved, moved)
    assert torch.allclose(here, there, rtol=0, atol=1e-10)
    turned, _ = method.rotate(q, k, at, at)
    assert torch.allclose(turned.norm(dim=-1), q.norm(dim=-1), rtol=1e-13)


@settings(max_examples=30)
@given(
    kind=st.sampled_from(KINDS),
    row=st.integers(-30, 30),
    column=st.integers(-30, 30),
    seed=st.integers(0, 9),
)
def test_a_pair_of_one_axis_makes_scores_a_sum_of_row_and_column(kind, row, column, seed):
    """s(Δy, Δx) = f(Δy) + g(Δx) where every pair belongs to one axis: f is s at Δx = 0, and g the
    rest.
    """
    q, k = pair_of(1, 24, seed=seed)
    at = torch.tensor([[[row, column]], [[row, 0]], [[0, column]], [[0, 0]]])
    method, origin = RotaryAxes(24, matrices()[kind]), torch.zeros(1, 2)
    both, f, g, none = (scores(method, q, k, place, origin) for place in at)
    apart = (both - f - g + none).abs().max().item()
    if kind in ("axial", "blocks", "interleaved"):
        assert apart < 1e-11


@pytest.mark.parametrize("kind", ["mixed", "heads", "any"])
def test_a_pair_of_two_axes_does_not(kind):
    q, k = pair_of(1, 24)
    method, origin = RotaryAxes(24, matrices()[kind]), torch.zeros(1, 2)
    at = torch.tensor([[[2, 3]], [[2, 0]], [[0, 3]], [[0, 0]]])
    both, f, g, none = (scores(method, q, k, place, origin) for place in at)
    assert (both - f - g + none).abs().max() > 0.5


@settings(max_examples=20)
@given(kind=st.sampled_from(KINDS), start=st.integers(0, 6), size=st.integers(1, 5))
def test_a_block_of_queries_equals_its_rows_of_the_full_pass(kind, start, size):
    method, (q, k), at = RotaryAxes(24, matrices()[kind]), pair_of(12, 24), grid_positions(3, 4)
    cut = slice(start, start + size)
    whole = scores(method, q, k, at, at)
    assert torch.allclose(scores(method, q[:, :, cut], k, at[cut], at), whole[:, :, cut])


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_a_batch_have_places_of_their_own(kind):
    method, (q, k) = RotaryAxes(24, matrices()[kind]), pair_of(6, 24)
    rows = torch.stack([grid_positions(2, 3), grid_positions(3, 2, start=(5, -1))])
    together = method.rotate(q, k, rows, rows)
    for b in range(2):
        alone = method.rotate(q[b : b + 1], k[b : b + 1], rows[b], rows[b])
        assert all(torch.equal(x[b : b + 1], y) for x, y in zip(together, alone, strict=True))
    one = method.rotate(q, k, rows[:1], rows[:1])
    assert torch.equal(one[0], method.rotate(q, k, rows[0], rows[0])[0])


# --- heads


def test_each_head_may_have_frequencies_of_its_own():
    q, k = pair_of(6, 24)
    matrix, at = mixed_frequencies(12, n_heads=3, generator=seeded()), grid_positions(2, 3)
    together = RotaryAxes(24, matrix).rotate(q, k, at, at)
    for head in range(3):
        cut = slice(head, head + 1)
        alone = RotaryAxes(24, matrix[head]).rotate(q[:, cut], k[:, cut], at, at)
        assert all(torch.equal(x[:, cut], y) for x, y in zip(together, alone, strict=True))


def test_grouped_queries_share_frequencies_or_are_refused():
    (q, _), (_, k), at = pair_of(6, 24, heads=4), pair_of(6, 24, heads=2), grid_positions(2, 3)
    method = RotaryAxes(24, axial_frequencies((12, 12)))
    grouped = method.rotate(q, k, at, at)
    repeated = method.rotate(q, k.repeat_interleave(2, 1), at, at)
    assert torch.equal(grouped[0], repeated[0])
    assert torch.equal(grouped[1].repeat_interleave(2, 1), repeated[1])
    own = RotaryAxes(24, mixed_frequencies(12, n_heads=4))
    with pytest.raises(ValueError, match="k must have 4 heads, as q has, where each .* got 2"):
        own.rotate(q, k, at, at)
    with pytest.raises(ValueError, match=r"q must have shape \(batch, 4, len, 24\), got"):
        own.rotate(k, k, at, at)


# --- learned frequencies


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("n_heads", [None, 2])
def test_gradients_of_learned_frequencies_are_those_of_finite_differences(n_heads, layout):
    start = mixed_frequencies(3, 3, n_heads=n_heads, generator=seeded())
    method = RotaryAxes(6, start, layout, learned=True).double()
    q, k = pair_of(4, 6, heads=2)
    at = torch.randint(-5, 6, (4, 3), generator=seeded())

    def out(frequencies, q, k):
        return torch.func.functional_call(
            _Rotated(method), {"method.frequencies": frequencies}, (q, k, at)
        )

    inputs = [x.clone().requires_grad_() for x in (method.frequencies.detach(), q, k)]
    assert torch.autograd.gradcheck(out, inputs)

    step, direction = 1e-6, torch.randn(start.shape, generator=seeded(1), dtype=torch.float64)
    value = method.frequencies.detach()
    up, down = (sum(x.sin().sum() for x in out(value + s * direction, q, k)) for s in (step, -step))
    sum(x.sin().sum() for x in out(method.frequencies, q, k)).backward()
    slope = (method.frequencies.grad * direction).sum()
    assert torch.allclose((up - down) / (2 * step), slope, rtol=1e-7)


class _Rotated(torch.nn.Module):
    def __init__(self, method):
        super().__init__()
        self.method = method

    def forward(self, q, k, at):
        return self.method.rotate(q, k, at, at)


def test_only_learned_frequencies_are_saved_and_cast():
    matrix = mixed_frequencies(4, generator=seeded())
    fixed, learned = RotaryAxes(8, matrix), RotaryAxes(8, matrix, learned=True)
    assert not fixed.state_dict() and not list(fixed.parameters())
    assert (
        list(learned.state_dict()) == ["frequencies"] == [n for n, _ in learned.named_parameters()]
    )
    assert np.array_equal(fixed.bfloat16().frequencies.numpy(), matrix)
    assert learned.frequencies.dtype == torch.float32
    assert torch.equal(learned.frequencies, torch.from_numpy(matrix).float())
    assert learned.bfloat16().frequencies.dtype == torch.bfloat16
    # angles of what is left of them are as wide as ever
    q, at = torch.randn(1, 1, 4, 8, generator=seeded()), torch.tensor([[900, -31]] * 4)
    narrow = RotaryAxes(8, learned.frequencies).rotate(q, q, at, at)[0]
    assert torch.equal(learned.rotate(q, q, at, at)[0], narrow)


def test_what_was_given_may_change_afterwards():
    matrix = axial_frequencies((4, 4))
    kept, given = RotaryAxes(8, matrix), torch.from_numpy(matrix)
    also = RotaryAxes(8, given)
    matrix *= 2
    for method in (kept, also):
        assert np.array_equal(method.frequencies.numpy(), axial_frequencies((4, 4)))
    kept.given[:] = 0
    assert kept.frequencies.any()
    nested = RotaryAxes(4, [[1, 0], [0, 1]])
    assert torch.equal(nested.frequencies, torch.eye(2, dtype=torch.float64))


# --- exactness


def exact(positions, frequencies):
    """Sine and cosine with 60-digit angles, after taking whole turns away."""
    digits = "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899"
    out = np.empty((2, len(positions), frequencies.shape[1]))
    with localcontext() as context:
        context.prec = 60
        turn = 2 * Decimal(digits)
        for t, place in enumerate(positions.tolist()):
            for i in range(frequencies.shape[1]):
                angle = sum(
                    Decimal(p) * Decimal(w) for p, w in zip(place, frequencies[:, i], strict=True)
                )
                rest = float(angle - turn * (angle / turn).to_integral_value())
                out[:, t, i] = math.sin(rest), math.cos(rest)
    return torch.from_numpy(out)


@pytest.mark.parametrize("kind", ["mixed", "any", "interleaved"])
def test_angles_far_out_are_exact(kind):
    """Positions up to 2^20 on both axes: products and sums rounded to float64 would be off by
    1e-10, and the sum of two large products by more.
    """
    frequencies = matrices()[kind] * 1.7
    at = torch.randint(-(2**20), 2**20, (40, 2), generator=seeded())
    at[0] = torch.tensor([2**20, -(2**20)])
    truth = exact(at, frequencies)
    ours = torch.stack(axes_sin_cos(at, torch.from_numpy(frequencies))).squeeze(1)
    assert (ours - truth).abs().max() <= 4e-16
    naive = at.double() @ torch.from_numpy(frequencies)
    assert (torch.stack([naive.sin(), naive.cos()]) - truth).abs().max() > 1e-12


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_half_types_are_rounded_once(layout, dtype):
    method, at = RotaryAxes(24, matrices()["mixed"], layout), grid_positions(3, 4) * 100
    narrow = pair_of(12, 24, dtype)
    wide = method.rotate(*(x.float() for x in narrow), at, at)
    for ours, x in zip(method.rotate(*narrow, at, at), wide, strict=True):
        assert ours.dtype == dtype and torch.equal(ours, x.to(dtype))


# --- bad arguments


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: RotaryAxes(128, section_frequencies((16, 24, 23))), r"\(axes, 64\).*\(3, 63\)"),
        (lambda: RotaryAxes(8, np.ones(4)), r"\(axes, 4\) or \(heads, axes, 4\).*got \(4,\)"),
        (lambda: RotaryAxes(8, np.ones((0, 4))), r"frequencies must have shape .* got \(0, 4\)"),
        (lambda: RotaryAxes(8, np.ones((1, 2, 3, 4))), "frequencies must have shape"),
        (lambda: RotaryAxes(8, np.ones((2, 4)), rotary_dim=4), r"\(axes, 2\).*rotary_dim=4"),
        (lambda: RotaryAxes(4, [[1.0, math.nan]]), "frequencies must be finite, got nan"),
        (lambda: RotaryAxes(4, [[1.0, math.inf]]), "frequencies must be finite, got inf"),
        (lambda: RotaryAxes(4, "axial"), "frequencies must be a matrix of numbers, got 'axial'"),
        (lambda: RotaryAxes(4, [["1", "0"]]), "frequencies must be a matrix of numbers, got"),
        (lambda: RotaryAxes(4, [[1, 0], [1]]), r"must be a matrix of numbers, got \[\[1, 0\], \[1"),
        (lambda: RotaryAxes(4, None), "frequencies must be a matrix of numbers, got None"),
        (lambda: RotaryAxes(5, np.ones((2, 2))), "rotary_dim must be even .* rotary_dim=5"),
        (lambda: RotaryAxes(4, np.ones((2, 3)), rotary_dim=6), "rotary_dim=6, head_dim=4"),
        (lambda: RotaryAxes(4, np.ones((2, 2)), "blocks"), "layout must be .* got 'blocks'"),
        (lambda: RotaryAxes(4, np.ones((2, 2)), learned=1), "learned must be .* got 1"),
        (
            lambda: RotaryAxes(4, np.ones((2, 2)), attention_factor=0),
            "attention_factor must be a positive finite number, got 0",
        ),
        (lambda: axial_frequencies((16, 55)), r"widths must be even, .* got \[16, 55\]"),
        (lambda: axial_frequencies((16, 0)), r"widths must be positive integers, got \(16, 0\)"),
        (lambda: axial_frequencies(()), r"widths must be positive integers, got \(\)"),
        (lambda: axial_frequencies(16), "widths must be positive integers, got 16"),
        (lambda: axial_frequencies((2.0, 2)), "widths must be positive integers, got"),
        (lambda: axial_frequencies((8, 8), 0), "base must be a positive finite number, got 0"),
        (lambda: section_frequencies((2, True)), "sections must be positive integers, got"),
        (
            lambda: section_frequencies((2, 2), order="mixed"),
            "order must be one of 'blocks', 'interleaved', got 'mixed'",
        ),
        (
            lambda: section_frequencies((20, 24, 20), order="interleaved"),
            r"sections=\[20, 24, 20\] cannot be interleaved: axis 1 would get pair 70 of 64",
        ),
        (
            lambda: section_frequencies((4, 4), extension=sinpe.DynamicNTK(2.0, 8)),
            "extension must be .* not depend on the length, got DynamicNTK",
        ),
        (lambda: section_frequencies((4, 4), extension=sinpe.YaRN), "extension must be None or"),
        (
            lambda: section_frequencies((4, 4), extension=sinpe.YaRN(4.0, 64)),
            r"by 1\.13863, which frequencies cannot hold: .* RotaryAxes attention_factor=1\.13863",
        ),
        (lambda: mixed_frequencies(5), "pairs must be divisible by axes, got pairs=5, axes=2"),
        (lambda: mixed_frequencies(4, 0), "axes must be a positive integer, got 0"),
        (lambda: mixed_frequencies(4, n_heads=1.0), "n_heads must be a positive integer, got 1.0"),
        (lambda: grid_positions(0, 2), "height must be a positive integer, got 0"),
        (lambda: grid_positions(2, 2, start=(1, 2, 3)), "start must be a number or two, got"),
        (lambda: grid_positions(2, 2, step=math.nan), "step must be a finite number, got nan"),
        (lambda: mrope_positions(3), "parts must be a list, got 3"),
        (lambda: mrope_positions([3, (1, 2)]), r"parts must be integers or \(frames, .* \(1, 2\)"),
        (lambda: mrope_positions([0]), r"parts must be integers or .* got \[0\]"),
        (lambda: mrope_positions([1], frame_step=-1), "frame_step must not be negative, got -1"),
    ],
)
def test_bad_arguments_are_refused_by_name(make, words):
    with pytest.raises(ValueError, match=words):
        make()


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ((6,), r"q_positions must have shape \(6, 2\) or \(batch, 6, 2\), got \(6,\): 2 numbers"),
        ((6, 3), r"got \(6, 3\): 2 numbers a token"),
        ((2, 6), r"got \(2, 6\)"),
        ((5, 2), r"got \(5, 2\)"),
        ((2, 5, 2), r"got \(2, 5, 2\)"),
        ((1, 2, 6, 2), r"got \(1, 2, 6, 2\)"),
        ((3, 6, 2), "q_positions has batch size 3, queries and keys have 2"),
    ],
)
def test_positions_of_another_shape_are_refused(shape, words):
    method, (q, k) = RotaryAxes(24, axial_frequencies((12, 12))), pair_of(6, 24)
    with pytest.raises(ValueError, match=words):
        method.rotate(q, k, torch.zeros(shape), grid_positions(2, 3))
    with pytest.raises(ValueError, match=words.replace("q_pos", "k_pos")):
        method.rotate(q, k, grid_positions(2, 3), torch.zeros(shape))


# --- matrices


@settings(max_examples=40)
@given(st.lists(st.integers(1, 12), min_size=1, max_size=4), st.sampled_from([10.0, 1e4, 5e6]))
def test_axial_frequencies_are_a_ladder_an_axis(pairs, base):
    widths = [2 * n for n in pairs]
    matrix, start = axial_frequencies(widths, base), 0
    assert matrix.dtype == np.float64 and matrix.shape == (len(widths), sum(pairs))
    for axis, n in enumerate(pairs):
        own = matrix[axis, start : start + n].copy()
        assert np.array_equal(own, inverse_frequencies(2 * n, base))
        matrix[axis, start : start + n] = 0
        start += n
    assert not matrix.any()


@settings(max_examples=60)
@given(
    st.lists(st.integers(1, 12), min_size=1, max_size=4), st.sampled_from(["blocks", "interleaved"])
)
def test_section_frequencies_deal_out_one_ladder(sections, order):
    pairs, axes = sum(sections), len(sections)
    # axis a > 0 has the pairs a, a + axes, a + 2 · axes, …
    last = [a + (n - 1) * axes for a, n in enumerate(sections)]
    if order == "interleaved" and max(last[1:], default=0) >= pairs:
        with pytest.raises(ValueError, match="cannot be interleaved: axis"):
            section_frequencies(sections, order=order)
        return
    matrix = section_frequencies(sections, 1e6, order=order)
    assert np.array_equal(matrix.sum(0), inverse_frequencies(2 * pairs, 1e6))
    assert ((matrix > 0).sum(0) == 1).all() and (matrix > 0).sum(1).tolist() == sections
    axis = matrix.argmax(0).tolist()
    if order == "blocks":
        assert axis == sorted(axis)
    else:  # in turn, and what an axis has no pairs left for is the first one's
        assert axis == [a if i <= last[a] else 0 for i, a in enumerate(np.arange(pairs) % axes)]


def test_an_extension_changes_the_ladder_before_it_is_dealt_out():
    plain = section_frequencies((6, 5, 5), 1e6, order="interleaved")
    for extension in (
        sinpe.PositionInterpolation(4.0),
        sinpe.NTKAware(4.0),
        lambda f, *_: (f / 3, 1),
    ):
        given_one = section_frequencies((6, 5, 5), 1e6, order="interleaved", extension=extension)
        used = Rotary(32, 1e6, extension=extension).inverse_frequencies()
        assert np.array_equal(given_one.sum(0), used)
        assert np.array_equal(given_one > 0, plain > 0)


def test_the_factor_of_yarn_goes_to_rotary_axes():
    factor = 0.1 * math.log(4) + 1
    silent = sinpe.YaRN(4.0, 64, attention_factor=1.0)
    matrix, (q, k) = section_frequencies((4, 4), extension=silent), pair_of(6, 16)
    at = torch.arange(6) * 40
    method = RotaryAxes(16, matrix, attention_factor=factor)
    ours = method.rotate(q, k, at[:, None].expand(-1, 2), at[:, None].expand(-1, 2))
    theirs = Rotary(16, extension=sinpe.YaRN(4.0, 64)).rotate(q, k, at, at)
    assert all(torch.allclose(a, b, atol=1e-13) for a, b in zip(ours, theirs, strict=True))


@settings(max_examples=30)
@given(st.integers(1, 4), st.integers(1, 6), st.sampled_from([None, 1, 3]), st.integers(0, 99))
def test_mixed_frequencies_are_perpendicular_directions_times_a_ladder(axes, steps, heads, seed):
    matrix = mixed_frequencies(axes * steps, axes, 10.0, n_heads=heads, generator=seeded(seed))
    assert matrix.shape == ((axes, axes * steps) if heads is None else (heads, axes, axes * steps))
    for head in matrix.reshape(-1, axes, axes, steps):  # axis, direction, step of the ladder
        assert np.allclose(np.linalg.norm(head, axis=0), inverse_frequencies(2 * steps, 10.0))
        directions = head[:, :, 0]
        assert np.allclose(directions.T @ directions, np.eye(axes))
        assert np.isclose(np.linalg.det(directions), 1)
        assert np.allclose(head, directions[:, :, None] * inverse_frequencies(2 * steps, 10.0))
    again = mixed_frequencies(axes * steps, axes, 10.0, n_heads=heads, generator=seeded(seed))
    assert np.array_equal(matrix, again)


def test_mixed_directions_are_spread_evenly():
    """The first direction of 4000 heads: its angle is uniform, so the mean of its vector is 0."""
    matrix = mixed_frequencies(2, n_heads=4000, generator=seeded())
    assert np.abs(matrix[:, :, 0].mean(0)).max() < 4 / math.sqrt(2 * 4000)
    quarters = np.bincount(
        np.floor(np.arctan2(*matrix[:, ::-1, 0].T) / (np.pi / 2)).astype(int) + 2
    )
    assert np.abs(quarters - 1000).max() < 4 * math.sqrt(1000)


# --- positions


@given(st.integers(1, 6), st.integers(1, 6), st.integers(-9, 9), st.sampled_from([1, 2, 0.5]))
def test_a_grid_is_row_by_row(height, width, start, step):
    expected = [
        [start + step * row, -start + step * column]
        for row in range(height)
        for column in range(width)
    ]
    places = grid_positions(height, width, start=(start, -start), step=step)
    assert places.tolist() == expected
    assert places.dtype == (torch.float64 if step == 0.5 else torch.int64)


PARTS = st.lists(
    st.integers(1, 9) | st.tuples(st.integers(1, 3), st.integers(1, 4), st.integers(1, 4)),
    min_size=1,
    max_size=5,
)


@given(PARTS)
def test_texts_and_images_follow_each_other(parts):
    places, start, t = mrope_positions(parts), 0, 0
    for part in parts:
        counts = (part,) if isinstance(part, int) else part
        piece = places[t : t + math.prod(counts)] - start
        if isinstance(part, int):
            assert piece.tolist() == [[i] * 3 for i in range(part)]
        else:
            assert [tuple(row) for row in piece.tolist()] == list(np.ndindex(*part))
        t, start = t + len(piece), int(places[: t + len(piece)].max()) + 1
    assert t == len(places) and places.dtype == torch.int64
    assert len(set(map(tuple, places.tolist()))) == t  # no two tokens in one place


def test_positions_of_no_parts_are_none():
    assert mrope_positions([]).shape == (0, 3)
    assert mrope_positions([1, (3, 1, 1)], frame_step=1.5)[1:, 0].tolist() == [1, 2, 4]


# --- in the model

CONFIG = TransformerConfig(11, d_model=48, n_layers=2, n_heads=2, d_ff=24, causal=False)


@pytest.fixture
def image_model():
    return Transformer(CONFIG, RotaryAxes(24, matrices()["axial"])).double().eval()


@torch.no_grad()
def test_an_image_model_sees_where_patches_stand_to_each_other_only(image_model):
    """Shuffled patches with their places give shuffled outputs, moved ones the same; places that
    are changed change them.
    """
    tokens, at = torch.randint(11, (2, 12), generator=seeded()), grid_positions(3, 4)
    out = image_model(tokens, at)
    order = torch.randperm(12, generator=seeded(1))
    assert torch.allclose(image_model(tokens[:, order], at[order]), out[:, order])
    assert torch.allclose(image_model(tokens, at + torch.tensor([7, -3])), out)
    assert torch.equal(image_model(tokens, at[None]), out)
    rows = torch.stack([at, grid_positions(4, 3)])
    both = image_model(tokens, rows)
    assert torch.allclose(both[0], out[0]) and not torch.allclose(both[1], out[1])


def test_a_model_does_not_guess_places(image_model):
    tokens = torch.zeros(2, 6, dtype=torch.int64)
    with pytest.raises(ValueError, match=r"positions must be given, \(6, 2\) or .* got None"):
        image_model(tokens)
    for bad in (torch.arange(6), torch.zeros(2, 6), torch.zeros(6, 3), torch.zeros(3, 6, 2)):
        with pytest.raises(ValueError, match="positions (must have shape|has batch size)"):
            image_model(tokens, bad)
    text = Transformer(CONFIG, Rotary(24))
    with pytest.raises(ValueError, match=r"positions must have shape \(6,\) .* got \(6, 2\)"):
        text(tokens, grid_positions(2, 3))


def test_layers_read_the_same_positions_or_none():
    axes = RotaryAxes(24, matrices()["axial"])
    mixed = Transformer(CONFIG, [NoPosition(), axes])
    assert mixed.axes == 2 and Transformer(CONFIG, NoPosition()).axes is None
    mixed(torch.zeros(1, 6, dtype=torch.int64), grid_positions(2, 3))
    with pytest.raises(ValueError, match="read the same positions, .* axes=None, RotaryAxes .*=2"):
        Transformer(CONFIG, [Rotary(24), axes])
    with pytest.raises(ValueError, match="RotaryAxes was made for n_heads=3"):
        Transformer(CONFIG, RotaryAxes(24, matrices()["heads"]))


def test_learned_frequencies_are_trained_with_the_model():
    method = RotaryAxes(24, mixed_frequencies(12, n_heads=2, generator=seeded()), learned=True)
    model, before = Transformer(CONFIG, method), method.frequencies.detach().clone()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    tokens = torch.randint(11, (2, 12), generator=seeded())
    model(tokens, grid_positions(3, 4)).square().sum().backward()
    optimizer.step()
    assert (method.frequencies - before).abs().max() > 0


def test_the_pages_example_runs(root, tmp_path):
    page = (root / "book" / "api.md").read_text(encoding="utf-8")
    examples = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    (example,) = (text for text in examples if "axial_frequencies" in text)
    path = tmp_path / "example.py"
    path.write_text(example, encoding="utf-8")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        assert runpy.run_path(str(path))["logits"].shape == (1, 12, 100)
