"""Change the package a little, one change at a time, and see whether its tests notice.

    python tools/mutants.py                      every package of tests/mutants.toml
    python tools/mutants.py formula positions    these
    python tools/mutants.py positions/alibi      one module, whole
    python tools/mutants.py --report             what is known, and nothing else

It goes on where it was stopped; --anew forgets what was found before, and so does a change of the
package. A package is taken whole, or a seeded sample of it, and then the share has an interval.

Cosmic Ray finds the places, makes the changes and keeps the results, in _build/mutants. The changes
are made in a copy of the tree. A mutant has the tests that tests/mutants.toml names for its module,
and four times the seconds that these took unchanged. That file also lists the survivors that may
live, each with the reason. The exit status is 0 if no other one survives. Needs fork: no Windows.
"""

import argparse
import ast
import contextlib
import fnmatch
import hashlib
import math
import os
import random
import re
import shutil
import signal
import sys
import time
import tomllib
import traceback
from importlib import import_module
from pathlib import Path

import parso
import pytest
from cosmic_ray import plugins
from cosmic_ray.commands.init import init
from cosmic_ray.mutating import use_mutation
from cosmic_ray.operators.operator import Operator
from cosmic_ray.work_db import use_db
from cosmic_ray.work_item import TestOutcome, WorkerOutcome, WorkResult

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "_build/mutants"
TREE = WORK / "tree"
PLAN = tomllib.loads((ROOT / "tests/mutants.toml").read_text(encoding="utf-8"))
KINDS = ("equivalent", "platform", "slow")  # reasons for which a survivor may live
NOT_DRAWN = "not drawn"
OPTIONS = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-profile=mutants"]
OPTIONS += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # of what was imported before
MEMORY = 12 * 2**30  # a mutant that asks for more is killed by that
# One near neighbour for each operator instead of all eleven: the far ones die of the same tests
KEPT = re.compile(
    r"own/.*|core/(AddNot|Replace(True|False|And|Or|Break|Continue)With.*|ExceptionReplacer"
    r"|NumberReplacer|RemoveDecorator|ZeroIterationForLoop|ReplaceUnaryOperator_Delete_.*"
    r"|ReplaceBinaryOperator_(Add_Sub|Sub_Add|Mul_Div|Div_Mul|FloorDiv_Div|Mod_FloorDiv|Pow_Mul"
    r"|BitOr_BitAnd|BitAnd_BitOr|LShift_RShift|RShift_LShift)"
    r"|ReplaceComparisonOperator_(Eq_NotEq|NotEq_Eq|Lt_LtE|LtE_Lt|Gt_GtE|GtE_Gt|Is_IsNot|IsNot_Is))"
)


class RemoveCall(Operator):
    """A statement that only calls something is left out, as `optimizer.zero_grad()`."""

    def mutation_positions(self, node):
        if node.type == "simple_stmt" and node.children[0].type in ("atom_expr", "power"):
            yield node.start_pos, node.end_pos

    def mutate(self, node, index):
        call = node.children[0]
        prefix = call.get_first_leaf().prefix
        node.children[0] = parso.python.tree.Name("pass", call.start_pos, prefix)
        return node

    @classmethod
    def examples(cls):
        return ()


plugins.OPERATOR_PROVIDERS["own"] = {"RemoveCall": RemoveCall}


def tests_of(package, module):
    """The test files for a module: those of its own line, else of the first pattern that fits."""
    table = PLAN["packages"][package]
    line = next(key for key in sorted(table, key="*".__eq__) if fnmatch.fnmatch(module.stem, key))
    return [f"tests/{name.format(module=module.stem)}" for name in table[line]]


def prepare():
    """A fresh copy of the tree to work in, so that a run cut short leaves no mutant behind."""
    shutil.rmtree(TREE, ignore_errors=True)
    skip = shutil.ignore_patterns("__pycache__", "_build", ".git", ".venv*", ".hypothesis")
    shutil.copytree(ROOT, TREE, ignore=skip)
    os.chdir(TREE)
    os.environ |= {"PYTHONPATH": str(TREE), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    sys.path.insert(0, str(TREE))
    sys.dont_write_bytecode = True
    for name in ("hypothesis", "playwright.sync_api", "scipy.stats", "torch", "transformers"):
        import_module(name)  # what the tests import is imported once, here


def run_tests(files, seconds):
    """(status, seconds) of pytest in a fork of this process; status None if it took too long."""
    import resource  # not on every system

    start = time.monotonic()
    child = os.fork()
    if not child:
        status = 1
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            with open(WORK / "last.txt", "w") as log:
                os.dup2(log.fileno(), 1)
                os.dup2(log.fileno(), 2)
            status = int(pytest.main([*OPTIONS, *files]))
        except BaseException:  # noqa: BLE001 - whatever it is, it has to end here
            traceback.print_exc()
        finally:
            os._exit(status)
    status = None
    while status is None and time.monotonic() - start < seconds:
        time.sleep(0.02)
        ended, wait = os.waitpid(child, os.WNOHANG)
        status = os.waitstatus_to_exitcode(wait) if ended else None
    with contextlib.suppress(ProcessLookupError):  # also what the tests started
        os.killpg(child, signal.SIGKILL)
    if status is None:
        os.waitpid(child, 0)
    return status, time.monotonic() - start


def enter(db, modules, whole):
    """Write all mutants of the modules into a new session; what is not drawn counts as skipped."""
    init(modules, db, {})
    mutants = sorted(
        ((item.mutations[0], item.job_id) for item in db.work_items),
        key=lambda pair: (str(pair[0].module_path), pair[0].operator_name, pair[0].occurrence),
    )
    kept = [job for mutant, job in mutants if KEPT.fullmatch(mutant.operator_name)]
    drawn = kept
    if not whole:
        drawn = random.Random(PLAN["seed"]).sample(kept, min(PLAN["sample"], len(kept)))
    not_drawn = sorted({*kept} - {*drawn})
    known = {*kept}
    not_kept = [job for _, job in mutants if job not in known]
    db.set_multiple_results(not_drawn, WorkResult(WorkerOutcome.SKIPPED, NOT_DRAWN))
    db.set_multiple_results(not_kept, WorkResult(WorkerOutcome.SKIPPED, "far neighbour"))


def change(module, before, after):
    """(module, line taken out, line put in) of a mutant, as tests/mutants.toml lists survivors."""
    lines = zip(before.split("\n"), after.split("\n"), strict=False)
    return module, *next((a.strip(), b.strip()) for a, b in lines if a != b)


def excused():
    """{change: why it may live}."""
    return {(one["module"], one["from"], one["to"]): one for one in PLAN.get("survivors", [])}


def survivors(db):
    """Work items that survived, each with its change."""
    return [
        (item, ast.literal_eval(result.output))
        for item, result in db.completed_work_items
        if result.test_outcome is TestOutcome.SURVIVED
    ]


def execute(db, package):
    """Try each mutant that has no result yet, and again those that lived without an excuse, since a
    test may have come since. When the run is stopped, the one it was at is lost.
    """
    limits = {}
    again = [item for item, said in survivors(db) if said not in excused()]
    todo = [*db.pending_work_items, *again]
    for number, item in enumerate(todo, 1):
        (mutant,) = item.mutations
        files = tests_of(package, mutant.module_path)
        if (key := tuple(files)) not in limits:
            status, seconds = run_tests(files, 3600)
            if status != 0:
                sys.exit(f"{files}: status {status} with nothing changed; {WORK}/last.txt says why")
            limits[key] = max(20, 4 * seconds)
        operator = plugins.get_operator(mutant.operator_name)()
        with use_mutation(mutant.module_path, operator, mutant.occurrence) as (before, after):
            status, seconds = run_tests(files, limits[key])
        outcome = TestOutcome.SURVIVED if status == 0 else TestOutcome.KILLED
        said = change(str(mutant.module_path), before, after)
        db.set_result(item.job_id, WorkResult(WorkerOutcome.NORMAL, repr(said), outcome))
        how = "killed by the clock" if status is None else outcome.value  # or a busy machine's
        print(f"{package} {number}/{len(todo)} {how} {seconds:.1f} s {said}", flush=True)


def interval(killed, tried):
    """Wilson's 95 % interval of a share."""
    z = 1.959964
    middle = killed + z * z / 2
    spread = z * math.sqrt(killed * (tried - killed) / tried + z * z / 4)
    return (middle - spread) / (tried + z * z), (middle + spread) / (tried + z * z)


def report(db, name):
    """Print what came out, and the survivors without an excuse; return how many. The interval is
    there unless every mutant was tried: what is drawn, and the order of trying, is random.
    """
    results = [result for _, result in db.results]
    done = sum(result.worker_outcome is WorkerOutcome.NORMAL for result in results)
    unknown = len(db.pending_work_items)
    left_out = unknown + sum(result.output == NOT_DRAWN for result in results)
    lived = [said for _, said in survivors(db)]
    kinds = [excused()[said]["kind"] if said in excused() else "open" for said in lived]
    equivalent = kinds.count("equivalent") + kinds.count("platform")
    tried, killed = done - equivalent, done - equivalent - kinds.count("open")
    share = f"killed {killed} of {tried}"
    if tried:
        share += f", {killed / tried:.1%}"
    if tried and left_out:
        low, high = interval(killed, tried)
        share += f" (95 % interval {low:.1%} to {high:.1%}, {done} of {done + left_out} tried)"
    for said, kind in zip(lived, kinds, strict=True):
        if kind == "open":
            print(f"  survived: {said}")
    listed = ", ".join(f"{kinds.count(kind)} {kind}" for kind in KINDS)
    print(f"{name}: {share}; survivors: {kinds.count('open')} open, {listed}", flush=True)
    return kinds.count("open")


def session(name):
    """(package, modules, database) of a name. A database belongs to one state of its modules."""
    package, _, module = name.partition("/")
    if package not in PLAN["packages"]:
        sys.exit(f"{package} is no package of tests/mutants.toml: {', '.join(PLAN['packages'])}")
    patterns = PLAN["packages"][package]["modules"]
    modules = sorted(path for pattern in patterns for path in Path().glob(pattern))
    if module:
        modules = [path for path in modules if path.stem == module]
    text = b"".join(path.read_bytes() for path in modules)
    digest = hashlib.sha256(text + str(PLAN["seed"]).encode()).hexdigest()[:12]
    return package, modules, WORK / f"{name.replace('/', '-')}-{digest}.sqlite"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", default=list(PLAN["packages"]))
    parser.add_argument("--anew", action="store_true", help="forget what was found before")
    parser.add_argument("--report", action="store_true", help="only print what is known")
    arguments = parser.parse_args()
    prepare()
    still = 0
    for name in arguments.names:
        package, modules, file = session(name)
        if arguments.anew:
            file.unlink(missing_ok=True)
        fresh = not file.exists()
        with use_db(file) as db:
            if fresh:
                enter(db, modules, PLAN["packages"][package].get("whole") or "/" in name)
            try:
                if not arguments.report:
                    execute(db, package)
            except KeyboardInterrupt:
                report(db, name)
                sys.exit("interrupted: the same command goes on from here")
            still += report(db, name)
    sys.exit(bool(still))


if __name__ == "__main__":
    main()
