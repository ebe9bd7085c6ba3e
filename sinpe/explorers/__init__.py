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

Attributes are the arguments below with hyphens. What is drawn depends on them alone (Comparison and
Pairs write one more, `data`). An argument out of range raises ValueError; an attribute out of range
shows the same sentence in place of the figure. The JavaScript beside this file is the whole
implementation. Each figure ends in a sentence with the values that it shows, which a screen reader
reads aloud when they stand still.
"""

from sinpe.explorers.base import Explorer, joined
from sinpe.explorers.candidates import Candidate
from sinpe.explorers.codes import (
    LAYOUTS,
    Clocks,
    Counter,
    HeatMap,
    Rounding,
    Similarity,
    TwoAxes,
)
from sinpe.explorers.methods import Biases, Extensions, Loudness, Rotation, Rows, Words
from sinpe.explorers.records import Comparison, Pairs

__all__ = [
    "EXPLORERS",
    "LAYOUTS",
    "Biases",
    "Candidate",
    "Clocks",
    "Comparison",
    "Counter",
    "Extensions",
    "HeatMap",
    "Loudness",
    "Pairs",
    "Rotation",
    "Rounding",
    "Rows",
    "Similarity",
    "TwoAxes",
    "Words",
    "script",
]

EXPLORERS = (
    *(Clocks, HeatMap, Similarity, Counter, Words, Loudness, Rotation, Biases, Extensions),
    *(TwoAxes, Comparison, Candidate, Pairs, Rounding, Rows),
)


def script(*explorers):
    """JavaScript that defines the given explorers (all by default); running it twice on a page is
    harmless. Raises ValueError for what is no explorer.
    """
    explorers = explorers or EXPLORERS
    for explorer in explorers:
        kind = explorer if isinstance(explorer, type) else type(explorer)
        if not issubclass(kind, Explorer):
            raise ValueError(f"explorers must be classes of this module, got {explorer!r:.100}")
    return joined(explorers)
