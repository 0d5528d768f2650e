"""Brier scores and the log-likelihood against scikit-learn, and where they have no value."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss

from farm.errors import DataError, ParameterError
from farm.measures.probabilities import accuracy, brier_mean, brier_sum, nll
from tests.wording import refused, same_text

SEEDS = st.integers(0, 10**6)


def softmax(seed, n=50, classes=4, dtype=np.float64):
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, classes)) * 2
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return probabilities.astype(dtype), rng.integers(0, classes, n)


@given(SEEDS, st.integers(2, 9))
def test_agree_with_scikit_learn(seed, classes):
    probabilities, label = softmax(seed, classes=classes)
    known = list(range(classes))
    total = brier_score_loss(label, probabilities, labels=known, scale_by_half=False)
    assert brier_sum(probabilities, label).value == pytest.approx(total, abs=1e-12)
    one_hot = np.eye(classes)[label]
    assert brier_mean(probabilities, label).value == pytest.approx(np.mean((probabilities - one_hot) ** 2))
    assert nll(probabilities, label).value == pytest.approx(log_loss(label, probabilities, labels=known))
    predicted = probabilities.argmax(axis=1)
    assert accuracy(predicted == label).value == accuracy_score(label, predicted)


def test_single_precision_is_as_good():
    double, label = softmax(1)
    single, _ = softmax(1, dtype=np.float32)
    for measure in (brier_sum, brier_mean, nll):
        assert measure(single, label).value == pytest.approx(measure(double, label).value, rel=1e-6)


def test_the_two_brier_scores_differ_by_the_number_of_classes_and_their_range():
    """Sure and wrong is 2 as a sum, and 2 / 43 as a mean: an order of magnitude lies between publications."""
    sure = np.eye(43)[[7]]
    assert brier_sum(sure, np.array([8])).value == 2
    assert brier_mean(sure, np.array([8])).value == pytest.approx(2 / 43)
    assert brier_sum(sure, np.array([7])).value == brier_mean(sure, np.array([7])).value == 0


@given(SEEDS, st.randoms(use_true_random=False))
def test_bounds_and_order(seed, random):
    probabilities, label = softmax(seed)
    shuffled = list(range(len(label)))
    random.shuffle(shuffled)
    assert 0 <= brier_sum(probabilities, label).value <= 2
    assert nll(probabilities, label).value >= 0
    for measure in (brier_sum, brier_mean, nll):
        again = measure(probabilities[shuffled], label[shuffled]).value
        assert again == pytest.approx(measure(probabilities, label).value)


@given(SEEDS, st.integers(1, 49))
def test_the_whole_is_the_weighted_mean_of_its_parts(seed, cut):
    probabilities, label = softmax(seed)
    for measure in (brier_sum, nll):
        parts = [measure(probabilities[rows], label[rows]).value for rows in (slice(cut), slice(cut, None))]
        merged = (cut * parts[0] + (50 - cut) * parts[1]) / 50
        assert merged == pytest.approx(measure(probabilities, label).value)


def test_an_impossible_truth_is_not_swept_under_a_small_number():
    saturated, label = np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([1, 0])
    found = nll(saturated, label)
    assert math.isnan(found.value)
    same_text(found.reason)
    assert nll(saturated, label, floor=0.25).value == pytest.approx((math.log(4) + math.log(2)) / 2)
    # Rounding of a library may leave a little less than nothing.
    assert not nll(np.array([[1.0, -1e-9]]), np.array([1])).defined


@pytest.mark.parametrize("floor", [0.0, -1.0, 2.0, math.nan])
def test_refuses_a_floor_that_is_no_probability(floor):
    with refused(ParameterError):
        nll(np.array([[0.5, 0.5]]), np.array([0]), floor=floor)


@pytest.mark.parametrize(
    ("probabilities", "label", "reason"),
    [
        (np.empty((0, 3)), [], "no instances"),
        ([[0.5, 0.5], [math.nan, 0.5]], [0, 1], "the probabilities are missing for 1 of 2 instances"),
        ([[0.5, 0.5], [0.1, 0.9]], [0, -1], "1 of 2 instances have no right answer"),
    ],
)
def test_undefined_with_a_reason(probabilities, label, reason):
    for measure in (brier_sum, brier_mean, nll):
        assert measure(np.array(probabilities), np.array(label, dtype=int)).reason == reason
    assert accuracy(np.empty(0, dtype=bool)).reason == "no instances"


@pytest.mark.parametrize(
    ("probabilities", "label"),
    [
        ([0.5, 0.5], [0, 1]),
        ([[0.5, 0.5]], [0, 1]),
        ([[0.5, 0.4]], [0]),
        ([[1.5, -0.5]], [0]),
        ([[0.5, 0.5]], [2]),
    ],
)
def test_refuses_what_are_no_probabilities(probabilities, label):
    for measure in (brier_sum, brier_mean, nll):
        with refused(DataError):
            measure(np.array(probabilities), np.array(label))
