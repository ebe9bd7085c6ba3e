"""TokenEmbedding: the two numbers, what they do on the way in, and that they stay out on the way
out.
"""

import math

import pytest
import torch
from torch.nn import functional as F

from sinpe import TokenEmbedding, sinusoidal_encoding

TOKENS = torch.arange(2000)[None]


@pytest.mark.parametrize("d_model", [16, 64, 512])
def test_defaults_are_the_papers(d_model):
    embedding = TokenEmbedding(2000, d_model)
    assert embedding.scale == math.sqrt(d_model)
    assert embedding.init_std == d_model**-0.5
    assert embedding.table.weight.std().item() == pytest.approx(d_model**-0.5, rel=0.02)
    # the factor undoes the small weights
    assert embedding(TOKENS).std().item() == pytest.approx(1.0, rel=0.02)


def test_explicit_numbers_are_used_and_the_output_has_no_factor():
    embedding = TokenEmbedding(2000, 32, init_std=0.02, scale=3.0)
    assert torch.equal(embedding(TOKENS)[0], embedding.table.weight * 3.0)
    h = torch.randn(2, 5, 32)
    assert torch.allclose(
        embedding.logits(h), torch.einsum("bsd,vd->bsv", h, embedding.table.weight), atol=1e-5
    )


@pytest.mark.parametrize(
    ("init_std", "scale", "d_model", "ratio"),
    [
        (None, None, 64, 1.41),
        (None, None, 512, 1.41),
        (None, 1.0, 512, 0.0625),
        (None, 1.0, 128, 0.125),
        (1.0, 1.0, 512, 1.41),
        (1.0, None, 512, 32.0),
        (1.0, None, 128, 16.0),
        (0.02, None, 512, 0.64),
        (0.02, 1.0, 512, 0.0283),
    ],
)
@torch.no_grad()
def test_how_loud_a_token_is_beside_its_position(init_std, scale, d_model, ratio):
    embedding = TokenEmbedding(
        2000, d_model, init_std, scale, generator=torch.Generator().manual_seed(1)
    )
    codes = torch.tensor(sinusoidal_encoding(64, d_model))
    assert embedding(TOKENS).double().pow(2).mean().sqrt() / codes.pow(
        2
    ).mean().sqrt() == pytest.approx(ratio, rel=0.02)


@pytest.mark.parametrize("factor", [1.0, 8.0, 22.6])
def test_a_layer_norm_drops_the_scale_of_a_sum_and_keeps_the_ratio_in_it(factor):
    d_model = 512
    token = (
        torch.randn(64, d_model, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
        * d_model**-0.5
    )
    code = torch.tensor(sinusoidal_encoding(64, d_model))
    normed = F.layer_norm(factor * token + code, (d_model,), eps=0)
    assert torch.allclose(F.layer_norm(7 * (factor * token + code), (d_model,), eps=0), normed)
    # how much of each is in the result, by least squares
    parts = torch.stack([token, code, torch.ones_like(code)], -1)
    of_token, of_code, _ = torch.linalg.lstsq(parts, normed[..., None]).solution[..., 0].T
    assert torch.allclose(of_token / of_code, torch.full((64,), factor, dtype=torch.float64))


def test_the_factor_multiplies_the_gradient_of_the_input_and_not_that_of_the_output():
    def gradients(scale):
        embedding = TokenEmbedding(
            50, 16, init_std=1.0, scale=scale, generator=torch.Generator().manual_seed(3)
        )
        generator = torch.Generator().manual_seed(4)
        pull, h = (
            torch.randn(1, 50, 16, generator=generator),
            torch.randn(5, 16, generator=generator),
        )
        (inward,) = torch.autograd.grad(
            (embedding(torch.arange(50)[None]) * pull).sum(), embedding.table.weight
        )
        (outward,) = torch.autograd.grad(
            embedding.logits(h).logsumexp(-1).sum(), embedding.table.weight
        )
        return inward, outward

    with_factor, without = gradients(4.0), gradients(1.0)
    assert torch.allclose(with_factor[0], 4 * without[0]) and torch.equal(
        with_factor[1], without[1]
    )


def test_weights_come_from_the_given_generator_only():
    before = torch.random.get_rng_state()
    first, second = (
        TokenEmbedding(7, 4, generator=torch.Generator().manual_seed(3)).table.weight
        for _ in range(2)
    )
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
