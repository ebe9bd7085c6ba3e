"""The interactive score of a position code in a real browser: it measures what sinpe.requirements
measures.
"""

import re

import numpy as np
import pytest
from explorer_pages import shown, values

from sinpe import explorers, requirements

TAG = "sinpe-candidate"
LINES = {
    "sine": np.sin,
    "triangle": lambda a: 2 / np.pi * np.arcsin(np.sin(a)),
    "square": lambda a: np.where(np.sin(a) < 0, -1.0, 1.0),
}
LATER = {"none": (), "quarter turn on": (np.pi / 2,), "one radian on": (1.0,)}


def mixed(n):
    """Numbers that look random, as the element makes them."""
    bits = (np.asarray(n, np.uint64) + 1) * 0x9E3779B1 & 0xFFFFFFFF
    bits = (bits ^ (bits >> np.uint64(15))) * 0x85EBCA6B & 0xFFFFFFFF
    bits = (bits ^ (bits >> np.uint64(13))) * 0xC2B2AE35 & 0xFFFFFFFF
    return (bits ^ (bits >> np.uint64(16))) / 2.0**31 - 1


def scattered():
    seed, found = 1, []
    for _ in range(4000):
        seed = (seed * 1664525 + 1013904223) % 2**32
        found.append(seed / 2**32 * 2e6 // 1)
    return np.reshape(found, (2, 2000))


def many_pairs(p, length, d):
    angles = p[:, None] * 10_000.0 ** (-np.arange(0, d, 2) / d)
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)


def rows(p, length, d):
    inside = (p >= 0) & (p < 1000)
    row = np.where(inside, p, 0).astype(int)[:, None]
    return np.where(inside[:, None], mixed(d * row + np.arange(d)), np.nan)


def fresh_noise(noise):
    return lambda p, length, d: noise.uniform(-1, 1, (len(p), d))


CODES = {
    "raw index": lambda p, length, d: p[:, None],
    "fraction": lambda p, length, d: p[:, None] / length,
    "binary digits": lambda p, length, d: p[:, None] // 2.0 ** np.arange(10) % 2,
    "one sine": lambda p, length, d: np.sin(p)[:, None],
    "one pair": lambda p, length, d: np.stack([np.sin(p), np.cos(p)], axis=1),
    "many pairs": many_pairs,
    "table of 1000 rows": rows,
    "fresh noise": fresh_noise(np.random.default_rng(0)),
}


def own(figure):
    """The code that hands of one's own write, straight from the arguments."""

    def code(p, length, d):
        angles = p[:, None] * figure.fastest * float(figure.ratio) ** -np.arange(figure.hands)
        later = (0.0, *LATER[figure.partner])
        return figure.size * np.hstack([LINES[figure.wave](angles + phase) for phase in later])

    return code


def same(found, scores):
    """What was measured is what sinpe measures, and the verdicts are its own."""
    assert list(found) == list(requirements.REQUIREMENTS)
    for name, one in scores.items():
        limit = requirements.REQUIREMENTS[name]
        value = np.nan if found[name] is None else found[name]
        assert limit.holds(value) == one.passed, name
        if one.measured > 1e-8 or not np.isfinite(one.measured):
            assert value == pytest.approx(one.measured, rel=1e-6, nan_ok=True), name


OWN = [
    {},
    {"partner": "quarter turn on"},
    {"partner": "one radian on", "hands": 3, "ratio": 10},
    {"partner": "quarter turn on", "ratio": 1, "hands": 4},
    {"partner": "quarter turn on", "hands": 1, "fastest": 6.28},
    {"partner": "quarter turn on", "size": 2, "fastest": 10, "hands": 2},
    {"partner": "quarter turn on", "wave": "triangle", "hands": 5},
    {"wave": "square", "ratio": 2},
    {"partner": "quarter turn on", "size": 0.05, "hands": 1},
]


@pytest.mark.parametrize("options", OWN)
def test_hands_of_ones_own_are_scored_as_sinpe_scores_them(show, monkeypatch, options):
    figure = explorers.Candidate(**options)
    page = show(figure._repr_html_())
    found = values(page, TAG)
    verdicts = {n: one.passed for n, one in requirements.score(own(figure), 16).items()}
    monkeypatch.setattr(requirements, "SCATTERED", scattered())
    scores = requirements.score(own(figure), 16)
    same(found, scores)
    assert verdicts == {name: one.passed for name, one in scores.items()}  # on other positions
    told = shown(page, TAG, ".read")
    lost = [name for name, passed in verdicts.items() if not passed]
    assert re.findall(r"(\w+) \(measured", told) == lost
    assert f"keeps {f'{7 - len(lost)} of 7' if lost else 'all 7'}." in told
    assert page.problems == []


@pytest.mark.parametrize("name", CODES)
def test_candidates_of_the_chapter_are_scored_as_sinpe_scores_them(show, monkeypatch, name):
    page = show(explorers.Candidate(candidate=name)._repr_html_())
    found = values(page, TAG)
    chapter = requirements.score(CODES[name], 16)
    if name != "fresh noise":
        monkeypatch.setattr(requirements, "SCATTERED", scattered())
        same(found, requirements.score(CODES[name], 16))
    # and the figure shows the verdicts that the chapter's table shows
    for requirement, one in chapter.items():
        cells = page.locator(f"{TAG} tbody .{requirement} td").all_inner_texts()
        assert cells[-1] == ("yes" if one.passed else "no"), requirement
    assert page.problems == []
    if name == "raw index":
        assert page.locator(f"{TAG} tbody .bounded td").first.inner_text() == "1e+6"
    if name == "many pairs":
        assert "Many pairs: keeps all 7." in shown(page, TAG, ".read")


def test_the_limits_are_those_of_sinpe(show):
    page = show(explorers.Candidate()._repr_html_())
    limits = page.evaluate(f"customElements.get('{TAG}').limits")
    assert list(limits) == list(requirements.REQUIREMENTS)
    for name, (side, limit) in limits.items():
        asked = requirements.REQUIREMENTS[name]
        assert (asked.at_most if side == "≤" else asked.at_least) == limit


def test_a_slider_turns_any_candidate_into_hands_and_the_picture_follows(show):
    page = show(explorers.Candidate(candidate="raw index")._repr_html_())
    pixels = f"document.querySelector('{TAG}').shadowRoot.querySelector('canvas').toDataURL()"
    before = page.evaluate(pixels)
    page.locator(f'{TAG} input[name="hands"]').fill("2")
    assert page.locator(f'{TAG} select[name="candidate"]').input_value() == "hands of your own"
    assert page.evaluate(pixels) != before
    page.locator(f'{TAG} select[name="partner"]').select_option("quarter turn on")
    assert "linear" not in shown(page, TAG, ".read")
    assert page.locator(f"{TAG} .width").inner_text() == "4 numbers"
    assert page.problems == []
