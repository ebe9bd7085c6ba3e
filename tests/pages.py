"""What the tests of pages share: the built site, its pages, and a browser that looks at them.

The site is built once from the working tree, whatever number of processes run the tests;
SINPE_SITE=_build/html checks one that exists. These are fixtures of every test (conftest.py).
"""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
PAGES = [TOC["root"], *(chapter["file"] for part in TOC["parts"] for chapter in part["chapters"])]
NOTEBOOKS = [page for page in PAGES if page.startswith("notebooks/")]
WIDTHS, MODES = (1280, 390, 360), ("light", "dark")
AXE = {
    "resultTypes": ["violations"],
    "preload": False,
    "rules": {rule: {"enabled": False} for rule in ("label-content-name-mismatch", "region")},
}  # both are the theme's own
# One token of each kind and the first formulas stand for thousands of the same, which take axe a
# minute a page.
THIN = """() => {
  const seen = new Set();
  for (const token of document.querySelectorAll('article :is(.highlight, .sig) span[class]')) {
    const printed = Boolean(token.closest('.cell_output'));
    const kind = [token.className, token.parentElement.className, printed].join();
    if (seen.has(kind)) token.replaceWith(token.textContent); else seen.add(kind);
  }
  const inline = [...document.querySelectorAll('article mjx-container:not([display])')];
  inline.slice(5).forEach((formula) => formula.replaceChildren());
}"""
# A moment after a change of width the boxes that scroll become reachable by keyboard.
REACHABLE = (
    "[...document.querySelectorAll('pre, .cell_output > .output, div.math,"
    " .pst-scrollable-table-container')].every((box) =>"
    " box.scrollWidth <= box.clientWidth + 1 || box.clientWidth === 0 || box.tabIndex === 0)"
)
TEXT = """() => {
  const article = document.querySelector('article').cloneNode(true);
  article.querySelectorAll('pre, code, script').forEach((node) => node.remove());
  return article.textContent;
}"""
RAW_TEX = re.compile(r"\$\$|\\\(|\\\[|\\[a-zA-Z]{2,}")
# What a reader cannot reach: parts of formulas, figures, tables and code that stand out of the page
# or out of a box that cuts them off, and do not lie in one that scrolls.
CUT = """() => {
  const width = document.documentElement.clientWidth, cut = [];
  const parts = 'mjx-container, img, table, pre, figure, [d-model]';
  for (const part of document.querySelectorAll(`article :is(${parts})`)) {
    if (!part.checkVisibility()) continue;
    const drawn = part.matches('mjx-container') ? part.querySelector('mjx-math') : part;
    for (const { left, right } of drawn.getClientRects()) {
      let from = 0, to = width, scrolls = false;
      for (let box = part.parentElement; box?.localName !== 'article'; box = box.parentElement) {
        const how = getComputedStyle(box).overflowX, edge = box.getBoundingClientRect();
        if (['auto', 'scroll'].includes(how)) { scrolls = true; break; }
        if (['hidden', 'clip'].includes(how)) {
          from = Math.max(from, edge.left);
          to = Math.min(to, edge.right);
        }
      }
      const lost = Math.max(right - to, from - left);
      if (!scrolls && lost > 1) {
        const formula = part.querySelector('math')?.textContent;
        const what = formula ?? part.getAttribute('alt') ?? part.textContent;
        const name = what.trim().slice(0, 60);
        cut.push(`${part.localName} loses ${Math.round(lost)} px: ${name}`);
        break;
      }
    }
  }
  return cut;
}"""


def _build(target):
    # what `make book` runs
    command = [sys.executable, str(ROOT / "tools" / "build_site.py"), str(target)]
    built = subprocess.run(
        command,
        check=False,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONUTF8": "1"},
    )
    return built.stdout[-4000:] + built.stderr[-4000:] if built.returncode else ""


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    if "SINPE_SITE" in os.environ:
        return ROOT / os.environ["SINPE_SITE"]
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent  # where all processes of this run meet
    target, verdict = shared / "site", shared / "site.txt"
    try:
        target.mkdir()  # the first one builds
    except FileExistsError:
        while not verdict.exists():
            time.sleep(0.5)
    else:
        problem = "the build was interrupted"
        try:
            problem = _build(target)
        finally:
            draft = shared / "site.draft"
            draft.write_text(problem, encoding="utf-8")
            draft.replace(verdict)
    problem = verdict.read_text(encoding="utf-8")
    assert not problem, problem
    return target / "_build" / "html"


@pytest.fixture(scope="session")
def documents(site):
    """{path below the site: parsed page}, for every page that a reader can reach."""
    from bs4 import BeautifulSoup

    def read(path):
        # the shapes of formulas, nine tenths of all tags, say nothing that their MathML does not
        text = path.read_text(encoding="utf-8")
        return re.sub(r"<mjx-math\b.*?</mjx-math>", "", text, flags=re.DOTALL)

    return {
        path.relative_to(site).as_posix(): BeautifulSoup(read(path), "html.parser")
        for path in sorted(site.rglob("*.html"))
        if "_static" not in path.parts
    }


@pytest.fixture(scope="module")
def browser():
    from browser import chromium

    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def address(site):
    from browser import served

    with served(site) as address:
        yield address


@pytest.fixture(scope="module")
def axe():
    from axe_playwright_python.sync_playwright import Axe

    return Axe()


def load(page, address, name):
    """Open a page, wait for its fonts, and return what is wrong so far."""
    from browser import watch

    seen = watch(page, address)
    page.goto(f"{address}/{name}")
    page.evaluate("document.fonts.ready")
    return seen


def show(page, width, mode):
    """The page at that width and in that colour mode."""
    page.set_viewport_size({"width": width, "height": 900})
    page.evaluate(
        "(mode) => { const page = document.documentElement.dataset;"
        " page.theme = page.mode = mode; }",
        mode,
    )


def looked_at(browser, address, axe, name, audits):
    """What is wrong with a page in any of WIDTHS x MODES: requests that leave or fail, messages in
    the console, formulas that are not set, anything that is cut off, and, in the (width, mode) of
    audits, what axe finds.
    """
    page = browser.new_page(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    seen = load(page, address, name)
    formulas, typeset = page.evaluate(
        "['.math', '.math > mjx-container:has(math)'].map(s =>"
        " document.querySelectorAll(`article ${s}`).length)"
    )
    if formulas != typeset:
        seen.append(f"{formulas} formulas, {typeset} typeset")
    if page.locator("article").count() and (raw := RAW_TEX.search(text := page.evaluate(TEXT))):
        seen.append(f"raw TeX: {text[max(0, raw.start() - 20) : raw.end() + 20]!r}")
    for width in WIDTHS:
        for mode in MODES:
            show(page, width, mode)
            if (needed := page.evaluate("document.documentElement.scrollWidth")) > width:
                seen.append(f"{width}, {mode}: {needed} pixels wide")
            seen += [f"{width}, {mode}: {cut}" for cut in page.evaluate(CUT)]
    page.evaluate(THIN)
    for width, mode in audits:
        show(page, width, mode)
        page.wait_for_timeout(500)  # the theme looks at its boxes 300 ms after the last change
        page.wait_for_function(REACHABLE)
        violations = axe.run(page, options=AXE).response["violations"]
        seen += [f"{width}, {mode}: {v['id']} {v['nodes'][0]['html'][:160]}" for v in violations]
    page.close()
    return [f"{name}: {problem}" for problem in seen]
