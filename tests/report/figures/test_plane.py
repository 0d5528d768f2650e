import math

import numpy as np
import pandas as pd
import pytest

from farm.report.figures import plane
from farm.report.figures.plane import POINTS
from tests.report.figures.seen import STRANGE, fits, words

AXES = ("fc1, first", "fc1, second")


def make(n=200, ood=50, extra=()):
    rng = np.random.default_rng(0)
    xy = np.vstack([rng.normal(size=(n, 2)), rng.normal(4, 1, size=(ood, 2)), np.reshape(extra, (-1, 2))])
    return pd.DataFrame({"x": xy[:, 0], "y": xy[:, 1], "is_ood": np.arange(len(xy)) >= n})


def test_id_and_ood_differ_in_marker_and_colour():
    known, ood = plane(make(), [], axes=AXES).axes[0].lines
    assert known.get_marker() != ood.get_marker()
    assert known.get_color() != ood.get_color()
    points = make()
    assert np.array_equal(known.get_xydata(), points.loc[~points["is_ood"], ["x", "y"]])
    assert len(ood.get_xdata()) == 50


def test_boxes_are_numbered_at_their_corners():
    axes = plane(make(), [(-1, 1, -2, 2), (3, 5, 3, 5)], axes=AXES).axes[0]
    assert {t.get_text(): t.get_position() for t in axes.texts} == {"0": (-1, 2), "1": (3, 5)}
    first, _ = (path.vertices for path in axes.collections[0].get_paths())
    assert (first[:, 0].min(), first[:, 0].max(), first[:, 1].min(), first[:, 1].max()) == (-1, 1, -2, 2)
    assert any(text.startswith("The boxes are numbered.") for text in words(axes.figure))


def test_one_absurd_point_does_not_squash_the_rest_and_is_told():
    usual = plane(make(), [], axes=AXES).axes[0]
    squashed = plane(make(extra=[[1e9, -1e9]]), [], axes=AXES).axes[0]
    assert np.ptp(squashed.get_xlim()) < 1.5 * np.ptp(usual.get_xlim())
    told = "One point is not in this picture: far outside, or undefined."
    assert told in words(squashed.figure)
    assert told not in words(usual.figure)


def test_one_absurd_box_does_not_squash_the_points():
    usual = plane(make(), [], axes=AXES).axes[0]
    boxed = plane(make(), [(-1e9, 1e9, -math.inf, math.inf)], axes=AXES).axes[0]
    assert np.ptp(boxed.get_xlim()) < 3 * np.ptp(usual.get_xlim())
    assert all(np.isfinite(path.vertices).all() for path in boxed.collections[0].get_paths())


def test_every_point_and_box_of_a_usual_picture_is_in_it():
    points, box = make(), (-3.5, 3.5, -3.5, 3.5)
    axes = plane(points, [box], axes=AXES).axes[0]
    (low_x, high_x), (low_y, high_y) = axes.get_xlim(), axes.get_ylim()
    assert points["x"].between(low_x, high_x).mean() > 0.98
    assert low_x < box[0] < box[1] < high_x
    assert low_y < box[2] < box[3] < high_y


def test_undefined_points_are_told():
    points = make(extra=[[math.nan, 1.0], [math.inf, 1.0]])
    told = "2 points are not in this picture: far outside, or undefined."
    assert told in words(plane(points, [], axes=AXES))


def test_of_very_many_points_some_are_drawn():
    figure = plane(make(n=10_000), [], axes=AXES)
    known, ood = figure.axes[0].lines
    assert POINTS / 2 < len(known.get_xdata()) <= POINTS
    assert len(ood.get_xdata()) == 50
    assert {"ID (n = 10,000, one in 13 drawn)", "OOD (n = 50)"} <= set(words(figure))


@pytest.mark.parametrize("points", [make(n=1, ood=0), make(n=0, ood=1), pd.concat([make(1, 0)] * 5)])
def test_a_single_place_is_drawn(points):
    axes = plane(points, [], axes=AXES).axes[0]
    assert axes.get_xlim()[0] < points["x"].iloc[0] < axes.get_xlim()[1]


def test_nothing_to_show_is_said():
    nothing = make().iloc[:0]
    for points in (nothing, make(extra=[[math.nan, 0]]).iloc[-1:]):
        assert words(plane(points, [], axes=AXES)) == ["There are no points to show."]


@pytest.mark.parametrize("name", STRANGE)
def test_strange_names_fit(name):
    assert fits(plane(make(n=20_000, ood=20_000), [(0, 1, 0, 1)], axes=(name, name), title=name))
