"""Data to be fitted on as one monitor sees them: what only others asked for is not there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from farm.api.observation import FitData, Labelled, Observation


@dataclass(frozen=True)
class ViewedData:
    """The `FitData` of one monitor, made of that of all."""

    whole: FitData
    view: Callable[[Observation], Observation]

    @property
    def classes(self) -> tuple[str, ...]:
        """The classifier's classes."""
        return self.whole.classes

    @property
    def seed(self) -> int:
        """The experiment's seed."""
        return self.whole.seed

    @property
    def validation(self) -> Iterable[Labelled]:
        """In-distribution validation data."""
        return _ViewedRows(self.whole.validation, self.view)

    @property
    def outliers(self) -> Iterable[Observation] | None:
        """The named validation fault."""
        return self.whole.outliers

    @property
    def networks(self) -> Mapping[str, object]:
        """The named networks."""
        return self.whole.networks

    def __iter__(self) -> Iterator[Labelled]:
        return iter(_ViewedRows(self.whole, self.view))


@dataclass(frozen=True)
class _ViewedRows:
    """Can be iterated again and again."""

    rows: Iterable[Labelled]
    view: Callable[[Observation], Observation]

    def __iter__(self) -> Iterator[Labelled]:
        for observation, labels in self.rows:
            yield Labelled(self.view(observation), labels)
