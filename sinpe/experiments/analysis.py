"""From records to what the study says: cells with their spread, and the planned comparisons with verdicts."""

from dataclasses import dataclass
from statistics import fmean

from sinpe.experiments.records import identity
from sinpe.experiments.statistics import Difference, differences, estimate, steps_to_reach


@dataclass(frozen=True)
class Finding:
    """A comparison and its outcome. these, those: the cells that stood for the two sides; seeds: those that both have.

    target: the loss at which the worst run of both sides ends; steps_these, steps_those: mean number of steps to reach it.
    """

    question: str
    name: str
    these: str
    those: str
    seeds: tuple[int, ...]
    difference: Difference
    target: float
    steps_these: float
    steps_those: float


def by_cell(study, records):
    """Records of each cell -> {cell: {seed: record}}; cells without records are there too, empty."""
    found = {}
    for record in records:
        found.setdefault(identity(record["config"]), {})[record["seed"]] = record
    return {cell: found.get(identity(cell.config), {}) for cell in study.cells}


def metric(records, name="test_loss"):
    """One metric of {seed: record}, in the order of the seeds -> list of floats."""
    return [record["metrics"][name] for _, record in sorted(records.items())]


def compare(study, records):
    """Findings for all comparisons of a study whose two sides share at least two seeds, corrected for the number of those with the same question.

    On a side of several cells, the one with the lowest mean validation loss is chosen, and only then its test loss is read.
    """
    cells, pairs = by_cell(study, records), {}
    for comparison in study.comparisons:
        sides = [_best(side, cells) for side in (comparison.these, comparison.those)]
        if all(sides):
            seeds = sorted(set(cells[sides[0]]) & set(cells[sides[1]]))
            if len(seeds) > 1:
                pairs[comparison] = sides, [{seed: cells[cell][seed] for seed in seeds} for cell in sides]
    findings = {}
    for question in {comparison.question for comparison in pairs}:
        asked = [comparison for comparison in pairs if comparison.question == question]
        samples = [[a - b for a, b in zip(*map(metric, pairs[comparison][1]), strict=True)] for comparison in asked]
        findings |= {c: _finding(c, *pairs[c], difference) for c, difference in zip(asked, differences(samples), strict=True)}
    return [findings[comparison] for comparison in pairs]


def paired(study, records, findings):
    """The differences behind findings, seed by seed -> {name of the comparison: {seed: difference}}."""
    cells = {cell.name: found for cell, found in by_cell(study, records).items()}
    return {f.name: {s: cells[f.these][s]["metrics"]["test_loss"] - cells[f.those][s]["metrics"]["test_loss"] for s in f.seeds} for f in findings}


def summary(study, records, name="test_loss"):
    """Mean, interval and spread of a metric for every cell with records -> {cell: Estimate}."""
    return {cell: estimate(metric(found, name)) for cell, found in by_cell(study, records).items() if found}


def _best(side, cells):
    """The cell with the lowest mean validation loss over the seeds that all of them have, or None as long as there is no such seed."""
    seeds = set.intersection(*(set(cells[cell]) for cell in side))
    if not seeds:
        return None
    return min(side, key=lambda cell: fmean(metric({seed: cells[cell][seed] for seed in seeds}, "validation_loss")))


def _finding(comparison, sides, data, difference):
    target = max(record["curve"][-1][1] for side in data for record in side.values())
    steps = [fmean(steps_to_reach(record["curve"], target) for record in side.values()) for side in data]
    return Finding(comparison.question, comparison.name, *(cell.name for cell in sides), tuple(data[0]), difference, target, *steps)
