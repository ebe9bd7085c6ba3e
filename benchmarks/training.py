"""Training: what the three openings for position cost beside a model without them, and how long a
small study takes.

The other model is a GPT in the manner of nanoGPT (one matrix for q, k and v, learned positions,
scaled_dot_product_attention), with this package's ReLU so that only the structure differs. Both
train by the same loop on the same batches, round by round in one process.

    python benchmarks/training.py [--quick] [--save FILE]
"""

import os
import time
from dataclasses import replace

import torch
from compare import Gate, in_turn, main, note, table, times_as_fast
from torch import nn
from torch.nn import functional as F

from sinpe.experiments.runner import execute
from sinpe.experiments.studies import get_study
from sinpe.tasks import build_task
from sinpe.training import Run, RunConfig
from sinpe.transformer import TransformerConfig

D, HEADS, LAYERS, LENGTH, BATCH = 128, 4, 2, 64, 8
POSITIONS = ["learned", "sinusoidal", "rope", "alibi", "t5"]
JUDGED = ["learned", "sinusoidal"]  # the others do more than the other model does
ROUNDS, STEPS = 15, 20
# a model beside its equal: 0.996 to 1.012 on two busy cores; the rest is what the openings may cost
MARGIN = 0.95
SECONDS = 120  # for six runs of 400 steps, two processes of one thread


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(D) for _ in range(2))
        self.qkv, self.out = nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.feed_forward = nn.Sequential(nn.Linear(D, 4 * D), nn.ReLU(), nn.Linear(4 * D, D))

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = (
            part.view(batch, length, HEADS, -1).transpose(1, 2)
            for part in self.qkv(self.norms[0](x)).split(D, 2)
        )
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, D))
        return x + self.feed_forward(self.norms[1](x))


class GPT(nn.Module):
    def __init__(self, vocab_size, length=LENGTH):
        super().__init__()
        self.words, self.places = nn.Embedding(vocab_size, D), nn.Embedding(length, D)
        self.blocks, self.norm = nn.Sequential(*(Block() for _ in range(LAYERS))), nn.LayerNorm(D)
        for embedding in (self.words, self.places):
            nn.init.normal_(embedding.weight, std=0.02)

    def forward(self, tokens):
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1]))
        return F.linear(self.norm(self.blocks(x)), self.words.weight)


def trainer(model, task, steps):
    """A call that trains for some steps as `Run.fit` does: the loss is read at every step,
    gradients are clipped, AdamW is fused.
    """
    batches = torch.Generator().manual_seed(0)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=1e-3, betas=(0.9, 0.98), weight_decay=0.0, fused=True
    )

    def train():
        for _ in range(steps):
            tokens, targets = task.batch("train", BATCH, LENGTH, batches)
            loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())
            assert loss.item() < 100
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()

    return train


def speed(quick):
    """Tokens a second, ours beside the other model's."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    task, steps = build_task("next_character"), 1 if quick else STEPS
    config = TransformerConfig(task.vocab_size, D, LAYERS, HEADS, 4 * D, init_std=0.02, scale=1.0)
    models = {
        position: Run(RunConfig(config, position, length=LENGTH, evaluation_sequences=1)).model
        for position in POSITIONS
    }
    sides = {
        name: trainer(model, task, steps)
        for name, model in {"GPT": GPT(task.vocab_size), **models}.items()
    }
    times = in_turn(sides, 2 if quick else ROUNDS, 0)
    print(
        f"Training, d = {D}, {HEADS} heads, {LAYERS} layers, length {LENGTH}, batch {BATCH},"
        " float32, 1 thread"
    )
    rows = [
        [
            name,
            f"{steps * BATCH * LENGTH / min(spent):,.0f}",
            f"{times_as_fast(times, name, 'GPT'):.2f}",
        ]
        for name, spent in times.items()
    ]
    table(["position", "tokens a second, at best", "times as fast as GPT"], rows)
    note(f"training, {steps} steps of {BATCH} × {LENGTH} tokens", times, POSITIONS)
    for name in JUDGED:
        ratio = times_as_fast(times, name, "GPT")
        yield Gate(
            f"training with {name} positions: at least {MARGIN} times as fast as the GPT"
            f" ({ratio:.2f})",
            None if quick else ratio >= MARGIN,
        )


def study(quick):
    """Six runs of the recorded study's first comparison, as `make results` makes them."""
    comparison = get_study("embedding-scale").comparisons[0]
    runs = [
        run
        for cell in (*comparison.these, *comparison.those)
        for run in cell.runs(1 if quick else 3)
    ]
    assert all(
        (run.model.d_model, run.batch_size, run.length, run.steps) == (D, BATCH, LENGTH, 400)
        for run in runs
    )
    if quick:
        tiny = TransformerConfig(runs[0].model.vocab_size, d_model=8, n_layers=1, n_heads=2, d_ff=8)
        runs = [
            replace(run, model=tiny, steps=2, warmup=1, evaluations=1, evaluation_sequences=1)
            for run in runs
        ]
    start = time.perf_counter()
    for _, record, problem in execute(runs, workers=2):
        assert record is not None, problem
    spent = time.perf_counter() - start
    print(
        f"{len(runs)} runs of {runs[0].steps} steps with their evaluation, two processes of one"
        f" thread, {os.cpu_count()} cores: {spent:.0f} s\n",
        flush=True,
    )
    yield Gate(
        f"six runs of 400 steps take at most {SECONDS} s on two cores ({spent:.0f} s)",
        None if quick else spent <= SECONDS,
    )


def measure(quick):
    return [*speed(quick), *study(quick)]


if __name__ == "__main__":
    main(__doc__, measure)
