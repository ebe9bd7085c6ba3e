"""Cells of notebooks. The first line of a folded one, `# @title …`, is the line that opens it: a
check says what was checked and by how many statements. Printed sentences may wrap.
"""

import ast
import re
from html import escape

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx.transforms.post_transforms import SphinxPostTransform

TITLE, CHECK = "# @title ", "Check: "
UNTITLED = "Show the code"
SIGN = re.compile(r"Predict|Theorem|Claim|Corollary|Proposition|Proof")
COLUMNS = re.compile(r"\S {2,}\S|^ *\[", re.MULTILINE)  # padded words, or the rows of an array


def summary(code):
    """(kind of cell, words of the line that opens it) from the code of a folded cell."""
    first = code.partition("\n")[0]
    if not first.startswith(TITLE):
        return "made", UNTITLED
    words = first.removeprefix(TITLE)
    if not words.startswith(CHECK):
        return "solution" if words == "Solution" else "made", words
    count = statements(code)
    return "check", (
        f"Checked: {words.removeprefix(CHECK)} ({count} statement{'s' if count > 1 else ''})"
    )


def statements(code):
    """How many times the code asserts: assert statements, and calls of np.testing.assert_…"""
    return sum(
        isinstance(node, ast.Assert)
        or (isinstance(node, ast.Call) and ".testing.assert_" in ast.unparse(node.func))
        for node in ast.walk(ast.parse(code))
    )


class NameFoldedCells(SphinxPostTransform):
    """Before MyST-NB wraps folded cells (its priority is 199)."""

    default_priority = 198
    formats = ("html",)

    def run(self, **kwargs):
        for cell in self.document.findall(nodes.container):
            if cell.get("nb_element") != "cell_code" or not cell.get("hide_mode"):
                continue
            block = next(iter(cell.findall(nodes.literal_block)), None)
            if block is None:
                continue
            kind, words = summary(block.astext())
            if kind != "solution":  # its words stand in its metadata
                cell["prompt_show"] = cell["prompt_hide"] = words
            cell["classes"].append(f"fold-{kind}")
            first, _, rest = block.astext().partition("\n")
            if first.startswith(TITLE):
                block.rawsource, block.children = rest, [nodes.Text(rest)]
                block.children[0].parent = block


class WrapSentences(SphinxPostTransform):
    """Printed text is a table where its columns are set by spaces, and scrolls; else it wraps."""

    default_priority = 198
    formats = ("html",)

    def run(self, **kwargs):
        for block in self.document.findall(nodes.literal_block):
            if "stream" in block["classes"] and not COLUMNS.search(block.astext()):
                block["classes"].append("sentences")


class NameParagraphs(SphinxPostTransform):
    """A paragraph that begins with one of the course's signs in bold gets a class of that name:
    notebooks hold plain Markdown, which has no other way to say it.
    """

    default_priority = 198
    formats = ("html",)

    def run(self, **kwargs):
        for strong in self.document.findall(nodes.strong):
            paragraph, sign = strong.parent, SIGN.match(strong.astext())
            if sign and isinstance(paragraph, nodes.paragraph):
                before = paragraph.children[: paragraph.index(strong)]  # MyST puts "" there
                if not any(node.astext() for node in before):
                    paragraph["classes"].append(sign[0].lower())


def _open(self, node):
    # MyST-NB's own summary is called "Toggle hidden content" for whoever cannot see it
    show, hide = escape(node["prompt_show"]), escape(node["prompt_hide"])
    words = show if show == hide else f"<span>{show}</span><span>{hide}</span>"
    self.body.append(
        f'<details class="hide {" ".join(node["classes"])}"><summary>{words}</summary>\n'
    )


def _close(self, node):
    self.body.append("</details>\n")


def setup(app):
    app.setup_extension("myst_nb")  # its node must be there, to be drawn in another way
    app.add_post_transform(NameFoldedCells)
    app.add_post_transform(WrapSentences)
    app.add_post_transform(NameParagraphs)
    app.add_node(HideCodeCellNode, override=True, html=(_open, _close))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
