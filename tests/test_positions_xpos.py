"""xPos: a literal loop, scores that depend on the offset and fade with it, and the range
it states.
"""

import math

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sinpe import Rotary, XPos


def pair_of(length, head_dim, dtype=torch.float64):
    generator = torch.Generator().manual_seed(0)
    return tuple(
        torch.randn(2, 3, length, head_dim, generator=generator, dtype=torch.float64).to(dtype)
        for _ in range(2)
    )


@settings(deadline=None, max_examples=20)
@given(
    st.integers(1, 5).map(lambda n: 2 * n),
    st.sampled_from([7.0, 100.0]),
    st.lists(st.integers(-12, 12), min_size=1, max_size=4),
)
@example(8, 7.0, [0, 3, 4, 11])
def test_scores_equal_a_literal_loop(head_dim, scale_base, positions):
    """Sum over pairs of ζ_i^((q − k) / scale_base) times the rotated product of the pair."""
    q, k = pair_of(len(positions), head_dim)
    a, b = XPos(head_dim, scale_base=scale_base).rotate(
        q, k, torch.tensor(positions), torch.tensor(positions)
    )
    scores = a @ b.mT
    for i, qp in enumerate(positions):
        for j, kp in enumerate(positions):
            expected = 0
            for pair in range(head_dim // 2):
                zeta, angle = (
                    (2 * pair / head_dim + 0.4) / 1.4,
                    (qp - kp) * 10_000 ** (-2 * pair / head_dim),
                )
                qc, kc = (
                    torch.complex(x[:, :, t, 2 * pair], x[:, :, t, 2 * pair + 1])
                    for x, t in ((q, i), (k, j))
                )
                expected = (
                    expected
                    + zeta ** ((qp - kp) / scale_base)
                    * (qc * kc.conj() * complex(math.cos(angle), math.sin(angle))).real
                )
            assert torch.allclose(scores[:, :, i, j], expected, atol=1e-10)


def test_scores_depend_on_the_offset_only():
    q, k = pair_of(6, 16)
    here, there = (
        XPos(16).rotate(q, k, torch.arange(6) + start, torch.arange(6) + start)
        for start in (0, 20_000)
    )
    assert torch.allclose(here[0] @ here[1].mT, there[0] @ there[1].mT, atol=1e-9)


def test_far_keys_fade_and_a_huge_scale_base_is_plain_rotary():
    q = torch.ones(1, 1, 1, 16, dtype=torch.float64)
    sizes = []
    for distance in (0, 512, 1024):
        a, b = XPos(16).rotate(q, q, torch.tensor([distance]), torch.tensor([0]))
        sizes.append((a * b).abs().sum().item())
    assert sizes[0] > sizes[1] > sizes[2]
    q, k = pair_of(5, 16)
    for got, plain in zip(
        XPos(16, scale_base=1e15).rotate(q, k, torch.arange(5), torch.arange(5)),
        Rotary(16).rotate(q, k, torch.arange(5), torch.arange(5)),
        strict=True,
    ):
        assert torch.allclose(got, plain)


@pytest.mark.parametrize(
    ("dtype", "reach"), [(torch.float32, 36_000), (torch.bfloat16, 36_000), (torch.float16, 4_300)]
)
def test_factors_are_finite_in_the_stated_range_and_not_far_beyond(dtype, reach):
    x = torch.ones(1, 1, 2, 64, dtype=dtype)
    inside = torch.tensor([0, 2 * reach])
    assert all(part.isfinite().all() for part in XPos(64).rotate(x, x, inside, inside))
    beyond = torch.tensor([0, int(2.2 * reach)])
    assert not all(part.isfinite().all() for part in XPos(64).rotate(x, x, beyond, beyond))


@pytest.mark.parametrize("scale_base", [0, -512, float("nan"), "512"])
def test_bad_scale_bases_are_refused(scale_base):
    with pytest.raises(ValueError, match="scale_base must be a positive finite number"):
        XPos(8, scale_base=scale_base)
