"""Interactive figures of what position does in a model."""

from dataclasses import dataclass, field

from sinpe.explorers.base import Explorer, choice, number


def words(default, low, high, longest):
    """A field that is a text of so many words, none longer than that."""
    limits = {"kind": "words", "low": low, "high": high, "longest": longest}
    return field(default=default, metadata=limits)


@dataclass(frozen=True)
class Words(Explorer):
    """Words that can be moved, and how much each reads from each, without positions and with them.

    sentence: 2 to 6 words of at most 10 letters. Word vectors and the head are of width 8, follow
        from the words alone, and are of no trained model; the codes are the sinusoidal ones.
    """

    sentence: str = words("dog bites man", 2, 6, 10)

    tag, parts = "sinpe-words", "common select text formula words"


@dataclass(frozen=True)
class Loudness(Explorer):
    """How loud a token is beside its position, and how far one step of Adam moves it.

    d_model: 2 to 65 536; std: of the entries of the embeddings; factor: on the embeddings;
        table_rate: the learning rate of the table over that of all others; learning_rate: theirs,
        10^−6 to 1. Words stand for what follows from d_model.
    """

    d_model: int = number(512, 2, 65_536)
    std: str = choice("d^-1/2", "0.01", "0.02", "0.05", "0.1", "0.5", "1")
    factor: str = choice("√d", "1", "1/√d")
    table_rate: str = choice("1", "√d", "0")
    learning_rate: float = number(0.002, 1e-6, 1, "real")

    tag, parts = "sinpe-loudness", "common select colours loudness"


@dataclass(frozen=True)
class Rotation(Explorer):
    """A query and a key, turned pair by pair by their positions; the score sees the distance alone.

    head_dim: even, 2 to 16; base: 1 to 10^8; positions: 2 to 1024, so many there are; query, key:
        where the two stand at first.
    """

    head_dim: int = number(8, 2, 16, "even")
    base: float = number(10_000, 1, 1e8, "real")
    positions: int = number(64, 2, 1024)
    query: int = number(7, 0, 1023)
    key: int = number(4, 0, 1023)

    tag, parts = "sinpe-rotation", "common formula colours plot play rotation"
    below = (("query", "positions"), ("key", "positions"))


@dataclass(frozen=True)
class Biases(Explorer):
    """What distance does to a weight: a slope, buckets, clipped distances and a window, in one row.

    exponent: ALiBi's slope is 2^−exponent, 0 to 10; max_distance: T5's, for 32 causal buckets, 17
        to 1024; clip: the largest distance that Shaw's vectors tell apart, 1 to 1024; window: how
        many keys a window holds, 1 to 1024; reach: the largest distance drawn, 16 to 1024;
        distance: the one read first.
    """

    exponent: float = number(3, 0, 10, "real")
    max_distance: int = number(128, 17, 1024)
    clip: int = number(16, 1, 1024)
    window: int = number(64, 1, 1024)
    reach: int = number(160, 16, 1024)
    distance: int = number(20, 0, 1023)

    tag, parts = "sinpe-biases", "common select looks colours drag plot biases"
    below = (("distance", "reach"),)


@dataclass(frozen=True)
class Extensions(Explorer):
    """By how much four rules for longer texts stretch the wavelength of every pair.

    head_dim: even, 4 to 256; base: 10 to 10^8; factor: 1 to 64; length: the original one, 32 to
        1 048 576; pair: the one read first. The rules are those of sinpe.positions.extensions, with
        the bounds 1 and 32 for YaRN, 1 and 4 for Llama 3.
    """

    head_dim: int = number(128, 4, 256, "even")
    base: float = number(10_000, 10, 1e8, "real")
    factor: float = number(4, 1, 64, "real")
    length: int = number(4096, 32, 1_048_576)
    pair: int = number(32, 0, 127)

    tag, parts = "sinpe-extensions", "common select formula looks colours drag plot extensions"

    def __post_init__(self):
        super().__post_init__()
        if self.pair >= self.head_dim // 2:
            raise ValueError(
                f"pair must be less than {self.head_dim // 2}, the pairs of head_dim"
                f" {self.head_dim}, got {self.pair}"
            )


@dataclass(frozen=True)
class Rows(Explorer):
    """Which rows of a learned table are trained by texts of random length.

    rows: of the table, 8 to 512; scale: lengths are 4 and more, and fall off exponentially with
        this scale, 1 to 500; longest: where they are cut, 4 to as many as there are rows; texts: so
        many are read, 1 to 10^9; row: the one read first.
    """

    rows: int = number(32, 8, 512)
    scale: float = number(4, 1, 500, "real")
    longest: int = number(28, 4, 512)
    texts: int = number(8000, 1, 1_000_000_000)
    row: int = number(20, 0, 511)

    tag, parts = "sinpe-rows", "common select colours drag plot rows"

    def __post_init__(self):
        super().__post_init__()
        if self.longest > self.rows:
            raise ValueError(
                f"longest must be at most rows, which is {self.rows}, got {self.longest}"
            )
        if self.row >= self.rows:
            raise ValueError(f"row must be less than rows, which is {self.rows}, got {self.row}")
