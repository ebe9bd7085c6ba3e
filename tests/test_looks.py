"""One colour, dash and marker a position method, in figures, interactive figures and pictures."""

import itertools
import json
import re

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from sinpe import explorers, figures
from sinpe.looks import COLOURS, DASHES, METHODS, RULES, VARIANTS, looks, numbered
from sinpe.training import measures

X = np.linspace(1, 6, 20)
TABLES = {"methods": METHODS, "rules": RULES, "variants": METHODS | VARIANTS}


def luminance(colour):
    parts = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return np.dot([0.2126, 0.7152, 0.0722], parts)


def oklab(colour):
    """Björn Ottosson's OKLab, where distances are what an eye sees."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    cones = np.array(
        [
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ]
    )
    lab = np.array(
        [
            [0.2104542553, 0.7936177850, -0.0040720468],
            [1.9779984951, -2.4285922050, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.8086757660],
        ]
    )
    return lab @ np.cbrt(cones @ linear)


def script(*which):
    return explorers.script(*which)


def drawn(figure):
    """{name: (colour, dash as drawn)} of every curve with a name."""
    lines = [line for axis in figure.axes for line in axis.lines]
    return {
        line.get_label(): (line.get_color(), line._unscaled_dash_pattern, line.get_marker())
        for line in lines
        if not line.get_label().startswith("_")
    }


def test_every_method_and_every_recorded_variant_has_a_look():
    assert set(METHODS) == set(measures.METHODS) == set(explorers.records.METHODS)
    assert set(VARIANTS) == set(explorers.records.MORE)
    for variant, look in VARIANTS.items():
        assert look.colour == METHODS[variant.split("-")[0]].colour
    assert RULES["plain"] == METHODS["rope"]


@pytest.mark.parametrize("ground", ["#ffffff", "#121212"])
def test_every_look_stands_out_on_both_grounds(ground):
    for look in (*METHODS.values(), *RULES.values()):
        bright, dark = sorted((luminance(look.colour), luminance(ground)), reverse=True)
        assert (bright + 0.05) / (dark + 0.05) >= 3, look


@pytest.mark.parametrize("name", ["methods", "rules"])
def test_no_two_can_be_taken_for_one_another(name):
    """Their colours are apart, and without colour their dashes and markers still tell them."""
    for (a, one), (b, two) in itertools.combinations(TABLES[name].items(), 2):
        assert np.linalg.norm(oklab(one.colour) - oklab(two.colour)) > 0.07, (a, b)
    for table in TABLES.values():
        for part in ("linestyle", "marker"):
            assert len({getattr(look, part) for look in table.values()}) == len(table), part


def test_a_method_looks_the_same_whatever_stands_beside_it():
    """In one curve, in many, in panels, with other spellings, and in any order."""
    names = ["none", "sinusoidal", "rope", "xpos", "alibi", "shaw"]
    labels = {"xlabel": "x", "ylabel": "y"}
    alone = {n: drawn(figures.lines(X, {n: X}, **labels))[n] for n in names}
    assert len(set(alone.values())) == len(names)
    for order in (names, names[::-1], names[2:]):
        assert drawn(figures.lines(X, {n: X for n in order}, **labels)).items() <= alone.items()
    panels = {"left": {n: X for n in names[:3]}, "right": {n: X for n in names[3:]}}
    for stacked in (False, True):
        assert drawn(figures.panels(X, panels, stacked=stacked, **labels)) == alone
    spelled = drawn(figures.lines(X, {"no position": X, "Rotary": X}, **labels))
    assert list(spelled.values()) == [alone["none"], alone["rope"]]
    apart = figures.lines(X, {"rope": X}, joined=False, **labels).axes[0].lines[0]
    assert (apart.get_color(), apart.get_marker()) == METHODS["rope"][::2]


def test_bands_have_the_colour_of_their_curve():
    band = {"alibi": (X - 1, X + 1)}
    for figure in (
        figures.lines(X, {"alibi": X}, spread=band, xlabel="x", ylabel="y"),
        figures.panels(X, {"one": {"alibi": X}}, spread={"one": band}, xlabel="x", ylabel="y"),
    ):
        face = figure.axes[0].collections[0].get_facecolor()[0, :3]
        assert np.allclose(face, to_rgb(METHODS["alibi"].colour))


def test_what_is_no_method_takes_the_colours_in_order():
    """And so do all curves of a figure where one is none; "plain" is rotary among rules alone."""
    assert list(looks(["a", "b"]).values()) == [numbered(0), numbered(1)]
    assert list(looks(["rope", "b"]).values()) == [numbered(0), numbered(1)]
    assert looks(["plain", "times √d"])["plain"] == numbered(0)
    assert looks(["plain", "NTK-aware", "YaRN", "Llama 3", "dynamic NTK"]) == {
        "plain": METHODS["rope"],
        "NTK-aware": RULES["ntk-aware"],
        "YaRN": RULES["yarn"],
        "Llama 3": RULES["llama-3"],
        "dynamic NTK": RULES["dynamic-ntk"],
    }
    assert (numbered(7).colour, numbered(8).linestyle) == (COLOURS[0], DASHES[1])


def test_interactive_figures_read_the_same_table():
    """The JavaScript holds no colour of a method but what Python writes into it."""
    for which in (explorers.Comparison, explorers.Biases, explorers.Extensions):
        table = json.loads(re.search(r"const LOOKS = (\{.*\});", script(which))[1])
        assert table == {
            name: [look.colour, look.strokes]
            for name, look in {**METHODS, **VARIANTS, **RULES}.items()
        }
    assert "LOOKS =" not in script(explorers.Clocks)
    assert METHODS["sinusoidal"].strokes == ""
    assert METHODS["shaw"].strokes == "4 2.4"


@pytest.mark.parametrize(
    ("explorer", "path", "names"),
    [
        (explorers.Comparison(), ".loss{}", list(METHODS)),
        (explorers.Extensions(), ".rule{}", ["interpolation", "ntk-aware", "yarn", "llama-3"]),
        (explorers.Biases(), ".four .plot:nth-child({}) .curve", ["alibi", "t5", "shaw"]),
    ],
)
def test_a_method_has_its_colour_in_the_browser(explorer, path, names, browser):
    page = browser.new_page()
    page.set_content(explorer._repr_html_())
    first = 1 if "nth-child" in path else 0
    for number, name in enumerate(names):
        curve = page.locator(path.format(number + first)).first
        seen = curve.evaluate("c => [c.style.stroke, c.getAttribute('stroke-dasharray')]")
        look = {**METHODS, **RULES}[name]
        rgb = ", ".join(str(round(255 * part)) for part in to_rgb(look.colour))
        assert seen == [f"rgb({rgb})", look.strokes], name
    page.close()


def test_the_picture_of_part_5_uses_the_table(monkeypatch, root):
    monkeypatch.syspath_prepend(str(root / "book" / "_ext"))
    import pictures

    curves = pictures.part("5")
    for method in ("rope", "alibi", "transformer-xl"):
        look = METHODS[method]
        assert f'stroke="{look.colour}"' in curves
        assert f'stroke-dasharray="{look.strokes}"' in curves
