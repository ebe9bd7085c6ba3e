"""The button of the browser edition, on the chapters that run there. It is written into their pages
as a comment, which `make lite` opens when it puts the edition beside them: a site without the
edition has no button that leads nowhere.
"""

import re

BUTTON = re.compile(r"<li>(?:(?!</?li>).)*?Launch via JupyterLite.*?</li>", re.DOTALL)
HIDDEN = ("<!--lite ", " lite-->")


def kept(page, runs):
    """The page with its button hidden where the chapter runs in a browser, else without it."""
    return BUTTON.sub(r"{}\g<0>{}".format(*HIDDEN) if runs else "", page)


def _wrap(app):
    if app.builder.format != "html":
        return
    render = app.builder.templates.render

    def rendered(template, context):
        said = app.env.metadata.get(context.get("pagename"), {})
        return kept(render(template, context), said.get("lite") in (True, "true", "True"))

    app.builder.templates.render = rendered


def setup(app):
    app.connect("builder-inited", _wrap)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
