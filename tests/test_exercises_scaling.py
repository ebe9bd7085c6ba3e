"""The checks of chapter 06: a right answer passes, each mistake is called by its name, anything
else gets a helpful message.
"""

import math

import numpy as np
import pytest
import torch
from exercise_checks import ExerciseChecks

from sinpe import TokenEmbedding, exercises, sinusoidal_encoding

CHECKS = {
    "roots": exercises.check_two_roots,
    "ratio": exercises.check_token_ratio,
    "xavier": exercises.check_xavier_ratio,
    "loss": exercises.check_first_loss,
    "repair": exercises.check_repair,
}
CODE = float(np.sqrt((sinusoidal_encoding(100, 64) ** 2).mean()))  # the RMS of a code, measured


def xavier(
    V, d, spread=lambda bound: bound / math.sqrt(3), fan=lambda V, d: V + d, factor=math.sqrt
):
    return factor(d) * spread(math.sqrt(6 / fan(V, d))) / CODE


RIGHT = [
    ("roots", lambda d, n: (math.sqrt(d), 1 / math.sqrt(d // n))),
    ("roots", lambda d, n: torch.tensor([d, n / d], dtype=torch.float64).sqrt()),
    ("roots", lambda d, n: [TokenEmbedding(2, d).scale, (n / d) ** 0.5]),
    ("ratio", lambda s, c: math.sqrt(2) * s * c),
    ("ratio", lambda s, c: np.float64(c * s) / CODE),
    ("xavier", xavier),
    ("xavier", lambda V, d: 2 * math.sqrt(d / (V + d))),
    ("loss", lambda V, d, s: math.log(V) + d * s**2 / 2),
    ("loss", lambda V, d, s: np.log(V * np.exp((s * np.sqrt(d)) ** 2 / 2))),
    ("repair", lambda s, d: (1 / s, 1 / s / math.sqrt(d))),
    ("repair", lambda s, d: np.array([1, d**-0.5]) / s),
]
MISTAKES = [
    ("roots", lambda d, n: (math.sqrt(n / d), math.sqrt(d)), "swapped"),
    ("roots", lambda d, n: (math.sqrt(d / n), math.sqrt(n / d)), "the head's width for both"),
    ("roots", lambda d, n: (math.sqrt(d), 1 / math.sqrt(d)), "the model's width for both"),
    ("roots", lambda d, n: (math.sqrt(d / n), 1 / math.sqrt(d)), "the roots exchanged"),
    ("roots", lambda d, n: (1 / math.sqrt(d), math.sqrt(n / d)), "embeddings divided"),
    ("roots", lambda d, n: (math.sqrt(d), math.sqrt(d / n)), "scores multiplied"),
    ("roots", lambda d, n: (1 / math.sqrt(d), math.sqrt(d / n)), "directions exchanged"),
    ("roots", lambda d, n: (d, n / d), "roots forgotten"),
    (
        "roots",
        lambda d, n: (math.sqrt(d), 1 / math.sqrt(n)),
        "number of heads for the head's width",
    ),
    ("ratio", lambda s, c: CODE / s / c, "inverted"),
    ("ratio", lambda s, c: s * c, "RMS of a code taken as 1"),
    ("ratio", lambda s, c: s * c / 0.5, "mean square for RMS"),
    ("ratio", lambda s, c: s * c * CODE, "multiplied by the RMS of a code"),
    ("ratio", lambda s, c: s / CODE, "factor forgotten"),
    ("ratio", lambda s, c: s / c / CODE, "factor divided"),
    ("ratio", lambda s, c: 2 * (s * c) ** 2, "squared"),
    ("ratio", lambda s, c: c**2 * s / CODE, "factor squared"),
    ("ratio", lambda s, c: math.sqrt(c) * s / CODE, "root of the factor"),
    (
        "xavier",
        lambda V, d: xavier(V, d, spread=lambda bound: bound),
        "bound taken for the standard deviation",
    ),
    ("xavier", lambda V, d: xavier(V, d, spread=lambda bound: bound / 3), "bound divided by 3"),
    (
        "xavier",
        lambda V, d: xavier(V, d, spread=lambda bound: bound / math.sqrt(12)),
        "bound divided by √12",
    ),
    ("xavier", lambda V, d: xavier(V, d, fan=lambda V, d: 2 * V), "fan of the vocabulary only"),
    ("xavier", lambda V, d: xavier(V, d, fan=lambda V, d: 2 * d), "fan of the width only"),
    ("xavier", lambda V, d: xavier(V, d, fan=lambda V, d: 2 * (V + d)), "a factor √2 missing"),
    ("xavier", lambda V, d: xavier(V, d, factor=lambda d: 1), "√d forgotten"),
    ("xavier", lambda V, d: xavier(V, d, factor=lambda d: d), "d for √d"),
    ("xavier", lambda V, d: xavier(V, d, factor=lambda d: 1 / math.sqrt(d)), "divided by √d"),
    ("xavier", lambda V, d: math.sqrt(2 * d / (V + d)), "a factor √2 missing"),
    (
        "xavier",
        lambda V, d: xavier(V, d, spread=lambda bound: bound**2 / 3),
        "variance for standard deviation",
    ),
    ("xavier", lambda V, d: 1 / xavier(V, d), "inverted"),
    ("loss", lambda V, d, s: math.log(V) + d * s**2, "half forgotten"),
    ("loss", lambda V, d, s: math.log(V) + d * s / 2, "standard deviation not squared"),
    (
        "loss",
        lambda V, d, s: math.log(V) + math.sqrt(d) * s / 2,
        "size of a logit for its variance",
    ),
    ("loss", lambda V, d, s: math.log(V) + math.sqrt(d) * s**2 / 2, "√d for d"),
    ("loss", lambda V, d, s: math.log(V) + s**2 / 2, "d forgotten"),
    ("loss", lambda V, d, s: math.log(V), "uniform guess only"),
    ("loss", lambda V, d, s: math.log2(V) + d * s**2 / 2, "logarithm to base 2"),
    ("loss", lambda V, d, s: d * s**2 / 2, "ln V forgotten"),
    ("loss", lambda V, d, s: math.log(V) - d * s**2 / 2, "sign"),
    ("repair", lambda s, d: (1 / s / math.sqrt(d), 1 / s), "swapped"),
    ("repair", lambda s, d: (math.sqrt(d), 1.0), "√d whatever the standard deviation"),
    ("repair", lambda s, d: (1.0, 1 / math.sqrt(d)), "T5's factor whatever the standard deviation"),
    ("repair", lambda s, d: (CODE / s, 1 / s / math.sqrt(d)), "ratio 1 instead of RMS 1"),
    ("repair", lambda s, d: (1 / s, 1 / s), "the same factor twice"),
    (
        "repair",
        lambda s, d: (1 / s / math.sqrt(d), 1 / s / math.sqrt(d)),
        "input divided by √d too",
    ),
    ("repair", lambda s, d: (1 / s, 1 / s / d), "d for √d"),
    ("repair", lambda s, d: (s, s * math.sqrt(d)), "inverted"),
    ("repair", lambda s, d: (1 / s, s), "input's factor undone in the logits"),
    ("repair", lambda s, d: (1 / s, 1 / math.sqrt(d)), "std forgotten in the logits"),
]
WRONG = [
    ("roots", lambda d, n: math.sqrt(d), "shape"),
    ("roots", lambda d, n: (1.0, 1.0), "expected"),
    ("roots", lambda d, n: "√d", "expected numbers"),
    ("ratio", lambda s, c: 1.0, "expected"),
    ("ratio", lambda s, c: float("nan"), "expected"),
    ("ratio", lambda s, c: 1.01 * math.sqrt(2) * s * c, "expected"),
    ("xavier", lambda V, d: 1.1 * xavier(V, d), "expected"),
    ("xavier", lambda V, d: [xavier(V, d)], "shape"),
    ("loss", lambda V, d, s: math.log(V) + d * s**2 / 3, "expected"),
    ("loss", lambda V, d, s: "high", "expected numbers"),
    ("repair", lambda s, d: (1 / s, 0.0), "expected"),
    ("repair", lambda s, d: 1 / s, "shape"),
]


class TestChecks(ExerciseChecks):
    CHECKS, RIGHT, MISTAKES, WRONG = CHECKS, RIGHT, MISTAKES, WRONG


@pytest.mark.parametrize(("std", "d_model"), [(1.0, 512), (0.02, 256), (0.3, 64)])
def test_the_repair_brings_real_tables_to_the_authors_start(std, d_model):
    scale, logit_scale = 1 / std, 1 / (std * d_model**0.5)
    generator = torch.Generator().manual_seed(0)
    embedding = TokenEmbedding(1000, d_model, init_std=std, scale=scale, generator=generator)
    h = torch.nn.functional.layer_norm(torch.randn(50, d_model, generator=generator), (d_model,))
    with torch.no_grad():
        inputs, logits = embedding(torch.arange(1000)[None]), logit_scale * embedding.logits(h)
    assert (
        abs(inputs.pow(2).mean().sqrt() - 1) < 0.02 and abs(logits.pow(2).mean().sqrt() - 1) < 0.02
    )
