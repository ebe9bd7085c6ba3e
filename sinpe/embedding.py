"""Token embeddings with the two numbers that decide how loud a token is beside its position:
init_std and scale.
"""

from torch import nn
from torch.nn import functional as F

from sinpe.positions.base import check_positive, check_size
from sinpe.positions.checks import check_integers, visible


class TokenEmbedding(nn.Module):
    """weight[tokens] · scale on the way in, h @ weightᵀ (without the scale) on the way out.

    init_std: standard deviation of the initial weights; None means the paper's authors'
        d_model^(−1/2) (tensor2tensor).
    scale: factor on the looked-up rows; None means √d_model (Vaswani et al. 2017, §3.4,
        https://arxiv.org/abs/1706.03762).
    generator: where the initial weights are drawn from.
    Raises ValueError for sizes that are not positive integers, or numbers that are not positive and
    finite.
    """

    def __init__(self, vocab_size, d_model, init_std=None, scale=None, *, generator=None):
        super().__init__()
        for name, size in {"vocab_size": vocab_size, "d_model": d_model}.items():
            check_size(name, size)
        self.init_std = check_positive("init_std", d_model**-0.5 if init_std is None else init_std)
        self.scale = check_positive("scale", d_model**0.5 if scale is None else scale)
        self.table = nn.Embedding(vocab_size, d_model)
        nn.init.normal_(self.table.weight, std=self.init_std, generator=generator)

    def forward(self, tokens):
        """tokens: integers of any type, (batch, seq) -> (batch, seq, d_model)."""
        tokens, vocab_size = check_integers("tokens", tokens), self.table.num_embeddings
        # elsewhere looking at values would cost a wait
        if tokens.device.type == "cpu" and visible(tokens) and tokens.numel():
            low, high = (found.item() for found in tokens.aminmax())
            if low < 0 or high >= vocab_size:
                raise ValueError(
                    f"tokens must be in 0 … vocab_size − 1 = {vocab_size - 1}, got"
                    f" {low if low < 0 else high}"
                )
        return self.table(tokens) * self.scale

    def logits(self, h):
        """h: (…, d_model) -> (…, vocab_size), with the same weights and no factor."""
        return F.linear(h, self.table.weight)

    def extra_repr(self):
        return f"init_std={self.init_std:.6g}, scale={self.scale:.6g}"
