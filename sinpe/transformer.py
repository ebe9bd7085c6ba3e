"""One small Transformer, encoder or decoder, that does not know which position method it uses."""

import math
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F

from sinpe.embedding import TokenEmbedding
from sinpe.positions.base import PositionMethod, check_positive, check_size
from sinpe.positions.checks import check_integers, check_mask, check_positions, wide


@dataclass(frozen=True)
class TransformerConfig:
    """The shape of a model.

    causal: each token sees itself and earlier ones only (a decoder); otherwise all see all (an
        encoder).
    norm: "pre" normalises the input of each sub-layer and the last output, "post" the sum after
        each sub-layer (the paper).
    tied: the output matrix is the embedding matrix. init_std, scale: as in TokenEmbedding.
    logit_scale: the logits are multiplied by it (T5, tied: d_model^(−1/2)).
    dropout: in training, the share of entries set to zero in the sum of embedding and position and
        in the output of each sub-layer (the paper's P_drop, §5.4).
    """

    vocab_size: int
    d_model: int = 128
    n_layers: int = 2
    n_heads: int = 4
    d_ff: int = 512
    causal: bool = True
    norm: str = "pre"
    tied: bool = True
    init_std: float | None = None
    scale: float | None = None
    logit_scale: float = 1.0
    dropout: float = 0.0

    def __post_init__(self):
        for name in ("vocab_size", "d_model", "n_layers", "n_heads", "d_ff"):
            check_size(name, getattr(self, name))
        for name in ("init_std", "scale"):
            if getattr(self, name) is not None:
                check_positive(name, getattr(self, name))
        check_positive("logit_scale", self.logit_scale)
        if (
            isinstance(self.dropout, bool)
            or not isinstance(self.dropout, int | float)
            or not 0 <= self.dropout < 1
        ):
            raise ValueError(f"dropout must be a number from 0 to below 1, got {self.dropout!r}")
        if self.d_model % self.n_heads:
            raise ValueError(
                f"d_model must be divisible by n_heads, got d_model={self.d_model},"
                f" n_heads={self.n_heads}"
            )
        if not isinstance(self.norm, str) or self.norm not in ("pre", "post"):
            raise ValueError(f"norm must be 'pre' or 'post', got {self.norm!r}")
        for name in ("causal", "tied"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} must be True or False, got {getattr(self, name)!r}")

    @property
    def head_dim(self):
        return self.d_model // self.n_heads


class Transformer(nn.Module):
    """Embedding, n_layers of attention and feed-forward, logits.

    config: TransformerConfig. position: a PositionMethod shared by all layers, or a list with one a
        layer (`embed` is called on the first).
    seed: for the initial weights, drawn from a generator of their own (Xavier for matrices, zero
        for biases), and for the masks of dropout, drawn from another.
    Raises ValueError if a method's width, head count or head size does not fit the config, or an
    encoder is given a method for causal models only.
    Source: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762
    """

    def __init__(self, config, position, *, seed=0):
        super().__init__()
        if not isinstance(config, TransformerConfig):
            raise ValueError(f"config must be a TransformerConfig, got {config!r}")
        positions = (
            [position] * config.n_layers if isinstance(position, PositionMethod) else position
        )
        if not isinstance(positions, list | tuple) or not all(
            isinstance(method, PositionMethod) for method in positions
        ):
            raise ValueError(
                f"position must be a PositionMethod or a list of them, got {position!r}"
            )
        if len(positions) != config.n_layers:
            raise ValueError(
                f"position must be one method or one a layer: got {len(positions)} for"
                f" n_layers={config.n_layers}"
            )
        for method in positions:
            _check_fit(method, config)
        self.axes = _axes(positions)
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise ValueError(f"seed must be a non-negative integer, got {seed!r}")
        if seed >= 2**64:
            raise ValueError(f"seed must be below 2**64, got {seed}")
        generator = torch.Generator().manual_seed(seed)
        self.config = config
        self.embedding = TokenEmbedding(
            config.vocab_size, config.d_model, config.init_std, config.scale, generator=generator
        )
        # a stream of its own, so that neither weights nor batches depend on the masks
        self.dropout = Dropout(config.dropout, torch.Generator().manual_seed(5 * seed + 3_000_017))
        self.layers = nn.ModuleList(Layer(config, method, self.dropout) for method in positions)
        self.final_norm = nn.LayerNorm(config.d_model) if config.norm == "pre" else nn.Identity()
        self.unembedding = (
            None if config.tied else nn.Linear(config.d_model, config.vocab_size, bias=False)
        )
        for module in self.layers.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight, generator=generator)
                nn.init.zeros_(module.bias)
        if self.unembedding is not None:
            nn.init.normal_(self.unembedding.weight, std=config.d_model**-0.5, generator=generator)

    def forward(self, tokens, positions=None, attention_mask=None):
        """tokens: integers (batch, seq) -> logits (batch, seq, vocab_size).

        positions: (seq,), (1, seq) or (batch, seq); None means 0 … seq − 1. For a method on
            several axes (seq, axes), (1, seq, axes) or (batch, seq, axes), which have to be given.
        attention_mask: True where a key may be read, (batch, seq) for padding or (batch, seq, seq)
            for packed rows; on top of the causal mask. A token always sees itself, so that padding
            rows stay finite. The positions of padding may be anything that the method has codes
            for.
        """
        tokens = self._check_tokens(tokens)
        batch, length = tokens.shape
        if positions is None:
            if self.axes is not None:
                raise ValueError(
                    f"positions must be given, ({length}, {self.axes}) or (batch, {length},"
                    f" {self.axes}): the order of tokens does not say where they stand on"
                    f" {self.axes} axes; got None"
                )
            positions = torch.arange(length, device=tokens.device)
        positions = check_positions("positions", positions, length, batch, "tokens has", self.axes)
        mask = self._mask(attention_mask, batch, length, tokens.device)
        x = self.layers[0].attention.position.embed(self.embedding(tokens), positions)
        x, shared = self.dropout(x), {}
        for layer in self.layers:
            method, places = layer.attention.position, positions
            if attention_mask is not None:
                places = method.place_padding(positions, attention_mask)
            x = layer(x, places, mask, shared)
        x = self.final_norm(x)
        logits = self.embedding.logits(x) if self.unembedding is None else self.unembedding(x)
        return logits if self.config.logit_scale == 1 else logits * self.config.logit_scale

    def _check_tokens(self, tokens):
        """tokens as int64, or ValueError."""
        tokens = check_integers("tokens", tokens)
        if tokens.ndim != 2:
            raise ValueError(f"tokens must have shape (batch, seq), got {tuple(tokens.shape)}")
        return tokens

    def _mask(self, attention_mask, batch, length, device):
        """(batch, 1, seq, seq) of booleans, or None where the causal flag alone says it all."""
        if attention_mask is None:
            return None
        mask = check_mask(attention_mask)
        shape = tuple(mask.shape)
        if shape not in ((batch, length), (batch, length, length)):
            raise ValueError(
                f"attention_mask must have shape {(batch, length)} or {(batch, length, length)},"
                f" got {shape}"
            )
        mask = (
            mask[:, None, None, :].expand(batch, 1, length, length)
            if mask.ndim == 2
            else mask[:, None]
        )
        if self.config.causal:
            mask = mask & torch.ones(length, length, dtype=torch.bool, device=device).tril()
        return mask | torch.eye(length, dtype=torch.bool, device=device)


class Layer(nn.Module):
    """Self-attention and a feed-forward network, each with a residual connection and a LayerNorm
    before or after it.
    """

    def __init__(self, config, position, dropout):
        super().__init__()
        self.pre, self.dropout = config.norm == "pre", dropout
        self.attention = Attention(config, position)
        self.feed_forward = nn.Sequential(
            nn.Linear(config.d_model, config.d_ff),
            nn.ReLU(),
            nn.Linear(config.d_ff, config.d_model),
        )
        self.norms = nn.ModuleList(nn.LayerNorm(config.d_model) for _ in range(2))

    def forward(self, x, positions, mask, shared=None):
        if self.pre:
            x = x + self.dropout(self.attention(self.norms[0](x), positions, mask, shared))
            return x + self.dropout(self.feed_forward(self.norms[1](x)))
        x = self.norms[0](x + self.dropout(self.attention(x, positions, mask, shared)))
        return self.norms[1](x + self.dropout(self.feed_forward(x)))


class Dropout(nn.Module):
    """In training, a share p of the entries set to zero and the others divided by 1 − p; otherwise
    x itself. generator: where the masks are drawn from, so that a training can be repeated.
    """

    def __init__(self, p, generator):
        super().__init__()
        self.p, self.generator = p, generator

    def forward(self, x):
        """x: any shape -> the same."""
        if not self.p or not self.training:
            return x
        # drawn where the generator lives, so that every device has the same masks
        drawn = torch.rand(x.shape, generator=self.generator, device=self.generator.device)
        kept = drawn >= self.p
        return x * kept.to(x.device) / (1 - self.p)

    def extra_repr(self):
        return f"p={self.p:g}"


class Attention(nn.Module):
    """Multi-head self-attention with openings for position at the queries and keys, and at the
    scores.
    """

    def __init__(self, config, position):
        super().__init__()
        self.n_heads, self.causal, self.position = config.n_heads, config.causal, position
        self.query, self.key, self.value, self.out = (
            nn.Linear(config.d_model, config.d_model) for _ in range(4)
        )

    def forward(self, x, positions, mask, shared=None):
        """shared: a dict in which the layers of one pass keep what is the same for all of them."""
        q, k, v = (self._heads(projection(x)) for projection in (self.query, self.key, self.value))
        q, k = self.position.rotate(q, k, positions, positions)
        bias = self._bias(q, k, positions, mask, {} if shared is None else shared)
        if bias is None:
            attended = F.scaled_dot_product_attention(
                q, k, v, attn_mask=mask, is_causal=self.causal and mask is None
            )
        else:
            attended = self._biased(q, k, v, bias)
        return self.out(attended.transpose(1, 2).flatten(2))

    def _heads(self, x):
        return x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

    def _bias(self, q, k, positions, mask, shared):
        """What the method adds to the scores, with the mask in it; or None."""
        kept = shared.get(self.position)
        if kept is not None:
            return kept
        bias = self.position.score_bias(q, k, positions, positions)
        if bias is None:
            return None
        if mask is None and self.causal:
            lengths = q.shape[2], k.shape[2]
            mask = torch.ones(lengths, dtype=torch.bool, device=q.device).tril()
        if mask is not None:
            bias = bias.masked_fill(~mask, -math.inf)
        # a gradient is summed layer by layer, as it was in every recorded training
        if self.position.bias_of_positions and not bias.requires_grad:
            shared[self.position] = bias
        return bias

    def _biased(self, q, k, v, bias):
        """Attention with the bias added in float32, or float64 for queries of that type."""
        scores = (q @ k.transpose(-2, -1)).to(wide(q.dtype)).div_(math.sqrt(q.shape[-1])) + bias
        return scores.softmax(-1).to(v.dtype) @ v


def _axes(methods):
    """How many numbers a position is, by the methods that look at it; None for a number alone."""
    openings = ("embed", "rotate", "score_bias")
    asked = {
        method.axes: method
        for method in methods
        if any(getattr(type(method), o) is not getattr(PositionMethod, o) for o in openings)
    }
    if len(asked) > 1:
        raise ValueError(
            "position must be methods that read the same positions, got "
            + ", ".join(
                f"{type(method).__name__} with axes={axes}" for axes, method in asked.items()
            )
        )
    return next(iter(asked), None)


def _check_fit(method, config):
    for name in ("d_model", "n_heads", "head_dim"):
        needs, has = getattr(method, name, None), getattr(config, name)
        if needs is not None and needs != has:
            raise ValueError(
                f"{type(method).__name__} was made for {name}={needs}, the model has {name}={has}"
            )
    if method.causal_only and not config.causal:
        raise ValueError(
            f"{type(method).__name__} was made for causal models, where no key is ahead of its"
            " query; the model has causal=False"
        )
