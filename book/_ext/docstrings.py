"""Plain-text docstrings -> reStructuredText, for the API page: the package is read more often in an editor than here.

A line "name: what it means" becomes an entry of a definition list, indented lines continue the one above, a paragraph that is indented as a
whole is a formula, every other line is a paragraph of its own. Nothing else is markup.
"""

import inspect
import re

ENTRY = re.compile(r"([a-z_][\w, ]*): (.*)", re.DOTALL)


def render(lines, parameters):
    """The docstring's lines as reStructuredText. parameters: names that may begin an entry."""
    out = []
    for paragraph in re.split(r"\n\s*\n", "\n".join(lines).strip("\n")):
        rows = paragraph.split("\n")
        if rows[0].startswith(">>>"):
            out += [*rows, ""]
        elif rows[0].startswith("    "):
            out += ["::", "", *rows, ""]
        else:
            for text in _joined(rows):
                entry = ENTRY.fullmatch(text)
                if entry and set(entry[1].split(", ")) <= set(parameters):
                    out += [", ".join(f"``{name}``" for name in entry[1].split(", ")), "    " + _escaped(entry[2]), ""]
                else:
                    out += [_escaped(text), ""]
    return out


def _joined(rows):
    """One string for each line that is not indented, with its continuations."""
    texts = []
    for row in rows:
        if row.startswith(" ") and texts:
            texts[-1] += " " + row.strip()
        else:
            texts.append(row.strip())
    return texts


def _escaped(text):
    """Without markup: asterisks, bars and final underscores are themselves; `code` is code."""
    parts = re.split(r"`+([^`]+)`+", text)
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"([*|]|_(?=\W|$))", r"\\\1", parts[i].replace("\\", ""))
    parts[1::2] = [f"``{code}``" for code in parts[1::2]]
    return "".join(parts)


def _parameters(obj):
    try:
        return inspect.signature(obj).parameters
    except (TypeError, ValueError):
        return ()


def _process(app, what, name, obj, options, lines):
    lines[:] = render(lines, _parameters(obj))


def setup(app):
    app.connect("autodoc-process-docstring", _process)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
