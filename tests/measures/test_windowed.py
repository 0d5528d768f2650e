"""Windowed measures equal the measures of the latest instances."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from farm.measures import Counts, mcc
from farm.measures.windowed import Window
from farm.oracle import overall, tally


@given(st.integers(0, 10**6), st.lists(st.integers(1, 30), min_size=1, max_size=8), st.integers(1, 40))
def test_a_window_is_the_latest_instances(seed, batches, size):
    rng = np.random.default_rng(seed)
    n = sum(batches)
    label, predicted = rng.integers(-1, 3, n), rng.integers(0, 3, n)
    alarm, cancelled = rng.random((2, n)) < 0.4
    window = Window(size)
    start = 0
    for length in batches:
        part = slice(start, start + length)
        window.add(label[part], predicted[part], alarm[part], cancelled[part])
        start += length
    latest = slice(max(n - size, 0), n)
    counted = tally(overall(cancelled[latest], label[latest], predicted[latest]))
    expected = mcc(Counts(**counted))
    assert window.n == min(n, size)
    assert window.alarm_rate.value == alarm[latest].mean()
    assert window.overall_mcc.defined == expected.defined
    if expected.defined:
        assert window.overall_mcc.value == expected.value


def test_an_empty_window_says_so():
    assert Window(3).overall_mcc.reason == "no instances"
    assert Window(3).alarm_rate.reason == "no instances"
