"""From records to what the study says: cells with their spread, and the planned comparisons with
verdicts.

study: a name or a Study, as in `load_records`. records: a list of its records, as from there.
ValueError for records of another study, two of the same run, and metrics that are not finite
numbers.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean

from sinpe.experiments.estimates import (
    Difference,
    differences,
    estimate,
    is_number,
    steps_to_reach,
)
from sinpe.experiments.records import identity, is_curve
from sinpe.experiments.studies import get_study
from sinpe.experiments.study import Cell
from sinpe.training.measures import METHODS, numbers, places


@dataclass(frozen=True)
class Finding:
    """A comparison and its outcome. these, those: the cells that stood for the two sides; seeds:
    those that both have.

    target: the loss at which the worst run of both sides ends; steps_these, steps_those: mean
        number of steps to reach it.
    metric: the number whose difference it is.
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
    metric: str = "test_loss"


def by_cell(study, records):
    """Records of each cell -> {cell: {seed: record}}; cells without records are there too,
    empty.
    """
    study = get_study(study)
    names = {identity(cell.config): cell.name for cell in reversed(study.cells)}
    found = {key: {} for key in names}
    for record in _listed(records):
        seed, key = record["seed"], identity(record["config"])
        if key not in found:
            raise ValueError(
                f"records must be those of the study {study.name!r}, got one of"
                f" {record.get('study')!r}, seed {seed}, that is of none of its cells"
            )
        if seed in found[key]:
            raise ValueError(
                f"records must have every run once, got two of {names[key]!r} with seed {seed}"
            )
        for name, value in record["metrics"].items():
            read = [value] if name.endswith("_loss") else numbers(value)
            if not all(map(is_number, read)):
                raise ValueError(
                    f"metrics must be finite numbers, got {name}={value!r} of {names[key]!r} with"
                    f" seed {seed}"
                )
        found[key][seed] = record
    return {cell: found[identity(cell.config)] for cell in study.cells}


def metric(records, name="test_loss"):
    """One metric of {seed: record}, in the order of the seeds -> list of floats. Runs that do not
    have it are left out. Raises ValueError for a name that is no text.
    """
    _check_name(name)
    return [metrics[name] for metrics in _metrics(records) if name in metrics]


def compare(study, records):
    """Findings for all comparisons of a study whose two sides share at least two seeds, corrected
    for the number of those with the same question.

    There is none where one of the sides lacks the metric: a learned table has no loss beyond its
    last row. On a side of several cells, the one with the lowest mean validation loss is chosen,
    and only then its test loss is read.
    """
    study = get_study(study)
    cells, pairs = by_cell(study, records), {}
    for comparison in study.comparisons:
        sides = [_best(side, cells) for side in (comparison.these, comparison.those)]
        if all(sides):
            seeds = sorted(
                set.intersection(
                    *(
                        {
                            s
                            for s, record in cells[side].items()
                            if comparison.metric in record["metrics"]
                        }
                        for side in sides
                    )
                )
            )
            if len(seeds) > 1:
                pairs[comparison] = (
                    sides,
                    [{seed: cells[cell][seed] for seed in seeds} for cell in sides],
                )
    findings = {}
    for question in {comparison.question for comparison in pairs}:
        asked = [comparison for comparison in pairs if comparison.question == question]
        samples = [
            [a - b for a, b in zip(*(metric(side, c.metric) for side in pairs[c][1]), strict=True)]
            for c in asked
        ]
        findings |= {
            c: _finding(c, *pairs[c], difference)
            for c, difference in zip(asked, differences(samples), strict=True)
        }
    return [findings[comparison] for comparison in pairs]


def progress(study, records):
    """How many pairs each planned comparison has, and how many it will have -> {name: (there,
    planned)}. On a side of several cells a pair counts once all of them have its seed.
    """
    study = get_study(study)
    cells, seeds, found = by_cell(study, records), {}, {}
    for config in study.runs():  # what two cells have in common is run once, for the larger one
        seeds.setdefault(identity(config), set()).add(config.seed)
    for comparison in study.comparisons:
        both = comparison.these + comparison.those
        planned = set.intersection(*(seeds[identity(cell.config)] for cell in both))
        found[comparison.name] = len(planned.intersection(*map(cells.get, both))), len(planned)
    return found


def paired(study, records, findings):
    """The differences behind findings, seed by seed -> {name of the comparison: {seed:
    difference}}. Raises ValueError for findings that are none, and for records that lack their
    runs.
    """
    listed = list(findings) if isinstance(findings, Iterable) else [findings]
    if not all(isinstance(f, Finding) for f in listed):
        raise ValueError(
            f"findings must be a list of findings, as compare gives them, got {findings!r:.100}"
        )
    cells = {cell.name: found for cell, found in by_cell(study, records).items()}
    sides = (
        (f, cells.get(side, {}).get(seed))
        for f in listed
        for side in (f.these, f.those)
        for seed in f.seeds
    )
    lost = next(
        (f.name for f, record in sides if record is None or f.metric not in record["metrics"]), None
    )
    if lost is not None:
        raise ValueError(f"the records lack runs that the finding {lost!r} rests on")
    return {
        f.name: {
            s: cells[f.these][s]["metrics"][f.metric] - cells[f.those][s]["metrics"][f.metric]
            for s in f.seeds
        }
        for f in listed
    }


def summary(study, records, name="test_loss"):
    """Mean, interval and spread of a metric for every cell whose records have it -> {cell:
    Estimate}. Raises ValueError if no record has it.
    """
    _check_name(name)
    found = {cell: metric(there, name) for cell, there in by_cell(study, records).items()}
    if records and not any(found.values()):
        raise ValueError(
            "name must be a metric of the records,"
            f" {', '.join(sorted(repr(n) for n in records[0]['metrics']))} or another, got {name!r}"
        )
    return {cell: estimate(values) for cell, values in found.items() if values}


def across(study, records, quantity):
    """A quantity that is measured at several lengths, "windows" say -> {cell: {length: Estimate, or
    None where the method is undefined}}.

    Lengths as in the names of the metrics: characters for "blocks" and "windows", multiples of the
    training length for "accuracy". Raises ValueError for a quantity that the study does not have.
    """
    found, sizes = by_cell(study, records), _sizes(study, records, quantity)
    values = {
        cell: {n: metric(there, f"{quantity}_{n}") for n in sizes}
        for cell, there in found.items()
        if there
    }
    return {
        cell: {n: estimate(v) if v else None for n, v in row.items()}
        for cell, row in values.items()
    }


def change(study, records, quantity, cells=None):
    """The quantity at each longer length minus the same at the shortest, paired by seed and
    corrected for all of them together -> {cell: {length: Difference, or None where the method is
    undefined}}. For a loss, "higher" says: worse than at the training length.

    cells: judge these only, a list of cells of the study. Cells with fewer than two records are
    left out, and so are seeds that lack one of the two. Raises ValueError for a quantity or a cell
    that the study does not have.
    """
    found, (first, *longer) = by_cell(study, records), _sizes(study, records, quantity) or [None]
    cells = list(found) if cells is None else _cells(cells, found)
    there = {cell: runs for cell, runs in found.items() if len(runs) > 1 and cell in cells}
    samples = {
        (cell, n): _rises(runs, f"{quantity}_{first}", f"{quantity}_{n}")
        for cell, runs in there.items()
        for n in longer
    }
    samples = {pair: sample for pair, sample in samples.items() if len(sample) > 1}
    judged = dict(zip(samples, differences(list(samples.values())), strict=True))
    return {cell: {n: judged.get((cell, n)) for n in longer} for cell in there}


def every_pair(study, records, quantity, size, cells=None):
    """Every two cells at one length, the first minus the second, paired by seed and corrected for
    all of them together -> {(cell, other): Difference}.

    cells: take these only, in this order. Two cells that do not share at least two seeds with that
    quantity are left out: a learned table beyond its last row. Raises ValueError for a quantity or
    a cell that the study does not have, and for a size at which no record has the quantity.
    """
    found, name, sizes = (
        by_cell(study, records),
        f"{quantity}_{size}",
        _sizes(study, records, quantity),
    )
    if records and size not in sizes:
        raise ValueError(
            f"size must be one at which the records have {quantity!r},"
            f" {', '.join(map(str, sizes)) or 'here none'}, got {size!r}"
        )
    cells = list(found) if cells is None else _cells(cells, found)
    samples = {(a, b): _gaps(found[a], found[b], name) for a, b in combinations(cells, 2)}
    samples = {two: sample for two, sample in samples.items() if len(sample) > 1}
    return dict(zip(samples, differences(list(samples.values())), strict=True))


def differences_from(study, records, reference, quantity):
    """The planned differences of a quantity from the reference, a cell's name -> {cell: {length:
    Difference, or None where one of the two is undefined}}.

    For a loss, "lower" says: better than the reference. Raises ValueError if nothing is compared
    with that cell.
    """
    study = get_study(study)
    cells = {cell.name: cell for cell in study.cells}
    planned = [
        c
        for c in study.comparisons
        if c.metric.rpartition("_")[0] == quantity
        and [cell.name for cell in c.those] == [reference]
    ]
    if not planned:
        raise ValueError(f"no {quantity!r} of {study.name!r} is compared with {reference!r}")
    found = {
        (f.these, f.metric): f.difference for f in compare(study, records) if f.those == reference
    }
    names = list(dict.fromkeys(c.these[0].name for c in planned))
    sizes = sorted({_size(c.metric) for c in planned})
    return {cells[name]: {n: found.get((name, f"{quantity}_{n}")) for n in sizes} for name in names}


def by_place(study, records, length):
    """Loss by place in a block of that length -> {cell: [(first place, last place, Estimate), …]};
    cells without it are left out.

    Raises ValueError for a length at which no record has it.
    """
    starts = places(length)
    cells, sizes = by_cell(study, records), _measured(records, "position")
    if records and length not in sizes:
        raise ValueError(
            "length must be one at which the records tell the loss by place,"
            f" {', '.join(map(str, sizes)) or 'here none'}, got {length}"
        )
    ends = [*(start - 1 for start in starts[1:]), length - 1]
    found = {
        cell: [
            r["metrics"][f"position_{length}"]
            for r in there.values()
            if f"position_{length}" in r["metrics"]
        ]
        for cell, there in cells.items()
    }
    return {
        cell: list(zip(starts, ends, map(estimate, zip(*rows, strict=True)), strict=True))
        for cell, rows in found.items()
        if rows
    }


def costs(study, records, quantity):
    """What methods cost as multiples of what no position costs -> {cell: {method: Estimate}}.

    quantity: "parameters" | "training_seconds" | "inference_seconds" | "training_mb" |
    "inference_mb". Each record is one ratio, of two numbers that were measured in the same process.
    Raises ValueError for a quantity that the records do not have for every method.
    """
    cells = by_cell(study, records)
    other = next(
        (
            r["metrics"]
            for r in records
            if not isinstance(quantity, str) or not isinstance(r["metrics"].get(quantity), dict)
        ),
        None,
    )
    if other is not None:
        there = (
            ", ".join(repr(name) for name, value in other.items() if isinstance(value, dict))
            or "none"
        )
        raise ValueError(
            f"quantity must be one that is measured for every method, here {there}, got"
            f" {quantity!r}"
        )
    for record in records:
        values, methods = record["metrics"][quantity], records[0]["metrics"][quantity].keys()
        if values.keys() != methods or not values.get("none", 0) > 0:
            raise ValueError(
                f"{quantity!r} must be there for the same methods in all records, and above 0 for"
                f" 'none', got {values} with seed {record['seed']}"
            )
    ratios = {
        cell: [_ratios(record["metrics"][quantity]) for record in found.values()]
        for cell, found in cells.items()
        if found
    }
    return {
        cell: {method: estimate([row[method] for row in rows]) for method in rows[0]}
        for cell, rows in ratios.items()
    }


def _ratios(values):
    return {method: values[method] / values["none"] for method in METHODS if method in values}


def _listed(records):
    """`records`, or ValueError unless they are a list of records."""
    for record in records if isinstance(records, list | tuple) else [None]:
        if not _is_record(record):
            raise ValueError(
                "records must be a list of records, as load_records gives them, got"
                f" {records!r:.100}"
            )
    return records


def _is_record(record):
    """Whether the parts that are read here are there and of the right kinds."""
    if not isinstance(record, dict):
        return False
    config, seed, metrics = map(record.get, ("config", "seed", "metrics"))
    return (
        isinstance(config, dict)
        and isinstance(config.get("model"), dict)
        and type(seed) is int
        and isinstance(metrics, dict)
    )


def _cells(cells, there):
    """`cells`, or ValueError unless they are a list of cells that are there."""
    other = (
        [cell for cell in cells if not isinstance(cell, Cell) or cell not in there]
        if isinstance(cells, list | tuple | set | dict)
        else [cells]
    )
    if other:
        raise ValueError(
            "cells must be a list of cells of the study, got"
            f" {getattr(other[0], 'name', other[0])!r}"
        )
    return cells


def _check_name(name):
    if not isinstance(name, str):
        raise ValueError(f"name must be that of a metric, got {name!r}")


def _metrics(records):
    """The metrics of {seed: record}, in the order of the seeds."""
    if not isinstance(records, dict) or not all(map(_is_record, records.values())):
        raise ValueError(f"records must be a dict {{seed: record}}, got {records!r:.100}")
    return [record["metrics"] for _, record in sorted(records.items())]


def _gaps(these, those, name):
    """A metric of one side minus that of the other, for each seed that both have it of."""
    both = [
        [side[seed]["metrics"] for side in (these, those)]
        for seed in sorted(these.keys() & those.keys())
    ]
    return [a[name] - b[name] for a, b in both if name in a and name in b]


def _rises(records, first, other):
    """One metric minus another, for each run that has both."""
    return [
        metrics[other] - metrics[first]
        for metrics in _metrics(records)
        if first in metrics and other in metrics
    ]


def _sizes(study, records, quantity):
    """The lengths at which any record has the quantity, which must be one of the study's."""
    study = get_study(study)
    if quantity not in study.quantities:
        known = ", ".join(map(repr, study.quantities)) or "here none"
        raise ValueError(
            f"quantity must be one that {study.name!r} has at several lengths, {known}, got"
            f" {quantity!r}"
        )
    return _measured(records, quantity)


def _measured(records, quantity):
    """The lengths at which any record has the quantity."""
    names = {name for record in records for name in record["metrics"]}
    return sorted(
        _size(name)
        for name in names
        if name.rpartition("_")[0] == quantity and name.rpartition("_")[2].isdecimal()
    )


def _size(metric_name):
    return int(metric_name.rpartition("_")[2])


def _best(side, cells):
    """The cell with the lowest mean validation loss over the seeds that all of them have, or None
    as long as there is no such seed.
    """
    seeds = set.intersection(*(set(cells[cell]) for cell in side))
    if not seeds:
        return None

    def loss(cell):
        return fmean(metric({seed: cells[cell][seed] for seed in seeds}, "validation_loss"))

    return min(side, key=loss)


def _finding(comparison, sides, data, difference):
    for record in (record for side in data for record in side.values()):
        if not is_curve(record.get("curve")):
            raise ValueError(
                f"curve must be pairs of a step and a loss, got {record.get('curve')!r:.100} of"
                f" {comparison.name!r} with seed {record['seed']}"
            )
    target = max(record["curve"][-1][1] for side in data for record in side.values())
    steps = [
        fmean(steps_to_reach(record["curve"], target) for record in side.values()) for side in data
    ]
    return Finding(
        comparison.question,
        comparison.name,
        *(cell.name for cell in sides),
        tuple(data[0]),
        difference,
        target,
        *steps,
        comparison.metric,
    )
