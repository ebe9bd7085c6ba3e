"""What is predicted for the study "far", in a form that a program can judge.

Written and committed before its first run. Seen before were the records of the studies "length"
and "tasks", the race of chapter 08, pilots by others with one or two seeds (rotary trained at 256:
1.484, 1.473, 1.474 and 1.528, 1.516, 1.515 at 64, 128, 256; T5 with the largest distance 32 minus
no positions: -0.62 at 256, -0.35 at 512, -0.03 at 1024; in the race after 125 steps base 10 0.97,
table 0.70, base 100 0.68, frozen 0.51, base 10 000 0.26), and pilots with seed 1:

A passage said twice in 2000 steps, rotary at 256: 1.505 for the second copy and 1.505 for the
first; the same where it goes on to the end (1.514 and 1.514), where nothing but the copy is asked
for (1.646 and 1.903, each judged with less text than the other arms), and where passages are
random characters (3.2 nats, no better than frequencies); keys and values among text, 16 kinds at
64 and 32 at 256, rotary, not learned in 2000 steps. So that task was kept for two methods, and
another was made whose facts need no character before them: with it a rotary model hits all
answers after 300 steps at 64 and 1500 at 256; the one trained at 64 hits 1.00, 0.97 and 0.64 at
64, 128 and 256, the one trained at 256 0.99, 1.00 and 1.00.

So predictions 1 to 7, 11 and 13 are told from pilots or records at least in part. With five pairs,
and several comparisons judged together, small differences will stay undecided even where they are
there.
"""

from sinpe.experiments.predictions import Outcome, Prediction, Smaller

TUNED = ("rope, tuned", "rope, position-interpolation, tuned")

FAR = (
    Prediction(
        1,
        "Trained at 256, rotary and T5 do not lose there what they lose when trained at 64.",
        "The angles and buckets between 64 and 256 have been trained.",
        tuple(
            Outcome(f"{m}: trained at 256 - at 64, read at 256", "lower") for m in ("rope", "t5")
        ),
    ),
    Prediction(
        2,
        "Text beyond 64 characters is worth next to nothing to these models, even when they were"
        " trained on it: at 256 a model trained at 256 is within 0.02 of what it is at 64.",
        "A small model at this budget predicts from the last words.",
        tuple(
            Outcome(f"{m}, trained at 256: read at 256 - at 64", "equal")
            for m in ("rope", "transformer-xl", "alibi", "t5")
        ),
    ),
    Prediction(
        3,
        "Each read at its own length, the model trained at 256 is no better than the one trained at"
        " 64: for rotary it is worse.",
        "As many characters a step in a quarter of the pieces, and nothing to gain.",
        (Outcome("rope: trained and read at 256 - at 64", "higher"),),
    ),
    Prediction(
        4,
        "T5 with a largest distance fitted to its training is far better than none at 256 and 512,"
        " and at 64 no different from one with the largest distance 32; beyond, it is worse.",
        "No bucket is untrained. But with 64 the last bucket, in which all beyond falls, holds five"
        " distances that few pairs have, with 32 it holds half of all.",
        (
            Outcome("t5, largest distance 64 - none, read at 256", "lower"),
            Outcome("t5, largest distance 64 - none, read at 512", "lower"),
            Outcome("t5, largest distance 64 - t5, largest distance 32, read at 64", "equal"),
            Outcome("t5, largest distance 64 - t5, largest distance 32, read at 256", "higher"),
        ),
    ),
    Prediction(
        5,
        "Where far tokens pay, every method learns to read them when it is trained at the length.",
        "A fact is found by its content, and no method hides what is 200 characters back from all"
        " heads.",
        tuple(
            Outcome(f"exact of {m} - rope, trained at 256, at 256", "equal")
            for m in ("none", "sinusoidal", "t5", "alibi", "transformer-xl")
        ),
    ),
    Prediction(
        6,
        "Trained at 64, rotary, sinusoids and ALiBi answer fewer questions at 256 than when trained"
        " there; T5, Transformer-XL and none answer as many.",
        "For the first two the distances are new, and for ALiBi the penalty is; the last bucket and"
        " a calm term have been trained, and without positions a distance is nothing.",
        tuple(
            Outcome(f"exact of {m}: trained at 64 - at 256, at 256", expected)
            for m, expected in (
                ("rope", "lower"),
                ("sinusoidal", "lower"),
                ("alibi", "lower"),
                ("t5", "equal"),
                ("transformer-xl", "equal"),
                ("none", "equal"),
            )
        ),
    ),
    Prediction(
        7,
        "After 60 steps of tuning at 256 a raised base is better there than no change and than"
        " interpolation; YaRN is better still.",
        'The records of "length": NTK-aware with the factor 4 raises the base by 4.4, dynamic NTK'
        " by 13.",
        tuple(
            Outcome(f"base x {f}, tuned - {other}, read at 256", "lower")
            for f in (13, 50)
            for other in TUNED
        )
        + (Outcome("base x 13, tuned - rope, yarn, tuned, read at 256", "higher"),),
    ),
    Prediction(
        8,
        "The larger the base, the less is lost at 1024, to which nobody tuned.",
        "A larger base turns the slow pairs less far.",
        (
            Outcome("base x 13, tuned 60 steps - base x 4, tuned 60 steps, read at 1024", "lower"),
            Outcome("base x 50, tuned 60 steps - base x 4, tuned 60 steps, read at 1024", "lower"),
        ),
    ),
    Prediction(
        9,
        "With four times the tuning the way of extending matters less: a base x 13 and YaRN are"
        " nearer to each other, and interpolation is still behind.",
        "What is tuned long enough forgets how it began.",
        (
            Smaller(
                "base x 13, tuned 240 steps - yarn, tuned 240 steps, read at 256",
                "base x 13, tuned - rope, yarn, tuned, read at 256",
            ),
            Outcome(
                "base x 13, tuned 240 steps - position-interpolation, tuned 240 steps, read at 256",
                "lower",
            ),
        ),
    ),
    Prediction(
        10,
        "Copying that is learned at 16 is learned for 16: at 32 and 64 no method copies more whole"
        " sequences than sinusoids, which copy none.",
        "A model sees how many symbols there are only from 1 to 8.",
        tuple(
            Outcome(f"{m} - sinusoidal, copy at {n}", "equal")
            for n in (32, 64)
            for m in ("none", "shaw", "transformer-xl", "t5", "rope", "xpos", "alibi")
        ),
    ),
    Prediction(
        11,
        "In the race base 10 is ahead of base 10 000, base 100, the table and frozen rows too; the"
        " table is behind base 10 and ahead of frozen rows.",
        "In 32 places a base of 10 000 has few pairs that come round.",
        tuple(
            Outcome(f"{pair}, 125 steps", expected)
            for pair, expected in (
                ("base 10 - base 10000", "higher"),
                ("base 100 - base 10000", "higher"),
                ("table - base 10000", "higher"),
                ("frozen table - base 10000", "higher"),
                ("table - base 10", "lower"),
                ("table - frozen table", "higher"),
            )
        ),
    ),
    Prediction(
        12,
        "With the best of three rates a method, rotary stays ahead of sinusoids, the table, ALiBi,"
        " T5 and none at 64.",
        "The gaps at one rate are wider than what a rate is worth.",
        tuple(
            Outcome(f"{m} - rope, best of three rates", "higher")
            for m in ("sinusoidal", "learned", "alibi", "t5", "none")
        ),
    ),
    Prediction(
        13,
        "A passage said twice in running text is not used within this budget: the second copy has"
        " the loss of the first.",
        "To find it needs two steps, the character before and then its match, and text pays more"
        " for what is learned sooner.",
        tuple(
            Outcome(f"{m}, trained at 256: second copy - first, at 256", "equal")
            for m in ("rope", "transformer-xl")
        ),
    ),
)

# Told from records or pilots, by others or of this study; no other prediction had been seen.
SEEN = {number: "in part" for number in (1, 2, 3, 4, 5, 6, 7, 11, 13)}

# What the tests of a prediction cannot tell apart, seen after the first runs; the tests stay.
NOT_SEPARATED = {
    5: "At 256 a step has 2 sequences with 16 questions, at 64 it has 8 with 64: a method that has"
    " not learned the facts at 256 may have met too few questions, or questions too far away.",
    6: "For the same reason a model trained at 64 may answer more at 256 than one trained there:"
    " that says how much was learned, not how far is read.",
}
