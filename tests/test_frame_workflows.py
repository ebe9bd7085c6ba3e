"""The workflows: pinned actions, least rights, no secret left behind, and nothing in them that a
person could not type.
"""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import build_site
import environment
import pytest
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".github/workflows"
NAMES = sorted(path.stem for path in FOLDER.glob("*.yml"))
TEXTS = {name: (FOLDER / f"{name}.yml").read_text(encoding="utf-8") for name in NAMES}
FLOWS = {name: build_site.read(FOLDER / f"{name}.yml") for name in NAMES}
JOBS = {
    (name, job): content for name, flow in FLOWS.items() for job, content in flow["jobs"].items()
}
STEPS = [(where, step) for where, job in JOBS.items() for step in job.get("steps", [])]
SYSTEM = r"sudo apt-get (update|install --yes --no-install-recommends [a-z -]+)"
# what a job may do: read the code, or publish what another job has built
READ, PUBLISH = {"contents": "read"}, {"pages": "write", "id-token": "write"}


def triggers(name):
    return FLOWS[name][True]  # YAML 1.1 reads the word `on` so


def test_the_workflows_are_there():
    assert NAMES == ["check", "publish", "weekly"]


def test_actions_are_pinned_to_commits_and_say_of_which_release():
    """A tag can be moved to other code, a commit cannot. Which release it is may change."""
    lines = re.findall(r"^.*\buses: .*$", "\n".join(TEXTS.values()), re.MULTILINE)
    used = [line for line in lines if "uses: ./" not in line]
    pins = [re.search(r"uses: ([\w-]+/[\w-]+)@([0-9a-f]{40}) # v[\d.]+$", line) for line in used]
    assert pins and all(pins), used
    assert len(pins) == sum("uses" in step for _, step in STEPS)
    # one action, one version: what was tried in one workflow is what another uses
    assert len({pin[0] for pin in pins}) == len({pin[1] for pin in pins})


@pytest.mark.parametrize("name", NAMES)
def test_rights_are_given_job_by_job(name):
    """Only what deploys may write, and it runs no code of the repository."""
    assert FLOWS[name]["permissions"] == {}
    for job, content in FLOWS[name]["jobs"].items():
        steps = content.get("steps", [])
        deploys = any(s.get("uses", "").startswith("actions/deploy-pages@") for s in steps)
        assert content["permissions"] == (PUBLISH if deploys else READ), job
        assert not (deploys and any("run" in step for step in steps)), job


def test_no_credentials_stay_in_the_checkout():
    checkouts = [step for _, step in STEPS if step.get("uses", "").startswith("actions/checkout@")]
    assert checkouts and all(step["with"] == {"persist-credentials": False} for step in checkouts)


def test_every_job_has_a_limit_and_a_fixed_machine():
    for (name, job), content in JOBS.items():
        if "uses" not in content:
            assert 0 < content["timeout-minutes"] <= 60, (name, job)
            assert "latest" not in str(content["runs-on"]), (name, job)
    assert all("concurrency" in flow for flow in FLOWS.values())


def test_no_failure_is_ignored():
    assert not any(
        "continue-on-error" in text
        or "|| true" in text
        or "secrets." in text
        or "pull_request_target" in text
        for text in TEXTS.values()
    )


def test_every_step_is_a_command_of_the_makefile():
    """But for what only the machine's own package manager can give."""
    targets = set(
        re.findall(
            r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE
        )
    )
    commands = [step["run"] for _, step in STEPS if "run" in step]
    commands = [command for command in commands if not re.fullmatch(SYSTEM, command)]
    assert commands and all(
        re.fullmatch(r'make ([a-z-]+)( [A-Z]+="[^"]*"| \$\{\{ matrix\.options \}\})?', command)
        for command in commands
    ), commands
    assert {command.split()[1] for command in commands} <= targets


def test_the_package_is_checked_on_the_oldest_python_and_on_each_newer_one():
    """Up to whichever is the newest, without a gap."""
    matrix = JOBS["check", "package"]["strategy"]["matrix"]
    oldest = int(
        tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
            "requires-python"
        ].removeprefix(">=3.")
    )
    assert (3, oldest) == environment.OLDEST_PYTHON
    newest = environment.NEWEST_PYTHON[1]
    assert matrix["python"] == [f"3.{minor}" for minor in range(oldest, newest + 1)]
    assert JOBS["check", "package"]["strategy"]["fail-fast"] is False


def test_everything_is_checked_once_and_one_failure_hides_no_other():
    steps = [step for step in JOBS["check", "everything"]["steps"] if "run" in step]
    assert {step["run"] for step in steps} == {"make lint", "make test", "make book"}
    assert all(step.get("if") == "${{ !cancelled() }}" for step in steps[1:])
    assert "pull_request" in triggers("check") and "workflow_call" in triggers("check")


def test_only_what_was_checked_is_published():
    assert triggers("publish")["push"] == {"branches": ["main"]}
    assert JOBS["publish", "check"]["uses"] == "./.github/workflows/check.yml"
    assert (
        JOBS["publish", "build"]["needs"] == "check"
        and JOBS["publish", "deploy"]["needs"] == "build"
    )
    upload = JOBS["publish", "build"]["steps"][-1]
    assert upload["with"]["path"] == "_build/html"


def test_the_newest_and_the_oldest_releases_are_tried_every_week():
    rows = JOBS["weekly", "versions"]["strategy"]["matrix"]["include"]
    options = [row["options"] for row in rows]
    assert sorted(options) == ["NEWEST=1", f'OLDEST="{" ".join(environment.lower_bounds())}"']
    assert re.fullmatch(r"\d+ \d+ \* \* \d", triggers("weekly")["schedule"][0]["cron"])
    commands = [step.get("run", "") for _, step in STEPS]
    assert "make links" in commands
    assert any(command.startswith("make check-notebooks CHECK=") for command in commands)


def test_the_browser_edition_is_published_with_the_pages_and_run_every_week():
    steps = [step.get("run") for step in JOBS["publish", "build"]["steps"]]
    assert steps.index("make book") < steps.index("make lite")
    weekly = [step.get("run") for step in JOBS["weekly", "browser"]["steps"]]
    assert weekly[-2:] == ["make lite", "make check-lite"]


def test_what_hosts_have_loaded_and_other_machines_are_tried_every_week():
    """Each row of a host can be made, and its versions are within the bounds."""
    hosts = JOBS["weekly", "hosts"]["strategy"]["matrix"]["include"]
    assert {row["host"] for row in hosts} == {"Colab", "Colab's past runtimes"}
    bounds = environment.lower_bounds()
    for row in hosts:
        named = dict(re.findall(r"([a-z]+)==([\d.]+)", row["options"]))
        assert {"numpy", "torch", "matplotlib"} <= set(named) <= set(bounds)
        assert all(Version(named[name]) >= Version(bounds[name]) for name in named)
        lines = environment.constraints(re.search('"(.*)"', row["options"])[1].split())
        assert all(f"{name}=={version}" in lines.split() for name, version in named.items())
    rows = JOBS["weekly", "machines"]["strategy"]["matrix"]["include"]
    kernels, threads, locales = (
        {row[key] for row in rows} for key in ("kernels", "threads", "locale")
    )
    assert (kernels, threads) == ({"avx2", "default"}, {1, 2}) and "C" in locales
    assert set(JOBS["weekly", "machines"]["env"]) == {
        "ATEN_CPU_CAPABILITY",
        "OMP_NUM_THREADS",
        "LC_ALL",
    }


@pytest.mark.parametrize("command", ["make coverage", "make audit"])
def test_what_the_tests_reach_and_known_weaknesses_are_asked_every_week(command):
    assert any(step.get("run") == command for where, step in STEPS if where[0] == "weekly")


def test_zizmor_finds_nothing():
    program = Path(sys.executable).with_name("zizmor")
    if not shutil.which(program):
        pytest.skip("the extra `lint` is not installed")
    done = subprocess.run(
        [program, "--offline", "--quiet", "--no-progress", ROOT / ".github"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
