"""Rules about the text: Markdown that reads the same on the site, in Jupyter, in Colab and on
GitHub.
"""

import re
from urllib.parse import unquote

from contract.notebook import LINK, headings, links, without_code, without_fences, without_maths

# (what it is, pattern, what to do), looked for outside code and formulas
NOT_PLAIN = [
    ("an HTML tag or comment", r"</?[A-Za-z][\w-]*(?:\s[^<>]*)?/?>|<!--", "write Markdown"),
    (
        "an image",
        r"!\[[^\]]*\]\(|!\[[^\]]*\]\[",
        "draw the figure in code: Colab has this one file only",
    ),
    ("a substitution", r"\{\{", "write the text itself"),
    (
        "a footnote",
        r"\[\^[^\]]+\]",
        "put it into the text: Jupyter and Colab do not know footnotes",
    ),
    ("an attribute list", r"(?<=[\])␣])\{[^}\n]+\}", "leave it out: only MyST knows it"),
    ("a label", r"^\([\w:.-]+\)=[ \t]*$", "link to the heading: [text](#heading-in-small-letters)"),
    ("a MyST comment", r"^%", "remove it: other programs show it"),
    ("a MyST block break", r"^\+\+\+", "start a new cell"),
    ("a definition list", r"^:[ \t]+\S", "use a list or a table"),
    ("struck-out text", r"~~", "remove it"),
    ("LaTeX outside $…$", r"\\[(\[]|\\begin\{", "put it between $…$ or $$…$$"),
    (
        "a heading underlined with = or -",
        r"^[^\n|#>\-\s][^\n|]*\n(?:=+|-+)[ \t]*$",
        "write it with #",
    ),
    (
        "an emoji",
        "[\U0001f300-\U0001faff\U0001f1e6-\U0001f1ff\u2b50\u26a0\u2705\u274c\u2728]",
        "words are enough",
    ),
    (
        "unfinished text",
        r"\b(?:TODO|FIXME|XXX|TBD)\b|(?i:\blorem ipsum\b|\bcoming soon\b|\bunder construction\b)",
        "finish it",
    ),
]
# The one piece of HTML: it folds an answer on the site, in Jupyter, in Colab and on GitHub alike.
FOLD = re.compile(r"^<details><summary>[^<>\n]+</summary>$|^</details>$", re.MULTILINE)
MACROS = (
    r"\\(?:newcommand|renewcommand|def|label|eqref|ref|require|DeclareMathOperator)(?![A-Za-z])"
)


def plain_markdown(notebook):
    """No directives, roles, labels, HTML, images, footnotes, macros: they show raw somewhere."""
    for cell in notebook.markdown:
        source = cell.source
        for found in re.finditer(r"^[ \t]*(?::{3,}|[`~]{3,}\s*\{)[^\n]*", source, re.MULTILINE):
            yield f"{cell}: holds a directive ({found[0].strip()}): write plain Markdown"
        for role in _roles(source):
            yield f"{cell}: holds a role ({role}): write plain Markdown, or a link"
        for line in _misplaced(source):
            yield (
                f"{cell}: {line!r} does not stand as a folded answer does: the lines"
                " `<details><summary>Answer</summary>` and `</details>`, in turn, each with a"
                " blank line before and behind it"
            )
        text = FOLD.sub("", without_maths(source))
        for what, pattern, cure in NOT_PLAIN:
            found = re.search(pattern, text, re.MULTILINE)
            if found:
                yield f"{cell}: holds {what} ({found[0].strip()[:60]}): {cure}"
        bare = re.search(r"(?<!<)\bhttps?://[^\s)>]+", LINK.sub("", without_code(source)))
        if bare:
            yield f"{cell}: holds a bare address ({bare[0][:60]}): write [text](address)"


def folded(source):
    """The folded answers of a Markdown text: [(words of the summary, answer)]."""
    return re.findall(
        r"^<details><summary>([^<>\n]+)</summary>\n\n(.+?)\n\n</details>$",
        without_fences(source),
        re.MULTILINE | re.DOTALL,
    )


def _misplaced(source):
    """The first line of folding that has no partner, or no blank line before or behind it."""
    lines, inside = without_fences(source).split("\n"), False
    for before, line, after in zip(["", *lines], lines, [*lines[1:], ""], strict=False):
        if FOLD.match(line):
            opens = line.startswith("<details>")
            if before.strip() or after.strip() or opens == inside:
                return [line]
            inside = opens
    return ["<details>, which is not closed"] if inside else []


def _roles(source):
    """`{name}` directly before a code span. `{x}` inside one is code."""
    text, end = without_fences(source), 0
    for span in re.finditer(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", text, re.DOTALL):
        role = re.search(r"\{[A-Za-z][\w:.+-]*\}$", text[end : span.start()])
        if role:
            yield role[0] + span[0].splitlines()[0]
        end = span.end()


def formulas_are_closed(notebook):
    """Every $ has its partner, and no macro is defined or label set: these do not travel from cell
    to cell.
    """
    for cell in notebook.markdown:
        text = without_code(cell.source)
        if text.count("$$") % 2:
            yield f"{cell}: an odd number of $$: a formula is not closed"
        else:
            rest = re.sub(r"\$\$.+?\$\$", "", text, flags=re.DOTALL)
            for paragraph in re.split(r"\n\s*\n", rest):
                if len(re.findall(r"(?<!\\)\$", paragraph)) % 2:
                    yield (
                        f"{cell}: an odd number of $ in {paragraph.strip()[:60]!r}: a formula is"
                        " not closed (write \\$ for the sign itself)"
                    )
        for found in re.finditer(MACROS, text):
            yield f"{cell}: uses {found[0]}: write the formula out"
        for line in text.splitlines():
            if line.lstrip().startswith("|") and any(
                "|" in formula.replace(r"\|", "")
                for formula in re.findall(r"(?<!\\)\$([^$]+)(?<!\\)\$", line)
            ):
                yield (
                    f"{cell}: a formula in a table holds |, which ends the table's cell: write"
                    " \\lvert … \\rvert or \\mid"
                )


def headings_are_plain(notebook):
    """One H1, first of all; levels in order; no formulas (tabs and search show them raw); no two
    alike.
    """
    found = notebook.headings
    ones = [cell for level, _, cell in found if level == 1]
    if len(ones) != 1:
        yield f"{len(ones)} headings of level 1: a notebook has one, its title"
    elif ones[0] is not notebook.cells[0] or not ones[0].source.startswith("# "):
        yield "the title (# …) must be the first line of the first cell"
    before = 0
    for level, text, cell in found:
        if level > before + 1:
            yield (
                f"{cell}: the heading “{text}” has level {level} after level {before}: do not skip"
                " a level"
            )
        if "$" in text or "\\" in text:
            yield (
                f"{cell}: the heading “{text}” holds a formula: browser tabs, the sidebar and the"
                " search show it raw"
            )
        if text.endswith((".", ":")):
            yield f"{cell}: the heading “{text}” ends in {text[-1]!r}: leave it out"
        if sum(other == text for _, other, _ in found) > 1:
            yield f"{cell}: the heading “{text}” stands more than once: links to it are ambiguous"
        before = level


def slug(heading):
    """The anchor of a heading, as GitHub and MyST make it."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "")
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


def anchors(path, course):
    """Every #anchor of a page: headings, and labels where it is a MyST page."""
    if path.suffix == ".ipynb":
        return {slug(text) for _, text, _ in course.notebook(path.name).headings}
    source = path.read_text(encoding="utf-8")
    return {slug(text) for _, text in headings(source)} | set(
        re.findall(r"^\(([\w:.-]+)\)=", source, re.MULTILINE)
    )


def links_resolve(notebook):
    """Links within the course lead to a page of it, and to a heading that is there."""
    folder = notebook.course.root / "notebooks"
    for cell in notebook.markdown:
        for text, target in links(cell.source):
            if not text.strip():
                yield f"{cell}: a link to {target} has no text"
            if re.match(r"[a-z][a-z+.-]*:", target):
                if not target.startswith("https://"):
                    yield f"{cell}: {target} is not an https address"
                continue
            page, _, anchor = unquote(target).partition("#")
            path = (folder / page).resolve() if page else folder / notebook.name
            if page and not path.is_file():
                yield (
                    f"{cell}: the link to {target} leads nowhere: no such file beside the notebook"
                )
            elif page and not _is_a_page(path, notebook.course):
                yield (
                    f"{cell}: the link to {target} leaves the site: only pages of _toc.yml can be"
                    " linked (others by their full address)"
                )
            elif anchor:
                here = (
                    {slug(title) for _, title, _ in notebook.headings}
                    if not page
                    else anchors(path, notebook.course)
                )
                if anchor not in here:
                    near = [
                        name
                        for name in sorted(here)
                        if set(name.split("-")) & set(anchor.split("-"))
                    ]
                    yield f"{cell}: there is no heading for {target}" + (
                        f"; near: {', '.join('#' + name for name in near[:4])}" if near else ""
                    )


def _is_a_page(path, course):
    return any((course.root / page).resolve() == path.with_suffix("") for page in course.pages)


def own_address(notebook):
    """Links to the course's own repository, Binder and Colab name the repository and branch of
    _config.yml, and a path that exists.
    """
    repository, branch = notebook.course.repository, notebook.course.branch
    for cell in notebook.markdown:
        for _, target in links(cell.source):
            binder = re.match(
                r"https://mybinder\.org/v2/gh/([^/]+/[^/]+)/([^?]+)\?urlpath=lab/tree/(.+)", target
            )
            colab = re.match(
                r"https://colab\.research\.google\.com/github/([^/]+/[^/]+)/blob/([^/]+)/(.+)",
                target,
            )
            found = binder or colab
            if not found and (
                "mybinder.org/v2" in target or "colab.research.google.com/github" in target
            ):
                yield f"{cell}: {target} is not of the form that Binder or Colab opens"
            if not found:
                found = re.match(
                    rf"https://github\.com/({re.escape(repository)})/(?:blob|tree|edit)/([^/]+)/(.+)",
                    target,
                )
            if found and found[1] != repository:
                yield f"{cell}: {target} names the repository {found[1]}, not {repository}"
            if found and found[2] != branch:
                yield f"{cell}: {target} names the branch {found[2]}, not {branch}"
            if found and not (notebook.course.root / unquote(found[3]).partition("#")[0]).exists():
                yield f"{cell}: {target} names the path {found[3]}, which does not exist"


RULES = [
    plain_markdown,
    formulas_are_closed,
    headings_are_plain,
    links_resolve,
    own_address,
]
