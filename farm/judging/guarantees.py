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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from farm.api.calibration_data import CLASS
from farm.api.guarantee import TRACK, percent
from farm.judging.notes import Noted
from farm.judging.promises import ID, Kept, MonitorPromise, PromisedOf, RealisedPromise
from farm.measures import Bounded, Measure, undefined
from farm.measures.parts import Group, Part
from farm.statistics.bounds import between_trials
from farm.statistics.by_track import share_by_track, share_of_a_track
from farm.statistics.post_hoc.conformal import Threshold
from farm.statistics.post_hoc.coverage import effective_number, expected_share
from farm.statistics.resampling import codes

if TYPE_CHECKING:
    from farm.judging.in_memory import JudgedRun

LEVEL = 0.95
"""Of both ends of an interval together; each holds by itself with half of the rest."""
NOTHING_PROMISED = "nothing is promised of instances under a fault"
_ROUNDING = 1e-9


def realised_promises(judged: JudgedRun) -> list[RealisedPromise]:
    """Hold the promises of all monitors of a run against its instances: ID first, then fault by fault.

    Monitors that failed, and those that promise nothing, have none.

    Examples
    --------
    >>> from farm.api.guarantee import Guarantee, Promise
    >>> from farm.judging import JudgedRun
    >>> from farm.testing import make_readouts
    >>> promised = Guarantee((Promise("false_alarms", 0.05),), n=200, needed=90, confidence=0.99)
    >>> note = {"name": "odin", "calibration": {"guarantee": promised.record()}}
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
        everyone = PromisedOf.of(table, promise.monitor, promise.guarantee.by, table.track_code)
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
    by = promise.guarantee.by
    if why := seen.why_unknown(promise):
        return not_known(promise, ID, why)
    if by is None:
        return _judged(promise, _share(promise, seen, LEVEL))
    groups = seen.by_group()
    if not groups:
        return not_known(promise, ID, f"nothing tells the condition '{by}' of these instances")
    found = {}
    n_units = sum(own.units(promise) for own in groups.values())
    for name, own in groups.items():
        # Exchangeable with the run's, a calibration's units are as often of a group as these.
        n = max(round(promise.guarantee.n * own.units(promise) / n_units), promise.guarantee.needed)
        level = 1 - (1 - LEVEL) / len(groups)
        found[name] = _share(replace(promise, guarantee=replace(promise.guarantee, n=n)), own, level)
    worst = max(found, key=lambda name: found[name].badness)
    named = by == CLASS and int(worst) in range(len(classes))
    told = replace(_judged(promise, found[worst]), n_groups=len(groups))
    return replace(told, group=classes[int(worst)] if named else worst)


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
    counts = passed if promise.promise.what == "risk" else np.ones(len(seen), dtype=np.bool_)
    hit = seen.alarm if promise.promise.what == "false_alarms" else seen.wrong & passed
    n = int(counts.sum())
    if not n:
        return _Share(Bounded.nowhere(undefined("no instance is without an alarm")), 0, 0, None)
    track = codes(seen.track[counts])
    n_units = worth = int(track.max()) + 1
    evenly = promise.guarantee.unit == TRACK and seen.units(promise) < len(seen)
    if promise.guarantee.event == TRACK or (n_units == n and not evenly):
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
    at_most, made = promise.promise.at_most, promise.guarantee
    promised = percent(at_most)
    if not made.on_average:
        if found.low.defined and found.low.value > at_most:
            return f"at least {100 * found.low.value:.3g} % is sure, where {promised} was promised"
        return None
    fitted = Threshold(1 - at_most, 0.0, made.n, made.unit, tied=False)
    most = 1 - expected_share([fitted], [worth], level)[0].value
    if found.value.value > most + _ROUNDING:
        about = "" if made.by is None else "about "
        return (
            f"{100 * found.value.value:.3g} %, where {promised} was promised on average; of a validation "
            f"set of {about}{made.n:,} chance explains up to {100 * most:.3g} %"
        )
    return None


def _judged(promise: MonitorPromise, share: _Share) -> RealisedPromise:
    """Say what became of a promise about ID instances."""
    needed = share.of.value if promise.guarantee.on_average else share.of.low
    if not needed.defined:
        return _found(promise, ID, share, "unknown", needed.reason)
    return _found(promise, ID, share, "broken" if share.too_much else "kept", share.too_much)


def _found(
    promise: MonitorPromise, where: str, share: _Share, verdict: Kept, reason: str | None
) -> RealisedPromise:
    of = share.of
    return RealisedPromise(of.value, of.low, of.high, promise, where, share.n, share.n_units, verdict, reason)
