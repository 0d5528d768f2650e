"""The interval of reconstruction errors: by hand, by brute force, and as a calibration finds it again."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given as drawn_from
from hypothesis import strategies as st

from farm.api import OwnNetwork, best_threshold
from farm.errors import ComponentFailure, ParameterError
from monitors._intervals import best_interval
from monitors.reconstruction import Reconstruction
from tests.monitors.own_networks import (
    WATCHED,
    Given,
    given,
    images,
    restored_as_fitted,
    together,
    trained_network,
)
from tests.wording import refused, same_text

NEED = OwnNetwork("autoencoder", (("loss", "mse"),))
some_errors = st.lists(st.integers(0, 12).map(float) | st.floats(0, 100, width=16), min_size=1, max_size=12)
TEST = WATCHED.observe(images(20, 7))


def error(own: np.ndarray) -> np.ndarray:
    basis = trained_network().state["basis"]
    flat = own.reshape(len(own), -1).astype(np.float64)
    return ((flat - flat @ basis @ basis.T) ** 2).mean(axis=1)


def balanced_accuracy(inside: np.ndarray, outside: np.ndarray, low: float, high: float) -> float:
    accepted = [((low <= errors) & (errors <= high)).mean() for errors in (inside, outside)]
    return (accepted[0] + 1 - accepted[1]) / 2


@drawn_from(some_errors.map(np.array), some_errors.map(np.array))
def test_no_interval_is_better_and_the_best_threshold_gives_one_as_good(inside, outside) -> None:
    found = best_interval(inside, outside)
    ends = sorted({*inside, *outside})
    best = max(
        balanced_accuracy(inside, outside, low, high)
        for low, high in itertools.combinations_with_replacement(ends, 2)
    )
    assert found.balanced_accuracy == pytest.approx(best, abs=1e-12)
    assert balanced_accuracy(inside, outside, found.low, found.high) == pytest.approx(best, abs=1e-12)
    scores = (np.square(errors - found.centre) for errors in (inside, outside))
    assert best_threshold(*scores)[1] == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize(
    ("inside", "outside", "low", "high", "centre"),
    [
        ([4, 5, 6], [1, 9], 2.5, 7.5, 5.0),  # too low and too high
        ([4, 5, 6], [9], -math.inf, 7.5, 0.0),  # too high only: a plain threshold
        ([4, 5, 6], [1], 2.5, math.inf, 6.0),  # too low only: the far end of what is accepted
        ([4, 5, 5, 6], [5, 9], -math.inf, 7.5, 0.0),  # an outlier among them
        ([4, 6], [4, 6], -math.inf, math.inf, 5.0),  # nothing tells them apart
        ([4], [1, 9], 2.5, 6.5, 4.5),
        ([5] * 99 + [1], [1], 3.0, math.inf, 5.0),  # the larger sample does not outvote the smaller
    ],
)
def test_the_interval_by_hand(inside, outside, low, high, centre) -> None:
    found = best_interval(np.array(inside, np.float64), np.array(outside, np.float64))
    assert (found.low, found.high, found.centre) == (low, high, centre)


def test_a_plain_threshold_ranks_as_the_error_does() -> None:
    centre = best_interval(np.array([4.0, 5.0]), np.array([9.0])).centre
    beyond = np.array([0.0, 1.0, 4.0, 5.0, 9.0, 100.0])
    assert np.all(np.diff(np.square(beyond - centre)) > 0)


def test_the_score_is_the_squared_distance_from_the_centre() -> None:
    data = given({NEED: trained_network(epochs=3)}, outside=images(50, 3, low=0.4, high=0.6))
    monitor = Reconstruction().fit(data, WATCHED)
    inside, outside = error(together(seen for seen, _ in data.validation)), error(together(data.outliers))
    expected = best_interval(inside, outside)
    np.testing.assert_allclose(monitor.score(TEST), (error(TEST.images) - expected.centre) ** 2, rtol=1e-9)
    assert (monitor.needs.networks, monitor.needs.outliers) == ((NEED,), True)
    assert monitor.fixed_threshold is None
    assert monitor.notes()["balanced_accuracy_of_fit"] == pytest.approx(expected.balanced_accuracy)
    assert monitor.notes()["networks"] == [{"epochs": 3}]
    assert restored_as_fitted(monitor, Reconstruction(), TEST)
    told = monitor.explain(TEST.take([0]))[0]
    np.testing.assert_allclose((told.details["error"] - told.details["centre"]) ** 2, monitor.score(TEST)[0])
    same_text(told.reason)


def test_the_median_needs_no_outliers() -> None:
    whole = given({NEED: trained_network()})
    data = Given(whole.train, whole.validation, None, whole.networks)
    monitor = Reconstruction(centre="id").fit(data, WATCHED)
    centre = np.median(error(together(seen for seen, _ in data.validation)))
    np.testing.assert_allclose(monitor.score(TEST), (error(TEST.images) - centre) ** 2, rtol=1e-9)
    assert monitor.needs.outliers is False
    assert list(monitor.notes()) == ["centre"]
    assert restored_as_fitted(monitor, Reconstruction(centre="id"), TEST)


def test_data_must_be_there() -> None:
    whole = given({NEED: trained_network()})
    with refused(ComponentFailure):
        Reconstruction().fit(Given(whole.train, whole.validation, None, whole.networks), WATCHED)
    with refused(ComponentFailure):
        Reconstruction().fit(given(whole.networks, inside=images(0, 0)), WATCHED)


def test_the_network_is_the_one_that_was_asked_for() -> None:
    asked = Reconstruction(loss="bce", network={"epochs": 5}).needs.networks
    assert asked == (OwnNetwork("autoencoder", (("epochs", 5), ("loss", "bce"))),)


@pytest.mark.parametrize(
    "wrong", [{"loss": "l1"}, {"centre": "mean"}, {"network": {"loss": "bce"}}, {"network": 3}]
)
def test_wrong_parameters_are_named(wrong) -> None:
    with refused(ParameterError):
        Reconstruction(**wrong)
