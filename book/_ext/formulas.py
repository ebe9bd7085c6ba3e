"""Formulas are set when the site is built, by MathJax in a JavaScript engine without a browser. A
page then holds their shapes and, for screen readers and for browsers without style sheets, MathML;
it needs no script for them.
"""

import json
import shutil
from functools import cache
from importlib.resources import files
from pathlib import Path

from docutils import nodes
from sphinx.errors import SphinxError
from sphinx.util import logging

PARTS = (
    "core",
    "adaptors/liteDOM",
    "input/tex-full",
    "output/chtml",
    "output/chtml/fonts/tex",
    "a11y/assistive-mml",
    "startup",
)
FONTS = "mathjax"  # in _static, beside the style sheet
log = logging.getLogger(__name__)


def _mathjax():
    return Path(str(files("mathjax"))) / "static/mathjax/es5"


@cache
def _engine():
    from py_mini_racer import MiniRacer  # only a build that meets a formula needs it

    sources = {part: (_mathjax() / f"{part}.js").read_text(encoding="utf-8") for part in PARTS}
    engine = MiniRacer()
    engine.eval(f"var SOURCES = {json.dumps(sources)}, FONTS = {json.dumps(FONTS)};")
    engine.eval(Path(__file__).with_suffix(".js").read_text(encoding="utf-8"))
    return engine


@cache
def typeset(tex, display=False):
    """The HTML of a formula. Raises ValueError, with MathJax's own words, for what is no TeX."""
    from py_mini_racer import JSEvalException

    try:
        return _engine().call("set", tex, display)
    except JSEvalException as error:
        raise ValueError(f"{tex!r} cannot be set: {str(error).strip().splitlines()[0]}") from None


def stylesheet():
    """The rules for all formulas that were set so far."""
    return _engine().call("styles")


def _set(node, tex, display):
    try:
        return typeset(tex, display)
    except ValueError as error:
        log.warning("%s", error, location=node)
        return f"<code>{nodes.unescape(tex)}</code>"


def _inline(translator, node):
    tag = translator.starttag(node, "span", "", CLASS="math notranslate nohighlight")
    translator.body.append(f"{tag}{_set(node, node.astext(), False)}</span>")
    raise nodes.SkipNode


def _block(translator, node):
    if node.get("number"):
        raise SphinxError(f"an equation has the label {node['label']!r}; numbers are not set")
    tag = translator.starttag(node, "div", CLASS="math notranslate nohighlight")
    parts = [part for part in node.astext().split("\n\n") if part.strip()]
    rows = [rf"\begin{{split}}{part}\end{{split}}" if r"\\" in part else part for part in parts]
    lines = r" \\ ".join(rows)
    tex = rows[0] if len(rows) == 1 else rf"\begin{{gather}}{lines}\end{{gather}}"
    if node.get("nowrap"):
        tex = node.astext()
    translator.body.append(f"{tag}{_set(node, tex, True)}</div>\n")
    raise nodes.SkipNode


def _write(app, error):
    """The style sheet and the fonts, once all pages are written."""
    if error or app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    (static / "formulas.css").write_text(stylesheet(), encoding="utf-8")
    shutil.copytree(_mathjax() / "output/chtml/fonts/woff-v2", static / FONTS, dirs_exist_ok=True)


def _link(app, pagename, templatename, context, doctree):
    if "<mjx-container" in context.get("body", ""):
        app.add_css_file("formulas.css")


def setup(app):
    app.add_html_math_renderer("set", (_inline, None), (_block, None))
    app.connect("html-page-context", _link)
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
