"""An interactive figure of recorded runs."""

import json
from dataclasses import dataclass
from functools import cache

from sinpe.explorers.base import Explorer, choice, number
from sinpe.explorers.methods import words

METHODS = ("none", "sinusoidal", "learned", "shaw", "transformer-xl", "t5", "rope", "xpos", "alibi")
MORE = {"t5-filled": "t5, largest distance 32", "rope-yarn": "rope, yarn"}
STEPS, READINGS = ("2000", "500"), ("windows", "blocks")


@dataclass(frozen=True)
class Comparison(Explorer):
    """Test loss over the length that is read, for the methods and lengths one chooses.

    methods: those shown first, as one text, of none, sinusoidal, learned, shaw, transformer-xl, t5,
        rope, xpos, alibi, t5-filled (largest distance 32) and rope-yarn; length: where they are
        compared, 64, 128, 256, 512 or 1024; steps: of training, "2000" or "500".
    The numbers are those of the study `length`, means with 95 % intervals, rounded to a thousandth.
    """

    methods: str = words("none sinusoidal shaw transformer-xl rope alibi", 1, 11, 20)
    length: int = number(256, 64, 1024)
    steps: str = choice(*STEPS)

    tag, parts = "sinpe-comparison", "common select text looks colours plot comparison"

    def __post_init__(self):
        super().__post_init__()
        known = [*METHODS, *MORE]
        for method in self.methods.split():
            if method not in known:
                raise ValueError(f"methods must be some of {', '.join(known)}, got {method}")
        if self.length not in (64, 128, 256, 512, 1024):
            raise ValueError(f"length must be one of 64, 128, 256, 512, 1024, got {self.length}")

    @classmethod
    def rules(cls):
        return {**super().rules(), "data": {"default": "", "kind": "data"}}

    def attributes(self):
        return {**super().attributes(), "data": json.dumps(recorded(), separators=(",", ":"))}


@cache
def recorded():
    """{"methods", "lengths", "runs": {steps: {reading: {method: rows}}}}, a row for each length:
    [mean, low, high] or None.
    """
    from sinpe.experiments import analysis, get_study, load_records  # they need torch

    study = get_study("length")
    records = load_records(study)
    names = {name: name for name in METHODS} | MORE
    runs, lengths = {}, []
    for steps in STEPS:
        cells = {cell.arm: cell for cell in study.cells if cell.config.steps == int(steps)}
        runs[steps] = {}
        for reading in READINGS:
            found = analysis.across(study, records, reading)
            rows = {name: found[cells[arm]] for name, arm in names.items() if arm in cells}
            lengths = list(next(iter(rows.values())))
            runs[steps][reading] = {
                name: [e and [round(v, 3) for v in (e.mean, e.low, e.high)] for e in row.values()]
                for name, row in rows.items()
            }
    return {"methods": list(names), "lengths": lengths, "runs": runs}
