"""The older rules about sizes, for the chapters that wait to be rewritten (Course.waiting). They go
with the last of them.
"""

import re
from statistics import median

from contract.notebook import without_code

MAX_CELLS, MAX_LINES, MEDIAN_LINES = 45, 25, 6
WORDS = (10, 20)  # of prose for a line of code


def small_cells(notebook):
    """A cell fits one idea, a notebook one sitting. Blank lines do not count; solutions do."""
    counts = [len(cell.lines) for cell in notebook.code]
    if len(counts) > MAX_CELLS:
        yield f"{len(counts)} code cells; at most {MAX_CELLS} fit one sitting"
    if counts and median(counts) > MEDIAN_LINES:
        yield (
            f"the median code cell has {median(counts):g} lines; at most {MEDIAN_LINES}: split the"
            " long ones"
        )
    for cell, count in zip(notebook.code, counts, strict=True):
        if count > MAX_LINES:
            yield (
                f"{cell}: has {count} lines; at most {MAX_LINES}: split it, or move code into sinpe"
            )


def words_and_code_in_balance(notebook):
    """Ten to twenty words of prose for a line of code: less is a dump, more is a wall."""
    words = sum(len(re.findall(r"\w+", without_code(cell.source))) for cell in notebook.markdown)
    lines = sum(len(cell.lines) for cell in notebook.code)
    if lines and not WORDS[0] <= round(words / lines) <= WORDS[1]:
        yield (
            f"{words} words of prose for {lines} lines of code, {words / lines:.1f} a line; it"
            f" should be {WORDS[0]} to {WORDS[1]}"
        )


RULES = [small_cells, words_and_code_in_balance]
