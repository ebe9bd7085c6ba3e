"""Run one stage after the other, each a command of this Python, and say at the end what each gave.

    python tools/stages.py "notebooks: tools/check_notebooks.py" "tests: -m pytest -n 2"

A stage that fails does not keep the next one from running. The exit status is 0 only if all passed.
"""

import shlex
import subprocess
import sys
import time


def run(stages):
    """Run {name: arguments}. Yields each name with its exit status and minutes."""
    for name, arguments in stages.items():
        print(f"\n--- {name}: python {shlex.join(arguments)}", flush=True)
        start = time.monotonic()
        status = subprocess.run([sys.executable, *arguments], check=False).returncode
        yield name, status, (time.monotonic() - start) / 60


def main(arguments):
    stages = {}
    for argument in arguments:
        name, colon, command = argument.partition(": ")
        if not colon or name in stages:
            sys.exit(f"{argument!r} is not `name: arguments of Python` with a name of its own")
        stages[name] = shlex.split(command)
    try:
        done = list(run(stages))
    except KeyboardInterrupt:
        sys.exit("interrupted")
    print(f"\n{'stage':20} {'minutes':>7}  verdict")
    for name, status, minutes in done:
        verdict = f"FAILED (status {status})" if status else "passed"
        print(f"{name:20} {minutes:7.1f}  {verdict}")
    failed = [name for name, status, _ in done if status]
    print(f"\n{', '.join(failed)} failed: see above" if failed else "\neverything passed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
