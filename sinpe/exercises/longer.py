"""Checks for chapter 13: YaRN's sharper scores, a base for any pair, interpolation by parts, and a
cached step of dynamic NTK.
"""

import numpy as np

from sinpe.exercises._check import Mistake, check
from sinpe.formula import inverse_frequencies


def check_sharpening(attempt):
    """attempt(s) -> what YaRN with factor s multiplies a score by: (0.1 · ln s + 1)²."""
    mistakes = (
        Mistake(
            "square forgotten",
            lambda s: _factor(s),
            "the query has the factor, and the key has it too.",
        ),
        Mistake(
            "applied twice",
            lambda s: _factor(s) ** 4,
            "the factor is on each of the two once: it enters a score as its square.",
        ),
        Mistake(
            "added instead of squared",
            lambda s: 2 * _factor(s),
            "a score is a product of the query and the key.",
        ),
        Mistake(
            "square root",
            lambda s: _factor(s) ** 0.5,
            "0.1 · ln s + 1 is a square root already, that of 1/t: each of the two is multiplied"
            " by it.",
        ),
        Mistake(
            "inverted and not squared",
            lambda s: 1 / _factor(s),
            "attention becomes sharper, so scores grow; and query and key have the factor each.",
        ),
        Mistake(
            "inverted",
            lambda s: _factor(s) ** -2,
            "0.1 · ln s + 1 is the square root of 1/t: scores grow, attention becomes sharper.",
        ),
        Mistake(
            "decimal logarithm",
            lambda s: (0.1 * np.log10(s) + 1) ** 2,
            "the logarithm is the natural one.",
        ),
        Mistake(
            "binary logarithm",
            lambda s: (0.1 * np.log2(s) + 1) ** 2,
            "the logarithm is the natural one.",
        ),
        Mistake(
            "the 1 forgotten",
            lambda s: (0.1 * np.log(s)) ** 2,
            "at s = 1 nothing changes: the factor must be 1 there.",
        ),
    )
    return check(
        attempt,
        lambda s: _factor(s) ** 2,
        [(1.0,), (4.0,), (32.0,)],
        mistakes,
        praise="once from the query, once from the key.",
    )


def check_base_for_pair(attempt):
    """attempt(base, s, pair, rotary_dim) -> the base under which the frequency of that pair is
    divided by s: base · s^(rotary_dim / (2 · pair)).
    """
    mistakes = (
        Mistake(
            "the last pair's base",
            lambda b, s, i, d: b * s ** (d / (d - 2)),
            "that divides pair d/2 − 1 by s: put your pair's exponent in its place.",
        ),
        Mistake(
            "base times s",
            lambda b, s, i, d: b * s,
            "the frequency is base^(−2i/d): solve base'^(−2i/d) = base^(−2i/d) / s for base'.",
        ),
        Mistake(
            "exponent inverted",
            lambda b, s, i, d: b * s ** (2 * i / d),
            "take the d/(2i)-th power of both sides, not the 2i/d-th.",
        ),
        Mistake(
            "column instead of pair",
            lambda b, s, i, d: b * s ** (d / i),
            "pair i has the exponent 2i/d: the columns are 2i and 2i + 1.",
        ),
        Mistake(
            "d − 2 in place of d",
            lambda b, s, i, d: b * s ** ((d - 2) / (2 * i)),
            "pair i has the exponent 2i/d: the last one has (d − 2)/d, since its i is d/2 − 1.",
        ),
        Mistake(
            "base made smaller",
            lambda b, s, i, d: b * s ** (-d / (2 * i)),
            "slower hands need a larger base.",
        ),
        Mistake(
            "counted from 1",
            lambda b, s, i, d: b * s ** (d / (2 * i + 2)),
            "pairs are counted from 0: pair i has the exponent 2i/d.",
        ),
        Mistake(
            "base left at 10000",
            lambda b, s, i, d: 10_000.0 * s ** (d / (2 * i)),
            "multiply the base that is given: models have others than 10000.",
        ),
        Mistake(
            "the power alone",
            lambda b, s, i, d: s ** (d / (2 * i)),
            "that is the factor: multiply the old base by it.",
        ),
    )
    cases = [(10_000.0, 4.0, 46, 128), (500_000.0, 8.0, 20, 128), (10_000.0, 2.0, 5, 32)]
    return check(
        attempt,
        lambda b, s, i, d: b * s ** (d / (2 * i)),
        cases,
        mistakes,
        praise="every later pair is slowed by more than s, every earlier one by less.",
    )


def check_by_parts(attempt):
    """attempt(inv_freq, s, length, least, most) -> frequencies kept above `most` turns within
    length, divided by s below `least`, linear in the turns between.
    """
    mistakes = (
        Mistake(
            "ramp reversed",
            lambda w, s, n, a, b: _mix(w, s, 1 - _kept(w, n, a, b)),
            "the pairs that turn often are kept, the others divided.",
        ),
        Mistake(
            "2π forgotten",
            lambda w, s, n, a, b: _mix(w, s, _kept(w, 2 * np.pi * n, a, b)),
            "length · ω counts radians: divide by 2π.",
        ),
        Mistake(
            "new length used",
            lambda w, s, n, a, b: _mix(w, s, _kept(w, s * n, a, b)),
            "the turns that count are those of the training, within `length`.",
        ),
        Mistake(
            "not clipped",
            lambda w, s, n, a, b: _mix(w, s, _kept(w, n, a, b, clip=False)),
            "the share that is kept lies between 0 and 1.",
        ),
        Mistake(
            "not clipped above",
            lambda w, s, n, a, b: _mix(w, s, np.maximum(_kept(w, n, a, b, clip=False), 0)),
            "no pair is kept by more than 1: clip on both sides.",
        ),
        Mistake(
            "not clipped below",
            lambda w, s, n, a, b: _mix(w, s, np.minimum(_kept(w, n, a, b, clip=False), 1)),
            "no pair is slowed by more than s: clip on both sides.",
        ),
        Mistake(
            "wavelengths mixed",
            _mix_wavelengths,
            "mix the frequencies, kept · ω + (1 − kept) · ω / s, and not the wavelengths.",
        ),
        Mistake(
            "no ramp",
            lambda w, s, n, a, b: np.where(n * w / (2 * np.pi) < a, w / s, w),
            "between the two bounds the share that is kept grows linearly.",
        ),
        Mistake(
            "no ramp, cut at the upper bound",
            lambda w, s, n, a, b: np.where(n * w / (2 * np.pi) > b, w, w / s),
            "between the two bounds the share that is kept grows linearly.",
        ),
        Mistake(
            "all divided",
            lambda w, s, n, a, b: w / s,
            "that is position interpolation: it slows the fast pairs too.",
        ),
        Mistake(
            "multiplied by s",
            lambda w, s, n, a, b: w * _kept(w, n, a, b) + w * s * (1 - _kept(w, n, a, b)),
            "slower hands have smaller frequencies.",
        ),
        Mistake(
            "ramp over the pairs",
            _ramp_over_pairs,
            "that is YaRN's released code; here the ramp is linear in the number of turns.",
        ),
        Mistake(
            "ramp over the logarithm",
            lambda w, s, n, a, b: _mix(
                w, s, np.clip(np.log(_turns(w, n) / a) / np.log(b / a), 0, 1)
            ),
            "that is linear in the pair index; here the ramp is linear in the number of turns.",
        ),
    )
    cases = [
        (inverse_frequencies(128), 4.0, 4096, 1, 32),
        (inverse_frequencies(128, 500_000.0), 8.0, 8192, 1, 4),
        (inverse_frequencies(32), 4.0, 64, 0.5, 6),
    ]
    return check(
        attempt,
        _by_parts,
        cases,
        mistakes,
        praise="near distances stay, and no pair leaves the arc that it knows.",
    )


def check_dynamic_step(attempt):
    """attempt(q, k, v, keys, values, trained) -> the new token's attention output under dynamic
    NTK. keys (t, d) are not rotated.
    """
    rng = np.random.default_rng(20)
    cases = [
        (*rng.normal(size=(3, d)), rng.normal(size=(t, d)), rng.normal(size=(t, d)), trained)
        for t, d, trained in ((3, 8, 8), (12, 8, 4), (20, 16, 8))
    ]
    mistakes = (
        Mistake(
            "keys not turned",
            lambda *case: _step(*case, read="none"),
            "the cache holds keys as they were before their rotation: turn them now.",
        ),
        Mistake(
            "keys as they were stored",
            lambda *case: _step(*case, read="own"),
            "all keys turn with the frequencies of the present length.",
        ),
        Mistake(
            "plain frequencies",
            lambda *case: _step(*case, rule=lambda n, m: 1.0),
            "beyond the trained length the base grows.",
        ),
        Mistake(
            "short texts stretched",
            lambda *case: _step(*case, rule=lambda n, m: n / m),
            "up to the trained length the factor is 1.",
        ),
        Mistake(
            "length without the new token",
            lambda *case: _step(*case, grown=0),
            "the new token counts: l = t + 1.",
        ),
        Mistake(
            "base times the factor",
            lambda *case: _step(*case, power=False),
            "the base is multiplied by factor^(d/(d − 2)).",
        ),
        Mistake(
            "frequencies divided",
            lambda *case: _step(*case, divide=True),
            "that is dynamic interpolation: NTK-aware scaling changes the base.",
        ),
        Mistake(
            "position restarts", lambda *case: _step(*case, at=0), "the new token stands at t."
        ),
        Mistake(
            "position counted from 1",
            lambda *case: _step(*case, at=len(case[3]) + 1),
            "positions are counted from 0: the new token stands at t.",
        ),
        Mistake(
            "the new token left out",
            lambda *case: _step(*case, own=False),
            "a token sees itself as well.",
        ),
        Mistake(
            "√head_dim forgotten",
            lambda *case: _step(*case, scale=False),
            "divide the scores by √d.",
        ),
        Mistake(
            "values rotated",
            lambda *case: _step(*case, values_too=True),
            "values are never turned.",
        ),
    )
    return check(
        attempt,
        _step,
        cases,
        mistakes,
        praise="the same as one pass over the whole text, at every length.",
    )


def _factor(s):
    return 0.1 * np.log(s) + 1


def _turns(inv_freq, length):
    return length * inv_freq / (2 * np.pi)


def _kept(inv_freq, length, least, most, clip=True):
    share = (_turns(inv_freq, length) - least) / (most - least)
    return np.clip(share, 0, 1) if clip else share


def _mix(inv_freq, s, kept):
    return kept * inv_freq + (1 - kept) * inv_freq / s


def _by_parts(inv_freq, s, length, least, most):
    return _mix(inv_freq, s, _kept(inv_freq, length, least, most))


def _mix_wavelengths(inv_freq, s, length, least, most):
    kept = _kept(inv_freq, length, least, most)
    return 1 / (kept / inv_freq + (1 - kept) * s / inv_freq)


def _ramp_over_pairs(inv_freq, s, length, least, most):
    pairs = len(inv_freq)
    step = -np.log(inv_freq[1])  # ω_i = e^(−i · step)
    low, high = (np.log(length / (2 * np.pi * turns)) / step for turns in (most, least))
    low, high = max(np.floor(low), 0), min(np.ceil(high), 2 * pairs - 1)
    return _mix(inv_freq, s, 1 - np.clip((np.arange(pairs) - low) / (high - low), 0, 1))


def _turn(rows, positions, inv_freq):
    z = (rows[..., 0::2] + 1j * rows[..., 1::2]) * np.exp(1j * np.outer(positions, inv_freq))
    return np.stack([z.real, z.imag], -1).reshape(rows.shape)


def _step(
    q,
    k,
    v,
    keys,
    values,
    trained,
    read="now",
    rule=lambda n, m: max(1.0, n / m),
    divide=False,
    power=True,
    **slips,
):
    """The step, or one with a slip: grown, at, own, scale, values_too."""
    slips = {"grown": 1, "at": len(keys), "own": True, "scale": True, "values_too": False, **slips}
    t, d = len(keys), len(q)

    def frequencies(length):
        factor = rule(length, trained)
        return (
            inverse_frequencies(d) / factor
            if divide
            else inverse_frequencies(d, 10_000.0 * factor ** (d / (d - 2) if power else 1))
        )

    now = frequencies(t + slips["grown"])
    if read == "none":
        turned = keys
    elif read == "own":
        turned = np.vstack([_turn(keys[p : p + 1], [p], frequencies(p + 1)) for p in range(t)])
    else:
        turned = _turn(keys, np.arange(t), now)
    new_q, new_k = _turn(np.stack([q, k]), 2 * [slips["at"]], now)
    if slips["own"]:
        turned, values = np.vstack([turned, new_k]), np.vstack([values, v])
    if slips["values_too"]:
        values = _turn(values, np.arange(len(values)), now)
    scores = turned @ new_q / (np.sqrt(d) if slips["scale"] else 1.0)
    weights = np.exp(scores - scores.max())
    return weights @ values / weights.sum()
