"""The questions of readers and the plans of lecturers: complete, linked to sections that exist and
compute, with minutes that add up.
"""

import re
import runpy
from pathlib import Path

import nbformat
import pytest

import sinpe.exercises

ROOT = Path(__file__).resolve().parent.parent
TEXTS = {
    page: (ROOT / "book" / page).read_text(encoding="utf-8")
    for page in ("questions.md", "lecturing.md")
}
ANSWERS = dict(
    re.findall(r"^### ([^\n]+)\n\n(.*?)(?=^##|\Z)", TEXTS["questions.md"], re.MULTILINE | re.DOTALL)
)
LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
QUESTIONS = [  # what readers ask, each in a few words of its heading
    r"multiply .* divide",
    r"forgot the factor",
    r"no code is added, as in Gemma",
    r"factor .* LayerNorm",
    r"fails with the factor and without it",
    r"add and not concatenate\? .* destroy the word",
    r"figure and the formula do not match",
    r"sine and cosine, and not one",
    r"Why 10000",
    r"regress PE\(p \+ k\) on PE\(p\)",
    r"rows of the output keep the order",
    r"batches share one position",
    r"odd width",
    r"longer than the table",
    r"Padding on the left.* position ids",
    r"in real code, and why .*`exp\(-log",
    r"beyond the training length",
    r"RoPE is said to extrapolate, and mine does not",
    r"Which RoPE pairing is right",
    r"ALiBi in an encoder, or in cross-attention",
    r"half precision .* long positions",
    r"still used",
    r"Which one should I use",
    r"differ from a learned table, and which is better",
    r"`nn.TransformerEncoder` add positions",
    r"size mismatch for pos_encoder.pe",
    r"time stamps are irregular",
    r"Packing several texts",
    r"SDPA, FlexAttention, FlashAttention",
    r"T5 a bias in cross-attention",
    r"grouped queries: which permutation for K",
    r"stored key change when a token is added",
    r"Tokens leave the cache",
    r"float64, and my Apple GPU",
    r"resize the position table of a ViT",
    r"rows and columns: which axis comes first",
    r"image in a text .*: how are its positions counted",
    r"Which base for a longer context",
    r"switch YaRN on in a server",
    r"YaRN in sliding-window layers",
    r"`attention_factor`, `mscale`, `mscale_all_dim`",
]


def slug(title):
    """The anchor that Markdown programs make of a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def sections(path):
    """{anchor: (title, code)} of a notebook; a section goes on until a heading of its own level or
    a higher one.
    """
    found, open_sections = {}, []
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code":
            for _, anchor in open_sections:
                found[anchor] = (found[anchor][0], found[anchor][1] + cell.source + "\n")
            continue
        for marks, title in re.findall(r"^(#+) (.+)$", cell.source, re.MULTILINE):
            open_sections = [
                (level, anchor) for level, anchor in open_sections if level < len(marks)
            ] + [(len(marks), slug(title))]
            assert slug(title) not in found, f"{path.name}: two sections called {title}"
            found[slug(title)] = (title, "")
    return found


FIGURES = {
    cell.metadata["mystnb"]["figure"]["name"]: path.name[:2]
    for path in sorted((ROOT / "notebooks").glob("*.ipynb"))
    for cell in nbformat.read(path, as_version=4).cells
    if "figure" in cell.metadata.get("mystnb", {})
}
CHAPTERS = {path.name: sections(path) for path in sorted((ROOT / "notebooks").glob("*.ipynb"))}


def section(link):
    """(title, code) of the section of a chapter that a link of book/ points to; None for another
    link.
    """
    chapter = re.fullmatch(r"\.\./notebooks/(\w+\.ipynb)#(.+)", link)
    return CHAPTERS[chapter[1]][chapter[2]] if chapter else None


def python(page):
    return re.findall(r"^```python\n(.*?)^```", TEXTS[page], re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", TEXTS)
def test_every_link_and_anchor_resolves(page):
    for text, link in LINK.findall(TEXTS[page]):
        path, _, anchor = link.partition("#")
        if "://" in link:
            continue
        if not path:  # the label of a figure
            assert anchor in FIGURES, f"{text}: {link}"
            continue
        assert (ROOT / "book" / path).is_file(), f"{text}: {link}"
        if path.endswith(".ipynb"):
            assert anchor in CHAPTERS[Path(path).name] or not anchor, f"{text}: {link}"
        elif anchor:
            other = (ROOT / "book" / path).read_text(encoding="utf-8")
            assert anchor in map(slug, re.findall(r"^#+ (.+)$", other, re.MULTILINE)), (
                f"{text}: {link}"
            )


def test_the_first_page_leads_to_both():
    index = [
        link for _, link in LINK.findall((ROOT / "book" / "index.md").read_text(encoding="utf-8"))
    ]
    assert set(TEXTS) <= set(index)


# --- questions


def test_every_question_is_there_once():
    assert len(ANSWERS) == TEXTS["questions.md"].count("\n### ") == len(QUESTIONS) == 41
    places = [[title for title in ANSWERS if re.search(question, title)] for question in QUESTIONS]
    assert [
        (question, titles)
        for question, titles in zip(QUESTIONS, places, strict=True)
        if len(titles) != 1
    ] == []
    assert {titles[0] for titles in places} == set(ANSWERS)


@pytest.mark.parametrize("question", ANSWERS)
def test_an_answer_is_short_and_links_to_cells_that_check_it(question):
    answer, _, proof = ANSWERS[question].partition("\n\nShown in ")
    sentences = re.findall(r"[.?!](?=\s+[“*A-Z]|\s*$)", answer)
    assert 2 <= len(sentences) <= 5 and "](" not in answer, f"{len(sentences)} sentences"
    links = [section(link) for _, link in LINK.findall(proof)]
    assert links and all(links), "only sections of chapters are proof"
    assert any("assert" in code for _, code in links), "no linked section checks anything"


def test_the_lines_beside_an_answer_run_by_themselves(tmp_path):
    """Each block alone, with warnings as errors, as in every test."""
    blocks = python("questions.md")
    assert len(blocks) >= 10
    for number, code in enumerate(blocks):
        # what a page shows without scrolling
        assert "assert" in code and max(map(len, code.splitlines())) <= 96, code
        lines = tmp_path / f"block{number}.py"
        lines.write_text(code, encoding="utf-8")
        runpy.run_path(str(lines))


# --- lectures


def plans():
    """[(heading of the second level, rows)], one for each table of a plan; a row is its
    four cells.
    """
    found = []
    for part in re.split(r"^## ", TEXTS["lecturing.md"], flags=re.MULTILINE)[1:]:
        for table in re.findall(r"^\| Min \|.*\n\|[-:| ]+\n((?:\|.*\n)+)", part, re.MULTILINE):
            found.append(
                (
                    part.splitlines()[0],
                    [[cell.strip() for cell in row.split("|")[1:-1]] for row in table.splitlines()],
                )
            )
    return found


def test_the_minutes_of_each_lecture_add_up():
    stated = [
        (int(re.search(r"(\d+) minutes", title)[1]), sum(int(row[0]) for row in rows))
        for title, rows in plans()
    ]
    assert stated == [(45, 45), (60, 60), (90, 90), (90, 90), (90, 90), (90, 90)]
    assert sum(title.startswith("Three times") for title, _ in plans()) == 3


def test_each_block_shows_sections_and_names_their_chapters():
    for _, rows in plans():
        for _, show, screen, ask in rows:
            links = LINK.findall(show)
            assert links and all(section(link) for _, link in links) and screen and ask, show
            chapters = {str(int(re.search(r"/(\d\d)_", link)[1])) for _, link in links}
            assert set(re.findall(r" \((\d+)\)", show)) == chapters, show


def test_the_exercises_that_are_set_exist_and_have_a_time():
    text_of_lectures = " ".join(TEXTS["lecturing.md"].split())
    links = [(text, link) for text, link in LINK.findall(text_of_lectures) if "#exercise-" in link]
    assert (
        len({link for _, link in links}) >= 8
        and {text for text, _ in links if "Exercise" not in text} == set()
    )
    in_plans = [link for _, rows in plans() for row in rows for link in LINK.findall(row[1])]
    for text, link in links:
        title, code = section(link)
        assert text == title and "exercises.check_" in code and "# @title Solution" in code, text
        timed = re.search(re.escape(f"]({link}) (") + r"\d+( minutes)?\)", text_of_lectures)
        assert timed or (text, link) in in_plans, text


def test_the_seconds_are_those_of_the_chapters():
    table = re.search(
        r"^\| Seconds \|(.*)\|\n.*\n\| Chapters \|(.*)\|$", TEXTS["lecturing.md"], re.MULTILINE
    )
    columns = zip(*(row.split("|") for row in table.groups()), strict=True)
    listed = [
        (int(chapter), int(seconds))
        for seconds, chapters in columns
        for chapter in chapters.split(",")
    ]
    stated = {}
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        text = "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells[:3])
        stated[int(path.name[:2])] = int(re.search(r"\*\*Time\*\*.*?(\d+) seconds to run", text)[1])
    assert len(listed) == len(dict(listed)), "book/lecturing.md: a chapter stands twice"
    for chapter, seconds in stated.items():
        assert dict(listed).get(chapter) == seconds, (
            f"book/lecturing.md: in the table of seconds, chapter {chapter} stands under {seconds}"
        )
    assert set(dict(listed)) == set(stated), "book/lecturing.md: its table lists no other chapters"


def test_what_is_on_the_screen_is_led_to():
    """A link for all but the board, the notebook and the first page's clocks; to the chapters of
    that block alone.
    """
    for _, rows in plans():
        for _, show, screen, _ in rows:
            links = [link for _, link in LINK.findall(screen)]
            assert links or screen in ("the board", "the notebook"), screen
            chapters = set(re.findall(r" \((\d+)\)", show))
            for link in links:
                there = FIGURES.get(link.removeprefix("#")) or re.search(r"/(\d\d)_|$", link)[1]
                assert there is None or str(int(there)) in chapters, f"{show}: {screen}"


def test_the_checks_that_are_named_exist():
    assert all(
        hasattr(sinpe.exercises, name)
        for name in re.findall(r"exercises\.(\w+)", TEXTS["lecturing.md"])
    )
