"""The plan of the mutation run: every module has tests of its own there, and every survivor that
may live still stands in the code.
"""

import fnmatch
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PLAN = tomllib.loads((ROOT / "tests/mutants.toml").read_text(encoding="utf-8"))
MODULES = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "sinpe").rglob("*.py"))]
OWN = {"modules", "whole"}  # keys of a package that are no modules


@pytest.mark.parametrize("module", MODULES)
def test_a_module_belongs_to_one_package_and_has_tests_there(module):
    packages = [
        content
        for content in PLAN["packages"].values()
        if any(fnmatch.fnmatchcase(module, pattern) for pattern in content["modules"])
    ]
    assert len(packages) == 1, f"{module} is in {len(packages)} packages of tests/mutants.toml"
    stem = Path(module).stem
    keys = [key for key in packages[0] if key not in OWN and fnmatch.fnmatchcase(stem, key)]
    assert keys
    for key in keys:
        if stem != "__init__":
            names = [name.format(module=stem) for name in packages[0][key]]
            assert key == "*" and len(keys) > 1 or all((ROOT / "tests" / n).exists() for n in names)


def test_a_line_of_the_plan_names_a_module_that_is_there():
    for package in PLAN["packages"].values():
        paths = [path for pattern in package["modules"] for path in ROOT.glob(pattern)]
        for key in set(package) - OWN:
            assert any(fnmatch.fnmatchcase(path.stem, key) for path in paths), key


def test_a_survivor_that_may_live_is_a_line_of_its_module_and_has_a_reason():
    for one in PLAN.get("survivors", []):
        lines = (ROOT / one["module"]).read_text(encoding="utf-8").splitlines()
        assert one["from"] in map(str.strip, lines), one
        assert one["kind"] in ("equivalent", "platform", "slow") and len(one["why"]) > 10


def test_each_kind_of_change_is_made(tmp_path):
    """A call alone in a line is left out, which no operator of Cosmic Ray does."""
    pytest.importorskip("cosmic_ray", reason="the extra `mutants` is not installed")
    import mutants
    from cosmic_ray.mutating import mutate_code

    source = "def f(x):\n    x.zero_grad()\n    return x + g(x)\n"
    assert "    pass\n" in mutate_code(source, mutants.RemoveCall(), 0)
    assert mutate_code(source, mutants.RemoveCall(), 1) is None
    low, high = mutants.interval(90, 100)  # Wilson's, as in Agresti and Coull 1998
    assert (round(low, 4), round(high, 4)) == (0.8256, 0.9448)
