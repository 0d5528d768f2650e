"""The lean ISOMAP against scikit-learn's own."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable

import numpy as np
import pytest
from scipy.sparse.csgraph import shortest_path
from scipy.stats import spearmanr
from sklearn.manifold import Isomap
from sklearn.neighbors import kneighbors_graph

from farm.api import FunctionClassifier, Labelled, collect
from farm.run.fitting import Material
from monitors.boxes import NO_BOX
from monitors.oob_isomap import OutsideTheBoxIsomap
from tests.monitors.points import seen

CLASSES = ("left", "right")


class WhiteBox(FunctionClassifier):
    capabilities = dataclasses.replace(FunctionClassifier.capabilities, layers=("last-hidden",))


def fit(left: np.ndarray, right: np.ndarray, **parameters: int) -> OutsideTheBoxIsomap:
    """Fit it on the points of two classes, all of them classified correctly."""
    labels = np.repeat([0, 1], [len(left), len(right)])
    data = [Labelled(seen(np.concatenate([left, right]), labels), labels)]
    box = WhiteBox(lambda images: np.full((len(images), 2), 0.5), CLASSES)
    return OutsideTheBoxIsomap(clusters=1, **parameters).fit(Material(CLASSES, 0, data, data), box)


def projected(monitor: OutsideTheBoxIsomap, features: np.ndarray, label: int) -> np.ndarray:
    return monitor._boxes[0]._space.project(features, np.full(len(features), label))


def up_to_sign(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Turn round each coordinate that points the other way: its sign says nothing."""
    return found * np.sign((found * expected).sum(axis=0))


def by_scikit_learn(points: np.ndarray, features: np.ndarray, neighbours: int) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Isomap(n_neighbors=neighbours, n_components=2).fit(points).transform(features)


@pytest.fixture(scope="module")
def full(fitted: Callable) -> OutsideTheBoxIsomap:
    return fitted(OutsideTheBoxIsomap())


@pytest.mark.parametrize("neighbours", [3, 5])
def test_projection_equals_scikit_learn(small, fitted, full, neighbours: int) -> None:
    monitor = full if neighbours == 5 else fitted(OutsideTheBoxIsomap(neighbours=neighbours))
    train = collect(small.material, "last-hidden")
    features = small.test.features("last-hidden")
    for label in range(10):
        own = train.features[(train.labels == label) & (train.predicted == label)]
        points = monitor.state[f"{label}.points"]
        # Landmarks are the class's points in an order of their own; with room for all, all of them.
        assert sorted(map(tuple, points)) == sorted(map(tuple, own))
        expected = by_scikit_learn(points, features, neighbours)
        got = up_to_sign(projected(monitor, features, label), expected)
        scale = np.abs(expected).max()
        np.testing.assert_allclose(got / scale, expected / scale, atol=2e-4)


def roll(n: int, seed: int) -> np.ndarray:
    """Return points on a sheet that is rolled up, as float32."""
    rng = np.random.default_rng(seed)
    turn, along = rng.uniform(4.5, 12.0, n), rng.uniform(0.0, 8.0, n)
    return np.stack([turn * np.cos(turn), along, turn * np.sin(turn)], axis=1).astype(np.float32)


def test_with_more_points_than_a_solver_starts_at_random_for_it_is_the_classical_scaling() -> None:
    """Against its steps by hand: distances along the graph, doubly centred, and their eigenvectors."""
    points, others = roll(260, seed=1), roll(30, seed=2)
    monitor = fit(points, others, neighbours=8)
    graph = kneighbors_graph(points.astype(np.float64), 8, mode="distance")
    squares = shortest_path(graph, directed=False) ** 2
    centre = np.eye(len(points)) - 1 / len(points)
    values, vectors = np.linalg.eigh(-0.5 * centre @ squares @ centre)
    expected = (vectors[:, ::-1] * np.sqrt(np.maximum(values[::-1], 0)))[:, :2]
    np.testing.assert_array_equal(monitor.state["0.points"], points)
    got = projected(monitor, points, 0)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(up_to_sign(got, expected) / scale, expected / scale, atol=1e-3)
    theirs = by_scikit_learn(points, others, 8)
    got = up_to_sign(projected(monitor, others, 0), theirs)
    np.testing.assert_allclose(got / scale, theirs / scale, atol=1e-3)
    again = fit(points, others, neighbours=8).state
    assert {name: array.tobytes() for name, array in again.items()} == {
        name: array.tobytes() for name, array in monitor.state.items()
    }


def test_landmarks_bound_the_state(small, fitted, full) -> None:
    bounded = fitted(OutsideTheBoxIsomap(landmarks=20))
    assert all(bounded.state[f"{label}.geodesic"].shape == (20, 20) for label in range(10))
    assert bounded.nbytes < full.nbytes / 4
    assert np.isfinite(bounded.score(small.test)).all()


def test_the_more_landmarks_the_nearer_to_all_points(small, fitted, full) -> None:
    """What the bound costs in fidelity: the order of scores comes near that of all points step by step."""
    every = full.score(small.test)
    few, many, enough = (
        spearmanr(every, fitted(OutsideTheBoxIsomap(landmarks=n)).score(small.test)).statistic
        for n in (20, 80, 120)
    )
    assert few + 0.2 < many < 0.95
    assert enough == pytest.approx(1.0)


@pytest.mark.parametrize(("dimensions", "enough"), [(1, 3), (2, 3), (3, 4)])
def test_a_class_needs_more_points_than_dimensions_and_more_than_two(dimensions: int, enough: int) -> None:
    """One that has fewer gets no box, and the classes after it are as they would be."""
    many = roll(40, seed=3)
    for n in (enough - 1, enough):
        monitor = fit(many[:n], many, dimensions=dimensions, neighbours=4)
        assert monitor.notes()["classes_without_box"] == (n < enough)
        familiar = monitor.score(seen(many[: enough - 1], np.zeros(enough - 1, np.int64)))
        assert (familiar == NO_BOX).all() == (n < enough)
        assert (monitor.score(seen(many, np.ones(len(many), np.int64))) <= 1e-4).all()


def test_it_is_counted_in_how_many_classes_the_points_hang_together_in_parts_only() -> None:
    whole = roll(60, seed=4)
    parts = np.concatenate([whole, whole + 1000])
    for left, right, joined in ((whole, whole, 0), (parts, whole, 1), (whole, parts, 1), (parts, parts, 2)):
        notes = fit(left, right, neighbours=10).notes()
        assert notes["classes_with_joined_graph"] == joined
