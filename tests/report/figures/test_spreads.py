"""Means with their spread: nothing computed, nothing dropped in silence, every name to be read."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from farm.report.figures import Look, means_with_spread
from tests.report.figures.seen import STRANGE, fits, overlaps, words

NAN = math.nan
TEN = ["noise", "snow", "rain", "fog", "blur", "grey", "rotation", "perspective", "crop", "reflection"]
TWO = ("baseline", "MC dropout")
TWELVE = [f"classifier {i}" for i in range(12)]


def make(conditions=("fog", "rain"), classifiers=TWO, mean=0.8, sd=0.1, levels=None):
    rows = [(one, name, mean, sd) for one in conditions for name in classifiers]
    frame = pd.DataFrame(rows, columns=["transformation", "classifier", "mean", "sd"])
    return frame if levels is None else pd.concat([frame.assign(level=level) for level in levels])


def draw(frame, **options):
    usual = {"x": "transformation", "group": "classifier", "measure": "accuracy"}
    return means_with_spread(frame, **usual | options)


def marked(axes):
    return [
        (line.get_marker(), line.get_xydata().tolist()) for line in axes.lines if line.get_marker() != "None"
    ]


def whiskers(axes):
    return [path.vertices.tolist() for one in axes.collections for path in one.get_paths()]


def rows(axes):
    return [text.get_text() for text in axes.get_yticklabels()]


def columns(axes):
    return [text.get_text() for text in axes.get_xticklabels()]


def test_a_marker_a_classifier_beside_each_other_at_each_condition():
    (axes,) = draw(make()).axes
    assert columns(axes) == ["fog", "rain"]
    (first, at), (second, beside) = marked(axes)
    assert [first, second] == [Look.of(0).marker, Look.of(1).marker]
    assert [y for _, y in at + beside] == [0.8] * 4
    for (left, _), (right, _), middle in zip(at, beside, (0, 1), strict=True):
        assert left < middle < right
        assert left + right == pytest.approx(2 * middle)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("Transformation", "accuracy")
    assert {*TWO, "Markers: means. Whiskers: one standard deviation to each side."} <= set(words(axes.figure))


def test_a_whisker_is_one_standard_deviation_to_each_side():
    frame = make(["fog", "rain"], ["baseline"]).assign(sd=[0.1, 0.02])
    (axes,) = draw(frame).axes
    assert whiskers(axes) == [
        [pytest.approx([0, 0.7]), pytest.approx([0, 0.9])],
        [pytest.approx([1, 0.78]), pytest.approx([1, 0.82])],
    ]


def test_without_a_deviation_the_marker_stays():
    (axes,) = draw(make(sd=NAN)).axes
    assert whiskers(axes) == []
    assert len(marked(axes)) == 2


def test_a_condition_without_any_mean_says_so_and_one_classifier_without_is_a_gap():
    frame = make(["fog", "rain", "snow"])
    frame.loc[frame["transformation"] == "rain", "mean"] = NAN
    frame = frame.drop(index=frame.index[-1])
    (axes,) = draw(frame).axes
    assert [text.get_text() for text in axes.texts] == ["no result"]
    assert axes.texts[0].get_position()[0] == 1
    (_, first), (_, second) = marked(axes)
    assert [math.isnan(y) for _, y in first] == [False, True, False]
    assert [math.isnan(y) for _, y in second] == [False, True, True]


def test_conditions_stand_in_the_order_asked_for_and_no_others():
    frame = make(["rain", "fog", "snow"])
    (axes,) = draw(frame, order=["snow", "hail", "rain"]).axes
    assert columns(axes) == ["snow", "rain"]


def test_the_order_moves_the_values_along():
    frame = make(["rain", "fog"], ["baseline"])
    frame["mean"] = [0.9, 0.5]
    (axes,) = draw(frame, order=["fog", "rain"]).axes
    assert marked(axes)[0][1] == [[0, 0.5], [1, 0.9]]


def test_many_conditions_in_many_panels_stand_in_rows():
    figure = draw(make(TEN, levels=range(1, 6)), panel="level")
    assert [axes.get_title("left") for axes in figure.axes] == [f"Level {i}" for i in range(1, 6)]
    assert rows(figure.axes[0]) == TEN
    assert rows(figure.axes[1]) == [""] * 10
    assert [axes.get_xlabel() for axes in figure.axes] == ["accuracy"] * 5
    assert len({axes.get_xlim() for axes in figure.axes}) == 1
    assert [x for x, _ in marked(figure.axes[0])[0][1]] == [0.8] * 10
    assert len({axes.get_position().y0 for axes in figure.axes}) == 1
    assert fits(figure)


def test_one_panel_of_many_conditions_stands_upright_and_names_do_not_touch():
    figure = draw(make(TEN))
    assert columns(figure.axes[0]) == TEN
    assert not overlaps(figure, TEN)
    assert fits(figure)


@pytest.mark.parametrize("levels", [None, [1], range(1, 6)])
@pytest.mark.parametrize("classifiers", [["one"], TWO, TWELVE])
@pytest.mark.parametrize("conditions", [["fog"], ["a" * 40, "b" * 40, "c" * 40], TEN, list(range(1, 11))])
def test_whatever_there_is_can_be_read(conditions, classifiers, levels):
    frame = make(conditions, classifiers, levels=levels)
    figure = draw(frame, panel=None if levels is None else "level", chance=0.5, title="A title " * 30)
    assert fits(figure)
    names = [*columns(figure.axes[0]), *rows(figure.axes[0]), *classifiers]
    assert not overlaps(figure, [name for name in names if name])
    places = [axes.get_position() for axes in figure.axes]
    assert not any(a.overlaps(b) for i, a in enumerate(places) for b in places[:i])
    assert figure.get_figwidth() <= 10.5


def test_markers_of_twelve_classifiers_stand_within_their_condition():
    (axes,) = draw(make(TEN, TWELVE)).axes
    for _, points in marked(axes):
        assert all(abs(y - round(y)) < 0.5 for _, y in points)
    assert len({marker for marker, _ in marked(axes)}) == 12


def test_each_measure_has_its_own_axis_and_its_own_chance():
    frame = pd.concat([make(mean=0.9).assign(of="AUROC"), make(mean=0.1, sd=0.01).assign(of="Brier score")])
    figure = draw(frame, panel="of", measure=None, chance={"AUROC": 0.5})
    first, second = figure.axes
    assert [first.get_title("left"), second.get_title("left")] == ["AUROC", "Brier score"]
    assert first.get_ylim()[0] < 0.5 < first.get_ylim()[1]
    assert second.get_ylim()[1] < 0.5
    assert "chance (AUROC: 0.5)" in words(figure)
    assert [[0.5, 0.5] in [list(line.get_ydata()) for line in axes.lines] for axes in figure.axes] == [
        True,
        False,
    ]
    assert not overlaps(figure, words(figure))


def test_chance_is_a_labelled_line_in_sight():
    (axes,) = draw(make(mean=0.95, sd=0.01), chance=0.5).axes
    assert axes.get_ylim()[0] < 0.5
    assert "chance (0.5)" in words(axes.figure)


def test_ticks_stay_where_a_share_can_be_though_a_whisker_goes_beyond():
    (axes,) = draw(make(mean=0.95, sd=0.2)).axes
    assert axes.get_ylim()[1] > 1.15
    assert columns(axes) == ["fog", "rain"]
    assert max(axes.get_yticks()) == 1


def test_a_mean_given_twice_is_refused():
    with pytest.raises(ValueError, match="duplicate"):
        draw(pd.concat([make(), make()]))


def test_nothing_defined_is_said():
    for nothing in (make(mean=NAN), make().iloc[:0], pd.DataFrame()):
        assert words(draw(nothing)) == ["No accuracy is defined here."]
    assert words(draw(make(), order=["hail"])) == ["No accuracy is defined here."]


def test_strange_names_fit():
    frame = make(STRANGE, STRANGE)
    frame = pd.concat([frame.assign(of=name) for name in STRANGE])
    figure = draw(frame, panel="of", measure="m" * 200)
    assert fits(figure)
