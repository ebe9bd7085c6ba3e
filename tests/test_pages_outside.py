"""What the site says to the world, what its pages weigh, and the parts of the build behind both."""

import gzip
import importlib
import json
import re
import xml.etree.ElementTree as ET
from statistics import fmean
from urllib.parse import urlsplit

import pytest
from browser import chromium, served, watch
from pages import CONFIG, NOTEBOOKS, PAGES, ROOT, TOC

import sinpe
from sinpe.experiments import analysis, get_study, load_records

OWNER, NAME = CONFIG["repository"]["url"].split("/")[-2:]
BASE = f"https://{OWNER}.github.io/{NAME}/"
LANDING = f"{TOC['root']}.html"


@pytest.fixture
def part(monkeypatch):
    """part(name) -> a module of the build."""
    monkeypatch.syspath_prepend(ROOT / "book" / "_ext")
    return importlib.import_module


# --- the outside


def test_the_map_lists_every_page(site):
    tree = ET.parse(site / "sitemap.xml")
    listed = [node.text for node in tree.iter() if node.tag.endswith("}loc")]
    assert listed == [f"{BASE}{page}.html" for page in PAGES]
    assert f"Sitemap: {BASE}sitemap.xml" in (site / "robots.txt").read_text(encoding="utf-8")


def test_the_guide_for_models_names_every_page_once(site, documents):
    text = (site / "llms.txt").read_text(encoding="utf-8")
    for page in set(PAGES) - {TOC["root"]}:
        assert text.count(f"]({BASE}{page}.html): ") == 1, page
    assert sinpe.__version__ in text and text.startswith(f"# {CONFIG['title']}\n\n> ")


def test_a_lost_reader_is_led_back_from_any_folder(site):
    """The page loads nothing and its links are whole, so it works wherever it is shown."""
    page = (site / "404.html").read_text(encoding="utf-8")
    links = re.findall(r'(?:href|src|action)="(?!data:)([^"]+)"', page)
    assert links and all(link.startswith(BASE) for link in links)
    for link in links:
        assert (site / link.removeprefix(BASE)).is_file(), link


def test_the_front_door_is_the_landing_page(site, documents):
    """And no redirect: search engines and readers see it at once."""
    door, landing = documents["index.html"], documents[LANDING]
    assert not door.select('meta[http-equiv="refresh"]')
    assert door.find("article").get_text() == landing.find("article").get_text()
    assert door.select_one('link[rel="canonical"]')["href"] == f"{BASE}{LANDING}"


@pytest.mark.parametrize("page", PAGES)
def test_structured_data_and_previews_agree_with_the_page(documents, site, page):
    document = documents[f"{page}.html"]
    (script,) = document.select('script[type="application/ld+json"]')
    data = json.loads(script.string)
    assert data["@type"] == ("Course" if page == TOC["root"] else "LearningResource")
    assert data["url"] == f"{BASE}{page}.html"
    assert data["url"] == document.select_one('link[rel="canonical"]')["href"]
    assert data["description"] == document.select_one('meta[name="description"]')["content"]
    said = {m["property"]: m["content"] for m in document.select('meta[property^="og:"]')}
    assert said["og:title"] == data["name"] and said["og:url"] == data["url"]
    picture = site / urlsplit(said["og:image"]).path.removeprefix(f"/{NAME}/")
    header = picture.read_bytes()[:24]
    assert header[:8] == b"\x89PNG\r\n\x1a\n"
    size = [int.from_bytes(header[i : i + 4], "big") for i in (16, 20)]
    assert size == [1200, 630] == [int(said["og:image:width"]), int(said["og:image:height"])]


def test_the_course_states_what_search_engines_ask_of_one(documents):
    """schema.org's Course, with what Google requires of it; its length is that of the chapters."""
    (script,) = documents[LANDING].select('script[type="application/ld+json"]')
    data = json.loads(script.string)
    assert all(data[name] for name in ("@context", "name", "description", "provider"))
    assert data["provider"]["@type"] == "Organization" and data["provider"]["name"]
    assert data["offers"]["category"] == "Free"
    instance = data["hasCourseInstance"]
    assert (instance["@type"], instance["courseMode"]) == ("CourseInstance", "Online")
    stated = [
        re.search(r"Time (\d+) minutes to read", documents[f"{page}.html"].find("article").text)
        for page in NOTEBOOKS
    ]
    hours, minutes = re.fullmatch(r"PT(\d+)H(\d+)M", instance["courseWorkload"]).groups()
    assert 60 * int(hours) + int(minutes) == sum(int(match[1]) for match in stated)


def test_every_page_ends_with_licence_version_and_date(documents):
    for page in PAGES:
        footer = documents[f"{page}.html"].select_one("footer.bd-footer-content").get_text(" ")
        assert "CC BY 4.0" in footer and "MIT" in footer, page
        assert sinpe.__version__ in footer and re.search(r"\b20\d\d\b", footer), page


# --- the weight


def test_the_first_view_weighs_little(site, documents):
    """At most 300 kB compressed, counted as a browser loads them, fonts and all."""
    with chromium() as browser, served(site) as address:
        page = browser.new_page(viewport={"width": 390, "height": 844})
        problems, loaded = watch(page, address), set()
        page.on("requestfinished", lambda request: loaded.add(request.url))
        page.goto(f"{address}/{LANDING}", wait_until="networkidle")
        clocks = page.locator("sinpe-clocks").bounding_box()
        start = page.locator("a.start").bounding_box()
    assert problems == []
    files = {(site / urlsplit(url).path.lstrip("/")) for url in loaded}
    weights = {f.name: len(gzip.compress(f.read_bytes())) for f in files if f.is_file()}
    assert sum(weights.values()) <= 300_000, weights
    assert not [name for name in weights if re.search("fontawesome|fa-|tex-mml|searchindex", name)]
    assert start["y"] + start["height"] < clocks["y"] < 844 - 300  # the dials are in view


def test_icons_are_drawn_and_no_script_of_icons_is_left(site, documents):
    for name, document in documents.items():
        assert not document.select("i[class*='fa-'], span[class*='fa-']"), name
        assert not document.select("script[src*='fontawesome']"), name
    assert list(site.rglob("*fontawesome*")) == []


def test_an_icon_is_found_by_each_of_its_names(part):
    source = 'x={pencil:[512,512,[9999,"pencil-alt"],"f303","M1 1z"],"a-b":[10,20,[],"f1","M2 2"]}'
    known = part("weight").icons(source)
    assert known["pencil"] == known["pencil-alt"] == ("512", "512", "M1 1z")
    drawn = part("weight").drawn('<i class="fas fa-a-b" title="A"></i>', known)
    assert drawn.startswith('<svg class="icon fas fa-a-b" viewBox="0 0 10 20"')
    assert 'title="A"' in drawn and 'd="M2 2"' in drawn
    with pytest.raises(Exception, match="no icon 'fa-none'"):
        part("weight").drawn('<i class="fa-solid fa-none"></i>', known)


# --- formulas


def test_a_formula_holds_its_shapes_and_its_meaning(part):
    html = part("formulas").typeset(r"\sqrt{d} < 1", False)
    assert "<mjx-msqrt" in html and "<msqrt><mi>d</mi></msqrt>" in html and "tabindex" not in html


@pytest.mark.parametrize("tex", [r"\frac{1", r"\nosuch{x}", "x_"])
def test_what_is_no_formula_is_said(part, tex):
    with pytest.raises(ValueError, match=re.escape(repr(tex))):
        part("formulas").typeset(tex)


def test_only_long_formulas_may_be_broken(part):
    typeset = part("formulas").typeset
    assert "mjx-break" not in typeset("a = b")
    long = "f(x) = a + b + c + d + e = 1 + 2 + 3 + 4"
    assert typeset(long).count("<mjx-break") == 2
    assert "mjx-break" not in typeset(long, True)  # a displayed one scrolls
    assert "wide" not in typeset(long)
    assert '"MathJax wide"' in typeset("+".join("abcdefghijklmnopq"))


# --- the landing page


def test_the_three_results_are_those_of_the_chapters(documents):
    """The figures are stored outputs; the numbers follow from the records, by another way."""
    page = documents[LANDING]
    shown = [image["src"].rsplit("/", 1)[1] for image in page.select(".results img")]
    assert shown == ["fig-06-answer.svg", "fig-14-length.svg", "fig-03-matrix.svg"]
    text = " ".join(page.select_one(".results").get_text(" ").split())
    study, lost = get_study("length"), {}
    for cell, runs in analysis.by_cell(study, load_records(study)).items():
        if cell.config.steps == 2000 and cell.arm in ("rope", "alibi", "transformer-xl"):
            measured = [run["metrics"] for run in runs.values()]
            lost[cell.arm] = fmean(m["windows_1024"] - m["windows_64"] for m in measured)
    wanted = "rotary loses {rope:.2f} nats, ALiBi {alibi:.2f}, and Transformer-XL’s term {xl:.2f}"
    assert wanted.format(xl=lost["transformer-xl"], **lost) in text
    said = page.select(".results img")[2]["alt"]
    assert "eleven tests" in said and "Shape, range and first row catch nothing" in said
    assert "Three of the eleven usual tests catch none of seven faults" in text


def test_each_part_of_the_course_has_its_picture_and_its_chapters(documents):
    parts = documents[LANDING].select(".parts > .part")
    captions = [part["caption"] for part in TOC["parts"] if part["caption"].startswith("Part ")]
    assert [part.find("strong").get_text() for part in parts] == captions
    assert all(len(part.select_one("svg.part-picture").contents) >= 1 for part in parts)
    listed = [a["href"] for part in parts for a in part.select("ol > li > p > a, ol > li > a")]
    assert [link for link in listed if "#" not in link] == [f"../{n}.html" for n in NOTEBOOKS]


def test_a_figure_that_no_chapter_has_is_an_error(part):
    with pytest.raises(ValueError, match="no figure called 'fig-none'"):
        part("pictures").stored("03_building_it", "fig-none")
    with pytest.raises(ValueError, match="no table"):
        part("pictures").table("03_building_it", "Nothing like this")


# --- the search's index


def test_readers_words_belong_to_pages_that_exist(part):
    with pytest.raises(ValueError, match="notebooks/99_none"):
        part("site_search").index({}, {"pages": {"notebooks/99_none": []}, "same": []})
