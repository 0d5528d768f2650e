"""fDBD and SHE against plain transcriptions of their definitions."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from farm.api import Labelled, collect
from monitors.head_geometry import DecisionBoundaries, SimplifiedHopfieldEnergy

BOTH = [DecisionBoundaries, SimplifiedHopfieldEnergy]


@pytest.fixture(scope="module")
def noise(small):
    pixels = np.random.default_rng(0).random((200, 1, 16, 16), dtype=np.float32)
    return small.classifier.observe(pixels, tuple(small.test.activations))


def test_fdbd_is_the_mean_over_the_boundaries_one_by_one(small, fitted) -> None:
    weights, bias = (values.astype(np.float64) for values in small.classifier.head)
    mean = collect(small.material, "last-hidden").features.astype(np.float64).mean(axis=0)
    expected = []
    for x in small.test.features("last-hidden").astype(np.float64):
        logits = [w @ x + b for w, b in zip(weights, bias, strict=True)]
        top = int(np.argmax(logits))
        distances = [
            abs(logits[top] - logits[c]) / np.linalg.norm(weights[top] - weights[c])
            for c in range(10)
            if c != top
        ]
        expected.append(-np.mean(distances) / np.linalg.norm(x - mean))
    np.testing.assert_allclose(fitted(DecisionBoundaries()).score(small.test), expected, rtol=1e-5)


def test_a_distance_of_fdbd_is_the_way_to_equal_logits(small) -> None:
    """Walking that far towards the boundary makes the two logits equal."""
    weights, bias = (values.astype(np.float64) for values in small.classifier.head)
    x = small.test.features("last-hidden")[0].astype(np.float64)
    top, other = np.argsort(weights @ x + bias)[[-1, 0]]
    normal = weights[top] - weights[other]
    gap = (weights @ x + bias)[top] - (weights @ x + bias)[other]
    there = x - gap / np.linalg.norm(normal) * normal / np.linalg.norm(normal)
    assert (weights @ there + bias)[top] == pytest.approx((weights @ there + bias)[other])


def test_she_is_the_inner_product_with_the_mean_of_what_was_classified_right(small, fitted) -> None:
    seen = [
        (x, label)
        for observation, labels in small.material
        for x, label, predicted in zip(
            observation.features("last-hidden"), labels, observation.predicted, strict=True
        )
        if label == predicted
    ]
    rows = zip(small.test.features("last-hidden"), small.test.predicted, strict=True)
    expected = [-(x @ np.mean([y for y, label in seen if label == p], axis=0)) for x, p in rows]
    np.testing.assert_allclose(fitted(SimplifiedHopfieldEnergy()).score(small.test), expected, rtol=1e-4)


def test_she_leaves_out_what_was_classified_wrong(small) -> None:
    observation, labels = next(iter(small.material))
    odd = labels.copy()
    odd[observation.predicted == 3] = 4  # now nothing is right about class 3, and class 4 is as it was
    material = dataclasses.replace(small.material, train=[Labelled(observation, odd)])
    plain = dataclasses.replace(small.material, train=[Labelled(observation, labels)])
    monitor = SimplifiedHopfieldEnergy().fit(material, small.classifier)
    before = SimplifiedHopfieldEnergy().fit(plain, small.classifier)
    assert monitor.notes() == {"classes_without_pattern": 1}
    assert before.notes() == {"classes_without_pattern": 0}
    np.testing.assert_array_equal(monitor.state["patterns"][4], before.state["patterns"][4])
    score, usual = monitor.score(small.test), before.score(small.test)
    assert (score[small.test.predicted == 3] == 0).all()
    np.testing.assert_array_equal(score[small.test.predicted != 3], usual[small.test.predicted != 3])


def test_the_layer_of_she_changes_the_scores(small, fitted) -> None:
    one, other = (
        fitted(SimplifiedHopfieldEnergy(layer=layer)).score(small.test) for layer in ("last-hidden", "conv2")
    )
    assert not np.allclose(one, other)


def test_fdbd_at_the_mean_of_the_training_features_is_finite(small, fitted) -> None:
    monitor = fitted(DecisionBoundaries())
    mean = np.tile(monitor.state["mean"], (len(small.test), 1)).astype(np.float32)
    seen = dataclasses.replace(small.test, activations={"last-hidden": mean})
    assert np.isfinite(monitor.score(seen)).all()


@pytest.mark.parametrize("make", BOTH)
def test_noise_is_more_anomalous_than_test_data(small, noise, fitted, make) -> None:
    monitor = fitted(make())
    near, far = monitor.score(small.test), monitor.score(noise)
    assert far.mean() > near.mean()
    assert roc_auc_score([0] * len(near) + [1] * len(far), np.append(near, far)) > 0.5
