"""The house has floors, and no import runs back up: whoever reads a file finds what it needs in
files already read.
"""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FLOORS = (  # from the ground up; a file imports from its own floor or from those below
    ("nearest",),
    ("formula",),
    ("positions.base", "positions.checks"),
    ("positions.relative", "positions.extensions", "positions.turning"),
    ("positions.rotary",),
    ("positions",),
    ("embedding",),
    ("transformer",),
    ("text",),
    ("tasks",),
    ("training.machine", "training.amplitude"),
    ("training.build",),
    ("training.measures",),
    ("training.treatments",),
    ("training.log",),
    ("training.config",),
    ("training.loop",),
    ("training",),
    ("experiments.estimates",),
    ("experiments.study",),
    ("experiments.mechanism", "experiments.far"),
    ("experiments.studies",),
    ("experiments.packing",),
    ("experiments.records",),
    ("experiments.analysis",),
    ("experiments.predictions",),
    ("experiments.predictions_mechanism", "experiments.far_beside", "experiments.predictions_far"),
    ("experiments.runner",),
    ("experiments",),
    ("looks",),
    ("figures", "tables", "exercises", "explorers", "requirements"),
)
LEVEL = {name: level for level, names in enumerate(FLOORS) for name in names}
MODULES = {
    path.relative_to(ROOT / "sinpe").with_suffix("").as_posix().replace("/", "."): path
    for path in sorted((ROOT / "sinpe").rglob("*.py"))
}


def place(module):
    """(level, floor) of a module: the longest name of a floor that it belongs to."""
    parts = module.removesuffix(".__init__").split(".")
    names = [".".join(parts[:n]) for n in range(len(parts), 0, -1)]
    name = next((name for name in names if name in LEVEL), None)
    return (LEVEL[name], name) if name else (None, None)


def imported(path):
    """The modules of the package that a file imports anywhere, inside functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            if name.startswith("sinpe."):
                rest = name.removeprefix("sinpe.")
                known = rest in MODULES or f"{rest}.__init__" in MODULES
                yield rest if known else rest.rpartition(".")[0]


@pytest.mark.parametrize("module", [name for name in MODULES if name != "__init__"])
def test_no_import_runs_back_up(module):
    level, floor = place(module)
    assert floor, f"sinpe.{module} stands on no floor: give it one in FLOORS"
    for other in imported(MODULES[module]):
        if other:  # `from sinpe import formula` names the module; `import sinpe` names none
            above, name = place(other)
            own = name == floor or other.startswith(f"{floor}.")
            assert name and (above <= level or own), f"sinpe.{module} imports sinpe.{other}"


def test_nothing_is_resolved_late_but_the_names_at_the_top():
    late = [name for name, path in MODULES.items() if "def __getattr__" in path.read_text("utf-8")]
    assert late == ["__init__"]
