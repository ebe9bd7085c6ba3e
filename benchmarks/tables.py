"""Tables of codes, their addition, biases, a pass over a prompt and a step behind it: times beside
each package that offers the same, and beside a copy of the bytes that have to be written.

Each side starts from positions or a length. What a package keeps after the first call is made anew;
what it costs when kept is shown in brackets, and is no gate. The tables differ in exactness, which
precision.py measures: ours holds the nearest float32 numbers, the others are computed in float32.
A benchmark of more work, on several axes say, is a module like this one, entered in run.py.

    python benchmarks/tables.py [--quick] [--save FILE]
"""

import warnings

import numpy as np
import torch
from compare import Gate, beside, in_turn, main, times_as_fast
from torch import nn
from training import GPT, POSITIONS, D
from training import HEADS as N_HEADS
from training import LAYERS as N_LAYERS
from transformers.models.gptj import modeling_gptj as gptj
from transformers.models.t5 import configuration_t5, modeling_t5
from transformers.models.whisper import modeling_whisper as whisper

from sinpe import Alibi, SinusoidalEncoding, T5Bias, Transformer, TransformerConfig
from sinpe import sinusoidal_encoding as encode
from sinpe.experiments import build_position
from sinpe.tasks import build_task
from sinpe.training import RunConfig

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "`torch.jit.script` is", DeprecationWarning)
    from x_transformers import x_transformers

LENGTH, WIDTH = 4096, 512
BATCH, SHORT = 32, 512
HEADS, LONG = 8, 1024
ROUNDS, SECONDS = 15, 0.05
MARGIN = 0.92  # as in rotary.py


def copied(*shape):
    """A copy of as many float32 numbers, into memory of its own."""
    numbers = torch.ones(shape)
    return numbers.clone


def table(length=LENGTH, width=WIDTH):
    """Codes of the first positions, in float32."""
    at = torch.arange(length)
    return {
        "sinpe, NumPy": lambda: encode(length, width, dtype=np.float32),
        "sinpe, module made and read": lambda: SinusoidalEncoding(width, max_len=length).rows(at),
        "transformers, Whisper": lambda: whisper.sinusoids(length, width),
        "transformers, GPT-J": lambda: gptj.create_sinusoidal_positions(length, width),
        "(copy)": copied(length, width),
    }


def addition(batch=BATCH, length=SHORT, width=WIDTH):
    """Adding codes to embeddings, the table being there."""
    x, at = torch.ones(batch, length, width), torch.arange(length)
    ours, table = SinusoidalEncoding(width), whisper.sinusoids(length, width)
    theirs = nn.Embedding.from_pretrained(table)
    return {
        "sinpe": lambda: ours.embed(x, at),
        "transformers, Whisper": lambda: x + theirs.weight[at],
        "(copy)": copied(batch, length, width),
    }


def alibi(heads=HEADS, queries=LONG, keys=LONG):
    """ALiBi's bias for consecutive positions. Naive: −m · |q − k| in three lines."""
    ours, theirs = Alibi(heads), x_transformers.AlibiPositionalBias(heads)
    slopes = ours.slopes.float()[:, None, None]
    q, k = torch.zeros(1, heads, queries, 8), torch.zeros(1, heads, keys, 8)
    at, before = torch.arange(keys - queries, keys), torch.arange(keys)

    def naive():
        distance = (before[None] - at[:, None]).abs()
        return -slopes * distance

    def anew():
        theirs.bias = None
        return theirs(queries, keys)

    return {
        "sinpe": lambda: ours.score_bias(q, k, at, before)[0],
        "three lines": naive,
        "x-transformers": anew,
        "(x-transformers, kept)": lambda: theirs(queries, keys),
        "(copy)": copied(heads, queries, keys),
    }


def t5(heads=HEADS, queries=LONG, keys=LONG):
    """T5's bias, causal, with the same weights everywhere."""
    ours, theirs = T5Bias(heads), x_transformers.RelativePositionBias(1.0, True, heads=heads)
    config = configuration_t5.T5Config(num_heads=heads, is_decoder=True)
    hugging = modeling_t5.T5Attention(config, has_relative_attention_bias=True, layer_idx=0)
    weight = ours.weight.detach()
    for embedding in (theirs.relative_attention_bias, hugging.relative_attention_bias):
        embedding.weight.data.copy_(weight.T)
    q, k = torch.zeros(1, heads, queries, 8), torch.zeros(1, heads, keys, 8)
    at, before = torch.arange(keys - queries, keys), torch.arange(keys)

    return {
        "sinpe": lambda: ours.score_bias(q, k, at, before)[0],
        "x-transformers": lambda: theirs(queries, keys),
        "transformers, T5": lambda: hugging.compute_bias(
            queries, keys, past_seen_tokens=keys - queries
        )[0],
        "(copy)": copied(heads, queries, keys),
    }


def prompt(length=LENGTH // 8):
    """A pass without gradients over one prompt, method by method, beside the model of training.py,
    which knows its positions from a learned table.
    """
    vocabulary = build_task("next_character").vocab_size
    shape = TransformerConfig(vocabulary, D, N_LAYERS, N_HEADS, 4 * D, init_std=0.02, scale=1.0)
    tokens = torch.randint(vocabulary, (1, length), generator=torch.Generator().manual_seed(0))
    models = {
        f"sinpe, {name}": Transformer(shape, build_position(RunConfig(shape, name, length=length)))
        for name in POSITIONS
    }
    models["GPT"] = GPT(vocabulary, length)
    return {name: lambda model=model: model(tokens) for name, model in models.items()}


WORK = {
    f"table {LENGTH} × {WIDTH}": table,
    f"addition to ({BATCH}, {SHORT}, {WIDTH})": addition,
    f"ALiBi, {HEADS} × {LONG}²": alibi,
    f"T5, {HEADS} × {LONG}²": t5,
    f"ALiBi, a step after {LONG}": lambda *sizes: alibi(*(sizes or (HEADS, 1, LONG))),
    f"T5, a step after {LONG}": lambda *sizes: t5(*(sizes or (HEADS, 1, LONG))),
    f"prompt of {LENGTH // 8}": prompt,
}
SMALL = {table: (8, 4), addition: (2, 3, 4), alibi: (2, 3, 3), t5: (2, 3, 3), prompt: (6,)}


@torch.no_grad()
def measure(quick):
    torch.set_num_threads(1)
    gates = []
    for name, make in WORK.items():
        sides = make(*SMALL.get(make, (2, 1, 3))) if quick else make()
        times = in_turn(sides, *((2, 0.001) if quick else (ROUNDS, SECONDS)))
        ours = [side for side in sides if side.startswith("sinpe")]
        beside(f"{name}, float32, 1 thread, without gradients", times, ours)
        peers = [side for side in sides if not side.startswith(("sinpe", "("))]
        for mine in ours:
            least, peer = min((times_as_fast(times, mine, side), side) for side in peers)
            says = f"{name}: {mine} is at least {MARGIN} times as fast as any peer"
            judged = not quick and name.startswith(("addition", "ALiBi, 8", "T5, 8"))
            gates.append(Gate(f"{says} ({least:.2f}, {peer})", least >= MARGIN if judged else None))
    return gates


if __name__ == "__main__":
    main(__doc__, measure)
