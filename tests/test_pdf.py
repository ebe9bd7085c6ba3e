"""The whole book as one PDF: every page of the course is a bookmark, links lead to places that
exist, nothing is cut at the margin, and the solutions stand at the end.
"""

import json
import re
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import build_pdf
import build_site


def plain(text):
    """Without the number of a section, and without spaces: Chromium drops them where a heading goes
    on in the next line.
    """
    return "".join(re.sub(r"^[\d.]+\s", "", text).split())


def first_heading(page):
    notebook = ROOT / f"{page}.ipynb"
    if notebook.is_file():
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        text = "".join(cells[0]["source"])
    else:
        text = (ROOT / f"{page}.md").read_text(encoding="utf-8")
    return plain(re.search(r"^# (.+)$", text, re.MULTILINE)[1])


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    from browser import chromium

    with chromium():  # skips, or fails in CI, where there is no browser
        pass
    folder = tmp_path_factory.mktemp("pdf")
    build_pdf.main(str(folder))
    import pypdf

    return pypdf.PdfReader(folder / "_build" / build_pdf.NAME)


def bookmarks(entries, depth=0):
    for entry in entries:
        if isinstance(entry, list):
            yield from bookmarks(entry, depth + 1)
        else:
            yield depth, plain(entry.title)


def test_every_page_of_the_course_is_a_bookmark(printed):
    found = [title for _, title in bookmarks(printed.outline)]
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    missing = [page for page in build_site.pages(toc) if first_heading(page) not in found]
    assert missing == []
    assert found[-1].startswith("Exercise") and "Solutionsoftheexercises" in found
    assert plain(printed.metadata.title) == first_heading(toc["root"])


def test_solutions_stand_at_the_end_and_nowhere_else(printed):
    chapters = sorted((ROOT / "notebooks").glob("*.ipynb"))
    planned = sum(
        "".join(cell["source"]).startswith("# @title Solution")
        for path in chapters
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
    )
    titles = [title for _, title in bookmarks(printed.outline)]
    start = titles.index("Solutionsoftheexercises")
    assert len(titles) - start - 1 == planned > 70
    texts = [page.extract_text() for page in printed.pages]
    [first] = [i for i, text in enumerate(texts) if "Solutions of the exercises" in text]
    pointers = sum(text.count("The solution stands at the end") for text in texts[:first])
    assert pointers == planned and not any("stands at the end" in text for text in texts[first:])


def test_links_inside_the_book_lead_somewhere(printed):
    named, inside, outside = set(printed.named_destinations), [], 0
    for page in printed.pages:
        for note in page.get("/Annots") or []:
            note = note.get_object()
            target = note.get("/Dest") or note.get("/A", {}).get("/D")
            if target is not None:
                inside.append(target)
            elif "/URI" in note.get("/A", {}):
                outside += 1
                assert not note["/A"]["/URI"].startswith("file:"), note["/A"]["/URI"]
    assert len(inside) > 500 and outside > 200
    broken = {str(t).lstrip("/") for t in inside if isinstance(t, str)}
    assert {t for t in broken if t not in named and f"/{t}" not in named} == set()


def test_nothing_is_left_of_the_fold_but_the_checks(printed):
    text = "\n".join(page.extract_text() for page in printed.pages)
    assert "Checked: " in text and "@title" not in text
