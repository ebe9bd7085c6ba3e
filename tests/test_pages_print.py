"""Pages on paper, printed from a dark screen: black on white, and nothing lost."""

import re

import pytest
from pages import CUT, NOTEBOOKS, load, show

A4 = 718  # pixels: 21 cm without margins of 1 cm
PRINTED = [NOTEBOOKS[1], next(n for n in NOTEBOOKS if "/14_" in n), "book/questions"]
LIGHT = """(selector) => [...document.querySelectorAll(selector)].filter((e) => e.checkVisibility())
  .map((e) => getComputedStyle(e).color.match(/[\\d.]+/g).slice(0, 3).map(Number))
  .map(([r, g, b]) => 0.2126 * r + 0.7152 * g + 0.0722 * b)"""


@pytest.fixture(scope="module", params=PRINTED)
def paper(request, browser, address):
    """A page that was read on a dark screen, as it goes to the printer."""
    page = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme="dark")
    assert load(page, address, f"{request.param}.html") == []
    show(page, A4, "dark")
    page.emulate_media(media="print", color_scheme="dark")
    page.wait_for_function("document.documentElement.dataset.theme === 'light'")
    yield page
    page.close()


def test_the_ink_is_dark(paper):
    for selector in ("article p", "article h1, article h2", "article pre", "article mjx-math"):
        shades = paper.evaluate(LIGHT, selector)
        assert all(shade < 130 for shade in shades), f"{selector}: {max(shades)} of 255"
    assert paper.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"


def test_no_line_loses_its_end(paper):
    assert paper.evaluate(CUT) == []
    # (interactive figures measure themselves in their own tests)
    boxes = "article :is(pre, .math, .cell_output > .output:not(:has(> [d-model])))"
    lost = paper.evaluate(
        f"""[...document.querySelectorAll('{boxes}')].filter((b) => b.checkVisibility() &&
        getComputedStyle(b).display !== 'inline' && b.scrollWidth > b.clientWidth + 1)
        .map((b) => b.textContent.trim().slice(0, 80))"""
    )
    assert lost == []


def test_the_title_stands_there_with_its_number(paper):
    shown = paper.locator("h1:visible")
    assert shown.count() == 1
    chapter = re.search(r"/notebooks/(\d\d)_", paper.url)
    if chapter:
        assert shown.inner_text().startswith(f"{int(chapter[1])}.")


def test_solutions_are_open(paper):
    for answer in paper.locator("article details:not(.hide)").all():
        assert answer.locator(":not(summary)").first.is_visible()
    assert all(code.is_visible() for code in paper.locator(".fold-solution pre").all())


def test_what_only_a_screen_needs_is_left_out(paper):
    for part in (
        ".bd-header-article",
        "button.copybtn",
        ".bd-sidebar-primary",
        ".prev-next-footer",
    ):
        assert all(not piece.is_visible() for piece in paper.locator(part).all()), part


def test_the_screen_is_dark_again_afterwards(paper):
    paper.emulate_media(media="screen")
    paper.wait_for_function("document.documentElement.dataset.theme === 'dark'")
    paper.emulate_media(media="print")
    paper.wait_for_function("document.documentElement.dataset.theme === 'light'")
