"""Interactive figures of recorded runs."""

import json
from dataclasses import dataclass
from functools import cache

from sinpe.explorers.base import Explorer, choice, number
from sinpe.explorers.methods import words

METHODS = ("none", "sinusoidal", "learned", "shaw", "transformer-xl", "t5", "rope", "xpos", "alibi")
MORE = {"t5-filled": "t5, largest distance 32", "rope-yarn": "rope, yarn"}
STEPS, READINGS = ("2000", "500"), ("windows", "blocks")
STUDIES = {  # some comparisons of each, as the study names them
    "mechanism": (
        *("post: S- - LF", "post: QF - QS", "post: LF - QS", "post: QF - LF", "post: LF - LS"),
        *("post: Y - QS", "post: Y - QF", "post: P - QS", "post: L0 - Q0", "post: K - QS"),
        *("pre: S+ - QS", "pre: T-LF, way in cut - T-LF"),
    ),
    "embedding-scale": (
        *("PE shrunk - factor on: post-norm", "PE shrunk - factor off: post-norm"),
        "factor on - off: std d^-1/2, tied, post-norm",
        "factor on - off: std 1, tied, pre-norm",
        *("PE shrunk - factor on: pre-norm", "factor on - off: no position"),
        *("base 100 - base 10000", "base 1e+06 - base 10000"),
    ),
}
MOST = 24  # pairs of a comparison


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


@dataclass(frozen=True)
class Pairs(Explorer):
    """The differences of two arms, pair by pair, and the interval that so many pairs give.

    comparison: one of STUDIES, which says the study too; its others can be chosen in the figure;
        pairs: how many are used first, 2 to as many as were run; partner: whether a run is compared
        with that of the "same seed" or of the "next seed".
    The losses are those of the records, to the fifth decimal. Interval and verdict are those of
    sinpe.experiments.estimates for one comparison alone.
    """

    comparison: str = choice(*STUDIES["mechanism"], *STUDIES["embedding-scale"])
    pairs: int = number(5, 2, MOST)
    partner: str = choice("same seed", "next seed")

    tag, parts = "sinpe-pairs", "common select text colours drag plot pairs"

    def __post_init__(self):
        super().__post_init__()
        most = len(self._data()["losses"][self.comparison][0])
        if self.pairs > most:
            raise ValueError(f"pairs must be at most {most}, as many as were run, got {self.pairs}")

    def _data(self):
        return losses(next(name for name, some in STUDIES.items() if self.comparison in some))

    @classmethod
    def rules(cls):
        return {**super().rules(), "data": {"default": "", "kind": "data"}}

    def attributes(self):
        return {**super().attributes(), "data": json.dumps(self._data(), separators=(",", ":"))}


@cache
def losses(name):
    """{"losses": {comparison: [those of one side, those of the other]}, "t": quantiles of Student's
    distribution for 1, 2, … degrees of freedom, at 95 % and at 90 %}, in the order of the seeds.
    """
    from sinpe.experiments import analysis, get_study, load_records  # they need torch
    from sinpe.experiments.estimates import t_quantile

    study = get_study(name)
    records = load_records(study)
    cells = {cell.name: runs for cell, runs in analysis.by_cell(study, records).items()}
    found = {finding.name: finding for finding in analysis.compare(study, records)}
    sides = {
        comparison: [
            [round(cells[side][seed]["metrics"][f.metric], 5) for seed in f.seeds]
            for side in (f.these, f.those)
        ]
        for comparison, f in ((comparison, found[comparison]) for comparison in STUDIES[name])
    }
    t = [[round(t_quantile(level, df), 6) for df in range(1, MOST)] for level in (0.95, 0.9)]
    return {"losses": sides, "t": t}


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
