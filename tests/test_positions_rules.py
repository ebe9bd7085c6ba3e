"""The rules that every position method keeps: explicit positions, blocks, batches, types, meta,
copies, autocast, compilers, gradients. A method that sinpe exports is tested here by itself.
"""

import copy
import inspect
import io
import math
import re

import pytest
import torch
from torch import nn

import sinpe
from sinpe import Alibi, Rotary, RotaryAxes, T5Bias

H, HD, D = 4, 8, 32
EXTENSIONS = {
    "position-interpolation": sinpe.PositionInterpolation(4.0),
    "ntk-aware": sinpe.NTKAware(4.0),
    "yarn": sinpe.YaRN(4.0, 16),
    "llama3": sinpe.Llama3(8.0, 1.0, 4.0, 64),
    "dynamic-ntk": sinpe.DynamicNTK(2.0, 8),
}
# what a constructor is given where it asks for it; max_len also where it does not, so that
# positions run beyond the rows that are kept ready
ARGUMENTS = {
    "d_model": D,
    "n_heads": H,
    "head_dim": HD,
    "max_len": 64,
    "max_distance": 3,
    "frequencies": sinpe.axial_frequencies((4, 4)),
}
MIXED = sinpe.mixed_frequencies(4, n_heads=H, generator=torch.Generator().manual_seed(0))
METHODS = {
    name: method
    for name in sinpe.__all__
    if inspect.isclass(method := getattr(sinpe, name))
    and issubclass(method, sinpe.PositionMethod)
    and method is not sinpe.PositionMethod
}


def arguments(method):
    """What to make a method with."""
    parameters = inspect.signature(method).parameters
    needed = {name for name, p in parameters.items() if p.default is p.empty}
    unknown = sorted(needed - set(ARGUMENTS))
    assert not unknown, (
        f"{method.__name__} cannot be made without {', '.join(unknown)}: give each a default, or a"
        " value in ARGUMENTS of tests/test_positions_rules.py"
    )
    return {name: ARGUMENTS[name] for name in parameters if name in needed | {"max_len"}}


MAKERS = {
    **{name: lambda method=method: method(**arguments(method)) for name, method in METHODS.items()},
    # one that has options which change what it computes stands here once more for each
    "T5Bias few buckets": lambda: T5Bias(H, n_buckets=8, max_distance=12),
    "T5Bias bidirectional": lambda: T5Bias(H, n_buckets=8, max_distance=12, bidirectional=True),
    "Alibi on some heads": lambda: Alibi(H, alibi_heads=3),
    "Rotary half": lambda: Rotary(HD, layout="half"),
    "Rotary partial": lambda: Rotary(HD, rotary_dim=4),
    "RotaryAxes half": lambda: RotaryAxes(HD, sinpe.section_frequencies((2, 1, 1)), "half"),
    "RotaryAxes heads": lambda: RotaryAxes(HD, MIXED),
    "RotaryAxes learned": lambda: RotaryAxes(HD, MIXED, learned=True),
    **{
        f"Rotary {name}": lambda extension=extension: Rotary(HD, extension=extension)
        for name, extension in EXTENSIONS.items()
    },
}
DYNAMIC = "Rotary dynamic-ntk"
LEARNED = [name for name in MAKERS if list(MAKERS[name]().parameters())]


@pytest.fixture(params=MAKERS)
def name(request):
    return request.param


def make(name):
    """A method whose learned numbers are large enough to be seen."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        method = MAKERS[name]()
        for parameter in method.parameters():
            nn.init.normal_(parameter)
    return method


def tensors(batch=2, length=6, dtype=torch.float64):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(batch, length, D, generator=generator, dtype=torch.float64)
    q, k = (
        torch.randn(batch, H, length, HD, generator=generator, dtype=torch.float64)
        for _ in range(2)
    )
    return x.to(dtype), q.to(dtype), k.to(dtype)


def placed(method, positions):
    """Positions as the method reads them: on several axes, the same number on each."""
    if method.axes is None:
        return positions
    return positions[..., None].expand(*positions.shape, method.axes)


def counted(method, length):
    """0 … length − 1 for a model with this method: None says it, but for several axes."""
    return None if method.axes is None else placed(method, torch.arange(length))


class AllOpenings(nn.Module):
    """Everything a method does to a sequence, in one call: embeddings, and scores before mask and
    softmax.
    """

    def __init__(self, method):
        super().__init__()
        self.method = method

    def forward(self, x, q, k, q_positions, k_positions):
        q_positions, k_positions = (placed(self.method, p) for p in (q_positions, k_positions))
        q, k = self.method.rotate(q, k, q_positions, k_positions)
        scores = q @ k.transpose(-2, -1) / math.sqrt(HD)
        bias = self.method.score_bias(q, k, q_positions, k_positions)
        return self.method.embed(x, q_positions), scores if bias is None else scores + bias


def run(method, x, q, k, q_positions, k_positions=None):
    return AllOpenings(method)(
        x, q, k, q_positions, q_positions if k_positions is None else k_positions
    )


def close(a, b, atol=1e-5):
    return all(
        torch.allclose(one, other, atol=atol, rtol=1e-5) for one, other in zip(a, b, strict=True)
    )


def test_a_query_block_alone_equals_its_rows_of_the_full_pass(name):
    if name == DYNAMIC:
        pytest.skip(
            "its frequencies depend on the longest key, so this rule cannot hold for blocks of keys"
        )
    method, (x, q, k), positions = make(name), tensors(), torch.arange(6) + 3
    embedded, scores = run(method, x, q, k, positions)
    for size in (1, 2, 3):
        for start in range(7 - size):
            cut = slice(start, start + size)
            block = run(method, x[:, cut], q[:, :, cut], k, positions[cut], positions)
            assert close(block, (embedded[:, cut], scores[:, :, cut])), (
                f"queries {start} to {start + size - 1} alone come out otherwise than among all:"
                " compute from q_positions and k_positions, not from an index or a length"
            )


def test_rows_of_a_batch_do_not_depend_on_each_other_and_have_their_own_positions(name):
    method, (x, q, k) = make(name), tensors(3)
    # plain, left-padded, packed
    rows = torch.stack(
        [torch.arange(6), torch.tensor([0, 0, 0, 1, 2, 3]), torch.tensor([0, 1, 2, 0, 1, 2])]
    )
    together = run(method, x, q, k, rows)
    for b in range(3):
        alone = run(method, x[b : b + 1], q[b : b + 1], k[b : b + 1], rows[b])
        assert close([part[b : b + 1] for part in together], alone), (
            f"row {b} comes out otherwise than alone: positions may be (batch, seq), and each row"
            " has its own"
        )


def test_positions_with_gaps_are_served_like_any_others(name):
    """A sub-sequence of the keys has the scores that these keys have among all: nothing is guessed
    from the index.
    """
    if name == DYNAMIC:
        pytest.skip(
            "its frequencies depend on the longest key; the case with the same longest key is in"
            " its own test file"
        )
    method, (x, q, k), kept = make(name), tensors(), torch.tensor([0, 1, 3, 5])
    embedded, scores = run(method, x, q, k, torch.arange(6))
    some = run(method, x[:, kept], q[:, :, kept], k[:, :, kept], kept)
    assert close(some, (embedded[:, kept], scores[:, :, kept][..., kept])), (
        "tokens with gaps between them come out otherwise: take places from the positions"
    )


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_embed_and_rotate_keep_type_shape_and_device_and_bias_is_float32_or_wider(name, dtype):
    method, (x, q, k) = make(name), tensors(dtype=dtype)
    positions = placed(method, torch.arange(6))
    assert method.embed(x, positions).dtype == dtype and method.embed(x, positions).shape == x.shape
    turned = method.rotate(q, k, positions, positions)
    for before, after in zip((q, k), turned, strict=True):
        assert (after.dtype, after.shape, after.device) == (dtype, before.shape, before.device)
    bias = method.score_bias(*turned, positions, positions)
    if bias is not None:
        assert bias.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
        assert torch.broadcast_shapes(bias.shape, (2, H, 6, 6)) == (2, H, 6, 6)


def test_tables_are_derived_not_saved_not_cast_and_right_after_meta(name):
    data = (*tensors(), torch.arange(6))
    expected = run(make(name), *data)
    saved = set(make(name).state_dict()) - {key for key, _ in make(name).named_parameters()}
    assert not saved, (
        f"{saved} would be saved though the arguments determine it: hold a table with"
        " self.derive(name, make), as PositionMethod.derive says"
    )
    weights = make(name).state_dict()
    with torch.device("meta"):
        born_on_meta = MAKERS[name]()
    stream = io.BytesIO()
    torch.save(make(name), stream)
    stream.seek(0)
    others = {
        ".half().float()": make(name).half().float(),
        ".bfloat16().double()": make(name).bfloat16().double(),
        "deepcopy": copy.deepcopy(make(name)),
        '.to("meta").to_empty(device="cpu")': make(name).to("meta").to_empty(device="cpu"),
        "made on meta, then to_empty": born_on_meta.to_empty(device="cpu"),
        "saved and loaded": torch.load(stream, weights_only=False),
    }
    for way, other in others.items():
        other.load_state_dict(weights, strict=True)
        assert close(run(other, *data), expected), (
            f"after {way} the method gives other values: hold every table with self.derive(name,"
            " make), as PositionMethod.derive says"
        )


def test_autocast_changes_nothing_beyond_the_product_itself(name):
    method, (x, q, k), positions = make(name), tensors(dtype=torch.float32), torch.arange(6) + 1000
    if name == "LearnedEncoding":
        positions = torch.arange(6)
    positions = placed(method, positions)
    plain = (
        method.embed(x, positions),
        *method.rotate(q, k, positions, positions),
        method.score_bias(q, k, positions, positions),
    )
    with torch.autocast("cpu", torch.bfloat16):
        inside = (
            method.embed(x, positions),
            *method.rotate(q, k, positions, positions),
            method.score_bias(q, k, positions, positions),
        )
    assert all(
        (a is None and b is None) or torch.equal(a, b) for a, b in zip(plain, inside, strict=True)
    ), "under autocast the values change: a matrix product was taken in half precision"


@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")
def test_compiles_and_exports_without_graph_breaks_or_warnings(name, capfd):
    torch.compiler.reset()
    module, (x, q, k) = AllOpenings(make(name)), tensors(dtype=torch.float32)
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    for positions in (torch.arange(6), torch.tensor([0, 0, 0, 1, 2, 3]).expand(2, -1)):
        assert close(compiled(x, q, k, positions, positions), module(x, q, k, positions, positions))
    exported = torch.export.export(module, (x, q, k, torch.arange(6), torch.arange(6))).module()
    later = torch.arange(6) + 5
    assert close(exported(x, q, k, later, later), module(x, q, k, later, later))
    assert capfd.readouterr().err == ""


def test_gradients_are_right_in_float64(name):
    method, (x, q, k), positions = make(name).double(), tensors(1, 3), torch.tensor([0, 1, 4])
    inputs = [tensor.requires_grad_() for tensor in (x, q, k)]
    assert torch.autograd.gradcheck(lambda *inputs: run(method, *inputs, positions), inputs)


@pytest.mark.parametrize("name", LEARNED)
def test_learned_numbers_have_right_gradients_in_float64(name):
    method, (x, q, k), positions = make(name).double(), tensors(1, 3), torch.tensor([0, 1, 4])
    weights = dict(method.named_parameters())
    assert torch.autograd.gradcheck(
        lambda *values: torch.func.functional_call(
            AllOpenings(method),
            {f"method.{key}": value for key, value in zip(weights, values, strict=True)},
            (x, q, k, positions, positions),
        ),
        tuple(weights.values()),
    )


def test_learned_numbers_receive_a_gradient(name):
    method, data = make(name), (*tensors(dtype=torch.float32), torch.arange(6))
    loss = sum(part.square().sum() for part in run(method, *data))
    if list(method.parameters()):
        loss.backward()
    assert all(
        parameter.grad is not None and parameter.grad.abs().sum() > 0
        for parameter in method.parameters()
    ), "what is not trained is no parameter: hold a table with self.derive(name, make)"


def test_empty_sequences_pass(name):
    x, q, k = tensors(length=0)
    embedded, scores = run(make(name), x, q, k, torch.arange(0))
    assert embedded.shape == (2, 0, D) and scores.shape == (2, H, 0, 0)


@pytest.mark.parametrize("wrong", ["q_positions", "k_positions", "x_positions"])
def test_positions_of_a_wrong_length_are_refused_by_name(name, wrong):
    method, (x, q, k) = make(name), tensors()
    good, bad = (placed(method, torch.arange(length)) for length in (6, 5))
    calls = {
        "q_positions": [
            lambda: method.rotate(q, k, bad, good),
            lambda: method.score_bias(q, k, bad, good),
        ],
        "k_positions": [
            lambda: method.rotate(q, k, good, bad),
            lambda: method.score_bias(q, k, good, bad),
        ],
        "x_positions": [lambda: method.embed(x, bad)],
    }[wrong]
    openings = {"x_positions": ("embed",)}.get(wrong, ("rotate", "score_bias"))
    for opening, call in zip(openings, calls, strict=True):
        if getattr(type(method), opening) is not getattr(sinpe.PositionMethod, opening):
            said = refusal(call)
            shapes = r"positions must have shape \(6,\) or \(batch, 6\), got \(5,\)"
            if method.axes is not None:
                own = f"6, {method.axes}"
                shapes = rf"positions must have shape \({own}\) or \(batch, {own}\), got \(5,"
            assert re.match(rf"ValueError: .*{shapes}", said), (
                f"{opening} was given 5 positions for 6 tokens, and {said}: take positions"
                " through check_embeddings or check_pair of sinpe/positions/checks.py"
            )


def refusal(call):
    """The kind of error and what it says."""
    try:
        call()
    except (ValueError, TypeError, RuntimeError, IndexError) as error:
        return f"{type(error).__name__}: {error}"
    return "nothing was said"


@pytest.mark.parametrize("name", METHODS)
def test_sizes_that_are_none_are_refused_by_name(name):
    sizes = [size for size in inspect.signature(METHODS[name]).parameters if size in ARGUMENTS]
    for size in sizes:
        for value in (-1, 2.5, True, "8"):
            said = refusal(
                lambda size=size, value=value: METHODS[name](
                    **{**arguments(METHODS[name]), size: value}
                )
            )
            assert said.startswith("ValueError") and size in said and repr(value) in said, (
                f"{name} was made with {size}={value!r}, and {said}: take it through check_size"
            )


@torch.no_grad()
def test_works_in_the_transformer_by_one_argument(name):
    config, method = sinpe.TransformerConfig(11, D, n_layers=2, n_heads=H, d_ff=24), make(name)
    model, tokens = (
        sinpe.Transformer(config, method),
        torch.randint(11, (2, 6), generator=torch.Generator().manual_seed(0)),
    )
    padded = torch.cat([torch.zeros(2, 3, dtype=torch.long), tokens], 1)
    positions = placed(method, (torch.arange(9) - 3).clamp(min=0))
    out = model(padded, positions, torch.arange(9).ge(3).expand(2, -1))
    assert torch.allclose(out[:, 3:], model(tokens, counted(method, 6)), atol=1e-4)
