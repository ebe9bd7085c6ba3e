"""One dependency list, one lock, one version, and licences that reach whoever installs the
package.
"""

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from pathlib import Path

import pytest
import retarget
import yaml
from lock import CUDA, canonical, locked
from packaging.requirements import Requirement
from packaging.version import Version

import sinpe

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
EXTRAS = PROJECT["optional-dependencies"]
CORE = [Requirement(line) for line in PROJECT["dependencies"]]
DECLARED = {
    "core": CORE,
    **{extra: [Requirement(line) for line in lines] for extra, lines in EXTRAS.items()},
}


def versions_in_use():
    """Which versions this environment was made with: "locked", "newest" or "oldest …"; a hand-made
    one counts as locked.
    """
    stamp = Path(sys.prefix, "ready.json")
    return (
        json.loads(stamp.read_text(encoding="utf-8")).get("versions", "locked")
        if stamp.exists()
        else "locked"
    )


only_locked = pytest.mark.skipif(
    versions_in_use() != "locked",
    reason="this environment holds other versions than the lock on purpose",
)


# --- the list


@pytest.mark.parametrize("extra", DECLARED)
def test_bounds_are_lower_bounds(extra):
    """An upper or exact bound makes Colab replace what it has; the one exception is a program that
    changed its nature.
    """
    for requirement in DECLARED[extra]:
        bounds = sorted(str(bound) for bound in requirement.specifier)
        allowed = ["<2", ">=1.0.4"] if requirement.name == "jupyter-book" else bounds
        assert bounds == allowed and any(bound.startswith(">=") for bound in bounds), str(
            requirement
        )
        assert (
            all(bound.startswith(">=") for bound in bounds) or requirement.name == "jupyter-book"
        ), str(requirement)


def test_the_extras_and_the_core_are_what_the_course_promises():
    assert {"book", "slides", "lite", "test", "lint", "cluster", "peers"} <= set(EXTRAS)
    assert {r.name: str(r.specifier) for r in CORE} == {
        "jinja2": ">=3.1.2",
        "matplotlib": ">=3.8.4",
        "numpy": ">=2.0",
        "pandas": ">=2.2.2",
        "torch": ">=2.8",
        "tqdm": ">=4.62",
    }
    # there is no torch in the browser
    assert str(next(r for r in CORE if r.name == "torch").marker) == 'sys_platform != "emscripten"'
    assert PROJECT["requires-python"] == ">=3.11"


def imports(folder):
    """Top-level modules from elsewhere that the Python files of a folder import: {module:
    files}.
    """
    found, own = (
        {},
        {
            path.stem
            for place in ("tests", "tools", "benchmarks", "book/_ext")
            for path in (ROOT / place).iterdir()
        }
        | {"sinpe"},
    )
    for path in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = (
                [a.name for a in node.names]
                if isinstance(node, ast.Import)
                else [node.module]
                if isinstance(node, ast.ImportFrom) and not node.level
                else []
            )
            for module in {name.split(".")[0] for name in names} - own - sys.stdlib_module_names:
                found.setdefault(module, []).append(path.relative_to(ROOT).as_posix())
    return found


@pytest.mark.parametrize(
    "folder, extras",
    [
        ("sinpe", ["core"]),
        ("book/_ext", ["core", "book"]),
        ("tests", ["core", "test", "peers", "mutants"]),
        ("tools", ["core", "test", "book", "slides", "mutants"]),
        ("benchmarks", ["core", "test", "cluster", "peers"]),
    ],
)
def test_what_is_imported_is_declared(folder, extras):
    # matplotlib cannot be had without it
    declared = {
        canonical(requirement.name) for extra in extras for requirement in DECLARED[extra]
    } | {"pillow"}
    optional = (
        {canonical(requirement.name) for requirement in DECLARED["cluster"]}
        if folder == "sinpe"
        else set()
    )
    provided = packages_distributions()
    for module, files in imports(folder).items():
        names = {canonical(name) for name in provided.get(module, [module])}
        assert names & (declared | optional), (
            f"{files[0]} imports {module}, which no line of pyproject.toml ({', '.join(extras)})"
            " brings"
        )


# --- the lock


def test_the_lock_holds_one_exact_version_a_line():
    lines = [
        line
        for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
        if not line.startswith("#")
    ]
    assert lines == sorted(lines, key=lambda line: line.split("==")[0])
    for line in lines:
        name, version = re.fullmatch(r"([a-z0-9-]+)==([\w.!]+)", line).groups()
        assert canonical(name) == name and str(Version(version)) and not CUDA.match(name)
    assert len(locked()) == len(lines)


def test_the_lock_allows_what_is_declared():
    for requirements in DECLARED.values():
        for requirement in requirements:
            assert requirement.specifier.contains(locked()[canonical(requirement.name)]), (
                f"{requirement}, locked at {locked()[canonical(requirement.name)]}"
            )


def needed(names):
    """Every distribution that is installed for these requirements, with what those need in turn:
    {name: version}; and those that are not installed.
    """
    found, absent, queue = {}, set(), [(requirement, {""}) for requirement in names]
    seen = set()
    while queue:
        requirement, extras = queue.pop()
        if requirement.marker and not any(
            requirement.marker.evaluate({"extra": extra}) for extra in extras
        ):
            continue
        key = (canonical(requirement.name), frozenset(requirement.extras))
        if key in seen:
            continue
        seen.add(key)
        try:
            there = distribution(requirement.name)
        except PackageNotFoundError:
            absent.add(key[0])
            continue
        found[key[0]] = there.version.split("+")[0]
        queue += [(Requirement(line), {"", *requirement.extras}) for line in there.requires or []]
    return found, absent


@only_locked
@pytest.mark.skipif(
    sys.platform != "linux",
    reason="the lock is made on Linux, and other systems need a few more distributions",
)
def test_everything_that_is_installed_for_the_course_is_in_the_lock_at_that_version():
    found, absent = needed(
        [
            requirement
            for extra in ("core", "book", "test", "lint", "peers")
            for requirement in DECLARED[extra]
        ]
    )
    assert len(found) > 100 and not absent, absent
    differing = {
        name: f"installed {version}, locked {locked().get(name)}"
        for name, version in found.items()
        if locked().get(name) != version and not CUDA.match(name)
    }
    assert differing == {}, "run `make lock`, or `make install`"


def test_pre_commit_runs_the_locked_linters():
    hooks = [
        hook
        for repository in yaml.safe_load(
            (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
        )["repos"]
        for hook in repository["hooks"]
    ]
    pins = {pin for hook in hooks for pin in hook["additional_dependencies"]}
    assert pins == {f"{name}=={locked()[name]}" for name in ("ruff", "codespell")}


@only_locked
@pytest.mark.parametrize(
    "command",
    [["-m", "ruff", "check"], ["-m", "ruff", "format", "--check"], ["-m", "codespell_lib"]],
    ids=lambda command: " ".join(command[1:]),
)
def test_the_tree_passes_the_linters(command):
    pytest.importorskip(command[1], reason="the extra `lint` is not installed")
    done = subprocess.run(
        [sys.executable, *command], check=False, cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


# --- one version, two licences


def test_the_version_is_the_same_everywhere():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    newest = re.search(
        r"^## (\S+) \((unreleased|\d{4}-\d\d-\d\d)\)$",
        (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    assert {PROJECT["version"], sinpe.__version__, citation["version"], newest[1]} == {
        PROJECT["version"]
    }
    assert str(citation.get("date-released", "unreleased")) == newest[2]


def test_the_citation_is_complete():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["cff-version"] == "1.2.0" and citation["license"] == PROJECT["license"] == "MIT"
    assert {"message", "title", "authors", "abstract", "repository-code", "url"} <= set(citation)


def test_the_licences_are_whole():
    code, text = ((ROOT / name).read_text(encoding="utf-8") for name in ("LICENSE", "LICENSE-text"))
    assert code.startswith("MIT License\n") and 'THE SOFTWARE IS PROVIDED "AS IS"' in code
    assert re.findall(r"^Section (\d) -- ", text, re.MULTILINE) == list("12345678")
    assert "Attribution 4.0 International Public" in text and text.rstrip().endswith(
        "Creative Commons may be contacted at creativecommons.org."
    )


def test_the_wheel_holds_every_file_of_the_package(wheel):
    inside = set(zipfile.ZipFile(wheel).namelist())
    there = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "sinpe").rglob("*")
        # a runner's lock stays in its folder, and git ignores it
        if path.is_file() and "__pycache__" not in path.parts and path.name != ".lock"
    }
    assert there - inside == set()
    assert f"sinpe-{sinpe.__version__}.dist-info/licenses/LICENSE" in inside
    assert {name for name in inside if not name.startswith("sinpe")} == set()


def test_the_wheel_works_away_from_the_repository(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path / "installed")
    code = (
        "import sys, sinpe, sinpe.explorers, sinpe.exercises; assert 'torch' not in sys.modules;"
        " print(sinpe.__file__); print(len(sinpe.explorers.script()))"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "installed")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    place, length = done.stdout.splitlines()
    assert Path(place).is_relative_to(tmp_path) and int(length) > 1000


def test_installing_the_package_replaces_nothing_that_is_new_enough():
    """What `pip install` does on Colab: only sinpe itself would be installed."""
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
        "--no-index",
        "--no-build-isolation",
        "--dry-run",
        "--quiet",
        "--report",
        "-",
    ]
    done = subprocess.run([*pip, str(ROOT)], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert [item["metadata"]["name"] for item in json.loads(done.stdout)["install"]] == ["sinpe"]


# --- hosts


def test_no_file_names_a_package_registry():
    """Except the index of CPU builds, where the commands that need it are."""
    hosts = (
        ("download", "pytorch", "org"),
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("npmjs", "org"),
        ("deb", "debian", "org"),
        ("conda", "anaconda", "org"),
    )
    index, *registries = (".".join(parts) for parts in hosts)
    for path, text in retarget.files(ROOT):
        name = path.relative_to(ROOT).as_posix()
        assert not any(host in text for host in registries), name
        assert (
            index not in text
            or name == "Makefile"
            or name.startswith(("binder/", ".github/workflows/"))
        ), name
