"""What is read of the study "far", recomputed from its raw files with numpy and scipy. However much
of the study is there.
"""

import pytest
import recomputed
import recomputed_far as again
from recomputed import raw_records

from sinpe.experiments import analysis, far_beside, get_study, load_records
from sinpe.experiments.predictions import judge
from sinpe.experiments.predictions_far import FAR

STUDY = get_study("far")


@pytest.fixture(scope="module")
def package():
    """Findings by name, and judgements."""
    records = load_records(STUDY)
    found = analysis.compare(STUDY, records)
    by_seed = analysis.paired(STUDY, records, found)
    more, beside = far_beside.findings(records, load_records("length"))
    judged = judge(found + more, by_seed | beside, FAR)
    return {f.name: f for f in found + more}, judged, by_seed | beside


def test_the_plan_is_the_same():
    """Questions and names, written down twice."""
    for ours, theirs in (
        (again.planned_comparisons(), STUDY.comparisons),
        (again.comparisons_beside(), far_beside.beside().comparisons),
    ):
        mine = {(q, name) for q, names in ours.items() for name in names}
        if theirs is not STUDY.comparisons:  # differences within runs are no comparisons of cells
            mine = {(q, n) for q, n in mine if q not in ("gain of context", "use of the copy")}
        assert mine == {(c.question, c.name) for c in theirs}


def test_every_run_belongs_to_an_arm():
    known = set()
    for plan in (again.planned_comparisons(), again.comparisons_beside()):
        for comparisons in plan.values():
            for *sides, _, _ in comparisons.values():
                for side in sides:
                    known |= {again.key(s) for _, s in (side if isinstance(side, list) else [side])}
    assert set(again.runs("far")) <= known


def test_every_comparison_is_recomputed(package):
    found, _, by_seed = package
    assert set(found) == set(again.findings())
    for name, ours in again.findings().items():
        recomputed.same(found[name], ours, name)
        assert by_seed[name] == pytest.approx(again.gaps()[name], abs=1e-12), name


@pytest.mark.parametrize("prediction", FAR, ids=lambda p: str(p.number))
def test_every_prediction_is_judged_anew(package, prediction):
    judgement = package[1][prediction.number - 1]
    assert [outcome for _, _, outcome in judgement.results] == again.outcomes(prediction)
    assert judgement.verdict == recomputed.verdict(again.outcomes(prediction))


def test_records_are_of_one_machine_one_text_and_the_planned_seeds():
    raw = raw_records("far")
    assert all(100 < r["seed"] <= 110 and r["environment"]["threads"] == 1 for r in raw)
    texts = {
        r["environment"]["corpus_sha256"]
        for r in raw + raw_records("length")
        if "corpus_sha256" in r["environment"]
    }
    assert len(texts) == 1


def test_what_is_said_of_use_can_be_told_from_the_records():
    """A whole answer is one whose every part is right, so there are never more of them."""
    seen = 0
    for record in raw_records("far"):
        metrics = record["metrics"]
        for name, share in metrics.items():
            if name.startswith("exact_"):
                assert 0 <= share <= metrics[name.replace("exact", "accuracy")] <= 1
                seen += 1
    assert seen
