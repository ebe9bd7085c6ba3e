"""TokenEmbedding: the two numbers, what they do on the way in, and that they stay out on the way out."""

import math

import pytest
import torch

from sinpe import TokenEmbedding

TOKENS = torch.arange(2000)[None]


@pytest.mark.parametrize("d_model", [16, 64, 512])
def test_defaults_are_the_papers(d_model):
    embedding = TokenEmbedding(2000, d_model)
    assert embedding.scale == math.sqrt(d_model)
    assert embedding.init_std == d_model**-0.5
    assert embedding.table.weight.std().item() == pytest.approx(d_model**-0.5, rel=0.02)
    assert embedding(TOKENS).std().item() == pytest.approx(1.0, rel=0.02)  # the factor undoes the small weights


def test_explicit_numbers_are_used_and_the_output_has_no_factor():
    embedding = TokenEmbedding(2000, 32, init_std=0.02, scale=3.0)
    assert torch.equal(embedding(TOKENS)[0], embedding.table.weight * 3.0)
    h = torch.randn(2, 5, 32)
    assert torch.allclose(embedding.logits(h), torch.einsum("bsd,vd->bsv", h, embedding.table.weight), atol=1e-5)


def test_weights_come_from_the_given_generator_only():
    before = torch.random.get_rng_state()
    first, second = (TokenEmbedding(7, 4, generator=torch.Generator().manual_seed(3)).table.weight for _ in range(2))
    assert torch.equal(first, second)
    torch.random.set_rng_state(before)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 4), "vocab_size .* 0"),
        ((5, -2), "d_model .* -2"),
        ((5, 2.0), r"d_model .* 2\.0"),
        ((5, 4, 0), "init_std .* 0"),
        ((5, 4, float("inf")), "init_std .* inf"),
        ((5, 4, None, float("nan")), "scale .* nan"),
        ((5, 4, None, "big"), "scale .* 'big'"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        TokenEmbedding(*arguments)
