"""A share along a stream: where its own value lies outside its bounds, that is told in their place."""

import numpy as np
import pytest

from farm.judging.along_stream import MOVED, share_of
from farm.measures import Measure, undefined
from farm.statistics.anytime import BettingSequence, RatioSequence


@pytest.mark.parametrize(("later", "times"), [(0, 185), (1, 90)])
def test_a_share_outside_its_own_bounds_has_none(later, times):
    """Most was seen while the share was another one; the bounds have not passed each other."""
    found = BettingSequence()
    found.add(np.arange(400) % 4 == 0)
    found.add(np.full(times, later))
    assert not found.moved
    assert not found.low <= found.mean <= found.high
    told = share_of(found)
    assert (told.value, told.low, told.high) == (Measure(found.mean), undefined(MOVED), undefined(MOVED))


def test_bounds_that_passed_each_other_are_none_even_where_the_value_is_between():
    found = RatioSequence(10)
    found.add(np.concatenate([np.tile([0, 2], 200), np.tile([8, 10], 200)]), np.full(800, 10))
    assert found.moved
    assert share_of(found).low == undefined(MOVED)


def test_an_estimate_beyond_what_can_be_is_told_as_the_end():
    class Beyond:
        n, mean, low, high, moved = 3, 1.2, 0.4, 1.0, False

    told = share_of(Beyond())
    assert (told.value, told.low, told.high) == (Measure(1.0), Measure(0.4), Measure(1.0))
