"""Monitors that know nothing: what every table must be read against."""

from __future__ import annotations

import numpy as np

from farm.api import Features, FitData, Monitor, Observation, State, check_number, derived_seed, uniform_by_id


class _Blind(Monitor):
    """Learns nothing and looks at nothing."""

    is_yardstick = True

    def _fit(self, data: FitData) -> State:
        del data
        return {}

    def _load(self, state: State) -> None:
        del state


class Never(_Blind):
    """Never raises an alarm: the classifier alone.

    Examples
    --------
    >>> Never().fixed_threshold
    1.0
    """

    @property
    def fixed_threshold(self) -> float:
        """Above its score."""
        return 1.0

    def _score(self, observation: Observation) -> Features:
        return np.zeros(len(observation))


class Always(_Blind):
    """Always raises an alarm: perfectly safe, and of no use.

    Examples
    --------
    >>> Always().fixed_threshold
    -1.0
    """

    @property
    def fixed_threshold(self) -> float:
        """Below its score."""
        return -1.0

    def _score(self, observation: Observation) -> Features:
        return np.zeros(len(observation))


class Random(_Blind):
    """Raises an alarm for a random share of the instances, whatever they are.

    Parameters
    ----------
    rate
        The share that it alarms at. 0.05 rejects as much ID data as a monitor calibrated to accept 95 %.

    Examples
    --------
    >>> Random(rate=0.25).fixed_threshold
    0.75
    """

    def __init__(self, *, rate: float = 0.05) -> None:
        check_number("rate", rate, low=0, high=1)
        self._rate = rate

    @property
    def fixed_threshold(self) -> float:
        """Leaves the asked share of [0, 1) above it."""
        return 1.0 - self._rate

    def _fit(self, data: FitData) -> State:
        return {"seed": np.array(derived_seed(data.seed, "random", self.name))}

    def _load(self, state: State) -> None:
        self._seed = int(state["seed"])

    def _score(self, observation: Observation) -> Features:
        return uniform_by_id(self._seed, "random", observation.ids)
