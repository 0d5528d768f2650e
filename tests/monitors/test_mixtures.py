"""Gaussian mixtures against scikit-learn's own densities."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.metrics import roc_auc_score
from sklearn.mixture import GaussianMixture

from farm.api import Labelled, collect
from farm.errors import ParameterError
from monitors.mixtures import NO_MIXTURE, GaussianMixtures
from tests.wording import refused


@pytest.fixture(scope="module")
def noise(small):
    pixels = np.random.default_rng(0).random((200, 1, 16, 16), dtype=np.float32)
    return small.classifier.observe(pixels, tuple(small.test.activations))


def test_one_component_is_a_normal_distribution_a_class(small, fitted) -> None:
    found = collect(small.material, "last-hidden")
    train = found.features.astype(np.float64)
    added = 0.01 * train.var(axis=0).mean()
    score = fitted(GaussianMixtures(components=1)).score(small.test)
    for label in range(10):
        own = train[found.labels == label]
        normal = multivariate_normal(own.mean(axis=0), np.diag(own.var(axis=0) + added))
        rows = small.test.predicted == label
        expected = -normal.logpdf(small.test.features("last-hidden")[rows].astype(np.float64))
        np.testing.assert_allclose(score[rows], expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("components", [2, 3])
def test_the_density_is_that_of_scikit_learn_for_the_same_arrays(small, fitted, components) -> None:
    monitor = fitted(GaussianMixtures(components=components))
    score = monitor.score(small.test)
    for label in range(10):
        mixture = GaussianMixture(components, covariance_type="diag")
        mixture.weights_ = monitor.state["weights"][label]
        mixture.means_ = monitor.state["means"][label]
        mixture.precisions_cholesky_ = 1 / np.sqrt(monitor.state["variances"][label])
        rows = small.test.predicted == label
        expected = -mixture.score_samples(small.test.features("last-hidden")[rows].astype(np.float64))
        np.testing.assert_allclose(score[rows], expected, rtol=1e-9, atol=1e-9)


def with_labels(small, keep: np.ndarray, labels: np.ndarray):
    observation, _ = next(iter(small.material))
    rows = observation.features("last-hidden")[keep]
    seen = dataclasses.replace(
        observation,
        ids=observation.ids[keep],
        predicted=labels,
        activations={"last-hidden": rows},
    )
    return dataclasses.replace(small.material, train=[Labelled(seen, labels)])


def test_classes_of_one_point_or_of_none(small) -> None:
    labels = np.array([0] * 20 + [1])
    material = with_labels(small, np.arange(21), labels)
    monitor = GaussianMixtures().fit(material, small.classifier)
    assert monitor.notes()["classes_without_mixture"] == 8
    score = monitor.score(small.test)
    there = small.test.predicted < 2
    assert (score[~there] == NO_MIXTURE).all()
    assert (score[there] < NO_MIXTURE).all()


def test_a_class_of_equal_points_has_one_gaussian(small) -> None:
    labels = np.array([0] * 5 + [1] * 20)
    material = with_labels(small, np.array([0] * 5 + list(range(20))), labels)
    weights = GaussianMixtures().fit(material, small.classifier).state["weights"]
    assert (weights[0] > 0).tolist() == [True, False]
    assert (weights[1] > 0).all()


def test_a_fit_that_does_not_settle_is_counted(small, monkeypatch) -> None:
    monkeypatch.setattr(
        "sklearn.mixture.GaussianMixture", lambda *a, **k: GaussianMixture(*a, max_iter=1, **k)
    )
    monitor = GaussianMixtures(components=3).fit(small.material, small.classifier)
    assert monitor.notes()["classes_unsettled"] > 0


def test_noise_is_more_anomalous_than_test_data(small, noise, fitted) -> None:
    monitor = fitted(GaussianMixtures())
    near, far = monitor.score(small.test), monitor.score(noise)
    assert far.mean() > near.mean()
    assert roc_auc_score([0] * len(near) + [1] * len(far), np.append(near, far)) > 0.5


@pytest.mark.parametrize("changed", [{"components": 1}, {"floor": 0.1}, {"layer": "conv2"}])
def test_each_parameter_changes_the_scores(small, fitted, changed) -> None:
    usual = fitted(GaussianMixtures()).score(small.test)
    assert not np.allclose(usual, fitted(GaussianMixtures(**changed)).score(small.test))


def test_parameters_out_of_range_are_refused() -> None:
    with refused(ParameterError):
        GaussianMixtures(components=0)
    with refused(ParameterError):
        GaussianMixtures(floor=0)
