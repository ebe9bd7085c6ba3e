"""T5's relative bias: one learned number for each head and each bucket of distances, buckets
growing logarithmically.
"""

import torch
from torch import nn

from sinpe.positions.base import PositionMethod, check_heads, check_size
from sinpe.positions.relative import consecutive, offsets, relative_positions, toeplitz


def relative_position_bucket(relative_position, *, bidirectional, n_buckets=32, max_distance=128):
    """Bucket of each relative position k − q; int64 in the shape of relative_position.

    Of the buckets of a direction, the first half holds one distance each; the others grow
    geometrically up to max_distance, and the last one takes all beyond. bidirectional: half of the
    buckets serve keys ahead of the query; otherwise those all fall into bucket 0. Raises ValueError
    where n_buckets is too small to be halved, or max_distance does not exceed the exact buckets.
    """
    return _bucket(relative_position, _edges(bidirectional, n_buckets, max_distance), bidirectional)


def _bucket(relative_position, edges, bidirectional):
    distance = relative_position.abs() if bidirectional else (-relative_position).clamp(min=0)
    bucket = torch.bucketize(
        distance, torch.tensor(edges, device=relative_position.device), right=True
    )
    return bucket + (relative_position > 0) * (len(edges) + 1) if bidirectional else bucket


def _edges(bidirectional, n_buckets, max_distance):
    """The smallest distance of each bucket but the first, decided in integers."""
    buckets = check_size("n_buckets", n_buckets) // (2 if bidirectional else 1)
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
        n = max(edges[-1], int(exact * (max_distance / exact) ** (step / wide)) - 1)
        while n**wide * exact**step < max_distance**step * exact**wide:
            n += 1
        edges.append(n)
    return tuple(edges)


class T5Bias(PositionMethod):
    """Adds w[head, bucket(k − q)] to the scores.

    The model's 1/√head_dim stays, unlike in T5, whose initialisation takes its place. Share one
    instance between layers, as T5 does, or give each its own.
    Source: Raffel et al. 2020, https://arxiv.org/abs/1910.10683
    Raises ValueError as relative_position_bucket does.
    """

    def __init__(self, n_heads, n_buckets=32, max_distance=128, bidirectional=False):
        super().__init__()
        self.n_heads = check_size("n_heads", n_heads)
        if not isinstance(bidirectional, bool):
            raise ValueError(f"bidirectional must be True or False, got {bidirectional!r}")
        self.n_buckets, self.max_distance, self.bidirectional = (
            n_buckets,
            max_distance,
            bidirectional,
        )
        self.edges = _edges(bidirectional, n_buckets, max_distance)
        self.weight = nn.Parameter(torch.empty(n_heads, n_buckets))
        nn.init.normal_(self.weight, std=0.02)

    def score_bias(self, q, k, q_positions, k_positions):
        """q, k: (batch, heads, len, head_dim) -> float32 (1 | batch, heads, q_len, k_len)."""
        check_heads(q, k, self.n_heads)
        distance = relative_positions(q, k, q_positions, k_positions)
        # 2L − 1 distances instead of L² pairs
        if consecutive(q_positions) and consecutive(k_positions):
            return toeplitz(
                self._look_up(offsets(q_positions, k_positions)), q.shape[2], k.shape[2]
            )[None]
        return self._look_up(distance).movedim(0, 1)

    def _look_up(self, distance):
        """(*shape) -> (heads, *shape)"""
        return self.weight.float()[:, _bucket(distance, self.edges, self.bidirectional)]
