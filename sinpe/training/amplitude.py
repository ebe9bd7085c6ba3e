"""Controls: another loudness for position, or one code everywhere, with nothing else changed."""

import torch

from sinpe.positions import SinusoidalEncoding
from sinpe.positions.base import PositionMethod, check_positive, check_size


class Amplitude(PositionMethod):
    """Adds factor · (what the method adds to the embeddings); the other two openings are the
    method's own.

    method: a PositionMethod whose `embed` adds a term that does not depend on x. factor: positive.
    With factor d_model^(−1/2) and embeddings that are not multiplied by √d_model, token and
    position stand in the same ratio as with the paper's factor, but the gradient of the embeddings
    is not multiplied and the sum is smaller by √d_model. Raises ValueError for a method that adds
    nothing to the embeddings, or a factor that is not positive and finite.
    """

    def __init__(self, method, factor):
        super().__init__()
        if not isinstance(method, PositionMethod) or type(method).embed is PositionMethod.embed:
            raise ValueError(
                f"amplitude needs a method that adds to the embeddings, got {type(method).__name__}"
            )
        self.method, self.factor = method, check_positive("amplitude", factor)
        self.d_model, self.n_heads, self.head_dim = method.d_model, method.n_heads, method.head_dim
        self.causal_only, self.storable_keys = method.causal_only, method.storable_keys
        self.axes = method.axes

    def embed(self, x, positions):
        """x: (batch, seq, d_model) -> x + factor · term, in the shape, dtype and device of x."""
        return torch.add(x, self.method.embed(torch.zeros_like(x), positions), alpha=self.factor)

    def rotate(self, q, k, q_positions, k_positions):
        return self.method.rotate(q, k, q_positions, k_positions)

    def score_bias(self, q, k, q_positions, k_positions):
        return self.method.score_bias(q, k, q_positions, k_positions)

    def place_padding(self, positions, attention_mask):
        return self.method.place_padding(positions, attention_mask)

    def extra_repr(self):
        return f"factor={self.factor:g}"


class Constant(PositionMethod):
    """Adds one vector at every position: the mean of the sinusoidal codes of positions 0 … length −
    1, as loud as a code is (RMS 1/√2).

    What a code adds to the sum besides order: it says nothing about position, and dilutes tokens as
    much. Raises ValueError for an odd d_model and a length that is not a positive integer.
    """

    def __init__(self, d_model, length):
        super().__init__()
        self.d_model, self.length = d_model, check_size("length", length)
        self._codes = SinusoidalEncoding(d_model)

    def embed(self, x, positions):
        """x: (batch, seq, d_model) -> x + vector, in the shape, dtype and device of x."""
        places = torch.arange(self.length, device=x.device)
        zero = torch.zeros(1, self.length, x.shape[-1], dtype=torch.float64, device=x.device)
        mean = self._codes.embed(zero, places).mean(1)
        return x + (mean * (0.5 / mean.square().mean()).sqrt()).to(x.dtype)

    def extra_repr(self):
        return f"length={self.length}"
