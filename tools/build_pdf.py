"""The whole book as one PDF, printed by Chromium from one page that Sphinx makes: bookmarks, links
that work, page numbers, folded answers open, and the solutions of the exercises at the end.

    python tools/build_pdf.py            # to _build/sinusoidal-positional-encoding.pdf, and beside
                                         # the pages of a built site
    python tools/build_pdf.py /tmp       # to /tmp/_build/…

A long page with every figure takes Chromium a minute or two, and 2 GB.
"""

import shutil
import sys
import tempfile

import build_site
from scratch import settle

NAME = "sinusoidal-positional-encoding.pdf"
PATIENCE = 900_000  # ms until Chromium counts as hanging
FOOTER = (
    '<div style="width: 100%; text-align: center; font: 8px sans-serif; color: #555">'
    '<span class="pageNumber"></span></div>'
)
# Solutions move behind the last chapter, each with a link back; everything else that is folded
# opens, but for the checks, whose one line says what they hold.
PREPARE = """() => {
  document.title = document.querySelector('h1').textContent.replace(/[#\\s]+$/, '');
  document.documentElement.dataset.theme = document.documentElement.dataset.mode = 'light';
  const article = document.querySelector('article.bd-article') || document.body;
  const end = document.createElement('section');
  end.innerHTML = '<h2>Solutions of the exercises</h2>';
  let moved = 0;
  for (const cell of article.querySelectorAll('.fold-solution')) {
    const exercise = cell.closest('section');
    const heading = exercise && exercise.querySelector('h2, h3, h4');
    if (!heading) throw new Error('a solution stands in no section: ' + cell.textContent);
    moved += 1;
    const title = heading.textContent.replace(/[#\\s]+$/, '');
    const part = document.createElement('h3');
    part.id = 'solution-' + moved;
    part.innerHTML = '<a href="#' + exercise.id + '"></a>';
    part.firstChild.textContent = title;
    const link = document.createElement('p');
    link.innerHTML = '<a href="#' + part.id + '">The solution stands at the end.</a>';
    cell.replaceWith(link);
    end.append(part, cell);
  }
  article.append(end);
  for (const fold of document.querySelectorAll('details')) {
    fold.open = !fold.closest('.fold-check, .fold-made');
  }
  for (const picture of document.images) picture.loading = 'eager';
  return moved;
}"""
STYLE = """
  .toctree-wrapper > section, article > section:last-child { break-before: page; }
  article p, article li, article dd, article td, article th {
    font-size: 16px !important; line-height: 1.45; orphans: 3; widows: 3;
  }
  article h1 { font-size: 36px !important; font-weight: 600 !important; }
  article h2 { font-size: 30px !important; font-weight: 600 !important; }
  article h3 { font-size: 23px !important; font-weight: 600 !important; }
  article h4 { font-size: 18px !important; font-weight: 600 !important; }
  article div.math { font-size: 17px !important; }
  article pre { font-size: 13px !important; }
  article summary, article summary * { font-size: 13px !important; }
  h1, h2, h3, h4 { break-after: avoid; }
  figure, table, .cell_output svg, .cell_input, .cell_input pre { break-inside: avoid; }
  .fold-check pre, .fold-made .cell_input pre { display: none; }
"""


def printed(page_file, target):
    """Print one page of HTML to a PDF; how many solutions were moved to its end."""
    from chromium import FLAGS, chromium_path
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = chromium_path(playwright)
        if path is None:
            sys.exit("no Chromium: install it, or name it in the environment variable CHROMIUM")
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        page = browser.new_page(viewport={"width": 900, "height": 1200})
        page.set_default_timeout(PATIENCE)
        page.goto(page_file.as_uri(), wait_until="load")
        page.evaluate("() => window.MathJax?.startup?.promise")
        moved = page.evaluate(PREPARE)
        page.add_style_tag(content=STYLE)
        page.evaluate("() => document.fonts.ready.then(() => true)")
        page.pdf(
            path=str(target),
            format="A4",
            scale=0.85,
            outline=True,
            tagged=True,
            print_background=True,
            display_header_footer=True,
            header_template="<span></span>",
            footer_template=FOOTER,
            margin={"top": "16mm", "bottom": "16mm", "left": "14mm", "right": "14mm"},
        )
        browser.close()
    return moved


def main(folder="."):
    folder = (build_site.ROOT / folder).resolve()
    single = folder / "_build/singlehtml"
    with tempfile.TemporaryDirectory() as scratch:
        settle(scratch)
        if build_site.build(folder, builder="singlehtml"):
            sys.exit("the single page was not built: see the warnings above, which are errors here")
    # most of its addresses are relative to the folder above the one it is written to
    page = single / "print.html"
    text = (single / "book/index.html").read_text(encoding="utf-8")
    page.write_text(text.replace('src="../', 'src="'), encoding="utf-8")
    target = folder / "_build" / NAME
    moved = printed(page, target)
    size = target.stat().st_size / 1e6
    if (folder / "_build/html/index.html").is_file():
        shutil.copy(target, folder / "_build/html")
    print(f"{moved} solutions stand at the end, {size:.1f} MB: {target.as_uri()}")


if __name__ == "__main__":
    main(*sys.argv[1:])
