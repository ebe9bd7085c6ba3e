"""What the relative methods share: which key stands how far from which query."""

import torch

from sinpe.positions.checks import visible


def relative_positions(q_positions, k_positions):
    """k − q for every pair: (1, q_len, k_len), or (batch, q_len, k_len) where a batch has its own
    positions.
    """
    q_positions, k_positions = torch.atleast_2d(q_positions), torch.atleast_2d(k_positions)
    return k_positions[:, None, :] - q_positions[:, :, None]


def consecutive(positions):
    """Whether positions are one row of integers n, n + 1, n + 2, …; False where values cannot be
    looked at.
    """
    return (
        positions.ndim == 1
        and not positions.is_floating_point()
        and visible(positions)
        and len(positions) > 0
        and bool((positions.diff() == 1).all())
    )


def offsets(q_positions, k_positions):
    """The q_len + k_len − 1 values that k − q takes over two consecutive rows, smallest first."""
    steps = torch.arange(1 - len(q_positions), len(k_positions), device=k_positions.device)
    return k_positions[0] - q_positions[0] + steps


def along_diagonals(q_positions, k_positions):
    """Whether k − q is constant along each diagonal, and there are fewer diagonals than pairs."""
    if not visible(q_positions) or 1 in (q_positions.shape[-1], k_positions.shape[-1]):
        return False
    return consecutive(q_positions) and (k_positions is q_positions or consecutive(k_positions))


def toeplitz(values, k_len):
    """(…, q_len + k_len − 1) -> (…, q_len, k_len) with entry [i, j] = values[j − i + q_len − 1],
    constant along each diagonal.
    """
    return values.unfold(-1, k_len, 1).flip(-2)
