"""The recorded studies. A study is the list of its comparisons, the most important first, and of
what takes part in none.
"""

import math
from functools import lru_cache

from sinpe.experiments import far as beyond
from sinpe.experiments.mechanism import comparisons
from sinpe.experiments.study import Cell, Comparison, Study
from sinpe.tasks import build_task
from sinpe.training import RunConfig
from sinpe.training.measures import LENGTHS, METHODS, MULTIPLES
from sinpe.transformer import TransformerConfig

# the paper's authors, PyTorch's default, GPT-2 and BERT
STDS = {"d^-1/2": None, "1": 1.0, "0.02": 0.02}
RATES = {"1/3": 1 / 3, "1": 1.0, "3": 3.0}
ON_OFF = ("on", "off")
STUDIED_EXTENSIONS = ("position-interpolation", "ntk-aware", "dynamic-ntk", "yarn")
# steps
TASKS = {
    "copy": 600,
    "reverse": 800,
    "previous": 300,
    "marker_position": 400,
    "induction": 800,
    "which_more": 300,
}
STEPS, TUNE = 500, 60  # of the comparison, and of a short training at four times the length


def get_study(study):
    """A study by its name; a Study is returned as it is. Raises ValueError for an unknown name."""
    if isinstance(study, Study):
        return study
    if not isinstance(study, str) or study not in STUDIES:
        raise ValueError(f"study must be one of {', '.join(map(repr, STUDIES))}, got {study!r}")
    return STUDIES[study]()


@lru_cache(maxsize=1)
def embedding_scale():
    """Does the factor sqrt(d_model) on the embeddings matter: when, and why?"""
    early = [
        *_initialisations(),
        *_controls(),
        *_widths(64, 128, 256),
        *_words(),
        *_order(),
        *_bases(),
        *_longer(),
    ]
    return Study("embedding-scale", embedding_scale.__doc__, (*early, *_widths(512)))


def _initialisations():
    """Standard deviation x factor x tied x norm; the paper's, tied, has the most seeds."""
    for std in STDS:
        for tied in (True, False):
            for norm in ("post", "pre"):
                on, off = (_initialisation(std, tied, norm, factor) for factor in ON_OFF)
                yield Comparison(
                    "init", f"factor on - off: std {std}, {_tied(tied)}, {norm}-norm", on, off
                )


def _initialisation(std="d^-1/2", tied=True, norm="post", factor="on"):
    config = _text(factor, std=STDS[std], tied=tied, norm=norm)
    return Cell(
        "init",
        f"std {std}, {_tied(tied)}, {norm}-norm, factor {factor}",
        config,
        10 if std == "d^-1/2" and tied else 5,
    )


def _controls():
    """PE shrunk by sqrt(d) has the factor's ratio without the factor; without position there is no
    ratio; learned positions grow as they need.
    """
    for norm, seeds in (("post", 10), ("pre", 5)):
        shrunk = Cell(
            "control",
            f"PE shrunk, {norm}-norm",
            _text("off", norm=norm, position_options=(("amplitude", 1 / math.sqrt(128)),)),
            seeds,
        )
        for factor in ON_OFF:
            yield Comparison(
                "control",
                f"PE shrunk - factor {factor}: {norm}-norm",
                shrunk,
                _initialisation(norm=norm, factor=factor),
            )
    for position, name in (("none", "no position"), ("learned", "learned positions")):
        sides = [
            Cell("control", f"{name}, factor {factor}", _text(factor, position=position))
            for factor in ON_OFF
        ]
        yield Comparison("control", f"factor on - off: {name}", *sides)
        other = Cell(
            "control",
            f"{name}, std 0.02, pre-norm, factor off",
            _text("off", std=0.02, norm="pre", position=position),
        )
        yield Comparison(
            "control",
            f"sinusoidal - {name}: std 0.02, tied, pre-norm, factor off",
            _initialisation("0.02", norm="pre", factor="off"),
            other,
        )


def _widths(*widths):
    """Each side takes the learning rate that is best for it, so that the gap is not a matter of
    tuning.
    """
    for d in widths:
        sides = [
            [
                Cell(
                    "width",
                    f"d {d}, factor {factor}, rate x {name}",
                    _text(factor, d=d, rate=rate),
                    3 if d == 512 else 5,
                )
                for name, rate in RATES.items()
            ]
            for factor in ON_OFF
        ]
        yield Comparison("width", f"factor on - off: d {d}, best rate", *sides)


def _words():
    """Words: 4000 rows in the matrix that is tied."""
    for name, std in STDS.items():
        sides = [
            Cell("word", f"std {name}, factor {factor}", _text(factor, task="next_word", std=std))
            for factor in ON_OFF
        ]
        yield Comparison("word", f"factor on - off: words, std {name}", *sides)


def _order():
    """What is lost when one of the two drowns the other: order, which the one task asks for, or
    identity, which is all that the other needs?
    """
    for task in ("which_first", "which_more"):
        for std in ("d^-1/2", "1"):
            on, off = (
                Cell(
                    "order",
                    f"{task}, std {std}, factor {factor}",
                    _synthetic(task, STDS[std], factor),
                )
                for factor in ON_OFF
            )
            yield Comparison("order", f"factor on - off: {task}, std {std}", on, off)
            if std == "d^-1/2":
                none = Cell("order", f"{task}, no position", _synthetic(task, None, "on", "none"))
                yield Comparison("order", f"sinusoidal - no position: {task}", on, none)


def _bases():
    for base in (1e2, 1e6):
        other = Cell("base", f"base {base:g}", _text("on", position_options=(("base", base),)))
        yield Comparison("base", f"base {base:g} - base 10000", other, _initialisation())


def _longer():
    """Four times the steps: does the gap close?"""
    for std, norm in (("d^-1/2", "post"), ("0.02", "pre")):
        sides = [
            Cell(
                "longer",
                f"std {std}, {norm}-norm, factor {factor}",
                _text(factor, std=STDS[std], norm=norm, steps=1600),
            )
            for factor in ON_OFF
        ]
        yield Comparison(
            "longer", f"factor on - off: four times the steps, std {std}, {norm}-norm", *sides
        )


def _text(
    factor,
    *,
    task="next_character",
    d=128,
    std=None,
    tied=True,
    norm="post",
    rate=1.0,
    steps=400,
    **options,
):
    """A decoder on English text. The learning rate falls with width as d^-1/2; `rate` multiplies
    it.
    """
    model = _model(task, factor, d, std, norm, tied=tied, causal=True)
    rate *= 2e-3 * math.sqrt(128 / d)  # exact on every machine, and so are the names of records
    return RunConfig(
        model,
        task=task,
        length=64,
        batch_size=8,
        steps=steps,
        learning_rate=rate,
        warmup=steps // 10,
        evaluation_sequences=64,
        **options,
    )


def _synthetic(task, std, factor, position="sinusoidal"):
    """An encoder on a synthetic task."""
    model = _model(task, factor, 128, std, "post", tied=True, causal=False)
    return RunConfig(
        model,
        position,
        task=task,
        length=32,
        batch_size=16,
        steps=200,
        learning_rate=1e-3,
        warmup=20,
        evaluation_sequences=256,
    )


def _model(task, factor, d, std, norm, **options):
    scale = {"on": None, "off": 1.0}[factor]
    return TransformerConfig(
        build_task(task).vocab_size,
        d,
        n_layers=2,
        n_heads=4,
        d_ff=4 * d,
        norm=norm,
        init_std=std,
        scale=scale,
        **options,
    )


def _tied(tied):
    return "tied" if tied else "untied"


# as loud as sinusoids: beside tokens that the factor makes loud, its default of 0.02 is not heard
LOUD = {"learned": (("init_std", math.sqrt(0.5)),)}


@lru_cache(maxsize=1)
def length():
    """Trained at 64 characters and read at up to 1024: which position method still works, and what
    do the extensions of rotary mend?
    """
    asked = [
        c
        for steps in (STEPS, 4 * STEPS)
        for c in (*_methods(steps), *_extensions(steps), *_tuned(steps))
    ]
    return Study(
        "length",
        length.__doc__,
        (*asked, *_steps(), *_last_bucket()),
        quantities=("windows", "blocks"),
    )


def _methods(steps):
    """Every method against sinusoids at every length; beyond its table, learned has nothing that
    could be compared.
    """
    cells = {method: _reading("method", method, method, steps) for method in METHODS}
    for factor in LENGTHS:
        for method in METHODS:
            if method != "sinusoidal":
                yield _at(factor, cells[method], cells["sinusoidal"])


def _extensions(steps):
    """The same rotary models, read with another rotation. At the training length all of them are
    plain rotary.
    """
    plain = _reading("method", "rope", "rope", steps)
    for factor in LENGTHS[1:]:
        for extension in STUDIED_EXTENSIONS:
            yield _at(
                factor,
                _reading("extension", f"rope, {extension}", "rope", steps, extension=extension),
                plain,
            )


def _tuned(steps):
    """After a short training at four times the length, with each extension and, as the control,
    with none.
    """
    plain = _reading("method", "rope", "rope", steps)
    control = _reading("fine-tune", "rope, tuned", "rope", steps, tune=TUNE)
    for factor in LENGTHS:
        yield _at(factor, control, plain)
        for extension in STUDIED_EXTENSIONS:
            yield _at(
                factor,
                _reading(
                    "fine-tune",
                    f"rope, {extension}, tuned",
                    "rope",
                    steps,
                    extension=extension,
                    tune=TUNE,
                ),
                control,
            )


def _steps():
    """Four times the steps against the first: what was told of a method, and what of a short
    training?
    """
    for factor in LENGTHS:
        for method in METHODS:
            long, short = (
                _reading("method", method, method, steps) for steps in (4 * STEPS, STEPS)
            )
            n = factor * short.config.length
            yield Comparison(
                "steps",
                f"{method}: {4 * STEPS} steps - {STEPS}, read at {n}",
                long,
                short,
                f"windows_{n}",
            )


def _last_bucket(steps=4 * STEPS):
    """T5's default has buckets up to distance 128, which texts of 64 never fill; with 32 the last
    bucket is trained, as in T5 itself.
    """
    plain = _reading("method", "t5", "t5", steps)
    filled = _reading("bucket", "t5, largest distance 32", "t5", steps, (("max_distance", 32),))
    for factor in LENGTHS:
        yield _at(factor, filled, plain)


def _at(factor, these, those):
    n, steps = factor * these.config.length, these.config.steps
    name = f"{these.arm} - {those.arm}, read at {n}"
    return Comparison(
        these.section,
        name if steps == STEPS else f"{name}, {steps} steps",
        these,
        those,
        f"windows_{n}",
    )


def _reading(section, arm, position, steps, position_options=(), **measured):
    """A decoder on English text, read at many lengths."""
    model = _model("next_character", "on", 128, None, "pre", causal=True)
    options = {
        "task": "next_character",
        "length": 64,
        "batch_size": 8,
        "steps": steps,
        "learning_rate": 2e-3,
        "warmup": steps // 10,
    }
    options |= {
        "evaluations": 4,
        "evaluation_sequences": 64,
        "measure": "lengths",
        "measure_options": tuple(sorted(measured.items())),
    }
    section = section if steps == STEPS else f"{section}, {steps} steps"
    return Cell(
        section,
        arm,
        RunConfig(model, position, position_options or LOUD.get(position, ()), **options),
    )


@lru_cache(maxsize=1)
def tasks():
    """Tasks with exact answers that ask for order, and one that does not: what is learned, and what
    is left of it at up to four times the length?
    """
    return Study("tasks", tasks.__doc__, tuple(_by_task()), quantities=("accuracy",))


def _by_task():
    for task in TASKS:
        cells = {method: Cell(task, method, _asking(task, method)) for method in METHODS}
        for factor in MULTIPLES:
            for method in METHODS:
                if method != "sinusoidal":
                    name = f"{method} - sinusoidal, {task} at {factor} x"
                    yield Comparison(
                        task, name, cells[method], cells["sinusoidal"], f"accuracy_{factor}"
                    )


def _asking(task, position):
    """A decoder on a synthetic task."""
    model = _model(task, "on", 64, None, "pre", causal=True)
    options = {
        "length": 16,
        "batch_size": 32,
        "steps": TASKS[task],
        "learning_rate": 2e-3,
        "warmup": TASKS[task] // 10,
    }
    return RunConfig(
        model,
        position,
        LOUD.get(position, ()),
        task=task,
        **options,
        evaluations=1,
        evaluation_sequences=256,
        measure="multiples",
    )


@lru_cache(maxsize=1)
def cost():
    """Parameters, time and memory of every position method, as multiples of no position: measured
    in one process, in turn, for 2048 tokens at a time.
    """
    return Study(
        "cost",
        cost.__doc__,
        (),
        uncompared=tuple(_timing(length) for length in (64, 256, 1024)),
        alone=True,
    )


def _timing(length):
    model = _model("next_character", "on", 128, None, "pre", causal=True)
    options = {
        "length": length,
        "batch_size": 2048 // length,
        "steps": 1,
        "warmup": 0,
        "evaluations": 1,
        "evaluation_sequences": 1,
    }
    return Cell("cost", f"length {length}", RunConfig(model, "none", **options, measure="cost"), 3)


@lru_cache(maxsize=1)
def mechanism():
    """Why does the factor sqrt(d_model) matter: by the ratio of token to position at the start or
    on the way, by the speed of tokens, by the share of the gradient, or by size?
    """
    return Study("mechanism", mechanism.__doc__, tuple(comparisons()))


@lru_cache(maxsize=1)
def far():
    """What does training at the length give, are far tokens used where they pay, and what do a
    raised base, more steps, another base of the sinusoids and other learning rates change?
    """
    return Study(
        "far",
        far.__doc__,
        tuple(beyond.comparisons()),
        quantities=("windows", "loss", "first", "accuracy", "exact"),
    )


STUDIES = {
    "embedding-scale": embedding_scale,
    "length": length,
    "tasks": tasks,
    "cost": cost,
    "mechanism": mechanism,
    "far": far,
}
