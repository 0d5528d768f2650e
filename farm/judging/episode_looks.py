"""Closer looks at the episodes of some runs as one table: by fault, one by one, at equal false alarms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from farm.api.arrays import BoolArray, FloatArray
from farm.errors import DataError, ExperimentError
from farm.judging.inspection import InspectedRun, Look, LookCell
from farm.judging.table import Judgement
from farm.judging.whole_stream import FALSE_ALARMS, WholeStream, in_seconds
from farm.measures import Bounded
from farm.measures.along_time import FalseAlarms
from farm.measures.delays import SHORT_WORDS, Delays, Outcome
from farm.measures.episodes import Noticed
from farm.measures.measure import share
from farm.statistics.bootstrap import bootstrap
from farm.statistics.resampling import Resampling, quantile_by_weight

ALL = "all faults"
ALARM, CANCELLED = "alarm", "cancelled"
ASIDE = (Outcome.STANDING, Outcome.ON_ID, Outcome.MISSED, Outcome.AFTER, Outcome.OPEN)
POOLED = (*(SHORT_WORDS[each] for each in ASIDE), "median", "low", "high")
BY_DRAWS = (
    "low, high: 95 % interval of the median by draws of whole episodes; after: of those missed, noticed on "
    "the next instance"
)


@dataclass(frozen=True, eq=False)
class RunEpisodes:
    """The episodes of one run, and their faults."""

    run: InspectedRun
    stream: WholeStream

    @cached_property
    def fault(self) -> list[str]:
        """The fault of each episode, that of its onset's instance."""
        named, onset = self.run.table.faultload, self.stream.along[self.stream.episodes.onset]
        names = [None] * len(onset) if named is None else named[onset].tolist()
        return ["unnamed fault" if name is None else str(name) for name in names]

    def noticed(self, monitor: str, signal: str) -> Noticed:
        """Return how a monitor's alarms, or what was cancelled, noticed each episode."""
        heard: BoolArray = getattr(self.run.table.said[monitor], signal)
        return self.stream.episodes.noticed(heard[self.stream.along])

    def of(self, fault: str) -> BoolArray:
        """Say which episodes are of a fault."""
        return np.array([fault in (ALL, each) for each in self.fault], dtype=np.bool_)


@dataclass(frozen=True)
class Deadline:
    """How soon an onset is to be noticed, in instances or in seconds."""

    value: float
    unit: str = "instances"

    @classmethod
    def parse(cls, text: str) -> Deadline:
        """Read `10` (instances) or `0.5s`."""
        number, unit = (text[:-1], "seconds") if text.endswith("s") else (text, "instances")
        try:
            value = float(number)
        except ValueError:
            value = -1.0
        if not 0 <= value < np.inf:
            raise ExperimentError(
                f"--deadline '{text}': expected instances, as in 10, or seconds, as in 0.5s"
            )
        return cls(value, unit)

    def instances(self, stream: WholeStream) -> float:
        """Return it in instances of a stream."""
        if self.unit == "instances":
            return self.value
        if stream.frame_rate is None:
            raise ExperimentError(
                f"--deadline {self.value:g}s: a stream has no frame_rate; give the deadline in instances"
            )
        return self.value * stream.frame_rate


def episodes(runs: Sequence[InspectedRun], deadline: Deadline | None = None) -> Iterator[Look]:
    """Look at how soon each monitor noticed the onsets of each fault, and then at each episode."""
    own = runs_with_episodes(runs, "--look episodes")
    faults = sorted({fault for each in own for fault in each.fault})
    for fault in [*faults, *([ALL] if len(faults) > 1 else [])]:
        yield _by_monitor(own, fault, deadline)
    yield _one_by_one(own)


def runs_with_episodes(runs: Sequence[InspectedRun], look: str) -> list[RunEpisodes]:
    """Sort out the episodes of runs; raise where one has none."""
    found = []
    for run in runs:
        run.check_known(look, "is_ood")
        stream = WholeStream.of(run.table, run.run)
        if stream is None:
            named = f"{run.run['folder']}: " if run.run.get("folder") else ""
            raise DataError(f"{named}{look} needs a stream in which faults begin; by 'episode' it has none")
        found.append(RunEpisodes(run, stream))
    return found


def signals_of(runs: Sequence[RunEpisodes]) -> list[tuple[str, str]]:
    """Return monitors with their signals; where just what has an alarm is cancelled, one is enough."""
    judged: dict[str, list[Judgement]] = {}
    for each in runs:
        for monitor, said in each.run.table.said.items():
            judged.setdefault(monitor, []).append(said)
    return [
        (monitor, signal)
        for monitor, every in judged.items()
        for signal in (ALARM, CANCELLED)
        if signal == ALARM or any((said.alarm != said.cancelled).any() for said in every)
    ]


def _by_monitor(runs: Sequence[RunEpisodes], fault: str, deadline: Deadline | None) -> Look:
    rows: list[tuple[LookCell, ...]] = []
    rates = {each.stream.frame_rate for each in runs}
    frame_rate = rates.pop() if len(rates) == 1 else None
    for monitor, signal in signals_of(runs):
        own = [each for each in runs if monitor in each.run.table.said]
        parts = [each.noticed(monitor, signal).take(each.of(fault)) for each in own]
        delays, (*counts, median, low, high) = _pooled(parts)
        row: list[LookCell] = [monitor if signal == ALARM else f"{monitor}, {CANCELLED}"]
        row += [delays.counted(Outcome.FOUND, *ends) for ends in ((0, 0), (1, 1), (2, np.inf))]
        row += [*counts, median, low, high]
        if frame_rate is not None:
            row.append(in_seconds(delays.quantile(0.5), frame_rate))
        if deadline is not None:
            granted = (deadline.instances(each.stream) for each in own)
            row.append(
                _in_time(part.delays.in_time_of(each) for part, each in zip(parts, granted, strict=True))
            )
        rows.append(tuple(row))
    n = sum(int(each.of(fault).sum()) for each in runs)
    columns = ["monitor", "at once", "1 late", "later", *POOLED]
    columns += [] if frame_rate is None else ["seconds"]
    columns += (
        [] if deadline is None else [f"within {deadline.value:g} {deadline.unit.removesuffix('econds')}"]
    )
    empty = sum(each.stream.episodes.empty for each in runs)
    notes = (
        BY_DRAWS,
        *([f"planned episodes without any OOD instance: {empty:,}; they have no onset"] if empty else []),
    )
    title = f"{fault}: {n:,} onset{'' if n == 1 else 's'}, instances until noticed"
    return Look(title, tuple(columns), rows, notes)


def _pooled(parts: Sequence[Noticed]) -> tuple[Delays, list[LookCell]]:
    """Count what came of the onsets of several streams, and return the cells of that."""
    delays = Delays.together(part.delays for part in parts)
    median = median_of(np.concatenate([part.delay for part in parts]), delays)
    counts = [delays.missed if each == Outcome.MISSED else delays[each] for each in ASIDE]
    return delays, [*counts, median.value, median.low, median.high]


def median_of(delay: FloatArray, delays: Delays) -> Bounded:
    """Return the median delay with its interval: whole episodes are drawn anew."""
    median, known, column = delays.quantile(0.5), delay[~np.isnan(delay)], ("median", "delay")
    if not median.defined:
        return Bounded.nowhere(median)
    each = Resampling(len(known), unit="onset")
    draw = quantile_by_weight(known, 0.5, each.code)
    made = bootstrap({column: median}, lambda weights: {column: draw(weights)}, each, seed=0)
    return made.interval(*column)


def _in_time(parts: Iterable[tuple[int, int]]) -> Bounded:
    """Return the share of onsets found in time, with Wilson's interval."""
    found, n = map(sum, zip(*parts, strict=True))
    return share(found, n, "no onset is known to have had so much time")


def _one_by_one(runs: Sequence[RunEpisodes]) -> Look:
    """Look at each episode: when it began, how long it lasted, and what each monitor made of it."""
    rows: list[tuple[LookCell, ...]] = []
    for number, each in enumerate(runs):
        stream = each.stream.episodes
        for monitor in each.run.table.said:
            told = zip(*(each.noticed(monitor, signal).told for signal in (ALARM, CANCELLED)), strict=True)
            for i, (alarm, cancelled) in enumerate(told):
                run = [str(each.run.run.get("folder") or number + 1)] if len(runs) > 1 else []
                where = (int(stream.number[i]), each.fault[i], int(stream.onset[i]))
                rows.append((monitor, *run, *where, int(stream.end[i] - stream.onset[i]), alarm, cancelled))
    run = ["run"] if len(runs) > 1 else []
    columns = ("monitor", *run, "episode", "fault", "onset", "lasts", "alarm after", "cancelled after")
    return Look("Each episode, in instances", columns, rows)


def delays_at_false_alarms(runs: Sequence[InspectedRun]) -> Iterator[Look]:
    """Look at delays over thresholds: at each rate of false alarms, all monitors have that one."""
    own = runs_with_episodes(runs, "--look delays")
    for rate in FALSE_ALARMS:
        rows: list[tuple[LookCell, ...]] = []
        for monitor in dict.fromkeys(name for each in own for name in each.run.table.said):
            scored = [(each, each.run.table.said.get(monitor)) for each in own]
            alarms = [
                (each, each.stream.alarm_at(said.scores, rate))
                for each, said in scored
                if said is not None and said.scores is not None
            ]
            if alarms:
                delays, cells = _pooled([each.stream.episodes.noticed(alarm) for each, alarm in alarms])
                heard = [each.stream.episodes.false_alarms(alarm) for each, alarm in alarms]
                seen = FalseAlarms(sum(one.quiet for one in heard), sum(one.alarms for one in heard))
                rows.append((monitor, seen.per_1000, delays[Outcome.FOUND], *cells))
        if not rows:
            raise DataError("--look delays needs scores of all instances; --look episodes needs none")
        title = f"Delays at {rate:g} false alarms a thousand quiet instances, or just fewer"
        yield Look(title, ("monitor", "false alarms", "found", *POOLED), rows, (BY_DRAWS,))
