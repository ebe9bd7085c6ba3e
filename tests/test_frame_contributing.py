"""CONTRIBUTING works to the letter. A method and its chapter are added to a copy of the repository,
step by step, and the copy's own tests pass; where a step is left out, they say what to write where.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import retarget

ROOT = Path(__file__).resolve().parent.parent
NUMBER = 1 + max(int(path.name[:2]) for path in (ROOT / "notebooks").glob("[0-9]*.ipynb"))
CHAPTER = f"{NUMBER:02d}_triangle"
MODULE = '''\
"""A triangle wave, added to every feature of the embeddings, each with a phase of its own."""

import torch

from sinpe.positions.base import PositionMethod, check_positive, check_size
from sinpe.positions.checks import check_embeddings


class Triangle(PositionMethod):
    """Adds |4 t - 2| - 1 to the embeddings, t being the part of p / period + j / d_model behind the
    point.

    d_model: width of the embeddings. period: positions for one full wave.
    Raises ValueError for bad arguments here, at the call for positions of a wrong shape.
    """

    def __init__(self, d_model, period=16.0):
        super().__init__()
        self.d_model = check_size("d_model", d_model)
        self.period = check_positive("period", period)
        self.derive("phases", self._phases)

    def embed(self, x, positions):
        """x: (batch, seq, d_model) -> the same shape, dtype and device."""
        positions = check_embeddings(x, positions, self.d_model)
        turns = positions[..., None].double() / self.period + self.phases
        return x + ((4 * (turns % 1) - 2).abs() - 1).to(x.dtype)

    def _phases(self):
        return torch.arange(self.d_model, dtype=torch.float64) / self.d_model
'''
TEST = '''\
"""The triangle wave: a literal loop, and its period."""

import pytest
import torch

from sinpe import Triangle


def test_equals_a_literal_loop():
    out = Triangle(3, 5).embed(torch.zeros(1, 12, 3, dtype=torch.float64), torch.arange(12))
    for p in range(12):
        for j in range(3):
            t = p / 5 + j / 3
            t -= int(t)
            assert out[0, p, j].item() == pytest.approx(1 - 4 * t if t < 0.5 else 4 * t - 3)


def test_comes_back_after_a_period():
    x, p = torch.zeros(1, 16, 4), torch.arange(16)
    assert torch.allclose(Triangle(4).embed(x, p), Triangle(4).embed(x, p + 16), atol=1e-6)
'''
FILES = (
    "positions_triangle",
    "positions_complete",
    "positions_rules",
    "floors",
    "reference",
    "notebooks",
    "frame_documents",
    "frame_guides",
)
# what is said about the method, the chapter and the pages; all other tests hold as before
CHOSEN = (
    "triangle or every_name or reference_lists or (test_notebooks and not test_rule)"
    " or (frame_documents and (table or first_page or exist or resolve or numbered))"
    " or (frame_guides and seconds)"
)


class Copy:
    """The files of a repository in another folder, which can be changed."""

    def __init__(self, root, folder):
        self.folder = folder
        for path, text in retarget.files(root):
            self.write(path.relative_to(root), text)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())

    def read(self, name):
        return (self.folder / name).read_bytes().decode()

    def change(self, name, pattern, new):
        """Replace the last match of a pattern, which must have one."""
        text = self.read(name)
        *_, last = re.finditer(pattern, text, re.MULTILINE)
        self.write(name, text[: last.start()] + last.expand(new) + text[last.end() :])

    def restore(self, *names):
        for name in names:
            self.write(name, (ROOT / name).read_bytes().decode())

    def python(self, *arguments):
        """(whether it succeeds, what it prints) of Python in this folder, with this package."""
        environment = {
            **{name: value for name, value in os.environ.items() if "PYTEST" not in name},
            "PYTHONPATH": str(self.folder),
            "PYTHONUTF8": "1",
        }
        done = subprocess.run(
            [sys.executable, *arguments],
            check=False,
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            encoding="utf-8",
        )
        return done.returncode == 0, done.stdout + done.stderr

    def tests(self, *names):
        files = [f"tests/test_{name}.py" for name in names or FILES]
        there = [file for file in files if (self.folder / file).exists()]
        return self.python("-m", "pytest", "-q", "-p", "no:cacheprovider", *there, "-k", CHOSEN)


def add_the_method(copy):
    """Steps 1 to 5 of “Adding a position method”."""
    copy.write("sinpe/positions/triangle.py", MODULE)
    line = "from sinpe.positions.triangle import Triangle"
    copy.change("sinpe/positions/__init__.py", r"^from sinpe.positions.xpos", rf"{line}\n\g<0>")
    for name in ("sinpe/positions/__init__.py", "sinpe/__init__.py"):
        copy.change(name, r'^    "XPos",$', r'    "Triangle",\n\g<0>')
    entry = '        "triangle": lambda **options: methods.Triangle(model.d_model, **options),'
    copy.change("sinpe/training/build.py", r'^        "alibi": .*$', rf"\g<0>\n{entry}")
    copy.change("sinpe/training/build.py", r'^    "alibi"', r'    "triangle" |\n\g<0>')
    copy.write("tests/test_positions_triangle.py", TEST)
    entry = ".. autoclass:: sinpe.Triangle\n   :members: embed"
    copy.change("book/api.md", r"^\.\. autoclass:: sinpe\.Alibi$", rf"{entry}\n\g<0>")
    row = "| | `period` | positive number | positions for one full triangle wave |"
    copy.change("book/notation.md", r"^\| \| `h` .*$", rf"\g<0>\n{row}")


def add_the_chapter(copy):
    """Steps 1, 2 and 5 of “Adding a chapter”, with the lines that the command prints."""
    done, said = copy.python("tools/new_chapter.py", CHAPTER, "A triangle wave")
    assert done, said
    line = {
        name: re.search(rf"^  {re.escape(name)} +(.*)$", said, re.MULTILINE)[1]
        for name in ("_toc.yml", "book/index.md", "README.md", "book/lecturing.md")
    }
    copy.change("_toc.yml", r"^( +)- file: notebooks/.*$", rf"\g<0>\n\g<1>{line['_toc.yml']}")
    index = line["book/index.md"].replace("…", "draw one.")
    copy.change("book/index.md", r"^\d+\. \[.*(?:\n   .*)*$", rf"\g<0>\n{index}")
    copy.change("README.md", r"^\| \[\d+\. .*$", rf"\g<0>\n{line['README.md']}")
    text = copy.read(f"notebooks/{CHAPTER}.ipynb")
    seconds = re.search(r"about (\d+) seconds to run", text)[1]
    assert "table of seconds" in line["book/lecturing.md"]
    for row, value in (("Seconds", seconds), ("Chapters", NUMBER)):
        copy.change("book/lecturing.md", rf"^\| {row} \|", rf"\g<0> {value} |")
    copy.change("book/lecturing.md", r"^\|(?=(?:---\|)+\n\| Chapters)", r"\g<0>---|")
    done, said = copy.python("tools/run_notebooks.py", CHAPTER)
    assert done, said


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    copy = Copy(ROOT, tmp_path_factory.mktemp("copy"))
    add_the_method(copy)
    add_the_chapter(copy)
    return copy


def test_after_all_steps_the_tests_pass(copy):
    done, said = copy.tests()
    assert done, said[-6000:]


def test_after_all_steps_the_linters_pass(copy):
    pytest.importorskip("ruff", reason="the extra `lint` is not installed")
    for command in ("check", "format --check"):
        done, said = copy.python("-m", "ruff", *command.split(), "--no-cache")
        assert done, said


def test_the_steps_name_every_file_that_they_touch(copy):
    whole = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    steps = whole.partition("## Adding a chapter\n")[2].partition("\n## Recorded studies")[0]
    before = {path.relative_to(ROOT): text for path, text in retarget.files(ROOT)}
    after = {path.relative_to(copy.folder): text for path, text in retarget.files(copy.folder)}
    assert before.keys() <= after.keys()
    for path, text in after.items():
        if text != before.get(path):
            name = path.as_posix().replace("triangle", "…")
            folder = f"`{path.parent.as_posix()}/`"
            made = path.stem == CHAPTER  # by `make chapter`
            assert made or f"`{name}`" in steps or folder in steps, name


def failures(copy, *names):
    """What the tests of a broken copy say, on one line."""
    done, said = copy.tests(*names)
    assert not done
    return " ".join(re.sub(r"^E +", "", said, flags=re.MULTILINE).split())


def test_a_step_that_is_left_out_is_named(copy, tmp_path):
    broken = Copy(copy.folder, tmp_path)
    broken.restore("sinpe/training/build.py", "book/api.md", "book/notation.md")
    broken.restore("README.md", "book/index.md", "book/lecturing.md")
    (tmp_path / "tests" / "test_positions_triangle.py").unlink()
    broken.change(
        "sinpe/positions/triangle.py",
        r'self\.derive\("phases", self\._phases\)',
        r'self.register_buffer("phases", self._phases())',
    )
    broken.change("sinpe/positions/triangle.py", r"^.*= check_embeddings.*\n", "")
    said = failures(broken)
    for words in (
        "sinpe/training/build.py: give Triangle a line in build_position",
        "write tests/test_positions_triangle.py: Triangle against a slow, literal version",
        "book/api.md: write `.. autoclass:: sinpe.Triangle` beside its kin",
        "book/notation.md: Triangle has period; write a row for each",
        f"README.md: the table of chapters needs one row: | [{NUMBER}. A triangle wave]",
        f"book/index.md: write `{NUMBER}. [A triangle wave](../notebooks/{CHAPTER}.ipynb).",
        f"book/lecturing.md: in the table of seconds, chapter {NUMBER} stands under",
        "{'phases'} would be saved though the arguments determine it: hold a table with",
        "embed was given 5 positions for 6 tokens, and",
        "take positions through check_embeddings",
    ):
        assert words in said, (words, said[-6000:])


def test_a_method_and_a_chapter_that_are_in_no_list_are_named(copy, tmp_path):
    broken = Copy(copy.folder, tmp_path)
    broken.restore("_toc.yml", "sinpe/__init__.py", "sinpe/positions/__init__.py")
    said = failures(broken, "positions_complete", "notebooks")
    for words in (
        f"write `- file: notebooks/{CHAPTER}` once",
        "sinpe/positions/__init__.py: write `from sinpe.positions.triangle import Triangle`",
    ):
        assert words in said, (words, said[-6000:])
