"""Rules about what is stored below the cells: only what comes out the same on every machine."""

import ast
import builtins
import re

from contract import syntax

MIN_OUTPUTS = 5
KINDS = {"text/plain", "text/html", "image/svg+xml", "image/png"}

# What a text must not hold: (what it is, pattern, what to do). Narrow on purpose: "4 s", "0:10" or
# "0x3f80" alone are not refused.
UNSTABLE = [
    ("colour codes", r"\x1b", "print plain text"),
    (
        "a carriage return or backspace (a progress bar?)",
        r"[\r\b]",
        "nbval does not compare what was overwritten: print only the end result",
    ),
    (
        "a progress bar",
        r"\d+%\|| \d+(?:\.\d+)?(?:it|batch|step|epoch)s?/s\b|[▏▎▍▌▋▊▉█]{2}",
        "show progress on a terminal only",
    ),
    ("a memory address", r"\bat 0x[0-9a-fA-F]+", "print the values, not the object"),
    (
        "the representation of an object",
        (
            r"<(?:Figure|Axes|matplotlib|function|bound|module|class|built-in|generator|zip|map|filter|_io)\b|<[\w.]+"
            r" object\b|\bgrad_fn=|\b(?:Text|Line2D)\("
        ),
        "print the values, not the object",
    ),
    (
        "a bare NumPy scalar",
        r"\bnp\.(?:float|int|uint|bool|str|complex)\w*\(|\bnp\.(?:True|False)_",
        "format it: f'{value:.3f}', or bool(…), int(…)",
    ),
    (
        "a time",
        (
            r"\b\d+(?:\.\d+)?\s?(?:ms|µs|μs|us|ns|secs?|seconds?|minutes?|hours?)\b|\b\d{1,2}:\d{2}:\d{2}\b|\bWall"
            r" time|\bCPU times|\b20\d\d-\d\d-\d\d\b"
        ),
        "no times in notebooks: cost is read from records",
    ),
    (
        "a version",
        (
            r"(?<![\d.])\d+\.\d+\.\d+(?![\d.])|\bpython"
            r" 3\.\d|\b(?:numpy|torch|pytorch|matplotlib|scipy|sinpe|cuda)(?:==| version:? )v?\d"
        ),
        "versions change: leave them out",
    ),
    (
        "a path",
        r"(?:^|[\s'\"(=])(?:/(?:tmp|home|root|usr|var|opt|work|Users|content)/|[A-Z]:\\)|site-packages",
        "paths differ between machines: leave them out",
    ),
    (
        "a warning",
        r"\b[A-Z]\w*Warning\b:",
        "a warning belongs to nobody's lesson: remove its cause",
    ),
]
NUMBER = r"[-−+]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?"


def outputs_are_stored(notebook):
    """What a cell prints is stored: nbval takes a cell without outputs as one that says nothing."""
    for cell in notebook.python:
        if syntax.prints(cell.tree) and not cell.outputs:
            yield (
                f"{cell}: prints, but no output is stored: run `make notebooks"
                f" NB={notebook.number}`"
            )
    count = sum(bool(cell.outputs) for cell in notebook.code)
    if count < MIN_OUTPUTS:
        yield (
            f"only {count} cells show something; at least {MIN_OUTPUTS}: a reader must see results"
        )


def no_errors_and_no_stderr(notebook):
    """No traceback and no warning. An error that teaches is caught and printed: try … except
    ValueError as error: print(error).
    """
    for cell in notebook.code:
        for kind, text in cell.texts:
            if kind in ("error", "stderr"):
                last = (text.strip().splitlines() or [""])[-1]
                yield (
                    f"{cell}: stores {'an error' if kind == 'error' else 'text on stderr'}:"
                    f" {last[:100]}"
                )


def nothing_unstable(notebook):
    """No text that differs between runs or machines: addresses, times, versions, paths, colours,
    object representations.
    """
    for cell in notebook.code:
        for kind, text in cell.texts:
            if kind == "text/html":
                continue
            for what, pattern, cure in UNSTABLE:
                found = re.search(
                    pattern, text, re.MULTILINE | (re.IGNORECASE if what == "a version" else 0)
                )
                if found:
                    line = text[text.rfind("\n", 0, found.start()) + 1 :].split("\n")[0].strip()
                    yield f"{cell}: shows {what} ({found[0].strip()!r} in {line[:80]!r}): {cure}"


def approximate_values_are_checked(notebook):
    """≈ takes a number out of the comparison, so it must stand directly before one, and the cell,
    or the check right behind it, must assert a range.
    """
    for cell, after in zip(notebook.code, [*notebook.code[1:], None], strict=True):
        shown = "".join(text for _, text in cell.texts)
        for found in re.finditer("≈", shown):
            if not re.match(NUMBER, shown[found.end() :]):
                yield (
                    f"{cell}: shows {shown[found.start() : found.start() + 12]!r}: put the number"
                    " directly behind ≈"
                )
        checked = [cell, *([after] if after and after.role == "check" else [])]
        if "≈" in shown and not any(syntax.assertions(other.tree) for other in checked):
            yield (
                f"{cell}: shows a value behind ≈, which is not compared, and asserts nothing:"
                " assert the range that it must lie in"
            )


def only_known_kinds(notebook):
    """Text, and figures as SVG with a PNG beside it: what every surface of the course shows."""
    for cell in notebook.code:
        for output in cell.outputs:
            kinds = set(output.get("data", {}))
            for kind in sorted(kinds - KINDS):
                yield (
                    f"{cell}: stores an output of type {kind}, which not every reader's program"
                    " shows"
                )
            if ("image/svg+xml" in kinds) != ("image/png" in kinds):
                yield (
                    f"{cell}: a figure needs SVG and PNG: return the figure of a sinpe.figures"
                    " function as the cell's last expression"
                )
            if kinds & {"image/svg+xml", "text/html"} and "text/plain" not in kinds:
                yield f"{cell}: needs a text beside its picture, for programs that show text only"
            for kind in sorted(kind for kind in kinds if kind == "text/html"):
                if re.search(
                    r"[0-9a-f]{8}-[0-9a-f]{4}-|id=[\"'][\w-]*[0-9a-f]{16}", output.data[kind]
                ):
                    yield f"{cell}: its HTML holds a random id, which differs on every run"


def figures_are_described(notebook):
    """Every figure has a name, a caption, and an alternative text that says in words what
    it shows.
    """
    names = []
    for cell in notebook.code:
        pictures = [
            output
            for output in cell.outputs
            if any(kind.startswith("image/") for kind in output.get("data", {}))
        ]
        mystnb = cell.metadata.get("mystnb", {})
        figure, alt = mystnb.get("figure"), mystnb.get("image", {}).get("alt", "")
        if not pictures and (figure or alt):
            yield (
                f"{cell}: is described as a figure but shows none: make the figure its last"
                " expression"
            )
        if not pictures:
            continue
        if len(pictures) > 1:
            yield f"{cell}: shows {len(pictures)} figures: one a cell, so that each has its caption"
        name, caption = (figure or {}).get("name", ""), (figure or {}).get("caption", "").strip()
        if not re.fullmatch(rf"fig-{notebook.number}-[a-z0-9]+(?:-[a-z0-9]+)*", name):
            yield (
                f"{cell}: metadata mystnb.figure.name is {name!r}: it must be"
                f" fig-{notebook.number}-word"
            )
        elif name in names:
            yield f"{cell}: the figure name {name!r} is taken: names are unique"
        names.append(name)
        if len(caption.split()) < 4 or not caption.endswith((".", "?", "!")):
            yield (
                f"{cell}: metadata mystnb.figure.caption is {caption!r}: write one or two sentences"
            )
        yield from (
            f"{cell}: metadata mystnb.image.alt {fault}" for fault in _alt_faults(alt, caption)
        )
        for output in pictures:
            for kind in (kind for kind in output.data if kind.startswith("image/")):
                if output.get("metadata", {}).get(kind, {}).get("alt") != alt:
                    yield (
                        f"{cell}: the stored {kind} does not carry the alternative text: run `make"
                        f" notebooks NB={notebook.number}`"
                    )


def _alt_faults(alt, caption):
    if len(alt.split()) < 6:
        yield f"is {alt!r}: say in words what the figure shows, to someone who cannot see it"
    if re.search(r"\.(?:png|svg|jpe?g)\b", alt.lower()):
        yield "is a file name"
    if alt.strip().lower().rstrip(".") == caption.lower().rstrip(".") and alt:
        yield (
            "repeats the caption: a screen reader says both, so let one describe and the other"
            " explain"
        )
    if re.match(r"(?:image|picture|figure|photo|graphic) of\b", alt.lower()):
        yield "begins like 'image of', which a screen reader says already"
    if "$" in alt or "\\" in alt:
        yield "holds LaTeX, which a screen reader spells out: write it in words"


def drawn_data_are_asserted(notebook):
    """nbval does not compare pictures, so the notebook asserts something about what each of them
    draws.
    """
    known = {name for cell in notebook.python for name in syntax.aliases(cell.tree)} | set(
        dir(builtins)
    )
    for cell in notebook.python:
        if not any("image/svg+xml" in output.get("data", {}) for output in cell.outputs):
            continue
        asserted = {
            name
            for other in notebook.python
            for node in syntax.assertions(other.tree)
            for name in syntax.names(node)
        }
        drawn = {
            name
            for node in cell.tree.body
            if not isinstance(node, ast.Assert)
            for name in syntax.names(node)
        }
        if not asserted & drawn - known:
            yield (
                f"{cell}: draws a figure, and no cell asserts anything about the data in it: a"
                " check does"
            )


RULES = [
    outputs_are_stored,
    no_errors_and_no_stderr,
    nothing_unstable,
    approximate_values_are_checked,
    only_known_kinds,
    figures_are_described,
    drawn_data_are_asserted,
]
