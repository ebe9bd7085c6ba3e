"""Make the virtual environment that every command of the Makefile uses, or return at once if it is
up to date.

    python tools/environment.py .venv --torch-index URL --extras book test
    python tools/environment.py .venv-oldest --oldest numpy torch --extras book test
    python tools/environment.py .venv-newest --newest --extras book test

Needs nothing but Python. Versions come from constraints.txt, except for the packages named after
--oldest, which are taken at the lower bound of pyproject.toml, and with --newest, which takes the
newest release of everything that pyproject.toml allows.
"""

import argparse
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLDEST_PYTHON = (3, 11)
NEWEST_PYTHON = (3, 14)  # of those that the locked versions are tested with
# What an oldest release needs instead of the locked release, which did not exist then
THEN = {"matplotlib": ("pyparsing", "3.2.0")}
# a busy machine that gave up on it would take torch with CUDA, many times larger
PROBE_SECONDS = 10
PROBE = (
    "import sys, urllib.request; urllib.request.urlopen(sys.argv[1] + '/torch/',"
    " timeout=float(sys.argv[2])).close()"
)


def answers(index):
    """Whether a package index answers within PROBE_SECONDS; a process of its own, which may take
    as long again to start, since a name server that hangs ignores time-outs.
    """
    command = [sys.executable, "-c", PROBE, index.rstrip("/"), str(PROBE_SECONDS)]
    try:
        return (
            subprocess.run(
                command, check=False, stderr=subprocess.DEVNULL, timeout=2 * PROBE_SECONDS
            ).returncode
            == 0
        )
    except subprocess.TimeoutExpired:
        return False


def interpreter(venv):
    """The path of the environment's Python."""
    return venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def version_of(python):
    """Major and minor version of an interpreter, or None if it does not run (its base was removed
    or the folder was moved).
    """
    command = [str(python), "-c", "import sys; print(*sys.version_info[:2])"]
    try:
        return tuple(
            map(
                int,
                subprocess.run(command, capture_output=True, check=True, text=True).stdout.split(),
            )
        )
    except (OSError, subprocess.CalledProcessError):
        return None


def lower_bounds():
    """Lower bound of each core dependency in pyproject.toml: {"numpy": "2.0", …}."""
    # not at the top: an older Python must live long enough to say that it is too old
    import tomllib

    dependencies = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "dependencies"
    ]
    return dict(re.match(r"([\w-]+)>=([\w.]+)", line).groups() for line in dependencies)


def constraints(oldest):
    """Lines of constraints.txt, with the packages of `oldest` at their lower bound, or at the
    version behind their name ("numpy==2.0.2"), and their companions of THEN.
    """
    bounds, named = lower_bounds(), dict(one.partition("==")[::2] for one in oldest)
    unknown = sorted(set(named) - set(bounds))
    if unknown:
        sys.exit(f"--oldest knows {', '.join(bounds)}, not {', '.join(unknown)}")
    chosen = {name: version or bounds[name] for name, version in named.items()}
    chosen.update(THEN[name] for name in named if name in THEN)
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if line.split("==")[0] not in chosen]
    return "\n".join([*kept, *(f"{name}=={version}" for name, version in chosen.items())]) + "\n"


def not_tested_yet():
    """A sentence where this Python is newer than those that the locked versions are tested with;
    else nothing.
    """
    if sys.version_info[:2] <= NEWEST_PYTHON:
        return ""
    oldest, newest = (".".join(map(str, pair)) for pair in (OLDEST_PYTHON, NEWEST_PYTHON))
    return (
        f"The locked versions are tested with Python {oldest} to {newest}, and this is"
        f" {platform.python_version()}, for which some of them may not be there.\nIf so, take an"
        f" older Python (PYTHON=python{newest} make book) or the newest versions of everything"
        " (NEWEST=1 make book).\n"
    )


def run(command):
    """Run pip and pass on what it prints, but each kind of warning once: pip repeats some for every
    package, with another name between the quotes.
    """
    said = set()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        for line in process.stdout:
            kind = re.sub(rb"'.*?'", b"", line)
            if not line.startswith(b"WARNING: ") or kind not in said:
                sys.stdout.buffer.write(line)  # bytes: a terminal may lack the letters of its bars
                sys.stdout.flush()
            said.add(kind)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)


def install(venv, extras, versions, torch_index):
    """Install the package, editable, with its extras; torch first, from the index of CPU builds
    where that answers.
    """
    pip = [
        str(interpreter(venv)),
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
        "--no-input",
    ]
    if versions is None:
        pip += ["--upgrade", "--upgrade-strategy", "eager"]
    else:
        chosen = venv / "constraints.txt"
        chosen.write_text(versions, encoding="utf-8")
        pip += ["-c", str(chosen)]
    # elsewhere the ordinary build of torch is the CPU build
    if torch_index and platform.system() == "Linux":
        if answers(torch_index):
            run([*pip, "--no-deps", "--index-url", torch_index, "torch"])
        else:
            print(
                f"{torch_index} does not answer: pip takes torch from the indexes that it is set up"
                " with",
                flush=True,
            )
    run([*pip, "-e", f"{ROOT}[{','.join(extras)}]"])


def main():
    if sys.version_info < OLDEST_PYTHON:
        sys.exit(
            f"The course needs Python {'.'.join(map(str, OLDEST_PYTHON))} or newer, and"
            f" {sys.executable} is {platform.python_version()}.\nName a newer one:"
            " PYTHON=python3.12 make book"
        )
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("venv", type=Path)
    parser.add_argument("--extras", nargs="+", required=True)
    parser.add_argument("--torch-index", default="")
    versions = parser.add_mutually_exclusive_group()
    versions.add_argument("--newest", action="store_true")
    versions.add_argument("--oldest", nargs="*", default=[])
    parser.add_argument(
        "--this-python",
        action="store_true",
        help="rebuild the environment if it was made with another version of Python",
    )
    arguments = parser.parse_args()

    venv = ROOT / arguments.venv
    stamp = venv / "ready.json"
    done = json.loads(stamp.read_text(encoding="utf-8")) if stamp.exists() else {}
    versions = None if arguments.newest else constraints(arguments.oldest)
    sources = (ROOT / "pyproject.toml").read_text(encoding="utf-8") + str(versions)
    wanted = {
        "root": str(ROOT),
        "versions": (
            "newest"
            if arguments.newest
            else " ".join(["oldest", *arguments.oldest])
            if arguments.oldest
            else "locked"
        ),
        "sources": hashlib.sha256(sources.encode()).hexdigest(),
        "extras": sorted({*arguments.extras, *done.get("extras", [])}),
    }
    current = version_of(interpreter(venv))
    other_python = arguments.this_python and current != sys.version_info[:2]
    if done == wanted and current and not other_python:
        return
    if not arguments.newest:
        print(not_tested_yet(), end="", flush=True)
    if venv.exists() and (
        current is None or other_python or done.get("root", str(ROOT)) != str(ROOT)
    ):
        print(f"making {arguments.venv} anew", flush=True)
        shutil.rmtree(venv)
        wanted["extras"] = sorted(set(arguments.extras))
    try:
        if not venv.exists():
            subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        stamp.unlink(missing_ok=True)
        print(f"installing into {arguments.venv}: minutes, and up to 2 GB of disk", flush=True)
        install(venv, wanted["extras"], versions, arguments.torch_index)
    except subprocess.CalledProcessError as error:
        if version_of(interpreter(venv)) is None:
            shutil.rmtree(venv, ignore_errors=True)
        sys.exit(
            f"could not make {arguments.venv}: {' '.join(error.cmd)} failed, and says above why"
        )
    stamp.write_text(json.dumps(wanted), encoding="utf-8")


if __name__ == "__main__":
    main()
