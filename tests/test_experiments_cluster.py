"""The same study on a Dask cluster: a real scheduler and two real workers on this machine, one of
which is killed in the middle.
"""

import json
import re
import signal
import socket
import subprocess
import sys
from importlib.util import find_spec

import pytest
import torch
from test_experiments_runner import SLOW, count, recorded, results, started, wait_for

from sinpe.experiments import load_records, records, run_study, runner
from sinpe.training import train

pytestmark = pytest.mark.skipif(
    find_spec("distributed") is None,
    reason="the cluster tests need distributed: pip install 'sinpe[cluster]'",
)


@pytest.fixture
def cluster(tmp_path):
    """A scheduler and two workers of one thread: (address, scheduler process, [worker
    processes]).
    """
    file, processes = tmp_path / "scheduler.json", []

    def start(kind, *arguments):
        command = [
            sys.executable,
            "-m",
            f"distributed.cli.dask_{kind}",
            "--no-dashboard",
            *arguments,
        ]
        processes.append(
            subprocess.Popen(
                command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
        )
        return processes[-1]

    def address():
        try:
            return json.loads(file.read_text())["address"]
        except (OSError, ValueError):
            return None

    scheduler = start(
        "scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file)
    )
    try:
        wait_for(address)
        yield (
            address(),
            scheduler,
            [
                start("worker", address(), "--nthreads", "1", "--no-nanny", "--host", "127.0.0.1")
                for _ in range(2)
            ],
        )
    finally:
        for process in processes:
            process.kill()
            process.wait()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no interrupt to one process")
def test_a_killed_worker_an_interrupt_and_a_dead_scheduler_lose_nothing_but_unfinished_runs(
    cluster, tmp_path, monkeypatch
):
    address, scheduler, workers = cluster
    folder = tmp_path / "records"
    with started(folder, "--scheduler", address) as process:
        wait_for(lambda: count(folder) >= 2)
        workers[0].kill()
        out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert out == "6 runs made, 6 recorded.\n"
    torch.set_num_threads(1)
    assert recorded(folder) == {records.name_of(c, c.seed): results(train(c)) for c in SLOW.runs()}
    assert all(record["environment"]["threads"] == 1 for record in load_records(SLOW, folder))

    with started(folder, "--scheduler", address, "--seeds", "9") as process:
        wait_for(lambda: count(folder) >= 7)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "Interrupted" in err and "Traceback" not in err
    kept = count(folder)
    assert len(load_records(SLOW, folder)) == kept < 27

    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "2s")
    with started(folder, "--scheduler", address, "--seeds", "9") as process:
        wait_for(lambda: count(folder) > kept)
        scheduler.kill()
        _, err = process.communicate(timeout=300)
    assert process.returncode == 1
    assert f"the cluster at {address} failed" in err and "Traceback" not in err
    assert kept < len(load_records(SLOW, folder)) == count(folder) < 27


def test_a_scheduler_that_does_not_answer_is_said_in_words(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "PATIENCE", 1)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ValueError, match=f"scheduler 'tcp://127.0.0.1:{port}' cannot be reached"):
        run_study(SLOW, tmp_path, scheduler=f"tcp://127.0.0.1:{port}")
    with pytest.raises(ValueError, match="scheduler 'nonsense://x' cannot be reached"):
        run_study(SLOW, tmp_path, scheduler="nonsense://x")


@pytest.mark.parametrize(
    "address",
    ["", " ", "nonsense", "tcp://", "tcp://127.0.0.1", "127.0.0.1:x", "tcp://127.0.0.1:8786/path"],
)
def test_an_address_that_is_none_is_refused_at_once_and_does_not_mean_this_machine(
    address, tmp_path, monkeypatch
):
    """A client that is begun on one ends after 20 seconds, with a traceback."""
    monkeypatch.setattr("distributed.Client", lambda *_, **__: pytest.fail("a client was begun"))
    monkeypatch.setattr(runner, "_processes", lambda *_: pytest.fail("it runs here"))
    with pytest.raises(ValueError, match=f"scheduler '{address}' cannot be reached"):
        run_study(SLOW, tmp_path, scheduler=address)
    assert count(tmp_path) == 0


@pytest.mark.parametrize("bad", [5, True, b"tcp://127.0.0.1:1", ["tcp://127.0.0.1:1"]])
def test_a_scheduler_that_is_no_text_is_refused(bad, tmp_path):
    with pytest.raises(
        ValueError,
        match=f"scheduler must be an address, tcp://10.0.0.1:8786 say, got {re.escape(repr(bad))}",
    ):
        run_study(SLOW, tmp_path, scheduler=bad)
