"""Comparison intervals: the greatest first, letters beside them, and a line only where all differ."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from farm.report.figures import comparison_intervals
from tests.report.figures.seen import STRANGE, fits, overlaps, words

NAN = math.nan


def make(means, letters=None, half=0.02):
    rows = [(name, mean, mean - half, mean + half) for name, mean in means.items()]
    frame = pd.DataFrame(rows, columns=["name", "mean", "low", "high"])
    return frame.assign(letters=[""] * len(frame) if letters is None else letters)


THREE = {"fog": 0.7, "rain": 0.97, "snow": 0.95}


def labels(axes):
    return [text.get_text() for text in axes.get_yticklabels()]


def separators(axes):
    return [line.get_ydata()[0] for line in axes.lines if list(line.get_xdata()) == [0, 1]]


def test_the_greatest_mean_comes_first_with_its_interval_and_its_letters():
    (axes,) = comparison_intervals(make(THREE, ["b", "a", "a"]), measure="accuracy").axes
    assert labels(axes) == ["rain", "snow", "fog"]
    assert [text.get_text() for text in axes.texts] == ["letters", "a", "a", "b"]
    ends = [path.vertices[:, 0].tolist() for path in axes.collections[0].get_paths()]
    assert ends == [pytest.approx([mean - 0.02, mean + 0.02]) for mean in (0.97, 0.95, 0.7)]
    assert axes.get_xlabel() == "Mean accuracy, with its comparison interval"
    assert separators(axes) == [1.5]


@pytest.mark.parametrize(
    ("letters", "between"),
    [
        (["a", "a", "a"], []),
        (["a", "b", "c"], [0.5, 1.5]),
        (["a", "ab", "b"], []),
        (["a", "b", "a"], []),  # what shares a letter across a line would contradict it
        (["a", "b", "b"], [0.5]),
    ],
)
def test_a_line_stands_only_where_all_above_differ_from_all_below(letters, between):
    frame = make({"x": 0.9, "y": 0.8, "z": 0.7}, letters)
    assert separators(comparison_intervals(frame, measure="accuracy").axes[0]) == between


def test_groups_may_be_given_by_name():
    frame = make(THREE)
    (axes,) = comparison_intervals(frame, measure="accuracy", groups=[{"fog"}, {"rain", "snow"}]).axes
    assert separators(axes) == [1.5]


def test_without_an_interval_or_a_mean_the_row_stays():
    frame = make(THREE, ["a", "a", "b"])
    frame.loc[frame["name"] == "rain", ["low", "high"]] = NAN
    frame.loc[frame["name"] == "fog", ["mean", "low", "high"]] = NAN
    (axes,) = comparison_intervals(frame, measure="accuracy").axes
    assert labels(axes) == ["rain", "snow", "fog"]
    assert len(axes.collections[0].get_paths()) == 1


def test_one_condition_has_no_line():
    (axes,) = comparison_intervals(make({"fog": 0.7}, ["a"]), measure="accuracy").axes
    assert separators(axes) == []


def test_twelve_and_strange_names_can_be_read():
    for names in ([f"condition {i}" for i in range(12)], STRANGE):
        frame = make({name: 0.5 + i / 100 for i, name in enumerate(names)}, ["abcdefgh"] * len(names))
        figure = comparison_intervals(frame, measure="m" * 99, title="A title " * 30)
        assert fits(figure)
        assert not overlaps(figure, labels(figure.axes[0]))


def test_nothing_defined_is_said():
    for nothing in (make({"fog": NAN}), make(THREE).iloc[:0], pd.DataFrame()):
        assert words(comparison_intervals(nothing, measure="F1")) == ["No mean F1 is defined here."]
