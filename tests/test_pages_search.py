"""The search: readers' words lead to the section that answers them, first."""

import re

import pytest
from pages import load

# what a reader types: the page and the section that have to stand first
QUERIES = {
    "rope": ("10_rotary", "Rotary position embedding"),
    "RoPE": ("10_rotary", "Rotary position embedding"),
    "rotary": ("10_rotary", "Rotary position embedding"),
    "sqrt d_model": ("06_embedding_scaling", "Embedding scaling"),
    "sqrt(d_model)": ("06_embedding_scaling", "Embedding scaling"),
    "√d": ("06_embedding_scaling", "Embedding scaling"),
    "why 10000": ("02_deriving|questions", "Why 10.?000"),
    "why 10,000": ("02_deriving|questions", "Why 10.?000"),
    "learned vs sinusoidal": ("08_learned", "A learned table"),
    "length generalization": ("13_longer_context|glossary", "Longer context|Length"),
    "extrapolate": ("13_longer_context", "extrapolate|Longer|beyond"),
    "sin and cos both": ("02_deriving", "(?i)sine and cosine"),
    "NoPE": ("glossary|01_order", "NoPE|Order"),
    "permutation": ("01_order", "permutation|Order"),
    "concatenate": ("05_adding", "concatenat|Adding"),
    "padding": ("questions|03_building|08_learned|10_rotary", "[Pp]adding"),
    "NTK": ("13_longer_context", "NTK"),
    "kv cache": ("10_rotary", "cache"),
    "wavelength": ("02_deriving", "wavelength"),
    "residual stream": ("glossary", "Residual stream"),
}


@pytest.fixture(scope="module")
def found(browser, address):
    """found(query) -> [(address, title)] of the results, as a reader sees them."""
    page = browser.new_page()
    assert load(page, address, "search.html") == []

    def ask(query):
        page.locator(".bd-search-container input[name=q]").fill(query)
        page.wait_for_timeout(200)  # the page waits for the end of typing
        links = page.locator("#search-results li > a")
        return links.evaluate_all("all => all.map(a => [a.href, a.textContent])")

    yield ask
    page.close()


@pytest.mark.parametrize("query", QUERIES)
def test_the_right_section_stands_first(found, query):
    file, title = QUERIES[query]
    href, said = found(query)[0]
    assert re.search(file, href) and re.search(title, said), f"{query!r} leads to {said!r}, {href}"


def test_results_are_sections(found, documents, address):
    """Each has an anchor that exists, but for the pages themselves."""
    for query in ("padding", "wavelength", "rope"):
        for href, title in found(query):
            name, _, anchor = href.removeprefix(f"{address}/").partition("#")
            assert not anchor or documents[name].find(id=anchor), f"{title}: {href}"


def test_words_that_are_nowhere_find_nothing(found):
    assert found("xyzzy") == []


def test_a_word_in_the_address_is_searched_and_marked(browser, address):
    page = browser.new_page()
    assert load(page, address, "search.html?q=wavelength") == []
    assert page.locator("#search-results li mark").first.inner_text().lower().startswith("wavel")
    page.close()
