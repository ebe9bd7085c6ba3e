"""Tables as a page shows them: HTML with headings, units and a caption, and a text beside it for
places that show text only.

pandas draws them. The same rows give the same bytes on every run.
"""

import re
import zlib
from html import escape
from numbers import Integral

NUMBER = r"≈?[-−+±]?\d[\d,.]*(e[-+]?\d+)?( ?%)?"
NUMBERS = re.compile(rf"{NUMBER}( (to|of) {NUMBER})?")  # what a column of numbers may hold
ABSENT = "–"


class Table:
    """Cells, all of them text, that show themselves in a notebook as HTML and as text."""

    def __init__(self, cells, headings, caption):
        self.cells, self.headings, self.caption = cells, headings, caption

    def html(self):
        from pandas import DataFrame  # takes half a second, which an import need not
        from pandas.io.formats.style import Styler

        names, *columns = zip(*self.cells, strict=True)
        frame = DataFrame([row[1:] for row in self.cells], columns=self.headings[1:])
        frame.columns.name = escape(self.headings[0])
        # of the words that are the same on every machine, so that values behind ≈ do not change it
        uuid = f"{zlib.crc32(' '.join([self.caption, *self.headings]).encode()):08x}"
        right = [f".col{i}" for i, column in enumerate(columns) if _numbers(column)]
        rules = [("caption", "caption-side: top; text-align: left"), ("th, td", "text-align: left")]
        rules += [(column, "text-align: right") for column in right]
        rules += [(f"td{column}", "white-space: nowrap") for column in right]
        style = Styler(frame, uuid=uuid, cell_ids=False, caption=escape(self.caption))
        style.set_table_attributes('class="dataframe sinpe-table"')
        style.set_table_styles([{"selector": where, "props": what} for where, what in rules])
        style.format(escape="html").format_index(escape="html", axis="columns")
        style.format_index(lambda place: escape(names[place]), axis="index")
        return style.to_html()

    def __repr__(self):
        rows = [self.headings, *self.cells]
        return "\n".join([self.caption, *(" | ".join(row) for row in rows)])

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/html": self.html(), "text/plain": repr(self)}


def table(rows, columns, *, caption):
    """A table with one line for each row, and the digits of a column below one another.

    rows: sequences of cells; the first cell names the row, and None stands for nothing to say.
    columns: {heading: format}, in order. A heading says what is below it and its unit, "loss
    (nats)". A format is Python's, ".2f"; behind ≈, "≈.2f", it also puts the sign before the value,
    which is for what differs between machines; "" leaves a cell as it is. A text is never changed.
    caption: one or two sentences.
    Raises ValueError where a row has another number of cells than there are columns, where a
    number that is not whole has no format or a cell one that it cannot take, where there are no
    rows or fewer than two columns, where a heading or the caption is empty, and for other kinds of
    arguments than these.
    """
    if not isinstance(columns, dict) or not all(
        isinstance(part, str) for column in columns.items() for part in column
    ):
        raise ValueError(f"columns must be headings and their formats, got {columns!r:.100}")
    if not isinstance(caption, str):
        raise ValueError(f"caption must be a text, got {caption!r:.100}")
    rows, headings = _rows(rows), list(columns)
    if not rows or len(headings) < 2 or not all(map(str.strip, [caption, *headings])):
        raise ValueError(
            "a table has rows, two or more columns with headings, and a caption: rows has"
            f" {len(rows)}, columns {headings!r}, caption {caption!r}"
        )
    for row in rows:
        if len(row) != len(headings):
            raise ValueError(f"rows must have {len(headings)} cells, one a column, got {row!r}")
    cells = [
        [_cell(value, *column) for value, column in zip(row, columns.items(), strict=True)]
        for row in rows
    ]
    return Table(cells, headings, caption)


def _rows(rows):
    try:
        rows = list(rows)
        if not any(isinstance(row, str | bytes) for row in rows):  # whose cells would be letters
            return [list(row) for row in rows]
    except TypeError:
        pass
    raise ValueError(f"rows must be sequences of cells, got {rows!r:.100}")


def _cell(value, heading, form):
    if value is None:
        return ABSENT
    if isinstance(value, str):
        return value
    if not form and not isinstance(value, Integral):
        raise ValueError(f"columns must give {heading!r} a format that rounds {value!r}, got ''")
    try:
        text = re.sub("^-", "−", format(value, form.removeprefix("≈")))
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"columns gives {heading!r} the format {form!r}, which does not suit {value!r:.100}:"
            f" {error}"
        ) from None
    return f"≈{text}" if form.startswith("≈") else text


def _numbers(column):
    """Whether a column is read by comparing its digits."""
    said = [cell for cell in column if cell != ABSENT]
    return bool(said) and all(NUMBERS.fullmatch(cell) for cell in said)
