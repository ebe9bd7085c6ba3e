"""What may enter: every type of positions gives the same numbers or a clear error, in every method
and wherever Python cannot look at values.
"""

import math
import warnings

import pytest
import torch
from test_positions_rules import HD, MAKERS, AllOpenings, D, H, close, make, run, tensors

import sinpe
from sinpe import (
    Alibi,
    LearnedEncoding,
    NoPosition,
    Rotary,
    ShawRelative,
    SinusoidalEncoding,
    T5Bias,
    TokenEmbedding,
    Transformer,
    TransformerConfig,
    TransformerXLRelative,
    XPos,
    relative_position_bucket,
)

NARROW = [
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.uint16,
    torch.uint32,
    torch.uint64,
]
METHODS = [name for name in MAKERS if name != "NoPosition"]
BIASES = {
    "alibi": lambda heads=H: Alibi(heads),
    "t5": lambda heads=H: T5Bias(heads, n_buckets=8, max_distance=12, bidirectional=True),
    "shaw": lambda heads=H: ShawRelative(heads, HD, 3),
    "transformer-xl": lambda heads=H: TransformerXLRelative(heads, HD),
}
GAPS = torch.tensor([0, 1, 4, 9, 10, 30])


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("name", METHODS)
def test_narrow_integers_are_the_same_positions(name, dtype):
    method, data = make(name), tensors(dtype=torch.float32)
    for positions in (torch.arange(6), GAPS, GAPS.expand(2, -1)):
        expected, given = run(method, *data, positions), run(method, *data, positions.to(dtype))
        assert all(torch.equal(a, b) for a, b in zip(given, expected, strict=True))


def test_narrow_integers_do_not_overflow():
    q = torch.ones(1, 4, 6, 8)
    at = torch.arange(6, dtype=torch.uint8)
    distance = (torch.arange(6)[:, None] - torch.arange(6)).abs()
    expected = -sinpe.alibi_slopes(4)[:, None, None] * distance
    assert torch.equal(Alibi(4).score_bias(q, q, at, at)[0], expected.float())
    ahead = torch.tensor([3], dtype=torch.uint8)
    assert relative_position_bucket(ahead, bidirectional=False).tolist() == [0]
    # the length is 256, which uint8 does not hold
    x, last = torch.randn(1, 1, 1, 8, dtype=torch.float64), torch.tensor([255], dtype=torch.uint8)
    turned, _ = Rotary(8, extension=sinpe.DynamicNTK(2.0, 64)).rotate(x, x, last, last)
    frozen = Rotary(8, base=10_000 * (2 * 256 / 64 - 1) ** (8 / 6))
    assert torch.allclose(turned, frozen.rotate(x, x, last, last)[0], atol=1e-11)
    # the sum of the first and the last is beyond int32
    x, far = torch.ones(1, 1, 2, 64), torch.tensor([2**30, 2**30 + 1], dtype=torch.int32)
    far_out, near = (XPos(64).rotate(x, x, at, at) for at in (far, far.long() - 2**30))
    assert torch.allclose(far_out[0] @ far_out[1].mT, near[0] @ near[1].mT, atol=1e-4)
    with pytest.raises(ValueError, match=r"k_positions must be below 2\*\*63"):
        beyond = torch.tensor([0, 2**63], dtype=torch.uint64)
        XPos(64).rotate(x, x, far, beyond)


@pytest.mark.parametrize("dtype", NARROW)
def test_tokens_and_masks_of_narrow_integers(dtype):
    model = Transformer(TransformerConfig(9, 8, 1, 1, 8), NoPosition())
    tokens, mask = torch.tensor([[1, 8, 3]]), torch.tensor([[1, 1, 0]])
    assert torch.equal(model(tokens.to(dtype), None, mask.to(dtype)), model(tokens, None, mask))
    embedding = TokenEmbedding(9, 4)
    assert torch.equal(embedding(tokens.to(dtype)), embedding(tokens))
    for bad in (tokens.float(), tokens.bool(), [[1, 2]]):
        with pytest.raises(ValueError, match="tokens must be a tensor of integers, got"):
            embedding(bad)


@pytest.mark.parametrize("name", METHODS)
def test_one_row_of_positions_serves_a_batch(name):
    method, data = make(name), tensors(3, dtype=torch.float32)
    assert close(run(method, *data, GAPS[None]), run(method, *data, GAPS))
    with pytest.raises(ValueError, match="positions has batch size 2, .* 3"):
        run(method, *data, GAPS.expand(2, -1))


def test_one_row_of_positions_serves_a_batch_in_the_transformer():
    model = Transformer(TransformerConfig(9, D, 1, H, 8), SinusoidalEncoding(D))
    tokens = torch.randint(9, (2, 6), generator=torch.Generator().manual_seed(0))
    assert torch.equal(model(tokens, GAPS[None]), model(tokens, GAPS))


@pytest.mark.parametrize("name", [name for name in METHODS if name != "LearnedEncoding"])
def test_floats_that_are_whole_are_integers(name):
    method, data = make(name), tensors()
    for positions in (torch.arange(6), GAPS):
        for dtype in (torch.float32, torch.float64):
            given = run(method, *data, positions.to(dtype))
            assert close(given, run(method, *data, positions), atol=1e-6)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_positions_that_are_not_finite_are_refused(name, value):
    positions = torch.tensor([0.0, value, 2.0, 3.0, 4.0, 5.0])
    with pytest.raises(ValueError, match=f"positions must be (finite, got {value}|integers)"):
        run(make(name), *tensors(dtype=torch.float32), positions)


BAD = [
    ([0, 1, 2], "got list"),
    (3, "got int"),
    (None, "got NoneType"),
    (torch.tensor([True, False, True]), "got torch.bool"),
    (torch.zeros(3, dtype=torch.complex64), "got torch.complex64"),
    (torch.arange(3).bfloat16(), "bfloat16 cannot tell neighbouring positions apart"),
    (torch.arange(3).half(), "float16 cannot tell neighbouring positions apart"),
    (torch.tensor([math.nan]), "finite, got nan"),
]


@pytest.mark.parametrize(("positions", "words"), BAD)
def test_free_functions_and_rows_refuse_what_the_openings_refuse(positions, words):
    for call in (SinusoidalEncoding(4).rows, LearnedEncoding(4, 9).rows):
        with pytest.raises(ValueError, match=f"positions must be .*{words}"):
            call(positions)
    with pytest.raises(ValueError, match=f"relative_position must be .*{words}"):
        relative_position_bucket(positions, bidirectional=True)
    for bidirectional in ("no", 1, None):
        with pytest.raises(ValueError, match="bidirectional must be True or False, got"):
            relative_position_bucket(torch.arange(3), bidirectional=bidirectional)


@pytest.mark.parametrize("dtype", [torch.int32, torch.complex64, "float32", None])
def test_rows_are_asked_for_in_a_type_that_holds_them(dtype):
    with pytest.raises(ValueError, match="dtype must be one of torch.float16, .*, got"):
        SinusoidalEncoding(4).rows(torch.arange(3), dtype)


# --- queries and keys


@pytest.mark.parametrize("make", [Rotary, XPos, lambda d: XPos(d, centre=1)])
def test_queries_and_keys_each_keep_their_type_and_bad_ones_are_refused(make):
    q, k = torch.randn(1, 2, 3, 8), torch.randn(1, 2, 3, 8)
    at = torch.arange(3)
    for q_type in (torch.float16, torch.float32, torch.float64):
        for k_type in (torch.bfloat16, torch.float32, torch.float64):
            a, b = make(8).rotate(q.to(q_type), k.to(k_type), at, at)
            assert (a.dtype, b.dtype) == (q_type, k_type)
            assert torch.equal(a, make(8).rotate(q.to(q_type), q.to(q_type), at, at)[0])
            assert torch.equal(b, make(8).rotate(k.to(k_type), k.to(k_type), at, at)[1])
    for bad in (torch.ones(1, 2, 3, 8, dtype=torch.long), q + 1j):
        with pytest.raises(ValueError, match="q must be a floating-point tensor, got torch"):
            make(8).rotate(bad, k, at, at)
        with pytest.raises(ValueError, match="k must be a floating-point tensor, got torch"):
            make(8).rotate(q, bad, at, at)


@pytest.mark.parametrize("positions", [torch.arange(6), GAPS])
@pytest.mark.parametrize("name", BIASES)
def test_biases_serve_grouped_queries(name, positions):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        method, q, k = BIASES[name](), torch.randn(2, H, 6, HD), torch.randn(2, 2, 6, HD)
        for parameter in method.parameters():
            torch.nn.init.normal_(parameter)
    grouped = method.score_bias(q, k, positions, positions)
    repeated = method.score_bias(q, k.repeat_interleave(2, 1), positions, positions)
    assert torch.equal(grouped, repeated)
    for heads in (3, 8):
        with pytest.raises(ValueError, match=f"k must have 4 heads, .* or a divisor .* {heads}"):
            method.score_bias(q, torch.randn(2, heads, 6, HD), positions, positions)


@pytest.mark.parametrize("name", BIASES)
def test_biases_are_float64_for_float64_queries(name):
    """Equal to a float32 pass to float32 rounding, and finer: 2^25 + 1 steps are told from 2^25."""
    method = BIASES[name]().double()
    _, q, k = tensors()
    exact = method.score_bias(q, k, GAPS, GAPS)
    single = method.score_bias(q.float(), k.float(), GAPS, GAPS)
    assert exact.dtype == torch.float64 and single.dtype == torch.float32
    assert torch.allclose(exact.float(), single, atol=1e-4)
    if name == "alibi":
        far = torch.tensor([2**25 + 1])
        bias = Alibi(H).score_bias(q[:, :, :1], k[:, :, :1], far, torch.tensor([0]))
        assert torch.equal(bias.flatten(), -sinpe.alibi_slopes(H) * (2**25 + 1))


@pytest.mark.parametrize("name", ["Alibi", "T5Bias bidirectional"])
def test_a_float64_model_passes_gradcheck(name):
    config = TransformerConfig(5, d_model=D, n_layers=1, n_heads=H, d_ff=8, causal=False)
    model = Transformer(config, make(name)).double()
    weight, tokens = model.embedding.table.weight, torch.tensor([[1, 4, 0]])
    assert torch.autograd.gradcheck(
        lambda value: torch.func.functional_call(
            model, {"embedding.table.weight": value}, (tokens,)
        ),
        (weight.detach().clone().requires_grad_(),),
    )


# --- meta, and devices without float64


@pytest.mark.parametrize("name", METHODS)
def test_every_opening_works_on_meta(name):
    method, data = make(name).to("meta"), [t.to("meta") for t in tensors(dtype=torch.float32)]
    embedded, scores = run(method, *data, torch.arange(6, device="meta"))
    assert embedded.is_meta and (embedded.shape, scores.shape) == ((2, 6, D), (2, H, 6, 6))


@pytest.mark.parametrize("name", METHODS)
def test_loading_by_assignment_makes_a_method_of_meta_whole(name):
    data, positions = tensors(dtype=torch.float32), torch.arange(6)
    with torch.device("meta"):
        method = MAKERS[name]()
    method.load_state_dict(make(name).state_dict(), assign=True)
    assert not any(tensor.is_meta for tensor in (*method.parameters(), *method.buffers()))
    assert close(run(method, *data, positions), run(make(name), *data, positions), atol=0)


def test_loading_by_assignment_makes_a_model_of_meta_whole():
    config = TransformerConfig(9, d_model=D, n_layers=2, n_heads=H, d_ff=8)
    tokens = torch.tensor([[1, 2, 3]])
    for name in ("SinusoidalEncoding", "Rotary", "Alibi", "XPos"):
        real = Transformer(config, make(name))
        with torch.device("meta"):
            model = Transformer(config, MAKERS[name]())
        model.load_state_dict(real.state_dict(), assign=True)
        assert torch.equal(model(tokens), real(tokens))


class NoFloat64(torch.utils._python_dispatch.TorchDispatchMode):
    """The meta device as a stand-in for one that refuses float64, as MPS does."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        for tensor in out if isinstance(out, tuple | list) else (out,):
            there = isinstance(tensor, torch.Tensor) and tensor.is_meta
            if there and tensor.dtype == torch.float64:
                raise TypeError("this device has no float64")
        return out


@pytest.mark.parametrize("name", METHODS)
def test_a_device_without_float64_gets_float32_tables_and_all_openings(name):
    method, data = make(name), [t.to("meta") for t in tensors(dtype=torch.float32)]
    with NoFloat64():
        with pytest.raises(TypeError, match="no float64"):
            torch.zeros(1, dtype=torch.float64).to("meta")
        method.to("meta")
        assert {table.dtype for table in method.buffers()} <= {torch.float32}
        with torch.device("meta"):
            born_there = MAKERS[name]()
        for there in (method, born_there):
            embedded, scores = run(there, *data, torch.arange(6, device="meta"))
            assert embedded.is_meta and scores.is_meta
    here = {"codes": torch.float32}  # kept so for float32; the others have to be float64 again
    for key, table in method.to_empty(device="cpu").named_buffers():
        assert table.dtype == here.get(key, torch.float64), key


# --- where Python cannot look at values


@pytest.mark.parametrize("name", METHODS)
def test_vmap_over_positions(name):
    method, (x, q, k) = make(name), tensors(1, dtype=torch.float32)
    rows = torch.stack([torch.arange(6), GAPS, torch.arange(6) + 7])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a batching rule that torch itself lacks
        together = torch.func.vmap(lambda at: run(method, x, q, k, at))(rows)
    for i, at in enumerate(rows):
        assert close([part[i] for part in together], run(method, x, q, k, at))


@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")
@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
@pytest.mark.parametrize("name", METHODS)
def test_a_trace_holds_for_other_positions_and_lengths(name):
    module, data = AllOpenings(make(name)).eval(), tensors(dtype=torch.float32)
    traced = torch.jit.trace(module, (*data, torch.arange(6), torch.arange(6)))
    beyond = GAPS if name == "LearnedEncoding" else GAPS * 1000
    for positions in (torch.arange(6), GAPS, beyond):
        assert close(traced(*data, positions, positions), module(*data, positions, positions))
    longer, at = tensors(3, 9, dtype=torch.float32), torch.tensor([0, 2, 3, 4, 5, 6, 7, 8, 30])
    assert close(traced(*longer, at, at), module(*longer, at, at))


# --- derivatives by the position


@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")
@pytest.mark.parametrize("layout", ["interleaved", "concatenated"])
@pytest.mark.parametrize("spacing", ["paper", "tensor2tensor"])
def test_codes_can_be_differentiated_by_the_position(layout, spacing):
    method = SinusoidalEncoding(8, layout=layout, spacing=spacing)
    x = torch.zeros(1, 3, 8, dtype=torch.float64)
    t = torch.tensor([0.3, -2.0, 700.25], dtype=torch.float64, requires_grad=True)

    def embed(t):
        return method.embed(x, t)

    assert torch.autograd.gradcheck(embed, t)
    assert torch.autograd.gradgradcheck(embed, t)
    assert torch.autograd.gradcheck(embed, t, check_forward_ad=True)
    # d/dt sin(tω) = ω cos(tω), d/dt cos(tω) = −ω sin(tω)
    _, slope = torch.func.jvp(embed, (t.detach(),), (torch.ones_like(t),))
    w = torch.from_numpy(sinpe.inverse_frequencies(8, spacing=spacing))
    angle = t.detach()[:, None] * w
    sin, cos = w * angle.cos(), -w * angle.sin()
    expected = (
        torch.stack([sin, cos], -1).flatten(-2)
        if layout == "interleaved"
        else torch.cat([sin, cos], -1)
    )
    assert torch.allclose(slope[0], expected, atol=1e-12)
    assert torch.allclose(torch.func.jacrev(embed)(t).diagonal(dim1=1, dim2=3)[0].mT, slope[0])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_differentiable_codes_are_the_same_numbers_in_every_type(dtype):
    method, t = SinusoidalEncoding(D), torch.tensor([0.5, 3.0, 999.75], dtype=torch.float64)
    whole = torch.arange(3)
    assert torch.equal(method.rows(whole.double(), dtype), method.rows(whole, dtype))
    t.requires_grad_()
    rows = method.rows(t, dtype)
    assert rows.dtype == dtype
    (slope,) = torch.autograd.grad(rows[:, 0].sum(), t)  # of sin(t), whose frequency is 1
    assert torch.allclose(slope, t.detach().cos(), atol=1e-6 if dtype.itemsize > 2 else 1e-2)


@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")
def test_compiled_codes_can_be_differentiated_by_the_position():
    torch.compiler.reset()
    method, x = SinusoidalEncoding(D), torch.zeros(1, 3, D)
    compiled = torch.compile(method, fullgraph=True, backend="aot_eager")
    weights = torch.randn(1, 3, D, generator=torch.Generator().manual_seed(0))
    slopes = []
    for embed in (method, compiled):
        t = torch.tensor([0.3, 2.0, 700.25], requires_grad=True)
        (embed(x, t) * weights).sum().backward()
        slopes.append(t.grad)
    assert torch.allclose(*slopes, atol=1e-6) and slopes[0].abs().min() > 0


@pytest.mark.parametrize(
    "name",
    ["Rotary", "RotaryAxes heads", "XPos", "Alibi", "TransformerXLRelative", "SinusoidalEncoding"],
)
def test_gradients_by_the_position_are_right_at_whole_positions_too(name):
    """A short way through consecutive positions must not cut them."""
    method, data = make(name).double(), tensors(1, 3)
    t = torch.tensor([0.0, 1.0, 2.0], dtype=torch.float64, requires_grad=True)
    keys = torch.tensor([0.25, 1.25, 2.25], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda a, b: run(method, *data, a, b), (t, keys))


# --- arguments


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Rotary(2**20 + 2), "rotary_dim must be at most 1048576, got 1048578"),
        (lambda: TransformerXLRelative(2**10, 2**11), "n_heads · head_dim must be at most"),
        (lambda: Rotary(8, base=True), "base must be a positive finite number, got True"),
        (lambda: SinusoidalEncoding(8, base=True), "base must be a positive .* got True"),
        (lambda: Rotary(8, base=10**400), "base must be a positive finite number"),
        (lambda: XPos(8, scale_base=10**400), "scale_base must be .* an integer of 1329 bits"),
        (lambda: sinpe.PositionInterpolation(10**400), "factor must be .* of 1329 bits"),
        (lambda: sinpe.DynamicNTK(2.0, 2**70), "original_max_len must be at most .* 71 bits"),
        (lambda: LearnedEncoding(4, 2**70), "max_len must be at most .* of 71 bits"),
        (lambda: SinusoidalEncoding(4, max_len=2**70), "max_len must be at most .* of 71 bits"),
        (lambda: T5Bias(2, max_distance=2**70), "max_distance must be at most .* of 71 bits"),
        (lambda: T5Bias(2, n_buckets=2**30), "n_buckets must be at most 1024, got 1073741824"),
        (lambda: sinpe.alibi_slopes(2**70), "n_heads must be at most 1048576, got .* 71 bits"),
        (lambda: Alibi(2**70), "n_heads must be at most 1048576, got an integer of 71 bits"),
        (lambda: XPos(8, centre=math.nan), "centre must be None or a number .* nan"),
        (lambda: XPos(8, centre=True), "centre must be None or a number .* True"),
        (lambda: XPos(8, centre="0"), "centre must be None or a number .* '0'"),
    ],
)
def test_arguments_beyond_reason_are_refused_by_their_own_name(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("base", lambda n: sinpe.wavelengths(8, n)),
        ("d_model", lambda n: sinpe.wavelengths(n)),
        ("positions", lambda n: sinpe.sinusoidal_encoding(n, 8)),
        ("base", lambda n: Rotary(8, n)),
        ("head_dim", lambda n: Rotary(n)),
        ("scale_base", lambda n: XPos(8, scale_base=n)),
        ("centre", lambda n: XPos(8, centre=n)),
        ("max_len", lambda n: SinusoidalEncoding(8, max_len=n)),
        ("max_distance", lambda n: T5Bias(2, max_distance=n)),
    ],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_integers_too_long_to_be_printed_are_refused_by_their_size(name, make, sign):
    """Python itself refuses to print more than 4 300 digits, and names no argument."""
    with pytest.raises(ValueError, match=rf"^{name} must be .* an integer of 16610 bits"):
        make(sign * 10**5000)
