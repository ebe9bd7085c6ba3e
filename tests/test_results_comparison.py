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
WORDS = {"higher": "worse", "lower": "better", "equal": "equal", "undecided": "open"}
SCORES = ("shaw", "transformer-xl", "t5", "alibi")
COSTS = ("parameters", "training_seconds", "inference_seconds", "training_mb", "inference_mb")
# the methods as chapter 14 has them, and their arms: T5's bias with filled buckets
HEADLINE = {m: m for m in METHODS if m != "t5"} | {"filled t5": "t5, largest distance 32"}
HEADLINE = {m: HEADLINE[m] for m in (m.replace("t5", "filled t5") for m in METHODS)}


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
def shown():
    """{words of its title: (headings, rows)} of the tables of chapter 14, as text."""
    found = {}
    for cell in nbformat.read(NOTEBOOKS / "14_comparison.ipynb", as_version=4).cells:
        title = re.match(r"# @title Table: (.+)", cell.source)
        if cell.cell_type == "code" and title:
            (output,) = cell.outputs
            _, headings, *rows = output["data"]["text/plain"].splitlines()
            found[title[1]] = headings.split(" | "), [row.split(" | ") for row in rows]
    assert len(found) == 17
    return found


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


def number(x, form):
    """As the tables write it."""
    return re.sub("^-", "−", format(x, form))


def test_the_headline_table(length, shown):
    """Losses in windows, their intervals, and the comparison with 64 with Holm's correction for all
    rows together. T5's bias is there with filled buckets.
    """
    pairs = [(method, n) for method in HEADLINE for n in LENGTHS[1:] if method != "learned"]
    samples = {
        (method, n): values(length[HEADLINE[method]], f"windows_{n}")
        - values(length[HEADLINE[method]], "windows_64")
        for method, n in pairs
    }
    verdicts = dict(zip(pairs, judged(list(samples.values())), strict=True))
    headings, rows = shown["loss by length, and what 1024 characters change"]
    assert headings[1:6] == [f"at {n}" for n in LENGTHS]
    for (method, arm), row in zip(HEADLINE.items(), rows, strict=True):
        expected = [method]
        for n in LENGTHS:
            x = values(length[arm], f"windows_{n}")
            half = stats.t.ppf(0.975, x.size - 1) * stats.sem(x) if x.size else None
            expected.append(f"{x.mean():.3f}±{half:.3f}" if x.size else "–")
        if method == "learned":
            expected += ["–", "undefined"]
        else:
            change = number(samples[method, 1024].mean(), "+.2f")
            expected += [change, WORDS[verdicts[method, 1024][0]]]
        assert row == expected


def pairs_row(title, found):
    order, open_pairs, count = found
    told = "; ".join(f"{a} and {b}" for a, b in open_pairs) or "none"
    return [title, ", ".join(order), str(count), str(len(open_pairs)), told]


@pytest.mark.parametrize("n", [64, 256, 1024])
def test_which_methods_are_told_apart(length, shown, n):
    runs = {method: length[arm] for method, arm in HEADLINE.items()}
    _, rows = shown["the order at each length, and the pairs that are not told apart"]
    assert pairs_row(f"at {n}", alike(runs, f"windows_{n}", list(runs))) in rows


@pytest.mark.parametrize("tuned", [False, True])
@pytest.mark.parametrize("n", [256, 1024])
def test_which_extensions_are_told_apart(length, shown, n, tuned):
    tail = ", tuned" if tuned else ""
    runs = {kind: length[f"rope, {kind}{tail}"] for kind in EXTENSIONS}
    runs["plain"] = length[f"rope{tail}"]
    _, rows = shown["which extensions are not told apart"]
    title = f"{'tuned' if tuned else 'untuned'}, {n}"
    assert pairs_row(title, alike(runs, f"windows_{n}", list(runs))) in rows


def test_a_quarter_of_the_training(length, early, shown):
    asked = [(method, n) for n in LENGTHS for method in METHODS if method != "learned" or n == 64]
    samples = [
        values(length[method], f"windows_{n}") - values(early[method], f"windows_{n}")
        for method, n in asked
    ]
    found = {
        key: [number(x.mean(), "+.2f"), WORDS[verdict]]
        for key, x, (verdict, _, _) in zip(asked, samples, judged(samples), strict=True)
    }
    for method, row in zip(METHODS, shown["500 and 2000 steps"][1], strict=True):
        expected = ["default t5" if method == "t5" else method]
        for n in (64, 1024):
            x = values(early[method], f"windows_{n}")
            expected += [f"{x.mean():.2f}", *found[method, n]] if x.size else 3 * ["–"]
        assert row == expected


def test_the_loss_by_place(length, shown):
    """From place 8 on, as the distance from Transformer-XL."""
    places = {
        method: np.mean([run["position_1024"] for run in length[arm].values()], axis=0)[4:]
        for method, arm in HEADLINE.items()
        if method != "learned"
    }
    calmest = places.pop("transformer-xl")
    _, rows = shown["loss by place, as the distance from the calmest method"]
    for (method, losses), row in zip(places.items(), rows, strict=True):
        assert row == [method, *(number(x, "+.2f") for x in losses - calmest)]


def test_the_last_bucket_of_t5(length, shown):
    samples = [
        values(length[HEADLINE["filled t5"]], f"windows_{n}") - values(length["t5"], f"windows_{n}")
        for n in LENGTHS
    ]
    _, rows = shown["T5's bias as it comes, and with every bucket filled"]
    for arm, row in zip(("t5", HEADLINE["filled t5"]), rows[:2], strict=True):
        assert row[1:] == [f"{values(length[arm], f'windows_{n}').mean():.2f}" for n in LENGTHS]
    assert rows[2][1:] == [number(x.mean(), "+.2f") for x in samples]
    assert rows[3][1:] == [WORDS[verdict] for verdict, _, _ in judged(samples)]


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


def test_the_table_of_extensions(length, shown):
    _, rows = shown["rotary with each extension, untuned and tuned"]
    names = [row[0] for row in rows]
    kinds = ["plain", *EXTENSIONS]
    assert names == [*kinds, *(f"{kind}, tuned" for kind in kinds)]
    for name, *row in rows:
        arm = f"rope, {name}".replace("rope, plain", "rope")
        assert row == [f"{values(length[arm], f'windows_{n}').mean():.2f}" for n in LENGTHS]


NAMES = dict(zip(EXTENSIONS, ("interpolation", "NTK-aware", "dynamic NTK", "YaRN"), strict=True))
WORDS_OF_LETTERS = {"w": "worse", "b": "better", "=": "equal", "?": "open"}


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
                cell = f"{difference:+z.2f} ± {half:.2f} {WORDS_OF_LETTERS[letter]}"
                wanted.append(cell.replace("-", "−"))
            else:
                wanted.append("–")
        assert rows[f"{NAMES[extension]}, {heading}"] == wanted


def test_the_table_of_tasks(tasks, shown):
    headings, rows = shown["right answers at 16 and at 64 tokens"]
    assert headings == ["method", *TASKS]
    for method, row in zip(METHODS, rows, strict=True):
        expected = [method]
        for task in TASKS:
            near, far = (100 * values(tasks[task, method], f"accuracy_{f}") for f in (1, 4))
            end = f"{far.mean():.0f} ±{far.std(ddof=1):.0f}" if far.size else "undefined"
            expected.append(f"{near.mean():.0f} → {end}")
        assert row == expected


@pytest.mark.parametrize("task", TASKS)
def test_what_stands_beside_the_best_method_of_a_task(tasks, shown, task):
    runs = {
        method: {
            seed: {"wrong": -metrics["accuracy_4"]} for seed, metrics in tasks[task, method].items()
        }
        for method in METHODS
        if method != "learned"
    }
    order, open_pairs, _ = alike(runs, "wrong", list(runs))
    beside = ", ".join(b for a, b in open_pairs if a == order[0])
    _, rows = shown["the best method of each task, and who is not told apart from it"]
    assert [task, order[0], beside] in rows


def test_no_position_is_right_on_the_marker_equally_often_with_every_seed(tasks):
    ends = values(tasks["marker_position", "none"], "accuracy_4")
    assert ends.size == 5 and set(ends.round(3)) == {0.253}


def test_the_table_of_costs_and_the_whole_comparison(length, tasks, shown):
    ratios = defaultdict(list)
    for record in raw_records("cost"):
        for quantity in COSTS:
            for method, value in record["metrics"][quantity].items():
                ratios[quantity, record["config"].get("length", 64), method].append(
                    value / record["metrics"][quantity]["none"]
                )
    mean = {key: np.mean(three) for key, three in ratios.items() if len(three) == 3}
    assert len(mean) == 5 * 3 * 9
    asked = [("parameters", 1024, ".2f")]
    asked += [("inference_seconds", n, ".2f") for n in (64, 256, 1024)]
    asked += [("training_seconds", 1024, ".2f"), ("inference_mb", 1024, ".1f")]
    asked += [("training_mb", 1024, ".1f")]
    for method, row in zip(METHODS, shown["parameters, time and memory"][1], strict=True):
        kernel = "unfused" if method in SCORES else "fused"
        assert row == [
            method,
            kernel,
            *(f"{mean[quantity, n, method]:{form}}" for quantity, n, form in asked),
        ]
    for (method, arm), row in zip(HEADLINE.items(), shown["the whole comparison"][1], strict=True):
        losses = [
            f"{x.mean():.2f}" if (x := values(length[arm], f"windows_{n}")).size else "–"
            for n in (64, 1024)
        ]
        plain = method.removeprefix("filled ")
        right = [values(tasks[task, plain], "accuracy_4") for task in NEAR]
        known = method not in ("learned", "filled t5")  # the tasks have T5's default
        share = f"{100 * np.mean([x.mean() for x in right]):.0f}" if known else "–"
        price = [
            f"{mean['parameters', 1024, plain]:.2f}",
            f"{mean['inference_seconds', 1024, plain]:.1f}",
            "unfused" if plain in SCORES else "fused",
        ]
        assert [row[0], *row[2:]] == [method, *losses, share, *price]


def test_the_window(length, shown):
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
    expected = [
        [arm, str(n), number(x.mean(), "+.2f"), WORDS[verdict]]
        for (arm, n), x, (verdict, _, _) in zip(rivals, samples, judged(samples), strict=True)
    ]
    assert shown["reading far, against rotary in windows of 64"][1] == expected
