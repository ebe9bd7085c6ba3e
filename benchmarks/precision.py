"""The largest error of sines and cosines at positions up to 2^20, against mpmath with 50 digits,
beside what other packages compute.

Positions: a few hundred in each range, drawn once, and those that come nearest to multiples of π/2.
Frequencies of an extension are those of this package for every side, which its tests hold to the
published rules, so only the precision is compared. bfloat16 and float16: queries and keys of that
type. "cast": after .to(dtype) of the module, as in a model that was cast as a whole, which lowers
the frequencies too (nan: a position beyond 65 504 is infinite in float16).

    python benchmarks/precision.py [--quick] [--save FILE]
"""

import warnings

import mpmath
import numpy as np
import torch
from compare import Gate, main, table
from rotary_embedding_torch import RotaryEmbedding
from transformers.models.llama import modeling_llama as llama
from transformers.models.whisper import modeling_whisper as whisper

from sinpe import (
    DynamicNTK,
    Llama3,
    NTKAware,
    PositionInterpolation,
    Rotary,
    SinusoidalEncoding,
    YaRN,
)

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "`torch.jit.script` is", DeprecationWarning)
    from x_transformers import x_transformers

# Half an ulp of 1. A rotation of half-type queries is done in float32 and rounded once, so there
# float32's own half ulp is added.
TYPES = {
    torch.float32: 2.99e-8,
    torch.bfloat16: 2.0**-9 + 2.99e-8,
    torch.float16: 2.0**-12 + 2.99e-8,
}
RANGES = [512, 4096, 32_768, 131_072, 2**20]
# p ≈ n·π/2
HARD = [
    1,
    2,
    11,
    22,
    333,
    355,
    710,
    2048,
    65_535,
    65_536,
    103_993,
    104_348,
    208_341,
    312_689,
    833_719,
    2**20 - 1,
    2**20,
]
D = 64
EXTENSIONS = {
    "rotary": None,
    "position interpolation": PositionInterpolation(4.0),
    "NTK-aware": NTKAware(4.0),
    "dynamic NTK": DynamicNTK(2.0, 4096),
    "YaRN": YaRN(4.0, 4096, attention_factor=1.0),
    "Llama 3": Llama3(8.0, 1.0, 4.0, 8192),
}


def drawn(count):
    """Positions of every range, the same in each run."""
    generator, low, found = np.random.default_rng(0), 0, list(HARD)
    for high in RANGES:
        found += generator.integers(low, high, count).tolist()
        low = high
    return np.unique(found)


def exact(positions, frequencies):
    """Sine and cosine of position × frequency, each (positions, pairs), rounded to float64 at the
    end.
    """
    with mpmath.workdps(50):
        values = [[mpmath.cos_sin(int(p) * w) for w in frequencies] for p in positions]
        cos, sin = np.moveaxis(np.array(values, dtype=float), -1, 0)
    return sin, cos


def plain_frequencies(spacing="paper"):
    """10000^(−2i/d) with 50 digits; "tensor2tensor": 10000^(−i/(d/2 − 1))."""
    with mpmath.workdps(50):
        steps = D // 2 if spacing == "paper" else D // 2 - 1
        return [mpmath.power(10_000, -mpmath.mpf(i) / steps) for i in range(D // 2)]


def extended(positions, extension):
    """The truth for the frequencies that an extension has where the longest position is 2^20."""
    return exact(
        positions,
        [
            mpmath.mpf(float(w))
            for w in Rotary(D, extension=extension).inverse_frequencies(RANGES[-1] + 1)
        ],
    )


def columns(positions, sin, cos, truth):
    """The largest error below each bound, one column a range."""
    error = np.maximum(
        np.abs(sin.double().numpy() - truth[0]), np.abs(cos.double().numpy() - truth[1])
    ).max(1)
    return [error[positions < high + (high == RANGES[-1])].max() for high in RANGES]


def of_rotation(turned):
    """The pairs (1, 0) after a rotation are (cos, sin)."""
    return turned[0, 0, :, 1::2], turned[0, 0, :, 0::2]


def pairs(count, dtype):
    return torch.tensor([1.0, 0.0], dtype=dtype).repeat(1, 1, count, D // 2)


def ours(positions, dtype, extension):
    turned, _ = Rotary(D, extension=extension).rotate(
        pairs(len(positions), dtype), pairs(len(positions), dtype), positions, positions
    )
    return of_rotation(turned)


def peers(positions, dtype):
    """(name, sine, cosine) of the plain rotation in each package; "cast": after the module itself
    was cast.
    """
    parameters = {"rope_type": "default", "rope_theta": 10_000.0}
    hf = llama.LlamaRotaryEmbedding(
        llama.LlamaConfig(hidden_size=D, num_attention_heads=1, rope_parameters=parameters)
    )
    cos, sin = hf(torch.empty(0, dtype=dtype), positions[None])
    yield "transformers, Llama", sin[0, :, : D // 2], cos[0, :, : D // 2]
    if dtype != torch.float32:
        cos, sin = hf.to(dtype)(torch.empty(0, dtype=dtype), positions[None])
        yield "transformers, Llama, cast", sin[0, :, : D // 2], cos[0, :, : D // 2]
    # its calls count positions from an offset; this is what they are made of
    if dtype == torch.float32:
        frequencies = RotaryEmbedding(D, cache_if_possible=False)(positions).detach()[:, ::2]
        yield "rotary-embedding-torch", frequencies.sin(), frequencies.cos()
    frequencies, _ = x_transformers.RotaryEmbedding(D)(positions)
    turned = x_transformers.apply_rotary_pos_emb(pairs(len(positions), dtype), frequencies)
    yield "x-transformers", *of_rotation(turned)
    if dtype != torch.float32:
        frequencies, _ = x_transformers.RotaryEmbedding(D).to(dtype)(positions)
        yield (
            "x-transformers, cast",
            *of_rotation(
                x_transformers.apply_rotary_pos_emb(pairs(len(positions), dtype), frequencies)
            ),
        )


def measure(quick):
    numbers = drawn(8 if quick else 200)
    positions, gates = torch.from_numpy(numbers), []
    truth = exact(numbers, plain_frequencies())
    truths = {
        name: extended(numbers, extension) if extension else truth
        for name, extension in EXTENSIONS.items()
    }
    for dtype, bound in TYPES.items():
        rows = []

        def add(name, sin, cos, truth=truth, rows=rows):
            errors = columns(numbers, sin, cos, truth)
            rows.append([name, *(f"{error:.1e}" for error in errors)])
            return errors[-1]

        worst = {}
        encoding = SinusoidalEncoding(D, layout="concatenated", max_len=0).rows(positions, dtype)
        worst["sinusoidal"] = add("sinpe, sinusoidal", *encoding.chunk(2, -1))
        for name, extension in EXTENSIONS.items():
            worst[name] = add(f"sinpe, {name}", *ours(positions, dtype, extension), truths[name])
        for name, sin, cos in peers(positions, dtype):
            add(name, sin, cos)
        if dtype == torch.float32 and not quick:
            t2t = exact(numbers, plain_frequencies("tensor2tensor"))
            add(
                "transformers, Whisper",
                *whisper.sinusoids(RANGES[-1] + 1, D)[positions].chunk(2, -1),
                t2t,
            )
        print(
            f"Largest error of a sine or cosine, {str(dtype).removeprefix('torch.')}, d = {D},"
            " positions below"
        )
        table(["", *(f"{high:,}" for high in RANGES)], rows)
        name = max(worst, key=worst.get)
        says = (
            f"{str(dtype).removeprefix('torch.')}: sinpe is within half an ulp of 1 up to 2^20"
            f" ({worst[name]:.6e} of {bound:.6e}, {name})"
        )
        gates.append(Gate(says, worst[name] <= bound))
    return gates


if __name__ == "__main__":
    main(__doc__, measure)
