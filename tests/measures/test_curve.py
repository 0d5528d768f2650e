"""Curves thinned for a picture: few points, the ends kept, and nothing to be seen of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farm.measures import Separation
from farm.measures.curve import Curve


def furthest(curve, line):
    """Return how far any point of a curve lies from a line of other points."""
    points, ends = np.column_stack([curve.x, curve.y]), np.column_stack([line.x, line.y])
    start, step = ends[:-1], np.diff(ends, axis=0)
    distances = []
    for point in points:
        along = ((point - start) * step).sum(axis=1) / np.maximum((step**2).sum(axis=1), 1e-30)
        distances.append(np.hypot(*(start + np.clip(along, 0, 1)[:, None] * step - point).T).min())
    return max(distances)


def made(n, distance, seed=0):
    rng = np.random.default_rng(seed)
    return Separation(rng.normal(size=n), rng.normal(distance, size=n))


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=300), st.integers(0, 40))
def test_few_points_of_the_curve_in_order_with_both_ends(points, n):
    x, y = np.array(points).T
    thin = Curve(x, y).thinned(n)
    assert len(thin.x) <= max(n, 2) or len(points) == 1
    assert (thin.x[0], thin.y[0]) == points[0]
    assert (thin.x[-1], thin.y[-1]) == points[-1]
    rest = iter(points)
    assert all(point in rest for point in zip(thin.x, thin.y, strict=True))


@pytest.mark.parametrize("distance", [0, 1, 2, 5])
@pytest.mark.parametrize("n", [100, 3000])
def test_nothing_is_to_be_seen_of_it(n, distance):
    for curve in (made(n, distance).roc(), made(n, distance).precision_recall()):
        thin = curve.thinned(50)
        assert len(thin.x) <= 50
        # A hundred instances make steps of 0.01; a panel has 250 pixels.
        assert furthest(curve, thin) < (0.015 if n == 100 else 2.5 / 250)


def test_corners_stay_where_they_are():
    x = np.concatenate([np.zeros(5000), np.linspace(0, 1, 5000)[1:]])
    y = np.concatenate([np.linspace(0, 1, 5000), np.ones(4999)])
    thin = Curve(x, y).thinned(20)
    assert (thin.x.tolist(), thin.y.tolist()) == ([0, 0, 1], [0, 1, 1])


def test_a_jump_stays_a_jump():
    curve = Curve(np.append(np.linspace(0, 0.2, 2000), 1.0), np.append(np.linspace(0, 0.5, 2000), 1.0))
    thin = curve.thinned(10)
    assert (thin.x[-2], thin.y[-2]) == (0.2, 0.5)


def test_few_points_are_left_alone():
    curve = made(20, 1).roc()
    assert curve.thinned(50) is curve
    nowhere = Curve.nowhere("no instances")
    assert nowhere.thinned(50) is nowhere
