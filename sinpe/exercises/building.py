"""Checks of chapter 03: which frequencies a line computes, a table, a sum with a batch, far
positions, a module.
"""

import warnings

import numpy as np

from sinpe.exercises import _tables
from sinpe.exercises._angles import short_type
from sinpe.exercises._check import NO_RETURN, NOT_ATTEMPTED, Verdict, _array, check
from sinpe.formula import sinusoidal_encoding

# (n, d_model): n is never d_model, so that swapped axes show
TABLES = ((6, 4), (20, 8), (12, 24), (300, 16))
BATCHES = ((3, 5), (4, 4), (1, 6))  # (batch, seq)
FAR = (16_384, 65_520, 70_000, 99_999, 262_144, 500_009, 999_999, 1_000_000)
BATCH_AXIS = "position along the batch axis"

SPACINGS = {"A": "paper", "B": "tensor2tensor", "C": "doubled", "D": "floored", "E": "paper"}
SPACING_HINTS = {
    "A": "np.arange(0, d_model, 2) counts 0, 2, 4, …, which is the 2i of the formula.",
    "B": "look at the divisor, d_model // 2 - 1: it makes the last frequency exactly 1/10000.",
    "C": "np.arange(0, d_model, 2) already is 2i, and here it meets another 2.",
    "D": "a / b // 2 is (a / b) // 2: a whole number, rounded down.",
    "E": "i / (d_model / 2) is 2i / d_model.",
}


def check_spacings(answers):
    """Exercise 1. answers: {"A": …, …, "E": …}, each "paper", "tensor2tensor", "doubled" or
    "floored".
    """
    options = ", ".join(sorted(set(SPACINGS.values())))
    values = [answers.get(letter) for letter in SPACINGS] if isinstance(answers, dict) else [None]
    if any(value is None or value is ... for value in values):
        return Verdict("not attempted", f"replace every `...` with one of {options}.")
    for (letter, right), value in zip(SPACINGS.items(), values, strict=True):
        if value not in SPACINGS.values():
            return Verdict("wrong", f"{letter}: {value!r} is not one of {options}.")
        if value != right:
            return Verdict("mistake", SPACING_HINTS[letter], f"{letter} is not {value}")
    return Verdict(
        "correct",
        "two lines say the paper's frequencies in other words, one is another grid, two are bugs.",
    )


def check_table(table):
    """Exercise 2. table: function (n, d_model) -> codes of the positions 0 … n − 1, shape (n,
    d_model), in any float type.

    Names what went wrong: doubled, separate or swapped exponents, floor division, another spacing,
    layout or unit, short angles, …
    """
    table = _quiet(table)
    verdict = check(table, sinusoidal_encoding, TABLES, tolerance=1e-4, rounding=False)
    if verdict:
        return _odd_widths(table, verdict)
    # 0 to the power ±10000, where the only exponent is 0
    if verdict.status == "error" and _raises(ZeroDivisionError, table, 1, 2):
        return Verdict("mistake", _tables.hint((_tables.SWAPPED,)), _tables.SWAPPED)
    if verdict.status != "wrong":
        return verdict
    given = {case: table(*case) for case in TABLES}
    answers = {case: _array(answer) for case, answer in given.items()}
    allowed = _tables.tolerance(given[TABLES[0]])
    if allowed > 1e-4 and check(
        table, sinusoidal_encoding, TABLES, tolerance=allowed, rounding=False
    ):
        return _odd_widths(
            table, Verdict("correct", "matches the right answer as closely as this type can.")
        )
    if any(answer is None or answer.ndim != 2 for answer in answers.values()):
        return verdict
    if all(np.isnan(answer).all() for answer in answers.values()) and _divides_by_power(table):
        return Verdict("mistake", _tables.hint((_tables.SWAPPED,)), _tables.SWAPPED)
    return _first(
        _table_mistake(answers, allowed),
        _short_angles(np.arange(300), answers[300, 16], given[300, 16]),
        verdict,
    )


def check_adding(add, d_model=4):
    """Exercise 3. add: function x -> x plus the code of each token's place, for x of shape (batch,
    seq, d_model), tensor or array.
    """
    inputs = [
        np.random.default_rng(3).normal(size=(*shape, d_model)).astype(np.float32)
        for shape in BATCHES
    ]
    results = [_added(_quiet(add), x) for x in inputs]
    if any(
        result is None or result is ... or isinstance(result, NotImplementedError)
        for result in results
    ):
        return NO_RETURN if all(result is None for result in results) else NOT_ATTEMPTED
    sums = [None if isinstance(result, Exception) else _array(result) for result in results]
    rest = [
        s - x if s is not None and s.shape == x.shape else None
        for s, x in zip(sums, inputs, strict=True)
    ]
    if _along_batch(rest):
        return Verdict(
            "mistake",
            "the codes run along the batch, so all tokens of a sequence get the same one, or only"
            " batch == seq fits. x is (batch, seq, d_model): take the rows 0 … x.shape[1] − 1.",
            BATCH_AXIS,
        )
    for (batch, seq), result, r in zip(BATCHES, results, rest, strict=True):
        if r is None:
            got = (
                f"raised {type(result).__name__}: {result}"
                if isinstance(result, Exception)
                else f"returned shape {getattr(result, 'shape', None)}"
            )
            return Verdict("error", f"for x of shape {(batch, seq, d_model)} your code {got}.")
    for name, message, wanted in _SUMS:
        if all(
            np.allclose(s, wanted(x, *_places(x)), rtol=0, atol=1e-4)
            for s, x in zip(sums, inputs, strict=True)
        ):
            return Verdict("mistake", message, name) if name else Verdict("correct", message)
    rows = {(r.shape[1], d_model): r[0] for r in rest}
    shared = all(np.allclose(r, r[:1], atol=1e-4) for r in rest)
    unknown = (
        "row t of the table, and nothing else, should be added to token t of every sequence. Is the"
        " table itself right? check_table tells more."
    )
    return _first(_table_mistake(rows, 1e-4) if shared else None, Verdict("wrong", unknown))


def check_precision(encode):
    """Exercise 4. encode: function (positions, d_model) -> codes of an integer array, up to a
    million, shape (len(positions), d_model).
    """
    encode, positions = _quiet(encode), np.concatenate([np.arange(1, 101), FAR])
    verdict = check(
        encode,
        lambda p, d: sinusoidal_encoding(p.astype(float), d),
        ((positions, 16),),
        tolerance=1e-9,
        rounding=False,
    )
    if verdict.status != "wrong":
        return verdict
    answer = encode(positions, 16)
    codes = _array(answer)
    if codes is None or codes.shape != (len(positions), 16):
        return verdict
    half_ulp = {"float32": 2.0**-25, "float16": 2.0**-12, "bfloat16": 2.0**-9}.get(_kind(answer), 0)
    # False where a code is not a number
    if np.abs(codes - sinusoidal_encoding(positions.astype(float), 16)).max() <= 1.01 * half_ulp:
        return Verdict(
            "correct",
            f"within half an ulp of 1 in {_kind(answer)} at every position up to {FAR[-1]:,}.",
        )
    named = check_table(lambda n, d: encode(np.arange(n), d))
    return named if named.mistake else _first(_short_angles(positions, codes, answer), verdict)


def check_module(make):
    """Exercise 5. make: class or function d_model -> torch module that adds the codes to x of shape
    (batch, seq, d_model).
    """
    import torch

    try:
        module = make(8)
    except NotImplementedError:
        return NOT_ATTEMPTED
    except Exception as error:
        return Verdict(
            "error", f"building it with d_model=8 raised {type(error).__name__}: {error}"
        )
    if module is None or module is ...:
        return NOT_ATTEMPTED
    if not isinstance(module, torch.nn.Module):
        return Verdict("wrong", f"expected a torch.nn.Module, got {type(module).__name__}.")
    verdict = check_adding(lambda x: _call(module, torch.as_tensor(x)), 8)
    if not verdict:
        return verdict
    for name, message, fails in _MODULE_RULES:
        if fails(torch, make, module):
            return Verdict("mistake", message, name)
    return Verdict(
        "correct",
        "it adds along time, keeps the type of x, refuses wrong widths, saves and trains nothing,"
        " and has no longest text.",
    )


# name, message, the sum from x, its token places t, its batch places b, and the code of a place
_SUMS = (
    (
        None,
        "row t of the table is added to token t of every sequence.",
        lambda x, t, b, pe: x + pe(t),
    ),
    (
        "one position for all tokens",
        "every token gets the code of position 0.",
        lambda x, t, b, pe: x + pe(0 * t),
    ),
    (
        "one position for all tokens",
        (
            "every token gets row x.shape[1], a single one. You want the rows up to it: table[:"
            " x.shape[1]]."
        ),
        lambda x, t, b, pe: x + pe(0 * t + x.shape[1]),
    ),
    (
        "positions run on",
        (
            "the second sequence goes on counting where the first one stopped; every sequence"
            " starts at 0."
        ),
        lambda x, t, b, pe: x + pe(b * x.shape[1] + t),
    ),
    ("positions start at 1", "the first token is position 0.", lambda x, t, b, pe: x + pe(t + 1)),
    (
        "positions start at 2",
        (
            "the first token is position 0. fairseq counts from padding_idx + 1, which is 2 there,"
            " because its tables keep a row for padding."
        ),
        lambda x, t, b, pe: x + pe(t + 2),
    ),
    (
        "positions reversed",
        "the first token is position 0, not the last one.",
        lambda x, t, b, pe: x + pe(x.shape[1] - 1 - t),
    ),
    (
        "x is lost",
        "return the sum of x and the codes, not the codes alone.",
        lambda x, t, b, pe: 0 * x + pe(t),
    ),
    ("multiplied", "the codes are added to x, not multiplied.", lambda x, t, b, pe: x * pe(t)),
    (
        "scaled",
        (
            "x is also multiplied by √d_model. That belongs to the embedding (chapter 06), not to"
            " the position."
        ),
        lambda x, t, b, pe: x * x.shape[2] ** 0.5 + pe(t),
    ),
)


def _rejects(call, *expected):
    try:
        call()
    except Exception as error:
        return not expected or isinstance(error, expected)
    return False


_MODULE_RULES = (  # name, message, True where the module breaks the rule
    (
        "output type",
        "the output has another type than x: cast the codes with .to(x.dtype) before you add them.",
        lambda torch, make, m: any(
            _call(m, torch.zeros(1, 3, 8, dtype=t)).dtype != t
            for t in (torch.float64, torch.float32, torch.bfloat16, torch.float16)
        ),
    ),
    (
        "width mismatch",
        (
            "x of width 1 is accepted by a module of width 8: it broadcasts silently. Compare the"
            " widths and raise a ValueError naming both."
        ),
        lambda torch, make, m: not _rejects(lambda: _call(m, torch.zeros(2, 3, 1))),
    ),
    (
        "odd width",
        (
            "d_model = 7 must raise a ValueError which says that each frequency needs a sine and a"
            " cosine."
        ),
        lambda torch, make, m: (
            not _rejects(lambda: _call(make(7), torch.zeros(1, 3, 7)), ValueError)
        ),
    ),
    (
        "trained table",
        "the table is a parameter that training would change; register it as a buffer.",
        lambda torch, make, m: any(p.requires_grad for p in m.parameters()),
    ),
    (
        "saved in the checkpoint",
        (
            "the table is in state_dict, so a checkpoint fits one length only. register_buffer"
            " takes persistent=False."
        ),
        lambda torch, make, m: len(m.state_dict()) > 0,
    ),
    (
        "plain attribute",
        (
            "a tensor that is a plain attribute stays behind when the model moves to another"
            " device; register it as a buffer."
        ),
        lambda torch, make, m: (
            any(
                isinstance(value, torch.Tensor)
                for part in m.modules()
                for value in vars(part).values()
            )
            or _stays_behind(torch, make)
        ),
    ),
    (
        "longer than the table",
        (
            "a text of 6000 tokens fails or gets wrong codes. Sinusoids have no longest text:"
            " compute the rows that are missing."
        ),
        lambda torch, make, m: not _goes_on(torch, m),
    ),
)


def _stays_behind(torch, make):
    """True where a moved module mixes devices, as with a table in a list. The device "meta" exists
    everywhere and holds no numbers.
    """
    try:
        _call(make(8).to("meta"), torch.zeros(1, 3, 8, device="meta"))
    except Exception as error:
        return "device" in str(error)
    return False


def _goes_on(torch, module):
    try:
        out = _array(_call(module, torch.zeros(1, 6000, 8)))
    except Exception:
        return False
    return out is not None and np.allclose(out[0], sinusoidal_encoding(6000, 8), rtol=0, atol=5e-3)


def _call(module, x):
    """module(x), or with explicit positions where the module asks for them, as the
    package's does.
    """
    import torch

    try:
        return module(x)
    except TypeError:
        return module(x, torch.arange(x.shape[1]))


def _added(add, x):
    """add(x) for a tensor, or for an array where it does not take tensors (or there is no torch);
    an exception is returned, not raised.
    """
    try:
        import torch

        return add(torch.from_numpy(x.copy()))
    except Exception as first:
        try:
            return add(x.copy())
        except Exception:
            return first


def _places(x):
    batch, seq, d_model = x.shape
    t, b = (
        np.broadcast_to(np.arange(seq), (batch, seq)),
        np.broadcast_to(np.arange(batch)[:, None], (batch, seq)),
    )
    return t, b, lambda place: sinusoidal_encoding(place.astype(float), d_model)


def _along_batch(rest):
    """Rows of the table meet the batch: by an index (then time is constant), or by broadcasting,
    which fits only where batch is 1 or seq.
    """
    seen = 0
    for (batch, seq), r in zip(BATCHES, rest, strict=True):
        if r is None:
            if batch in (1, seq):
                return False
            continue
        t, b, pe = _places(r)
        if np.allclose(r, pe(b), rtol=0, atol=1e-4):
            seen += 1
        elif batch != seq or not np.allclose(r, pe(t), rtol=0, atol=1e-4):
            return False
    always_first = all(
        r is not None and np.allclose(r, _places(r)[2](np.zeros(r.shape[:2])), rtol=0, atol=1e-4)
        for r in rest
    )
    return seen > 0 and not always_first


def _table_mistake(answers, allowed):
    if all(
        np.array_equal(answer, np.trunc(sinusoidal_encoding(*case)))
        for case, answer in answers.items()
    ):
        return Verdict(
            "mistake",
            "every entry is a whole number. Is the array that you fill one of integers? Make it"
            " float.",
            "integer table",
        )
    names = _tables.diagnose(answers, allowed)
    return Verdict("mistake", _tables.hint(names), " and ".join(names)) if names else None


def _short_angles(positions, codes, answer):
    kind = (
        short_type(positions, codes, _kind(answer)) if codes.shape == (len(positions), 16) else None
    )
    message = (
        "right near position 0 and worse the further out: the angles are rounded to few digits, as"
        " in {}. Compute position × frequency in float64, cast last."
    )
    return (
        None
        if kind is None
        else Verdict("mistake", message.format(kind), f"low-precision angles, {kind}")
    )


def _divides_by_power(table):
    """0/0 everywhere but in the last columns of a wide table, where exponent^10000 is still above
    the smallest float.
    """
    try:
        last = _array(table(1, 64))[0, -2:]
    except Exception:
        return False
    return np.array_equal(last, [0, 1])


def _odd_widths(table, verdict):
    try:
        table(6, 7)
    except Exception:
        return verdict
    return Verdict(
        "correct",
        verdict.message
        + " (An odd width is accepted in silence, though one frequency lacks its partner; this"
        " course raises a ValueError.)",
    )


def _raises(kind, function, *arguments):
    try:
        function(*arguments)
    except kind:
        return True
    except Exception:
        return False
    return False


def _first(*verdicts):
    # `or` would not do: a verdict is true only when correct
    return next(verdict for verdict in verdicts if verdict is not None)


def _kind(answer):
    return str(getattr(answer, "dtype", "float64")).removeprefix("torch.")


def _quiet(function):
    """The function without numerical and deprecation warnings, which would end up on the page."""
    if not callable(function):
        return lambda *arguments: function

    def quiet(*arguments):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*arguments)

    return quiet
