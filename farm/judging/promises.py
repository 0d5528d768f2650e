"""What a monitor's calibration promised, what it is held against, and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from farm.api.arrays import BoolArray
from farm.api.calibration_data import CLASS, UNKNOWN
from farm.api.guarantee import TRACK, Guarantee, Promise
from farm.judging.notes import Noted
from farm.judging.table import VerdictTable
from farm.measures import Bounded

ID = "ID"
"""Where a promise holds; any other place is a fault."""
Kept: TypeAlias = Literal["kept", "broken", "void", "unknown"]
"""What becomes of a promise. Kept: these instances do not contradict it."""


@dataclass(frozen=True)
class MonitorPromise:
    """One of the promises that a monitor's calibration made."""

    monitor: str
    promise: Promise
    guarantee: Guarantee
    """All that was promised with it."""
    policy: str | None = None
    """What follows the alarms, of which nothing is promised."""

    @classmethod
    def of(cls, monitor: Noted) -> list[MonitorPromise]:
        """Return what a monitor's calibration promised; most promise nothing."""
        made = (monitor.calibration or {}).get("guarantee")
        if made is None:
            return []
        guarantee = Guarantee.from_record(made)
        return [cls(monitor.name, promise, guarantee, monitor.policy) for promise in guarantee.promises]


@dataclass(frozen=True, slots=True)
class RealisedPromise(Bounded):
    """What was realised of a promise, and how low and how high that may be.

    Of a promise that is by groups it is that of the worst one; under a fault of all instances together.
    """

    promise: MonitorPromise
    where: str
    """`ID`, or the fault."""
    n: int
    """How many instances it is a share of, in whole or as parts of their tracks."""
    n_units: int
    """How many of these are independent: tracks, where instances share some."""
    verdict: Kept
    reason: str | None
    """Why it is broken, void or not known."""
    group: str | None = None
    """The worst one."""
    n_groups: int | None = None

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        made = self.promise.guarantee
        return {
            "what": self.promise.promise.what,
            "at_most": self.promise.promise.at_most,
            **{name: getattr(made, name) for name in ("on_average", "confidence", "unit", "event", "by")},
            "guarantee": made.sentence,
            "assumption": made.assumption,
            "where": self.where,
            "group": self.group,
            "n_groups": self.n_groups,
            **{name: getattr(self, name).json for name in ("value", "low", "high")},
            "n": self.n,
            "n_units": self.n_units,
            "verdict": self.verdict,
            "reason": self.reason,
        }


@dataclass(frozen=True, eq=False)
class PromisedOf:
    """Instances that a promise is held against: a monitor's alarms, wrong decisions, tracks and groups."""

    alarm: BoolArray
    wrong: BoolArray
    unlabelled: BoolArray
    track: NDArray[Any]
    has_tracks: bool
    group: NDArray[Any] | None
    """None where the promise is not by groups, or nothing tells these."""

    @classmethod
    def of(cls, table: VerdictTable, monitor: str, by: str | None, track: NDArray[Any]) -> PromisedOf:
        """Take what is needed of a table; `track` is the name, or the number, of each instance's track."""
        group = None if by is None else table.conditions.get(by)
        return cls(
            alarm=table.said[monitor].alarm,
            wrong=table.should_cancel,
            unlabelled=table.unlabelled,
            track=track,
            has_tracks=table.has_tracks,
            group=table.number(table.predicted) if by == CLASS else group,
        )

    def take(self, rows: NDArray[Any]) -> PromisedOf:
        """Return some of the instances."""
        return replace(
            self,
            alarm=self.alarm[rows],
            wrong=self.wrong[rows],
            unlabelled=self.unlabelled[rows],
            track=self.track[rows],
            group=None if self.group is None else self.group[rows],
        )

    def by_group(self) -> dict[str, PromisedOf]:
        """Return the instances of each group by its name; those of which it is not told are of none."""
        if self.group is None:
            return {}
        names = np.array(["" if name is None else str(name) for name in self.group.tolist()])
        return {name: self.take(names == name) for name in np.unique(names).tolist() if name not in UNKNOWN}

    @classmethod
    def together(cls, parts: Sequence[PromisedOf]) -> PromisedOf:
        """Return instances of several runs, whose tracks are told by name, as one."""
        groups = [part.group for part in parts if part.group is not None]
        return cls(
            alarm=np.concatenate([part.alarm for part in parts]),
            wrong=np.concatenate([part.wrong for part in parts]),
            unlabelled=np.concatenate([part.unlabelled for part in parts]),
            track=np.concatenate([part.track for part in parts]),
            has_tracks=all(part.has_tracks for part in parts),
            group=np.concatenate(groups) if len(groups) == len(parts) else None,
        )

    def __len__(self) -> int:
        return len(self.alarm)

    def units(self, promise: MonitorPromise) -> int:
        """Return how many units they are of, as the calibration counted them."""
        return len(np.unique(self.track)) if promise.guarantee.unit == TRACK else len(self)

    def why_unknown(self, promise: MonitorPromise) -> str | None:
        """Say why a promise cannot be held against these instances; None where it can."""
        missing = int(self.unlabelled.sum())
        if not len(self):
            return "there are no such instances"
        if promise.promise.what != "false_alarms" and missing:
            return f"the label is missing for {missing:,} of {len(self):,} instances"
        if promise.guarantee.unit == TRACK and not self.has_tracks:
            return "it is a promise about tracks, and nothing tells which instances share one"
        return None
