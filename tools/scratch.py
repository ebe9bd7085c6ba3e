"""Keep matplotlib, IPython and Jupyter out of the home folder, which may be read-only or hold
somebody's own settings. Used by the other tools and by the tests.
"""

import os
import subprocess
import sys
from pathlib import Path


def settle(folder):
    """From now on this process and those that it starts keep settings and run-time files below
    `folder`, and matplotlib its list of fonts in the virtual environment, where it is made only
    once.
    """
    stays = sys.prefix != sys.base_prefix and os.access(sys.prefix, os.W_OK)
    fonts = Path(sys.prefix if stays else folder, "matplotlib")
    fonts.mkdir(exist_ok=True)
    os.environ["MPLCONFIGDIR"] = str(fonts)
    for variable in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        os.environ[variable] = str(Path(folder, variable.lower()))
    if not any(fonts.glob("fontlist-*.json")):
        list_fonts()


def list_fonts():
    """Let matplotlib make its list now: where that takes more than five seconds it says so on
    stderr, which would be an unexpected output of the first figure.
    """
    code = "import matplotlib.font_manager"
    subprocess.run([sys.executable, "-c", code], check=True, stderr=subprocess.DEVNULL)
