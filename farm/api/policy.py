"""What follows an alarm: whether the classifier's decision is cancelled."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from farm.api.arrays import BoolArray
from farm.api.component import Component
from farm.api.monitor import Verdict
from farm.api.observation import Observation


class Policy(Component, ABC):
    """Turns alarms into cancellations, in the order of the stream; one policy object a monitor.

    A subclass writes `_cancels`, which sees one instance after another, and `reset`.
    """

    def decide(self, verdict: Verdict, observation: Observation) -> BoolArray:
        """Say which of the classifier's decisions are cancelled."""
        margins = (verdict.scores - verdict.thresholds).tolist()
        track = [None] * len(margins) if observation.track is None else observation.track.tolist()
        rows = zip(verdict.alarms.tolist(), margins, track, strict=True)
        return np.array([self._cancels(alarm, margin, seen) for alarm, margin, seen in rows], dtype=np.bool_)

    @abstractmethod
    def _cancels(self, alarm: bool, margin: float, track: str | None) -> bool:
        """Say whether the next instance's decision is cancelled; `margin` is score minus threshold.

        An instance whose track is None stands alone.
        """

    @abstractmethod
    def reset(self) -> None:
        """Forget what came before in the stream."""


class Cancel(Policy):
    """Cancel the classifier's decision on an alarm, and only then: source of all published tables.

    Examples
    --------
    >>> Cancel().parameters
    {}
    """

    def decide(self, verdict: Verdict, observation: Observation) -> BoolArray:
        """Cancel where there is an alarm."""
        del observation
        return verdict.alarms

    def _cancels(self, alarm: bool, margin: float, track: str | None) -> bool:
        del margin, track
        return alarm

    def reset(self) -> None:
        """Nothing to forget."""
