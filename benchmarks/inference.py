"""Rotary without gradients, on a prompt and on one step of decoding, beside each package that
offers it: times in one process, round by round.

"from positions": what a layer does that is given positions. "shared": what a layer does where the
sines and cosines were computed once for all layers of the model; rotary-embedding-torch keeps them
between calls by itself, and stands there alone. A step of decoding from positions is shown, and is
no gate: it is a matter of the number of calls, and angles that are exact far out take more of them.

    python benchmarks/inference.py [--quick]
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

# batch, heads, length, head_dim, the first position
PROMPT, STEP = (4, 16, 1024, 64, 0), (1, 16, 1, 64, 1000)
ROUNDS, SECONDS = 25, 0.05
MARGIN = 0.92  # as in rotary.py


def sides(batch, heads, length, head_dim, start):
    """{kind: {name: a call that turns q and k}}, ours first in each."""
    generator = torch.Generator().manual_seed(0)
    q, k = (torch.randn(batch, heads, length, head_dim, generator=generator) for _ in range(2))
    positions = torch.arange(start, start + length)
    ours = {layout: Rotary(head_dim, layout=layout) for layout in ("interleaved", "half")}
    tables = {layout: method.tables(positions) for layout, method in ours.items()}
    parameters = {"rope_type": "default", "rope_theta": 10_000.0}
    hf = llama.LlamaRotaryEmbedding(
        llama.LlamaConfig(
            hidden_size=heads * head_dim, num_attention_heads=heads, rope_parameters=parameters
        )
    )
    gpt_j = gptj.GPTJRotaryEmbedding(
        gptj.GPTJConfig(
            n_positions=start + length, n_embd=heads * head_dim, n_head=heads, rotary_dim=head_dim
        )
    )
    lucid, x_former = RotaryEmbedding(head_dim), x_transformers.RotaryEmbedding(head_dim)
    hf_tables, x_tables = hf(q, positions[None]), x_former(positions)[0]
    gpt_j_tables = gpt_j(q, positions[None])
    q_last, k_last = q.transpose(1, 2).contiguous(), k.transpose(1, 2).contiguous()

    def gpt_j_rotate(sin, cos):  # it has (batch, length, heads, head_dim)
        return tuple(gptj.apply_rotary_pos_emb(x, sin, cos) for x in (q_last, k_last))

    def x_rotate(frequencies):
        return tuple(x_transformers.apply_rotary_pos_emb(x, frequencies) for x in (q, k))

    def lucid_rotate():
        return tuple(lucid.rotate_queries_or_keys(x, offset=start) for x in (q, k))

    return {
        "from positions": {
            **{
                f"sinpe, {layout}": lambda rope=rope: rope.rotate(q, k, positions, positions)
                for layout, rope in ours.items()
            },
            "transformers, Llama": lambda: llama.apply_rotary_pos_emb(
                q, k, *hf(q, positions[None])
            ),
            "transformers, GPT-J": lambda: gpt_j_rotate(*gpt_j(q, positions[None])),
            "x-transformers": lambda: x_rotate(x_former(positions)[0]),
        },
        "shared": {
            **{
                f"sinpe, {layout}": lambda made=made: made.rotate(q, k)
                for layout, made in tables.items()
            },
            "transformers, Llama": lambda: llama.apply_rotary_pos_emb(q, k, *hf_tables),
            "transformers, GPT-J": lambda: gpt_j_rotate(*gpt_j_tables),
            "x-transformers": lambda: x_rotate(x_tables),
            "rotary-embedding-torch": lucid_rotate,
        },
    }


@torch.no_grad()
def measure(quick):
    torch.set_num_threads(1)
    gates = []
    for what, shape in {"a prompt": PROMPT, "a step of decoding": STEP}.items():
        if quick:
            shape = (1, 2, min(shape[2], 8), *shape[3:])
        for kind, calls in sides(*shape).items():
            times = in_turn(calls, *((2, 0.001) if quick else (ROUNDS, SECONDS)))
            ours = [name for name in times if name.startswith("sinpe")]
            rows = [
                [
                    name,
                    f"{1e6 * statistics.median(spent):.0f}",
                    *(f"{times_as_fast(times, mine, name):.2f}" for mine in ours),
                ]
                for name, spent in times.items()
            ]
            print(
                f"{what}, {kind}: (batch, heads, length, head_dim) = {shape[:4]}, float32, 1 thread"
            )
            table(["", "µs", *(f"{mine} is faster ×" for mine in ours)], rows)
            note(f"{what}, {kind}", times, ours)
            if kind == "from positions" and what != "a prompt":
                continue
            for mine in ours:
                least, peer = min(
                    (times_as_fast(times, mine, name), name) for name in times if name not in ours
                )
                says = (
                    f"{what}, {kind}, {mine}: at least {MARGIN} times as fast as any peer (least:"
                    f" {least:.2f}, {peer})"
                )
                gates.append(Gate(says, None if quick else least >= MARGIN))
    return gates


if __name__ == "__main__":
    main(__doc__, measure)
