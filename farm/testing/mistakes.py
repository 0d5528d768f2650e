"""What a monitor did wrong on the instances that a criterion selects, so that a person can look at it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd

from farm import oracle
from farm.api.arrays import NO_ANSWER, BoolArray, IntArray
from farm.check.measures import GATED
from farm.check.selected import Selected
from farm.measures.bounded import Bounded
from farm.measures.per_class import ClassResult, per_label, per_predicted

Task: TypeAlias = Literal["specific", "overall"]
Kind: TypeAlias = Literal["missed", "false alarms"]
KINDS: tuple[Kind, ...] = ("missed", "false alarms")
WORST = 3
"""So many classes are named."""

_OF_COST = ("time", "bytes")
_OF_DETECTION = ("auroc", "ranking", "delay", "misses", "false_alarms")
NO_NAME = "no right answer"
_CALLED: Mapping[Task, Mapping[Kind, str]] = {
    "specific": {"missed": "OOD without an alarm", "false alarms": "ID with an alarm"},
    "overall": {"missed": "wrong and kept", "false alarms": "right and cancelled"},
}


def task_of(measure: str) -> Task | None:
    """Say by which task a measure's mistakes are told; a cost has none.

    Examples
    --------
    >>> task_of("specific.fpr"), task_of("auroc"), task_of("residual_hazard"), task_of("monitor_time_us")
    ('specific', 'specific', 'overall', None)
    """
    kind = GATED[measure].kind
    if kind in _OF_COST:
        return None
    return "specific" if kind in _OF_DETECTION or measure.startswith("specific.") else "overall"


@dataclass(frozen=True)
class Mistakes:
    """The selected instances of a run, in the stream's order, and what one monitor made of them."""

    task: Task
    classes: Sequence[str]
    rows: pd.DataFrame = field(repr=False)
    """Of the instances: position, label, predicted, is_ood, faultload; with the monitor's alarm, cancelled
    and, where it has one, score."""

    @classmethod
    def of(cls, selected: Selected, monitor: str, task: Task) -> Mistakes:
        """Take them from the first run of a selection."""
        own = selected.runs[0]
        alarms = own.alarms(monitor)
        said = {name: alarms[name].to_numpy() for name in ("alarm", "cancelled", "score") if name in alarms}
        said.setdefault("cancelled", said["alarm"])
        classes = own.run.readouts.run.get("classes") or ()
        return cls(task, tuple(map(str, classes)), own.instances.assign(**said))

    @property
    def counts(self) -> dict[str, int]:
        """How many of each outcome there are."""
        return oracle.tally(oracle.outcomes(self._should, self._did))

    def positions(self, kind: Kind, most: int) -> IntArray:
        """Give the places in the stream of the clearest mistakes by score; without scores, of the first."""
        wrong = self.rows[self._wrong(kind)]
        if "score" in wrong:
            wrong = wrong.sort_values("score", ascending=kind == "missed", kind="stable")
        return wrong["position"].to_numpy(np.int64)[:most]

    def called(self, kind: Kind) -> str:
        """Say what a mistake of a kind is."""
        return _CALLED[self.task][kind]

    def number(self, kind: Kind) -> int:
        """How many there are."""
        return int(self._wrong(kind).sum())

    def worst(self, kind: Kind) -> list[tuple[str, int, Bounded]]:
        """Give the classes with the largest share of mistakes: name, instances, share.

        They are sorted by the lower end of the interval, so that a class of one image does not come first.
        Where no right answer remains for any, by what the classifier took them for.
        """
        label, predicted = self._codes("label"), self._codes("predicted")
        alarm, cancelled = self._flags("alarm"), self._flags("cancelled")
        is_ood = self._flags("is_ood")
        asked = self._should if kind == "missed" else ~self._should
        nameless = bool(asked.any()) and bool((label[asked] == NO_ANSWER).all())
        if nameless:
            results = per_predicted(predicted, alarm, cancelled, label=label, is_ood=is_ood)
        else:
            results = per_label(label, predicted, alarm, cancelled, is_ood=is_ood)
        by = predicted if nameless else label
        found = []
        for result in results:
            share = self._share(result, kind)
            if share.value.defined and share.value.value > 0:
                number = result.number
                name = self._taken_for(NO_ANSWER, number) if nameless else self.name(number)
                found.append((name, int((asked & (by == number)).sum()), share))
        return sorted(found, key=lambda one: -one[2].low.value)[:WORST]

    def name(self, label: int) -> str:
        """Name a class."""
        if label == NO_ANSWER:
            return NO_NAME
        return self.classes[label] if 0 <= label < len(self.classes) else str(label)

    def captions(self, positions: IntArray) -> list[tuple[str, str, str]]:
        """Say of some instances what they are, what they were taken for, and by which fault they came."""
        rows = self.rows.set_index("position").loc[positions]
        faults = rows["faultload"] if "faultload" in rows else pd.Series(None, rows.index, dtype=object)
        return [
            (self.name(label), self._taken_for(label, predicted), str(fault) if ood else "ID")
            for label, predicted, fault, ood in zip(
                rows["label"].tolist(), rows["predicted"].tolist(), faults, rows["is_ood"], strict=True
            )
        ]

    def _taken_for(self, label: int, predicted: int) -> str:
        return "recognised" if label == predicted else f"taken for {self.name(predicted)}"

    def _share(self, result: ClassResult, kind: Kind) -> Bounded:
        if self.task == "specific":
            return result.specific_fnr if kind == "missed" else result.specific_fpr
        return result.fnr if kind == "missed" else result.fpr

    def _wrong(self, kind: Kind) -> BoolArray:
        missed: BoolArray = self._should & ~self._did
        return missed if kind == "missed" else ~self._should & self._did

    @property
    def _should(self) -> BoolArray:
        if self.task == "specific":
            return self._flags("is_ood")
        return oracle.should_be_cancelled(self._codes("label"), self._codes("predicted"))

    @property
    def _did(self) -> BoolArray:
        return self._flags("alarm" if self.task == "specific" else "cancelled")

    def _codes(self, column: str) -> IntArray:
        return self.rows[column].to_numpy(np.int64)

    def _flags(self, column: str) -> BoolArray:
        return self.rows[column].to_numpy(np.bool_)
