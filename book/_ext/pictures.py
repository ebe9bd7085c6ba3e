"""Pictures of the frame: one for each part of the course, the logo's heat map, and the card that
stands for a link in other places. Each is drawn from what the package computes. Figures of chapters
that the landing page shows come from their stored outputs.

In a page of book/: `<i data-part="2"></i>`, `<img data-figure="03_building_it fig-03-matrix">`.
"""

import json
import re
from html import escape
from pathlib import Path

import numpy as np

from sinpe import inverse_frequencies, similarity, sinusoidal_encoding
from sinpe.looks import METHODS

ROOT = Path(__file__).resolve().parent.parent.parent
BLUE, ORANGE = "#2b7bba", "#d1601f"  # as in sinpe.looks
WIDTH, HEIGHT = 240, 100
PART, FIGURE = r'<i data-part="(\d)"></i>', r'<img data-figure="(\w+) ([\w-]+)">'


def _cell(x, y, size, value):
    """A square whose colour is a number from -1 (blue) to 1 (orange)."""
    colour, strength = (ORANGE if value > 0 else BLUE), abs(value) ** 0.7
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{size:g}" height="{size:g}" fill="{colour}"'
        f' fill-opacity="{max(strength, 0.05):.2f}"/>'
    )


def _table(rows, left, top, size):
    return "".join(
        _cell(left + size * x, top + size * y, size - 0.5, value)
        for y, row in enumerate(rows)
        for x, value in enumerate(row)
    )


def _curve(values, low, high, colour, dash=""):
    x = np.linspace(14, WIDTH - 14, len(values))
    y = HEIGHT - 12 - (HEIGHT - 24) * (np.asarray(values) - low) / (high - low)
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    return (
        f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2.5"'
        f' stroke-linejoin="round" stroke-dasharray="{dash}"/>'
    )


def _words():
    """The same words in two orders: to attention without positions, one bag."""
    parts = []
    for y, order in ((14, "dog bites man"), (58, "man bites dog")):
        for x, word in enumerate(order.split()):
            colour = {"dog": BLUE, "man": ORANGE}.get(word, "currentColor")
            parts.append(
                f'<rect x="{10 + 75 * x}" y="{y}" width="70" height="28" rx="5" fill="none"'
                f' stroke="{colour}" stroke-width="2"/><text x="{45 + 75 * x}" y="{y + 19}"'
                f' text-anchor="middle" font-size="15" fill="currentColor">{word}</text>'
            )
    return "".join(parts)


def _sum():
    """A word, the code of position 5, and what enters the model."""
    word = np.random.default_rng(0).uniform(-1, 1, 20)
    code = sinusoidal_encoding([5], 20)[0]
    rows = zip((12, 42, 72), ("", "+", "="), (word, code, (word + code) / 2), strict=True)
    return "".join(
        f'<text x="8" y="{y + 13}" font-size="18" fill="currentColor">{sign}</text>'
        + _table([row], 26, y, 10.4)
        for y, sign, row in rows
    )


def _dials():
    """A query that is turned by its position, at three frequencies."""
    parts = []
    for x, speed in zip((44, 120, 196), inverse_frequencies(6, 300), strict=True):
        parts.append(
            f'<circle cx="{x}" cy="50" r="33" fill="none" stroke="currentColor" opacity=".45"/>'
        )
        for place in range(5):
            angle = speed * place
            parts.append(
                f'<path d="M{x} 50 L{x + 33 * np.sin(angle):.1f} {50 - 33 * np.cos(angle):.1f}"'
                f' stroke="{ORANGE if place == 4 else BLUE}" stroke-width="2.5"'
                f' opacity="{0.25 + 0.18 * place:.2f}"/>'
            )
    return "".join(parts)


def _compared():
    """Test loss over the length read, from the record of the study `length`."""
    losses = loss_by_length()
    shown = {m: METHODS[m] for m in ("rope", "alibi", "transformer-xl")}
    return "".join(_curve(losses[m], 1.3, 3.6, x.colour, x.strokes) for m, x in shown.items())


DRAWN = {
    "1": _words,
    "2": lambda: _table(sinusoidal_encoding(8, 22, 200), 9, 8, 10.2),
    "3": _sum,
    "4": _dials,
    "5": _compared,
    "6": lambda: _curve(similarity(np.arange(-100, 101), 128), -0.1, 1, BLUE),
}


def part(number):
    return (
        f'<svg class="part-picture" viewBox="0 0 {WIDTH} {HEIGHT}" aria-hidden="true">'
        f"{DRAWN[number]()}</svg>"
    )


def stored(chapter, name):
    """(svg, text for whoever cannot see it) of the figure of that name, from a chapter's stored
    outputs. Raises ValueError where there is none.
    """
    path = ROOT / "notebooks" / f"{chapter}.ipynb"
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        about = cell["metadata"].get("mystnb", {})
        if about.get("figure", {}).get("name") == name:
            svg = next(o["data"]["image/svg+xml"] for o in cell["outputs"] if "data" in o)
            return "".join(svg), about["image"]["alt"]
    raise ValueError(f"notebooks/{chapter}.ipynb has no figure called {name!r}")


def table(chapter, caption):
    """{first cell of a row: its other cells} of the table whose caption begins so, from its text
    twin. Raises ValueError where there is none.
    """
    path = ROOT / "notebooks" / f"{chapter}.ipynb"
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        for output in cell.get("outputs", ()):
            text = "".join(output.get("data", {}).get("text/plain", ""))
            if text.startswith(caption):
                rows = [line.split(" | ") for line in text.splitlines()[1:]]
                return {first: rest for first, *rest in rows}
    raise ValueError(f"notebooks/{chapter}.ipynb has no table that begins with {caption!r}")


def loss_by_length():
    """{method: [test loss at 64, 128, … 1024 characters]}, of those that can read so far."""
    rows = table("14_comparison", "Test loss (nats), mean of five seeds")
    return {
        method: [float(cell.split("±")[0]) for cell in cells[:5]]
        for method, cells in rows.items()
        if all("±" in cell for cell in cells[:5])
    }


def card(path):
    """The social card, 1200 x 630: the title beside the heat map of the code."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 6.3), dpi=100, facecolor="#0e2233")
    axes = figure.add_axes((0.56, 0, 0.44, 1))
    axes.imshow(sinusoidal_encoding(64, 48), cmap="RdBu_r", aspect="auto", interpolation="nearest")
    axes.set_axis_off()
    say = {"color": "white", "x": 0.05, "va": "top"}
    figure.text(y=0.82, s="Sinusoidal\npositional\nencoding", size=54, weight="bold", **say)
    line = "How a Transformer knows where a token is.\nAn open course in notebooks."
    figure.text(y=0.30, s=line, size=19, **say)
    figure.savefig(path, metadata={"Software": None})


def _fill(app, pagename, templatename, context, doctree):
    body = context.get("body", "")
    if "data-part=" not in body and "data-figure=" not in body:
        return

    def figure(match):
        svg, alt = stored(*match.groups())
        folder = Path(app.outdir) / "_static/figures"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{match[2]}.svg").write_text(svg, encoding="utf-8")
        width, height = re.search(r'width="([\d.]+)pt" height="([\d.]+)pt"', svg).groups()
        src = f"{'../' * pagename.count('/')}_static/figures/{match[2]}.svg"
        size = f'width="{float(width):.0f}" height="{float(height):.0f}"'
        return f'<img src="{src}" {size} loading="lazy" alt="{escape(alt)}" />'

    context["body"] = re.sub(FIGURE, figure, re.sub(PART, lambda m: part(m[1]), body))


def _write_card(app, error):
    if not error and app.builder.format == "html":
        card(Path(app.outdir) / "_static/card.png")


def setup(app):
    app.connect("html-page-context", _fill)
    app.connect("build-finished", _write_card)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
