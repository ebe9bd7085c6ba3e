"""Record files that were cut, scrambled, or written by hand with a right checksum: what they held
before, or an error that names the file; and the commands print no traceback.
"""

import copy
import json
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tiny_study import study

from sinpe.experiments import RecordError, load_records, records, studies
from sinpe.experiments.__main__ import main
from sinpe.training.__main__ import main as train_main

ENVIRONMENT = {"python": "3.11.7", "seconds": 1.5, "threads": 1, "device": "cpu"}
NUMBERS = st.one_of(
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([2**63, -(2**63), 10**400, 1e308, 5e-324, -0.0]),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, st.text(max_size=6)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=6,
)
HERE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def made(place, seed):
    """A record of the tiny study, without training anything."""
    record = {
        "study": "tiny",
        "config": {},
        "seed": seed,
        "curve": [[0, 2.5], [2, 1.5 + seed / 1000], [4, 1.25]],
        "metrics": {
            "validation_loss": 1.5,
            "test_loss": 1.25 + place + seed / 1000,
            "test_accuracy": 0.5,
        },
        "environment": ENVIRONMENT,
    }
    config = next(c for c in study().cells[place].runs() if c.seed == seed)
    return {**record, "config": json.loads(json.dumps(records.asdict(config)))}


RECORDS = [made(place, seed) for place in (0, 1) for seed in (101, 102)]


def places(value, path=()):
    """Every place of a tree of dicts and lists, the root left out."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield (*path, key)
            yield from places(value[key], (*path, key))


def lay(folder):
    """The four records, in files of their own."""
    for path in folder.glob("*"):
        path.unlink()
    return [records.write(folder, record) for record in RECORDS]


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    monkeypatch.setattr(records.os, "fsync", lambda _: None)  # nothing here outlives the test
    monkeypatch.setattr(studies, "STUDIES", {"tiny": study})
    monkeypatch.setattr("sinpe.experiments.__main__.STUDIES", {"tiny": study})
    return tmp_path


def loads_as_before_or_is_named(folder, path):
    try:
        found = load_records(study(), folder)
    except RecordError as error:
        assert path.name in str(error)
    else:
        assert found == RECORDS


@given(packed=st.booleans(), where=st.integers(0), data=st.data())
@settings(HERE, max_examples=60)
def test_bytes_that_were_changed_never_read_as_other_records(tiny, packed, where, data):
    path = lay(tiny)[0]
    path = records.pack(study(), tiny) if packed else path
    text = path.read_bytes()
    at = where % len(text)
    path.write_bytes(
        data.draw(
            st.sampled_from([text[:at], text[:at] + text[at + 1 :], text + text[:at], text[at:]])
            | st.binary(min_size=1, max_size=4).map(lambda new: text[:at] + new + text[at + 1 :])
            | st.sampled_from([b" ", b"\r\n", b"\xff", b"\x00", b"0", b'"', b"]", b","]).map(
                lambda new: text[:at] + new + text[at:]
            )
        )
    )
    loads_as_before_or_is_named(tiny, path)


@given(data=st.data(), value=VALUES, how=st.sampled_from(["replace", "remove", "add"]))
@settings(HERE, max_examples=60)
def test_a_record_written_by_hand_is_read_or_named_and_no_command_breaks(
    tiny, capsys, data, value, how
):
    path, record = lay(tiny)[0], copy.deepcopy(RECORDS[0])
    *way, last = data.draw(st.sampled_from(sorted(places(record), key=str)))
    home = record
    for key in way:
        home = home[key]
    if how == "replace":
        home[last] = value
    elif how == "remove":
        del home[last]
    else:
        (home.insert(0, value) if isinstance(home, list) else home.update({"new": value}))
    try:
        record["sha256"] = records.checksum(record)
    except ValueError:
        return  # an integer too long to be written
    path.write_text(json.dumps(record), encoding="utf-8")
    try:
        load_records(study(), tiny)
    except RecordError as error:
        assert path.name in str(error)
    for command in (["show"], ["list"], ["verify", "--sample", "1", "--only", "nothing"], ["pack"]):
        status = main([command[0], "tiny", "--folder", str(tiny), *command[1:]])
        out, error = capsys.readouterr()
        assert status in (0, 1) and (status == 0) == (not error), (command, out, error)
        assert not error or error.startswith("error: ") and "Traceback" not in error
        assert not re.search(r"\b(nan|inf)\b", out), out


WORDS = st.sampled_from(
    ["", "-1", "0", "1.5", "nan", "inf", "1e999", "9" * 30, "tiny", "\x00", "ä", "--", "*", "../x"]
)


@pytest.mark.parametrize("command", ["run", "list", "show", "verify", "pack"])
@given(name=WORDS, folder=WORDS, options=st.lists(WORDS.filter(bool), max_size=2))
@settings(HERE, max_examples=15)
def test_no_word_on_the_command_line_breaks_it(tiny, capsys, command, name, folder, options):
    arguments = [command, name, "--folder", str(tiny / "no") if folder != "\x00" else folder]
    if command in ("run", "verify"):
        arguments += ["--only", "no such cell", *options]
    try:
        status = main(arguments)
    except SystemExit as stopped:  # of argparse
        status = stopped.code
    _, error = capsys.readouterr()
    assert status in (0, 1, 2) and "Traceback" not in error


@given(option=st.sampled_from(["d-model", "length", "steps", "seed", "position", "x"]), word=WORDS)
@settings(HERE, max_examples=40)
def test_no_word_on_the_command_line_of_training_breaks_it(capsys, monkeypatch, option, word):
    """Up to the training, which is left out. `--steps=--` is Python's: argparse before 3.13 reads
    an empty list there.
    """
    if word == "--":
        return
    result = {"metrics": {"test_loss": 1.0}}
    monkeypatch.setattr("sinpe.training.__main__.train", lambda config, progress: result)
    try:
        status = train_main([f"--{option}={word}"])
    except SystemExit as stopped:
        status = stopped.code
    _, error = capsys.readouterr()
    assert "Traceback" not in error and bool(status) == bool(error), (option, word, error)
