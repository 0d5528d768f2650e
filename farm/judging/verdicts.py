"""What is known of each instance, and what each monitor said of it: tables into arrays of one order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from farm.api.arrays import NO_ANSWER, BoolArray, FloatArray, IntArray
from farm.errors import DataError
from farm.measures.episodes import OUTSIDE
from farm.measures.oracle import should_be_cancelled


@dataclass(frozen=True)
class Truth:
    """What is known of the instances, whatever a monitor says."""

    label: IntArray
    """Class codes, -1 where no right answer exists, and also where `unlabelled`."""
    unlabelled: BoolArray
    predicted: IntArray
    classes: IntArray
    """The class that each code stands for."""
    is_ood: BoolArray
    why_no_ood: str | None
    """Why ID and OOD cannot be told apart; None if they can."""
    time_us: FloatArray | None
    position: IntArray
    """The place in the stream."""
    episode: IntArray | None
    """The fault that should be noticed, -1 outside of any; None where the stream has none."""

    @property
    def why_no_label(self) -> str | None:
        """Why the labels cannot be judged by; None if all are known."""
        missing, n = int(self.unlabelled.sum()), len(self.unlabelled)
        some = f"the label is missing for {missing:,} of {n:,} instances"
        return None if not missing else "no labels were given" if missing == n else some

    @property
    def n_classes(self) -> int:
        """How many classes have a code."""
        return len(self.classes)

    def code(self, classes: IntArray) -> IntArray:
        """Return classes as codes; -1 stays -1."""
        return np.asarray(pd.Index(self.classes).get_indexer(pd.Index(classes)), dtype=np.int64)

    def number(self, codes: IntArray) -> IntArray:
        """Return the classes that codes stand for; -1 stays -1."""
        return np.append(self.classes, NO_ANSWER)[codes]

    @cached_property
    def should_cancel(self) -> BoolArray:
        """The oracle's decisions."""
        return should_be_cancelled(self.label, self.predicted)


@dataclass(frozen=True)
class Verdicts:
    """What one monitor said of the instances."""

    monitor: str
    alarm: BoolArray
    cancelled: BoolArray
    decision: IntArray | None = None
    """The class acted upon, -1 where none; None where nothing takes a cancelled decision's place."""
    score: FloatArray | None = None
    time_us: FloatArray | None = None

    def coded(self, known: Truth) -> Verdicts:
        """Return classes acted upon as codes, and check that what is not cancelled is what was predicted."""
        if self.decision is None:
            return self
        decision = known.code(self.decision)
        wrong = ~self.cancelled & (decision != known.predicted)
        if wrong.any():
            at = int(np.argmax(wrong))
            predicted = known.classes[known.predicted[at]]
            raise DataError(
                f"alarms of monitor '{self.monitor}': at position {known.position[at]} the decision is "
                f"{self.decision[at]} and not cancelled; expected {predicted}, which was predicted"
            )
        return replace(self, decision=decision)


def truth(instances: pd.DataFrame, decision: IntArray | None = None) -> Truth:
    """Take what is known of the instances from their table; classes of `decision` get a code as well.

    Examples
    --------
    >>> table = pd.DataFrame({"position": [0, 1], "label": [40, -1], "predicted": [40, 7]})
    >>> known = truth(table)
    >>> known.label.tolist(), known.should_cancel.tolist(), known.why_no_ood
    ([0, -1], [False, True], 'is_ood was not given')
    """
    n = len(instances)
    if n == 0:
        raise DataError("instances: there is none to judge; expected at least one")
    for name in ("position", "predicted"):
        if name not in instances:
            raise DataError(f"instances: column '{name}' is missing; found: {', '.join(instances.columns)}")
    if not instances["position"].is_unique:
        raise DataError("instances: a position occurs twice; expected each once")
    predicted = instances["predicted"]
    if predicted.isna().any():
        raise DataError(
            f"instances: {int(predicted.isna().sum())} of {n} have no prediction; expected a class"
        )
    label = instances["label"] if "label" in instances else pd.Series(NO_ANSWER, instances.index)
    unlabelled = label.isna().to_numpy() if "label" in instances else np.ones(n, dtype=np.bool_)
    if unlabelled.any():
        label = label.fillna(NO_ANSWER)
    # Classes may be any numbers; codes that leave none out keep every count small. The first is -1's.
    others = np.empty(0, np.int64) if decision is None else pd.unique(decision)
    codes, values = pd.factorize(
        np.concatenate(([NO_ANSWER], label.to_numpy(np.int64), predicted.to_numpy(np.int64), others))
    )
    codes = codes.astype(np.int64) - 1
    is_ood, why_no_ood = _is_ood(instances)
    return Truth(
        label=codes[1 : n + 1],
        unlabelled=unlabelled,
        predicted=codes[n + 1 : 2 * n + 1],
        classes=values[1:],
        is_ood=is_ood,
        why_no_ood=why_no_ood,
        time_us=_numbers(instances, "classifier_time_us"),
        position=instances["position"].to_numpy(np.int64),
        episode=_episode(instances),
    )


def _episode(instances: pd.DataFrame) -> IntArray | None:
    episode = instances["episode"].to_numpy(np.int64) if "episode" in instances else None
    return None if episode is None or (episode == OUTSIDE).all() else episode


def verdicts(alarms: pd.DataFrame, positions: IntArray) -> Iterator[Verdicts]:
    """Return each monitor's verdicts in the order of `positions`; every instance needs exactly one.

    Examples
    --------
    >>> alarms = pd.DataFrame({"position": [1, 0], "monitor": "odin", "alarm": [True, False]})
    >>> said = next(verdicts(alarms, np.array([0, 1])))
    >>> said.monitor, said.alarm.tolist(), said.score
    ('odin', [False, True], None)
    """
    codes, names = pd.factorize(alarms["monitor"])
    at = alarms["position"].to_numpy(np.int64)
    alarm = alarms["alarm"].to_numpy(np.bool_)
    cancelled = alarms["cancelled"].to_numpy(np.bool_) if "cancelled" in alarms else alarm
    decision = decisions(alarms)
    score, time_us = _numbers(alarms, "score"), _numbers(alarms, "monitor_time_us")
    for code, name in enumerate(names):
        rows = _rows(_rows_of(code, codes), at, positions, str(name))
        yield Verdicts(
            monitor=str(name),
            alarm=alarm[rows],
            cancelled=cancelled[rows],
            decision=None if decision is None else decision[rows],
            score=None if score is None else score[rows],
            time_us=None if time_us is None else time_us[rows],
        )


def decisions(alarms: pd.DataFrame) -> IntArray | None:
    """Return the classes acted upon, row by row; None where the table does not tell."""
    if "decision" not in alarms:
        return None
    missing = int(alarms["decision"].isna().sum())
    if missing:
        raise DataError(
            f"alarms: {missing} of {len(alarms)} have no decision; expected a class, or -1 where none was "
            "acted upon"
        )
    decision = alarms["decision"].to_numpy()
    return decision if decision.dtype.kind == "i" else decision.astype(np.int64)


def _rows_of(code: int, codes: IntArray) -> slice | IntArray:
    """Find the rows with a code; as a slice where they follow one another, so that nothing is copied."""
    rows = np.flatnonzero(codes == code)
    first, end = int(rows[0]), int(rows[-1]) + 1
    return slice(first, end) if end - first == len(rows) else rows


def _rows(rows: slice | IntArray, at: IntArray, positions: IntArray, monitor: str) -> slice | IntArray:
    """Bring a monitor's rows into the order of the instances."""
    if np.array_equal(at[rows], positions):
        return rows
    rows = np.arange(len(at))[rows]
    said = pd.Index(at[rows])
    if len(rows) == len(positions) and said.is_unique:
        found = said.get_indexer(pd.Index(positions))
        if (found >= 0).all():
            return rows[found]
    wrong = np.setxor1d(at[rows], positions)
    what = f"position {wrong[0]} is on one side only" if wrong.size else "a position occurs twice"
    raise DataError(
        f"alarms of monitor '{monitor}': {len(rows):,} for {len(positions):,} instances, and {what}; "
        "expected one alarm for each instance"
    )


def _is_ood(instances: pd.DataFrame) -> tuple[BoolArray, str | None]:
    n = len(instances)
    unknown = np.zeros(n, dtype=np.bool_)
    if "is_ood" not in instances:
        return unknown, "is_ood was not given"
    missing = int(instances["is_ood"].isna().sum())
    if missing:
        some = f"is_ood is missing for {missing:,} of {n:,} instances"
        return unknown, "is_ood was not given" if missing == n else some
    return instances["is_ood"].to_numpy(np.bool_), None


def _numbers(frame: pd.DataFrame, column: str) -> FloatArray | None:
    """Return a column with NaN where it is missing; None where all of it is."""
    if column not in frame:
        return None
    values = frame[column].to_numpy(dtype=np.float64, na_value=np.nan)
    return None if np.isnan(values).all() else values
