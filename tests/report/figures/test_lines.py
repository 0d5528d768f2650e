"""Courses over levels and over epochs: a gap stays a gap, and all panels share one scale."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from farm.report.figures import Look, lines_over_levels, training_curves
from tests.report.figures.seen import STRANGE, fits, overlaps, words

NAN = math.nan


def over_levels(transformations=("fog", "rain"), classifiers=("baseline", "MC dropout"), levels=range(6)):
    rows = [
        (one, level, name, 0.9 - level / 10, 0.85 - level / 10, 0.95 - level / 10)
        for one in transformations
        for name in classifiers
        for level in levels
    ]
    return pd.DataFrame(rows, columns=["transformation", "level", "classifier", "mean", "low", "high"])


def trainings(sets=("DCGAN", "BEGAN"), n=3, epochs=10, kept=8):
    rows = [
        (f"training {i}", one, epoch, (epoch + i) / 20, epoch == kept)
        for one in sets
        for i in range(n)
        for epoch in range(1, epochs + 1)
    ]
    return pd.DataFrame(rows, columns=["training", "set", "epoch", "value", "kept"])


def xticks(axes):
    return [text.get_text() for text in axes.get_xticklabels()]


def dashed(axes):
    """Return the heights of the lines straight across."""
    return [line.get_ydata()[0] for line in axes.lines if list(line.get_xdata()) == [0, 1]]


def courses(axes):
    return [line for line in axes.lines if line.get_linestyle() == "-" and list(line.get_xdata()) != [0, 1]]


def test_a_panel_a_transformation_and_a_line_with_a_band_a_classifier():
    figure = lines_over_levels(over_levels(), measure="accuracy")
    assert [axes.get_title("left") for axes in figure.axes] == ["fog", "rain"]
    for axes in figure.axes:
        assert xticks(axes) == ["plain", "1", "2", "3", "4", "5"]
        assert [line.get_color() for line in axes.lines] == [Look.of(0).colour, Look.of(1).colour]
        assert axes.lines[0].get_ydata().tolist() == pytest.approx([0.9, 0.8, 0.7, 0.6, 0.5, 0.4])
        assert len([one for one in axes.collections if one.get_paths()]) == 2
    assert len({axes.get_ylim() for axes in figure.axes}) == 1
    assert [axes.get_ylabel() for axes in figure.axes] == ["accuracy", ""]
    assert "Plain: the test set without a transformation. Bands: the interval around each line." in words(
        figure
    )


def test_the_band_lies_between_low_and_high_and_ends_where_there_is_none():
    frame = over_levels(["fog"], ["baseline"], levels=range(4))
    frame.loc[frame["level"] == 3, ["low", "high"]] = NAN
    (axes,) = lines_over_levels(frame, measure="accuracy").axes
    (band,) = [path.vertices for one in axes.collections for path in one.get_paths()]
    assert {round(float(y), 6) for x, y in band if x == 1} == {0.75, 0.85}
    assert band[:, 0].max() == 2
    assert len(axes.lines[0].get_xdata()) == 4


def test_a_mean_that_is_undefined_is_a_gap():
    frame = over_levels(["fog"], ["baseline"])
    frame.loc[2, ["mean", "low", "high"]] = NAN
    (axes,) = lines_over_levels(frame, measure="accuracy").axes
    assert [math.isnan(y) for y in axes.lines[0].get_ydata()] == [False, False, True, False, False, False]


def test_of_one_level_the_interval_is_a_whisker():
    (axes,) = lines_over_levels(over_levels(["fog"], ["baseline"], levels=[3]), measure="accuracy").axes
    assert xticks(axes) == ["3"]
    ends = [path.vertices.tolist() for one in axes.collections for path in one.get_paths()]
    assert [pytest.approx([3, 0.55]), pytest.approx([3, 0.65])] in ends


@pytest.mark.parametrize(("n", "rows"), [(1, 1), (4, 1), (5, 2), (10, 3)])
def test_panels_stand_in_rows_of_four(n, rows):
    figure = lines_over_levels(over_levels([f"fault {i}" for i in range(n)]), measure="accuracy")
    places = [axes.get_position() for axes in figure.axes]
    assert len({round(place.y0, 6) for place in places}) == rows
    assert not any(a.overlaps(b) for i, a in enumerate(places) for b in places[:i])


@pytest.mark.parametrize("n", [1, 2, 12])
def test_all_names_can_be_read(n):
    names = [f"classifier {i}" for i in range(n)]
    figure = lines_over_levels(over_levels(STRANGE, names), measure="m" * 99, title="A title " * 30)
    assert fits(figure)
    assert not overlaps(figure, names)


def test_no_level_is_said():
    frame = over_levels()
    frame["mean"] = NAN
    for nothing in (frame, frame.iloc[:0], pd.DataFrame()):
        assert words(lines_over_levels(nothing, measure="accuracy")) == ["No accuracy is defined here."]


def test_a_thin_line_a_training_and_a_marker_where_it_was_kept():
    figure = training_curves(trainings(), threshold=0.4, measure="accuracy")
    assert [axes.get_title("left") for axes in figure.axes] == ["DCGAN", "BEGAN"]
    for axes in figure.axes:
        assert [len(line.get_xdata()) for line in courses(axes)] == [10] * 3
        (kept,) = [line for line in axes.lines if line.get_marker() == "D"]
        assert kept.get_xydata().tolist() == [[8, 0.4], [8, 0.45], [8, 0.5]]
        assert dashed(axes) == [0.4]
        assert axes.get_title("right") == ""
        assert [text.get_text().strip() for text in axes.texts] == ["0.4"]
    assert {"one training", "kept as it was here", "threshold"} <= set(words(figure))
    assert (figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()) == ("Epoch", "accuracy")


def test_each_set_has_its_own_threshold_and_perhaps_none():
    frame = trainings(["a", "b", "c"])
    frame["threshold"] = frame["set"].map({"a": 0.2, "b": 0.9})
    figure = training_curves(frame)
    assert [dashed(axes) for axes in figure.axes] == [[0.2], [0.9], []]
    assert figure.axes[0].get_ylim()[1] > 0.9


def test_without_a_threshold_none_is_named():
    figure = training_curves(trainings())
    assert "threshold" not in words(figure)
    assert all(dashed(axes) == [] for axes in figure.axes)


def test_a_training_that_was_never_kept_is_counted():
    frame = trainings(["a"], kept=99)
    assert training_curves(frame).axes[0].get_title("right") == "0 of 3 kept"


def test_epochs_are_whole_and_one_is_enough():
    (axes,) = training_curves(trainings(["a"], epochs=3)).axes
    assert xticks(axes) == ["1", "2", "3"]
    (axes,) = training_curves(trainings(["a"], n=1, epochs=1)).axes
    assert xticks(axes) == ["1", "2"]


def test_a_value_that_is_undefined_breaks_the_line():
    frame = trainings(["a"], n=1)
    frame.loc[3, "value"] = NAN
    (axes,) = training_curves(frame).axes
    assert math.isnan(courses(axes)[0].get_ydata()[3])


def test_strange_sets_fit():
    figure = training_curves(trainings(STRANGE), threshold=0.3, measure="m" * 99, title="A title " * 30)
    assert fits(figure)


def test_no_training_is_said():
    frame = trainings()
    frame["value"] = NAN
    for nothing in (frame, frame.iloc[:0], pd.DataFrame()):
        assert words(training_curves(nothing)) == ["No training has a value here."]
