"""T5's relative bias: one learned number for each head and each bucket of distances, buckets
growing logarithmically.
"""

from bisect import bisect_left

import torch
from torch import nn

from sinpe.positions.base import PositionMethod, check_size
from sinpe.positions.checks import check_pair, check_real, wide
from sinpe.positions.relative import along_diagonals, offsets, relative_positions, toeplitz

MOST_BUCKETS = 2**10  # far beyond any model: their edges are powers of this order


def relative_position_bucket(relative_position, *, bidirectional, n_buckets=32, max_distance=128):
    """Bucket of each relative position k − q; int64 in the shape of relative_position.

    Of the buckets of a direction, the first half holds one distance each; the others grow
    geometrically up to max_distance, and the last one takes all beyond. bidirectional: half of the
    buckets serve keys ahead of the query; otherwise those all fall into bucket 0. Raises ValueError
    where relative_position is no tensor of real numbers, n_buckets is too small to be halved, or
    max_distance does not exceed the exact buckets.
    """
    edges = _edges(bidirectional, n_buckets, max_distance)
    return _bucket(check_real("relative_position", relative_position), edges, bidirectional)


def _bucket(relative_position, edges, bidirectional):
    distance = relative_position.abs() if bidirectional else (-relative_position).clamp(min=0)
    bounds = torch.tensor(edges, device=relative_position.device)
    bucket = torch.bucketize(distance, bounds, right=True)
    return bucket + (relative_position > 0) * (len(edges) + 1) if bidirectional else bucket


def _edges(bidirectional, n_buckets, max_distance):
    """The smallest distance of each bucket but the first, decided in integers."""
    if not isinstance(bidirectional, bool):
        raise ValueError(f"bidirectional must be True or False, got {bidirectional!r}")
    buckets = check_size("n_buckets", n_buckets, MOST_BUCKETS) // (2 if bidirectional else 1)
    exact = buckets // 2
    if exact < 1 or (bidirectional and n_buckets % 2):
        raise ValueError(
            f"n_buckets must be {'even and at least 4' if bidirectional else 'at least 2'}, got"
            f" {n_buckets}"
        )
    if check_size("max_distance", max_distance) <= exact:
        raise ValueError(
            f"max_distance must exceed the {exact} distances that have a bucket of their own, got"
            f" {max_distance}"
        )
    edges, wide = list(range(1, exact + 1)), buckets - exact
    for step in range(1, wide):  # the least n with (n / exact)^wide >= (max_distance / exact)^step
        bound = max_distance**step * exact ** (wide - step)
        enough = range(edges[-1], max_distance + 1)
        edges.append(enough[bisect_left(enough, bound, key=lambda n: n**wide)])
    return tuple(edges)


class T5Bias(PositionMethod):
    """Adds w[head, bucket(k − q)] to the scores.

    The model's 1/√head_dim stays, unlike in T5, whose initialisation takes its place. Share one
    instance between layers, as T5 does, or give each its own. With bidirectional=False all keys
    ahead of the query look alike: for causal models only.
    Source: Raffel et al. 2020, https://arxiv.org/abs/1910.10683
    Raises ValueError as relative_position_bucket does.
    """

    bias_of_positions = True

    def __init__(self, n_heads, n_buckets=32, max_distance=128, bidirectional=False):
        super().__init__()
        self.n_heads = check_size("n_heads", n_heads)
        self.n_buckets, self.max_distance = n_buckets, max_distance
        self.bidirectional = bidirectional
        self.edges = _edges(bidirectional, n_buckets, max_distance)
        self.causal_only = not bidirectional
        self.weight = nn.Parameter(torch.empty(n_heads, n_buckets))
        nn.init.normal_(self.weight, std=0.02)

    def score_bias(self, q, k, q_positions, k_positions):
        """q, k: (batch, heads, len, head_dim) -> (1 | batch, heads, q_len, k_len), float32, or
        float64 for float64 queries. k may have fewer heads.
        """
        q_positions, k_positions = check_pair(q, k, q_positions, k_positions, self.n_heads)
        weight = self.weight.to(wide(q.dtype))
        # 2L − 1 distances instead of L² pairs
        if along_diagonals(q_positions, k_positions):
            every = self._look_up(weight, offsets(q_positions, k_positions))
            return toeplitz(every, k.shape[2])[None]
        return self._look_up(weight, relative_positions(q_positions, k_positions)).movedim(0, 1)

    def _look_up(self, weight, distance):
        """(*shape) -> (heads, *shape)"""
        return weight[:, _bucket(distance, self.edges, self.bidirectional)]
