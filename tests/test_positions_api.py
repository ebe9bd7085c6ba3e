"""The examples of the package's page, executed: the attention with a cache for every method that it
takes, and an extension of one's own.
"""

import re
import runpy

import numpy as np
import pytest
import torch

import sinpe
from sinpe import DynamicNTK, Extension, Rotary, XPos, move_padding


@pytest.fixture(scope="module")
def examples(root):
    text = (root / "book" / "api.md").read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def run_example(examples, tmp_path_factory):
    """run_example(word) -> the names that the page's example with this word leaves behind."""

    def run(word):
        (example,) = (text for text in examples if word in text)
        path = tmp_path_factory.mktemp("page") / "example.py"
        path.write_text(example, encoding="utf-8")
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            return runpy.run_path(str(path))

    return run


@pytest.fixture(scope="module")
def attention_class(run_example):
    """The page's Attention, after the page's own example has run."""
    return run_example("class Attention")["Attention"]


TAKEN = {
    "plain": lambda: Rotary(64),
    "half": lambda: Rotary(64, layout="half"),
    "partial": lambda: Rotary(64, rotary_dim=32),
    "position-interpolation": lambda: Rotary(64, extension=sinpe.PositionInterpolation(4.0)),
    "ntk-aware": lambda: Rotary(64, extension=sinpe.NTKAware(4.0)),
    "yarn": lambda: Rotary(64, extension=sinpe.YaRN(4.0, 256)),
    "llama3": lambda: Rotary(64, extension=sinpe.Llama3(8.0, 1.0, 4.0, 256)),
    "xpos": lambda: XPos(64, scale_base=32, centre=0),
    "xpos-512": lambda: XPos(64, centre=750),
}


@torch.no_grad()
@pytest.mark.parametrize("name", TAKEN)
def test_the_pages_cache_gives_what_the_full_pass_gives(attention_class, name):
    """1 500 tokens, left padding, prefill and single steps; float32."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        attention = attention_class(128, 2, 1, TAKEN[name]())
        x = torch.randn(2, 1500, 128)
    positions = torch.arange(1500) - torch.tensor([[0], [7]])
    full, _ = attention(x, positions)
    steps, cache = attention(x[:, :1480], positions[:, :1480])
    for i in range(1480, 1500):
        step, cache = attention(x[:, i : i + 1], positions[:, i : i + 1], cache)
        steps = torch.cat([steps, step], 1)
    assert torch.allclose(steps, full, atol=1e-5)
    alone, _ = attention(x[1:, 7:], torch.arange(1493)[None])
    assert torch.allclose(full[1:, 7:], alone, atol=1e-5)


@pytest.mark.parametrize(
    "make",
    [lambda: XPos(64, scale_base=32), lambda: Rotary(64, extension=DynamicNTK(2.0, 256))],
)
def test_the_pages_cache_refuses_what_it_would_get_wrong(attention_class, make):
    with pytest.raises(ValueError, match="must be turned anew when the text goes on"):
        attention_class(128, 2, 1, make())


def test_the_pages_own_extension(run_example):
    scope = run_example("InterpolateWhenLong")
    rope, at = scope["long"], torch.arange(12) * 600
    q = torch.randn(2, 2, 12, 64, dtype=torch.float64)
    rows = torch.stack([at, at // 6])  # 6601 and 1101 tokens long
    turned, _ = rope.rotate(q, q, rows, rows)
    plain = Rotary(64)
    expected = [
        plain.rotate(q[:1], q[:1], at.double() * 2048 / 6601, at)[0],
        plain.rotate(q[1:], q[1:], at // 6, at)[0],
    ]
    assert torch.allclose(turned, torch.cat(expected), atol=1e-11)
    slow, _ = scope["fast"].rotate(q, q, at, at)
    assert torch.equal(slow[..., 32:], q[..., 32:])  # the slower pairs stand still


# --- the protocol


def test_rotate_and_inverse_frequencies_use_the_same_rule():
    q = torch.randn(1, 1, 3, 8, dtype=torch.float64)
    at = torch.tensor([0, 5, 40])

    class Louder(Extension):
        """Frequencies and factor both depend on the length."""

        length_dependent = True

        def __call__(self, inv_freq, base, seq_len):
            stretch = 1.0 if seq_len is None else seq_len / 10
            return inv_freq / stretch, stretch

    rope = Rotary(8, extension=Louder())
    turned, _ = rope.rotate(q, q, at, at)
    frequencies, factor = rope.inverse_frequencies(41), rope.attention_factor(41)
    assert np.allclose(frequencies, sinpe.inverse_frequencies(8) / 4.1) and factor == 4.1
    given = Rotary(8, extension=lambda *_: (frequencies, factor))
    assert torch.allclose(turned, given.rotate(q, q, at, at)[0], atol=1e-12)
    rows = torch.stack([at, torch.tensor([0, 1, 2])])
    two, _ = rope.rotate(q.expand(2, -1, -1, -1), q.expand(2, -1, -1, -1), rows, rows)
    assert torch.allclose(two[:1], turned)
    assert torch.allclose(two[1:], rope.rotate(q, q, rows[1], rows[1])[0])


def test_a_rule_that_depends_on_the_length_has_to_say_so():
    def dynamic(inv_freq, base, seq_len):
        return inv_freq / max(1, (seq_len or 0) / 2048), 1.0

    with pytest.raises(ValueError, match="depends on seq_len: set length_dependent = True"):
        Rotary(8, extension=dynamic)


@pytest.mark.parametrize("length_dependent", [False, True])
def test_an_extension_gets_copies_of_its_own(length_dependent):
    def spoil(inv_freq, base, seq_len):
        inv_freq *= 2
        return inv_freq, 1.0

    class Spoil(Extension):
        def __call__(self, *arguments):
            return spoil(*arguments)

    extension = Spoil()
    extension.length_dependent = length_dependent
    rope, q, at = Rotary(8, extension=extension), torch.randn(1, 1, 3, 8), torch.arange(3)
    turned = [rope.rotate(q, q, at, at)[0] for _ in range(3)]
    assert torch.equal(turned[0], turned[2])
    for seq_len in (None, 7, 7):
        doubled = 2 * sinpe.inverse_frequencies(8)
        assert np.array_equal(rope.inverse_frequencies(seq_len), doubled)
    assert np.array_equal(rope.plain, sinpe.inverse_frequencies(8))


@pytest.mark.parametrize(
    "result",
    [
        None,
        1.0,
        ([1.0, 0.1], 1.0),
        (np.full(4, np.nan), 1.0),
        (np.ones(4), np.inf),
        (np.ones(4), None),
        (np.ones((1, 4)), 1.0),
        "ab",
    ],
)
def test_what_is_no_frequencies_is_refused_at_construction(result):
    with pytest.raises(ValueError, match="extension must return 4 finite frequencies"):
        Rotary(8, extension=lambda *_: result)


def test_dynamic_ntk_states_its_rule_once_for_numbers_and_rows():
    rule, plain = DynamicNTK(2.0, 64), sinpe.inverse_frequencies(16)
    lengths = [1, 64, 65, 500, 10**6]
    together, _ = rule(
        torch.from_numpy(plain), 1e4, torch.tensor(lengths, dtype=torch.float64)[:, None]
    )
    for length, row in zip(lengths, together, strict=True):
        assert np.allclose(rule(plain, 1e4, length)[0], row.numpy(), rtol=1e-14)
        base = 1e4 * max(2 * length / 64 - 1, 1) ** (16 / 14)
        assert np.allclose(row.numpy(), sinpe.inverse_frequencies(16, base), rtol=1e-12)


@pytest.mark.parametrize("base", [1.0, 0.5])
def test_yarn_needs_a_base_above_one(base):
    with pytest.raises(ValueError, match=f"YaRN needs a base above 1, got base={base}"):
        Rotary(8, base=base, extension=sinpe.YaRN(4.0, 64))


def test_a_raised_base_beyond_float64_is_refused():
    with pytest.raises(ValueError, match=r"factor=1e\+300 raises base=1e\+04 beyond float64"):
        Rotary(4, extension=sinpe.NTKAware(1e300))


@pytest.mark.parametrize("seq_len", [0, -4, True, "8", 10**400, float("nan")])
def test_lengths_that_are_none_are_refused(seq_len):
    with pytest.raises(ValueError, match="seq_len must be a positive finite number"):
        Rotary(8, extension=DynamicNTK(2.0, 4)).inverse_frequencies(seq_len)


def test_the_page_says_how_to_place_padding_in_ones_own_attention():
    """Right padding far away, without a Transformer: the length is that of the tokens."""
    rope = Rotary(8, extension=DynamicNTK(2.0, 8))
    q = torch.randn(1, 1, 12, 8)
    positions, mask = (
        torch.cat([torch.arange(6), torch.full((6,), 500)]),
        torch.arange(12)[None] < 6,
    )
    placed = move_padding(positions, mask)
    turned, _ = rope.rotate(q, q, placed, placed)
    alone, _ = rope.rotate(q[:, :, :6], q[:, :, :6], positions[:6], positions[:6])
    assert torch.equal(turned[:, :, :6], alone)
