"""Monitors of logits: nothing is learnt, nothing is kept."""

from __future__ import annotations

from abc import abstractmethod

from farm.api import Features, FitData, FloatArray, Needs, Observation, Peak, State, peak
from monitors._reasons import ToldByOutputs
from monitors.free_energy import logits_of, peak_of


class LogitMonitor(ToldByOutputs):
    """Base of monitors whose score is a formula over the logits. A subclass writes `of`."""

    @property
    def needs(self) -> Needs:
        """Logits."""
        return Needs(logits=True)

    @abstractmethod
    def of(self, logits: FloatArray) -> FloatArray:
        """Return the score of each row of logits."""

    def _fit(self, data: FitData) -> State:
        del data  # nothing to learn
        return {}

    def _load(self, state: State) -> None:
        del state

    def _score(self, observation: Observation) -> Features:
        return self.of(logits_of(observation))


class PeakMonitor(LogitMonitor):
    """Base of those that look at the logits from the greatest. A subclass writes `of_peak`."""

    @abstractmethod
    def of_peak(self, seen: Peak) -> FloatArray:
        """Return the score of each row."""

    def of(self, logits: FloatArray) -> FloatArray:
        """Return the score of each row of logits."""
        return self.of_peak(peak(logits))

    def _score(self, observation: Observation) -> Features:
        return self.of_peak(peak_of(observation))
