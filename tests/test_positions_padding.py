"""Padding, packing and stored keys: a text gets the same numbers whatever stands beside it, and
however it is cut.
"""

import pytest
import torch
from test_positions_rules import DYNAMIC, HD, MAKERS, D, H, counted, make, placed

import sinpe
from sinpe import (
    DynamicNTK,
    NoPosition,
    PositionMethod,
    Rotary,
    Transformer,
    TransformerConfig,
    XPos,
    move_padding,
)
from sinpe.training.amplitude import Amplitude

V = 11
FAR = (-100_000, 100_000, 0)
WHOLE_ROW = {
    DYNAMIC: MAKERS[DYNAMIC],
    "XPos steep": lambda: XPos(HD, scale_base=8),
    "XPos fixed": lambda: XPos(HD, scale_base=8, centre=0),
}
EVERY = {**MAKERS, **WHOLE_ROW}


def model_of(method, causal=True):
    return Transformer(TransformerConfig(V, D, 2, H, 24, causal=causal), method, seed=1)


def tokens_of(batch, length, seed=0):
    return torch.randint(V, (batch, length), generator=torch.Generator().manual_seed(seed))


@torch.no_grad()
@pytest.mark.parametrize("place", FAR)
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("name", EVERY)
def test_padding_anywhere_changes_nothing(name, side, place):
    """12 tokens and 18 of padding, whose positions may be all that the method has codes for."""
    if name == "LearnedEncoding":
        place = 63
    method = WHOLE_ROW[name]() if name in WHOLE_ROW else make(name)
    model, text = model_of(method, causal=name != "T5Bias bidirectional"), tokens_of(2, 12)
    mask = torch.arange(30) < 12 if side == "right" else torch.arange(30) >= 18
    positions = torch.full((30,), place)
    positions[mask] = torch.arange(12)
    tokens = torch.zeros(2, 30, dtype=torch.long)
    tokens[:, mask] = text
    for at in (positions, positions[None], positions.expand(2, -1), positions.double()):
        if name == "LearnedEncoding" and at.is_floating_point():
            continue
        out = model(tokens, placed(method, at), mask.expand(2, -1))
        assert out.isfinite().all()
        assert torch.allclose(out[:, mask], model(text, counted(method, 12)), atol=1e-5)


@torch.no_grad()
def test_right_padding_does_not_lengthen_a_row():
    """The smallest case: 6 tokens, padded to 30, a rule that begins at 8."""
    model, text = model_of(Rotary(HD, extension=DynamicNTK(2.0, 8))), tokens_of(1, 6)
    padded = torch.cat([text, torch.zeros(1, 24, dtype=torch.long)], 1)
    out = model(padded, None, torch.arange(30)[None] < 6)
    assert torch.allclose(out[:, :6], model(text), atol=1e-5)
    assert torch.allclose(model(text), model_of(Rotary(HD))(text), atol=1e-6)


@torch.no_grad()
@pytest.mark.parametrize("name", EVERY)
def test_packed_rows_equal_each_text_alone_or_are_refused(name):
    method = WHOLE_ROW[name]() if name in WHOLE_ROW else make(name)
    model = model_of(method, causal=name != "T5Bias bidirectional")
    texts = tokens_of(1, 20), tokens_of(1, 5, seed=1)
    owner = torch.tensor([0] * 20 + [1] * 5 + [2] * 3)  # and three of padding, far away
    places = torch.cat([torch.arange(20), torch.arange(5), torch.tensor([50, 50, 50])])
    mask = (owner[:, None] == owner) & (owner < 2)
    packed = torch.cat([*texts, torch.zeros(1, 3, dtype=torch.long)], 1)
    if name == DYNAMIC:
        words = r"DynamicNTK.* takes one length a row, but attention_mask of shape \(1, 28, 28\)"
        with pytest.raises(ValueError, match=words):
            model(packed, places, mask[None])
        return
    out = model(packed, placed(method, places), mask[None])
    assert out.isfinite().all()
    assert torch.allclose(out[:, :20], model(texts[0], counted(method, 20)), atol=1e-5)
    assert torch.allclose(out[:, 20:25], model(texts[1], counted(method, 5)), atol=1e-5)


def test_moved_padding_stands_on_the_first_token_of_its_row():
    positions, mask = (
        torch.tensor([7, 3, 5, 9]),
        torch.tensor([[0, 1, 1, 0], [1, 1, 1, 1], [0] * 4]),
    )
    moved = [[3, 3, 5, 3], [7, 3, 5, 9], [0, 0, 0, 0]]
    assert move_padding(positions, mask).tolist() == moved
    assert move_padding(positions.expand(3, -1).float(), mask.bool()).tolist() == moved
    # what reads or is read is no padding: a token that reads those before it only
    strict = torch.ones(4, 4).tril(-1).bool()
    assert torch.equal(move_padding(positions, strict[None]), positions[None])
    strict[:, 0] = False
    assert move_padding(positions, strict[None]).tolist() == [[3, 3, 5, 9]]
    assert move_padding(positions[:0], torch.ones(2, 0).bool()).shape == (2, 0)
    with pytest.raises(
        ValueError, match="attention_mask must be a tensor of booleans or integers, .*float32"
    ):
        move_padding(positions, torch.zeros(1, 4))  # as one that is added: all may be read


@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")
@torch.no_grad()
@pytest.mark.parametrize("name", WHOLE_ROW)
def test_masked_models_compile_and_export(name):
    torch.compiler.reset()
    model, tokens = model_of(WHOLE_ROW[name]()), tokens_of(2, 12)
    positions, mask = torch.arange(12), torch.arange(12).lt(7).expand(2, -1)
    expected = model(tokens, positions, mask)
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    assert torch.allclose(compiled(tokens, positions, mask), expected, atol=1e-5)
    exported = torch.export.export(model, (tokens, positions, mask)).module()
    assert torch.allclose(exported(tokens, positions, mask), expected, atol=1e-5)


@pytest.mark.parametrize("name", ["T5Bias", "XPos"])
def test_an_encoder_refuses_a_method_for_causal_models(name):
    with pytest.raises(ValueError, match="was made for causal models, .* has causal=False"):
        model_of(make(name), causal=False)
    with pytest.raises(ValueError, match="was made for causal models"):
        model_of([NoPosition(), make(name)], causal=False)


def test_a_wrapper_says_what_its_method_says():
    class Both(XPos):
        def embed(self, x, positions):
            return x + 1

    class Placed(sinpe.RotaryAxes):
        def embed(self, x, positions):
            return x + 1

    assert Amplitude(Placed(HD, sinpe.axial_frequencies((4, 4))), 2.0).axes == 2
    both = Amplitude(Both(HD), 2.0)
    assert both.causal_only and not both.storable_keys
    mask = torch.tensor([[0, 1, 1]])
    assert both.place_padding(torch.tensor([9, 1, 2]), mask).tolist() == [[1, 1, 2]]


# --- stored keys

STORABLE = {
    "rotary": lambda: Rotary(64),
    "yarn": lambda: Rotary(64, extension=sinpe.YaRN(4.0, 256)),
    "xpos": lambda: XPos(64, scale_base=32, centre=0),
    "xpos-elsewhere": lambda: XPos(64, scale_base=32, centre=700.5),
}


@pytest.mark.parametrize("name", STORABLE)
def test_a_key_turned_alone_is_the_key_turned_among_others(name):
    method = STORABLE[name]()
    assert method.storable_keys
    q, k = (torch.randn(1, 2, 1500, 64, dtype=torch.float64) for _ in range(2))
    at = torch.arange(1500)
    whole = method.rotate(q, k, at, at)
    for cut in (slice(0, 1), slice(700, 701), slice(900, 1500)):
        part = method.rotate(q[:, :, cut], k[:, :, cut], at[cut], at[cut])
        for a, b in zip(part, whole, strict=True):
            assert torch.allclose(a, b[:, :, cut], rtol=1e-12)
    none = method.rotate(q, k[:, :, :0], at, at[:0])
    assert torch.allclose(none[0], whole[0], rtol=1e-12) and none[1].shape[2] == 0


def test_what_cannot_be_stored_says_so():
    assert not XPos(64).storable_keys
    assert not Rotary(64, extension=DynamicNTK(2.0, 64)).storable_keys
    assert PositionMethod().storable_keys


def test_a_fixed_centre_cancels_in_the_scores():
    q, k = (torch.randn(1, 2, 9, 64, dtype=torch.float64) for _ in range(2))
    at = torch.arange(9) + 3
    scores = [
        a @ b.mT
        for a, b in (
            XPos(64, scale_base=32, centre=centre).rotate(q, k, at, at)
            for centre in (None, 0, 7, -20.5)
        )
    ]
    assert all(torch.allclose(other, scores[0], atol=1e-10) for other in scores[1:])
