"""Charts of the scores of another monitor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, cast

import numpy as np

from farm.api import JSON, Explanation, Features, FitData, FloatArray, Observation, State
from farm.api.changes import ChangeDetector, Standardised, Units
from monitors._charts import Chart
from monitors._made_of import MadeOfMonitors
from monitors._members import MemberSpec, as_mapping


class ScoreChart(Chart, MadeOfMonitors):
    """Base of them. What it watches is fitted with it, and its own threshold plays no part."""

    statistic: ClassVar[str]
    """What it is called."""

    def __init__(
        self, *, of: MemberSpec, run_length: float | None, limit: float | None, restart: bool
    ) -> None:
        MadeOfMonitors.__init__(self, specs=[as_mapping(of, "of is")])
        Chart.__init__(self, run_length=run_length, limit=limit, restart=restart)
        self._needs = replace(self._needs, order=True)
        self.watched = f"{self.statistic} of '{self._members[0].name}'"

    @property
    def parameters(self) -> dict[str, Any]:
        """Every parameter, and every one of the monitor that it watches."""
        return super().parameters | {"of": self._told()[0]}

    def _fit(self, data: FitData) -> State:
        state = self._fit_members(data)
        scores, tracks = [np.empty(0)], []
        for observation, _ in data.validation:
            scores += self._scores(observation)
            tracks.append(observation.track)
        MadeOfMonitors.reset(self)
        values = np.concatenate(scores)
        units = Units.of_batches(tracks, len(values))
        return state | self._learned(values, self._counted(units), data.seed)

    def _counted(self, units: Units) -> Units:
        """Return what of each unit counts."""
        return units

    def _load(self, state: State) -> None:
        self._load_members(state)
        Chart._load(self, state)

    def _values(self, observation: Observation) -> Features:
        return self._scores(observation)[0]

    def _explain(self, observation: Observation) -> Explanation:
        told, (member,) = Chart._explain(self, observation), self._members
        with self._naming(member):
            own = member.explain(observation)[0].record()
        return replace(told, details={**told.details, member.name: own}) if own else told

    def reset(self) -> None:
        """Forget the stream, and let what it watches do so."""
        Chart.reset(self)
        MadeOfMonitors.reset(self)

    def notes(self) -> Mapping[str, JSON]:
        """What the chart found out, and what the watched monitor did."""
        own = {member.name: dict(member.notes()) for member in self._members}
        return {**Chart.notes(self), "of": cast(JSON, own)}


class StandardisedChart(ScoreChart):
    """Base of those whose detector follows scores in standard deviations of ID ones. A subclass makes it."""

    history: ClassVar[int] = 0
    """With so many scores of ID validation data it begins."""
    _made: ChangeDetector[float]

    def _detector(self, reference: FloatArray) -> ChangeDetector[float]:
        return Standardised(self._made, reference, history=self.history)
