"""Transformer-XL: the four terms in a literal loop, the relative shift, and positions with gaps."""

import math

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sinpe import TransformerXLRelative

H, HD = 2, 4


def method():
    out = TransformerXLRelative(H, HD)
    with torch.no_grad():
        for seed, parameter in enumerate(out.parameters()):
            parameter.copy_(
                torch.randn(parameter.shape, generator=torch.Generator().manual_seed(seed))
            )
    return out.double()


def tensors(q_len, k_len):
    generator = torch.Generator().manual_seed(9)
    return tuple(
        torch.randn(2, H, length, HD, generator=generator, dtype=torch.float64)
        for length in (q_len, k_len)
    )


def code(distance):
    """The sinusoidal code of i − j, sines first, as in the authors' code."""
    width = H * HD
    angles = [distance * 10_000 ** (-2 * i / width) for i in range(width // 2)]
    return torch.tensor(
        [math.sin(a) for a in angles] + [math.cos(a) for a in angles], dtype=torch.float64
    )


PLACES = st.lists(st.integers(-30, 30), min_size=1, max_size=5)


@settings(deadline=None, max_examples=20)
@given(PLACES, PLACES)
@example([0, 1, 2], [0, 1, 2])
@example([4, 5], [0, 1, 2, 3, 4, 5])
@example([5, 6, 7], [5, 6, 9])
def test_equals_the_four_terms(queries, keys):
    xl, (q, k) = method(), tensors(len(queries), len(keys))
    bias = xl.score_bias(q, k, torch.tensor(queries), torch.tensor(keys))
    for b in range(2):
        for h in range(H):
            for i, qp in enumerate(queries):
                for j, kp in enumerate(keys):
                    r = xl.weight[h] @ code(qp - kp)
                    four = (
                        q[b, h, i] @ k[b, h, j]
                        + q[b, h, i] @ r
                        + xl.u[h] @ k[b, h, j]
                        + xl.v[h] @ r
                    )
                    total = q[b, h, i] @ k[b, h, j] / HD**0.5 + bias[b, h, i, j]
                    assert total.item() == pytest.approx(four.item() / HD**0.5, abs=1e-5)


def relative_shift(x):
    """Dai et al. 2019, App. B: pad a column, read the rows one entry further on."""
    *front, rows, columns = x.shape
    padded = torch.cat([x.new_zeros(*front, rows, 1), x], -1)
    return padded.reshape(*front, columns + 1, rows)[..., 1:, :].reshape(x.shape)


def test_the_relative_shift_of_a_counting_matrix():
    counting = torch.arange(15).reshape(3, 5)
    assert relative_shift(counting).tolist() == [
        [2, 3, 4, 0, 5],
        [6, 7, 8, 9, 0],
        [10, 11, 12, 13, 14],
    ]


def test_the_gather_equals_the_relative_shift_wherever_a_causal_mask_lets_through():
    xl, (q, k) = method(), tensors(3, 5)
    bias = xl.score_bias(q, k, torch.arange(2, 5), torch.arange(5))
    # (heads, head_dim, 5), distance 4 … 0
    rows = torch.stack([xl.weight @ code(distance) for distance in range(4, -1, -1)], -1)
    shifted = relative_shift((q + xl.v[:, None]) @ rows)
    expected = (xl.u[:, None] @ k.mT + shifted) / HD**0.5
    seen = torch.arange(5)[None] <= torch.arange(2, 5)[:, None]
    assert torch.allclose(bias.double()[..., seen], expected[..., seen], atol=1e-5)


def test_depends_on_the_offset_only_also_far_out():
    xl, (q, k) = method(), tensors(4, 4)
    here, there = (
        xl.score_bias(q, k, torch.arange(4) + start, torch.arange(4) + start)
        for start in (0, 500_000)
    )
    assert torch.allclose(here, there, atol=1e-5)
    gaps = torch.tensor([0, 2, 3, 9])
    assert torch.allclose(
        xl.score_bias(q, k, gaps, gaps), xl.score_bias(q, k, gaps + 77, gaps + 77), atol=1e-5
    )


def test_the_two_ways_agree():
    xl, (q, k) = method(), tensors(4, 6)
    queries, keys = torch.arange(4) + 2, torch.arange(6)
    assert torch.allclose(
        xl.score_bias(q, k, queries, keys),
        xl.score_bias(q, k, queries[None], keys[None]),
        atol=1e-5,
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((0, 4), "n_heads .* 0"), ((3, 5), "n_heads=3, head_dim=5"), ((2, 4.5), r"head_dim .* 4\.5")],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        TransformerXLRelative(*arguments)
