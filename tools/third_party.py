"""Put the licences of what others made beside the built pages: THIRD_PARTY.md and, in licences/,
the texts that the packages it names bring along.
"""

import re
import shutil
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

LIST = Path(__file__).resolve().parent.parent / "THIRD_PARTY.md"
LICENCE = re.compile(r"(^|/)(licen[cs]e|copying)[^/]*$", re.IGNORECASE)
ROW = re.compile(r"^\| ([^|]+) \| [^|]+ \| [^|]+ \| ([\w.-]+) \|(?: `([\w-]+)`)? \|$", re.MULTILINE)


def rows():
    """[(patterns of files, licence, package or None)] of THIRD_PARTY.md."""
    found = ROW.findall(LIST.read_text(encoding="utf-8"))
    return [
        (re.findall(r"`([^`]+)`", files), licence, package or None)
        for files, licence, package in found
    ]


def texts(package):
    """The licence files of an installed package, its parts' too."""
    return [path for path in distribution(package).files if LICENCE.search(path.as_posix())]


def place(html):
    """Write THIRD_PARTY.md and licences/ into a built site. What decks and the browser edition are
    made of is there once they are built, and so they ask for this again.
    """
    shutil.copy(LIST, html)
    for package in sorted({package for _, _, package in rows() if package}):
        try:
            found = texts(package)
        except PackageNotFoundError:
            continue
        for number, path in enumerate(found):
            target = html / "licences" / f"{package}{f'-{number}' if number else ''}.txt"
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(path.locate().read_bytes())
