"""Transformer: equal to a slow literal version, with three openings that do what their contract
says.
"""

import copy
import io
import math

import pytest
import torch
from torch.nn import functional as F

from sinpe import (
    Alibi,
    NoPosition,
    PositionMethod,
    ShawRelative,
    SinusoidalEncoding,
    T5Bias,
    Transformer,
    TransformerConfig,
    TransformerXLRelative,
)

V, D, T = 11, 16, 7


def config(**changes):
    return TransformerConfig(
        **{"vocab_size": V, "d_model": D, "n_layers": 2, "n_heads": 2, "d_ff": 24, **changes}
    )


def tokens(batch=3, length=T, seed=0):
    return torch.randint(V, (batch, length), generator=torch.Generator().manual_seed(seed))


def slow_logits(model, row, positions, allowed):
    """One sequence, one query and one head at a time, straight from the equations."""
    c, method = model.config, model.layers[0].attention.position
    x = method.embed(model.embedding.table.weight[row][None] * model.embedding.scale, positions)[0]

    def attend(layer, x):
        a, out = layer.attention, torch.zeros_like(x)
        for h in range(c.n_heads):
            cut = slice(h * c.head_dim, (h + 1) * c.head_dim)
            q, k, v = a.query(x)[:, cut], a.key(x)[:, cut], a.value(x)[:, cut]
            for i in range(len(row)):
                seen = [j for j in range(len(row)) if allowed(i, j)]
                weights = torch.stack([q[i] @ k[j] / math.sqrt(c.head_dim) for j in seen]).softmax(
                    0
                )
                out[i, cut] = sum(w * v[j] for w, j in zip(weights, seen, strict=True))
        return a.out(out)

    for layer in model.layers:
        first, second = layer.norms
        if c.norm == "pre":
            x = x + attend(layer, first(x))
            x = x + layer.feed_forward(second(x))
        else:
            x = first(x + attend(layer, x))
            x = second(x + layer.feed_forward(x))
    if c.norm == "pre":
        x = model.final_norm(x)
    return x @ (model.embedding.table.weight if c.tied else model.unembedding.weight).T


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("tied", [True, False])
@torch.no_grad()
def test_equals_a_slow_literal_version(causal, norm, tied):
    model = Transformer(config(causal=causal, norm=norm, tied=tied), SinusoidalEncoding(D))
    batch = tokens()
    for row, logits in zip(batch, model(batch), strict=True):
        expected = slow_logits(model, row, torch.arange(T), lambda i, j: j <= i or not causal)
        assert torch.allclose(logits, expected, atol=1e-5)


@torch.no_grad()
def test_none_means_positions_from_zero_and_others_are_passed_on():
    model = Transformer(config(), SinusoidalEncoding(D))
    assert torch.equal(model(tokens()), model(tokens(), torch.arange(T)))
    assert not torch.allclose(model(tokens()), model(tokens(), torch.arange(T) * 3))
    rows = torch.stack([torch.arange(T) + start for start in range(3)])
    for i in range(3):
        assert torch.allclose(
            model(tokens(), rows)[i], model(tokens()[i : i + 1], rows[i])[0], atol=1e-5
        )


@pytest.mark.parametrize("causal", [True, False])
@torch.no_grad()
def test_left_padding_gives_the_same_logits_as_no_padding(causal):
    model, text, pad = Transformer(config(causal=causal), SinusoidalEncoding(D)), tokens(2), 4
    padded = torch.cat([torch.zeros(2, pad, dtype=torch.long), text], 1)
    positions = (torch.arange(pad + T) - pad).clamp(min=0)
    mask = torch.arange(pad + T).ge(pad).expand(2, -1)
    out = model(padded, positions, mask)
    assert torch.isfinite(out).all()
    assert torch.allclose(out[:, pad:], model(text), atol=1e-5)


@torch.no_grad()
def test_packed_rows_do_not_see_each_other():
    model, a, b = Transformer(config(), SinusoidalEncoding(D)), tokens(1, 4), tokens(1, 3, seed=1)
    owner = torch.tensor([0, 0, 0, 0, 1, 1, 1])
    mask = (owner[:, None] == owner[None, :])[None]
    positions = torch.tensor([[0, 1, 2, 3, 0, 1, 2]])
    out = model(torch.cat([a, b], 1), positions, mask)
    assert torch.allclose(out[:, :4], model(a), atol=1e-5)
    assert torch.allclose(out[:, 4:], model(b), atol=1e-5)


@torch.no_grad()
def test_a_causal_model_never_looks_ahead_and_an_encoder_does():
    changed = tokens().clone()
    changed[:, -1] = (changed[:, -1] + 1) % V
    causal, encoder = (Transformer(config(causal=c), SinusoidalEncoding(D)) for c in (True, False))
    assert torch.allclose(causal(tokens())[:, :-1], causal(changed)[:, :-1], atol=1e-6)
    assert not torch.allclose(encoder(tokens())[:, :-1], encoder(changed)[:, :-1], atol=1e-3)


@torch.no_grad()
def test_an_encoder_without_position_is_permutation_equivariant():
    model, order = (
        Transformer(config(causal=False), NoPosition()),
        torch.randperm(T, generator=torch.Generator().manual_seed(1)),
    )
    assert torch.allclose(model(tokens()[:, order]), model(tokens())[:, order], atol=1e-5)


class Probe(PositionMethod):
    """Scales queries, and biases scores by a term that depends on them."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def embed(self, x, positions):
        self.calls.append("embed")
        return x

    def rotate(self, q, k, q_positions, k_positions):
        self.calls.append("rotate")
        return 2 * q, k

    def score_bias(self, q, k, q_positions, k_positions):
        self.calls.append("score_bias")
        self.seen = (q, k)
        return -(q_positions[:, None] - k_positions[None, :]).abs().float()[
            None, None
        ] + q.float().mean(-1, keepdim=True)


@torch.no_grad()
def test_the_three_openings_are_used_where_the_contract_says():
    probe = Probe()
    model = Transformer(config(n_layers=1, causal=False), probe)
    logits = model(tokens(1))
    assert probe.calls == ["embed", "rotate", "score_bias"]
    layer, c = model.layers[0], model.config
    x = model.embedding(tokens(1))
    h = layer.norms[0](x)
    q, k, v = (
        p(h).view(1, T, c.n_heads, c.head_dim).transpose(1, 2)
        for p in (layer.attention.query, layer.attention.key, layer.attention.value)
    )
    assert torch.allclose(probe.seen[0], 2 * q)  # score_bias gets q as it enters the product
    bias = -(torch.arange(T)[:, None] - torch.arange(T)[None, :]).abs().float() + (2 * q).mean(
        -1, keepdim=True
    )
    weights = ((2 * q) @ k.transpose(-2, -1) / math.sqrt(c.head_dim) + bias).softmax(-1)
    x = x + layer.attention.out((weights @ v).transpose(1, 2).reshape(1, T, D))
    x = x + layer.feed_forward(layer.norms[1](x))
    assert torch.allclose(logits, model.embedding.logits(model.final_norm(x)), atol=1e-5)


class Zero(PositionMethod):
    def score_bias(self, q, k, q_positions, k_positions):
        return torch.zeros(1, 1, 1, 1)


@pytest.mark.parametrize("causal", [True, False])
@torch.no_grad()
def test_a_bias_of_zero_changes_nothing_with_and_without_a_mask(causal):
    plain, biased = (
        Transformer(config(causal=causal), NoPosition()),
        Transformer(config(causal=causal), Zero()),
    )
    mask = torch.arange(T).ge(2).expand(3, -1)
    for attention_mask in (None, mask):
        assert torch.allclose(
            plain(tokens(), None, attention_mask), biased(tokens(), None, attention_mask), atol=1e-5
        )


@torch.no_grad()
def test_one_method_a_layer_and_embed_is_called_on_the_first_only():
    first, second = Probe(), Probe()
    Transformer(config(), [first, second])(tokens())
    assert first.calls == ["embed", "rotate", "score_bias"]
    assert second.calls == ["rotate", "score_bias"]


def test_the_seed_decides_the_weights_and_nothing_else_does():
    before = torch.random.get_rng_state()
    a = Transformer(config(), NoPosition(), seed=5).state_dict()
    torch.rand(3)
    b = Transformer(config(), NoPosition(), seed=5).state_dict()
    torch.random.set_rng_state(before)
    assert all(torch.equal(a[name], b[name]) for name in a)
    assert not torch.equal(
        a["embedding.table.weight"],
        Transformer(config(), NoPosition(), seed=6).state_dict()["embedding.table.weight"],
    )


def test_position_tables_never_enter_the_checkpoint():
    model = Transformer(config(), SinusoidalEncoding(D, max_len=10))
    assert not any("position" in name for name in model.state_dict())
    Transformer(config(), SinusoidalEncoding(D, max_len=99)).load_state_dict(
        model.state_dict(), strict=True
    )


@torch.no_grad()
def test_loss_at_the_start_is_near_ln_v_plus_a_half_for_the_papers_numbers():
    """Unit logits: E[logsumexp] − E[logit] = ln V + 1/2. The input is noise here, since a residual
    stream copies its own token.
    """
    model = Transformer(config(vocab_size=5000, d_model=512, n_heads=8, d_ff=512), NoPosition())
    h = F.layer_norm(torch.randn(64, 512, generator=torch.Generator().manual_seed(99)), (512,))
    loss = F.cross_entropy(model.embedding.logits(h), torch.arange(64)).item()
    assert loss == pytest.approx(math.log(5000) + 0.5, abs=0.2)


@pytest.mark.parametrize("d_model", [16, 64, 256])
def test_an_output_matrix_of_its_own_starts_as_wide_as_the_embedding_of_the_paper(d_model):
    """d^(−1/2), so that states of RMS 1 give logits of size 1, whatever the embedding's spread."""
    for init_std in (None, 0.02):
        model = Transformer(
            config(vocab_size=4000, d_model=d_model, tied=False, init_std=init_std), NoPosition()
        )
        weight = model.unembedding.weight
        assert weight.shape == (4000, d_model)
        assert weight.std().item() == pytest.approx(d_model**-0.5, rel=0.02)
        assert weight.mean().item() == pytest.approx(0, abs=0.02 * d_model**-0.5)


@pytest.mark.parametrize("norm", ["pre", "post"])
@torch.no_grad()
def test_a_tied_model_repeats_its_input_at_the_start_only_with_the_factor(norm):
    """If the sub-layers added nothing, a token's own logit would be √(2d/3) with the factor and
    about √2 without it.
    """
    tokens = torch.randint(500, (2, 32), generator=torch.Generator().manual_seed(7))
    own, others = {}, {}
    for scale in (None, 1.0):
        model = Transformer(
            config(vocab_size=500, d_model=256, n_heads=4, d_ff=512, norm=norm, scale=scale),
            SinusoidalEncoding(256),
        )
        logits = model(tokens)
        own[scale], others[scale] = (
            logits.gather(2, tokens[..., None]).mean().item(),
            logits.std().item(),
        )
    assert 4 < own[None] < math.sqrt(2 * 256 / 3) and own[1.0] < 1.5
    assert all(0.8 < size < 1.3 for size in others.values())


@pytest.mark.parametrize("tied", [True, False])
def test_the_logits_are_multiplied_by_their_scale_alone(tied):
    plain, scaled = (
        Transformer(config(tied=tied, logit_scale=scale), NoPosition()) for scale in (1.0, 0.25)
    )
    assert torch.equal(plain(tokens()) * 0.25, scaled(tokens()))


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_dropout_is_on_the_sum_and_on_each_sub_layer_in_training_alone(norm):
    """The masks, drawn again by hand, put into the equations."""
    p, method = 0.4, SinusoidalEncoding(D)
    model = Transformer(config(norm=norm, dropout=p), method, seed=3)
    ids, positions = tokens(), torch.arange(T)
    plain = Transformer(config(norm=norm), method, seed=3)
    assert torch.equal(model.eval()(ids), plain(ids))
    generator = torch.Generator().manual_seed(5 * 3 + 3_000_017)

    def drop(x):
        return torch.where(torch.rand(x.shape, generator=generator) < p, 0.0, x / (1 - p))

    x = drop(method.embed(model.embedding(ids), positions))
    for layer in model.layers:
        first, second = layer.norms
        if norm == "pre":
            x = x + drop(layer.attention(first(x), positions, None))
            x = x + drop(layer.feed_forward(second(x)))
        else:
            x = first(x + drop(layer.attention(x, positions, None)))
            x = second(x + drop(layer.feed_forward(x)))
    expected = model.embedding.logits(model.final_norm(x))
    assert torch.allclose(model.train()(ids), expected, atol=1e-5)


def test_dropout_keeps_the_mean_and_drops_its_share():
    dropout = Transformer(config(dropout=0.25), NoPosition()).dropout
    x = torch.ones(100_000)
    y = dropout(x)
    assert y.unique().tolist() == pytest.approx([0, 4 / 3])
    assert (y == 0).float().mean().item() == pytest.approx(0.25, abs=0.01)
    assert dropout.eval()(x) is x


def test_masks_are_drawn_beside_their_generator_and_copied_with_the_model():
    model, ids = Transformer(config(dropout=0.5), NoPosition()), tokens()
    copied, saved = copy.deepcopy(model), io.BytesIO()
    torch.save(model, saved)
    saved.seek(0)
    loaded = torch.load(saved, weights_only=False)
    with torch.device("meta"):  # a default device, on which the generator does not live
        first = model(ids)
    for other in (copied, loaded):
        assert torch.equal(other(ids), first)
    assert not torch.equal(model(ids), first)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
@torch.no_grad()
def test_runs_in_other_types(dtype):
    for method in (SinusoidalEncoding(D), Zero()):
        model = Transformer(config(), method)
        reference = model(tokens())
        out = model.to(dtype)(tokens())
        assert out.dtype == dtype
        assert (out.double() - reference.double()).abs().max() < (
            0.3 if dtype == torch.bfloat16 else 1e-4
        )


@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")
@torch.no_grad()
def test_compiles_and_exports_whole():
    model = Transformer(config(), SinusoidalEncoding(D, max_len=4))
    assert torch.allclose(
        torch.compile(model, fullgraph=True, backend="aot_eager")(tokens()),
        model(tokens()),
        atol=1e-5,
    )
    assert torch.allclose(
        torch.export.export(model, (tokens(),)).module()(tokens(seed=2)),
        model(tokens(seed=2)),
        atol=1e-5,
    )


@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")
@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
@pytest.mark.parametrize("make", [NoPosition, lambda: SinusoidalEncoding(D, max_len=4), Zero])
@torch.no_grad()
def test_a_trace_holds_for_other_tokens_and_positions(make):
    model = Transformer(config(), make()).eval()
    traced = torch.jit.trace(model, (tokens(), torch.arange(T)))
    for length, start in ((T, 0), (T, 900), (3, 5)):
        arguments = tokens(2, length, seed=4), torch.arange(length) * 2 + start
        assert torch.allclose(traced(*arguments), model(*arguments), atol=1e-5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vocab_size": 0}, "vocab_size .* 0"),
        ({"d_model": 15}, "d_model=15, n_heads=2"),
        ({"n_heads": 3}, "d_model=16, n_heads=3"),
        ({"n_layers": 1.5}, r"n_layers .* 1\.5"),
        ({"norm": "sandwich"}, "norm .* 'sandwich'"),
        ({"causal": 1}, "causal .* 1"),
        ({"tied": None}, "tied .* None"),
        ({"init_std": -0.1}, "init_std .* -0.1"),
        ({"scale": 0}, "scale .* 0"),
        ({"logit_scale": None}, "logit_scale .* None"),
        ({"dropout": 1.0}, r"dropout must be a number from 0 to below 1, got 1\.0"),
        ({"dropout": True}, "dropout .* True"),
        ({"dropout": -0.1}, r"dropout .* -0\.1"),
        ({"dropout": float("nan")}, "dropout .* nan"),
    ],
)
def test_bad_configs_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        config(**changes)


def test_methods_that_do_not_fit_are_refused():
    class Heads(PositionMethod):
        n_heads = 3

    class HeadDim(PositionMethod):
        head_dim = 4

    with pytest.raises(ValueError, match="d_model=8, the model has d_model=16"):
        Transformer(config(), SinusoidalEncoding(8))
    with pytest.raises(ValueError, match="n_heads=3, the model has n_heads=2"):
        Transformer(config(), Heads())
    with pytest.raises(ValueError, match="head_dim=4, the model has head_dim=8"):
        Transformer(config(), [NoPosition(), HeadDim()])
    with pytest.raises(ValueError, match="got 3 for n_layers=2"):
        Transformer(config(), [NoPosition()] * 3)
    with pytest.raises(ValueError, match="seed must be a non-negative integer, got 'a'"):
        Transformer(config(), NoPosition(), seed="a")
    with pytest.raises(ValueError, match=r"seed must be below 2\*\*64, got 18446744073709551616"):
        Transformer(config(), NoPosition(), seed=2**64)
    for bad in (None, {"vocab_size": V}):
        with pytest.raises(ValueError, match="config must be a TransformerConfig, got"):
            Transformer(bad, NoPosition())
    with pytest.raises(ValueError, match="position must be"):
        Transformer(config(), "sinusoidal")
    with pytest.raises(ValueError, match="position must be"):
        Transformer(config(), [NoPosition(), None])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((torch.zeros(T, dtype=torch.long),), r"tokens must have shape \(batch, seq\), got \(7,\)"),
        (
            (tokens(), torch.arange(4)),
            r"positions must have shape \(7,\) or \(batch, 7\), got \(4,\)",
        ),
        ((tokens(), torch.zeros(2, T)), "positions has batch size 2, tokens has 3"),
        (
            (tokens(), None, torch.ones(3, 4, dtype=torch.bool)),
            r"attention_mask must have shape .* got \(3, 4\)",
        ),
        (
            (tokens(), None, torch.zeros(3, T)),
            "attention_mask must be a tensor of booleans or integers, .* got torch.float32",
        ),
        ((tokens(), [0, 1]), "positions must be a tensor of integers or floats, got list"),
        ((tokens(), torch.full((T,), math.nan)), "positions must be finite, got nan"),
        ((tokens(), None, [[True]]), "attention_mask must be a tensor of .* got list"),
        ((tokens().float(),), "tokens must be a tensor of integers, got torch.float32"),
        (([[1, 2]],), "tokens must be a tensor of integers, got list"),
        ((tokens() + V,), "tokens must be in 0 … vocab_size − 1 = 10, got "),
        ((tokens() - V,), "tokens must be in 0 … vocab_size − 1 = 10, got -"),
    ],
)
def test_bad_inputs_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Transformer(config(), NoPosition())(*arguments)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(
    ("make", "training", "asked"),
    [
        (lambda _: Alibi(4), True, 1),
        (lambda causal: T5Bias(4, bidirectional=not causal), False, 1),
        # a gradient for each layer, summed as in the recorded trainings
        (lambda causal: T5Bias(4, bidirectional=not causal), True, 3),
        (lambda _: ShawRelative(4, 8, 3), False, 3),  # looks at the queries
        (lambda _: [Alibi(4), Alibi(4, alibi_heads=2), Alibi(4)], True, 3),
    ],
)
def test_layers_share_a_bias_that_follows_from_positions(
    monkeypatch, make, training, asked, causal
):
    """And get the same numbers as where each asks for its own."""
    model = Transformer(config(d_model=32, n_heads=4, n_layers=3, causal=causal), make(causal))
    apart, calls = copy.deepcopy(model), []
    for layer in apart.layers:
        layer.attention.position.bias_of_positions = False
    kind = type(model.layers[0].attention.position)
    original = kind.score_bias
    monkeypatch.setattr(
        kind, "score_bias", lambda self, *given: calls.append(self) or original(self, *given)
    )
    tokens = torch.randint(V, (2, 6), generator=torch.Generator().manual_seed(0))
    for mask in (None, torch.tensor([[0, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1]])):
        with torch.set_grad_enabled(training):
            shared, counted = model(tokens, attention_mask=mask), len(calls)
            assert counted == asked
            assert torch.equal(shared, apart(tokens, attention_mask=mask))
        assert len(calls) == asked + 3
        calls.clear()


def test_a_biased_training_step_has_the_bits_of_the_plain_way():
    """Masking the bias instead of the scores, and dividing in place, change no gradient."""

    def plainly(self, x, positions, mask, shared=None):
        q, k, v = (self._heads(part(x)) for part in (self.query, self.key, self.value))
        scores = (q @ k.transpose(-2, -1)) / math.sqrt(q.shape[-1])
        scores = scores + self.position.score_bias(q, k, positions, positions)
        hidden = ~torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        scores = scores.masked_fill(hidden, -math.inf)
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))

    tokens = torch.randint(V, (4, 12), generator=torch.Generator().manual_seed(0))
    for position in (Alibi(4), T5Bias(4), ShawRelative(4, 8, 3), TransformerXLRelative(4, 8)):
        models = [Transformer(config(d_model=32, n_heads=4), copy.deepcopy(position))]
        models.append(copy.deepcopy(models[0]))
        for layer in models[1].layers:
            layer.attention.forward = plainly.__get__(layer.attention)
        gradients = []
        for model in models:
            F.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten()).backward()
            gradients.append([weight.grad for weight in model.parameters()])
        assert all(torch.equal(one, other) for one, other in zip(*gradients, strict=True))
