"""Many records in one file: what all of them share is said once, then what the seeds of one
configuration share, and a line a record has the rest. Nothing is lost.

Line 1: {"records": how many, "shared": …}. A line {"config": …, "shared": …} begins the records of
a configuration. The others: {"seed": …, "sha256": …, and the rest}. A curve is told as
{"step": […], "loss": […]}, since its steps are shared.
"""

import hashlib
import json
from itertools import groupby

DIGITS = 16  # of the checksum of a record that are kept


class Damaged(ValueError):
    """A line that does not give its record back."""

    def __init__(self, line, why):
        super().__init__(f"line {line} {why}")


def dump(value):
    """The one text of a value. ValueError for a number that is not finite."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def checksum(record):
    return hashlib.sha256(dump(record).encode()).hexdigest()


def pack(records):
    """Records as they stand in files of their own, without their checksums -> the text of one file.
    Those of one configuration must stand side by side.
    """
    bodies = [_body(record) for record in records]
    shared = _common(bodies)
    lines = [{"records": len(records), "shared": shared}]
    pairs = zip(records, [_without(body, shared) for body in bodies], strict=True)
    for config, group in groupby(pairs, key=lambda pair: dump(_unseeded(pair[0]["config"]))):
        group = list(group)
        common = _common([body for _, body in group])
        lines.append({"config": json.loads(config), "shared": common})
        lines += [
            {
                **_without(body, common),
                "seed": record["seed"],
                "sha256": checksum(record)[:DIGITS],
            }
            for record, body in group
        ]
    return "".join(f"{dump(line)}\n" for line in lines)


def unpack(text):
    """The text of a packed file -> [(number of its line, record)], in its order. Raises Damaged for
    a line that is truncated or edited, and where lines are lost.
    """
    lines = text.splitlines()
    found, count, shared, group = [], None, None, None
    for number, line in enumerate(lines, 1):
        try:
            values = json.loads(line)
            dump(values)  # refuses numbers that are not finite
            if shared is None:
                count, shared = values["records"], values["shared"]
                continue
            if "config" in values:
                group = values
                continue
            record, sha256 = _whole(values, shared, group), values["sha256"]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise Damaged(number, f"is not whole (truncated?): {error}") from None
        if sha256 != checksum(record)[:DIGITS]:
            raise Damaged(number, "was edited: its content does not match its checksum")
        found.append((number, record))
    if shared is None or len(found) != count:
        wanted = "a first line" if shared is None else count
        raise Damaged(
            len(lines), f"is the last, with {len(found)} records: there should be {wanted}"
        )
    return found


def _whole(values, shared, group):
    seed = values["seed"]
    rest = {key: value for key, value in values.items() if key not in ("seed", "sha256")}
    body = _merged(_merged(shared, group["shared"]), rest)
    curve = [
        list(point) for point in zip(body["curve"]["step"], body["curve"]["loss"], strict=True)
    ]
    config = group["config"] | ({"seed": seed} if seed else {})  # 0 is a default, not written
    return {**body, "curve": curve, "seed": seed, "config": config}


def _body(record):
    """A record without its configuration and seed, and with its curve by columns."""
    if record["config"].get("seed", 0) != record["seed"]:
        raise ValueError(
            f"seed must be that of the configuration, {record['config'].get('seed', 0)}, got"
            f" {record['seed']}"
        )
    steps, losses = map(list, zip(*record["curve"], strict=True))
    rest = {key: value for key, value in record.items() if key not in ("config", "seed")}
    return {**rest, "curve": {"step": steps, "loss": losses}}


def _unseeded(config):
    return {key: value for key, value in config.items() if key != "seed"}


def _common(bodies):
    """What several dicts have in common, dict within dict."""
    first, *others = bodies
    found = {}
    for key, value in first.items():
        there = [other.get(key) for other in others]
        if isinstance(value, dict) and all(isinstance(other, dict) for other in there):
            found[key] = _common([value, *there])
        elif all(key in other for other in others) and all(
            dump(other) == dump(value) for other in there
        ):
            found[key] = value
    return found


def _without(body, common):
    """A dict without what is common; a dict within it of which nothing is left goes too."""
    rest = {}
    for key, value in body.items():
        if key not in common:
            rest[key] = value
        elif isinstance(value, dict):
            left = _without(value, common[key])
            if left:
                rest[key] = left
    return rest


def _merged(common, rest):
    return {
        **common,
        **{
            key: _merged(common[key], value)
            if isinstance(value, dict) and isinstance(common.get(key), dict)
            else value
            for key, value in rest.items()
        },
    }
