"""Verifying records: run some of them again and compare."""

import math
from dataclasses import dataclass, replace
from itertools import combinations

from sinpe.experiments.analysis import by_cell
from sinpe.experiments.records import identity, lacking
from sinpe.experiments.runner import Failed, execute
from sinpe.experiments.studies import get_study

# nats: how far rounding alone may move a loss on another processor or another release of torch
TOLERANCE = 0.05
APART = 0.1  # nats: two runs further apart than this must come out in the same order on any text
# what decides the last digit, besides the text
MACHINE = ("system", "processor", "kernels", "device", "threads", "torch", "numpy")


@dataclass(frozen=True)
class Check:
    """One record and its repetition. kind: what is demanded; distance: the largest difference of a
    loss; good: whether the demand is met.
    """

    name: str
    seed: int
    recorded: float
    again: float
    distance: float
    kind: str
    good: bool


def verify(study, sample, workers=None, scheduler=None):
    """Run the configurations of these records again -> one Check each, plus one for each pair of
    runs on another text.

    On the same machine, versions and text, curve and metrics must be identical, but for seconds. On
    another machine every loss at the training length must lie within TOLERANCE.
    On another text numbers cannot be compared: of two runs that were further apart than APART, the
    better one must be the better one again.
    study: a name or a Study, sample: a list of its records, both as in `load_records`. Raises
        Failed if a run fails.
    """
    study = get_study(study)
    cells = {identity(cell.config): cell for cell in reversed(study.cells)}
    by_cell(study, sample)  # for what it refuses
    lack = next(filter(None, map(lacking, sample)), None)
    if lack:
        raise ValueError(f"sample must be whole records, as load_records gives them: {lack}")
    names = {(identity(record["config"]), record["seed"]): record for record in sample}
    configs = [replace(cells[key].config, seed=seed) for key, seed in names]
    checks, other = [], []
    for config, again, problem in execute(configs, workers, scheduler):
        key = identity(config)
        record, name = names[key, config.seed], cells[key].name
        if problem is not None:
            raise Failed(f"{name}, seed {config.seed}: {problem}")
        if record["environment"].get("corpus_sha256") != again["environment"].get("corpus_sha256"):
            other.append((name, record, again))
        else:
            checks.append(_check_same_text(name, record, again))
    return checks + [check for pair in combinations(other, 2) for check in _check_same_order(*pair)]


def _check_same_text(name, record, again):
    before, after = _losses(record), _losses(again)
    distance = max(
        abs(before.get(name, math.inf) - after.get(name, -math.inf)) for name in {**before, **after}
    )
    if all(record["environment"].get(key) == again["environment"][key] for key in MACHINE):
        other = _different(
            {**_timeless(record), "curve": record["curve"]},
            {**_timeless(again), "curve": again["curve"]},
        )
        kind, good = f"identical, but {', '.join(other)}" if other else "identical", not other
    else:
        kind, good = f"within {TOLERANCE} nats (other machine or versions)", distance <= TOLERANCE
    return Check(name, record["seed"], _loss(record), _loss(again), distance, kind, good)


def _check_same_order(one, two):
    (name, record, again), (other_name, other_record, other_again) = one, two
    before, after = _loss(record) - _loss(other_record), _loss(again) - _loss(other_again)
    if abs(before) > APART:
        side = "below" if before < 0 else "above"
        kind = f"{side} {other_name}, seed {other_record['seed']} (other text)"
        losses = _loss(record), _loss(again)
        yield Check(name, record["seed"], *losses, abs(before - after), kind, before * after > 0)


def _timeless(record):
    return {
        name: value for name, value in record["metrics"].items() if not name.endswith("_seconds")
    }


def _different(before, after):
    """The names whose values are not the same."""
    return sorted(
        name
        for name in {**before, **after}
        if name not in before or name not in after or before[name] != after[name]
    )


def _loss(record):
    return record["metrics"]["test_loss"]


def _losses(record):
    """Every loss at the training length, by its step or its name."""
    return {
        **dict(record["curve"]),
        **{name: value for name, value in record["metrics"].items() if name.endswith("loss")},
    }
