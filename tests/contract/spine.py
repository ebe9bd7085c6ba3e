"""Rules about the shape of a chapter: how it opens, how it closes, and what an exercise is
made of.
"""

import ast
import re

from contract import syntax
from contract.notebook import links

CLOSING = [
    "Common mistakes",
    "In real code",
    "Exercises",
    "Test yourself",
    "Recap",
    "Further reading",
]
SOLUTION = {
    "tags": ["hide-cell"],
    "cellView": "form",
    "jupyter": {"source_hidden": True},
    "mystnb": {"code_prompt_show": "Show the solution", "code_prompt_hide": "Hide the solution"},
}
GOALS, EXERCISES = range(3, 6), range(3, 6)


def launch_line(notebook):
    """The line that opens this notebook in Binder and in Colab."""
    repository, branch, name = notebook.course.repository, notebook.course.branch, notebook.name
    return (
        "Run it:"
        f" [Binder](https://mybinder.org/v2/gh/{repository}/{branch}"
        f"?urlpath=lab/tree/notebooks/{name}) · "
        f"[Colab](https://colab.research.google.com/github/{repository}/blob/{branch}/notebooks/{name})"
    )


def items(text):
    """The top-level items of the lists in a Markdown text."""
    return re.findall(r"^(?:[-*+]|\d+[.)])[ \t]+(.+)$", text, re.MULTILINE)


def _goals(notebook):
    """The items below **You will be able to**, up to the next bold heading."""
    text = notebook.cells[1].source if len(notebook.cells) > 1 else ""
    found = re.search(
        r"\*\*You will be able to[^*]*\*\*(.*?)(?=^\*\*|\Z)", text, re.DOTALL | re.MULTILINE
    )
    return items(found[1]) if found else []


def opens_with_title_and_launch_links(notebook):
    """First cell: the title, one sentence that says what the reader will have, the launch links."""
    if not notebook.cells or notebook.cells[0].kind != "markdown":
        yield "the first cell must be Markdown: # Title, one sentence, the launch links"
        return
    parts = [part.strip() for part in notebook.cells[0].source.split("\n\n") if part.strip()]
    if parts[-1] != launch_line(notebook):
        yield (
            f"{notebook.cells[0]}: its last paragraph must be exactly:\n    {launch_line(notebook)}"
        )
    if len(parts) < 3 or not parts[1].endswith((".", "?")):
        yield (
            f"{notebook.cells[0]}: between title and launch links stands one sentence that says"
            " what the reader will have"
        )


def says_what_it_teaches(notebook):
    """Second cell: what the reader will be able to do, what it takes, how long it lasts."""
    text = (
        notebook.cells[1].source
        if len(notebook.cells) > 1 and notebook.cells[1].kind == "markdown"
        else ""
    )
    for words in ("You will be able to", "You need", "Time"):
        if not re.search(rf"\*\*{words}[^*]*\*\*", text):
            yield f"the second cell must be Markdown and say **{words}**"
    if len(_goals(notebook)) not in GOALS:
        yield (
            f"**You will be able to** has {len(_goals(notebook))} list items; 3 to 5 things that a"
            " test could ask"
        )
    time = re.search(r"\*\*Time[^*]*\*\*(.*)", text)
    if time and not (
        re.search(r"\d+[^.]*\bminutes?\b", time[1]) and re.search(r"\d+[^.]*\bseconds?\b", time[1])
    ):
        yield "**Time** must give minutes to read and seconds to run"


def set_up_cell(notebook):
    """The first code cell installs sinpe where that is missing and does nothing elsewhere; the site
    leaves it out.
    """
    first = notebook.code[0] if notebook.code else None
    if first is None or first.source != notebook.setup:
        yield "the first code cell must be exactly:\n" + "\n".join(
            f"    {line}" for line in notebook.setup.splitlines()
        )
        return
    if first.metadata.get("tags") != ["remove-cell"]:
        yield f"{first}: its tags must be ['remove-cell']"
    if notebook.cells.index(first) != 2:
        yield f"{first}: must be the third cell, after the title and **You will be able to**"
    for cell in notebook.code[1:]:
        if cell.source == notebook.setup:
            yield f"{cell}: the set-up cell stands twice"


def closes_like_every_chapter(notebook):
    """The last sections are the same in every chapter, in the same order."""
    found = [text for level, text, _ in notebook.headings if level == 2]
    if found[-len(CLOSING) :] != CLOSING:
        yield (
            f"the last headings of level 2 are {', '.join(found[-len(CLOSING) :]) or 'missing'};"
            f" they must be {', '.join(CLOSING)}"
        )
    if len(found) < len(CLOSING) + 2:
        yield (
            f"{len(found)} headings of level 2: before the closing ones a chapter has sections of"
            " its own"
        )


def lets_the_reader_predict(notebook):
    """Before a surprising result the reader commits to an answer."""
    if not any(re.search(r"\*\*Predict\b", cell.source) for cell in notebook.markdown):
        yield "no **Predict** prompt: before a surprising result, ask the reader for an answer"


def mistakes_have_a_check(notebook):
    """The common mistakes are run, and a check catches them."""
    cells = [cell for cell in notebook.section("Common mistakes") if cell.kind == "code"]
    if not any(syntax.assertions(cell.tree) for cell in cells):
        yield (
            "## Common mistakes asserts nothing: each mistake stands with the check that catches it"
        )


def real_code_is_linked(notebook):
    """What published implementations do can be read there."""
    if not any(
        target.startswith("https://") for _, target in links(notebook.section_text("In real code"))
    ):
        yield "## In real code links to no code"


def exercises_can_be_done(notebook):
    """3 to 5 exercises, each: text, a stub whose check says “Not attempted”, a folded solution that
    passes the same check.
    """
    section = notebook.section("Exercises")
    groups, group = [], None
    for cell in section:
        for level, text, _ in [h for h in notebook.headings if h[2] is cell]:
            if level == 3:
                group = (text, cell, [])
                groups.append(group)
        if cell.kind == "code":
            if group is None:
                yield f"{cell}: code before the first ### Exercise"
            else:
                group[2].append(cell)
    if len(groups) not in EXERCISES:
        yield f"{len(groups)} exercises; 3 to 5, from reading to building"
    for number, (title, cell, code) in enumerate(groups, 1):
        if not re.match(rf"Exercise {number}: \S", title):
            yield f"{cell}: the heading must be “### Exercise {number}: …”"
        if len(code) != 2:
            yield (
                f"{cell}: has {len(code)} code cells; an exercise has two: the stub and the"
                " solution"
            )
            continue
        yield from _stub_faults(code[0])
        yield from _solution_faults(code[1], _stub_check(code[0]))


def _check_called(statement):
    """The name in exercises.check_…(…), shown as a value or asserted; "" for any other
    statement.
    """
    call = (
        statement.value
        if isinstance(statement, ast.Expr)
        else statement.test
        if isinstance(statement, ast.Assert)
        else None
    )
    name = syntax.dotted(call.func) if isinstance(call, ast.Call) else ""
    return name if name.startswith("exercises.check_") else ""


def _stub_check(cell):
    """The check that a stub ends with."""
    return _check_called(cell.tree.body[-1]) if cell.tree is not None and cell.tree.body else ""


def _stub_faults(cell):
    if not _stub_check(cell):
        yield f"{cell}: the stub must end in the check as last expression: exercises.check_…(…)"
    if cell.tree is None or not any(
        isinstance(node, ast.Constant) and node.value is Ellipsis for node in ast.walk(cell.tree)
    ):
        yield f"{cell}: the stub must leave `...` for the reader to fill in"
    shown = [text for kind, text in cell.texts if kind == "text/plain"]
    if len(cell.outputs) != 1 or len(shown) != 1 or not shown[0].startswith("Not attempted"):
        yield (
            f"{cell}: the stub must show “Not attempted: …” and nothing else, not"
            f" {shown[0][:60] if shown else 'nothing'!r}"
        )


def _solution_faults(cell, check):
    if not cell.is_solution:
        yield f"{cell}: the solution's first line must be `# @title Solution`"
    for key, value in SOLUTION.items():
        if cell.metadata.get(key) != value:
            yield (
                f"{cell}: the solution's metadata {key!r} is {cell.metadata.get(key)!r}; it must be"
                f" {value!r}"
            )
    body = cell.tree.body if cell.tree is not None else []
    checks = [
        _check_called(statement)
        for statement in body
        if isinstance(statement, ast.Assert) and _check_called(statement)
    ]
    if not checks or not isinstance(body[-1], ast.Assert):
        yield f"{cell}: the solution must hold `assert exercises.check_…(…)` and end in an assert"
    elif check and check not in checks:
        yield f"{cell}: the solution asserts {checks[0]}, the stub calls {check}: use the same"


def solutions_stand_in_exercises(notebook):
    """A folded solution belongs to an exercise."""
    inside = notebook.section("Exercises")
    for cell in notebook.code:
        if cell.is_solution and cell not in inside:
            yield f"{cell}: a solution outside ## Exercises"


def recap_mirrors_the_goals(notebook):
    """The recap answers each thing that the chapter promised, one for one."""
    answers, goals = items(notebook.section_text("Recap")), _goals(notebook)
    if len(answers) != len(goals):
        yield (
            f"## Recap has {len(answers)} list items, **You will be able to** has {len(goals)}: one"
            " for each"
        )


def further_reading_is_dated_and_linked(notebook):
    """Each source: author, year, link, and one sentence on why to read it."""
    entries = items(notebook.section_text("Further reading"))
    if not entries:
        yield "## Further reading must be a list"
    for entry in entries:
        if not any(target.startswith("https://") for _, target in links(entry)):
            yield f"Further reading: no link in “{entry[:60]}…”"
        if not re.search(r"\b(?:1[6-9]|20)\d\d\b", re.sub(r"\]\([^)]*\)", "]", entry)):
            yield f"Further reading: no year in “{entry[:60]}…”"


RULES = [
    opens_with_title_and_launch_links,
    says_what_it_teaches,
    set_up_cell,
    closes_like_every_chapter,
    lets_the_reader_predict,
    mistakes_have_a_check,
    real_code_is_linked,
    exercises_can_be_done,
    solutions_stand_in_exercises,
    recap_mirrors_the_goals,
    further_reading_is_dated_and_linked,
]
