"""Pages with interactive figures, for the tests that look at them in a browser."""

from browser import watch

from sinpe import explorers

THEMES = {"light": ("#ffffff", "#222222"), "dark": ("#121212", "#dddddd")}


def opened(browser, folder, contexts):
    """show(html, width=…, theme=…) -> a page with this body, loaded from the disk; what it opens is
    appended to contexts.
    """

    def show(html, width=900, theme="light", **context):
        background, ink = THEMES[theme]
        file = folder / "page.html"
        file.write_text(
            '<!doctype html><html lang="en"'
            f' style="color-scheme:{theme};background:{background};color:{ink}"><meta'
            ' charset="utf-8"><title>t</title><meta name="viewport"'
            f' content="width=device-width"><body><main><h1>Figures</h1>{html}</main>',
            encoding="utf-8",
        )
        contexts.append(browser.new_context(viewport={"width": width, "height": 900}, **context))
        page = contexts[-1].new_page()
        page.problems = watch(page, "file://")
        page.goto(file.as_uri())
        return page

    return show


def element(tag, attributes=""):
    return f"<{tag} {attributes}></{tag}><script>{explorers.script()}</script>"


def values(page, tag):
    return page.evaluate(f"document.querySelector('{tag}').values()")


def shown(page, tag, selector):
    return page.locator(f"{tag} {selector}").inner_text()
