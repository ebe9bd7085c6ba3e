"""Ways to read beyond the length a rotary model was trained at: each maps (inv_freq, base, seq_len)
to (inv_freq, attention_factor).
"""

import math
from dataclasses import dataclass

import numpy as np
import torch

from sinpe.formula import inverse_frequencies, shown
from sinpe.positions.base import check_positive, check_size


class Extension:
    """What Rotary asks of an extension: extension(inv_freq, base, seq_len) -> (inv_freq,
    attention_factor), the frequencies in use and the factor on queries and on keys.

    length_dependent = False: the rule is the same at every length, and any callable will do. It
    gets the plain frequencies, a float64 NumPy array (pairs,), and seq_len=None; it returns as many
    frequencies, and a number.
    length_dependent = True: the rule depends on how long a row is. It gets tensors: the plain
    frequencies (pairs,), and seq_len of shape (…, 1), each row's largest key position plus one, or
    None where no length is known. It returns frequencies (…, pairs), and a number or a tensor
    (…, 1). A key that was turned at one length is wrong at another: keys are cached before they
    are turned (`storable_keys` of Rotary is False).
    What it gets is a copy, and its own to change.
    """

    length_dependent = False

    def __call__(self, inv_freq, base, seq_len):
        raise NotImplementedError


def depends_on_length(extension):
    """What an extension says of itself; None and plain functions say nothing."""
    return bool(getattr(extension, "length_dependent", False))


def extended(extension, plain, base, seq_len):
    """(inv_freq, attention_factor) of an extension at a length or None: a float64 array and a
    float. ValueError if it gives anything else.
    """
    given = plain.copy()
    if depends_on_length(extension):
        given = torch.from_numpy(given)
        if seq_len is not None:
            seq_len = torch.tensor([seq_len], dtype=torch.float64, device="cpu")
    else:
        seq_len = None
    return _checked(extension(given, base, seq_len), len(plain))


def check_declared(extension, plain, base):
    """ValueError for an extension that looks at seq_len without saying so: `rotate` would leave its
    rule out.
    """
    if extension is None or depends_on_length(extension):
        return
    short = extended(extension, plain, base, None)
    far = _checked(extension(plain.copy(), base, 2**40), len(plain))
    if not np.array_equal(far[0], short[0]) or far[1] != short[1]:
        raise ValueError(
            f"extension depends on seq_len: set length_dependent = True on {extension!r}"
        )


def _checked(result, pairs):
    try:
        inv_freq, factor = result
        inv_freq = torch.as_tensor(inv_freq, dtype=torch.float64, device="cpu").detach()
        inv_freq, factor = inv_freq.numpy().copy(), float(factor)
    except (TypeError, ValueError):
        inv_freq, factor = np.empty(0), math.nan
    if inv_freq.shape != (pairs,) or not np.isfinite([*inv_freq, factor]).all():
        raise ValueError(
            f"extension must return {pairs} finite frequencies and a finite factor, got {result!r}"
        )
    return inv_freq, factor


@dataclass(frozen=True)
class PositionInterpolation(Extension):
    """Divides every frequency by factor, so that position p is read as p / factor. Chen et al.
    2023, https://arxiv.org/abs/2306.15595
    """

    factor: float

    def __post_init__(self):
        _check_factor(self.factor)

    def __call__(self, inv_freq, base, seq_len):
        return inv_freq / float(self.factor), 1.0


@dataclass(frozen=True)
class NTKAware(Extension):
    """Raises the base to base · factor^(d/(d−2)): the slowest pair is interpolated by factor, the
    fastest left alone. bloc97 2023.
    """

    factor: float

    def __post_init__(self):
        _check_factor(self.factor)

    def __call__(self, inv_freq, base, seq_len):
        dim = 2 * len(inv_freq)
        return inverse_frequencies(dim, _larger_base(base, float(self.factor), dim)), 1.0


@dataclass(frozen=True)
class DynamicNTK(Extension):
    """NTK-aware with factor · l / L − (factor − 1) in place of the factor at length l > L, nothing
    at l <= L (as Hugging Face has it).

    l is each row's largest key position plus one (Hugging Face takes the batch's), so early rows
    depend on later tokens, and keys must be cached before they are turned. Positions of padding
    count: Transformer moves them where it is given an attention_mask, and refuses packed rows,
    whose texts have lengths of their own. factor = 1 is the paper's rule max(1, l / L) (Peng et al.
    2023, App. B.1, https://arxiv.org/abs/2309.00071).
    """

    factor: float
    original_max_len: int

    length_dependent = True

    def __post_init__(self):
        _check_factor(self.factor)
        check_size("original_max_len", self.original_max_len)

    def __call__(self, inv_freq, base, seq_len):
        if seq_len is None:
            return inv_freq, 1.0
        pairs = inv_freq.shape[-1]
        factor = float(self.factor)
        growth = factor * seq_len / self.original_max_len - (factor - 1)
        if isinstance(inv_freq, torch.Tensor):
            growth = growth.clamp(min=1)
            i = torch.arange(pairs, device=inv_freq.device, dtype=inv_freq.dtype)
        else:
            growth, i = max(growth, 1.0), np.arange(pairs)
        # of the base raised by growth^(d/(d−2)): (growth^(d/(d−2)))^(−2i/d) = growth^(−i/(d/2 − 1))
        return inv_freq * growth ** (-i / max(pairs - 1, 1)), 1.0


@dataclass(frozen=True)
class YaRN(Extension):
    """Interpolates pairs that turn less than beta_slow times within original_max_len, keeps those
    that turn more than beta_fast times, and ramps linearly in the pair index between the (rounded)
    bounds, as the released code does; the paper's equation ramps in the number of turns.

    attention_factor: on queries and on keys; None means 0.1 · ln(factor) + 1. The base has to be
        above 1, so that later pairs turn more slowly.
    truncate: False leaves the bounds as they are (gpt-oss). Peng et al. 2023,
        https://arxiv.org/abs/2309.00071
    """

    factor: float
    original_max_len: int
    beta_fast: float = 32
    beta_slow: float = 1
    attention_factor: float | None = None
    truncate: bool = True

    def __post_init__(self):
        _check_factor(self.factor)
        check_size("original_max_len", self.original_max_len)
        if not isinstance(self.truncate, bool):
            raise ValueError(f"truncate must be True or False, got {self.truncate!r}")
        if check_positive("beta_fast", self.beta_fast) <= check_positive(
            "beta_slow", self.beta_slow
        ):
            raise ValueError(
                f"beta_fast must exceed beta_slow, got beta_fast={self.beta_fast},"
                f" beta_slow={self.beta_slow}"
            )
        for name in ("beta_fast", "beta_slow"):
            if not 2.0**-63 <= getattr(self, name) <= 2.0**63:  # their logarithm is taken
                raise ValueError(
                    f"{name} must be between 2**-63 and 2**63, got {shown(getattr(self, name))}"
                )
        if self.attention_factor is not None:
            check_positive("attention_factor", self.attention_factor)

    def __call__(self, inv_freq, base, seq_len):
        low, high = self.correction_range(2 * len(inv_freq), base)
        if self.truncate:
            low, high = math.floor(low), math.ceil(high)
        low, high = max(low, 0), min(high, 2 * len(inv_freq) - 1)
        ramp = np.clip(
            (np.arange(len(inv_freq)) - low) / (high - low if high > low else 1e-3), 0, 1
        )
        factor = (
            0.1 * math.log(self.factor) + 1
            if self.attention_factor is None
            else self.attention_factor
        )
        return inv_freq * (1 - ramp) + inv_freq / float(self.factor) * ramp, factor

    def correction_range(self, dim, base):
        """The pair indices that turn beta_fast and beta_slow times within original_max_len, not
        rounded. ValueError unless the base is above 1.
        """
        if base <= 1:
            raise ValueError(f"YaRN needs a base above 1, got base={base}")
        return tuple(
            dim * math.log(self.original_max_len / (2 * math.pi * turns)) / (2 * math.log(base))
            for turns in (self.beta_fast, self.beta_slow)
        )


@dataclass(frozen=True)
class LongRoPE(Extension):
    """Divides each frequency by a factor of its own: by short_factor where a row's length is at
    most original_max_len, by long_factor beyond (Phi-3, Phi-4-mini).

    short_factor, long_factor: as many numbers as pairs, searched for one model.
    max_len: the longest text meant. attention_factor: on queries and on keys, at every length;
        None means √(1 + ln(max_len / original_max_len) / ln(original_max_len)).
    l is each row's largest key position plus one (Hugging Face takes the batch's), so the key that
    crosses original_max_len changes the angles of all before it; padding and packing as in
    DynamicNTK. Ding et al. 2024, https://arxiv.org/abs/2402.13753, as released; their rule that
    leaves the first tokens alone is not part of it.
    """

    short_factor: tuple[float, ...]
    long_factor: tuple[float, ...]
    original_max_len: int
    max_len: int
    attention_factor: float | None = None

    length_dependent = True

    def __post_init__(self):
        for name in ("short_factor", "long_factor"):
            # a frozen object cannot share a list that somebody may change
            object.__setattr__(self, name, _factors(name, getattr(self, name)))
        if len(self.short_factor) != len(self.long_factor):
            raise ValueError(
                "short_factor and long_factor must have as many numbers, got"
                f" {len(self.short_factor)} and {len(self.long_factor)}"
            )
        check_size("original_max_len", self.original_max_len)
        if check_size("max_len", self.max_len) < self.original_max_len:
            raise ValueError(
                f"max_len must be at least original_max_len, got max_len={self.max_len},"
                f" original_max_len={self.original_max_len}"
            )
        if self.attention_factor is not None:
            check_positive("attention_factor", self.attention_factor)
        elif self.original_max_len == 1 < self.max_len:
            raise ValueError(
                "original_max_len=1 has no logarithm to divide by: give attention_factor"
            )

    def __call__(self, inv_freq, base, seq_len):
        pairs = inv_freq.shape[-1]
        if len(self.short_factor) != pairs:
            raise ValueError(
                f"short_factor and long_factor must have a number for each of the {pairs} pairs"
                f" (rotary_dim={2 * pairs}), got {len(self.short_factor)}"
            )
        short, long = (
            inv_freq / torch.tensor(factor, dtype=inv_freq.dtype, device=inv_freq.device)
            for factor in (self.short_factor, self.long_factor)
        )
        if seq_len is None:
            return short, self._attention_factor()
        return torch.where(seq_len > self.original_max_len, long, short), self._attention_factor()

    def _attention_factor(self):
        if self.attention_factor is not None:
            return self.attention_factor
        if self.max_len == self.original_max_len:
            return 1.0
        growth = math.log(self.max_len / self.original_max_len)
        return math.sqrt(1 + growth / math.log(self.original_max_len))


@dataclass(frozen=True)
class Llama3(Extension):
    """Keeps wavelengths below original_max_len / high_freq_factor, divides the frequency by factor
    above original_max_len / low_freq_factor, and blends in between. Llama team 2024,
    https://arxiv.org/abs/2407.21783, by the released code.
    """

    factor: float
    low_freq_factor: float
    high_freq_factor: float
    original_max_len: int

    def __post_init__(self):
        _check_factor(self.factor)
        check_size("original_max_len", self.original_max_len)
        if check_positive("high_freq_factor", self.high_freq_factor) <= check_positive(
            "low_freq_factor", self.low_freq_factor
        ):
            raise ValueError(
                "high_freq_factor must exceed low_freq_factor, got"
                f" high_freq_factor={self.high_freq_factor}, low_freq_factor={self.low_freq_factor}"
            )

    def __call__(self, inv_freq, base, seq_len):
        turns = self.original_max_len * inv_freq / (2 * np.pi)
        kept = np.clip(
            (turns - self.low_freq_factor) / (self.high_freq_factor - self.low_freq_factor), 0, 1
        )
        return inv_freq * kept + inv_freq / float(self.factor) * (1 - kept), 1.0


def _factors(name, values):
    try:
        return tuple(check_positive(name, value) for value in values)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} must be a list of positive finite numbers, got {shown(values)}"
        ) from None


def _check_factor(factor):
    if check_positive("factor", factor) < 1:
        raise ValueError(f"factor must be at least 1, got {factor!r}")


def _larger_base(base, factor, dim):
    if dim <= 2:
        return base
    try:
        return base * factor ** (dim / (dim - 2))
    except OverflowError:
        raise ValueError(f"factor={factor:.3g} raises base={base:.3g} beyond float64") from None
