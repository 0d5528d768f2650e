"""Page-Hinkley and ADWIN alarm where river's do, value for value, and begin anew where these do."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from river import drift

from farm.api.changes import Adwin, ChangeDetector, PageHinkley


def streams() -> Iterator[np.ndarray]:
    """Return shares, means that jump, spreads that grow, walks, constants, and many short regimes."""
    chance = np.random.default_rng(0)
    yield np.repeat([0.1, 0.3, 0.1], [3000, 1000, 2000]) > chance.random(6000)
    yield chance.normal(np.repeat([0.0, 0.5, 0.5], 1500), np.repeat([1.0, 1.0, 3.0], 1500))
    yield 1000 * chance.normal(np.repeat([0.0, 0.5], 1500))
    yield np.cumsum(chance.normal(0, 0.05, 4000))
    yield np.repeat([0.0, 1.0], 300)
    for _ in range(10):
        lengths = chance.integers(50, 800, 8)
        yield chance.normal(np.repeat(chance.normal(0, 0.6, 8), lengths))


def theirs(detector: Any, values: np.ndarray) -> list[int]:
    found = []
    for i, value in enumerate(values.tolist()):
        detector.update(float(value))
        if detector.drift_detected:
            found.append(i)
    return found


def ours(detector: ChangeDetector[float], values: np.ndarray, limit: float) -> list[int]:
    return np.flatnonzero(detector.along(values.astype(float), limit) > limit).tolist()


@pytest.mark.parametrize(
    ("own", "named"),
    [
        ({}, {}),
        ({"delta": 0.05, "clock": 1}, {"delta": 0.05, "clock": 1}),
        (
            {"buckets": 2, "fewest": 10, "grace": 50, "clock": 8},
            {"max_buckets": 2, "min_window_length": 10, "grace_period": 50, "clock": 8},
        ),
    ],
)
def test_adwin_alarms_where_river_does(own, named) -> None:
    limit, alarms = math.log(1 / own.get("delta", 0.002)), 0
    for values in streams():
        expected = theirs(drift.ADWIN(**named), values)
        assert ours(Adwin(direction="both", **own), values, limit) == expected
        alarms += len(expected)
    assert alarms > 50


@pytest.mark.parametrize(
    ("own", "named", "limit"),
    [
        ({"direction": "both"}, {}, 50.0),
        (
            {"direction": "up", "fewest": 10, "delta": 0.1},
            {"mode": "up", "min_instances": 10, "delta": 0.1, "threshold": 5.0},
            5.0,
        ),
        ({"direction": "down", "alpha": 0.99}, {"mode": "down", "alpha": 0.99, "threshold": 8.0}, 8.0),
    ],
)
def test_page_hinkley_alarms_where_river_does(own, named, limit: float) -> None:
    alarms = 0
    for values in streams():
        expected = theirs(drift.PageHinkley(**named), values)
        assert ours(PageHinkley(**own), values, limit) == expected
        alarms += len(expected)
    assert alarms > 20
