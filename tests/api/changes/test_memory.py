"""Along a stream without an end, detectors take no more memory, and cost about as much for each value."""

from __future__ import annotations

import math
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest

from farm.api.changes import Adwin, Conformal, Cusum, Discrepancy, Ewma, Martingale, PageHinkley

CHANCE = np.random.default_rng(0)
VALUES = CHANCE.normal(size=5000)
ROWS = CHANCE.normal(size=(5000, 4))
DETECTORS = {
    "cusum": (Cusum(), VALUES, 1_000_000),
    "ewma": (Ewma(), VALUES, 1_000_000),
    "page-hinkley": (PageHinkley(), VALUES, 1_000_000),
    "adwin": (Adwin(), VALUES, 100_000),
    "martingale": (Conformal(VALUES[:300], Martingale(), seed=0), VALUES, 100_000),
    "discrepancy": (Discrepancy(ROWS[:50], window=20), ROWS, 200_000),
}


@pytest.mark.parametrize("name", DETECTORS)
def test_memory_stays_the_same(name: str) -> None:
    detector, values, n = DETECTORS[name]
    used = []
    rounds = n // len(values)
    for number in range(rounds):
        # To trace each of a million values takes long: only what is new in the last tenth of the stream.
        if number == 9 * rounds // 10:
            tracemalloc.start()
        detector.along(values)
        if tracemalloc.is_tracing():
            used.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert max(used) - used[0] < 20_000


def test_the_window_of_adwin_takes_the_logarithm_of_its_length() -> None:
    detector, buckets = Adwin(), []
    for n in (1000, 10_000, 100_000):
        detector.along(np.resize(VALUES, n - detector.width))
        assert detector.width == n
        buckets.append(sum(map(len, detector._rows)))
    assert max(buckets) <= 6 * math.log2(100_000)
    assert all(later - sooner < 6 * math.log2(10) + 6 for sooner, later in pairwise(buckets))


def test_a_long_window_of_adwin_still_has_the_sums_of_its_values() -> None:
    detector = Adwin(delta=1e-9)
    values = np.resize(VALUES, 20_000)
    detector.along(values)
    assert detector.width == 20_000
    assert detector._total == pytest.approx(values.sum())
    assert detector._squares == pytest.approx(values.var() * 20_000)
    sizes = [2**i for i, row in enumerate(detector._rows) for _ in row]
    assert sum(sizes) == 20_000
    detector.along(values[:4000] + 3)
    kept = np.concatenate([values, values[:4000] + 3])[-detector.width :]
    assert detector.width < 20_000
    assert detector._total == pytest.approx(kept.sum())
    assert detector._squares == pytest.approx(kept.var() * len(kept))
