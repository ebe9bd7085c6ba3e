"""Plain-text docstrings -> reStructuredText, for the API page: the package is read more often in an
editor than here.

"name: what it means" at the start of a line or after a full stop or semicolon becomes an entry of a
definition list, if it is a parameter. A paragraph that is indented as a whole is a formula. A line
that ends a sentence ends a paragraph. Nothing else is markup.
"""

import inspect
import re


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
            for text in _joined(rows, parameters):
                for names, part in _entries(text, parameters):
                    out += (
                        [
                            ", ".join(f"``{name}``" for name in names),
                            "    " + _escaped(part.rstrip(";")),
                            "",
                        ]
                        if names
                        else [_escaped(part), ""]
                    )
    return out


def _joined(rows, parameters):
    """One string for each line that begins something, with the lines that continue it."""
    texts = []
    for row in rows:
        begins = not texts or (
            not row.startswith(" ") and (texts[-1].endswith((".", ":")) or _names(row, parameters))
        )
        texts.append(row.strip()) if begins else texts.append(f"{texts.pop()} {row.strip()}")
    return texts


def _entries(text, parameters):
    """[names, meaning] for each "name: meaning" in a string, [(), sentences] for the rest."""
    found = []
    for sentence in re.split(r"(?<=[.;]) ", text):
        names = _names(sentence, parameters)
        if names or not found or (found[-1][0] and sentence.startswith(("Returns ", "Raises "))):
            found.append([names, sentence.partition(": ")[2] if names else sentence])
        else:
            found[-1][1] += f" {sentence}"
    return found


def _names(text, parameters):
    """The parameters that an entry explains; empty if the text is none."""
    names = text.partition(": ")[0].split(", ") if ": " in text else []
    return names if set(names) <= set(parameters) else []


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
