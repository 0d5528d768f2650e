"""A table without gaps, which can be ranked, and what was done to make it one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from farm.api.arrays import FloatArray
from farm.errors import DataError

Key = TypeVar("Key")

LISTED = 5
"""The number of names that a note gives before it counts the rest."""


@dataclass(frozen=True, slots=True)
class Zeroed:
    """An undefined value that counts as 0."""

    set_name: str
    monitor: str
    reason: str


@dataclass(frozen=True, slots=True)
class Dropped:
    """A set or a monitor that is left out."""

    name: str
    reason: str


@dataclass(frozen=True)
class FullTable:
    """A table without gaps: `values[i][j]` is what monitor j reached on set i.

    Examples
    --------
    >>> FullTable("mcc", ("snow", "fog"), ("odin", "oob"), ((0.1, 0.2), (0.3, 0.4))).array.shape
    (2, 2)
    """

    measure: str
    sets: tuple[str, ...]
    monitors: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    higher_is_better: bool = True
    a_set_is: str = "a benchmark set"
    zeroed: tuple[Zeroed, ...] = ()
    dropped_sets: tuple[Dropped, ...] = ()
    dropped_monitors: tuple[Dropped, ...] = ()

    def __post_init__(self) -> None:
        check_names(self.sets, self.monitors)
        shape = (len(self.sets), len(self.monitors))
        if min(shape) < 2:
            raise DataError(f"{self.measure}: {shape[0]} sets x {shape[1]} monitors; expected two of each")
        if len(self.values) != shape[0] or any(len(row) != shape[1] for row in self.values):
            raise DataError(f"{self.measure}: values do not fill {shape[0]} sets x {shape[1]} monitors")
        for name, row in zip(self.sets, self.values, strict=True):
            for monitor, value in zip(self.monitors, row, strict=True):
                check_finite(value, self.measure, name, monitor)

    @property
    def array(self) -> FloatArray:
        """The values as an array, sets x monitors."""
        return np.array(self.values, dtype=np.float64)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done about the gaps, those of one kind and reason in one sentence."""
        return tuple(gap_notes(self.dropped_monitors, self.dropped_sets, self.zeroed, len(self.sets)))


def gap_notes(
    monitors: Sequence[Dropped], sets: Sequence[Dropped], zeroed: Sequence[Zeroed], n_kept: int
) -> Iterator[str]:
    """Say what was left out and what counts as 0; `n_kept` sets are left."""
    for each in monitors:
        yield f"monitor '{each.name}' is left out: {each.reason}"
    for reason, names in _grouped((each.reason, each.name) for each in sets):
        yield f"{len(names)} of {n_kept + len(sets)} sets left out ({listed(names)}): {reason}"
    for (monitor, reason), names in _grouped(((each.monitor, each.reason), each.set_name) for each in zeroed):
        yield f"'{monitor}' counts as 0 on {len(names)} of {n_kept} sets ({listed(names)}): {reason}"


def listed(names: Sequence[str]) -> str:
    """Join some names, and count those that would be too many."""
    more = len(names) - LISTED
    return ", ".join(names[:LISTED]) + (f" and {more} more" if more > 0 else "")


def check_names(sets: Sequence[str], monitors: Sequence[str]) -> None:
    """Check that no name occurs twice."""
    for what, names in (("set", sets), ("monitor", monitors)):
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise DataError(f"the {what} '{twice[0]}' occurs twice; expected each {what} once")


def check_finite(value: float, measure: str, set_name: str, monitor: str) -> None:
    """Check that a value can be ranked."""
    if not math.isfinite(value):
        raise DataError(f"{measure} of '{monitor}' on set '{set_name}' is {value}; expected a finite number")


def _grouped(pairs: Iterable[tuple[Key, str]]) -> Iterable[tuple[Key, list[str]]]:
    groups: dict[Key, list[str]] = {}
    for key, name in pairs:
        groups.setdefault(key, []).append(name)
    return groups.items()
