"""The runner: it stores what a clean run gave, with clean metadata, or nothing."""

import sys

import nbformat
import pytest
import run_notebooks
from contract import example
from nbclient.exceptions import CellExecutionError

PICTURE = """\
class Picture:
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"image/svg+xml": "<svg/>", "image/png": "iVBORw0KGgo=", "text/plain": "figure"}


Picture()"""


@pytest.fixture
def stored(tmp_path):
    """stored(source, …) -> path of a notebook with these code cells, not yet run, with an editor's
    metadata.
    """

    def store(*sources, **metadata):
        node = nbformat.v4.new_notebook(
            cells=[
                nbformat.v4.new_code_cell(source, id=f"cell-{i}", metadata=metadata)
                for i, source in enumerate(sources)
            ]
        )
        node.metadata.update(
            kernelspec={"name": "my-venv", "display_name": "Mine"},
            language_info={"name": "python", "version": "3.11.1"},
            widgets={},
        )
        path = tmp_path / "01_small.ipynb"
        path.write_text(nbformat.writes(node), encoding="utf-8")
        return path

    return store


def test_it_uses_the_kernel_of_this_python(stored, monkeypatch, foreign_kernel):
    monkeypatch.setenv("JUPYTER_PATH", foreign_kernel)
    path = stored("import sys\nprint(sys.executable)")
    run_notebooks.execute(path)
    assert nbformat.read(path, as_version=4).cells[0].outputs[0].text.strip() == sys.executable


@pytest.mark.parametrize(
    ("source", "tags", "folded"),
    [
        ("# @title Check: one is one\nassert 1 == int('1')", ["hide-cell"], True),
        ("# @title Draw it\n'1'", ["hide-input"], True),
        ("# @title Draw it\n'1'", [], False),
        ("# @title Draw it\n'1'", ["remove-cell"], False),
        ("'1'", ["hide-input"], False),  # both programs would show an empty line
    ],
)
def test_what_is_folded_on_the_site_is_folded_in_colab_and_in_jupyter(stored, source, tags, folded):
    path = stored(source, tags=tags, cellView="both", jupyter={"outputs_hidden": True})
    run_notebooks.execute(path)
    metadata = {"tags": tags} | (run_notebooks.FOLDED if folded else {})
    assert nbformat.read(path, as_version=4).cells[0].metadata == metadata


def test_it_stores_outputs_with_clean_metadata_and_the_second_run_changes_nothing(stored):
    path = stored(
        "import os\nprint(os.listdir())",
        "print(1)\nprint(2)",
        PICTURE,
        collapsed=True,
        tags=["hide-input"],
        mystnb={"figure": {"name": "fig-01-a"}, "image": {"alt": "words that describe"}},
    )
    run_notebooks.execute(path)
    first = path.read_bytes()
    node = nbformat.read(path, as_version=nbformat.NO_CONVERT)
    assert [cell.execution_count for cell in node.cells] == [1, 2, 3]
    assert node.cells[0].outputs[0].text == "[]\n"  # the notebook ran in an empty folder
    assert node.cells[1].outputs[0].text == "1\n2\n"  # one stream, however the kernel cut it
    assert node.cells[2].outputs[0].metadata == {
        kind: {"alt": "words that describe"} for kind in ("image/svg+xml", "image/png")
    }
    assert node.metadata == run_notebooks.NOTEBOOK_METADATA
    assert all(set(cell.metadata) == {"tags", "mystnb"} for cell in node.cells)
    assert (node.nbformat, node.nbformat_minor) == (4, 5)
    run_notebooks.execute(path)
    assert path.read_bytes() == first


@pytest.mark.parametrize(
    ("source", "error", "words"),
    [
        ("1 / 0", CellExecutionError, "ZeroDivisionError"),
        ("assert 1 == 2", CellExecutionError, "AssertionError"),
        (
            "import warnings; warnings.warn('careful', stacklevel=1)",
            SystemExit,
            r"01_small\.ipynb, cell cell-0: wrote to stderr: .*careful",
        ),
        ("import sys; print('oh', file=sys.stderr)", SystemExit, "wrote to stderr: oh"),
    ],
)
def test_it_refuses_errors_and_stderr_and_leaves_the_file_as_it_was(stored, source, error, words):
    path = stored(source)
    before = path.read_bytes()
    with pytest.raises(error, match=words):
        run_notebooks.execute(path)
    assert path.read_bytes() == before


def test_cleaning_keeps_what_the_course_uses(tmp_path):
    node = example.nodes(example.course(tmp_path))
    before = example.text_of(node)
    node.metadata["lite"] = False  # the site offers no in-browser button then
    assert run_notebooks.clean(node).metadata["lite"] is False
    del node.metadata["lite"]
    assert example.text_of(node) == before


def test_a_prefix_that_fits_no_notebook_is_an_error():
    with pytest.raises(SystemExit, match="no notebook in .* starts with 99"):
        run_notebooks.main(["99"])


def test_prefixes_select_notebooks(monkeypatch, tmp_path, capsys):
    for name in ("01_a.ipynb", "02_b.ipynb", "03_c.ipynb"):
        (tmp_path / name).touch()
    ran = []
    monkeypatch.setattr(run_notebooks, "FOLDER", tmp_path)
    monkeypatch.setattr(run_notebooks, "execute", lambda path: ran.append(path.name))
    run_notebooks.main(["03", "01"])
    run_notebooks.main([])
    assert ran == ["01_a.ipynb", "03_c.ipynb", "01_a.ipynb", "02_b.ipynb", "03_c.ipynb"]
    assert "executed 03_c.ipynb" in capsys.readouterr().out
