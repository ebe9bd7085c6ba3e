"""Every position method against published code that readers use, with the convention stated where
the two differ.

Tolerances. The peers compute angles in float32: rounding the frequency and the product costs up to
position · 2^-23 radians, so at positions below 64 a feature of size 4 is off by up to 3e-5.
Frequencies, slopes and tables of theirs are float32 powers: a few parts in 10^7.
"""

import logging
import math

import numpy as np
import pytest
import torch
from peers import peer

import sinpe
from sinpe import (
    DynamicNTK,
    Llama3,
    NTKAware,
    PositionInterpolation,
    Rotary,
    XPos,
    YaRN,
    alibi_slopes,
    relative_position_bucket,
)

(
    rope,
    llama,
    neox,
    gptj,
    roformer,
    bloom,
    falcon,
    mpt,
    t5,
    marian,
    fsmt,
    m2m100,
    whisper,
    gpt2,
    bert,
    xlnet,
    wav2vec2,
) = (
    peer(f"transformers.{name}")
    for name in (
        "modeling_rope_utils",
        "models.llama.modeling_llama",
        "models.gpt_neox.modeling_gpt_neox",
        "models.gptj.modeling_gptj",
        "models.roformer.modeling_roformer",
        "models.bloom.modeling_bloom",
        "models.falcon.modeling_falcon",
        "models.mpt.modeling_mpt",
        "models.t5.modeling_t5",
        "models.marian.modeling_marian",
        "models.fsmt.modeling_fsmt",
        "models.m2m_100.modeling_m2m_100",
        "models.whisper.modeling_whisper",
        "models.gpt2.modeling_gpt2",
        "models.bert.modeling_bert",
        "models.xlnet.modeling_xlnet",
        "models.wav2vec2_bert.modeling_wav2vec2_bert",
    )
)
transformers = peer("transformers")
lucidrains = peer("rotary_embedding_torch")
x_transformers = peer("x_transformers.x_transformers")

HEADS, HEAD_DIM, LENGTH = 4, 32, 11
ANGLES = 3e-5  # see above
# a plain row; left padding and gaps
POSITIONS = torch.tensor([[*range(LENGTH)], [0, 0, 0, 1, 2, 3, 4, 7, 20, 40, 63]])


@pytest.fixture(autouse=True)
def in_silence():
    """transformers logs what it doubts in the way it is used; here it must have no doubts."""
    said, handler = [], logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())
    logging.getLogger("transformers").addHandler(handler)
    yield
    logging.getLogger("transformers").removeHandler(handler)
    assert said == []


def queries_and_keys(batch=2, length=LENGTH, dtype=torch.float32):
    generator = torch.Generator().manual_seed(3)
    q, k = (
        torch.randn(batch, HEADS, length, HEAD_DIM, generator=generator).clamp(-4, 4).to(dtype)
        for _ in range(2)
    )
    return q, k


def assert_same(ours, theirs, atol=ANGLES):
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.shape == other.shape and (mine - other).abs().max() <= atol


# --- rotary


def llama_config(head_dim=HEAD_DIM, base=10_000.0, longest=64, **parameters):
    parameters = {"rope_type": "default", "rope_theta": base, **parameters}
    return llama.LlamaConfig(
        hidden_size=HEADS * head_dim,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        max_position_embeddings=longest,
        rope_parameters=parameters,
    )


def llama_rotate(config, q, k, positions):
    cos, sin = llama.LlamaRotaryEmbedding(config)(q, positions)
    return llama.apply_rotary_pos_emb(q, k, cos, sin)


@pytest.mark.parametrize("base", [10_000.0, 500_000.0])
def test_rotary_half_is_llamas_in_transformers(base):
    q, k = queries_and_keys()
    assert_same(
        Rotary(HEAD_DIM, base, layout="half").rotate(q, k, POSITIONS, POSITIONS),
        llama_rotate(llama_config(base=base), q, k, POSITIONS),
    )


@pytest.mark.parametrize("rotary_dim", [HEAD_DIM, 8])
def test_rotary_interleaved_is_gpt_js(rotary_dim):
    """GPT-J has (batch, len, heads, head_dim), and turns the first rotary_dim features."""
    q, k = queries_and_keys()
    embedding = gptj.GPTJRotaryEmbedding(
        gptj.GPTJConfig(
            n_positions=64, n_embd=HEADS * HEAD_DIM, n_head=HEADS, rotary_dim=rotary_dim
        )
    )
    sin, cos = embedding(q, POSITIONS)
    theirs = []
    for x in (q.transpose(1, 2), k.transpose(1, 2)):
        turned = gptj.apply_rotary_pos_emb(x[..., :rotary_dim], sin, cos)
        theirs.append(torch.cat([turned, x[..., rotary_dim:]], -1).transpose(1, 2))
    assert_same(Rotary(HEAD_DIM, rotary_dim=rotary_dim).rotate(q, k, POSITIONS, POSITIONS), theirs)


def test_rotary_interleaved_is_roformers_whose_table_is_exact():
    """The authors' own model. Its table is float64 rounded once, so no angle is off, and 1e-6 is
    the rounding of the rotation alone.
    """
    q, k = queries_and_keys()
    table = roformer.RoFormerSinusoidalPositionalEmbedding(LENGTH, HEAD_DIM).create_weight()[
        None, None
    ]
    theirs = roformer.RoFormerSelfAttention.apply_rotary_position_embeddings(table, q, k)
    assert_same(
        Rotary(HEAD_DIM).rotate(q, k, torch.arange(LENGTH), torch.arange(LENGTH)), theirs, atol=1e-6
    )


def test_rotary_interleaved_is_that_of_rotary_embedding_torch():
    q, k = queries_and_keys()
    theirs = lucidrains.RotaryEmbedding(HEAD_DIM)
    start = 40
    turned = [theirs.rotate_queries_or_keys(x, offset=start) for x in (q, k)]
    positions = torch.arange(LENGTH) + start
    assert_same(Rotary(HEAD_DIM).rotate(q, k, positions, positions), turned)
    # the last queries of a longer text
    block = theirs.rotate_queries_with_cached_keys(q[:, :, -3:], k)
    positions = torch.arange(LENGTH)
    assert_same(Rotary(HEAD_DIM).rotate(q[:, :, -3:], k, positions[-3:], positions), block)


@pytest.mark.parametrize("rotary_dim", [HEAD_DIM, 8])
def test_rotary_interleaved_is_x_transformers(rotary_dim):
    q, k = queries_and_keys()
    frequencies, scale = x_transformers.RotaryEmbedding(rotary_dim)(POSITIONS)
    assert scale == 1
    theirs = [x_transformers.apply_rotary_pos_emb(x, frequencies) for x in (q, k)]
    assert_same(Rotary(HEAD_DIM, rotary_dim=rotary_dim).rotate(q, k, POSITIONS, POSITIONS), theirs)


def neox_rotate(q, k, positions, rotary_dim, longest=64, **parameters):
    parameters = {
        "rope_type": "default",
        "rope_theta": 10_000.0,
        "partial_rotary_factor": rotary_dim / HEAD_DIM,
        **parameters,
    }
    config = neox.GPTNeoXConfig(
        hidden_size=HEADS * HEAD_DIM,
        num_attention_heads=HEADS,
        max_position_embeddings=longest,
        rope_parameters=parameters,
        intermediate_size=8,
    )
    return neox.apply_rotary_pos_emb(q, k, *neox.GPTNeoXRotaryEmbedding(config)(q, positions))


@pytest.mark.parametrize("rotary_dim", [8, 16])
def test_partial_rotary_half_is_gpt_neoxs(rotary_dim):
    q, k = queries_and_keys()
    theirs = neox_rotate(q, k, POSITIONS, rotary_dim)
    assert_same(
        Rotary(HEAD_DIM, layout="half", rotary_dim=rotary_dim).rotate(q, k, POSITIONS, POSITIONS),
        theirs,
    )


# --- whole models of transformers, their masks and caches: the rotation of this package in place of
# theirs


class Places(torch.nn.Module):
    """Stands for a model's table of sines and cosines, and hands the positions on."""

    def forward(self, x, position_ids):
        return position_ids, position_ids


def small_model(kind):
    """(model, the decoder that holds its angles, its module, for each layer the weights of queries
    and keys as (heads, head_dim, width)). Random weights, large enough for scores to matter.
    """
    generator, width, heads, head_dim = torch.Generator().manual_seed(5), 64, 4, 16
    shared = {"vocab_size": 31, "bos_token_id": 0, "eos_token_id": 0}
    sizes = shared | {
        "hidden_size": width,
        "intermediate_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": heads,
        "max_position_embeddings": 64,
    }
    rope = {"rope_type": "default", "rope_theta": 10_000.0}
    if kind == "llama":
        config = llama.LlamaConfig(num_key_value_heads=2, rope_parameters=rope, **sizes)
        model, module = llama.LlamaForCausalLM(config), llama
        decoder, layers = model.model, [layer.self_attn for layer in model.model.layers]
    elif kind == "gpt-neox":
        part = {"partial_rotary_factor": 0.5}
        config = neox.GPTNeoXConfig(rope_parameters=rope | part, **sizes)
        model, module = neox.GPTNeoXForCausalLM(config), neox
        decoder, layers = model.gpt_neox, [layer.attention for layer in model.gpt_neox.layers]
    else:
        config = gptj.GPTJConfig(
            n_positions=64, n_embd=width, n_layer=2, n_head=heads, rotary_dim=8, **shared
        )
        model, module = gptj.GPTJForCausalLM(config), gptj
        decoder, layers = model.transformer, [block.attn for block in model.transformer.h]
    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim == 2:
                weight.normal_(0, 1.5 * weight.shape[-1] ** -0.5, generator=generator)
    if kind == "gpt-neox":  # one matrix: each head's queries, keys and values
        fused = [layer.query_key_value.weight.view(heads, 3, head_dim, width) for layer in layers]
        weights = [(w[:, 0], w[:, 1]) for w in fused]
    else:
        weights = [
            tuple(w.weight.view(-1, head_dim, width) for w in (layer.q_proj, layer.k_proj))
            for layer in layers
        ]
    return model.eval(), decoder, module, weights


def logits_of_a_padded_batch(model):
    """A prompt at once and three tokens one by one, out of the model's own cache; the first row has
    three tokens less, and padding on the left.
    """
    tokens = torch.randint(31, (2, 9), generator=torch.Generator().manual_seed(6))
    mask = torch.ones_like(tokens)
    mask[0, :3] = 0
    positions, found = (mask.cumsum(-1) - 1).clamp(min=0), []
    cache = transformers.DynamicCache()
    for start, end in ((0, 6), (6, 7), (7, 8), (8, 9)):
        out = model(
            tokens[:, start:end],
            attention_mask=mask[:, :end],
            position_ids=positions[:, start:end],
            cache=cache,
            use_cache=True,
        )
        found.append(out.logits)
    return torch.cat(found, 1)[mask.bool()]


def rotated_by(monkeypatch, decoder, module, method):
    """The model turns its queries and keys by this method from here on."""
    for name, part in decoder.named_children():
        if "Rotary" in type(part).__name__:
            setattr(decoder, name, Places())

    def both(q, k, positions, *rest, **options):
        return method.rotate(q, k, positions, positions)

    def first_features(x, positions, *rest):  # GPT-J: (batch, seq, heads, what is turned), one side
        x = x.transpose(1, 2)
        return method.rotate(x, x, positions, positions)[0].transpose(1, 2)

    ours = first_features if module is gptj else both
    monkeypatch.setattr(module, "apply_rotary_pos_emb", ours)


def reorder(weights, rotary_dim, order):
    """Permutes the rows that are turned, inside each head, of queries and of keys."""
    for pair in weights:
        for weight in pair:
            weight[:, :rotary_dim] = weight[:, :rotary_dim][:, order]


@torch.no_grad()
@pytest.mark.parametrize(
    ("kind", "rotary_dim", "layout"),
    [("llama", 16, "half"), ("gpt-neox", 8, "half"), ("gpt-j", 8, "interleaved")],
)
def test_a_whole_model_has_the_same_logits(kind, rotary_dim, layout, monkeypatch):
    """Padding on the left, prefill and decode; in the model's layout, and in the other one after
    its rows are permuted. Llama has two keys for four queries.
    """
    model, decoder, module, weights = small_model(kind)
    theirs = logits_of_a_padded_batch(model)
    head_dim = 8 if kind == "gpt-j" else 16  # GPT-J hands over the features that are turned
    for used, same in ((None, False), (layout, True)):
        method = (
            Rotary(head_dim, layout=used, rotary_dim=rotary_dim) if used else sinpe.NoPosition()
        )
        rotated_by(monkeypatch, decoder, module, method)
        ours = logits_of_a_padded_batch(model)
        assert ((ours - theirs).abs().max() < 1e-5) == same
        assert same or (ours - theirs).abs().max() > 0.1  # the rotation matters here
    other = {"half": "interleaved", "interleaved": "half"}[layout]
    to_half = torch.tensor([*range(0, rotary_dim, 2), *range(1, rotary_dim, 2)])
    rotated_by(monkeypatch, decoder, module, Rotary(head_dim, layout=other, rotary_dim=rotary_dim))
    assert (logits_of_a_padded_batch(model) - theirs).abs().max() > 0.1  # layouts mixed
    reorder(weights, rotary_dim, to_half if other == "half" else to_half.argsort())
    assert (logits_of_a_padded_batch(model) - theirs).abs().max() < 1e-5


@torch.no_grad()
def test_keys_of_grouped_queries_are_converted_with_their_own_heads(monkeypatch):
    """The key matrix taken for one of four heads of width 8 is another model."""
    model, decoder, module, weights = small_model("llama")
    theirs = logits_of_a_padded_batch(model)
    rotated_by(monkeypatch, decoder, module, Rotary(16))
    to_interleaved = {
        n: torch.tensor([*range(0, n, 2), *range(1, n, 2)]).argsort() for n in (8, 16)
    }
    for q, k in weights:
        q[:] = q[:, to_interleaved[16]]
        wrong = k.view(4, 8, 64)
        wrong[:] = wrong[:, to_interleaved[8]]
    assert (logits_of_a_padded_batch(model) - theirs).abs().max() > 0.1
    for _, k in weights:
        wrong = k.view(4, 8, 64)
        wrong[:] = wrong[:, to_interleaved[8].argsort()]
        k[:] = k[:, to_interleaved[16]]
    assert (logits_of_a_padded_batch(model) - theirs).abs().max() < 1e-5


# --- extensions of rotary

LLAMA3 = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}


def extensions(length):
    """name: (ours, what a configuration of transformers says, its max_position_embeddings), for a
    model trained at this length.

    Its "linear" is position interpolation. Its "dynamic" knows the trained length as
    max_position_embeddings. LongRoPE and the exact bounds of gpt-oss have their own tests, beside
    those of the extensions.
    """
    trained = {"original_max_position_embeddings": length}
    return {
        "linear": (PositionInterpolation(4.0), {"rope_type": "linear", "factor": 4.0}, 4 * length),
        "dynamic": (DynamicNTK(2.0, length), {"rope_type": "dynamic", "factor": 2.0}, length),
        "yarn": (YaRN(4.0, length), {"rope_type": "yarn", "factor": 4.0, **trained}, 4 * length),
        "yarn-betas": (
            YaRN(16.0, length, 8, 2),
            {"rope_type": "yarn", "factor": 16.0, "beta_fast": 8.0, "beta_slow": 2.0, **trained},
            16 * length,
        ),
        "yarn-attention": (
            YaRN(4.0, length, attention_factor=1.5),
            {"rope_type": "yarn", "factor": 4.0, "attention_factor": 1.5, **trained},
            4 * length,
        ),
        "llama3": (
            Llama3(8.0, 1.0, 4.0, length),
            {"rope_type": "llama3", **LLAMA3, **trained},
            8 * length,
        ),
    }


@pytest.mark.parametrize("name", extensions(1))
@pytest.mark.parametrize(
    ("head_dim", "base", "length"),
    [(128, 10_000.0, 4096), (128, 500_000.0, 8192), (64, 10_000.0, 2048), (32, 10_000.0, 64)],
)
def test_frequencies_and_attention_factors_are_those_of_transformers(name, head_dim, base, length):
    ours, parameters, longest = extensions(length)[name]
    config = llama_config(head_dim, base, longest, **parameters)
    for seq_len in (length // 2, 3 * length) if name == "dynamic" else (None,):
        inv_freq, attention = rope.ROPE_INIT_FUNCTIONS[parameters["rope_type"]](
            config, "cpu", seq_len=seq_len
        )
        method = Rotary(head_dim, base, extension=ours)
        assert method.inverse_frequencies(seq_len) == pytest.approx(
            inv_freq.double().numpy(), rel=2e-6
        )
        assert method.attention_factor(seq_len) == pytest.approx(attention, rel=1e-12)


@pytest.mark.parametrize("name", extensions(1))
def test_extended_queries_and_keys_are_those_of_transformers(name):
    """The whole way, on twice the trained length: attention factor on both, and for "dynamic" the
    length read from the positions.
    """
    ours, parameters, longest = extensions(24)[name]
    q, k = queries_and_keys(1, 48)
    positions = torch.arange(48)[None]
    theirs = llama_rotate(llama_config(longest=longest, **parameters), q, k, positions)
    assert_same(
        Rotary(HEAD_DIM, layout="half", extension=ours).rotate(q, k, positions, positions), theirs
    )
    plain = Rotary(HEAD_DIM, layout="half").rotate(q, k, positions, positions)
    assert (plain[0] - theirs[0]).abs().max() > 0.1  # the extension does something here


def test_an_extension_of_a_partial_rotation_is_gpt_neoxs():
    """d is the number of features that are turned, in the bounds of the ramp too."""
    q, k = queries_and_keys()
    theirs = neox_rotate(
        q, k, POSITIONS, 16, rope_type="yarn", factor=4.0, original_max_position_embeddings=16
    )
    assert_same(
        Rotary(HEAD_DIM, layout="half", rotary_dim=16, extension=YaRN(4.0, 16)).rotate(
            q, k, POSITIONS, POSITIONS
        ),
        theirs,
    )


@pytest.mark.parametrize("factor", [2.0, 8.0])
@pytest.mark.parametrize("head_dim", [32, 128])
def test_ntk_aware_is_that_of_rotary_embedding_torch_and_x_transformers(factor, head_dim):
    ours = Rotary(head_dim, extension=NTKAware(factor)).inverse_frequencies()
    assert ours == pytest.approx(
        lucidrains.RotaryEmbedding(head_dim, theta_rescale_factor=factor)
        .freqs.detach()
        .double()
        .numpy(),
        rel=2e-6,
    )
    assert ours == pytest.approx(
        x_transformers.RotaryEmbedding(head_dim, base_rescale_factor=factor)
        .inv_freq.double()
        .numpy(),
        rel=2e-6,
    )


def test_position_interpolation_is_that_of_rotary_embedding_torch_and_x_transformers():
    q, k = queries_and_keys()
    positions = torch.arange(LENGTH)
    ours = Rotary(HEAD_DIM, extension=PositionInterpolation(4.0)).rotate(q, k, positions, positions)
    theirs = lucidrains.RotaryEmbedding(HEAD_DIM, interpolate_factor=4.0)
    assert_same(ours, [theirs.rotate_queries_or_keys(x) for x in (q, k)])
    frequencies, _ = x_transformers.RotaryEmbedding(HEAD_DIM, interpolation_factor=4.0)(positions)
    assert_same(ours, [x_transformers.apply_rotary_pos_emb(x, frequencies) for x in (q, k)])


# --- xPos


def xpos_peers(q, k, scale_base):
    """The same queries and keys by rotary-embedding-torch and by x-transformers."""
    yield lucidrains.RotaryEmbedding(
        HEAD_DIM, use_xpos=True, xpos_scale_base=scale_base
    ).rotate_queries_and_keys(q, k)
    frequencies, scale = x_transformers.RotaryEmbedding(
        HEAD_DIM, use_xpos=True, scale_base=scale_base
    )(torch.arange(q.shape[2]))
    yield (
        x_transformers.apply_rotary_pos_emb(q, frequencies, scale),
        x_transformers.apply_rotary_pos_emb(k, frequencies, 1 / scale),
    )


@pytest.mark.parametrize("scale_base", [8, 512])
@pytest.mark.parametrize("length", [LENGTH, LENGTH + 1])
def test_xpos_is_that_of_rotary_embedding_torch_and_x_transformers(length, scale_base):
    """They centre on the whole part of half the length, this package on the middle of the keys: the
    same for an odd length.

    For an even one queries and keys differ by half a position's decay, in opposite directions,
    which the scores do not show.
    """
    q, k = queries_and_keys(length=length)
    ours = XPos(HEAD_DIM, scale_base=scale_base).rotate(
        q, k, torch.arange(length), torch.arange(length)
    )
    for theirs in xpos_peers(q, k, scale_base):
        if length % 2:
            assert_same(ours, theirs)
        else:
            assert (ours[0] - theirs[0]).abs().max() > 100 * ANGLES / scale_base
        scores, peers_scores = ours[0] @ ours[1].mT, theirs[0] @ theirs[1].mT
        assert (scores - peers_scores).abs().max() <= 1e-5 * scores.abs().max()


# --- biases

HEAD_COUNTS = [1, 3, 4, 6, 8, 12, 16, 20]


@pytest.mark.parametrize("n_heads", HEAD_COUNTS)
def test_alibi_slopes_are_those_of_bloom_and_x_transformers_in_their_order(n_heads):
    ours = alibi_slopes(n_heads)
    assert torch.allclose(ours, bloom._get_alibi_slopes(n_heads, "cpu").double(), rtol=2e-6, atol=0)
    assert torch.allclose(
        ours,
        x_transformers.AlibiPositionalBias(n_heads).slopes.flatten().double(),
        rtol=2e-7,
        atol=0,
    )


def alibi(n_heads, q_positions, k_positions):
    q, k = (
        torch.zeros(1, n_heads, len(q_positions), 4),
        torch.zeros(1, n_heads, len(k_positions), 4),
    )
    return sinpe.Alibi(n_heads).score_bias(q, k, q_positions, k_positions)


@pytest.mark.parametrize("n_heads", HEAD_COUNTS)
@pytest.mark.parametrize("q_len", [LENGTH, 3])
def test_alibi_is_that_of_x_transformers(n_heads, q_len):
    """Also for keys ahead of the query, and for the last queries of a longer text."""
    positions = torch.arange(LENGTH)
    ours = alibi(n_heads, positions[-q_len:], positions)
    assert torch.allclose(
        ours[0], x_transformers.AlibiPositionalBias(n_heads)(q_len, LENGTH), rtol=1e-6, atol=0
    )


@pytest.mark.parametrize("n_heads", HEAD_COUNTS)
def test_alibi_of_bloom_and_mpt_differs_by_a_constant_in_each_row(n_heads):
    """Both add slope · key, MPT counts the keys back from the last: what is left after taking their
    first column away is −slope · (q − k).
    """
    positions = torch.arange(LENGTH)
    ours, seen = alibi(n_heads, positions, positions)[0], positions[:, None] >= positions
    keys_only = [
        bloom.build_alibi_tensor(torch.ones(1, LENGTH), n_heads, torch.float32),
        mpt.build_mpt_alibi_tensor(n_heads, LENGTH),
    ]
    for theirs in keys_only:
        assert theirs.shape == (n_heads, 1, LENGTH)
        shifted = theirs - theirs[:, :, :1]  # slope · key
        from_query = shifted - shifted.transpose(1, 2)  # slope · (key − query)
        assert torch.allclose(ours[:, seen], from_query[:, seen], rtol=1e-5, atol=1e-6)
        causal = [
            bias.expand(n_heads, LENGTH, LENGTH).masked_fill(~seen, -math.inf).softmax(-1)
            for bias in (ours, theirs)
        ]
        assert torch.allclose(*causal, atol=1e-6)


BUCKETS = [(32, 128), (8, 20), (64, 256), (16, 1000)]


def test_falcon_adds_its_alibi_before_the_division():
    """Its windows are wider by the root of the head's width: our bias divided by it."""
    config = falcon.FalconConfig(
        hidden_size=64,
        num_attention_heads=4,
        alibi=True,
        multi_query=False,
        new_decoder_architecture=False,
        attn_implementation="eager",
    )
    layer = falcon.FalconAttention(config, layer_idx=0).eval()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in layer.parameters():
            weight.normal_(std=0.2, generator=generator)
        x = torch.randn(1, LENGTH, 64, generator=generator)
        q, k, _ = (side.transpose(1, 2) for side in layer._split_heads(layer.query_key_value(x)))
        at = torch.arange(LENGTH)
        causal = torch.zeros(1, 1, LENGTH, LENGTH).masked_fill(at[:, None] < at, -math.inf)
        key_only = falcon.build_alibi_tensor(torch.ones(1, LENGTH), 4, torch.float32)
        theirs = layer(x, key_only, causal, output_attentions=True)[-1]
    ours = [(q @ k.mT / 4 + alibi(4, at, at) / divisor + causal).softmax(-1) for divisor in (4, 1)]
    assert torch.allclose(theirs, ours[0], rtol=0, atol=1e-5)
    assert (theirs - ours[1]).abs().max() > 0.05


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize(("n_buckets", "max_distance"), BUCKETS)
def test_t5_buckets_are_those_of_transformers_and_x_transformers(
    bidirectional, n_buckets, max_distance
):
    relative = torch.arange(-2 * max_distance, 2 * max_distance + 1)
    ours = relative_position_bucket(
        relative, bidirectional=bidirectional, n_buckets=n_buckets, max_distance=max_distance
    )
    theirs = t5.T5Attention._relative_position_bucket(
        relative, bidirectional, n_buckets, max_distance
    )
    others = x_transformers.RelativePositionBias._relative_position_bucket(
        relative, not bidirectional, n_buckets, max_distance
    )
    assert torch.equal(ours, theirs) and torch.equal(ours, others)


@pytest.mark.parametrize("bidirectional", [True, False])
def test_t5_bias_is_that_of_transformers_and_x_transformers(bidirectional):
    """In T5 an encoder is bidirectional and a decoder is not. x-transformers multiplies by
    √head_dim, since it adds before dividing by it.
    """
    config = t5.T5Config(
        d_model=8, d_kv=4, num_heads=HEADS, num_layers=1, is_decoder=not bidirectional
    )
    theirs = t5.T5Attention(config, has_relative_attention_bias=True, layer_idx=0)
    others = x_transformers.RelativePositionBias(
        HEAD_DIM**0.5, causal=not bidirectional, heads=HEADS
    )
    ours = sinpe.T5Bias(HEADS, bidirectional=bidirectional)
    with torch.no_grad():
        theirs.relative_attention_bias.weight.copy_(ours.weight.T)
        others.relative_attention_bias.weight.copy_(ours.weight.T)
        for q_len, k_len in ((150, 150), (3, 150)):
            positions = torch.arange(k_len)
            q, k = torch.zeros(1, HEADS, q_len, 4), torch.zeros(1, HEADS, k_len, 4)
            bias = ours.score_bias(q, k, positions[k_len - q_len :], positions)
            assert torch.equal(
                bias, theirs.compute_bias(q_len, k_len, past_seen_tokens=k_len - q_len)
            )
            assert torch.allclose(bias[0], others(q_len, k_len) / HEAD_DIM**0.5, atol=1e-7)


def test_t5_has_no_bias_in_cross_attention_and_does_not_divide():
    config = t5.T5Config(
        vocab_size=8, d_model=8, d_kv=4, d_ff=8, num_heads=HEADS, num_layers=2, num_decoder_layers=2
    )
    model = t5.T5Model(config)
    for stack in (model.encoder, model.decoder):
        attentions = [layer for layer in stack.modules() if isinstance(layer, t5.T5Attention)]
        assert [layer.has_relative_attention_bias for layer in attentions] == [
            True,
            *[False] * (len(attentions) - 1),
        ]
        assert {layer.scaling for layer in attentions} == {1.0}
    for block in model.decoder.block:  # self-attention, cross-attention, feed-forward
        assert not hasattr(block.layer[1].EncDecAttention, "relative_attention_bias")


def test_shaw_is_the_relative_key_of_wav2vec2_bert():
    """One set of vectors for all heads there, one a head here; its bounds to the left and to the
    right may differ.

    BERT's own "relative_key", which looked distances up without clipping, is no longer in
    transformers.
    """
    q, k = queries_and_keys()
    config = wav2vec2.Wav2Vec2BertConfig(
        hidden_size=HEADS * HEAD_DIM,
        num_attention_heads=HEADS,
        position_embeddings_type="relative_key",
        left_max_position_embeddings=3,
        right_max_position_embeddings=3,
    )
    theirs, ours = (
        wav2vec2.Wav2Vec2BertSelfAttention(config),
        sinpe.ShawRelative(HEADS, HEAD_DIM, 3),
    )
    with torch.no_grad():
        theirs.distance_embedding.weight.normal_(generator=torch.Generator().manual_seed(0))
        ours.vectors.copy_(theirs.distance_embedding.weight)
        expected = wav2vec2._apply_relative_key_position_encoding(theirs, q, k)[1]
        assert torch.allclose(
            ours.score_bias(q, k, torch.arange(LENGTH), torch.arange(LENGTH)), expected, atol=1e-5
        )


@torch.no_grad()
@pytest.mark.parametrize(("q_len", "k_len"), [(6, 6), (3, 6)])
def test_transformer_xl_is_xlnets(q_len, k_len):
    """Transformer-XL's own model is no longer in transformers; XLNet kept its attention, with keys
    ahead of the query too.

    It multiplies one matrix for all heads with the codes, sines first, and finds the distances by
    the relative shift. Its probabilities are compared, because it does not show its scores.
    """
    config = xlnet.XLNetConfig(
        vocab_size=8, d_model=32, n_layer=1, n_head=HEADS, d_inner=4, attn_type="bi"
    )
    model = xlnet.XLNetModel(config).eval()
    attention, ours = model.layer[0].rel_attn, sinpe.TransformerXLRelative(HEADS, 8)
    generator = torch.Generator().manual_seed(1)
    for parameter in ours.parameters():
        parameter.normal_(generator=generator)
    attention.r_w_bias.copy_(ours.u)
    attention.r_r_bias.copy_(ours.v)
    attention.r.copy_(ours.weight.permute(2, 0, 1))
    q, k = (torch.randn(2, HEADS, length, 8, generator=generator) for length in (q_len, k_len))
    codes = model.relative_positional_encoding(q_len, k_len, bsz=2)
    turned = torch.einsum("ibh,hnd->ibnd", codes, attention.r)
    q_first, k_first = (x.permute(2, 0, 1, 3) for x in (q, k))
    _, theirs = attention.rel_attn_core(q_first, k_first, k_first, turned, output_attentions=True)
    positions = torch.arange(k_len)
    scores = q @ k.mT / 8**0.5 + ours.score_bias(q, k, positions[k_len - q_len :], positions)
    assert torch.allclose(scores.softmax(-1), theirs.permute(2, 3, 0, 1), atol=1e-5)


# --- embeddings


def rows(**options):
    return sinpe.SinusoidalEncoding(HEAD_DIM, **options).rows(torch.arange(64))


def test_sinusoidal_concatenated_is_marians():
    """Float64 rounded once on both sides: each is within half an ulp of 1 of the truth, so the two
    within one.
    """
    theirs = marian.MarianSinusoidalPositionalEmbedding(64, HEAD_DIM).create_weight()
    assert (rows(layout="concatenated") - theirs).abs().max() <= 2.0**-24


def test_sinusoidal_concatenated_is_x_transformers_after_its_learned_scale():
    theirs = x_transformers.ScaledSinusoidalEmbedding(HEAD_DIM)
    assert_same(
        [rows(layout="concatenated")],
        [theirs(torch.zeros(1, 64, 1)).detach() / theirs.scale.detach()],
    )


def test_sinusoidal_on_the_tensor2tensor_grid_is_whispers():
    assert_same(
        [rows(layout="concatenated", spacing="tensor2tensor")], [whisper.sinusoids(64, HEAD_DIM)]
    )


@pytest.mark.parametrize("padding_idx", [0, 1])
def test_the_tensor2tensor_grid_is_that_of_m2m100_and_fsmt_who_count_from_behind_the_padding(
    padding_idx,
):
    """fairseq's convention: the row of padding_idx is zero, and the first token has position
    padding_idx + 1.
    """
    ours = rows(layout="concatenated", spacing="tensor2tensor")
    theirs = m2m100.M2M100SinusoidalPositionalEmbedding(62, HEAD_DIM, padding_idx)
    tokens = torch.tensor([[5, 6, 7, 8]])
    assert_same([theirs(tokens)[0]], [ours[padding_idx + 1 : padding_idx + 5]])
    assert_same(
        [theirs(inputs_embeds=torch.zeros(1, 4, HEAD_DIM))[0]],
        [ours[padding_idx + 1 : padding_idx + 5]],
    )
    table = fsmt.SinusoidalPositionalEmbedding.get_embedding(64, HEAD_DIM, padding_idx)
    ours[padding_idx] = 0
    assert_same([table, theirs.weights], [ours, ours])
    assert fsmt.SinusoidalPositionalEmbedding.make_positions(tokens, padding_idx).tolist() == [
        [padding_idx + 1 + t for t in range(4)]
    ]


@torch.no_grad()
def test_learned_rows_are_those_of_gpt_2():
    config = gpt2.GPT2Config(
        vocab_size=9,
        n_positions=20,
        n_embd=HEAD_DIM,
        n_layer=1,
        n_head=HEADS,
        bos_token_id=0,
        eos_token_id=0,
    )
    model = gpt2.GPT2Model(config).eval()
    ours, tokens = (
        sinpe.LearnedEncoding(HEAD_DIM, 20),
        torch.tensor([[3, 1, 4, 1, 5], [8, 2, 6, 5, 3]]),
    )
    ours.weight.copy_(model.wpe.weight)
    assert ours.init_std == config.initializer_range
    for positions in (torch.arange(5), torch.tensor([[0, 0, 1, 2, 3], [15, 16, 17, 18, 19]])):
        theirs = model(
            tokens, position_ids=positions, output_hidden_states=True, use_cache=False
        ).hidden_states[0]
        assert torch.equal(ours.embed(model.wte(tokens), positions), theirs)


@torch.no_grad()
def test_learned_rows_are_those_of_bert():
    """BERT also adds the type of the token, and normalises the sum."""
    theirs = bert.BertEmbeddings(
        bert.BertConfig(
            vocab_size=9,
            hidden_size=HEAD_DIM,
            max_position_embeddings=20,
            num_attention_heads=HEADS,
        )
    ).eval()
    ours, tokens, positions = (
        sinpe.LearnedEncoding(HEAD_DIM, 20),
        torch.tensor([[3, 1, 4, 1, 5]]),
        torch.arange(5) + 2,
    )
    ours.weight.copy_(theirs.position_embeddings.weight)
    words = theirs.word_embeddings(tokens) + theirs.token_type_embeddings(torch.zeros_like(tokens))
    assert torch.allclose(
        theirs.LayerNorm(ours.embed(words, positions)),
        theirs(tokens, position_ids=positions[None]),
        atol=1e-6,
    )


@torch.no_grad()
def test_learned_rows_are_those_of_x_transformers_after_its_scale():
    """It multiplies the looked-up rows by d_model^(−1/2)."""
    theirs = x_transformers.AbsolutePositionalEmbedding(HEAD_DIM, 20)
    ours, x = sinpe.LearnedEncoding(HEAD_DIM, 20), torch.zeros(1, 5, HEAD_DIM)
    ours.weight.copy_(theirs.emb.weight)
    for start in (0, 15):
        assert torch.allclose(
            ours.embed(x, torch.arange(5) + start)[0],
            theirs(x, offset=start) * HEAD_DIM**0.5,
            atol=1e-6,
        )


def test_the_frequencies_that_all_share():
    """Rounded to float32, the plain frequencies of the peers are this package's, up to the error of
    a float32 power.
    """
    ours = sinpe.inverse_frequencies(128)
    theirs = [
        llama.LlamaRotaryEmbedding(llama_config(128)).inv_freq,
        lucidrains.RotaryEmbedding(128).freqs.detach(),
        x_transformers.RotaryEmbedding(128).inv_freq,
    ]
    for other in theirs:
        assert np.allclose(other.double().numpy(), ours, rtol=1e-6, atol=0)
