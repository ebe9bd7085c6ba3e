"""The address of the repository stands once; every link that follows from it agrees, and can be
moved and moved back, whatever the new owner and the new repository are called.
"""

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
from contract import RULES, Course

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
    for owner, name in (("ada-l", f"{NAME}_2.0"), ("ada", "positions"), ("bob", "attention"))
)


def test_the_tool_reads_the_address_as_yaml_does():
    assert retarget.present(ROOT) == REPOSITORY
    assert BRANCH == "main"


# --- nothing disagrees

LAUNCH = {  # what a link of this kind must point to, and the branch in it
    "Binder": r"mybinder\.org/v2/gh/([\w.-]+/[\w.-]+)/([\w.-]+)\?",
    "Colab": r"colab\.research\.google\.com/github/([\w.-]+/[\w.-]+)/blob/([\w.-]+)/",
    "installation": r"git\+https://github\.com/([\w.-]+/[\w.-]*[\w-])()",
    "clone": r"git clone https://github\.com/([\w.-]+/[\w.-]*[\w-])()",
    "site": r"https://([\w-]+\.github\.io/[\w.-]+)/?()",
}


def agrees(kind, texts, repository):
    """Every link of a kind leads to the repository, or to its site, and there is one."""
    owner, name = repository.split("/")
    wanted = f"{owner}.github.io/{name}" if kind == "site" else repository
    found = {
        path: set(re.findall(LAUNCH[kind], text))
        for path, text in texts.items()
        if not path.startswith(("tests/", "notebooks/") if kind == "site" else "tests/")
    }
    found = {path: links for path, links in found.items() if links}
    assert found and all({link for link, _ in links} == {wanted} for links in found.values()), found
    assert {branch for links in found.values() for _, branch in links} <= {BRANCH, ""}, found


def traces(text, repository):
    """Addresses that lead to a repository or to its site, on whichever host and in whichever
    letters.
    """
    owner, name = map(re.escape, repository.split("/"))
    host = r"git[\w.@-]*[/:](?:repos/)?|/gh/"
    address = re.compile(
        rf"((?:{host}){owner}|//{owner}\.github\.io)/{name}(?![\w-]|\.(?!git\b)\w)", re.IGNORECASE
    )
    urls = re.findall(r"(?:https?://|git@)[^\s\"'<>)\]\\]+", text)
    return [url for url in urls if address.search(url)]


@pytest.mark.parametrize("kind", LAUNCH)
def test_every_link_of_a_kind_agrees_with_the_configuration(kind):
    agrees(kind, TEXTS, REPOSITORY)


def test_every_address_is_of_a_form_that_the_tool_rewrites():
    """Another host, or other letters, would stay behind when the course moves."""
    for name, text in TEXTS.items():
        known = retarget.mentions(REPOSITORY)
        assert [url for url in traces(text, REPOSITORY) if not known.search(url)] == [], name


def test_other_hosts_and_letters_leave_traces():
    owner = "A-b"
    for host in (
        "https://gitlab.com",
        "https://api.github.com/repos",
        "https://nbviewer.org/github",
    ):
        assert traces(f"See {host}/{owner}/c.", "a-b/c")
        assert not traces(f"See {host}/{owner}/cd, {host}/{owner}/c.d or {owner}/c.", "a-b/c")


def test_the_folder_of_a_clone_is_the_one_that_is_entered():
    """Whatever the repository is called."""
    how = TEXTS["book/how-to-run.md"]
    folder = re.search(rf"^git clone {re.escape(URL)} (\S+)$", how, re.MULTILINE)[1]
    assert re.findall(r"^cd (\S+)$", how, re.MULTILINE) == [folder]


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


def addresses(repository):
    """Every form in which the course writes its address."""
    owner, name = repository.split("/")
    before = ("github.com/", "mybinder.org/v2/gh/", "colab.research.google.com/github/")
    return [*(f"{host}{repository}" for host in before), f"https://{owner}.github.io/{name}"]


def test_moving_changes_every_address_and_nothing_else(original, moved):
    folder, changed = moved
    before, after = snapshot(original), snapshot(folder)
    assert {name for name in before if before[name] != after[name]} == changed
    assert {"_config.yml", "README.md", "CITATION.cff", "book/how-to-run.md", *NOTEBOOKS} <= changed
    for path in changed:
        text = before[path].decode()
        for old, new in zip(addresses(REPOSITORY), addresses(OTHER), strict=True):
            text = text.replace(old, new)
        assert after[path].decode() == text, path


def in_a_picture():
    """A word of four letters that stands in a stored picture, between letters, by chance."""
    picture = re.search(r'"image/png": "([^"]+)"', "".join(TEXTS[name] for name in NOTEBOOKS))[1]
    return re.search(r"[A-Za-z]{4}", picture[200:])[0]


@pytest.mark.parametrize(
    "fork",
    ["me/fork", "ethz/posenc", "mit/x", "google/y", f"{in_a_picture()}/sinpe", OTHER],
    ids=["me", "ethz", "mit", "google", "owner in a picture", "dots and dashes"],
)
def test_a_fork_may_have_any_name(fork, original, moved, tmp_path):
    folder = tmp_path / "fork"
    for name in {*moved[1], "_toc.yml"}:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(original / name, folder / name)
    before = snapshot(folder)
    retarget.retarget(folder, fork)
    texts = {path.relative_to(folder).as_posix(): text for path, text in retarget.files(folder)}
    assert retarget.present(folder) == fork
    for kind in LAUNCH:
        agrees(kind, texts, fork)
    for text in texts.values():
        assert fork == REPOSITORY or traces(text, REPOSITORY) == []
    course = Course(folder)
    for name in course.stored:
        for rule in ("own_address", "opens_with_title_and_launch_links", "set_up_cell"):
            problems = [p for p in RULES[rule](course.notebook(name)) if "does not exist" not in p]
            assert problems == [], name
    retarget.retarget(folder, REPOSITORY)
    assert snapshot(folder) == before


def test_moving_there_and_back_restores_every_byte(original, moved, tmp_path):
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
        ("(https://github.com/a-b/c).", True),
        ("git+https://github.com/a-b/c.git", True),
        ("git@github.com:a-b/c.git", True),
        ("https://raw.githubusercontent.com/a-b/c/main/x.png", True),
        ("https://a-b.github.io/c/", True),
        ("https://mybinder.org/v2/gh/a-b/c/main?urlpath", True),
        ("https://colab.research.google.com/github/a-b/c/blob/main/x.ipynb", True),
        ("See a-b/c.", False),
        ('"image/png": "iVBOR/a-b/c/AAAB"', False),
        ("https://x.org/a-b/c", False),
        ("https://github.com/x/a-b/c", False),
        ("https://gitgithub.com/a-b/c", False),
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
    assert not any(traces(address, REPOSITORY) for address in found)


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
