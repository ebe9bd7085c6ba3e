"""The search: an index of sections instead of pages, written when the site is built and read by
_static/search.js. It is a script and no data file, so that it also works from a disk.

Words of readers that the text does not use stand in book/search.yml.
"""

import json
import re
from pathlib import Path

import yaml
from docutils import nodes
from sphinx import addnodes
from sphinx.util import logging

LEFT_OUT = ("cell_output", "cell_input", "toctree-wrapper")
ROOT = Path(__file__).resolve().parent.parent
log = logging.getLogger(__name__)


def words(node):
    """The text of a node in reading order, without code cells and outputs."""
    if isinstance(node, nodes.Text):
        return re.sub(r"\s+", " ", str(node))
    if isinstance(node, nodes.math | nodes.math_block):
        return f" {_plain(node.astext())} "
    if isinstance(node, nodes.raw | nodes.comment | nodes.image | addnodes.toctree) or (
        isinstance(node, nodes.Element) and set(node.get("classes", ())) & set(LEFT_OUT)
    ):
        return " "
    text = "".join(words(child) for child in node.children)
    return f" {text} " if isinstance(node, nodes.Body | nodes.Part) else text


def _plain(tex):
    """A formula as one would say it in a search: \\sqrt{d_{\\text{model}}} -> √ d_model."""
    tex = re.sub(r"\\(?:text|mathrm|texttt|mathbf|mathcal)\s*", "", tex).replace(r"\sqrt", "√")
    tex = re.sub(r"_\{+([^{}]*)\}+", r"_\1", tex)
    tex = re.sub(r"\\[,;:! ]", "", tex)  # thin spaces, those within numbers too
    return re.sub(r"\s+", " ", re.sub(r"[{}\\$]", " ", tex)).strip()


def sections(doctree):
    """[anchor, title, text] of each section of a page, and of each entry of its glossary; the first
    is the page itself, without an anchor.
    """
    found = []
    for section in doctree.findall(nodes.section):
        own = [child for child in section.children if not isinstance(child, nodes.section)]
        title = words(own[0]).strip() if own and isinstance(own[0], nodes.title) else ""
        prose = [child for child in own[1:] if not isinstance(child, addnodes.glossary)]
        text = "".join(map(words, prose))
        anchor = section["ids"][-1] if found else ""
        found.append([anchor, title, _tidy(text)])
        for glossary in (child for child in own if isinstance(child, addnodes.glossary)):
            for entry in glossary.findall(nodes.definition_list_item):
                terms = [child for child in entry.children if isinstance(child, nodes.term)]
                said = ", ".join(words(term).strip() for term in terms)
                found.append([terms[0]["ids"][0], said, _tidy(words(entry.children[-1]))])
    return found


def _tidy(text):
    return re.sub(r"\s+([.,;:!?)])", r"\1", re.sub(r"\s+", " ", text)).strip()


def _collect(app, pagename, templatename, context, doctree):
    if doctree is not None:
        app.env.site_search = getattr(app.env, "site_search", {})
        app.env.site_search[pagename] = [
            re.sub("<[^>]*>", "", context["title"]) if pagename != app.config.root_doc else "",
            sections(doctree),
        ]


def index(pages, said):
    """What search.js reads. pages: {page: [title, sections]}; said: the content of search.yml.
    Raises ValueError for a page of search.yml that is none.
    """
    unknown = sorted(set(said["pages"]) - set(pages))
    if unknown:
        raise ValueError(f"book/search.yml names {', '.join(unknown)}, which are no pages")
    return {
        "pages": [
            [f"{page}.html", title, found, " ".join(said["pages"].get(page, []))]
            for page, (title, found) in pages.items()
        ],
        "same": said["same"],
    }


def _write(app, error):
    if error or app.builder.name != "html":
        return
    said = yaml.safe_load((ROOT / "search.yml").read_text(encoding="utf-8"))
    data = json.dumps(index(app.env.site_search, said), ensure_ascii=False, separators=(",", ":"))
    (Path(app.outdir) / "_static" / "search-index.js").write_text(
        f"var SEARCH = {data};\n", encoding="utf-8"
    )
    (Path(app.outdir) / "searchindex.js").unlink(missing_ok=True)


def _load(app, pagename, templatename, context, doctree):
    if pagename == "search":
        app.add_js_file("search-index.js")
        app.add_js_file("search.js", loading_method="defer")


def _no_other_index(app):
    """Sphinx's own, of whole pages, would take seconds and nobody would read it."""
    app.builder.index_page = lambda *page: None
    app.builder.dump_search_index = lambda: None


def setup(app):
    app.connect("builder-inited", _no_other_index)
    app.connect("html-page-context", _collect)
    app.connect("html-page-context", _load)
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
