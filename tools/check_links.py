"""Ask every address that README.md, CONTRIBUTING.md, book/ and the notebooks link to whether it
still answers. Needs the network.

    python tools/check_links.py

Links into the course's own repository and site are left out, since a test checks those without a
network. A page that refuses programs (401, 403, 405, 429) exists, so it passes.
"""

import re
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
from retarget import mentions, present

ROOT = Path(__file__).resolve().parent.parent
ADDRESS = re.compile(r"https?://[^\s<>\"'`\]}|\\]+")
REFUSALS = {401, 403, 405, 406, 429}
SECONDS = 20


def addresses(text):
    """Every address in a text, without the punctuation and the closing bracket of the sentence
    around it.
    """
    for address in ADDRESS.findall(text):
        address = address.rstrip(".,;:!?*")
        while address.endswith(")") and address.count(")") > address.count("("):
            address = address[:-1].rstrip(".,;:!?*")
        yield address.partition("#")[0]


def texts(root):
    """{name of a file: its prose}."""
    found = {
        path: path.read_text(encoding="utf-8")
        for path in [*root.glob("*.md"), *root.glob("book/*.md"), *root.glob("book/*.bib")]
    }
    for path in root.glob("notebooks/*.ipynb"):
        found[path] = "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells)
    return {path.relative_to(root).as_posix(): text for path, text in sorted(found.items())}


def collect(root):
    """{address: the files that link to it}, in order of first appearance."""
    own, found = mentions(present(root)), {}
    for name, text in texts(root).items():
        for address in addresses(text):
            if (
                not own.search(address)
                and "//127.0.0.1" not in address
                and "//localhost" not in address
            ):
                found.setdefault(address, []).append(name)
    return found


def answer(address):
    """None if the address answers, else what it says; tried twice."""
    request = urllib.request.Request(
        address, headers={"User-Agent": "Mozilla/5.0 (link check of an open course)"}
    )
    for attempt in range(2):
        try:
            with urllib.request.urlopen(request, timeout=SECONDS):
                return None
        except urllib.error.HTTPError as error:
            if error.code in REFUSALS:
                return None
            said = f"{error.code} {error.reason}"
        except (OSError, ValueError) as error:
            said = str(error)
        time.sleep(2 * (1 - attempt))
    return said


def main():
    found = collect(ROOT)
    with ThreadPoolExecutor(8) as pool:
        said = dict(zip(found, pool.map(answer, found), strict=True))
    for address, words in said.items():
        if words:
            print(f"{address}\n    {words}; linked from {', '.join(dict.fromkeys(found[address]))}")
    broken = sum(words is not None for words in said.values())
    print(f"{len(found)} addresses, {broken} do not answer")
    sys.exit(bool(broken))


if __name__ == "__main__":
    main()
