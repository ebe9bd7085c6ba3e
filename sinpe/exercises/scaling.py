"""Checks for chapter 06: the two roots, the ratio of token to position, the first loss, and how to
repair any initialisation.
"""

import math

from sinpe.exercises._check import Mistake, check

PE_RMS = 0.5**0.5


def check_two_roots(attempt):
    """attempt(d_model, n_heads) -> (factor on embeddings of standard deviation d_model^(−1/2),
    factor on raw scores).
    """

    def roots(d, n):
        return d**0.5, (d / n) ** -0.5

    mistakes = (
        Mistake(
            "swapped",
            lambda d, n: roots(d, n)[::-1],
            "first the factor on the embeddings, then the one on the scores.",
        ),
        Mistake(
            "the head's width for both",
            lambda d, n: ((d / n) ** 0.5, (d / n) ** -0.5),
            "an embedding is as wide as the model: its root is that of d_model.",
        ),
        Mistake(
            "the model's width for both",
            lambda d, n: (d**0.5, d**-0.5),
            "a score sums over one head: its root is that of d_model / n_heads.",
        ),
        Mistake(
            "the roots exchanged",
            lambda d, n: ((d / n) ** 0.5, d**-0.5),
            "embeddings are as wide as the model, scores sum over one head.",
        ),
        Mistake(
            "embeddings divided",
            lambda d, n: (d**-0.5, (d / n) ** -0.5),
            "embeddings of standard deviation d^(−1/2) are too small: they are multiplied.",
        ),
        Mistake(
            "scores multiplied",
            lambda d, n: (d**0.5, (d / n) ** 0.5),
            "a sum of d_k products is too large: it is divided, that is multiplied by d_k^(−1/2).",
        ),
        Mistake(
            "directions exchanged",
            lambda d, n: (d**-0.5, (d / n) ** 0.5),
            "embeddings are multiplied by their root, scores divided by theirs.",
        ),
        Mistake(
            "roots forgotten",
            lambda d, n: (d, n / d),
            "typical sizes grow with the root of the number of terms.",
        ),
        Mistake(
            "number of heads for the head's width",
            lambda d, n: (d**0.5, n**-0.5),
            "n_heads counts the heads; each is d_model / n_heads wide.",
        ),
    )
    return check(
        attempt,
        roots,
        [(512, 8), (768, 12), (128, 4), (64, 4)],
        mistakes,
        praise="one side is too small by its root, the other too large by its own.",
    )


def check_token_ratio(attempt):
    """attempt(std, factor) -> RMS of factor · embedding over the RMS of a sinusoidal code."""
    mistakes = (
        Mistake(
            "inverted", lambda s, c: PE_RMS / (c * s), "the token stands above, the position below."
        ),
        Mistake(
            "RMS of a code taken as 1",
            lambda s, c: c * s,
            "a code's entries reach 1, but their RMS is 1/√2.",
        ),
        Mistake(
            "mean square for RMS",
            lambda s, c: 2 * c * s,
            "the mean square of a code is ½; its RMS is the root of that.",
        ),
        Mistake(
            "multiplied by the RMS of a code",
            lambda s, c: PE_RMS * c * s,
            "divide by 1/√2, that is multiply by √2.",
        ),
        Mistake(
            "factor forgotten",
            lambda s, c: s / PE_RMS,
            "the factor is on the token before the sum.",
        ),
        Mistake(
            "factor divided",
            lambda s, c: s / c / PE_RMS,
            "embeddings are multiplied by the factor.",
        ),
        Mistake("squared", lambda s, c: (c * s / PE_RMS) ** 2, "a ratio of sizes, not of squares."),
        Mistake("factor squared", lambda s, c: c * c * s / PE_RMS, "the factor enters once."),
        Mistake(
            "root of the factor",
            lambda s, c: c**0.5 * s / PE_RMS,
            "the factor is given; if it is a root, the root has been taken already.",
        ),
    )
    return check(
        attempt,
        lambda s, c: c * s / PE_RMS,
        [(1.0, 1.0), (0.02, 22.6), (0.044, 22.6), (0.5, 3.0)],
        mistakes,
        praise="√2 · factor · std.",
    )


def check_xavier_ratio(attempt):
    """attempt(vocab_size, d_model) -> ratio of token to position for xavier_uniform_ over
    (vocab_size, d_model) and the factor √d_model.
    """

    def ratio(V, d, *, std=lambda V, d: (2 / (V + d)) ** 0.5, factor=lambda d: d**0.5):
        return factor(d) * std(V, d) / PE_RMS

    mistakes = (
        Mistake(
            "bound taken for the standard deviation",
            lambda V, d: ratio(V, d, std=lambda V, d: (6 / (V + d)) ** 0.5),
            "√(6/(V + d)) is the bound a of the uniform distribution; its standard deviation is"
            " a/√3.",
        ),
        Mistake(
            "bound divided by 3",
            lambda V, d: ratio(V, d, std=lambda V, d: (6 / (V + d)) ** 0.5 / 3),
            "the variance of a uniform distribution on ±a is a²/3, so divide the bound by √3.",
        ),
        Mistake(
            "bound divided by √12",
            lambda V, d: ratio(V, d, std=lambda V, d: (0.5 / (V + d)) ** 0.5),
            "√12 belongs to the whole width of the interval, which is 2a.",
        ),
        Mistake(
            "fan of the vocabulary only",
            lambda V, d: ratio(V, d, std=lambda V, d: V**-0.5),
            "Xavier takes the mean of both fans, (V + d)/2.",
        ),
        Mistake(
            "fan of the width only",
            lambda V, d: ratio(V, d, std=lambda V, d: d**-0.5),
            "Xavier takes the mean of both fans, (V + d)/2.",
        ),
        Mistake(
            "√d forgotten",
            lambda V, d: ratio(V, d, factor=lambda d: 1),
            "with the factor: multiply by √d_model.",
        ),
        Mistake(
            "d for √d",
            lambda V, d: ratio(V, d, factor=lambda d: d),
            "the factor is the root of d_model.",
        ),
        Mistake(
            "divided by √d",
            lambda V, d: ratio(V, d, factor=lambda d: d**-0.5),
            "the factor multiplies the embeddings.",
        ),
        Mistake(
            "a factor √2 missing",
            lambda V, d: PE_RMS * ratio(V, d),
            "either the RMS of a code was taken as 1 (it is 1/√2), or the sum of the fans for their"
            " mean (V + d)/2.",
        ),
        Mistake(
            "variance for standard deviation",
            lambda V, d: ratio(V, d, std=lambda V, d: 2 / (V + d)),
            "2/(V + d) is the variance; take its root.",
        ),
        Mistake(
            "inverted", lambda V, d: 1 / ratio(V, d), "the token stands above, the position below."
        ),
    )
    return check(
        attempt,
        ratio,
        [(37_000, 512), (5000, 128), (100, 64)],
        mistakes,
        praise="small whenever the vocabulary is much larger than the width.",
    )


def check_first_loss(attempt):
    """attempt(vocab_size, d_model, std) -> ln V + d · std² / 2, for states of RMS 1 and an output
    matrix of that standard deviation.
    """

    def loss(V, d, s, price=lambda d, s: d * s * s / 2):
        return math.log(V) + price(d, s)

    mistakes = (
        Mistake(
            "half forgotten",
            lambda V, d, s: loss(V, d, s, lambda d, s: d * s * s),
            "the expectation of e^ℓ is e to *half* the variance.",
        ),
        Mistake(
            "standard deviation not squared",
            lambda V, d, s: loss(V, d, s, lambda d, s: d * s / 2),
            "the variance of a logit is d · std².",
        ),
        Mistake(
            "size of a logit for its variance",
            lambda V, d, s: loss(V, d, s, lambda d, s: d**0.5 * s / 2),
            "√d · std is the size of a logit; its variance is the square of that.",
        ),
        Mistake(
            "√d for d",
            lambda V, d, s: loss(V, d, s, lambda d, s: d**0.5 * s * s / 2),
            "a state of RMS 1 has the squared length d.",
        ),
        Mistake(
            "d forgotten",
            lambda V, d, s: loss(V, d, s, lambda d, s: s * s / 2),
            "a logit is a sum of d products: its variance is d · std².",
        ),
        Mistake(
            "uniform guess only",
            lambda V, d, s: math.log(V),
            "that is the price of knowing nothing; random logits cost more.",
        ),
        Mistake(
            "logarithm to base 2",
            lambda V, d, s: math.log2(V) + d * s * s / 2,
            "nats: the natural logarithm.",
        ),
        Mistake("ln V forgotten", lambda V, d, s: d * s * s / 2, "even logits of zero cost ln V."),
        Mistake(
            "sign",
            lambda V, d, s: loss(V, d, s, lambda d, s: -d * s * s / 2),
            "random logits make the loss larger.",
        ),
    )
    return check(
        attempt,
        loss,
        [(5000, 512, 512**-0.5), (100, 128, 0.02), (37_000, 512, 0.05), (50, 64, 0.1)],
        mistakes,
        praise="the price of knowing nothing, and of pretending to know.",
    )


def check_repair(attempt):
    """attempt(std, d_model) -> (factor on the input, factor on the logits) so that inputs have RMS
    1 and logits of states with RMS 1 have size 1.
    """

    def repair(s, d):
        return 1 / s, 1 / (s * d**0.5)

    mistakes = (
        Mistake(
            "swapped",
            lambda s, d: repair(s, d)[::-1],
            "first the factor on the input, then the one on the logits.",
        ),
        Mistake(
            "√d whatever the standard deviation",
            lambda s, d: (d**0.5, 1),
            "that is right for std d^(−1/2) alone: the factor has to undo the std that is there.",
        ),
        Mistake(
            "T5's factor whatever the standard deviation",
            lambda s, d: (1, d**-0.5),
            "that is right for std 1 alone: each factor has to undo the std that is there.",
        ),
        Mistake(
            "ratio 1 instead of RMS 1",
            lambda s, d: (PE_RMS / s, 1 / (s * d**0.5)),
            "the input should have RMS 1, as the authors' has; the ratio is then √2.",
        ),
        Mistake(
            "the same factor twice",
            lambda s, d: (1 / s, 1 / s),
            "a logit is a sum of d products: its size is std · √d.",
        ),
        Mistake(
            "input divided by √d too",
            lambda s, d: (1 / (s * d**0.5),) * 2,
            "an input is one entry of the table, no sum: its size is std.",
        ),
        Mistake(
            "d for √d",
            lambda s, d: (1 / s, 1 / (s * d)),
            "d · std² is the variance of a logit; its size is the root.",
        ),
        Mistake(
            "inverted", lambda s, d: (s, s * d**0.5), "those are the sizes; the factors undo them."
        ),
        Mistake(
            "input's factor undone in the logits",
            lambda s, d: (1 / s, s),
            "the logits are made from the raw matrix: bring std · √d to 1.",
        ),
        Mistake(
            "std forgotten in the logits",
            lambda s, d: (1 / s, d**-0.5),
            "the raw matrix still has its std: a logit's size is std · √d.",
        ),
    )
    return check(
        attempt,
        repair,
        [(1.0, 512), (0.02, 768), (512**-0.5, 512), (0.3, 64)],
        mistakes,
        praise="any initialisation can be brought to the authors' start.",
    )
