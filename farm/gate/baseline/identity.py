"""Is it the same stream? What is in it, in which order, with which labels and faults: counted and hashed.

The order is part of it, since policies and monitors that look back decide otherwise in another order. Pixels
are not: those of an attack depend on the classifier, and may, in their last bits, on the machine.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from farm.judging import VerdictTable
from farm.store.files import json_digest

_NOTHING = ""


@dataclass(frozen=True)
class StreamIdentity:
    """A stream's size and digests; equal where two runs watched the same instances with the same faults.

    How many instances a batch had is no matter.
    """

    n: int
    n_ood: int
    instances: str
    """Of the ids, sorted."""
    order: str
    labels: str
    """Of each id's label."""
    faults: str
    """Of each id's `is_ood`, faultload and severity."""

    @classmethod
    def of(cls, table: VerdictTable) -> StreamIdentity:
        """Hash a run's instances, whatever order its table is in."""
        rows = in_stream_order(table)
        ids, labels, faults = rows.id, rows.number(rows.label).tolist(), faults_of(rows)
        return cls(
            n=len(rows),
            n_ood=int(rows.is_ood.sum()),
            instances=json_digest(sorted(ids)),
            order=json_digest(ids),
            labels=json_digest(sorted(zip(ids, labels, strict=True))),
            faults=json_digest(sorted(zip(ids, faults, strict=True))),
        )

    def difference(self, other: StreamIdentity) -> str | None:
        """Say in what another stream differs from this one, the baseline's; None where it is the same.

        Examples
        --------
        >>> one = StreamIdentity(10, 5, "a", "b", "c", "d")
        >>> one.difference(StreamIdentity(12, 5, "e", "f", "g", "h"))
        'it has 12 instances, 5 of them OOD; the baseline has 10, 5 of them OOD'
        >>> one.difference(StreamIdentity(10, 5, "a", "f", "c", "d"))
        'its instances are those of the baseline in another order'
        """
        if (self.n, self.n_ood) != (other.n, other.n_ood):
            return (
                f"it has {other.n} instances, {other.n_ood} of them OOD; the baseline has {self.n}, "
                f"{self.n_ood} of them OOD"
            )
        if self.instances != other.instances:
            return f"its instances are others, though as many ({self.n}, {self.n_ood} of them OOD)"
        if self.labels != other.labels:
            return "its instances have other labels"
        if self.faults != other.faults:
            return "its instances have other faults or severities"
        return (
            "its instances are those of the baseline in another order" if self.order != other.order else None
        )

    @property
    def record(self) -> dict[str, Any]:
        """Return it as it is saved."""
        return {**asdict(self), "ood_share": round(self.n_ood / self.n, 4)}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> StreamIdentity:
        """Take it from what was saved."""
        return cls(**{name: record[name] for name in cls.__dataclass_fields__})


def in_stream_order(table: VerdictTable) -> VerdictTable:
    """Return a run's table, its instances in the order of the stream."""
    return table.take(np.argsort(table.position, kind="stable"))


def faults_of(table: VerdictTable) -> list[str]:
    """Say of each instance whether it is OOD, and by which fault at which severity."""
    columns = [[str(ood) for ood in table.is_ood.tolist()]]
    if table.faultload is not None:
        columns.append([_NOTHING if name is None else str(name) for name in table.faultload])
    if table.severity is not None:
        # Six digits: the severities along a ramp are computed, and their last bits are no other stream.
        columns.append([_NOTHING if math.isnan(each) else f"{each:.6g}" for each in table.severity.tolist()])
    return [" ".join(each) for each in zip(*columns, strict=True)]
