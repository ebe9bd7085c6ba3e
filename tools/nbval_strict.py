"""A pytest plugin that closes nbval's gaps and says in words what differed. Loaded by
check_notebooks.py with `-p nbval_strict`.

nbval by itself lets three things pass: a cell without an execution count is run but never compared,
a tag or comment switches the comparison off, and after a time-out every further failure counts as
expected. Here each of them is a failure.
"""

import copy
import os
import re
import tempfile

import psutil
import pytest
from nbval.plugin import IPyNbCell, coalesce_streams, transform_streams_for_comparison
from run_notebooks import HANG_SECONDS

NAMES = {
    "stdout": "printed text",
    "stderr": "stderr",
    "text/plain": "the shown value",
    "image/svg+xml": "the picture",
    "evalue": "the error message",
}


def pytest_addoption(parser):
    parser.addoption(
        "--cold-caches",
        metavar="FOLDER",
        help="give every kernel an empty matplotlib cache, made in this folder",
    )


def pytest_itemcollected(item):
    # nbval gives up when a kernel is silent for 5 s, which on a busy machine it can be
    item.output_timeout = HANG_SECONDS
    # nbval joins the stored streams in place when it compares
    item.stored = copy.deepcopy(item.cell.outputs)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    # the notebook's kernel starts after this hook
    if item.config.option.cold_caches and item.cell_num == 0:
        os.environ["MPLCONFIGDIR"] = tempfile.mkdtemp(dir=item.config.option.cold_caches)


# outermost: it sees what pytest made of skips and expected failures
@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item, call):
    report = yield
    words = problem(item, report, call)
    if words:
        report.user_properties.append(("problem", words))
        if not report.failed:
            report.outcome, report.longrepr = "failed", words
        if hasattr(report, "wasxfail"):
            del report.wasxfail
    if item.config.option.color == "no" and isinstance(report.longrepr, str):
        report.longrepr = _plain(report.longrepr)  # the kernel's traceback is coloured all the same
    if report.when == "call":
        report.user_properties.append(("usage", {"seconds": call.duration, **usage(item)}))
    return report


def usage(item):
    """Processor seconds and peak memory in bytes of the item's kernel so far; empty where the
    kernel is gone.
    """
    try:
        process = psutil.Process(item.parent.kernel.km.provisioner.pid)
        times, memory = process.cpu_times(), process.memory_info()
        return {
            "cpu": times.user + times.system,
            "memory": _high_water_mark(process.pid) or getattr(memory, "peak_wset", memory.rss),
        }
    except (psutil.Error, AttributeError, TypeError):
        return {}


def _high_water_mark(pid):
    """Linux keeps the peak itself; elsewhere the size after each cell has to do."""
    try:
        with open(f"/proc/{pid}/status") as status:
            return 1024 * int(re.search(r"VmHWM:\s+(\d+)", status.read()).group(1))
    except (OSError, AttributeError):
        return None


def problem(item, report, call):
    """What is wrong with a cell, in words; None if nothing is."""
    if not isinstance(item, IPyNbCell):
        return None
    if report.when == "call" and item.cell.execution_count is None:
        return "was stored without having been run, so nothing is compared: run `make notebooks`"
    if report.when == "call" and not item.options["check"]:
        return "switches the comparison off: remove the tag or comment that does so"
    if report.outcome == "skipped" and not hasattr(report, "wasxfail"):
        return "is skipped: remove the tag or comment that does so"
    if hasattr(report, "wasxfail"):
        return "was not checked, because an earlier cell ran out of time"
    return _why_it_failed(item, call) if report.failed else None


def _why_it_failed(item, call):
    message = str(call.excinfo.value)
    if "Timeout" in message:
        return message[0].lower() + message[1:]
    if message == "Cell outputs differ":
        return difference(item)
    errors = [output for output in item.test_outputs or () if output.output_type == "error"]
    if errors:
        line = re.search(
            r"^-+> ?\d+ (.*)$", _plain("\n".join(errors[-1].traceback)), flags=re.MULTILINE
        )
        where = f" at `{line.group(1).strip()}`" if line else ""
        return f"raised {errors[-1].ename}{where}" + (
            f": {errors[-1].evalue}" if errors[-1].evalue else ""
        )
    return message or repr(call.excinfo.value)


def difference(item):
    """The first difference between a cell's stored outputs and those of this run."""
    stored, fresh = _texts(item, item.stored), _texts(item, item.test_outputs)
    for key in [*stored, *(key for key in fresh if key not in stored)]:
        before, now, name = stored.get(key, []), fresh.get(key, []), NAMES.get(key, key)
        if len(before) < len(now):
            return f"now gives {name} that is not stored: {_short(now[len(before)])}"
        if len(before) > len(now):
            return f"no longer gives {name} that is stored: {_short(before[len(now)])}"
        for old, new in zip(before, now, strict=True):
            if old != new:
                return f"{name} differs{_first_line(str(old), str(new))}"
    return "its outputs differ from the stored ones"


def _texts(item, outputs):
    """{kind: [text, ...]}, reduced as nbval reduces them before it compares."""
    texts = {}
    for output in transform_streams_for_comparison(coalesce_streams(list(outputs))):
        for key, value in {**output, **output.get("data", {})}.items():
            if key not in (*item.parent.skip_compare, "data"):
                texts.setdefault(key, []).append(item.sanitize(value))
    return texts


def _first_line(old, new):
    old, new = old.splitlines(), new.splitlines()
    for number, (before, now) in enumerate(zip(old, new, strict=False), 1):
        if before != now:
            return f" in line {number}: stored {_short(before)}, now {_short(now)}"
    extra, what = (
        (new[len(old) :], "an extra line")
        if len(new) > len(old)
        else (old[len(new) :], "a missing line")
    )
    return f" by {what}: {_short(extra[0])}" if extra else " in its line ends"


def _short(text, limit=160):
    text = _plain(str(text)).strip()
    text = text.splitlines()[0] if text else text
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")


def _plain(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)
