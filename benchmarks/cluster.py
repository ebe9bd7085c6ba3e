"""A Dask cluster: how much sooner two workers finish a study than one.

Runs of the recorded study are sent to a scheduler on this machine with one worker of one thread,
then to one with two. Time is that of a clock on the wall, from handing in the runs to the last
record, with the workers up.

    python benchmarks/cluster.py [--quick] [--save FILE]
"""

import os
import time
from dataclasses import replace

from compare import Gate, main, table
from distributed import LocalCluster

from sinpe.experiments.runner import execute
from sinpe.experiments.studies import get_study
from sinpe.transformer import TransformerConfig

RUNS = 8
GAIN = 1.6  # two workers share caches and memory, so not quite 2


def runs(quick):
    comparison = get_study("embedding-scale").comparisons[0]
    seeds = 2 if quick else RUNS // 2
    found = [run for cell in (*comparison.these, *comparison.those) for run in cell.runs(seeds)]
    if quick:
        tiny = TransformerConfig(
            found[0].model.vocab_size, d_model=8, n_layers=1, n_heads=2, d_ff=8
        )
        found = [
            replace(run, model=tiny, steps=2, warmup=1, evaluations=1, evaluation_sequences=1)
            for run in found
        ]
    return found


def seconds(wanted, address):
    start = time.perf_counter()
    for _, record, problem in execute(wanted, scheduler=address):
        assert record is not None, problem
    return time.perf_counter() - start


def on_a_cluster(wanted, workers):
    with LocalCluster(
        n_workers=workers, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        cluster.wait_for_workers(workers)
        first = [
            replace(run, steps=1, warmup=0, evaluations=1, evaluation_sequences=1)
            for run in wanted[:workers]
        ]
        seconds(first, cluster.scheduler_address)  # a worker's first task imports torch
        return seconds(wanted, cluster.scheduler_address)


def measure(quick):
    wanted = runs(quick)
    found = {
        f"Dask, {workers} worker{'s' * (workers > 1)}": on_a_cluster(wanted, workers)
        for workers in (1, 2)
    }
    one, two = found.values()
    print(f"{len(wanted)} runs of {wanted[0].steps} steps, one thread each, {os.cpu_count()} cores")
    table(
        ["where", "seconds", "times as fast"],
        [[name, f"{spent:.1f}", f"{one / spent:.2f}"] for name, spent in found.items()],
    )
    judged = not quick and os.cpu_count() > 1
    return [
        Gate(
            f"two workers are at least {GAIN} times as fast as one ({one / two:.2f})",
            one / two >= GAIN if judged else None,
        )
    ]


if __name__ == "__main__":
    main(__doc__, measure)
