"""Watching a stream while it runs, in constant memory: windowed measures, false alarms, detection delays."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from farm.api import Batch, BoolArray, IntArray
from farm.api.arrays import NO_ANSWER
from farm.judging.live_bounds import LiveEvidence, LiveShare
from farm.measures.along_time import FalseAlarms, Window
from farm.measures.delays import Delays, Outcome, Told
from farm.measures.episodes import OUTSIDE
from farm.measures.measure import Measure

if TYPE_CHECKING:
    from farm.run.system import Step, SystemUnderTest

HISTORY = 8
"""How many earlier values of a windowed measure are kept for the sparkline."""


class Noticing:
    """How one signal notices a stream's episodes, an instance at a time: as `Episodes.noticed` says of all.

    Examples
    --------
    >>> noticing = Noticing()
    >>> for place, alarm in enumerate((False, True, False)):
    ...     noticing.follow(0, is_ood=True, signal=alarm, onset=place == 0)
    >>> noticing.delays.quantile(0.5).value
    1.0
    """

    def __init__(self) -> None:
        self._counts: Counter[Told] = Counter()
        self._stood = self._waiting = False
        self._since_onset = 0

    @property
    def delays(self) -> Delays:
        """What came of the onsets by now; one that nobody has noticed yet is open."""
        waiting = {(Outcome.OPEN, self._since_onset): 1} if self._waiting else {}
        return Delays(self._counts + Counter(waiting))

    def follow(self, episode: int, *, is_ood: bool, signal: bool, onset: bool) -> None:
        """Follow one instance, in the stream's order."""
        if self._waiting and (onset or episode == OUTSIDE):
            self._end(Outcome.AFTER if signal and episode == OUTSIDE else Outcome.MISSED)
        if onset:
            self._waiting, self._since_onset = True, 0
        if self._waiting and signal:
            if onset and self._stood:
                self._end(Outcome.STANDING)
            elif is_ood:
                self._end(Outcome.FOUND, self._since_onset)
            else:
                self._end(Outcome.ON_ID)
        self._stood = signal
        self._since_onset += 1

    def _end(self, outcome: Outcome, instances: int = 0) -> None:
        self._counts[outcome, instances] += 1
        self._waiting = False


@dataclass
class Watched:
    """What is known of one monitor by now."""

    name: str
    window: Window
    longest: int = 1
    """How many instances a visit of a track has at most."""
    mcc_history: deque[float] = field(default_factory=lambda: deque(maxlen=HISTORY))
    alarm_history: deque[float] = field(default_factory=lambda: deque(maxlen=HISTORY))
    by_alarm: Noticing = field(default_factory=Noticing)
    by_cancelling: Noticing = field(default_factory=Noticing)
    false_alarms: int = 0
    false_alarm_rate: LiveShare = field(init=False)
    """Of ID instances outside of faults."""
    risk: LiveShare = field(init=False)
    """Of decisions acted upon."""
    coverage: LiveShare = field(init=False)
    failure: str | None = None

    def __post_init__(self) -> None:
        self.false_alarm_rate, self.risk, self.coverage = (LiveShare(self.longest) for _ in range(3))

    def false_alarms_per_1000(self, quiet: int) -> Measure:
        """The alarms a thousand ID instances outside of faults."""
        return FalseAlarms(quiet, self.false_alarms).per_1000

    def follow(self, episode: int, *, is_ood: bool, alarm: bool, cancelled: bool, onset: bool) -> None:
        """Follow one instance, in the stream's order."""
        self.by_alarm.follow(episode, is_ood=is_ood, signal=alarm, onset=onset)
        self.by_cancelling.follow(episode, is_ood=is_ood, signal=cancelled, onset=onset)
        if episode == OUTSIDE and not is_ood:
            self.false_alarms += alarm
            self.false_alarm_rate.follow(alarm)

    def follow_decision(self, *, decided: bool, right: bool) -> None:
        """Follow what became of the instance's decision."""
        self.coverage.follow(decided)
        if decided:
            self.risk.follow(not right)

    def end_visit(self) -> None:
        """Take in the visit that has ended."""
        for share in (self.false_alarm_rate, self.risk, self.coverage):
            share.end_visit()


class Watch:
    """Follows the steps of a stream; keeps no more than windows and counts.

    Parameters
    ----------
    monitors
        Their names.
    window
        How many of the latest instances the windowed measures are over.
    longest
        How many instances of a track in a row are one visit at most; further ones are a new visit.
    yardsticks
        Those that are not asked for evidence, unless there are no others: they know nothing.
    """

    def __init__(
        self,
        monitors: Sequence[str],
        window: int = 500,
        *,
        longest: int = 1,
        yardsticks: Collection[str] = (),
    ) -> None:
        self.monitors = {name: Watched(name, Window(window), longest) for name in monitors}
        self.n = self.n_ood = self.onsets = self.quiet = 0
        self.longest = longest
        self.evidence = LiveEvidence([name for name in monitors if name not in yardsticks] or monitors)
        self._episode = OUTSIDE
        self._visit: tuple[str, str] | None = None
        self._visited = 0

    def follow(self, system: SystemUnderTest, steps: Iterator[Step]) -> Iterator[Step]:
        """Take down each step, and pass it on."""
        for step in steps:
            self.add(step)
            for name, reason in system.failures.items():
                self.monitors[name].failure = reason
            yield step

    def add(self, step: Step) -> None:
        """Take down a step."""
        batch = step.batch
        episodes, onset = self._begun(batch)
        self.n += len(batch)
        self.n_ood += int(batch.is_ood.sum())
        self.onsets += int(onset.sum())
        self.quiet += int(((episodes == OUTSIDE) & ~batch.is_ood).sum())
        for name, decision in step.decisions.items():
            labels, predicted = batch.labels, step.observation.predicted
            self.monitors[name].window.add(labels, predicted, decision.alarms, decision.cancelled)
        said = {
            name: zip(
                decision.alarms.tolist(),
                decision.cancelled.tolist(),
                decision.scores.tolist(),
                (decision.decided != NO_ANSWER).tolist(),
                (decision.decided == batch.labels).tolist(),
                strict=True,
            )
            for name, decision in step.decisions.items()
        }
        where = zip(batch.workload.tolist(), batch.track.tolist(), strict=True)
        known = zip(where, episodes.tolist(), batch.is_ood.tolist(), onset.tolist(), strict=True)
        for visit, episode, is_ood, begins in known:
            if visit != self._visit or self._visited == self.longest:
                self.end_visit()
                self._visit = visit
            self._visited += 1
            scores, alarms = {}, {}
            for name, rows in said.items():
                alarm, cancelled, score, decided, right = next(rows)
                watched = self.monitors[name]
                watched.follow(episode, is_ood=is_ood, alarm=alarm, cancelled=cancelled, onset=begins)
                watched.follow_decision(decided=decided, right=right)
                scores[name], alarms[name] = score, alarm
            self.evidence.follow(scores, alarms, quiet=episode == OUTSIDE and not is_ood)

    def end_visit(self) -> None:
        """Take in the visit that has ended: what follows is of another track, or nothing follows."""
        self._visited = 0
        self.evidence.end_visit()
        for watched in self.monitors.values():
            watched.end_visit()

    def _begun(self, batch: Batch) -> tuple[IntArray, BoolArray]:
        """Return each instance's episode from its first OOD instance on, and say where that is."""
        episodes = np.full(len(batch), OUTSIDE)
        onset = np.zeros(len(batch), dtype=np.bool_)
        for i, (episode, is_ood) in enumerate(zip(batch.episode.tolist(), batch.is_ood, strict=True)):
            if episode != OUTSIDE and is_ood and episode != self._episode:
                self._episode, onset[i] = episode, True
            if episode == self._episode:
                episodes[i] = episode
        return episodes, onset

    def remember(self) -> None:
        """Add the windowed measures of now to the histories."""
        for watched in self.monitors.values():
            watched.mcc_history.append(watched.window.overall_mcc.value)
            watched.alarm_history.append(watched.window.alarm_rate.value)
