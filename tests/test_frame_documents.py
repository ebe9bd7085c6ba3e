"""README, CONTRIBUTING and the launch files say what is true: commands, chapters, examples, links,
versions.
"""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import build_site
import nbformat
import pytest
import retarget
from lock import locked

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
CHAPTERS = [
    page
    for page in build_site.pages(build_site.read(ROOT / "_toc.yml"))
    if page.startswith("notebooks/")
]
ROWS = [
    re.split(r"(?<!\\)\|", line)[1:-1] for line in README.splitlines() if line.startswith("| [")
]


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_the_readme_begins_with_the_two_commands():
    title, fence, *lines = [line for line in README.splitlines() if line]
    assert title.startswith("# ") and fence == "```bash"
    assert [line.split("#")[0].strip() for line in lines[:2]] == ["make book", "make test"]


def opening(page):
    """The title of a chapter, and the addresses of its launch links."""
    text = nbformat.read(ROOT / f"{page}.ipynb", as_version=4).cells[0].source
    title = text.splitlines()[0].removeprefix("# ")
    return title, re.findall(r"\]\((https://[^)]+)\)", text)


@pytest.mark.parametrize("page", CHAPTERS)
def test_the_table_lists_the_chapter_and_launches_it(page):
    title, (binder, colab) = opening(page)
    number = int(re.search(r"/(\d\d)_", page)[1])
    first, last = f"[{number}. {title}]({page}.ipynb)", f"[Binder]({binder}) · [Colab]({colab})"
    found = [row for row in ROWS if f"({page}.ipynb)" in row[0]]
    assert [(row[0].strip(), row[2].strip()) for row in found] == [(first, last)], (
        f"README.md: the table of chapters needs one row:\n| {first} | what you learn | {last} |"
    )


def test_the_table_has_the_order_of_the_chapters():
    listed = [re.search(r"\]\((notebooks/\w+)\.ipynb\)", row[0])[1] for row in ROWS]
    assert listed == CHAPTERS, "README.md: the rows of the table stand in the order of _toc.yml"


@pytest.mark.parametrize("page", CHAPTERS)
def test_the_first_page_lists_the_chapter(page):
    index = (ROOT / "book" / "index.md").read_text(encoding="utf-8")
    number, title = int(re.search(r"/(\d\d)_", page)[1]), opening(page)[0]
    line = f"{number}. [{title}](../{page}.ipynb). Afterwards you can "
    assert line in " ".join(index.split()), f"book/index.md: write `{line}…`"


def plain(markdown):
    """Words alone: no addresses, no tags, no marks of lists, each line break a space."""
    text = re.sub(r"\]\([^)]*\)(\{\.\w+\})?", "]", re.sub(r"<[^>]*>", "", markdown))
    return " ".join(re.sub(r"^- |[\[\]·]", "", text, flags=re.MULTILINE).split())


def test_the_readme_says_what_the_first_page_says():
    """The same question, promise and start, and then the same three results."""
    index = (ROOT / "book" / "index.md").read_text(encoding="utf-8")
    question, rest = index.split("\n", 2)[2].split("<sinpe-clocks", 1)
    opening = plain(question)
    assert opening.startswith("How does a Transformer know") and "Start with chapter 1" in opening
    results = plain(rest.split("## Three results\n")[1].split("\n## ")[0])
    assert results.count("Chapter") == 3 and len(results) > 400
    ours = plain(README)
    assert opening in ours and f"{opening} ## Three results {results} ## The chapters" in ours


def test_the_examples_run(tmp_path):
    """In one fresh process, from top to bottom, with warnings as errors, away from the
    repository.
    """
    examples = blocks(README, "python")
    assert len(examples) == 3 and all("assert" in example for example in examples)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "\n".join(examples)],
        check=False,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_between_files_resolve(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" not in link:
            assert (ROOT / link.partition("#")[0]).exists(), f"{name}: {link}"


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_files_that_are_named_exist(name):
    text = re.sub(r"```.*?```", "", (ROOT / name).read_text(encoding="utf-8"), flags=re.DOTALL)
    made = ("_build/", ".venv")
    for path in re.findall(r"`([\w.]+/[\w./]*|[\w-]+\.(?:md|toml|txt|yml|cff))`", text):
        assert path.startswith(made) or "NN" in path or (ROOT / path).exists(), f"{name}: {path}"


def test_the_rules_are_numbered():
    rules = re.findall(
        r"^(\d+)\. ",
        CONTRIBUTING.partition("## Rules for content")[2].partition("\n## ")[0],
        re.MULTILINE,
    )
    assert rules == [str(number) for number in range(1, len(rules) + 1)] and len(rules) >= 10


def test_the_budgets_that_are_stated_are_the_ones_that_are_checked():
    import check_notebooks

    stated = re.search(
        r"within (\d+) seconds of processor time \((\d+) for a chapter that is an experiment\),"
        r" ([\d.]+) GB of memory and (\d+) MB of disk",
        " ".join(CONTRIBUTING.split()),
    )
    assert [float(number) for number in stated.groups()] == [
        check_notebooks.SECONDS,
        check_notebooks.EXPERIMENT_SECONDS,
        check_notebooks.MEMORY / 1e9,
        check_notebooks.SIZE / 1e6,
    ]


def test_a_copy_of_the_course_is_told_where_names_stand():
    """What `make retarget` cannot know is listed in one place, whole."""
    section = CONTRIBUTING.partition("## A copy of your own\n")[2].partition("\n## ")[0]
    assert "`make retarget REPO=owner/name`" in section
    for path, text in retarget.files(ROOT):
        name = path.relative_to(ROOT).as_posix()
        if "sinpe authors" in text and not name.startswith("tests/"):
            assert f"`{name}`" in section, name


def test_the_disk_and_the_minutes_that_are_stated_agree():
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").partition("\ntest: ")[2]
    announced = re.search(
        r"(\d+) minutes, (\d+) GB in .*\n.*notebooks: (\d+) minutes; .* tests: (\d+) minutes",
        recipe,
    )
    once, disk, *parts = map(int, announced.groups())
    readme = " ".join(README.split())
    stated = re.search(
        r"takes about (\d+) minutes and (\d+) GB of disk.* `make test` about (\d+) minutes", readme
    )
    assert list(map(int, stated.groups())) == [once, disk, sum(parts)]


# --- Binder and the container


def test_binder_takes_a_python_that_is_supported():
    """Without this file its default is older than the package allows."""
    oldest = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "requires-python"
    ].removeprefix(">=")
    minor = re.fullmatch(r"python-3\.(\d+)\n", (ROOT / "binder/runtime.txt").read_text())[1]
    assert int(minor) >= int(oldest.split(".")[1])


def test_binder_installs_the_locked_versions_and_no_cuda():
    lines = [
        line
        for line in (ROOT / "binder/requirements.txt").read_text().splitlines()
        if line and not line.startswith("#")
    ]
    index, constraints, torch, own = lines
    assert index == "--extra-index-url " + re.search(
        r"^TORCH_INDEX \?= (\S+)$", (ROOT / "Makefile").read_text(), re.MULTILINE
    )[1] and index.endswith("/cpu")
    assert (ROOT / "binder" / constraints.removeprefix("-c ")).resolve() == ROOT / "constraints.txt"
    assert torch == f"torch=={locked()['torch']}+cpu"
    assert (
        own == "-e ."
        and not (ROOT / "binder/environment.yml").exists()
        and not (ROOT / "environment.yml").exists()
    )


def test_the_container_is_made_by_make():
    settings = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text())
    assert settings["postCreateCommand"] == "make install"
    assert int(re.fullmatch(r"python:3\.(\d+)-\w+", settings["image"])[1]) >= 11
    assert settings["customizations"]["vscode"]["settings"][
        "python.defaultInterpreterPath"
    ].endswith("/.venv/bin/python")
