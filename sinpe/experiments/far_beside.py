"""What the study "far" says beside the records of "length", whose models were trained at 64 in the
same way: comparisons across the two, and differences within one run.
"""

import math
from functools import lru_cache

from sinpe.experiments import far
from sinpe.experiments.analysis import Finding, by_cell, compare, paired
from sinpe.experiments.estimates import differences
from sinpe.experiments.records import identity
from sinpe.experiments.studies import get_study
from sinpe.experiments.study import Comparison, Study

TUNED_IN_LENGTH = ("rope", "position-interpolation", "ntk-aware", "yarn")
RAISED_AT = (64, 256, 1024)


@lru_cache(maxsize=1)
def beside():
    """A Study of comparisons between cells of "far" and of "length". Nobody runs it: `compare`
    reads it with the records of both.
    """
    theirs = {c.arm: c for c in get_study("length").cells if c.config.steps == far.STEPS}
    asked = (*_lengths(theirs), *_filled(theirs), *_bases(theirs), *_rates(theirs))
    return Study("far, beside length", beside.__doc__, asked)


def _lengths(theirs):
    """Trained at 256 against trained at 64, at one length and each at its own."""
    pairs = {m: (far.skyline(m), theirs.get(m)) for m in far.SKYLINE}
    pairs["t5"] = pairs["t5"][0], far.filled()
    for n in far.READ:
        for method, (long, short) in pairs.items():
            name = f"{method}: trained at 256 - at 64, read at {n}"
            yield Comparison("trained at the length", name, long, short, f"windows_{n}")
    for method, (long, short) in pairs.items():
        name = f"{method}: trained and read at 256 - at 64"
        yield Comparison("each at its length", name, long, short, "own")


def _filled(theirs):
    for n in far.READ:
        for other in ("none", "t5", "t5, largest distance 32", "alibi", "rope"):
            name = f"t5, largest distance 64 - {other}, read at {n}"
            yield Comparison("t5 fitted", name, far.filled(), theirs[other], f"windows_{n}")


def _bases(theirs):
    """After the same tuning at 256, and against YaRN without any."""
    names = {"rope": "rope, tuned"}
    others = [names.get(e, f"rope, {e}, tuned") for e in TUNED_IN_LENGTH] + ["rope, yarn"]
    for n in RAISED_AT:
        for factor in far.BASES:
            cell = far.raised(factor, far.TUNE)
            for other in others:
                name = f"base x {factor}, tuned - {other}, read at {n}"
                question = f"raised base, read at {n}"
                yield Comparison(question, name, cell, theirs[other], f"windows_{n}")


def _rates(theirs):
    """Each method with the best of three rates."""

    def three(method):
        middle = far.filled() if method == "t5" else theirs[method]
        return middle, *(far.rated(method, name) for name in far.RATES)

    for method in far.METHODS:
        if method != "rope":
            name = f"{method} - rope, best of three rates"
            yield Comparison("best rate", name, three(method), three("rope"))


def findings(records, others):
    """Findings of `beside`, and of differences within runs -> (list of Finding, {name: {seed:
    difference}}), for `predictions.judge`.

    records: those of "far"; others: those of "length". Differences within a run, paired by seed:
    the loss at a longer length minus that at 64 of a model trained at 256, and the loss of the
    second copy of a passage minus that of the first. Raises ValueError for other records.
    """
    study = beside()
    by_cell("far", records), by_cell("length", others)  # for what they refuse
    read = [{**r, "metrics": {**r["metrics"], **_own(r["metrics"])}} for r in others]
    known = {identity(cell.config) for cell in study.cells}
    both = [r for r in (*records, *read) if identity(r["config"]) in known]
    found = compare(study, both)
    by_seed = paired(study, both, found)
    within, inside = _within(records)
    return found + within, by_seed | inside


def _own(metrics):
    return {"own": metrics["windows_64"]} if "windows_64" in metrics else {}


def _within(records):
    """Differences of two metrics of one run."""
    cells, asked = by_cell("far", records), []
    for method in far.SKYLINE:
        for n in far.READ[1:]:
            name = f"{method}, trained at 256: read at {n} - at 64"
            asked.append(
                ("gain of context", name, far.skyline(method), f"windows_{n}", "windows_64")
            )
    for method in far.REPEATED:
        for n in far.ASKED_AT:
            name = f"{method}, trained at 256: second copy - first, at {n}"
            asked.append(("use of the copy", name, far.repeated(method), f"loss_{n}", f"first_{n}"))
    by_seed = {
        name: {
            seed: r["metrics"][metric] - r["metrics"][other]
            for seed, r in sorted(cells[cell].items())
            if metric in r["metrics"] and other in r["metrics"]
        }
        for _, name, cell, metric, other in asked
    }
    found = []
    for question in dict.fromkeys(question for question, *_ in asked):
        those = [a for a in asked if a[0] == question and len(by_seed[a[1]]) > 1]
        judged = differences([list(by_seed[name].values()) for _, name, *_ in those])
        for (_, name, cell, metric, other), d in zip(those, judged, strict=True):
            sides = f"{cell.name}, {metric}", f"{cell.name}, {other}"
            seeds = tuple(by_seed[name])
            found.append(
                Finding(question, name, *sides, seeds, d, math.nan, math.nan, math.nan, metric)
            )
    return found, {f.name: by_seed[f.name] for f in found}
