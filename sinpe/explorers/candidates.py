"""An interactive figure of the seven requirements."""

from dataclasses import dataclass

from sinpe.explorers.base import Explorer, choice, number


@dataclass(frozen=True)
class Candidate(Explorer):
    """A position code that one chooses or builds, scored against the seven requirements.

    candidate: one of chapter 02's, a table of 1000 random rows, or "hands of your own". Those are
        hands: 1 to 8, so many waves; fastest: the angle by which the first turns, 0.01 to 10;
        ratio: by which each is slower than the last, 1 to 10; size: the factor on all entries, 0.05
        to 2; wave: "sine", "triangle" or "square"; partner: the same wave a quarter turn or one
        radian further on, or "none".
    The measurements are those of sinpe.requirements, on 4000 other scattered positions.
    """

    candidate: str = choice(
        *("hands of your own", "raw index", "fraction", "binary digits", "one sine", "one pair"),
        *("many pairs", "table of 1000 rows", "fresh noise"),
    )
    hands: int = number(8, 1, 8)
    fastest: float = number(1, 0.01, 10, "real")
    ratio: float = number(3, 1, 10, "real")
    size: float = number(1, 0.05, 2, "real")
    wave: str = choice("sine", "triangle", "square")
    partner: str = choice("none", "quarter turn on", "one radian on")

    tag, parts = "sinpe-candidate", "common map candidate"
