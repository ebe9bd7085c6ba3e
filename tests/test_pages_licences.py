"""What others made and the site ships: THIRD_PARTY.md names it, all of it and nothing else."""

import fnmatch
import re
from importlib.metadata import metadata

import pytest
import third_party

ROWS = third_party.rows()
PACKAGES = sorted({package for _, _, package in ROWS if package})
OTHERS = ("slides/", "lite/")  # what is put beside the pages, each with a test of its own
# How a package declares its own licence; its BSD-2 and BSD-3 are one classifier, "BSD License"
DECLARED = {"MIT": "MIT", "BSD-3-Clause": "BSD", "BSD-2-Clause": "BSD", "Apache-2.0": "Apache"}
# What these packages ship is a part that others made, under another licence than their own
BUNDLES = {"pydata-sphinx-theme", "sphinx-revealjs"}


def matched(pattern, files):
    return {file for file in files if fnmatch.fnmatchcase(file, pattern)}


def test_each_file_of_the_site_is_in_one_row_and_each_row_is_there(site):
    static = site / "_static"
    files = {path.relative_to(static).as_posix() for path in static.rglob("*") if path.is_file()}
    seen = set()
    for patterns, _, _ in ROWS:
        patterns = [pattern for pattern in patterns if not pattern.startswith(OTHERS)]
        own = set().union(*(matched(pattern, files) for pattern in patterns))
        assert own or not patterns, patterns
        assert not own & seen, own & seen
        seen |= own
    assert files == seen, sorted(files - seen)


def test_the_site_holds_the_list_and_the_licences(site):
    assert (site / third_party.LIST.name).read_text("utf-8") == third_party.LIST.read_text("utf-8")
    there = {path.name for path in (site / "licences").iterdir()}
    for package in PACKAGES:
        assert f"{package}.txt" in there
    for path in (site / "licences").iterdir():
        assert re.search("licen[cs]e|copyright", path.read_text("utf-8", "replace"), re.IGNORECASE)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_declares_the_licence_that_the_list_gives_it(package):
    assert third_party.texts(package)
    about = metadata(package)
    declared = " ".join([about.get("License-Expression", ""), *about.get_all("Classifier", [])])
    listed = {licence for _, licence, other in ROWS if other == package}
    if package not in BUNDLES:
        assert all(DECLARED[licence] in declared for licence in listed), (listed, declared)


def test_decks_name_what_is_within_them():
    import slide_pages

    for words in ("reveal.js", "MIT", "Source Sans Pro", "SIL Open Font License 1.1"):
        assert words in slide_pages.LICENCES


def test_a_site_is_built_where_only_its_own_packages_are(tmp_path, monkeypatch):
    """Decks and the browser edition have packages of their own, which `make book` does not need."""

    def lacks(package):
        if package in ("sphinx-revealjs", "jupyterlite-core", "jupyterlite-pyodide-kernel"):
            raise third_party.PackageNotFoundError(package)
        return known(package)

    known = third_party.distribution
    monkeypatch.setattr(third_party, "distribution", lacks)
    third_party.place(tmp_path)
    there = {path.name for path in (tmp_path / "licences").iterdir()}
    assert "sphinx.txt" in there and "sphinx-revealjs.txt" not in there
