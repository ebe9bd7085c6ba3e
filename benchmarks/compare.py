"""What the benchmarks share: rounds in turn, ratios that a busy machine distorts least, plain
tables, and gates.

Times are processor time of this process, which waiting for a neighbour does not count in. Caches
and the clock rate it does share.
"""

import argparse
import statistics
import sys
import time
from dataclasses import dataclass


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


def main(about, measure):
    """The command line of a benchmark: measure(quick) prints and returns gates. The exit status is
    1 where one did not hold.
    """
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument(
        "--quick",
        action="store_true",
        help="seconds instead of minutes: shows that it runs, and judges no times",
    )
    gates = measure(parser.parse_args().quick)
    for gate in gates:
        print(
            {True: "  holds     ", False: "  DOES NOT  ", None: "  not judged"}[gate.passed],
            gate.says,
        )
    sys.exit(any(gate.passed is False for gate in gates))
