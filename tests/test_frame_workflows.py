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

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".github/workflows"
NAMES = sorted(path.stem for path in FOLDER.glob("*.yml"))
TEXTS = {name: (FOLDER / f"{name}.yml").read_text(encoding="utf-8") for name in NAMES}
FLOWS = {name: build_site.read(FOLDER / f"{name}.yml") for name in NAMES}
JOBS = {
    (name, job): content for name, flow in FLOWS.items() for job, content in flow["jobs"].items()
}
STEPS = [(where, step) for where, job in JOBS.items() for step in job.get("steps", [])]
PINS = {  # release: commit, as the actions' own repositories have them
    "actions/checkout v7.0.1": "3d3c42e5aac5ba805825da76410c181273ba90b1",
    "actions/setup-python v7.0.0": "5fda3b95a4ea91299a34e894583c3862153e4b97",
    "actions/upload-artifact v7.0.0": "bbbca2ddaa5d8feaa63e36b76fdaad77386f024f",
    "actions/upload-pages-artifact v5.0.0": "fc324d3547104276b827a68afc52ff2a11cc49c9",
    "actions/deploy-pages v5.0.0": "cd2ce8fcbc39b97be8ca5fce6e763baed58fa128",
}


def triggers(name):
    return FLOWS[name][True]  # YAML 1.1 reads the word `on` so


def test_the_workflows_are_there():
    assert NAMES == ["check", "publish", "weekly"]


def test_actions_are_pinned_to_the_commits_of_their_releases():
    used = re.findall(r"uses: (\S+)@(\S+)(?: # (\S+))?$", "\n".join(TEXTS.values()), re.MULTILINE)
    assert used and {f"{action} {release}": commit for action, commit, release in used} == PINS
    for _, step in STEPS:
        assert "uses" not in step or re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", step["uses"])


@pytest.mark.parametrize("name", NAMES)
def test_rights_are_given_job_by_job(name):
    assert FLOWS[name]["permissions"] == {}
    for job, content in FLOWS[name]["jobs"].items():
        wanted = (
            {"pages": "write", "id-token": "write"} if job == "deploy" else {"contents": "read"}
        )
        assert content["permissions"] == wanted, job


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
    targets = set(
        re.findall(
            r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE
        )
    )
    commands = [step["run"] for _, step in STEPS if "run" in step]
    assert commands and all(
        re.fullmatch(r'make ([a-z-]+)( [A-Z]+="[^"]*"| \$\{\{ matrix\.options \}\})?', command)
        for command in commands
    ), commands
    assert {command.split()[1] for command in commands} <= targets


def test_the_package_is_checked_on_every_python():
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


def test_everything_is_checked_once():
    commands = [step.get("run") for step in JOBS["check", "everything"]["steps"]]
    assert [command for command in commands if command] == ["make lint", "make test", "make book"]
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
    assert {row["versions"]: row["options"] for row in rows} == {
        "newest": "NEWEST=1",
        "oldest": 'OLDEST="numpy matplotlib torch tqdm"',
    }
    assert re.fullmatch(r"\d+ \d+ \* \* \d", triggers("weekly")["schedule"][0]["cron"])
    assert {step.get("run") for _, step in STEPS} >= {
        "make links",
        'make check-notebooks CHECK="--threads 2 --hash-seed 7 --cold-cache"',
    }


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
