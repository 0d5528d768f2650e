"""Mahalanobis distances against scipy's, and the covariance of features that never vary."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.spatial.distance import cdist, mahalanobis
from sklearn.metrics import roc_auc_score

from farm.api import Labelled, collect
from monitors.mahalanobis import Mahalanobis, RelativeMahalanobis


@pytest.fixture(scope="module")
def noise(small):
    pixels = np.random.default_rng(0).random((200, 1, 16, 16), dtype=np.float32)
    return small.classifier.observe(pixels, tuple(small.test.activations))


def squared(rows: np.ndarray, means: np.ndarray, centred: np.ndarray) -> np.ndarray:
    covariance = np.cov(centred, rowvar=False, bias=True)
    precision = np.linalg.pinv(covariance, rcond=1e-11, hermitian=True)
    return cdist(rows, means, "mahalanobis", VI=precision) ** 2


def by_scipy(small, layer: str) -> tuple[np.ndarray, np.ndarray]:
    """Squared distances to each class, and to the mean of all."""
    found = collect(small.material, layer)
    train, rows = found.features.astype(np.float64), small.test.features(layer).astype(np.float64)
    means = np.stack([train[found.labels == label].mean(axis=0) for label in range(10)])
    everything = train.mean(axis=0, keepdims=True)
    to_classes = squared(rows, means, train - means[found.labels])
    return to_classes, squared(rows, everything, train - everything)[:, 0]


@pytest.mark.parametrize("layer", ["last-hidden", "conv2"])
def test_the_score_is_the_smallest_squared_distance_that_scipy_finds(small, fitted, layer) -> None:
    to_classes, _ = by_scipy(small, layer)
    np.testing.assert_allclose(
        fitted(Mahalanobis(layer=layer, pool="none")).score(small.test), to_classes.min(axis=1), rtol=1e-6
    )


@pytest.mark.parametrize("layer", ["last-hidden", "conv2"])
def test_the_relative_score_takes_off_the_distance_to_everything(small, fitted, layer) -> None:
    to_classes, to_all = by_scipy(small, layer)
    expected = (to_classes - to_all[:, None]).min(axis=1)
    score = fitted(RelativeMahalanobis(layer=layer, pool="none")).score(small.test)
    np.testing.assert_allclose(score, expected, rtol=1e-6, atol=1e-6)


def with_features(observation, rows: np.ndarray):
    return dataclasses.replace(observation, activations={"last-hidden": rows.astype(np.float32)})


def test_a_distance_worked_by_hand(small) -> None:
    """Two classes at (0, 0) and (10, 0), each spread by (1, 2): a variance of 1 and 4."""
    spread = np.array([[1, 2], [1, -2], [-1, 2], [-1, -2]])
    rows = np.vstack([spread, spread + np.array([10, 0])])
    eight = dataclasses.replace(
        small.test, predicted=np.repeat([0, 1], 4), ids=small.test.ids[:8], images=small.test.images[:8]
    )
    train = [Labelled(with_features(eight, rows), np.repeat([0, 1], 4))]
    monitor = Mahalanobis().fit(dataclasses.replace(small.material, train=train), small.classifier)
    asked = np.vstack([[0, 0], [3, 0], [0, 4], [8, 2], rows[:4]])
    expected = [0, 9, 4, 5, 2, 2, 2, 2]
    np.testing.assert_allclose(monitor.score(with_features(eight, asked)), expected, atol=1e-9)
    assert mahalanobis([8, 2], [10, 0], np.diag([1, 1 / 4])) ** 2 == pytest.approx(5)


def test_a_feature_that_repeats_another_up_to_rounding_changes_no_distance(small) -> None:
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 10, 400)
    rows = rng.normal(size=(400, 5)) + labels[:, None]
    repeated = np.hstack([rows, rows[:, :2] / 3 + rows[:, 2:4] / 7, np.full((400, 1), 3.3)])
    scores = []
    for features in (rows, repeated):
        seen = dataclasses.replace(
            small.test, predicted=labels, images=np.zeros((400, 1, 2, 2), np.float32), ids=np.arange(400)
        )
        seen = with_features(seen, features)
        material = dataclasses.replace(small.material, train=[Labelled(seen, labels)])
        scores.append(Mahalanobis().fit(material, small.classifier).score(seen))
    np.testing.assert_allclose(scores[1], scores[0], rtol=1e-3)


@pytest.mark.parametrize("make", [Mahalanobis, RelativeMahalanobis])
def test_noise_is_farther_than_test_data(small, noise, fitted, make) -> None:
    for layer in ("last-hidden", "conv2"):
        monitor = fitted(make(layer=layer))
        near, far = monitor.score(small.test), monitor.score(noise)
        assert far.mean() > near.mean()
        assert roc_auc_score([0] * len(near) + [1] * len(far), np.append(near, far)) > 0.5


@pytest.mark.parametrize("make", [Mahalanobis, RelativeMahalanobis])
def test_the_layer_changes_the_scores(small, fitted, make) -> None:
    one, other = (fitted(make(layer=layer)).score(small.test) for layer in ("last-hidden", "conv2"))
    assert not np.allclose(one, other)
