"""Recalibrated quantiles: by hand, against isotonic regression, by the law of ranks, and under a shift."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import isotonic_regression
from scipy.special import ndtr, ndtri
from sklearn.isotonic import IsotonicRegression

from farm.errors import DataError, ParameterError
from farm.measures.localization import level_table, regression_ece
from farm.statistics.post_hoc.quantiles import BoxQuantiles
from tests.statistics.post_hoc.made import as_json, boxed
from tests.wording import refused, same_text

ERRORS = st.integers(1, 30).flatmap(lambda n: arrays(np.float64, n, elements=st.integers(-6, 6).map(float)))


def of_errors(errors):
    """Fit to one side's errors of a spread of 1."""
    column = np.asarray(errors, dtype=float)[:, None]
    return BoxQuantiles.fit(np.zeros_like(column), np.ones_like(column), column)


def levels_of(fitted, errors):
    column = np.asarray(errors, dtype=float)[:, None]
    return fitted.levels(np.zeros_like(column), np.ones_like(column), column)[:, 0]


def quantile_of(fitted, level):
    return fitted.quantiles(np.zeros((1, 1)), np.ones((1, 1)), level).item()


def test_by_hand():
    """Errors of 1, 3, 3 and 7 spreads: shares of five, the new one being the fifth."""
    fitted = of_errors([3, 1, 7, 3])
    assert levels_of(fitted, [0.9, 1, 2, 3, 5, 7, 7.1]).tolist() == pytest.approx(
        [0, 0.2, 0.4, 0.6, 0.7, 0.8, 1]
    )
    found = [quantile_of(fitted, level) for level in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)]
    assert found == pytest.approx([-np.inf, 1, 2, 3, 3, 3, 5, 7, np.inf])


def test_each_side_and_spread_is_for_itself():
    predicted, spread, target = boxed(np.random.default_rng(0), 50)
    fitted = BoxQuantiles.fit(predicted, spread, target)
    for side in range(4):
        own = of_errors(((target - predicted) / spread)[:, side])
        np.testing.assert_array_equal(
            fitted.levels(predicted, spread, target)[:, side],
            levels_of(own, ((target - predicted) / spread)[:, side]),
        )
        found = fitted.quantiles(predicted, spread, 0.3)[:, side]
        np.testing.assert_allclose(found, predicted[:, side] + spread[:, side] * quantile_of(own, 0.3))


@given(ERRORS)
def test_isotonic_regression_adds_nothing(errors):
    """Of the published pairs, each validation level and the share of levels that are no higher."""
    levels = np.sort(ndtr(errors))
    shares = np.array([np.mean(levels <= level) for level in levels])
    np.testing.assert_allclose(isotonic_regression(shares).x, shares)
    np.testing.assert_allclose(IsotonicRegression().fit_transform(levels, shares), shares)
    ours = np.sort(levels_of(of_errors(errors), errors))
    np.testing.assert_allclose(ours, shares * len(errors) / (len(errors) + 1))


@given(ERRORS, st.lists(st.floats(-6, 6), min_size=1, max_size=9))
def test_between_two_it_is_what_an_isotonic_regression_predicts(errors, new):
    fitted = of_errors(errors)
    known = np.unique(errors)
    assume(len(known) > 1)  # of one it predicts the same everywhere
    reference = IsotonicRegression(out_of_bounds="nan").fit(known, levels_of(fitted, known))
    expected = reference.predict(np.array(new))
    inside = ~np.isnan(expected)
    found = levels_of(fitted, new)
    np.testing.assert_allclose(found[inside], expected[inside], atol=1e-12)
    assert np.isin(found[~inside], (0.0, 1.0)).all()


@given(ERRORS, st.floats(0.01, 0.99))
def test_the_quantile_of_a_level_lies_at_that_level(errors, level):
    fitted = of_errors(errors + np.arange(len(errors)) * 1e-3)
    found = quantile_of(fitted, level)
    n = len(errors)
    if 1 / (n + 1) <= level <= n / (n + 1):
        assert levels_of(fitted, [found])[0] == pytest.approx(level, abs=1e-6)
    else:
        assert np.isinf(found)
        assert (found > 0) == (level > 0.5)


def test_a_new_target_lies_below_its_quantile_just_as_often_as_the_level_says():
    """20,000 sides of four validation instances: with shares of n, level 3 / 4 would hold in 3 of 5."""
    random, sides = np.random.default_rng(1), 20_000
    nowhere, one = np.zeros((1, sides)), np.ones((1, sides))
    fitted = BoxQuantiles.fit(
        *(np.repeat(each, 4, axis=0) for each in (nowhere, one)), random.normal(size=(4, sides))
    )
    new = random.normal(size=(1, sides))
    levels = fitted.levels(nowhere, one, new)
    for level in (0.2, 0.4, 0.6, 0.8):
        share = np.mean(new <= fitted.quantiles(nowhere, one, level))
        assert share == pytest.approx(level, abs=4 * np.sqrt(level * (1 - level) / sides))
        assert np.mean(levels <= level) == pytest.approx(share, abs=1e-3)


def test_a_network_with_a_known_error_becomes_flat_on_new_data():
    random = np.random.default_rng(2)
    fitted = BoxQuantiles.fit(*boxed(random, 4000, factor=2.0, off=0.5))
    new = boxed(random, 4000, factor=2.0, off=0.5)
    assert regression_ece(*new).value > 0.08
    assert fitted.ece(*new).value < 0.015
    for own in fitted.levels(*new).T:
        for row in level_table(own, confidence=0.9999):
            assert row.low.value - 0.02 <= row.level <= row.high.value + 0.02
    # The quantiles are those of the errors that there are: normal about half a spread, with two.
    predicted, spread, _ = new
    for level in (0.1, 0.5, 0.9):
        found = (fitted.quantiles(predicted, spread, level) - predicted) / spread
        np.testing.assert_allclose(found, 0.5 + 2 * ndtri(level), atol=0.15)


def test_under_a_shift_it_is_off_again():
    random = np.random.default_rng(3)
    fitted = BoxQuantiles.fit(*boxed(random, 2000, factor=1.5))
    same, shifted = boxed(random, 2000, factor=1.5), boxed(random, 2000, factor=1.5, off=1.5)
    assert fitted.ece(*same).value < 0.02 < 0.2 < fitted.ece(*shifted).value


def test_the_calibration_error_is_the_one_of_boxes_with_recalibrated_levels():
    random = np.random.default_rng(4)
    fitted, new = BoxQuantiles.fit(*boxed(random, 30)), boxed(random, 40, off=1.0)
    levels = fitted.levels(*new)
    asked = np.array([0.25, 0.5, 1.0])
    gaps = [abs((own <= level).mean() - level) for own in levels.T for level in asked]
    assert fitted.ece(*new, levels=tuple(asked)).value == pytest.approx(np.mean(gaps))


def test_errors_beyond_what_a_level_can_tell_are_told_apart():
    """At 9 and at 50 spreads a normal level is 1 to the last digit."""
    assert ndtr(9.0) == ndtr(50.0) == 1
    fitted = of_errors(np.r_[np.zeros(10), np.full(10, 50.0)])
    assert levels_of(fitted, [9.0, 49.0]) == pytest.approx(
        [(10 + 10 * 9 / 50) / 21, (10 + 10 * 49 / 50) / 21]
    )
    assert quantile_of(fitted, 0.9) == 50


def test_what_cannot_be_fitted_is_refused():
    predicted, spread, target = boxed(np.random.default_rng(0), 3)
    never, certain, negative = target.copy(), spread.copy(), spread.copy()
    never[1, 2], certain[2, 0], negative[0, 0] = np.nan, 0.0, -1.0
    for bad in (
        (predicted, spread, never),
        (predicted, certain, target),
        (predicted, negative, target),
        (predicted, spread[:2], target),
        (predicted[:0], spread[:0], target[:0]),
        (predicted[:, 0], spread[:, 0], target[:, 0]),
    ):
        with refused(DataError):
            BoxQuantiles.fit(*bad)


def test_what_it_cannot_be_applied_to():
    predicted, spread, target = boxed(np.random.default_rng(0), 12)
    fitted = BoxQuantiles.fit(predicted, spread, target)
    with refused(DataError):
        fitted.levels(predicted[:, :2], spread[:, :2], target[:, :2])
    with refused(DataError):
        fitted.quantiles(predicted, 0 * spread, 0.5)
    with refused(ParameterError):
        fitted.quantiles(predicted, spread, 1.5)
    same_text(
        fitted.ece(*each).reason
        for each in (
            (predicted, 0 * spread, target),
            (predicted, spread, target * np.nan),
            (predicted[:0], spread[:0], target[:0]),
        )
    )


def test_its_record():
    assert as_json(of_errors([2, 1]).record()) == {"errors": [[1.0, 2.0]], "n": 2}
