"""Monitors that watch a stream: a statistic of all that came, against the limit that leaves ID data alone."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from farm.api import (
    JSON,
    Explanation,
    Features,
    FloatArray,
    IntArray,
    Monitor,
    Observation,
    State,
    check_number,
    generator,
)
from farm.api.changes import ChangeDetector, Units, check_run_length, limit_of_run_length
from farm.errors import ComponentFailure, ParameterError
from monitors._latest import Latest

RUN_LENGTH = 1000.0


class Chart(Monitor):
    """Base of them. The score is the statistic minus its limit, so that the threshold is 0 before any fit.

    An alarm lasts while the statistic is above its limit. Validation data come in the order of their files,
    class by class maybe, in which each class would look like a change. So their units, whole tracks or single
    images, are put in an order by lot. For a run length, streams are made up of such units. Each is followed
    by detectors that learned from as many units as there are, drawn again: the less validation data can
    tell, the higher the limit. A subclass makes a detector, and says what it follows.
    """

    watched: str
    """What the statistic is called in explanations."""
    fewest: ClassVar[int] = 2
    """So many tracks, or single images, it must learn from."""
    _follower: ChangeDetector[Any]

    def __init__(self, *, run_length: float | None, limit: float | None, restart: bool) -> None:
        if run_length is not None and limit is not None:
            raise ParameterError(
                f"run_length is {run_length!r} and limit is {limit!r}; expected one of them, since a run "
                "length has its own limit"
            )
        if run_length is not None:
            check_run_length(run_length)
        if limit is not None:
            check_number("limit", limit, above=0)
        self._run_length = RUN_LENGTH if run_length is None and limit is None else run_length
        self._set, self._restart = limit, restart
        self._latest: Latest | None = None

    @property
    def fixed_threshold(self) -> float | None:
        """0: what is above its limit."""
        return 0.0

    @abstractmethod
    def _detector(self, reference: FloatArray) -> ChangeDetector[Any]:
        """Return a detector that learned from such values, which come in the order of a stream."""

    @abstractmethod
    def _values(self, observation: Observation) -> Features:
        """Return what it follows of each instance."""

    def _picked(self, rows: IntArray, chance: np.random.Generator) -> IntArray:
        """Return those rows of the validation data that a detector learns from."""
        del chance
        return rows

    def _learned(self, values: Features, units: Units, seed: int) -> dict[str, Any]:
        """Return the state: the values that it learned from, and the limit."""
        if len(units) < self.fewest:
            raise ComponentFailure(
                f"monitor '{self.name}' got {len(units)} tracks of ID validation data; expected at least "
                f"{self.fewest}"
            )

        def learned(chance: np.random.Generator) -> ChangeDetector[Any]:
            rows = self._picked(units.resampled(chance), chance)
            return self._detector(np.asarray(values[rows], dtype=np.float64))

        limit = self._set
        if limit is None:
            limit = limit_of_run_length(
                self._run_length or RUN_LENGTH,
                learned,
                lambda chance, n: values[units.drawn(chance, n)],
                seed,
            )
        chance = generator(seed, "stream monitor", "reference")
        reference = values[self._picked(units.shuffled(chance), chance)]
        return {"reference": reference, "limit": np.array(limit), "units": np.array(len(units))}

    def _load(self, state: State) -> None:
        self._limit, self._units = float(state["limit"]), int(state["units"])
        self._follower = self._detector(np.asarray(state["reference"], dtype=np.float64))
        self._begin()

    def _begin(self) -> None:
        """Be at the start of a stream."""
        self._latest, self._began, self._lasting = None, "", 0
        self._follower.forget()

    def reset(self) -> None:
        """Forget the stream."""
        self._begin()

    def _score(self, observation: Observation) -> Features:
        found, since = self._statistics(observation), []
        for name, above in zip(observation.ids.tolist(), (found > self._limit).tolist(), strict=True):
            self._lasting = self._lasting + 1 if above else 0
            self._began = name if self._lasting == 1 else self._began
            since.append((self._began, self._lasting))
        self._latest, self._found, self._since = Latest(observation), found, since
        return found - self._limit

    @property
    def _restarts_above(self) -> float:
        return self._limit if self._restart else math.inf

    def _statistics(self, observation: Observation) -> FloatArray:
        return self._follower.along(self._values(observation), self._restarts_above)

    def _explain(self, observation: Observation) -> Explanation:
        if not self._latest or (row := self._latest.row(observation)) is None:
            return Explanation("what came before it in the stream is kept for the latest batch only")
        statistic, (began, lasting) = float(self._found[row]), self._since[row]
        told = f"the {self.watched} is {statistic:.4g}, "
        details: dict[str, JSON] = {"statistic": statistic, "limit": self._limit, "above_for": lasting}
        if not lasting:
            return Explanation(f"{told}not above its limit of {self._limit:.4g}", details=details)
        since = "this instance on" if lasting == 1 else f"'{began}' on, for {lasting} instances"
        told += f"above its limit of {self._limit:.4g} from {since}"
        return Explanation(told, details={**details, "since": began})

    def notes(self) -> Mapping[str, JSON]:
        """The limit, what it was to give, and how many tracks or single images it learned from."""
        return {"limit": self._limit, "run_length": self._run_length, "units": self._units}
