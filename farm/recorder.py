"""Takes down what happens in a run, and makes readouts of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from farm.api import FAULT_MEASURES
from farm.readouts import Readouts
from farm.sut import Step

_MEASURED = tuple(f"fault_{name}" for name in FAULT_MEASURES)
_INSTANCE_TYPES: Mapping[str, type] = {
    "position": np.int64,
    "id": np.str_,
    "workload": np.str_,
    "track": np.str_,
    "label": np.int64,
    "predicted": np.int64,
    "confidence": np.float64,
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


class _Table:
    """Columns that grow by arrays: a frame a step would cost more than the classifier.

    `same` are the columns with one value in all rows.
    """

    def __init__(self, types: Mapping[str, type], **same: Any) -> None:
        self._types, self._same, self._n = types, same, 0
        self._parts: dict[str, list[np.ndarray]] = {
            name: [np.empty(0, t)] for name, t in types.items() if name not in same
        }

    def add(self, n: int, **columns: Any) -> None:
        self._n += n
        for name, parts in self._parts.items():
            values = columns[name]
            parts.append(values if isinstance(values, np.ndarray) else np.full(n, values))

    def frame(self) -> pd.DataFrame:
        filled = {name: np.full(self._n, value) for name, value in self._same.items()}
        grown = {name: np.concatenate(parts) for name, parts in self._parts.items()}
        return pd.DataFrame({name: (filled | grown)[name] for name in self._types})


class Recorder:
    """Collects the steps of a run into readouts."""

    def __init__(self, monitors: Iterable[str], layers: Iterable[str] = ()) -> None:
        self._instances = _Table(_INSTANCE_TYPES)
        self._alarms = {name: _Table(_ALARM_TYPES, monitor=name) for name in monitors}
        self._layers: dict[str, list[np.ndarray]] = {layer: [] for layer in layers}
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
        for layer, parts in self._layers.items():
            parts.append(seen.activations[layer])

    def readouts(self, failed: Iterable[str] = ()) -> Readouts:
        """Put everything together; a monitor that failed half-way leaves no half of its rows."""
        instances = self._instances.frame()
        for column in ("category", "faultload"):
            instances[column] = instances[column].where(instances[column] != "", None)
        whole = [table.frame() for name, table in self._alarms.items() if name not in set(failed)]
        alarms = pd.concat([_Table(_ALARM_TYPES).frame(), *whole], ignore_index=True)
        layers = {layer: np.concatenate(parts) for layer, parts in self._layers.items()}
        return Readouts(instances, alarms, layers=layers)
