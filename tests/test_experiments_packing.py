"""Packing: nothing is lost, and a line that is off is named."""

import json

import pytest
from test_experiments_records import resign, spoil
from tiny_study import study

from sinpe.experiments import RecordError, load_records, packing, records, run_study
from sinpe.experiments.__main__ import main
from sinpe.training import train

TINY = study()


@pytest.fixture(scope="module")
def made(one_thread):
    """Every record of the tiny study."""
    return [{"study": "tiny", **json.loads(json.dumps(train(c)))} for c in TINY.runs()]


@pytest.fixture
def folder(made, tmp_path):
    for record in made:
        records.write(tmp_path, record)
    return tmp_path


def names(folder):
    return sorted(path.name for path in folder.glob("[!.]*"))


def test_packed_records_are_the_same_records_in_one_smaller_file(folder):
    before, size = load_records(TINY, folder), sum(p.stat().st_size for p in folder.iterdir())
    path = records.pack(TINY, folder)
    assert names(folder) == [path.name] == [records.PACKED]
    assert load_records(TINY, folder) == before
    assert path.stat().st_size < 0.6 * size
    text = path.read_text()
    assert records.pack(TINY, folder) == path and path.read_text() == text
    assert records.pack(TINY, folder / "empty") is None


def test_a_packed_file_does_not_depend_on_the_order_in_which_runs_ended(made, tmp_path):
    texts = set()
    for order, name in ((made, "a"), (made[::-1], "b")):
        for record in order:
            (tmp_path / name).mkdir(exist_ok=True)
            records.write(tmp_path / name, record)
        texts.add(records.pack(TINY, tmp_path / name).read_text())
    assert len(texts) == 1


def test_values_come_back_to_the_last_digit_and_type():
    """Whatever is shared: integers and floats, empty dicts, lists, a seed that is a default."""
    body = {"study": "s", "curve": [[0, 1.0], [5, 0.1 + 0.2]]}
    made = [
        {
            **body,
            "config": {"model": {"d": 1}}
            | ({"seed": seed} if seed else {})
            | ({"x": []} if x else {}),
            "seed": seed,
            "metrics": metrics,
            "environment": {"a": {"b": {"c": [1, None]}}, "t": True},
        }
        for x in (0, 1)
        for seed, metrics in ((0, {"n": 1}), (1, {"n": 1.0}), (2, {}), (3, {"n": {"m": 1e-17}}))
    ]
    again = [record for _, record in packing.unpack(packing.pack(made))]
    assert [packing.dump(record) for record in again] == [packing.dump(record) for record in made]
    one = [record for _, record in packing.unpack(packing.pack(made[:1]))]
    assert packing.dump(one) == packing.dump(made[:1])


def test_what_is_shared_is_said_once(folder):
    lines = records.pack(TINY, folder).read_text().splitlines()
    head, rest = lines[0], "".join(lines[1:])
    assert '"records":9' in head and '"torch"' in head and '"torch"' not in rest
    assert sum('"config"' in line for line in lines) == 3
    assert len(lines) == 1 + 3 + 9


def test_a_study_goes_on_beside_a_packed_file(folder):
    before = load_records(TINY, folder)
    kept = [path for path in folder.glob("*-101.json")]
    for path in folder.glob("*-10[23].json"):
        path.unlink()
    records.pack(TINY, folder)
    assert run_study(TINY, folder, workers=1) == len(before) - len(kept)
    assert names(folder)[-1] == records.PACKED and len(names(folder)) == 7
    timeless = [(r["config"], r["curve"], r["metrics"]) for r in before]
    for packed in (False, True):
        records.pack(TINY, folder) if packed else None
        found = load_records(TINY, folder)
        assert [(r["config"], r["curve"], r["metrics"]) for r in found] == timeless


def test_a_record_that_is_there_twice_is_refused_and_packing_again_mends_what_it_left(folder):
    before = load_records(TINY, folder)
    left = min(folder.glob("*.json"))
    text = left.read_text()
    records.pack(TINY, folder)
    left.write_text(text)  # as if packing had been interrupted before it was taken away
    with pytest.raises(RecordError, match=r"are records of the same run; .* pack again") as error:
        load_records(TINY, folder)
    assert left.name in str(error.value) and f"{records.PACKED}, line" in str(error.value)
    records.pack(TINY, folder)
    assert names(folder) == [records.PACKED] and load_records(TINY, folder) == before
    left.write_text(text)
    spoil(left, resign(lambda r: r["metrics"].update(test_loss=0.5)))
    with pytest.raises(RecordError, match="records of the same run"):
        records.pack(TINY, folder)
    assert left.exists()


def test_half_a_packed_file_is_invisible_and_swept_away(folder):
    half = folder / f".{records.PACKED}.4711"
    half.write_text('{"records":')
    assert len(load_records(TINY, folder)) == 9
    records.pack(TINY, folder)
    assert not half.exists()


def edit(change):
    """Line 4, a record, changed as JSON."""

    def edited(lines):
        values = json.loads(lines[3])
        change(values)
        return [*lines[:3], json.dumps(values), *lines[4:]]

    return edited


DAMAGE = {
    "edited metric": (edit(lambda v: v["metrics"].update(test_loss=1)), "line 4 was edited"),
    "edited seed": (edit(lambda v: v.update(seed=7)), "line 4 was edited"),
    "another key": (edit(lambda v: v.update(extra=7)), "line 4 was edited"),
    "no checksum": (edit(lambda v: v.pop("sha256")), "line 4 is not whole"),
    "no seed": (edit(lambda v: v.pop("seed")), "line 4 is not whole"),
    "not finite": (
        edit(lambda v: v["metrics"].update(test_loss=float("nan"))),
        "line 4 is not whole",
    ),
    "edited configuration": (
        lambda lines: [lines[0], lines[1].replace('"steps":4', '"steps":5'), *lines[2:]],
        "line 3 was edited",
    ),
    "edited head": (
        lambda lines: [lines[0].replace('"threads":', '"threads":7'), *lines[1:]],
        "line 3 was edited",
    ),
    "truncated": (lambda lines: [*lines[:3], lines[3][:-9]], "line 4 is not whole"),
    "lost line": (lambda lines: [*lines[:3], *lines[4:]], "with 8 records: there should be 9"),
    "lost end": (lambda lines: lines[:6], "line 6 is the last, with 3 records: there should be 9"),
    "lost head": (lambda lines: lines[1:], "line 1 is not whole"),
    "lost configuration": (lambda lines: [lines[0], *lines[2:]], "line 2 is not whole"),
    "twice": (
        lambda lines: [lines[0].replace('"records":9', '"records":10'), *lines[1:4], *lines[3:]],
        "are records of the same run",
    ),
    "alien": (lambda lines: ["[1]", *lines], "line 1 is not whole"),
    "empty": (lambda lines: [], "there should be a first line"),
    "not text": (lambda lines: ["\udcff"], "is not a whole record"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_line_is_named_and_refused(folder, kind):
    change, message = DAMAGE[kind]
    path = records.pack(TINY, folder)
    lines = change(path.read_text().splitlines())
    path.write_text("\n".join(lines), encoding="utf-8", errors="surrogateescape")
    with pytest.raises(RecordError, match=message) as error:
        load_records(TINY, folder)
    assert str(path) in str(error.value)


def test_a_foreign_packed_file_is_refused(folder):
    path = records.pack(TINY, folder)
    with pytest.raises(RecordError, match="line 3 belongs to the study 'tiny', not to 'other'"):
        load_records(study("other"), folder)
    path.rename(folder / "copy.jsonl")
    with pytest.raises(RecordError, match=r"copy\.jsonl"):
        load_records(TINY, folder)


def test_a_record_whose_seed_is_not_that_of_its_configuration_is_not_packed(made):
    record = {**made[0], "config": {**made[0]["config"], "seed": 7}}
    with pytest.raises(ValueError, match="seed must be that of the configuration, 7, got 101"):
        packing.pack([record])


def test_the_command_packs(folder, monkeypatch, capsys):
    from sinpe.experiments import studies

    monkeypatch.setitem(studies.STUDIES, "tiny", study)
    assert main(["pack", "tiny", "--folder", str(folder)]) == 0
    assert capsys.readouterr().out == f"9 records in {folder / records.PACKED}.\n"
    assert main(["pack", "tiny", "--folder", str(folder / "empty")]) == 1
    assert "nothing is recorded in" in capsys.readouterr().err
