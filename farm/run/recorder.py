"""What a run leaves: its readouts, taken down step by step, and the record that tells what made them."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from farm import registry
from farm.api import FAULT_MEASURES, NO_ANSWER, VALIDATION_FAULT, Monitor, Workload, plain_name
from farm.api.boxes import OF_BOXES, PREDICTED_BOX
from farm.errors import ComponentFailure, one_line, pass_on_ctrl_c
from farm.measures.calibration import brier_of, sums_of_squares
from farm.run.box_columns import box_columns, box_record
from farm.run.data_card import data_card
from farm.run.system import Step, SystemUnderTest
from farm.store import provenance
from farm.store.class_probabilities import probability_frame
from farm.store.full_disk import stop_where_full
from farm.store.logs import CONDITION
from farm.store.readouts import Readouts

_MEASURED = tuple(f"fault_{name}" for name in FAULT_MEASURES)
_INSTANCE_TYPES: Mapping[str, type] = {
    "position": np.int64,
    "id": np.str_,
    "workload": np.str_,
    "track": np.str_,
    "label": np.int64,
    "predicted": np.int64,
    "confidence": np.float64,
    "label_probability": np.float64,
    "brier": np.float64,
    "is_ood": np.bool_,
    "category": np.str_,
    "faultload": np.str_,
    "severity": np.float64,
    "episode": np.int64,
    **dict.fromkeys(_MEASURED, np.float64),
    "classifier_time_us": np.float64,
}
_ALARM_TYPES: Mapping[str, type] = {
    "position": np.int64,
    "id": np.str_,
    "monitor": np.str_,
    "score": np.float64,
    "alarm": np.bool_,
    "cancelled": np.bool_,
    "decision": np.int64,
    "monitor_time_us": np.float64,
}

CLOSE = 1e-6
MARGIN = 1e-5
"""A score this near its threshold, measured in the spread of the scores, may fall on the other side on
another machine or in another batch size. Such rows are counted."""


class _Columns:
    """Columns that grow by arrays: a frame a step would cost more than the classifier.

    `same` are the columns with one value in all rows.
    """

    def __init__(self, types: Mapping[str, type], **same: Any) -> None:
        self._types, self._same = types, same
        self._sizes: list[int] = []
        self._parts: list[Mapping[str, Any]] = []

    def add(self, n: int, **columns: Any) -> None:
        self._sizes.append(n)
        self._parts.append(columns)

    def frame(self) -> pd.DataFrame:
        return pd.DataFrame({name: self._column(name, kind) for name, kind in self._types.items()})

    def _column(self, name: str, kind: type) -> np.ndarray:
        if name in self._same:
            return np.full(sum(self._sizes), self._same[name])
        parts = [columns[name] for columns in self._parts]
        if parts and not isinstance(parts[0], np.ndarray):  # one value a step
            return np.repeat(np.array(parts), self._sizes)
        return np.concatenate([np.empty(0, kind), *parts])


class Recorder:
    """Collects the steps of a run into readouts.

    `classes` are the classifier's where the probability of each is to be kept.
    """

    def __init__(
        self, monitors: Iterable[str], layers: Iterable[str] = (), classes: Sequence[str] = ()
    ) -> None:
        self._instances = _Columns(_INSTANCE_TYPES)
        self._alarms = {name: _Columns(_ALARM_TYPES, monitor=name) for name in monitors}
        self._layers: dict[str, list[np.ndarray]] = {layer: [] for layer in layers}
        self._more: dict[str, list[np.ndarray]] = {}
        """Columns that not all runs have: of conditions, and of boxes."""
        self._classes = classes
        self._probabilities: list[np.ndarray] = []
        self._n = 0
        self.close_predictions = 0
        """Instances whose two likeliest classes are so close that another machine may swap them."""

    def add(self, step: Step) -> None:
        """Take down one step."""
        batch, seen, n = step.batch, step.observation, len(step.batch)
        position = np.arange(self._n, self._n + n)
        self._n += n
        if seen.probabilities.shape[1] > 1:
            second, first = np.partition(seen.probabilities, -2, axis=1)[:, -2:].T
            self.close_predictions += int((first - second < CLOSE).sum())
        self._instances.add(
            n,
            position=position,
            id=batch.ids,
            workload=batch.workload,
            track=batch.track,
            label=batch.labels,
            predicted=seen.predicted,
            confidence=seen.confidence,
            # What follows from these is computed of all at once, when the run is over.
            label_probability=seen.probabilities[np.arange(n), batch.labels],
            brier=sums_of_squares(seen.probabilities),
            is_ood=batch.is_ood,
            category=batch.category,
            faultload=batch.faultload,
            severity=batch.severity,
            episode=batch.episode,
            **{name: getattr(batch, name) for name in _MEASURED},
            classifier_time_us=step.classifier_nanoseconds / 1e3 / n,
        )
        for name, decision in step.decisions.items():
            self._alarms[name].add(
                n,
                position=position,
                id=batch.ids,
                score=decision.scores,
                alarm=decision.alarms,
                cancelled=decision.cancelled,
                decision=decision.decided,
                monitor_time_us=decision.nanoseconds / 1e3 / n,
            )
        boxes = box_columns(batch, seen)
        if position[0] and boxes.keys() != self._more.keys() & set(OF_BOXES):
            raise ComponentFailure(
                "the classifier gives boxes, or their spread, in some batches only; expected them in each, "
                "or in none"
            )
        conditions = {CONDITION.format(name): values for name, values in batch.conditions.items()}
        for column, values in (conditions | boxes).items():
            self._more.setdefault(column, []).append(values)
        if self._classes:
            self._probabilities.append(seen.probabilities.astype(np.float32))
        for layer, parts in self._layers.items():
            # One without places goes by its plain name, however it was to be pooled.
            parts.append(seen.activations[layer if layer in seen.activations else plain_name(layer)])

    def readouts(self, failed: Iterable[str] = ()) -> Readouts:
        """Put everything together; a monitor that failed half-way leaves no half of its rows."""
        more = {column: np.concatenate(parts) for column, parts in self._more.items()}
        instances = self._instances.frame().assign(**more)
        words = [column for column, values in more.items() if values.dtype.kind == "U"]
        for column in ("category", "faultload", *words):
            instances[column] = instances[column].where(instances[column] != "", None)
        known = instances["label_probability"].where(instances["label"] != NO_ANSWER)
        instances["label_probability"] = known
        instances["brier"] = brier_of(instances["brier"].to_numpy(), known.to_numpy())
        if self._classes:
            nothing = np.empty((0, len(self._classes)), np.float32)
            kept = probability_frame(np.concatenate([nothing, *self._probabilities]), self._classes)
            instances = pd.concat([instances, kept], axis=1)
        whole = [table.frame() for name, table in self._alarms.items() if name not in set(failed)]
        alarms = pd.concat([_Columns(_ALARM_TYPES).frame(), *whole], ignore_index=True)
        layers = {layer: np.concatenate(parts) for layer, parts in self._layers.items()}
        return Readouts(instances, alarms, layers=layers)


def run_record(
    workload: Workload,
    system: SystemUnderTest,
    monitors: Sequence[Monitor],
    readouts: Readouts,
    failed: Mapping[str, str],
    learned: Collection[str] = (),
) -> dict[str, Any]:
    """Put together what was run, on what, with what; `failed` gives the reasons of those that failed.

    `learned` are monitors that learn from outliers, or whose thresholds do.
    """
    classifier = system.classifier
    return {
        "workload": {
            "name": workload.name,
            "recipe": workload.recipe,
            "hash": workload.content_hash,
            "sizes": {split.name: len(split) for split in workload.splits},
            "notes": dict(workload.notes),
            "card": data_card(workload),
        },
        "classifier": {
            "name": classifier.name,
            "recipe": classifier.recipe,
            "trained_here": classifier.trained_here,
            "digest": classifier.digest,
            "engine": classifier.engine.record(),
            "nbytes": classifier.nbytes,
            "bare_time_us": _finite(system.bare_microseconds),
            "observing_time_us": _finite(system.observing_microseconds),
            **({"notes": dict(classifier.notes)} if classifier.notes else {}),
        },
        "classes": list(classifier.classes),
        **(box_record(workload.shape, classifier) if PREDICTED_BOX[0] in readouts.instances else {}),
        "monitors": [_monitor(m, system, readouts, failed.get(m.name)) | _rank(m, learned) for m in monitors],
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
        "notes": monitor.all_notes(),
        "calibration": {**monitor.calibration.record(), "held_out_acceptance": realised},
        "rows_near_threshold": int(near.sum()),
    }


def _rank(monitor: Monitor, learned: Collection[str]) -> dict[str, bool]:
    """Say whether it is ranked: what learned from outliers is not beside what saw ID data alone."""
    calibration = monitor._calibration
    by_outliers = calibration is not None and calibration.method == VALIDATION_FAULT
    return {"ranked": not (monitor.name in learned or monitor.needs.outliers or by_outliers)}


def cannot_tell(monitor: Monitor) -> str | None:
    """Say why a monitor cannot tell what its record has of it, if so: then it alone failed."""
    try:
        json.dumps([monitor.nbytes, monitor.all_notes()], allow_nan=False)
    except BaseException as error:  # noqa: BLE001 - whatever it raises is its own failure
        pass_on_ctrl_c(error)
        why = f"monitor '{monitor.name}' failed in its notes: {one_line(error)}"
        stop_where_full(why, error)
        return why
    return None


def spread(scores: np.ndarray) -> float:
    """Return the width of the middle half: a few absurd scores must not widen it."""
    low, high = np.percentile(scores, [25, 75]) if len(scores) else (0.0, 0.0)
    return max(float(high - low), float(np.finfo(np.float64).tiny))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
