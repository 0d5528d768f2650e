"""The instances of a run that a person should look at first, and what is to be said of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from farm.api import NO_ANSWER, Calibration, FloatArray
from farm.errors import ExperimentError, suggestion
from farm.judging.inspection import InspectedRun
from farm.store.readouts import Readouts

Shown: TypeAlias = Literal["missed", "cancelled", "ood", "id"]
SHOWN: tuple[Shown, ...] = get_args(Shown)
WORDS: Mapping[Shown, str] = {
    "missed": "wrong and accepted, the most trusted first",
    "cancelled": "right and cancelled, the most distrusted first",
    "ood": "OOD instances, the most trusted first",
    "id": "ID instances, the most distrusted first",
}


@dataclass(frozen=True)
class WorstInstances:
    """Some instances of a run, the worst first: their ids, how many there are in all, and captions."""

    monitor: str
    threshold: float | None
    """Above which a score is an alarm; None where each class has its own, or it is not told."""
    ids: tuple[str, ...]
    number: int
    captions: tuple[tuple[str, ...], ...]
    """Of each its class, what it was taken for, how surely, the score, and where it comes from."""


def worst(readouts: Readouts, shown: Shown, n: int, monitor: str | None = None) -> WorstInstances:
    """Return the worst `n` instances of a kind, by how far the score of a monitor is from its threshold.

    Of equal scores those come first of which the classifier is surest. Without a name, the monitor is the
    only one that is no yardstick.
    """
    run = InspectedRun.of(readouts)
    table = run.table
    run.check_known(f"--images {shown}", "label" if shown in ("missed", "cancelled") else "is_ood")
    name = _chosen(run, monitor)
    judged = table.said[name]
    kinds = {
        "missed": judged.should_cancel & ~judged.cancelled,
        "cancelled": ~judged.should_cancel & judged.cancelled,
        "ood": table.is_ood,
        "id": ~table.is_ood,
    }
    rows = np.flatnonzero(kinds[shown])
    predicted, label = table.number(table.predicted), table.number(table.label)
    margin: FloatArray = np.zeros(len(table)) if judged.score is None else judged.score
    calibration = _calibration(readouts, name)
    if calibration is not None:
        margin = margin - calibration.thresholds(predicted)
    upwards = margin if shown in ("missed", "ood") else -margin
    surest = np.zeros(len(table)) if table.confidence is None else -table.confidence
    rows = rows[np.lexsort((surest[rows], upwards[rows]))]
    told = table.take(rows[:n])

    def called(number: int) -> str:
        return str(run.classes[number]) if 0 <= number < len(run.classes) else str(number)

    def caption(i: int, row: int) -> tuple[str, ...]:
        right = int(label[row])
        taken = "recognised" if predicted[row] == right else f"taken for {called(int(predicted[row]))}"
        lines = ["no right answer" if right == NO_ANSWER else called(right), taken]
        if told.confidence is not None:
            lines.append(f"confidence {told.confidence[i]:.3f}")
        if judged.score is not None:
            lines.append(f"score {judged.score[row]:.4g}, {'alarm' if judged.alarm[row] else 'no alarm'}")
        fault = "OOD" if told.faultload is None else str(told.faultload[i])
        level = np.nan if told.severity is None else told.severity[i]
        lines.append(
            (fault if np.isnan(level) else f"{fault}, severity {level:g}") if table.is_ood[row] else "ID"
        )
        return tuple(lines)

    captions = tuple(caption(i, row) for i, row in enumerate(rows[:n].tolist()))
    one = calibration is not None and calibration.per_class is None
    threshold = calibration.threshold if calibration and one else None
    return WorstInstances(name, threshold, tuple(told.id), len(rows), captions)


def _chosen(run: InspectedRun, monitor: str | None) -> str:
    said = run.table.said
    if monitor is None:
        names = [name for name in said if name not in run.yardsticks]
        if len(names) == 1:
            return names[0]
        raise ExperimentError(
            f"--images: the run has {len(names)} monitors ({', '.join(names)}); choose one: --monitor NAME"
        )
    if monitor not in said:
        raise ExperimentError(f"--monitor '{monitor}' is not in the run; {suggestion(monitor, said)}")
    return monitor


def _calibration(readouts: Readouts, monitor: str) -> Calibration | None:
    notes = {note["name"]: note for note in readouts.run.get("monitors") or ()}
    record = notes.get(monitor, {}).get("calibration")
    return Calibration.from_record(record) if record else None
