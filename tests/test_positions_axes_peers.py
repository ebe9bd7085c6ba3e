"""Rotary on several axes against published models: the frequencies, what their rule gives in
float64, what their code gives as it is shipped, and their position ids.

Tolerances. In float32 the peers' angles are off by up to angle · 2^-23, as in
test_positions_peers.py; their frequencies are float32 powers, a few parts in 10^7.
"""

import math
import types

import pytest
import torch
from peers import peer
from published_axes import CASES, HEADS, in_float64, qwen_image_places, rope, transformers_model

from sinpe import Rotary, RotaryAxes, grid_positions, mixed_frequencies, mrope_positions


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]()


def queries_and_keys(ours, positions, dtype):
    generator = torch.Generator().manual_seed(3)
    shape = (1, HEADS, len(positions), ours.head_dim)
    return [torch.randn(shape, generator=generator).clamp(-4, 4).to(dtype) for _ in range(2)]


def difference(a, b):
    return max((x.double() - y.double()).abs().max().item() for x, y in zip(a, b, strict=True))


def errors(case, positions):
    """Ours in float64 and in float32 against the rule in float64; ours against theirs as shipped,
    and what float32 angles may cost there.
    """
    ours, theirs = case.ours, case.theirs
    wide, narrow = (queries_and_keys(ours, positions, d) for d in (torch.float64, torch.float32))
    with torch.no_grad():
        with in_float64():
            rule = theirs(*wide, positions)
        shipped = theirs(*narrow, positions)
    assert rule[0].dtype == torch.float64 and shipped[0].dtype == torch.float32
    in_wide, in_narrow = (ours.rotate(*x, positions, positions) for x in (wide, narrow))
    angle = (positions.double() @ ours.frequencies).abs().max().item()
    # a feature comes from two of size 4; the rest is for the rotation itself
    bound = 4 * math.sqrt(2) * ours.attention_factor * (angle * 2.0**-23 + 2.0**-22)
    return (
        difference(in_wide, rule),
        difference(in_narrow, rule),
        difference(in_narrow, shipped),
        bound,
    )


def frequency_error(case):
    """The largest relative difference of a frequency from the one shipped."""
    ours, shipped = torch.as_tensor(case.ours.given), case.shipped().double()
    if ours.ndim == 2:
        assert ((ours != 0).sum(0) == 1).all()  # every pair belongs to one axis
        ours = ours.sum(0)
    return ((ours - shipped) / shipped).abs().max().item()


def test_its_frequencies(case):
    assert frequency_error(case) <= 1e-6


def test_its_rule_in_float64_and_its_code_as_shipped(case):
    wide, narrow, shipped, bound = errors(case, case.positions)
    assert wide <= 1e-11
    assert narrow <= 1e-6
    assert shipped <= bound


@pytest.mark.parametrize("name", ["Qwen2-VL", "Qwen2.5-VL, YaRN", "Qwen3-VL", "GLM-4V"])
def test_far_into_a_context(name):
    """32 000 positions on, the float32 angles of the peers have lost four digits."""
    case = CASES[name]()
    wide, narrow, shipped, bound = errors(case, case.positions + 32_000)
    assert wide <= 1e-9
    assert narrow <= 1e-6
    assert 1e-4 < shipped <= bound


def test_qwen_images_places_are_a_grid_from_a_start():
    for height, width in ((7, 8), (1, 5)):
        start = (-(height - height // 2), -(width - width // 2))
        theirs = qwen_image_places(1, height, width)
        assert torch.equal(grid_positions(height, width, start=start), theirs[:, 1:])


# --- two that are no rotation


def norms_and_moved_scores(theirs, positions, offset):
    """How much norms, and scores after all places moved by the same, differ."""
    q, k = (torch.randn(1, HEADS, len(positions), 64, dtype=torch.float64) for _ in range(2))
    with in_float64():
        here, there = (theirs(q, k, p) for p in (positions, positions + offset))
    norms = (here[0].norm(dim=-1) - q.norm(dim=-1)).abs().max().item()
    return norms, difference([here[0] @ here[1].mT], [there[0] @ there[1].mT])


def hunyuan_vl(q, k, positions):
    """Four axes; sections of the doubled table, so that the two features of a pair are turned by
    the positions of two axes.
    """
    code = transformers_model("hunyuan_vl")
    config = code.HunYuanVLTextConfig(
        hidden_size=128, num_attention_heads=2, head_dim=64, rope_parameters=rope(1e4, [8] * 4)
    )
    cos, sin = code.HunYuanVLRotaryEmbedding(config)(q, positions.T[:, None])
    return code.apply_rotary_pos_emb(q, k, cos, sin)


def v_jepa_2(q, k, positions):
    """The table is repeated as for halves, the pairs are neighbours: the authors know, and keep it
    for the sake of their weights (vjepa2, src/models/utils/modules.py).
    """
    turn = peer("transformers.models.vjepa2.modeling_vjepa2").rotate_queries_or_keys
    at = positions.T.double()[:, None, None]
    widths = (20, 20, 20, 4)

    def theirs(x):
        *parts, rest = x.split(widths, -1)
        turned = [turn(part, p.expand(1, HEADS, -1)) for part, p in zip(parts, at, strict=True)]
        return torch.cat([*turned, rest], -1)

    return theirs(q), theirs(k)


@pytest.mark.parametrize(("theirs", "axes"), [(hunyuan_vl, 4), (v_jepa_2, 3)])
def test_what_pairs_features_of_two_angles_is_no_rotation(theirs, axes):
    """Norms change, and so do scores when an image is moved: no matrix of frequencies does that."""
    torch.manual_seed(0)
    positions = torch.randint(9, (12, axes))
    norms, scores = norms_and_moved_scores(theirs, positions, torch.arange(axes) + 2)
    assert norms > 0.1 and scores > 0.1
    ours = RotaryAxes(64, mixed_frequencies(32, 1).repeat(axes, 0))
    norms, scores = norms_and_moved_scores(
        lambda q, k, p: ours.rotate(q, k, p, p), positions, torch.arange(axes) + 2
    )
    assert norms < 1e-12 and scores < 1e-11


def test_text_alone_is_turned_rightly_by_hunyuan_vl():
    """Where all axes agree its table is that of the half layout."""
    q, k = (torch.randn(1, HEADS, 9, 64, dtype=torch.float64) for _ in range(2))
    at = torch.arange(9)
    with in_float64():
        theirs = hunyuan_vl(q, k, at[:, None].expand(-1, 4))
    assert difference(Rotary(64, layout="half").rotate(q, k, at, at), theirs) <= 1e-12


# --- position ids


def their_ids(name, kind, parts, seconds=None, merge=2):
    """get_rope_index of a model without the model: (seq, 3)."""
    cls = getattr(transformers_model(name), f"{kind}Model")
    vision = types.SimpleNamespace(spatial_merge_size=merge, tokens_per_second=2)
    stub = types.SimpleNamespace(
        config=types.SimpleNamespace(vision_config=vision),
        get_vision_position_ids=lambda *args, **kw: cls.get_vision_position_ids(None, *args, **kw),
    )
    kinds, grids = [], {1: [], 2: []}
    for part in parts:
        if isinstance(part, int):
            kinds += [0] * part
            continue
        frames, height, width = part
        kind_of = 1 if frames == 1 else 2
        kinds += [kind_of] * (frames * height * width)
        grids[kind_of].append([frames, merge * height, merge * width])
    images, videos = (torch.tensor(grids[i]) if grids[i] else None for i in (1, 2))
    more = {} if seconds is None else {"second_per_grid_ts": torch.tensor(seconds)}
    ids, _ = cls.get_rope_index(
        stub,
        torch.zeros(1, len(kinds), dtype=torch.int64),
        torch.tensor([kinds]),
        images,
        videos,
        **more,
    )
    return ids[:, 0].T


SEQUENCES = [
    [9],
    [(1, 2, 2)],
    [4, (1, 3, 5), 6],
    [(1, 7, 2), 1],
    [2, (1, 4, 4), 1, (1, 2, 9), 3, (1, 1, 1), 1],
]
READERS = [
    ("qwen2_vl", "Qwen2VL"),
    ("qwen2_5_vl", "Qwen2_5_VL"),
    ("qwen3_vl", "Qwen3VL"),
    ("glm4v", "Glm4v"),
]


@pytest.mark.parametrize("parts", SEQUENCES, ids=str)
@pytest.mark.parametrize(("name", "kind"), READERS)
def test_positions_of_texts_and_images_are_theirs(name, kind, parts):
    assert torch.equal(mrope_positions(parts), their_ids(name, kind, parts))


@pytest.mark.parametrize(
    ("parts", "seconds"), [([3, (4, 5, 6), 2], 0.5), ([3, (3, 5, 6), 2], 0.75), ([(2, 1, 3), 4], 1)]
)
def test_positions_of_videos_are_theirs(parts, seconds):
    """Qwen2.5-VL has two positions a second, Qwen2-VL one a frame."""
    theirs = their_ids("qwen2_5_vl", "Qwen2_5_VL", parts, [seconds])
    assert torch.equal(mrope_positions(parts, frame_step=2 * seconds), theirs)
    assert torch.equal(mrope_positions(parts), their_ids("qwen2_vl", "Qwen2VL", parts))


def test_after_a_long_video_the_paper_and_transformers_5_go_on_elsewhere():
    """The paper after the largest number; transformers after the larger of height and width, though
    frames have those numbers.
    """
    parts = [3, (9, 2, 4), 5]
    ours, theirs = mrope_positions(parts), their_ids("qwen2_vl", "Qwen2VL", parts)
    assert torch.equal(ours[:-5], theirs[:-5])
    assert ours[-5:, 0].tolist() == [12, 13, 14, 15, 16]
    assert theirs[-5:, 0].tolist() == [7, 8, 9, 10, 11]
