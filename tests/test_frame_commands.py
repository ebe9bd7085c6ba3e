"""The commands: what the Makefile offers, how the environment is made, how a build is checked, what
CI runs.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import build_site
import environment
import pytest
from lock import locked

ROOT = Path(__file__).resolve().parent.parent
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = dict(re.findall(r"^([a-z-]+):[^=\n]*?(?:## (.*))?$", MAKEFILE, re.MULTILINE))
MAKE = shutil.which("make")
# seconds: pip itself would wait for minutes
PATIENCE = 60
needs_make = pytest.mark.skipif(MAKE is None, reason="make is not installed")


def make(*arguments, folder=ROOT, **variables):
    """`make …` without the variables of a make that may have started this test."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "PYTHON", "VENV", "NEWEST", "OLDEST")
    }
    return subprocess.run(
        [MAKE, *arguments],
        check=False,
        cwd=folder,
        env={**clean, **variables},
        capture_output=True,
        text=True,
    )


# --- the Makefile


def test_every_target_is_explained_and_none_is_a_file():
    assert all(TARGETS.values()), [name for name, words in TARGETS.items() if not words]
    assert set(re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)[1].split()) == set(TARGETS)


@needs_make
def test_make_alone_lists_the_commands():
    done = make()
    assert done.returncode == 0 and [line.split()[1] for line in done.stdout.splitlines()] == list(
        TARGETS
    )


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "CONTRIBUTING.md",
        "book/how-to-run.md",
        ".ci/run",
        ".devcontainer/devcontainer.json",
    ],
)
def test_every_command_that_is_mentioned_exists(page):
    mentioned = re.findall(
        r"\bmake ([a-z]+(?:-[a-z]+)*)",
        "\n".join(
            re.findall(
                r"`{1,3}[^`]+`{1,3}|^.*make .*$",
                (ROOT / page).read_text(encoding="utf-8"),
                re.MULTILINE,
            )
        ),
    )
    commands = [
        name for name in mentioned if name in TARGETS or name not in ("it", "sure", "a", "the")
    ]
    assert commands and set(commands) <= set(TARGETS)


def test_every_tool_is_run_by_a_command():
    # the others load these
    shared = {"nbval_strict.py", "said_once.py", "scratch.py", "chromium.py"}
    shared |= {"slide_figures.py", "slide_pages.py", "slide_sources.py", "third_party.py"}
    tools = {path.name for path in (ROOT / "tools").glob("*.py")} - shared
    assert tools == set(re.findall(r"tools/(\w+\.py)", MAKEFILE))


@needs_make
@pytest.mark.parametrize("target", sorted(set(TARGETS) - {"help"}))
def test_a_command_can_be_expanded(target):
    done = make("--dry-run", target, "REPO=owner/name")
    assert done.returncode == 0 and done.stdout.strip(), done.stderr


@needs_make
def test_the_interpreter_can_be_chosen():
    assert (
        "python3.99 tools/environment.py" in make("--dry-run", "book", PYTHON="python3.99").stdout
    )
    # then an environment of another version is made anew
    assert "--this-python" in make("--dry-run", "book", PYTHON="python3.99").stdout
    assert "--this-python" not in make("--dry-run", "book").stdout


# --- the environment


def test_an_old_python_is_named_and_a_way_out_given(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 10, 4, "final", 0))
    with pytest.raises(
        SystemExit, match=r"needs Python 3\.11 or newer.*\n.*PYTHON=python3\.\d+ make book"
    ):
        environment.main()


def test_the_file_that_makes_the_environment_runs_on_an_old_python():
    """It has to be understood by the Python that it refuses: nothing newer than 3.8 in its
    grammar.
    """
    import ast

    ast.parse((ROOT / "tools/environment.py").read_text(encoding="utf-8"), feature_version=(3, 8))
    head = (ROOT / "tools/environment.py").read_text(encoding="utf-8").partition("ROOT =")[0]
    assert "tomllib" not in re.findall(r"^import (\w+)", head, re.MULTILINE)


def test_an_index_that_does_not_exist_costs_little():
    start = time.perf_counter()
    assert not environment.answers("http://index.invalid/whl/cpu")
    assert time.perf_counter() - start < PATIENCE


def test_an_index_that_accepts_and_then_says_nothing_costs_seconds(monkeypatch):
    monkeypatch.setattr(environment, "PROBE_SECONDS", 2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        start = time.perf_counter()
        assert not environment.answers(f"http://127.0.0.1:{silent.getsockname()[1]}/whl/cpu")
        assert time.perf_counter() - start < PATIENCE


def test_an_index_that_answers_is_recognised(tmp_path, index_server):
    assert environment.answers(index_server)


@pytest.fixture
def index_server(tmp_path):
    from browser import served

    (tmp_path / "torch").mkdir()
    (tmp_path / "torch/index.html").write_text("<a>torch</a>")
    with served(tmp_path) as address:
        yield address


@pytest.fixture
def setup(monkeypatch, tmp_path):
    """setup(*arguments) -> what had to be done, in a copy that lies in a folder with a space in its
    name; pip itself is left out.
    """
    root, done, run = tmp_path / "a course", [], subprocess.run
    root.mkdir()
    for name in ("pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, root)

    def without_pip(command, **options):
        if "venv" in command:
            done.append("made")
            command = [*command, "--without-pip"]
        return run(command, **options)

    monkeypatch.setattr(environment, "ROOT", root)
    monkeypatch.setattr(environment.subprocess, "run", without_pip)
    monkeypatch.setattr(
        environment, "install", lambda venv, extras, versions, index: done.append(" ".join(extras))
    )

    def setup(*arguments):
        done.clear()
        monkeypatch.setattr(sys, "argv", ["environment.py", ".venv", *arguments])
        environment.main()
        return list(done)

    setup.root = root
    return setup


def test_a_second_run_has_nothing_to_do(setup):
    assert setup("--extras", "book") == ["made", "book"]
    assert setup("--extras", "book") == []


def test_what_is_installed_stays_when_another_command_needs_more(setup):
    setup("--extras", "book")
    assert setup("--extras", "test") == ["book test"]
    assert setup("--extras", "book") == setup("--extras", "test", "book") == []


@pytest.mark.parametrize("name", ["pyproject.toml", "constraints.txt"])
def test_a_changed_list_is_installed(setup, name):
    setup("--extras", "book")
    with (setup.root / name).open("a") as file:
        file.write("# changed\n")
    assert setup("--extras", "book") == ["book"]


def test_other_versions_are_installed(setup):
    setup("--extras", "book")
    assert setup("--newest", "--extras", "book") == ["book"]
    assert setup("--oldest", "numpy", "--extras", "book") == ["book"]
    assert setup("--oldest", "numpy", "--extras", "book") == []


def test_an_environment_that_was_moved_or_is_broken_is_made_anew(setup, capsys):
    setup("--extras", "book")
    stamp = setup.root / ".venv/ready.json"
    stamp.write_text(stamp.read_text().replace(str(setup.root), "/somewhere/else"))
    assert setup("--extras", "book") == ["made", "book"]
    environment.interpreter(setup.root / ".venv").unlink()
    assert setup("--extras", "book") == ["made", "book"]
    assert capsys.readouterr().out.count("making .venv anew") == 2


def test_another_python_that_was_asked_for_makes_it_anew(setup, monkeypatch):
    setup("--extras", "book")
    monkeypatch.setattr(environment, "version_of", lambda python: (3, 99))
    assert setup("--extras", "book") == []  # nobody asked
    assert setup("--this-python", "--extras", "book") == ["made", "book"]


def test_an_installation_that_failed_is_tried_again(setup, monkeypatch):
    install = environment.install
    monkeypatch.setattr(
        environment,
        "install",
        lambda *_: subprocess.run([sys.executable, "-c", "raise SystemExit(1)"], check=True),
    )
    with pytest.raises(SystemExit, match="could not make .venv: .* failed"):
        setup("--extras", "book")
    monkeypatch.setattr(environment, "install", install)
    assert setup("--extras", "book") == ["book"]


@pytest.fixture
def calls(monkeypatch):
    """What install() would run, without running it."""
    found = []
    monkeypatch.setattr(environment, "run", found.append)
    return found


def test_a_warning_that_pip_repeats_is_said_once(capfdbinary):
    """With another name between the quotes each time; everything else is passed on."""
    said = [
        "WARNING: Location 'file:///a/numpy/' is ignored",
        "Collecting numpy",
        "WARNING: Location 'file:///a/torch/' is ignored",
        "Collecting numpy",
        "WARNING: a script is not on the path",
        "    ━━━ 3 kB",
    ]
    print_them = f"import sys; sys.stdout.reconfigure(encoding='utf-8'); print(*{said}, sep='\\n')"
    environment.run([sys.executable, "-c", print_them])
    assert capfdbinary.readouterr().out.decode().splitlines() == [*said[:2], *said[3:]]


def test_an_installation_that_failed_is_an_error():
    command = [sys.executable, "-c", "raise SystemExit(3)"]
    with pytest.raises(subprocess.CalledProcessError, match="status 3"):
        environment.run(command)


def test_torch_comes_from_the_index_of_cpu_builds_where_that_answers(calls, monkeypatch, tmp_path):
    monkeypatch.setattr(environment.platform, "system", lambda: "Linux")
    monkeypatch.setattr(environment, "answers", lambda index: True)
    environment.install(tmp_path, ["book"], "torch==1\n", "http://cpu")
    torch, rest = calls
    assert torch[-4:] == ["--no-deps", "--index-url", "http://cpu", "torch"] and "-c" in torch
    assert rest[-2:] == ["-e", f"{ROOT}[book]"] and "--index-url" not in rest


@pytest.mark.parametrize(
    "system, index, reply",
    [
        ("Linux", "http://cpu", False),
        ("Linux", "", True),
        ("Darwin", "http://cpu", True),
        ("Windows", "http://cpu", True),
    ],
)
def test_elsewhere_pip_decides(calls, monkeypatch, tmp_path, capsys, system, index, reply):
    monkeypatch.setattr(environment.platform, "system", lambda: system)
    monkeypatch.setattr(environment, "answers", lambda index: reply)
    environment.install(tmp_path, ["book"], "torch==1\n", index)
    assert len(calls) == 1 and "--index-url" not in calls[0] and "-c" in calls[0]
    assert ("does not answer" in capsys.readouterr().out) == (system == "Linux" and not reply)


def test_the_oldest_versions_are_the_lower_bounds():
    lines = environment.constraints(["numpy", "torch"]).splitlines()
    assert {"numpy==2.0", "torch==2.8"} <= set(lines) and len(
        [line for line in lines if line.startswith(("numpy==", "torch=="))]
    ) == 2
    assert f"pyparsing=={locked()['pyparsing']}" in lines
    assert f"scipy=={locked()['scipy']}" in lines
    with pytest.raises(SystemExit, match="scipy"):
        environment.constraints(["scipy"])


def test_the_oldest_matplotlib_comes_with_what_was_there_at_its_time():
    """Today's pyparsing warns where that release calls it."""
    lines = environment.constraints(["matplotlib"]).splitlines()
    assert [line for line in lines if line.startswith(("matplotlib=", "pyparsing="))] == [
        "matplotlib==3.8.4",
        "pyparsing==3.2.0",
    ]


def test_the_newest_and_the_oldest_versions_exclude_each_other(setup, capsys):
    with pytest.raises(SystemExit):
        setup("--newest", "--oldest", "numpy", "--extras", "book")
    assert "not allowed with argument --newest" in capsys.readouterr().err


def test_a_python_that_the_lock_was_not_tested_with_is_named(setup, monkeypatch, capsys):
    monkeypatch.setattr(environment, "NEWEST_PYTHON", (3, 10))
    version = environment.platform.python_version()
    setup("--extras", "book")
    said = capsys.readouterr().out
    assert f"tested with Python 3.11 to 3.10, and this is {version}," in said
    assert "PYTHON=python3.10 make book" in said and "NEWEST=1 make book" in said
    setup("--extras", "book")  # nothing to do
    assert capsys.readouterr().out == ""
    setup("--newest", "--extras", "book")
    assert "tested with" not in capsys.readouterr().out


def test_the_newest_versions_know_no_lock(calls, tmp_path):
    environment.install(tmp_path, ["test"], None, "")
    assert "-c" not in calls[0] and {"--upgrade", "eager"} <= set(calls[0])


# --- the build

TOC = {
    "root": "book/index",
    "parts": [
        {
            "chapters": [
                {"file": "notebooks/01_a", "sections": [{"file": "book/b"}]},
                {"file": "notebooks/02_c"},
            ]
        }
    ],
}


def test_pages_are_read_in_order_and_sections_too():
    assert build_site.pages(TOC) == ["book/index", "notebooks/01_a", "book/b", "notebooks/02_c"]
    listed = build_site.pages(build_site.read(ROOT / "_toc.yml"))
    assert {f"notebooks/{path.stem}" for path in (ROOT / "notebooks").glob("*.ipynb")} <= set(
        listed
    )


def test_a_page_that_was_not_built_is_named(tmp_path):
    for page in ("book/index", "notebooks/01_a", "book/b", "notebooks/02_c"):
        (tmp_path / page).parent.mkdir(exist_ok=True)
        (tmp_path / f"{page}.html").write_text("<html></html>")
    assert build_site.missing(TOC, tmp_path) == []
    (tmp_path / "notebooks/02_c.html").unlink()
    (tmp_path / "book/b.html").write_text("<html>")  # cut off
    assert [problem.split(":")[0] for problem in build_site.missing(TOC, tmp_path)] == [
        "book/b",
        "notebooks/02_c",
    ]


def test_a_page_that_is_listed_twice_is_named(tmp_path):
    problems = build_site.missing({"root": "a", "chapters": [{"file": "a"}]}, tmp_path)
    assert problems[0] == "a: stands 2 times in _toc.yml"


def test_a_repeated_key_is_an_error(tmp_path):
    """YAML would silently keep the last one, and lose chapters."""
    path = tmp_path / "_toc.yml"
    path.write_text("root: a\nchapters:\n  - file: b\nchapters:\n  - file: c\n")
    with pytest.raises(build_site.yaml.YAMLError, match="repeated key: chapters"):
        build_site.read(path)


@pytest.mark.parametrize(
    "status, listed, said",
    [
        (1, ["book/index"], "was not built: see the warnings"),
        (0, ["book/index", "book/lost"], "book/lost"),
    ],
)
def test_a_bad_build_does_not_pass(monkeypatch, tmp_path, status, listed, said):
    monkeypatch.setattr(build_site, "pages", lambda toc: listed)
    (tmp_path / "_build/html/book").mkdir(parents=True)
    (tmp_path / "_build/html/book/index.html").write_text("<html></html>")
    monkeypatch.setattr(build_site, "build", lambda folder: status)
    with pytest.raises(SystemExit, match=said):
        build_site.main(str(tmp_path))


# --- CI


@pytest.fixture
def bare(tmp_path):
    """run(present) -> what .ci/run does on a machine that has only these programs; every program
    writes its name and arguments down.
    """
    if sys.platform != "linux":
        pytest.skip("for Debian and Ubuntu")
    log, programs = tmp_path / "log", tmp_path / "bin"
    programs.mkdir()
    for name in ("bash", "dirname"):
        (programs / name).symlink_to(shutil.which(name))

    def write(name, body):
        (programs / name).write_text(
            f'#!{shutil.which("bash")}\necho "{name} $*" >> "{log}"\n{body}\n'
        )
        (programs / name).chmod(0o755)

    def run(present, fails=""):
        write("apt-get", "")
        write("env", 'shift; "$@"')
        write("id", "echo 0")
        write("make", f'[[ "$*" != "{fails}" ]]')
        for name in set(present) - {"make"}:
            write(name, "")
        if "make" not in present:  # it appears once apt-get has run
            (programs / "make").rename(programs / "make.later")
            write(
                "apt-get",
                f'[[ "$1" == update ]] || "{shutil.which("mv")}" -f "{programs}/make.later"'
                f' "{programs}/make" 2> /dev/null',
            )
        done = subprocess.run(
            [programs / "bash", ROOT / ".ci/run"],
            check=False,
            env={"PATH": str(programs)},
            capture_output=True,
            text=True,
        )
        return done.returncode, [
            line for line in log.read_text().splitlines() if line.startswith(("apt-get", "make"))
        ]

    return run


def test_ci_installs_what_a_bare_machine_lacks_and_then_runs_everything(bare):
    status, done = bare([])
    assert status == 0 and done[0] == "apt-get update"
    assert {"make", "git", "python3", "python3-venv", "chromium", "fonts-dejavu-core"} <= set(
        done[1].split()
    )
    assert done[2:] == ["make lint", "make test"]


def test_ci_installs_nothing_that_is_there(bare):
    assert bare(["make", "git", "python3", "chromium"]) == (0, ["make lint", "make test"])


@pytest.mark.parametrize("fails", ["lint", "test"])
def test_ci_fails_where_a_command_fails_and_runs_the_other_all_the_same(bare, fails):
    status, done = bare(["make", "git", "python3", "chromium"], fails)
    assert status != 0 and done == ["make lint", "make test"]


def test_ci_can_be_run():
    path = ROOT / ".ci/run"
    assert (
        os.access(path, os.X_OK)
        and "set -euo pipefail" in path.read_text(encoding="utf-8")
        and "export CI=true" in path.read_text(encoding="utf-8")
    )
