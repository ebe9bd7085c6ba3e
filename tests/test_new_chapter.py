"""The skeleton of a new chapter: it runs as it is and keeps every rule, under any number."""

import re

import new_chapter
import pytest
import run_notebooks
from contract import RULES, Course, example


@pytest.fixture
def course(tmp_path):
    return example.course(tmp_path)


def test_it_runs_and_keeps_every_rule_once_it_is_in_the_table_of_contents(course, capsys):
    new_chapter.main(["19_my_topic", "My topic"], course.root)
    said = capsys.readouterr().out
    assert "notebooks/19_my_topic" in said and "[19. My topic](notebooks/19_my_topic.ipynb)" in said
    toc = course.root / "_toc.yml"
    toc.write_text(toc.read_text() + "      - file: notebooks/19_my_topic\n")
    run_notebooks.execute(course.root / "notebooks" / "19_my_topic.ipynb")
    notebook = Course(course.root).notebook("19_my_topic.ipynb")
    problems = {name: list(rule(notebook)) for name, rule in RULES.items()}
    assert {name: found for name, found in problems.items() if found} == {}
    assert notebook.cells[0].source.startswith("# My topic\n")


def test_the_example_of_the_rules_is_the_skeleton_with_the_outputs_of_a_run(course):
    """What the example shows by hand is what the cells really show, pictures and tables aside."""
    path = course.root / "notebooks" / example.NAME
    run_notebooks.execute(path)
    ran = [cell.texts for cell in Course(course.root).notebook(example.NAME).code]
    by_hand = [cell.texts for cell in course.notebook(example.NAME).code]
    for real, shown in zip(ran, by_hand, strict=True):
        assert [kind for kind, _ in real] == [kind for kind, _ in shown]
        assert [t for k, t in real if k == "stdout"] == [t for k, t in shown if k == "stdout"]


@pytest.mark.parametrize(
    "name", ["my_topic", "1_my_topic", "19_My_topic", "19_my_topic.ipynb", "19_", "١٩_my_topic"]
)
def test_a_name_that_is_none_is_refused(course, name):
    with pytest.raises(SystemExit, match="new_chapter"):
        new_chapter.main([name, "My topic"], course.root)


@pytest.mark.parametrize("title", ["", "  ", "My topic\nand more"])
def test_a_title_that_is_none_is_refused_and_nothing_written(course, title):
    before = sorted((course.root / "notebooks").iterdir())
    with pytest.raises(SystemExit, match=re.escape(f"one line of text, got {title!r}")):
        new_chapter.main(["19_my_topic", title], course.root)
    assert sorted((course.root / "notebooks").iterdir()) == before


def test_a_number_that_is_taken_is_refused(course):
    with pytest.raises(SystemExit, match="taken by 01_small.ipynb"):
        new_chapter.main(["01_other", "Other"], course.root)
