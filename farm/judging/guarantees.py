"""Guarantees against reality: what a monitor's calibration promised, beside what a run then showed.

A promise of false alarms is one about ID instances, and so are those of risk and of residual hazard. Held
against these it is broken only where they contradict it surely: where even the low end of the 95 % interval
of what was realised is above what was promised, or, if it was promised on average, where no calibration set
of its size explains so much by chance. Of instances under a fault nothing is promised; what became of them
stands beside, and is void.

What is judged are the alarms themselves, as the calibration knew them: not what a policy or a fallback then
makes of them. Each verdict is one by itself; only within a promise are its groups paid for, by Bonferroni.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from farm.api.arrays import BoolArray
from farm.judging.notes import BY_CLASS, Noted
from farm.judging.table import VerdictTable
from farm.measures import Bounded, Measure, undefined
from farm.measures.parts import Group, Part
from farm.statistics.bounds import between_trials
from farm.statistics.by_track import share_by_track, share_of_a_track
from farm.statistics.post_hoc.conformal import Threshold, fewest
from farm.statistics.post_hoc.coverage import effective_number, expected_share
from farm.statistics.resampling import codes

if TYPE_CHECKING:
    from farm.judging.in_memory import JudgedRun

LEVEL = 0.95
"""Of both ends of an interval together; each holds by itself with half of the rest."""
ID = "ID"
NOT_TOLD = "not told"
NOTHING_PROMISED = "nothing is promised of instances under a fault"
_ROUNDING = 1e-9
Kept: TypeAlias = Literal["kept", "broken", "void", "unknown"]
"""What becomes of a promise. Kept: these instances do not contradict it."""


@dataclass(frozen=True)
class MonitorPromise:
    """One of the promises that a monitor's calibration made."""

    monitor: str
    what: str
    """`false_alarms`, `risk` (wrong decisions among those without an alarm) or `residual_hazard`."""
    at_most: float
    confidence: float | None
    """None where it is one on average over calibration sets."""
    unit: str
    """What was exchangeable: an `instance` or a `track`."""
    event: str
    """Of a track, one random `instance`, or the whole `track`: whether any of its instances is hit."""
    by: str | None
    """Within each group of these it is to hold: `class`, as predicted, or a condition."""
    n: int
    """How many units the calibration used."""

    @classmethod
    def of(cls, monitor: Noted) -> list[MonitorPromise]:
        """Return what a monitor's calibration promised; most promise nothing."""
        made: Mapping[str, Any] = (monitor.calibration or {}).get("guarantee") or {}
        return [
            cls(
                monitor=monitor.name,
                what=each["what"],
                at_most=float(each["at_most"]),
                confidence=None if made["on_average"] else float(made["confidence"]),
                unit=made["unit"],
                event=made["event"],
                by=made["by"],
                n=int(made["n"]),
            )
            for each in made.get("promises", ())
        ]


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
        promise = self.promise
        return {
            "what": promise.what,
            "at_most": promise.at_most,
            "on_average": promise.confidence is None,
            "confidence": promise.confidence,
            "unit": promise.unit,
            "event": promise.event,
            "by": promise.by,
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
            group=table.number(table.predicted) if by == BY_CLASS else group,
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

    def why_unknown(self, promise: MonitorPromise) -> str | None:
        """Say why a promise cannot be held against these instances; None where it can."""
        missing = int(self.unlabelled.sum())
        if not len(self):
            return "there are no such instances"
        if promise.what != "false_alarms" and missing:
            return f"the label is missing for {missing:,} of {len(self):,} instances"
        if promise.unit == "track" and not self.has_tracks:
            return "it is a promise about tracks, and nothing tells which instances share one"
        return None


def realised_promises(judged: JudgedRun) -> list[RealisedPromise]:
    """Hold the promises of all monitors of a run against its instances: ID first, then fault by fault.

    Monitors that failed, and those that promise nothing, have none.

    Examples
    --------
    >>> from farm.judging import JudgedRun
    >>> from farm.testing import make_readouts
    >>> promised = {"promises": [{"what": "false_alarms", "at_most": 0.05}], "on_average": False,
    ...             "confidence": 0.99, "unit": "instance", "event": "instance", "by": None, "n": 200}
    >>> note = {"name": "odin", "calibration": {"guarantee": promised}}
    >>> made = make_readouts(
    ...     {"odin": np.arange(400) % 8 == 0}, is_ood=np.arange(400) >= 200, run={"monitors": [note]}
    ... )
    >>> for found in realised_promises(JudgedRun.of(made.instances, made.alarms, made.run)):
    ...     print(found.where, found.value.value, round(found.low.value, 3), found.verdict, found.reason)
    ID 0.125 0.083 broken at least 8.26 % is sure, where 5 % was promised
    fog 3 0.125 0.083 void nothing is promised of instances under a fault
    """
    return list(_realised(judged))


def _realised(judged: JudgedRun) -> Iterator[RealisedPromise]:
    table = judged.table
    for promise in (each for note in judged.monitors if not note.failure for each in MonitorPromise.of(note)):
        if table.why_no_ood:
            yield not_known(promise, ID, f"ID and OOD cannot be told apart: {table.why_no_ood}")
            continue
        everyone = PromisedOf.of(table, promise.monitor, promise.by, table.track_code)
        names = judged.run.get("classes") or ()
        yield on_id(promise, everyone.take(~table.is_ood), names)
        faults = faults_of(judged.parts)
        for part in judged.parts:
            if part.name == "ood":
                seen = everyone.take(table.partition.rows(part))
                yield under_fault(promise, seen, faults[part.group])


def faults_of(parts: Iterable[Part]) -> dict[Group, str]:
    """Name the faults of a run's parts; by their category too, where it takes that to tell them apart."""
    groups = [part.group for part in parts if part.name == "ood"]
    times = Counter(group.fault for group in groups)
    return {
        group: group.fault if times[group.fault] == 1 else f"{group.fault} ({group.category})"
        for group in groups
    }


def not_judged(monitors: Iterable[Noted], why: str) -> list[RealisedPromise]:
    """Return all promises of a run, none of which can be held against anything, for one reason."""
    return [
        not_known(promise, ID, why)
        for note in monitors
        if not note.failure
        for promise in MonitorPromise.of(note)
    ]


def not_known(promise: MonitorPromise, where: str, why: str) -> RealisedPromise:
    """Return a promise of which it is not known what became of it."""
    return _found(promise, where, _Share(Bounded.nowhere(undefined(why)), 0, 0, None), "unknown", why)


def under_fault(promise: MonitorPromise, seen: PromisedOf, where: str) -> RealisedPromise:
    """Tell what became of instances of which nothing is promised, those of all groups together."""
    if why := seen.why_unknown(promise):
        return replace(not_known(promise, where, why), verdict="void", reason=NOTHING_PROMISED)
    return _found(promise, where, _share(promise, seen, LEVEL), "void", NOTHING_PROMISED)


def on_id(promise: MonitorPromise, seen: PromisedOf, classes: Sequence[str] = ()) -> RealisedPromise:
    """Hold a promise against ID instances; within each group where it is by groups, of which there are G.

    Then each interval has a level that leaves a G-th of the chance to err.

    Parameters
    ----------
    classes
        Names of classes, by their numbers.
    """
    if promise.by is not None and seen.group is None:
        return not_known(promise, ID, f"nothing tells the condition '{promise.by}' of these instances")
    if why := seen.why_unknown(promise):
        return not_known(promise, ID, why)
    if seen.group is None:
        return _judged(promise, _share(promise, seen, LEVEL))
    of = np.array([NOT_TOLD if name is None else str(name) for name in seen.group.tolist()])
    found = {}
    groups = np.unique(of)
    for name in groups.tolist():
        own = of == name
        # Exchangeable with the run's, a calibration's units are as often of a group as these.
        n = max(round(promise.n * float(own.mean())), fewest(1 - promise.at_most))
        level = 1 - (1 - LEVEL) / len(groups)
        found[name] = _share(replace(promise, n=n), seen.take(own), level)
    worst = max(found, key=lambda name: found[name].badness)
    told = classes[int(worst)] if promise.by == BY_CLASS and int(worst) in range(len(classes)) else worst
    return replace(_judged(promise, found[worst]), group=str(told), n_groups=len(groups))


@dataclass(frozen=True)
class _Share:
    """What was realised, of how many instances and independent units, and whether that is too much."""

    of: Bounded
    n: int
    n_units: int
    too_much: str | None
    """Why it surely is."""

    @property
    def badness(self) -> tuple[bool, float, float]:
        """Return what is the greater, the worse it is."""
        low, value = (each.value if each.defined else -1.0 for each in (self.of.low, self.of.value))
        return self.too_much is not None, low, value


def _share(promise: MonitorPromise, seen: PromisedOf, level: float) -> _Share:
    """Return the share of instances, or of tracks, that a promise bounds."""
    passed = ~seen.alarm
    counts = passed if promise.what == "risk" else np.ones(len(seen), dtype=np.bool_)
    hit = seen.alarm if promise.what == "false_alarms" else seen.wrong & passed
    n = int(counts.sum())
    if not n:
        return _Share(Bounded.nowhere(undefined("no instance is without an alarm")), 0, 0, None)
    track = codes(seen.track[counts])
    n_units = worth = int(track.max()) + 1
    evenly = promise.unit == "track" and len(np.unique(seen.track)) < len(seen)
    if promise.event == "track" or (n_units == n and not evenly):
        hits = int((np.bincount(track, weights=hit[counts]) > 0).sum())
        found = between_trials(Measure(hits / n_units), (hits, n_units), (1 + level) / 2)
    elif evenly:
        found = share_of_a_track(hit, counts, seen.track, level)
    else:
        value, worth = Measure(float(hit[counts].mean())), effective_number(track)
        found = Bounded(value, *share_by_track(hit[counts], track, level))
    return _Share(found, n, n_units, _too_much(promise, found, worth, level))


def _too_much(promise: MonitorPromise, found: Bounded, worth: int, level: float) -> str | None:
    """Say why more was realised than a promise allows, chance considered; None where it may be kept."""
    promised = f"{100 * promise.at_most:.3g} %"
    if promise.confidence is not None:
        if found.low.defined and found.low.value > promise.at_most:
            return f"at least {100 * found.low.value:.3g} % is sure, where {promised} was promised"
        return None
    fitted = Threshold(1 - promise.at_most, 0.0, promise.n, promise.unit, tied=False)
    most = 1 - expected_share([fitted], [worth], level)[0].value
    if found.value.value > most + _ROUNDING:
        about = "" if promise.by is None else "about "
        return (
            f"{100 * found.value.value:.3g} %, where {promised} was promised on average; of a validation "
            f"set of {about}{promise.n:,} chance explains up to {100 * most:.3g} %"
        )
    return None


def _judged(promise: MonitorPromise, share: _Share) -> RealisedPromise:
    """Say what became of a promise about ID instances."""
    needed = share.of.value if promise.confidence is None else share.of.low
    if not needed.defined:
        return _found(promise, ID, share, "unknown", needed.reason)
    return _found(promise, ID, share, "broken" if share.too_much else "kept", share.too_much)


def _found(
    promise: MonitorPromise, where: str, share: _Share, verdict: Kept, reason: str | None
) -> RealisedPromise:
    of = share.of
    return RealisedPromise(of.value, of.low, of.high, promise, where, share.n, share.n_units, verdict, reason)
