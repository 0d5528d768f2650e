"""The main measures of a run as a baseline's file tells them: for people, and for the diff of a review."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from farm.comparison.measures import measured
from farm.comparison.sections import Standing, section
from farm.comparison.sets import benchmark_sets
from farm.measures import Measure
from farm.readouts import Readouts
from farm.statistics.bootstrap import REPLICATES

MEASURES = (
    "overall.mcc",
    "overall.fpr",
    "overall.fnr",
    "specific.mcc",
    "specific.fpr",
    "specific.fnr",
    "coverage",
    "residual_hazard",
    "auroc",
)
LEVEL, DIGITS = 0.95, 4
"""An interval's level, and the decimals of all numbers."""


def summary(run: Readouts, monitors: Sequence[str]) -> dict[str, Any]:
    """Give each benchmark set's measures, monitor by monitor, with the intervals of `farm compare`."""
    told: dict[str, Any] = {}
    for one in benchmark_sets([run]):
        scored = any(one.streams[0].said[name].score is not None for name in monitors)
        names = [name for name in MEASURES if scored or name != "auroc"]
        found = {
            name: section(
                one.name, [one], measured(name), monitors, alpha=1 - LEVEL, replicates=REPLICATES, seed=0
            )
            for name in names
        }
        by_monitor: dict[str, dict[str, Any]] = {name: {} for name in monitors}
        for name, own in found.items():
            for standing in own.standings:
                reason = one.cell(measured(name), standing.monitor).reason
                by_monitor[standing.monitor][name] = dict(_entry(standing, reason))
        told[one.name] = by_monitor
    return told


def _entry(standing: Standing, reason: str | None) -> Iterator[tuple[str, float | str]]:
    if not standing.value.defined:
        yield "undefined", str(reason)
        return
    yield "value", _rounded(standing.value)
    if standing.low.defined and standing.high.defined:
        yield "low", _rounded(standing.low)
        yield "high", _rounded(standing.high)
    else:
        yield "no_interval", str(standing.low.reason)


def _rounded(measure: Measure) -> float:
    return round(measure.value, DIGITS) + 0.0  # -0.0 is no other number
