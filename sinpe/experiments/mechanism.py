"""Why the factor √d_model matters: arms that pull apart what it changes all at once.

Multiplying the embeddings changes how loud a token is beside its position at the start, and how
fast it moves in training, which makes it loud later; under a tied matrix it also changes the share
of the gradient that comes by the way in, and in the sum it changes the size. An arm is named by its
start, Q(uiet) or L(oud), and the speed of its table, S(low), F(ast) or 0 (frozen).

QS, LF: the factor off, and on. QF, LS: one of the two without the other. Q0, L0: frozen.
Y: a slow table whose loudness is yoked to that of QF. P: a fast one, pinned to its quiet start.
S-: codes / √d, which is the ratio and the speed of LF in a small sum. S+: codes · √d, those of QS
    in a large sum.
T-…: tied, with a multiplier that lets the logits start at RMS 1. "way in x", "/", "cut": the
    gradient by the way in · √d, / √d, · 0.
E-…: untied, and the output starts as a copy of the embeddings. "even": the output has the rate at
    which logits move as fast as in E-QS.
"QF, output fast", "LS, output slow": the output's rate · √d, / √d.
K: QS with the mean code at every position. N: QS without codes.

Untied, without clipping, Adam depends on factor · std and factor · rate alone, so those arms have
the factor 1 and set std and rate.
"""

import math
from dataclasses import replace

from sinpe.experiments.study import Cell, Comparison
from sinpe.tasks import build_task
from sinpe.training import RunConfig
from sinpe.transformer import TransformerConfig

WIDTH = 128
FACTOR = math.sqrt(WIDTH)
SEEDS, MANY, FEW = 16, 24, 5
NORMS = ("post", "pre")
LOG_ENTRIES = 20  # of a run
UNTIED = {  # fields of the model, or of the run, that differ from QS; the order is that of running
    "QS": {},
    "QF": {"table_rate": FACTOR},
    "LS": {"init_std": 1.0},
    "LF": {"init_std": 1.0, "table_rate": FACTOR},
    "Y": {"treatment": "yoked", "treatment_options": (("table_rate", FACTOR),)},
    "P": {"treatment": "pinned", "table_rate": FACTOR},
    "Q0": {"table_rate": 0.0},
    "L0": {"init_std": 1.0, "table_rate": 0.0},
    "S-": {"position_options": (("amplitude", 1 / FACTOR),)},
    "S+": {
        "init_std": 1.0,
        "table_rate": FACTOR,
        "position_options": (("amplitude", FACTOR),),
    },
}
OFF_ON = {
    "T-QS": {"tied": True},
    "T-LF": {"tied": True, "scale": None},
}
TIED = {
    **OFF_ON,
    "T-QF": {"tied": True, "init_std": 1 / WIDTH, "scale": None, "logit_scale": FACTOR},
    "T-LS": {"tied": True, "init_std": 1.0, "logit_scale": 1 / FACTOR},
    **{
        f"{name}, way in {label}": {
            **OFF_ON[name],
            "treatment": "scaled-way-in",
            "treatment_options": (("factor", factor),),
        }
        for name, label, factor in (
            ("T-QS", "x", FACTOR),
            ("T-LF", "/", 1 / FACTOR),
            ("T-QS", "cut", 0.0),
            ("T-LF", "cut", 0.0),
        )
    },
}
COPIED = {"tied": False, "treatment": "copied-output"}
COPIES = {
    **{f"E-{name}": {**TIED[f"T-{name}"], **COPIED} for name in ("QS", "LF", "QF", "LS")},
    "E-QF, even": {**TIED["T-QF"], **COPIED, "output_rate": 1 / FACTOR},
    "E-LS, even": {**TIED["T-LS"], **COPIED, "output_rate": FACTOR},
}
OTHERS = {
    "QF, output fast": {**UNTIED["QF"], "output_rate": FACTOR},
    "LS, output slow": {**UNTIED["LS"], "output_rate": 1 / FACTOR},
    "K": {"position": "constant"},
    "N": {"position": "none"},
}
RATIOS = tuple(2.0**k for k in range(-5, 5))
SGD_RATES = (0.001, 0.003, 0.01, 0.03, 0.1)
FACTORS = {"on": "T-LF", "off": "T-QS"}


def comparisons():
    """Every planned comparison, the most important first."""
    for norm in NORMS:
        yield from _main(norm)
    yield from _copies()
    yield from _others()
    yield from _clipping()
    yield from _tuning()
    yield from _sweep()
    for d in (64, 256):
        yield from _width(d)
    yield from _positions()
    yield from _robust()
    yield from _longer()
    yield from _width(512)


def _main(norm):
    """Untied: the path, the speed, the start, the size. Tied: the share of the gradient."""
    untied = {
        name: _cell(f"{norm}, untied", name, many=name in ("QS", "LF", "S-", "S+"), norm=norm)
        for name in UNTIED
    }
    for pair in ("QF-QS", "LF-QS", "QF-LF", "LF-LS", "Y-QS", "Y-QF", "P-QS", "P-QF", "L0-Q0"):
        these, those = pair.split("-")
        yield _pair(f"{norm}: path and speed", norm, untied, these, those)
    for these, those in (("S-", "LF"), ("S+", "QS"), ("S-", "QS"), ("S+", "LF"), ("LS", "QS")):
        yield _pair(f"{norm}: size and start", norm, untied, these, those)
    tied = {
        name: _cell(
            f"{norm}, tied",
            name,
            many=name in ("T-QS", "T-LF", "T-QS, way in x", "T-LF, way in /"),
            norm=norm,
        )
        for name in TIED
    }
    for these, those in (
        ("T-LF", "T-QS"),
        ("T-QS, way in x", "T-QS"),
        ("T-LF, way in /", "T-LF"),
        ("T-LF, way in /", "T-QS, way in x"),
        ("T-QS, way in cut", "T-QS"),
        ("T-LF, way in cut", "T-LF"),
        ("T-QF", "T-QS"),
        ("T-LS", "T-LF"),
        ("T-QF", "T-LF"),
    ):
        yield _pair(f"{norm}: share", norm, tied, these, those)


def _copies():
    """What a matrix that is shared does besides starting alike."""
    cells = {name: _cell("post, copied", name) for name in COPIES}
    cells |= {name: _cell("post, tied", name, many=name in FACTORS.values()) for name in TIED}
    for name in ("QS", "LF", "QF", "LS"):
        yield _pair("shared or copied", "post", cells, f"T-{name}", f"E-{name}")
    for these, those in (("E-LF", "E-QS"), ("E-QF, even", "E-QF"), ("E-LS, even", "E-LS")):
        yield _pair("shared or copied", "post", cells, these, those)


def _others():
    """The speed of the logits, and what a code does that says nothing."""
    cells = {name: _cell("post, other", name) for name in OTHERS}
    cells |= {name: _cell("post, untied", name, many=name == "QS") for name in ("QS", "QF", "LS")}
    for these, those in (
        ("QF, output fast", "QF"),
        ("LS, output slow", "LS"),
        ("K", "N"),
        ("K", "QS"),
        ("N", "QS"),
    ):
        yield _pair("logits and dilution", "post", cells, these, those)


def _clipping():
    """With the gradient clipped to the norm 1, as in the first study."""
    cells = {
        name: _cell("clipped", name, seeds=10, clip=1.0) for name in ("QS", "QF", "LS", "LF", "Y")
    }
    for pair in ("QF-QS", "LF-QS", "QF-LF", "LF-LS", "Y-QS", "Y-QF"):
        yield _pair("clipped", "clipped", cells, *pair.split("-"))


def _tuning():
    """All other weights at a third and three times their rate, each arm with its best."""
    cells = {
        name: [
            _cell(
                "other rates",
                f"{name}, x {label}",
                name,
                seeds=FEW,
                rest_rate=rate,
                output_rate=rate,
            )
            for label, rate in (("1/3", 1 / 3), ("1", 1.0), ("3", 3.0))
        ]
        for name in ("QS", "QF", "LF")
    }
    for pair in ("QF-QS", "LF-QS", "QF-LF"):
        yield _pair("other rates", "best rate of all others", cells, *pair.split("-"))


def _sweep():
    """Ratios of token to position at the start, each at two speeds."""
    cells = {
        (speed, ratio): _cell(
            "ratio",
            f"ratio {ratio:g}, {speed}",
            "QS" if speed == "slow" else "QF",
            seeds=FEW,
            init_std=None if ratio == 1 / 8 else ratio * math.sqrt(0.5),
        )
        for ratio in RATIOS
        for speed in ("slow", "fast")
    }
    for ratio in RATIOS:
        fast, slow = cells["fast", ratio], cells["slow", ratio]
        yield Comparison("ratio, speed", f"fast - slow: ratio {ratio:g}", fast, slow)
    for speed in ("slow", "fast"):
        for ratio in RATIOS:
            if ratio != 1:
                name = f"ratio {ratio:g} - 1: {speed}"
                yield Comparison(f"ratio, {speed}", name, cells[speed, ratio], cells[speed, 1.0])


def _width(d):
    """At another width; the slow speed falls with it as the learning rate does, the fast one is √d
    times that: what factor off and on are.
    """
    root = math.sqrt(d)
    arms = {
        "QS": {},
        "QF": {"table_rate": root},
        "LS": {},
        "LF": {"table_rate": root},
        "Y": {"treatment_options": (("table_rate", root),)},
    }
    cells = {
        name: _cell(f"width {d}", f"d {d}, {name}", name, seeds=FEW, d=d, **changes)
        for name, changes in arms.items()
    }
    for pair in ("QF-QS", "LF-QS", "QF-LF", "LF-LS", "Y-QS", "Y-QF"):
        yield _pair(f"width {d}", f"d {d}", cells, *pair.split("-"))


def _positions():
    """The factor where no code is added to the embeddings."""
    for position in ("none", "rope", "alibi"):
        on, off = (
            _cell(
                "position",
                f"{position}, factor {factor}",
                arm,
                seeds=FEW,
                norm="pre",
                position=position,
            )
            for factor, arm in FACTORS.items()
        )
        yield Comparison("position", f"factor on - off: {position}, tied, pre-norm", on, off)


def _robust():
    """The factor on and off under other trainings and on other texts."""
    changes = {
        "dropout 0.1": {"dropout": 0.1},
        "clipped": {"clip": 1.0},
        "warm-up 160": {"warmup": 160},
        "words": {"task": "next_word"},
        "source code": {"task": "next_source_character"},
    }
    for name, change in changes.items():
        on, off = (
            _cell("robust", f"{name}, factor {factor}", arm, seeds=FEW, **change)
            for factor, arm in FACTORS.items()
        )
        yield Comparison("robust", f"factor on - off: {name}", on, off)
    on, off = (
        [
            _cell(
                "robust",
                f"SGD, rate {rate:g}, factor {factor}",
                arm,
                seeds=FEW,
                optimizer="sgd",
                learning_rate=rate,
            )
            for rate in SGD_RATES
        ]
        for factor, arm in FACTORS.items()
    )
    yield Comparison("robust", "factor on - off: SGD, best rate", on, off)


def _longer():
    """Four times the steps."""
    cells = {
        name: _cell("longer", f"1600 steps, {name}", name, seeds=FEW, steps=1600)
        for name in ("QS", "QF", "LS", "LF")
    }
    for pair in ("QF-QS", "LF-QS", "QF-LF", "LF-LS"):
        yield _pair("longer", "1600 steps", cells, *pair.split("-"))


def _pair(question, where, cells, these, those):
    return Comparison(question, f"{where}: {these} - {those}", cells[these], cells[those])


def _cell(section, name, arm=None, *, many=False, seeds=None, **changes):
    """An arm, by its name unless another is told, with changes."""
    arm = {**UNTIED, **TIED, **COPIES, **OTHERS}[arm or name]
    return Cell(section, name, _config(**{**arm, **changes}), seeds or (MANY if many else SEEDS))


def _config(d=WIDTH, *, task="next_character", steps=400, warmup=None, **changes):
    """A decoder on text. Names of fields of the model go there, others to the run."""
    model = TransformerConfig(
        build_task(task).vocab_size,
        d,
        n_layers=2,
        n_heads=4,
        d_ff=4 * d,
        norm="post",
        tied=False,
        scale=1.0,
    )
    inner = {name: changes.pop(name) for name in list(changes) if hasattr(model, name)}
    run = RunConfig(
        replace(model, **inner),
        task=task,
        length=64,
        batch_size=8,
        steps=steps,
        learning_rate=2e-3 * math.sqrt(WIDTH / d),
        warmup=steps // 10 if warmup is None else warmup,
        evaluations=10,
        evaluation_sequences=64,
        clip=None,
        log_every=steps // LOG_ENTRIES,
    )
    return replace(run, **changes)
