"""A network that was trained against the outliers."""

from __future__ import annotations

import numpy as np
import pytest

from farm.api import OwnNetwork
from farm.errors import ComponentFailure
from monitors.binary_classifier import BinaryClassifier
from tests.monitors.own_networks import (
    ID_QUANTILE,
    WATCHED,
    given,
    images,
    restored_as_fitted,
    trained_classifier,
)
from tests.wording import refused, same_text

AGAINST = OwnNetwork(against_outliers=True)
TEST = WATCHED.observe(images(20, 7))


def fitted(classes=("in-distribution", "outlier"), **more) -> BinaryClassifier:
    return BinaryClassifier().fit(given({AGAINST: trained_classifier(3, classes, **more)}), WATCHED)


@pytest.mark.parametrize("classes", [("in-distribution", "outlier"), ("outlier", "in-distribution")])
def test_the_score_is_the_log_odds_for_an_outlier(classes) -> None:
    logits = TEST.images.reshape(20, -1) @ trained_classifier(3, classes).state["weights"]
    outlier = classes.index("outlier")
    odds = np.exp(logits.astype(np.float64))
    expected = np.log(odds[:, outlier] / odds[:, 1 - outlier])
    np.testing.assert_allclose(fitted(classes).score(TEST), expected, rtol=1e-6)
    np.testing.assert_allclose(fitted(classes, black_box=True).score(TEST), expected, rtol=1e-5, atol=1e-6)


def test_the_likelier_class_decides() -> None:
    monitor = fitted()
    calibration = monitor.calibrate(given().validation, ID_QUANTILE, 3)
    assert (calibration.method, calibration.threshold) == ("fixed", 0.0)
    assert monitor.needs.networks == (AGAINST,)
    assert monitor.needs.outliers
    same_text(monitor.explain(TEST.take([0]))[0].reason)
    assert restored_as_fitted(monitor, BinaryClassifier(), TEST)


def test_certainty_beyond_any_digit_is_still_a_number() -> None:
    monitor = fitted(black_box=True)
    weights = np.zeros((16, 2), np.float32)
    weights[:, 1] = 1e4
    state = {**monitor.state, "network0.state.weights": weights}
    score = monitor.restore(state, WATCHED).score(TEST)
    assert np.isfinite(score).all()
    assert (score > 700).all()


@pytest.mark.parametrize("classes", [("ash", "birch"), ("in-distribution", "outlier", "ash")])
def test_another_kind_of_classifier_is_refused(classes) -> None:
    with refused(ComponentFailure):
        fitted(classes)
