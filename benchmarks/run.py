"""Run every benchmark, each in a process of its own. The exit status is 1 where a gate does not
hold. --save FILE keeps what was measured, and on which machine, as JSON; an entry of another day
is replaced benchmark by benchmark.

python benchmarks/run.py [--quick] [--save FILE]
"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
BENCHMARKS = ["precision", "tables", "rotary", "inference", "training", "cluster"]


def main(arguments):
    failed = [
        name
        for name in BENCHMARKS
        if subprocess.run([sys.executable, HERE / f"{name}.py", *arguments], check=False).returncode
    ]
    if failed:
        sys.exit(f"see above: {', '.join(failed)}")


if __name__ == "__main__":
    main(sys.argv[1:])
