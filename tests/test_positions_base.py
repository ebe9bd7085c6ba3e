"""PositionMethod: three openings that are the identity, and derived tables that survive whatever a
module goes through.
"""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sinpe import NoPosition, PositionMethod
from sinpe.positions.base import cast_once
from sinpe.positions.checks import check_positions

HALF_ULP_OF_ONE = {torch.float16: 2.0**-12, torch.bfloat16: 2.0**-9, torch.float32: 2.0**-25}


class Squares(PositionMethod):
    def __init__(self):
        super().__init__()
        self.derive("table", lambda: torch.arange(5, dtype=torch.float64) / 3)
        self.weight = torch.nn.Parameter(torch.ones(2))


@pytest.mark.parametrize("method", [PositionMethod(), NoPosition()], ids=["base", "none"])
def test_every_opening_is_the_identity(method):
    x, q, k, p = (
        torch.randn(2, 3, 8),
        torch.randn(2, 2, 3, 4),
        torch.randn(2, 2, 5, 4),
        torch.arange(3),
    )
    assert method.embed(x, p) is x
    assert method.rotate(q, k, p, torch.arange(5)) == (q, k)
    assert method.score_bias(q, k, p, torch.arange(5)) is None
    assert not method.state_dict()


def test_a_derived_table_is_not_saved_and_not_cast():
    method = Squares()
    exact = method.table.clone()
    assert list(method.state_dict()) == ["weight"]
    method.half().float()
    assert method.table.dtype == torch.float64
    assert torch.equal(method.table, exact)
    assert method.weight.dtype == torch.float32


def test_a_derived_table_is_rebuilt_after_meta_and_to_empty():
    exact = Squares().table
    method = Squares().to("meta")
    assert method.table.is_meta
    assert torch.equal(method.to_empty(device="cpu").table, exact)
    with torch.device("meta"):
        method = Squares()
    assert method.table.is_meta
    assert torch.equal(method.to_empty(device="cpu").table, exact)
    # never left as uninitialised memory
    assert torch.equal(Squares().to_empty(device="cpu").table, exact)


@given(st.floats(-1, 1), st.sampled_from(list(HALF_ULP_OF_ONE)))
def test_casting_rounds_once(value, dtype):
    exact = torch.tensor([value], dtype=torch.float64)
    assert (cast_once(exact, dtype).double() - exact).abs().item() <= HALF_ULP_OF_ONE[dtype]


def test_casting_does_not_round_twice():
    just_above_a_tie = torch.tensor(
        [0.5 + 2.0**-9 + 2.0**-40, -0.5 - 2.0**-9 - 2.0**-40, 0.5 + 2.0**-9 - 2.0**-40],
        dtype=torch.float64,
    )
    nearest = [0.5 + 2.0**-8, -0.5 - 2.0**-8, 0.5]
    assert cast_once(just_above_a_tie, torch.bfloat16).tolist() == nearest
    assert just_above_a_tie.to(torch.bfloat16).tolist() != nearest  # what plain conversion does


def test_casting_to_half_agrees_with_numpy_which_rounds_once():
    x = torch.rand(20_000, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) * 2 - 1
    assert np.array_equal(cast_once(x, torch.float16).numpy(), x.numpy().astype(np.float16))


@pytest.mark.parametrize("shape", [(), (4,), (2, 4), (1, 2, 3)])
def test_positions_of_a_wrong_shape_are_refused_by_name(shape):
    with pytest.raises(ValueError, match=r"q_positions must have shape \(3,\) or \(batch, 3\)"):
        check_positions("q_positions", torch.zeros(shape), 3)
