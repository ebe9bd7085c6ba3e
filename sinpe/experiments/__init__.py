"""Studies of trained models: from a study to its records, and from records to verdicts.

On the command line: python -m sinpe.experiments --help
"""

from sinpe.experiments.records import RecordError, load_records
from sinpe.experiments.runner import run_study
from sinpe.experiments.studies import get_study
from sinpe.experiments.study import Cell, Study
from sinpe.training import Amplitude, build_position

__all__ = [
    "Amplitude",
    "Cell",
    "RecordError",
    "Study",
    "build_position",
    "get_study",
    "load_records",
    "run_study",
]
