"""What every interactive figure keeps to, in a real browser: controls by keyboard, both colour
modes, narrow pages, sentences about wrong attributes, stable output.
"""

import json
import re
from dataclasses import fields

import numpy as np
import pytest
from explorer_pages import THEMES, element

from sinpe import explorers

ALL = explorers.EXPLORERS
WRONG = [
    (explorers.Clocks, {"d_model": 7}),
    (explorers.Clocks, {"d_model": 34}),
    (explorers.Clocks, {"d_model": "wide"}),
    (explorers.Clocks, {"base": 0}),
    (explorers.Clocks, {"base": "nan"}),
    (explorers.Clocks, {"position": 64}),
    (explorers.Clocks, {"position": -1}),
    (explorers.Clocks, {"positions": 1}),
    (explorers.Clocks, {"shift": 101}),
    (explorers.HeatMap, {"d_model": 0}),
    (explorers.HeatMap, {"d_model": 258}),
    (explorers.HeatMap, {"dimension": 64}),
    (explorers.HeatMap, {"position": 1.5}),
    (explorers.HeatMap, {"layout": "halves"}),
    (explorers.HeatMap, {"base": 1e9}),
    (explorers.Similarity, {"d_model": 511}),
    (explorers.Similarity, {"reach": 100_000}),
    (explorers.Similarity, {"offset": 101}),
    (explorers.Similarity, {"offset": -101}),
    (explorers.Similarity, {"position": 10_001}),
    (explorers.Counter, {"bits": 10}),
    (explorers.Counter, {"position": 64}),
    (explorers.Words, {"sentence": ""}),
    (explorers.Words, {"sentence": "alone"}),
    (explorers.Words, {"sentence": "a b c d e f g"}),
    (explorers.Words, {"sentence": "an incomprehensible word"}),
    (explorers.Loudness, {"d_model": 1}),
    (explorers.Loudness, {"std": "large"}),
    (explorers.Loudness, {"learning_rate": 2}),
    (explorers.Rotation, {"head_dim": 18}),
    (explorers.Rotation, {"query": 64}),
    (explorers.Rotation, {"key": 64}),
    (explorers.Biases, {"exponent": 11}),
    (explorers.Biases, {"max_distance": 16}),
    (explorers.Biases, {"distance": 160}),
    (explorers.Extensions, {"factor": 0.5}),
    (explorers.Extensions, {"pair": 64}),
    (explorers.TwoAxes, {"angle": 91}),
    (explorers.TwoAxes, {"dy": 13}),
    (explorers.TwoAxes, {"dx": -13}),
    (explorers.Candidate, {"candidate": "the best"}),
    (explorers.Candidate, {"hands": 9}),
    (explorers.Candidate, {"ratio": 0.5}),
    (explorers.Candidate, {"wave": "saw"}),
    (explorers.Pairs, {"comparison": "QF - QS"}),
    (explorers.Pairs, {"pairs": 1}),
    (explorers.Pairs, {"pairs": 25}),
    (explorers.Rounding, {"type": "float64"}),
    (explorers.Rounding, {"d_model": 2}),
    (explorers.Rounding, {"position": 1_048_577}),
    (explorers.Rows, {"scale": 0.5}),
    (explorers.Rows, {"longest": 33}),
    (explorers.Rows, {"row": 32}),
    (explorers.Comparison, {"methods": "rope and"}),
    (explorers.Comparison, {"length": 100}),
    (explorers.Comparison, {"steps": "1000"}),
]
# what lets each number take its smallest and its largest value
ROOM = {
    explorers.Clocks: {"positions": 512},
    explorers.HeatMap: {"d_model": 256, "positions": 512},
    explorers.Similarity: {"reach": 20_000},
    explorers.Counter: {"bits": 9},
    explorers.Rotation: {"positions": 1024},
    explorers.Biases: {"reach": 1024},
    explorers.Extensions: {"head_dim": 256},
    explorers.TwoAxes: {"reach": 32},
    explorers.Rows: {"rows": 512, "longest": 4},
}
SMALL = {"offset": 0, "position": 0, "dimension": 0, "query": 0, "key": 0, "dy": 0, "dx": 0}
SMALL |= {"distance": 0, "pair": 0, "row": 0}

STICKS_OUT_OR_SMALL = """() => [...document.querySelectorAll('main > *')]
  .filter(e => e.shadowRoot)
  .flatMap(figure => [...figure.shadowRoot.querySelectorAll('*')].flatMap(e => {
    const box = e.getBoundingClientRect(), own = figure.getBoundingClientRect();
    if (e.matches('style, option, .status') || !box.width) return [];
    const text = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    const out = box.right > own.right + 4 || box.left < own.left - 4;
    const small = text && parseFloat(getComputedStyle(e).fontSize) < 11;
    return out || small ? [`${figure.localName} ${e.outerHTML.slice(0, 80)}`] : [];
  }))"""


def data(explorer):
    return f"data='{explorer().attributes()['data']}'" if "data" in explorer.rules() else ""


def test_a_wrong_argument_raises_and_a_wrong_attribute_says_the_same(show):
    tags = [
        f'<{explorer.tag} {name.replace("_", "-")}="{value}" {data(explorer)}></{explorer.tag}>'
        for explorer, wrong in WRONG
        for name, value in wrong.items()
    ]
    page = show("".join(tags) + f"<script>{explorers.script()}</script>")
    sentences = page.evaluate(
        "[...document.querySelectorAll('main > *')].filter(e => e.shadowRoot).map(e =>"
        " e.shadowRoot.querySelector('.problem')?.textContent ?? e.outerHTML)"
    )
    for (explorer, wrong), sentence in zip(WRONG, sentences, strict=True):
        with pytest.raises(ValueError) as raised:
            explorer(**wrong)
        said = re.sub(r"(?<=[a-z])_(?=[a-z])", "-", str(raised.value))
        assert sentence == f"This figure cannot be drawn: {said}."
    assert page.problems == []


def test_the_comparison_says_what_it_lacks(show):
    page = show(element("sinpe-comparison"))
    assert "data must be what sinpe.explorers writes there" in page.locator(".problem").inner_text()


def test_both_sides_have_the_same_limits(show):
    """The smallest and the largest value of every number are accepted by Python and drawn by
    JavaScript.
    """
    html = []
    for explorer in ALL:
        names = [f.name for f in fields(explorer)]
        for field in fields(explorer):
            if "low" in field.metadata and field.metadata["kind"] != "words":
                for value in (field.metadata["low"], field.metadata["high"]):
                    small = {name: 0 for name in SMALL if name in names}
                    given = small | ROOM.get(explorer, {}) | {field.name: value}
                    html.append(explorer(**given).html())
    page = show("".join(html) + f"<script>{explorers.script()}</script>")
    assert page.locator(".problem").all_inner_texts() == [] and page.problems == []
    assert page.locator(".read").count() == len(html)


@pytest.mark.parametrize("explorer", ALL)
def test_every_control_works_by_keyboard_and_is_told(show, explorer):
    chosen = {"position": 7, "dimension": 5} if explorer is explorers.HeatMap else {}
    page, tag = show(explorer(**chosen)._repr_html_()), explorer.tag
    read = page.locator(f"{tag} .read")
    for control in page.locator(f"{tag} input, {tag} select").all():
        before, name = read.inner_text(), control.get_attribute("name")
        state = page.evaluate(f"JSON.stringify(document.querySelector('{tag}').state)")
        assert control.evaluate("c => Boolean(c.labels[0]?.textContent.trim())"), name
        control.focus()
        keys = (
            ["Space"] if control.get_attribute("type") == "checkbox" else ["ArrowDown", "ArrowUp"]
        )
        for key in keys:
            if page.evaluate(f"JSON.stringify(document.querySelector('{tag}').state)") == state:
                page.keyboard.press(key)
        after = page.evaluate(f"JSON.stringify(document.querySelector('{tag}').state)")
        assert after != state, f"{tag} {name}"
        # what only says how much is drawn is no part of the sentence
        assert read.inner_text() != before or name in ("reach", "dModel", "position", "window")
    page.wait_for_function(
        f"(({{find}}) => find('.status') === find('.read'))({{find: s => document.querySelector"
        f"('{tag}').shadowRoot.querySelector(s).textContent}})"
    )
    for button in page.locator(f"{tag} button").all():
        assert button.evaluate("b => b.tabIndex") == 0 and button.inner_text()
    assert page.problems == []


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", [1280, 360])
def test_accessible_and_within_the_page(show, theme, width):
    from axe_playwright_python.sync_playwright import Axe

    html = (
        "".join(explorer().html() for explorer in ALL)
        + element("sinpe-clocks", 'd-model="32" shift="5"')
        + element("sinpe-counter", 'bits="9"')
        + element("sinpe-words", 'sentence="incredible incredible incredible to read here"')
        + element("sinpe-heatmap", 'd-model="3"')
    )
    page = show(html, width=width, theme=theme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # nothing sticks out of its figure, and no text is smaller than 11 pixels
    assert page.evaluate(STICKS_OUT_OR_SMALL) == []
    assert [
        f"{v['id']}: {v['nodes'][0]['html']}" for v in Axe().run(page).response["violations"]
    ] == []
    ink = page.locator("sinpe-clocks circle").first.evaluate("e => getComputedStyle(e).stroke")
    assert ink == ("rgb(34, 34, 34)" if theme == "light" else "rgb(221, 221, 221)")
    assert page.problems == []


@pytest.mark.parametrize("explorer", ALL)
def test_notebook_output_is_stable_text(explorer):
    first, second = explorer(), explorer()
    assert first == second and first._repr_html_() == second._repr_html_()
    assert repr(first).startswith(f"{explorer.__name__}(") and " at 0x" not in repr(first)
    html = first._repr_html_()
    assert (
        html.count("</script>") == 1
        and "http" not in html.replace("http://www.w3.org/2000/svg", "")
        and "Math.random" not in html
    )
    numbers = len(json.dumps(first.attributes().get("data", "")).encode())
    assert len(html.encode()) - numbers < 16_000 and numbers < 12_000
    for field in fields(explorer):
        if field.metadata["kind"] in ("whole", "even"):
            there = {field.name: np.int64(field.default)}
            assert explorer(**there).html() == first.html()


def test_a_page_without_scripts_says_what_would_stand_there():
    for explorer in ALL:
        text = re.sub("<[^>]*>", "", explorer().html())
        assert text.startswith("Interactive figure (") and len(text.split()) > 10
