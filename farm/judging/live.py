"""Watching a stream while it runs, in constant memory: windowed measures, false alarms, detection delays."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from farm.api import Batch, BoolArray, IntArray
from farm.measures.along_time import OUTSIDE, Window
from farm.measures.measure import Measure, ratio, undefined

if TYPE_CHECKING:
    from farm.run.system import Step, SystemUnderTest

HISTORY = 8
"""How many earlier values of a windowed measure are kept for the sparkline."""
KEPT_DELAYS = 1000
"""How many of the latest delays are kept for their median."""


@dataclass
class Watched:
    """What is known of one monitor by now."""

    name: str
    window: Window
    mcc_history: deque[float] = field(default_factory=lambda: deque(maxlen=HISTORY))
    alarm_history: deque[float] = field(default_factory=lambda: deque(maxlen=HISTORY))
    delays: deque[float] = field(default_factory=lambda: deque(maxlen=KEPT_DELAYS))
    missed: int = 0
    noticed: int = 0
    false_alarms: int = 0
    failure: str | None = None
    _waiting: bool = False
    _since_onset: int = 0

    @property
    def median_delay(self) -> Measure:
        """The median delay of the latest onsets, missed ones being infinite."""
        middle = float(np.median(self.delays)) if self.delays else math.inf
        return undefined("half of the onsets or more were missed") if math.isinf(middle) else Measure(middle)

    def false_alarms_per_1000(self, quiet: int) -> Measure:
        """The alarms a thousand ID instances outside of faults."""
        return ratio(1000 * self.false_alarms, quiet, "no ID instance outside of an episode yet")

    def follow(self, episode: int, is_ood: bool, alarm: bool, onset: bool) -> None:
        """Follow one instance, in the stream's order."""
        if self._waiting and (onset or episode == OUTSIDE):
            self.missed += 1
            self.delays.append(math.inf)
            self._waiting = False
        if onset:
            self._waiting, self._since_onset = True, 0
        if alarm and self._waiting:
            self.delays.append(self._since_onset)
            self.noticed += 1
            self._waiting = False
        if alarm and episode == OUTSIDE and not is_ood:
            self.false_alarms += 1
        self._since_onset += 1


class Watch:
    """Follows the steps of a stream; keeps no more than windows and counts.

    Parameters
    ----------
    monitors
        Their names.
    window
        How many of the latest instances the windowed measures are over.
    """

    def __init__(self, monitors: Sequence[str], window: int = 500) -> None:
        self.monitors = {name: Watched(name, Window(window)) for name in monitors}
        self.n = self.n_ood = self.onsets = self.quiet = 0
        self._episode = OUTSIDE

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
            watched = self.monitors[name]
            watched.window.add(batch.labels, step.observation.predicted, decision.alarms, decision.cancelled)
            rows = zip(episodes, batch.is_ood, decision.alarms, onset, strict=True)
            for episode, is_ood, alarm, begins in rows:
                watched.follow(int(episode), bool(is_ood), bool(alarm), bool(begins))

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
