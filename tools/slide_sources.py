"""Read a deck of book/slides and fill in what the course has computed.

A deck is Markdown: front matter, slides between lines of `---`, and at the end of a slide, behind a
line `???`, the notes of the speaker. book/slides/README.md says how to write one. Between [[ and ]]
stands what is looked up, never typed:

    [[cell ID | row | column]]      a cell of a table that the notebook cell ID has stored
    [[out ID | pattern]]            what the first group of the pattern finds in its printed output
    [[table ID | columns | rows]]   the table, or some columns and rows of it, between semicolons
    [[expect ID | row | column | value]], [[expect ID | pattern]]
                                    nothing, but the build stops where this no longer holds
    anything else                   a number or a verdict of the study, as in tools/paper.md

A figure is a picture whose address is its label, `![](fig-01-weights)`. What does not exist stops
the build with the file, the slide and the name.
"""

import re
from dataclasses import dataclass, field
from functools import cache
from html import escape
from pathlib import Path

import nbformat
import yaml

ROOT = Path(__file__).resolve().parent.parent
SLIDES = ROOT / "book" / "slides"
LOOKED_UP = re.compile(r"\[\[(.+?)\]\]", re.DOTALL)
FIGURE = re.compile(r"!\[([^\]]*)\]\((fig-[\w-]+)\)")
NOTES = ("minutes", "from", "ask", "wrong", "say")
FRONT = ("title", "part", "chapters", "minutes", "question")
NUMERIC = re.compile(r"≈?[-−+±]?\d[\d,.]*( ?±.*)?%?$|–$")


class NotThere(Exception):
    """Something that a slide names and the course does not have."""


@dataclass
class Slide:
    """A slide: its title, its Markdown with everything filled in, and what its notes say.

    left, right: the Markdown, in two columns where a line of `|||` divides it.
    notes: {minutes, from, ask, wrong, say}, those that are there; from: (chapter, heading).
    """

    title: str
    columns: list
    notes: dict
    predict: bool = False


@dataclass
class Deck:
    """The slides of one lecture, and its front matter."""

    name: str
    front: dict
    slides: list = field(default_factory=list)


class Course:
    """What the notebooks have stored: figures by label, outputs by the id of their cell."""

    def __init__(self, root=ROOT):
        self.figures, self.outputs, self.headings, self.names = {}, {}, {}, {}
        for path in sorted((root / "notebooks").glob("[0-9][0-9]_*.ipynb")):
            chapter = path.stem[:2]
            self.names[chapter], self.headings[chapter] = path.stem, {}
            for cell in nbformat.read(path, as_version=4).cells:
                if cell.cell_type == "markdown":
                    for title in re.findall(r"^#+ (.+)$", cell.source, re.MULTILINE):
                        self.headings[chapter][slug(title)] = title
                    continue
                self.outputs[cell.id] = cell.outputs
                figure = cell.metadata.get("mystnb", {}).get("figure", {})
                for output in cell.outputs:
                    if "image/svg+xml" in output.get("data", {}) and figure.get("name"):
                        self.figures[figure["name"]] = Figure(
                            figure["name"],
                            chapter,
                            output.data["image/svg+xml"],
                            output.data["image/png"],
                            figure["caption"],
                            cell.metadata["mystnb"]["image"]["alt"],
                        )

    def figure(self, name):
        """The figure with this label."""
        if name not in self.figures:
            raise NotThere(f"no notebook stores a figure called {name}")
        return self.figures[name]

    def table(self, cell):
        """(caption, headings, rows) of the table that a cell stores."""
        for output in self._outputs(cell):
            lines = output.get("data", {}).get("text/plain", "").splitlines()
            if "text/html" in output.get("data", {}) and len(lines) > 2:
                headings = lines[1].split(" | ")
                return lines[0], headings, [line.split(" | ") for line in lines[2:]]
        raise NotThere(f"cell {cell} stores no table")

    def printed(self, cell):
        """What a cell prints."""
        text = "".join(o.text for o in self._outputs(cell) if o.output_type == "stream")
        if not text:
            raise NotThere(f"cell {cell} prints nothing")
        return text

    def heading(self, where):
        """(chapter, heading) of NN#anchor."""
        chapter, _, anchor = where.partition("#")
        if anchor not in self.headings.get(chapter, {}):
            raise NotThere(f"no heading {where} in the notebooks")
        return chapter, self.headings[chapter][anchor]

    def _outputs(self, cell):
        if cell not in self.outputs:
            raise NotThere(f"no notebook has a cell {cell}")
        return self.outputs[cell]


@dataclass(frozen=True)
class Figure:
    """A figure as a notebook stores it: svg a text, png in base 64."""

    name: str
    chapter: str
    svg: str
    png: str
    caption: str
    alt: str


def slug(title):
    """The anchor that Markdown programs make of a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


@cache
def _records():
    from paper import Numbers  # reads a thousand runs

    return Numbers()


class Filler:
    """Puts into a text what stands between [[ and ]]."""

    def __init__(self, course):
        self.course = course
        self.kinds = {
            "cell": self._cell,
            "out": self._out,
            "table": self._table,
            "expect": self._expect,
        }

    def fill(self, text):
        return LOOKED_UP.sub(lambda match: self._one(" ".join(match[1].split())), text)

    def _one(self, name):
        kind, _, rest = name.partition(" ")
        arguments = [part.strip() for part in rest.split(" | ")]
        if kind in self.kinds:
            return self.kinds[kind](*arguments)
        import paper

        try:
            if kind == "holds":
                return paper.page(f"[[{name}]]\n", _records()).strip()
            return paper.page(f"[[{name}]]", _records())
        except (KeyError, TypeError, ValueError) as wrong:
            raise NotThere(f"the recorded study has no [[{name}]] ({wrong!r:.80})") from None
        except SystemExit as stop:
            raise NotThere(f"[[{name}]] no longer holds: {stop}") from None

    def _cell(self, cell, row, column):
        _, headings, rows = self.course.table(cell)
        if column not in headings:
            raise NotThere(f"the table of cell {cell} has no column {column!r}, but {headings}")
        wanted = [part.strip() for part in row.split(";")]
        found = [line for line in rows if line[: len(wanted)] == wanted]
        if len(found) != 1:
            raise NotThere(f"the table of cell {cell} has {len(found)} rows {row!r}")
        return found[0][headings.index(column)]

    def _out(self, cell, pattern):
        found = re.search(pattern, self.course.printed(cell))
        if not found:
            raise NotThere(f"what cell {cell} prints does not match {pattern!r}")
        return found[1]

    def _expect(self, cell, *what):
        if len(what) == 1:
            if not re.search(what[0], self.course.printed(cell)):
                raise NotThere(f"what cell {cell} prints no longer matches {what[0]!r}")
            return ""
        row, column, value = what
        found = self._cell(cell, row, column)
        if found != value:
            raise NotThere(
                f"cell {cell}, {row!r}, {column!r}: the slide rests on {value!r}, and it says"
                f" {found!r}"
            )
        return ""

    def _table(self, cell, columns="", rows=""):
        _, headings, lines = self.course.table(cell)
        shown = [name.strip() for name in columns.split(";")] if columns else headings
        for name in shown:
            if name not in headings:
                raise NotThere(f"the table of cell {cell} has no column {name!r}, but {headings}")
        if rows:
            named = [name.strip() for name in rows.split(";")]
            for name in named:
                if [line[0] for line in lines].count(name) != 1:
                    raise NotThere(f"the table of cell {cell} has not one row {name!r}")
            lines = [line for name in named for line in lines if line[0] == name]
        places = [headings.index(name) for name in shown]
        cells = [[line[place] for place in places] for line in lines]
        right = [all(NUMERIC.match(line[i]) for line in cells) for i in range(len(shown))]
        return _html(shown, cells, right)


def _html(headings, rows, right):
    def line(cells, tag):
        marks = [' class="number"' if number else "" for number in right]
        return "".join(
            f"<{tag}{mark}>{escape(cell)}</{tag}>" for cell, mark in zip(cells, marks, strict=True)
        )

    body = "".join(f"<tr>{line(row, 'td')}</tr>" for row in rows)
    return f"<table><thead><tr>{line(headings, 'th')}</tr></thead><tbody>{body}</tbody></table>"


def decks():
    """The sources of the decks, in order."""
    return sorted(path for path in SLIDES.glob("[0-9]_*.md") if path.suffixes == [".md"])


def read(path, course):
    """The deck in a file. NotThere names the file and the slide."""
    parts = re.split(r"^---[ ]*$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    front = yaml.safe_load(parts[1])
    if parts[0].strip() or set(front) != set(FRONT):
        raise NotThere(f"{path.name}: begins with front matter that has {', '.join(FRONT)}")
    deck = Deck(path.stem, front)
    for number, source in enumerate(parts[2:], 1):
        try:
            deck.slides.append(_slide(source, course))
        except NotThere as missing:
            title = (re.search(r"^## (.+)$", source, re.MULTILINE) or [0, "without a title"])[1]
            raise NotThere(
                f"book/slides/{path.name}, slide {number} ({title}): {missing}"
            ) from None
    return deck


def _slide(source, course):
    body, mark, notes = source.partition("\n???\n")
    if not mark:
        raise NotThere("no notes behind a line ???")
    filler = Filler(course)
    notes = _notes(filler.fill(notes))
    if "from" in notes:
        notes["from"] = (*course.heading(notes["from"]), notes["from"].partition("#")[2])
    body = filler.fill(body)
    title = re.match(r"\s*## (.+)\n", body)
    if not title:
        raise NotThere("no title, ## …, on its first line")
    predict = title[1].startswith("Predict. ")
    body = body[title.end() :]
    for _, name in FIGURE.findall(body):
        course.figure(name)
    columns = [part.strip() for part in re.split(r"^\|\|\|$", body, flags=re.MULTILINE)]
    return Slide(title[1].removeprefix("Predict. "), columns, notes, predict)


def _notes(text):
    found, key = {}, None
    for line in text.strip().splitlines():
        start = re.match(r"([a-z]+): ", line)
        if start and start[1] in NOTES:
            key = start[1]
            line = line[start.end() :]
        if key is None:
            raise NotThere(f"notes begin with one of {', '.join(NOTES)} and a colon, not {line!r}")
        found[key] = f"{found[key]} {line.strip()}" if key in found else line.strip()
    if not found.get("minutes", "").isdigit():
        raise NotThere("its notes have no line `minutes: ` with a whole number")
    found["minutes"] = int(found["minutes"])
    return found
