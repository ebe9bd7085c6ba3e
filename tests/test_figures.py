"""Figures: the same bytes on every run, legible in light and dark, no global state, and what is
drawn is what was given.
"""

import base64
import hashlib
import inspect
import io
import json
import re
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgb
from PIL import Image

from sinpe import figures, inverse_frequencies, sinusoidal_encoding

TABLE = sinusoidal_encoding(20, 16)
X = np.linspace(0, 6, 50)
WAVES = {"sine": np.sin(X), "cosine": np.cos(X), "both": np.sin(X) + np.cos(X)}
WEIGHTS = np.array([[0.7, 0.2, 0.1], [0.0, 0.5, 0.5], [0.25, 0.25, 0.5]])
WORDS = ["dog", "bites", "man"]
LABELS = {"xlabel": "column", "ylabel": "position"}

EXAMPLES = {
    "new": lambda: figures.new()[0],
    "heat_map": lambda: figures.heat_map(TABLE, **LABELS, label="value"),
    "heat_maps": lambda: figures.heat_maps({"here": TABLE, "there": -TABLE}, **LABELS),
    "verdicts": lambda: figures.verdicts(WEIGHTS > 0.3, WORDS, WORDS, **LABELS),
    "attention": lambda: figures.attention(WEIGHTS, WORDS, WORDS),
    "attention_maps": lambda: figures.attention_maps({"first": WEIGHTS, "second": WEIGHTS.T}),
    "labelled_matrices": lambda: figures.labelled_matrices(
        {"first": (WEIGHTS, WORDS, WORDS), "second": (WEIGHTS[:2], WORDS[:2], WORDS)}, **LABELS
    ),
    "lines": lambda: figures.lines(
        X,
        WAVES,
        xlabel="x",
        ylabel="value",
        level=0,
        spread={"sine": (WAVES["sine"] - 0.1, WAVES["sine"] + 0.1)},
    ),
    "panels": lambda: figures.panels(
        X,
        {"calm": WAVES, "wild": WAVES},
        xlabel="x",
        ylabel="value",
        spread={p: {n: (y - 0.1, y + 0.1) for n, y in WAVES.items()} for p in ("calm", "wild")},
    ),
    "intervals": lambda: figures.intervals(
        {"one": (0.1, -0.1, 0.3), "two": (-0.2, -0.3, -0.1)}, xlabel="difference", margin=0.05
    ),
    "bars": lambda: figures.bars(
        {"one": 1.0, "two": 2.0},
        ylabel="count",
        xlabel="name",
        level=1.5,
        error={"one": 0.1, "two": 0.2},
    ),
    "clocks": lambda: figures.clocks([0, 1, 10], inverse_frequencies(8)),
    "small_multiples": lambda: figures.small_multiples(X, WAVES, xlabel="x"),
    "dots": lambda: figures.dots(
        {"one": {"before": 1.0, "after": 3.0}, "two": {"before": 2.0, "after": 0.5}},
        xlabel="size",
        xscale="log",
        level=1,
    ),
    "trajectories": lambda: figures.trajectories(
        {"circle": (np.cos(X), np.sin(X)), "line": (X, X)}, every=5
    ),
    "images": lambda: figures.images(
        {"here": TABLE[:16], "there": -TABLE[:16]},
        **LABELS,
        label="value",
        colours="viridis",
        extent=(-8, 8, 8, -8),
    ),
    "places": lambda: figures.places(
        {"text": ([0, 1], [0, 1], ["a", "b"]), "image": ([2, 3], [2, 2], ["c", "d"])}, **LABELS
    ),
}
every_figure = pytest.mark.parametrize("name", EXAMPLES)


def draw_all():
    """{name: (figure, svg, png)}, each shown for the first time."""
    return {name: (figure := draw(), figure.svg(), figure.png()) for name, draw in EXAMPLES.items()}


def fingerprints(drawn):
    """{name: hash of SVG and PNG}."""
    return {
        name: hashlib.sha256(svg.encode() + png).hexdigest()
        for name, (_, svg, png) in drawn.items()
    }


@pytest.fixture(scope="module")
def drawn():
    """Every example, drawn once; matplotlib's settings are as before."""
    before = dict(mpl.rcParams)
    figures = draw_all()
    assert dict(mpl.rcParams) == before
    return figures


def image(axis):
    return axis.images[0].get_array()


def test_every_function_that_draws_has_an_example():
    public = {
        name
        for name, value in vars(figures).items()
        if inspect.isfunction(value)
        and value.__module__ == figures.__name__
        and not name.startswith("_")
    }
    assert public == set(EXAMPLES)


def test_every_figure_has_the_same_bytes_in_another_process(drawn, run_python, root):
    code = (
        "import json, sys; sys.path.insert(0, sys.argv[1]); from test_figures import *;"
        " print(json.dumps(fingerprints(draw_all())))"
    )
    assert json.loads(run_python(code, str(root / "tests"), PYTHONHASHSEED="1")) == fingerprints(
        drawn
    )


@every_figure
def test_the_svg_follows_the_page_into_the_dark(name, drawn):
    svg = drawn[name][1]
    assert ElementTree.fromstring(svg).tag.endswith("svg")
    assert re.match(r"<svg[^>]*><style>@media \(prefers-color-scheme: dark\)", svg)
    assert svg.count("<style>") == 1
    assert "dc:date" not in svg
    assert "<image" not in svg or "data:image/png;base64" in svg  # nothing outside the file


@every_figure
def test_ink_is_the_page_s_text_colour(name, drawn):
    """Black text would vanish on a dark page. Inside a coloured cell the text's ground does not
    change, so there it may be black or white.
    """
    figure, svg, _ = drawn[name]
    for text in figure.findobj(mpl.text.Text):
        colour = to_hex(text.get_color())
        in_a_cell = text.axes is not None and text.axes.images and text in text.axes.texts
        assert colour == figures.INK or in_a_cell, f"{text.get_text()!r} is {colour}"
    for axis in figure.axes:
        for spine in axis.spines.values():
            assert not spine.get_visible() or to_hex(spine.get_edgecolor()) == figures.INK
        for tick in (*axis.xaxis.get_major_ticks(), *axis.yaxis.get_major_ticks()):
            assert to_hex(tick.tick1line.get_color()) == figures.INK
    assert figures.INK in svg or name == "attention_maps"


@every_figure
def test_labels_but_no_title_inside(name, drawn):
    figure = drawn[name][0]
    assert all(axis.get_title() == "" for axis in figure.axes)
    assert figure.get_suptitle() == ""
    if name != "new":
        assert any(axis.get_xlabel() for axis in figure.axes) or figure.get_supxlabel()


@every_figure
def test_a_figure_fits_a_phone(name, drawn):
    width, height = drawn[name][0].get_size_inches()
    assert width <= 5.6
    assert height <= 6


@every_figure
def test_no_label_is_smaller_than_the_others(name, drawn):
    """On a phone a figure is scaled so that 10 points are 11 pixels: see site.css."""
    figure = drawn[name][0]
    sizes = [text.get_fontsize() for text in figure.findobj(mpl.text.Text) if text.get_text()]
    assert min(sizes, default=10) >= figures.STYLE["font.size"] == 10


@every_figure
def test_the_png_stands_on_white(name, drawn):
    picture = Image.open(io.BytesIO(drawn[name][2])).convert("RGBA")
    assert picture.getpixel((0, 0)) == (255, 255, 255, 255)
    assert picture.getextrema()[3] == (255, 255)


def test_ipython_shows_svg_with_png_and_text_beside_it(drawn):
    from IPython.core.formatters import DisplayFormatter

    _, svg, png = drawn["bars"]
    data, _ = DisplayFormatter().format(EXAMPLES["bars"]())
    assert data == {
        "image/svg+xml": svg,
        "image/png": base64.b64encode(png).decode(),
        "text/plain": "figure",
    }


def test_a_reader_s_own_settings_do_not_change_a_figure(drawn):
    with mpl.rc_context(
        {
            "axes.facecolor": "yellow",
            "svg.hashsalt": "other",
            "lines.linewidth": 9,
            "text.color": "red",
            "axes.grid": True,
            "font.size": 20,
        }
    ):
        assert (
            figures.lines(X, WAVES, xlabel="x", ylabel="value").axes[0].lines[0].get_linewidth()
            == figures.STYLE["lines.linewidth"]
        )
        assert to_hex(EXAMPLES["bars"]().axes[0].xaxis.label.get_color()) == figures.INK


def test_drawing_needs_no_pyplot_and_writes_nothing(run_python):
    code = (
        "import sys; from sinpe import figures; figures.bars({'a': 1},"
        " ylabel='y')._repr_mimebundle_(); print('matplotlib.pyplot' in sys.modules)"
    )
    assert run_python(code).strip() == "False"


def test_a_cold_font_cache_stays_silent(run_python, tmp_path):
    """matplotlib says on stderr that it builds its font cache, which would land in a notebook."""
    code = (
        "import contextlib, io; error = io.StringIO()\nwith contextlib.redirect_stderr(error):\n   "
        " from sinpe import figures; figures.bars({'a': 1},"
        " ylabel='y').svg()\nprint(repr(error.getvalue()))"
    )
    assert run_python(code, MPLCONFIGDIR=str(tmp_path)).strip() == "''"


def contrast(one, other):
    """WCAG 2's contrast ratio of two colours."""

    def luminance(colour):
        return np.dot(
            [0.2126, 0.7152, 0.0722],
            [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)],
        )

    brighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("background", ["#ffffff", "#121212"])
def test_colours_stand_out_on_both_grounds(background):
    for colour in figures.COLOURS:
        assert contrast(colour, background) >= 3, (
            f"{colour} on {background}: {contrast(colour, background):.2f}"
        )
    assert contrast(figures.INK if background == "#ffffff" else "#e6e6e6", background) >= 7


def test_colour_is_never_the_only_cue():
    assert len(set(figures.COLOURS)) == len(figures.COLOURS) == len(set(figures.DASHES))
    styles = [line.get_linestyle() for line in EXAMPLES["lines"]().axes[0].lines[:3]]
    assert len(set(styles)) == 3


# What is drawn is what was given


def test_heat_maps_draw_their_matrix_on_a_symmetric_scale():
    axis = EXAMPLES["heat_map"]().axes[0]
    assert np.array_equal(image(axis), TABLE)
    assert axis.images[0].get_clim() == (-1, 1)
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("column", "position")
    assert figures.heat_map(TABLE, **LABELS, limits=(0, 2)).axes[0].images[0].get_clim() == (0, 2)
    assert figures.heat_map(TABLE, **LABELS, colours="viridis").axes[0].images[0].get_clim() == (
        TABLE.min(),
        TABLE.max(),
    )
    first, second = EXAMPLES["heat_maps"]().axes[:2]
    assert np.array_equal(image(first), TABLE)
    assert np.array_equal(image(second), -TABLE)
    assert first.images[0].get_clim() == second.images[0].get_clim()


def test_the_first_row_is_on_top():
    axis = EXAMPLES["heat_map"]().axes[0]
    assert axis.get_ylim()[0] > axis.get_ylim()[1]


def test_attention_draws_its_weights_between_0_and_1():
    axis = EXAMPLES["attention"]().axes[0]
    assert np.array_equal(image(axis), WEIGHTS)
    assert axis.images[0].get_clim() == (0, 1)
    assert (
        [text.get_text() for text in axis.get_xticklabels()]
        == [text.get_text() for text in axis.get_yticklabels()]
        == WORDS
    )
    assert [
        np.array_equal(image(axis), weights)
        for axis, weights in zip(
            EXAMPLES["attention_maps"]().axes, (WEIGHTS, WEIGHTS.T), strict=False
        )
    ] == [
        True,
        True,
    ]


def test_cells_say_their_value():
    first = EXAMPLES["labelled_matrices"]().axes[0]
    assert [text.get_text() for text in first.texts] == [
        f"{value:.2f}" for value in WEIGHTS.ravel()
    ]
    assert np.array_equal(image(first), WEIGHTS)
    marks = EXAMPLES["verdicts"]().axes[0]
    assert [text.get_text() == "×" for text in marks.texts] == (WEIGHTS > 0.3).ravel().tolist()


def test_lines_draw_their_curves():
    axis = EXAMPLES["lines"]().axes[0]
    for line, (name, y) in zip(axis.lines, WAVES.items(), strict=False):
        assert np.array_equal(line.get_xdata(), X)
        assert np.array_equal(line.get_ydata(), y)
        assert line.get_label() == name
    assert axis.lines[3].get_ydata() == [0, 0]  # the level
    assert len(axis.collections) == 1  # the spread
    assert [text.get_text() for text in axis.get_legend().get_texts()] == list(WAVES)
    assert (
        figures.lines(X, {"sine": WAVES["sine"]}, xlabel="x", ylabel="y").axes[0].get_legend()
        is None
    )


def test_lines_may_have_an_x_of_their_own_and_logarithmic_axes():
    figure = figures.lines(
        {"a": [1, 2], "b": [1, 10, 100]},
        {"a": [3, 4], "b": [5, 6, 7]},
        xlabel="x",
        ylabel="y",
        xscale="log",
        yscale="log",
        ylim=(1, 10),
        markers=True,
    )
    axis = figure.axes[0]
    assert [line.get_xdata().tolist() for line in axis.lines] == [[1, 2], [1, 10, 100]]
    assert (axis.get_xscale(), axis.get_yscale(), axis.get_ylim()) == ("log", "log", (1, 10))
    assert [line.get_marker() for line in axis.lines] == ["o", "s"]


def test_lines_that_are_not_joined_are_markers_with_bars():
    spread = {"a": ([2, 3], [4, 6])}
    figure = figures.lines(
        [1, 2], {"a": [3, 4], "b": [5, 6]}, xlabel="x", ylabel="y", joined=False, spread=spread
    )
    axis = figure.axes[0]
    marks = [line for line in axis.lines if len(line.get_xdata()) and line.get_marker() in "os"]
    assert [line.get_ydata().tolist() for line in marks] == [[3, 4], [5, 6]]
    assert all(line.get_linestyle() == "None" for line in marks)
    ends = [bar.get_segments() for bar in axis.collections]
    assert [segment[:, 1].tolist() for segment in ends[0]] == [[2, 4], [3, 6]]
    assert len({bar.get_color()[0].tobytes() for bar in axis.collections}) == 2


def test_panels_of_different_quantities_have_axes_and_names_of_their_own():
    figure = figures.panels(
        X, {"loss": {"a": X}, "ratio": {"a": 9 * X}}, xlabel="step", ylabel=None
    )
    assert [axis.get_ylabel() for axis in figure.axes] == ["loss", "ratio"]
    assert [axis.get_xlabel() for axis in figure.axes] == ["step", "step"]
    assert figure.axes[0].get_ylim() != figure.axes[1].get_ylim()


def test_panels_share_axes_colours_and_one_legend():
    figure = figures.panels(
        X, {"left": {"a": X, "b": X**2}, "right": {"b": X}}, xlabel="x", ylabel="value"
    )
    left, right = figure.axes
    assert left.get_ylim() == right.get_ylim()
    assert np.array_equal(left.lines[1].get_ydata(), X**2) and np.array_equal(
        right.lines[0].get_ydata(), X
    )
    assert left.lines[1].get_color() == right.lines[0].get_color() != left.lines[0].get_color()
    assert [text.get_text() for text in figure.legends[0].texts] == ["a", "b"]
    assert "right" in right.get_xlabel()


def test_stacked_panels_stand_below_one_another_under_their_names():
    curves = {"upper": {"a": X, "b": X**2}, "lower": {"a": X}}
    labels = {"xlabel": "x", "ylabel": "value", "width": 3.8, "height": 5}
    figure = figures.panels(X, curves, stacked=True, **labels)
    upper, lower = figure.axes
    figure.svg()  # only now everything has its place
    (top, bottom) = (axis.get_window_extent() for axis in figure.axes)
    assert bottom.y1 < top.y0 and abs(bottom.x0 - top.x0) < 1
    for axis, name, box in ((upper, "upper", top), (lower, "lower", bottom)):
        (text,) = axis.texts
        assert text.get_text() == name and text.get_window_extent().y0 >= box.y1
    assert (upper.get_xlabel(), lower.get_xlabel()) == ("", "x")
    assert (figure.get_supylabel(), upper.get_ylabel()) == ("value", "")
    assert [text.get_text() for text in figure.legends[0].texts] == ["a", "b"]
    assert upper.lines[0].get_color() == lower.lines[0].get_color()
    apart = {"upper": {"a": X}, "lower": {"b": X}}
    figure = figures.panels(X, apart, stacked=True, **labels)
    assert not figure.legends
    assert [axis.get_legend().texts[0].get_text() for axis in figure.axes] == ["a", "b"]


def test_panels_mark_the_places_that_are_named():
    figure = figures.panels(
        X + 1,
        {"left": {"a": X}, "right": {"a": X}},
        xlabel="x",
        ylabel="y",
        xscale="log",
        xticks=[1, 2, 4],
    )
    for axis in figure.axes:
        assert list(axis.get_xticks()) == [1, 2, 4] and [
            label.get_text() for label in axis.get_xticklabels()
        ] == ["1", "2", "4"]
        assert not list(axis.get_xticks(minor=True))


def test_panels_without_a_common_name_have_legends_of_their_own():
    figure = figures.panels(
        X, {"left": {"a": X, "b": X**2}, "right": {"c": X}}, xlabel="x", ylabel="value", ylim=(0, 2)
    )
    assert [[text.get_text() for text in axis.get_legend().texts] for axis in figure.axes] == [
        ["a", "b"],
        ["c"],
    ]
    assert not figure.legends and figure.axes[1].get_ylim() == (0, 2)


def test_only_the_curves_with_a_spread_get_a_band():
    figure = figures.panels(
        X,
        {"left": {"a": X, "b": X**2}, "right": {"b": X}},
        xlabel="x",
        ylabel="value",
        spread={"left": {"a": (X - 1, X + 1)}},
    )
    assert [len(axis.collections) for axis in figure.axes] == [1, 0]


@pytest.mark.parametrize(
    ("draw", "name"),
    [
        (lambda: figures.panels(X, {}, xlabel="x", ylabel="y"), "curves"),
        (lambda: figures.intervals({}, xlabel="x"), "estimates"),
        (lambda: figures.dots({}, xlabel="x"), "rows"),
        (lambda: figures.trajectories({}, every=1), "paths"),
        (lambda: figures.clocks([], [1.0]), "positions"),
        (lambda: figures.clocks([1], []), "inv_freq"),
    ],
)
def test_nothing_to_draw_is_said(draw, name):
    with pytest.raises(ValueError, match=f"{name} must have at least one entry"):
        draw()


def test_rows_of_dots_have_the_same_series():
    for rows in ({"a": {"u": 1}, "b": {"v": 2}}, {"a": {}}):
        with pytest.raises(ValueError, match="rows must have the same series each"):
            figures.dots(rows, xlabel="x")


def test_intervals_draw_mean_low_and_high_from_the_top():
    figure = figures.intervals(
        {"one": (0.1, -0.1, 0.4), "two": (-0.2, -0.3, -0.1)},
        xlabel="difference",
        level=0.0,
        margin=0.05,
    )
    axis = figure.axes[0]
    assert np.array_equal(axis.lines[1].get_xdata(), [0.1, -0.2])
    bars = axis.containers[0].lines[2][0].get_segments()
    assert np.allclose([bar[:, 0] for bar in bars], [(-0.1, 0.4), (-0.3, -0.1)])
    assert axis.get_ylim()[0] > axis.get_ylim()[1]
    assert [label.get_text() for label in axis.get_yticklabels()] == ["one", "two"]


def test_bars_have_the_given_heights():
    axis = EXAMPLES["bars"]().axes[0]
    assert [bar.get_height() for bar in axis.patches] == [1, 2]
    assert [text.get_text() for text in axis.get_xticklabels()] == ["one", "two"]


def test_dots_stand_at_their_values_and_the_first_row_is_on_top():
    axis = figures.dots(
        {"one": {"before": 1.0, "after": 3.0}, "two": {"before": 2.0, "after": 0.5}},
        xlabel="size",
        level=1,
    ).axes[0]
    before, after, level = axis.lines
    assert (
        list(before.get_xdata()) == [1.0, 2.0]
        and list(after.get_xdata()) == [3.0, 0.5]
        and list(level.get_xdata()) == [1, 1]
    )
    assert [label.get_text() for label in axis.get_yticklabels()] == [
        "one",
        "two",
    ] and axis.yaxis_inverted()
    joined = axis.collections[0].get_segments()
    assert [sorted(segment[:, 0]) for segment in joined] == [[1.0, 3.0], [0.5, 2.0]]


def test_clock_hands_point_at_position_times_frequency_from_the_top():
    w = inverse_frequencies(8)
    axes = np.array(EXAMPLES["clocks"]().axes).reshape(3, 4)
    for row, position in enumerate([0, 1, 10]):
        for column in range(4):
            x, y = axes[row, column].lines[0].get_data()
            assert np.allclose(
                [x[1], y[1]], [np.sin(position * w[column]), np.cos(position * w[column])]
            )


def test_small_multiples_and_trajectories_draw_their_data():
    panels = EXAMPLES["small_multiples"]().axes
    assert [axis.get_visible() for axis in panels] == [True, True, True, False]
    for axis, (name, y) in zip(panels, WAVES.items(), strict=False):
        assert np.array_equal(axis.lines[0].get_ydata(), y)
        assert axis.get_ylabel() == name
    circle = EXAMPLES["trajectories"]().axes[0]
    assert np.array_equal(circle.lines[0].get_data(), (np.cos(X), np.sin(X)))
    assert circle.get_aspect() == 1


def test_images_draw_their_matrices_on_one_scale_with_square_pixels():
    pictures = {"bright": WEIGHTS, "dark": -WEIGHTS}
    drawn = figures.images(pictures).axes
    assert len(drawn) == 2 and not any([*axis.get_xticks(), *axis.get_yticks()] for axis in drawn)
    for axis, (name, values) in zip(drawn, pictures.items(), strict=True):
        assert np.array_equal(image(axis), values) and axis.get_xlabel() == name
        assert axis.images[0].get_clim() == (-0.7, 0.7) and axis.get_aspect() == 1
    one, scale = figures.images({"a": WEIGHTS}, limits=(0, 2), label="v", extent=(0, 3, 3, 0)).axes
    assert one.images[0].get_clim() == (0, 2) and scale.get_ylabel() == "v"
    assert one.images[0].get_extent() == [0, 3, 3, 0] and len(one.get_xticks()) > 1
    assert figures.images({"a": WEIGHTS}, xlabel="column").axes[0].get_xlabel() == "column\na"


def test_places_put_each_word_at_its_point_and_rows_grow_downwards():
    groups = {"text": ([0, 4], [0, 4], ["a", "b"]), "image": ([1, 2], [1, 1], ["c", "d"])}
    axis = figures.places(groups, **LABELS).axes[0]
    found = {(*text.get_position(), text.get_text()) for text in axis.texts}
    assert found == {(0, 0, "a"), (4, 4, "b"), (1, 1, "c"), (2, 1, "d")}
    assert [line.get_label() for line in axis.lines] == ["text", "image"]
    assert axis.lines[0].get_marker() != axis.lines[1].get_marker()
    (low, high), (bottom, top) = axis.get_xlim(), axis.get_ylim()
    assert low < 0 and high > 4 and (bottom, top) == (high, low)
    assert (
        axis.get_legend()
        and not figures.places({"a": ([1], [1], ["x"])}, **LABELS).axes[0].get_legend()
    )


@pytest.mark.parametrize(
    "bad", [None, 5, [], [[]], [1, 2], [[1, 2], [3]], [["a"]], [[1j]], [[np.nan]], [[np.inf]]]
)
def test_what_is_no_matrix_of_finite_numbers_is_refused_by_name(bad):
    for name, draw in {
        "values": lambda: figures.heat_map(bad, **LABELS),
        "maps": lambda: figures.heat_maps({"a": bad}, **LABELS),
        "caught": lambda: figures.verdicts(bad, ["a"], ["b"], **LABELS),
        "weights": lambda: figures.attention(bad, ["a"], ["b"]),
        "matrices": lambda: figures.labelled_matrices({"a": (bad, ["a"], ["b"])}),
        "pictures": lambda: figures.images({"a": bad}),
    }.items():
        with pytest.raises(ValueError, match=f"{name} must be a matrix of finite numbers, got"):
            draw()


def test_a_label_too_few_or_too_many_is_refused():
    for draw in (
        lambda: figures.attention([[1, 2]], ["a"], ["b"]),
        lambda: figures.verdicts([[1, 0]], ["a"], ["b"], **LABELS),
        lambda: figures.labelled_matrices({"a": ([[1, 2]], ["a"], ["b"])}),
    ):
        with pytest.raises(ValueError, match=r"must have shape \(1, 1\), .* got \(1, 2\)"):
            draw()


@pytest.mark.parametrize("bad", [None, 5, [], "ab"])
def test_what_is_not_named_is_refused(bad):
    for draw in (
        lambda: figures.heat_maps(bad, **LABELS),
        lambda: figures.attention_maps(bad),
        lambda: figures.labelled_matrices(bad),
        lambda: figures.lines([1], bad, **LABELS),
        lambda: figures.panels([1], bad, **LABELS),
        lambda: figures.panels([1], {"a": bad}, **LABELS),
        lambda: figures.intervals(bad, xlabel="x"),
        lambda: figures.bars(bad, ylabel="y"),
        lambda: figures.small_multiples([1], bad, xlabel="x"),
        lambda: figures.trajectories(bad, every=1),
        lambda: figures.dots(bad, xlabel="x"),
        lambda: figures.dots({"a": bad}, xlabel="x"),
        lambda: figures.images(bad),
        lambda: figures.places(bad, **LABELS),
    ):
        with pytest.raises(ValueError, match="must (be|hold) a dict"):
            draw()


def test_other_values_that_cannot_be_drawn_are_refused_by_name():
    for words, draw in {
        "values must be a row of numbers": lambda: figures.bars({"a": "x"}, ylabel="y"),
        "error must be a row of numbers": lambda: figures.bars({"a": 1}, ylabel="y", error={}),
        "columns must be a positive": lambda: figures.small_multiples(
            [1], {"a": [1]}, xlabel="x", columns=0
        ),
        "paths must be pairs": lambda: figures.trajectories({"a": [1]}, every=1),
        "limits must be": lambda: figures.heat_map([[1]], limits=(1,), **LABELS),
        "positions must be a row": lambda: figures.clocks(5, [1.0]),
        "inv_freq must be a row": lambda: figures.clocks([1], "a"),
        "estimates must have shape": lambda: figures.intervals({"a": (1, 2)}, xlabel="x"),
        r"pictures must have one shape, got \(1, 1\) and \(1, 2\)": lambda: figures.images(
            {"a": [[1]], "b": [[1, 2]]}
        ),
        r"limits must be \(low, high\)": lambda: figures.images({"a": [[1]]}, limits=(1,)),
        r"groups must hold \(x, y, words\)": lambda: figures.places({"a": ([1], [1])}, **LABELS),
        "groups must be a row of numbers": lambda: figures.places(
            {"a": ([1], "x", ["w"])}, **LABELS
        ),
        "groups must have as many words as points, got 1, 1 and 2": lambda: figures.places(
            {"a": ([1], [1], ["w", "v"])}, **LABELS
        ),
    }.items():
        with pytest.raises(ValueError, match=words):
            draw()
