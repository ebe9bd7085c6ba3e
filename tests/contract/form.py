"""Rules about the file: format, metadata, cells, sizes."""

import copy
import re

import nbformat
import run_notebooks

TAGS = {"remove-cell", "hide-input", "hide-cell", "raises-exception"}
MYSTNB = {
    "figure": {"name", "caption"},
    "image": {"alt", "width"},
    "code_prompt_show": None,
    "code_prompt_hide": None,
}
MAX_BYTES = 1_000_000


def valid_notebook_format(notebook):
    """nbformat 4.5, and valid by its schema."""
    version = (notebook.node.get("nbformat"), notebook.node.get("nbformat_minor"))
    if version != (4, 5):
        yield f"the format is {version[0]}.{version[1]}, not 4.5: run `make notebooks`"
    try:
        nbformat.validate(notebook.node)
    except nbformat.ValidationError as error:
        yield f"not a valid notebook: {str(error).splitlines()[0]}"


def stored_as_the_runner_writes_it(notebook):
    """The bytes are what tools/run_notebooks.py would write, so that running it again changes
    nothing.
    """
    if notebook.text != nbformat.v4.writes(notebook.node) + "\n":
        yield (
            "the file was written by another program: run `make notebooks`, or diffs show lines"
            " that nobody changed"
        )
    again = run_notebooks.clean(copy.deepcopy(notebook.node))
    if nbformat.v4.writes(again) + "\n" != notebook.text:
        yield "holds metadata that `make notebooks` would remove or change: run it"


def python3_kernel(notebook):
    """The kernel that every installation has, without the version of the author's Python."""
    kernel, language = (
        notebook.node.metadata.get("kernelspec", {}),
        notebook.node.metadata.get("language_info", {}),
    )
    if kernel.get("name") != "python3" or kernel.get("language") != "python":
        yield (
            f"the kernelspec is {kernel.get('name')!r} ({kernel.get('language')!r}): it must be"
            " 'python3' for 'python'"
        )
    if dict(language) != {"name": "python"}:
        yield f"language_info is {dict(language)}: it must be {{'name': 'python'}} and nothing else"


def unique_cell_ids(notebook):
    """Every cell has an id of its own."""
    ids = [cell.node.get("id", "") for cell in notebook.cells]
    for cell in notebook.cells:
        name = cell.node.get("id", "")
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
            yield f"{cell}: the id {name!r} is not 1 to 64 letters, digits, - or _"
        elif ids.count(name) > 1:
            yield f"{cell}: the id {name!r} belongs to {ids.count(name)} cells: give each its own"


def only_known_metadata(notebook):
    """Metadata that the site, Colab or Jupyter needs, and nothing an editor left behind."""
    for key in sorted(set(notebook.node.metadata) - {"kernelspec", "language_info", "lite"}):
        yield f"the notebook's metadata holds {key!r}: remove it"
    for cell in notebook.cells:
        used = run_notebooks.CELL_METADATA | set(run_notebooks.FOLDED)
        for key in sorted(set(cell.metadata) - used):
            yield f"{cell}: metadata {key!r} is not used here: remove it"
        for key in run_notebooks.FOLDED:
            wanted = run_notebooks.folding(cell.node).get(key)
            if cell.metadata.get(key) != wanted:
                yield (
                    f"{cell}: metadata {key!r} is {cell.metadata.get(key)!r}, and by its tag and"
                    f" title {wanted!r}: run `make notebooks NB={notebook.number}`"
                )
        if not isinstance(cell.metadata.get("mystnb", {}), dict):
            yield f"{cell}: metadata 'mystnb' must be an object"
            continue
        for key, value in cell.metadata.get("mystnb", {}).items():
            if key not in MYSTNB:
                yield f"{cell}: metadata mystnb.{key} is not used here: remove it"
            elif MYSTNB[key] is not None and set(value) - MYSTNB[key]:
                yield (
                    f"{cell}: metadata mystnb.{key} may hold {sorted(MYSTNB[key])}, not"
                    f" {sorted(set(value) - MYSTNB[key])}"
                )


def only_known_tags(notebook):
    """Tags that the site knows. Those of nbval switch its comparison off."""
    for cell in notebook.cells:
        tags = cell.metadata.get("tags", [])
        for tag in tags if isinstance(tags, list) else [tags]:
            if tag not in TAGS:
                yield f"{cell}: the tag {tag!r} is not one of {', '.join(sorted(TAGS))}"
        if isinstance(tags, list) and len(set(tags)) < len(tags):
            yield f"{cell}: a tag stands twice"


def only_code_and_markdown(notebook):
    """No raw cells, no attachments, no empty cells: they show on some of the course's surfaces
    only.
    """
    for cell in notebook.cells:
        if cell.kind not in ("code", "markdown"):
            yield (
                f"{cell}: a {cell.kind} cell shows nowhere but in Jupyter: make it Markdown or code"
            )
        if cell.node.get("attachments"):
            yield (
                f"{cell}: holds an attached file, which the site and Colab do not show: draw the"
                " figure in code"
            )
        if not cell.source.strip():
            yield f"{cell}: is empty: remove it"


def run_from_top_to_bottom(notebook):
    """Execution counts 1 … n: stored outputs come from one run in order. nbval does not compare a
    cell without a count.
    """
    counts = [cell.node.get("execution_count") for cell in notebook.code]
    if counts != list(range(1, len(counts) + 1)):
        wrong = next(i for i, count in enumerate(counts) if count != i + 1)
        yield (
            f"{notebook.code[wrong]}: the execution count is {counts[wrong]}, not {wrong + 1}: run"
            f" `make notebooks NB={notebook.number}`"
        )


def small_file(notebook):
    """A file that GitHub and a phone can show."""
    size = len(notebook.text.encode())
    if size > MAX_BYTES:
        yield (
            f"the file has {size:,} bytes; at most {MAX_BYTES:,}: draw fewer points, or a smaller"
            " figure"
        )


RULES = [
    valid_notebook_format,
    stored_as_the_runner_writes_it,
    python3_kernel,
    unique_cell_ids,
    only_known_metadata,
    only_known_tags,
    only_code_and_markdown,
    run_from_top_to_bottom,
    small_file,
]
