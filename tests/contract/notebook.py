"""A notebook and the course it belongs to, as the rules see them."""

import ast
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import nbformat
import yaml

from contract.set_up import set_up


class _UniqueKeys(yaml.SafeLoader):
    """YAML lets the last of two equal keys win, which has lost chapters before."""

    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        twice = {key for key in keys if keys.count(key) > 1}
        if twice:
            raise ValueError(
                f"the key {', '.join(map(repr, twice))} stands twice, near line"
                f" {node.start_mark.line + 1}"
            )
        return super().construct_mapping(node, deep)


def load_yaml(path):
    """The content of a YAML file; ValueError where a key stands twice."""
    return yaml.load(Path(path).read_text(encoding="utf-8"), Loader=_UniqueKeys)


@dataclass(frozen=True)
class Course:
    """The repository's address and its pages in reading order, from _config.yml and _toc.yml under
    `root`.
    """

    root: Path

    @cached_property
    def config(self):
        return load_yaml(self.root / "_config.yml")

    @property
    def repository(self):
        """owner/name"""
        return self.config["repository"]["url"].removeprefix("https://github.com/").strip("/")

    @property
    def branch(self):
        return self.config["repository"]["branch"]

    @cached_property
    def pages(self):
        """Every page of _toc.yml as it is written there, without suffix, in order; doubles are
        kept.
        """

        def walk(node):
            if isinstance(node, dict):
                yield from (str(node[key]) for key in ("root", "file") if key in node)
                node = [node[key] for key in ("parts", "chapters", "sections") if key in node]
            if isinstance(node, list):
                for child in node:
                    yield from walk(child)

        return list(walk(load_yaml(self.root / "_toc.yml")))

    @property
    def listed(self):
        """File names of the notebooks in _toc.yml, in order."""
        return [
            page.removeprefix("notebooks/") + ".ipynb"
            for page in self.pages
            if page.startswith("notebooks/")
        ]

    @property
    def stored(self):
        """File names of the notebooks on disk."""
        return sorted(path.name for path in (self.root / "notebooks").glob("*.ipynb"))

    def notebook(self, name):
        return Notebook(name, (self.root / "notebooks" / name).read_text(encoding="utf-8"), self)


@dataclass(frozen=True)
class Notebook:
    """One notebook: its file name, its text, and the course."""

    name: str
    text: str
    course: Course

    @property
    def number(self):
        """The two digits that the name begins with."""
        return self.name[:2]

    @cached_property
    def node(self):
        return nbformat.v4.reads(self.text)  # as it is: no conversion, no repair

    @cached_property
    def cells(self):
        cells, count = [], 0
        for node in self.node.cells:
            count += node.cell_type == "code"
            cells.append(Cell(node, count))
        return cells

    @property
    def code(self):
        return [cell for cell in self.cells if cell.kind == "code"]

    @property
    def markdown(self):
        return [cell for cell in self.cells if cell.kind == "markdown"]

    @property
    def imports(self):
        """The cell with all imports, right after the set-up cell; None where it is missing."""
        return self.code[1] if len(self.code) > 1 else None

    @property
    def ideas(self):
        """The code cells that a reader reads: not folded, and no stub of an exercise."""
        exercises = self.section("Exercises")
        return [
            cell
            for cell in self.code
            if cell.role == "idea" and cell is not self.imports and cell not in exercises
        ]

    @property
    def setup(self):
        """What the set-up cell must say."""
        return set_up(self.course.repository)

    @property
    def python(self):
        """Code cells that are plain Python, without the set-up cell, which may do what they may
        not.
        """
        return [cell for cell in self.code if cell.source != self.setup and cell.tree is not None]

    @cached_property
    def headings(self):
        """[(level, text, cell)] in order."""
        return [
            (level, text, cell) for cell in self.markdown for level, text in headings(cell.source)
        ]

    def section_text(self, title):
        """The Markdown from the H2 of this title up to the next H2, from whichever cells
        hold it.
        """
        text = "\n\n".join(cell.source for cell in self.markdown)
        found = re.search(
            rf"^## {re.escape(title)}[ \t]*$(.*?)(?=^##? |\Z)",
            without_fences(text),
            re.MULTILINE | re.DOTALL,
        )
        return found[1] if found else ""

    def section(self, title):
        """The cells from the H2 of this title up to the next H2; empty where there is none."""
        inside, found = False, []
        for cell in self.cells:
            if cell.kind == "markdown" and any(level <= 2 for level, _ in headings(cell.source)):
                inside = (2, title) in headings(cell.source)
            if inside:
                found.append(cell)
        return found


@dataclass(frozen=True)
class Cell:
    """One cell; `count` is the number of code cells up to and with it."""

    node: object
    count: int

    @property
    def kind(self):
        return self.node.cell_type

    @property
    def source(self):
        return self.node.source

    @property
    def metadata(self):
        return self.node.metadata

    @property
    def outputs(self):
        return self.node.get("outputs", [])

    @cached_property
    def tree(self):
        """The syntax tree of a code cell; None where it is not plain Python."""
        try:
            return ast.parse(self.source)
        except SyntaxError:
            return None

    @property
    def texts(self):
        """[(kind, text)] of everything this cell shows as text."""
        found = []
        for output in self.outputs:
            if output.output_type == "stream":
                found.append((output.name, output.text))
            elif output.output_type == "error":
                found.append(("error", "\n".join(output.traceback)))
            else:
                found += [
                    (kind, text)
                    for kind, text in output.data.items()
                    if kind.startswith("text/") and isinstance(text, str)
                ]
        return found

    @property
    def is_solution(self):
        return self.kind == "code" and self.source.startswith("# @title Solution")

    @property
    def role(self):
        """What a code cell is for: "idea", "made" (a figure or table, its code folded), "check"
        (folded), "solution" or "set-up"; "" where its tags say none of these.
        """
        tags = sorted(set(self.metadata.get("tags", [])) - {"raises-exception"})
        if self.is_solution:
            return "solution"
        roles = {"remove-cell": "set-up", "hide-input": "made", "hide-cell": "check"}
        return "idea" if not tags else roles.get(tags[0], "") if len(tags) == 1 else ""

    @property
    def title(self):
        """The words that stand for a folded cell: its first line behind `# @title`."""
        first = self.source.partition("\n")[0]
        return first.removeprefix("# @title ") if first.startswith("# @title ") else ""

    @property
    def lines(self):
        """The lines of code that are not blank."""
        return [line for line in self.source.splitlines() if line.strip()]

    def __str__(self):
        first = next((line.strip() for line in self.source.splitlines() if line.strip()), "empty")
        first = first if len(first) <= 50 else first[:49] + "…"
        return (
            f"In [{self.count}] ({first})"
            if self.kind == "code"
            else f"{self.kind} cell {self.node.get('id', '')} ({first})"
        )


def headings(source):
    """[(level, text)] of the ATX headings of a Markdown text, outside code."""
    return [
        (len(match[1]), match[2].strip())
        for match in re.finditer(
            r"^(#{1,6})[ \t]+(.*?)[ \t#]*$", without_fences(source), re.MULTILINE
        )
    ]


def without_fences(source):
    """Markdown without its fenced code blocks; the number of lines stays."""
    return re.sub(
        r"^( {0,3})(`{3,}|~{3,})[^\n]*\n.*?(?:^ {0,3}\2[`~]*[ \t]*$|\Z)",
        lambda m: "\n" * m[0].count("\n"),
        source,
        flags=re.MULTILINE | re.DOTALL,
    )


def without_code(source):
    """Markdown without code blocks and code spans."""
    return re.sub(
        r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)",
        lambda m: "␣" + "\n" * m[0].count("\n"),
        without_fences(source),
        flags=re.DOTALL,
    )


def without_maths(source):
    """Markdown without code and formulas."""
    text = re.sub(
        r"\$\$.+?\$\$",
        lambda m: "␣" + "\n" * m[0].count("\n"),
        without_code(source),
        flags=re.DOTALL,
    )
    return re.sub(
        r"(?<!\\)\$(?!\s)[^$\n]+(?:\n[^$\n]+)*?(?<!\\)\$",
        lambda m: "␣" + "\n" * m[0].count("\n"),
        text,
    )


LINK = re.compile(
    r"(?<!!)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(<?((?:[^()\s<>]|\([^()\s]*\))*)>?(?:\s+\"[^\"]*\")?\)"
)


def links(source):
    """[(text, target)] of the inline links of a Markdown text, outside code."""
    return [(match[1], match[2]) for match in LINK.finditer(without_code(source))]
