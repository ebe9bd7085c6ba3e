"""What a reader has to make out: labels of figures on a phone, wide tables and their captions."""

import pytest
from pages import NOTEBOOKS, load

SECOND = next(page for page in NOTEBOOKS if "/02_" in page)
LAST = next(page for page in NOTEBOOKS if "/14_" in page)
LABELS = """() => [...document.querySelectorAll('article .cell_output figure > img')].map((i) =>
  [i.src, 40 / 3 * i.getBoundingClientRect().width / i.naturalWidth,
   i.parentElement.scrollWidth > i.parentElement.clientWidth, i.parentElement.tabIndex])"""
TABLES = """(at) => [...document.querySelectorAll('article table.sinpe-table')].map((table) => {
  const box = table.parentElement, page = document.documentElement.clientWidth;
  box.scrollLeft = at * box.scrollWidth;
  const inside = ({ left, right }) => left > -1 && right < page + 1;
  const parts = [table.caption, table.querySelector('tbody th')];
  return [table.caption.textContent, box.scrollWidth - box.clientWidth,
          parts.every((part) => inside(part.getBoundingClientRect()))];
})"""


@pytest.mark.parametrize("name", [SECOND, LAST])
def test_labels_of_figures_are_11_pixels_on_a_phone(browser, address, name):
    """tests/test_figures.py: no label has less than ten points. What is wider than the phone
    scrolls in a box that the keyboard reaches.
    """
    page = browser.new_page(viewport={"width": 360, "height": 800})
    seen = load(page, address, f"{name}.html")
    page.evaluate("document.querySelectorAll('img').forEach((i) => (i.loading = 'eager'))")
    page.wait_for_function("[...document.images].every((i) => i.complete && i.naturalWidth)")
    page.evaluate("dispatchEvent(new Event('resize'))")
    page.wait_for_function(
        "[...document.querySelectorAll('article .cell_output figure')].every((f) =>"
        " (f.scrollWidth > f.clientWidth + 1) === (f.tabIndex === 0))"
    )
    labels = page.evaluate(LABELS)
    assert seen == [] and len(labels) >= 2
    for source, pixels, _, _ in labels:
        assert pixels >= 11, f"{source}: {pixels:.1f} pixels"
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    page.close()


def test_wide_tables_fit_a_laptop_and_keep_their_names_on_a_phone(browser, address):
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    assert load(page, address, f"{LAST}.html") == []
    tables = page.evaluate(TABLES, 0)
    assert len(tables) >= 10
    assert [caption for caption, over, _ in tables if over > 1] == []
    page.set_viewport_size({"width": 390, "height": 844})
    before, after = (page.evaluate(TABLES, at) for at in (0, 1))
    assert sum(over > 100 for _, over, _ in before) >= 3  # there is something to scroll
    for caption, _, inside in before + after:
        assert inside, caption
    page.close()
