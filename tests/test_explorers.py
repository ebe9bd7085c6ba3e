"""The interactive figures in a real browser: their numbers are sinpe.formula's, keys work, wrong
attributes are explained.
"""

import json
import re
from dataclasses import fields

import matplotlib as mpl
import numpy as np
import pytest
from browser import chromium, watch

import sinpe
from sinpe import explorers
from sinpe.figures import COLOURS

ALL = explorers.EXPLORERS
THEMES = {"light": ("#ffffff", "#222222"), "dark": ("#121212", "#dddddd")}


@pytest.fixture(scope="module")
def browser():
    with chromium() as browser:
        yield browser


@pytest.fixture
def show(browser, tmp_path):
    """show(html, width=…, theme=…) -> a page with this body, loaded from the disk."""
    contexts = []

    def show(html, width=900, theme="light", **context):
        background, ink = THEMES[theme]
        file = tmp_path / "page.html"
        file.write_text(
            '<!doctype html><html lang="en"'
            f' style="color-scheme:{theme};background:{background};color:{ink}"><meta'
            ' charset="utf-8"><title>t</title><meta name="viewport"'
            f' content="width=device-width"><body><main><h1>Figures</h1>{html}</main>',
            encoding="utf-8",
        )
        contexts.append(browser.new_context(viewport={"width": width, "height": 900}, **context))
        page = contexts[-1].new_page()
        page.problems = watch(page, "file://")
        page.goto(file.as_uri())
        return page

    yield show
    for context in contexts:
        context.close()


def element(tag, attributes=""):
    return f"<{tag} {attributes}></{tag}><script>{explorers.script()}</script>"


def values(page, tag):
    return page.evaluate(f"document.querySelector('{tag}').values()")


def shown(page, tag, selector):
    return page.locator(f"{tag} {selector}").inner_text()


@pytest.mark.parametrize(
    "d_model, base, position",
    [(2, 10_000, 0), (16, 10_000, 5), (32, 100, 63), (16, 1, 511), (24, 2.5, 200)],
)
def test_clocks_write_the_codes_of_the_formula(show, d_model, base, position):
    page = show(
        explorers.Clocks(d_model=d_model, base=base, positions=512, position=position)._repr_html_()
    )
    np.testing.assert_allclose(
        values(page, "sinpe-clocks"),
        sinpe.sinusoidal_encoding(float(position), d_model, base),
        rtol=0,
        atol=1e-9,
    )
    if d_model <= 16:
        text = shown(page, "sinpe-clocks", ".code").replace("−", "-")
        printed = [float(number) for number in text.split("=")[1].split()]
        np.testing.assert_allclose(
            printed,
            sinpe.sinusoidal_encoding(float(position), d_model, base),
            rtol=0,
            atol=5.001e-4,
        )
    assert page.problems == []


def test_the_hands_stand_at_position_times_frequency(show):
    page = show(explorers.Clocks(d_model=16, position=5)._repr_html_())
    turned = page.locator("sinpe-clocks svg g").evaluate_all(
        "hands => hands.map(hand => hand.getAttribute('transform'))"
    )
    degrees = [float(re.fullmatch(r"rotate\((.*)\)", text)[1]) for text in turned]
    np.testing.assert_allclose(
        np.radians(degrees), 5 * sinpe.inverse_frequencies(16), rtol=0, atol=1e-9
    )
    labels = page.locator("sinpe-clocks .wave").all_inner_texts()
    np.testing.assert_allclose(
        [float(label.replace(",", "")) for label in labels], sinpe.wavelengths(16), rtol=5e-3
    )


@pytest.mark.parametrize("layout", explorers.LAYOUTS)
@pytest.mark.parametrize(
    "d_model, base, position, dimension",
    [
        (64, 10_000, 7, 20),
        (64, 10_000, 7, 21),
        (2, 10, 0, 1),
        (256, 1e6, 511, 255),
        (6, 1e4, 100, 4),
    ],
)
def test_the_heat_map_reads_out_value_and_wavelength(
    show, layout, d_model, base, position, dimension
):
    page = show(
        explorers.HeatMap(
            d_model=d_model,
            base=base,
            positions=512,
            position=position,
            dimension=dimension,
            layout=layout,
        )._repr_html_()
    )
    read = values(page, "sinpe-heatmap")
    assert read["value"] == pytest.approx(
        sinpe.sinusoidal_encoding(float(position), d_model, base, layout=layout)[dimension],
        abs=1e-9,
    )
    assert read["wavelength"] == pytest.approx(
        sinpe.wavelengths(d_model, base)[read["pair"]], rel=1e-12
    )
    order = (
        np.arange(d_model)
        if layout == "interleaved"
        else np.concatenate([np.arange(0, d_model, 2), np.arange(1, d_model, 2)])
    )
    assert (read["pair"], read["sine"]) == (order[dimension] // 2, order[dimension] % 2 == 0)
    assert f"the {'sine' if read['sine'] else 'cosine'} of pair {read['pair']}" in shown(
        page, "sinpe-heatmap", ".read"
    )
    assert page.problems == []


@pytest.mark.parametrize("tag, d_model", [("sinpe-heatmap", 10), ("sinpe-clocks", 10)])
def test_the_pixels_are_the_table(show, tag, d_model):
    page = show(element(tag, f'd-model="{d_model}" positions="20"'))
    pixels = page.locator(f"{tag} .map canvas").evaluate(
        "c => ({width: c.width, height: c.height, data: [...c.getContext('2d').getImageData(0, 0,"
        " c.width, c.height).data]})"
    )
    painted = np.array(pixels["data"]).reshape(pixels["height"], pixels["width"], 4)
    expected = mpl.colormaps["RdBu_r"]((sinpe.sinusoidal_encoding(20, d_model) + 1) / 2, bytes=True)
    # matplotlib takes the nearest of 256 colours, the element interpolates
    assert np.abs(painted - expected.astype(int)).max() <= 5


@pytest.mark.parametrize(
    "d_model, base, offset, position",
    [
        (512, 10_000, 10, 0),
        (512, 10_000, -100, 1000),
        (4, 10_000, 97, 17),
        (64, 100, 0, 3),
        (1024, 1e6, 1, 10_000),
    ],
)
def test_similarity_is_the_same_from_the_codes_and_from_the_offset(
    show, d_model, base, offset, position
):
    page = show(
        explorers.Similarity(
            d_model=d_model, base=base, offset=offset, position=position
        )._repr_html_()
    )
    read = values(page, "sinpe-similarity")
    expected = sinpe.similarity(offset, d_model, base)
    assert read["kappa"] == pytest.approx(expected, abs=1e-9)
    assert read["product"] == pytest.approx(expected, abs=1e-9)
    text = shown(page, "sinpe-similarity", ".read").replace("−", "-")
    assert [float(number) for number in re.findall(r"= (-?[\d.]+\d)", text)] == pytest.approx(
        [expected, expected], abs=5.001e-7
    )
    assert page.problems == []


def test_the_curve_of_similarity_over_a_long_reach(show):
    page = show(explorers.Similarity(d_model=512, reach=20_000, offset=18_469)._repr_html_())
    kappa = page.evaluate("[...document.querySelector('sinpe-similarity').kernel()]")
    expected = sinpe.similarity(np.arange(20_001), 512)
    np.testing.assert_allclose(kappa, expected, rtol=0, atol=1e-9)
    drawn = page.locator("sinpe-similarity .curve").get_attribute("d")
    heights = [-float(point.split()[1]) for point in drawn.removeprefix("M").split("L")]
    assert min(heights) == pytest.approx(expected.min(), abs=1e-4) and max(heights) == 1
    assert f"lowest {expected.min():.3f}".replace("-", "−") in page.locator(
        "sinpe-similarity svg"
    ).get_attribute("aria-label")


def test_every_control_works_by_keyboard(show):
    page = show(element("sinpe-clocks") + element("sinpe-heatmap") + element("sinpe-similarity"))
    page.keyboard.press("Tab")  # the button
    page.keyboard.press("Tab")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert page.evaluate("document.querySelector('sinpe-clocks').state.position") == 3
    np.testing.assert_allclose(
        values(page, "sinpe-clocks"), sinpe.sinusoidal_encoding(3.0, 16), rtol=0, atol=1e-9
    )
    page.keyboard.press("End")
    assert shown(page, "sinpe-clocks", "output") == "63"
    page.keyboard.press("Tab")  # d_model of the heat map
    page.keyboard.press("Home")
    assert page.evaluate("document.querySelector('sinpe-heatmap').state") == {
        "dModel": 2,
        "base": 10_000,
        "positions": 64,
        "position": 0,
        "dimension": 0,
        "layout": "interleaved",
    }
    # every native control changes its own part of the state
    for tag in ("sinpe-heatmap", "sinpe-similarity"):
        for control in page.locator(f"{tag} input, {tag} select").all():
            name = control.get_attribute("name")
            before = page.evaluate(f"document.querySelector('{tag}').state.{name}")
            control.focus()
            page.keyboard.press("ArrowDown")
            if page.evaluate(f"document.querySelector('{tag}').state.{name}") == before:
                page.keyboard.press("ArrowUp")
            assert page.evaluate(f"document.querySelector('{tag}').state.{name}") != before, (
                f"{tag} {name}"
            )
    assert page.problems == []


def test_a_narrower_table_keeps_the_selected_dimension_inside(show):
    page = show(element("sinpe-heatmap", 'd-model="64" dimension="63"'))
    slider = page.locator('sinpe-heatmap input[name="dModel"]')
    slider.fill("8")
    assert page.evaluate("document.querySelector('sinpe-heatmap').state.dimension") == 7
    assert page.locator('sinpe-heatmap input[name="dimension"]').get_attribute("max") == "7"


def test_a_pointer_selects(show):
    page = show(
        element("sinpe-heatmap", 'd-model="8" positions="10"')
        + element("sinpe-clocks", 'positions="10"')
        + element("sinpe-similarity", 'reach="10"')
    )
    for tag, target in (
        ("sinpe-heatmap", ".map"),
        ("sinpe-clocks", ".map"),
        ("sinpe-similarity", "svg"),
    ):
        place = page.locator(f"{tag} {target}")
        box = place.bounding_box()
        place.click(position={"x": box["width"] * 0.51, "y": box["height"] * 0.75})
    assert page.evaluate(
        "(({position, dimension}) => [position,"
        " dimension])(document.querySelector('sinpe-heatmap').state)"
    ) == [7, 4]
    assert page.evaluate("document.querySelector('sinpe-clocks').state.position") == 7
    assert page.evaluate("document.querySelector('sinpe-similarity').state.offset") == 0


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_play_moves_pauses_and_stops_on_a_whole_position(show, motion):
    # long enough not to reach its end before a slow machine presses Pause
    page = show(element("sinpe-clocks", 'positions="120"'), reduced_motion=motion)
    button = page.locator("sinpe-clocks button")
    assert (
        button.inner_text() == "Play"
        and page.evaluate("document.querySelector('sinpe-clocks').state.position") == 0
    )
    button.click()
    assert button.inner_text() == "Pause"
    page.wait_for_function("document.querySelector('sinpe-clocks').state.position > 0")
    seen = page.evaluate("document.querySelector('sinpe-clocks').state.position")
    # reduced motion jumps from one whole position to the next
    assert motion == "no-preference" or seen == int(seen)
    button.click()
    position = page.evaluate("document.querySelector('sinpe-clocks').state.position")
    assert button.inner_text() == "Play" and position == int(position)
    if motion == "no-preference":
        page.locator('sinpe-clocks input[name="position"]').fill("117")
        button.click()
        page.wait_for_function(
            "document.querySelector('sinpe-clocks').state.position === 119 &&"
            " !document.querySelector('sinpe-clocks').frame"
        )
        assert button.inner_text() == "Play"
    assert page.problems == []


WRONG = [
    (explorers.Clocks, {"d_model": 7}),
    (explorers.Clocks, {"d_model": 34}),
    (explorers.Clocks, {"d_model": "wide"}),
    (explorers.Clocks, {"base": 0}),
    (explorers.Clocks, {"base": "nan"}),
    (explorers.Clocks, {"position": 64}),
    (explorers.Clocks, {"position": -1}),
    (explorers.Clocks, {"positions": 1}),
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
]


def test_a_wrong_argument_raises_and_a_wrong_attribute_says_the_same(show):
    tags = [
        f'<{explorer.tag} {name.replace("_", "-")}="{value}"></{explorer.tag}>'
        for explorer, wrong in WRONG
        for name, value in wrong.items()
    ]
    page = show("".join(tags) + f"<script>{explorers.script()}</script>")
    sentences = page.evaluate(
        "[...document.querySelectorAll('main > *')].filter(e => e.shadowRoot).map(e =>"
        " e.shadowRoot.querySelector('.problem').textContent)"
    )
    for (explorer, wrong), sentence in zip(WRONG, sentences, strict=True):
        with pytest.raises(ValueError) as raised:
            explorer(**wrong)
        assert (
            sentence
            == f"This figure cannot be drawn: {str(raised.value).replace('d_model', 'd-model')}."
        )
    assert page.problems == []


def test_both_sides_have_the_same_limits(show):
    """The smallest and the largest value of every number are accepted by Python and drawn by
    JavaScript.
    """
    html = []
    for explorer in ALL:
        for field in fields(explorer):
            for value in (field.metadata.get("low"), field.metadata.get("high")):
                if value is not None:
                    others = {"d_model": 256, "positions": 512, "reach": 20_000}
                    options = {
                        f.name: others[f.name]
                        for f in fields(explorer)
                        if f.name in others and explorer is not explorers.Clocks
                    } | {field.name: value}
                    if explorer is explorers.Clocks and field.name == "position":
                        options["positions"] = 512
                    if field.name == "reach":
                        options["offset"] = 0
                    html.append(explorer(**options).html())
    page = show("".join(html) + f"<script>{explorers.script()}</script>")
    assert page.locator(".problem").count() == 0 and page.problems == []


def test_attributes_may_change_later_and_a_bad_one_may_be_repaired(show):
    page = show(element("sinpe-clocks", 'd-model="5"'))
    assert (
        "d-model must be an even number from 2 to 32, got 5"
        in page.locator("sinpe-clocks .problem").inner_text()
    )
    page.evaluate("document.querySelector('sinpe-clocks').setAttribute('d-model', '6')")
    np.testing.assert_allclose(
        values(page, "sinpe-clocks"), sinpe.sinusoidal_encoding(0.0, 6), atol=1e-9
    )
    page.evaluate("document.querySelector('sinpe-clocks').setAttribute('d-model', '<b>')")
    assert page.locator("sinpe-clocks .problem").inner_text().endswith("got <b>.")
    assert page.problems == []


def test_two_outputs_on_a_page_define_an_element_once(show):
    html = (
        explorers.Clocks(position=1)._repr_html_()
        + explorers.Clocks(position=2)._repr_html_()
        + f"<script>{explorers.script()}</script>"
    )
    page = show(html)
    assert page.evaluate(
        "[...document.querySelectorAll('sinpe-clocks')].map(e => e.state.position)"
    ) == [1, 2]
    assert page.problems == []


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", [1280, 390])
def test_accessible_and_within_the_page(show, theme, width):
    from axe_playwright_python.sync_playwright import Axe

    html = (
        "".join(explorer()._repr_html_() for explorer in ALL)
        + element("sinpe-clocks", 'd-model="32"')
        + element("sinpe-heatmap", 'd-model="3"')
    )
    page = show(html, width=width, theme=theme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
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
    assert repr(first).startswith(f"{explorer.__name__}(d_model=") and " at 0x" not in repr(first)
    html = first._repr_html_()
    assert (
        html.count("</script>") == 1
        and "http" not in html.replace("http://www.w3.org/2000/svg", "")
        and "Math.random" not in html
    )
    assert len(html.encode()) < 16_000
    np.testing.assert_equal(explorer(d_model=np.int64(16)).html(), explorer(d_model=16).html())


def test_hands_have_the_colours_of_the_figures():
    assert f"HANDS = {json.dumps(COLOURS)};" in explorers.script()


def test_a_text_is_no_number_and_only_explorers_have_scripts():
    for bad in ("5", b"5", "16"):
        with pytest.raises(ValueError, match="base must be a number from 1 to 100,000,000, got"):
            explorers.Clocks(base=bad)
    for bad in (None, 5, "clocks", str):
        with pytest.raises(ValueError, match="explorers must be classes of this module, got"):
            explorers.script(bad)
