"""Conformal boxes: by hand, by their definition, all sides at once, with tracks, and under a shift."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, norm

from farm.errors import DataError
from farm.statistics.post_hoc.conformal_boxes import ConformalBoxes
from tests.statistics.post_hoc.made import as_json, boxed
from tests.wording import refused, same_text


def pixels(boxes):
    predicted, _, target = boxes
    return predicted, None, target


def test_by_hand():
    """Worst sides are 3, 1 and 8 pixels off, and 1.5, 1 and 2 spreads: of three, the second for a half."""
    predicted = np.zeros((3, 4))
    target = np.array([[3.0, -1, 0, 2], [1, 1, 1, -1], [0, 0, -8, 3]])
    spread = np.array([[2.0, 1, 1, 2], [1, 1, 1, 1], [1, 1, 4, 3]])
    in_pixels = ConformalBoxes.fit(predicted, None, target, 0.5)
    assert in_pixels.half_widths(predicted, None).tolist() == [[3.0] * 4] * 3
    assert in_pixels.mean_width(predicted, None).value == 6
    in_spreads = ConformalBoxes.fit(predicted, spread, target, 0.5)
    assert in_spreads.half_widths(predicted, spread).tolist() == (1.5 * spread).tolist()
    assert in_spreads.mean_width(predicted, spread).value == pytest.approx(3 * spread.mean())
    found = in_pixels.coverage(predicted, None, target)
    assert (found.had.value.value, found.n) == (pytest.approx(2 / 3), 3)


@given(st.integers(0, 10**6), st.booleans(), st.sampled_from([0.5, 0.8, 0.9]))
def test_a_box_is_covered_where_each_of_its_sides_is(seed, by_spread, coverage):
    random = np.random.default_rng(seed)
    kind = (lambda boxes: boxes) if by_spread else pixels
    validation, new = kind(boxed(random, 25)), kind(boxed(random, 40))
    fitted = ConformalBoxes.fit(*validation, coverage)
    predicted, spread, target = new
    half = fitted.half_widths(predicted, spread)
    inside = ((predicted - half <= target) & (target <= predicted + half)).all(axis=1)
    assert fitted.coverage(*new).had.value.value == inside.mean()
    predicted, spread, target = validation
    worst = np.sort((np.abs(target - predicted) / (1 if spread is None else spread)).max(axis=1))
    assert fitted.threshold.score == worst[int(np.ceil(26 * coverage - 1e-9)) - 1]


@pytest.mark.parametrize("kind", [lambda boxes: boxes, pixels])
def test_on_data_of_its_kind_the_coverage_lies_where_it_is_expected(kind):
    """In 400 draws of 50 and of 100. An interval of 95 % fails in at most 33, but for one time in 1,000."""
    random, outside, covered = np.random.default_rng(0), 0, []
    for _ in range(400):
        fitted = ConformalBoxes.fit(*kind(boxed(random, 50)), 0.9)
        found = fitted.coverage(*kind(boxed(random, 100)))
        low, high = (each.value for each in found.expected)
        covered.append(found.had.value.value)
        outside += not low <= covered[-1] <= high
    assert outside <= binom.ppf(0.999, 400, 0.05)
    assert np.mean(covered) == pytest.approx(46 / 51, abs=3 * np.std(covered) / 20)


def test_all_four_sides_at_once_take_wider_bands_than_each_alone():
    """Of normal errors of a known size: the fourth root of the coverage, both tails of it."""
    random = np.random.default_rng(1)
    fitted = ConformalBoxes.fit(*boxed(random, 20_000, factor=2.0), 0.9)
    assert fitted.threshold.score == pytest.approx(2 * norm.ppf(0.5 + 0.9**0.25 / 2), rel=0.02)
    assert fitted.threshold.score > 1.3 * 2 * norm.ppf(0.95)


def test_a_spread_that_knows_which_boxes_are_hard_makes_bands_narrower():
    random = np.random.default_rng(2)
    predicted, _, _ = boxed(random, 4000)
    spread = np.exp(random.normal(0, 1, (4000, 1))) * np.ones(4)
    target = predicted + spread * random.normal(size=(4000, 4))
    widths = [
        ConformalBoxes.fit(predicted, each, target, 0.9).mean_width(predicted, each).value
        for each in (spread, None)
    ]
    assert widths[0] < 0.8 * widths[1]


def test_under_a_shift_the_coverage_falls_short_and_says_so():
    random = np.random.default_rng(3)
    fitted = ConformalBoxes.fit(*boxed(random, 500, factor=1.5), 0.9)
    found = [fitted.coverage(*boxed(random, 500, factor=factor)) for factor in (1.5, 2.5)]
    assert [each.falls_short for each in found] == [False, True]
    assert found[1].had.high.value < 0.7


def test_tracks_are_as_many_as_count():
    boxes, track = boxed(np.random.default_rng(4), 60), np.arange(60) // 3
    fitted = ConformalBoxes.fit(*boxes, 0.9, track=track)
    assert (fitted.threshold.n, fitted.threshold.unit) == (20, "track")
    found, alone = (fitted.coverage(*boxes, track=each) for each in (track, None))
    assert found.expected[0].value < alone.expected[0].value
    assert found.had.low.value < alone.had.low.value


def test_of_too_few_validation_instances_bands_go_on_for_ever_and_it_is_said():
    boxes = boxed(np.random.default_rng(5), 8)
    fitted = ConformalBoxes.fit(*boxes, 0.9)
    assert np.isinf(fitted.half_widths(*boxes[:2])).all()
    assert fitted.coverage(*boxes).had.value.value == 1
    record = as_json(fitted.record())
    assert (record["unit"], record["threshold"]["threshold"]) == ("spreads", None)
    assert fitted.mean_width(*boxes[:2]).reason == record["threshold"]["why_all"]
    same_text(record["threshold"]["why_all"])


def test_what_cannot_be_measured_is_undefined_with_its_reason():
    predicted, spread, target = boxed(np.random.default_rng(6), 30)
    lost, certain = target.copy(), spread.copy()
    lost[:4], certain[0, 1] = np.nan, 0.0
    fitted = ConformalBoxes.fit(predicted, spread, target, 0.9)
    found = [fitted.coverage(*each) for each in ((predicted, spread, lost), (predicted, certain, target))]
    assert not any(each.falls_short for each in found)
    same_text(each.had.value.reason for each in found)
    same_text(fitted.mean_width(predicted, certain).reason)


def test_bad_input_is_refused():
    predicted, spread, target = boxed(np.random.default_rng(7), 30)
    for bad in (
        (predicted, spread, target * np.nan),
        (predicted, 0 * spread, target),
        (predicted, -spread, target),
        (predicted, spread[:4], target),
        (predicted[:0], None, target[:0]),
        (predicted[0], None, target[0]),
    ):
        with refused(DataError):
            ConformalBoxes.fit(*bad, 0.9)
    with refused(DataError):
        ConformalBoxes.fit(predicted, spread, target, 0.9, track=np.arange(7))
    by_spread, in_pixels = (ConformalBoxes.fit(predicted, each, target, 0.9) for each in (spread, None))
    with refused(DataError):
        by_spread.coverage(predicted, None, target)
    with refused(DataError):
        in_pixels.half_widths(predicted, spread)
    with refused(DataError):
        in_pixels.mean_width(predicted[:, :2], None)
