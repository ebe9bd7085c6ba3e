"""Run the chapters of the built browser edition in Chromium, each from the first cell to the last,
as its reader would: with Python from Pyodide's public mirror.

    python tools/check_lite.py          # _build/lite
    python tools/check_lite.py /tmp     # /tmp/_build/lite

A cell that fails is named with what it says. Printed text is not compared: the mirror has other
releases of some packages than the lock.
"""

import re
import sys
from pathlib import Path

from chromium import FLAGS, chromium_path, served

ROOT = Path(__file__).resolve().parent.parent
CLASS = re.compile(r"<class '|'>")  # this kernel names an error so
MINUTES = 15  # until a chapter counts as hanging
OPEN = """() => {
  const notebook = window.jupyterapp?.shell.currentWidget;
  return Boolean(notebook?.context?.isReady && notebook.sessionContext?.session?.kernel);
}"""
# With a list of sources these take the place of the chapter's cells.
RUN = """async ([sources, minutes]) => {
  const app = window.jupyterapp, { content } = app.shell.currentWidget;
  if (sources) {
    const cells = sources.map((source) => (
      { cell_type: 'code', source, metadata: {}, outputs: [], execution_count: null }));
    content.model.sharedModel.deleteCellRange(0, content.model.cells.length);
    content.model.sharedModel.insertCells(0, cells);
  }
  const late = new Promise((_, fail) => setTimeout(
    () => fail(new Error(`not done after ${minutes} minutes`)), minutes * 60000));
  await Promise.race([app.commands.execute('notebook:run-all-cells'), late]);
  return [...content.model.cells].map((cell) => cell.toJSON());
}"""


def run(page, sources=None):
    """Run the chapter that a page of the edition shows, or cells with other sources in its place.
    Returns the cells as the notebook's file would hold them.
    """
    page.wait_for_function(OPEN, timeout=MINUTES * 60_000)
    return page.evaluate(RUN, [sources, MINUTES])


def failures(cells):
    """What went wrong, in words: cells that did not run, and errors that no tag allows."""
    found = []
    for cell in cells:
        if cell["cell_type"] != "code":
            continue
        first = "".join(cell["source"]).partition("\n")[0]
        if not cell["execution_count"]:
            found.append(f"{first!r} did not run")
        allowed = "raises-exception" in cell["metadata"].get("tags", [])
        found += [
            f"{first!r}: {CLASS.sub('', output['ename'])}: {output['evalue']}"
            for output in cell["outputs"]
            if output["output_type"] == "error" and not allowed
        ]
    return found


def main(folder="."):
    from playwright.sync_api import sync_playwright

    lite = (ROOT / folder).resolve() / "_build/lite"
    chapters = sorted(path.stem for path in (lite / "files/notebooks").glob("*.ipynb"))
    if not chapters:
        sys.exit(f"{lite} holds no chapter: run make lite")
    problems = []
    with sync_playwright() as playwright, served(lite) as address:
        path = chromium_path(playwright)
        if path is None:
            sys.exit("no Chromium: install it, or name it in the environment variable CHROMIUM")
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        for chapter in chapters:
            page = browser.new_page()
            page.goto(f"{address}/notebooks/index.html?path=notebooks/{chapter}.ipynb")
            cells = run(page)
            found = failures(cells)
            print(f"{chapter}: {len(cells)} cells, {len(found)} problems", flush=True)
            problems += [f"{chapter}: {problem}" for problem in found]
            page.close()
        browser.close()
    sys.exit("\n".join(problems))


if __name__ == "__main__":
    main(*sys.argv[1:])
