"""The interactive rounding of a code in a real browser: its short types are those of torch."""

import re

import numpy as np
import pytest
import torch
from explorer_pages import shown, values

import sinpe
from sinpe import explorers

TAG = "sinpe-rounding"
TYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


def rounded(x, dtype):
    return torch.as_tensor(x, dtype=torch.float64).to(dtype).double().numpy()


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("d_model, position", [(64, 999_937), (4, 257), (128, 70_000), (16, 0)])
def test_angles_and_errors_are_those_of_the_type(show, name, d_model, position):
    figure = explorers.Rounding(type=name, d_model=d_model, position=position)
    page, dtype = show(figure._repr_html_()), TYPES[name]
    read, w = values(page, TAG), sinpe.inverse_frequencies(d_model)
    short = rounded(w, dtype)
    # a product of two short numbers is exact in float64, so this is the type's own product
    every = rounded(rounded(position, dtype) * short, dtype)
    ways = [every, position * short, rounded(position * w, dtype), position * w]
    found = [pair["rounded"] for pair in read["angles"]]
    np.testing.assert_allclose(found, np.transpose(ways), rtol=1e-14, atol=0)
    in_the_type = torch.tensor(float(position)).to(dtype) * torch.tensor(w).to(dtype)
    np.testing.assert_array_equal(in_the_type.double().numpy(), every)
    at, most = np.arange(16.0) + position, []  # sixteen in a row
    p, exact = at[:, None], sinpe.sinusoidal_encoding(at, d_model)
    every = rounded(rounded(p, dtype) * short, dtype)
    for i, way in enumerate([every, p * short, rounded(p * w, dtype), p * w]):
        with np.errstate(invalid="ignore"):
            code = np.stack([np.sin(way), np.cos(way)], axis=-1).reshape(16, d_model)
        code = code if i % 3 else rounded(code, dtype)
        miss = np.abs(code - exact).max()
        most.append(np.inf if np.isnan(miss) else miss)  # an infinite angle has no sine
    np.testing.assert_allclose(read["errors"], most, rtol=1e-6, atol=2e-10)
    sentence = shown(page, TAG, ".read")
    assert ("no number" in sentence) == bool(np.isinf(most).any())
    assert f"Positions {position:,} to {position + 15:,}, rounded to {name}" in sentence
    assert page.problems == []


def test_the_example_of_the_chapter(show):
    """0.6 × 999 937 is no float32 number: 599962.2 becomes 599962.1875."""
    page = show(explorers.Rounding()._repr_html_())
    near = page.evaluate(f"document.querySelector('{TAG}').round(0.6 * 999937)")
    assert near == 599962.1875 == float(np.float32(0.6 * 999_937))
    draw = np.random.default_rng(0).normal(size=500) * 2.0 ** np.arange(-30, 20).repeat(10)
    for name, dtype in TYPES.items():
        page.locator(f'{TAG} select[name="type"]').select_option(name)
        found = page.evaluate(
            f"all => all.map(x => document.querySelector('{TAG}').round(x))", draw.tolist()
        )
        wanted = rounded(draw, dtype)
        finite = np.isfinite(wanted)
        np.testing.assert_array_equal(np.array(found, float)[finite], wanted[finite])


def test_curves_rise_with_the_position_and_the_last_one_does_not(show):
    page = show(explorers.Rounding(type="float32")._repr_html_())

    def heights(i):
        path = page.locator(f"{TAG} .error{i}").get_attribute("d")
        ups = [1 - float(point.split()[1]) for point in path.removeprefix("M").split("L")]
        return 10 ** (-10 + 10.5 * np.array(ups))

    every, frequency, angle, code = map(heights, range(4))
    assert (code < 2.99e-8).all() and code.max() > 2.9e-8
    for curve in (every, frequency, angle):
        assert curve[-1] > 1e4 * curve[0] and 1e-3 < curve[-1] < 0.1
    place = page.locator(f"{TAG} .plot svg")
    box = place.bounding_box()
    place.click(position={"x": box["width"] * 0.5, "y": box["height"] * 0.5})
    position = page.evaluate(f"document.querySelector('{TAG}').state.position")
    assert 900 < position < 1200 and shown(page, TAG, "output.power") == f"{position:,}"
    page.locator(f'{TAG} select[name="type"]').select_option("float16")
    assert len(heights(0)) < 41  # no number beyond 65 504
    sentence = shown(page, TAG, ".read")
    assert re.search(r"finished code alone 2e-4", sentence) and page.problems == []
