"""Small additions to the site's build: a local MathJax, derived addresses, and two repairs of what the theme's extensions do."""

import shutil
from importlib.resources import files
from pathlib import Path


def _derive_addresses(app, config):
    """The published address follows from the repository's, so that _config.yml names it once."""
    owner, name = config.html_theme_options["repository_url"].rstrip("/").split("/")[-2:]
    config.html_baseurl = config.ogp_site_url = f"https://{owner}.github.io/{name}/"


def _copy_mathjax(app):
    """From the installed package: the one script the pages load, and its fonts (1.6 of 24 MB)."""
    if app.builder.format != "html":
        return
    source, target = Path(str(files("mathjax"))) / "static/mathjax/es5", Path(app.outdir) / "_static/mathjax"
    shutil.copytree(source / "output/chtml/fonts/woff-v2", target / "output/chtml/fonts/woff-v2", dirs_exist_ok=True)
    shutil.copy(source / "tex-mml-chtml.js", target)


def _drop_thebe(app, pagename, templatename, context, doctree):
    """sphinx_thebe adds its scripts to every page, used or not, and twice: a SyntaxError in the console."""

    def keep(asset):
        attributes = getattr(asset, "attributes", {})
        return "THEBE_JS_URL" not in (attributes.get("body") or "") and "sphinx-thebe" not in str(getattr(asset, "filename", asset))

    for kind in ("script_files", "css_files"):
        if kind in context:
            context[kind] = [asset for asset in context[kind] if keep(asset)]


def setup(app):
    app.connect("config-inited", _derive_addresses, priority=900)
    app.connect("builder-inited", _copy_mathjax)
    app.connect("html-page-context", _drop_thebe, priority=900)
    for listener in list(app.events.listeners.get("doctree-resolved", [])):
        if listener.handler.__module__ == "sphinx_thebe":  # it writes a configuration for the dropped scripts into each page
            app.disconnect(listener.id)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
