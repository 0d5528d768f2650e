"""What a monitor did wrong on the instances that a criterion selects, so that a person can look at it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from farm.api.arrays import NO_ANSWER, BoolArray, IntArray
from farm.comparing.joint_tracks import task_of as task_of_counts
from farm.gate.measures import GATED
from farm.gate.selected import Selected
from farm.judging import Judgement, VerdictTable
from farm.measures.measure import Bounded
from farm.measures.oracle import OUTCOMES, OutcomeCodes
from farm.measures.per_class import per_label, per_predicted

Task: TypeAlias = Literal["specific", "overall"]
Kind: TypeAlias = Literal["missed", "false alarms"]
KINDS: tuple[Kind, ...] = ("missed", "false alarms")
WORST = 3
"""So many classes are named."""

_OF_COST = ("time", "bytes", "drift")
_OF_DETECTION = ("auroc", "ranking", "delay", "misses", "false_alarms")
NO_NAME = "no right answer"
_TOLD: Mapping[Task, Mapping[Kind, tuple[str, str]]] = {
    "specific": {
        "missed": ("OOD without an alarm", "specific_fnr"),
        "false alarms": ("ID with an alarm", "specific_fpr"),
    },
    "overall": {"missed": ("wrong and kept", "fnr"), "false alarms": ("right and cancelled", "fpr")},
}
"""What a mistake is, and which field of a class's result is the share of them."""


def task_of(measure: str) -> Task | None:
    """Say by which task a monitor's mistakes are told; a cost has none, nor has drift, nor the classifier.

    Examples
    --------
    >>> [task_of(name) for name in ("alarm_rate", "auroc", "residual_hazard", "monitor_time_us")]
    ['specific', 'specific', 'overall', None]
    """
    kind = GATED[measure].kind
    if kind in _OF_COST or not GATED[measure].of_monitors:
        return None
    return "specific" if kind in _OF_DETECTION or task_of_counts(measure) == "specific" else "overall"


@dataclass(frozen=True)
class Mistakes:
    """The selected instances of a run, in the stream's order, and what one monitor made of them."""

    task: Task
    classes: Sequence[str]
    table: VerdictTable = field(repr=False)
    judged: Judgement = field(repr=False)
    """What the monitor made of the table's instances."""

    @classmethod
    def of(cls, selected: Selected, monitor: str, task: Task) -> Mistakes:
        """Take them from the first run of a selection."""
        own = selected.runs[0]
        classes = own.run.notes.get("classes") or ()
        return cls(task, tuple(map(str, classes)), own.table, own.table.said[monitor])

    @property
    def outcomes(self) -> OutcomeCodes:
        """What became of each, by the task."""
        return self.judged.specific if self.task == "specific" else self.judged.overall

    def positions(self, kind: Kind, most: int) -> IntArray:
        """Return the places in the stream of the clearest mistakes by score; without scores, of the first."""
        wrong, score = np.flatnonzero(self._wrong(kind)), self.judged.score
        if score is not None:
            wrong = wrong[np.argsort(score[wrong] if kind == "missed" else -score[wrong], kind="stable")]
        return self.table.position[wrong][:most]

    def called(self, kind: Kind) -> str:
        """Say what a mistake of a kind is."""
        return _TOLD[self.task][kind][0]

    def number(self, kind: Kind) -> int:
        """How many there are."""
        return int(self._wrong(kind).sum())

    def worst(self, kind: Kind) -> list[tuple[str, int, Bounded]]:
        """Return the classes with the largest share of mistakes: name, instances, share.

        They are sorted by the lower end of the interval, so that a class of one image does not come first.
        Where no right answer remains for any, by what the classifier took them for.
        """
        label, predicted = (self.table.number(each) for each in (self.table.label, self.table.predicted))
        alarm, cancelled, is_ood = self.judged.alarm, self.judged.cancelled, self.table.is_ood
        should = self.judged.is_ood if self.task == "specific" else self.judged.should_cancel
        asked = should if kind == "missed" else ~should
        nameless = bool(asked.any()) and bool((label[asked] == NO_ANSWER).all())
        if nameless:
            by, results = predicted, per_predicted(predicted, alarm, cancelled, label=label, is_ood=is_ood)
        else:
            by, results = label, per_label(label, predicted, alarm, cancelled, is_ood=is_ood)
        found = []
        for result in results:
            share: Bounded = getattr(result, _TOLD[self.task][kind][1])
            if share.value.defined and share.value.value > 0:
                name = self._taken_for(NO_ANSWER, result.number) if nameless else self.name(result.number)
                found.append((name, int((asked & (by == result.number)).sum()), share))
        return sorted(found, key=lambda one: -one[2].low.value)[:WORST]

    def name(self, label: int) -> str:
        """Name a class."""
        if label == NO_ANSWER:
            return NO_NAME
        return self.classes[label] if 0 <= label < len(self.classes) else str(label)

    def captions(self, positions: IntArray) -> list[tuple[str, str, str]]:
        """Say of some instances what they are, what they were taken for, and by which fault they came."""
        # The instances are in the stream's order.
        rows = self.table.take(np.searchsorted(self.table.position, positions))
        faults = [None] * len(rows) if rows.faultload is None else rows.faultload.tolist()
        labels, predicted = (rows.number(each).tolist() for each in (rows.label, rows.predicted))
        return [
            (self.name(label), self._taken_for(label, taken_for), str(fault) if ood else "ID")
            for label, taken_for, fault, ood in zip(labels, predicted, faults, rows.is_ood, strict=True)
        ]

    def _taken_for(self, label: int, predicted: int) -> str:
        return "recognised" if label == predicted else f"taken for {self.name(predicted)}"

    def _wrong(self, kind: Kind) -> BoolArray:
        wrong: BoolArray = self.outcomes == OUTCOMES.index("fn" if kind == "missed" else "fp")
        return wrong
