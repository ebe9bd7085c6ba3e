"""Run copies of the notebooks with nbval and compare every output with the stored one; hold them to
their budgets.

    python tools/check_notebooks.py                      # all of notebooks/
    python tools/check_notebooks.py 02 04                # those whose file name starts so; paths of
    notebooks work too
    python tools/check_notebooks.py --threads 2 --hash-seed 7 --cold-cache

Each copy lies alone in an empty folder, so one run also shows that a notebook needs nothing but an
installed `sinpe`, as on Colab. The exit status is 0 only if every cell of every notebook was run
and compared. A budget that was not kept is reported: a slow or busy machine is no fault of the
course. It is a failure where CI is set, and everywhere from three times the budget on.
"""

import argparse
import contextlib
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
import pytest
from run_notebooks import HANG_SECONDS
from scratch import settle

ROOT = Path(__file__).resolve().parent.parent
EXPERIMENTS = ("07", "08", "13", "14")  # chapters that train for a purpose: they may take longer
SECONDS, EXPERIMENT_SECONDS = 40, 90
MEMORY, SIZE = 1.5e9, 1e6
FAR = 3  # times a budget: that is no slow machine


@dataclass
class Record:
    """What one notebook did. Problems and remarks are sentences about it; only problems fail."""

    cells: int = 0
    seconds: float = 0.0
    cpu: float = 0.0
    memory: int = 0
    problems: list = field(default_factory=list)
    remarks: list = field(default_factory=list)

    @property
    def verdict(self):
        return "FAILED" if self.problems else "over budget" if self.remarks else "passed"


class Collector:
    """Receives the report of every cell, from whichever process ran it."""

    def __init__(self, copies):
        self.records = {copy.stem: Record() for copy in copies}
        self.copies = {copy.stem: copy for copy in copies}

    def pytest_runtest_logreport(self, report):
        stem, cell = Path(report.nodeid.split("::")[0]).stem, report.nodeid.rpartition(" ")[2]
        record, found = self.records[stem], dict(report.user_properties)
        if report.when == "call":
            record.cells += 1
        if report.when == "call" and "usage" in found:
            record.seconds += found["usage"]["seconds"]
            record.cpu = max(record.cpu, found["usage"].get("cpu", 0.0))
            record.memory = max(record.memory, found["usage"].get("memory", 0))
        if "problem" in found:
            record.problems.append(f"{self._where(stem, int(cell))} {found['problem']}")
        elif report.failed:
            record.problems.append(f"{stem}: {report.longreprtext.strip().splitlines()[-1]}")

    def pytest_collectreport(self, report):
        stem = Path(report.nodeid).stem
        # every process reports it
        if report.failed and not any(
            " cannot be read" in problem for problem in self.records[stem].problems
        ):
            self.records[stem].problems.append(
                f"{stem} cannot be read:"
                f" {report.longreprtext.strip().splitlines()[-1].lstrip('E ')}"
            )

    def _where(self, stem, number):
        """The place as a reader finds it: 02_x, In [3] (under “a heading”). nbval counts code cells
        from 0.
        """
        heading, seen = "", -1
        for cell in nbformat.read(self.copies[stem], as_version=4).cells:
            if cell.cell_type == "markdown":
                heading = next(
                    (
                        line.lstrip("# ")
                        for line in reversed(cell.source.splitlines())
                        if line.startswith("#")
                    ),
                    heading,
                )
            elif cell.cell_type == "code":
                seen += 1
                if seen == number:
                    break
        return f"{stem}, In [{number + 1}]" + (f" (under “{heading}”):" if heading else ":")


def select(names, folder=ROOT / "notebooks"):
    """Notebooks by path, or by the beginning of their file name; experiments first, since they take
    longest.
    """
    paths = [Path(name).resolve() for name in names if name.endswith(".ipynb")]
    prefixes = tuple(name for name in names if not name.endswith(".ipynb"))
    if prefixes or not names:
        paths += [
            path
            for path in sorted(folder.glob("*.ipynb"))
            if not prefixes or path.name.startswith(prefixes)
        ]
    lost = [str(path) for path in paths if not path.is_file()] + [
        prefix for prefix in prefixes if not any(path.name.startswith(prefix) for path in paths)
    ]
    if lost or not paths:
        raise SystemExit(f"no such notebook: {', '.join(lost) or folder}")
    return sorted(dict.fromkeys(paths), key=lambda path: not path.stem.startswith(EXPERIMENTS))


def environment(threads, hash_seed):
    """Variables for the kernels: a fixed number of threads, no way out to the network."""
    count = {
        name: str(threads)
        for name in (
            "OMP_NUM_THREADS",
            "OPENBLAS_NUM_THREADS",
            "MKL_NUM_THREADS",
            "VECLIB_MAXIMUM_THREADS",
        )
    }
    nowhere = {
        name: "http://127.0.0.1:9"
        for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")
    }
    seed = {} if hash_seed is None else {"PYTHONHASHSEED": str(hash_seed)}
    return {**count, **nowhere, **seed, "PYTHONUTF8": "1"}


def copy_alone(path, folder):
    """A copy of the notebook in a folder of its own."""
    home = folder / path.stem
    home.mkdir(parents=True)
    return Path(shutil.copy(path, home))


def run(copies, options, scratch):
    """nbval on all copies, two notebooks at a time. Returns pytest's exit status and a record for
    each notebook.
    """
    collector = Collector(copies)
    (scratch / "pytest.ini").write_text("[pytest]\n")  # no settings from any folder above
    processes = min(options.processes, len(copies))
    arguments = [
        *map(str, copies),
        "--nbval",
        "--nbval-current-env",
        "--nbval-sanitize-with",
        str(ROOT / "tests" / "nbval.cfg"),
        "--nbval-cell-timeout",
        str(options.cell_seconds),
        "--nbval-kernel-startup-timeout",
        str(HANG_SECONDS),
        "-p",
        "nbval_strict",
        "-p",
        "said_once",
        "-p",
        "no:cacheprovider",
        "-q",
        "-rN",  # the table says it
        "-c",
        str(scratch / "pytest.ini"),
        "--color",
        "yes" if sys.stdout.isatty() else "no",
        *(["--cold-caches", str(scratch)] if options.cold_cache else []),
        *(["-n", str(processes), "--dist", "loadscope"] if processes > 1 else []),
    ]
    with contextlib.chdir(scratch / "alone"):  # so that names are short
        status = pytest.main(arguments, plugins=[collector])
    return status, collector.records


def judge(copies, records, strict):
    """Add to each record what pytest cannot see: budgets, files left behind, notebooks of which no
    cell ran. A budget that was not kept is a problem if `strict`, or if it is far from kept.
    """
    for copy in copies:
        record = records[copy.stem]
        if not record.cells and not record.problems:
            record.problems.append(f"{copy.stem}: no cell was run")
        for used, budget, words in budgets(copy, record):
            if used > budget:
                fails = strict or used > FAR * budget
                (record.problems if fails else record.remarks).append(f"{copy.stem}: {words}")
        left = sorted(
            path.name
            for path in copy.parent.iterdir()
            if path != copy and path.name != "__pycache__"
        )
        if left:
            record.problems.append(f"{copy.stem}: left files behind: {', '.join(left)}")


def budgets(copy, record):
    """What a notebook used, what it may use, and both in words: time, memory, size."""
    seconds = EXPERIMENT_SECONDS if copy.stem.startswith(EXPERIMENTS) else SECONDS
    size = copy.stat().st_size
    # The smaller of the two: other work on the machine lengthens the one, a second thread
    # lengthens the other.
    time = min(record.seconds, record.cpu or record.seconds)
    yield time, seconds, f"took {time:.0f} s of processor time; the budget is {seconds} s"
    peak, allowed = record.memory / 1e9, MEMORY / 1e9
    yield record.memory, MEMORY, f"took {peak:.2f} GB of memory; the budget is {allowed:.1f} GB"
    yield size, SIZE, f"is {size / 1e6:.2f} MB large; the budget is {SIZE / 1e6:.0f} MB"


def table(records):
    """One line a notebook, then every problem and every remark in words."""
    lines = [f"{'notebook':40} {'cells':>5} {'seconds':>8} {'cpu':>7} {'MB':>6}  verdict"]
    for stem, r in sorted(records.items()):
        lines.append(
            f"{stem:40} {r.cells:5d} {r.seconds:8.1f} {r.cpu:7.1f} {r.memory / 1e6:6.0f} "
            f" {r.verdict}"
        )
    words = [words for _, r in sorted(records.items()) for words in (*r.problems, *r.remarks)]
    return "\n".join(["", *lines, *(["", *words] if words else []), ""])


def summary(records):
    """How many passed or failed, and which."""
    failed = [stem for stem, record in sorted(records.items()) if record.problems]
    over = [stem for stem, r in sorted(records.items()) if r.verdict == "over budget"]
    total = len(records)
    return (
        f"{len(failed)} of {total} notebooks failed: {', '.join(failed)}"
        if failed
        else f"{total} of {total} notebooks passed"
        + (f", over their budget, which fails where CI is set: {', '.join(over)}" if over else "")
    )


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="beginning of a file name in notebooks/, or the path of a notebook",
    )
    parser.add_argument(
        "--threads", type=int, default=1, help="threads each kernel may use (default 1)"
    )
    parser.add_argument(
        "--processes", type=int, default=2, help="notebooks run at a time (default 2)"
    )
    parser.add_argument("--hash-seed", type=int, help="PYTHONHASHSEED of the kernels")
    parser.add_argument(
        "--cold-cache", action="store_true", help="give every kernel an empty matplotlib cache"
    )
    parser.add_argument(
        "--cell-seconds",
        type=float,
        default=HANG_SECONDS,
        help=f"after so long a cell counts as hanging (default {HANG_SECONDS})",
    )
    options = parser.parse_args(arguments)
    paths = select(options.names)
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        settle(scratch)
        os.environ.update(environment(options.threads, options.hash_seed))
        copies = [copy_alone(path, scratch / "alone") for path in paths]
        status, records = run(copies, options, scratch)
        judge(copies, records, strict=bool(os.environ.get("CI")))
    print(table(records))
    print(summary(records))
    failed = any(record.problems for record in records.values())
    return 1 if failed or status != pytest.ExitCode.OK else 0


if __name__ == "__main__":
    sys.exit(main())
