"""The planned study: complete, paired, affordable, and the same on every machine."""

import re

import pytest
from tiny_study import config, study

from sinpe.experiments import build_position, get_study, records
from sinpe.experiments.study import Cell, Comparison, Study, core_seconds
from sinpe.transformer import Transformer

SCALE = get_study("embedding-scale")
BY_NAME = {cell.name: cell for cell in SCALE.cells}


def cells(section):
    return [cell for cell in SCALE.cells if cell.section == section]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda cell, one: Cell("a", "b", {"steps": 1}),
            "config must be .* got {'steps'",
        ),
        (
            lambda cell, one: Comparison("q", "n", cell, [cell, "b"]),
            "those must be .* Cells",
        ),
        (lambda cell, one: Comparison("q", "n", None, cell), "these must be .* Cells, got None"),
        (lambda cell, one: Study("n", "", None), "comparisons must be .* Comparisons, got None"),
        (lambda cell, one: Study("n", "", one), "comparisons must be a tuple of Comparisons"),
        (lambda cell, one: Study("n", "", (one,), uncompared="ab"), "uncompared must .* got 'ab'"),
        (lambda cell, one: build_position(None), "config must be a RunConfig, got None"),
        (lambda cell, one: build_position("rope"), "config must be a RunConfig, got 'rope'"),
    ],
)
def test_parts_of_another_kind_are_named(make, message):
    cell = Cell("a", "b", config())
    with pytest.raises(ValueError, match=message):
        make(cell, Comparison("q", "n", cell, cell))


def test_every_initialisation_is_crossed_with_factor_tying_and_norm():
    combinations = {
        (std, scale, tied, norm)
        for std in (None, 1.0, 0.02)
        for scale in (None, 1.0)
        for tied in (True, False)
        for norm in ("pre", "post")
    }
    found = {
        (c.config.model.init_std, c.config.model.scale, c.config.model.tied, c.config.model.norm)
        for c in cells("init")
    }
    assert found == combinations and len(cells("init")) == 24
    assert {
        cell.seeds
        for cell in cells("init")
        if cell.config.model.init_std is None and cell.config.model.tied
    } == {10}


def test_every_width_has_three_rates_for_both_arms_and_the_best_are_compared():
    for d, seeds in ((64, 5), (128, 5), (256, 5), (512, 3)):
        sides = [cell for cell in cells("width") if cell.config.model.d_model == d]
        assert {cell.seeds for cell in sides} == {seeds}
        for scale in (None, 1.0):
            rates = sorted(
                cell.config.learning_rate for cell in sides if cell.config.model.scale == scale
            )
            assert [rate / rates[1] for rate in rates] == pytest.approx([1 / 3, 1, 3])
    chosen = [comparison for comparison in SCALE.comparisons if comparison.question == "width"]
    assert len(chosen) == 4 and all(len(c.these) == len(c.those) == 3 for c in chosen)


def test_the_controls_the_bases_the_words_the_order_and_the_longer_run_are_there():
    assert {cell.config.position for cell in cells("control")} == {"none", "learned", "sinusoidal"}
    shrunk = [cell for cell in cells("control") if cell.config.position_options]
    assert {
        (round(build_position(cell.config).factor * 128**0.5, 9), cell.config.model.scale)
        for cell in shrunk
    } == {(1.0, 1.0)}
    assert {build_position(cell.config).base for cell in cells("base")} == {1e2, 1e6}
    assert {cell.config.task for cell in cells("word")} == {"next_word"} and cells("word")[
        0
    ].config.model.vocab_size == 4000
    assert {cell.config.task for cell in cells("order")} == {"which_first", "which_more"}
    assert {cell.config.steps for cell in cells("longer")} == {4 * cells("init")[0].config.steps}


def test_seeds_are_enough_paired_and_not_those_of_pilots():
    assert all(cell.seeds >= (3 if cell.config.model.d_model == 512 else 5) for cell in SCALE.cells)
    assert min(run.seed for run in SCALE.runs()) == 101
    for comparison in SCALE.comparisons:
        for cell in (*comparison.these, *comparison.those):
            assert [run.seed for run in cell.runs()][:3] == [101, 102, 103]


def test_compared_cells_differ_in_what_is_compared_and_nothing_else():
    for comparison in SCALE.comparisons:
        if comparison.name.startswith("factor on - off"):
            on, off = (
                {
                    (
                        cell.config.learning_rate,
                        cell.config.position,
                        cell.config.task,
                        cell.config.steps,
                    )
                    for cell in s
                }
                for s in (comparison.these, comparison.those)
            )
            assert on == off
            assert {cell.config.model.scale for cell in comparison.these} == {None} and {
                cell.config.model.scale for cell in comparison.those
            } == {1.0}
            assert [
                [getattr(c.config.model, n) for n in ("d_model", "norm", "tied", "init_std")]
                for c in comparison.these
            ] == [
                [getattr(c.config.model, n) for n in ("d_model", "norm", "tied", "init_std")]
                for c in comparison.those
            ]


def test_names_of_cells_comparisons_and_records_are_unique():
    assert len(BY_NAME) == len(SCALE.cells)
    assert len({(c.question, c.name) for c in SCALE.comparisons}) == len(SCALE.comparisons)
    runs = SCALE.runs()
    assert len({records.name_of(run, run.seed) for run in runs}) == len(runs) == len(set(runs))


def test_every_configuration_can_be_built():
    for cell in SCALE.cells:
        if cell.config.model.d_model <= 128:
            Transformer(cell.config.model, build_position(cell.config))


def test_it_fits_two_hours_on_two_cores_and_a_megabyte():
    runs = SCALE.runs()
    assert sum(map(core_seconds, runs)) < 2 * 2 * 3600
    assert all(run.evaluations == 20 for run in runs)
    assert len(runs) * 2300 < 1_000_000  # bytes of a record, checked in test_experiments_command


def test_what_matters_most_comes_first_and_what_is_compared_grows_together():
    runs = SCALE.runs()
    first = {run.model for run in runs[:24]}
    assert len(first) == 24 and {run.seed for run in runs[:24]} == {101}
    assert {run.model.d_model for run in runs[-18:]} == {512}
    assert [run.seed for run in runs[-18:]] == [101] * 6 + [102] * 6 + [103] * 6


def test_the_estimate_grows_with_the_work():
    base = core_seconds(config())
    for more in ({"steps": 8}, {"batch_size": 64}, {"evaluation_sequences": 400}):
        assert core_seconds(config(**more)) > base


def test_a_study_of_ones_own():
    own = study()
    assert [cell.name for cell in own.cells] == [
        "position: on",
        "position: off",
        "rate: x 1",
        "rate: x 3",
    ]
    assert len(own.runs()) == 9  # "on" and "x 1" are the same runs
    assert [run.seed for run in own.runs(seeds=1, only=["off"])] == [101]
    one = Cell("a", "b", config())
    assert Comparison("a", "n", one, [one, one]).those == (one, one)
    assert get_study(own) is own
    with pytest.raises(
        ValueError, match="has 'x 9' or 'x 8' in its name. Its sections: position, rate"
    ):
        own.runs(only=["x 9", "x 8"])
    assert isinstance(own, Study)


def test_studies_that_make_no_sense_are_refused():
    one = Cell("a", "b", config())
    for bad in (0, -1, 2.0, "5", True, None):
        with pytest.raises(ValueError, match=f"seeds must be a positive integer, got {bad!r}"):
            Cell("a", "b", config(), bad)
    for sides, name in ((((), one), "these"), ((one, []), "those")):
        with pytest.raises(ValueError, match=f"{name} must be a cell or several, got none for 'n'"):
            Comparison("a", "n", *sides)
    with pytest.raises(
        ValueError, match="cells must have names of their own, got 2 that are called 'a: b'"
    ):
        Study("s", "", (Comparison("a", "n", one, Cell("a", "b", config(position="none"))),))
    other = Cell("a", "c", config(position="none"))
    with pytest.raises(
        ValueError, match="comparisons must have names of their own, got 2 that are called 'n'"
    ):
        Study("s", "", (Comparison("a", "n", one, other), Comparison("b", "n", other, one)))
    assert Study("s", "", ()).cells == []


@pytest.mark.parametrize("bad", [None, 3, ["length"], {}, ("length",)])
def test_a_study_that_is_no_name_is_refused(bad):
    with pytest.raises(ValueError, match=f"study must be one of .* got {re.escape(repr(bad))}"):
        get_study(bad)
