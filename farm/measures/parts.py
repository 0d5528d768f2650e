"""Which instances are judged together: by fault, and ID and OOD together or apart.

Every OOD instance belongs to one group: its faultload, category and severity. A group is judged in three
parts: `id` (all ID instances), `ood` (the group's) and `all` (both). ID instances are shared by all groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from farm.api.arrays import BoolArray, IntArray

Kind: TypeAlias = tuple[str | None, str | None]
"""A faultload and its category."""
MOST_SEVERITIES = 20
"""A faultload with more severities than this is a ramp: one group, not one for each."""
UNNAMED_FAULT = "unnamed fault"


@dataclass(frozen=True)
class Group:
    """What the OOD instances of one group have in common; all null where there are none."""

    faultload: str | None = None
    category: str | None = None
    severity: float | None = None
    severity_range: tuple[float, float] | None = None
    """Lowest and highest severity of a ramp, whose `severity` is null."""

    @property
    def kind(self) -> Kind:
        """Its fault, whatever the severity."""
        return self.faultload, self.category

    @property
    def level(self) -> str | None:
        """The severity in words; None where there is none.

        Examples
        --------
        >>> Group("fog", severity=3.0).level, Group("fog", severity_range=(0.0, 4.98)).level, Group().level
        ('3', 'up to 5', None)
        """
        if self.severity_range:
            # Two digits: the last instance of a ramp is not in every run the one at its end.
            return f"up to {self.severity_range[1]:.2g}"
        return None if self.severity is None else f"{self.severity:g}"

    @property
    def fault(self) -> str:
        """The fault in words, with its severity."""
        return " ".join(filter(None, (self.faultload or UNNAMED_FAULT, self.level)))


@dataclass(frozen=True)
class Part:
    """The instances of one record: those of one or two neighbouring strata."""

    group: Group
    name: str
    strata: tuple[int, ...]


@dataclass(frozen=True)
class Partition:
    """The instances sorted into strata: 0 is ID, the others are one group's OOD instances each."""

    strata: Sequence[IntArray]
    """Each one's row numbers, as they came."""
    parts: tuple[Part, ...]

    def rows(self, part: Part) -> IntArray:
        """Return the row numbers of a part."""
        return np.concatenate([self.strata[number] for number in part.strata])


def partition(instances: pd.DataFrame, is_ood: BoolArray | None) -> Partition:
    """Sort instances into strata and name the parts to be judged; parts without instances are left out.

    Where ID and OOD cannot be told apart (`is_ood` is None) there is one part, `all`.

    Examples
    --------
    >>> instances = pd.DataFrame({"faultload": [None, "snow", "snow"], "severity": [None, 5.0, 2.0]})
    >>> parted = partition(instances, np.array([False, True, True]))
    >>> [(part.name, part.group.severity) for part in parted.parts]
    [('all', 2.0), ('id', 2.0), ('ood', 2.0), ('all', 5.0), ('id', 5.0), ('ood', 5.0)]
    >>> [rows.tolist() for rows in parted.strata]
    [[0], [2], [1]]
    """
    stratum = np.zeros(len(instances), dtype=np.int64)
    groups: list[Group] = []
    if is_ood is not None:
        codes, groups = _groups(instances[is_ood])
        stratum[is_ood] = codes + 1
    order = np.argsort(stratum, kind="stable")
    sizes = np.bincount(stratum, minlength=len(groups) + 1)
    parts: list[Part] = []
    for number, group in enumerate(groups or [Group()], start=1):
        own = (number,) if groups else ()
        parts.append(Part(group, "all", (0, *own)))
        if is_ood is not None and sizes[0]:
            parts.append(Part(group, "id", (0,)))
        if own:
            parts.append(Part(group, "ood", own))
    return Partition(np.split(order, np.cumsum(sizes)[:-1]), tuple(parts))


def _groups(ood: pd.DataFrame) -> tuple[IntArray, list[Group]]:
    """Return each OOD instance's group number, and the groups in the order of their names and severities."""
    faultload, faultloads = _coded(ood, "faultload")
    category, categories = _coded(ood, "category")
    severity, severities = _coded(ood, "severity")
    kind = faultload * len(categories) + category
    ranges: dict[int, tuple[float, float]] = {}
    # Fewer distinct severities over all: no kind can have more.
    for code in np.unique(kind) if len(severities) > MOST_SEVERITIES else ():
        present = np.unique(severity[kind == code])
        known = [float(severities[i]) for i in present if severities[i] is not None]
        if len(known) > MOST_SEVERITIES:
            ranges[int(code)] = (min(known), max(known))
            severity[kind == code] = len(severities) - 1
    combined, numbers = np.unique(kind * len(severities) + severity, return_inverse=True)
    groups = []
    for code in combined.tolist():
        kind_code, severity_code = divmod(code, len(severities))
        faultload_code, category_code = divmod(kind_code, len(categories))
        groups.append(
            Group(
                faultloads[faultload_code],
                categories[category_code],
                severities[severity_code],
                ranges.get(kind_code),
            )
        )
    return numbers, groups


def _coded(frame: pd.DataFrame, column: str) -> tuple[IntArray, list[Any]]:
    """Return a column as codes of its sorted values; the last code is null."""
    if column not in frame:
        return np.zeros(len(frame), dtype=np.int64), [None]
    codes, values = pd.factorize(frame[column], sort=True)
    return np.where(codes < 0, len(values), codes).astype(np.int64), [*values.tolist(), None]


class Kinds:
    """What severities each kind was met with, at most a few or the ends of a ramp, as parts become known.

    What is counted of a group is kept under one without a range; in the end they are those of the whole.
    """

    def __init__(self) -> None:
        self._severities: dict[Kind, set[float]] = {}
        self._ends: dict[Kind, tuple[float, float]] = {}
        self._ramps: set[Kind] = set()

    def meet(self, groups: Iterable[Group]) -> None:
        """Take note of the groups of a part."""
        for group in groups:
            known = () if group.severity is None else (group.severity,)
            self._note(group.kind, known, group.severity_range or known)
            if group.severity_range:
                self._ramps.add(group.kind)

    def merge(self, other: Kinds) -> None:
        """Take note of all that another has met."""
        for kind in other._severities:
            self._note(kind, other._severities[kind], other._ends.get(kind, ()))
        self._ramps |= other._ramps

    def _note(self, kind: Kind, severities: Iterable[float], ends: tuple[float, ...]) -> None:
        met = self._severities.setdefault(kind, set())
        met.update(severities)
        if ends:
            all_ends = (*ends, *self._ends.get(kind, ()))
            self._ends[kind] = (min(all_ends), max(all_ends))
        if len(met) > MOST_SEVERITIES or kind in self._ramps:
            self._ramps.add(kind)
            met.clear()

    def key(self, group: Group) -> Group:
        """Say under which group the instances of one are counted by now."""
        return Group(*group.kind, None if group.kind in self._ramps else group.severity)

    def parts(self, keys: Iterable[Group], *, some_id: bool) -> dict[Part, tuple[Group | None, ...]]:
        """Name the parts to be judged, in the order of `partition`, and what each sums up; None is ID."""
        id_ = (None,) if some_id else ()
        named: dict[Part, tuple[Group | None, ...]] = {}
        for key in sorted(keys, key=lambda key: [(each is None, each) for each in (*key.kind, key.severity)]):
            group = replace(key, severity_range=self._ends.get(key.kind) if key.kind in self._ramps else None)
            for name, summed in (("all", (*id_, key)), ("id", id_), ("ood", (key,))):
                if summed:
                    named[Part(group, name, ())] = summed
        return named or {Part(Group(), name, ()): (None,) for name in ("all", "id")}
