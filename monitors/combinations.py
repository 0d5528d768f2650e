"""A monitor made of monitors: what a vote and a fusion share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from farm.api import (
    JSON,
    Explanation,
    Features,
    FitData,
    FloatArray,
    Observation,
    State,
)
from farm.errors import ComponentFailure
from monitors._latest import Latest
from monitors._made_of import MadeOfMonitors, under
from monitors._member_reasons import told_by_members
from monitors._members import MemberSpec, as_mappings
from monitors.tail_scale import TailScale


class Combination(MadeOfMonitors):
    """Base of the combinations. Subclasses say what a member's scores contribute, and how that is joined."""

    def __init__(self, *, members: Sequence[MemberSpec]) -> None:
        super().__init__(specs=as_mappings(members))
        self._scales: list[TailScale] = []
        self._latest: Latest | None = None

    @abstractmethod
    def _part(self, i: int, scores: FloatArray) -> FloatArray:
        """Turn the scores of member i into what it contributes."""

    @abstractmethod
    def _join(self, parts: FloatArray) -> Features:
        """Turn the contributions, members x instances, into one score an instance."""

    @abstractmethod
    def _decisive(self, ranked: Sequence[str]) -> tuple[str, str]:
        """Name the member that decides, of all from the largest contribution down, and say how it does."""

    @property
    def parameters(self) -> dict[str, Any]:
        """Every parameter, and every one of the members."""
        return super().parameters | {"members": self._told()}

    def _fit(self, data: FitData) -> State:
        state = self._fit_members(data)
        rows = [np.stack(self._scores(observation)) for observation, _ in data.validation]
        self.reset()
        if not sum(row.shape[1] for row in rows):
            raise ComponentFailure(
                f"monitor '{self.name}' got no ID validation data; expected at least one instance"
            )
        for i, scores in enumerate(np.concatenate(rows, axis=1)):
            state |= {f"scale{i}.{name}": values for name, values in TailScale.of(scores).state.items()}
        return state

    def _load(self, state: State) -> None:
        self._latest = None
        self._load_members(state)
        self._scales = [TailScale.load(under(state, f"scale{i}.")) for i in range(len(self._members))]

    def _score(self, observation: Observation) -> Features:
        parts = [self._part(i, scores) for i, scores in enumerate(self._scores(observation))]
        self._latest, self._parts = Latest(observation), np.stack(parts)
        return self._join(self._parts)

    def _explain(self, observation: Observation) -> Explanation:
        parts, own = self._parts_of(observation), {}
        for member in self._members:
            with self._naming(member):
                own[member.name] = member.explain(observation)[0].record()
        return told_by_members(parts, own, self._decisive)

    def _parts_of(self, one: Observation) -> dict[str, float]:
        """Say what each member adds to an instance's score, but for those that cannot score it again."""
        if self._latest and (row := self._latest.row(one)) is not None:
            return {m.name: float(part) for m, part in zip(self._members, self._parts[:, row], strict=True)}
        # To score an instance again would tell a member with a memory that it came twice.
        again = [(i, m) for i, m in enumerate(self._members) if not m.needs.order]
        return {m.name: float(self._part(i, m.score(one))[0]) for i, m in again}

    def reset(self) -> None:
        """Let the members forget what came before."""
        self._latest = None
        super().reset()

    def notes(self) -> Mapping[str, JSON]:
        """What the members found out, and which of them gave all ID validation data one score."""
        pairs = zip(self._members, self._scales, strict=True)
        constant = [member.name for member, scale in pairs if len(scale.values) == 1]
        own = {member.name: dict(member.notes()) for member in self._members}
        return {"members": cast(JSON, own), "constant_on_id": cast(JSON, constant)}
