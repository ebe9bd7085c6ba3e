"""Interactive figures that need neither a kernel nor a network: one custom element each, the same
in Jupyter, Colab and on the site.

In a notebook, as the last expression of a cell:

    from sinpe import explorers

    explorers.Clocks(d_model=16, position=5)

In a page of book/, as plain HTML, tags on lines of their own (the site's build adds the script; the
text shows where scripts do not run):

    <sinpe-clocks d-model="16" position="5">
    Clock hands beside the code they write.
    </sinpe-clocks>

Attributes are the arguments below with hyphens. What is drawn depends on them alone. An argument
out of range raises ValueError; an attribute out of range shows the same sentence in place of the
figure. The JavaScript beside this file is the whole implementation.
"""

import json
import operator
from dataclasses import dataclass, field, fields
from importlib.resources import files

LAYOUTS = ("interleaved", "concatenated")


def _number(default, low, high, kind="whole"):
    """A field with the limits that Python and JavaScript both check. kind: "whole", "even" or
    "real".
    """
    return field(default=default, metadata={"low": low, "high": high, "kind": kind})


class Explorer:
    """What the explorers share: checked arguments, and HTML that holds the element and the script
    that defines it.
    """

    def __post_init__(self):
        for argument in fields(self):
            _check(argument.name, getattr(self, argument.name), argument.metadata)
        for name, below in self.below.items():
            if getattr(self, name) >= getattr(self, below):
                raise ValueError(
                    f"{name} must be less than {below}, which is {getattr(self, below)}, got"
                    f" {getattr(self, name)}"
                )

    def html(self):
        """The element alone, for a page that has the script already."""
        attributes = "".join(
            f' {f.name.replace("_", "-")}="{getattr(self, f.name)}"' for f in fields(self)
        )
        return (
            f"<{self.tag}{attributes}>Interactive figure"
            f" ({type(self).__doc__.splitlines()[0].rstrip('.').lower()}): run the cell to see"
            f" it.</{self.tag}>"
        )

    def _repr_html_(self):
        return f"{self.html()}\n<script>\n{script(type(self))}</script>"


@dataclass(frozen=True)
class Clocks(Explorer):
    """A position moves through clock hands, one dial a frequency, beside the code they write.

    d_model: even, 2 to 32; base: 1 to 10^8; positions: rows of the picture, 2 to 512; position: the
        row shown first.
    """

    d_model: int = _number(16, 2, 32, "even")
    base: float = _number(10_000, 1, 1e8, "real")
    positions: int = _number(64, 2, 512)
    position: int = _number(0, 0, 511)

    tag, file, below = "sinpe-clocks", "clocks.js", {"position": "positions"}


@dataclass(frozen=True)
class HeatMap(Explorer):
    """The table of codes as colours, with the value and the wavelength of the selected cell.

    d_model: even, 2 to 256; base: 1 to 10^8; positions: rows, 2 to 512; layout: "interleaved" or
        "concatenated";
    position, dimension: the cell selected first.
    """

    d_model: int = _number(64, 2, 256, "even")
    base: float = _number(10_000, 1, 1e8, "real")
    positions: int = _number(64, 2, 512)
    position: int = _number(0, 0, 511)
    dimension: int = _number(0, 0, 255)
    layout: str = field(default=LAYOUTS[0], metadata={"kind": "choice", "choices": LAYOUTS})

    tag, file, below = (
        "sinpe-heatmap",
        "heatmap.js",
        {"position": "positions", "dimension": "d_model"},
    )


@dataclass(frozen=True)
class Similarity(Explorer):
    """The similarity of two codes as a curve over their offset, the same at every position.

    d_model: even, 2 to 1024; base: 1 to 10^8; reach: largest offset drawn, 10 to 20 000; offset:
    the one read first, at most reach in size; position: of the first of the two codes, 0 to 10 000.
    """

    d_model: int = _number(512, 2, 1024, "even")
    base: float = _number(10_000, 1, 1e8, "real")
    reach: int = _number(100, 10, 20_000)
    offset: int = _number(10, -20_000, 20_000)
    position: int = _number(0, 0, 10_000)

    tag, file, below = "sinpe-similarity", "similarity.js", {}

    def __post_init__(self):
        super().__post_init__()
        if abs(self.offset) > self.reach:
            raise ValueError(
                f"offset must be at most reach in size, which is {self.reach}, got {self.offset}"
            )


EXPLORERS = (Clocks, HeatMap, Similarity)


def script(*explorers):
    """JavaScript that defines the given explorers (all by default); running it twice on a page is
    harmless. Raises ValueError for what is no explorer.
    """
    explorers = explorers or EXPLORERS
    for explorer in explorers:
        kind = explorer if isinstance(explorer, type) else type(explorer)
        if not issubclass(kind, Explorer):
            raise ValueError(f"explorers must be classes of this module, got {explorer!r:.100}")
    attributes = {
        e.tag: {f.name.replace("_", "-"): {"default": f.default, **f.metadata} for f in fields(e)}
        for e in explorers
    }
    parts = [
        f"const ATTRIBUTES = {json.dumps(attributes)};\n",
        *(_read(name) for name in ("common.js", *(e.file for e in explorers))),
    ]
    return "(() => {\n" + "\n".join(parts) + "})();\n"


def _read(name):
    return (files(__name__) / name).read_text(encoding="utf-8")


def _check(name, value, rule):
    """ValueError unless the value obeys its field's rule. The sentences are those of common.js."""
    if rule["kind"] == "choice":
        if value not in rule["choices"]:
            raise ValueError(f"{name} must be {' or '.join(rule['choices'])}, got {value}")
        return
    wanted = {"whole": "a whole number", "even": "an even number", "real": "a number"}[rule["kind"]]
    try:
        number = float(value) if rule["kind"] == "real" else operator.index(value)
        right = (
            rule["low"] <= number <= rule["high"]
            and not (rule["kind"] == "even" and number % 2)
            and not isinstance(value, bool | str | bytes)
        )
    except (TypeError, ValueError, OverflowError):
        right = False
    if not right:
        raise ValueError(
            f"{name} must be {wanted} from {rule['low']:,.0f} to {rule['high']:,.0f}, got {value}"
        )
