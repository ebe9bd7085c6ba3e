"""build_position and the control of loudness: the same method, louder or softer, with nothing else
changed.
"""

import re
import subprocess
import sys

import pytest
import torch
from tiny_study import config

from sinpe import (
    LearnedEncoding,
    NoPosition,
    PositionMethod,
    SinusoidalEncoding,
    Transformer,
    TransformerConfig,
)
from sinpe.experiments import Amplitude, build_position

D = 8


def test_amplitude_is_a_factor_on_what_the_method_adds():
    x, positions = torch.randn(2, 5, D), torch.arange(5)
    for factor in (0.25, 3.0):
        out = Amplitude(SinusoidalEncoding(D), factor).embed(x, positions)
        assert torch.allclose(out, x + factor * SinusoidalEncoding(D).rows(positions), atol=1e-7)
    assert torch.equal(
        Amplitude(SinusoidalEncoding(D), 1.0).embed(x, positions),
        SinusoidalEncoding(D).embed(x, positions),
    )


def test_shrunk_positions_have_the_ratio_of_the_factor_without_the_factor():
    tokens, positions = torch.randint(11, (2, 6)), torch.arange(6)
    shape = TransformerConfig(11, D, 1, 2, 8)
    on, off = (
        Transformer(shape, NoPosition()),
        Transformer(TransformerConfig(11, D, 1, 2, 8, scale=1.0), NoPosition()),
    )
    loud = SinusoidalEncoding(D).embed(on.embedding(tokens), positions)
    soft = Amplitude(SinusoidalEncoding(D), D**-0.5).embed(off.embedding(tokens), positions)
    assert torch.allclose(loud, soft * D**0.5, atol=1e-5)
    assert torch.equal(on.embedding.table.weight, off.embedding.table.weight)


def test_the_other_openings_are_the_methods_own():
    class Probe(PositionMethod):
        n_heads = 2

        def embed(self, x, positions):
            return x + 1

        def rotate(self, q, k, q_positions, k_positions):
            return q + 1, k + 2

        def score_bias(self, q, k, q_positions, k_positions):
            return q_positions + 5

    q, p = torch.zeros(1, 2, 3, 4), torch.arange(3)
    probe = Amplitude(Probe(), 2.0)
    assert probe.n_heads == 2
    assert torch.equal(probe.embed(q, p), q + 2)
    assert [t.mean().item() for t in probe.rotate(q, q, p, p)] == [1, 2]
    assert torch.equal(probe.score_bias(q, q, p, p), p + 5)


def test_amplitude_refuses_what_it_cannot_do():
    for method in (NoPosition(), PositionMethod(), None):
        with pytest.raises(
            ValueError, match="amplitude needs a method that adds to the embeddings, got"
        ):
            Amplitude(method, 2.0)
    for factor in (0, -1, float("nan"), "2"):
        with pytest.raises(ValueError, match="amplitude must be a positive finite number"):
            Amplitude(SinusoidalEncoding(D), factor)
    with pytest.raises(ValueError, match="d_model=8, the model has d_model=16"):
        Transformer(TransformerConfig(9, 16, 1, 2, 8), Amplitude(SinusoidalEncoding(D), 2.0))


def test_weights_and_types_pass_through():
    learned = Amplitude(LearnedEncoding(D, 5), 0.5)
    assert list(learned.state_dict()) == ["method.weight"]
    learned.embed(torch.zeros(1, 3, D), torch.arange(3)).sum().backward()
    assert learned.method.weight.grad[:3].unique().tolist() == [0.5]
    assert (
        learned.embed(torch.zeros(1, 3, D, dtype=torch.bfloat16), torch.arange(3)).dtype
        == torch.bfloat16
    )


def test_build_position_takes_amplitude_for_every_method_that_adds():
    shrunk = build_position(config(position_options=(("amplitude", 0.5), ("base", 100.0))))
    assert (shrunk.factor, shrunk.method.base) == (0.5, 100)
    assert (
        build_position(
            config(position="learned", position_options=(("amplitude", 0.5),))
        ).method.max_len
        == 6
    )
    with pytest.raises(ValueError, match="amplitude needs"):
        build_position(config(position="none", position_options=(("amplitude", 0.5),)))


def test_training_does_not_load_what_only_studies_need():
    code = (
        "import sys, sinpe.training; assert not {'joblib', 'distributed',"
        " 'sinpe.experiments.runner', 'scipy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    subprocess.run(
        [
            sys.executable,
            "-c",
            (
                "from sinpe.experiments import load_records, build_position, run_study; import"
                " sinpe.training"
            ),
        ],
        check=True,
    )


@pytest.mark.parametrize(
    "bad",
    [
        {"position": None},
        {"position": ["rope"]},
        {"position_options": [1]},
        {"position_options": 5},
    ],
)
def test_a_position_and_options_of_another_kind_are_refused_by_name(bad):
    ((name, value),) = bad.items()
    with pytest.raises(ValueError, match=f"{name} must be .* got {re.escape(repr(value))}"):
        build_position(config(**bad))
