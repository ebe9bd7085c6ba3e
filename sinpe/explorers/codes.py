"""Interactive figures of the formula."""

from dataclasses import dataclass

from sinpe.explorers.base import Explorer, choice, number

LAYOUTS = ("interleaved", "concatenated")


@dataclass(frozen=True)
class Clocks(Explorer):
    """A position moves through clock hands, one dial a frequency, beside the code they write.

    d_model: even, 2 to 32; base: 1 to 10^8; positions: rows of the picture, 2 to 512; position: the
        row shown first; shift: 0 to 100, how far ahead a second, dashed hand stands, 0 for none.
    """

    d_model: int = number(16, 2, 32, "even")
    base: float = number(10_000, 1, 1e8, "real")
    positions: int = number(64, 2, 512)
    position: int = number(0, 0, 511)
    shift: int = number(0, 0, 100)

    tag, parts = "sinpe-clocks", "common formula colours map drag play clocks"
    below = (("position", "positions"),)


@dataclass(frozen=True)
class HeatMap(Explorer):
    """The table of codes as colours, with the value and the wavelength of the selected cell.

    d_model: even, 2 to 256; base: 1 to 10^8; positions: rows, 2 to 512; layout: "interleaved" or
        "concatenated";
    position, dimension: the cell selected first.
    """

    d_model: int = number(64, 2, 256, "even")
    base: float = number(10_000, 1, 1e8, "real")
    positions: int = number(64, 2, 512)
    position: int = number(0, 0, 511)
    dimension: int = number(0, 0, 255)
    layout: str = choice(*LAYOUTS)

    tag, parts = "sinpe-heatmap", "common select formula map drag plot heatmap"
    below = (("position", "positions"), ("dimension", "d_model"))


@dataclass(frozen=True)
class Similarity(Explorer):
    """The similarity of two codes as a curve over their offset, the same at every position.

    d_model: even, 2 to 1024; base: 1 to 10^8; reach: largest offset drawn, 10 to 20 000; offset:
    the one read first, at most reach in size; position: of the first of the two codes, 0 to 10 000.
    """

    d_model: int = number(512, 2, 1024, "even")
    base: float = number(10_000, 1, 1e8, "real")
    reach: int = number(100, 10, 20_000)
    offset: int = number(10, -20_000, 20_000)
    position: int = number(0, 0, 10_000)

    tag, parts = "sinpe-similarity", "common select formula colours drag plot similarity"

    def __post_init__(self):
        super().__post_init__()
        self.within("offset")


@dataclass(frozen=True)
class Counter(Explorer):
    """A binary counter beside sines that do the same work, fast columns first.

    bits: columns of either picture, 2 to 9, so that it counts to 2^bits − 1; position: the one
        shown first. The sine of column i turns by 2^−i radians a position.
    """

    bits: int = number(6, 2, 9)
    position: int = number(0, 0, 511)

    tag, parts = "sinpe-counter", "common map drag play counter"

    def __post_init__(self):
        super().__post_init__()
        if self.position >= 2**self.bits:
            raise ValueError(
                f"position must be less than {2**self.bits}, which {self.bits} bits can count to,"
                f" got {self.position}"
            )


@dataclass(frozen=True)
class TwoAxes(Explorer):
    """The score of two places in a plane over their offset, for axial and for mixed frequencies.

    Half of a head's pairs turn along one direction and half across it, with one ladder of
    frequencies each, as in the start of RoPE-Mixed; at angle 0 they are columns and rows.
    width: features of either direction, even, 2 to 128; base: 1 to 10^8; angle: by which the
        directions are turned, 0 to 90 degrees; share: the weight of the first, 0 to 1; reach: the
        largest offset, 2 to 32; dy, dx: the one read first, at most reach in size.
    Source: Heo et al. 2024, https://arxiv.org/abs/2403.13298
    """

    width: int = number(16, 2, 128, "even")
    base: float = number(100, 1, 1e8, "real")
    angle: float = number(0, 0, 90, "real")
    share: float = number(0.5, 0, 1, "real")
    reach: int = number(12, 2, 32)
    dy: int = number(3, -32, 32)
    dx: int = number(2, -32, 32)

    tag, parts = "sinpe-axes", "common select formula map drag plot axes"

    def __post_init__(self):
        super().__post_init__()
        self.within("dy")
        self.within("dx")


@dataclass(frozen=True)
class Rounding(Explorer):
    """How far a code is off where a step of its calculation is rounded to a short type.

    type: "float32", "float16" or "bfloat16"; d_model: even, 4 to 256; position: the first of the
        sixteen that are read first, 0 to 1 048 576. A step is rounded to the nearest number of the
        type, the others are float64.
    """

    type: str = choice("float32", "float16", "bfloat16")
    d_model: int = number(64, 4, 256, "even")
    position: int = number(5000, 0, 1_048_576)

    tag, parts = "sinpe-rounding", "common select formula colours drag plot rounding"
