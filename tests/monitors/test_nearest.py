"""Nearest neighbours against every distance computed by scipy."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.special import logsumexp
from sklearn.metrics import roc_auc_score

from farm.api import Labelled, collect
from farm.errors import ParameterError
from monitors.nearest import NearestNeighbourGuidance, NearestNeighbours
from tests.wording import refused

BOTH = [NearestNeighbours, NearestNeighbourGuidance]


@pytest.fixture(scope="module")
def noise(small):
    pixels = np.random.default_rng(0).random((200, 1, 16, 16), dtype=np.float32)
    return small.classifier.observe(pixels, tuple(small.test.activations))


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.sqrt((rows.astype(np.float64) ** 2).sum(axis=1, keepdims=True))


@pytest.mark.parametrize("k", [1, 7, 50])
def test_the_score_is_the_kth_smallest_distance_between_directions(small, fitted, k) -> None:
    train = unit(collect(small.material, "last-hidden").features)
    distances = np.sort(cdist(unit(small.test.features("last-hidden")), train), axis=1)
    score = fitted(NearestNeighbours(k=k)).score(small.test)
    np.testing.assert_allclose(score, distances[:, k - 1], atol=1e-6)


def test_a_training_point_is_at_no_distance_from_itself(small, fitted) -> None:
    observation = next(iter(small.material)).observation
    assert fitted(NearestNeighbours(k=1)).score(observation).max() < 1e-6


@pytest.mark.parametrize("k", [1, 10])
def test_guidance_is_its_published_formula(small, fitted, k) -> None:
    train = unit(collect(small.material, "last-hidden").features)
    energy = logsumexp(np.concatenate([o.logits for o, _ in small.material]).astype(float), axis=1)
    alike = unit(small.test.features("last-hidden")) @ (train * energy[:, None]).T
    guidance = np.sort(alike, axis=1)[:, ::-1][:, :k].mean(axis=1)
    expected = -guidance * logsumexp(small.test.logits.astype(float), axis=1)
    score = fitted(NearestNeighbourGuidance(k=k)).score(small.test)
    np.testing.assert_allclose(score, expected, rtol=1e-5)


@pytest.mark.parametrize("make", BOTH)
def test_the_points_are_bound_and_drawn_by_the_seed(small, make) -> None:
    def points(seed: int) -> np.ndarray:
        data = dataclasses.replace(small.material, seed=seed)
        return make(points=40).fit(data, small.classifier).state["points"]

    every = make().fit(small.material, small.classifier).state["points"]
    assert points(3).shape == (40, every.shape[1])
    np.testing.assert_array_equal(points(3), points(3))
    assert (points(3) != points(4)).any()
    assert {row.tobytes() for row in points(3)} <= {row.tobytes() for row in every}


@pytest.mark.parametrize("make", BOTH)
def test_more_neighbours_than_points_means_all_of_them(small, fitted, make) -> None:
    score = fitted(make(k=50, points=20)).score(small.test)
    np.testing.assert_array_equal(score, fitted(make(k=20, points=20)).score(small.test))


@pytest.mark.parametrize("make", BOTH)
def test_features_of_zero_give_a_finite_score(small, fitted, make) -> None:
    monitor = fitted(make())
    dead = np.zeros_like(small.test.features("last-hidden"))
    seen = dataclasses.replace(small.test, activations={"last-hidden": dead})
    assert np.isfinite(monitor.score(seen)).all()
    train = [Labelled(seen, np.zeros(len(seen), np.int64))]
    monitor = make().fit(dataclasses.replace(small.material, train=train), small.classifier)
    assert np.isfinite(monitor.score(small.test)).all()


@pytest.mark.parametrize("make", BOTH)
def test_noise_is_farther_than_test_data(small, noise, fitted, make) -> None:
    monitor = fitted(make())
    near, far = monitor.score(small.test), monitor.score(noise)
    assert far.mean() > near.mean()
    assert roc_auc_score([0] * len(near) + [1] * len(far), np.append(near, far)) > 0.5


@pytest.mark.parametrize("make", BOTH)
@pytest.mark.parametrize("changed", [{"k": 3}, {"points": 100}, {"layer": "conv2"}])
def test_each_parameter_changes_the_scores(small, fitted, make, changed) -> None:
    usual, other = fitted(make()).score(small.test), fitted(make(**changed)).score(small.test)
    assert not np.allclose(usual, other)


@pytest.mark.parametrize("make", BOTH)
@pytest.mark.parametrize("wrong", [{"k": 0}, {"k": 1.5}, {"points": 0}])
def test_parameters_out_of_range_are_refused(make, wrong) -> None:
    with refused(ParameterError):
        make(**wrong)


@pytest.mark.parametrize("make", BOTH)
def test_a_k_beyond_the_images_of_a_class_is_warned_of(small, fitted, make) -> None:
    n, classes = len(small.workload.train), len(small.workload.classes)
    assert fitted(make(k=n // classes)).notes() == {}
    assert "set a smaller k" in fitted(make(k=n // classes + 1)).notes()["warning"]
