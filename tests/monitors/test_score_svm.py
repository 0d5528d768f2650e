"""Support-vector machines on logits and on OpenMax's probabilities."""

from __future__ import annotations

import math

import numpy as np
import pytest

from farm.api import Needs, OwnNetwork
from farm.errors import ParameterError
from monitors._svm import fit_svm
from monitors.openmax import OpenMax
from monitors.score_svm import LogisticSvm, OpenMaxSvm, ScoreSvm
from tests.monitors.own_networks import (
    ID_QUANTILE,
    WATCHED,
    given,
    images,
    restored_as_fitted,
    together,
    trained_classifier,
)
from tests.wording import refused, same_text

LOGISTIC = OwnNetwork(parameters=(("loss", "logistic"),))
TEST = WATCHED.observe(images(40, 7))


def product(own: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return (own.reshape(len(own), -1) @ weights).astype(np.float64)


def test_the_score_is_the_decision_value_on_the_logits() -> None:
    data = given()
    monitor = ScoreSvm().fit(data, WATCHED)
    own = WATCHED._weights
    inside = product(together(seen for seen, _ in data.validation), own)
    machine = fit_svm(inside, product(together(data.outliers), own))
    expected = product(TEST.images, own) @ machine["weights"] + machine["bias"]
    np.testing.assert_allclose(monitor.score(TEST), expected, rtol=1e-9, atol=1e-9)
    assert monitor.needs == Needs(logits=True, outliers=True)
    assert monitor.calibrate(data.validation, ID_QUANTILE, 3).threshold == 0.0
    assert monitor.notes()["balanced_accuracy_of_fit"] > 0.6
    assert restored_as_fitted(monitor, ScoreSvm(), TEST)


def test_the_logistic_one_looks_at_the_other_classifier() -> None:
    trained = trained_classifier(seed=5)
    data = given({LOGISTIC: trained})
    monitor = LogisticSvm().fit(data, WATCHED)
    own = trained.state["weights"]
    inside = product(together(seen for seen, _ in data.validation), own)
    machine = fit_svm(inside, product(together(data.outliers), own))
    expected = product(TEST.images, own) @ machine["weights"] + machine["bias"]
    np.testing.assert_allclose(monitor.score(TEST), expected, rtol=1e-9, atol=1e-9)
    assert monitor.needs == Needs(networks=(LOGISTIC,), outliers=True)
    assert monitor.fixed_threshold == 0.0
    assert restored_as_fitted(monitor, LogisticSvm(), TEST)
    same_text(monitor.explain(TEST.take([0]))[0].reason)


@pytest.mark.parametrize("parameters", [{}, {"tail": 5, "alpha": 2}])
def test_openmax_has_a_probability_of_the_unknown_class_too(parameters) -> None:
    data = given()
    plain, monitor = OpenMax(**parameters).fit(data, WATCHED), OpenMaxSvm(**parameters).fit(data, WATCHED)
    found = monitor._features(TEST)
    assert found.shape == (40, 4)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    unknown = 1 / (1 + np.exp(-plain.score(TEST)))
    np.testing.assert_allclose(found[:, 3], unknown, rtol=1e-9)
    for row, revised in zip(found[:, :3], plain._layer.revised(TEST.logits)[0], strict=True):
        by_hand = [math.exp(z - revised.max()) for z in revised]
        np.testing.assert_allclose(row / row.sum(), np.array(by_hand) / sum(by_hand), rtol=1e-9)
    expected = found @ monitor.state["weights"] + monitor.state["bias"]
    assert np.array_equal(monitor.score(TEST), expected)
    assert restored_as_fitted(monitor, OpenMaxSvm(**parameters), TEST)


def test_they_alarm_at_more_outliers_than_id_images() -> None:
    networks = {LOGISTIC: trained_classifier(seed=5)}
    data = given(networks)
    for monitor in (ScoreSvm(), LogisticSvm(), OpenMaxSvm()):
        monitor.fit(data, WATCHED)
        inside = monitor.score(WATCHED.observe(images(300, 8, high=0.6))) > 0
        outside = monitor.score(WATCHED.observe(images(300, 9, low=0.3))) > 0
        assert outside.mean() > inside.mean() + 0.2, monitor.name


@pytest.mark.parametrize("wrong", [{"tail": 2}, {"alpha": 0}])
def test_wrong_parameters_are_named(wrong) -> None:
    with refused(ParameterError):
        OpenMaxSvm(**wrong)
