"""What chapters 13 and 14 print of the comparison, recomputed from the raw files of its three
studies by code that shares nothing with the package's.
"""

import re
from collections import defaultdict
from itertools import combinations
from pathlib import Path

import nbformat
import numpy as np
import pytest
from recomputed import half_widths, judged, raw_records
from scipy import stats

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"
LENGTHS = (64, 128, 256, 512, 1024)
METHODS = ("none", "sinusoidal", "learned", "shaw", "transformer-xl", "t5", "rope", "xpos", "alibi")
NEAR = ("previous", "marker_position", "induction")
TASKS = ("copy", "reverse", *NEAR, "which_more")
EXTENSIONS = ("position-interpolation", "ntk-aware", "dynamic-ntk", "yarn")
LETTERS = {"higher": "w", "lower": "b", "equal": "=", "undecided": "?"}


def readings(steps):
    """{arm: {seed: metrics}} of the models that were trained so long, the arm named from the
    configuration alone.
    """
    found = defaultdict(dict)
    for record in raw_records("length"):
        config = record["config"]
        if config["steps"] == steps:
            options = dict(map(tuple, config.get("measure_options", ())))
            parts = [
                config.get("position", "sinusoidal"),
                options.get("extension"),
                options.get("tune") and "tuned",
            ]
            parts += ["largest distance 32"] * (
                config.get("position_options") == [["max_distance", 32]]
            )
            found[", ".join(filter(None, parts))][record["seed"]] = record["metrics"]
    assert all(len(runs) == 5 for runs in found.values())
    return found


@pytest.fixture(scope="module")
def length():
    found = readings(2000)
    assert len(found) == 19
    return found


@pytest.fixture(scope="module")
def early():
    found = readings(500)
    assert len(found) == 18
    return found


@pytest.fixture(scope="module")
def tasks():
    """{(task, method): {seed: metrics}}"""
    found = defaultdict(dict)
    for record in raw_records("tasks"):
        found[record["config"]["task"], record["config"].get("position", "sinusoidal")][
            record["seed"]
        ] = record["metrics"]
    assert set(found) == {(task, method) for task in TASKS for method in METHODS} and all(
        len(runs) == 5 for runs in found.values()
    )
    return found


def read(chapter):
    """Everything that a chapter prints, as lines, without the rows' last spaces."""
    cells = nbformat.read(NOTEBOOKS / chapter, as_version=4).cells
    text = "".join(
        output["text"]
        for cell in cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if output.output_type == "stream"
    )
    return [line.rstrip() for line in text.splitlines()]


def tabulated(chapter, caption):
    """{first cell: the others} of the table whose caption begins so, from its text."""
    cells = nbformat.read(NOTEBOOKS / chapter, as_version=4).cells
    (text,) = (
        output["data"]["text/plain"]
        for cell in cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if output.get("data", {}).get("text/plain", "").startswith(caption)
    )
    rows = [line.split(" | ") for line in text.splitlines()[2:]]
    return {name: others for name, *others in rows}


@pytest.fixture(scope="module")
def printed():
    return read("14_comparison.ipynb")


def paragraph(printed, first):
    """The lines that belong to this one, which are indented, as one."""
    start = printed.index(first) + 1
    stop = next(i for i in range(start, len(printed)) if not printed[i].startswith(" "))
    return " ".join(" ".join(printed[start:stop]).split())


def block(printed, heading, rows):
    """The lines below the first one that begins so."""
    start = next(i for i, line in enumerate(printed) if re.match(heading, line))
    return printed[start + 1 : start + 1 + rows]


def values(runs, name):
    return np.array([runs[seed][name] for seed in sorted(runs) if name in runs[seed]])


def alike(runs, name, arms):
    """The arms that have it by their mean, and the pairs that are not told apart, the one with the
    lower mean first.
    """
    means = {arm: values(runs[arm], name).mean() for arm in arms if values(runs[arm], name).size}
    order = sorted(means, key=means.get)
    pairs = list(combinations(order, 2))
    verdicts = judged([values(runs[a], name) - values(runs[b], name) for a, b in pairs])
    return (
        order,
        {
            pair: verdict
            for pair, (verdict, _, _) in zip(pairs, verdicts, strict=True)
            if verdict in ("equal", "undecided")
        },
        len(pairs),
    )


def test_the_headline_table(length, printed):
    """Losses in windows, their intervals, and the comparison with 64 with Holm's correction for all
    rows together.
    """
    pairs = [(method, n) for method in METHODS for n in LENGTHS[1:] if method != "learned"]
    verdicts = judged(
        [
            values(length[method], f"windows_{n}") - values(length[method], "windows_64")
            for method, n in pairs
        ]
    )
    letters = {
        pair: LETTERS[verdict] for pair, (verdict, _, _) in zip(pairs, verdicts, strict=True)
    }
    for method, line in zip(METHODS, block(printed, r" +64 +128 +256", 9), strict=True):
        expected = [method]
        for n in LENGTHS:
            x = values(length[method], f"windows_{n}")
            if x.size:
                half = stats.t.ppf(0.975, x.size - 1) * stats.sem(x)
                expected += [f"{x.mean():.3f}±{half:.3f}", *letters.get((method, n), "")]
            else:
                expected.append("undefined")
        assert line.split() == expected


@pytest.mark.parametrize("n", [64, 256, 1024])
def test_which_methods_are_told_apart(length, printed, n):
    order, open_pairs, count = alike(length, f"windows_{n}", METHODS)
    named = ", ".join(f"{a} {LETTERS[verdict]} {b}" for (a, b), verdict in open_pairs.items())
    assert (
        paragraph(printed, f"{n}: " + ", ".join(order))
        == f"not told apart, {len(open_pairs)} of {count} pairs: {named or 'none'}"
    )


@pytest.mark.parametrize("tuned", [False, True])
@pytest.mark.parametrize("n", [256, 1024])
def test_which_extensions_are_told_apart(length, printed, n, tuned):
    arms = [arm for arm in length if arm.startswith("rope") and arm.endswith("tuned") == tuned]
    order, open_pairs, count = alike(length, f"windows_{n}", arms)
    short = {
        arm: (
            "control"
            if arm == "rope, tuned"
            else arm.removeprefix("rope, ").removesuffix(", tuned")
        )
        for arm in arms
    }
    below = paragraph(printed, f"{n}: " + ", ".join(short[arm] for arm in order))
    named = ", ".join(
        f"{short[a]} {LETTERS[verdict]} {short[b]}" for (a, b), verdict in open_pairs.items()
    )
    assert (
        len(arms) == 5
        and below == f"not told apart, {len(open_pairs)} of {count} pairs: {named or 'none'}"
    )


def test_a_quarter_of_the_training(length, early, printed):
    asked = [(method, n) for n in LENGTHS for method in METHODS if method != "learned" or n == 64]
    samples = [
        values(length[method], f"windows_{n}") - values(early[method], f"windows_{n}")
        for method, n in asked
    ]
    found = {
        key: (f"{x.mean():+.2f}", LETTERS[verdict])
        for key, x, (verdict, _, _) in zip(asked, samples, judged(samples), strict=True)
    }
    for method, line in zip(METHODS, block(printed, r"method +500 steps, at 64", 9), strict=True):
        before = [
            f"{x.mean():.2f}" if (x := values(early[method], f"windows_{n}")).size else "undef."
            for n in (64, 1024)
        ]
        assert line.split() == [
            method,
            *before,
            *found[method, 64],
            *found.get((method, 1024), ["undef."]),
        ]


def test_the_last_bucket_of_t5(length, printed):
    asked = ("t5", "t5, largest distance 32")
    samples = [
        values(length[asked[1]], f"windows_{n}") - values(length["t5"], f"windows_{n}")
        for n in LENGTHS
    ]
    line, filled, difference = printed[
        (at := next(i for i, text in enumerate(printed) if text.startswith("largest distance 32")))
        - 1 : at + 2
    ]
    for arm, text in zip(asked, (line, filled), strict=True):
        assert text.split()[-5:] == [
            f"{values(length[arm], f'windows_{n}').mean():.2f}" for n in LENGTHS
        ]
    shown = [
        part
        for x, (verdict, _, _) in zip(samples, judged(samples), strict=True)
        for part in (f"{x.mean():+.2f}", LETTERS[verdict])
    ]
    assert difference.split() == ["difference", *shown]


def of_extensions(length):
    """{(arm, length): (mean, half width, letter)}: as planned, all lengths of a question are
    corrected together.
    """
    untuned = [(f"rope, {extension}", "rope", n) for extension in EXTENSIONS for n in LENGTHS[1:]]
    tuned = [("rope, tuned", "rope", n) for n in LENGTHS] + [
        (f"rope, {extension}, tuned", "rope, tuned", n) for extension in EXTENSIONS for n in LENGTHS
    ]
    found = {}
    for asked in (untuned, tuned):
        samples = [
            values(length[a], f"windows_{n}") - values(length[b], f"windows_{n}")
            for a, b, n in asked
        ]
        rows = zip(asked, samples, half_widths(samples), judged(samples), strict=True)
        found |= {
            (a, n): (x.mean(), half, LETTERS[verdict])
            for (a, _, n), x, half, (verdict, _, _) in rows
        }
    return found


def test_the_table_of_extensions(length, printed):
    found = of_extensions(length)
    arms = [
        "rope",
        *(f"rope, {e}" for e in EXTENSIONS),
        "rope, tuned",
        *(f"rope, {e}, tuned" for e in EXTENSIONS),
    ]
    start = (
        next(i for i, line in enumerate(printed) if line.startswith("rope, position-interpolation"))
        - 1
    )
    for arm, line in zip(arms, printed[start : start + 10], strict=True):
        name, row = line[:36].strip(), line[36:].split()
        assert name == arm
        marks = {n: found[arm, n][2] for n in LENGTHS if (arm, n) in found}
        assert row == [
            part
            for n in LENGTHS
            for part in (f"{values(length[arm], f'windows_{n}').mean():.2f}", *marks.get(n, ""))
        ]


NAMES = dict(zip(EXTENSIONS, ("interpolation", "NTK-aware", "dynamic NTK", "YaRN"), strict=True))
WORDS = {"w": "worse", "b": "better", "=": "equal", "?": "open"}


@pytest.mark.parametrize("heading", ["as trained", "tuned"])
def test_the_differences_of_extensions_in_chapter_13(length, heading):
    differences = of_extensions(length)
    tail = ", tuned" if heading == "tuned" else ""
    rows = tabulated("13_longer_context.ipynb", "Nats above plain RoPE that had the same steps")
    for extension in EXTENSIONS:
        wanted = []
        for n in LENGTHS:
            if (key := (f"rope, {extension}{tail}", n)) in differences:
                difference, half, letter = differences[key]
                cell = f"{difference:+z.2f} ± {half:.2f} {WORDS[letter]}"
                wanted.append(cell.replace("-", "−"))
            else:
                wanted.append("–")
        assert rows[f"{NAMES[extension]}, {heading}"] == wanted


@pytest.mark.parametrize("factor", [1, 2, 3, 4])
def test_the_tables_of_tasks(tasks, printed, factor):
    for method, line in zip(
        METHODS, block(printed, f"right answers in % at {factor * 16} tokens", 10)[1:], strict=True
    ):
        expected = [method]
        for task in TASKS:
            x = 100 * values(tasks[task, method], f"accuracy_{factor}")
            expected += (
                ["undef."]
                if not x.size
                else [f"{x.mean():.0f}", *([f"±{x.std(ddof=1):.0f}"] if factor == 4 else [])]
            )
        assert line.split() == expected


@pytest.mark.parametrize("task", TASKS)
def test_what_stands_beside_the_best_method_of_a_task(tasks, printed, task):
    runs = {
        method: {
            seed: {"wrong": -metrics["accuracy_4"]} for seed, metrics in tasks[task, method].items()
        }
        for method in METHODS
        if method != "learned"
    }
    order, open_pairs, _ = alike(runs, "wrong", list(runs))
    assert (
        f"{task:16} {order[0]}, beside " + ", ".join(b for a, b in open_pairs if a == order[0])
        in printed
    )


def test_the_table_of_costs_and_the_whole_comparison(length, tasks, printed):
    ratios = defaultdict(list)
    for record in raw_records("cost"):
        for quantity in (
            "parameters",
            "training_seconds",
            "inference_seconds",
            "training_mb",
            "inference_mb",
        ):
            for method, value in record["metrics"][quantity].items():
                ratios[quantity, record["config"].get("length", 64), method].append(
                    value / record["metrics"][quantity]["none"]
                )
    mean = {key: np.mean(three) for key, three in ratios.items() if len(three) == 3}
    assert len(mean) == 5 * 3 * 9
    held = ", ".join(
        f"{method} {mean['inference_mb', 1024, method]:.1f}"
        for method in ("shaw", "transformer-xl", "t5", "alibi")
    )
    assert f"inference memory at 1024: {held}, others as none" in printed
    for method, line in zip(METHODS[1:], block(printed, r"of none, at", 8), strict=True):
        quantities = ("parameters", "training_seconds", "inference_seconds", "training_mb")
        assert line.split() == [
            method,
            *(
                f"{mean[quantity, n, method]:.2f}"
                for quantity in quantities
                for n in (64, 256, 1024)
            ),
        ]
    for method, line in zip(METHODS, block(printed, r" +loss at 64", 9), strict=True):
        losses = [
            f"{x.mean():.2f}" if (x := values(length[method], f"windows_{n}")).size else "undef."
            for n in (64, 1024)
        ]
        right = [values(tasks[task, method], "accuracy_4") for task in NEAR]
        share = (
            ["undef."]
            if method == "learned"
            else [f"{100 * np.mean([x.mean() for x in right]):.0f}", "%"]
        )
        cost = [
            f"{mean[quantity, 1024, method]:.{digits}f}"
            for quantity, digits in (
                ("parameters", 2),
                ("inference_seconds", 1),
                ("training_mb", 1),
            )
        ]
        assert line.split()[: 1 + len(losses + share + cost)] == [method, *losses, *share, *cost]


def test_the_window(length, printed):
    rivals = [
        ("transformer-xl", 1024),
        ("shaw", 1024),
        ("alibi", 1024),
        ("xpos", 1024),
        ("rope, yarn", 256),
        ("rope, yarn, tuned", 256),
    ]
    samples = [
        values(length[arm], f"windows_{n}") - values(length["rope"], "windows_64")
        for arm, n in rivals
    ]
    for (arm, n), x, (verdict, _, _) in zip(rivals, samples, judged(samples), strict=True):
        assert (
            f"{arm:18}at {n:4}, minus rotary in windows of 64: {x.mean():+.2f} {LETTERS[verdict]}"
            in printed
        )
