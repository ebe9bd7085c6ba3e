"""The study of why the factor matters: its arms are what they are said to be."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from recomputed import judged, raw_records

from sinpe.experiments import analysis, get_study, records
from sinpe.experiments.mechanism import COPIES, OTHERS, TIED, UNTIED
from sinpe.experiments.predictions import NOT_SEPARATED, OUTCOMES, PREDICTIONS, Outcome, judge
from sinpe.experiments.predictions_mechanism import MECHANISM
from sinpe.training import Run, build_position
from sinpe.training.treatments import frequencies, loudness

STUDY = get_study("mechanism")
BY_NAME = {cell.name: cell for cell in STUDY.cells}
ROOT = math.sqrt(128)
CODE = math.sqrt(0.5)  # RMS of a code
# ratio of token to position at the start, and step beside position at the full rate
START = {
    "QS": (0.125, 0.0028),
    "QF": (0.125, 0.032),
    "LS": (1.41, 0.0028),
    "LF": (1.41, 0.032),
    "Y": (0.125, 0.0028),
    "P": (0.125, 0.032),
    "Q0": (0.125, 0),
    "L0": (1.41, 0),
    "S-": (1.41, 0.032),
    "S+": (0.125, 0.0028),
    "T-QS": (0.125, 0.0028),
    "T-LF": (1.41, 0.032),
    "T-QF": (0.125, 0.032),
    "T-LS": (1.41, 0.0028),
    "T-QS, way in x": (0.125, 0.0028),
    "T-LF, way in /": (1.41, 0.032),
    "T-QS, way in cut": (0.125, 0.0028),
    "T-LF, way in cut": (1.41, 0.032),
    "E-QS": (0.125, 0.0028),
    "E-LF": (1.41, 0.032),
    "E-QF": (0.125, 0.032),
    "E-LS": (1.41, 0.0028),
    "E-QF, even": (0.125, 0.032),
    "E-LS, even": (1.41, 0.0028),
    "QF, output fast": (0.125, 0.032),
    "LS, output slow": (1.41, 0.0028),
}


def arms():
    return [
        (cell.section, cell.arm, cell)
        for cell in STUDY.cells
        if cell.section.startswith(("post, ", "pre, "))
    ]


def test_all_arms_are_there_in_both_norms_with_their_seeds():
    post = {arm for section, arm, _ in arms() if section.startswith("post")}
    pre = {arm for section, arm, _ in arms() if section.startswith("pre")}
    assert post == {*UNTIED, *TIED, *COPIES, *OTHERS} and len(post) == 28
    assert pre == {*UNTIED, *TIED} and len(pre) == 18
    assert set(START) | {"K", "N"} == post
    many = {"QS", "LF", "S-", "S+", "T-QS", "T-LF", "T-QS, way in x", "T-LF, way in /"}
    for section, arm, cell in arms():
        assert cell.config.model.norm == section.split(",")[0]
        assert cell.seeds == (24 if arm in many else 16)


@pytest.mark.parametrize("arm", START)
def test_an_arm_has_the_ratio_the_speed_and_the_logits_it_is_named_by(arm):
    """From the model that is built, not from the fields."""
    config = next(cell.config for _, name, cell in arms() if name == arm)
    run = Run(config)
    run.treatment.start(run) if config.treatment == "copied-output" else None
    model, codes = run.model, torch.zeros(1, 64, 128)
    code = build_position(config).embed(codes, torch.arange(64)).square().mean().sqrt().item()
    ratio, step = START[arm]
    heard = model.embedding.table.weight.detach() * model.embedding.scale
    assert heard.square().mean().sqrt().item() / code == pytest.approx(ratio, rel=0.03)
    nominal = config.learning_rate * config.table_rate * model.embedding.scale
    assert nominal / code == pytest.approx(step, rel=0.02)
    with torch.no_grad():
        h = torch.nn.functional.layer_norm(torch.randn(500, 128), (128,))
        out = model.unembedding
        logits = model.embedding.logits(h) if out is None else out(h)
    assert (logits * config.model.logit_scale).std().item() == pytest.approx(1, rel=0.05)
    output = config.learning_rate * config.output_rate * config.model.logit_scale
    faster = {"QF, output fast": ROOT, "LS, output slow": 1 / ROOT, "T-QF": ROOT, "E-QF": ROOT}
    faster |= {"T-LS": 1 / ROOT, "E-LS": 1 / ROOT}
    assert output == pytest.approx(2e-3 * faster.get(arm, 1))
    assert config.clip is None and config.log_every == 20 and config.rest_rate == 1


def test_arms_that_are_compared_start_from_the_same_draws():
    quiet, loud = (
        Run(BY_NAME[f"post, untied: {arm}"].config).model.embedding.table.weight
        for arm in ("QS", "LS")
    )
    assert torch.allclose(quiet * ROOT, loud, rtol=1e-4)


def test_the_leader_of_y_is_qf():
    """The path that Y follows is that of the arm QF with the same seed."""
    led = [cell for cell in STUDY.cells if cell.config.treatment == "yoked"]
    assert len(led) == 6
    for y in led:
        qf = BY_NAME[f"{y.name[:-1]}QF"].config
        assert y.config == replace(
            qf,
            table_rate=1.0,
            treatment="yoked",
            treatment_options=(("table_rate", qf.table_rate),),
        )


def test_the_sweep_has_ten_ratios_at_two_fixed_speeds():
    cells = [cell for cell in STUDY.cells if cell.section == "ratio"]
    found = {}
    for cell in cells:
        run = Run(cell.config)
        ratio = loudness(run.model, frequencies(run.task)) / CODE
        assert ratio == pytest.approx(float(cell.arm.split()[1].strip(",")), rel=0.06)
        found.setdefault(cell.config.table_rate, []).append(cell.arm)
    assert set(found) == {1.0, ROOT} and {len(arms) for arms in found.values()} == {10}


def test_records_tell_the_arms_apart_and_every_comparison_has_a_pair():
    runs = STUDY.runs()
    assert len({records.name_of(run, run.seed) for run in runs}) == len(runs)
    for comparison in STUDY.comparisons:
        sides = [
            {r.seed for c in side for r in c.runs()}
            for side in (comparison.these, comparison.those)
        ]
        assert len(sides[0] & sides[1]) >= 5
        assert {c.config.task for c in comparison.these} == {
            c.config.task for c in comparison.those
        }


def test_every_prediction_names_planned_comparisons():
    planned = {comparison.name for comparison in STUDY.comparisons}
    for number, prediction in enumerate(MECHANISM, 1):
        assert prediction.number == number
        for test in prediction.tests:
            names = {test.comparison} if isinstance(test, Outcome) else {test.small, test.large}
            assert names <= planned, prediction.number
            assert not isinstance(test, Outcome) or test.expected in OUTCOMES
    assert {judgement.verdict for judgement in judge([], {}, MECHANISM)} == {"not run"}


def test_what_is_recorded_is_judged_as_it_is_recomputed():
    """From the files, by scipy; however much of the study is there."""
    loss = {}
    for record in raw_records("mechanism"):
        key = records.identity({**record["config"], "model": record["config"]["model"]})
        loss.setdefault(key, {})[record["seed"]] = record["metrics"]
    findings = analysis.compare(STUDY, records.load_records(STUDY))
    for question in {finding.question for finding in findings}:
        asked = [finding for finding in findings if finding.question == question]
        samples = []
        for finding in asked:
            sides = [
                loss[records.identity(BY_NAME[name].config)]
                for name in (finding.these, finding.those)
            ]
            assert finding.seeds == tuple(sorted(sides[0].keys() & sides[1].keys())) or (
                " best " in finding.name
            )
            samples.append(
                np.array(
                    [sides[0][s]["test_loss"] - sides[1][s]["test_loss"] for s in finding.seeds]
                )
            )
        for finding, x, (verdict, _, _) in zip(asked, samples, judged(samples), strict=True):
            assert finding.difference.plain.mean == pytest.approx(x.mean())
            assert finding.difference.verdict == verdict


def test_every_record_has_its_whole_log():
    for record in records.load_records(STUDY):
        log, steps = record["metrics"]["log"], record["config"]["steps"]
        assert log["step"] == [1, *range(steps // 20, steps + 1, steps // 20)]
        assert {len(values) for values in log.values()} == {21}
        assert len(record["curve"]) == 11 and record["environment"]["threads"] == 1


def test_what_was_not_separated_belongs_to_old_predictions():
    assert set(NOT_SEPARATED) == {5, 6, 8, 9} < {p.number for p in PREDICTIONS}
