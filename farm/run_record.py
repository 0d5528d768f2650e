"""The record of a run: everything beside the readouts that a reader needs to trust or to repeat it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from farm import provenance, registry
from farm.api import Monitor, Workload
from farm.errors import one_line
from farm.full_disk import stop_where_full
from farm.readouts import Readouts
from farm.sut import SystemUnderTest

MARGIN = 1e-5
"""A score this near its threshold, measured in the spread of the scores, may fall on the other side on
another machine or in another batch size. Such rows are counted."""


def run_record(
    workload: Workload,
    system: SystemUnderTest,
    monitors: Sequence[Monitor],
    readouts: Readouts,
    failed: Mapping[str, str],
) -> dict[str, Any]:
    """Put together what was run, on what, with what; `failed` gives the reasons of those that failed."""
    classifier = system.classifier
    return {
        "workload": {
            "name": workload.name,
            "recipe": workload.recipe,
            "hash": workload.content_hash,
            "sizes": {split.name: len(split) for split in workload.splits},
            "notes": dict(workload.notes),
        },
        "classifier": {
            "name": classifier.name,
            "recipe": classifier.recipe,
            "digest": classifier.digest,
            "nbytes": classifier.nbytes,
            "bare_time_us": _finite(system.bare_microseconds),
            "observing_time_us": _finite(system.observing_microseconds),
        },
        "classes": list(classifier.classes),
        "monitors": [_monitor(m, system, readouts, failed.get(m.name)) for m in monitors],
        "versions": provenance.versions(),
        "hardware": provenance.hardware(),
        "peak_memory_bytes": provenance.peak_memory_bytes(),
        "testbed_commit": provenance.git_commit(registry.HOME),
    }


def _monitor(
    monitor: Monitor, system: SystemUnderTest, readouts: Readouts, failure: str | None
) -> dict[str, Any]:
    record: dict[str, Any] = {
        "name": monitor.name,
        "class": f"{type(monitor).__module__}:{type(monitor).__qualname__}",
        "parameters": monitor.parameters,
        "ranked": True,
        "yardstick": monitor.is_yardstick,
        "failure": failure,
    }
    if monitor.name in system.policies:
        record["policy"] = system.policies[monitor.name].recipe
    if monitor.name in system.fallbacks:
        record["fallback"] = system.fallbacks[monitor.name].record()
    if failure is not None:
        return record
    own = readouts.alarms[readouts.alarms["monitor"] == monitor.name]
    in_distribution = own[~readouts.instances["is_ood"].to_numpy()]
    realised = None if in_distribution.empty else float(1 - in_distribution["alarm"].mean())
    thresholds = monitor.calibration.thresholds(readouts.instances["predicted"].to_numpy())
    scores = own["score"].to_numpy()
    near = np.abs(scores - thresholds) <= MARGIN * spread(scores)
    return record | {
        "nbytes": monitor.nbytes,
        "own_forward_passes": monitor.own_passes,
        "notes": dict(monitor.notes()),
        "calibration": {**monitor.calibration.record(), "held_out_acceptance": realised},
        "rows_near_threshold": int(near.sum()),
    }


def cannot_tell(monitor: Monitor) -> str | None:
    """Say why a monitor cannot tell what its record has of it, if so: then it alone failed."""
    try:
        json.dumps([monitor.nbytes, dict(monitor.notes())], allow_nan=False)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever it raises is its own failure
        why = f"monitor '{monitor.name}' failed in its notes: {one_line(error)}"
        stop_where_full(why, error)
        return why
    return None


def spread(scores: np.ndarray) -> float:
    """Give the width of the middle half: a few absurd scores must not widen it."""
    low, high = np.percentile(scores, [25, 75]) if len(scores) else (0.0, 0.0)
    return max(float(high - low), float(np.finfo(np.float64).tiny))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
