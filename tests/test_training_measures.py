"""What is measured after training, against literal versions: token by token, place by place, pair
by pair.
"""

import math
from dataclasses import replace

import pytest
import torch
from tiny_study import decoder

from sinpe.tasks import build_task
from sinpe.training import Run, build_position, machine, measures, train
from sinpe.training.build import EXTENSIONS
from sinpe.training.measures import METHODS, places, token_losses

LENGTHS = (4, 8, 16, 32, 64)

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def rope():
    """A small rotary model, trained a little, and what is measured on it."""
    run = Run(decoder(steps=30, learning_rate=1e-2)).fit()
    return run, measures.lengths(run)


def loss_of(model, context, target):
    """Loss of one token after these, alone."""
    with torch.no_grad():
        return -model(context[None])[0, -1].log_softmax(-1)[target].item()


def test_blocks_and_windows_token_by_token(rope):
    """Every character of the slice once, with the context that its block or window gives it."""
    run, found = rope
    ids = build_task("next_character").corpus.split("test")[: 16 * 64 + 1]
    for n in (4, 32):
        blocks, windows = [], []
        for target in range(1, len(ids)):
            place = (target - 1) % n
            blocks.append(loss_of(run.model, ids[target - 1 - place : target], ids[target]))
            start = 0 if target <= n else (target - 1 - n // 2) // (n // 2) * (n // 2)
            windows.append(loss_of(run.model, ids[start:target], ids[target]))
            assert target - start > (0 if target <= n else n // 2) and target - start <= n
        assert found[f"blocks_{n}"] == pytest.approx(sum(blocks) / len(blocks), abs=2e-5)
        assert found[f"windows_{n}"] == pytest.approx(sum(windows) / len(windows), abs=2e-5)
        by_place = [[] for _ in places(n)]
        for target, loss in enumerate(blocks):
            by_place[(target % n).bit_length()].append(loss)
        assert found[f"position_{n}"] == pytest.approx(
            [sum(losses) / len(losses) for losses in by_place], abs=2e-5
        )


def test_by_place_adds_up_to_the_blocks(rope):
    _, found = rope
    for n in LENGTHS:
        starts = places(n)
        sizes = [end - start for start, end in zip(starts, [*starts[1:], n], strict=True)]
        assert sum(
            s * v for s, v in zip(sizes, found[f"position_{n}"], strict=True)
        ) / n == pytest.approx(found[f"blocks_{n}"], abs=2e-5)
    assert [places(n) for n in (1, 2, 4, 6, 8)] == [
        [0],
        [0, 1],
        [0, 1, 2],
        [0, 1, 2, 4],
        [0, 1, 2, 4],
    ]


def test_windows_are_read_in_passes_of_any_size(rope, monkeypatch):
    run, _ = rope
    ids = torch.arange(100) % 50
    together = token_losses(run.model, ids, 8, 4)
    monkeypatch.setattr(measures, "TOGETHER", 8)
    assert torch.allclose(token_losses(run.model, ids, 8, 4), together, atol=1e-5)
    assert together.shape == ((100 - 1 - 8) // 4 + 1, 8)


def test_a_learned_table_has_no_number_beyond_its_rows():
    found = measures.lengths(Run(decoder(position="learned")))
    assert {name for name in found if name.split("_")[0] in ("blocks", "windows", "position")} == {
        "blocks_4",
        "windows_4",
        "position_4",
    }
    found = measures.multiples(Run(decoder("previous", "learned")))
    assert "accuracy_1" in found and "accuracy_2" not in found
    longer = measures.multiples(
        Run(decoder("previous", "learned", position_options=(("max_len", 8),)))
    )
    assert "accuracy_2" in longer and "accuracy_3" not in longer


@pytest.mark.parametrize(
    "extension", ["position-interpolation", "ntk-aware", "dynamic-ntk", "yarn"]
)
def test_an_extension_is_the_same_weights_under_another_rotation_with_factor_read_over_trained(
    rope, extension
):
    run, plain = rope
    found = measures.lengths(run, extension)
    assert {name: found[name] for name in found if name.endswith("_4")} == {
        name: plain[name] for name in plain if name.endswith("_4")
    }
    assert {name: found[name] for name in found if "test" in name} == {
        name: plain[name] for name in plain if "test" in name
    }
    options = {
        "factor": 16.0,
        **({"original_max_len": 4} if extension in ("dynamic-ntk", "yarn") else {}),
    }
    other = Run(replace(run.config, position=extension, position_options=tuple(options.items())))
    other.model.load_state_dict(run.model.state_dict())
    ids = run.task.corpus.split("test")[: 16 * 64 + 1]
    assert found["blocks_64"] == pytest.approx(
        token_losses(other.model, ids, 64, 64).double().mean().item(), abs=1e-5
    )
    assert found["windows_64"] != plain["windows_64"]


def test_the_papers_dynamic_rule_is_ntk_aware_where_whole_blocks_are_read():
    q, positions = torch.randn(1, 2, 64, 8), torch.arange(64)
    dynamic = build_position(
        decoder(position="dynamic-ntk", position_options=(("factor", 1.0), ("original_max_len", 4)))
    ).rotate
    aware = build_position(
        decoder(position="ntk-aware", position_options=(("factor", 16.0),))
    ).rotate
    q = q[..., :4]
    assert torch.allclose(
        dynamic(q, q, positions, positions)[0], aware(q, q, positions, positions)[0], atol=1e-6
    )


def test_tuning_trains_on_from_the_same_weights_at_four_times_the_length(monkeypatch):
    run = Run(decoder(steps=30, learning_rate=1e-2)).fit()
    before, tuned = {name: w.clone() for name, w in run.model.state_dict().items()}, []
    fit = Run.fit
    monkeypatch.setattr(
        Run,
        "fit",
        lambda self: (
            tuned.append((self, {n: w.clone() for n, w in self.model.state_dict().items()}))
            or fit(self)
        ),
    )
    plain, control, yarn = (
        measures.lengths(run),
        measures.lengths(run, tune=5),
        measures.lengths(run, "yarn", tune=5),
    )
    assert all(torch.equal(w, before[name]) for name, w in run.model.state_dict().items())
    assert [other.config.position for other, _ in tuned] == ["rope", "yarn"]
    for other, start in tuned:
        assert (
            other.config.length,
            other.config.batch_size,
            other.config.steps,
            other.config.learning_rate,
        ) == (16, 1, 5, 2e-3)
        assert start.keys() == before.keys() and all(
            torch.equal(start[name], before[name]) for name in start
        )
        assert not torch.equal(other.model.embedding.table.weight, before["embedding.table.weight"])
    assert tuned[1][0].model.layers[0].attention.position.extension == EXTENSIONS["yarn"](4.0, 4)
    ids = run.task.corpus.split("test")[: 16 * 64 + 1]
    for found, (other, _) in ((control, tuned[0]), (yarn, tuned[1])):
        assert found["blocks_64"] == pytest.approx(
            token_losses(other.model, ids, 64, 64).double().mean().item(), abs=1e-5
        )
        assert found["test_loss"] == plain["test_loss"]


def test_tasks_are_asked_at_one_to_four_times_the_length(monkeypatch):
    monkeypatch.setattr(measures, "SEQUENCES", 40)
    run = Run(decoder("previous", "sinusoidal", steps=60, learning_rate=2e-2)).fit()
    found = measures.multiples(run)
    for factor in (1, 2, 3, 4):
        tokens, targets = run.task.held_out("test", 4 * factor, 40)
        with torch.no_grad():
            hits = [
                int(run.model(row[None])[0, i].argmax() == target)
                for row, t in zip(tokens, targets, strict=True)
                for i, target in enumerate(t)
                if target >= 0
            ]
        assert found[f"accuracy_{factor}"] == pytest.approx(sum(hits) / len(hits), abs=1e-5)
    assert found["accuracy_1"] > found["accuracy_4"]
    assert found["test_loss"] == pytest.approx(run.test()["loss"], abs=1e-5)


def test_cost_covers_every_method_and_counts_what_can_be_counted():
    found = measures.cost(Run(decoder("which_more", "none", length=32, steps=1)), repeats=1)
    for name in (
        "parameters",
        "training_seconds",
        "inference_seconds",
        "training_mb",
        "inference_mb",
    ):
        assert list(found[name]) == list(METHODS)
        assert all(value > 0 for value in found[name].values())
    extra = {
        method: number - found["parameters"]["none"]
        for method, number in found["parameters"].items()
    }
    d, heads, head = 8, 2, 4
    assert extra == {
        **dict.fromkeys(METHODS, 0),
        "learned": 32 * d,
        "shaw": heads * (2 * 16 + 1) * head,
        "transformer-xl": 2 * d + d * d,
        "t5": heads * 32,
    }
    assert all(found["training_mb"][method] > found["inference_mb"][method] for method in METHODS)
    for method in ("shaw", "transformer-xl", "t5", "alibi"):  # a score for every pair
        assert found["training_mb"][method] > found["training_mb"]["none"]


def test_memory_is_counted_as_tensors_come_and_go(capfd):
    def work():
        a = torch.zeros(1000, 250)  # 1 MB
        b = torch.zeros(1000, 500)  # 2 MB
        del a
        c = torch.zeros(1000, 250)
        return b, c

    assert (
        machine.peak_of_tensors(work)
        == machine.peak_of_tensors(work)
        == pytest.approx(3.0, abs=0.01)
    )
    assert capfd.readouterr().err == ""


def test_the_memory_of_a_step_is_the_same_every_time():
    run = Run(decoder("which_more", "alibi", length=16))
    first, again = (measures.cost(run, repeats=1) for _ in range(2))
    for name in ("parameters", "training_mb", "inference_mb"):
        assert first[name] == again[name]


def test_the_default_measures_what_it_always_did():
    config = decoder("which_more", "none", length=8)
    run = Run(config).fit()
    validation, test = run.validation(), run.test()
    metrics = train(config)["metrics"]
    assert metrics == {
        "validation_loss": validation["loss"],
        "validation_accuracy": validation["accuracy"],
        "test_loss": test["loss"],
        "test_accuracy": test["accuracy"],
    }


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"measure_options": (("extension", "longer"),)},
            "extension must be one of .* got 'longer' and 'rope'",
        ),
        (
            {"measure_options": (("extension", "yarn"),), "position": "sinusoidal"},
            "extension must be .* got 'yarn' and 'sinusoidal'",
        ),
        (
            {"measure_options": (("extension", ["yarn"]),)},
            r"extension must be one of .* got \['yarn'\]",
        ),
        # it asks for more than a factor and a length
        (
            {"measure_options": (("extension", "llama3"),)},
            "extension must be one of .* got 'llama3'",
        ),
        (
            {
                "measure_options": (("extension", "yarn"),),
                "position": "yarn",
                "position_options": (("factor", 4.0), ("original_max_len", 4)),
            },
            "got 'yarn' and 'yarn'",
        ),
        (
            {"measure_options": (("extension", "yarn"),), "position_options": (("base", 50.0),)},
            "position_options must be empty .* 'yarn'",
        ),
        (
            {"measure_options": (("tune", 3),), "position": "learned"},
            "tune reads 16 positions, and the learned table of 'learned' has fewer rows",
        ),
        (
            {
                "measure_options": (("tune", 3),),
                "treatment": "scaled-way-in",
                "treatment_options": (("factor", 2.0),),
            },
            "treatment must be 'none' where tune trains on.* got 'scaled-way-in'",
        ),
        (
            {"measure_options": (("tune", 3),), "batch_size": 6},
            "batch_size must be a multiple of 4 .* got 6",
        ),
        *(
            (
                {"measure_options": (("tune", bad),)},
                f"tune must be a non-negative integer, got {bad!r}",
            )
            for bad in (-1, 2.5, "5", True, None)
        ),
        *(({"length": bad}, f"length must be even .* got {bad}") for bad in (1, 3, 5)),
        ({"measure": ["lengths"]}, r"measure must be one of .* got \['lengths'\]"),
        *(
            (
                {"measure": "cost", "measure_options": (("repeats", bad),)},
                f"repeats must be a positive integer, got {bad!r}",
            )
            for bad in (0, "2")
        ),
        (
            {"measure": "cost", "position_options": (("base", 50.0),)},
            "position_options must be empty for measure 'cost'",
        ),
    ],
)
def test_a_reading_that_cannot_be_made_is_refused_before_training(changes, message):
    with pytest.raises(ValueError, match=message):
        decoder(**{"measure": "lengths", **changes})


@pytest.mark.parametrize(("measure", "lengths"), [("lengths", 256), ("multiples", 4)])
def test_a_text_that_is_shorter_than_what_is_read_of_it_is_refused_before_training(
    measure, lengths, monkeypatch
):
    """Each length would read another part of it."""
    there = len(build_task("next_character").corpus.split("test"))
    most = (there - 1) // lengths
    length = 2 * (most // 2 + 1)
    config = decoder(measure=measure, length=length, batch_size=1, steps=1)
    monkeypatch.setattr(Run, "fit", lambda self, *_: pytest.fail("it was trained"))
    message = (
        f"length must be at most {most} for measure {measure!r}, which reads .* of {there} test"
        f" tokens, got {length}"
    )
    with pytest.raises(ValueError, match=message):
        train(config)
    with pytest.raises(ValueError, match=message):
        measures.MEASURES[measure](Run(config))


@pytest.mark.parametrize(
    ("task", "measure", "last"),
    [("next_character", "lengths", "windows_4"), ("previous", "multiples", "accuracy_1")],
)
def test_a_learned_table_that_is_made_louder_still_ends_at_its_last_row(task, measure, last):
    metrics = train(
        decoder(task, "learned", measure=measure, position_options=(("amplitude", 0.5),))
    )["metrics"]
    assert last in metrics and not {"windows_8", "accuracy_2"} & set(metrics)


def test_what_costs_elsewhere_than_on_the_processor_is_not_measured():
    run = Run(decoder("which_more", "none", length=8))
    run.device = "cuda:0"
    with pytest.raises(ValueError, match="device must be 'cpu' for measure 'cost', got 'cuda:0'"):
        measures.cost(run)


def test_data_that_ask_for_nothing_are_refused():
    run = Run(decoder("induction", "none", length=3))
    tokens = torch.zeros(2, 3, dtype=torch.long)
    with pytest.raises(
        ValueError, match="data must ask for something: all targets of its 2 sequences are -100"
    ):
        run.evaluate([(tokens, tokens - 100)])


def test_tuning_keeps_the_options_of_the_method_and_an_extension_refuses_to_drop_them():
    run = Run(decoder(position_options=(("base", 50.0),), measure="lengths"))
    assert measures._with_extension(run, None, 4, length=16).config.position_options == (
        ("base", 50.0),
    )
    with pytest.raises(ValueError, match="position_options must be empty .* 'yarn'"):
        measures.lengths(run, "yarn")


def test_windows_longer_than_the_text_are_refused():
    for length, step, message in (
        (9, 4, "length must be below the 9 tokens that are read, got 9"),
        (4, 0, "step must be a positive integer, got 0"),
    ):
        with pytest.raises(ValueError, match=message):
            token_losses(None, torch.zeros(9, dtype=torch.long), length, step)


@pytest.mark.parametrize(
    "bad", [[1, 2, 3], None, torch.zeros(3, 4, dtype=torch.int64), torch.zeros(9), torch.tensor(3)]
)
def test_ids_of_another_kind_or_shape_are_refused(bad):
    with pytest.raises(ValueError, match=r"ids must be an int64 tensor of shape \(tokens,\), got"):
        token_losses(None, bad, 2, 1)


@pytest.mark.parametrize("bad", [0, -1, 8.0, "8", None, True])
def test_places_of_no_length_are_refused(bad):
    with pytest.raises(ValueError, match=f"length must be a positive integer, got {bad!r}"):
        measures.places(bad)


def test_at_least_one_round_is_timed():
    with pytest.raises(ValueError, match="repeats must be a positive integer, got 0"):
        measures.cost(Run(decoder("which_more", "none", length=8)), repeats=0)


def test_a_measure_that_is_unknown_or_not_finite_is_refused(monkeypatch):
    with pytest.raises(
        ValueError,
        match="measure must be one of 'held_out', .*, 'cost', 'windows', 'exact', got 'speed'",
    ):
        decoder(measure="speed")
    monkeypatch.setitem(
        measures.MEASURES,
        "held_out",
        lambda run: {"test_loss": 1.0, "windows": {"64": [1.0, math.inf]}},
    )
    with pytest.raises(FloatingPointError, match="held-out loss is not finite"):
        train(decoder("which_more", length=8))
