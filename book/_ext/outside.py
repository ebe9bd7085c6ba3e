"""What the site says to the world: previews of links, structured data, a map for search engines, a
short guide for language models, a page for lost readers, and a front door that is no redirect.
"""

import json
import posixpath
import re
from html import escape
from pathlib import Path
from textwrap import shorten

from docutils import nodes

import sinpe

LICENCE = "https://creativecommons.org/licenses/by/4.0/"
ROOT = Path(__file__).resolve().parent.parent.parent
TIME = re.compile(r"\*\*Time\*\* (\d+) minutes? to read")  # as each chapter says at its top
RELATIVE = re.compile(r'\b(href|src|action)="(?![a-z]+:|#|/)([^"]+)"')


def _describe(app, pagename, templatename, context, doctree):
    """The title and the first paragraph of a page, for search engines and for the preview of a
    link.
    """
    if doctree is None:
        return
    title = re.sub("<[^>]*>", "", context["title"])
    first = next((node.astext() for node in doctree.findall(nodes.paragraph)), "")
    text = shorten(first, 300, placeholder=" …")
    app.env.site_said = getattr(app.env, "site_said", {})
    app.env.site_said[pagename] = (title, text)
    if title == app.config.html_title:
        # in the browser's tab, which otherwise says the name twice
        context["title"] = "An open course"
    previews = {
        "title": title,
        "description": text,
        "type": "website" if pagename == app.config.root_doc else "article",
        "url": context.get("pageurl") or "",
        "site_name": app.config.html_title,
        "image": f"{app.config.html_baseurl}_static/card.png",
        "image:width": "1200",
        "image:height": "630",
        "image:alt": "The title beside the striped heat map of the code.",
    }
    data = _structured(app, pagename, title, text)
    context["metatags"] += "\n".join(
        [
            "",
            f'<meta name="description" content="{escape(text)}" />',
            *(
                f'<meta property="og:{name}" content="{escape(value)}" />'
                for name, value in previews.items()
            ),
            '<meta name="twitter:card" content="summary_large_image" />',
            f'<script type="application/ld+json">{data}</script>',
        ]
    )


def _structured(app, pagename, title, text):
    """schema.org's words for a page: the course on the landing page, else a part of it."""
    base, root = app.config.html_baseurl, app.config.root_doc
    course = pagename == root
    data = {
        "@context": "https://schema.org",
        "@type": "Course" if course else "LearningResource",
        "name": title,
        "description": text,
        "url": f"{base}{pagename}.html",
        "inLanguage": "en",
        "license": LICENCE,
        "isAccessibleForFree": True,
    }
    who = {"@type": "Organization", "name": app.config.author, "url": base}
    if course:
        data |= {
            "provider": who,
            "version": sinpe.__version__,
            "teaches": "Positional encoding in Transformers",
            "educationalLevel": "Intermediate",
            "hasCourseInstance": {
                "@type": "CourseInstance",
                "courseMode": "Online",
                "courseWorkload": workload(),
            },
            "offers": {"@type": "Offer", "category": "Free"},
        }
    else:
        data |= {
            "author": who,
            "isPartOf": {
                "@type": "Course",
                "name": app.config.html_title,
                "url": f"{base}{root}.html",
            },
        }
    return json.dumps(data, ensure_ascii=False).replace("</", "<\\/")


def workload(folder=ROOT / "notebooks"):
    """How long the chapters take to read, by their own words, as an ISO 8601 duration."""
    minutes = 0
    for path in folder.glob("[0-9][0-9]_*.ipynb"):
        minutes += int(TIME.search(path.read_text(encoding="utf-8"))[1])
    return f"PT{minutes // 60}H{minutes % 60}M"


def front_door(page, folder):
    """A page of a folder, to stand above it: its relative addresses begin with the folder."""

    def moved(match):
        path, mark, rest = re.match(r"([^#?]*)([#?]?)(.*)", match[2]).groups()
        return f'{match[1]}="{posixpath.normpath(posixpath.join(folder, path))}{mark}{rest}"'

    return RELATIVE.sub(moved, page).replace('data-content_root="../"', 'data-content_root="./"')


def lost(app):
    """404.html. It stands for addresses in any folder, so its links are whole."""
    base, name = app.config.html_baseurl, escape(app.config.html_title)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8" />
<meta name="viewport" content="width=device-width, initial-scale=1" />
<meta name="robots" content="noindex" />
<link rel="icon" href="data:," />
<title>No such page — {name}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 1.1rem/1.6 system-ui, sans-serif; max-width: 34rem; margin: 15vh auto; }}
body {{ padding: 0 1.2rem; }}
a {{ color: light-dark(#0f5cc0, #8ab8ff); }}
input, button {{ font: inherit; padding: .3rem .6rem; }}
</style>
</head>
<body>
<main>
<h1>No page at this position</h1>
<p>A code exists for every position; a page does not. It may have moved.</p>
<form action="{base}search.html">
<label>Search the course: <input type="search" name="q" /></label> <button>Search</button>
</form>
<p><a href="{base}{app.config.root_doc}.html">{name}: the first page</a></p>
</main>
</body>
</html>
"""


def sitemap(base, pages):
    rows = "".join(f"<url><loc>{base}{page}.html</loc></url>\n" for page in pages)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{rows}</urlset>\n'
    )


def for_models(app, said):
    """llms.txt: the pages with a line each, and where their sources are."""
    base, root = app.config.html_baseurl, app.config.root_doc
    parts = {"Chapters": "notebooks/", "Around them": "book/"}
    lists = "\n".join(
        f"## {name}\n\n"
        + "".join(
            f"- [{title}]({base}{page}.html): {text}\n"
            for page, (title, text) in said.items()
            if page.startswith(start) and page != root
        )
        for name, start in parts.items()
    )
    return (
        f"# {app.config.html_title}\n\n> {said[root][1]}\n\n"
        "An open course: notebooks with stored outputs that are run again and compared, and the"
        f" package `sinpe` {sinpe.__version__} that they import. Sources:"
        f" {app.config.html_theme_options['repository_url']}. Text: CC BY 4.0. Code: MIT.\n\n"
        f"{lists}"
    )


def _write(app, error):
    if error or app.builder.name != "html":
        return
    out, base, root = Path(app.outdir), app.config.html_baseurl, app.config.root_doc
    order = [page for page in _reading_order(app) if page in app.env.site_said]
    said = {page: app.env.site_said[page] for page in order}
    landing = (out / f"{root}.html").read_text(encoding="utf-8")
    for name, text in {
        "index.html": front_door(landing, posixpath.dirname(root)),
        "404.html": lost(app),
        "sitemap.xml": sitemap(base, order),
        "robots.txt": f"User-agent: *\nAllow: /\n\nSitemap: {base}sitemap.xml\n",
        "llms.txt": for_models(app, said),
    }.items():
        (out / name).write_text(text, encoding="utf-8")


def _reading_order(app):
    """All pages of the table of contents, the landing page first."""
    relations, page = app.env.collect_relations(), app.config.root_doc
    while page:
        yield page
        page = relations[page][2]


def setup(app):
    app.connect("html-page-context", _describe)
    app.connect("build-finished", _write, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
