"""The recorded studies on the command line: python -m sinpe.experiments --help"""

import argparse
import math
import os
import random
import sys

from sinpe.experiments import analysis, far_beside, records
from sinpe.experiments.runner import Failed, run_study
from sinpe.experiments.studies import STUDIES, get_study
from sinpe.experiments.study import core_seconds
from sinpe.experiments.verify import verify


def main(arguments=None):
    """Run, list, show, verify and pack the recorded studies. Returns the exit status."""
    options = _parser().parse_args(arguments)
    try:
        status = options.command(options)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # whoever read the output has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (ValueError, Failed, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        kept = " What was finished is recorded, and the same command goes on from there."
        print(f"\nInterrupted.{kept if options.command is run else ''}", file=sys.stderr)
        return 130


def run(options):
    """run what is missing of a study; interrupted, the same command goes on"""
    made = run_study(
        options.study,
        options.folder,
        seeds=options.seeds,
        only=options.only,
        workers=options.workers,
        scheduler=options.scheduler,
    )
    print(f"{made} runs made, {len(records.load_records(options.study, options.folder))} recorded.")
    return 0


def list_cells(options):
    """list the cells of the studies: runs recorded and planned, and core-minutes"""
    for study in map(get_study, [options.study] if options.study else STUDIES):
        print(f"{study.name}: {' '.join(study.about.split())}\n\n{'cell':72} recorded   core-min")
        there = analysis.by_cell(study, records.load_records(study, options.folder))
        counted = set()
        for cell in study.cells:
            new = [config for config in cell.runs() if config not in counted]
            counted.update(new)
            print(
                f"{cell.name:72} {len(there[cell]):4}/{cell.seeds:<3}"
                f" {sum(map(core_seconds, new)) / 60:10.1f}"
            )
        print(
            f"{f'{len(counted)} runs; one that serves two cells is counted in the first':72} {'':8}"
            f" {sum(map(core_seconds, counted)) / 60:10.1f}"
        )
    return 0


def show(options):
    """show means with 95 % intervals, and the planned comparisons with their verdicts"""
    study = get_study(options.study)
    found = records.load_records(study, options.folder)
    if not found:
        raise _nothing(study, options.folder)
    if study.comparisons:
        _show_comparisons(study, found)
    for quantity in study.quantities:
        _show_lengths(study, found, quantity)
    for cell, there in analysis.by_cell(study, found).items():
        if there and cell in study.uncompared:
            _show_costs(study, found, cell)
    print(
        f"\n{len(found)} records, made in"
        f" {sum(record['environment']['seconds'] for record in found) / 60:.0f} core-minutes."
    )
    return 0


def _show_comparisons(study, found):
    print(f"{'test loss in nats':72}   n    mean  95 % interval")
    for cell, estimate in analysis.summary(study, found).items():
        print(
            f"{cell.name:72} {estimate.n:3} {estimate.mean:7.3f}  {estimate.low:.3f} to"
            f" {estimate.high:.3f}"
        )
    print(
        f"\n{'difference, paired by seed':72}   n    mean  corrected interval  verdict    steps to"
        " one loss"
    )
    listed = analysis.compare(study, found)
    if study.name == "far":
        listed += far_beside.findings(found, records.load_records("length"))[0]
    for finding in listed:
        d = finding.difference
        interval = f"{d.low:+.3f} to {d.high:+.3f}"
        steps = f"{finding.steps_these:.0f} against {finding.steps_those:.0f}"
        if math.isnan(finding.target):  # two numbers of one run
            steps = ""
        print(
            f"{f'{finding.question}: {finding.name}':72} {d.plain.n:3} {d.plain.mean:+7.3f} "
            f" {interval:18}  {d.verdict:9}  {steps}"
        )


def _show_lengths(study, found, quantity):
    """Means at every length, each with the verdict on its difference from the shortest: + higher, -
    lower, = equal, ? undecided.
    """
    changes = analysis.change(study, found, quantity)
    marks = {"higher": "+", "lower": "-", "equal": "=", "undecided": "?"}
    rows = analysis.across(study, found, quantity)
    print(
        f"\n{f'{quantity}: mean; + higher, - lower than at the first, = equal, ? undecided':72}"
        + "".join(f"{n:>10} " for n in next(iter(rows.values()), {}))
    )
    for cell, row in rows.items():
        if not any(row.values()):
            continue
        judged = changes.get(cell, {})
        line = f"{cell.name:72}"
        for n, e in row.items():
            mark = marks[judged[n].verdict] if judged.get(n) else " "
            line += f"{'undefined' if e is None else f'{e.mean:.3f}':>10}{mark}"
        print(line)


def _show_costs(study, found, cell):
    quantities = (
        "parameters",
        "training_seconds",
        "inference_seconds",
        "training_mb",
        "inference_mb",
    )
    columns = [analysis.costs(study, found, quantity)[cell] for quantity in quantities]
    print(
        f"\n{f'{cell.name}, as multiples of no position':72}"
        + "".join(f"{quantity:>18}" for quantity in quantities)
    )
    for method in columns[0]:
        print(f"{method:72}" + "".join(f"{column[method].mean:18.2f}" for column in columns))


def check(options):
    """run a sample of the records again and compare"""
    study = get_study(options.study)
    wanted = {records.identity(cell.config) for cell in study.select(options.only)}
    found = [
        record
        for record in records.load_records(study, options.folder)
        if records.identity(record["config"]) in wanted
    ]
    if not found:
        raise ValueError(
            f"there is nothing to verify in {records.folder_of(study, options.folder)}"
        )
    sample = random.Random(options.draw).sample(found, min(options.sample, len(found)))
    checks = verify(study, sample, options.workers, options.scheduler)
    for c in checks:
        verdict = "yes" if c.good else "NO"
        print(
            f"{c.name}, seed {c.seed}: recorded {c.recorded:.4f}, again {c.again:.4f}, largest"
            f" difference {c.distance:.2g}; {c.kind}: {verdict}"
        )
    print(f"{sum(c.good for c in checks)} of {len(checks)} hold.")
    return 0 if all(c.good for c in checks) else 1


def pack(options):
    """move the records of a study into one small file, once it has run"""
    path = records.pack(options.study, options.folder)
    if path is None:
        raise _nothing(get_study(options.study), options.folder)
    print(f"{len(records.load_records(options.study, options.folder))} records in {path}.")
    return 0


def _nothing(study, folder):
    return ValueError(
        f"nothing is recorded in {records.folder_of(study, folder)} yet: python -m"
        f" sinpe.experiments run {study.name}"
    )


def _parser():
    parser = argparse.ArgumentParser(prog="python -m sinpe.experiments", description=main.__doc__)
    commands = parser.add_subparsers(required=True, metavar="command")
    named = {"run": run, "list": list_cells, "show": show, "verify": check, "pack": pack}
    for name, command in named.items():
        about = command.__doc__
        sub = commands.add_parser(name, help=about.replace("%", "%%"), description=about)
        sub.set_defaults(command=command)
        sub.add_argument(
            "study",
            nargs="?",
            default=None if command is list_cells else next(iter(STUDIES)),
            help=f"one of {', '.join(STUDIES)}",
        )
        sub.add_argument("--folder", help="where the records lie; inside the package by default")
        if command in (run, check):
            sub.add_argument(
                "--only",
                nargs="+",
                default=(),
                metavar="TEXT",
                help="cells with one of these texts in their name, 'width' or 'd 64' say",
            )
            sub.add_argument(
                "--workers",
                type=_positive,
                help="processes on this machine, one thread each; one a core by default",
            )
            sub.add_argument(
                "--scheduler",
                metavar="ADDRESS",
                help=(
                    "address of a Dask scheduler, whose workers run instead, each one run at a time"
                ),
            )
        if command is run:
            sub.add_argument(
                "--seeds",
                type=_positive,
                metavar="N",
                help="seeds a cell, instead of the planned number",
            )
        if command is check:
            sub.add_argument(
                "--sample",
                type=_positive,
                default=3,
                metavar="N",
                help="how many records (default 3)",
            )
            sub.add_argument(
                "--draw",
                type=int,
                default=0,
                metavar="N",
                help="another number draws another sample",
            )
    return parser


def _positive(text):
    value = int(text) if text.isdecimal() else 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be a positive integer, got {text}")
    return value


if __name__ == "__main__":
    sys.exit(main())
