"""The temperature: by hand, over a grid, against scikit-learn, and of networks whose temperature is known."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import expit, log_softmax, logit
from sklearn.linear_model import LogisticRegression

from farm.errors import DataError
from farm.measures.calibration import ece, nll, reliability
from farm.statistics.post_hoc.checks import FLOOR
from farm.statistics.post_hoc.temperature import Temperature
from tests.statistics.post_hoc.made import as_json, classified
from tests.wording import refused


def surely(p, right, n):
    """Two classes, the first of which has a probability and is right so often."""
    return np.tile([p, 1 - p], (n, 1)), (np.arange(n) >= right).astype(np.int64)


@pytest.mark.parametrize(("p", "right", "n"), [(0.98, 3, 4), (0.6, 9, 10), (0.75, 3, 4), (1 - 1e-6, 51, 100)])
def test_of_one_confidence_it_is_the_quotient_of_two_log_odds(p, right, n):
    fitted = Temperature.fit(*surely(p, right, n))
    assert fitted.value == pytest.approx(logit(p) / logit(right / n), rel=1e-9)
    assert fitted.apply(np.array([[p, 1 - p]]))[0, 0] == pytest.approx(right / n)


@pytest.mark.parametrize("seed", range(5))
def test_no_temperature_of_a_fine_grid_is_better(seed):
    probabilities, labels = classified(np.random.default_rng(seed), 150, factor=0.5 + seed)
    grid = np.geomspace(0.05, 50, 4001)
    logs = np.log(probabilities)
    losses = [-log_softmax(logs / t, axis=1)[np.arange(150), labels].mean() for t in grid]
    fitted = Temperature.fit(probabilities, labels)
    found = nll(fitted.apply(probabilities), labels).value
    assert found <= min(losses) + 1e-12
    assert fitted.value == pytest.approx(grid[np.argmin(losses)], rel=2e-3)


def test_of_two_classes_it_is_a_logistic_regression_without_intercept():
    probabilities, labels = classified(np.random.default_rng(0), 500, classes=2, apart=1.0)
    odds = logit(probabilities[:, 1:])
    reference = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-10).fit(odds, labels)
    assert Temperature.fit(probabilities, labels).value == pytest.approx(1 / reference.coef_.item(), rel=1e-5)


@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0, 6.0])
def test_a_network_that_exaggerates_by_a_known_factor(factor):
    """The standard error of 1 / temperature is 2 % here."""
    random = np.random.default_rng(3)
    fitted = Temperature.fit(*classified(random, 4000, factor=factor))
    assert fitted.value == pytest.approx(factor, rel=0.08)
    new, labels = classified(random, 20_000, factor=factor)
    mended = fitted.apply(new)
    right = mended.argmax(axis=1) == labels
    assert ece(mended.max(axis=1), right).value < 0.015
    for b in reliability(mended.max(axis=1), right, level=0.9999):
        if b.n > 100:
            assert b.accuracy_low.value - 0.02 <= b.confidence.value <= b.accuracy_high.value + 0.02


def test_under_a_shift_it_does_not_help_enough():
    """A temperature that is off by its standard error of 2 % is worth a hundredth of calibration error."""
    random = np.random.default_rng(5)
    fitted = Temperature.fit(*classified(random, 4000))
    errors = {}
    for name, noise in (("id", 1.0), ("shift", 2.0)):
        says, labels = classified(random, 20_000, noise=noise)
        for how, p in (("plain", says), ("mended", fitted.apply(says))):
            errors[name, how] = ece(p.max(axis=1), p.argmax(axis=1) == labels).value
    assert errors["id", "mended"] < 0.02 < 0.05 < errors["id", "plain"]
    assert 0.1 < errors["shift", "mended"] < errors["shift", "plain"]


@st.composite
def says(draw):
    n, classes = draw(st.integers(2, 30)), draw(st.integers(2, 5))
    random = np.random.default_rng(draw(st.integers(0, 10**6)))
    weights = random.gamma(draw(st.sampled_from([0.05, 0.5, 5.0])), size=(n, classes)) + 1e-12
    return weights / weights.sum(axis=1, keepdims=True), random.integers(0, classes, n)


@given(says())
def test_it_is_never_worse_than_none_and_changes_no_prediction(case):
    probabilities, labels = case
    try:
        fitted = Temperature.fit(probabilities, labels)
    except DataError:
        assume(False)
    mended = fitted.apply(probabilities)
    np.testing.assert_allclose(mended.sum(axis=1), 1)
    assert (mended.argmax(axis=1) == probabilities.argmax(axis=1)).all()
    floored = np.maximum(probabilities, FLOOR)
    before = -np.log(floored[np.arange(len(labels)), labels]).mean()
    after = -np.log(np.maximum(mended[np.arange(len(labels)), labels], 1e-300)).mean()
    assert after <= before + 1e-9


@given(says(), st.randoms())
def test_order_of_instances_and_of_classes_is_no_matter(case, shuffled):
    probabilities, labels = case
    try:
        fitted = Temperature.fit(probabilities, labels)
    except DataError:
        assume(False)
    rows, classes = list(range(len(labels))), list(range(probabilities.shape[1]))
    shuffled.shuffle(rows)
    shuffled.shuffle(classes)
    other = Temperature.fit(probabilities[rows][:, classes], np.argsort(classes)[labels[rows]])
    assert other.value == pytest.approx(fitted.value, rel=1e-6)


def test_a_probability_of_0_is_taken_for_the_least_that_single_precision_holds_fully():
    probabilities, labels = surely(0.9, 8, 10)
    zeros, tiny = probabilities.copy(), probabilities.copy()
    zeros[0], tiny[0] = [1.0, 0.0], [1.0, FLOOR]
    fitted = Temperature.fit(zeros, labels)
    assert fitted == Temperature.fit(tiny, labels)
    assert fitted.apply(zeros)[0, 1] == pytest.approx(expit(np.log(FLOOR) / fitted.value))
    assert 1.1e-38 < FLOOR < 1.2e-38


def test_single_precision_is_enough():
    probabilities, labels = classified(np.random.default_rng(1), 300)
    exact = Temperature.fit(probabilities, labels)
    single = Temperature.fit(probabilities.astype(np.float32), labels)
    assert single.value == pytest.approx(exact.value, rel=1e-5)
    assert single.apply(probabilities.astype(np.float32)).dtype == np.float64


def test_nothing_to_apply_it_to():
    assert Temperature(2.0, 10).apply(np.empty((0, 3))).shape == (0, 3)


def test_what_has_no_best_temperature_is_refused():
    with refused(DataError):
        Temperature.fit(*surely(0.9, 5, 5))
    with refused(DataError):
        Temperature.fit(*surely(0.9, 2, 5))
    with refused(DataError):
        Temperature.fit(np.full((6, 3), 1 / 3), np.arange(6) % 3)
    # Half of them right is what chance does.
    with refused(DataError):
        Temperature.fit(*surely(0.9, 5, 10))


@pytest.mark.parametrize(
    ("probabilities", "labels"),
    [
        ([[0.7, 0.3], [0.5, 0.4]], [0, 1]),
        ([[0.7, 0.3], [1.5, -0.5]], [0, 1]),
        ([[0.7, 0.3], [np.nan, 0.4]], [0, 1]),
        ([[0.7, 0.3], [0.5, 0.5]], [0, -1]),
        ([[0.7, 0.3], [0.5, 0.5]], [0, 2]),
        ([[0.7, 0.3], [0.5, 0.5]], [0]),
        ([0.7, 0.3], [0, 1]),
        (np.empty((0, 2)), np.empty(0, dtype=np.int64)),
        ([[0.7, 0.3], [0.5, 0.5]], [0.0, 1.0]),
    ],
)
def test_bad_validation_data_are_refused(probabilities, labels):
    with refused(DataError):
        Temperature.fit(np.array(probabilities), np.array(labels))


def test_what_is_no_probability_gets_none():
    for bad in ([[0.7, 0.1]], [[np.nan, 1.0]], [0.5, 0.5]):
        with refused(DataError):
            Temperature(2.0, 10).apply(np.array(bad))


def test_its_record():
    assert as_json(Temperature(1.5, 20).record()) == {"value": 1.5, "n": 20}
