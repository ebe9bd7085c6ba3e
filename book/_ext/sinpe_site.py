"""Small additions to the site's build: a local MathJax, the interactive figures, descriptions for
previews, and no Thebe.
"""

import re
import shutil
from html import escape
from importlib.resources import files
from pathlib import Path
from textwrap import shorten

from sinpe import explorers

FORMULA = r'<span class="math notranslate nohighlight">[^<]*</span>'


def _derive_addresses(app, config):
    """The published address follows from the repository's, so that _config.yml names it once."""
    owner, name = config.html_theme_options["repository_url"].rstrip("/").split("/")[-2:]
    config.html_baseurl = f"https://{owner}.github.io/{name}/"
    config.project = config.html_title


def _copy_mathjax(app):
    """From the installed package: the one script the pages load, and its fonts (1.6 of 24 MB)."""
    if app.builder.format != "html":
        return
    source, target = (
        Path(str(files("mathjax"))) / "static/mathjax/es5",
        Path(app.outdir) / "_static/mathjax",
    )
    shutil.copytree(
        source / "output/chtml/fonts/woff-v2",
        target / "output/chtml/fonts/woff-v2",
        dirs_exist_ok=True,
    )
    shutil.copy(source / "tex-mml-chtml.js", target)


def _write_explorers(app):
    """Plain scripts (not modules, which browsers refuse to load from a disk): one with all
    interactive figures, for slides, and one for each.
    """
    if app.builder.format == "html":
        target = Path(app.outdir) / "_static/explorers.js"
        target.parent.mkdir(exist_ok=True)
        target.write_text(explorers.script(), encoding="utf-8")
        for each in explorers.EXPLORERS:
            target.with_name(f"{each.tag}.js").write_text(explorers.script(each), encoding="utf-8")


def _load_explorers(app, pagename, templatename, context, doctree):
    """What a page shows, unless the output of a cell brings it along."""
    body = context.get("body", "")
    for each in explorers.EXPLORERS:
        if f"<{each.tag}" in body and f'static tag = "{each.tag}"' not in body:
            app.add_js_file(f"{each.tag}.js")


def _describe(app, pagename, templatename, context, doctree):
    """The title and the first paragraph of a page, for search engines and for the preview of a
    link.
    """
    if doctree is None:
        return
    first = next(
        (
            paragraph.astext()
            for paragraph in doctree.findall(lambda node: node.tagname == "paragraph")
        ),
        "",
    )
    text, title = shorten(first, 300, placeholder=" …"), re.sub("<[^>]*>", "", context["title"])
    if title == app.config.html_title:
        # in the browser's tab, which otherwise says the name twice
        context["title"] = "An open course"
    previews = {
        "title": title,
        "description": text,
        "type": "website",
        "url": context.get("pageurl") or "",
        "site_name": app.config.html_title,
    }
    context["metatags"] += f'\n<meta name="description" content="{escape(text)}" />\n'
    context["metatags"] += "\n".join(
        f'<meta property="og:{name}" content="{escape(value)}" />'
        for name, value in previews.items()
    )


def _hold_punctuation(app, pagename, templatename, context, doctree):
    """Browsers may break a line between a formula and the punctuation that belongs to it."""
    if FORMULA[:18] in context.get("body", ""):
        context["body"] = re.sub(
            rf"[(\[“]?{FORMULA}[.,:;?!)\]”’]*",
            r'<span class="together">\g<0></span>',
            context["body"],
        )


def _drop_thebe(app, pagename, templatename, context, doctree):
    """sphinx_thebe adds its scripts to every page, used or not, and twice: a SyntaxError in the
    console.
    """

    def keep(asset):
        attributes = getattr(asset, "attributes", {})
        return "THEBE_JS_URL" not in (attributes.get("body") or "") and "sphinx-thebe" not in str(
            getattr(asset, "filename", asset)
        )

    for kind in ("script_files", "css_files"):
        if kind in context:
            context[kind] = [asset for asset in context[kind] if keep(asset)]


def setup(app):
    app.connect("config-inited", _derive_addresses, priority=900)
    app.connect("builder-inited", _copy_mathjax)
    app.connect("builder-inited", _write_explorers)
    app.connect("html-page-context", _load_explorers)
    app.connect("html-page-context", _describe)
    app.connect("html-page-context", _hold_punctuation)
    app.connect("html-page-context", _drop_thebe, priority=900)
    for listener in list(app.events.listeners.get("doctree-resolved", [])):
        # it writes a configuration for the dropped scripts into each page
        if listener.handler.__module__ == "sphinx_thebe":
            app.disconnect(listener.id)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
