"""The study of far tokens: what its task, measures and treatment do, against literal versions, and
what its plan holds.
"""

import math
import re
from dataclasses import replace

import pytest
import torch
from tiny_study import decoder

from sinpe import relative_position_bucket
from sinpe.experiments import build_position, far, far_beside, get_study, load_records, records
from sinpe.experiments.predictions_far import FAR, NOT_SEPARATED, SEEN
from sinpe.experiments.study import core_seconds
from sinpe.tasks import IGNORE, ThreeBack, build_task
from sinpe.training import Run, measures, train
from sinpe.training.measures import METHODS

STUDY, LENGTH = get_study("far"), get_study("length")
BY_NAME = {cell.name: cell for cell in STUDY.cells}

pytestmark = pytest.mark.usefixtures("one_thread")


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


# A passage that is said twice


@pytest.mark.parametrize(
    ("length", "near", "far_", "size"), [(64, 25, 50, 14), (256, 100, 200, 56)]
)
def test_a_passage_is_said_twice_and_all_else_is_the_text(length, near, far_, size):
    task = build_task("repeated_passage")
    text = task.corpus.text
    distances = set()
    tokens, targets = task.batch("train", 200, length, generator())
    assert torch.equal(tokens[:, 1:], targets[:, :-1])
    for row, last in zip(tokens.tolist(), targets[:, -1].tolist(), strict=True):
        said = task.corpus.decode([*row, last])
        for start in range(near, length + 2 - size):
            copy = said[start : start + size]
            found = [
                d
                for d in range(near, min(far_, start) + 1)
                if copy == said[start - d : start - d + size]
            ]
            before, after = map(re.escape, (said[:start], said[start + size :]))
            if found and re.search(f"{before}.{{{size}}}{after}", text, re.DOTALL):
                distances.add(found[0])
                break
        else:
            pytest.fail(f"no passage is said twice in {said!r}")
    assert min(distances) >= near and max(distances) <= far_ and len(distances) > 15


@pytest.mark.parametrize("length", [64, 100, 256])
def test_held_out_ten_characters_of_the_second_copy_are_asked_for(length):
    task = build_task("repeated_passage")
    tokens, second = task.held_out("test", length)
    same, first = task.held_out("test", length, copy=0)
    assert torch.equal(tokens, same) and len(tokens) == 512
    assert not torch.equal(tokens, task.held_out("validation", length)[0])
    for targets in (first, second):
        asked = targets != IGNORE
        assert (asked.sum(1) == 10).all()
        assert torch.equal(targets[:, :-1][asked[:, :-1]], tokens[:, 1:][asked[:, :-1]])
    assert torch.equal(first[first != IGNORE], second[second != IGNORE])
    apart = (second != IGNORE).int().argmax(1) - (first != IGNORE).int().argmax(1)
    assert apart.min() >= length * 25 // 64 and apart.max() <= length * 50 // 64
    # the four before the asked ones are the same in both copies, so that they can be recognised
    for row, a, b in zip(tokens, first, second, strict=True):
        i, j = (int((t != IGNORE).int().argmax()) for t in (a, b))
        assert torch.equal(row[i - 3 : i + 1], row[j - 3 : j + 1])


def test_what_no_passage_can_be_made_of_is_refused():
    task = build_task("repeated_passage")
    with pytest.raises(ValueError, match="length must be at least 64 for a passage, got 63"):
        task.batch("train", 1, 63, generator())
    with pytest.raises(ValueError, match="length must be a positive integer, got '64'"):
        task.batch("train", 1, "64", generator())
    for bad in (2, -1, True, None, 1.0):
        with pytest.raises(ValueError, match=f"copy must be 0 or 1, got {bad!r}"):
            task.held_out("test", 64, copy=bad)
    with pytest.raises(ValueError, match="split must be one of 'validation', 'test', got 'train'"):
        task.held_out("train", 64)


@pytest.mark.parametrize("length", [64, 100, 256])
def test_facts_are_said_once_and_asked_for_later(length):
    """Read off the tokens, one by one."""
    task = build_task("facts")
    text, size = task.corpus.text, task.corpus.vocab_size
    tokens, targets = task.batch("train", 100, length, generator())
    assert task.vocab_size == size + 8 + 64
    distances = []
    for row, asked in zip(tokens.tolist(), targets.tolist(), strict=True):
        questions = [place for place, token in enumerate(row) if size <= token < size + 8]
        facts = [place for place, token in enumerate(row) if token >= size + 8][:8]
        assert questions == list(range(questions[0], questions[0] + 16, 2))
        assert facts == list(range(facts[0], facts[0] + 8)) and facts[-1] < questions[0]
        kinds = [(row[place] - size - 8) // 8 for place in facts]
        assert sorted(kinds) == [
            row[place] - size for place in sorted(questions, key=row.__getitem__)
        ]
        assert sorted(kinds) == list(range(8))
        for place in questions:
            fact = facts[kinds.index(row[place] - size)]
            assert asked[place] == row[place + 1] == row[fact]
            distances.append(place - fact)
        assert [p for p, target in enumerate(asked) if target != IGNORE] == questions
        characters = [
            re.escape(task.corpus.decode([token])) if token < size else "." for token in row
        ]
        assert re.search("".join(characters), text, re.DOTALL)
    assert min(distances) >= 27 * length // 64 - 7 and max(distances) <= 46 * length // 64 + 14
    assert length != 256 or (min(distances) >= 101 and max(distances) <= 198)


def test_held_out_facts_are_fixed_and_short_texts_refused():
    task = build_task("facts")
    (tokens, _), (again, _), (other, _) = (
        task.held_out(split, 64) for split in ("test", "test", "validation")
    )
    assert len(tokens) == 512 and len(task.held_out("test", 64, 5)[0]) == 5
    assert torch.equal(tokens, again) and not torch.equal(tokens, other)
    with pytest.raises(ValueError, match="length must be at least 64 for facts, got 63"):
        task.batch("train", 1, 63, generator())
    with pytest.raises(ValueError, match="split must be one of 'validation', 'test', got 'train'"):
        task.held_out("train", 64)


def test_three_back_asks_for_the_symbol_three_places_before():
    tokens, targets = ThreeBack().batch("train", 5, 9, generator())
    assert (targets[:, :3] == IGNORE).all() and torch.equal(targets[:, 3:], tokens[:, :-3])
    with pytest.raises(ValueError, match="length must be at least 4 for ThreeBack, got 3"):
        ThreeBack().batch("train", 5, 3, generator())


# Measures


def text(**changes):
    return decoder(**{"length": 64, "batch_size": 4, "steps": 3, **changes})


def test_windows_are_those_of_the_study_length():
    """Read by both measures from one training at 64."""
    lengths = (("lengths", (64, 128, 256, 512, 1024)),)
    ours = train(text(measure="windows", measure_options=lengths))["metrics"]
    theirs = train(text(measure="lengths"))["metrics"]
    for n in (64, 128, 256, 512, 1024):
        assert ours[f"windows_{n}"] == theirs[f"windows_{n}"]
    assert ours["own"] == ours["windows_64"]
    assert {k: v for k, v in ours.items() if k.endswith("loss")} == {
        k: v for k, v in theirs.items() if k.endswith("loss")
    }


def test_tuning_is_that_of_the_study_length():
    ours = train(text(measure="windows", measure_options=(("lengths", (256,)), ("tune", 4))))
    theirs = train(text(measure="lengths", measure_options=(("tune", 4),)))
    plain = train(text(measure="windows", measure_options=(("lengths", (256,)),)))
    assert ours["metrics"]["windows_256"] == theirs["metrics"]["windows_256"]
    assert ours["metrics"]["windows_256"] != plain["metrics"]["windows_256"]
    assert ours["metrics"]["own"] == plain["metrics"]["own"]  # before tuning


def test_a_raised_base_turns_the_same_weights_by_other_angles():
    run = Run(text(learning_rate=1e-2, steps=20)).fit()
    plain = measures.windows(run, (64, 256))
    again = measures.windows(run, (64, 256), base=10_000.0)
    assert again == plain
    raised = measures.windows(run, (64, 256), base=500_000.0)
    assert raised["own"] == plain["own"] and raised["windows_256"] != plain["windows_256"]
    other = Run(replace(run.config, position_options=(("base", 500_000.0),)))
    other.model.load_state_dict(run.model.state_dict())
    assert measures.windows(other, (64, 256))["windows_256"] == raised["windows_256"]
    same = run.config.position_options, run.model.layers[0].attention.position.base
    assert same == ((), 10_000)


def test_exact_match_is_what_a_model_says_that_reads_its_own_answers():
    """Copy, symbol by symbol, each answer put in as the next token."""
    run = Run(decoder("copy", "sinusoidal", length=8, steps=400, batch_size=32, learning_rate=1e-2))
    run.fit()
    found = measures.exact(run, (4, 8))
    for n in (4, 8):
        tokens, targets = run.task.held_out("test", n, 1024)
        said = tokens.clone()
        for place in range(n // 2, n - 1):
            with torch.no_grad():
                said[:, place + 1] = run.model(said)[:, place].argmax(-1)
        with torch.no_grad():
            last = run.model(said)[:, -1].argmax(-1)
        answers = torch.cat([said[:, n // 2 + 1 :], last[:, None]], 1)
        right = answers == targets[:, n // 2 :]
        assert found[f"exact_{n}"] == pytest.approx(right.all(1).double().mean().item(), abs=1e-5)
    assert 0 < found["exact_4"] <= found["accuracy_4"] <= 1
    assert found["exact_8"] < found["accuracy_8"]


def test_of_a_passage_the_first_copy_is_told_too():
    run = Run(text(task="repeated_passage"))
    found = measures.exact(run, (64, 128))
    for n in (64, 128):
        for name, copy in (("loss", 1), ("first", 0)):
            data = run.task.held_out("test", n, copy=copy)
            assert found[f"{name}_{n}"] == pytest.approx(run.evaluate([data])["loss"], abs=1e-5)
    plain = measures.exact(Run(decoder("copy", length=8)), (8,))
    assert not any(name.startswith("first") for name in plain)


def test_a_length_beyond_a_learned_table_is_left_out():
    found = measures.exact(Run(decoder("copy", "learned", length=8)), (8, 16))
    assert "exact_8" in found and "exact_16" not in found


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"task": "copy"}, "measure 'windows' reads text, which task 'copy' has none of"),
        ({"options": {"lengths": 64}}, "lengths must be a tuple of them, got 64"),
        ({"options": {"lengths": ()}}, r"lengths must be a tuple of them, got \(\)"),
        ({"options": {"lengths": (63,)}}, "lengths must be even, .* got 63"),
        ({"options": {"lengths": (16_384,)}}, "at most 8192, got 16384"),
        ({"options": {"lengths": (0,)}}, "lengths must be a positive integer, got 0"),
        ({"options": {}}, "do not suit 'windows': missing a required argument: 'lengths'"),
        ({"position": "learned"}, "lengths must be at most those of the learned table, got 128"),
        ({"options": {"tune": -1}}, "tune must be a non-negative integer, got -1"),
        ({"options": {"tune": 2}, "batch_size": 6}, "batch_size must be a multiple of 4"),
        ({"options": {"base": 0}}, "base must be a positive finite number, got 0"),
        (
            {"options": {"base": 10.0}, "position": "alibi"},
            "base is exchanged in a plain rotary model, got the position 'alibi'",
        ),
        (
            {"options": {"base": 10.0}, "position_options": (("base", 10.0),)},
            "base is exchanged in a plain rotary model",
        ),
        ({"measure": "exact", "options": {"lengths": 8}}, "lengths must be a tuple of them, got 8"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_training(changes, message):
    options = changes.pop("options", {"lengths": (128,)})
    if options and "lengths" not in options:
        options["lengths"] = (128,)
    changes = {"measure": "windows", "measure_options": tuple(options.items())} | changes
    with pytest.raises(ValueError, match=message):
        text(**changes)


# The treatment


def test_frozen_positions_stay_and_all_else_moves():
    config = decoder("three_back", "learned", length=8, steps=6)
    frozen = Run(replace(config, treatment="frozen-positions"))
    start = {name: w.clone() for name, w in frozen.model.named_parameters()}
    frozen.fit()
    table = frozen.model.layers[0].attention.position.weight
    assert torch.equal(table, Run(config).model.layers[0].attention.position.weight)
    still = [name for name, w in frozen.model.named_parameters() if torch.equal(w, start[name])]
    assert still and all(".position." in name for name in still)
    free = Run(config).fit()
    assert not torch.equal(free.model.layers[0].attention.position.weight, table)


# The plan


def test_arms_that_stand_beside_those_of_the_study_length_were_trained_like_them():
    """All but what the arm is about, field by field."""
    theirs = {c.arm: c.config for c in LENGTH.cells if c.config.steps == 2000}
    measured = {"measure": "held_out", "measure_options": ()}

    def same(ours, other, **changes):
        assert replace(ours, **measured, **changes) == replace(other, **measured)

    for method in far.SKYLINE:
        options = {"position_options": ()} if method == "t5" else {}
        ours = far.skyline(method).config
        assert ours.length * ours.batch_size == 512 and ours.length == 256
        same(ours, theirs[method], length=64, batch_size=8, **options)
    same(far.filled().config, theirs["t5"], position_options=())
    for factor in far.BASES:
        same(far.raised(factor, 60).config, theirs["rope"])
    for method in METHODS:
        options = {"position_options": ()} if method == "t5" else {}
        for name, times in (("1/3", 1 / 3), ("3", 3)):
            ours = far.rated(method, name).config
            assert ours.learning_rate == pytest.approx(times * 2e-3)
            same(ours, theirs[method], learning_rate=2e-3, **options)
    assert far.extended("yarn", 60).config == theirs["rope, yarn, tuned"]


@pytest.mark.parametrize("length", [64, 256])
def test_a_fitted_t5_has_no_bucket_that_its_training_leaves_empty(length):
    distances = torch.arange(length)
    cell = far.skyline("t5") if length == 256 else far.filled()
    position = build_position(cell.config)
    buckets = relative_position_bucket(
        -distances, bidirectional=False, max_distance=position.max_distance
    )
    assert position.max_distance == length and set(buckets.tolist()) == set(range(32))


def test_every_arm_is_there_with_its_seeds():
    sections = {}
    for cell in STUDY.cells:
        sections.setdefault(cell.section, []).append(cell)
        assert cell.seeds == {"race": 10, "rate": 3}.get(cell.section.split(",")[0], 5)
    assert {name: len(cells) for name, cells in sections.items()} == {
        "skyline": 5,
        "facts": 12,
        "raised base": 8,
        "copy": 9,
        "race, 125 steps": 5,
        "race, 250 steps": 5,
        "passage": 2,
        "rate": 18,
    }
    assert {c.config.position for c in sections["copy"]} == set(METHODS)
    tuned = {dict(c.config.measure_options).get("base") for c in sections["raised base"]}
    assert tuned == {None, 40_000, 130_000, 500_000}
    names = [records.name_of(run, run.seed) for run in STUDY.runs()]
    assert len(set(names)) == len(names) == 5 * 36 + 10 * 10 + 3 * 18


def test_the_race_is_between_codes_of_one_loudness():
    for name in far.RACE:
        config = replace(far.racer(name, 125).config, seed=1)
        code = build_position(config).embed(torch.zeros(1, 32, 32), torch.arange(32))
        assert code.square().mean().sqrt().item() == pytest.approx(math.sqrt(0.5), rel=0.06)


def test_every_prediction_rests_on_planned_comparisons():
    planned = {c.name for c in STUDY.comparisons} | {
        c.name for c in far_beside.beside().comparisons
    }
    within = {f"{m}, trained at 256: read at {n} - at 64" for m in far.SKYLINE for n in (256,)}
    within |= {f"{m}, trained at 256: second copy - first, at 256" for m in far.REPEATED}
    assert [p.number for p in FAR] == list(range(1, 14))
    assert set(SEEN) | set(NOT_SEPARATED) <= {p.number for p in FAR}
    at_64, at_256 = (far.facts("rope", n).config for n in (64, 256))
    assert (at_64.batch_size * 8, at_256.batch_size * 8) == (64, 16)  # questions a step
    for prediction in FAR:
        assert set(prediction.comparisons) <= planned | within, prediction.number


def test_it_fits_three_hours_on_two_cores():
    assert sum(map(core_seconds, STUDY.runs())) < 2 * 3 * 3600


def test_what_is_compared_with_the_study_length_has_records_there():
    """Each side is a cell of one of the two, and a pair has the same seeds."""
    study = far_beside.beside()
    theirs = set(LENGTH.cells)
    for comparison in study.comparisons:
        sides = (*comparison.these, *comparison.those)
        assert any(cell in BY_NAME.values() for cell in sides)
        assert any(cell in theirs for cell in sides) or "t5" in comparison.name
        assert all(cell in theirs or BY_NAME[cell.name] == cell for cell in sides)
    both = {c.name for c in study.comparisons} & {c.name for c in STUDY.comparisons}
    assert not both
    found, by_seed = far_beside.findings([], load_records("length"))
    assert found == [] and by_seed == {}
