"""Is it the same stream? What is in it, in which order, with which labels and faults: counted and hashed.

The order is part of it, since policies and monitors that look back decide otherwise in another order. Pixels
are not: those of an attack depend on the classifier, and may, in their last bits, on the machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd

from farm.errors import DataError
from farm.files import json_digest
from farm.readouts import Readouts

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
    def of(cls, run: Readouts) -> StreamIdentity:
        """Hash a run's instances."""
        rows = along(run)
        ids, labels, faults = ids_of(rows), rows["label"].tolist(), faults_of(rows)
        return cls(
            n=len(rows),
            n_ood=int(rows["is_ood"].sum()),
            instances=json_digest(sorted(ids)),
            order=json_digest(ids),
            labels=json_digest(sorted(zip(ids, map(int, labels), strict=True))),
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
        """Give it as it is saved."""
        return {**asdict(self), "ood_share": round(self.n_ood / self.n, 4)}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> StreamIdentity:
        """Take it from what was saved."""
        return cls(**{name: record[name] for name in cls.__dataclass_fields__})


def along(run: Readouts) -> pd.DataFrame:
    """Give a run's instances in the order of its stream; label and `is_ood` have to be known for all."""
    for column in ("label", "is_ood"):
        missing = len(run.instances)
        if column in run.instances:
            missing = int(run.instances[column].isna().sum())
        if missing or not len(run.instances):
            where = f"{run.run['folder']}: " if run.run.get("folder") else ""
            raise DataError(
                f"{where}'{column}' is missing for {missing} of {len(run.instances)} instances; a baseline "
                "needs it for all"
            )
    return run.instances.sort_values("position", kind="stable", ignore_index=True)


def ids_of(rows: pd.DataFrame) -> list[str]:
    """Name each instance; one without an id by its place in the stream."""
    if "id" in rows:
        return [str(name) for name in rows["id"].tolist()]
    return [f"instance {place}" for place in range(len(rows))]


def faults_of(rows: pd.DataFrame) -> list[str]:
    """Say of each instance whether it is OOD, and by which fault at which severity."""
    told = [[str(bool(ood)) for ood in rows["is_ood"].tolist()]]
    if "faultload" in rows:
        told.append([_NOTHING if pd.isna(name) else str(name) for name in rows["faultload"].tolist()])
    if "severity" in rows:
        # Six digits: the severities along a ramp are computed, and their last bits are no other stream.
        told.append([_NOTHING if pd.isna(s) else f"{s:.6g}" for s in rows["severity"].tolist()])
    return [" ".join(each) for each in zip(*told, strict=True)]
