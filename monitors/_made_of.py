"""What monitors share that are made of other monitors: these are fitted, kept, scored and named with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from farm.api import CountedClassifier, FitData, FloatArray, Monitor, Needs, Observation, State
from farm.errors import FarmError
from monitors._members import made, union_of_needs


class MadeOfMonitors(Monitor):
    """Base of them. They use members by their public methods alone, so that each sees what it would alone."""

    def __init__(self, *, specs: Sequence[Mapping[str, Any]]) -> None:
        self._specs = specs
        self._members = made(specs)
        self._needs = union_of_needs([member.needs for member in self._members])

    @property
    def needs(self) -> Needs:
        """All that the members need."""
        return self._needs

    def _told(self) -> list[dict[str, Any]]:
        """Return each member's name and every one of its parameters."""
        members = []
        for spec, member in zip(self._specs, self._members, strict=True):
            called = {key: spec[key] for key in ("name", "as") if key in spec}
            members.append(called | member.parameters | called)
        return members

    def _fit_members(self, data: FitData) -> dict[str, NDArray[np.generic]]:
        """Fit them, and return all that they keep."""
        state: dict[str, NDArray[np.generic]] = {}
        for i, member in enumerate(self._members):
            with self._naming(member):
                member.fit(data, self.classifier)
            state |= {f"member{i}.{name}": values for name, values in member.state.items()}
        return state

    def _load_members(self, state: State) -> None:
        for i, member in enumerate(self._members):
            with self._naming(member):
                member.restore(under(state, f"member{i}."), self.classifier)

    def _scores(self, observation: Observation) -> list[FloatArray]:
        scores, own = [], cast(CountedClassifier, self.classifier)
        for member in self._members:
            counted = cast(CountedClassifier, member.classifier)
            before = counted.passes
            with self._naming(member):
                scores.append(member.score(observation))
            own.passes += counted.passes - before  # what a member costs, so does what is made of it
        return scores

    def reset(self) -> None:
        """Let the members forget what came before."""
        for member in self._members:
            with self._naming(member):
                member.restart()

    @contextmanager
    def _naming(self, member: Monitor) -> Iterator[None]:
        """Say whose member it was that failed."""
        try:
            yield
        except FarmError as error:
            who, told = f"monitor '{member.name}'", str(error)
            told = told.removeprefix(who) if told.startswith(who) else f": {told}"
            raise type(error)(f"monitor '{self.name}': member '{member.name}'{told}") from error


def under(state: State, prefix: str) -> State:
    """Return the arrays whose names begin so, without that."""
    return {name.removeprefix(prefix): array for name, array in state.items() if name.startswith(prefix)}
