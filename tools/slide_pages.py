"""Turn decks into pages that need nothing beside themselves: reveal.js, fonts, figures and formulas
are inside.

reveal.js and Source Sans Pro come from the installed package sphinx-revealjs, MathJax from
django-static-mathjax. Formulas become SVG once, in Chromium, so that no deck carries MathJax.
"""

import base64
import re
from html import escape
from importlib.resources import files

from docutils.nodes import make_id
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from slide_sources import FIGURE, SLIDES, NotThere

from sinpe import explorers

SECTION = re.compile(r"\]\((\d\d#[\w-]+)\)")  # [words](02#why-10000), a section of a chapter
WEIGHTS = {  # {file: (weight, style)}
    "regular": (400, "normal"),
    "italic": (400, "italic"),
    "semibold": (600, "normal"),
    "semibolditalic": (600, "italic"),
}
LICENCES = """\
This file contains reveal.js (Hakim El Hattab, MIT licence, https://revealjs.com) and the font
Source Sans Pro (Adobe, SIL Open Font License 1.1, https://openfontlicense.org).
Text and figures: CC BY 4.0."""


def _reveal(name):
    folder = files("sphinx_revealjs") / "_static/revealjs"
    return (folder / name).read_text(encoding="utf-8")


def fonts():
    """CSS with the font inside."""
    folder = files("sphinx_revealjs") / "_static/revealjs/dist/theme/fonts/source-sans-pro"
    rules = []
    for file, (weight, style) in WEIGHTS.items():
        data = (folder / f"source-sans-pro-{file}.woff").read_bytes()
        rules.append(
            f'@font-face {{ font-family: "Source Sans Pro"; font-weight: {weight};'
            f" font-style: {style}; src: url(data:font/woff;base64,"
            f'{base64.b64encode(data).decode()}) format("woff"); }}'
        )
    return "\n".join(rules)


class Pages:
    """Makes HTML. Formulas and pictures are first held back under a token: `typeset` has to be
    called between the last `deck` or `handout` and the first `finish`.
    """

    def __init__(self, course, site, author):
        self.course, self.site, self.author = course, site, author
        self.formulas, self.typeset_formulas, self.pictures = {}, {}, {}
        self.markdown = MarkdownIt("commonmark", {"html": True, "typographer": True})
        self.markdown.enable(["table", "smartquotes"])
        self.markdown.use(
            dollarmath_plugin,
            allow_space=False,
            double_inline=True,
            renderer=lambda tex, options: self._formula(tex, options["display_mode"]),
        )

    def _formula(self, tex, display):
        key = (" ".join(tex.split()), display)
        return self.formulas.setdefault(key, f"\ue000{len(self.formulas)}\ue001")

    def _picture(self, match):
        figure = self.course.figure(match[2])
        token = self.pictures.setdefault(match[2], f"\ue002{match[2]}\ue003")
        caption = self.markdown.renderInline(match[1]) if match[1] else ""
        caption = caption and f"<figcaption>{caption}</figcaption>"
        return f'\n<figure><img src="{token}" alt="{escape(figure.alt)}">{caption}</figure>\n'

    def _html(self, text):
        text = SECTION.sub(lambda match: f"]({self.address(*self.course.heading(match[1]))})", text)
        html = self.markdown.render(FIGURE.sub(self._picture, text))
        return re.sub(r"<p>\s*((?:\ue000\d+\ue001\s*)+)</p>", r"\1", html)

    def address(self, chapter, title):
        """Where a section stands on the published site."""
        return f"{self.site}notebooks/{self.course.names[chapter]}.html#{make_id(title)}"

    def deck(self, deck):
        """The page of a deck, before `finish`."""
        front = deck.front
        numbers = [str(int(n)) for n in str(front["chapters"]).split()]
        chapters = f"chapter{'s' * (len(numbers) > 1)} {', '.join(numbers)}"
        title = (
            '<section class="title"><div class="sheet">'
            f'<p class="label">{escape(front["part"])}</p>'
            f"<h1>{escape(front['title'])}</h1>"
            f'<p class="question">{escape(front["question"])}</p>'
            f'<p class="quiet">{front["minutes"]} minutes · {chapters} of <a href="{self.site}">'
            "Sinusoidal positional encoding</a> · CC BY 4.0</p></div>"
            '<aside class="notes"><p>Keys: arrows, S for this window, D for dark, O for all slides,'
            " F for the whole screen, B for a black one, ? for all of them.</p></aside></section>"
        )
        minute, sections = 0, [title]
        for slide in deck.slides:
            minute += slide.notes["minutes"]
            sections.append(self._section(slide, minute))
        scripts = [_reveal("dist/reveal.js"), _reveal("plugin/notes/notes.js")]
        if any("<sinpe-" in section for section in sections):
            scripts.append(explorers.script())
        scripts.append((SLIDES / "deck.js").read_text(encoding="utf-8"))
        styles = [fonts(), _reveal("dist/reveal.css"), (SLIDES / "deck.css").read_text("utf-8")]
        slides = "\n".join(sections)
        return _page(
            front["title"],
            styles,
            f'<div class="reveal"><div class="slides">\n{slides}\n</div></div>',
            scripts,
        )

    def _section(self, slide, minute):
        columns = [self._html(column) for column in slide.columns]
        body = "".join(
            f"<div{' class=picture' * ('<figure>' in column)}>{column}</div>" for column in columns
        )
        label = '<p class="label">Predict</p>' if slide.predict else ""
        foot = ""
        if "from" in slide.notes:
            chapter, title, _ = slide.notes["from"]
            link = self.address(chapter, title)
            foot = f'<p class="foot"><a href="{link}">Chapter {int(chapter)}: {title}</a></p>'
        notes = [f"<p><b>{slide.notes['minutes']} min</b>, up to minute {minute}.</p>"]
        for key, words in (("ask", "Ask"), ("wrong", "Likely wrong"), ("say", "Say")):
            if key in slide.notes:
                text = self.markdown.renderInline(slide.notes[key])
                notes.append(f"<p><b>{words}:</b> {text}</p>")
        kind = "predict" if slide.predict else "slide"
        return (
            f'<section class="{kind}" data-timing="{60 * slide.notes["minutes"]}">'
            f'<div class="sheet">{label}'
            f"<h2>{self.markdown.renderInline(slide.title)}</h2>"
            f'<div class="body">{body}</div>{foot}</div>'
            f'<aside class="notes">{"".join(notes)}</aside></section>'
        )

    def handout(self, deck, text):
        """The handout of a deck, before `finish`; text has been filled in."""
        front = deck.front
        styles = [fonts(), (SLIDES / "handout.css").read_text("utf-8")]
        return _page(
            f"{front['title']} (handout)",
            styles,
            f"<header><h1>{escape(front['title'])}</h1><p>{escape(front['part'])}</p></header>"
            f"<main>{self._html(text)}</main><footer>From “Sinusoidal positional encoding” ·"
            f" {escape(self.author)} · CC BY 4.0 ·"
            f' <a href="{self.site}">{self.site}</a></footer>',
            [],
        )

    def typeset(self, browser):
        """Let MathJax typeset all formulas. NotThere where one has an error."""
        page = browser.new_page()
        page.evaluate(
            "window.MathJax = {startup: {typeset: false}, options: {enableMenu: false},"
            " svg: {fontCache: 'local'}}"
        )
        mathjax = files("mathjax") / "static/mathjax/es5/tex-svg.js"
        page.add_script_tag(path=str(mathjax))
        page.evaluate("MathJax.startup.promise")
        made = page.evaluate(
            """(formulas) => formulas.map(([tex, display]) => {
              const box = MathJax.tex2svg(tex, {display});
              return [box.outerHTML, box.querySelector('[data-mjx-error], merror')?.textContent];
            })""",
            [list(key) for key in self.formulas],
        )
        page.close()
        for (key, token), (html, error) in zip(self.formulas.items(), made, strict=True):
            if error:
                raise NotThere(f"the formula {key[0]!r} has an error")
            self.typeset_formulas[token] = html

    def finish(self, html):
        """The page with its formulas and pictures inside."""
        html = re.sub("\ue000\\d+\ue001", lambda match: self.typeset_formulas[match[0]], html)
        return re.sub(
            "\ue002(.+?)\ue003", lambda match: data_address(self.course.figure(match[1]).svg), html
        )


def data_address(svg):
    """An SVG as the address of a picture; its metadata, which nobody sees, is left out."""
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


def _page(title, styles, body, scripts):
    style = "\n".join(styles)
    # a script ends at the first </script>, also inside a string
    code = "".join(
        "<script>" + script.replace("</script", "<\\/script") + "</script>\n" for script in scripts
    )
    return (
        f'<!doctype html>\n<!--\n{LICENCES}\n-->\n<html lang="en"><head><meta charset="utf-8">'
        f'<title>{escape(title)}</title><meta name="viewport" content="width=device-width,'
        f' initial-scale=1"><link rel="icon" href="data:,">\n<style>\n{style}\n</style></head>'
        f"<body>\n{body}\n{code}</body></html>\n"
    )
