"""Pages in other languages than the book's say so, for screen readers, hyphenation and search."""

LANGUAGES = {"book/pl": "pl", "book/ja": "ja"}


def _say(app, pagename, templatename, context, doctree):
    context["language"] = LANGUAGES.get(pagename, context.get("language"))


def setup(app):
    app.connect("html-page-context", _say)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
