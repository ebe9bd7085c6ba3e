"""Rotary on queries and keys, forward and backward, beside each package that offers it: times in
one process, round by round.

Each side starts from positions and does what one attention layer does. transformers and
x-transformers build their tables once for all layers of a model; what a layer costs there without
them is shown too, in brackets, and is no gate.

    python benchmarks/rotary.py [--quick] [--save FILE]
"""

import statistics
import warnings

import torch
from compare import Gate, in_turn, main, note, table, times_as_fast
from rotary_embedding_torch import RotaryEmbedding
from transformers.models.gptj import modeling_gptj as gptj
from transformers.models.llama import modeling_llama as llama

from sinpe import Rotary

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "`torch.jit.script` is", DeprecationWarning)
    from x_transformers import x_transformers

# batch, heads, length, head_dim; the first is the study's
SHAPES = [(8, 4, 64, 32), (1, 8, 64, 128), (8, 16, 256, 64), (4, 16, 1024, 64)]
ROUNDS, SECONDS = 15, 0.1
# a side beside itself: 0.93 to 1.05 in eight tries, on two cores that ten other processes used
MARGIN = 0.92


def sides(batch, heads, length, head_dim):
    """{name: a call that turns q and k and takes the gradient}, ours first."""
    generator = torch.Generator().manual_seed(0)
    q, k, *gradients = (
        torch.randn(batch, heads, length, head_dim, generator=generator) for _ in range(4)
    )
    q.requires_grad_()
    k.requires_grad_()
    positions = torch.arange(length)
    ours = {layout: Rotary(head_dim, layout=layout) for layout in ("interleaved", "half")}
    parameters = {"rope_type": "default", "rope_theta": 10_000.0}
    hf = llama.LlamaRotaryEmbedding(
        llama.LlamaConfig(
            hidden_size=heads * head_dim, num_attention_heads=heads, rope_parameters=parameters
        )
    )
    gpt_j = gptj.GPTJRotaryEmbedding(
        gptj.GPTJConfig(
            n_positions=length, n_embd=heads * head_dim, n_head=heads, rotary_dim=head_dim
        )
    )
    lucid, x_former = RotaryEmbedding(head_dim), x_transformers.RotaryEmbedding(head_dim)
    hf_tables, x_frequencies = hf(q, positions[None]), x_former(positions)[0]

    def gpt_j_rotate():  # it has (batch, length, heads, head_dim), and transposes afterwards
        sin, cos = gpt_j(q, positions[None])
        return tuple(
            gptj.apply_rotary_pos_emb(x.transpose(1, 2), sin, cos).transpose(1, 2) for x in (q, k)
        )

    def x_rotate(frequencies):
        return tuple(x_transformers.apply_rotary_pos_emb(x, frequencies) for x in (q, k))

    rotations = {
        "sinpe, interleaved": lambda: ours["interleaved"].rotate(q, k, positions, positions),
        "sinpe, half": lambda: ours["half"].rotate(q, k, positions, positions),
        "transformers, Llama": lambda: llama.apply_rotary_pos_emb(q, k, *hf(q, positions[None])),
        "transformers, GPT-J": gpt_j_rotate,
        "rotary-embedding-torch": lambda: tuple(lucid.rotate_queries_or_keys(x) for x in (q, k)),
        "x-transformers": lambda: x_rotate(x_former(positions)[0]),
        "(transformers, Llama)": lambda: llama.apply_rotary_pos_emb(q, k, *hf_tables),
        "(x-transformers)": lambda: x_rotate(x_frequencies),
    }
    return {
        name: lambda rotate=rotate: torch.autograd.grad(rotate(), (q, k), gradients)
        for name, rotate in rotations.items()
    }


def measure(quick):
    torch.set_num_threads(1)
    gates = []
    for shape in SHAPES[:1] if quick else SHAPES:
        times = in_turn(sides(*shape), *((2, 0.001) if quick else (ROUNDS, SECONDS)))
        ours, peers = (
            [name for name in times if name.startswith("sinpe")],
            [name for name in times if not name.startswith("sinpe")],
        )
        rows = [
            [
                name,
                f"{1000 * statistics.median(spent):.2f}",
                *(f"{times_as_fast(times, mine, name):.2f}" for mine in ours),
            ]
            for name, spent in times.items()
        ]
        print(
            f"Rotary, forward and backward: (batch, heads, length, head_dim) = {shape}, float32, 1"
            " thread"
        )
        table(["", "ms", *(f"{mine} is faster ×" for mine in ours)], rows)
        note(f"Rotary, forward and backward, {shape}", times, ours)
        for mine in ours:
            least, peer = min(
                (times_as_fast(times, mine, name), name)
                for name in peers
                if not name.startswith("(")
            )
            says = (
                f"{mine} at {shape}: at least {MARGIN} times as fast as any peer (least:"
                f" {least:.2f}, {peer})"
            )
            gates.append(Gate(says, None if quick else least >= MARGIN))
    return gates


if __name__ == "__main__":
    main(__doc__, measure)
