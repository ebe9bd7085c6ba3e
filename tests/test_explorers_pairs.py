"""The interactive pairs of recorded runs in a real browser: interval and verdict are those of
sinpe.experiments.
"""

import re

import numpy as np
import pytest
from explorer_pages import shown, values

from sinpe import explorers
from sinpe.experiments import analysis, get_study, load_records
from sinpe.experiments.estimates import MARGIN, differences
from sinpe.explorers.records import STUDIES

TAG = "sinpe-pairs"


@pytest.mark.parametrize("name", STUDIES)
def test_interval_and_verdict_of_every_comparison_at_every_number_of_pairs(show, name):
    study = get_study(name)
    records = load_records(study)
    found = {f.name: f for f in analysis.compare(study, records)}
    by_seed = analysis.paired(study, records, [found[one] for one in STUDIES[name]])
    page = show(explorers.Pairs(comparison=STUDIES[name][0])._repr_html_())
    assert page.evaluate(f"customElements.get('{TAG}').margin") == MARGIN
    select, verdicts = page.locator(f'{TAG} select[name="comparison"]'), set()
    options = select.locator("option").all_inner_texts()
    assert options == [one.replace(" - ", " − ") for one in STUDIES[name]]
    for comparison in STUDIES[name]:
        select.select_option(comparison)
        gaps = list(by_seed[comparison].values())
        slider = page.locator(f'{TAG} input[name="pairs"]')
        assert slider.get_attribute("max") == str(len(gaps))
        read = page.evaluate(
            f"(most => Array.from({{length: most - 1}}, (_, i) => document.querySelector('{TAG}')"
            f".values(i + 2)))({len(gaps)})"
        )
        for pairs, shown_one in enumerate(read, 2):
            (d,) = differences([gaps[:pairs]])
            told = [shown_one[key] for key in ("mean", "std", "low", "high")]
            # the element has five decimals of each loss, and few pairs have long intervals
            wanted = [d.plain.mean, d.plain.std, d.plain.low, d.plain.high]
            assert told == pytest.approx(wanted, abs=2e-4)
            assert (shown_one["n"], shown_one["verdict"]) == (pairs, d.verdict)
            verdicts.add(d.verdict)
    assert len(verdicts) > 2 and page.problems == []


def test_another_partner_keeps_the_mean_and_not_the_spread(show):
    figure = explorers.Pairs(comparison="base 100 - base 10000", partner="next seed")
    page = show(figure._repr_html_())
    other = values(page, TAG)
    page.locator(f'{TAG} select[name="partner"]').select_option("same seed")
    same = values(page, TAG)
    assert other["mean"] == pytest.approx(same["mean"], abs=1e-12)
    study = get_study("embedding-scale")
    records = load_records(study)
    cells = {cell.name: runs for cell, runs in analysis.by_cell(study, records).items()}
    f = next(f for f in analysis.compare(study, records) if f.name == figure.comparison)
    sides = (cells[side] for side in (f.these, f.those))
    these, those = ([side[s]["metrics"][f.metric] for s in f.seeds] for side in sides)
    assert other["std"] == pytest.approx(np.std(these - np.roll(those, -1), ddof=1), abs=1e-4)
    assert same["std"] == pytest.approx(np.std(np.subtract(these, those), ddof=1), abs=1e-4)
    assert other["std"] > 1.5 * same["std"] and page.problems == []


def test_the_pointer_chooses_the_number_of_pairs_and_the_sentence_tells_it(show):
    page = show(explorers.Pairs(pairs=2)._repr_html_())
    place = page.locator(f"{TAG} .plot svg")
    box = place.bounding_box()
    for share, pairs in ((0.999, 24), (0.001, 2), (0.52, 13)):
        place.click(position={"x": box["width"] * share, "y": box["height"] * 0.6})
        sentence = shown(page, TAG, ".read")
        assert f"{pairs} pairs" in sentence and shown(page, TAG, "output.pairs") == str(pairs)
        read = values(page, TAG)
        told = [float(x) for x in re.findall(r"[+-]\d\.\d{3}", sentence.replace("−", "-"))]
        assert told == pytest.approx([read["mean"], read["low"], read["high"]], abs=5.001e-4)
        assert sentence.endswith(f"{read['verdict']}.")
        for name, dots in (("used", pairs), ("rest", 24 - pairs)):
            path = page.locator(f"{TAG} .plot .{name}").get_attribute("d")
            assert path.count("M") == dots
    assert page.problems == []


def test_no_more_pairs_than_were_run(show):
    few = {"comparison": "factor on - off: no position", "pairs": 6}
    with pytest.raises(ValueError, match="pairs must be at most 5, as many as were run, got 6"):
        explorers.Pairs(**few)
    page = show(explorers.Pairs(comparison=few["comparison"], pairs=5)._repr_html_())
    page.evaluate(f"document.querySelector('{TAG}').setAttribute('pairs', '6')")
    assert "pairs must be at most 5, as many as were run, got 6" in shown(page, TAG, ".problem")
    page.evaluate(f"document.querySelector('{TAG}').setAttribute('comparison', 'post: QF - QS')")
    assert "comparison must be one of PE shrunk" in shown(page, TAG, ".problem")
