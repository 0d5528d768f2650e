"""The lean ISOMAP against scikit-learn's own."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.manifold import Isomap

from farm.api import collect
from monitors.oob_isomap import OutsideTheBoxIsomap


@pytest.mark.parametrize("neighbours", [3, 5])
def test_projection_equals_scikit_learn(small, fitted, neighbours: int) -> None:
    monitor = fitted(OutsideTheBoxIsomap(neighbours=neighbours))
    train = collect(small.material, "last-hidden")
    features = small.test.features("last-hidden")
    for label in range(10):
        own = train.features[(train.labels == label) & (train.predicted == label)]
        points = monitor.state[f"{label}.points"]
        # Landmarks are the class's points in an order of their own; with room for all, all of them.
        assert sorted(map(tuple, points)) == sorted(map(tuple, own))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = Isomap(n_neighbors=neighbours, n_components=2).fit(points).transform(features)
        got = monitor._boxes[0]._space.project(features, np.full(len(features), label))
        scale = np.abs(expected).max()
        np.testing.assert_allclose(got / scale, expected / scale, atol=2e-4)


def test_landmarks_bound_the_state(small, fitted) -> None:
    bounded = fitted(OutsideTheBoxIsomap(landmarks=20))
    assert all(bounded.state[f"{label}.geodesic"].shape == (20, 20) for label in range(10))
    assert bounded.nbytes < fitted(OutsideTheBoxIsomap()).nbytes / 4
    assert np.isfinite(bounded.score(small.test)).all()


def test_landmarks_keep_the_order_that_all_points_give(small, fitted) -> None:
    """What the bound costs in fidelity is small where enough landmarks follow a class's shape."""
    full = fitted(OutsideTheBoxIsomap()).score(small.test)
    half = fitted(OutsideTheBoxIsomap(landmarks=50)).score(small.test)
    ranks = [np.argsort(np.argsort(s)) for s in (full, half)]
    assert np.corrcoef(*ranks)[0, 1] > 0.5
