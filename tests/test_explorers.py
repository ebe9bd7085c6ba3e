"""The interactive figures of the formula in a real browser: their numbers are sinpe.formula's, a
pointer and keys choose, and what plays is quiet.
"""

import json
import re

import matplotlib as mpl
import numpy as np
import pytest
import torch
from explorer_pages import element, shown, values

import sinpe
from sinpe import explorers
from sinpe.figures import COLOURS


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
    turned = page.locator("sinpe-clocks svg .hand").evaluate_all(
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
    heights = [1 - 2 * float(point.split()[1]) for point in drawn.removeprefix("M").split("L")]
    assert min(heights) == pytest.approx(expected.min(), abs=1e-4) and max(heights) == 1
    assert f"lowest {expected.min():.3f}".replace("-", "−") in page.locator(
        "sinpe-similarity .plot svg"
    ).get_attribute("aria-label")


def test_keys_reach_one_control_after_the_other(show):
    page = show(element("sinpe-clocks") + element("sinpe-heatmap"))
    page.evaluate("document.addEventListener('keydown', e => (window.keys ??= []).push(e.key))")
    page.keyboard.press("Tab")  # the button
    page.keyboard.press("Tab")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert page.evaluate("document.querySelector('sinpe-clocks').state.position") == 3
    np.testing.assert_allclose(
        values(page, "sinpe-clocks"), sinpe.sinusoidal_encoding(3.0, 16), rtol=0, atol=1e-9
    )
    page.keyboard.press("End")
    assert shown(page, "sinpe-clocks", "output.position") == "63"
    page.keyboard.press("Tab")  # the shift
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
    # a deck of slides or a notebook around the figure hears nothing that moves a control
    assert set(page.evaluate("window.keys")) == {"Tab"}
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
        ("sinpe-similarity", ".plot svg"),
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


def test_hands_have_the_colours_of_the_figures():
    assert f"HANDS = {json.dumps(COLOURS)};" in explorers.script()


def test_a_text_is_no_number_and_only_explorers_have_scripts():
    for bad in ("5", b"5", "16"):
        with pytest.raises(ValueError, match="base must be a number from 1 to 100,000,000, got"):
            explorers.Clocks(base=bad)
    for bad in (None, 5, "clocks", str):
        with pytest.raises(ValueError, match="explorers must be classes of this module, got"):
            explorers.script(bad)


def test_an_eighth_hand_has_a_colour_of_its_own(show):
    page = show(element("sinpe-clocks", 'd-model="32"'))
    colours = page.locator("sinpe-clocks .hand").evaluate_all(
        "hands => hands.map(hand => getComputedStyle(hand).fill)"
    )
    assert len(colours) == len(set(colours)) == 16


@pytest.mark.parametrize("d_model, base, position, shift", [(16, 10_000, 5, 5), (8, 50, 60, 100)])
def test_a_shift_turns_each_hand_by_its_own_angle_wherever_it_starts(
    show, d_model, base, position, shift
):
    page = show(
        explorers.Clocks(d_model=d_model, base=base, position=position, shift=shift)._repr_html_()
    )
    expected = np.degrees(shift * sinpe.inverse_frequencies(d_model, base)) % 360
    turns = "document.querySelector('sinpe-clocks').turns()"
    np.testing.assert_allclose(page.evaluate(turns), expected, rtol=0, atol=1e-9)
    sentence = shown(page, "sinpe-clocks", ".read")
    told = [float(x) for x in re.findall(r"([\d.]+)°", sentence)]
    np.testing.assert_allclose(told, expected, rtol=0, atol=0.5001)
    angles = page.locator("sinpe-clocks .ghost, sinpe-clocks .hand").evaluate_all(
        "all => all.map(one => Number(one.getAttribute('transform').slice(7, -1)))"
    )
    moved = np.array(angles[0::2]) - angles[1::2]
    np.testing.assert_allclose(moved % 360, expected, rtol=0, atol=1e-9)
    page.locator('sinpe-clocks input[name="position"]').fill("1")
    assert shown(page, "sinpe-clocks", ".read").split(":")[0] == sentence.split(":")[0]
    page.locator('sinpe-clocks input[name="shift"]').fill("0")
    assert not page.locator("sinpe-clocks .ghost").first.is_visible() and page.problems == []


def test_the_map_of_the_clocks_follows_a_drag(show):
    page = show(element("sinpe-clocks", 'positions="10"'))
    box = page.locator("sinpe-clocks .map").bounding_box()
    x, row = box["x"] + box["width"] / 2, box["height"] / 10
    page.mouse.move(x, box["y"] + 1.5 * row)
    page.mouse.down()
    page.mouse.move(x, box["y"] + 4.5 * row)
    assert page.evaluate("document.querySelector('sinpe-clocks').state.position") == 4
    page.mouse.move(x, box["y"] + 99 * row)  # beyond the edge
    assert page.evaluate("document.querySelector('sinpe-clocks').state.position") == 9
    page.mouse.up()
    page.mouse.move(x, box["y"] + 2.5 * row)
    assert page.evaluate("document.querySelector('sinpe-clocks').state.position") == 9


@pytest.mark.parametrize("tag", ["sinpe-clocks", "sinpe-counter", "sinpe-rotation"])
def test_what_plays_is_read_aloud_once_when_it_stops(show, tag):
    page = show(element(tag))
    page.evaluate(
        """tag => {
          const root = document.querySelector(tag).shadowRoot;
          const watched = (part, what) => new MutationObserver(what)
            .observe(root.querySelector(part), {childList: true});
          window.spoken = [];
          watched('.status', () => window.spoken.push(root.querySelector('.status').textContent));
          window.drawn = 0;
          watched('.read', () => window.drawn++);
        }""",
        tag,
    )
    page.locator(f"{tag} .play").click()
    page.wait_for_function("window.drawn > 5")
    assert page.evaluate("window.spoken") == []
    live = page.locator(f"{tag} [aria-live]:not([aria-live=off]), {tag} [role=status]")
    assert live.count() == 1
    page.locator(f"{tag} .play").click()
    page.wait_for_function("window.spoken.length > 0")
    page.wait_for_timeout(600)
    assert page.evaluate("window.spoken") == [shown(page, tag, ".read")]
    assert page.problems == []


def test_axes_have_names_and_ticks(show):
    page = show(element("sinpe-heatmap") + element("sinpe-similarity"))
    for tag, names in {
        "sinpe-heatmap": ["position", "dimension"],
        "sinpe-similarity": ["similarity κ of the two codes", "offset of the two positions"],
    }.items():
        assert page.locator(f"{tag} .plot .name").all_inner_texts() == names
    assert page.locator("sinpe-heatmap .levels span").all_inner_texts() == "0 16 32 47 63".split()
    assert page.locator("sinpe-heatmap .ends span").all_inner_texts() == "0 16 32 47 63".split()


@pytest.mark.parametrize("bits, position", [(6, 0), (6, 31), (2, 3), (9, 255)])
def test_the_counter_counts_in_digits_and_in_sines(show, bits, position):
    page = show(explorers.Counter(bits=bits, position=position)._repr_html_())
    read = values(page, "sinpe-counter")
    assert read["digits"] == [int(digit) for digit in f"{position:0{bits}b}"[::-1]]
    codes = sinpe.sinusoidal_encoding(2**bits + 1, 2 * bits, base=2**bits)[:, 0::2]
    np.testing.assert_allclose(read["waves"], codes[position], rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        read["steps"], np.abs(codes[position + 1] - codes[position]), rtol=0, atol=1e-12
    )
    flips = (position ^ (position + 1)).bit_count()
    assert sum(read["flips"]) == min(flips, bits)
    assert f"{min(flips, bits)} of {bits} digits flip" in shown(page, "sinpe-counter", ".read")
    assert page.problems == []


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"angle": 45, "share": 1.0, "dy": 5, "dx": -7},
        {"width": 2, "base": 10, "angle": 20, "share": 0.3, "reach": 32, "dy": -32, "dx": 31},
    ],
)
def test_the_score_in_the_plane_is_two_similarities(show, options):
    explorer = explorers.TwoAxes(**options)
    page, turn = show(explorer._repr_html_()), np.radians(explorer.angle)

    def score(dy, dx):
        along, across = np.cos(turn) * dx + np.sin(turn) * dy, np.cos(turn) * dy - np.sin(turn) * dx
        kappa = [sinpe.similarity(o, explorer.width, explorer.base) for o in (along, across)]
        return explorer.share * kappa[0] + (1 - explorer.share) * kappa[1]

    read, dy, dx = values(page, "sinpe-axes"), explorer.dy, explorer.dx
    assert read["score"] == pytest.approx(score(dy, dx), abs=1e-12)
    assert read["diagonal"] == pytest.approx(2 * score(dy, dx), abs=1e-12)
    assert read["mirrored"] == pytest.approx(2 * score(dy, -dx), abs=1e-12)
    # the same head as the package turns it: pairs of one direction, then of the other
    w, s = sinpe.inverse_frequencies(explorer.width, explorer.base), explorer.share
    frequencies = np.array(
        [
            [*np.sin(turn) * w, *np.cos(turn) * w],  # the rows' axis
            [*np.cos(turn) * w, *-np.sin(turn) * w],
        ]
    )
    loud = np.repeat([s / len(w), (1 - s) / len(w)], len(w)) ** 0.5
    x = torch.from_numpy(np.stack([loud, 0 * loud], axis=1).ravel())[None, None, None]
    at, origin = torch.tensor([[dy, dx]]), torch.tensor([[0, 0]])
    q, k = sinpe.RotaryAxes(2 * explorer.width, frequencies).rotate(x, x, at, origin)
    assert read["score"] == pytest.approx((q * k).sum().item(), abs=1e-12)
    alike = abs(read["diagonal"] - read["mirrored"]) < 5e-4
    assert alike == (explorer.angle == 0)  # an axial head cannot tell the two diagonals apart
    assert ("cannot tell" in shown(page, "sinpe-axes", ".read")) == alike
    assert page.problems == []
