"""The browser edition: its chapters run without PyTorch and without what a browser lacks, it brings
its own copy of the package, its button leads where it says, and Python starts in it.

The edition is built once, in seconds; its Python is fetched from the registries.
"""

import ast
import json
import re
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

import build_lite
import check_lite
import environment
import pytest
from contract import Course
from contract.set_up import set_up
from lite_pages import KERNEL, alone, built, mirror

import sinpe

ROOT = Path(__file__).resolve().parent.parent
ABLE = list(build_lite.chapters())
PAGES = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
# PyTorch, other processes and other threads are not to be had in a browser.
LACKS = """
import json, subprocess, sys, threading
sys.modules["torch"] = None
def lacking(*_, **__):
    raise RuntimeError("a browser cannot do that")
subprocess.Popen.__init__ = threading.Thread.start = lacking
"""
# {name: sources} -> {name: what went wrong}
RUN = """
import matplotlib
matplotlib.use("agg")
said = {}
for name, sources in json.loads(sys.stdin.read()).items():
    said[name], space = "", {"__name__": "__main__"}
    try:
        for source in sources:
            exec(compile(source, "<cell>", "exec"), space)
    except Exception as error:
        said[name] = f"{type(error).__name__}: {error}, in {source[:200]}"
print(json.dumps(said))
"""


def code(notebook):
    return ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code"]


def without(sources):
    """Run {name: sources} where there is only what a browser has. Returns what went wrong."""
    done = subprocess.run(
        [sys.executable, "-c", LACKS + RUN],
        input=json.dumps(sources),
        check=False,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def edition(tmp_path_factory):
    return built(tmp_path_factory.mktemp("lite"))


@pytest.fixture
def placed(edition, site, tmp_path):
    """A site with the edition beside its pages."""
    html = tmp_path / "_build/html"
    shutil.copytree(edition, tmp_path / "_build/lite")
    shutil.copytree(site / "notebooks", html / "notebooks")
    shutil.copytree(site / "_static", html / "_static")
    shutil.copy(site / "index.html", html)
    build_lite.place(tmp_path)
    return html


# --- the chapters


def test_exactly_the_chapters_whose_imports_need_no_torch_say_so():
    imports = {}
    for name in PAGES:
        notebook = json.loads((ROOT / f"notebooks/{name}.ipynb").read_text(encoding="utf-8"))
        imports[name] = [
            ast.unparse(node)
            for source in code(notebook)
            for node in ast.parse(source).body
            if isinstance(node, ast.Import | ast.ImportFrom)
        ]
    said = without(imports)
    assert [name for name in PAGES if not said[name]] == ABLE and len(ABLE) >= 4
    assert all("import of torch halted" in said[name] for name in set(PAGES) - set(ABLE)), said


@pytest.mark.parametrize("name", ABLE)
def test_a_chapter_runs_without_torch_processes_and_threads(name):
    assert without({name: code(build_lite.chapters()[name])}) == {name: ""}


def test_a_page_says_which_chapters_they_are():
    numbers = [int(name[:2]) for name in ABLE]
    said = f"{', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
    guide = (ROOT / "book/how-to-run.md").read_text(encoding="utf-8")
    section = guide.partition("\n## In the browser\n")[2].partition("\n## ")[0]
    assert f"The rocket at the top of chapters {said} also" in section
    assert f"| running chapters {said}," in guide


# --- the edition


def test_it_holds_the_chapters_with_their_outputs(edition):
    files = sorted(path.stem for path in (edition / "files/notebooks").glob("*"))
    listed = json.loads((edition / "api/contents/notebooks/all.json").read_text(encoding="utf-8"))
    assert files == ABLE == sorted(item["name"].partition(".")[0] for item in listed["content"])
    for name, notebook in build_lite.chapters().items():
        text = (edition / f"files/notebooks/{name}.ipynb").read_text(encoding="utf-8")
        offered = json.loads(text)
        assert code(offered) == code(notebook)
        assert [c.get("outputs") for c in offered["cells"]] == [
            c.get("outputs") for c in notebook["cells"]
        ]


def test_links_to_what_it_does_not_hold_lead_to_the_site(edition):
    base, _ = build_lite.published()
    outside = set()
    for name in ABLE:
        text = (edition / f"files/notebooks/{name}.ipynb").read_text(encoding="utf-8")
        assert set(re.findall(r"\]\(([\w-]+)\.ipynb", text)) <= set(ABLE)
        assert not re.search(r"\]\(\.\./|\]\([\w-]+\.md", text)
        outside |= set(re.findall(rf"\]\({re.escape(base)}notebooks/([\w-]+)\.html", text))
    assert outside and outside <= set(PAGES) - set(ABLE)
    moved = build_lite.with_links("[a](x.ipynb#b) [c](../book/d.md) [e](y.ipynb)", {"y"}, "B/")
    assert moved == "[a](B/notebooks/x.html#b) [c](B/book/d.html) [e](y.ipynb)"


def test_python_starts_with_the_package_and_what_that_imports(edition):
    settings = json.loads((edition / "jupyter-lite.json").read_text(encoding="utf-8"))
    plugin = settings["jupyter-config-data"]["litePluginSettings"][KERNEL]
    *needed, own = plugin["loadPyodideOptions"]["packages"]
    assert set(needed) == set(environment.lower_bounds()) - {"torch"}
    script = edition / "extensions/@jupyterlite/pyodide-kernel-extension/static"
    assert list(script.glob("*.worker.*.js")) and (script / own).resolve().is_file()
    inside = zipfile.ZipFile(script / own).namelist()
    assert f"sinpe-{sinpe.__version__}.dist-info/METADATA" in inside
    modules = {path.relative_to(ROOT).as_posix() for path in (ROOT / "sinpe").rglob("*.py")}
    assert modules <= set(inside) and not [name for name in inside if "results/" in name]


def test_nothing_is_fetched_in_an_unnamed_release(edition):
    """One release of Pyodide, and no package from an index: the one that Pyodide lacks is here."""
    address, release = mirror(edition)
    guide = (ROOT / "book/how-to-run.md").read_text(encoding="utf-8")
    assert f"`{address.split('/')[2]}`" in guide and release
    index = json.loads((edition / "pypi/all.json").read_text(encoding="utf-8"))
    assert {name: list(index[name]["releases"]) for name in index} == {
        "comm": [version("comm")],
        "sinpe": [sinpe.__version__],
    }


def test_a_wheel_of_what_is_installed_holds_what_its_own_held(tmp_path):
    build_lite.packed("comm", tmp_path)
    (path,) = tmp_path.iterdir()
    names = zipfile.ZipFile(path).namelist()
    assert "comm/__init__.py" in names and len(names) == len(set(names))
    assert not [name for name in names if "__pycache__" in name or name.endswith("INSTALLER")]
    with pytest.raises(ValueError, match="numpy .* is not pure Python"):
        build_lite.packed("numpy", tmp_path)


# --- the button


def buttons(html, name):
    text = (html / f"notebooks/{name}.html").read_text(encoding="utf-8")
    seen = re.sub("<!--.*?-->", "", text, flags=re.DOTALL)
    return re.findall(r'href="(\.\./lite/[^"]*)"', seen)


def test_a_site_without_the_edition_has_no_button(site):
    assert not (site / "lite").exists()
    assert {name: buttons(site, name) for name in PAGES} == {name: [] for name in PAGES}
    hidden = [
        n for n in PAGES if "JupyterLite" in (site / f"notebooks/{n}.html").read_text("utf-8")
    ]
    assert hidden == ABLE


def test_with_the_edition_its_chapters_have_a_button_that_leads_to_them(placed, site):
    for name in PAGES:
        links = buttons(placed, name)
        assert len(links) == (name in ABLE), name
        for link in links:
            address, _, path = link.partition("?path=")
            assert (placed / "notebooks" / address).resolve().is_file()
            assert path == f"notebooks/{name}.ipynb" and (placed / "lite/files" / path).is_file()
        if not links:
            same = [(root / f"notebooks/{name}.html").read_bytes() for root in (placed, site)]
            assert same[0] == same[1]


def test_nothing_is_placed_where_edition_or_site_is_missing(tmp_path, capsys):
    build_lite.place(tmp_path)
    (tmp_path / "_build/lite").mkdir(parents=True)
    (tmp_path / "_build/lite/index.html").write_text("edition")
    build_lite.place(tmp_path)
    assert not (tmp_path / "_build/html").exists() and capsys.readouterr().out == ""


def test_from_a_disk_the_button_is_not_shown(placed, browser):
    page = browser.new_page()
    page.goto((placed / f"notebooks/{ABLE[0]}.html").as_uri())
    assert page.locator(".dropdown-launch-buttons li").count() == 2
    assert page.locator("a[href*='lite/']").count() == 0
    page.close()


# --- Python in the browser


def test_the_button_opens_the_chapter_and_python_runs_in_it(placed, browser):
    """The first cell has nothing to do and says nothing; nothing is asked of another server."""
    from browser import PATIENCE, served

    alone(placed / "lite")
    sources = [
        set_up(Course(ROOT).repository),
        "import sys\nfrom importlib.metadata import version\nprint(version('sinpe'), sys.platform)",
        "1 / 0",
    ]
    with served(placed) as address:
        context = browser.new_context()
        context.set_default_timeout(PATIENCE)
        asked = []
        context.on("request", lambda request: asked.append(request.url))
        page = context.new_page()
        page.goto(f"{address}/notebooks/{ABLE[0]}.html")
        page.locator(".dropdown-launch-buttons > button").click()
        with context.expect_page() as opened:
            page.locator("a[href*='lite/']").click()
        assert opened.value.url.endswith(
            f"/lite/notebooks/index.html?path=notebooks/{ABLE[0]}.ipynb"
        )
        cells = check_lite.run(opened.value, sources)
        context.close()
    assert cells[0]["outputs"] == []
    assert cells[1]["outputs"][0]["text"] == f"{sinpe.__version__} emscripten\n"
    assert check_lite.failures(cells) == ["'1 / 0': ZeroDivisionError: division by zero"]
    local = (address, "data:", "blob:")
    assert [url for url in asked if not url.startswith(local)] == []
    assert any(
        url.endswith(f"/lite/pypi/sinpe-{sinpe.__version__}-py3-none-any.whl") for url in asked
    )


def test_what_fails_in_a_chapter_is_named():
    def cell(source, count, tags=(), *errors):
        outputs = [{"output_type": "error", "ename": e, "evalue": "so"} for e in errors]
        kind = {"cell_type": "code", "source": source, "metadata": {"tags": list(tags)}}
        return {**kind, "execution_count": count, "outputs": outputs}

    cells = [
        {"cell_type": "markdown", "source": "text"},
        cell("fine", 1),
        cell("wrong\nmore", 2, (), "<class 'E'>"),
        cell("meant", 3, ["raises-exception"], "E"),
        cell("late", None),
    ]
    assert check_lite.failures(cells) == ["'wrong': E: so", "'late' did not run"]
