"""Weights and biases of classes: against scikit-learn, by another search, and of known mistakes."""

import numpy as np
import pytest
from hypothesis import assume, given
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.linear_model import LogisticRegression

from farm.errors import DataError, ParameterError
from farm.measures.calibration import nll
from farm.statistics.post_hoc.temperature import Temperature
from farm.statistics.post_hoc.vector_scaling import VectorScaling
from tests.statistics.post_hoc.made import as_json, classified
from tests.statistics.post_hoc.test_temperature import says
from tests.wording import refused


def test_of_two_classes_it_is_a_logistic_regression():
    """Only the difference of two classes' scaled logarithms counts, and it is linear in them."""
    probabilities, labels = classified(np.random.default_rng(0), 2000, classes=2, apart=1.0)
    logs = np.log(probabilities)
    reference = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000).fit(logs * [-1, 1], labels)
    found = VectorScaling.fit(probabilities, labels, ridge=1e-7)
    np.testing.assert_allclose(found.weights, reference.coef_[0], rtol=1e-4)
    assert found.biases[1] - found.biases[0] == pytest.approx(reference.intercept_.item(), rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("ridge", [0.1, 1.0, 30.0])
def test_another_search_without_slopes_finds_the_same(ridge):
    probabilities, labels = classified(np.random.default_rng(1), 60, classes=3)
    logs, start = np.log(probabilities), 1 / Temperature.fit(probabilities, labels).value

    def loss(scales):
        scaled = log_softmax(scales[:3] * logs + scales[3:], axis=1)
        away = np.square(scales - np.array([start] * 3 + [0] * 3))
        return -scaled[np.arange(60), labels].sum() + ridge / 2 * away.sum()

    options = {"xatol": 1e-9, "fatol": 1e-12, "maxiter": 100_000, "maxfev": 100_000, "adaptive": True}
    reference = minimize(loss, np.array([start] * 3 + [0] * 3), method="Nelder-Mead", options=options).x
    found = VectorScaling.fit(probabilities, labels, ridge=ridge)
    np.testing.assert_allclose(np.concatenate([found.weights, found.biases]), reference, atol=1e-5)


def test_a_known_mistake_of_each_class_is_mended():
    random = np.random.default_rng(2)
    truth, labels = classified(random, 30_000, factor=1.0, classes=3)
    weights, biases = np.array([0.5, 1.0, 2.0]), np.array([0.6, -0.2, -0.4])
    # Undone by these weights and biases: but for a constant an image, logarithms of what the network says.
    told = (np.log(truth) - biases) / weights
    wrong = softmax(told, axis=1)
    found = VectorScaling.fit(wrong, labels)
    logs = [nll(p, labels).value for p in (wrong, Temperature.fit(wrong, labels).apply(wrong))]
    mended = nll(found.apply(wrong), labels).value
    assert mended < logs[1] - 0.02 < logs[0] - 0.02
    assert found.biases.sum() == pytest.approx(0, abs=1e-9)


@given(says())
def test_it_is_never_worse_than_the_temperature_on_what_it_is_fitted_to(case):
    probabilities, labels = case
    try:
        temperature, found = Temperature.fit(*case), VectorScaling.fit(*case)
    except DataError:
        assume(False)
    rows = np.arange(len(labels))
    of_one, of_each = (
        -np.log(each.apply(probabilities)[rows, labels]).mean() for each in (temperature, found)
    )
    assert of_each <= of_one + 1e-9
    np.testing.assert_allclose(found.apply(probabilities).sum(axis=1), 1)


def test_labels_that_could_be_told_apart_wholly_leave_it_finite():
    """A bias of its own puts each instance right: the loss alone would go on falling for ever."""
    probabilities = np.array([[0.9, 0.1]] * 5 + [[0.6, 0.4]] * 5)
    labels = np.array([0] * 5 + [1] * 5)
    away = []
    for ridge in (0.1, 1.0, 10.0, 1e6):
        found = VectorScaling.fit(probabilities, labels, ridge=ridge)
        start = 1 / Temperature.fit(probabilities, labels).value
        away.append(np.abs(np.concatenate([found.weights - start, found.biases])).max())
        assert np.isfinite([found.weights, found.biases]).all()
    assert (found.apply(probabilities)[:, 0] > 0.5).all()
    assert (VectorScaling.fit(probabilities, labels).apply(probabilities).argmax(axis=1) == labels).all()
    assert sorted(away, reverse=True) == away
    assert away[-1] < 1e-4


def test_what_cannot_be_fitted_is_refused():
    probabilities, labels = classified(np.random.default_rng(1), 60, classes=3)
    with refused(DataError):
        VectorScaling.fit(probabilities[labels != 1], labels[labels != 1])
    with refused(ParameterError):
        VectorScaling.fit(probabilities, labels, ridge=0)
    with refused(DataError):
        VectorScaling.fit(np.eye(3)[labels], labels)
    with refused(DataError):
        VectorScaling.fit(probabilities, np.where(labels == 0, -1, labels))
    with refused(DataError):
        VectorScaling.fit(np.where(labels[:, None] == 0, np.nan, probabilities), labels)


def test_other_classes_than_it_was_fitted_to_are_refused():
    probabilities, labels = classified(np.random.default_rng(1), 60, classes=3)
    with refused(DataError):
        VectorScaling.fit(probabilities, labels).apply(np.array([[0.5, 0.5]]))


def test_its_record():
    found = VectorScaling(np.array([1.0, 2.0]), np.array([0.5, -0.5]), 7)
    assert as_json(found.record()) == {"weights": [1.0, 2.0], "biases": [0.5, -0.5], "n": 7}
