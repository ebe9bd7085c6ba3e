"""Running a study: in sequence, in parallel, resumed, interrupted, killed, and with a second runner
beside it: the same records.
"""

import contextlib
import json
import os
import re
import signal
import struct
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from tiny_study import config, die, study

from sinpe.experiments import RecordError, load_records, records, run_study, runner
from sinpe.experiments.runner import Failed, execute
from sinpe.experiments.study import Cell, Comparison, Study
from sinpe.training import train

SCRIPT = Path(__file__).with_name("tiny_study.py")
SLOW = study("slow", seeds=2, steps=300)

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def reference():
    """What the slow study must give: every run made here, in sequence, one after the other."""
    return {records.name_of(c, c.seed): results(train(c)) for c in SLOW.runs()}


def results(record):
    return json.loads(json.dumps([record["curve"], record["metrics"]]))


def recorded(folder, of=SLOW):
    return {
        records.name_of(record["config"], record["seed"]): results(record)
        for record in load_records(of, folder)
    }


@contextlib.contextmanager
def started(folder, *arguments, size="slow", **options):
    """The command line of a tiny study in a process of its own, which never outlives the test."""
    command = [sys.executable, str(SCRIPT), size, "run", "--folder", str(folder), *arguments]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )
    try:
        yield process
    finally:
        with contextlib.suppress(psutil.NoSuchProcess):
            for child in psutil.Process(process.pid).children(recursive=True):
                child.kill()
        process.kill()
        process.communicate()


def wait_for(condition, seconds=300):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)


def workers_of(process):
    """Its living worker processes."""
    return [child for child in psutil.Process(process.pid).children() if is_worker(child)]


def is_worker(child):
    try:
        return child.status() != psutil.STATUS_ZOMBIE and "popen_loky" in " ".join(child.cmdline())
    except psutil.NoSuchProcess:  # it ended while it was asked
        return False


def count(folder):
    return len(list(Path(folder).glob("*.json")))


def test_only_what_is_missing_is_run(tmp_path, monkeypatch):
    made = []
    monkeypatch.setattr(
        runner,
        "execute",
        lambda configs, *_: ((c, made.append(c) or train(c), None) for c in configs),
    )
    assert run_study(study(), tmp_path, seeds=1, only=["position"]) == 2
    assert run_study(study(), tmp_path, seeds=1) == 1
    assert run_study(study(), tmp_path) == 6
    assert run_study(study(), tmp_path) == 0
    assert run_study(study(), tmp_path, seeds=4, only=["off"]) == 1
    assert len(made) == len(set(made)) == 10
    assert made[3:9] == [c for c in study().runs() if c.seed > 101]


def test_a_killed_worker_loses_its_own_run_which_is_repeated(tmp_path, reference):
    with started(tmp_path, "--workers", "2") as process:
        wait_for(lambda: count(tmp_path) >= 1)
        victim, neighbour = workers_of(process)
        victim.kill()
        wait_for(lambda: len(workers_of(process)) == 2 and victim not in workers_of(process))
        assert neighbour in workers_of(process)
        out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert (out, err) == ("6 runs made, 6 recorded.\n", "")
    assert recorded(tmp_path) == reference
    assert all(record["environment"]["threads"] == 1 for record in load_records(SLOW, tmp_path))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no interrupt to one process")
def test_interrupted_it_keeps_what_is_finished_and_goes_on_from_there(tmp_path, reference):
    # a suite that a shell has put into the background ignores interrupts, and would pass that on
    heeds = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    with started(tmp_path, "--workers", "2", **heeds) as process:
        wait_for(lambda: count(tmp_path) >= 2)
        children = workers_of(process)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=300)
        psutil.wait_procs(children, timeout=60)
        assert not any(
            child.is_running() and child.status() != psutil.STATUS_ZOMBIE for child in children
        )
    assert process.returncode == 130
    assert "Interrupted" in err and "Traceback" not in err
    done = recorded(tmp_path)
    assert 2 <= len(done) < 6
    assert run_study(SLOW, tmp_path, workers=1) == 6 - len(done)
    assert recorded(tmp_path) == reference


def test_a_second_runner_is_sent_away_and_one_killed_outright_leaves_whole_records_and_no_process(
    tmp_path,
):
    with started(tmp_path, "--workers", "2") as process:
        wait_for(lambda: count(tmp_path) >= 1)
        with pytest.raises(
            RecordError, match=rf"another runner is at work on {tmp_path} \(process {process.pid}\)"
        ):
            run_study(SLOW, tmp_path)
        children = workers_of(process)
        process.kill()
        process.wait()
        _, alive = psutil.wait_procs(children, timeout=60)
        assert not alive
    assert len(load_records(SLOW, tmp_path)) == count(tmp_path) >= 1
    with records.locked(tmp_path):
        pass


def test_a_run_that_fails_is_named_and_the_others_are_kept(tmp_path):
    good, bad = (
        Cell("a", "good", config(), 2),
        Cell("a", "bad", config(learning_rate=1e30, warmup=0), 1),
    )
    broken = Study("broken", "", (Comparison("a", "good - bad", good, bad),))
    with pytest.raises(
        Failed,
        match=(
            r"1 of 3 runs failed(.|\n)*seed 101(.|\n)*FloatingPointError: the (training|held-out)"
            r" loss is"
        ),
    ):
        run_study(broken, tmp_path, workers=1)
    assert count(tmp_path) == 2


def test_a_run_that_kills_its_process_every_time_is_given_up(monkeypatch):
    monkeypatch.setattr(runner, "attempt", die)
    ((_, record, problem),) = execute([config()], workers=1)
    assert record is None and problem.startswith("its process was killed 3 times")


def test_threads_of_one_process_make_their_runs_one_at_a_time(monkeypatch):
    """As the threads of a Dask worker: two runs at once would draw their weights from one
    stream.
    """
    at_work, most = [], []

    def slowly(config):
        at_work.append(config)
        most.append(len(at_work))
        time.sleep(0.02)
        at_work.remove(config)
        return config.seed

    monkeypatch.setattr(runner, "train", slowly)
    configs = [config(seed=seed) for seed in range(8)]
    with ThreadPoolExecutor(4) as threads:
        assert [record for _, record, _ in threads.map(runner.attempt, configs)] == list(range(8))
    assert set(most) == {1}


def test_a_damaged_folder_is_refused_before_anything_runs(tmp_path):
    (tmp_path / "0123456789abcdef-101.json").write_text("{")
    with pytest.raises(RecordError, match="0123456789abcdef-101.json is not a whole record"):
        run_study(study(), tmp_path, workers=1)
    assert count(tmp_path) == 1


def test_a_study_is_not_continued_on_another_text(tmp_path, monkeypatch):
    from sinpe.text import english
    from sinpe.transformer import TransformerConfig

    model = TransformerConfig(english().vocab_size, d_model=8, n_layers=1, n_heads=2, d_ff=8)
    cell = Cell("text", "tiny", config(model=model, task="next_character", length=512), 2)
    text = Study("text", "", (Comparison("text", "itself", cell, cell),))
    monkeypatch.setattr(
        runner, "execute", lambda configs, *_: ((c, train(c), None) for c in configs)
    )
    run_study(text, tmp_path, seeds=1)
    (path,) = tmp_path.glob("*.json")
    record = load_records(text, tmp_path)[0]
    records.write(
        tmp_path,
        {
            **record,
            "environment": {**record["environment"], "corpus_sha256": "0", "python": "3.99"},
        },
    )
    with pytest.raises(
        RecordError, match=r"made with Python 3\.99, whose English text is another one"
    ):
        run_study(text, tmp_path)
    assert run_study(text, tmp_path, seeds=1) == 0  # nothing to run, nothing to refuse
    path.unlink()
    other = {"environment": {**record["environment"], "corpus_sha256": "0"}}
    monkeypatch.setattr(
        runner, "execute", lambda configs, *_: ((c, {**train(c), **other}, None) for c in configs)
    )
    with pytest.raises(Failed, match="a worker has another English text"):
        run_study(text, tmp_path, seeds=1)
    assert count(tmp_path) == 0


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
def test_the_bar_on_a_terminal_tells_the_time_that_is_left(tmp_path):
    import fcntl
    import pty
    import termios

    screen, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    command = [
        sys.executable,
        str(SCRIPT),
        "quick",
        "run",
        "--folder",
        str(tmp_path),
        "--workers",
        "1",
        "--seeds",
        "1",
    ]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=terminal, check=True, timeout=300)
    os.close(terminal)
    shown = ""
    with contextlib.suppress(OSError):  # the end of a terminal
        while part := os.read(screen, 4096):
            shown += part.decode()
    os.close(screen)
    assert "100%" in shown and " so far, " in shown and " left" in shown


def test_bad_arguments_are_refused(tmp_path):
    with pytest.raises(ValueError, match="workers must be a positive integer, got 0"):
        run_study(study(), tmp_path, workers=0)
    for bad in ("2", 1.5):
        with pytest.raises(ValueError, match=f"workers must be a positive integer, got {bad!r}"):
            run_study(study(), tmp_path, workers=bad)
    for bad in (0, -1, "3"):
        with pytest.raises(ValueError, match=f"seeds must be a positive integer, got {bad!r}"):
            run_study(study(), tmp_path, seeds=bad)
    with pytest.raises(
        ValueError, match="no cell of 'tiny' has 'nobody' in its name. Its sections: position, rate"
    ):
        run_study(study(), tmp_path, only=["nobody"])
    for bad in (3, ["on", 3], b"on", None, ""):
        with pytest.raises(ValueError, match="only must be a text or a list of texts, none empty"):
            run_study(study(), tmp_path, only=bad)
    with pytest.raises(ValueError, match=r"none empty, got \['on', ''\]"):
        run_study(study(), tmp_path, only=["on", ""])  # an unset variable asked for everything
    for bad in (3, b"here", ["a"], ""):
        for call in (run_study, load_records):
            with pytest.raises(
                ValueError, match=f"folder must be a path, got {re.escape(repr(bad))}"
            ):
                call(study(), bad)


def test_bad_arguments_leave_no_folder_behind_and_are_refused_even_where_nothing_is_missing(
    tmp_path, monkeypatch
):
    new = tmp_path / "a" / "b"
    for bad in ({"only": ["nobody"]}, {"seeds": 0}, {"workers": 0}):
        with pytest.raises(ValueError, match="no cell of|must be a positive integer, got 0"):
            run_study(study(), new, **bad)
    assert not new.parent.exists()
    monkeypatch.setattr(
        runner, "execute", lambda configs, *_: ((c, train(c), None) for c in configs)
    )
    run_study(study(), tmp_path, seeds=1)
    with pytest.raises(ValueError, match="workers must be a positive integer, got 'two'"):
        run_study(study(), tmp_path, seeds=1, workers="two")
    # one text is not its letters
    assert study().select("rate") == study().select(["rate"]) and len(study().select("rate")) == 2


def test_a_file_in_the_place_of_a_folder_is_named(tmp_path):
    (tmp_path / "notes").write_text("")
    for call in (run_study, load_records):
        with pytest.raises(RecordError, match="notes is a file, and records lie in a folder"):
            call(study(), tmp_path / "notes")


def test_a_reader_that_goes_away_is_no_error():
    command = [sys.executable, "-m", "sinpe.experiments", "list", "embedding-scale"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()  # as `head` does when it has seen enough
    assert process.stderr.read() == b""
    process.wait(timeout=120)
    process.stderr.close()


def test_huge_numbers_of_seeds_and_workers_take_no_time(tmp_path):
    with pytest.raises(ValueError, match="seeds must be at most 1000 a cell, got 1000000000"):
        run_study(study(), tmp_path / "none", seeds=10**9)
    assert run_study(study(), tmp_path, seeds=1, only=": on", workers=10**9) == 1


@pytest.mark.parametrize("bad", [None, 5, "abc", [1], {}])
def test_what_is_executed_must_be_configurations(bad):
    with pytest.raises(ValueError, match="configs must be a list of RunConfigs, got"):
        list(execute(bad))
