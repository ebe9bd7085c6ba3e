"""The benchmarks run, in their quick form; no time is judged here."""

import json
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from peers import peer

from sinpe import sinusoidal_encoding
from sinpe.experiments.runner import attempt

for name in ("transformers", "x_transformers", "rotary_embedding_torch"):
    peer(name)
pytest.importorskip(
    "distributed",
    reason="the benchmark of a cluster needs distributed: pip install 'sinpe[cluster]'",
)
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "benchmarks"))
cluster, compare, inference, precision, rotary, tables, training = (
    __import__(name)
    for name in ("cluster", "compare", "inference", "precision", "rotary", "tables", "training")
)


def test_precision_holds_in_a_quick_look_too(capsys):
    assert [gate.passed for gate in precision.measure(quick=True)] == [True] * 3
    assert "x-transformers, cast" in capsys.readouterr().out


def test_a_wrong_angle_would_be_seen(monkeypatch, capsys):
    monkeypatch.setattr(
        precision,
        "ours",
        lambda positions, dtype, extension: next(precision.peers(positions, dtype))[1:],
    )
    assert [gate.passed for gate in precision.measure(quick=True)] == [False] * 3


def test_every_rotation_that_is_timed_is_the_same(capsys):
    """Each side of the benchmark takes the gradient of the same function, up to the layout and to
    angles in float32.
    """
    gradients = {name: side() for name, side in rotary.sides(2, 2, 5, 8).items()}
    half = {"sinpe, half", "transformers, Llama", "(transformers, Llama)"}
    for name, (q, k) in gradients.items():
        right_q, right_k = gradients["sinpe, half" if name in half else "sinpe, interleaved"]
        assert (q - right_q).abs().max() < 1e-5 and (k - right_k).abs().max() < 1e-5, name
    assert all(gate.passed is None for gate in rotary.measure(quick=True))


def test_every_table_and_bias_that_is_timed_is_the_same(capsys):
    """Up to angles in float32, to layout and spacing (Whisper, whose columns are the sines and then
    the cosines), and to keys ahead of the query (T5's own code looks at them; both are causal).
    """
    for make, sizes in tables.SMALL.items():
        sides = {name: side() for name, side in make(*sizes).items() if not name.startswith("(")}
        right = torch.as_tensor(next(iter(sides.values())))
        for name, found in sides.items():
            found = torch.as_tensor(found)
            assert found.shape == right.shape, name
            if make is tables.prompt:
                continue
            if make is tables.table and name != "sinpe, module made and read":
                width = sizes[1]
                spacing = "tensor2tensor" if "Whisper" in name else "paper"
                layout = "interleaved" if name.startswith("sinpe") else "concatenated"
                right = torch.from_numpy(
                    sinusoidal_encoding(sizes[0], width, spacing=spacing, layout=layout)
                )
            if make is tables.addition and "Whisper" in name:
                continue
            assert (found - right).abs().max() < 1e-5, name
    assert all(gate.passed is None for gate in tables.measure(quick=True))


def test_what_was_measured_is_saved_with_the_machine(monkeypatch, tmp_path, capsys):
    kept = tmp_path / "kept.json"
    for name in ("first", "second"):
        monkeypatch.setattr(compare, "_recorded", [])
        monkeypatch.setattr(sys, "argv", [f"{name}.py", "--quick", "--save", str(kept)])

        def measure(quick):
            compare.beside("some work", {"ours": [1.0, 2.0], "theirs": [4.0, 2.0]}, ["ours"])
            return [compare.Gate("it holds", None)]

        with pytest.raises(SystemExit):
            compare.main("", measure)
    saved = json.loads(kept.read_text())
    assert list(saved) == ["first", "second"] and saved["first"]["machine"]["processor"]
    assert saved["second"]["rows"][1] == {
        "work": "some work",
        "side": "theirs",
        "ms": 2000.0,
        "ms_median": 3000.0,
        "rounds": 2,
        "ours_times_as_fast": {"ours": 2.5},
    }
    assert saved["first"]["gates"] == [{"says": "it holds", "passed": None}]


def test_every_rotation_of_a_prompt_and_a_step_is_the_same(capsys):
    for start, length in ((0, 5), (1000, 1)):
        turned = {
            (kind, name): call()
            for kind, calls in inference.sides(2, 2, length, 8, start).items()
            for name, call in calls.items()
        }
        for (kind, name), pair in turned.items():
            half = name in ("sinpe, half", "transformers, Llama")
            right = turned["from positions", f"sinpe, {'half' if half else 'interleaved'}"]
            for x, other in zip(pair, right, strict=True):
                x = x.transpose(1, 2) if name == "transformers, GPT-J" else x
                assert (x - other).abs().max() < 1e-3, (kind, name)
    assert all(gate.passed is None for gate in inference.measure(quick=True))


def test_training_is_timed_and_the_study_runs(monkeypatch, capsys):
    # here, not in processes
    monkeypatch.setattr(training, "execute", lambda runs, workers: map(attempt, runs))
    assert [gate.passed for gate in training.measure(quick=True)] == [None] * 3
    assert "sinusoidal" in capsys.readouterr().out


def test_one_worker_and_two_are_given_the_same_runs(monkeypatch, capsys):
    """The cluster itself is that of test_experiments_cluster."""
    asked, sent = [], []
    local = SimpleNamespace(wait_for_workers=asked.append, scheduler_address="here")
    monkeypatch.setattr(cluster, "LocalCluster", lambda n_workers, **_: nullcontext(local))
    monkeypatch.setattr(
        cluster,
        "execute",
        lambda runs, scheduler: (sent.append((len(runs), scheduler)), map(attempt, runs))[1],
    )
    assert [gate.passed for gate in cluster.measure(quick=True)] == [None]
    assert asked == [1, 2] and sent == [(1, "here"), (4, "here"), (2, "here"), (4, "here")]
    assert "Dask, 2 workers" in capsys.readouterr().out


def test_the_exit_status_tells_whether_a_gate_holds(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["bench"])
    for passed, status in ((True, 0), (None, 0), (False, 1)):
        with pytest.raises(SystemExit) as left:
            compare.main(
                "",
                lambda quick, passed=passed: [
                    compare.Gate("so it is", True),
                    compare.Gate("and so", passed),
                ],
            )
        assert left.value.code == status
    assert "DOES NOT   and so" in capsys.readouterr().out


def test_a_ratio_is_the_median_over_rounds():
    assert compare.times_as_fast({"a": [1.0, 1.0, 1.0], "b": [2.0, 100.0, 3.0]}, "a", "b") == 3
    assert {
        name: len(spent)
        for name, spent in compare.in_turn({"a": lambda: None, "b": lambda: None}, 3, 0).items()
    } == {"a": 3, "b": 3}
