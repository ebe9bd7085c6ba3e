"""What the studies "length" and "tasks" leave open: what is lost against a model that was trained
at the length, whether far tokens are used where they pay, what a raised base does, and what is
learned with more steps, another base or another learning rate.

Model, text, tokens a step, number of steps, learning rate and slice of the test text are those of
"length" after 2000 steps, so that its records stand beside these: far_beside compares. There a
model was trained at 64 with 8 sequences a step; at 256 there are 2.
"""

import math

from sinpe.experiments.study import Cell, Comparison
from sinpe.tasks import build_task
from sinpe.training import RunConfig
from sinpe.training.measures import METHODS
from sinpe.transformer import TransformerConfig

SEEDS, RACERS, FEW = 5, 10, 3
STEPS = 2000
SHORT, LONG = 64, 256  # characters at which models are trained
READ = (64, 128, 256, 512, 1024)
SKYLINE = ("rope", "transformer-xl", "alibi", "t5")
ASKED = ("none", "sinusoidal", "t5", "alibi", "rope", "transformer-xl")
ASKED_AT = (64, 128, 256)
ASKED_STEPS = 1000
REPEATED = ("rope", "transformer-xl")
BASES = (4, 13, 50)  # times 10 000
TUNE, TUNE_LONGER = 60, 240  # steps at 256
COPY_STEPS, COPIED_AT = 2000, (16, 32, 64)
RACE = {
    "base 10000": {},
    "base 100": {"position_options": (("base", 100.0),)},
    "base 10": {"position_options": (("base", 10.0),)},
    "table": {"position": "learned", "position_options": (("init_std", math.sqrt(0.5)),)},
    "frozen table": {
        "position": "learned",
        "position_options": (("init_std", math.sqrt(0.5)),),
        "treatment": "frozen-positions",
    },
}
RACE_STEPS = (125, 250)
RATES = {"1/3": 1 / 3, "3": 3.0}  # times the rate of "length"
# as loud as sinusoids
LOUD = {"learned": (("init_std", math.sqrt(0.5)),)}


def comparisons():
    """Every planned comparison, the most important first."""
    yield from _skyline()
    yield from _facts()
    yield from _bases()
    yield from _copied()
    yield from _race()
    yield from _repeated()
    yield from _tuned_longer()
    yield from _rates()


def _skyline():
    """Trained at 256."""
    cells = {method: skyline(method) for method in SKYLINE}
    for n in (64, 256, 1024):
        for method in SKYLINE[1:]:
            yield Comparison(
                "skyline",
                f"{method} - rope, trained at 256, read at {n}",
                cells[method],
                cells["rope"],
                f"windows_{n}",
            )
    yield Comparison(
        "skyline",
        "t5, trained at 256 - t5, largest distance 64, read at 256",
        cells["t5"],
        filled(),
        "windows_256",
    )


def skyline(method):
    """A cell: trained at 256."""
    options = (("max_distance", LONG),) if method == "t5" else ()
    return _on_text("skyline", f"{method}, trained at 256", method, options, length=LONG)


def filled():
    """A cell: T5 trained at 64, with no bucket that a text of 64 leaves empty."""
    options = (("max_distance", SHORT),)
    return _on_text("skyline", "t5, largest distance 64", "t5", options)


def _facts():
    """Text whose far tokens pay: facts that are asked for later."""
    cells = {
        (method, length): facts(method, length) for length in (LONG, SHORT) for method in ASKED
    }
    for metric in ("loss", "exact"):
        for length in (LONG, SHORT):
            for method in ASKED:
                if method != "rope":
                    yield Comparison(
                        f"facts, {metric}",
                        f"{metric} of {method} - rope, trained at {length}, at 256",
                        cells[method, length],
                        cells["rope", length],
                        f"{metric}_256",
                    )
        for method in ASKED:
            yield Comparison(
                f"facts, {metric}",
                f"{metric} of {method}: trained at 64 - at 256, at 256",
                cells[method, SHORT],
                cells[method, LONG],
                f"{metric}_256",
            )


def facts(method, length):
    """A cell: trained on text with facts that are asked for."""
    return _judged("facts", "facts", method, length, ASKED_STEPS)


def _repeated():
    """A passage said twice in running text, the second copy judged."""
    rope, other = (repeated(method) for method in REPEATED)
    for n in ASKED_AT:
        name = f"{other.config.position} - rope, second copy at {n}"
        yield Comparison("passage", name, other, rope, f"loss_{n}")


def repeated(method):
    """A cell: trained at 256 on text in which a passage is said twice."""
    return _judged("passage", "repeated_passage", method, LONG, STEPS)


def _judged(section, task, method, length, steps):
    return _on_text(
        section,
        f"{method}, trained at {length}",
        method,
        (("max_distance", length),) if method == "t5" else (),
        length=length,
        task=task,
        steps=steps,
        warmup=steps // 10,
        measure="exact",
        measure_options=(("lengths", ASKED_AT),),
    )


def _bases():
    """The base raised after training at 64, then tuned at 256."""
    one, *others = (raised(factor, TUNE) for factor in BASES)
    for n in (64, 256, 1024):
        for other in others:
            name = f"{other.arm} - {one.arm}, read at {n}"
            yield Comparison("raised base", name, other, one, f"windows_{n}")


def raised(factor, tune):
    """A cell: trained at 64, then tuned at 256 with a larger base."""
    return _on_text(
        "raised base",
        f"base x {factor}, tuned {tune} steps",
        "rope",
        measure_options=(("base", 1e4 * factor), ("lengths", READ), ("tune", tune)),
    )


def extended(extension, tune):
    """A cell: trained at 64, then tuned at 256 with an extension, as in "length", or None."""
    options = (("extension", extension),) * bool(extension) + (("tune", tune),)
    return _on_text(
        "raised base",
        f"{extension or 'plain'}, tuned {tune} steps",
        "rope",
        measure="lengths",
        measure_options=options,
    )


def _tuned_longer():
    """Four times the steps of tuning."""
    cells = [extended(name, TUNE_LONGER) for name in ("yarn", "position-interpolation", None)]
    for base in (raised(factor, TUNE_LONGER) for factor in BASES[1:]):
        for n in (64, 256, 1024):
            for cell in cells:
                yield Comparison(
                    "tuned longer",
                    f"{base.arm} - {cell.arm}, read at {n}",
                    base,
                    cell,
                    f"windows_{n}",
                )


def _copied():
    """Copying with more than three times the steps of "tasks"."""
    cells = {method: copied(method) for method in METHODS}
    for n in COPIED_AT:
        for method in METHODS:
            if method != "sinusoidal":
                yield Comparison(
                    "copy",
                    f"{method} - sinusoidal, copy at {n}",
                    cells[method],
                    cells["sinusoidal"],
                    f"exact_{n}",
                )


def copied(method):
    """A cell: trained to copy sequences of up to 8 symbols."""
    config = RunConfig(
        _model("copy", 64),
        method,
        LOUD.get(method, ()),
        task="copy",
        length=16,
        batch_size=32,
        steps=COPY_STEPS,
        learning_rate=2e-3,
        warmup=COPY_STEPS // 10,
        evaluations=20,
        evaluation_sequences=256,
        measure="exact",
        measure_options=(("lengths", COPIED_AT),),
    )
    return Cell("copy", method, config, SEEDS)


def _race():
    """Which codes are learned to be read first, in texts of 32?"""
    for steps in RACE_STEPS:
        cells = {name: racer(name, steps) for name in RACE}
        for these, those in (
            ("base 10", "base 10000"),
            ("base 100", "base 10000"),
            ("table", "base 10000"),
            ("frozen table", "base 10000"),
            ("table", "base 10"),
            ("table", "base 100"),
            ("table", "frozen table"),
        ):
            name = f"{these} - {those}, {steps} steps"
            yield Comparison(
                f"race, {steps} steps", name, cells[these], cells[those], "test_accuracy"
            )


def racer(name, steps):
    """A cell: a small encoder that names the symbol three places back."""
    model = TransformerConfig(
        build_task("three_back").vocab_size, 32, n_layers=1, n_heads=2, d_ff=64, causal=False
    )
    options = {"length": 32, "batch_size": 32, "steps": steps, "learning_rate": 7e-3}
    options |= {"task": "three_back", "warmup": steps // 10, "evaluations": 5}
    return Cell(f"race, {steps} steps", name, RunConfig(model, **options, **RACE[name]), RACERS)


def _rates():
    """A third and three times the learning rate; the rate itself is in "length"."""
    for method in METHODS:
        low, high = (rated(method, name) for name in RATES)
        yield Comparison("rate", f"{method}: rate x 3 - x 1/3", high, low)


def rated(method, name):
    """A cell: trained at 64 with another learning rate."""
    options = (("max_distance", SHORT),) if method == "t5" else LOUD.get(method, ())
    return _on_text(
        "rate",
        f"{method}, rate x {name}",
        method,
        options,
        seeds=FEW,
        learning_rate=2e-3 * RATES[name],
        measure="held_out",
        measure_options=(),
    )


def _on_text(section, arm, position, position_options=(), *, seeds=SEEDS, **changes):
    """A decoder on English text, as in "length"."""
    length = changes.get("length", SHORT)
    options = {
        "task": changes.get("task", "next_character"),
        "length": length,
        "batch_size": 8 * SHORT // length,
        "steps": STEPS,
        "learning_rate": 2e-3,
        "warmup": STEPS // 10,
        "evaluations": 4,
        "evaluation_sequences": 64,
        "measure": "windows",
        "measure_options": (("lengths", READ),),
    }
    model = _model(options["task"], 128)
    return Cell(
        section, arm, RunConfig(model, position, position_options, **options | changes), seeds
    )


def _model(task, d):
    return TransformerConfig(
        build_task(task).vocab_size, d, n_layers=2, n_heads=4, d_ff=4 * d, norm="pre"
    )
