"""Records: one file a run while a study runs, written whole or not at all, and one file in all once
it is packed; refused by name when anything about them is off.
"""

import contextlib
import hashlib
import json
import os
import re
from collections import Counter
from dataclasses import asdict, fields, is_dataclass
from itertools import pairwise
from pathlib import Path

import sinpe
from sinpe.experiments import packing
from sinpe.experiments.estimates import is_number
from sinpe.experiments.packing import checksum
from sinpe.experiments.packing import dump as _dump
from sinpe.experiments.studies import get_study
from sinpe.tasks import text_of
from sinpe.training import RunConfig
from sinpe.transformer import TransformerConfig

RESULTS = Path(sinpe.__file__).parent / "results"
PACKED = "records.jsonl"
KEYS = {
    "study": str,
    "config": dict,
    "seed": int,
    "curve": list,
    "metrics": dict,
    "environment": dict,
}
# what `write` calls a file at first
HALF_WRITTEN = re.compile(r"\.([0-9a-f]{16}-\d+\.json|records\.jsonl)\.\d+")


class RecordError(ValueError):
    """A file among the records that is not one of them: truncated, edited, or of another study."""


def load_records(study, folder=None):
    """All records of a study -> list of dicts with the keys study, config (dict), seed, curve,
    metrics (dict), environment (dict).

    study: a name or a Study. folder: where they lie; None is the folder inside the package. In the
    order of the study's cells, then seeds. Raises RecordError naming the file, and in a packed one
    the line, that is truncated, edited, foreign, there twice, or made on another text than the
    rest.
    """
    return [record for _, record in _load(study, folder)]


def _load(study, folder, again=False):
    """[(where it lies, record)], as load_records says. again: let a record be there twice if both
    are the same.
    """
    study = get_study(study)
    folder = folder_of(study, folder)
    order = _order(study)
    found = sorted(
        (one for path in _paths(folder) for one in _read(path, study, order)),
        key=lambda one: (order[identity(one[1]["config"])], one[1]["seed"]),
    )
    for (here, one), (there, other) in pairwise(found):
        twice = name_of(one["config"], one["seed"]) == name_of(other["config"], other["seed"])
        if twice and not (again and one == other):
            raise RecordError(
                f"{here} and {there} are records of the same run; if a packing was interrupted,"
                " pack again"
            )
    _one_text(found)
    return found


def _paths(folder):
    _no_file(folder)
    return sorted(p for p in folder.glob("*") if not p.name.startswith("."))


def _order(study):
    """The place of each configuration in a study."""
    return {identity(cell.config): place for place, cell in reversed(list(enumerate(study.cells)))}


def write(folder, record):
    """Write one record: under another name first, then moved, so that no reader ever sees half of
    it. Returns the path.

    Defaults of the configuration are not written; `load_records` puts them back.
    """
    folder = Path(folder)
    path = folder / name_of(record["config"], record["seed"])
    plain = _plain(record)
    _replace(path, _dump({**plain, "sha256": checksum(plain)}) + "\n")
    return path


def pack(study, folder=None):
    """Move all records of a study into one file, `records.jsonl`, and return its path, or None if
    there are none. Interrupted, it is done again in the same way.

    Raises RecordError for a damaged folder or one in use.
    """
    study = get_study(study)
    folder = folder_of(study, folder)
    with locked(folder):
        single, path = [p for p in _paths(folder) if p.suffix == ".json"], folder / PACKED
        found = _load(study, folder, again=True)
        if not found:
            return None
        # a file that an interrupted packing left behind is in the packed one too
        unique = {name_of(record["config"], record["seed"]): record for _, record in found}
        text = packing.pack([_plain(record) for record in unique.values()])
        packing.unpack(text)  # before anything is taken away: every record comes back
        _replace(path, text)
        for one in single:
            one.unlink()
    return path


def _plain(record):
    """A record as it is written."""
    return {**{key: record[key] for key in KEYS}, "config": _sparse(record["config"])}


def _replace(path, text):
    half = path.with_name(f".{path.name}.{os.getpid()}")
    with half.open("w", encoding="utf-8", newline="\n") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    half.replace(path)


@contextlib.contextmanager
def locked(folder):
    """Keep every other runner off a folder, and sweep away what a killed one left half-written. The
    system lifts the lock of a dead process.

    Raises RecordError naming the process at work if there is one.
    """
    folder = Path(folder)
    _no_file(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("a+", encoding="utf-8") as stream:
        try:
            _lock(stream)
        except OSError:
            stream.seek(0)
            raise RecordError(
                f"another runner is at work on {folder} ({stream.read().strip() or 'just begun'}):"
                " wait for it, or stop it"
            ) from None
        stream.truncate(0)
        stream.write(f"process {os.getpid()}")
        stream.flush()
        for half in folder.iterdir():
            if HALF_WRITTEN.fullmatch(half.name) and half.is_file():
                half.unlink()
        yield


def folder_of(study, folder=None):
    """Where the records of a study lie."""
    if folder is None:
        return RESULTS / study.name
    if not isinstance(folder, str | os.PathLike) or not os.fspath(folder):
        raise ValueError(f"folder must be a path, got {folder!r}")
    return Path(folder)


def _no_file(folder):
    """RecordError if something that is no folder stands in its place."""
    if folder.exists() and not folder.is_dir():
        raise RecordError(f"{folder} is a file, and records lie in a folder")


def identity(config):
    """What tells a configuration from others, as text: every value that is not a default, without
    the seed.

    Left out is the size of the vocabulary, which the task decides: the text differs between Python
    releases, and records must load on all. A field that is added later, with a default that changes
    nothing, leaves old names valid.
    """
    values = _sparse(asdict(config) if is_dataclass(config) else config)
    model = {key: value for key, value in values["model"].items() if key != "vocab_size"}
    return _dump({**{key: value for key, value in values.items() if key != "seed"}, "model": model})


def name_of(config, seed):
    """The file name of a run: a fingerprint of its configuration, and its seed."""
    return f"{hashlib.sha256(identity(config).encode()).hexdigest()[:16]}-{seed}.json"


def _read(path, study, known):
    """[(where it lies, record)] of a file, or RecordError."""
    try:
        text = path.read_text(encoding="utf-8")
        if path.name == PACKED:
            return [
                (place, _checked(place, record, checksum(record), study, known))
                for line, record in packing.unpack(text)
                for place in [f"{path}, line {line}"]
            ]
        record = json.loads(text)
        _dump(record)  # refuses numbers that are not finite
        found = record.pop("sha256") if isinstance(record, dict) else None
    except packing.Damaged as error:
        raise RecordError(f"{path}: {error}") from None
    except RecordError:
        raise
    except (OSError, ValueError, KeyError, RecursionError) as error:
        raise RecordError(f"{path} is not a whole record (truncated?): {error}") from None
    record = _checked(path, record, found, study, known)
    if path.name != name_of(record["config"], record["seed"]):
        raise RecordError(
            f"{path} should be named {name_of(record['config'], record['seed'])}: it was copied or"
            " renamed"
        )
    return [(path, record)]


def _checked(place, record, sha256, study, known):
    """A record with its defaults, or RecordError. sha256: what its checksum should be."""
    if lack := lacking(record):
        raise RecordError(f"{place} is not a record: {lack}")
    if sha256 != checksum(record):
        raise RecordError(f"{place} was edited: its content does not match its checksum")
    if record["study"] != study.name:
        raise RecordError(
            f"{place} belongs to the study {record['study']!r}, not to {study.name!r}"
        )
    if (
        not isinstance(record["config"].get("model"), dict)
        or identity(record["config"]) not in known
    ):
        raise RecordError(f"{place} has a configuration that is not in the study {study.name!r}")
    record["config"] = {
        **_defaults(RunConfig),
        **record["config"],
        "model": {**_defaults(TransformerConfig), **record["config"]["model"]},
    }
    return record


def lacking(record):
    """What something lacks to be a record whose readers find all that they rely on, in words; None
    if nothing.
    """
    if (
        not isinstance(record, dict)
        or set(record) != set(KEYS)
        or not all(type(record[key]) is kind for key, kind in KEYS.items())
    ):
        return f"it must have {', '.join(KEYS)} and nothing else"
    environment, metrics, curve = (record[key] for key in ("environment", "metrics", "curve"))
    texts = (environment.get("python"), environment.get("corpus_sha256", ""))
    if not all(isinstance(text, str) for text in texts) or not is_number(
        environment.get("seconds")
    ):
        return (
            "its environment must tell python as a text, seconds as a number, and corpus_sha256, if"
            " it is there, as a text"
        )
    if not is_number(metrics.get("validation_loss")) or not is_number(metrics.get("test_loss")):
        return "its metrics must have the numbers validation_loss and test_loss"
    if not is_curve(curve):
        return "its curve must be pairs of a step and a loss, at least one"
    return None


def is_curve(curve):
    """Whether a list holds pairs of two numbers, and at least one."""
    return (
        isinstance(curve, list)
        and bool(curve)
        and all(isinstance(p, list) and len(p) == 2 and all(map(is_number, p)) for p in curve)
    )


def _one_text(found):
    """RecordError unless all records that were trained on the same text had the same edition."""
    texts = Counter(
        _text(record) for _, record in found if "corpus_sha256" in record["environment"]
    )
    for name in {name for name, _ in texts}:
        editions = {text: times for text, times in texts.items() if text[0] == name}
        if len(editions) > 1:
            rare = min(editions, key=editions.get)
            place, odd = next(one for one in found if _text(one[1]) == rare)
            raise RecordError(
                f"{place} was made on another text (Python {odd['environment']['python']}) than"
                " other records beside it: their losses cannot be compared"
            )


def _text(record):
    """Which text a record was trained on, and its fingerprint."""
    return text_of(record["config"]["task"]), record["environment"].get("corpus_sha256")


def _sparse(config):
    """A configuration as plain values, without those that are defaults."""
    values = json.loads(json.dumps(config))
    model = _without_defaults(values.pop("model"), TransformerConfig)
    return {**_without_defaults(values, RunConfig), "model": model}


def _without_defaults(values, cls):
    defaults = _defaults(cls)
    return {
        name: value
        for name, value in values.items()
        if name not in defaults or defaults[name] != value
    }


def _defaults(cls):
    return {
        field.name: json.loads(json.dumps(field.default))
        for field in fields(cls)
        if isinstance(field.default, int | float | str | tuple | None)
    }


def _lock(stream):
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        stream.seek(1 << 30)  # beyond the text, which others may read
        msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
