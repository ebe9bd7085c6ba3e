"""ALiBi: the authors' slopes, a literal loop, what its definition promises, and how it relates to
the key-only form.
"""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from peers import peer

from sinpe import Alibi, alibi_slopes


def authors_slopes(n):
    """Press et al.'s rule, written out: a geometric series for powers of two, else that of the
    power below plus every other one of twice it.
    """

    def power_of_two(n):
        start = 2 ** (-(2 ** -(math.log2(n) - 3)))
        return [start * start**i for i in range(n)]

    if math.log2(n).is_integer():
        return power_of_two(n)
    below = 2 ** math.floor(math.log2(n))
    return power_of_two(below) + authors_slopes(2 * below)[0::2][: n - below]


@given(st.integers(1, 200))
def test_slopes_are_the_authors(n):
    assert alibi_slopes(n).tolist() == pytest.approx(authors_slopes(n), rel=1e-12)
    assert alibi_slopes(n).dtype == torch.float64


def test_slopes_fall_for_powers_of_two_only():
    falls = [n for n in range(1, 33) if (alibi_slopes(n).diff() < 0).all()]
    assert falls == [1, 2, 4, 8, 16, 32]


@pytest.mark.parametrize(
    ("n", "slopes"),
    [
        (3, [0.0625, 0.003906, 0.25]),
        (6, [0.25, 0.0625, 0.015625, 0.003906, 0.5, 0.125]),
        (8, [0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625]),
        (
            12,
            [
                0.5,
                0.25,
                0.125,
                0.0625,
                0.03125,
                0.015625,
                0.0078125,
                0.00390625,
                0.707107,
                0.353553,
                0.176777,
                0.088388,
            ],
        ),
    ],
)
def test_head_counts_that_the_plain_rule_gets_wrong(n, slopes):
    assert alibi_slopes(n).tolist() == pytest.approx(slopes, abs=5e-7)


def bias(n_heads, q_positions, k_positions):
    q, k = (
        torch.zeros(1, n_heads, len(q_positions), 4),
        torch.zeros(1, n_heads, len(k_positions), 4),
    )
    return Alibi(n_heads).score_bias(q, k, q_positions, k_positions)


@given(
    st.integers(1, 9),
    st.lists(st.integers(-50, 2000), min_size=1, max_size=5),
    st.lists(st.integers(-50, 2000), min_size=1, max_size=5),
)
def test_equals_a_literal_loop(n_heads, queries, keys):
    out, slopes = bias(n_heads, torch.tensor(queries), torch.tensor(keys)), authors_slopes(n_heads)
    for h in range(n_heads):
        for i, q in enumerate(queries):
            for j, k in enumerate(keys):
                assert out[0, h, i, j].item() == pytest.approx(-slopes[h] * abs(q - k), rel=1e-6)


@given(st.integers(-20, 20), st.integers(-20, 20), st.integers(1, 9), st.integers(1, 9))
def test_the_short_way_equals_the_pairs(q_start, k_start, q_len, k_len):
    q, k = torch.zeros(1, 3, q_len, 2), torch.zeros(1, 3, k_len, 2)
    queries, keys = torch.arange(q_len) + q_start, torch.arange(k_len) + k_start
    short = Alibi(3).score_bias(q, k, queries, keys)
    # a batch of positions takes the long way
    assert torch.equal(short, Alibi(3).score_bias(q, k, queries[None], keys[None]))


def test_the_short_way_weighs_2l_minus_1_distances(monkeypatch):
    asked, original = [], Alibi._penalty
    monkeypatch.setattr(
        Alibi,
        "_penalty",
        lambda self, distance, dtype: (
            asked.append(distance.numel()) or original(self, distance, dtype)
        ),
    )
    bias(2, torch.arange(50), torch.arange(50))
    bias(2, torch.arange(50), torch.arange(50).flip(0))
    assert asked == [99, 2500]


@pytest.mark.parametrize("positions", [torch.arange(5), torch.tensor([[0, 1, 2, 7, 9]])])
def test_what_is_returned_has_memory_of_its_own(positions):
    """Diagonals share their numbers while they are computed, never in what a caller may change."""
    method, q = Alibi(2), torch.zeros(1, 2, 5, 4)
    first = method.score_bias(q, q, positions, positions)
    expected = first.clone()
    first[0, 0, 2, 2] = 7
    assert (first != expected).sum() == 1
    assert torch.equal(method.score_bias(q, q, positions, positions), expected)


@given(st.integers(1, 12), st.data())
def test_a_share_of_the_heads(n_heads, data):
    """The first ones have the slopes of so many heads, the rest see no positions."""
    some = data.draw(st.integers(1, n_heads))
    q, at = torch.zeros(1, n_heads, 6, 4), torch.tensor([3, 1, 4, 15, 9, 2])
    out = Alibi(n_heads, alibi_heads=some).score_bias(q, q, at, at)
    assert torch.equal(out[:, :some], Alibi(some).score_bias(q[:, :some], q[:, :some], at, at))
    assert (out[:, some:] == 0).all() and out.shape == (1, n_heads, 6, 6)


def test_a_share_of_the_heads_as_another_package_has_it():
    x_transformers = peer("x_transformers.x_transformers")
    theirs = x_transformers.AlibiPositionalBias(heads=4, total_heads=6)
    q, at = torch.zeros(1, 6, 7, 4), torch.arange(7)
    assert torch.equal(theirs(7, 7), Alibi(6, alibi_heads=4).score_bias(q, q, at, at)[0])


@pytest.mark.parametrize(
    ("some", "message"),
    [
        (9, "alibi_heads must be at most n_heads, got alibi_heads=9, n_heads=8"),
        (0, "alibi_heads must be a positive integer, got 0"),
        (2.0, "alibi_heads must be a positive integer, got 2.0"),
        (True, "alibi_heads must be a positive integer, got True"),
    ],
)
def test_a_share_that_is_none_is_refused(some, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        Alibi(8, alibi_heads=some)


def test_a_penalty_that_is_zero_at_the_token_itself_symmetric_and_a_function_of_the_distance():
    out = bias(8, torch.arange(10), torch.arange(10))[0]
    assert (out <= 0).all() and (out.diagonal(dim1=1, dim2=2) == 0).all()
    assert torch.equal(out, out.transpose(1, 2))
    assert torch.equal(out, bias(8, torch.arange(10) + 777, torch.arange(10) + 777)[0])
    assert (out[:, 0].diff(dim=-1) < 0).all()  # farther is never rewarded


def test_a_causal_softmax_cannot_tell_it_from_the_authors_key_only_form():
    out, mask = bias(4, torch.arange(7), torch.arange(7)), torch.ones(7, 7, dtype=torch.bool).tril()
    key_only = (alibi_slopes(4)[:, None, None] * torch.arange(7)).float().expand(4, 7, 7)
    causal = [b.masked_fill(~mask, -math.inf).softmax(-1) for b in (out[0], key_only)]
    assert torch.allclose(*causal, atol=1e-6)
    assert not torch.allclose(out[0].softmax(-1), key_only.softmax(-1), atol=1e-2)  # an encoder can


def test_in_bfloat16_near_keys_are_exact_where_the_slope_is_a_power_of_two_and_only_there():
    near, slopes = torch.arange(257), alibi_slopes(12)
    exact = [torch.equal((m * near).bfloat16().double(), m * near) for m in slopes]
    assert exact == [math.log2(m).is_integer() for m in slopes] == [True] * 8 + [False] * 4
    rounded = torch.stack([(m * near).bfloat16().double() for m in slopes])
    assert torch.allclose(rounded, slopes[:, None] * near, rtol=2**-8, atol=0)


def attention(n_heads, length=9, head_dim=16):
    """Queries, keys and values, with the bias, masked, and what the formula makes of them."""
    generator = torch.Generator().manual_seed(0)
    shape = 3, 2, n_heads, length, head_dim
    q, k, v = torch.randn(shape, generator=generator, dtype=torch.float64)
    at = torch.arange(length)
    mask = Alibi(n_heads).score_bias(q, k, at, at).masked_fill(at[:, None] < at, -math.inf)
    weights = (q @ k.mT / math.sqrt(head_dim) + mask).softmax(-1)
    return q, k, v, mask, weights @ v


def test_the_fused_kernel_of_torch_takes_the_bias_as_it_is():
    q, k, v, mask, expected = attention(6)
    sdpa = torch.nn.functional.scaled_dot_product_attention
    assert torch.allclose(sdpa(q, k, v, attn_mask=mask), expected, rtol=0, atol=1e-12)
    divided = sdpa(q, k, v, attn_mask=mask / math.sqrt(16))
    assert (divided - expected).abs().max() > 0.05


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
def test_flex_attention_takes_the_bias_as_it_is():
    """Without torch.compile it runs the same function, unfused."""
    from torch.nn.attention.flex_attention import flex_attention  # takes seconds

    q, k, v, _, expected = attention(6)
    slopes = alibi_slopes(6)

    def bias(score, b, h, i, j):
        return torch.where(i >= j, score - slopes[h] * (i - j).abs(), -math.inf)

    assert torch.allclose(flex_attention(q, k, v, score_mod=bias), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("n_heads", [0, -1, 2.0, True])
def test_bad_head_counts_are_refused(n_heads):
    for call in (alibi_slopes, Alibi):
        with pytest.raises(ValueError, match=f"n_heads must be a positive integer, got {n_heads}"):
            call(n_heads)


def test_a_wrong_number_of_heads_is_refused_at_the_call():
    with pytest.raises(
        ValueError, match=r"q must have shape \(batch, 4, len, head_dim\), got \(1, 3, 5, 8\)"
    ):
        Alibi(4).score_bias(
            torch.zeros(1, 3, 5, 8), torch.zeros(1, 3, 5, 8), torch.arange(5), torch.arange(5)
        )
