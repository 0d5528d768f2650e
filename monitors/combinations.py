"""A monitor made of monitors: what a vote and a fusion share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

import numpy as np

from farm.api import (
    JSON,
    CountedClassifier,
    Explanation,
    Features,
    FitData,
    FloatArray,
    Monitor,
    Needs,
    Observation,
    State,
)
from farm.errors import ComponentFailure, FarmError
from monitors._members import MemberSpec, as_mappings, made, union_of_needs
from monitors.tail_scale import TailScale


class Combination(Monitor):
    """Base of the combinations. Subclasses say what a member's scores contribute, and how that is joined.

    Members are used by their public methods alone, so that each sees just what it would see on its own.
    """

    def __init__(self, *, members: Sequence[MemberSpec]) -> None:
        self._specs = as_mappings(members)
        self._members = made(self._specs)
        self._needs = union_of_needs([member.needs for member in self._members])
        self._scales: list[TailScale] = []

    @abstractmethod
    def _part(self, i: int, scores: FloatArray) -> FloatArray:
        """Turn the scores of member i into what it contributes."""

    @abstractmethod
    def _join(self, parts: FloatArray) -> Features:
        """Turn the contributions, members x instances, into one score an instance."""

    @property
    def parameters(self) -> dict[str, Any]:
        """Every parameter, and every one of the members."""
        members = []
        for spec, member in zip(self._specs, self._members, strict=True):
            called = {key: spec[key] for key in ("name", "as") if key in spec}
            members.append(called | member.parameters | called)
        return super().parameters | {"members": members}

    @property
    def needs(self) -> Needs:
        """All that the members need."""
        return self._needs

    def _fit(self, data: FitData) -> State:
        state: dict[str, np.ndarray] = {}
        for i, member in enumerate(self._members):
            with self._naming(member):
                member.fit(data, self.classifier)
            state.update({f"member{i}.{name}": values for name, values in member.state.items()})
        rows = [np.stack(self._scores(observation)) for observation, _ in data.validation]
        self.reset()
        if not sum(row.shape[1] for row in rows):
            raise ComponentFailure(
                f"monitor '{self.name}' got no ID validation data; expected at least one instance"
            )
        for i, scores in enumerate(np.concatenate(rows, axis=1)):
            state.update({f"scale{i}.{name}": values for name, values in TailScale.of(scores).state.items()})
        return state

    def _load(self, state: State) -> None:
        for i, member in enumerate(self._members):
            with self._naming(member):
                member.restore(_under(state, f"member{i}."), self.classifier)
        self._scales = [TailScale.load(_under(state, f"scale{i}.")) for i in range(len(self._members))]

    def _score(self, observation: Observation) -> Features:
        parts = [self._part(i, scores) for i, scores in enumerate(self._scores(observation))]
        return self._join(np.stack(parts))

    def _scores(self, observation: Observation) -> list[FloatArray]:
        scores, own = [], cast(CountedClassifier, self.classifier)
        for member in self._members:
            counted = cast(CountedClassifier, member.classifier)
            before = counted.passes
            with self._naming(member):
                scores.append(member.score(observation))
            own.passes += counted.passes - before  # what a member costs, its combination costs
        return scores

    def _explain(self, observation: Observation) -> Explanation:
        # To score an instance again would tell a member with a memory that it came twice.
        again = [i for i, member in enumerate(self._members) if not member.needs.order]
        parts: dict[str, float] = {}
        own: dict[str, Any] = {}
        for i, member in enumerate(self._members):
            with self._naming(member):
                if i in again:
                    parts[member.name] = float(self._part(i, member.score(observation))[0])
                own[member.name] = member.explain(observation)[0].record()
        heaviest = sorted(parts, key=lambda name: -parts[name])
        first: dict[str, Any] = own[heaviest[0]] if heaviest else {}
        reason = f"most from '{heaviest[0]}'" if heaviest else ""
        return Explanation(
            reason=f"{reason}: {first['reason']}" if "reason" in first else reason,
            contributions={name: parts[name] for name in heaviest},
            nearest=first.get("nearest", ()),
            details={"members": {name: told for name, told in own.items() if told}},
        )

    def reset(self) -> None:
        """Let the members forget what came before."""
        for member in self._members:
            with self._naming(member):
                member.restart()

    def notes(self) -> Mapping[str, JSON]:
        """What the members found out, and which of them gave all ID validation data one score."""
        pairs = zip(self._members, self._scales, strict=True)
        constant = [member.name for member, scale in pairs if len(scale.values) == 1]
        own = {member.name: dict(member.notes()) for member in self._members}
        return {"members": cast(JSON, own), "constant_on_id": cast(JSON, constant)}

    @contextmanager
    def _naming(self, member: Monitor) -> Iterator[None]:
        """Say whose member it was that failed."""
        try:
            yield
        except FarmError as error:
            who, told = f"monitor '{member.name}'", str(error)
            told = told.removeprefix(who) if told.startswith(who) else f": {told}"
            raise type(error)(f"monitor '{self.name}': member '{member.name}'{told}") from error


def _under(state: State, prefix: str) -> State:
    return {name.removeprefix(prefix): array for name, array in state.items() if name.startswith(prefix)}
