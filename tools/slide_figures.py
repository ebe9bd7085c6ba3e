"""The figures of all chapters as files, with a list of their captions."""

import base64
import csv
import zipfile

README = """\
Figures of the course “Sinusoidal positional encoding”, as its notebooks store them. Text and
figures: CC BY 4.0.

NAME.svg   sharp at any size; its ink is light where a program shows it in dark mode
NAME.png   the same on white
captions.csv   name, chapter, caption, and what the picture shows in words
"""


def pack(course, target):
    """Write target/figures and target/figures.zip, the same bytes on every run."""
    folder = target / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "README.txt").write_text(README, encoding="utf-8")
    with open(folder / "captions.csv", "w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["name", "chapter", "caption", "alternative text"])
        for figure in course.figures.values():
            (folder / f"{figure.name}.svg").write_text(figure.svg, encoding="utf-8")
            (folder / f"{figure.name}.png").write_bytes(base64.b64decode(figure.png))
            rows.writerow([figure.name, int(figure.chapter), figure.caption, figure.alt])
    with zipfile.ZipFile(target / "figures.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.iterdir()):
            entry = zipfile.ZipInfo(f"figures/{path.name}", (2020, 1, 1, 0, 0, 0))
            archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
