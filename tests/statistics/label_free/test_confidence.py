"""Estimates from confidences: by hand, as published, and draws against instances repeated."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farm.statistics.label_free.confidence import accuracy, by_difference, thresholded
from farm.statistics.label_free.samples import SampleGroups
from tests.wording import same_text

METHODS = {"thresholded": thresholded, "by difference": by_difference}


def alone(n, m):
    return SampleGroups.of(np.arange(n), np.arange(m))


def as_published(confidence, right, target):
    """Search for the threshold as Garg et al. do in their code, and count what lies above it.

    Theirs is the last confidence that is to lie below, and counts what equals it for right: one instance.
    """
    order = np.argsort(confidence)
    fp, fn = np.count_nonzero(~right), 0
    best, threshold = abs(fp - fn), 0.0
    for sure, was_right in zip(confidence[order], right[order], strict=True):
        fp, fn = fp - (not was_right), fn + was_right
        if abs(fp - fn) < best:
            best, threshold = abs(fp - fn), sure
    return np.mean(target > threshold)


@pytest.mark.parametrize("seed", range(5))
def test_it_is_as_published(seed):
    random = np.random.default_rng(seed)
    sure, target = random.random(400), random.random(300) ** (1 + seed)
    right = random.random(400) < sure
    found = thresholded(sure, right, target, alone(400, 300)).value.value
    assert found == pytest.approx(as_published(sure, right, target), abs=1e-12)


def test_a_tie_at_the_threshold_counts_in_part():
    """Two of five are wrong; one lies below 0.5, so that a half of the two at 0.5 counts as wrong."""
    sure, right = np.array([0.2, 0.5, 0.5, 0.8, 0.9]), np.array([0, 0, 1, 1, 1], dtype=bool)
    found = thresholded(sure, right, np.array([0.1, 0.4, 0.5, 0.5, 0.5, 0.7, 0.7, 1.0]), alone(5, 8))
    assert found.value.value == pytest.approx(1 - (2 + 3 / 2) / 8)


samples = st.lists(st.tuples(st.integers(0, 6), st.booleans(), st.integers(0, 4)), min_size=2, max_size=25)


@given(samples)
def test_on_the_reference_itself_each_gives_its_accuracy(drawn):
    sure, right, _ = (np.array(column) for column in zip(*drawn, strict=True))
    groups = alone(len(sure), len(sure))
    for method in METHODS.values():
        found = method(sure / 6, right, sure / 6, groups).value
        if found.defined:
            assert found.value == pytest.approx(right.mean(), abs=1e-12)


@given(samples, samples, st.lists(st.integers(0, 3), min_size=10, max_size=10))
def test_a_group_that_is_drawn_twice_counts_as_two(first, second, times):
    """Draws are what the same method says of a sample in which each group comes so many times."""
    (here, right, track), (there, truth, others) = (
        [np.array(column) for column in zip(*drawn, strict=True)] for drawn in (first, second)
    )
    groups = SampleGroups.of(track, others)
    weights = np.array([times[: groups.n]], dtype=np.float64)
    often, often_there = (weights[0, code].astype(int) for code in (groups.reference, groups.target))
    again, right_again = np.repeat(here, often) / 6, np.repeat(right, often)
    there_again, truth_again = np.repeat(there, often_there) / 6, np.repeat(truth, often_there)
    if not len(again) or not len(there_again):
        return
    apart = alone(len(again), len(there_again))
    for method in METHODS.values():
        drawn = method(here / 6, right, there / 6, groups).draw(weights)[0]
        whole = method(again, right_again, there_again, apart).value
        if whole.defined:
            assert np.isnan(drawn) or drawn == pytest.approx(whole.value, abs=1e-9)
            assert not method(here / 6, right, there / 6, groups).value.defined or not np.isnan(drawn)
    own = accuracy(truth, groups.target, groups)
    assert own.value.value == pytest.approx(truth.mean())
    assert own.draw(weights)[0] == pytest.approx(truth_again.mean())


def test_draws_of_many_confidences_are_all_but_exact():
    random = np.random.default_rng(0)
    sure, right, target = random.random(3000), random.random(3000) < 0.7, random.random(2000) ** 2
    found = thresholded(sure, right, target, groups := SampleGroups.of(np.arange(3000), np.arange(2000)))
    assert groups.n == 1000  # 500 of each sample
    assert found.draw(np.ones((1, groups.n)))[0] == pytest.approx(found.value.value, abs=1 / 256)


def test_the_difference_of_confidences_stays_an_accuracy():
    right = np.array([True, False])
    for sure, target, expected in (([0.9, 1.0], [0.0], 0.0), ([0.1, 0.0], [1.0], 1.0)):
        found = by_difference(np.array(sure), right, np.array(target), alone(2, 1))
        assert found.value.value == expected


@pytest.mark.parametrize("method", METHODS)
def test_what_tells_nothing_is_undefined(method):
    sure, right = np.array([0.4, 0.6, 0.9]), np.array([True, False, True])
    groups = alone(3, 3)
    cases = [
        ("the log has no confidence", right, sure),
        (sure, right, "the log has no confidence"),
        (np.full(3, 0.5), right, sure),
        (sure, right, np.full(3, 0.5)),
        (sure, np.ones(3, dtype=bool), sure),
        (sure, np.zeros(3, dtype=bool), sure),
        (sure, right, np.array([0.5, 3.5, 1.0])),
    ]
    found = [METHODS[method](*case, groups) for case in cases]
    assert all(np.isnan(one.draw(np.ones((2, 6)))).all() for one in found if not one.value.defined)
    same_text(one.value.reason or "an estimate" for one in found)
