"""The studies `length`, `tasks` and `cost`: complete, paired, affordable; run and resumed like the
first; and what is read from their records.
"""

import copy
import json
import math
import re
from dataclasses import asdict, replace
from statistics import fmean

import pytest
import torch
from tiny_study import cost_study, length_study, tasks_study

from sinpe import relative_position_bucket
from sinpe.experiments import (
    analysis,
    build_position,
    get_study,
    load_records,
    records,
    run_study,
    runner,
)
from sinpe.experiments.__main__ import main
from sinpe.experiments.estimates import differences, estimate
from sinpe.experiments.studies import STUDIED_EXTENSIONS, STUDIES, TASKS
from sinpe.experiments.study import core_seconds
from sinpe.experiments.verify import verify
from sinpe.text import Corpus, english
from sinpe.training import train
from sinpe.training.measures import METHODS, places
from sinpe.transformer import Transformer

LENGTH, TASK, COST = map(get_study, ("length", "tasks", "cost"))


@pytest.fixture(autouse=True, scope="module")
def here():
    """Runs are made in this process, on one thread, and on a text of which there is little
    to read.
    """
    little = Corpus("".join(english().symbols) + english().text[:13_000])
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sinpe.tasks.english", lambda: little)
        patch.setattr(runner, "execute", lambda configs, *_: ((c, train(c), None) for c in configs))
        patch.setattr("sinpe.experiments.verify.execute", runner.execute)
        yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def folders(here, tmp_path_factory):
    """Records of the three tiny studies: {study: folder}."""
    made = {}
    for study in (length_study(), tasks_study(), cost_study()):
        made[study.name] = tmp_path_factory.mktemp(study.name)
        for config in study.runs():
            records.write(made[study.name], {"study": study.name, **train(config)})
    return made


# The plans


SECTIONS = ("method", "extension", "fine-tune")
LATER = {f"{section}, 2000 steps": section for section in SECTIONS}


def test_all_methods_are_read_at_all_lengths_after_the_same_training():
    assert [cell.arm for cell in LENGTH.cells if cell.section == "method"] == list(
        dict.fromkeys(["none", "sinusoidal", *METHODS])
    )
    trainings = {
        (
            c.config.model,
            c.config.task,
            c.config.length,
            c.config.batch_size,
            c.config.steps,
            c.config.learning_rate,
            c.config.warmup,
        )
        for c in LENGTH.cells
        if c.section in SECTIONS
    }
    assert len(trainings) == 1
    assert {cell.config.measure for cell in LENGTH.cells} == {"lengths"}
    model = LENGTH.cells[0].config.model
    assert (model.causal, model.norm, model.tied, model.scale, model.n_layers) == (
        True,
        "pre",
        True,
        None,
        2,
    )
    for n in (64, 128, 256, 512, 1024):
        compared = {
            c.these[0].arm
            for c in LENGTH.comparisons
            if c.question == "method" and c.metric == f"windows_{n}"
        }
        assert compared == set(METHODS) - {"sinusoidal"}
        assert all(
            [cell.arm for cell in c.those] == ["sinusoidal"]
            for c in LENGTH.comparisons
            if c.question == "method"
        )


def test_every_extension_is_read_without_and_with_a_fine_tune_with_plain_rotary_as_the_control():
    untouched = {
        dict(c.config.measure_options)["extension"]
        for c in LENGTH.cells
        if c.section == "extension"
    }
    tuned = [dict(c.config.measure_options) for c in LENGTH.cells if c.section == "fine-tune"]
    assert untouched == set(STUDIED_EXTENSIONS) and {
        options.get("extension") for options in tuned
    } == {
        None,
        *STUDIED_EXTENSIONS,
    }
    assert len({options["tune"] for options in tuned}) == 1
    assert all(
        c.config.position == "rope" for c in LENGTH.cells if c.section in ("extension", "fine-tune")
    )


def test_everything_is_asked_again_after_four_times_the_steps_and_nothing_else_is_changed():
    early = {(cell.section, cell.arm): cell for cell in LENGTH.cells if cell.section in SECTIONS}
    later = {
        (LATER[cell.section], cell.arm): cell for cell in LENGTH.cells if cell.section in LATER
    }
    assert early.keys() == later.keys() and len(early) + len(later) == len(LENGTH.cells) - 1
    for key, cell in early.items():
        assert later[key].config == replace(
            cell.config, steps=4 * cell.config.steps, warmup=4 * cell.config.warmup
        )

    def asked(questions):
        return [
            (c.these[0].arm, c.those[0].arm, c.metric)
            for c in LENGTH.comparisons
            if c.question in questions
        ]

    assert asked(SECTIONS) == asked(LATER)
    assert all(
        c.question == c.these[0].section for c in LENGTH.comparisons if c.question != "steps"
    )
    gained = [c for c in LENGTH.comparisons if c.question == "steps"]
    assert {(c.these[0].arm, c.metric) for c in gained} == {
        (m, f"windows_{n}") for m in METHODS for n in (64, 128, 256, 512, 1024)
    }
    assert all(
        c.those == (early["method", c.these[0].arm],)
        and c.these == (later["method", c.these[0].arm],)
        for c in gained
    )


def test_the_control_of_t5_fills_its_last_bucket_and_the_default_does_not():
    (filled,) = (cell.config for cell in LENGTH.cells if cell.section == "bucket, 2000 steps")
    plain = next(
        cell.config
        for cell in LENGTH.cells
        if (cell.section, cell.arm) == ("method, 2000 steps", "t5")
    )
    assert replace(filled, position_options=()) == plain

    def buckets(places, largest):
        return set(
            relative_position_bucket(
                -torch.arange(places), bidirectional=False, max_distance=largest
            ).tolist()
        )

    assert buckets(1024, 32) == buckets(64, 32) and buckets(1024, 128) - buckets(64, 128) == {
        27,
        28,
        29,
        30,
        31,
    }
    assert {c.those[0].config for c in LENGTH.comparisons if c.these[0].config == filled} == {plain}


def test_all_methods_are_asked_all_tasks_and_only_they_differ():
    assert {(cell.config.task, cell.config.position) for cell in TASK.cells} == {
        (task, method) for task in TASKS for method in METHODS
    }
    for task in TASKS:
        configs = [cell.config for cell in TASK.cells if cell.config.task == task]
        assert (
            len({(c.model, c.length, c.steps, c.batch_size, c.learning_rate) for c in configs}) == 1
        )
    assert "which_more" in TASKS  # the control, which no order helps


def test_all_methods_are_timed_at_three_lengths_with_as_many_tokens_each():
    assert [cell.config.length for cell in COST.cells] == [64, 256, 1024] and COST.alone
    assert {cell.config.length * cell.config.batch_size for cell in COST.cells} == {2048}


@pytest.mark.parametrize("study", [LENGTH, TASK, COST], ids=lambda study: study.name)
def test_names_are_unique_and_every_configuration_can_be_built(study):
    assert len({cell.name for cell in study.cells}) == len(study.cells)
    assert len({c.name for c in study.comparisons}) == len(study.comparisons)
    runs = study.runs()
    assert (
        len({records.name_of(run, run.seed) for run in runs})
        == len(runs)
        == sum(cell.seeds for cell in study.cells)
    )
    assert {cell.seeds for cell in study.cells} == ({3} if study is COST else {5}) and min(
        run.seed for run in runs
    ) == 101
    for cell in study.cells:
        Transformer(cell.config.model, build_position(cell.config))


def test_they_fit_four_core_hours():
    assert (
        sum(core_seconds(run) for study in (LENGTH, TASK, COST) for run in study.runs()) < 4 * 3600
    )


def test_the_estimate_grows_with_what_is_measured():
    by_name = {
        cell.name: core_seconds(cell.config)
        for study in (LENGTH, TASK, COST)
        for cell in study.cells
    }
    assert (
        by_name["method: alibi"]
        > by_name["method: rope"]
        == by_name["extension: rope, yarn"]
        < by_name["fine-tune: rope, yarn, tuned"]
    )
    assert by_name["cost: length 1024"] > by_name["cost: length 64"]


# Running

STUDY_OF = {study.name: study for study in (length_study(), tasks_study(), cost_study())}


@pytest.mark.parametrize("study", STUDY_OF.values(), ids=lambda study: study.name)
def test_it_runs_resumes_and_verifies(study, tmp_path, folders, capsys, monkeypatch):
    monkeypatch.setitem(STUDIES, study.name, lambda: study)
    before = load_records(study, folders[study.name])
    for record in before[1:]:
        records.write(tmp_path, record)
    assert run_study(study, tmp_path) == 1
    assert run_study(study, tmp_path) == 0
    found = load_records(study, tmp_path)
    timeless = [
        [{k: v for k, v in r["metrics"].items() if not k.endswith("_seconds")} for r in rs]
        for rs in (found, before)
    ]
    assert timeless[0] == timeless[1] and [r["curve"] for r in found] == [
        r["curve"] for r in before
    ]
    (check,) = verify(study, found[-1:])
    assert check.good and check.kind == "identical"
    assert main(["show", study.name, "--folder", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert ("undefined" in out) == (study.name != "tiny-cost")
    assert ("as multiples of no position" in out) == (study.name == "tiny-cost")
    assert main(["list", study.name, "--folder", str(tmp_path)]) == 0
    assert (
        main(
            [
                "verify",
                study.name,
                "--folder",
                str(tmp_path),
                "--sample",
                "1",
                "--only",
                study.cells[0].name,
            ]
        )
        == 0
    )
    assert "1 of 1 hold" in capsys.readouterr().out


def test_all_records_together_stay_small(folders, tmp_path):
    """As many numbers as the runs will give, with all their digits."""
    size, number = 0, 1 + math.pi / 3
    for study, tiny in ((LENGTH, "tiny-length"), (TASK, "tiny-tasks"), (COST, "tiny-cost")):
        environment = load_records(STUDY_OF[tiny], folders[tiny])[0]["environment"]
        for config in study.runs():
            metrics = {name: round(number, 5) for name in ("validation_loss", "test_loss")}
            if config.measure == "lengths":
                for n in (64, 128, 256, 512, 1024):
                    metrics |= {
                        f"blocks_{n}": round(number, 5),
                        f"windows_{n}": round(number, 5),
                        f"position_{n}": [round(number, 5)] * len(places(n)),
                    }
            elif config.measure == "multiples":
                metrics |= {f"accuracy_{n}": round(number, 5) for n in (1, 2, 3, 4)}
            else:
                metrics |= {
                    name: dict.fromkeys(METHODS, 1234.567)
                    for name in (
                        "parameters",
                        "training_seconds",
                        "inference_seconds",
                        "training_mb",
                        "inference_mb",
                    )
                }
            curve = [[i * 100, number] for i in range(config.evaluations + 1)]
            record = {
                "study": study.name,
                "config": asdict(config),
                "seed": config.seed,
                "curve": curve,
                "metrics": metrics,
                "environment": environment,
            }
            path = records.write(tmp_path, record)
            size += path.stat().st_size
    assert size < 500_000


def test_runs_that_are_timed_are_made_one_at_a_time(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(
        runner,
        "execute",
        lambda configs, workers, scheduler: asked.append(workers) or (c for c in ()),
    )
    for study, workers in ((cost_study(), None), (cost_study(), 2), (tasks_study(), None)):
        run_study(study, tmp_path / f"{study.name}{workers}", workers=workers)
    assert asked == [1, 2, None]


def test_another_measured_number_is_noticed_but_another_time_is_not(folders):
    study = tasks_study()
    record = next(
        r
        for r in load_records(study, folders[study.name])
        if r["config"]["position"] == "sinusoidal"
    )
    record["metrics"]["accuracy_2"] += 0.1
    (check,) = verify(study, [record])
    assert not check.good
    again = load_records(cost_study(), folders["tiny-cost"])[0]
    again["metrics"]["training_seconds"]["rope"] *= 3
    assert all(check.good for check in verify(cost_study(), [again]))
    again["metrics"]["training_mb"]["rope"] *= 3
    assert not any(check.good for check in verify(cost_study(), [again]))


def test_what_differs_is_named_and_a_study_may_be_too(folders, monkeypatch):
    study = tasks_study()
    monkeypatch.setitem(STUDIES, study.name, lambda: study)

    def again(change):
        record = next(
            r
            for r in load_records(study, folders[study.name])
            if r["config"]["position"] == "sinusoidal"
        )
        change(record)
        (check,) = verify(study.name, [record])
        return check.good, check.kind, check.distance

    assert again(lambda r: None) == (True, "identical", 0.0)
    assert again(lambda r: r["metrics"].update(accuracy_2=0.0)) == (
        False,
        "identical, but accuracy_2",
        0.0,
    )
    assert again(lambda r: r["metrics"].pop("accuracy_3"))[:2] == (
        False,
        "identical, but accuracy_3",
    )
    assert again(lambda r: r["curve"].pop()) == (False, "identical, but curve", math.inf)
    assert again(lambda r: r["curve"].append([9, 1.0])) == (False, "identical, but curve", math.inf)
    assert again(lambda r: (r["environment"].update(torch="1.0"), r["curve"].pop()))[0] is False
    assert again(lambda r: r["environment"].update(torch="1.0"))[::2] == (True, 0.0)


def test_only_records_of_the_study_are_verified_and_a_run_that_fails_is_said(
    folders, monkeypatch, capsys
):
    study = tasks_study()
    with pytest.raises(
        ValueError,
        match="records must be those of the study 'tiny-tasks', got one of 'tiny-length'",
    ):
        verify(study, load_records(length_study(), folders["tiny-length"])[:1])
    for bad in (None, [{}], 5):
        with pytest.raises(ValueError, match="records must be a list of records"):
            verify(study, bad)
    assert verify(study, []) == []
    monkeypatch.setitem(STUDIES, study.name, lambda: study)
    monkeypatch.setattr(
        "sinpe.experiments.verify.execute",
        lambda configs, *_: ((c, None, "OSError: no memory") for c in configs),
    )
    assert main(["verify", study.name, "--folder", str(folders[study.name])]) == 1
    assert re.search(
        r"error: previous: \w+, seed 10\d: OSError: no memory", capsys.readouterr().err
    )


# Reading the records


def made_up(study, metrics):
    """Records of a study with metrics(cell, seed) in the place of measured ones."""
    return [
        {
            "study": study.name,
            "config": json.loads(json.dumps(asdict(cell.config))),
            "seed": config.seed,
            "curve": [[0, 3.0], [10, 2.0]],
            "metrics": {"validation_loss": 2.0, "test_loss": 2.0, **metrics(cell, config.seed)},
            "environment": {"seconds": 1.0},
        }
        for cell in study.cells
        for config in cell.runs()
    ]


def windows(cell, seed):
    """Sinusoids rise by 0.1 a step of length, rotary rises by 0.01, its extension falls by 0.1;
    learned ends at its table.
    """
    rise = {
        "sinusoidal": (0, 0.1, 0.2, 0.3, 0.4),
        "rope": (0, 0.01, 0.019, 0.03, 0.04),
        "ntk-aware": (0, -0.1, -0.2, -0.3, -0.4),
        "learned": (0,),
    }[cell.arm]
    jitter = {101: 0.001, 102: -0.002, 103: 0.0005, 104: 0.002, 105: -0.001}[seed]
    return {f"windows_{4 * 2**i}": 2 + r + jitter * (i + 1) for i, r in enumerate(rise)}


STUDY = length_study(seeds=5)
CELLS = {cell.arm: cell for cell in STUDY.cells}
MADE_UP = made_up(STUDY, windows)


def values(arm, n):
    return [windows(CELLS[arm], seed)[f"windows_{n}"] for seed in range(101, 106)]


def test_a_quantity_across_lengths():
    table = analysis.across(STUDY, MADE_UP, "windows")
    assert list(table) == STUDY.cells and all(
        list(row) == [4, 8, 16, 32, 64] for row in table.values()
    )
    assert table[CELLS["rope"]][16] == estimate(values("rope", 16))
    assert (
        table[CELLS["learned"]][4].n == 5
        and [table[CELLS["learned"]][n] for n in (8, 16, 32, 64)] == [None] * 4
    )
    assert analysis.across(STUDY, [], "windows") == {} and analysis.across(
        STUDY, MADE_UP, "blocks"
    ) == {cell: {} for cell in STUDY.cells}


def test_what_is_worse_than_at_the_training_length():
    found = analysis.change(STUDY, MADE_UP, "windows")
    verdicts = {cell.arm: [d and d.verdict for d in row.values()] for cell, row in found.items()}
    assert verdicts == {
        "sinusoidal": ["higher"] * 4,
        # by 0.01, 0.019, 0.03 and 0.04, against a margin of 0.02
        "rope": ["equal", "undecided", "higher", "higher"],
        "ntk-aware": ["lower"] * 4,
        "learned": [None] * 4,
    }
    samples = [
        [a - b for a, b in zip(values(arm, n), values(arm, 4), strict=True)]
        for arm in ("rope", "sinusoidal", "ntk-aware")
        for n in (8, 16, 32, 64)
    ]
    judged = dict(
        zip(
            [(arm, n) for arm in ("rope", "sinusoidal", "ntk-aware") for n in (8, 16, 32, 64)],
            differences(samples),
            strict=True,
        )
    )
    for (arm, n), difference in judged.items():
        assert found[CELLS[arm]][n] == difference
    alone = analysis.change(STUDY, MADE_UP, "windows", cells=[CELLS["rope"]])
    assert list(alone) == [CELLS["rope"]] and alone[CELLS["rope"]][8].p <= found[CELLS["rope"]][8].p
    assert (
        analysis.change(STUDY, [], "windows") == {}
        and analysis.change(STUDY, MADE_UP[:1], "windows") == {}
    )


def test_every_two_cells_are_judged_together():
    found = analysis.every_pair(STUDY, MADE_UP, "windows", 64)
    there = ["rope", "sinusoidal", "ntk-aware"]  # learned has no such length
    two = [
        (a, b)
        for a in STUDY.cells
        for b in STUDY.cells
        if STUDY.cells.index(a) < STUDY.cells.index(b) and {a.arm, b.arm} <= set(there)
    ]
    assert list(found) == two and len(two) == 3
    samples = [
        [x - y for x, y in zip(values(a.arm, 64), values(b.arm, 64), strict=True)] for a, b in two
    ]
    assert list(found.values()) == differences(samples)
    chosen = [CELLS["sinusoidal"], CELLS["rope"]]
    ((pair, difference),) = analysis.every_pair(STUDY, MADE_UP, "windows", 64, chosen).items()
    assert (
        list(pair) == chosen
        and difference.verdict == "higher"
        and difference.plain.mean == pytest.approx(0.36)
    )
    # seeds in another order, and one that only the other side has: still seed by seed
    shuffled = [r for r in MADE_UP[::-1] if (r["config"]["position"], r["seed"]) != ("rope", 101)]
    ((_, fewer),) = analysis.every_pair(STUDY, shuffled, "windows", 64, chosen).items()
    assert fewer.plain == estimate(
        [a - b for a, b in zip(values("sinusoidal", 64)[1:], values("rope", 64)[1:], strict=True)]
    )
    assert analysis.every_pair(STUDY, [], "windows", 64) == {}
    with pytest.raises(
        ValueError,
        match="size must be one at which the records have 'windows', 4, 8, 16, 32, 64, got 65",
    ):
        analysis.every_pair(STUDY, MADE_UP, "windows", 65)
    with pytest.raises(ValueError, match="cells must be a list of cells of the study, got 'rope'"):
        analysis.every_pair(STUDY, MADE_UP, "windows", 64, ["rope"])
    with pytest.raises(
        ValueError, match=r"cells must be a list of cells of the study, got \['rope"
    ):
        analysis.every_pair(STUDY, MADE_UP, "windows", 64, [["rope"]])
    with pytest.raises(
        ValueError, match=r"records must be a dict \{seed: record\}, got \{1: \[2\]\}"
    ):
        analysis.metric({1: [2]})
    with pytest.raises(ValueError, match="got 'window'"):
        analysis.every_pair(STUDY, MADE_UP, "window", 64)


def test_planned_differences_from_sinusoids_are_paired_and_absent_where_nothing_is_defined():
    table = analysis.differences_from(STUDY, MADE_UP, "method: sinusoidal", "windows")
    assert [cell.arm for cell in table] == ["rope", "learned", "ntk-aware"] and list(
        table[CELLS["rope"]]
    ) == [4, 64]
    assert table[CELLS["learned"]][64] is None and table[CELLS["learned"]][4].verdict == "equal"
    assert table[CELLS["rope"]][64].verdict == "lower" and table[CELLS["rope"]][
        64
    ].plain.mean == pytest.approx(-0.36)
    findings = analysis.compare(STUDY, MADE_UP)
    assert [f.name for f in findings] == [
        c.name for c in STUDY.comparisons if c.name != "learned - sinusoidal, read at 64"
    ]
    rope = next(f for f in findings if f.name == "rope - sinusoidal, read at 64")
    assert rope.metric == "windows_64" and rope.difference == table[CELLS["rope"]][64]
    by_seed = analysis.paired(STUDY, MADE_UP, findings)[rope.name]
    assert list(by_seed.values()) == [
        a - b for a, b in zip(values("rope", 64), values("sinusoidal", 64), strict=True)
    ]
    five = [f.difference for f in findings]  # all five are one question
    samples = [list(analysis.paired(STUDY, MADE_UP, findings)[f.name].values()) for f in findings]
    assert five == differences(samples)
    with pytest.raises(
        ValueError, match="no 'blocks' of 'tiny-length' is compared with 'method: sinusoidal'"
    ):
        analysis.differences_from(STUDY, MADE_UP, "method: sinusoidal", "blocks")
    assert analysis.summary(STUDY, MADE_UP, "windows_64").keys() == {
        CELLS[arm] for arm in ("sinusoidal", "rope", "ntk-aware")
    }


def edited(change, chosen=lambda record: True):
    """The made-up records with change(metrics) on the chosen ones."""
    out = copy.deepcopy(MADE_UP)
    for record in filter(chosen, out):
        change(record["metrics"])
    return out


def is_rope(*seeds):
    return lambda record: (
        record["config"]["position"] == "rope"
        and not record["config"]["measure_options"]
        and record["seed"] in seeds
    )


def test_seeds_that_lack_a_reading_are_left_out_of_its_pairs_and_of_no_other():
    """As many readings at one length as at the other, but of other seeds."""
    holes = edited(lambda m: m.pop("windows_4"), is_rope(103))
    next(filter(is_rope(104), holes))["metrics"].pop("windows_8")
    found = analysis.change(STUDY, holes, "windows", [CELLS["rope"]])[CELLS["rope"]]
    rises = {
        n: dict(
            zip(
                range(101, 106),
                [a - b for a, b in zip(values("rope", n), values("rope", 4), strict=True)],
                strict=True,
            )
        )
        for n in (8, 16)
    }
    assert found[8].plain == estimate(rises[8][seed] for seed in (101, 102, 105))
    assert found[16].plain == estimate(rises[16][seed] for seed in (101, 102, 104, 105))
    alone = edited(lambda m: m.pop("windows_8"), is_rope(102, 103, 104, 105))
    assert analysis.change(STUDY, alone, "windows")[CELLS["rope"]][8] is None
    compared = analysis.differences_from(
        STUDY, edited(lambda m: m.pop("windows_64"), is_rope(101)), "method: sinusoidal", "windows"
    )
    assert (compared[CELLS["rope"]][64].plain.n, compared[CELLS["rope"]][4].plain.n) == (4, 5)
    findings = analysis.compare(STUDY, MADE_UP)
    with pytest.raises(
        ValueError, match="lack runs that the finding 'rope - sinusoidal, read at 4'"
    ):
        analysis.paired(STUDY, holes, findings)


def test_the_order_of_the_records_does_not_matter():
    for read in (analysis.across, analysis.change):
        assert read(STUDY, MADE_UP[::-1], "windows") == read(STUDY, MADE_UP, "windows")
    assert analysis.compare(STUDY, MADE_UP[::-1]) == analysis.compare(STUDY, MADE_UP)


READERS = {
    "across": lambda study, records: analysis.across(study, records, "windows"),
    "change": lambda study, records: analysis.change(study, records, "windows"),
    "compare": analysis.compare,
    "differences_from": lambda study, records: analysis.differences_from(
        study, records, "method: sinusoidal", "windows"
    ),
    "summary": analysis.summary,
    "by_place": lambda study, records: analysis.by_place(study, records, 8),
    "costs": lambda study, records: analysis.costs(study, records, "parameters"),
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_records_that_are_none_foreign_double_or_not_finite_are_refused_by_name(read):
    some = {"config": {"model": {}}, "seed": 101, "metrics": {}}
    for bad in (
        *(None, 3, "abc", {}, [1], [{}], iter(MADE_UP)),
        *([{**some, key: value}] for key in some for value in (None, 5.0, True)),
        [{**some, "config": {}}],
    ):
        with pytest.raises(
            ValueError, match="records must be a list of records, as load_records gives them, got"
        ):
            read(STUDY, bad)
    foreign = made_up(tasks_study(), lambda cell, seed: {})
    with pytest.raises(
        ValueError,
        match="records must be those of the study 'tiny-length', got one of 'tiny-tasks', seed 101",
    ):
        read(STUDY, MADE_UP + foreign)
    with pytest.raises(
        ValueError,
        match="records must have every run once, got two of 'method: rope' with seed 103",
    ):
        read(STUDY, MADE_UP + [record for record in MADE_UP if is_rope(103)(record)])
    for bad in (
        math.nan,
        math.inf,
        "2.0",
        None,
        True,
        10**400,
        [1.0, math.nan],
        {"none": -math.inf},
    ):
        with pytest.raises(
            ValueError,
            match=(
                r"metrics must be finite numbers, got windows_8=.* of 'method: rope' with seed 102"
            ),
        ):
            read(
                STUDY, edited(lambda metrics, bad=bad: metrics.update(windows_8=bad), is_rope(102))
            )


def test_names_of_quantities_cells_and_metrics_that_are_not_there_are_refused():
    for bad in ("window", "position", None, ["windows"], ""):
        for read in (analysis.across, analysis.change):
            with pytest.raises(
                ValueError,
                match=(
                    "quantity must be one that 'tiny-length' has .* 'windows', 'blocks', got"
                    f" {re.escape(repr(bad))}"
                ),
            ):
                read(STUDY, MADE_UP, bad)
    with pytest.raises(
        ValueError, match="quantity must be one that 'tiny-cost' has at several lengths, here none"
    ):
        analysis.across(cost_study(), [], "windows")
    foreign = tasks_study().cells[0]
    for bad, said in (
        (["method: rope"], "method: rope"),
        (CELLS["rope"], "method: rope"),
        ("rope", "rope"),
        (3, 3),
        ([foreign], foreign.name),
    ):
        with pytest.raises(
            ValueError, match=f"cells must be a list of cells of the study, got {said!r}"
        ):
            analysis.change(STUDY, MADE_UP, "windows", bad)
    assert (
        analysis.change(STUDY, MADE_UP, "windows", []) == {} == analysis.summary(STUDY, [], "loss")
    )
    with pytest.raises(
        ValueError, match="name must be a metric of the records, 'test_loss', .* got 'loss'"
    ):
        analysis.summary(STUDY, MADE_UP, "loss")
    placed = edited(lambda metrics: metrics.update(position_8=[1.0, 2.0, 3.0, 4.0]))
    with pytest.raises(
        ValueError,
        match="length must be one at which the records tell the loss by place, 8, got 16",
    ):
        analysis.by_place(STUDY, placed, 16)
    for bad in (0, -8, "8", 8.0, True, None):
        with pytest.raises(ValueError, match=f"length must be a positive integer, got {bad!r}"):
            analysis.by_place(STUDY, placed, bad)
    for bad in (None, 3, ["length"], {}, "Length"):
        with pytest.raises(ValueError, match=f"study must be one of .* got {re.escape(repr(bad))}"):
            analysis.across(bad, MADE_UP, "windows")


def test_loss_by_place():
    made = made_up(
        STUDY,
        lambda cell, seed: {} if cell.arm == "learned" else {"position_8": [seed, 2.0, 3.0, 4.0]},
    )
    table = analysis.by_place(STUDY, made, 8)
    assert set(table) == set(CELLS.values()) - {CELLS["learned"]}
    assert [(first, last) for first, last, _ in table[CELLS["rope"]]] == [
        (0, 0),
        (1, 1),
        (2, 3),
        (4, 7),
    ]
    assert [e.mean for _, _, e in table[CELLS["rope"]]] == [103, 2, 3, 4] and table[CELLS["rope"]][
        0
    ][2].n == 5


def test_costs_are_ratios_within_a_record():
    study = cost_study(seeds=3)
    made = made_up(
        study,
        lambda cell, seed: {"training_seconds": {"none": float(seed), "alibi": seed * (seed - 99)}},
    )
    ((cell, table),) = analysis.costs(study, made, "training_seconds").items()
    assert (
        cell == study.cells[0]
        and table["none"].mean == 1
        and table["alibi"].mean == pytest.approx(fmean((2, 3, 4)))
    )
    assert table["alibi"].low < 2 and not math.isinf(table["alibi"].high)
    for bad in ("seconds", None, ["training_seconds"], "test_loss"):
        with pytest.raises(
            ValueError,
            match=(
                "quantity must be one that is measured for every method, here 'training_seconds',"
                f" got {re.escape(repr(bad))}"
            ),
        ):
            analysis.costs(study, made, bad)


@pytest.mark.parametrize("odd", [{"none": 0.0, "alibi": 2.0}, {"alibi": 2.0}, {"none": 1.0}, {}])
@pytest.mark.parametrize("place", [0, 2])
def test_costs_without_the_cost_of_no_position_or_of_one_method_are_refused(odd, place):
    study = cost_study(seeds=3)
    made = made_up(
        study,
        lambda cell, seed: {
            "training_mb": odd if seed == 101 + place else {"none": 1.0, "alibi": 2.0}
        },
    )
    with pytest.raises(
        ValueError,
        match=(
            r"'training_mb' must be there for the same methods in all records, and above 0 for"
            r" 'none', got \{.*seed 10\d"
        ),
    ):
        analysis.costs(study, made, "training_mb")


def test_a_study_may_be_named_and_what_is_lost_is_said():
    assert analysis.compare("length", []) == [] and analysis.summary("length", []) == {}
    findings = analysis.compare(STUDY, MADE_UP)
    with pytest.raises(
        ValueError,
        match=f"the records lack runs that the finding '{re.escape(findings[0].name)}' rests on",
    ):
        analysis.paired(STUDY, [], findings)
    no_size = replace(STUDY, quantities=("test",))  # "test_loss" ends with no length
    assert set(
        map(
            len,
            analysis.across(
                no_size, [{**r, "metrics": {"test_loss": 1.0}} for r in MADE_UP], "test"
            ).values(),
        )
    ) == {0}


def test_accuracies_read_like_losses(folders):
    study = tasks_study()
    found = load_records(study, folders[study.name])
    table = analysis.across(study, found, "accuracy")
    sinusoidal, learned = (
        next(cell for cell in study.cells if cell.arm == arm) for arm in ("sinusoidal", "learned")
    )
    assert list(table[sinusoidal]) == [1, 2, 3, 4] and table[learned][2] is None
    assert table[sinusoidal][4] == estimate(
        [r["metrics"]["accuracy_4"] for r in found if r["config"]["position"] == "sinusoidal"]
    )
