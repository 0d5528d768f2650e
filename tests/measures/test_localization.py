"""Boxes: IoU by counting pixels, likelihood by scipy and torch, calibration after Kuleshov et al. 2018."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.metrics import mean_absolute_error

from farm.errors import DataError, ParameterError
from farm.measures.localization import (
    LEVELS,
    gaussian_nll,
    iou,
    kuleshov_error,
    level_table,
    levels_ece,
    mae,
    mean_iou,
    quantile_table,
    regression_ece,
)
from tests.wording import refused, same_text

SEEDS = st.integers(0, 10**6)
SIZE = 12
SPAN = st.tuples(st.integers(0, SIZE - 1), st.integers(1, SIZE)).filter(lambda ends: ends[0] < ends[1])
BOX = st.tuples(SPAN, SPAN).map(lambda spans: [spans[0][0], spans[1][0], spans[0][1], spans[1][1]])


def pixels(box):
    left, top, right, bottom = box
    covered = np.zeros((SIZE, SIZE), dtype=bool)
    covered[top:bottom, left:right] = True
    return covered


def made(seed, n=30, spread=1.0):
    """Predictions whose errors are normal with the spread they claim, but for a factor."""
    rng = np.random.default_rng(seed)
    predicted, own = rng.uniform(0, 100, (n, 4)), rng.uniform(0.5, 5, (n, 4))
    return predicted, own, predicted + spread * own * rng.normal(size=(n, 4))


@given(st.lists(st.tuples(BOX, BOX), min_size=1, max_size=10))
def test_iou_agrees_with_counting_pixels(pairs):
    predicted = np.array([box for box, _ in pairs], dtype=float)
    target = np.array([box for _, box in pairs], dtype=float)
    expected = [(pixels(a) & pixels(b)).sum() / (pixels(a) | pixels(b)).sum() for a, b in pairs]
    np.testing.assert_allclose(iou(predicted, target), expected)
    np.testing.assert_allclose(iou(target, predicted), expected)
    np.testing.assert_allclose(iou(7.5 * target - 3, 7.5 * predicted - 3), expected)
    assert mean_iou(predicted, target).value == pytest.approx(np.mean(expected))
    assert mean_iou(target, target).value == 1


def test_boxes_that_only_touch_share_nothing():
    target = np.array([[0.0, 0.0, 2.0, 2.0]])
    for other in ([2, 0, 4, 2], [0, 2, 2, 4], [2, 2, 4, 4], [9, 9, 10, 10]):
        assert iou(np.array([other], dtype=float), target).tolist() == [0]


@pytest.mark.parametrize("degenerate", [[1, 1, 1, 1], [0, 0, 2, 0], [2, 0, 0, 2], [0, 2, 2, 0], [2, 2, 0, 0]])
def test_a_degenerate_prediction_covers_nothing_and_a_degenerate_target_is_an_error_of_the_data(degenerate):
    box, bad = np.array([[0.0, 0.0, 2.0, 2.0]]), np.array([degenerate], dtype=float)
    assert iou(bad, box).tolist() == [0]
    assert mean_iou(bad, box).value == 0
    assert np.isnan(iou(box, bad)).tolist() == [True]
    assert np.isnan(iou(bad, bad)).tolist() == [True]
    both = mean_iou(np.vstack([box, box]), np.vstack([box, bad]))
    same_text(both.reason)


@given(SEEDS)
def test_mae_agrees_with_scikit_learn(seed):
    predicted, _, target = made(seed)
    assert mae(predicted, target).value == pytest.approx(mean_absolute_error(target, predicted))


@given(SEEDS)
def test_nll_agrees_with_scipy_and_torch(seed):
    predicted, spread, target = made(seed)
    found = gaussian_nll(predicted, spread, target).value
    assert found == pytest.approx(-norm.logpdf(target, predicted, spread).mean())
    loss = torch.nn.GaussianNLLLoss(full=True)
    tensors = (torch.tensor(values) for values in (predicted, target, spread**2))
    assert found == pytest.approx(loss(*tensors).item())


def test_nll_by_hand():
    one, two = np.array([1.0]), np.array([2.0])
    assert gaussian_nll(one, two, np.array([5.0])).value == pytest.approx(
        0.5 * math.log(2 * math.pi * 4) + 16 / (2 * 4)
    )
    # The printed formula of one source would give a negative distance for too large a prediction.
    assert gaussian_nll(np.array([5.0]), two, one) == gaussian_nll(one, two, np.array([5.0]))


@given(SEEDS)
def test_the_table_is_kuleshovs(seed):
    """Transcribed: of all targets, the share of those whose predicted distribution function is at most p."""
    predicted, spread, target = (values[:, 0] for values in made(seed, spread=1.7))
    table = quantile_table(predicted, spread, target)
    assert [row.level for row in table] == list(LEVELS)
    for row in table:
        one_by_one = zip(predicted, spread, target, strict=True)
        below = [norm.cdf(y, loc=m, scale=s) <= row.level for m, s, y in one_by_one]
        assert row.share.value == np.mean(below)
        assert row.n == len(target)
        assert row.low.value <= row.share.value <= row.high.value
    gaps = np.array([row.share.value - row.level for row in table])
    assert regression_ece(predicted, spread, target).value == pytest.approx(np.abs(gaps).mean())
    assert kuleshov_error(predicted, spread, target).value == pytest.approx((gaps**2).sum())


@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0])
def test_a_spread_wrong_by_a_factor_errs_as_the_normal_distribution_says(factor):
    """With claimed spread c and true spread 1, the share below level p is Phi(c * Phi^-1(p))."""
    n = 20_000
    target = norm.ppf((np.arange(n) + 0.5) / n)
    table = quantile_table(np.zeros(n), np.full(n, factor), target)
    expected = norm.cdf(factor * norm.ppf(LEVELS))
    assert [row.share.value for row in table] == pytest.approx(expected.tolist(), abs=1e-4)
    found = regression_ece(np.zeros(n), np.full(n, factor), target).value
    assert found == pytest.approx(np.abs(expected - np.array(LEVELS)).mean(), abs=1e-4)


def test_a_biased_prediction_is_not_calibrated():
    targets = np.full(10, 3.0)
    table = quantile_table(np.zeros(10), np.ones(10), targets, levels=(0.5, 0.9, 0.999))
    assert [row.share.value for row in table] == [0, 0, 1]


def test_a_target_exactly_at_a_quantile_is_below_it():
    table = quantile_table(np.zeros(3), np.ones(3), np.zeros(3), levels=(0.4, 0.5, 0.6))
    assert [row.share.value for row in table] == [0, 1, 1]


def test_coordinates_are_not_pooled():
    """Half of the targets far below, half far above: pooled, half lie below the median, as they should."""
    predicted, spread = np.zeros((20, 2)), np.ones((20, 2))
    target = np.tile([-9.0, 9.0], (20, 1))
    assert regression_ece(predicted, spread, target, levels=(0.5,)).value == 0.5
    assert regression_ece(predicted.ravel(), spread.ravel(), target.ravel(), levels=(0.5,)).value == 0


@given(SEEDS, st.floats(0.1, 10), st.floats(-50, 50), st.randoms(use_true_random=False))
def test_bounds_units_and_order(seed, unit, shift, random):
    predicted, spread, target = made(seed)
    value = regression_ece(predicted, spread, target).value
    assert 0 <= value <= 1
    assert 0 <= kuleshov_error(predicted, spread, target).value <= len(LEVELS)
    order = list(range(len(target)))
    random.shuffle(order)
    moved = (unit * predicted[order] + shift, unit * spread[order], unit * target[order] + shift)
    assert regression_ece(*moved).value == pytest.approx(value)
    assert mae(moved[0], moved[2]).value == pytest.approx(unit * mae(predicted, target).value)
    expected = gaussian_nll(predicted, spread, target).value + math.log(unit)
    assert gaussian_nll(*moved).value == pytest.approx(expected)


@given(SEEDS, st.integers(1, 29))
def test_the_whole_is_the_weighted_mean_of_its_parts(seed, cut):
    arrays = made(seed)
    parts = [gaussian_nll(*(a[rows] for a in arrays)).value for rows in (slice(cut), slice(cut, None))]
    merged = (cut * parts[0] + (30 - cut) * parts[1]) / 30
    assert merged == pytest.approx(gaussian_nll(*arrays).value)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_missing_numbers_are_said(bad):
    predicted, spread, target = made(0, n=3)
    predicted[1, 2] = bad
    reason = "a number is missing for 1 of 3 instances"
    assert mae(predicted, target).reason == reason
    assert mean_iou(predicted, target).reason == reason
    assert np.isnan(iou(predicted, target))[1]
    for measure in (gaussian_nll, regression_ece, kuleshov_error):
        assert measure(predicted, spread, target).reason == reason
    table = quantile_table(predicted[:, 2], spread[:, 2], target[:, 2])
    assert {row.share.reason for row in table} == {row.low.reason for row in table} == {reason}


def test_no_instances():
    none = np.empty((0, 4))
    assert mae(none, none).reason == mean_iou(none, none).reason == "no instances"
    assert gaussian_nll(none, none, none).reason == regression_ece(none, none, none).reason == "no instances"


def test_a_spread_of_0_is_said_and_a_negative_one_refused():
    predicted, spread, target = made(0, n=3)
    spread[0] = 0
    for measure in (gaussian_nll, regression_ece, kuleshov_error):
        same_text(measure(predicted, spread, target).reason)
    spread[0, 0] = -2
    with refused(DataError):
        gaussian_nll(predicted, spread, target)


def test_shapes_that_would_broadcast_are_refused():
    for measure in (mae, iou, mean_iou):
        with refused(DataError):
            measure(np.zeros((3, 4)), np.zeros((1, 4)))
    with refused(DataError):
        gaussian_nll(np.zeros((3, 4)), np.ones((3, 1)), np.zeros((3, 4)))
    with refused(DataError):
        iou(np.zeros((3, 4)), np.zeros((3, 2)))
    with refused(DataError):
        quantile_table(np.zeros((3, 4)), np.ones((3, 4)), np.zeros((3, 4)))


@pytest.mark.parametrize("levels", [(), (0.5, 1.5), (-0.1,), (math.nan,)])
def test_refuses_levels_that_are_none(levels):
    with refused(ParameterError):
        regression_ece(np.zeros(2), np.ones(2), np.zeros(2), levels=levels)


@given(SEEDS)
def test_levels_that_are_known_are_judged_as_those_that_follow_from_a_spread(seed):
    predicted, spread, target = made(seed)
    lies = norm.cdf(target, predicted, spread)
    found, expected = levels_ece(lies), regression_ece(predicted, spread, target)
    assert found.value == pytest.approx(expected.value, abs=1e-12)
    for side in range(4):
        table = quantile_table(predicted[:, side], spread[:, side], target[:, side])
        assert level_table(lies[:, side]) == table


def test_levels_that_are_missing_have_no_error():
    assert levels_ece(np.array([0.5, np.nan])).reason == "a number is missing for 1 of 2 instances"
    assert levels_ece(np.empty(0)).reason == "no instances"
