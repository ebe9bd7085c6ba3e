"""The built site is complete, self-contained, accessible, and true to the repository. What only a
browser sees of it is in test_pages_looks.py and its neighbours.
"""

import re
from importlib import import_module
from urllib.parse import unquote, urlsplit

import nbformat
import numpy as np
import pytest
from browser import watch
from docutils import nodes
from pages import CONFIG, NOTEBOOKS, PAGES, ROOT, load

import sinpe


def test_every_page_of_the_contents_is_built(documents):
    assert [page for page in PAGES if f"{page}.html" not in documents] == []
    assert len(set(PAGES)) == len(PAGES)


def test_no_page_shows_an_error(documents):
    bad = [
        name
        for name, page in documents.items()
        if page.select(".output.traceback, .output.stderr, .system-message, .problematic")
    ]
    assert bad == []


def test_links_and_anchors_inside_the_site_resolve(site, documents):
    broken = []
    for name, page in documents.items():
        for tag, attribute in (("a", "href"), ("link", "href"), ("img", "src"), ("script", "src")):
            for node in page.find_all(tag, attrs={attribute: True}):
                link = urlsplit(node[attribute])
                if link.scheme or link.netloc:
                    continue
                target = (site / name).parent / unquote(link.path) if link.path else site / name
                target = target.resolve()
                if target.is_dir():
                    target /= "index.html"
                if not target.is_file():
                    broken.append(f"{name}: {node[attribute]}")
                elif link.fragment and target.suffix == ".html":
                    other = documents[target.relative_to(site.resolve()).as_posix()]
                    if not other.find(id=unquote(link.fragment)) and not other.find(
                        attrs={"name": unquote(link.fragment)}
                    ):
                        broken.append(f"{name}: {node[attribute]}")
    assert not broken, "\n".join(sorted(set(broken)))


def test_images_say_what_they_show(documents):
    for name, page in documents.items():
        for image in page.select("article img"):
            alt = image.get("alt", "")
            assert len(alt.split()) >= 3 and not re.search(r"\.(png|svg|jpe?g)\b|_images", alt), (
                f"{name}: alt text {alt!r}"
            )


def test_figures_have_captions(documents):
    for name in NOTEBOOKS:
        for image in documents[f"{name}.html"].select(".cell_output img"):
            figure = image.find_parent("figure")
            assert figure and figure.select_one("figcaption .caption-text").get_text(strip=True), (
                f"{name}: {image['src']} without a caption"
            )


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_launch_links_have_the_right_path_and_branch(documents, notebook):
    url, branch = CONFIG["repository"]["url"], CONFIG["repository"]["branch"]
    repository = url.removeprefix("https://github.com/")
    wanted = [
        f"https://mybinder.org/v2/gh/{repository}/{branch}?urlpath=lab/tree/{notebook}.ipynb",
        f"https://colab.research.google.com/github/{repository}/blob/{branch}/{notebook}.ipynb",
    ]
    page = documents[f"{notebook}.html"]
    buttons = [a["href"] for a in page.select(".dropdown-launch-buttons a")]
    assert buttons == wanted
    written = [
        a["href"]
        for a in page.select("article a[href]")
        if urlsplit(a["href"]).netloc in ("mybinder.org", "colab.research.google.com")
    ]
    assert written == wanted
    assert f"{url}/edit/{branch}/{notebook}.ipynb" in [
        a["href"] for a in page.select(".dropdown-source-buttons a")
    ]


def test_every_page_has_one_title_and_a_description(documents):
    for page in PAGES:
        document = documents[f"{page}.html"]
        assert len(document.select("article h1")) == 1, page
        assert document.select_one('meta[name="description"]')["content"], page
        assert CONFIG["title"] in document.title.get_text()


def test_the_site_also_works_from_a_disk(site, browser):
    """As a lecturer without a network opens it: formulas, the moving figure, the search, and the
    way from the front door.
    """
    page = browser.new_page()
    problems = watch(page, site.as_uri())
    page.goto((site / "index.html").as_uri())
    page.wait_for_function("Boolean(document.querySelector('sinpe-clocks')?.state)")
    assert page.evaluate("document.querySelector('sinpe-clocks').values().length") == 16
    page.locator("a.start").click()
    page.wait_for_url(f"**/{NOTEBOOKS[0]}.html")
    chapter = next(
        name
        for name in reversed(NOTEBOOKS)
        if 'class="math' in (site / f"{name}.html").read_text(encoding="utf-8")
    )
    page.goto((site / f"{chapter}.html").as_uri())
    assert page.locator("article mjx-container").count() > 0
    assert page.evaluate(
        "document.fonts.ready.then(() => [...document.fonts].some(font =>"
        " font.family.startsWith('MJX') && font.status === 'loaded'))"
    )
    page.goto(f"{(site / 'search.html').as_uri()}?q=wavelength")
    assert page.locator("#search-results li a").count() > 3
    page.locator("#search-results li a").first.click()
    page.wait_for_url("**/*.html#*")
    assert problems == []
    page.close()


def test_chapters_read_without_scripts(browser, address):
    """Formulas, figures and folded answers."""
    page = browser.new_page(java_script_enabled=False)
    page.goto(f"{address}/{NOTEBOOKS[1]}.html")
    formula = page.locator("article .math mjx-container").first
    assert formula.is_visible() and formula.bounding_box()["width"] > 5
    assert page.locator("article .math:not(:has(mjx-container))").count() == 0
    assert page.locator("article details p").first.is_hidden()
    page.locator("article details:not(.hide) > summary").first.click()
    assert page.locator("article details:not(.hide) p").first.is_visible()
    page.close()


@pytest.fixture
def chapter(browser, address):
    """chapter(width, **how) -> the first chapter in the browser, read to the end."""
    pages = []

    def opened(width, **how):
        page = browser.new_page(viewport={"width": width, "height": 900}, reduced_motion="reduce")
        pages.append(page)
        page.emulate_media(**how)
        assert load(page, address, f"{NOTEBOOKS[0]}.html") == []
        return page

    yield opened
    for page in pages:
        page.close()


def test_code_of_88_columns_fits_the_page(chapter):
    """In letters of 14 pixels, beside both menus."""
    wide, room, size = chapter(1280).evaluate("""() => {
      const box = document.querySelector('div.cell > div.cell_input pre');
      const line = box.appendChild(document.createElement('span'));
      line.textContent = 'x'.repeat(88);
      line.style.whiteSpace = 'pre';
      const style = getComputedStyle(box);
      const room = box.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
      return [line.getBoundingClientRect().width, room, style.fontSize];
    }""")
    assert wide <= room and size == "14px"


@pytest.mark.parametrize("width", [1280, 390])
def test_a_check_is_a_line_that_says_what_was_checked_and_opens(chapter, width):
    """By a click and by a key, and closes again; a solution's code stands behind its own words."""
    page = chapter(width)
    check = page.locator(".fold-check details").nth(1)
    line, code = check.locator("summary"), check.locator("pre")
    assert re.fullmatch(r"Checked: \S.+ \(\d+ statements?\)", line.inner_text())
    assert not code.is_visible()
    line.click()
    assert code.is_visible() and code.inner_text().count("assert ") >= 1
    assert "@title" not in code.inner_text()
    line.press("Enter")
    assert not code.is_visible()
    assert page.locator(".fold-solution summary").first.inner_text() == "Show the solution"
    assert page.locator(".fold-check .cell_output").count() == 0


def test_what_is_made_is_shown_and_its_code_is_folded(chapter):
    page = chapter(1280)
    for made in page.locator(".fold-made:has(.cell_output)").all():
        assert made.locator("img, table").first.is_visible()
        assert not made.locator("pre").first.is_visible()
        shown, line = (made.locator(part).bounding_box() for part in (".cell_output", "summary"))
        assert shown["y"] + shown["height"] <= line["y"]  # the figure first, then how it was made


def test_on_paper_answers_are_open_and_checks_are_their_line(chapter):
    page = chapter(1280, media="print")
    answers = page.locator("article details:not(.hide)")
    assert answers.count() > 3
    assert all(answer.locator("p").first.is_visible() for answer in answers.all())
    assert all(code.is_visible() for code in page.locator(".fold-solution pre").all())
    assert all(line.is_visible() for line in page.locator(".fold-check summary").all())
    assert not any(code.is_visible() for code in page.locator(".fold-check pre").all())
    assert not any(line.is_visible() for line in page.locator(".fold-made summary").all())


def test_printed_sentences_wrap_on_a_phone_and_arrays_keep_their_rows(chapter):
    page = chapter(320)
    sentences = page.locator(".stream.sentences pre")
    assert sentences.count() > 3
    assert all(s.evaluate("s => s.scrollWidth <= s.clientWidth") for s in sentences.all())
    others = page.locator(".stream:not(.sentences) pre").all()
    (array,) = [box for box in others if "0.72" in box.inner_text()]
    assert array.evaluate("a => getComputedStyle(a).whiteSpace") == "pre"


def test_a_wide_table_scrolls_in_a_box_of_its_own(chapter):
    """And is dark on a dark page."""
    page = chapter(320)
    boxes = page.locator(".output.text_html:has(> table.sinpe-table)")
    assert boxes.count() > 0
    inside = "box => [box.scrollWidth > box.clientWidth, getComputedStyle(box).overflowX]"
    assert [True, "auto"] in [box.evaluate(inside) for box in boxes.all()]
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    ink = "cell => getComputedStyle(cell).color.match(/\\d+/g).map(Number)"
    assert min(boxes.first.locator("td").first.evaluate(ink)) > 150


def test_the_projector_view_hides_code_and_solutions_and_stays(browser, address):
    """By the address and by a button that says whether it is on, for all chapters of the window."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    page = context.new_page()
    code = page.locator(".bd-article div.cell :is(.cell_input, details.hide)")

    def shown():
        on = page.evaluate("document.documentElement.hasAttribute('data-projector')")
        visible = code.evaluate_all("all => all.filter((one) => one.checkVisibility()).length")
        pressed = page.locator(".projector-button").get_attribute("aria-pressed")
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280
        return on, visible == 0, page.locator(".bd-sidebar-primary").is_visible(), pressed

    assert load(page, address, f"{NOTEBOOKS[0]}.html") == []
    size = "parseFloat(getComputedStyle(document.querySelector('article p')).fontSize)"
    plain = page.evaluate(size)
    assert shown() == (False, False, True, "false")
    page.locator(".projector-button").click()
    assert shown() == (True, True, False, "true") and page.evaluate(size) > 1.2 * plain
    assert page.locator(".bd-article figure img").first.is_visible()
    load(page, address, f"{NOTEBOOKS[1]}.html")
    assert shown() == (True, True, False, "true")
    page.locator(".projector-button").press("Enter")
    assert shown()[0] is False
    load(page, address, f"{NOTEBOOKS[2]}.html?projector")
    assert shown() == (True, True, False, "true")
    page.emulate_media(media="print")  # paper is as it was
    assert code.evaluate_all("all => all.some((one) => one.checkVisibility())")
    page.emulate_media(media="screen")
    load(page, address, f"{NOTEBOOKS[2]}.html?projector=off")
    assert shown() == (False, False, True, "false")
    load(page, address, f"{PAGES[0]}.html")
    assert page.locator(".projector-button").count() == 0
    context.close()


def test_the_sections_that_slides_lead_to_are_there(documents):
    from slide_pages import Pages
    from slide_sources import Course, decks, read

    course = Course()
    pages = Pages(course, "", "")
    for path in decks():
        for slide in read(path, course).slides:
            chapter, title, _ = slide.notes["from"]
            page, _, anchor = pages.address(chapter, title).partition("#")
            assert documents[page].find(id=anchor), f"{path.name}: {page}#{anchor}"


# --- what the pages cite and claim


def test_every_paper_that_a_page_cites_is_in_the_bibliography():
    bibliography = (ROOT / "book" / "references.bib").read_text(encoding="utf-8").lower()
    texts = {page: nbformat.read(ROOT / f"{page}.ipynb", as_version=4) for page in NOTEBOOKS}
    prose = {
        page: "\n".join(cell.source for cell in notebook.cells) for page, notebook in texts.items()
    }
    prose |= {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "book").glob("*.md")}
    missing = []
    for page, text in prose.items():
        cited = re.findall(r"arxiv\.org/(?:abs|pdf|html)/(\d{4}\.\d{4,5})", text) + re.findall(
            r"doi\.org/(10\.[^\s)>\]]+)", text
        )
        missing += [f"{page}: {paper}" for paper in cited if paper.lower() not in bibliography]
    assert missing == [], "book/references.bib: add an entry for each, with its arXiv number or DOI"


def test_every_claim_links_to_its_proof_and_names_its_tests():
    """Each entry says what is true, links to a section of a chapter (test_links… checks that it
    exists) and names tests that exist.
    """
    text = (ROOT / "book" / "misconceptions.md").read_text(encoding="utf-8")
    claims = re.findall(r"^(“.*)\n: ((?:.+\n?)(?:  .+\n)*)", text, re.MULTILINE)
    assert len(claims) == text.count("\n: ") > 15
    sources = "\n".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "tests").glob("test_*.py")
    )
    for claim, answer in claims:
        assert re.search(r"\]\(\.\./notebooks/\d\d_\w+\.ipynb#[\w-]+\)", answer), (
            f"{claim} has no link to a section"
        )
        tests = re.findall(r"`(test_\w+)`", answer)
        assert tests and all(f"def {test}(" in sources for test in tests), f"{claim} names {tests}"


def test_the_numbers_in_the_claims():
    """The page states these in words; the chapters assert them too."""
    text = (ROOT / "book" / "misconceptions.md").read_text(encoding="utf-8")
    longest = [f"{round(sinpe.wavelengths(d)[-1]):,}".replace(",", "\u00a0") for d in (512, 128, 4)]
    assert "{} at width 512, {} at 128, {} at 4".format(*longest) in text
    assert "The limit, " + f"{round(2 * np.pi * 10_000):,}".replace(",", "\u00a0") in text
    rises = np.flatnonzero(np.diff(sinpe.similarity(np.arange(100), 512)) > 0)
    assert (
        f"for the first time after offset {rises[0]}" in text
        and f"falls up to offset {rises[0]}, and {rises[0] + 1} is higher" in text
    )
    # "three times slower"
    assert sinpe.wavelengths(16, spacing="tensor2tensor")[-1] / sinpe.wavelengths(16)[
        -1
    ] == pytest.approx(10**0.5)
    gaps = np.sqrt(2 * 2 - 4 * sinpe.similarity(np.arange(1, 200_001), 4)).min()
    assert 0.001 < gaps < 0.002


def test_chapters_lead_to_the_glossary(documents):
    """Most do, once a term, and to terms that exist (test_links… checks the anchors)."""
    leading = 0
    for name in NOTEBOOKS:
        links = [a["href"] for a in documents[f"{name}.html"].select("article a.term")]
        leading += bool(links)
        assert len(set(links)) == len(links), name
        assert all("book/glossary.html#term-" in link for link in links), name
    assert leading > len(NOTEBOOKS) * 2 // 3


def test_the_first_use_of_a_term_in_prose_is_linked(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "book" / "_ext")
    document = nodes.section(
        "",
        nodes.title("", "Shift matrix"),
        nodes.paragraph("", "", nodes.strong("", "shift matrix"), nodes.Text(" ulps, a base")),
        nodes.paragraph("", "Two shift matrixs, a shift matrix, and a reshift matrix."),
    )
    terms = ["Base", "Shift matrix", "ulp"]
    import_module("terms").linked(
        document, terms, lambda term, words: nodes.reference("", words, refuri=term)
    )
    links = [(a["refuri"], a.astext()) for a in document.findall(nodes.reference)]
    assert links == [("ulp", "ulps"), ("Shift matrix", "shift matrixs")]
    assert document.astext().endswith("a shift matrix, and a reshift matrix.")


@pytest.fixture
def summary(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "book" / "_ext")
    return import_module("notebook_cells").summary


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (
            "# @title Check: it is one\nassert x == 1",
            ("check", "Checked: it is one (1 statement)"),
        ),
        (
            "# @title Check: all\nfor i in x:\n    assert i\nnp.testing.assert_allclose(x, 1)",
            ("check", "Checked: all (2 statements)"),
        ),
        ("# @title Draw it\nfigures.lines(x)", ("made", "Draw it")),
        ("# @title Solution\nx = 1", ("solution", "Solution")),
        ("x = 1", ("made", "Show the code")),
    ],
)
def test_the_first_line_of_a_folded_cell_stands_for_it(summary, code, said):
    assert summary(code) == said
