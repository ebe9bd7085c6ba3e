"""Build the lecture material into _build/slides: for each lecture a deck (HTML and PDF), its notes
and a handout, and beside them the figures of all chapters.

    python tools/build_slides.py             # to _build/slides
    python tools/build_slides.py /tmp        # to /tmp/_build/slides
    python tools/build_slides.py . --place   # only copy what is built to _build/html/slides

Nothing is computed: figures and numbers are those that the notebooks have stored and the records of
the studies. A slide that names one that does not exist stops the build. Chromium sets the formulas
and prints.
"""

import shutil
import sys
from pathlib import Path

import third_party
import yaml

ROOT = Path(__file__).resolve().parent.parent
NO_BROWSER = (
    "make slides needs Chromium or Chrome: install it, name it in the environment variable"
    " CHROMIUM, or let playwright fetch one with `python -m playwright install chromium`, run with"
    " the environment's Python"
)


def published():
    """(address of the published site, which follows from the repository's; author)"""
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    owner, name = config["repository"]["url"].rstrip("/").split("/")[-2:]
    return f"https://{owner}.github.io/{name}/", config["author"]


def build(target):
    """Write everything into a folder, and return the decks."""
    from chromium import FLAGS, chromium_path
    from playwright.sync_api import sync_playwright
    from slide_figures import pack
    from slide_pages import Pages
    from slide_sources import Course, Filler, NotThere, decks, read

    course = Course()
    pages = Pages(course, *published())
    made, html = [], {}
    try:
        for path in decks():
            deck = read(path, course)
            made.append(deck)
            html[deck.name] = pages.deck(deck)
            handout = path.with_suffix(".handout.md")
            try:
                text = Filler(course).fill(handout.read_text(encoding="utf-8"))
                html[f"{deck.name}_handout"] = pages.handout(deck, text)
            except NotThere as missing:
                raise NotThere(f"book/slides/{handout.name}: {missing}") from None
        with sync_playwright() as playwright:
            browser_path = chromium_path(playwright)
            if browser_path is None:
                sys.exit(NO_BROWSER)
            browser = playwright.chromium.launch(executable_path=browser_path, args=FLAGS)
            pages.typeset(browser)
            shutil.rmtree(target, ignore_errors=True)
            target.mkdir(parents=True)
            for name, page in html.items():
                (target / f"{name}.html").write_text(pages.finish(page), encoding="utf-8")
            _print(browser, target, list(html))
            browser.close()
    except NotThere as missing:
        sys.exit(f"the slides were not built: {missing}")
    pack(course, target)
    (target / "index.html").write_text(index(made), encoding="utf-8")
    return made


def _print(browser, target, names):
    """PDFs, as Chromium prints the pages."""
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    page.set_default_timeout(300_000)
    for name in names:
        address = (target / f"{name}.html").as_uri()
        if name.endswith("_handout"):
            page.goto(address)
            page.evaluate("document.fonts.ready")
            page.pdf(path=target / f"{name}.pdf", prefer_css_page_size=True)
            continue
        for query, ending in (("", ""), ("&showNotes=separate-page", "_notes")):
            page.goto(f"{address}?print-pdf{query}")
            page.wait_for_selector(".pdf-page")
            page.evaluate("document.fonts.ready")
            page.pdf(
                path=target / f"{name}{ending}.pdf",
                prefer_css_page_size=True,
                print_background=True,
            )
    page.close()


def index(made):
    """A page that leads to everything."""
    rows = "".join(
        f"<tr><td>{deck.front['part']}</td><td><a href={deck.name}.html>{deck.front['title']}</a>"
        f"</td><td>{deck.front['minutes']}</td><td><a href={deck.name}.pdf>PDF</a></td>"
        f"<td><a href={deck.name}_notes.pdf>PDF with notes</a></td>"
        f"<td><a href={deck.name}_handout.pdf>handout</a></td></tr>"
        for deck in made
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Lecture material</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="data:,"><style>:root{color-scheme:light dark}body{font:1.1rem/1.5'
        " system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}td,th{padding:.3rem"
        " 1rem .3rem 0;text-align:left}</style><main><h1>Lecture material</h1><table><tr><th>Part"
        f"</th><th>Deck</th><th>Minutes</th><th></th><th></th><th></th></tr>{rows}</table>"
        "<p>Keys in a deck: arrows, <kbd>S</kbd> for the speaker's notes, <kbd>D</kbd> for dark,"
        " <kbd>F</kbd> for the whole screen, <kbd>O</kbd> for all slides, <kbd>?</kbd> for the"
        ' rest.</p><p><a href="figures.zip">All figures of the chapters</a> as SVG and PNG, with'
        " their captions.</p><p>Text and figures: CC BY 4.0.</p></main></html>\n"
    )


def place(folder):
    """Copy built slides beside the pages of a built site; nothing where either is missing."""
    slides, html = folder / "_build/slides", folder / "_build/html"
    if (slides / "index.html").is_file() and (html / "index.html").is_file():
        shutil.rmtree(html / "slides", ignore_errors=True)
        leave = shutil.ignore_patterns("figures")  # they are in the zip
        shutil.copytree(slides, html / "slides", ignore=leave)
        third_party.place(html)
        print(f"Slides: {(html / 'slides/index.html').as_uri()}")


def main(folder=".", *options):
    folder = (ROOT / folder).resolve()
    if options not in ((), ("--place",)):
        sys.exit(f"options are --place or none, got {' '.join(options)}")
    if not options:
        made = build(folder / "_build/slides")
        for deck in made:
            print(f"{len(deck.slides) + 1} slides, {deck.front['minutes']} min: {deck.name}.html")
        print(f"Open {(folder / '_build/slides/index.html').as_uri()}")
    place(folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
