"""What the relative methods share: which key stands how far from which query."""

import torch

from sinpe.positions.base import check_positions


def relative_positions(q, k, q_positions, k_positions):
    """k − q for every pair: (1, q_len, k_len), or (batch, q_len, k_len) where a batch has its own
    positions.
    """
    check_positions("q_positions", q_positions, q.shape[2], q.shape[0])
    check_positions("k_positions", k_positions, k.shape[2], k.shape[0])
    q_positions, k_positions = torch.atleast_2d(q_positions), torch.atleast_2d(k_positions)
    for name, positions in {"q_positions": q_positions, "k_positions": k_positions}.items():
        if positions.shape[0] not in (1, q.shape[0]):
            raise ValueError(f"{name} has batch size {positions.shape[0]}, q has {q.shape[0]}")
    return k_positions[:, None, :] - q_positions[:, :, None]


def consecutive(positions):
    """Whether positions are one row n, n + 1, n + 2, …; False under a compiler, which cannot look
    at values.
    """
    if (
        positions.ndim != 1
        or torch.compiler.is_compiling()
        or positions.is_meta
        or len(positions) == 0
    ):
        return False
    return bool((positions.diff() == 1).all())


def offsets(q_positions, k_positions):
    """The q_len + k_len − 1 values that k − q takes over two consecutive rows, smallest first."""
    steps = torch.arange(1 - len(q_positions), len(k_positions), device=k_positions.device)
    return k_positions[0] - q_positions[0] + steps


def toeplitz(values, q_len, k_len):
    """(…, q_len + k_len − 1) -> (…, q_len, k_len) with entry [i, j] = values[j − i + q_len − 1],
    constant along each diagonal.
    """
    return values.unfold(-1, k_len, 1).flip(-2)
