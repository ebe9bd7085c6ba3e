"""The lecture decks in a real browser: nothing is cut off on the screen, in dark or on paper, and
nothing is asked of a network. They are built once, by the command that people use.
"""

import csv
import io
import os
import re
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import build_slides
import pytest
from browser import chromium, watch
from slide_sources import Course, decks

ROOT = Path(__file__).resolve().parent.parent
NAMES = [path.stem for path in decks()]
MODES = {"light": "", "dark": "?dark", "print": "?print-pdf"}
INK = {"light": (255, 26), "dark": (18, 230), "print": (255, 26)}  # red of paper and ink
# What does not fit: the body of a slide and what stands in it, in pixels of 1280 x 720.
MEASURE = """(slide) => {
  const problems = [], scale = slide.getBoundingClientRect().width / 1280;
  const frame = slide.getBoundingClientRect();
  const foot = slide.querySelector('.foot')?.getBoundingClientRect().top ?? frame.bottom;
  const body = slide.querySelector('.body');
  if (!body) return problems;
  for (const column of body.children) {
    if (column.scrollWidth > column.clientWidth + 1
      || column.scrollHeight > column.clientHeight + 1)
      problems.push(`${column.scrollWidth} x ${column.scrollHeight} in a column of`
        + ` ${column.clientWidth} x ${column.clientHeight}`);
    for (const part of column.children) {
      const box = part.getBoundingClientRect();
      if (box.bottom > foot + 1 || box.right > frame.right - 60 * scale || box.top < frame.top)
        problems.push(`${part.tagName} reaches beyond the slide`);
    }
  }
  for (const image of slide.querySelectorAll('figure img'))
    if (!image.naturalWidth || image.getBoundingClientRect().height < 230 * scale)
      problems.push(`a figure is only ${image.getBoundingClientRect().height / scale} pixels high`);
  for (const formula of slide.querySelectorAll('.body mjx-container > svg'))
    if (formula.getBoundingClientRect().width > 1140 * scale)
      problems.push('a formula is too wide');
  const texts = document.createTreeWalker(slide, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const parent = texts.currentNode.parentElement;
    if (!texts.currentNode.textContent.trim()
      || parent.closest('aside, mjx-container, sinpe-clocks, sinpe-similarity')) continue;
    const size = parseFloat(getComputedStyle(parent).fontSize);
    if (size < (parent.closest('.foot') ? 18 : 22)) problems.push(`letters of ${size} pixels`);
    if (!parent.closest('pre')
      && /\\$|\\[\\[|\\]\\(|\\*\\*|[\\ue000-\\ue003]/.test(texts.currentNode.textContent))
      problems.push(`raw: ${texts.currentNode.textContent}`);
  }
  return problems;
}"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder with everything, as `make slides` writes it; SINPE_SLIDES=_build/slides checks
    one that exists.
    """
    if "SINPE_SLIDES" in os.environ:
        return (ROOT / os.environ["SINPE_SLIDES"]).resolve()
    if find_spec("sphinx_revealjs") is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(
            "the extra `slides` is not installed"
        )
    with chromium():  # skipped without a browser
        pass
    folder = tmp_path_factory.mktemp("slides")
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools/build_slides.py"), str(folder)],
        check=False,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONUTF8": "1"},
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert (folder / "_build/slides/index.html").as_uri() in done.stdout
    return folder / "_build/slides"


@pytest.fixture(scope="module")
def browser():
    with chromium() as browser:
        yield browser


def opened(browser, built, name, query=""):
    page = browser.new_page(viewport={"width": 1280, "height": 720}, reduced_motion="reduce")
    problems = watch(page, "file://")
    page.goto((built / f"{name}.html").as_uri() + query)
    page.wait_for_function("window.Reveal?.isReady()")
    if "print" in query:
        page.wait_for_selector(".pdf-page")
    page.evaluate("document.fonts.ready")
    return page, problems


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_cut_off_and_nothing_is_asked_of_a_network(built, browser, name, mode):
    page, problems = opened(browser, built, name, MODES[mode])
    if mode == "print":
        page.emulate_media(media="print")
        slides = page.locator(".pdf-page > section").all()
    else:
        slides = page.locator(".slides > section").all()
    assert len(slides) >= 15
    for number, slide in enumerate(slides):
        if mode != "print":
            page.evaluate(f"Reveal.slide({number})")
        problems += [f"slide {number + 1}: {problem}" for problem in slide.evaluate(MEASURE)]
    paper, ink = (
        int(re.search(r"\d+", page.evaluate(f"getComputedStyle(document.{where}).{what}"))[0])
        for where, what in (
            ("documentElement", "backgroundColor"),
            ("querySelector('.reveal')", "color"),
        )
    )
    assert (paper, ink) == INK[mode]
    assert page.evaluate(
        "[...document.fonts].filter((f) => f.status === 'loaded').map((f) => f.family).join()"
    ).count("Source Sans Pro")
    assert problems == []
    page.close()


@pytest.mark.parametrize("name", NAMES)
def test_a_file_holds_everything(built, name):
    text = (built / f"{name}.html").read_text(encoding="utf-8")
    page = re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    assert re.findall(r'(?:src="|url\(["\']?)(?!data:)[^"\')]*', page) == []
    assert "<link" not in page.replace('<link rel="icon" href="data:,">', "")
    assert len(text) < 2_000_000


def pages(path):
    """How many pages a PDF has."""
    return len(re.findall(rb"/Type\s*/Page\b", path.read_bytes()))


@pytest.mark.parametrize("name", NAMES)
def test_on_paper_a_slide_is_a_page_and_a_handout_is_one(built, name):
    slides = (built / f"{name}.html").read_text(encoding="utf-8").count('<aside class="notes">')
    assert pages(built / f"{name}.pdf") == slides
    assert pages(built / f"{name}_notes.pdf") == 2 * slides
    assert pages(built / f"{name}_handout.pdf") == 1


def test_paper_is_light_even_from_a_dark_deck(built, browser):
    page, _ = opened(browser, built, NAMES[0], "?dark")
    red = "parseInt(getComputedStyle(document.documentElement).backgroundColor.match(/\\d+/))"
    assert page.evaluate(red) == INK["dark"][0]
    page.emulate_media(media="print")
    assert page.evaluate(red) == INK["print"][0]
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"
    page.close()


def test_keys_move_slides_and_leave_a_slider_alone(built, browser):
    name = next(n for n in NAMES if "<sinpe-clocks" in (built / f"{n}.html").read_text("utf-8"))
    page, problems = opened(browser, built, name)
    at = "Reveal.getIndices().h"
    page.keyboard.press("ArrowRight")
    assert page.evaluate(at) == 1
    page.keyboard.press("d")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.keyboard.press("d")
    assert page.evaluate("document.documentElement.dataset.theme") is None
    clocks = page.evaluate(
        "Reveal.getSlides().findIndex((slide) => slide.querySelector('sinpe-clocks'))"
    )
    page.evaluate(f"Reveal.slide({clocks})")
    slider = page.locator("sinpe-clocks input[name=position]")
    before = int(slider.input_value())
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert int(slider.input_value()) == before + 1 and page.evaluate(at) == clocks
    slider.evaluate("slider => slider.blur()")
    page.keyboard.press("ArrowRight")
    assert page.evaluate(at) == clocks + 1
    assert problems == []
    page.close()


def test_the_speakers_window_shows_what_to_ask(built, browser):
    page, problems = opened(browser, built, NAMES[0])
    page.evaluate("Reveal.slide(1)")
    asked = page.locator("section.present aside.notes").text_content()
    assert "Ask:" in asked and "Likely wrong:" in asked and " min" in asked
    with page.expect_popup() as popup:
        page.keyboard.press("s")
    notes = popup.value
    notes.wait_for_function("document.querySelector('.speaker-controls-notes .value')?.innerText")
    shown = notes.locator(".speaker-controls-notes .value").inner_text()
    assert " ".join(shown.split()) == " ".join(asked.replace("</p>", " ").split()) or (
        "Ask:" in shown and "Likely wrong:" in shown
    )
    notes.close()
    assert problems == []
    page.close()


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_colours_have_contrast(built, browser, mode):
    from axe_playwright_python.sync_playwright import Axe

    page, _ = opened(browser, built, NAMES[-1], MODES[mode])
    kinds = page.evaluate(
        "['section.title', 'section.predict', 'section:has(table)', 'section:has(blockquote)'].map("
        "(kind) => Reveal.getSlides().findIndex((slide) => slide.matches(kind)))"
    )
    only = {"runOnly": ["color-contrast"], "resultTypes": ["violations"], "preload": False}
    for number in kinds:
        page.evaluate(f"Reveal.slide({number})")
        found = Axe().run(page, context="section.present", options=only).response["violations"]
        assert found == [], f"slide {number + 1}: {found[0]['nodes'][0]['html'][:200]}"
    page.close()


def test_every_link_of_the_front_page_leads_to_a_file(built):
    front = (built / "index.html").read_text(encoding="utf-8")
    links = re.findall(r'<a href="?([\w./]+)', front)
    assert len(links) == 4 * len(NAMES) + 1
    assert [link for link in links if not (built / link).is_file()] == []


def test_the_pack_holds_every_figure_with_its_caption(built):
    figures = Course().figures
    with zipfile.ZipFile(built / "figures.zip") as pack:
        names = {Path(name).name for name in pack.namelist()}
        rows = list(csv.DictReader(io.StringIO(pack.read("figures/captions.csv").decode())))
        svg = pack.read("figures/fig-01-weights.svg").decode()
        png = pack.read("figures/fig-01-weights.png")
    assert len(figures) > 60
    assert names - {"captions.csv", "README.txt"} == {
        f"{name}.{kind}" for name in figures for kind in ("svg", "png")
    }
    assert {row["name"]: row["caption"] for row in rows} == {
        name: figure.caption for name, figure in figures.items()
    }
    assert svg == figures["fig-01-weights"].svg and png.startswith(b"\x89PNG")


def test_slides_are_placed_beside_a_site_that_is_there(tmp_path, capsys):
    slides, html = tmp_path / "_build/slides", tmp_path / "_build/html"
    build_slides.place(tmp_path)
    slides.mkdir(parents=True)
    (slides / "index.html").write_text("slides")
    build_slides.place(tmp_path)
    assert not html.exists() and capsys.readouterr().out == ""
    html.mkdir()
    (html / "index.html").write_text("site")
    build_slides.place(tmp_path)
    assert (html / "slides/index.html").read_text() == "slides"
    assert (html / "index.html").read_text() == "site"
    assert (html / "slides/index.html").as_uri() in capsys.readouterr().out


def test_a_formula_with_an_error_stops_the_build(browser):
    from slide_pages import Pages
    from slide_sources import NotThere

    made = Pages(Course(), "https://example.org/", "A")
    made._html(r"$x^2$ and $\frac{1$")
    with pytest.raises(NotThere, match=r"the formula '\\\\frac\{1' has an error"):
        made.typeset(browser)
