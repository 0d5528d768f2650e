"""Streams: which instances arrive, in which order, from where.

A `BenchmarkStream` draws its in-distribution instances from a workload's test split and its OOD instances
from what a faultload acts upon.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from farm.api import (
    JSON,
    Batch,
    BoolArray,
    Faultload,
    FaultTargets,
    FloatArray,
    IntArray,
    StrArray,
    Workload,
    check_choice,
    check_number,
    copies_of,
    generator,
)
from farm.errors import DataError, ExperimentError

Order = Callable[[np.random.Generator, IntArray, IntArray], IntArray]


def _sequential(rng: np.random.Generator, in_distribution: IntArray, ood: IntArray) -> IntArray:  # noqa: ARG001
    return np.concatenate([in_distribution, ood])


def _shuffled(rng: np.random.Generator, in_distribution: IntArray, ood: IntArray) -> IntArray:
    return rng.permutation(np.concatenate([in_distribution, ood]))


ORDERS: Mapping[str, Order] = {"shuffled": _shuffled, "sequential": _sequential}


@dataclass(frozen=True)
class Fault:
    """A faultload at work: the instances it acts upon, at one severity."""

    faultload: Faultload
    targets: FaultTargets
    severity: float | None = None


class BenchmarkStream:
    """A finite stream of ID test instances and, where there is a fault, of OOD ones.

    Parameters
    ----------
    workload
        Gives the ID instances: its test split, nothing else.
    fault
        Gives the OOD instances; None makes a stream of ID instances alone.
    order
        `shuffled`, or `sequential` (all ID instances, then all OOD ones).
    ood_share
        The share of OOD instances; as many instances as allow it are drawn without replacement. None takes
        every instance of both.
    length
        Cut the stream to this many instances, keeping the share.
    seed
        The experiment's seed.
    """

    def __init__(
        self,
        workload: Workload,
        fault: Fault | None = None,
        *,
        order: str = "shuffled",
        ood_share: float | None = None,
        length: int | None = None,
        seed: int = 0,
    ) -> None:
        check_choice("stream.order", order, tuple(ORDERS))
        if ood_share is not None:
            check_number("stream.ood_share", ood_share, low=0, high=1)
        if length is not None:
            check_number("stream.length", length, low=1, whole=True)
        self._workload, self._fault = workload, fault
        n_id = len(workload.test)
        n_ood = len(fault.targets.indices) if fault else 0
        take_id, take_ood = _counts(n_id, n_ood, ood_share, length)
        self._severity = fault.faultload.check_severity(fault.severity) if fault else float("nan")
        # Rows below n_id are test instances, the others the fault's targets.
        chosen_id = _draw(generator(seed, "stream", "id"), n_id, take_id)
        chosen_ood = _draw(generator(seed, "stream", "ood"), n_ood, take_ood) + n_id
        self._rows = ORDERS[order](generator(seed, "stream", "order"), chosen_id, chosen_ood)
        self._n_id = n_id
        self._order, self._asked_share, self._seed = order, ood_share, seed
        self.guard(workload)

    @property
    def classes(self) -> tuple[str, ...]:
        """The classifier's classes."""
        return self._workload.classes

    @property
    def length(self) -> int:
        """How many instances there are."""
        return len(self._rows)

    @property
    def n_ood(self) -> int:
        """How many of them are OOD."""
        return int((self._rows >= self._n_id).sum())

    @property
    def provenance(self) -> Mapping[str, JSON]:
        """What made this stream."""
        fault: dict[str, JSON] | None = None
        if self._fault:
            targets = self._fault.targets
            fault = {
                "name": self._fault.faultload.name,
                "parameters": self._fault.faultload.parameters,
                "severity": self._fault.severity,
                "targets": targets.workload,
                "targets_hash": targets.split.content_hash,
                "notes": dict(targets.notes),
            }
        return {
            "order": self._order,
            "asked_ood_share": self._asked_share,
            "seed": self._seed,
            "length": self.length,
            "n_ood": self.n_ood,
            "ood_share": self.n_ood / self.length,
            "workload_hash": self._workload.test.content_hash,
            "fault": fault,
        }

    def batches(self, size: int) -> Iterator[Batch]:
        """Yield batches of at most this many instances, from the start."""
        for start in range(0, self.length, size):
            yield self._batch(self._rows[start : start + size])

    def guard(self, workload: Workload) -> None:
        """Raise where an image, or one of its group, is in the workload's training or validation data."""
        sources = [(self._workload.test, f"workload '{self._workload.name}'")]
        if self._fault:
            sources.append((self._fault.targets.split, f"faultload '{self._fault.faultload.name}'"))
        for split, what in sources:
            check_unseen(workload, split.digests, split.groups, split.ids, what)

    def _batch(self, rows: IntArray) -> Batch:
        is_ood: BoolArray = rows >= self._n_id
        test = self._workload.test
        own = rows[~is_ood]
        n = len(rows)
        images = np.empty((n, *self._workload.shape), dtype=np.float32)
        labels = np.empty(n, dtype=np.int64)
        images[~is_ood], labels[~is_ood] = test.images.read(own), test.labels[own]
        columns = {name: np.full(n, "", dtype=object) for name in ("ids", "track", "category")}
        columns["ids"][~is_ood], columns["track"][~is_ood] = test.ids[own], test.groups[own]
        severity: FloatArray = np.full(n, np.nan)
        faultload = workload = self._workload.name
        if self._fault and is_ood.any():
            targets, faultload = self._fault.targets, self._fault.faultload.name
            workload = targets.workload
            which = rows[is_ood] - self._n_id
            indices = targets.indices[which]
            severity[is_ood] = self._severity
            columns["ids"][is_ood] = _fault_ids(targets.split.ids[indices], faultload, severity[is_ood])
            columns["track"][is_ood] = targets.split.groups[indices]
            columns["category"][is_ood] = targets.category[which]
            faulted = self._fault.faultload.apply(
                targets.split.images.read(indices),
                targets.labels[which],
                targets.split.ids[indices],
                severity[is_ood],
            )
            images[is_ood], labels[is_ood] = faulted
        return Batch(
            ids=columns["ids"].astype(str),
            images=images,
            labels=labels,
            is_ood=is_ood,
            category=columns["category"].astype(str),
            faultload=np.where(is_ood, faultload, ""),
            severity=severity,
            track=columns["track"].astype(str),
            workload=np.where(is_ood, workload, self._workload.name),
        )


def check_unseen(
    workload: Workload, digests: Sequence[bytes], groups: StrArray, ids: StrArray, what: str
) -> None:
    """Raise where benchmark images were used for fitting: a result on them would be no result."""
    for split in (workload.train, workload.validation):
        copies = copies_of(split, digests)
        related = np.flatnonzero(np.isin(groups, split.groups))
        for found, how in ((copies, "are also"), (related, "have a group that is also")):
            if found.size:
                raise DataError(
                    f"{what}: {found.size} of its images {how} in split '{split.name}' of workload "
                    f"'{workload.name}', such as '{ids[int(found[0])]}'; expected none: benchmark data "
                    "never fits or tunes anything"
                )


def _fault_ids(ids: StrArray, faultload: str, severity: FloatArray) -> list[str]:
    """An ID instance may stand in the stream beside its faulted self; both need an id of their own."""
    levels = ["" if np.isnan(level) else f"@{level:g}" for level in severity]
    return [f"{i}|{faultload}{level}" for i, level in zip(ids, levels, strict=True)]


def _counts(n_id: int, n_ood: int, share: float | None, length: int | None) -> tuple[int, int]:
    """How many ID and OOD instances to take, given what there is."""
    if share is None:
        share_now = n_ood / (n_id + n_ood)
        take = (n_id, n_ood)
    else:
        if share > 0 and not n_ood:
            raise ExperimentError(f"stream.ood_share is {share}; expected 0 where no faultload is named")
        by_id = n_id / (1 - share) if share < 1 else float("inf")
        by_ood = n_ood / share if share > 0 else float("inf")
        total = min(by_id, by_ood)
        take = (min(round(total * (1 - share)), n_id), min(round(total * share), n_ood))
        share_now = share
    if length is None:
        return take
    if length > sum(take):
        at = "" if share is None else f" at an OOD share of {share}"
        raise ExperimentError(f"stream.length is {length}; expected at most {sum(take)}, all there is{at}")
    short_ood = min(round(length * share_now), take[1])
    return length - short_ood, short_ood


def _draw(rng: np.random.Generator, n: int, take: int) -> IntArray:
    """Draw without replacement, keeping the original order."""
    return np.sort(rng.permutation(n)[:take])
