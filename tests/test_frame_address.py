"""The address of the repository stands once; every link that follows from it agrees, and can be
moved and moved back.
"""

import json
import re
import shutil
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import check_links
import nbformat
import pytest
import retarget
import yaml

ROOT = Path(__file__).resolve().parent.parent
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
URL, BRANCH = CONFIG["repository"]["url"], CONFIG["repository"]["branch"]
REPOSITORY = URL.removeprefix("https://github.com/")
OWNER, NAME = REPOSITORY.split("/")
TEXTS = {path.relative_to(ROOT).as_posix(): text for path, text in retarget.files(ROOT)}
NOTEBOOKS = [name for name in TEXTS if name.endswith(".ipynb")]
# no mentions
OTHER, ADA, BOB = (
    f"{owner}/{name}"
    for owner, name in (("ada-l", "positions_2.0"), ("ada", "positions"), ("bob", "attention"))
)


def test_the_tool_reads_the_address_as_yaml_does():
    assert retarget.present(ROOT) == REPOSITORY
    assert BRANCH == "main"


# --- nothing disagrees

LAUNCH = {  # what a link of this kind must point to, and the branch in it
    "Binder": r"mybinder\.org/v2/gh/([\w.-]+/[\w.-]+)/([\w.-]+)\?",
    "Colab": r"colab\.research\.google\.com/github/([\w.-]+/[\w.-]+)/blob/([\w.-]+)/",
    "installation": r"git\+https://github\.com/([\w.-]+/[\w-]+)()",
    "clone": r"git clone https://github\.com/([\w.-]+/[\w-]+)()",
    "site": r"https://([\w-]+\.github\.io/[\w.-]+)/?()",
}


@pytest.mark.parametrize("kind", LAUNCH)
def test_every_link_of_a_kind_agrees_with_the_configuration(kind):
    wanted = f"{OWNER}.github.io/{NAME}" if kind == "site" else REPOSITORY
    found = {
        name: set(re.findall(LAUNCH[kind], text))
        for name, text in TEXTS.items()
        if not name.startswith(("tests/", "notebooks/") if kind == "site" else "tests/")
    }
    found = {name: links for name, links in found.items() if links}
    assert found and all(
        {repository for repository, _ in links} == {wanted} for links in found.values()
    ), found
    assert {branch for links in found.values() for _, branch in links} <= {BRANCH, ""}, found


def test_the_owner_stands_nowhere_else():
    """Each mention is a whole address, which the tool rewrites: a lone owner would stay behind."""
    for name, text in TEXTS.items():
        rest = retarget.mentions(REPOSITORY).sub("", text)
        assert OWNER.lower() not in rest.lower(), name


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_launches_itself(name):
    """Both links name this notebook and the branch, and the set-up cell installs from this
    repository.
    """
    cells = nbformat.read(ROOT / name, as_version=4).cells
    links = re.findall(r"\]\((https://[^)]+)\)", cells[0].source)
    assert links == [
        f"https://mybinder.org/v2/gh/{REPOSITORY}/{BRANCH}?urlpath=lab/tree/{name}",
        f"https://colab.research.google.com/github/{REPOSITORY}/blob/{BRANCH}/{name}",
    ]
    first = next(cell.source for cell in cells if cell.cell_type == "code")
    assert f'"git+{URL}"' in first and f'"https://{OWNER}.github.io/{NAME}/book/' in first


def test_the_citation_names_the_repository_and_the_site():
    citation = yaml.safe_load(TEXTS["CITATION.cff"])
    assert (
        citation["repository-code"] == URL
        and citation["url"] == f"https://{OWNER}.github.io/{NAME}/"
    )


# --- moving it


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A copy of every text file, as they are."""
    folder = tmp_path_factory.mktemp("tree")
    for name in TEXTS:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    return folder


def snapshot(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture(scope="module")
def moved(original, tmp_path_factory):
    folder = shutil.copytree(original, tmp_path_factory.mktemp("moved") / "tree")
    changed = retarget.retarget(folder, OTHER)
    return folder, {path.relative_to(folder).as_posix() for path in changed}


def test_moving_leaves_no_trace_of_the_old_address(moved):
    folder, changed = moved
    assert retarget.present(folder) == OTHER
    for name, content in snapshot(folder).items():
        assert REPOSITORY.encode() not in content and OWNER.encode() not in content, name
    assert {"_config.yml", "README.md", "CITATION.cff", "book/how-to-run.md", *NOTEBOOKS} <= changed


def test_moving_changes_nothing_but_the_address(original, moved):
    folder, changed = moved
    before, after = snapshot(original), snapshot(folder)
    assert {name for name in before if before[name] != after[name]} == changed
    owner, name = OTHER.split("/")
    for path in changed:
        text = (
            before[path]
            .decode()
            .replace(f"{OWNER}.github.io/{NAME}", f"{owner}.github.io/{name}")
            .replace(REPOSITORY, OTHER)
        )
        assert after[path].decode() == text, path
    for path in NOTEBOOKS:
        assert [cell["id"] for cell in json.loads(after[path])["cells"]] == [
            cell["id"] for cell in json.loads(before[path])["cells"]
        ]
        assert {line for line in after[path].decode().splitlines()} - {
            line for line in before[path].decode().splitlines()
        } != set()


def test_moving_back_restores_every_byte(original, moved, tmp_path):
    folder = shutil.copytree(moved[0], tmp_path / "back")
    retarget.retarget(folder, REPOSITORY)
    assert snapshot(folder) == snapshot(original)


def test_moving_to_where_it_is_does_nothing(original):
    assert retarget.retarget(original, REPOSITORY) == []


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "ada",
        "ada/",
        "/positions",
        "ada/posi tions",
        "-ada/positions",
        "ada-/positions",
        "ada_l/positions",
        "a" * 40 + "/positions",
        "ada/..",
        "ada/x.git",
    ],
)
def test_what_is_no_repository_is_refused(original, wrong):
    with pytest.raises(SystemExit, match="is not owner/name: letters"):
        retarget.retarget(original, wrong)


@pytest.mark.parametrize("wrong", [f"https://github.com/{ADA}", f"{ADA}/tree/main", f"{ADA}\n"])
def test_an_address_is_not_taken_for_a_name(original, wrong):
    with pytest.raises(SystemExit, match="is not owner/name"):
        retarget.retarget(original, wrong)


def test_the_repository_of_a_personal_site_is_refused(original):
    with pytest.raises(SystemExit, match="is published at Ada.github.io/"):
        retarget.retarget(original, "ada/Ada.github.io")


def test_a_repository_that_a_page_links_to_is_refused(tmp_path):
    """Afterwards nobody could tell the course's links from the others, and moving back would change
    both.
    """
    (tmp_path / "_config.yml").write_text(f"repository:\n  url: https://github.com/{ADA}\n")
    (tmp_path / "page.md").write_text(f"Read https://github.com/{BOB} too.\n")
    with pytest.raises(SystemExit, match=rf"'{BOB}' is already linked to in page\.md"):
        retarget.retarget(tmp_path, BOB)
    assert retarget.present(tmp_path) == ADA


@pytest.mark.parametrize(
    "text, changes",
    [
        ("https://github.com/a-b/c", True),
        ("git+https://github.com/a-b/c.git", True),
        ("See a-b/c.", True),
        ("https://a-b.github.io/c/", True),
        ("gh/a-b/c/main?urlpath", True),
        ("https://github.com/a-b/c-d", False),
        ("https://github.com/a-b/c.d", False),
        ("https://github.com/a-b/cd", False),
        ("https://github.com/x-a-b/c", False),
        ("https://x.a-b.github.io/c/", False),
        ("a-b and c", False),
    ],
)
def test_only_whole_addresses_are_mentions(text, changes):
    assert bool(retarget.mentions("a-b/c").search(text)) == changes


def test_without_an_address_there_is_nothing_to_move(tmp_path):
    (tmp_path / "_config.yml").write_text("title: x\n")
    with pytest.raises(SystemExit, match="has no line"):
        retarget.retarget(tmp_path, OTHER)


@pytest.mark.parametrize("arguments", [[], ["a/b", "c/d"]])
def test_the_command_says_how_to_use_it(arguments):
    with pytest.raises(SystemExit, match="usage: make retarget REPO=owner/name"):
        retarget.main(arguments)


# --- links to elsewhere


def test_addresses_are_found_in_prose():
    text = (
        "See (https://a.org/x_(y)), [b](https://b.org/p#part). <https://c.org/>; `https://d.org`,"
        " https://e.org/f?g=1&h=2! @misc{x, url={https://f.org/z}}"
    )
    assert list(check_links.addresses(text)) == [
        "https://a.org/x_(y)",
        "https://b.org/p",
        "https://c.org/",
        "https://d.org",
        "https://e.org/f?g=1&h=2",
        "https://f.org/z",
    ]


def test_links_to_elsewhere_are_collected_with_their_place():
    found = check_links.collect(ROOT)
    assert len(found) >= 10 and all(address.startswith("https://") for address in found), [
        address for address in found if not address.startswith("https://")
    ]
    assert not any(REPOSITORY in address for address in found)


class _Answers(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(int(self.path.strip("/")))
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.mark.parametrize(
    "status, said",
    [(200, None), (403, None), (429, None), (404, "404"), (410, "410"), (500, "500")],
)
def test_an_answer_is_judged(monkeypatch, status, said):
    monkeypatch.setattr(check_links.time, "sleep", lambda seconds: None)
    with ThreadingHTTPServer(("127.0.0.1", 0), _Answers) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        words = check_links.answer(f"http://127.0.0.1:{server.server_port}/{status}")
        server.shutdown()
    assert words is None if said is None else words.startswith(said)


def test_a_host_that_is_gone_is_named(monkeypatch):
    monkeypatch.setattr(check_links.time, "sleep", lambda seconds: None)
    assert check_links.answer("http://nowhere.invalid/") is not None
