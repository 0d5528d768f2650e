"""One run's instances and what every monitor said of them, as arrays in one order, made once.

Readouts come as tables of pandas, in any order. Here they become arrays, and whatever judges, compares or
checks monitors reads these: nothing after this module looks at a frame's rows again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from farm.api.arrays import NO_ANSWER, BoolArray, FloatArray, IntArray, StrArray
from farm.errors import DataError
from farm.judging.boxes import boxes_of
from farm.judging.notes import failures, image_size, number_of_classes, promised_conditions, why_not_judged
from farm.judging.verdicts import Truth, Verdicts, decisions, truth, verdicts
from farm.measures.boxes import Boxes
from farm.measures.oracle import ORACLE, OutcomeCodes, outcomes
from farm.measures.parts import Partition, partition
from farm.measures.tally import system_outcome
from farm.store.logs import CONDITION

NO_GROUPS = Partition((), ())


@dataclass(frozen=True, eq=False)
class Judgement:
    """One monitor's alarms and decisions on a table's instances, beside what they are judged by."""

    alarm: BoolArray
    cancelled: BoolArray
    decided: BoolArray
    """Where a decision was acted upon: one that was accepted, or a fallback's."""
    right: BoolArray
    """Where that one was right."""
    is_ood: BoolArray
    should_cancel: BoolArray
    """Where the classifier that it watched was wrong; a baseline's may be another than the table's."""
    decision: IntArray | None = None
    """The code of the class acted upon, -1 where none; None where nothing takes a cancelled one's place."""
    score: FloatArray | None = None
    time_us: FloatArray | None = None
    has_all_scores: bool = False
    """Whether each instance of the whole run has a score."""

    @classmethod
    def of(cls, said: Verdicts, known: Truth) -> Judgement:
        """Judge what one monitor said, its classes as codes, by what is known of the same instances."""
        outcome = said.decision
        if outcome is None:
            outcome = system_outcome(known.predicted, said.cancelled)
        decided = outcome != NO_ANSWER
        return cls(
            alarm=said.alarm,
            cancelled=said.cancelled,
            decided=decided,
            right=decided & (outcome == known.label),
            is_ood=known.is_ood,
            should_cancel=known.should_cancel,
            decision=said.decision,
            score=said.score,
            time_us=said.time_us,
            has_all_scores=said.score is not None and not np.isnan(said.score).any(),
        )

    @cached_property
    def specific(self) -> OutcomeCodes:
        """The outcomes of the alarms as OOD detection."""
        return outcomes(self.is_ood, self.alarm)

    @cached_property
    def overall(self) -> OutcomeCodes:
        """The outcomes of cancelling decisions, or not."""
        return outcomes(self.should_cancel, self.cancelled)

    @cached_property
    def consequences(self) -> IntArray:
        """What became of each decision: 0 none was acted upon, 1 a wrong one, 2 a right one.

        Where the classifier is wrong it is 3 more.
        """
        return 3 * self.should_cancel.astype(np.int64) + self.decided + self.right

    @property
    def scores(self) -> FloatArray | None:
        """The scores; None where one of the run's is missing."""
        return self.score if self.has_all_scores else None

    def take(self, rows: NDArray[Any]) -> Judgement:
        """Return the judgement of some instances, by their numbers or a mask."""
        return replace(self, **_columns(self, rows))


class TakenJudgements(Mapping[str, Judgement]):
    """What monitors said of some rows, taken when it is asked for: a run's groups share most of theirs."""

    def __init__(self, said: Mapping[str, Judgement], rows: NDArray[Any]) -> None:
        self._said, self._rows = said, rows

    def __getitem__(self, monitor: str) -> Judgement:
        return self._said[monitor].take(self._rows)

    def __contains__(self, monitor: object) -> bool:
        return monitor in self._said

    def __iter__(self) -> Iterator[str]:
        return iter(self._said)

    def __len__(self) -> int:
        return len(self._said)


@dataclass(frozen=True, eq=False)
class VerdictTable(Truth):
    """What is known of a run's instances, or of some of them, and what each monitor said."""

    said: Mapping[str, Judgement] = field(default_factory=dict)
    """By monitor; those that failed said nothing."""
    confidence: FloatArray | None = None
    label_probability: FloatArray | None = None
    """Of the right class."""
    brier: FloatArray | None = None
    """The classifier's Brier scores, summed over classes; NaN where none is known."""
    boxes: Boxes | None = None
    """What it says of where the objects are; None where it says nothing of that."""
    image_size: tuple[int, int] | None = None
    """Height and width of the images that boxes lie in; None where that is not known."""
    classifier_classes: int | None = None
    """How many classes the classifier tells apart; None where that is not known."""
    named_id: NDArray[np.object_] | pd.api.extensions.ExtensionArray | None = None
    """As pandas holds them: judging alone never looks at ids, and to take out a million costs a second."""
    named_track: NDArray[np.object_] | None = None
    faultload: NDArray[np.object_] | None = None
    """These as they were given, None where an instance has none; None where the readouts do not tell."""
    conditions: Mapping[str, NDArray[np.object_]] = field(default_factory=dict)
    """Those that a monitor's guarantee is by, as far as the readouts tell them."""
    severity: FloatArray | None = None
    row: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """Each instance's number in the table of the whole run."""
    run: int = 0
    """The run's number where several are compared: tables of one run share their ID instances."""
    partition: Partition = NO_GROUPS
    """The groups of a whole run; none where only some of its instances are here."""

    @classmethod
    def of(
        cls, instances: pd.DataFrame, alarms: pd.DataFrame, run: Mapping[str, Any], number: int = 0
    ) -> VerdictTable:
        """Align what monitors said with the instances; monitors that failed are left out.

        Examples
        --------
        >>> instances = pd.DataFrame({"position": [0, 1], "label": [4, -1], "predicted": [4, 7]})
        >>> alarms = pd.DataFrame({"position": [1, 0], "monitor": "odin", "alarm": [True, False]})
        >>> table = VerdictTable.of(instances.assign(is_ood=[False, True]), alarms, {})
        >>> table.said["odin"].alarm.tolist(), table.take(table.is_ood).said["odin"].right.tolist()
        ([False, True], [False])
        """
        if why_not := why_not_judged(run):
            where = f"{run['folder']}: " if run.get("folder") else ""
            raise DataError(f"{where}{why_not}; expected a run on test data: leave this one out")
        failed = failures(run)
        if failed:
            alarms = alarms[~alarms["monitor"].isin(failed)]
        known = truth(instances, decisions(alarms))
        said = (each.coded(known) for each in verdicts(alarms, known.position))
        return cls.from_arrays(
            known,
            said,
            confidence=_numbers(instances, "confidence"),
            label_probability=_numbers(instances, "label_probability"),
            brier=_numbers(instances, "brier"),
            boxes=boxes_of(instances),
            image_size=image_size(run),
            classifier_classes=number_of_classes(run),
            named_id=instances["id"].array if "id" in instances else None,
            named_track=_objects(instances, "track"),
            faultload=_objects(instances, "faultload"),
            conditions=_conditions(instances, run),
            severity=_numbers(instances, "severity"),
            run=number,
            partition=partition(instances, None if known.why_no_ood else known.is_ood),
        )

    @classmethod
    def from_arrays(cls, known: Truth, said: Iterable[Verdicts], **columns: Any) -> VerdictTable:
        """Put what is known of instances and what monitors said of them into one table."""
        return cls(
            **{name: getattr(known, name) for name in Truth.__dataclass_fields__},
            said={each.monitor: Judgement.of(each, known) for each in said},
            row=np.arange(len(known.label)),
            **columns,
        )

    def __len__(self) -> int:
        return len(self.is_ood)

    @property
    def id(self) -> list[str]:
        """Each instance's name; one without is called by its place among those that are here."""
        if self.named_id is None:
            return [f"instance {place}" for place in range(len(self))]
        return [str(name) for name in self.named_id.tolist()]

    @cached_property
    def has_tracks(self) -> bool:
        """Whether any instance has a track that was given."""
        return self.named_track is not None and any(name is not None for name in self.named_track)

    @cached_property
    def track(self) -> StrArray:
        """Each instance's track; one without a track is a track of its own."""
        named = [None] * len(self) if self.named_track is None else self.named_track
        both = zip(self.position.tolist(), named, strict=True)
        names = [f"instance {place}" if name is None else str(name) for place, name in both]
        return np.array(names, dtype=np.str_)

    @cached_property
    def track_code(self) -> IntArray:
        """The number of each instance's track; the order of the instances is no matter."""
        if self.named_track is None:
            return np.argsort(np.argsort(self.position))
        number, names = pd.factorize(self.named_track)
        known, rank = np.unique([str(name) for name in names], return_inverse=True)
        alone = number < 0
        code = np.where(alone, 0, rank[number] if len(rank) else 0)
        code[alone] = len(known) + np.argsort(np.argsort(self.position[alone]))
        return code

    @cached_property
    def n_tracks(self) -> int:
        """How many tracks its instances are of; one without a track is a track of its own."""
        return int(self.track_code.max(initial=-1)) + 1

    @property
    def answered(self) -> BoolArray:
        """Which instances have a right answer."""
        return np.asarray(self.label != NO_ANSWER, dtype=np.bool_)

    @property
    def shares_tracks(self) -> bool:
        """Whether some instances are of one track, so that they are not independent of each other."""
        return self.n_tracks < len(self)

    def take(self, rows: NDArray[Any]) -> VerdictTable:
        """Return some of the instances, by their numbers or a mask, in that order.

        What monitors said is taken along, whatever it is judged by.
        """
        rows = np.arange(len(self))[rows]
        said = TakenJudgements(self.said, rows)
        boxes = None if self.boxes is None else self.boxes.take(rows)
        conditions = {name: values[rows] for name, values in self.conditions.items()}
        own = _columns(self, rows)
        return replace(self, **own, said=said, boxes=boxes, conditions=conditions, partition=NO_GROUPS)

    def with_oracle(self) -> dict[str, Judgement]:
        """Return what all said, the perfect monitor last; in place of its times are the classifier's."""
        perfect = Verdicts(ORACLE, alarm=self.is_ood, cancelled=self.should_cancel, time_us=self.time_us)
        return {**self.said, ORACLE: Judgement.of(perfect, self)}


def made_truth(*, wrong: BoolArray, is_ood: BoolArray, position: IntArray | None = None) -> Truth:
    """Return the truth about instances of which only that is known: classes are made up."""
    n = len(wrong)
    return Truth(
        label=np.zeros(n, dtype=np.int64),
        unlabelled=np.zeros(n, dtype=np.bool_),
        predicted=wrong.astype(np.int64),
        classes=np.arange(2),
        is_ood=is_ood,
        why_no_ood=None,
        time_us=None,
        position=np.arange(n) if position is None else position,
        episode=None,
    )


def _columns(columns: Judgement | VerdictTable, rows: NDArray[Any]) -> dict[str, Any]:
    """Take rows of all arrays but the classes' names."""
    values = {name: getattr(columns, name) for name in columns.__dataclass_fields__ if name != "classes"}
    arrays = (np.ndarray, pd.api.extensions.ExtensionArray)
    return {name: each[rows] for name, each in values.items() if isinstance(each, arrays)}


def _objects(instances: pd.DataFrame, column: str) -> NDArray[np.object_] | None:
    if column not in instances:
        return None
    codes, names = pd.factorize(instances[column])
    return np.array([*names, None], dtype=object)[codes]  # each name once, however many have it


def _conditions(instances: pd.DataFrame, run: Mapping[str, Any]) -> dict[str, NDArray[np.object_]]:
    told = {name: _objects(instances, CONDITION.format(name)) for name in sorted(promised_conditions(run))}
    return {name: values for name, values in told.items() if values is not None}


def _numbers(instances: pd.DataFrame, column: str) -> FloatArray | None:
    if column not in instances:
        return None
    return instances[column].to_numpy(dtype=np.float64, na_value=np.nan)
