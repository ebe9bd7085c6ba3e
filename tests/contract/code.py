"""Rules about the code of a notebook: what it may import, where its randomness comes from, what it
proves.
"""

import ast
import io
import itertools
import sys
import tokenize

from contract import syntax

ASSERTING_CELLS = 3
PACKAGES = {"sinpe", "numpy", "torch", "matplotlib"}
REFUSED = {
    **dict.fromkeys(
        ("time", "timeit", "datetime", "cProfile", "profile"),
        "notebooks hold no times: cost is read from records",
    ),
    **dict.fromkeys(
        ("urllib", "http", "socket", "ftplib", "smtplib", "subprocess"),
        "a notebook runs without a network and starts no programs",
    ),
}
SEEDED = {
    "default_rng",
    "Generator",
    "SeedSequence",
    "PCG64",
    "PCG64DXSM",
    "Philox",
    "SFC64",
    "MT19937",
    "BitGenerator",
}
TORCH_SEEDS = {
    "torch.manual_seed",
    "torch.seed",
    "torch.random.manual_seed",
    "torch.random.seed",
    "torch.set_rng_state",
}
TORCH_DRAWS = {
    f"torch.{name}"
    for name in (
        "rand",
        "randn",
        "randint",
        "randperm",
        "normal",
        "bernoulli",
        "multinomial",
        "poisson",
    )
}
DRAWS_IN_PLACE = {
    "normal_",
    "uniform_",
    "random_",
    "bernoulli_",
    "exponential_",
    "cauchy_",
    "log_normal_",
    "geometric_",
}
MARKERS = (
    "NBVAL_IGNORE_OUTPUT",
    "NBVAL_SKIP",
    "NBVAL_CHECK_OUTPUT",
    "NBVAL_RAISES_EXCEPTION",
    "PYTEST_VALIDATE_IGNORE_OUTPUT",
)


def _calls(cell, known):
    return [
        (node, syntax.dotted(node.func, known))
        for node in ast.walk(cell.tree)
        if isinstance(node, ast.Call)
    ]


def _known(notebook):
    """Import aliases of the whole notebook, because a name imported in one cell is used in the
    others.
    """
    return {
        name: full for cell in notebook.python for name, full in syntax.aliases(cell.tree).items()
    }


def plain_python(notebook):
    """No magics or shell commands: they do not work in other programs."""
    for cell in notebook.code:
        if cell.tree is None:
            yield f"{cell}: is not plain Python: no % magics, no ! commands"


def no_trailing_semicolon(notebook):
    """A semicolon at the end of a line hides output in Jupyter but not under nbval."""
    for cell in notebook.python:
        tokens = list(tokenize.generate_tokens(io.StringIO(cell.source).readline))
        code = [token for token in tokens if token.type not in (tokenize.COMMENT, tokenize.NL)]
        for token, after in itertools.pairwise(code):
            if token.string == ";" and after.type in (tokenize.NEWLINE, tokenize.ENDMARKER):
                yield (
                    f"{cell}: line {token.start[0]} ends in `;`, which hides nothing under nbval:"
                    " assign the value to `_`, or end in a statement"
                )


def only_course_imports(notebook):
    """sinpe, NumPy, torch, matplotlib and the standard library: what a fresh Colab or
    Binder has.
    """
    for cell in notebook.python:
        for full in syntax.aliases(cell.tree).values():
            package = full.split(".")[0]
            if package in REFUSED:
                yield f"{cell}: imports {package}: {REFUSED[package]}"
            elif package not in PACKAGES | set(sys.stdlib_module_names):
                yield (
                    f"{cell}: imports {package}, which is not installed with sinpe: use"
                    f" {', '.join(sorted(PACKAGES))} or the standard library"
                )
        for node, name in _calls(cell, {}):
            if name in ("__import__", "importlib.import_module"):
                yield f"{cell}: imports by a call in line {node.lineno}: write an import statement"


def imports_stand_together(notebook):
    """One cell with all imports, right after the set-up cell."""
    importing = [
        cell
        for cell in notebook.python
        if any(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(cell.tree))
    ]
    if not importing or notebook.code.index(importing[0]) != 1:
        yield "the second code cell must hold the imports"
    for cell in importing[1:]:
        yield f"{cell}: imports once more: move it to the import cell"


def no_pyplot(notebook):
    """Figures come from sinpe.figures: pyplot keeps global state and prints object addresses."""
    for cell in notebook.python:
        if any(
            "pyplot" in full or "pylab" in full for full in syntax.aliases(cell.tree).values()
        ) or any(
            name in ("matplotlib.use", "mpl.use") or name.startswith("plt.")
            for _, name in _calls(cell, {})
        ):
            yield (
                f"{cell}: uses pyplot: call a function of sinpe.figures and make the figure the"
                " cell's last expression"
            )


def local_seeds(notebook):
    """Randomness comes from a seeded generator that the reader sees, so that a cell added above
    changes nothing below.

    torch.manual_seed is allowed inside `with torch.random.fork_rng():`, which keeps it local; so
    are draws there.
    """
    known = _known(notebook)
    for cell in notebook.python:
        local = {
            id(inner)
            for node in ast.walk(cell.tree)
            if isinstance(node, ast.With) and _forks(node, known)
            for inner in ast.walk(node)
        }
        for node, name in _calls(cell, known):
            cure = None if id(node) in local else _seed_fault(node, name)
            if cure:
                yield f"{cell}: {name or ast.unparse(node.func)} in line {node.lineno} {cure}"


def _forks(node, known):
    return any(
        isinstance(item.context_expr, ast.Call)
        and syntax.dotted(item.context_expr.func, known) == "torch.random.fork_rng"
        for item in node.items
    )


def _seed_fault(node, name):
    arguments = {keyword.arg for keyword in node.keywords}
    last = name.rpartition(".")[2] if name else getattr(node.func, "attr", "")
    if name.startswith("numpy.random.") and last not in SEEDED:
        return "uses NumPy's global generator: make one with np.random.default_rng(seed)"
    if name == "numpy.random.default_rng" and not (node.args or arguments):
        return "has no seed: np.random.default_rng(seed)"
    if name.startswith("random.") and not (name == "random.Random" and node.args):
        return "uses Python's global generator: make one with random.Random(seed)"
    if name in TORCH_SEEDS or name.startswith("torch.cuda.manual_seed"):
        return (
            "sets torch's global generator: use torch.Generator().manual_seed(seed), or put it"
            " inside `with torch.random.fork_rng():`"
        )
    if (name in TORCH_DRAWS or last in DRAWS_IN_PLACE) and "generator" not in arguments:
        return (
            "draws from torch's global generator: pass"
            " generator=torch.Generator().manual_seed(seed)"
        )
    return None


def nothing_is_exempt_from_comparison(notebook):
    """No comment that tells nbval to skip a cell or to ignore its output."""
    for cell in notebook.code:
        for line in cell.source.splitlines():
            if (
                line.strip().startswith("#")
                and line.strip().lstrip("#").strip().replace("-", "_").upper() in MARKERS
            ):
                yield (
                    f"{cell}: `{line.strip()}` switches the comparison off: print a verdict, or a"
                    " value behind ≈ with an asserted range"
                )


def warnings_are_not_silenced(notebook):
    """A warning is a fault to repair, not to hide."""
    known = _known(notebook)
    for cell in notebook.python:
        for node, name in _calls(cell, known):
            if name in ("warnings.filterwarnings", "warnings.simplefilter") or (
                name == "numpy.seterr"
            ):
                yield f"{cell}: {name} in line {node.lineno} hides warnings: remove their cause"


def enough_is_asserted(notebook):
    """At least three cells besides the solutions prove something."""
    count = sum(
        bool(syntax.assertions(cell.tree)) for cell in notebook.python if not cell.is_solution
    )
    if count < ASSERTING_CELLS:
        yield (
            f"{count} cells assert something (solutions not counted); at least {ASSERTING_CELLS}:"
            " each equation is followed by its check"
        )


def assertions_can_fail(notebook):
    """No assertion that holds whatever the code above it does."""
    imported = set(_known(notebook))
    for cell in notebook.python:
        for node in syntax.assertions(cell.tree):
            reason = syntax.why_it_cannot_fail(node, imported)
            if reason:
                yield f"{cell}: `{ast.unparse(node)[:80]}` cannot fail: {reason}"


RULES = [
    plain_python,
    no_trailing_semicolon,
    only_course_imports,
    imports_stand_together,
    no_pyplot,
    local_seeds,
    nothing_is_exempt_from_comparison,
    warnings_are_not_silenced,
    enough_is_asserted,
    assertions_can_fail,
]
