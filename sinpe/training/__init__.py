"""Training: a frozen configuration in, one record out, and what a run needs for it.

On the command line: python -m sinpe.training --help
"""

from sinpe.training.amplitude import Amplitude
from sinpe.training.build import build_position
from sinpe.training.config import RunConfig
from sinpe.training.loop import Run, train

__all__ = ["Amplitude", "Run", "RunConfig", "build_position", "train"]
