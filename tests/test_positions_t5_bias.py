"""T5's bias: every bucket edge, a literal loop, and the short way through 2L − 1 distances."""

import math
from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F
from torch.nn.attention.flex_attention import flex_attention

from sinpe import ShawRelative, T5Bias, relative_position_bucket

RELATIVE = [-200, -128, -127, -64, -16, -9, -8, -7, -1, 0, 1, 7, 8, 9, 16, 64, 127, 128, 200]


def literal_bucket(relative, bidirectional, n_buckets, max_distance):
    """The definition, with the logarithms compared as exact powers: floor(log(n/e) / log(M/e) · w)
    >= s means (n/e)^w >= (M/e)^s.
    """
    offset = 0
    if bidirectional:
        n_buckets //= 2
        offset = n_buckets if relative > 0 else 0
        n = abs(relative)
    else:
        n = max(-relative, 0)
    exact = n_buckets // 2
    if n < exact:
        return offset + n
    wide, step = n_buckets - exact, 0
    while step + 1 < wide and Fraction(n, exact) ** wide >= Fraction(max_distance, exact) ** (
        step + 1
    ):
        step += 1
    return offset + exact + step


@pytest.mark.parametrize(
    ("bidirectional", "buckets"),
    [
        (True, [15, 15, 15, 14, 10, 8, 8, 7, 1, 0, 17, 23, 24, 24, 26, 30, 31, 31, 31]),
        (False, [31, 31, 31, 26, 16, 9, 8, 7, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
    ],
)
def test_known_values(bidirectional, buckets):
    assert (
        relative_position_bucket(torch.tensor(RELATIVE), bidirectional=bidirectional).tolist()
        == buckets
    )


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize(
    ("n_buckets", "max_distance"), [(32, 128), (8, 12), (4, 3), (16, 1000), (64, 65), (32, 16 + 1)]
)
def test_every_bucket_edge(bidirectional, n_buckets, max_distance):
    distances = torch.arange(-max_distance - 5, max_distance + 6)
    got = relative_position_bucket(
        distances, bidirectional=bidirectional, n_buckets=n_buckets, max_distance=max_distance
    )
    assert got.tolist() == [
        literal_bucket(r, bidirectional, n_buckets, max_distance) for r in distances.tolist()
    ]
    assert got.max() < n_buckets and got.min() == 0


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize("max_distance", [2**40 + 1, 2**60 + 1])
def test_far_edges_are_exact(bidirectional, max_distance):
    """Where a float64 power is off by more than one: at each edge the definition changes."""
    edges = T5Bias(1, max_distance=max_distance, bidirectional=bidirectional).edges
    last = [literal_bucket(-n, bidirectional, 32, max_distance) for n in edges]
    before = [literal_bucket(1 - n, bidirectional, 32, max_distance) for n in edges]
    assert last == list(range(1, len(edges) + 1)) and before == list(range(len(edges)))


@given(
    st.booleans(),
    st.integers(2, 32).map(lambda n: 2 * n),
    st.integers(1, 500),
    st.integers(-(10**6), 10**6),
)
def test_buckets_equal_the_definition(bidirectional, n_buckets, beyond, relative):
    max_distance = n_buckets // (4 if bidirectional else 2) + beyond
    got = relative_position_bucket(
        torch.tensor([relative]),
        bidirectional=bidirectional,
        n_buckets=n_buckets,
        max_distance=max_distance,
    )
    assert got.item() == literal_bucket(relative, bidirectional, n_buckets, max_distance)


@pytest.mark.parametrize("bidirectional", [True, False])
def test_bias_equals_a_literal_loop(bidirectional):
    method = T5Bias(3, n_buckets=8, max_distance=10, bidirectional=bidirectional)
    queries, keys = torch.tensor([0, 3, 4, 30]), torch.tensor([5, 4, 0])
    out = method.score_bias(torch.zeros(2, 3, 4, 2), torch.zeros(2, 3, 3, 2), queries, keys)
    for h in range(3):
        for i, q in enumerate(queries.tolist()):
            for j, k in enumerate(keys.tolist()):
                assert (
                    out[0, h, i, j] == method.weight[h, literal_bucket(k - q, bidirectional, 8, 10)]
                )


@given(st.integers(-20, 20), st.integers(-20, 20), st.integers(1, 9), st.integers(1, 9))
def test_the_short_way_equals_the_pairs(q_start, k_start, q_len, k_len):
    method = T5Bias(2, n_buckets=8, max_distance=10, bidirectional=True)
    q, k = torch.zeros(1, 2, q_len, 2), torch.zeros(1, 2, k_len, 2)
    queries, keys = torch.arange(q_len) + q_start, torch.arange(k_len) + k_start
    short = method.score_bias(q, k, queries, keys)
    # a batch of positions takes the long way
    pairs = method.score_bias(q, k, queries[None], keys[None])
    assert torch.equal(short, pairs)


def test_the_short_way_buckets_2l_minus_1_distances(monkeypatch):
    from sinpe.positions import t5_bias

    asked = []
    original = t5_bias._bucket
    monkeypatch.setattr(
        t5_bias,
        "_bucket",
        lambda distance, *rest: asked.append(distance.numel()) or original(distance, *rest),
    )
    T5Bias(2).score_bias(
        torch.zeros(1, 2, 50, 4), torch.zeros(1, 2, 50, 4), torch.arange(50), torch.arange(50)
    )
    assert asked == [99]


def test_depends_on_the_offset_only_and_learns_one_number_a_bucket():
    method = T5Bias(2)
    q = torch.zeros(1, 2, 6, 4)
    assert torch.equal(
        method.score_bias(q, q, torch.arange(6), torch.arange(6)),
        method.score_bias(q, q, torch.arange(6) + 9, torch.arange(6) + 9),
    )
    assert math.prod(method.weight.shape) == 2 * 32


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_heads": 0}, "n_heads .* 0"),
        ({"n_heads": 2, "n_buckets": 1}, "n_buckets must be at least 2, got 1"),
        (
            {"n_heads": 2, "n_buckets": 7, "bidirectional": True},
            "n_buckets must be even and at least 4, got 7",
        ),
        (
            {"n_heads": 2, "n_buckets": 2, "bidirectional": True},
            "n_buckets must be even and at least 4, got 2",
        ),
        ({"n_heads": 2, "max_distance": 16}, "max_distance must exceed the 16 .* got 16"),
        ({"n_heads": 2, "bidirectional": 1}, "bidirectional .* 1"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        T5Bias(**arguments)


@pytest.mark.parametrize(("n_buckets", "max_distance"), [(10, 160), (32, 128)])
def test_the_logarithm_in_float64_misplaces_edges_of_some_sizes(n_buckets, max_distance):
    """Chapter 09: why edges are decided in integers. With T5's own sizes no distance moves, with
    ten buckets and 160 those at 10, 20 and 80 do; a tiny number added before rounding mends them.
    """
    exact = n_buckets // 2
    distances = torch.arange(1, 3001)
    right = relative_position_bucket(
        -distances, bidirectional=False, n_buckets=n_buckets, max_distance=max_distance
    ).tolist()

    def by_logarithm(n, more):
        if n < exact:
            return n
        steps = math.log(n / exact) / math.log(max_distance / exact) * (n_buckets - exact)
        return min(n_buckets - 1, exact + math.floor(steps + more))

    for more, misplaced in ((0.0, [10, 20, 80] if n_buckets == 10 else []), (1e-9, [])):
        pairs = zip(distances.tolist(), right, strict=True)
        assert [n for n, bucket in pairs if by_logarithm(n, more) != bucket] == misplaced


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
def test_biases_in_fused_kernels():
    """As attn_mask of PyTorch's attention, and as score_mod of FlexAttention (not fused here): both
    add after the division by √head_dim.
    """
    n, heads, head_dim, most = 12, 2, 8, 3
    generator = torch.Generator().manual_seed(0)
    q, k, v = torch.randn(3, 1, heads, n, head_dim, generator=generator)
    at = torch.arange(n)
    t5, shaw = T5Bias(heads, bidirectional=True), ShawRelative(heads, head_dim, most)
    for method in (t5, shaw):
        for weight in method.requires_grad_(False).parameters():
            weight.normal_(generator=generator)
    diagonals = t5.weight[:, relative_position_bucket(at, bidirectional=True)]
    behind = t5.weight[:, relative_position_bucket(-at, bidirectional=True)]
    diagonals = torch.cat([behind.flip(-1)[:, :-1], diagonals], -1)  # offset 1 − n first
    products = q @ shaw.vectors.mT / math.sqrt(head_dim)

    def of_t5(score, batch, head, query, key):
        return score + diagonals[head, key - query + n - 1]

    def of_shaw(score, batch, head, query, key):
        row = (key - query).clamp(-most, most) + most
        return score + products[batch, head, query, row]

    for method, score_mod in ((t5, of_t5), (shaw, of_shaw)):
        bias = method.score_bias(q, k, at, at)
        wanted = (q @ k.mT / math.sqrt(head_dim) + bias).softmax(-1) @ v
        by_mask = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        by_function = flex_attention(q, k, v, score_mod=score_mod)
        assert torch.allclose(by_mask, wanted, rtol=0, atol=1e-5)
        assert torch.allclose(by_function, wanted, rtol=0, atol=1e-5)
