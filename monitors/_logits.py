"""Monitors of logits: nothing is learnt, nothing is kept."""

from __future__ import annotations

from abc import abstractmethod

from farm.api import Features, FloatArray, Needs, Observation, Peak, peak
from monitors._reasons import ToldByOutputs
from monitors._unlearned import Unlearned
from monitors.free_energy import logits_of, peak_of_softmax


class LogitMonitor(Unlearned, ToldByOutputs):
    """Base of monitors whose score is a formula over the logits. A subclass writes `of`."""

    @property
    def needs(self) -> Needs:
        """Logits."""
        return Needs(logits=True)

    @abstractmethod
    def of(self, logits: FloatArray) -> FloatArray:
        """Return the score of each row of logits."""

    def _score(self, observation: Observation) -> Features:
        return self.of(logits_of(observation))


class PeakMonitor(LogitMonitor):
    """Base of those that look at the softmax, which a black box has too. A subclass writes `of_peak`."""

    @property
    def needs(self) -> Needs:
        """Nothing: without logits it takes probabilities, of which the smallest are rounded."""
        return Needs()

    @abstractmethod
    def of_peak(self, seen: Peak) -> FloatArray:
        """Return the score of each row."""

    def of(self, logits: FloatArray) -> FloatArray:
        """Return the score of each row of logits."""
        return self.of_peak(peak(logits))

    def _score(self, observation: Observation) -> Features:
        return self.of_peak(peak_of_softmax(observation))
