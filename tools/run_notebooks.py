"""Execute notebooks in place, each from an empty folder, and store them with clean metadata: twice
in a row gives the same bytes.

    python tools/run_notebooks.py            # all of notebooks/
    python tools/run_notebooks.py 02 04      # those whose file name starts so

A notebook that fails, or that writes to stderr, is not stored.
"""

import sys
import tempfile
from pathlib import Path

import ipykernel.kernelspec
import nbformat
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parent.parent / "notebooks"
NOTEBOOK_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
CELL_METADATA = {"tags", "mystnb"}
FOLDED = {"cellView": "form", "jupyter": {"source_hidden": True}}  # Colab's way, and Jupyter's
TIMEOUT = 120


class ThisPython(KernelSpecManager):
    """The kernel of the Python that runs this script, even where another environment installed one
    that is called python3 too.
    """

    def get_kernel_spec(self, kernel_name):
        return KernelSpec(
            resource_dir=ipykernel.kernelspec.RESOURCES, **ipykernel.kernelspec.get_kernel_dict()
        )


class Kernel(AsyncKernelManager):
    def _kernel_spec_manager_default(self):
        return ThisPython()


def execute(path):
    """Run one notebook and write it back; refuse to store an error or anything on stderr."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as empty:
        client = NotebookClient(
            notebook,
            kernel_manager_class=Kernel,
            timeout=TIMEOUT,
            record_timing=False,
            coalesce_streams=True,
            resources={"metadata": {"path": empty}},
        )
        client.execute()
    problems = [
        f"{path.name}, cell {cell.id}: wrote to stderr: {output.text.strip()}"
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if output.output_type == "stream" and output.name == "stderr"
    ]
    if problems:
        raise SystemExit("\n".join(problems))
    path.write_text(nbformat.writes(clean(notebook)) + "\n", encoding="utf-8")


def folding(cell):
    """What folds a cell in Colab and in Jupyter, where its tag folds it on the site. Both show the
    first line of a folded cell, so a cell without a title stays open there.
    """
    folded = {"hide-input", "hide-cell"} & set(cell.metadata.get("tags", []))
    return FOLDED if folded and cell.source.startswith("# @title ") else {}


def clean(notebook):
    """Keep only the metadata the course uses, fold in Colab and Jupyter what is folded on the site,
    and give each stored picture its alternative text for them.
    """
    notebook.metadata = nbformat.from_dict(
        {**NOTEBOOK_METADATA, **{k: v for k, v in notebook.metadata.items() if k == "lite"}}
    )
    notebook.nbformat_minor = 5
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict(
            {k: v for k, v in cell.metadata.items() if k in CELL_METADATA} | folding(cell)
        )
        alt = cell.metadata.get("mystnb", {}).get("image", {}).get("alt")
        for output in cell.get("outputs", []):
            if "metadata" in output:
                output.metadata = nbformat.from_dict(
                    {
                        kind: {"alt": alt}
                        for kind in output.data
                        if alt and kind.startswith("image/")
                    }
                )
    return notebook


def main(prefixes):
    paths = [
        p
        for p in sorted(FOLDER.glob("*.ipynb"))
        if not prefixes or p.name.startswith(tuple(prefixes))
    ]
    if not paths:
        raise SystemExit(f"no notebook in {FOLDER} starts with {' or '.join(prefixes)}")
    for path in paths:
        execute(path)
        print(f"executed {path.name}")


if __name__ == "__main__":
    main(sys.argv[1:])
