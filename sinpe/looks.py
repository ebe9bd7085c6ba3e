"""How a position method looks wherever it is drawn: one colour, one dash and one marker each.

The figures (sinpe.figures), the interactive figures (sinpe.explorers) and the pictures of the site
read the tables here, so that a reader who has met a method knows it again.
"""

import re
from typing import NamedTuple

# at least 3:1 on white and on #121212
COLOURS = ("#2b7bba", "#d1601f", "#1a9070", "#a35fc4", "#c2478a", "#8a7a1f", "#777777")
# so that colour is never the only cue
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (3, 3)), (0, (1, 3)))
MARKERS = "osD^vPX"


class Look(NamedTuple):
    """colour: of a curve; linestyle: as matplotlib takes it; marker: matplotlib's letter."""

    colour: str
    linestyle: str | tuple
    marker: str

    @property
    def strokes(self):
        """The dash as SVG's stroke-dasharray, for a line of two pixels."""
        return "" if self.linestyle == "-" else " ".join(f"{2 * x:g}" for x in self.linestyle[1])


def _dashed(colour, marker, *strokes):
    return Look(colour, (0, strokes), marker)


METHODS = {
    "none": _dashed("#777777", "X", 1, 2),
    "sinusoidal": Look("#2b7bba", "-", "o"),
    "learned": _dashed("#9a5b3c", "s", 8, 2, 2, 2),
    "shaw": _dashed("#a35fc4", "D", 2, 1.2),
    "transformer-xl": _dashed("#c2478a", "^", 5, 1, 1, 1, 1, 1),
    "t5": _dashed("#8a7a1f", "v", 1, 1),
    "rope": _dashed("#1a9070", "P", 7, 1.5),
    "xpos": _dashed("#5f50e6", "*", 3, 1.5, 1, 1.5),
    "alibi": _dashed("#d1601f", "d", 4, 1.5),
}
# Rotary with each rule for longer texts. They are compared with one another and with plain rotary
# alone, so they may have the colours of methods that are not rotary.
RULES = {
    "plain": METHODS["rope"],
    "interpolation": _dashed("#d1601f", "s", 4, 1.5),
    "ntk-aware": _dashed("#2b7bba", "D", 2, 1.2),
    "yarn": _dashed("#a35fc4", "^", 3, 1.5, 1, 1.5),
    "llama-3": _dashed("#c2478a", "v", 5, 1, 1, 1, 1, 1),
    "dynamic-ntk": _dashed("#8a7a1f", "o", 1, 1),
}
# A variant of a method has the method's colour and a dash of its own.
VARIANTS = {
    "t5-filled": METHODS["t5"]._replace(linestyle=(0, (5, 1, 1, 1)), marker="<"),
    "rope-yarn": METHODS["rope"]._replace(linestyle=(0, (2, 1)), marker=">"),
}
SPELLED = {"no-position": "none", "no-positions": "none", "filled-t5": "t5", "rotary": "rope"}


def looks(names):
    """{name: Look} of the curves of one figure: those of METHODS and VARIANTS, or those of RULES,
    where every name stands there, else the house's colours in order. "Llama 3" is "llama-3".
    """
    keys = {name: re.sub(r"\s+", "-", str(name).strip().lower()) for name in names}
    keys = {name: SPELLED.get(key, key) for name, key in keys.items()}
    for table in (METHODS | VARIANTS, RULES):
        if all(key in table for key in keys.values()):
            return {name: table[key] for name, key in keys.items()}
    return {name: numbered(number) for number, name in enumerate(keys)}


def numbered(number):
    """The Look of a curve that is no method, by its place; they begin again after seven."""
    place = number % len(COLOURS)
    return Look(COLOURS[place], DASHES[place], MARKERS[place])
