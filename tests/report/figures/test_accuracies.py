"""How often methods are right, drawn: nothing computed, nothing cut, chance always in sight."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from farm.report.figures import Look, accuracies_by_source, mean_accuracies, optimism_gaps
from tests.report.figures.seen import STRANGE, fits, overlaps, strokes, svg, words, written

NAN = math.nan
FORTY = [f"method {i}" for i in range(20)]


def make(methods=("ODIN", "BinClass"), networks=("VGG", "Res"), mean=0.8, half=0.05, sources=None):
    rows = [
        {"method": m, "network": n, "n": 1200, "mean": mean, "low": mean - half, "high": mean + half}
        for m in methods
        for n in networks
    ]
    if sources is None:
        return pd.DataFrame(rows)
    return pd.DataFrame([row | {"source": source} for source in sources for row in rows])


def make_gaps(methods=("BinClass", "ODIN"), gap=0.3):
    rows = [
        {"method": m, "network": "VGG", "optimistic": 0.6 + gap, "honest": 0.6, "gap": gap} for m in methods
    ]
    return pd.DataFrame(rows)


def labels(axes):
    return [text.get_text() for text in axes.get_yticklabels()]


def marked(axes):
    """Return the markers that stand for values, with their places."""
    return [
        (line.get_marker(), line.get_xydata().tolist()) for line in axes.lines if line.get_marker() != "None"
    ]


def whiskers(axes):
    return [path.vertices.tolist() for c in axes.collections for path in c.get_paths()]


def test_a_row_a_method_with_its_mean_its_interval_and_its_triplets():
    frame = make(["ODIN"], ["VGG", "Res", ""])
    frame["mean"] = [0.9, 0.8, 0.7]
    (axes,) = mean_accuracies(frame, networks=["VGG", "Res"]).axes
    assert labels(axes) == ["ODIN/VGG", "ODIN/Res", "ODIN"]
    assert marked(axes) == [(Look.of(at).marker, [[mean, at]]) for at, mean in enumerate([0.9, 0.8, 0.7])]
    assert whiskers(axes) == [[pytest.approx([0.75, at]), pytest.approx([0.85, at])] for at in range(3)]
    said = words(axes.figure)
    assert said.count("1,200") == 3
    assert {"0.900", "0.800", "0.700", "chance", "VGG", "Res", "no network"} <= set(said)


def test_a_network_keeps_its_look_in_every_figure():
    frame = make(["ODIN"], ["Res"])
    (axes,) = mean_accuracies(frame, networks=["VGG", "Res"]).axes
    assert marked(axes)[0][0] == Look.of(1).marker
    assert "Res" not in words(axes.figure)  # one network needs no key


@pytest.mark.parametrize("mean", [0.2, 0.5, 0.99])
def test_chance_and_what_is_drawn_are_in_sight(mean):
    (axes,) = mean_accuracies(make(mean=mean)).axes
    low, high = axes.get_xlim()
    assert low < min(mean - 0.05, 0.5)
    assert high > max(mean + 0.05, 1)
    assert strokes(axes, 2)[0].get_xdata() == [0.5, 0.5]


def test_without_an_interval_the_point_stays():
    (axes,) = mean_accuracies(make(["ODIN"], ["VGG"], half=NAN)).axes
    assert whiskers(axes) == []
    assert marked(axes) == [("o", [[0.8, 0]])]


def test_forty_rows_and_strange_names_can_be_read():
    for frame in (make(FORTY), make(STRANGE, [*STRANGE, ""])):
        figure = mean_accuracies(frame, title="A title " * 30)
        names = labels(figure.axes[0])
        assert fits(figure)
        assert len(names) == len(frame)
        assert not overlaps(figure, names)


def test_a_panel_a_source_with_the_same_rows():
    frame = make(sources=["signs", "digits"])
    frame = frame.drop(index=frame[(frame["source"] == "digits") & (frame["method"] == "ODIN")].index)
    figure = accuracies_by_source(frame, sources=["digits", "signs"])
    assert [axes.get_title("left") for axes in figure.axes] == ["digits", "signs"]
    assert labels(figure.axes[0]) == ["ODIN/VGG", "ODIN/Res", "BinClass/VGG", "BinClass/Res"]
    assert labels(figure.axes[1]) == [""] * 4
    assert words(figure).count("no result") == 2
    assert {axes.get_xlim() for axes in figure.axes} == {figure.axes[0].get_xlim()}
    assert [text.get_text() for text in figure.axes[1].get_xticklabels()] == ["0.5", "0.75", "1"]


@pytest.mark.parametrize(("n", "across"), [(1, 1), (4, 4), (5, 3), (6, 3), (9, 3)])
def test_panels_fill_their_rows(n, across):
    figure = accuracies_by_source(make(sources=[f"set {i}" for i in range(n)]))
    places = [axes.get_position() for axes in figure.axes]
    assert len({round(place.x0, 6) for place in places}) == across
    assert not any(a.overlaps(b) for i, a in enumerate(places) for b in places[:i])


def test_strange_sources_fit():
    figure = accuracies_by_source(make(STRANGE, [*STRANGE, ""], sources=STRANGE), title="t")
    assert fits(figure)
    assert not overlaps(figure, words(figure)[-5:])


def test_a_dumbbell_a_method():
    frame = make_gaps()
    frame.loc[1, ["optimistic", "gap"]] = [0.55, -0.05]
    (axes,) = optimism_gaps(frame).axes
    assert [points for _, points in marked(axes)] == [
        [[pytest.approx(0.9), 0], [0.55, 1]],
        [[0.6, 0], [0.6, 1]],
    ]
    assert {"0.300", "\N{MINUS SIGN}0.050", "on the set that it learned from", "judged on other sets"} <= set(
        words(axes.figure)
    )
    assert fits(axes.figure)


def test_forty_dumbbells_and_strange_names_fit():
    figure = optimism_gaps(make_gaps([*FORTY, *FORTY[:15], *STRANGE]), title="A title " * 30)
    assert fits(figure)


@pytest.mark.parametrize("draw", [mean_accuracies, accuracies_by_source, optimism_gaps])
def test_nothing_to_draw_is_said(draw):
    assert len(words(draw(pd.DataFrame()))) == 1


def test_names_stay_text_on_a_page():
    root = svg(mean_accuracies(make(STRANGE[:1], ["<script>"])))
    assert any(text.startswith("<img") for text in written(root))
