"""Training: a frozen configuration in, one record out, the same record every time."""

import json
import math
import re
import signal
import subprocess
import sys
from dataclasses import FrozenInstanceError

import pytest
import torch

from sinpe import NoPosition, SinusoidalEncoding, TransformerConfig
from sinpe.experiments import build_position
from sinpe.tasks import IGNORE, WhichFirst
from sinpe.text import english
from sinpe.training import Run, RunConfig, train
from sinpe.training.loop import _loss, _schedule


def small(**changes):
    model = TransformerConfig(
        WhichFirst().vocab_size, d_model=16, n_layers=1, n_heads=2, d_ff=32, causal=False
    )
    return RunConfig(
        **{
            "model": model,
            "task": "which_first",
            "length": 6,
            "batch_size": 16,
            "steps": 12,
            "evaluations": 3,
            "warmup": 2,
            **changes,
        }
    )


def test_the_record_is_complete_and_plain():
    record = train(small())
    assert json.loads(json.dumps(record)) == json.loads(json.dumps(record, default=str))
    assert set(record) == {"config", "seed", "curve", "metrics", "environment"}
    assert [step for step, _ in record["curve"]] == [0, 4, 8, 12]
    assert set(record["metrics"]) == {
        "validation_loss",
        "validation_accuracy",
        "test_loss",
        "test_accuracy",
    }
    assert (
        record["environment"]["threads"] == torch.get_num_threads()
        and record["environment"]["seconds"] > 0
    )
    assert record["config"]["model"]["d_model"] == 16


def test_the_same_config_gives_the_same_curve_to_the_last_digit_whatever_ran_before():
    first = train(small())
    torch.rand(100)
    train(small(seed=1))
    again = train(small())
    assert first["curve"] == again["curve"] and first["metrics"] == again["metrics"]
    assert first["curve"] != train(small(seed=1))["curve"]


def test_evaluation_data_are_shared_by_all_seeds_and_differ_between_splits():
    a, b = Run(small(seed=0)), Run(small(seed=9))
    for (x, _), (y, _) in zip(a.held_out("test"), b.held_out("test"), strict=True):
        assert torch.equal(x, y)
    assert not torch.equal(a.held_out("test")[0][0], a.held_out("validation")[0][0])
    assert sum(len(x) for x, _ in a._validation) == 256
    assert sum(len(x) for x, _ in a.held_out("test")) == 2048


def test_it_learns_what_needs_order_only_with_position():
    options = {"steps": 150, "batch_size": 64, "learning_rate": 5e-3, "length": 5}
    with_position = train(small(**options))["metrics"]["test_accuracy"]
    without = train(small(position="none", **options))["metrics"]["test_accuracy"]
    assert with_position > 0.9
    assert without < 0.65


def test_ignored_targets_do_not_count():
    logits, targets = torch.randn(2, 3, 5), torch.full((2, 3), IGNORE)
    targets[0, 1] = 4
    expected = -logits[0, 1].log_softmax(-1)[4]
    assert torch.allclose(_loss(logits, targets), expected)
    changed = logits.clone()
    changed[1] += torch.randn(3, 5)
    assert torch.allclose(_loss(changed, targets), expected)


def test_evaluate_is_the_mean_over_targets():
    run = Run(small())
    data = run.held_out("test")
    with torch.no_grad():
        losses = torch.cat(
            [-run.model(x)[:, -1].log_softmax(-1).gather(1, y[:, -1:]) for x, y in data]
        )
        hits = torch.cat([run.model(x)[:, -1].argmax(-1) == y[:, -1] for x, y in data])
    assert run.evaluate(data)["loss"] == pytest.approx(losses.mean().item(), rel=1e-5)
    assert run.evaluate(data)["accuracy"] == pytest.approx(hits.float().mean().item())


def test_final_numbers_on_text_read_all_whole_sequences_of_the_split():
    corpus = english()
    model = TransformerConfig(corpus.vocab_size, d_model=16, n_layers=1, n_heads=2, d_ff=32)
    run = Run(RunConfig(model, length=64, evaluation_sequences=4))
    tokens = torch.cat([x for x, _ in run.held_out("test")])
    assert torch.equal(tokens.flatten(), corpus.split("test")[: tokens.numel()])
    # a target is the token after, so the last sequence ends before the last token at the latest
    assert 1 <= corpus.split("test").numel() - tokens.numel() <= 64
    assert sum(len(x) for x, _ in run._validation) == 4


def test_held_out_sequences_have_the_length_that_is_asked_for():
    run = Run(small())
    assert [run.held_out("test", 2, n)[0][0].shape[1] for n in (None, 6, 9)] == [6, 6, 9]
    for name, bad in (("length", 0), ("length", True), ("length", -1), ("sequences", 0)):
        with pytest.raises(ValueError, match=f"{name} must be a positive integer, got {bad}"):
            run.held_out("test", **{name: bad})


def test_a_step_takes_the_gradient_of_its_batch_alone_cut_to_length_one():
    """Against torch.autograd.grad, which adds nothing up."""
    run = Run(small(length=12))
    optimizer, weights, cut = run.optimizer(), list(run.model.parameters()), set()
    for tokens, targets in run.held_out("test")[:3]:
        gradients = torch.autograd.grad(_loss(run.model(tokens), targets), weights)
        norm = sum(g.square().sum() for g in gradients).sqrt().item()
        run.step(optimizer, (tokens, targets))
        for weight, gradient in zip(weights, gradients, strict=True):
            assert torch.allclose(weight.grad, gradient / max(1.0, norm), atol=1e-5)
        cut.add(norm > 1)
    assert cut == {True}


def test_what_cannot_be_trained_or_judged_is_refused_by_name():
    run, data = Run(small()), Run(small()).held_out("test")
    for bad in (None, 5, "none"):
        for use in (Run, train):
            with pytest.raises(
                ValueError, match=f"config must be a RunConfig, got {type(bad).__name__}"
            ):
                use(bad)
    for bad in ("gpu", "cuda:99", "meta", None, 5, True):
        for use in (Run, train):
            with pytest.raises(ValueError, match=f"device must be one .*, got {bad!r}"):
                use(small(), device=bad)
    with pytest.raises(ValueError, match="progress must be a function of an iterable, got None"):
        run.fit(None)
    for bad in (None, 5, {}, iter(data)):
        with pytest.raises(ValueError, match="data must be a list of batches, got"):
            run.evaluate(bad)
    tokens, targets = data[0]
    for bad in ((tokens,), (tokens, targets[:, 1:]), (tokens, targets.float()), None, (1, 2)):
        with pytest.raises(ValueError, match="data must .* tokens and "):
            run.evaluate([bad])
        with pytest.raises(ValueError, match="batch must .* tokens and "):
            run.step(run.optimizer(), bad)
    with pytest.raises(ValueError, match=r"targets must be -100 or in 0 … 7, got 8 … 8"):
        run.evaluate([(tokens, torch.full_like(targets, 8))])


def test_more_points_on_the_curve_than_steps_are_one_at_every_step():
    for evaluations in (12, 13, 10**12):
        assert [step for step, _ in Run(small(evaluations=evaluations)).fit().curve] == [*range(13)]


def test_methods_with_weights_do_not_move_the_weights_of_the_model():
    plain, learned = (
        Run(small()).model.state_dict(),
        Run(small(position="learned")).model.state_dict(),
    )
    assert all(torch.equal(plain[name], learned[name]) for name in plain)
    again, other = (Run(small(position="learned", seed=seed)).model.state_dict() for seed in (0, 1))
    (name,) = {name for name in set(learned) - set(plain) if name.startswith("layers.0")}
    assert torch.equal(learned[name], again[name]) and not torch.equal(learned[name], other[name])


def test_the_rate_warms_up_and_falls_to_a_tenth():
    config = small(steps=100, warmup=10)
    rates = [_schedule(step, config) for step in range(1, 101)]
    assert max(rates) == rates[9]
    assert rates[0] == pytest.approx(0.1, rel=0.01)
    assert rates[-1] == pytest.approx(0.1)


def test_a_diverging_run_says_so():
    with pytest.raises(FloatingPointError, match="training loss is (nan|inf) at step"):
        Run(small(learning_rate=1e30, warmup=0)).fit()


@pytest.mark.parametrize("name", ["curve", "log"])
def test_a_record_with_a_number_that_is_not_finite_is_not_made(name, monkeypatch):
    fit = Run.fit

    def spoiled(run, progress):
        fit(run, progress)
        setattr(run, name, {"curve": [(0, 1.0), (1, math.inf)], "log": {"clip": [math.nan]}}[name])
        return run

    monkeypatch.setattr(Run, "fit", spoiled)
    with pytest.raises(FloatingPointError, match=f"the {name} is not finite after .*(inf|nan)"):
        train(small())


def test_positions_are_built_from_names():
    assert isinstance(build_position(small()), SinusoidalEncoding)
    assert isinstance(build_position(small(position="none")), NoPosition)
    assert build_position(small(position_options=(("base", 100.0),))).base == 100
    assert build_position(small(position="learned")).max_len == 6
    assert (
        build_position(
            small(position="learned", position_options=(("max_len", 9), ("init_std", 0.5)))
        ).max_len
        == 9
    )
    with pytest.raises(ValueError, match="position must be one of .* got 'rotary'"):
        build_position(small(position="rotary"))
    with pytest.raises(ValueError, match="position_options .* 'none'"):
        build_position(small(position="none", position_options=(("base", 100.0),)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": None}, "model must be a TransformerConfig, got None"),
        ({"model": {"vocab_size": 8}}, "model must be a TransformerConfig, got {'vocab_size': 8}"),
        ({"steps": 0}, "steps .* 0"),
        ({"batch_size": 2.5}, r"batch_size .* 2\.5"),
        ({"learning_rate": float("nan")}, "learning_rate .* nan"),
        ({"warmup": -1}, "warmup .* -1"),
        ({"seed": True}, "seed .* True"),
        ({"seed": 2**64}, r"seed must be at most 2\^60, got 18446744073709551616"),
        ({"steps": 2**62}, r"steps must be at most 2\^60, got 4611686018427387904"),
        ({"steps": 10**400}, "steps must be at most"),
        ({"task": "sort"}, "task .* 'sort'"),
        ({"task": "next_character"}, "vocab_size"),
        (
            {"measure_options": (("repeats", 3),)},
            "measure_options .*repeats.* do not suit 'held_out'",
        ),
        *(
            (
                {name: bad},
                (
                    rf"{name} must be a tuple of pairs, each of a name and a value, got"
                    rf" {re.escape(repr(bad))}"
                ),
            )
            for name in ("measure_options", "position_options")
            for bad in (
                5,
                None,
                {"base": 5.0},
                [("base", 5.0)],
                (["base", 5.0],),
                ("base", 5.0),
                ((1, 5.0),),
            )
        ),
        ({"measure": "lengths"}, "measure 'lengths' reads text, which task .* has none of"),
    ],
)
def test_bad_configs_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        small(**changes)


def test_a_language_model_must_be_causal_and_a_config_is_frozen():
    with pytest.raises(ValueError, match="needs causal=True"):
        RunConfig(TransformerConfig(english().vocab_size, causal=False))
    with pytest.raises(FrozenInstanceError):
        small().steps = 5


def command(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "sinpe.training", *arguments],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def test_the_command_trains_on_real_text_and_beats_its_baselines():
    done = command("--steps", "60", "--d-model", "64", "--length", "32")
    assert done.returncode == 0, done.stderr
    rows = {line[:26].strip(): float(line.split()[-1]) for line in done.stdout.splitlines()[1:]}
    assert list(rows) == ["uniform", "unigram", "Transformer, sinusoidal"]
    assert rows["Transformer, sinusoidal"] < rows["unigram"] < rows["uniform"]
    assert done.stderr == ""  # the progress bar belongs to a terminal


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--position", "rotary"), "position must be one of"),
        (("--steps", "0"), "steps"),
        (("--d-model", "6"), "d_model=6"),
        (("--d-model", "100000000"), "d_model must leave room: with 100000000 the model takes"),
        (("--seed", "9" * 30), "seed must be at most 2^60, got 999"),
        (("--steps", "1" + "0" * 400), "steps must be at most"),
        (("--length", "1000000000"), "length must be below"),
        # needs options that the command does not have
        (("--position", "yarn"), "'xpos', 'alibi', got 'yarn'"),
    ],
)
def test_the_command_refuses_bad_arguments_in_words(arguments, message):
    done = command(*arguments)
    assert done.returncode == 2
    assert message in done.stderr and "Traceback" not in done.stderr


def test_the_command_can_be_interrupted_and_says_so():
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "training\n"
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=600)
    assert process.returncode == 130
    assert said.strip() == "Interrupted: nothing is kept of a single run."


INTERRUPTED = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background ignores it
from sinpe.training import __main__ as command

def train(config, progress):
    print("training", flush=True)
    time.sleep(600)

command.train = train
sys.exit(command.main([]))
"""


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MemoryError(), "error: not enough memory: try a smaller --d-model or --length"),
        (RuntimeError("can't allocate memory"), "error: not enough memory"),
        (FloatingPointError("the training loss is nan"), "error: the training loss is nan"),
    ],
)
def test_the_command_says_why_a_run_failed(error, words, monkeypatch, capsys):
    from sinpe.training import __main__ as module

    monkeypatch.setattr(module, "train", lambda *_, **__: _raise(error))
    assert module.main([]) == 1
    assert capsys.readouterr().err.startswith(words)


def test_an_error_of_the_program_itself_is_not_hidden(monkeypatch):
    from sinpe.training import __main__ as module

    monkeypatch.setattr(module, "train", lambda *_, **__: _raise(RuntimeError("shapes differ")))
    with pytest.raises(RuntimeError, match="shapes differ"):
        module.main([])


def _raise(error):
    raise error
