"""Rules about what a page shows: the idea, in view; figures and tables, made by code that opens on
demand; checks, folded to the line that says what was checked.
"""

import ast
import itertools
import re
from statistics import median

from contract import syntax
from contract.notebook import LINK, headings, without_fences, without_maths
from contract.prose import folded

COLUMNS, IDEA_LINES, MEDIAN_LINES, FOLDED_LINES = 88, 12, 6, 25
IDEAS, MAIN_WORDS = 20, 3500
BALANCE = (40, 160)  # words on the main line for each idea, figure or table
APART = {"Common mistakes", "Exercises", "Further reading"}  # beside the main line
WORDS_A_MINUTE, MINUTES_A_CELL = 200, 0.5
QUESTIONS, TABLE_ROWS = 3, 3


def every_cell_has_its_kind(notebook):
    """An idea has no tag; what is made (hide-input) shows something; a check (hide-cell) asserts
    and shows nothing. What is folded begins with the words that stand for it.
    """
    for cell in notebook.code:
        if cell.role == "" or (cell.role == "set-up" and cell.source != notebook.setup):
            yield f"{cell}: the tags {cell.metadata.get('tags')} are none of the kinds of cells"
        if cell.role in ("made", "check") and not re.fullmatch(r"\S.*[^\s.]", cell.title):
            yield (
                f"{cell}: is folded, so its first line must be `# @title` and words without a full"
                " stop"
            )
        if cell.role == "check":
            if not cell.title.startswith("Check: "):
                yield f"{cell}: a check begins with `# @title Check: ` and what it checks"
            if not syntax.assertions(cell.tree):
                yield f"{cell}: is tagged as a check and asserts nothing"
            if cell.outputs:
                yield f"{cell}: a check shows nothing, since not every program folds what it shows"
        if cell.role == "made" and not cell.outputs and cell is not notebook.imports:
            yield f"{cell}: its code is folded and it shows nothing: is it an idea, or a check?"
    first = notebook.imports
    if first and (first.role, first.title) != ("made", "Imports"):
        yield "the import cell must be tagged hide-input and begin with `# @title Imports`"


def ideas_are_few_and_small(notebook):
    """At most 20 ideas of at most 12 lines, half of them 6 or less; all code fits the page. Blank
    lines do not count.
    """
    counts = [len(cell.lines) for cell in notebook.ideas]
    if len(counts) > IDEAS:
        yield f"{len(counts)} ideas; at most {IDEAS}: fold the checks, leave out the rest"
    if counts and median(counts) > MEDIAN_LINES:
        yield f"the median idea has {median(counts):g} lines; at most {MEDIAN_LINES}"
    for cell in notebook.python:
        limit = IDEA_LINES if cell in notebook.ideas else FOLDED_LINES
        if len(cell.lines) > limit:
            yield f"{cell}: has {len(cell.lines)} lines; at most {limit}: split it"
        for line in cell.lines:
            if len(line) > COLUMNS:
                yield f"{cell}: a line has {len(line)} columns, at most {COLUMNS} fit: {line[:60]}…"


def one_assert_an_idea(notebook):
    """At most one assert stands in view with an idea: the one that is the sentence."""
    for cell in notebook.ideas:
        count = len(syntax.assertions(cell.tree))
        if count > 1:
            yield f"{cell}: asserts {count} times: one may stay in view, the rest is a check"


def ideas_need_no_check(notebook):
    """No idea uses what only checks define: a reader may leave every check folded."""
    defined, checked = set(), set()
    for cell in notebook.python:
        if cell.role == "check":
            checked |= syntax.bound(cell.tree)
            continue
        defined |= syntax.bound(cell.tree)
        lost = sorted(syntax.names(cell.tree) & checked - defined)
        if lost and cell in notebook.ideas:
            yield f"{cell}: uses {', '.join(lost)}, which a folded check defines: define it in view"


def ideas_show_something_of_their_own(notebook):
    """No idea prints a sentence that is the same whatever the code does."""
    for cell in notebook.ideas:
        printed = [
            node
            for node in ast.walk(cell.tree or ast.Module([], []))
            if isinstance(node, ast.Call) and syntax.dotted(node.func) == "print"
        ]
        streams = all(output.output_type == "stream" for output in cell.outputs)
        if printed and streams and all(_fixed(call) for call in printed):
            yield f"{cell}: prints a fixed sentence: show a number, or make it a check"


def _fixed(call):
    return all(
        isinstance(argument, ast.Constant)
        or (
            isinstance(argument, ast.JoinedStr)
            and all(isinstance(value, ast.Constant) for value in argument.values)
        )
        for argument in call.args
    )


def results_are_tabulated(notebook):
    """What stands in columns is a table with headings, not printed and padded with spaces."""
    for cell in notebook.ideas:
        for kind, text in cell.texts:
            rows = re.findall(r"^ *[^\s\[].*\S {2,}\S", text, re.MULTILINE)
            if kind == "stdout" and len(rows) >= TABLE_ROWS:
                yield f"{cell}: prints {len(rows)} rows in columns: use sinpe.tables.table"


def drawings_are_tested_elsewhere(notebook):
    """A check asserts the data; that a figure draws them is for the tests of sinpe.figures."""
    for cell in notebook.python:
        for node in ast.walk(cell.tree):
            if isinstance(node, ast.Attribute) and (
                node.attr == "axes" or re.match(r"get_[a-z]*(?:data|height|array)$", node.attr)
            ):
                yield (
                    f"{cell}: `{ast.unparse(node)}` looks into a Matplotlib object: assert the data"
                    " that are drawn"
                )


def opens_with_question_answer_and_picture(notebook):
    """Before the first section: a question, the answer in a box of two or three sentences, and a
    picture that shows it.
    """
    where = notebook.cells.index(notebook.imports) + 1 if notebook.imports else 0
    ends = next(
        (
            i
            for i, cell in enumerate(notebook.cells)
            if cell.kind == "markdown" and any(level == 2 for level, _ in headings(cell.source))
        ),
        len(notebook.cells),
    )
    opening = notebook.cells[where : ends + 1]
    text = "\n\n".join(cell.source for cell in opening if cell.kind == "markdown")
    text = re.split(r"^## ", text, maxsplit=1, flags=re.MULTILINE)[0]
    question, box, _ = text.partition("> **In short.**")
    if not re.search(r"\?\**\s*\Z", question):
        yield "after the imports stands a question, and right below it the answer in a box"
    if not box:
        yield "there is no answer box: a block quotation that begins `> **In short.**`"
    else:
        answer = re.match(r"> \*\*In short\.\*\*((?:.*\n?(?=>))*.*)", text[len(question) :])[1]
        count = len(re.findall(r"[.?!](?=\s|$)", answer.replace("\n>", " ")))
        if count not in (2, 3):
            yield f"the answer box has {count} sentences; two or three"
    pictures = [
        cell
        for cell in opening
        if cell.kind == "code"
        and any({"image/svg+xml", "text/html"} & set(o.get("data", {})) for o in cell.outputs)
    ]
    if not pictures:
        yield "before the first section (## …) stands a picture that shows the answer"


def predictions_are_answered_out_of_sight(notebook):
    """Behind each **Predict** the answer is folded, and the idea right below does not assert it."""
    for i, cell in enumerate(notebook.cells):
        if cell.kind != "markdown":
            continue
        _, *prompts = re.split(r"^\*\*Predict\b", cell.source, flags=re.MULTILINE)
        for prompt in prompts:
            if not folded(prompt):
                yield f"{cell}: **Predict** without a folded answer below it, in the same cell"
        below = itertools.takewhile(lambda other: other.kind == "code", notebook.cells[i + 1 :])
        after = next((other for other in below if other in notebook.ideas), None)
        if prompts and after and syntax.assertions(after.tree):
            yield f"{after}: asserts what the reader was asked to predict: fold it into a check"


def readers_test_themselves(notebook):
    """## Test yourself asks three questions, numbered in bold, each with a folded answer."""
    text = without_fences(notebook.section_text("Test yourself"))
    found = re.findall(
        r"^\*\*(\d)\.\*\* (?:(?!\n\n).)+?\?\n\n<details><summary>", text, re.MULTILINE | re.DOTALL
    )
    if found != [str(n + 1) for n in range(QUESTIONS)] or len(folded(text)) != QUESTIONS:
        yield (
            f"## Test yourself has {len(folded(text))} folded answers and the questions"
            f" {', '.join(found) or 'none'}: write **1.** … to **{QUESTIONS}.** …?, each with its"
            " answer folded below it"
        )


def words(source):
    """The number of words of a Markdown text; a formula or a piece of code is one."""
    text = LINK.sub(r"\1", without_maths(source))
    text = re.sub(r"</?[a-z]+>", " ", text)
    return sum(bool(re.search(r"[\w␣]", word)) for word in text.split())


def main_words(notebook):
    """Words on the main line: exercises, common mistakes and further reading are beside it."""
    return words_of(notebook) - sum(words(notebook.section_text(title)) for title in APART)


def words_of(notebook):
    """Words of the whole chapter."""
    return sum(words(cell.source) for cell in notebook.markdown)


def minutes_to_read(notebook):
    """At 200 words a minute, exercises left out, and half a minute for each idea in code."""
    prose = words_of(notebook) - words(notebook.section_text("Exercises"))
    return prose / WORDS_A_MINUTE + MINUTES_A_CELL * len(notebook.ideas)


def fits_one_sitting(notebook):
    """At most 3 500 words on the main line, something to see every 40 to 160 of them, and the time
    that the chapter states is the time that it takes.
    """
    count = main_words(notebook)
    shown = len(notebook.ideas) + sum(
        cell.role == "made" and cell is not notebook.imports for cell in notebook.code
    )
    if count > MAIN_WORDS:
        yield f"{count} words on the main line; at most {MAIN_WORDS}"
    if not BALANCE[0] <= count / max(shown, 1) <= BALANCE[1]:
        yield (
            f"{count} words on the main line for {shown} ideas, figures and tables,"
            f" {count / max(shown, 1):.0f} for each; it should be {BALANCE[0]} to {BALANCE[1]}:"
            " less is a dump, more is a wall"
        )
    stated = re.search(r"\*\*Time[^*]*\*\*[^.]*?(\d+)[^.]*\bminutes?\b", notebook.cells[1].source)
    needed = minutes_to_read(notebook)
    if stated and abs(int(stated[1]) - needed) > max(3, needed / 5):
        yield f"**Time** says {stated[1]} minutes to read; by words and cells it is {needed:.0f}"


RULES = [
    every_cell_has_its_kind,
    ideas_are_few_and_small,
    one_assert_an_idea,
    ideas_need_no_check,
    ideas_show_something_of_their_own,
    results_are_tabulated,
    drawings_are_tested_elsewhere,
    opens_with_question_answer_and_picture,
    predictions_are_answered_out_of_sight,
    readers_test_themselves,
    fits_one_sitting,
]
