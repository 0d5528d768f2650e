"""Which instances are judged together: by fault, and ID and OOD together or apart.

Every OOD instance belongs to one group: its faultload, category and severity. A group is judged in three
parts: `id` (all ID instances), `ood` (the group's) and `all` (both). ID instances are shared by all groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from farm.api.arrays import BoolArray, IntArray

T = TypeVar("T", bound=np.generic)

MOST_SEVERITIES = 20
"""A faultload with more severities than this is a ramp: one group, not one for each."""


@dataclass(frozen=True)
class Group:
    """What the OOD instances of one group have in common; all null where there are none."""

    faultload: str | None = None
    category: str | None = None
    severity: float | None = None
    severity_range: tuple[float, float] | None = None
    """Lowest and highest severity of a ramp, whose `severity` is null."""


@dataclass(frozen=True)
class Part:
    """The instances of one record: those of one or two neighbouring strata."""

    group: Group
    name: str
    strata: tuple[int, ...]


@dataclass(frozen=True)
class Partition:
    """The instances sorted into strata: 0 is ID, the others are one group's OOD instances each."""

    order: IntArray
    """Row numbers, stratum after stratum; within one, as they came."""
    bounds: IntArray
    """Stratum `s` is `order[bounds[s]:bounds[s + 1]]`."""
    parts: tuple[Part, ...]

    def stratum(self, number: int) -> slice:
        """Give the rows of a stratum, in arrays that are in this order."""
        return slice(int(self.bounds[number]), int(self.bounds[number + 1]))

    def take(self, values: NDArray[T], part: Part) -> NDArray[T]:
        """Give a part's values; `values` are in this order."""
        pieces = [values[self.stratum(number)] for number in part.strata]
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


def partition(instances: pd.DataFrame, is_ood: BoolArray | None) -> Partition:
    """Sort instances into strata and name the parts to be judged; parts without instances are left out.

    Where ID and OOD cannot be told apart (`is_ood` is None) there is one part, `all`.

    Examples
    --------
    >>> instances = pd.DataFrame({"faultload": [None, "snow", "snow"], "severity": [None, 5.0, 2.0]})
    >>> parted = partition(instances, np.array([False, True, True]))
    >>> [(part.name, part.group.severity) for part in parted.parts]
    [('all', 2.0), ('id', 2.0), ('ood', 2.0), ('all', 5.0), ('id', 5.0), ('ood', 5.0)]
    >>> parted.order.tolist()
    [0, 2, 1]
    """
    stratum = np.zeros(len(instances), dtype=np.int64)
    groups: list[Group] = []
    if is_ood is not None:
        codes, groups = _groups(instances[is_ood])
        stratum[is_ood] = codes + 1
    order = np.argsort(stratum, kind="stable")
    sizes = np.bincount(stratum, minlength=len(groups) + 1)
    bounds = np.concatenate(([0], np.cumsum(sizes)))
    parts: list[Part] = []
    for number, group in enumerate(groups or [Group()], start=1):
        own = (number,) if groups else ()
        parts.append(Part(group, "all", (0, *own)))
        if is_ood is not None and sizes[0]:
            parts.append(Part(group, "id", (0,)))
        if own:
            parts.append(Part(group, "ood", own))
    return Partition(order, bounds, tuple(parts))


def _groups(ood: pd.DataFrame) -> tuple[IntArray, list[Group]]:
    """Give each OOD instance's group number, and the groups in the order of their names and severities."""
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
    """Give a column as codes of its sorted values; the last code is null."""
    if column not in frame:
        return np.zeros(len(frame), dtype=np.int64), [None]
    codes, values = pd.factorize(frame[column], sort=True)
    return np.where(codes < 0, len(values), codes).astype(np.int64), [*values.tolist(), None]
