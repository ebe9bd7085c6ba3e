"""Predictions name comparisons that exist, and are judged as they say."""

from types import SimpleNamespace

import pytest

from sinpe.experiments.estimates import differences
from sinpe.experiments.predictions import OUTCOMES, PREDICTIONS, Outcome, Prediction, Smaller, judge
from sinpe.experiments.studies import get_study


def test_every_test_names_planned_comparisons():
    planned = {comparison.name for comparison in get_study("embedding-scale").comparisons}
    for prediction in PREDICTIONS:
        for test in prediction.tests:
            names = {test.comparison} if isinstance(test, Outcome) else {test.small, test.large}
            assert names <= planned, prediction.number
            assert isinstance(test, Smaller) or test.expected in OUTCOMES
    assert [prediction.number for prediction in PREDICTIONS] == list(range(1, len(PREDICTIONS) + 1))


def found(**samples):
    seeds = range(101, 106)
    judged = differences(list(samples.values()))
    findings = [
        SimpleNamespace(name=name, difference=d) for name, d in zip(samples, judged, strict=True)
    ]
    return findings, {
        name: dict(zip(seeds, values, strict=True)) for name, values in samples.items()
    }


DATA = found(
    down=[-0.30, -0.31, -0.29, -0.32, -0.28],
    little=[-0.05, -0.06, -0.05, -0.04, -0.05],
    up=[0.30, 0.31, 0.29, 0.32, 0.28],
    same=[0.001, -0.001, 0.002, -0.002, 0.0],
    unclear=[0.5, -0.5, 0.4, -0.6, 0.2],
)


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        (Outcome("down", "lower"), "confirmed"),
        (Outcome("down", "higher"), "refuted"),
        (Outcome("down", "equal"), "refuted"),
        (Outcome("up", "higher"), "confirmed"),
        (Outcome("up", "lower"), "refuted"),
        (Outcome("same", "equal"), "confirmed"),
        (Outcome("same", "lower"), "refuted"),
        (Outcome("unclear", "lower"), "undecided"),
        (Outcome("unclear", "equal"), "undecided"),
        (Outcome("absent", "lower"), "not run"),
        (Smaller("little", "down"), "confirmed"),
        (Smaller("down", "little"), "refuted"),
        (Smaller("little", "up"), "confirmed"),
        (Smaller("up", "little"), "refuted"),
        (Smaller("up", "unclear"), "undecided"),
        (Smaller("little", "absent"), "not run"),
    ],
)
def test_a_test_is_judged(test, expected):
    (judgement,) = judge(*DATA, [Prediction(1, "", "", (test,))])
    assert judgement.verdict == judgement.results[0][2] == expected


@pytest.mark.parametrize(
    ("tests", "verdict"),
    [
        ((Outcome("down", "lower"), Outcome("up", "higher")), "confirmed"),
        ((Outcome("down", "lower"), Outcome("up", "lower")), "mixed"),
        ((Outcome("down", "higher"), Outcome("up", "lower")), "refuted"),
        ((Outcome("down", "lower"), Outcome("unclear", "lower")), "mixed"),
        ((Outcome("unclear", "higher"), Outcome("up", "lower")), "refuted"),
        ((Outcome("unclear", "higher"), Outcome("unclear", "lower")), "undecided"),
        ((Outcome("down", "lower"), Outcome("absent", "lower")), "not run"),
    ],
)
def test_a_prediction_is_judged_by_all_its_tests(tests, verdict):
    (judgement,) = judge(*DATA, [Prediction(1, "", "", tests)])
    assert judgement.verdict == verdict


def test_sizes_are_corrected_for_their_number():
    """A size that is decided alone is not when nine others are asked with it."""
    a, b = [-0.1, -0.1, -0.1, -0.1, -0.1], [-0.13, -0.10, -0.12, -0.12, -0.11]
    findings, by_seed = found(
        a=a, b=b, **{f"other{i}": DATA[1]["unclear"].values() for i in range(9)}
    )
    alone = judge(findings, by_seed, [Prediction(1, "", "", (Smaller("a", "b"),))])
    among = judge(
        findings,
        by_seed,
        [
            Prediction(
                1, "", "", (Smaller("a", "b"), *(Smaller("a", f"other{i}") for i in range(9)))
            )
        ],
    )
    assert alone[0].results[0][2] == "confirmed" and among[0].results[0][2] == "undecided"


def test_a_size_without_a_common_seed_was_not_run_and_lost_differences_are_named():
    findings, by_seed = found(a=DATA[1]["little"].values(), b=DATA[1]["down"].values())
    prediction = Prediction(1, "", "", (Smaller("a", "b"),))
    apart = {"a": by_seed["a"], "b": {seed + 50: value for seed, value in by_seed["b"].items()}}
    assert judge(findings, apart, [prediction])[0].verdict == "not run"
    with pytest.raises(
        ValueError, match="differences_by_seed must have every finding, got none for 'b'"
    ):
        judge(findings, {"a": by_seed["a"]}, [prediction])
