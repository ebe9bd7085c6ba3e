"""The set-up cell where sinpe is missing: it installs that and what is missing with it, replaces
nothing, and where it cannot, says so in one sentence and stops the notebook.
"""

import os
import shutil
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import environment
import nbformat
import pytest
from contract import Course
from contract.set_up import set_up, write
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

import sinpe

ROOT = Path(__file__).resolve().parent.parent
REPOSITORY = Course(ROOT).repository
NOWHERE = "http://127.0.0.1:9"
BOUND = environment.lower_bounds()["numpy"]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows lets few users make links")


class Host:
    """A Python like this one, with links to all that is installed here but sinpe. What pip adds
    goes into `own`, and can come from `shop` alone.
    """

    def __init__(self, folder):
        self.folder, self.linked, self.shop = folder, folder / "linked", folder / "shop"
        self.linked.mkdir()
        self.shop.mkdir()
        venv.create(folder / "python", symlinks=True, with_pip=False)
        self.python = environment.interpreter(folder / "python")
        self.own = next((folder / "python").glob("lib/python*/site-packages"))
        (self.own / "linked.pth").write_text(f"{self.linked}\n")
        for entry in Path(sysconfig.get_path("purelib")).iterdir():
            if "sinpe" not in entry.name and entry.suffix != ".pth":
                (self.linked / entry.name).symlink_to(entry)

    def lacks(self, name):
        """Take a distribution away."""
        for entry in [self.linked / name, *self.linked.glob(f"{name}-*.dist-info")]:
            entry.unlink()

    def offers(self, name, version, *needs, folder=None):
        """Put a wheel with an empty module into the shop, or unpacked into another folder."""
        path = self.shop / f"{name}-{version}-py3-none-any.whl"
        lines = [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}"]
        lines += [f"Requires-Dist: {need}" for need in needs]
        info = f"{name}-{version}.dist-info"
        with zipfile.ZipFile(path, "w") as wheel:
            wheel.writestr(f"{name}/__init__.py", f"__version__ = '{version}'\n")
            wheel.writestr(f"{info}/METADATA", "\n".join(lines) + "\n")
            wheel.writestr(
                f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            )
            wheel.writestr(f"{info}/RECORD", "")
        if folder:
            zipfile.ZipFile(path).extractall(folder)
            path.unlink()

    def run(self, *cells, **variables):
        """Run cells one after the other, the set-up cell in front of the last. Returns what each
        shows: its text, or its error as (name, what the page shows); None if it did not run.
        """
        python, folder = str(self.python), str(self.folder)

        class Manager(KernelSpecManager):
            def get_kernel_spec(self, kernel_name):
                argv = [python, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
                return KernelSpec(argv=argv, display_name="Host", language="python")

        class Kernel(AsyncKernelManager):
            def _kernel_spec_manager_default(self):
                return Manager()

        *before, last = cells
        sources = [*before, set_up(REPOSITORY), last]
        notebook = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, sources)))
        variables = {
            **{key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(self.shop),
            "PIP_NO_BUILD_ISOLATION": "0",  # pip reads this as: no isolation
            "https_proxy": NOWHERE,
            "IPYTHONDIR": folder,
            **variables,
        }
        client = NotebookClient(
            notebook,
            kernel_manager_class=Kernel,
            timeout=600,  # hanging, not slow
            coalesce_streams=True,
            resources={"metadata": {"path": folder}},
        )
        try:
            client.execute(env=variables)
        except CellExecutionError:
            pass
        return [self._shown(cell) for cell in notebook.cells]

    @staticmethod
    def _shown(cell):
        if cell.execution_count is None:
            return None
        errors = [output for output in cell.outputs if output.output_type == "error"]
        if errors:
            return errors[0].ename, "\n".join(errors[0].traceback)
        return "".join(output.text for output in cell.outputs)

    def added(self):
        """What pip put beside the linked packages."""
        return {path.name for path in self.own.glob("*.dist-info")}


@pytest.fixture
def host(tmp_path):
    pytest.importorskip("pip", reason="this environment has no pip to install with")
    return Host(tmp_path)


IMPORTED = "import numpy\nprint(numpy.__version__)"
USED = f"import sinpe\n{IMPORTED}\nprint(sinpe.sinusoidal_encoding(3, 4).shape)"


def test_it_is_written_into_every_notebook_in_place_of_another(tmp_path):
    shutil.copy(ROOT / "_config.yml", tmp_path)
    (tmp_path / "notebooks").mkdir()
    paths = sorted((ROOT / "notebooks").glob("*.ipynb"))[:2]
    for path, old in zip(paths, ("getattr(find_spec", "What is installed"), strict=True):
        text = path.read_text(encoding="utf-8")
        (tmp_path / "notebooks" / path.name).write_text(text.replace(old, "?", 1), encoding="utf-8")
    assert write(tmp_path) == [path.name for path in paths]
    for path in paths:
        assert (tmp_path / "notebooks" / path.name).read_bytes() == path.read_bytes()
    assert write(tmp_path) == []


def test_where_sinpe_is_there_it_does_nothing(run_python):
    before = "before = set(globals()) | {'before', 'find_spec'}\n"
    after = "\nassert set(globals()) == before"
    assert run_python(before + set_up(REPOSITORY) + after, SINPE_SOURCE=NOWHERE) == ""


@pytest.mark.parametrize("source", ["a wheel", "a folder"])
def test_what_is_missing_is_installed_and_nothing_is_replaced(host, wheel, source):
    import numpy

    (host.folder / "sinpe").mkdir()  # a clone beside the notebook is no installation
    host.lacks("tqdm")
    host.offers("tqdm", "99.0")
    host.offers("numpy", "99.0")  # newer, and nobody asked for it
    source = str(wheel if source == "a wheel" else wheel.parent.parent)
    before, set_up_cell, after = host.run(IMPORTED, USED, SINPE_SOURCE=source)
    assert before == f"{numpy.__version__}\n"
    assert set_up_cell == f"Installing sinpe from {source}\n"
    assert after == f"{numpy.__version__}\n(3, 4)\n"
    assert host.added() == {wheel.name.partition("-py3")[0] + ".dist-info", "tqdm-99.0.dist-info"}


def refused(shown, source):
    """The reason, from a cell that says in one sentence that sinpe could not be installed."""
    name, text = shown
    start, end = f"sinpe could not be installed from {source} (", "): set SINPE_SOURCE to another"
    assert name == "NotInstalled" and text.startswith(start) and text.count("\n") == 0
    assert text.endswith("/book/how-to-run.html#when-the-first-cell-fails") and "\x1b" not in text
    return text.removeprefix(start).partition(end)[0]


@pytest.mark.parametrize(
    "version, needs, said",
    [
        ("1.26.4", [], f"sinpe {sinpe.__version__} depends on numpy>={BOUND}; "),
        ("2.0.2", ["numpy>=2.2"], "tqdm 99.0 depends on numpy>=2.2; "),
    ],
    ids=["older than sinpe needs", "older than a missing package needs"],
)
def test_a_package_that_is_too_old_is_named_and_not_replaced(host, wheel, version, needs, said):
    host.lacks("tqdm")
    host.offers("tqdm", "99.0", *needs)
    host.lacks("numpy")
    host.offers("numpy", version, folder=host.linked)
    host.offers("numpy", "99.0")
    before, set_up_cell, after = host.run(IMPORTED, USED, SINPE_SOURCE=str(wheel))
    assert (before, after) == (f"{version}\n", None)
    reason = refused(set_up_cell, wheel)
    assert said in reason and reason.endswith(f"(constraint) numpy=={version}")
    assert host.added() == set()


@pytest.mark.parametrize(
    "source, said",
    [
        ("", "fatal: unable to access"),  # not set: the repository, which no test can reach
        ("/nowhere/sinpe", "Invalid requirement: '/nowhere/sinpe'"),
        ("/nowhere/sinpe-0.1.0-py3-none-any.whl", "No such file or directory"),
    ],
)
def test_a_source_that_cannot_be_reached_ends_in_a_sentence_and_no_cell_runs_on(host, source, said):
    if not source and not shutil.which("git"):
        pytest.skip("git is not installed")
    set_up_cell, after = host.run("print('goes on')", SINPE_SOURCE=source)
    assert said in refused(set_up_cell, source or f"git+https://github.com/{REPOSITORY}")
    assert after is None and host.added() == set()


def test_without_pip_it_says_so(host):
    host.lacks("pip")
    set_up_cell, after = host.run("print('goes on')", SINPE_SOURCE="sinpe")
    assert refused(set_up_cell, "sinpe").endswith("No module named pip") and after is None
