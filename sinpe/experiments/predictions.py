"""What the theory of chapter 06 predicts for the study of chapter 07, in a form that a program can
judge.

Written and committed before the study ran. A pilot with one or two seeds had been seen: that the
factor helps, hurts, and decides whether anything is learned (1 to 4), the gap at three widths (8)
and one longer run (9). The shrunken codes, learned positions under the factor, the words, the
synthetic tasks and the bases had no pilot.
"""

from dataclasses import dataclass

from sinpe.experiments.estimates import differences

OUTCOMES = ("lower", "higher", "equal")


@dataclass(frozen=True)
class Outcome:
    """A planned comparison comes out "lower", "higher" or "equal" (in test loss, as
    `Difference.verdict` says).
    """

    comparison: str
    expected: str

    @property
    def comparisons(self):
        """Names of the comparisons that the test rests on."""
        return (self.comparison,)


@dataclass(frozen=True)
class Smaller:
    """One comparison's difference is smaller than another's, both without their sign."""

    small: str
    large: str

    @property
    def comparisons(self):
        """Names of the comparisons that the test rests on."""
        return self.small, self.large


@dataclass(frozen=True)
class Prediction:
    """A numbered claim, the reason for it, and the tests that it must pass."""

    number: int
    claim: str
    reason: str
    tests: tuple[Outcome | Smaller, ...]

    @property
    def comparisons(self):
        """Names of the comparisons that its tests rest on, each once."""
        return tuple(dict.fromkeys(name for test in self.tests for name in test.comparisons))


@dataclass(frozen=True)
class Judgement:
    """A prediction after the study. results: (test, what was found, "confirmed" | "refuted" |
    "undecided" | "not run") for each test.

    verdict: "not run" as long as one test is; "confirmed" if every test was, "mixed" if some were
        and others were not, "refuted" if none was and at least one was refuted, else "undecided".
    """

    prediction: Prediction
    results: tuple[tuple[Outcome | Smaller, str, str], ...]

    @property
    def verdict(self):
        outcomes = {outcome for _, _, outcome in self.results}
        if len(outcomes) == 1:
            return outcomes.pop()
        if "not run" in outcomes:
            return "not run"
        if "confirmed" in outcomes:
            return "mixed"
        return "refuted" if "refuted" in outcomes else "undecided"


SETTINGS = tuple(f"{tied}, {norm}-norm" for tied in ("tied", "untied") for norm in ("post", "pre"))


def _factor(std, expected, settings=SETTINGS):
    return tuple(
        Outcome(f"factor on - off: std {std}, {setting}", expected) for setting in settings
    )


PREDICTIONS = (
    Prediction(
        1,
        "With standard deviation d^-1/2 the factor lowers the loss, whether the matrix is tied or"
        " not and wherever the norm stands.",
        "Without it a token has an eighth of its position's RMS at d = 128; with it 1.4 times."
        " Neither tying nor the norm enters that ratio.",
        _factor("d^-1/2", "lower"),
    ),
    Prediction(
        2,
        "With standard deviation 1 the factor raises the loss.",
        "Without it the ratio is already 1.4; with it the token has 16 times its position's RMS,"
        " and position drowns.",
        _factor("1", "higher"),
    ),
    Prediction(
        3,
        "With standard deviation 0.02 the factor lowers the loss, and by more than with d^-1/2.",
        "Without it the token has 1/35 of its position's RMS, with it a third: a worse start, and"
        " the same factor between the two.",
        _factor("0.02", "lower")
        + tuple(
            Smaller(f"factor on - off: std d^-1/2, {s}", f"factor on - off: std 0.02, {s}")
            for s in SETTINGS
        ),
    ),
    Prediction(
        4,
        "Standard deviation 0.02 without the factor, tied, pre-norm: sinusoids are worse than no"
        " position at all, and worse than learned positions.",
        "A position code that drowns the token costs more than it tells. A learned table that"
        " starts at 0.02 is as quiet as the tokens.",
        tuple(
            Outcome(f"sinusoidal - {name}: std 0.02, tied, pre-norm, factor off", "higher")
            for name in ("no position", "learned positions")
        ),
    ),
    Prediction(
        5,
        "It is the ratio: position codes that are divided by √d, with no factor on the tokens, also"
        " lower the loss.",
        "The ratio of token to position is the factor's; the gradient of the embeddings is not"
        " multiplied.",
        tuple(Outcome(f"PE shrunk - factor off: {norm}-norm", "lower") for norm in ("post", "pre")),
    ),
    Prediction(
        6,
        "It is the ratio alone: the same shrunken codes reach the same loss as the factor.",
        "The strong form of prediction 5. Post-norm rescales the sum after the first sub-layer,"
        " pre-norm before it, and Adam does not see the scale of a gradient.",
        tuple(Outcome(f"PE shrunk - factor on: {norm}-norm", "equal") for norm in ("post", "pre")),
    ),
    Prediction(
        7,
        "Without positions the factor makes no difference, and with learned positions a smaller one"
        " than with sinusoids.",
        "Without a position code there is no ratio. A learned table can change its own size.",
        (
            Outcome("factor on - off: no position", "equal"),
            Smaller(
                "factor on - off: learned positions", "factor on - off: std d^-1/2, tied, post-norm"
            ),
        ),
    ),
    Prediction(
        8,
        "The gap is not a matter of tuning, and it grows with the width: with the best learning"
        " rate on each side the factor lowers the loss at d = 64, 128, 256 and 512, by more each"
        " time.",
        "Without the factor the ratio falls as d^-1/2; with it the ratio is the same at every"
        " width.",
        tuple(Outcome(f"factor on - off: d {d}, best rate", "lower") for d in (64, 128, 256, 512))
        + tuple(
            Smaller(f"factor on - off: d {a}, best rate", f"factor on - off: d {b}, best rate")
            for a, b in ((64, 128), (128, 256), (256, 512))
        ),
    ),
    Prediction(
        9,
        "The gap closes with training, and has not closed after four times the steps.",
        "Nothing keeps the embeddings from growing; the factor only saves them the way.",
        tuple(
            test
            for setting in ("std d^-1/2, {}post-norm", "std 0.02, {}pre-norm")
            for longer in [f"factor on - off: four times the steps, {setting.format('')}"]
            for test in (
                Outcome(longer, "lower"),
                Smaller(longer, f"factor on - off: {setting.format('tied, ')}"),
            )
        ),
    ),
    Prediction(
        10,
        "Words behave as characters do: the factor lowers the loss with d^-1/2 and with 0.02, and"
        " raises it with 1.",
        "The ratio does not depend on the size of the vocabulary.",
        tuple(
            Outcome(f"factor on - off: words, std {std}", expected)
            for std, expected in (("d^-1/2", "lower"), ("1", "higher"), ("0.02", "lower"))
        ),
    ),
    Prediction(
        11,
        "What drowns is what is lost. A loud position costs identity: with d^-1/2 the factor helps"
        " even where order is of no use. A loud token costs order: with 1 the factor hurts where"
        " order is asked for, and only there.",
        "The task which_more can be solved without order, which_first cannot.",
        (
            Outcome("factor on - off: which_more, std d^-1/2", "lower"),
            Outcome("factor on - off: which_first, std 1", "higher"),
            Outcome("factor on - off: which_more, std 1", "equal"),
        ),
    ),
    Prediction(
        12,
        "The base is no delicate number: 10² or 10⁶ in the place of 10⁴ changes the loss by less"
        " than the factor does.",
        "At 64 positions each of the three has many pairs that turn by a readable angle. A small"
        " base has more of them, a large one has more columns that stand still.",
        tuple(
            Smaller(f"base {base} - base 10000", "factor on - off: std d^-1/2, tied, post-norm")
            for base in ("100", "1e+06")
        ),
    ),
)

# What the tests of a prediction could not tell apart, seen after the study; the verdicts stay.
NOT_SEPARATED = {
    5: "Codes divided by √d change the ratio of token to position and also the step of a token"
    " beside its position, by √d each: with one standard deviation and one rate the two cannot be"
    " told apart. That the loss falls shows that one of them matters, not that it is the ratio.",
    6: "That the same codes reach the same loss would have held for the step beside the position as"
    " for the ratio, and the size of the sum differs besides. With 10 and 5 pairs equality within"
    " 0.02 could hardly have been shown.",
    8: "The best of three rates for all weights at once is no test of tuning: a rate of its own for"
    " the embedding matrix was not tried. With the width the ratio and the step beside the"
    " position change together, so a gap that grows speaks for either.",
    9: "That the gap shrinks with training does not show that the embeddings grow: how loud they"
    " are was not recorded.",
}


def judge(findings, differences_by_seed, predictions=PREDICTIONS):
    """Hold predictions against the outcome of a study -> list of Judgement, in the same order.

    findings: as from `analysis.compare`. differences_by_seed: as from `analysis.paired`.
    A test whose comparison is not among the findings, or whose two sides share no seed, is "not
    run". A `Smaller` is tested on |mean| with the sign that each difference has in the mean, seed
    by seed, corrected by Holm within its prediction.
    """
    found = {finding.name: finding for finding in findings}
    lost = [name for name in found if name not in differences_by_seed]
    if lost:
        raise ValueError(f"differences_by_seed must have every finding, got none for {lost[0]!r}")
    return [
        Judgement(prediction, tuple(_results(prediction.tests, found, differences_by_seed)))
        for prediction in predictions
    ]


def _results(tests, found, by_seed):
    sizes = [
        t
        for t in tests
        if isinstance(t, Smaller)
        and t.small in found
        and t.large in found
        and not set(by_seed[t.small]).isdisjoint(by_seed[t.large])
    ]
    excesses = [_excess(by_seed[t.small], by_seed[t.large]) for t in sizes]
    estimates = differences(excesses, margin=0.0) if sizes else []
    compared = dict(zip(sizes, estimates, strict=True))
    for test in tests:
        if test in compared:
            d = compared[test]
            outcome = {"lower": "confirmed", "higher": "refuted"}.get(d.verdict, "undecided")
            yield test, f"{d.plain.mean:+.3f} ({d.low:+.3f} to {d.high:+.3f})", outcome
        elif isinstance(test, Outcome) and test.comparison in found:
            d = found[test.comparison].difference
            if d.verdict == test.expected:
                outcome = "confirmed"
            else:
                outcome = "undecided" if d.verdict == "undecided" else "refuted"
            yield test, f"{d.plain.mean:+.3f} ({d.low:+.3f} to {d.high:+.3f}), {d.verdict}", outcome
        else:
            yield test, "not run", "not run"


def _excess(small, large):
    """By how much the size of one difference exceeds that of another, for each seed that
    both have.
    """
    seeds = sorted(set(small) & set(large))
    signs = [1 if sum(values.values()) >= 0 else -1 for values in (small, large)]
    return [signs[0] * small[seed] - signs[1] * large[seed] for seed in seeds]
