"""The interactive figures of the methods in a real browser: they show what sinpe computes."""

import math
import re

import numpy as np
import pytest
import torch
from explorer_pages import element, shown, values

import sinpe
from sinpe import explorers
from sinpe.experiments import analysis, get_study, load_records
from sinpe.explorers.records import METHODS, MORE
from sinpe.positions import Llama3, NTKAware, PositionInterpolation, YaRN
from sinpe.training import measures


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"head_dim": 16, "query": 63, "key": 0},
        {"head_dim": 2, "base": 1, "positions": 1024, "query": 3, "key": 1000},
    ],
)
def test_the_rotation_is_that_of_rotary_and_its_score_sees_the_distance(show, options):
    explorer = explorers.Rotation(**options)
    page, tag = show(explorer._repr_html_()), "sinpe-rotation"
    read = values(page, tag)

    def turned(vector, position):
        x = torch.tensor(vector, dtype=torch.float64)[None, None, None]
        there = torch.tensor([position])
        rotary = sinpe.Rotary(explorer.head_dim, base=explorer.base)
        return rotary.rotate(x, x, there, there)[0].flatten().numpy()

    q, k = turned(read["q"], explorer.query), turned(read["k"], explorer.key)
    np.testing.assert_allclose(read["turnedQ"], q, rtol=0, atol=1e-9)
    np.testing.assert_allclose(read["turnedK"], k, rtol=0, atol=1e-9)
    distance = explorer.query - explorer.key
    back = np.array(read["q"]) @ sinpe.shift_matrix(distance, explorer.head_dim, explorer.base)
    assert read["score"] == pytest.approx(back @ read["k"], abs=1e-9)
    code = sinpe.sinusoidal_encoding(explorer.positions, explorer.head_dim, explorer.base)
    added = (np.array(read["q"]) + code[explorer.query]) @ (read["k"] + code[explorer.key])
    assert read["added"] == pytest.approx(added, abs=1e-9)
    sentence = shown(page, tag, ".read").replace("−", "-")
    assert [float(x) for x in re.findall(r"is (-?\d+\.\d+)", sentence)] == pytest.approx(
        [read["score"], read["added"]], abs=5.001e-4
    )
    # moving both leaves the score and not the sum of codes
    page.locator(f'{tag} input[name="both"]').focus()
    page.keyboard.press("End" if distance else "Home")
    moved, state = values(page, tag), page.evaluate(f"document.querySelector('{tag}').state")
    assert state["query"] - state["key"] == distance
    assert max(state["query"], state["key"]) == explorer.positions - 1
    assert moved["score"] == pytest.approx(read["score"], abs=1e-9)
    assert page.problems == []


def test_both_move_while_it_plays_and_the_dot_of_the_score_stands_still(show):
    page, tag = show(element("sinpe-rotation")), "sinpe-rotation"
    dot = page.locator(f"{tag} .dot").get_attribute("d")
    page.locator(f"{tag} .play").click()
    page.wait_for_function(f"document.querySelector('{tag}').state.key > 4.5")
    page.locator(f"{tag} .play").click()
    state = page.evaluate(f"document.querySelector('{tag}').state")
    assert state["query"] - state["key"] == 3 and state["key"] == int(state["key"]) >= 5
    later = page.locator(f"{tag} .dot").get_attribute("d")
    x, y = (np.array(re.findall(r"\d+\.\d+", d), float) for d in (dot, later))
    np.testing.assert_allclose(x[:2], y[:2], rtol=0, atol=1e-9)
    page.locator(f'{tag} input[name="query"]').fill("20")
    assert page.locator(f"{tag} .dot").get_attribute("d") != dot


@pytest.mark.parametrize(
    "options, std, factor, rate",
    [
        ({}, 512**-0.5, 512**0.5, 1),
        ({"factor": "1", "table_rate": "√d"}, 512**-0.5, 1, 512**0.5),
        ({"d_model": 64, "std": "1", "learning_rate": 0.01}, 1, 8, 1),
        ({"d_model": 1024, "std": "0.02", "factor": "1/√d", "table_rate": "0"}, 0.02, 1 / 32, 0),
    ],
)
def test_loudness_is_that_of_an_embedding_beside_its_code(show, options, std, factor, rate):
    explorer = explorers.Loudness(**options)
    page, d = show(explorer._repr_html_()), explorer.d_model
    read = values(page, "sinpe-loudness")
    code = np.sqrt(np.mean(sinpe.sinusoidal_encoding(100, d) ** 2))  # the size of a position
    ratio = read["ratio"]
    assert ratio == pytest.approx(factor * std / code, rel=1e-12)
    assert read["step"] == pytest.approx(factor * rate * explorer.learning_rate / code, rel=1e-12)
    # the four terms of a score: token with token, the two mixed ones, position with position
    terms = np.array([ratio**4, ratio**2 + ratio**2, 1])
    np.testing.assert_allclose(read["shares"], terms / terms.sum(), rtol=1e-12)
    heard = {0: "position drowns the word", 1: "both are heard", 2: "the word drowns its position"}
    sentence = shown(page, "sinpe-loudness", ".read")
    assert heard[int(ratio >= 0.5) + int(ratio >= 2)] in sentence
    if ratio < 1 and rate:
        steps = int(re.search(r"At least ([\d,]+) steps", sentence)[1].replace(",", ""))
        assert (steps - 1) * read["step"] < 1 - ratio <= steps * read["step"]
    assert ("frozen" in sentence) == (rate == 0 and ratio < 1) and page.problems == []


@pytest.mark.parametrize("exponent, clip, window", [(1, 4, 16), (3, 16, 64), (8, 64, 1)])
@pytest.mark.parametrize("max_distance", [17, 128])
def test_biases_are_those_of_the_methods(show, exponent, clip, window, max_distance):
    explorer = explorers.Biases(
        exponent=exponent, clip=clip, window=window, max_distance=max_distance, distance=40
    )
    page, tag = show(explorer._repr_html_()), "sinpe-biases"
    r = torch.arange(explorer.reach + 1)
    found = page.evaluate(f"""() => {{
      const figure = document.querySelector('{tag}');
      const all = Array.from({{length: {len(r)}}}, (_, r) => r);
      return {{buckets: all.map(r => figure.bucket(r)),
        bias: all.map(r => Object.values(figure.bias(r)).map(b => isFinite(b) ? b : -1e9))}};
    }}""")
    buckets = sinpe.relative_position_bucket(-r, bidirectional=False, max_distance=max_distance)
    assert found["buckets"] == buckets.tolist()
    alibi, t5, shaw, inside = np.array(found["bias"]).T
    q = torch.zeros(1, 8, len(r), 4)
    of_head = sinpe.Alibi(8).score_bias(q, q, r, r)[0, exponent - 1]  # its slope is 2^−exponent
    np.testing.assert_allclose(alibi, of_head[-1].flip(0), rtol=1e-6)
    first = [int((buckets == b).int().argmax()) for b in buckets]  # of each bucket
    np.testing.assert_allclose(t5, alibi[first], rtol=1e-12)
    np.testing.assert_allclose(shaw, alibi[np.minimum(r.numpy(), clip)], rtol=1e-12)
    assert ((inside == 0) == (r.numpy() < window)).all() and (inside[window:] == -1e9).all()
    read, factors = values(page, tag), np.exp(-(2.0**-exponent) * np.arange(20_000))
    assert read["effective"] == pytest.approx(factors.sum(), rel=1e-9)
    assert read["within"] == (factors.cumsum() / factors.sum() < 0.95).sum() + 1
    told = re.findall(r"(?:ALiBi|T5|Shaw|window) (\d\.\d+)", shown(page, tag, ".read"))
    wanted = np.exp([alibi[40], t5[40], shaw[40], inside[40]])
    np.testing.assert_allclose([float(x) for x in told], wanted, rtol=0, atol=5.001e-4)
    assert page.problems == []


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"head_dim": 32, "length": 64, "factor": 16, "pair": 9},
        {"head_dim": 4, "base": 10, "length": 1_048_576, "factor": 1, "pair": 1},
        {"head_dim": 256, "base": 5e5, "length": 8192, "factor": 8.5, "pair": 127},
    ],
)
def test_extensions_are_those_of_the_package(show, options):
    explorer = explorers.Extensions(**options)
    page, tag = show(explorer._repr_html_()), "sinpe-extensions"
    read, s, length = values(page, tag), explorer.factor, explorer.length
    plain = sinpe.inverse_frequencies(explorer.head_dim, explorer.base)
    np.testing.assert_allclose(read["plain"], plain, rtol=1e-12)
    rules = {"interpolation": PositionInterpolation(s), "NTK-aware": NTKAware(s)}
    rules |= {"YaRN": YaRN(s, length), "Llama 3": Llama3(s, 1, 4, length)}
    assert list(read["rules"]) == list(rules)
    told = dict(re.findall(r"([A-Z]?[\w -]+?) (\d+\.\d\d)[,.]", shown(page, tag, ".read")))
    for name, rule in rules.items():
        frequencies, attention = rule(plain, explorer.base, None)
        np.testing.assert_allclose(read["rules"][name], frequencies, rtol=1e-11)
        stretch = plain[explorer.pair] / frequencies[explorer.pair]
        assert float(told[name if name in told else f" {name}"]) == pytest.approx(stretch, abs=6e-3)
        assert name != "YaRN" or read["attention"] == pytest.approx(attention, rel=1e-12)
    assert page.problems == []


@pytest.mark.parametrize("sentence", ["dog bites man", "the dog saw the cat", "a b"])
def test_attention_over_words_that_move(show, sentence):
    page, tag = show(explorers.Words(sentence=sentence)._repr_html_()), "sinpe-words"
    first = values(page, tag)
    n = len(sentence.split())

    def attend(x, head):
        w_q, w_k = (np.array(w).reshape(8, 8) for w in head)
        scores = (x @ w_q) @ (x @ w_k).T / math.sqrt(8)
        return np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)

    def agrees(read):
        x = np.array(read["vectors"])
        np.testing.assert_allclose(read["without"], attend(x, read["head"]), rtol=0, atol=1e-12)
        coded = attend(x + sinpe.sinusoidal_encoding(n, 8), read["head"])
        np.testing.assert_allclose(read["with"], coded, rtol=0, atol=1e-12)

    agrees(first)
    page.locator(f"{tag} .round").click()
    turned = values(page, tag)
    agrees(turned)
    np.testing.assert_allclose(
        np.array(turned["without"])[::-1, ::-1], first["without"], rtol=0, atol=1e-12
    )
    assert np.abs(np.array(turned["with"])[::-1, ::-1] - first["with"]).max() > 0.05
    assert page.problems == []


def test_words_move_by_keys_by_drag_and_by_shuffling(show):
    page, tag = show(explorers.Words()._repr_html_()), "sinpe-words"

    def order():
        return " ".join(page.locator(f"{tag} .chips button").all_inner_texts())

    before = shown(page, tag, ".read")
    page.locator(f"{tag} .chips button").first.focus()
    page.keyboard.press("ArrowRight")
    assert order() == "bites dog man"
    page.keyboard.press("ArrowRight")  # the focus went along
    page.keyboard.press("ArrowRight")  # at the end already
    assert order() == "bites man dog"
    label = page.locator(f"{tag} .chips button").last.get_attribute("aria-label")
    assert label == "dog, place 3 of 3"
    after = shown(page, tag, ".read")
    without, here, start = (re.findall(r"\d\.\d{3}", text) for text in (before, after, before))
    assert without[0] == here[0] and here[1] != here[2] == start[1] == start[2]
    held, target = (page.locator(f"{tag} .chips button").nth(i).bounding_box() for i in (2, 0))
    page.mouse.move(held["x"] + 5, held["y"] + 5)
    page.mouse.down()
    page.mouse.move(target["x"] + 5, target["y"] + 5, steps=5)
    page.mouse.up()
    assert order() == "dog bites man"
    seen = set()
    for _ in range(6):
        page.locator(f"{tag} .mix").click()
        seen.add(order())
    assert len(seen) >= 3 and all(sorted(one.split()) == ["bites", "dog", "man"] for one in seen)
    page.locator(f"{tag} .without tbody td").nth(5).click()
    assert (
        page.locator(f"{tag} .without .chosen").inner_text()
        == page.locator(f"{tag} .without tbody td").nth(5).inner_text()
    )
    assert page.problems == []


def test_the_comparison_shows_the_records(show):
    page, tag = show(explorers.Comparison()._repr_html_()), "sinpe-comparison"
    assert measures.METHODS == METHODS
    data = page.evaluate(f"document.querySelector('{tag}').state.data")
    study = get_study("length")
    records, arms = load_records(study), {name: name for name in METHODS} | MORE
    for steps, readings in data["runs"].items():
        cells = {c.arm: c for c in study.cells if c.config.steps == int(steps)}
        for reading, rows in readings.items():
            found = analysis.across(study, records, reading)
            assert set(rows) == {name for name, arm in arms.items() if arm in cells}
            for name, row in rows.items():
                for length, shown_row in zip(data["lengths"], row, strict=True):
                    e = found[cells[arms[name]]][length]
                    told = None if e is None else pytest.approx([e.mean, e.low, e.high], abs=6e-4)
                    assert shown_row == told
    ranked = [row[0] for _, row in values(page, tag)]
    assert ranked == sorted(ranked)
    told = re.findall(r"([\w-]+) (\d\.\d{3}) ±", shown(page, tag, ".read"))
    assert [name for name, _ in told] == [name for name, _ in values(page, tag)]
    page.locator(f'{tag} input[name="learned"]').check()
    assert "Not defined or not recorded there: learned." in shown(page, tag, ".read")
    page.locator(f'{tag} select[name="length"]').select_option("64")
    assert "learned 1.557" in shown(page, tag, ".read")
    page.locator(f'{tag} input[name="rope"]').uncheck()
    assert "rope" not in shown(page, tag, ".read")
    assert page.locator(f"{tag} .loss6").get_attribute("d") == ""
    page.locator(f'{tag} select[name="steps"]').select_option("500")
    page.locator(f'{tag} select[name="reading"]').select_option("blocks")
    mean = data["runs"]["500"]["blocks"]["shaw"][0][0]
    assert f"shaw {mean:.3f}" in shown(page, tag, ".read") and page.problems == []


@pytest.mark.parametrize(
    "options",
    [{}, {"scale": 1, "texts": 32, "row": 4}, {"rows": 512, "longest": 512, "scale": 60.5}],
)
def test_rows_are_trained_by_the_texts_that_reach_them(show, options):
    explorer = explorers.Rows(**options)
    page, tag = show(explorer._repr_html_()), "sinpe-rows"
    read = page.evaluate(
        f"rows => rows.map(row => document.querySelector('{tag}').values(row))",
        list(range(explorer.rows)),
    )
    draw = np.random.default_rng(0).exponential(explorer.scale, 200_000)
    lengths = np.minimum(4 + np.floor(draw), explorer.longest)  # as chapter 08 draws them
    for row, found in enumerate(read):
        share = (lengths > row).mean()
        assert found["share"] == pytest.approx(share, abs=5e-3)
        assert (found["share"] == 0) == (row >= explorer.longest)
        assert (found["share"] == 1) == (row < 4)
        assert found["expected"] == pytest.approx(explorer.texts * found["share"], rel=1e-12)
        none = (1 - found["share"]) ** explorer.texts
        assert found["chance"] == pytest.approx(1 - none, abs=1e-9)
    one, sentence = values(page, tag), shown(page, tag, ".read")
    assert one == read[explorer.row]
    told = float(re.search(r"([\d.]+) % of texts", sentence)[1])
    assert told == pytest.approx(100 * one["share"], abs=0.0501)
    assert f"{1 - one['chance']:.3f}." in sentence
    page.locator(f'{tag} input[name="longest"]').fill("4")
    page.locator(f'{tag} input[name="row"]').fill("4")
    assert "it keeps its random start" in shown(page, tag, ".read")
    assert page.problems == []
