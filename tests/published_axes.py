"""Published models with rotary on several axes, on their own settings, for the tests that compare.

What transformers has is called as it is. The rules of the others are written anew in a few lines,
after the source that each names. A rule is taken to float64 by giving its code, wherever it asks
for float32, float64.
"""

import contextlib
import math
import types
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import torch
from peers import peer

import sinpe
from sinpe import (
    RotaryAxes,
    axial_frequencies,
    grid_positions,
    mixed_frequencies,
    mrope_positions,
    section_frequencies,
)

HEADS = 2


class Published(NamedTuple):
    """A model's rotary embedding. ours: the same in this package; theirs(q, k, positions) -> q, k;
    shipped(): its frequency of each pair, float32; positions: (seq, axes), as its code makes them.
    """

    ours: RotaryAxes
    theirs: Any
    shipped: Any
    positions: torch.Tensor


def transformers_model(name):
    """Configurations and code of a model, under one name."""
    modules = [
        peer(f"transformers.models.{name}.{kind}_{name}") for kind in ("configuration", "modeling")
    ]
    return types.SimpleNamespace(**{k: v for module in modules for k, v in vars(module).items()})


@contextlib.contextmanager
def in_float64():
    """Code that asks for float32 gets float64."""
    with (
        mock.patch.object(torch, "float", torch.float64),
        mock.patch.object(torch, "float32", torch.float64),
        mock.patch.object(torch.Tensor, "float", torch.Tensor.double),
    ):
        yield


def grid(*counts):
    """Frame, row, column, … of all places, the last running fastest."""
    return torch.cartesian_prod(*map(torch.arange, counts))


# --- language models that read images: three axes, one ladder

READING = mrope_positions([5, (1, 4, 6), 7, (3, 3, 5), 4])


def reads_images(
    name, config, embedding, frequencies, layout, rotary_dim=None, factor=1.0, **settings
):
    code = transformers_model(name)

    def made():
        return getattr(code, embedding)(getattr(code, config)(**settings))

    def theirs(q, k, positions):
        return code.apply_rotary_pos_emb(q, k, *made()(q, positions.T[:, None]))

    ours = RotaryAxes(
        settings.get("head_dim") or settings["hidden_size"] // settings["num_attention_heads"],
        frequencies,
        layout,
        rotary_dim=rotary_dim,
        attention_factor=factor,
    )
    return Published(ours, theirs, lambda: made().inv_freq, READING)


def rope(base, sections, **options):
    return {"rope_type": "default", "rope_theta": base, "mrope_section": sections, **options}


def qwen2_vl():
    return reads_images(
        "qwen2_vl",
        "Qwen2VLTextConfig",
        "Qwen2VLRotaryEmbedding",
        section_frequencies((16, 24, 24), 1e6),
        "half",
        hidden_size=3584,
        num_attention_heads=28,
        rope_parameters=rope(1e6, [16, 24, 24]),
    )


def qwen2_5_vl(extension=None, attention_factor=1.0, **options):
    return reads_images(
        "qwen2_5_vl",
        "Qwen2_5_VLTextConfig",
        "Qwen2_5_VLRotaryEmbedding",
        section_frequencies((16, 24, 24), 1e6, extension=extension),
        "half",
        factor=attention_factor,
        hidden_size=2048,
        num_attention_heads=16,
        max_position_embeddings=131_072,
        rope_parameters=rope(1e6, [16, 24, 24], **options),
    )


def qwen2_5_vl_yarn():
    """Four times its context: the factor on queries and keys is no frequency."""
    return qwen2_5_vl(
        sinpe.YaRN(4.0, 32_768, attention_factor=1.0),
        0.1 * math.log(4) + 1,
        rope_type="yarn",
        factor=4.0,
        original_max_position_embeddings=32_768,
    )


def qwen3_vl():
    return reads_images(
        "qwen3_vl",
        "Qwen3VLTextConfig",
        "Qwen3VLTextRotaryEmbedding",
        section_frequencies((24, 20, 20), 5e6, order="interleaved"),
        "half",
        hidden_size=4096,
        num_attention_heads=32,
        head_dim=128,
        rope_parameters=rope(5e6, [24, 20, 20], mrope_interleaved=True),
    )


def qwen3_5():
    """A quarter of each head is turned."""
    return reads_images(
        "qwen3_5",
        "Qwen3_5TextConfig",
        "Qwen3_5TextRotaryEmbedding",
        section_frequencies((11, 11, 10), 1e7, order="interleaved"),
        "half",
        rotary_dim=64,
        hidden_size=4096,
        num_attention_heads=16,
        head_dim=256,
        rope_parameters=rope(1e7, [11, 11, 10], mrope_interleaved=True, partial_rotary_factor=0.25),
    )


def glm_4v():
    """Half of each head is turned, and a pair is two neighbours."""
    return reads_images(
        "glm4v",
        "Glm4vTextConfig",
        "Glm4vTextRotaryEmbedding",
        section_frequencies((8, 12, 12)),
        "interleaved",
        rotary_dim=64,
        hidden_size=4096,
        num_attention_heads=32,
        rope_parameters=rope(1e4, [8, 12, 12], partial_rotary_factor=0.5),
    )


def ernie_4_5_vl():
    """Row and column take turns in the first 44 pairs, the frame has the 20 slowest."""
    ladder = sinpe.inverse_frequencies(128, 5e5)
    axis = np.array([1, 2] * 22 + [0] * 20)
    case = reads_images(
        "ernie4_5_vl_moe",
        "Ernie4_5_VLMoeTextConfig",
        "Ernie4_5_VLMoeTextRotaryEmbedding",
        ladder * (axis == np.arange(3)[:, None]),
        "interleaved",
        hidden_size=2560,
        num_attention_heads=20,
        rope_parameters=rope(5e5, [22, 22, 20]),
    )

    def shipped():  # rows, columns, frame there
        rows, columns, frame = case.shipped().split([22, 22, 20])
        return torch.cat([torch.stack([rows, columns], -1).flatten(), frame])

    return case._replace(shipped=shipped)


# --- encoders of images and video in transformers: an axis has its own pairs


def axial(base):
    return {"rope_type": "axial", "rope_theta": base}


def by_tokens(apply):
    """apply(q, k, …) takes (seq, heads, head_dim)."""

    def applied(q, k, *tables):
        out = apply(q[0].transpose(0, 1), k[0].transpose(0, 1), *tables)
        return tuple(x.transpose(0, 1)[None] for x in out)

    return applied


def qwen2_vl_vision():
    code = transformers_model("qwen2_vl")

    def made():
        return code.Qwen2VLVisionRotaryEmbedding(
            code.Qwen2VLVisionConfig(embed_dim=1280, num_heads=16, rope_parameters=axial(1e4))
        )

    def theirs(q, k, positions):
        return by_tokens(code.apply_rotary_pos_emb_vision)(q, k, *made()(q, positions))

    return Published(
        RotaryAxes(80, axial_frequencies((40, 40)), "half"),
        theirs,
        lambda: made().inv_freq.repeat(2),
        grid_positions(6, 9),
    )


def pixtral():
    """One ladder, every other pair to the rows; the pairs of the rows come first."""
    code = transformers_model("pixtral")

    def made():
        return code.PixtralVisionRotaryEmbedding(
            code.PixtralVisionConfig(
                hidden_size=1024, num_attention_heads=16, rope_parameters=axial(1e4)
            )
        )

    def theirs(q, k, positions):
        cos, sin = made()(q, positions)
        return code.apply_rotary_pos_emb(q, k, cos, sin, unsqueeze_dim=0)

    dealt = section_frequencies((16, 16), order="interleaved")
    frequencies = np.concatenate([dealt[:, 0::2], dealt[:, 1::2]], 1)
    return Published(
        RotaryAxes(64, frequencies, "half"), theirs, lambda: made().inv_freq, grid_positions(6, 9)
    )


def kimi_k2_5():
    """Column and row take turns, with the same frequency for both."""
    code = transformers_model("kimi_k25")

    def made():
        return code.Kimi_K25VisionRotaryEmbedding(
            code.Kimi_K25VisionConfig(
                hidden_size=1152, num_attention_heads=16, rope_parameters=axial(1e4)
            )
        )

    def theirs(q, k, positions):
        return by_tokens(code.apply_rotary_pos_emb_vision)(q, k, *made()(q, positions))

    ladder = sinpe.inverse_frequencies(36).repeat(2)
    frequencies = ladder * (np.array([1, 0] * 18) == np.arange(2)[:, None])
    return Published(
        RotaryAxes(72, frequencies, "half"),
        theirs,
        lambda: made().inv_freq.repeat_interleave(2),
        grid_positions(6, 9),
    )


def minimax_m3_vl():
    """Three axes of 26 features; two features of each head are left alone."""
    code = transformers_model("minimax_m3_vl")

    def made():
        return code.MiniMaxM3VLVisionRotaryEmbedding(
            code.MiniMaxM3VLVisionConfig(
                hidden_size=1280, num_attention_heads=16, rope_parameters=axial(1e4)
            )
        )

    def theirs(q, k, positions):
        return by_tokens(code.apply_rotary_pos_emb_vision)(q, k, *made()(q, positions))

    return Published(
        RotaryAxes(80, axial_frequencies((26, 26, 26)), "half", rotary_dim=78),
        theirs,
        lambda: made().inv_freq.repeat(3),
        grid(3, 4, 5),
    )


def gemma_4_vision():
    """Each axis is cut in halves by itself: the features of a pair stand elsewhere."""
    code = transformers_model("gemma4")
    order = torch.arange(64).view(2, 2, 16).transpose(0, 1).flatten()  # h1 h2 w1 w2 -> h1 w1 h2 w2

    def made():
        return code.Gemma4VisionRotaryEmbedding(
            code.Gemma4VisionConfig(
                hidden_size=768, num_attention_heads=12, head_dim=64, rope_parameters=axial(1e2)
            )
        )

    def theirs(q, k, positions):
        cos, sin = made()(q, positions[None])
        back = order.argsort()
        return tuple(
            code.apply_multidimensional_rope(
                x[..., back].transpose(1, 2), cos, sin, positions[None]
            ).transpose(1, 2)[..., order]
            for x in (q, k)
        )

    return Published(
        RotaryAxes(64, axial_frequencies((32, 32), 100), "half"),
        theirs,
        lambda: made().inv_freq.repeat(2),
        grid_positions(6, 9),
    )


def sam_2_video():
    """The memory attention, as transformers has it; a place is column, row."""
    code = transformers_model("sam2_video")

    def made():
        return code.Sam2VideoVisionRotaryEmbedding(code.Sam2VideoConfig(rope_parameters=axial(1e4)))

    def theirs(q, k, positions):
        return code.apply_rotary_pos_emb_2d(q, k, *made()(q, positions))

    return Published(
        RotaryAxes(256, axial_frequencies((128, 128))),
        theirs,
        lambda: made().inv_freq.repeat(2),
        grid_positions(6, 9).flip(-1),
    )


def llama_4_vision():
    """A place is column, row, both counted from 1; the class token comes last and is at 0."""
    code = transformers_model("llama4")
    config = code.Llama4VisionConfig(
        hidden_size=1408, num_attention_heads=16, image_size=336, patch_size=14, rope_theta=10_000
    )

    def theirs(q, k, positions):
        table = code.Llama4VisionRotaryEmbedding(config)(q)
        out = code.vision_apply_rotary_emb(q.transpose(1, 2), k.transpose(1, 2), table)
        return tuple(x.transpose(1, 2) for x in out)

    def shipped():
        # the place (1, 1) is the first one
        table = code.Llama4VisionRotaryEmbedding(config).freqs_ci[0]
        return table.angle().flatten()

    places = grid_positions(24, 24, start=1).flip(-1)
    return Published(
        RotaryAxes(88, axial_frequencies((44, 44))),
        theirs,
        shipped,
        torch.cat([places, torch.zeros(1, 2, dtype=torch.int64)]),
    )


def dino_v3():
    """Centres of patches between −1 and 1, times 2π."""
    code = transformers_model("dinov3_vit")
    config = code.DINOv3ViTConfig(hidden_size=384, num_attention_heads=6, patch_size=16)

    def theirs(q, k, positions):
        pixels = torch.zeros(1, 3, 6 * 16, 9 * 16, dtype=q.dtype)
        cos, sin = code.DINOv3ViTRopePositionEmbedding(config).eval()(pixels)
        return code.apply_rotary_pos_emb(q, k, cos, sin)

    return Published(
        RotaryAxes(64, 2 * np.pi * axial_frequencies((32, 32), 100), "half"),
        theirs,
        lambda: 2 * np.pi * code.DINOv3ViTRopePositionEmbedding(config).inv_freq.repeat(2),
        grid_positions(6, 9, start=(-1 + 1 / 6, -1 + 1 / 9), step=(2 / 6, 2 / 9)),
    )


# --- rules written anew


def as_matrices(x, angles):
    """Each pair by a 2 × 2 matrix."""
    cos, sin = angles.cos(), angles.sin()
    turn = torch.stack([cos, -sin, sin, cos], -1).unflatten(-1, (2, 2))
    return (turn @ x.unflatten(-1, (-1, 2, 1))).flatten(-3)


def as_complex(x, angles):
    """Each pair as a complex number."""
    turn = torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(torch.view_as_complex(x.unflatten(-1, (-1, 2))) * turn).flatten(-2)


def as_doubled(x, angles):
    """Tables with each column twice."""
    cos, sin = (table.repeat_interleave(2, -1) for table in (angles.cos(), angles.sin()))
    real, imaginary = x[..., 0::2], x[..., 1::2]
    return x * cos + torch.stack([-imaginary, real], -1).flatten(-2) * sin


def ladder(width, base):
    return 1.0 / base ** (torch.arange(0, width, 2, dtype=torch.float32) / width)


def ladder_by_four(width, base):
    """Of half the head, as SAM 2 and rope-vit write it."""
    return 1.0 / base ** (torch.arange(0, 2 * width, 4)[: width // 2].float() / (2 * width))


def ladder_in_float64(width, base):
    return 1.0 / torch.pow(base, torch.arange(0, width, 2).to(torch.float64).div(width))


def anew(widths, base, positions, turn, omega=ladder):
    """Axis a turns widths[a] features by p_a · omega(widths[a], base), interleaved."""

    def theirs(q, k, positions):
        frequencies = [omega(d, base) for d in widths]
        angles = torch.cat(
            [torch.outer(p.to(w.dtype), w) for p, w in zip(positions.T, frequencies, strict=True)],
            -1,
        )
        return tuple(turn(x.to(angles.dtype), angles).to(x.dtype) for x in (q, k))

    return Published(
        RotaryAxes(sum(widths), axial_frequencies(widths, base)),
        theirs,
        lambda: torch.cat([omega(d, base) for d in widths]),
        positions,
    )


def wan_2_1(head_dim=128):
    """wan/modules/model.py of Wan-Video/Wan2.1: rope_params, rope_apply."""
    rest = 2 * (head_dim // 6)
    widths = (head_dim - 2 * rest, rest, rest)
    return anew(widths, 10_000, grid(3, 4, 5), as_complex, ladder_in_float64)


def rope_mixed():
    """models/vit_rope.py of naver-ai/rope-vit: init_random_2d_freqs, compute_mixed_cis. In each
    head the second half of the pairs has the direction of the first, turned by a right angle.
    """
    ours = mixed_frequencies(32, n_heads=HEADS, generator=torch.Generator().manual_seed(0))
    angles = torch.from_numpy(np.arctan2(ours[:, 1, 0], ours[:, 0, 0]))[:, None]

    def matrix():
        size = 1 / (10.0 ** (torch.arange(0, 64, 4)[:16].float() / 64))
        at = angles.to(size.dtype)
        x = torch.cat([size * torch.cos(at), size * torch.cos(math.pi / 2 + at)], -1)
        y = torch.cat([size * torch.sin(at), size * torch.sin(math.pi / 2 + at)], -1)
        return torch.stack([x, y], 1)  # (heads, 2, pairs)

    def theirs(q, k, positions):
        f = matrix()
        x, y = positions.T.to(f.dtype)[..., None]
        turn = x * f[:, None, 0] + y * f[:, None, 1]
        return as_complex(q, turn), as_complex(k, turn)

    return Published(RotaryAxes(64, ours), theirs, matrix, grid_positions(14, 14).flip(-1))


def qwen_image_places(frames, height, width):
    """QwenEmbedRope of diffusers with scale_rope: rows and columns below 0, then from 0 on."""
    rows, columns = (
        torch.cat([torch.arange(-(n - n // 2), 0), torch.arange(n // 2)]) for n in (height, width)
    )
    return torch.cartesian_prod(torch.arange(frames), rows, columns)


CASES = {
    "Qwen2-VL": qwen2_vl,
    "Qwen2.5-VL": qwen2_5_vl,
    "Qwen2.5-VL, YaRN": qwen2_5_vl_yarn,
    "Qwen3-VL": qwen3_vl,
    "Qwen3.5": qwen3_5,
    "GLM-4V": glm_4v,
    "ERNIE-4.5-VL": ernie_4_5_vl,
    "Qwen2-VL, encoder": qwen2_vl_vision,
    "Pixtral": pixtral,
    "Kimi-K2.5, encoder": kimi_k2_5,
    "MiniMax-M3-VL, encoder": minimax_m3_vl,
    "Gemma 4, encoder": gemma_4_vision,
    "SAM 2 in transformers": sam_2_video,
    "Llama 4, encoder": llama_4_vision,
    "DINOv3": dino_v3,
    # src/flux/math.py and modules/layers.py of black-forest-labs/flux: rope, EmbedND
    "FLUX.1": lambda: anew((16, 56, 56), 10_000, grid(1, 8, 9), as_matrices),
    # src/flux2/model.py and sampling.py of black-forest-labs/flux2; the fourth axis is for text
    "FLUX.2": lambda: anew(
        (32, 32, 32, 32), 2000, torch.cat([grid(1, 6, 7, 1), grid(1, 1, 1, 9)]), as_matrices
    ),
    # sam2/modeling/position_encoding.py of facebookresearch/sam2: compute_axial_cis
    "SAM 2": lambda: anew(
        (128, 128), 10_000.0, grid_positions(8, 9).flip(-1), as_complex, ladder_by_four
    ),
    # models/vit_rope.py of naver-ai/rope-vit: compute_axial_cis
    "RoPE-Axial": lambda: anew(
        (32, 32), 100.0, grid_positions(14, 14).flip(-1), as_complex, ladder_by_four
    ),
    "RoPE-Mixed": rope_mixed,
    # timm/layers/pos_embed_sincos.py of pytorch-image-models: build_fourier_pos_embed, not in
    # pixels, with a reference of 16 × 16
    "EVA-02": lambda: anew(
        (32, 32), 10_000.0, grid_positions(24, 32, step=(16 / 24, 16 / 32)), as_doubled
    ),
    "Wan 2.1": wan_2_1,
    # transformer_hunyuan_video.py of diffusers: HunyuanVideoRotaryPosEmbed
    "HunyuanVideo": lambda: anew((16, 56, 56), 256.0, grid(3, 4, 5), as_doubled),
    # embeddings.py of diffusers: get_3d_rotary_pos_embed, d/4 and twice 3d/8
    "CogVideoX": lambda: anew((16, 24, 24), 10_000, grid(3, 4, 5), as_doubled),
    # transformer_qwenimage.py of diffusers: QwenEmbedRope
    "Qwen-Image": lambda: anew((16, 56, 56), 10_000, qwen_image_places(1, 7, 8), as_complex),
    # transformer_lumina2.py of diffusers: Lumina2RotaryPosEmbed; an image's frame is its caption's
    # length
    "Lumina-Image 2.0": lambda: anew(
        (32, 32, 32),
        10_000,
        torch.cat([grid(20, 1, 1), grid(1, 6, 7) + torch.tensor([20, 0, 0])]),
        as_complex,
        ladder_in_float64,
    ),
    # src/zimage/transformer.py of Tongyi-MAI/Z-Image: RopeEmbedder; a caption counts on in frames
    "Z-Image": lambda: anew(
        (32, 48, 48), 256.0, grid(1, 6, 7) + torch.tensor([33, 0, 0]), as_complex, ladder_in_float64
    ),
}
