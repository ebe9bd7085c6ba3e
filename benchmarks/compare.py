"""What the benchmarks share: rounds in turn, ratios that a busy machine distorts least, plain
tables, gates, and a file of what was measured.

Times are processor time of this process, which waiting for a neighbour does not count in. Caches
and the clock rate it does share.
"""

import argparse
import json
import os
import statistics
import sys
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from sinpe.training.machine import describe


@dataclass(frozen=True)
class Gate:
    """Something that must hold. passed: None where a quick look cannot tell."""

    says: str
    passed: bool | None


def in_turn(sides, rounds, seconds):
    """Time callables one after another, round by round: {name: seconds a call, one number a round}.

    sides: {name: callable}. seconds: about how long each is called in a round. Whoever began a
    round is last in the next one, so that a disturbance does not always meet the same side.
    """
    calls, times, names = {}, {name: [] for name in sides}, list(sides)
    for name, side in sides.items():
        side()  # what the first call alone has to do
        start = time.process_time()
        side()
        calls[name] = max(1, round(seconds / max(time.process_time() - start, 1e-9)))
    for _ in range(rounds):
        for name in names:
            start = time.process_time()
            for _ in range(calls[name]):
                sides[name]()
            times[name].append((time.process_time() - start) / calls[name])
        names = [*names[1:], names[0]]
    return times


def times_as_fast(times, one, other):
    """How many times as fast `one` is as `other`: the median over the rounds, each of which saw the
    machine in one state.
    """
    return statistics.median(b / a for a, b in zip(times[one], times[other], strict=True))


_recorded = []  # what `note` was given in this process


def note(work, times, ours):
    """Keep what was measured for the file of --save: for each side its milliseconds, at best and in
    the median round, and how many times as fast each of ours was.
    """
    for side, spent in times.items():
        _recorded.append(
            {
                "work": work,
                "side": side,
                "ms": 1000 * min(spent),
                "ms_median": 1000 * statistics.median(spent),
                "rounds": len(spent),
                "ours_times_as_fast": {mine: times_as_fast(times, mine, side) for mine in ours},
            }
        )


def beside(title, times, ours):
    """Print sides one below the other, each with the ratio to each of ours, and note them."""
    print(title)
    rows = [
        [
            side,
            f"{1000 * min(spent):.3f}",
            *(f"{times_as_fast(times, mine, side):.2f}" for mine in ours),
        ]
        for side, spent in times.items()
    ]
    table(["", "ms, at best", *(f"{mine} is faster ×" for mine in ours)], rows)
    note(title, times, ours)


def table(head, rows):
    """Print rows under a head, the first column to the left and the others to the right."""
    lines = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    for line in lines:
        print(
            "  "
            + line[0].ljust(widths[0])
            + "".join(
                "  " + cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)
            )
        )
    print(flush=True)


def save(path, name, quick, gates):
    """Put what this process measured under its name into the JSON file, beside the others' entries,
    with the machine, its load and the time of day.
    """
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    kept[name] = {
        "machine": {**describe(), "cores": os.cpu_count(), "load": os.getloadavg()},
        "ended": datetime.now(UTC).isoformat(timespec="seconds"),
        "quick": quick,
        "rows": _recorded,
        "gates": [asdict(gate) for gate in gates],
    }
    path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main(about, measure):
    """The command line of a benchmark: measure(quick) prints and returns gates. The exit status is
    1 where one did not hold. --save adds what was measured to a JSON file, one entry a benchmark.
    """
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument(
        "--quick",
        action="store_true",
        help="seconds instead of minutes: shows that it runs, and judges no times",
    )
    parser.add_argument("--save", metavar="FILE", type=Path, help="add what was measured to FILE")
    arguments = parser.parse_args()
    gates = measure(arguments.quick)
    for gate in gates:
        print(
            {True: "  holds     ", False: "  DOES NOT  ", None: "  not judged"}[gate.passed],
            gate.says,
        )
    if arguments.save:
        save(arguments.save, Path(sys.argv[0]).stem, arguments.quick, gates)
    sys.exit(any(gate.passed is False for gate in gates))
