"""A log of what goes on in a run while it trains. It reads and changes nothing: a run with a log
ends with the same weights as one without.
"""

import contextlib
import math

import torch

from sinpe.training.treatments import Led, frequencies, weighted_rms

DIGITS = 4  # significant ones, so that a record stays small


class Log:
    """Every `every` steps, and at the first one, what this step saw, by name -> list in `series`.

    step. training_loss: of its batch. token_rms: of factor · row, over the tokens of the text, as
    the forward pass saw it; displacement: the same of what it has changed by since the start;
    input_step: the same of what the update of this step then changed, and input_turn: of the part
    of it that is not along the row itself. logit_rms, own_logit: RMS of all logits, and the mean
    logit of the token that is read. attention_entropy: in nats, a layer each. gradient_norm: of all
    weights, before clipping; clip: what clipping multiplied it by; table_share: the norm of the
    embedding matrix's part over it. in_norm, out_norm, in_out_cosine: of the gradient that reaches
    the embedding matrix by the way in, and of that of the output matrix, which is the same matrix
    when tied. factor: on the embeddings, if a treatment moves it.
    A table that is frozen has no gradient, and 0 stands for it.
    """

    def __init__(self, run, every):
        self.every, self.series = every, {}
        self._weights = frequencies(run.task)
        self._start = _heard(run.model)

    @contextlib.contextmanager
    def step(self, run, step, batch):
        """Around a step and what follows it: give the function that is yielded to Run.step."""
        if step != 1 and step % self.every:
            yield lambda: None
            return
        found, seen = {"step": step}, {}
        before = _heard(run.model)
        with contextlib.ExitStack() as hooks:
            for handle in self._hooks(run.model, seen):
                hooks.callback(handle.remove)
            yield lambda: found.update(_gradients(run, batch[0], seen))
        change = _heard(run.model) - before
        along = (change * before).sum(1, True) / _above_0(before.square().sum(1, True)) * before
        found |= {
            "token_rms": self._rms(before),
            "displacement": self._rms(before - self._start),
            "input_step": self._rms(change),
            "input_turn": self._rms(change - along),
            **_forward(seen, batch[0]),
        }
        if isinstance(run.treatment, Led):
            found["factor"] = seen["factor"]
        for name, value in found.items():
            self.series.setdefault(name, []).append(_rounded(value))

    def loss(self, step, value):
        """Keep the loss of a step that is logged."""
        if self.series.get("step", [None])[-1] == step:
            self.series.setdefault("training_loss", []).append(_rounded(value))

    def _rms(self, rows):
        return weighted_rms(rows, self._weights)

    @staticmethod
    def _hooks(model, seen):
        """Hooks that keep what passes: the logits, the inputs of attention, and the gradient that
        comes back to the embeddings.
        """

        def embedded(module, inputs, output):
            seen["factor"] = module.scale
            if output.requires_grad:
                output.register_hook(lambda gradient: seen.update(way_in=gradient.detach()))

        def attended(module, inputs):
            seen.setdefault("attention", []).append((module, inputs))

        yield model.embedding.register_forward_hook(embedded)
        yield model.register_forward_hook(
            lambda module, inputs, output: seen.update(logits=output.detach())
        )
        for layer in model.layers:
            yield layer.attention.register_forward_pre_hook(attended)


@torch.no_grad()
def attention_entropy(attention, x, positions):
    """Mean entropy of the attention weights over heads and queries, in nats. x: (batch, seq,
    d_model), no padding.
    """
    q, k = (attention._heads(projection(x)) for projection in (attention.query, attention.key))
    q, k = attention.position.rotate(q, k, positions, positions)
    scores = (q @ k.transpose(-2, -1)).float() / math.sqrt(q.shape[-1])
    bias = attention.position.score_bias(q, k, positions, positions)
    if bias is not None:
        scores = scores + bias
    if attention.causal:
        past = torch.ones(scores.shape[-2:], dtype=torch.bool, device=x.device).tril()
        scores = scores.masked_fill(~past, -math.inf)
    return torch.special.entr(scores.softmax(-1)).sum(-1).mean().item()


@torch.no_grad()
def _heard(model):
    """What each token sounds like in the model: a new (vocab_size, d_model)."""
    return model.embedding.table.weight * model.embedding.scale


def _forward(seen, tokens):
    logits = seen["logits"].float()
    entropies = [
        attention_entropy(module, inputs[0], inputs[1]) for module, inputs in seen["attention"]
    ]
    return {
        "logit_rms": logits.square().mean().sqrt().item(),
        "own_logit": logits.gather(-1, tokens[..., None]).mean().item(),
        **{f"attention_entropy_{i}": value for i, value in enumerate(entropies, 1)},
    }


@torch.no_grad()
def _gradients(run, tokens, seen):
    """Between backward and clipping."""
    model = run.model
    table, out = model.embedding.table.weight, model.unembedding
    norm = torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None]).norm()
    total = torch.zeros_like(table) if table.grad is None else table.grad
    way_in = torch.zeros_like(table)
    if "way_in" in seen:
        by_token = seen["way_in"].flatten(0, 1) * seen["factor"]
        way_in.index_add_(0, tokens.flatten(), by_token)
    way_out = total - way_in if out is None else out.weight.grad
    if way_out is None:  # an output that is frozen
        way_out = torch.zeros_like(table)
    cosine = (way_in * way_out).sum() / (way_in.norm() * way_out.norm()).clamp(min=1e-30)
    found = {
        "gradient_norm": norm,
        "table_share": total.norm() / _above_0(norm),
        "in_norm": way_in.norm(),
        "out_norm": way_out.norm(),
        "in_out_cosine": cosine,
    }
    if run.config.clip is not None:
        found["clip"] = min(1.0, run.config.clip / (norm.item() + 1e-6))
    return {name: float(value) for name, value in found.items()}


def _above_0(x):
    """x to divide by: a row, or a gradient, of which nothing is there has no part either."""
    return x.clamp(min=torch.finfo(x.dtype).tiny)


def _rounded(value):
    return value if isinstance(value, int) else float(f"{value:.{DIGITS}g}")
