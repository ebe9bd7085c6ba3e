"""Every chapter as a reader's browser shows it, on a desk and on two phones, light and dark."""

import pytest
from pages import NOTEBOOKS, looked_at


@pytest.mark.parametrize("chapter", NOTEBOOKS)
def test_every_chapter(browser, address, axe, chapter):
    audits = [(390, "light"), (1280, "dark")]
    problems = looked_at(browser, address, axe, f"{chapter}.html", audits)
    assert not problems, "\n".join(problems)
