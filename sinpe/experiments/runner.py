"""Running a study: processes on this machine or workers of a Dask cluster, one record at a time,
resumed where it stopped.

Each local process has a pool of its own. In a common pool, one process that is killed takes the
others and their half-finished runs with it.
"""

import contextlib
import logging
import os
import signal
import sys
import threading
import time

import torch
from tqdm import tqdm

from sinpe.experiments import records
from sinpe.experiments.studies import get_study
from sinpe.experiments.study import core_seconds
from sinpe.positions.base import check_size
from sinpe.tasks import build_task, text_of
from sinpe.training import RunConfig, train

SEEDS = 1000  # a cell, at most; it is a list of configurations that is held
ATTEMPTS = 3  # for a run whose process was killed
PATIENCE = 10  # seconds for a scheduler to answer
ALONE = threading.Lock()
TEXTS = {"english": "English", "source": "source"}  # in messages
ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")}


class Failed(RuntimeError):
    """Some runs of a study have no record; the others are kept."""


def run_study(study, folder=None, *, seeds=None, only=(), workers=None, scheduler=None):
    """Run what is missing of a study and write its records. Returns how many runs were made.

    study, folder: as in `load_records`. seeds: how many a cell instead of the planned number. only:
        parts of the names of cells, or one.
    workers: processes on this machine, one thread each; None for one a core, or for one in all
        where runs are timed.
    scheduler: address of a Dask scheduler, whose workers run instead, one run at a time each: start
    one a core, or one a machine where runs are timed. Interrupted or killed, it is run again in the
    same way and goes on. Shows a progress bar on a terminal. Raises RecordError for a damaged
    folder or one in use, Failed at the end naming the runs that could not be made.
    """
    study = get_study(study)
    folder = records.folder_of(study, folder)
    if seeds is not None and check_size("seeds", seeds) > SEEDS:
        raise ValueError(f"seeds must be at most {SEEDS} a cell, got {seeds}")
    wanted = study.runs(seeds, only)
    if workers is not None:
        check_size("workers", workers)
    workers = 1 if workers is None and study.alone else workers
    with records.locked(folder):
        there = records.load_records(study, folder)
        done = {records.name_of(record["config"], record["seed"]) for record in there}
        missing = [config for config in wanted if records.name_of(config, config.seed) not in done]
        texts = _texts_of_records(there, missing)
        failures = []
        with (
            contextlib.closing(execute(missing, workers, scheduler)) as results,
            _bar(wanted, missing) as bar,
        ):
            for config, record, problem in results:
                name = text_of(config.task)
                if (
                    record is not None
                    and name
                    and record["environment"]["corpus_sha256"] != texts[name]
                ):
                    problem = (
                        f"a worker has another {TEXTS[name]} text (Python"
                        f" {record['environment']['python']}); use the same Python everywhere"
                    )
                if problem is None:
                    records.write(folder, {"study": study.name, **record})
                else:
                    failures.append(f"seed {config.seed} of {records.identity(config)}: {problem}")
                bar.update(core_seconds(config))
    if failures:
        raise Failed(
            f"{len(failures)} of {len(missing)} runs failed; the others are recorded.\n"
            + "\n".join(failures)
        )
    return len(missing)


def execute(configs, workers=None, scheduler=None):
    """Yield (config, record or None, None or what went wrong) for each configuration, as they
    finish. Raises ValueError unless configs is a list of RunConfigs, and workers a positive integer
    or None.
    """
    if not isinstance(configs, list | tuple) or not all(isinstance(c, RunConfig) for c in configs):
        raise ValueError(f"configs must be a list of RunConfigs, got {configs!r:.100}")
    if workers is not None:
        check_size("workers", workers)
    if not configs:
        return
    try:
        from joblib import Parallel, delayed, parallel_config
    except ImportError:
        raise ValueError("running a study needs joblib: pip install 'sinpe[cluster]'") from None
    # a process that has nothing to run would be started all the same
    processes = min(workers or os.cpu_count(), len(configs))
    place = _processes(processes) if scheduler is None else _cluster(scheduler)
    with place as (work, options), parallel_config(**options):
        jobs = Parallel(return_as="generator_unordered", batch_size=1, pre_dispatch="all")
        yield from jobs(delayed(work)(config) for config in configs)


def attempt(config):
    """One run on one thread -> (config, record, None), or (config, None, what went wrong).

    One at a time in a process: a Dask worker may have several threads, and torch's generator, from
    which weights come, is the process's own.
    """
    torch.set_num_threads(1)
    try:
        with ALONE:
            return config, train(config), None
    except Exception as error:  # noqa: BLE001 - one bad run must not end the study
        return config, None, f"{type(error).__name__}: {error}"


@contextlib.contextmanager
def _processes(workers):
    """Work in processes of this machine: each thread of joblib drives one process."""
    from concurrent.futures import BrokenExecutor

    from joblib.externals.loky import ProcessPoolExecutor

    mine, pools, lock = threading.local(), [], threading.Lock()

    def work(config):
        for _ in range(ATTEMPTS):
            with lock:
                if pools is None:
                    break
                if getattr(mine, "pool", None) is None:
                    mine.pool = ProcessPoolExecutor(
                        1, initializer=_prepare, initargs=(os.getpid(),), env=ONE_THREAD
                    )
                    pools.append(mine.pool)
            try:
                return mine.pool.submit(attempt, config).result()
            except BrokenExecutor:
                mine.pool = None
        return config, None, f"its process was killed {ATTEMPTS} times (out of memory?)"

    try:
        yield work, {"backend": "threading", "n_jobs": workers}
    finally:
        with lock:
            started, pools = pools, None  # from here on nobody starts another
        for pool in started:
            pool.shutdown(wait=False, kill_workers=True)


def _prepare(parent):
    """In a process: leave Ctrl-C to the runner, and end when it is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch():
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextlib.contextmanager
def _cluster(address):
    """Work on a Dask cluster."""
    try:
        from distributed import Client
        from distributed.comm import get_address_host_port, parse_address
        from joblib._dask import DaskDistributedBackend
    except ImportError:
        raise ValueError(
            "a scheduler needs dask and distributed: pip install 'sinpe[cluster]'"
        ) from None
    if not isinstance(address, str):
        raise ValueError(f"scheduler must be an address, tcp://10.0.0.1:8786 say, got {address!r}")
    try:
        if parse_address(address)[0] not in ("inproc", "ucx"):  # which have no port
            # a client that meets a bad address ends only after a wait, and with a traceback
            get_address_host_port(address)
        client = Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ValueError(f"scheduler {address!r} cannot be reached: {error}") from None

    class Backend(DaskDistributedBackend):
        def effective_n_jobs(self, n_jobs):  # joblib would leave a cluster of one idle and run here
            return max(2, super().effective_n_jobs(n_jobs))

    log = logging.getLogger("distributed.client")
    level = log.level
    log.setLevel(logging.CRITICAL)  # what it would print is said below, in words
    try:
        yield (
            attempt,
            {
                "backend": Backend(client=client, wait_for_workers_timeout=60),
                "n_jobs": -1,
            },
        )
    except Exception as error:  # noqa: BLE001, a cluster fails in many ways
        raise Failed(
            f"the cluster at {address} failed: {error} What was finished is recorded, and the same"
            " command goes on from there."
        ) from None
    finally:
        client.close()
        log.setLevel(level)


def _texts_of_records(there, missing):
    """The fingerprints of this machine's texts that are needed, by name. RecordError if records
    were made on another edition of one.
    """
    texts = {}
    for record in there:
        environment = record["environment"]
        if "corpus_sha256" in environment:
            name = text_of(record["config"]["task"])
            texts[name, environment["corpus_sha256"]] = environment["python"]
    mine = {
        text_of(task): build_task(task).corpus.sha256
        for task in {config.task for config in missing}
        if text_of(task)
    }
    for name, sha256 in mine.items():
        pythons = [python for (other, _), python in texts.items() if other == name]
        if pythons and (name, sha256) not in texts:
            raise records.RecordError(
                f"the records in this folder were made with Python {', '.join(pythons)}, whose"
                f" {TEXTS[name]} text is another one: go on with that release, or in another folder"
            )
    return mine


def _bar(wanted, missing):
    """A bar that counts work, not runs, since a wide model costs a hundred times a narrow one."""
    total, left = (sum(map(core_seconds, configs)) for configs in (wanted, missing))
    layout = "{percentage:3.0f}% |{bar}| {elapsed} so far, {remaining} left"
    return tqdm(
        total=total,
        initial=total - left,
        bar_format=layout,
        smoothing=0,
        disable=not sys.stderr.isatty(),
    )
