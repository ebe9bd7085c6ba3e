"""The sources of the lecture decks: what a lecturer can rely on, and that every number in them is
looked up.
"""

import json
import re
import shutil
from dataclasses import asdict
from pathlib import Path

import nbformat
import pytest
import slide_sources
import yaml
from bs4 import BeautifulSoup
from slide_sources import Course, Filler, NotThere, decks, read

ROOT = Path(__file__).resolve().parent.parent
SOURCES = decks()
HANDOUTS = sorted((ROOT / "book/slides").glob("*.handout.md"))
TEXTS = {path.name: path.read_text(encoding="utf-8") for path in [*SOURCES, *HANDOUTS]}
NAMES = (  # with digits that are no results
    r"\bT5\b|GPT-2|Llama [23]|\bb?float(16|32|64)\b|N\(0, 1\)|Exercise \d|chapter \d+|Column 7"
    r"|^\d\. "
)
SLIDE = """\
## A title

{body}

???
minutes: 2
ask: Why?
"""
FRONT = """\
---
title: T
part: Part I
chapters: "01"
minutes: 2
question: Q
---

"""


@pytest.fixture(scope="module")
def course():
    return Course()


@pytest.fixture(scope="module")
def lectures(course):
    return [read(path, course) for path in SOURCES]


def test_the_five_lectures_are_the_first_five_parts(lectures):
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    parts = [
        (
            part["caption"].partition(".")[0],
            " ".join(chapter["file"].partition("/")[2][:2] for chapter in part["chapters"]),
        )
        for part in toc["parts"]
        if part["caption"].startswith("Part ")
    ]
    assert [(d.front["part"], d.front["chapters"]) for d in lectures] == parts[:5]
    assert [path.stem for path in HANDOUTS] == [f"{path.stem}.handout" for path in SOURCES]


def test_each_has_15_to_25_slides_and_its_minutes_add_up(lectures):
    for deck in lectures:
        assert 15 <= len(deck.slides) + 1 <= 25, deck.name
        assert sum(s.notes["minutes"] for s in deck.slides) == deck.front["minutes"] == 45, (
            deck.name,
            sum(s.notes["minutes"] for s in deck.slides),
        )
        used = {slide.notes["from"][0] for slide in deck.slides}
        assert used == set(deck.front["chapters"].split()), deck.name


def test_a_prediction_is_asked_has_wrong_answers_and_is_answered_next(lectures):
    for deck in lectures:
        predictions = [slide for slide in deck.slides if slide.predict]
        assert len(predictions) >= 3, deck.name
        for slide, after in zip(deck.slides, [*deck.slides[1:], None], strict=True):
            assert not slide.predict or (
                {"ask", "wrong"} <= set(slide.notes) and after and not after.predict
            ), f"{deck.name}: {slide.title}"
            assert {"ask", "say"} & set(slide.notes), f"{deck.name}: {slide.title}"


def test_a_slide_is_no_wall_of_text(lectures):
    for deck in lectures:
        for slide in deck.slides:
            text = re.sub(r"<table>.*?</table>|\$\$.*?\$\$|```.*?```", "", "\n".join(slide.columns))
            assert len(text.split()) <= 62, f"{deck.name}: {slide.title}: {len(text.split())} words"


def typed(text):
    """Digits that somebody typed: not looked up, in code, in a formula without decimals, in a link,
    in a name, in the row of a list or in a wrong answer.
    """
    text = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)
    text = re.sub(r"^(minutes|from): .*$|^wrong: (.*\n)", "", text, flags=re.MULTILINE)
    text = re.sub(r"\[\[.+?\]\]", "", text, flags=re.DOTALL)
    formulas = re.findall(r"\$\$.+?\$\$|\$[^$\n]+\$", text, re.DOTALL)
    text = re.sub(r"\$\$.+?\$\$|\$[^$\n]+\$", "", text, flags=re.DOTALL)
    text = re.sub(
        r"```.*?```|`[^`\n]+`|\]\([^)]*\)|\(fig-[\w-]+\)|<[^>]+>", "", text, flags=re.DOTALL
    )
    text = re.sub(NAMES, "", text, flags=re.MULTILINE)
    return re.findall(r"[^\n]*\d[^\n]*", text) + [f for f in formulas if re.search(r"\d\.\d", f)]


@pytest.mark.parametrize("name", TEXTS)
def test_no_number_is_typed(name):
    assert typed(TEXTS[name]) == []


@pytest.mark.parametrize("wrong", ["It is 67 % of it.", "$0.36$ nats", "- 12 of 36 pairs"])
def test_a_number_that_is_typed_would_be_found(wrong):
    assert typed(FRONT + SLIDE.format(body=wrong)) != []


def stored(cell):
    """The rows of a stored table, read from its HTML, which the decks do not read."""
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        for there in nbformat.read(path, as_version=4).cells:
            if there.id == cell:
                html = next(o.data["text/html"] for o in there.outputs if "data" in o)
                rows = BeautifulSoup(html, "html.parser").select("tr")
                return [[c.get_text().strip() for c in row.select("th, td")] for row in rows]
    raise AssertionError(cell)


def test_what_is_looked_up_is_what_the_page_shows(course):
    found = 0
    for text in TEXTS.values():
        for cell, row, column in re.findall(r"\[\[cell (\S+) \| ([^|]+) \| ([^|\]]+)\]\]", text):
            headings, *rows = stored(cell)
            (line,) = [line for line in rows if line[0] == row]
            name = f"[[cell {cell} | {row} | {column}]]"
            assert Filler(course).fill(name) == line[headings.index(column)], name
            found += 1
    assert found >= 2


def test_a_table_is_the_stored_one_with_the_columns_and_rows_that_are_named(course):
    html = Filler(course).fill(
        "[[table comparison-55 | method; at 1024; loss at 64 | alibi; rope]]"
    )
    shown = [
        [cell.get_text() for cell in row.select("th, td")]
        for row in BeautifulSoup(html, "html.parser").select("tr")
    ]
    headings, *rows = stored("comparison-55")
    places = [headings.index(name) for name in ("method", "at 1024", "loss at 64")]
    wanted = [next(row for row in rows if row[0] == name) for name in ("alibi", "rope")]
    assert shown == [[row[place] for place in places] for row in [headings, *wanted]]


def test_a_number_changes_with_the_notebook(tmp_path):
    (tmp_path / "notebooks").mkdir()
    path = ROOT / "notebooks/02_deriving_the_formula.ipynb"
    shutil.copy(path, tmp_path / "notebooks")
    copy = tmp_path / "notebooks" / path.name
    name = "[[cell deriving-the-formula-61 | 512 | longest wave (positions)]]"
    before = Filler(Course(tmp_path)).fill(name)
    text = copy.read_text(encoding="utf-8")
    assert before in text
    copy.write_text(text.replace(before, "12,345"), encoding="utf-8")
    assert Filler(Course(tmp_path)).fill(name) == "12,345" != before


def test_a_number_of_the_study_is_that_of_its_records(course):
    from sinpe.experiments import get_study, load_records

    study = get_study("mechanism")
    (pair,) = [c for c in study.comparisons if c.name == "post: LF - QS"]
    losses = {"LF": {}, "QS": {}}
    for cell in (*pair.these, *pair.those):
        config = json.loads(json.dumps(asdict(cell.config))) | {"seed": None}
        for record in load_records(study):
            if record["config"] | {"seed": None} == config:
                losses[cell.arm][record["seed"]] = record["metrics"]["test_loss"]
    pairs = losses["LF"].keys() & losses["QS"].keys()
    assert len(pairs) >= 16
    mean = sum(losses["LF"][seed] - losses["QS"][seed] for seed in pairs) / len(pairs)
    assert Filler(course).fill("[[by post: LF - QS]]").startswith(f"{-mean:.2f} (")


BROKEN = {
    "![](fig-01-nothing)": "no notebook stores a figure called fig-01-nothing",
    "[[cell no-cell | 4 | width]]": "no notebook has a cell no-cell",
    "[[cell deriving-the-formula-61 | 5 | width]]": "has 0 rows '5'",
    "[[cell deriving-the-formula-61 | 4 | height]]": "has no column 'height'",
    "[[cell deriving-the-formula-15 | 4 | width]]": "stores no table",
    "[[table deriving-the-formula-61 | width; height]]": "has no column 'height'",
    "[[table deriving-the-formula-61 | width | 4; 5]]": "has not one row '5'",
    "[[out deriving-the-formula-61 | (.+)]]": "prints nothing",
    "[[out deriving-the-formula-15 | two (.+)]]": "does not match 'two (.+)'",
    "[[expect comparison-16 | rope | verdict | open]]": "rests on 'open', and it says 'worse'",
    "[[expect deriving-the-formula-15 | position 7]]": "no longer matches 'position 7'",
    "[[by post: LF - XX]]": "has no [[by post: LF - XX]]",
    "[[amount post: LF - QS]]": "has no [[amount post: LF - QS]]",
    "[[holds higher post: LF - QS]]": "no longer holds",
}


@pytest.mark.parametrize("body", BROKEN)
def test_what_is_not_there_stops_the_build_and_is_named(tmp_path, course, body):
    deck = tmp_path / "9_deck.md"
    deck.write_text(FRONT + SLIDE.format(body=body), encoding="utf-8")
    with pytest.raises(NotThere) as stop:
        read(deck, course)
    said = str(stop.value)
    assert said.startswith("book/slides/9_deck.md, slide 1 (A title): ") and BROKEN[body] in said


@pytest.mark.parametrize(
    "change, said",
    [
        (("???", ""), "no notes behind a line ???"),
        (("minutes: 2\nask", "ask"), "no line `minutes: `"),
        (("minutes: 2\nask: Why?\n", "Ask the room\n"), "notes begin with one of"),
        (("## A title", "A title"), "no title"),
        (("ask: Why?", "from: 02#no-such-heading"), "no heading 02#no-such-heading"),
    ],
)
def test_a_slide_that_is_written_wrongly_is_named(tmp_path, course, change, said):
    deck = tmp_path / "9_deck.md"
    slide = SLIDE.format(body="Text.")
    assert change[0] in slide
    deck.write_text(FRONT + slide.replace(*change), encoding="utf-8")
    with pytest.raises(NotThere, match="9_deck.md, slide 1 ") as stop:
        read(deck, course)
    assert said in str(stop.value)


def test_the_lecturing_page_names_every_deck_with_its_minutes(lectures):
    page = (ROOT / "book/lecturing.md").read_text(encoding="utf-8")
    for deck in lectures:
        (row,) = [line for line in page.splitlines() if f"/slides/{deck.name}.html)" in line]
        title, part, chapters, minutes, *_ = [cell.strip() for cell in row.split("|")[1:-1]]
        assert title.startswith(f"[{deck.front['title']}](")
        assert f"Part {part}" == deck.front["part"] and int(minutes) == deck.front["minutes"]
        assert chapters.split(", ") == [str(int(n)) for n in deck.front["chapters"].split()]
        for ending in (".pdf", "_notes.pdf", "_handout.pdf"):
            assert f"/slides/{deck.name}{ending})" in row


def test_the_guide_for_authors_names_every_way_to_look_something_up():
    guide = (ROOT / "book/slides/README.md").read_text(encoding="utf-8")
    for kind in Filler(None).kinds:
        assert f"[[{kind} ID" in guide
    assert all(f"`{key}`" in guide or f"{key}:" in guide for key in slide_sources.NOTES)
