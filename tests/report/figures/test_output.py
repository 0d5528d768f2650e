"""Figures as files, and as parts of a page."""

import re
from xml.etree.ElementTree import fromstring

import numpy as np
import pandas as pd
import pytest

from farm.measures.ranking import RiskCoverage, Separation
from farm.report.figures import VARIABLES, ScoreCurves, as_svg, heat_map, roc, save, score_curves, trade_off
from farm.report.figures.path_data import relative
from tests.report.figures.seen import STRANGE, svg, words, written


def make_curves(n=10, instances=2000, names=None):
    rng = np.random.default_rng(0)
    made = []
    for index in range(n):
        scores = np.concatenate([rng.normal(size=instances), rng.normal(index / 3, size=instances)])
        is_ood = np.arange(2 * instances) >= instances
        own = Separation.of(scores, is_ood)
        risks = RiskCoverage.of(scores, is_ood)
        name = names[index] if names else f"monitor {index}"
        made.append(ScoreCurves(name, own.roc(), own.precision_recall(), risks))
    return made


@pytest.mark.parametrize("suffix", [".svg", ".png", ".PDF"])
def test_the_same_figure_gives_the_same_bytes(tmp_path, suffix):
    places = [tmp_path / f"{name}{suffix}" for name in ("one", "two")]
    for place in places:
        save(roc(make_curves(3)), place)
    assert places[0].read_bytes() == places[1].read_bytes()
    assert places[0].stat().st_size > 1000


def test_a_figure_can_be_written_twice_and_in_any_order(tmp_path):
    figure = roc(make_curves(3))
    before = as_svg(figure, title="roc")
    save(figure, tmp_path / "roc.png")
    assert as_svg(figure, title="roc") == before


def test_a_page_gets_one_small_element_that_scales():
    text = as_svg(roc(make_curves()), title="ROC")
    assert len(text) < 12_500
    assert text.startswith("<svg ")
    root = fromstring(text)
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    assert root.attrib["width"] == "100%"
    assert "height" not in root.attrib
    assert f"max-width:{width * 4 / 3:.0f}px;height:auto" in root.attrib["style"]
    assert width == pytest.approx(72 * roc(make_curves()).get_figwidth(), abs=0.1)
    assert height > width


def test_three_panels_of_curves_stay_small():
    assert len(as_svg(score_curves(make_curves()), title="all")) < 33_000


def test_who_cannot_see_it_is_told():
    root = svg(roc([]), title="a < b", description='"c" & d', prefix="p")
    assert root.attrib["role"] == "img"
    told = {child.attrib["id"]: child.text for child in root if "id" in child.attrib}
    assert told == {"p-title": "a < b", "p-desc": '"c" & d'}
    assert root.attrib["aria-labelledby"].split() == list(told)


def test_without_a_description_none_is_referred_to():
    root = svg(roc([]), prefix="p")
    assert root.attrib["aria-labelledby"] == "p-title"


def test_ids_never_collide():
    # Hatches of undefined values, and clip paths, are referred to by id.
    figure = roc(make_curves(3))
    figure.axes[0].plot([0, 2], [0, 2])
    figure.axes[0].bar([0.5], [0.5], hatch="//", facecolor="none")
    texts = [as_svg(figure, title="roc", prefix=prefix) for prefix in ("one", "two")]
    ids = [set(re.findall(r' id="(.*?)"', text)) for text in texts]
    assert len(ids[0]) == 3
    assert not ids[0] & ids[1]
    for text, own in zip(texts, ids, strict=True):
        assert {*re.findall(r"url\(#(.*?)\)", text), *re.findall(r'href="#(.*?)"', text)} <= own
        assert text.count(' id="') == len(own)


def test_nothing_reaches_outside_or_rules_the_page():
    text = as_svg(score_curves(make_curves()), title="all")
    assert re.findall(r"https?://[^\"]+", text) == ["http://www.w3.org/2000/svg"]
    for gone in ("<style", "<!--", "<?xml", "<!DOCTYPE", "metadata", "font-family:'", "DejaVu", "<image"):
        assert gone not in text


def test_colours_are_variables_of_the_page():
    text = as_svg(roc(make_curves()), title="roc")
    plain = re.sub(r"var\((--[\w-]+), (#\w{6})\)", "", text)
    assert not re.findall(r"#[0-9a-f]{6}", plain)
    used = dict(re.findall(r"var\((--[\w-]+), (#\w{6})\)", text))
    assert used == {name: VARIABLES[name] for name in used}
    assert {"--ink", "--faint", "--grid", "--line", "--series-1", "--series-8"} <= set(used)


def test_the_paper_is_the_pages():
    root = svg(roc(make_curves(1)))
    assert not [e for e in root.iter() if "--paper" in e.attrib.get("fill", "") and "stroke" not in e.attrib]


def test_cells_keep_their_colours_in_the_dark():
    table = pd.DataFrame({"a": [1.0, np.nan]}, index=["x", "y"])
    text = as_svg(heat_map(table, measure="MCC"), title="heat")
    assert 'fill="#073b70"' in text
    assert 'fill="#fefefe"' in text


@pytest.mark.parametrize("name", STRANGE)
def test_names_stay_text(name):
    frame = pd.DataFrame(
        {"monitor": [name], "availability_cost": [0.1], "safety_gain": [0.1], "yardstick": [False]}
    )
    for figure in (roc(make_curves(1, names=[name])), trade_off(frame, error_rate=0.2)):
        shown = [text for text in words(figure) if text[:3] == name[:3]]
        assert len(shown) == 1
        assert shown[0] in written(svg(figure, title=name, description=name))


def test_letters_that_the_font_lacks_are_the_pages_to_show():
    name = "\N{CJK UNIFIED IDEOGRAPH-8B66}\N{CJK UNIFIED IDEOGRAPH-5831}"
    assert name in written(svg(roc(make_curves(1, names=[name]))))


@pytest.mark.parametrize(
    ("path", "short"),
    [
        ("M 0 0 L 10 0 L 10 10.04 z", "M0 0h10v10z"),
        ("M 0 0 L 1.26 -3.5 L 2 -3", "M0 0l1.3-3.5 .7 .5"),
        ("M 5 5 M 1 1 L 2 2 M 7 7", "M1 1l1 1"),
        ("M 0 0 L 0.01 0.02 L 3 0", "M0 0h3"),
        ("M 1 2 C 1 2 3 4 5 6 C 5 6 7 8 9 10", "M1 2c0 0 2 2 4 4 0 0 2 2 4 4"),
        ("M 0 0 Q -1 -1 -2 0 z M 1 1 L 0.5 1", "M0 0q-1-1-2 0zM1 1h-.5"),
        ("", ""),
    ],
)
def test_paths_in_few_letters(path, short):
    assert relative(path) == short


def test_rounding_does_not_add_up():
    """Each point is rounded where it is, not from where the last one was rounded to."""
    points = np.arange(500)[:, None] * [0.333, 0.471]
    path = relative("M " + " L ".join(f"{x} {y}" for x, y in points))
    numbers = np.array(re.findall(r"-?\d*\.?\d+", path), dtype=float)
    assert len(numbers) == 1000
    assert np.abs(np.cumsum(numbers.reshape(-1, 2), axis=0) - points).max() < 0.0501
