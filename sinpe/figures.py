"""The course's house style, and one function for each figure that recurs.

A figure is shown as SVG whose ink follows the page's light or dark mode, with a PNG on white beside
it for places that hide SVG. Nothing here touches global matplotlib state, and every function
returns the figure, so that a cell can assert what was drawn.
"""

import io
import logging
import re

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as _MatplotlibFigure
from PIL import Image

from sinpe.looks import COLOURS, DASHES, looks, numbered

# "building the font cache" would land in a notebook's stderr
logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)

INK = "#010203"  # stands for "the page's text colour" until the SVG is written
STYLE = {
    **{
        name: INK
        for name in (
            "text.color",
            "axes.edgecolor",
            "axes.labelcolor",
            "xtick.color",
            "ytick.color",
            "legend.edgecolor",
            "patch.edgecolor",
        )
    },
    "svg.hashsalt": "sinpe",
    "axes.prop_cycle": mpl.cycler(color=COLOURS, linestyle=DASHES),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "font.size": 10,
    "figure.dpi": 100,
    "lines.linewidth": 1.8,
    "legend.framealpha": 0,
    "legend.frameon": False,
    "image.interpolation": "nearest",
}
_DARK = (
    "<style>@media (prefers-color-scheme: dark){"
    f'[style*="fill: {INK}"]{{fill:#e6e6e6!important}}[style*="stroke:'
    f' {INK}"]{{stroke:#e6e6e6!important}}}}</style>'
)


class Figure(_MatplotlibFigure):
    """A matplotlib figure that shows itself in a notebook as SVG and PNG, the same bytes on every
    run.
    """

    def svg(self):
        with mpl.rc_context(STYLE):
            out = io.StringIO()
            self.savefig(
                out, format="svg", bbox_inches="tight", transparent=True, metadata={"Date": None}
            )
        text = out.getvalue()
        return re.sub(
            r"(<svg[^>]*>)", lambda tag: tag.group(1) + _DARK, text[text.index("<svg") :], count=1
        )

    def png(self):
        out, small = io.BytesIO(), io.BytesIO()
        self.savefig(
            out,
            format="png",
            dpi=150,
            bbox_inches="tight",
            facecolor="white",
            metadata={"Software": None},
        )
        # a palette of 256 colours: a third of the size, and a chapter with all its figures stays
        # below a megabyte
        Image.open(out).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(
            small, "png", optimize=True, dpi=(150, 150)
        )
        return small.getvalue()

    def _repr_mimebundle_(self, include=None, exclude=None):
        import base64

        return {
            "image/svg+xml": self.svg(),
            "image/png": base64.b64encode(self.png()).decode(),
            "text/plain": "figure",
        }


@mpl.rc_context(STYLE)
def new(width=5.6, height=3.2, rows=1, columns=1, **subplots):
    """An empty figure in the house style (inches) and its axes (an array when there are
    several).
    """
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, **subplots)


def _style(look, markers):
    """What matplotlib is told about a curve of that Look."""
    marker = look.marker if markers else None
    return {"color": look.colour, "linestyle": look.linestyle, "marker": marker}


def _named(name, values):
    """`values`, or ValueError unless they are a dict with an entry."""
    if not isinstance(values, dict):
        raise ValueError(f"{name} must be a dict, got {values!r:.100}")
    if not values:
        raise ValueError(f"{name} must have at least one entry, got {values!r}")
    return values


def _matrix(name, values, rows=None, columns=None):
    """`values` as a float matrix, or ValueError unless they are finite and there is one for each of
    the labels.
    """
    matrix = _numbers(values)
    if matrix.ndim != 2 or not matrix.size or not np.isfinite(matrix).all():
        raise ValueError(f"{name} must be a matrix of finite numbers, got {values!r:.100}")
    labels = tuple(
        n if names is None else len(names)
        for names, n in zip((rows, columns), matrix.shape, strict=True)
    )
    if matrix.shape != labels:
        raise ValueError(f"{name} must have shape {labels}, as its labels have, got {matrix.shape}")
    return matrix


def _numbers(values):
    """`values` as a float array; one of three axes, which nothing here draws, where they are none.
    None would become nan, and "5" five.
    """
    try:
        given = np.asarray(values)
        if given.dtype.kind in "biuf" or not given.size:
            return given.astype(float)
    except (TypeError, ValueError):
        pass
    return np.empty((0, 0, 0))


def _vector(name, values):
    """`values` as a float array, or ValueError unless they are numbers in a row."""
    vector = _numbers(values)
    if vector.ndim != 1:
        raise ValueError(f"{name} must be a row of numbers, got {values!r:.100}")
    if not vector.size:
        raise ValueError(f"{name} must have at least one entry, got {values!r}")
    return vector


@mpl.rc_context(STYLE)
def heat_map(
    values,
    *,
    xlabel,
    ylabel,
    label=None,
    limits=None,
    colours="RdBu_r",
    extent=None,
    width=5.6,
    height=3.2,
    origin="upper",
):
    """A matrix as colours, first row on top. limits: (low, high), by default symmetric about zero
    for the diverging default map.
    """
    values = _matrix("values", values)
    if limits is not None:
        limits = _vector("limits", limits)
        if len(limits) != 2:
            raise ValueError(f"limits must be (low, high), got {limits}")
    else:
        largest = np.abs(values).max()
        limits = (-largest, largest) if colours == "RdBu_r" else (values.min(), values.max())
    figure, axis = new(width, height)
    image = axis.imshow(
        values,
        cmap=colours,
        vmin=limits[0],
        vmax=limits[1],
        aspect="auto",
        extent=extent,
        origin=origin,
    )
    axis.set(xlabel=xlabel, ylabel=ylabel)
    if extent is None:  # rows and columns are counted: no tick between two of them
        axis.locator_params(integer=True)
    bar = figure.colorbar(image, ax=axis, pad=0.02)
    bar.outline.set_visible(False)
    if label:
        bar.set_label(label)
    return figure


@mpl.rc_context(STYLE)
def heat_maps(maps, *, xlabel, ylabel, label=None, width=5.6, height=3.2):
    """Matrices of one shape side by side as colours on one scale, symmetric about zero: {name:
    values}. The name stands below its map.
    """
    maps = {name: _matrix("maps", values) for name, values in _named("maps", maps).items()}
    figure, axes = new(width, height, 1, len(maps), sharey=True, squeeze=False)
    largest = max(np.abs(values).max() for values in maps.values())
    for axis, (name, values) in zip(axes[0], maps.items(), strict=True):
        image = axis.imshow(values, cmap="RdBu_r", vmin=-largest, vmax=largest, aspect="auto")
        axis.set(xlabel=f"{xlabel}\n{name}")
    axes[0, 0].set_ylabel(ylabel)
    figure.colorbar(image, ax=axes[0], pad=0.02, label=label).outline.set_visible(False)
    return figure


@mpl.rc_context(STYLE)
def verdicts(caught, rows, columns, *, xlabel, ylabel, width=5.6, height=3.8):
    """Which test (row) catches which fault (column): a filled cell with a cross where caught, a dot
    where it slips through.
    """
    caught = _matrix("caught", caught, rows, columns)
    figure, axis = new(width, height)
    axis.imshow(
        caught,
        cmap=mpl.colors.ListedColormap(["none", COLOURS[1]]),
        vmin=0,
        vmax=1,
        aspect="auto",
    )
    for (row, column), found in np.ndenumerate(caught != 0):
        axis.text(
            column,
            row,
            "×" if found else "·",
            ha="center",
            va="center_baseline",
            color="white" if found else INK,
            fontsize=13,
        )
    axis.hlines(
        np.arange(len(rows) - 1) + 0.5, -0.5, len(columns) - 0.5, color="#777777", linewidth=0.4
    )
    axis.vlines(
        np.arange(len(columns) - 1) + 0.5, -0.5, len(rows) - 0.5, color="#777777", linewidth=0.4
    )
    axis.set_xticks(range(len(columns)), columns, rotation=45, ha="right")
    axis.set_yticks(range(len(rows)), rows)
    axis.set(xlabel=xlabel, ylabel=ylabel)
    axis.tick_params(length=0)
    return figure


@mpl.rc_context(STYLE)
def attention(
    weights,
    queries,
    keys,
    *,
    xlabel="key (read from)",
    ylabel="query (reads)",
    width=4.4,
    height=3.6,
):
    """Attention weights as a labelled grid: row = query, column = key, darker = more."""
    weights = _matrix("weights", weights, queries, keys)
    figure, axis = new(width, height)
    image = axis.imshow(weights, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    tilt = {"rotation": 45, "ha": "right"} if max(len(str(key)) for key in keys) > 3 else {}
    axis.set_xticks(range(len(keys)), keys, **tilt)
    axis.set_yticks(range(len(queries)), queries)
    axis.set(xlabel=xlabel, ylabel=ylabel)
    figure.colorbar(image, ax=axis, pad=0.02, label="attention weight").outline.set_visible(False)
    return figure


@mpl.rc_context(STYLE)
def attention_maps(maps, *, xlabel="key (read from)", ylabel="query (reads)", width=5.6):
    """Attention maps side by side on one scale: {name: weights}; row = query, column = key, darker
    = more. The name stands below its map.
    """
    maps = {name: _matrix("maps", weights) for name, weights in _named("maps", maps).items()}
    figure, axes = new(width, width / len(maps) + 0.35, 1, len(maps), sharey=True, squeeze=False)
    for axis, (name, weights) in zip(axes[0], maps.items(), strict=True):
        image = axis.imshow(weights, cmap="Blues", vmin=0, vmax=1)
        axis.set(xlabel=f"{xlabel}\n{name}")
    axes[0, 0].set(ylabel=ylabel)
    figure.colorbar(
        image, ax=axes, pad=0.02, shrink=0.75, label="attention weight"
    ).outline.set_visible(False)
    return figure


@mpl.rc_context(STYLE)
def labelled_matrices(
    matrices, *, xlabel="key (read from)", ylabel="query (reads)", width=5.6, height=2.7
):
    """Small matrices of weights side by side on one scale, each value written in its cell: {name:
    (values, row labels, column labels)}. The name stands below.
    """
    for name, entry in _named("matrices", matrices).items():
        if not isinstance(entry, tuple | list) or len(entry) != 3:
            raise ValueError(
                f"matrices must hold (values, row labels, column labels), got {entry!r:.100} in"
                f" {name!r}"
            )
        _matrix("matrices", *entry)
    figure, axes = new(width, height, 1, len(matrices), squeeze=False)
    largest = max(np.max(values) for values, _, _ in matrices.values())
    for axis, (name, (values, rows, columns)) in zip(axes[0], matrices.items(), strict=True):
        axis.imshow(
            np.asarray(values, float), cmap="Blues", vmin=0, vmax=1.1 * largest, aspect="auto"
        )
        for (row, column), value in np.ndenumerate(values):
            axis.text(
                column,
                row,
                f"{value:.2f}",
                ha="center",
                va="center",
                color="white" if value > 0.6 * largest else "black",
            )
        axis.set_xticks(range(len(columns)), columns)
        axis.set_yticks(range(len(rows)), rows)
        axis.set(xlabel=f"{xlabel}\n{name}")
        axis.tick_params(length=0)
    axes[0, 0].set(ylabel=ylabel)
    return figure


@mpl.rc_context(STYLE)
def lines(
    x,
    series,
    *,
    xlabel,
    ylabel,
    xscale="linear",
    yscale="linear",
    level=None,
    ylim=None,
    markers=False,
    joined=True,
    spread=None,
    width=5.6,
    height=3.2,
):
    """Curves over a common x, told apart by colour and by dash. Where all are position methods,
    each has the look that it has everywhere (sinpe.looks).

    x: shape (n,), or a dict with one array a curve; series: {name: shape (n,)}; spread: {name:
        (low, high)} drawn as bands;
    level: a value to mark with a thin horizontal line. A single curve gets no legend. joined: False
        draws markers that nothing joins, each with its spread as a bar.
    """
    _named("series", series)
    figure, axis = new(width, height)
    seen = looks(series)
    for name, y in series.items():
        at, look = x[name] if isinstance(x, dict) else x, seen[name]
        if not joined:
            low, high = (spread or {}).get(name, (y, y))
            bars = {"yerr": (np.subtract(y, low), np.subtract(high, y)), "capsize": 3}
            axis.errorbar(
                at, y, label=name, fmt=look.marker, color=look.colour, markersize=6, **bars
            )
            continue
        axis.plot(at, y, label=name, markersize=4, **_style(look, markers))
        if spread and name in spread:
            axis.fill_between(at, *spread[name], alpha=0.18, color=look.colour, linewidth=0)
    if level is not None:
        axis.axhline(level, color="#777777", linewidth=0.8, linestyle="-", zorder=0)
    axis.set(xlabel=xlabel, ylabel=ylabel, xscale=xscale, yscale=yscale)
    if ylim:
        axis.set_ylim(ylim)
    if len(series) > 1:
        axis.legend()
    return figure


@mpl.rc_context(STYLE)
def panels(
    x,
    curves,
    *,
    xlabel,
    ylabel,
    spread=None,
    xscale="linear",
    yscale="linear",
    level=None,
    ylim=None,
    markers=False,
    xticks=None,
    stacked=False,
    width=5.6,
    height=2.6,
):
    """Curves in panels side by side with common axes: curves {panel: {name: shape (n,)}}, spread
    {panel: {name: (low, high)}} for those that have one. The panel's name stands below it.

    ylabel: None where panels show different quantities. Each then has a vertical axis of its own,
    and its name stands beside that.

    xticks: mark these places, in figures, instead of those that the scale would choose.

    A name has the same colour and dash in every panel, and stands in one legend above them. If no
    name occurs twice, each panel has its own. Position methods look as they do everywhere
    (sinpe.looks).

    stacked: panels below one another, each under its name: for a figure that is narrow enough to be
        read on a phone.
    """
    for series in _named("curves", curves).values():
        _named("curves", series)
    alike = ylabel is not None
    grid = (len(curves), 1) if stacked else (1, len(curves))
    figure, axes = new(width, height, *grid, sharex=True, sharey=alike, squeeze=False)
    names = [name for series in curves.values() for name in series]
    order = list(dict.fromkeys(names))
    apart = len(curves) > 1 and len(order) == len(names)
    common = looks(order)
    for axis, (panel, series) in zip(axes.flat, curves.items(), strict=True):
        seen = looks(series) if apart else common
        for name, y in series.items():
            axis.plot(x, y, label=name, markersize=4, **_style(seen[name], markers))
            if spread and name in spread.get(panel, {}):
                band = {"alpha": 0.18, "color": seen[name].colour, "linewidth": 0}
                axis.fill_between(x, *spread[panel][name], **band)
        if level is not None:
            axis.axhline(level, color="#777777", linewidth=0.8, linestyle="-", zorder=0)
        axis.set(xscale=xscale, yscale=yscale)
        axis.set_ylabel("" if alike else panel)
        if stacked and alike:  # the panel's name above its axes
            above = {"xytext": (0, 3), "textcoords": "offset points", "va": "bottom"}
            axis.annotate(panel, (0, 1), xycoords="axes fraction", **above)
        elif not stacked:
            axis.set_xlabel(f"{xlabel}\n{panel}" if alike else xlabel)
        if xticks is not None:
            axis.set_xticks(xticks, [f"{tick:g}" for tick in xticks])
            axis.minorticks_off()
        if ylim:
            axis.set_ylim(ylim)
        if apart:
            axis.legend()
    if stacked:
        axes[-1, 0].set_xlabel(xlabel)
    if alike and stacked:
        figure.supylabel(ylabel, fontsize=10)
    elif alike:
        axes[0, 0].set_ylabel(ylabel)
    if not apart:
        handles = {
            label: handle
            for axis in axes.flat
            for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
        }
        columns = min(2 if stacked else 4, len(handles))
        figure.legend(handles.values(), handles, loc="outside upper center", ncols=columns)
    return figure


@mpl.rc_context(STYLE)
def intervals(estimates, *, xlabel, level=0.0, margin=None, width=5.6):
    """One row a name: estimates {name: (mean, low, high)}, the first on top. A line marks `level`,
    a band `level` ± margin.
    """
    _named("estimates", estimates)
    figure, axis = new(width, 0.27 * len(estimates) + 0.7)
    rows = np.arange(len(estimates))
    mean, low, high = _matrix(
        "estimates", list(estimates.values()), estimates, ("mean", "low", "high")
    ).T
    if margin is not None:
        axis.axvspan(level - margin, level + margin, color="#777777", alpha=0.25, linewidth=0)
    axis.axvline(level, color="#777777", linewidth=0.8, linestyle="-")
    axis.errorbar(
        mean,
        rows,
        xerr=(mean - low, high - mean),
        fmt="o",
        color=COLOURS[0],
        ecolor=COLOURS[0],
        markersize=5,
        capsize=3,
    )
    axis.set_yticks(rows, estimates)
    axis.set(xlabel=xlabel, ylim=(len(estimates) - 0.4, -0.6))
    axis.tick_params(axis="y", length=0)
    return figure


@mpl.rc_context(STYLE)
def bars(
    values, *, ylabel, xlabel="", level=None, yscale="linear", error=None, width=5.6, height=3.0
):
    """One bar a name: values {name: height}, error {name: half-width of the interval}; `level`
    marks a reference value.
    """
    heights = _vector("values", list(_named("values", values).values()))
    if error is not None:
        error = _vector("error", [error.get(name) for name in values])
    figure, axis = new(width, height)
    names = list(values)
    axis.bar(
        names,
        heights,
        color=[COLOURS[i % len(COLOURS)] for i in range(len(names))],
        width=0.65,
        yerr=error,
        ecolor=INK,
        capsize=4,
    )
    if level is not None:
        axis.axhline(level, color="#777777", linewidth=1, linestyle="--")
    axis.set(xlabel=xlabel, ylabel=ylabel, yscale=yscale)
    return figure


@mpl.rc_context(STYLE)
def clocks(positions, inv_freq, *, width=5.6):
    """Each code as clock hands: one row a position, one dial a frequency, the hand at angle
    position × frequency from the top.
    """
    _vector("positions", positions)
    _vector("inv_freq", inv_freq)
    figure, axes = new(
        width,
        width / len(inv_freq) * len(positions) * 1.12,
        len(positions),
        len(inv_freq),
        squeeze=False,
    )
    for row, position in zip(axes, positions, strict=True):
        for column, (axis, w) in enumerate(zip(row, inv_freq, strict=True)):
            angle = position * w
            axis.add_patch(mpl.patches.Circle((0, 0), 1, fill=False, linewidth=0.8))
            axis.plot(
                [0, np.sin(angle)],
                [0, np.cos(angle)],
                color=COLOURS[column % len(COLOURS)],
                linestyle="-",
                marker="o",
                markevery=[1],
                markersize=4,
            )
            axis.set(xlim=(-1.15, 1.15), ylim=(-1.15, 1.15), aspect="equal", xticks=[], yticks=[])
            for spine in axis.spines.values():
                spine.set_visible(False)
        row[0].set_ylabel(f"{position}", rotation=0, ha="right", va="center")
    for column, w in enumerate(inv_freq):
        axes[-1, column].set_xlabel(f"{2 * np.pi / w:,.0f}")
    figure.supxlabel("wavelength (positions)", fontsize=10)
    figure.supylabel("position", fontsize=10)
    return figure


@mpl.rc_context(STYLE)
def small_multiples(x, curves, *, xlabel, columns=2, width=5.6, row_height=1.15):
    """One small panel a name over a common x: curves {name: shape (n,) or (n, several)}. Every
    panel keeps its own vertical scale.
    """
    if isinstance(columns, bool) or not isinstance(columns, int) or columns < 1:
        raise ValueError(f"columns must be a positive integer, got {columns!r}")
    rows = -(-len(_named("curves", curves)) // columns)
    figure, axes = new(width, rows * row_height + 0.3, rows, columns, sharex=True, squeeze=False)
    for axis, (name, y) in zip(axes.flat, curves.items(), strict=False):
        axis.plot(x, y, linewidth=1.4)
        axis.set_ylabel(name)
    for axis in axes.flat[len(curves) :]:
        axis.set_visible(False)
    figure.supxlabel(xlabel, fontsize=10)
    return figure


@mpl.rc_context(STYLE)
def trajectories(paths, *, every, width=5.6):
    """Paths in a plane side by side, equal axes: {name: (x, y)}. A ring marks the start, a dot
    every `every` points after it.
    """
    for name, path in _named("paths", paths).items():
        if not isinstance(path, tuple | list | np.ndarray) or len(path) != 2:
            raise ValueError(f"paths must be pairs (x, y), got {path!r:.100} in {name!r}")
        x, y = (_vector("paths", part) for part in path)
        if len(x) != len(y):
            raise ValueError(f"paths must be as long in x as in y, got {len(x)} and {len(y)}")
    figure, axes = new(width, width / len(paths) + 0.35, 1, len(paths), squeeze=False)
    for number, (axis, (name, (x, y))) in enumerate(zip(axes[0], paths.items(), strict=True)):
        axis.plot(
            x,
            y,
            color=COLOURS[number % len(COLOURS)],
            linestyle="-",
            linewidth=0.9,
            marker="o",
            markersize=3,
            markevery=every,
        )
        axis.plot(
            x[0], y[0], color=INK, marker="o", markersize=8, fillstyle="none", linestyle="none"
        )
        reach = 1.12 * max(np.abs(x).max(), np.abs(y).max())
        axis.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", xlabel=name)
        axis.locator_params(nbins=3)
    return figure


@mpl.rc_context(STYLE)
def dots(rows, *, xlabel, xscale="linear", level=None, width=5.6, row_height=0.42):
    """Rows of markers that a thin line joins, the first row on top: {row: {series: value}}, the
    same series in each; `level` marks a reference value.
    """
    for values in _named("rows", rows).values():
        if not isinstance(values, dict):
            raise ValueError(f"rows must hold a dict each, got {values!r:.100}")
        _vector("rows", [*values.values(), 0.0])  # none at all is said below
    names = list(next(iter(rows.values())))
    odd = next(
        (row for row, values in rows.items() if not names or set(values) != set(names)), None
    )
    if odd is not None:
        raise ValueError(
            f"rows must have the same series each, got {list(rows[odd])} in {odd!r} and {names} in"
            " the first"
        )
    figure, axis = new(width, row_height * len(rows) + 1.0)
    places = range(len(rows))
    axis.hlines(
        places,
        *([pick(row.values()) for row in rows.values()] for pick in (min, max)),
        color="#777777",
        linewidth=0.8,
        zorder=1,
    )
    for number, name in enumerate(names):
        axis.plot(
            [row[name] for row in rows.values()],
            places,
            label=name,
            linestyle="none",
            marker=numbered(number).marker,
            markersize=7,
        )
    if level is not None:
        axis.axvline(level, color="#777777", linewidth=0.8, linestyle="-", zorder=0)
    axis.set(xlabel=xlabel, xscale=xscale, ylim=(len(rows) - 0.5, -0.5))
    axis.set_yticks(places, list(rows))
    axis.tick_params(axis="y", length=0)
    if len(names) > 1:
        axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(names))
    return figure


@mpl.rc_context(STYLE)
def images(
    pictures,
    *,
    xlabel="",
    ylabel="",
    label=None,
    limits=None,
    colours="gray",
    extent=None,
    width=5.6,
    height=2.3,
):
    """Matrices of one shape side by side with square pixels on one scale: {name: values}. The name
    stands below its picture.

    limits: (low, high), by default the smallest and the largest value of all; label: of the scale,
    which is shown only with one; extent: (left, right, bottom, top), without which no axis has
    ticks.
    """
    pictures = {
        n: _matrix("pictures", values) for n, values in _named("pictures", pictures).items()
    }
    shapes = sorted({values.shape for values in pictures.values()})
    if len(shapes) > 1:
        raise ValueError(f"pictures must have one shape, got {shapes[0]} and {shapes[1]}")
    if limits is None:
        limits = [pick(list(pictures.values())) for pick in (np.min, np.max)]
    limits = _vector("limits", limits)
    if len(limits) != 2:
        raise ValueError(f"limits must be (low, high), got {limits}")
    low, high = limits
    figure, axes = new(width, height, 1, len(pictures), sharey=True, squeeze=False)
    for axis, (name, values) in zip(axes[0], pictures.items(), strict=True):
        image = axis.imshow(values, cmap=colours, vmin=low, vmax=high, extent=extent)
        axis.set(xlabel=f"{xlabel}\n{name}" if xlabel else name)
        if extent is None:
            axis.set(xticks=[], yticks=[])
        else:
            axis.locator_params(nbins=5, integer=True)
    axes[0, 0].set_ylabel(ylabel)
    if label:
        figure.colorbar(image, ax=axes[0], pad=0.02, label=label).outline.set_visible(False)
    return figure


@mpl.rc_context(STYLE)
def places(groups, *, xlabel, ylabel, width=4.6, height=4.2):
    """Points of a grid of whole numbers, each with a word in it: {name: (x, y, words)}, all of one
    length. y grows downwards, as the rows of a picture do.
    """
    figure, axis = new(width, height)
    ends = []
    for number, (name, group) in enumerate(_named("groups", groups).items()):
        if not isinstance(group, tuple | list) or len(group) != 3:
            raise ValueError(f"groups must hold (x, y, words), got {group!r:.100} in {name!r}")
        x, y = (_vector("groups", part) for part in group[:2])
        if not len(x) == len(y) == len(group[2]):
            raise ValueError(
                f"groups must have as many words as points, got {len(x)}, {len(y)} and"
                f" {len(group[2])} in {name!r}"
            )
        colour = COLOURS[number % len(COLOURS)]
        marker = "os^DvPX"[number % 7]
        axis.plot(
            x, y, marker, color=colour, linestyle="none", markersize=17, label=name, alpha=0.3
        )
        for at_x, at_y, word in zip(x, y, group[2], strict=True):
            axis.text(at_x, at_y, word, ha="center", va="center_baseline")
        ends += [*x, *y]
    reach = np.min(ends) - 0.7, np.max(ends) + 0.7
    axis.set(xlim=reach, ylim=reach[::-1], xlabel=xlabel, ylabel=ylabel, aspect="equal")
    axis.locator_params(integer=True)
    if len(groups) > 1:
        axis.legend(markerscale=0.5)
    return figure
