"""Shaw's relative vectors: a literal loop, clipping at both ends, and a term that depends on the
query.
"""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sinpe import ShawRelative

H, HD = 2, 4


def method(max_distance):
    out = ShawRelative(H, HD, max_distance)
    with torch.no_grad():
        out.vectors.copy_(
            torch.randn(out.vectors.shape, generator=torch.Generator().manual_seed(0))
        )
    return out


def tensors(q_len, k_len):
    generator = torch.Generator().manual_seed(1)
    return torch.randn(2, H, q_len, HD, generator=generator), torch.randn(
        2, H, k_len, HD, generator=generator
    )


@given(
    st.integers(1, 5),
    st.lists(st.integers(-20, 20), min_size=1, max_size=4),
    st.lists(st.integers(-20, 20), min_size=1, max_size=4),
)
def test_equals_a_literal_loop(max_distance, queries, keys):
    shaw, (q, k) = method(max_distance), tensors(len(queries), len(keys))
    out = shaw.score_bias(q, k, torch.tensor(queries), torch.tensor(keys))
    for b in range(2):
        for h in range(H):
            for i, qp in enumerate(queries):
                for j, kp in enumerate(keys):
                    row = max(-max_distance, min(max_distance, kp - qp)) + max_distance
                    expected = (
                        sum(q[b, h, i, c] * shaw.vectors[h, row, c] for c in range(HD)) / HD**0.5
                    )
                    assert out[b, h, i, j].item() == pytest.approx(expected.item(), abs=1e-5)


def test_the_rows_that_are_read():
    """k = 2, T = 4: token 0 reads rows 2 3 4 4, and there are 2k + 1 = 5 of them."""
    shaw, (q, k) = method(2), tensors(4, 4)
    assert shaw.vectors.shape == (H, 5, HD)
    out = shaw.score_bias(q, k, torch.arange(4), torch.arange(4))
    every = q @ shaw.vectors.transpose(-2, -1) / HD**0.5
    for i, rows in enumerate([[2, 3, 4, 4], [1, 2, 3, 4], [0, 1, 2, 3], [0, 0, 1, 2]]):
        assert torch.allclose(out[:, :, i], every[:, :, i, rows])


def test_depends_on_the_offset_only_is_linear_in_the_query_and_ignores_the_key():
    shaw, (q, k) = method(3), tensors(5, 5)
    here, there = (
        shaw.score_bias(q, k, torch.arange(5) + start, torch.arange(5) + start)
        for start in (0, 1000)
    )
    assert torch.equal(here, there)
    assert torch.allclose(shaw.score_bias(2 * q, k, torch.arange(5), torch.arange(5)), 2 * here)
    assert torch.equal(shaw.score_bias(q, 3 * k, torch.arange(5), torch.arange(5)), here)


def test_beyond_the_clip_all_distances_look_alike():
    shaw, (q, k) = method(2), tensors(1, 3)
    out = shaw.score_bias(q, k, torch.tensor([100]), torch.tensor([0, 50, 98]))
    assert torch.equal(out[..., 0], out[..., 1]) and torch.equal(out[..., 1], out[..., 2])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 4, 2), "n_heads .* 0"),
        ((2, 4, 0), "max_distance .* 0"),
        ((2, 4.0, 2), r"head_dim .* 4\.0"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        ShawRelative(*arguments)


def test_a_wrong_head_size_is_refused_at_the_call():
    with pytest.raises(
        ValueError, match=r"q must have shape \(batch, 2, len, 4\), got \(1, 2, 3, 5\)"
    ):
        ShawRelative(2, 4, 2).score_bias(
            torch.zeros(1, 2, 3, 5), torch.zeros(1, 2, 3, 5), torch.arange(3), torch.arange(3)
        )
