"""Probabilities against scikit-learn, a transcription of the calibration error, and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss, roc_auc_score
from statsmodels.stats.proportion import proportion_confint

from farm.errors import DataError, ParameterError
from farm.measures.calibration import (
    brier_mean,
    brier_scores,
    brier_sum,
    calibration_measures,
    confidence_auroc,
    ece,
    label_probabilities,
    nll,
    reliability,
)
from tests.wording import refused, same_text

SEEDS = st.integers(0, 10**6)
BINNING = st.sampled_from(["width", "mass"])
# Rounded, so that many tie and many lie on an end.
CONFIDENCES = st.sampled_from([2, 15]).flatmap(
    lambda digits: st.lists(
        st.tuples(st.floats(0, 1).map(lambda value: round(value, digits)), st.booleans()),
        min_size=1,
        max_size=60,
    )
)


def arrays(case):
    return np.array([confidence for confidence, _ in case]), np.array([right for _, right in case])


def plain_ece(confidence, right, bins):
    """Guo et al. 2017, transcribed: bin m holds what is in ((m - 1) / M, m / M]; 0 goes with the first."""
    total = 0.0
    for m in range(1, bins + 1):
        low, high = np.linspace(0, 1, bins + 1)[m - 1 : m + 1]
        inside = (confidence > low) & (confidence <= high) | ((m == 1) & (confidence == 0))
        if inside.any():
            total += inside.sum() / len(right) * abs(right[inside].mean() - confidence[inside].mean())
    return total


@given(CONFIDENCES, st.integers(1, 20))
def test_equal_width_agrees_with_the_definition_and_scikit_learn(case, bins):
    confidence, right = arrays(case)
    assert ece(confidence, right, bins=bins).value == pytest.approx(plain_ece(confidence, right, bins))
    share, mean = calibration_curve(right, confidence, n_bins=bins, pos_label=True)
    table = [row for row in reliability(confidence, right, bins=bins) if row.n]
    assert [row.accuracy.value for row in table] == pytest.approx(share.tolist())
    assert [row.confidence.value for row in table] == pytest.approx(mean.tolist())


@given(SEEDS, st.integers(1, 12), st.integers(1, 8))
def test_equal_mass_agrees_with_scikit_learn_where_it_can_be_met(seed, bins, each):
    rng = np.random.default_rng(seed)
    confidence, right = rng.permutation(np.linspace(0.1, 0.9, bins * each)), rng.random(bins * each) < 0.5
    table = reliability(confidence, right, bins=bins, equal="mass")
    assert [row.n for row in table] == [each] * bins
    share, mean = calibration_curve(right, confidence, n_bins=bins, strategy="quantile", pos_label=True)
    # With one instance a bin its quantiles fall on the instances themselves.
    if each > 1:
        assert [row.accuracy.value for row in table] == pytest.approx(share.tolist())
        assert [row.confidence.value for row in table] == pytest.approx(mean.tolist())


@given(CONFIDENCES, st.integers(1, 20), BINNING)
def test_a_table_parts_all_instances(case, bins, equal):
    confidence, right = arrays(case)
    table = reliability(confidence, right, bins=bins, equal=equal)
    assert sum(row.n for row in table) == len(case)
    assert len(table) == bins or (equal == "mass" and len(table) <= bins)
    for number, row in enumerate(table):
        inside = (confidence > row.low) | ((number == 0) & (confidence == row.low))
        inside &= confidence <= row.high
        assert inside.sum() == row.n
        if row.n:
            low, high = proportion_confint(right[inside].sum(), row.n, method="wilson")
            assert (row.accuracy_low.value, row.accuracy_high.value) == pytest.approx((low, high), abs=1e-10)
            assert row.low - 1e-12 <= row.confidence.value <= row.high + 1e-12
        else:
            assert equal == "width"
            assert row.accuracy.reason == row.confidence.reason == row.accuracy_low.reason == "no instances"


@given(CONFIDENCES, st.integers(1, 20), BINNING, st.randoms(use_true_random=False))
def test_bounds_and_order(case, bins, equal, random):
    confidence, right = arrays(case)
    shuffled = list(range(len(case)))
    random.shuffle(shuffled)
    value = ece(confidence, right, bins=bins, equal=equal).value
    assert abs(right.mean() - confidence.mean()) - 1e-9 <= value <= 1
    again = ece(confidence[shuffled], right[shuffled], bins=bins, equal=equal).value
    assert again == pytest.approx(value, abs=1e-12)


def test_by_hand():
    confidence = np.array([0.95, 0.95, 0.95, 0.95, 0.65, 0.65])
    right = np.array([True, True, True, False, True, True])
    # Four of which 0.75 are right, off by 0.2; two that are right, off by 0.35.
    assert ece(confidence, right).value == pytest.approx((4 * 0.2 + 2 * 0.35) / 6)
    assert ece(confidence, right, bins=1).value == pytest.approx(abs(5 / 6 - confidence.mean()))


def test_calibrated_is_near_0_and_overconfident_is_not():
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.3, 1, 100_000)
    right = rng.random(100_000) < confidence
    for equal in ("width", "mass"):
        assert ece(confidence, right, equal=equal).value < 0.01
        assert ece(np.sqrt(confidence), right, equal=equal).value > 0.1


def test_equal_confidences_are_never_parted():
    table = reliability(np.array([0.5] * 7 + [0.9]), np.arange(8) < 5, bins=4, equal="mass")
    assert [(row.low, row.high, row.n) for row in table] == [(0.5, 0.5, 7), (0.5, 0.9, 1)]


@pytest.mark.parametrize(("n", "sizes"), [(7, [3, 2, 2]), (2, [1, 1]), (9, [3, 3, 3])])
def test_bins_of_equal_mass_differ_by_one_at_most(n, sizes):
    table = reliability(np.linspace(0.2, 0.8, n), np.ones(n, dtype=bool), bins=3, equal="mass")
    assert [row.n for row in table] == sizes


@given(CONFIDENCES)
def test_auroc_agrees_with_scikit_learn(case):
    confidence, right = arrays(case)
    found = confidence_auroc(confidence, right)
    assert found.defined == (right.any() and not right.all())
    if found.defined:
        assert found.value == pytest.approx(roc_auc_score(right, confidence))
        assert confidence_auroc(-1 / (confidence + 1), right).value == found.value


@pytest.mark.parametrize(
    ("confidence", "right", "reason"),
    [
        ([], [], "no instances"),
        ([math.nan, 0.5], [True, False], "the confidence is missing for 1 of 2 instances"),
        ([0.4, 0.5], [True, True], "each of the 2 predictions is right"),
        ([0.4], [False], "none of the 1 predictions is right"),
    ],
)
def test_undefined_with_a_reason(confidence, right, reason):
    sure, correct = np.array(confidence, dtype=float), np.array(right, dtype=bool)
    assert confidence_auroc(sure, correct).reason == reason
    assert ece(sure, correct).reason == (None if "right" in reason else reason)


def test_a_single_instance():
    assert ece(np.array([0.75]), np.array([True])).value == 0.25
    assert ece(np.array([0.75]), np.array([True]), equal="mass").value == 0.25
    assert reliability(np.empty(0), np.empty(0, dtype=bool)) == ()


def test_refuses_what_cannot_be_binned():
    right = np.array([True, False])
    with refused(DataError):
        ece(np.array([0.5, 3.5]), right)
    with refused(DataError):
        reliability(np.array([math.nan, 0.5]), right)
    for measure in (ece, reliability, confidence_auroc):
        with refused(DataError):
            measure(np.array([0.5]), right)
    with refused(ParameterError):
        ece(np.array([0.5, 0.5]), right, bins=0)
    with refused(ParameterError):
        ece(np.array([0.5, 0.5]), right, equal="size")


def test_all_measures_together():
    rng = np.random.default_rng(3)
    probabilities, label = rng.dirichlet(np.ones(5), 200), rng.integers(0, 5, 200)
    found = calibration_measures(probabilities, label, bins=15)
    confidence, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == label
    assert found["accuracy"].value == right.mean() == accuracy_score(label, probabilities.argmax(axis=1))
    assert found["ece_equal_width"] == ece(confidence, right, bins=15)
    assert found["ece_equal_mass"] == ece(confidence, right, bins=15, equal="mass")
    assert found["brier_sum"].value == pytest.approx(5 * found["brier_mean"].value)
    assert all(measure.defined for measure in found.values())


def test_a_novel_class_is_a_wrong_prediction_and_has_no_likelihood():
    found = calibration_measures(np.array([[0.9, 0.1], [0.8, 0.2]]), np.array([0, -1]))
    assert found["accuracy"].value == 0.5
    assert found["confidence_auroc"].value == 1
    for name in ("brier_mean", "brier_sum", "nll"):
        same_text(found[name].reason)


def test_missing_probabilities_leave_nothing_defined():
    found = calibration_measures(np.array([[0.9, 0.1], [math.nan, math.nan]]), np.array([0, 0]))
    assert not any(measure.defined for measure in found.values())
    same_text(found["accuracy"].reason)


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


def test_single_precision_is_as_good():
    double, label = softmax(1)
    single, _ = softmax(1, dtype=np.float32)
    for measure in (brier_sum, brier_mean, nll):
        assert measure(single, label).value == pytest.approx(measure(double, label).value, rel=1e-6)


@given(SEEDS, st.integers(1, 12), st.integers(0, 30))
def test_each_instance_has_the_brier_score_of_its_definition(seed, classes, n):
    random = np.random.default_rng(seed)
    probabilities = random.dirichlet(np.full(classes, 0.3), n)
    label = random.integers(-1, classes, n)
    of_label = label_probabilities(probabilities, label)
    found = brier_scores(probabilities, of_label)
    for row, truth, probability, score in zip(probabilities, label, of_label, found, strict=True):
        if truth < 0:
            assert math.isnan(probability)
            assert math.isnan(score)
        else:
            assert probability == row[truth]
            assert score == pytest.approx(sum((p - (i == truth)) ** 2 for i, p in enumerate(row)), abs=1e-15)
            assert 0 <= score <= 2
    if (known := label >= 0).any():
        assert brier_sum(probabilities[known], label[known]).value == pytest.approx(np.nanmean(found))


def test_a_score_does_not_pass_its_end_by_rounding():
    """A classifier's probabilities may sum to a little more than 1."""
    both = np.array([[1.0005, 0.0], [1.0005, 0.0]])
    found = brier_scores(both, label_probabilities(both, np.array([0, 1])))
    assert found.tolist() == pytest.approx([2.5e-7, 2.0], abs=1e-15)


def test_the_two_brier_scores_differ_by_the_number_of_classes_and_their_range():
    """Sure and wrong is 2 as a sum, and 2 / 43 as a mean: an order of magnitude lies between publications."""
    sure = np.eye(43)[[7]]
    assert brier_sum(sure, np.array([8])).value == 2
    assert brier_mean(sure, np.array([8])).value == pytest.approx(2 / 43)
    assert brier_sum(sure, np.array([7])).value == brier_mean(sure, np.array([7])).value == 0


@given(SEEDS, st.randoms(use_true_random=False))
def test_bounds_and_order_of_scores(seed, random):
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
def test_scores_undefined_with_a_reason(probabilities, label, reason):
    for measure in (brier_sum, brier_mean, nll):
        assert measure(np.array(probabilities), np.array(label, dtype=int)).reason == reason


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
