"""Precision and covering of heat maps: the source's figure 4, and counting by loops."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farm.errors import DataError, ParameterError
from farm.measures.measure import Measure, undefined
from farm.measures.occlusion import OverImages, at_threshold, covering, over_thresholds, precision
from tests.wording import refused, same_text

SEEDS = st.integers(0, 10**6)
LEVELS = np.arange(11) / 10


def figure_4() -> tuple[np.ndarray, np.ndarray]:
    """Return a map of 9 hot positions, of which 5 are among the 30 that touch the person."""
    occluding = np.zeros((10, 8), dtype=bool)
    occluding[2:8, 2:7] = True
    hot = np.zeros_like(occluding)
    hot[2:4, 2:4] = hot[2, 4] = True  # the head
    hot[0, :4] = True  # and four of what is above it
    assert (hot.sum(), (hot & occluding).sum(), occluding.sum()) == (9, 5, 30)
    return np.where(hot, 0.3, 0.8), occluding


def test_the_numbers_of_figure_4() -> None:
    heat, occluding = figure_4()
    assert precision(heat, occluding, 0.5).value == 5 / 9
    assert covering(heat, occluding, 0.5).value == 5 / 30


def by_loops(heat: np.ndarray, occluding: np.ndarray, rho: float) -> tuple[int, int, int]:
    hot = both = touching = 0
    for row in range(heat.shape[0]):
        for column in range(heat.shape[1]):
            is_hot = float(heat[row, column]) < rho
            hot += is_hot
            touching += bool(occluding[row, column])
            both += is_hot and bool(occluding[row, column])
    return hot, both, touching


@given(SEEDS, st.integers(1, 6), st.integers(1, 6), st.sampled_from(LEVELS.tolist()))
def test_both_agree_with_counting_one_by_one(seed: int, rows: int, columns: int, rho: float) -> None:
    rng = np.random.default_rng(seed)
    heat, occluding = rng.choice(LEVELS, (rows, columns)), rng.random((rows, columns)) < rng.random()
    hot, both, touching = by_loops(heat, occluding, rho)
    found = precision(heat, occluding, rho)
    assert found.value == both / hot if hot else math.isnan(found.value)
    found = covering(heat, occluding, rho)
    assert found.value == both / touching if touching else math.isnan(found.value)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_what_is_just_the_threshold_is_not_hot_in_single_precision_either(kind: type) -> None:
    heat, occluding = np.array([[0.7, 0.69]], dtype=kind), np.array([[True, False]])
    assert precision(heat, occluding, 0.7).value == 0
    assert precision(heat, occluding, np.float64(0.7)).value == 0


def test_where_nothing_is_hot_precision_is_undefined_and_nothing_of_the_object_is_sensitive() -> None:
    heat, occluding = figure_4()
    assert covering(heat, occluding, 0.25) == Measure(0.0)
    same_text(precision(heat, occluding, 0.25).reason)
    assert precision(heat, occluding, 0.3).reason is not None, "hot is below the threshold, and not at it"


def test_where_no_patch_touches_the_object_covering_is_undefined_and_what_is_hot_is_off_it() -> None:
    heat, occluding = figure_4()
    assert precision(heat, occluding & False, 0.5) == Measure(0.0)
    same_text(covering(heat, occluding & False, 0.5).reason)


@pytest.mark.parametrize("measure", [precision, covering])
def test_shapes_that_differ_and_thresholds_that_are_none_are_refused(measure: Callable[..., Measure]) -> None:
    heat, occluding = figure_4()
    for other in (occluding[:-1], occluding[0]):
        with refused(DataError):
            measure(heat, other, 0.5)
    with refused(DataError):
        measure(heat[None], occluding[None], 0.5)
    with refused(ParameterError):
        measure(heat, occluding, 50)


def test_images_are_summed_up_over_those_where_it_is_defined() -> None:
    heat, occluding = figure_4()
    several = np.stack([heat, heat, np.full_like(heat, 0.9), heat])
    touching = np.stack([occluding, occluding & False, occluding, np.ones_like(occluding)])
    found = at_threshold(several, touching, 0.5)
    np.testing.assert_array_equal(found.precision.values, [5 / 9, 0, np.nan, 1])
    np.testing.assert_array_equal(found.covering.values, [5 / 30, np.nan, 0, 9 / 80])
    assert found.precision.mean.value == pytest.approx((5 / 9 + 1) / 3)
    assert (found.precision.minimum.value, found.precision.maximum.value) == (0, 1)
    assert (found.precision.n_defined, found.covering.n_defined) == (3, 3)
    same_text([*found.precision.undefined, *found.covering.undefined])
    assert [*found.precision.undefined.values(), *found.covering.undefined.values()] == [1, 1]


def test_an_image_without_a_mask_counts_nowhere_but_with_its_reason() -> None:
    heat, occluding = figure_4()
    several, touching = np.stack([heat] * 3), np.stack([occluding, occluding & False, occluding & False])
    found = at_threshold(several, touching, 0.5, why_not=["", "hidden by 'fog'", "hidden by 'fog'"])
    for measure, value in ((found.precision, 5 / 9), (found.covering, 5 / 30)):
        np.testing.assert_array_equal(measure.values, [value, np.nan, np.nan])
        assert measure.mean.value == measure.minimum.value == measure.maximum.value == value
        assert measure.undefined == {"hidden by 'fog'": 2}
    nobody = at_threshold(several[1:], touching[1:], 0.5, why_not=["hidden by 'fog'"] * 2)
    same_text(nobody.precision.mean.reason)


def test_of_no_image_nothing_is_defined() -> None:
    none = at_threshold(np.empty((0, 2, 2)), np.empty((0, 2, 2), dtype=bool), 0.5)
    assert none.precision.mean == none.covering.maximum == undefined("no images")
    assert none.precision.undefined == {}


def test_as_many_maps_as_images_are_asked_for() -> None:
    heat, occluding = figure_4()
    with refused(DataError):
        at_threshold(heat[None], np.stack([occluding] * 2), 0.5)
    with refused(DataError):
        at_threshold(heat[None], occluding[None], 0.5, why_not=[])


def test_a_curve_has_each_threshold_and_never_fewer_hot_positions() -> None:
    rng = np.random.default_rng(0)
    heat, occluding = rng.random((5, 4, 4)), rng.random((5, 4, 4)) < 0.5
    curve = over_thresholds(heat, occluding, LEVELS.tolist())
    assert [at.rho for at in curve] == LEVELS.tolist()
    for at in curve:
        assert at == at_threshold(heat, occluding, at.rho)
    covered = [at.covering.mean.value for at in curve]
    assert covered == sorted(covered)
    assert (covered[0], covered[-1]) == (0, 1)
    assert curve[0].precision.n_defined == 0


def test_extremes_are_of_what_is_defined() -> None:
    found = OverImages((undefined("why"), Measure(0.25), Measure(0.75)))
    assert (found.minimum.value, found.mean.value, found.maximum.value) == (0.25, 0.5, 0.75)
