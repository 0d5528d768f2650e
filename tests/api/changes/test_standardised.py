"""Detectors in units of a reference: what they learned, and values that no square could hold."""

from __future__ import annotations

import numpy as np
import pytest

from farm.api.changes import Adwin, Cusum, Ewma, PageHinkley, Standardised

QUIET = np.random.default_rng(0).normal(10.0, 2.0, 400)


def test_values_are_in_standard_deviations_of_the_reference() -> None:
    stream = np.random.default_rng(1).normal(11.0, 2.0, 100)
    expected = Cusum(mean=float(QUIET.mean()), sd=float(QUIET.std())).along(stream)
    assert Standardised(Cusum(), QUIET).along(stream) == pytest.approx(expected)


@pytest.mark.parametrize("detector", [Cusum(), Ewma(), PageHinkley(), Adwin(clock=1)])
def test_a_value_without_bounds_is_a_number_still(detector) -> None:
    for history in (0, 300):
        found = Standardised(detector, QUIET, history=history).along([1e300, -1e300, 1e300] * 20)
        assert np.isfinite(found).all()


@pytest.mark.parametrize("detector", [PageHinkley(), Adwin(clock=4)])
def test_what_learned_from_a_history_sees_a_stream_that_has_changed_before_it_began(detector) -> None:
    stream = np.random.default_rng(2).normal(14.0, 2.0, 100)
    blind, seeing = (Standardised(detector, QUIET, history=n).along(stream).max() for n in (0, 300))
    assert seeing > blind + 3


@pytest.mark.parametrize("detector", [PageHinkley(fewest=1), Adwin(clock=1, delta=1e-9)])
def test_what_was_learned_is_no_change_however_it_looks(detector) -> None:
    rising = Standardised(detector, np.sort(QUIET), history=300).follow(10.0)
    assert rising < Standardised(detector, QUIET, history=300).follow(10.0) + 1
    detector.forget()
    assert detector.along((np.sort(QUIET)[:300] - 10) / 2).max() > 10


def test_to_forget_is_to_learn_anew() -> None:
    one = Standardised(Adwin(clock=4), QUIET, history=300)
    first = one.along(QUIET + 1)
    one.forget()
    assert np.array_equal(one.along(QUIET + 1), first)
