"""Every page around the chapters as a reader's browser shows it, on a desk and on two phones, light
and dark. The chapters have a file of their own, so that two processes share the work.
"""

from pages import NOTEBOOKS, TOC, looked_at


def audits(name):
    """Widths and colour modes in which axe reads a page, at a few seconds each: all for the landing
    page, two for others, one source page for all.
    """
    if name.startswith("_modules/") and not name.endswith("/formula.html"):
        return []
    return (
        [(390, "dark"), (390, "light"), (1280, "light"), (1280, "dark")]
        if name == f"{TOC['root']}.html"
        else [(390, "light"), (1280, "dark")]
    )


def test_every_page_around_the_chapters(documents, browser, address, axe):
    problems = []
    for name in documents:
        if name.removesuffix(".html") not in NOTEBOOKS:
            problems += looked_at(browser, address, axe, name, audits(name))
    assert not problems, "\n".join(problems)
