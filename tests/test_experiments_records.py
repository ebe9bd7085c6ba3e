"""Records: whole or not there, readable everywhere, and refused by name when anything about them is
off.
"""

import json
import subprocess
import sys
from dataclasses import asdict, replace

import pytest
from tiny_study import config, decoder, study

from sinpe.experiments import Cell, RecordError, Study, load_records, records, run_study
from sinpe.training import train


@pytest.fixture(scope="module")
def made():
    """Two records of the tiny study."""
    cells = study().cells
    return [
        {"study": "tiny", **train(replace(cell.config, seed=seed))}
        for cell, seed in ((cells[0], 102), (cells[1], 101))
    ]


@pytest.fixture
def folder(made, tmp_path):
    for record in made:
        records.write(tmp_path, record)
    return tmp_path


def test_what_is_written_is_read_to_the_last_digit(folder, made):
    loaded = load_records(study(), folder)
    assert loaded == json.loads(json.dumps(made))
    assert set(loaded[0]) == {"study", "config", "seed", "curve", "metrics", "environment"}
    assert load_records(study(), folder / "nothing") == []


def test_defaults_are_not_written_and_a_record_that_has_them_or_lacks_new_ones_is_read_alike(
    folder, made
):
    path = folder / records.name_of(made[0]["config"], 102)
    written = json.loads(path.read_text())["config"]
    assert (
        "causal" in written["model"]
        and not {"measure", "position_options"} & set(written)
        and not {"norm", "tied"} & set(written["model"])
    )
    for left_out in ((), ("measure", "measure_options")):
        full = {key: value for key, value in made[0]["config"].items() if key not in left_out}
        spoil(path, resign(lambda r, full=full: r.update(config=full)))
        assert load_records(study(), folder) == json.loads(json.dumps(made))


def test_the_name_is_that_of_the_configuration_and_the_seed():
    names = {
        records.name_of(c, c.seed)
        for c in (
            config(),
            config(seed=1),
            config(steps=5),
            config(position="none"),
            config(position_options=(("base", 10.0),)),
            replace(config(), warmup=0),
        )
    }
    assert len(names) == 6
    assert (
        records.name_of(config(), 7)
        == records.name_of(asdict(config(seed=3)), 7)
        == records.name_of(json.loads(json.dumps(asdict(config()))), 7)
    )


def test_the_text_of_another_python_and_fields_added_later_do_not_rename_a_record():
    values = asdict(config())
    values["model"]["vocab_size"] += 3
    assert records.identity(values) == records.identity(config())
    # as if these came later: only a default may be missing
    del values["batch_size"], values["evaluations"], values["model"]["init_std"]
    assert records.identity(values) != records.identity(config())
    values.update(batch_size=4, evaluations=2)
    assert records.identity(values) == records.identity(config())


def spoil(path, change):
    record = json.loads(path.read_text())
    change(record)
    path.write_text(json.dumps(record))


def resign(change):
    """A change that also repairs the checksum."""

    def both(record):
        change(record)
        record.pop("sha256")
        record["sha256"] = records.checksum(record)

    return both


EDITS = {
    "edited metric": (lambda r: r["metrics"].update(test_loss=0.1), "was edited"),
    "edited curve": (lambda r: r["curve"].pop(), "was edited"),
    "edited seed": (lambda r: r.update(seed=999), "was edited"),
    "no checksum": (lambda r: r.pop("sha256"), "truncated"),
    "lacking key": (resign(lambda r: r.pop("curve")), "is not a record"),
    "another key": (resign(lambda r: r.update(extra=1)), "is not a record"),
    "wrong type": (resign(lambda r: r.update(config=[])), "is not a record"),
    "another study": (
        resign(lambda r: r.update(study="other")),
        "belongs to the study 'other', not to 'tiny'",
    ),
    "a configuration of nobody": (
        resign(lambda r: r["config"].update(steps=77)),
        "not in the study 'tiny'",
    ),
    "an unknown field": (
        resign(lambda r: r["config"].update(momentum=0.9)),
        "not in the study 'tiny'",
    ),
    "no model": (resign(lambda r: r["config"].update(model=3)), "not in the study 'tiny'"),
    "True for a seed": (resign(lambda r: r.update(seed=True)), "is not a record"),
    "an empty environment": (
        resign(lambda r: r.update(environment={})),
        "environment must tell python as a text, seconds as a number",
    ),
    "seconds as a text": (
        resign(lambda r: r["environment"].update(seconds="1")),
        "environment must tell python as a text, seconds as a number",
    ),
    "seconds that no float holds": (
        resign(lambda r: r["environment"].update(seconds=10**400)),
        "environment must tell python as a text, seconds as a number",
    ),
    "a fingerprint that is no text": (
        resign(lambda r: r["environment"].update(corpus_sha256=[])),
        "environment must tell python as a text, seconds as a number",
    ),
    "no metrics": (
        resign(lambda r: r.update(metrics={})),
        "metrics must have the numbers validation_loss and test_loss",
    ),
    "a loss that is no number": (
        resign(lambda r: r["metrics"].update(test_loss=True)),
        "metrics must have the numbers validation_loss and test_loss",
    ),
    "an empty curve": (
        resign(lambda r: r.update(curve=[])),
        "curve must be pairs of a step and a loss, at least one",
    ),
    "a curve of steps alone": (
        resign(lambda r: r.update(curve=[[0], [1]])),
        "curve must be pairs of a step and a loss, at least one",
    ),
    "another seed": (resign(lambda r: r.update(seed=999)), "should be named .*-999.json"),
}


@pytest.mark.parametrize("kind", EDITS)
def test_an_edited_or_foreign_record_is_named_and_refused(folder, kind):
    change, message = EDITS[kind]
    path = min(folder.glob("*.json"))
    spoil(path, change)
    with pytest.raises(RecordError, match=message) as error:
        load_records(study(), folder)
    assert path.name in str(error.value)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"null", b"[1, 2]", b"3", b"\xff\xfe", b"[" * 100_000, None]
)
def test_a_truncated_or_alien_file_is_named_and_refused(folder, content):
    path = min(folder.glob("*.json"))
    path.write_bytes(path.read_bytes()[:-20] if content is None else content)
    with pytest.raises(RecordError, match=path.name):
        load_records(study(), folder)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_number_that_is_not_finite_is_named_and_refused(folder, number):
    path = min(folder.glob("*.json"))
    loss = json.loads(path.read_text())["metrics"]["test_loss"]
    path.write_text(path.read_text().replace(f'"test_loss":{loss!r}', f'"test_loss":{number}'))
    assert number in path.read_text()
    with pytest.raises(
        RecordError, match=f"{path.name} is not a whole record .*not JSON compliant"
    ):
        load_records(study(), folder)


def test_a_copy_a_stray_file_and_a_stray_folder_are_refused(folder):
    path = min(folder.glob("*.json"))
    for name, make in {
        "copy.json": lambda p: p.write_bytes(path.read_bytes()),
        "notes.txt": lambda p: p.write_text("x"),
        "more": lambda p: p.mkdir(),
    }.items():
        make(folder / name)
        with pytest.raises(RecordError, match=name):
            load_records(study(), folder)
        (folder / name).rmdir() if name == "more" else (folder / name).unlink()
    assert len(load_records(study(), folder)) == 2


def test_records_of_two_texts_do_not_mix(folder):
    for path, text in zip(sorted(folder.glob("*.json")), "ab", strict=True):
        spoil(path, resign(lambda r, text=text: r["environment"].update(corpus_sha256=text)))
    with pytest.raises(RecordError, match=r"\.json was made on another text \(Python 3"):
        load_records(study(), folder)


def test_english_and_code_are_two_texts_and_lie_side_by_side(tmp_path):
    cells = [
        Cell("text", task, decoder(task, steps=1), 2)
        for task in ("next_character", "next_word", "next_source_character")
    ]
    both = Study("both", "", (), uncompared=tuple(cells))
    assert run_study(both, tmp_path, workers=1, seeds=1) == 3
    character, word, code = (
        record["environment"]["corpus_sha256"] for record in load_records(both, tmp_path)
    )
    assert character == word != code
    path = tmp_path / records.name_of(cells[2].config, 101)
    spoil(path, resign(lambda r: r["environment"].update(corpus_sha256="0", python="3.99")))
    assert len(load_records(both, tmp_path)) == 3
    with pytest.raises(RecordError, match=r"made with Python 3\.99, whose source text is another"):
        run_study(both, tmp_path)


def test_numbers_that_are_not_finite_never_reach_the_disk(tmp_path, made):
    with pytest.raises(ValueError, match="not JSON compliant"):
        records.write(tmp_path, {**made[0], "metrics": {"test_loss": float("nan")}})
    assert not list(tmp_path.glob("*.json"))


def test_half_written_files_are_invisible_and_swept_away(folder):
    half = folder / ".0123456789abcdef-101.json.4711"
    half.write_text('{"config":')
    assert len(load_records(study(), folder)) == 2
    with records.locked(folder):
        assert not half.exists()
    assert len(load_records(study(), folder)) == 2


def test_files_that_others_left_beside_the_records_are_not_swept_away(folder):
    kept = [
        folder / name
        for name in (
            ".0123456789abcdef-101.json.swp",
            ".0123456789abcdef-101.json.bak.2",
            ".0123456789abcdef-101.json.4711~",
            ".notes.json.1",
        )
    ]
    for path in kept:
        path.write_text("mine")
    (folder / ".0123456789abcdef-101.json.12").mkdir()
    with records.locked(folder):
        pass
    assert all(path.read_text() == "mine" for path in kept)
    assert len(load_records(study(), folder)) == 2


def test_a_record_is_whole_on_the_disk_before_it_gets_its_name(tmp_path, made, monkeypatch):
    synced = []

    def fsync(_):
        (half,) = tmp_path.iterdir()
        assert records.HALF_WRITTEN.fullmatch(half.name)
        synced.append(half.read_bytes())

    monkeypatch.setattr(records.os, "fsync", fsync)
    path = records.write(tmp_path, made[0])
    assert synced == [path.read_bytes()]


def test_a_folder_in_use_is_refused_naming_the_process_and_freed_by_its_death(tmp_path):
    code = (
        "import sys, time; from sinpe.experiments import records\nwith records.locked(sys.argv[1]):"
        " print('in', flush=True); time.sleep(600)"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert other.stdout.readline() == "in\n"
        with (
            pytest.raises(
                RecordError, match=f"another runner is at work on .* \\(process {other.pid}\\)"
            ),
            records.locked(tmp_path),
        ):
            pass
    finally:
        other.kill()
        other.communicate()
    with records.locked(tmp_path):
        pass


def test_a_study_is_named_or_given_and_others_are_refused():
    with pytest.raises(
        ValueError,
        match="study must be one of 'embedding-scale', 'length', 'tasks', 'cost', 'mechanism',"
        " 'far', got 'nonsense'",
    ):
        load_records("nonsense")
    assert isinstance(load_records("embedding-scale"), list)
