"""What a page loads: nothing that it does not show. The theme brings every icon there is, as a
script and as fonts; here each icon of a page is a small SVG within it. Scripts of what a page has
not are left out.
"""

import re
import shutil
from functools import cache
from importlib.resources import files
from pathlib import Path

from sphinx.errors import SphinxError

ICON = re.compile(r'<(i|span) class="([^"]*\bfa-[^"]*)"([^>]*)></\1>')
STYLES = {"fa-solid", "fa-brands", "fa-regular", "fas", "fab", "far", "fa", "fa-lg"}
SCRIPT = r'\s*<(?:script|link)\b[^>]*(?:src|href)="[^"]*{}[^"]*"[^>]*>(?:</script>)?'
# file: what a page must hold for it to be loaded
NEEDED_BY = {
    "scripts/fontawesome.js": None,
    "searchtools.js": None,  # the search is this site's own
    "language_data.js": None,
    "searchindex.js": None,
    "sphinx_highlight.js": None,
    "togglebutton.js": 'class="toggle',
    "togglebutton.css": 'class="toggle',
    "design-tabs.js": "sd-tab-set",
    "sphinx-design.min.css": 'class="sd-',
    "clipboard.min.js": 'class="highlight',
    "copybutton.js": 'class="highlight',
    "copybutton.css": 'class="highlight',
    "mystnb.": "cell_output",
}
SETTINGS = re.compile(
    r"\s*<script>(?:let toggle\w+ = [^<]*|var togglebuttonSelector = [^<]*"
    r"|window\.MathJax = [^<]*)</script>"
)
UNUSED = (
    "scripts/fontawesome.js",
    "scripts/fontawesome.js.map",
    "scripts/fontawesome.js.LICENSE.txt",
    "vendor/fontawesome",
    "searchtools.js",
    "language_data.js",
    "sphinx_highlight.js",
)


def icons(source):
    """{name: (width, height, path)} from the theme's script, other names of an icon too."""
    shape = r'(?:"([\w-]+)"|([\w-]+)):\[(\d+),(\d+),\[([^\]]*)\],"[0-9a-f]+","([^"]+)"\]'
    found = {}
    for quoted, plain, width, height, others, path in re.findall(shape, source):
        for name in (quoted or plain, *re.findall(r'"([\w-]+)"', others)):
            found.setdefault(name, (width, height, path))
    return found


def drawn(page, known):
    """The page with its icons in it. known: what icons() returns. Raises SphinxError for others."""

    def draw(match):
        _, classes, rest = match.groups()
        name = next(c for c in classes.split() if c.startswith("fa-") and c not in STYLES)
        if name.removeprefix("fa-") not in known:
            raise SphinxError(f"the theme has no icon {name!r}")
        width, height, path = known[name.removeprefix("fa-")]
        return (
            f'<svg class="icon {" ".join(classes.split())}" viewBox="0 0 {width} {height}"'
            f' aria-hidden="true"{rest}><path fill="currentColor" d="{path}"/></svg>'
        )

    return ICON.sub(draw, page)


def lighter(page):
    """The page without the files that it does not need."""
    head, mark, body = page.partition("</head>")
    for file, sign in NEEDED_BY.items():
        if sign is None or sign not in body:
            head = re.sub(SCRIPT.format(re.escape(file)), "", head)
    if NEEDED_BY["togglebutton.js"] not in body:
        head = SETTINGS.sub("", head)
    return head + mark + body


def _wrap(app):
    """Pages pass through here on their way from the templates to the disk."""
    if app.builder.format != "html":
        return
    render = app.builder.templates.render

    @cache
    def known():
        theme = files("pydata_sphinx_theme") / "theme/pydata_sphinx_theme/static"
        return icons((theme / "scripts/fontawesome.js").read_text(encoding="utf-8"))

    def rendered(template, context):
        page = render(template, context)
        return drawn(lighter(page), known()) if "</html>" in page else page

    app.builder.templates.render = rendered


def _remove(app, error):
    if error or app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    for name in UNUSED:
        path = static / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def setup(app):
    app.connect("builder-inited", _wrap)
    app.connect("build-finished", _remove)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
