"""Where the instances of a stream come from: a workload's test split, and what faults make of instances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from farm.api import (
    FAULT_MEASURES,
    JSON,
    Batch,
    BoolArray,
    Faulted,
    FloatArray,
    Images,
    IntArray,
    PerInstance,
    Split,
    StrArray,
    Workload,
    copies_of,
)
from farm.errors import DataError, ExperimentError
from farm.run.faults import Fault, Generated, generate

VIEW_NOISE = 0.02
"""The spread of the sensor noise between views of one object, where a workload has no real ones."""


@dataclass(frozen=True)
class Rows:
    """Consecutive instances of a stream, before their images are read.

    `source` 0 is the workload's test split, the others are the faults in order; `index` is the place there.
    `intensity` scales a fault's severity, `episode` numbers what a monitor should notice (-1: nothing), and
    `visit` counts how often the instance came before in an endless stream.
    """

    source: IntArray
    index: IntArray
    intensity: FloatArray
    episode: IntArray
    visit: IntArray
    again: BoolArray
    """Where an image is shown as a further view of its object: it gets a little sensor noise of its own."""
    whole: tuple[IntArray, IntArray] | None = None
    """Source and index of all rows of a stream without time, of which these may be a part."""

    def __len__(self) -> int:
        return len(self.source)

    @classmethod
    def plain(cls, source: IntArray, index: IntArray) -> Rows:
        """Make rows of a stream without time: full severity, no episodes, each instance once."""
        n = len(source)
        nothing = np.zeros(n, dtype=np.int64)
        return cls(source, index, np.ones(n), np.full(n, -1), nothing, nothing > 0, (source, index))

    def part(self, start: int, stop: int) -> Rows:
        """Cut out consecutive rows."""
        return replace(self, **{name: getattr(self, name)[start:stop] for name in _COLUMNS})

    def at(self, places: IntArray) -> Rows:
        """Return some of the rows, in this order."""
        return replace(self, **{name: getattr(self, name)[places] for name in _COLUMNS})

    def with_next(self, rows: Rows) -> Rows:
        """Put the rows that come next behind these."""
        joined: dict[str, Any] = {
            name: np.concatenate([getattr(self, name), getattr(rows, name)]) for name in _COLUMNS
        }
        return replace(self, **joined)


_COLUMNS = ("source", "index", "intensity", "episode", "visit", "again")


@dataclass(frozen=True)
class Sources:
    """The workload, the faults, and what is applied to ID and OOD instances alike.

    A fault that uses the classifier is dear. In a stream without time it is applied once to all instances
    that the stream draws, when the first rows are asked for, so that it is over before the classifier begins
    to work; see `farm.run.faults`. So is a whole composition that has an attack as a part, since its
    parts act upon one another. What is applied everywhere is never such a fault; it comes afterwards,
    batch by batch. In a stream with time, where severities vary and instances come again, all faults are
    applied so.
    """

    workload: Workload
    faults: Sequence[Fault] = ()
    everywhere: Sequence[Fault] = field(default=())
    _generated: dict[int, Generated] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What dear faults made, by their numbers, once it is made."""

    def __post_init__(self) -> None:
        seen: set[tuple[str, float | None]] = set()
        for fault in (*self.faults, *self.everywhere):
            fault.faultload.check_severity(fault.severity)
            called = (fault.faultload.name, fault.severity)
            if called in seen:
                raise ExperimentError(
                    f"two faultloads are called '{called[0]}' (severity {called[1]}); give one another name "
                    "with 'as'"
                )
            seen.add(called)
        for fault in self.everywhere:
            self._check_everywhere(fault)

    def _check_everywhere(self, fault: Fault) -> None:
        """Only what changes the pixels of any image, and leaves its label, can change ID and OOD alike."""
        rule, targets = fault.faultload, fault.targets
        if rule.uses_classifier or rule.reads_other_instances or targets.split is not self.workload.test:
            why = "acts upon certain instances"
        elif not np.array_equal(targets.labels, self.workload.test.labels):
            why = "leaves no right answer"
        else:
            return
        raise ExperimentError(
            f"faultload '{rule.name}' {why}, so that it cannot be applied to ID and OOD alike"
        )

    @property
    def sizes(self) -> list[int]:
        """How many instances each source has: the test split, then each fault."""
        return [len(self.workload.test), *(len(fault.targets.indices) for fault in self.faults)]

    @property
    def uses_classifier(self) -> bool:
        """Whether making the next instances runs a classifier: not any more, once its images are made."""
        dear = {number for number, fault in enumerate(self.faults, 1) if fault.faultload.uses_classifier}
        return not dear <= self._generated.keys()

    @property
    def provenance(self) -> dict[str, JSON]:
        """What made the instances."""
        return {
            "workload_hash": self.workload.test.content_hash,
            "faults": [fault.provenance for fault in self.faults],
            "everywhere": [fault.provenance for fault in self.everywhere],
        }

    def guard(self, workload: Workload) -> None:
        """Raise where an image, or one of its group, is in the workload's training or validation data."""
        splits = [(self.workload.test, f"workload '{self.workload.name}'")]
        splits += [(fault.targets.split, f"faultload '{fault.faultload.name}'") for fault in self.faults]
        for split, what in splits:
            check_unseen(workload, split.digests, split.groups, split.ids, what)
        for fault in self.faults:
            self._check_foreign(fault)

    def _check_foreign(self, fault: Fault) -> None:
        """Raise where an image that a fault brings from elsewhere is an ID test image: it is no novel one."""
        targets, test = fault.targets, self.workload.test
        if targets.workload == self.workload.name:
            return  # these are the instances themselves, changed
        digests = targets.split.digests
        copies = copies_of(test, [digests[i] for i in targets.indices])
        if copies.size:
            raise DataError(
                f"faultload '{fault.faultload.name}': {copies.size} of its images are also in split "
                f"'{test.name}' of workload '{self.workload.name}', such as "
                f"'{targets.split.ids[targets.indices[copies[0]]]}'; expected none, since an ID image is not "
                "OOD: take them out of the OOD images"
            )

    def batch(self, rows: Rows) -> Batch:
        """Read and fault the images of some rows."""
        self._generate(rows)
        n = len(rows)
        test = self.workload.test
        text = {name: np.full(n, "", dtype=object) for name in ("ids", "track", "category", "faultload")}
        text["workload"] = np.full(n, self.workload.name, dtype=object)
        images = np.empty((n, *self.workload.shape), dtype=np.float32)
        labels = np.empty(n, dtype=np.int64)
        numbers = {name: np.full(n, np.nan) for name in ("severity", *FAULT_MEASURES)}
        own = np.flatnonzero(rows.source == 0)
        chosen = rows.index[own]
        images[own], labels[own] = _viewed(test, chosen, rows, own), test.labels[chosen]
        text["ids"][own], text["track"][own] = test.ids[chosen], test.groups[chosen]
        for number, fault in enumerate(self.faults, start=1):
            at = np.flatnonzero(rows.source == number)
            if at.size:
                _put(fault, self._generated.get(number), rows, at, images, labels, text, numbers)
        again = rows.visit > 0
        text["ids"][again] = _of_visits(text["ids"][again], rows.visit[again])
        for fault in self.everywhere:
            severity = np.full(n, fault.faultload.check_severity(fault.severity))
            numbers["success"][:] = np.nan  # of an attack, before its image was changed once more
            images = fault.faultload.apply(images, labels, text["ids"].astype(str), severity).images
            text["ids"] = np.array(_fault_ids(text["ids"], fault.faultload.name, severity), dtype=object)
            ood = rows.source > 0
            text["faultload"][ood] += f"+{fault.faultload.name}"
        return Batch(
            images=images,
            labels=labels,
            is_ood=rows.source > 0,
            severity=numbers.pop("severity"),
            **{f"fault_{name}": values for name, values in numbers.items()},
            episode=rows.episode,
            **{name: values.astype(str) for name, values in text.items()},
        )

    def _generate(self, rows: Rows) -> None:
        """Make what dear faults make of a stream without time, unless it is made."""
        if rows.whole is None:
            return
        for number, fault in enumerate(self.faults, start=1):
            if fault.faultload.uses_classifier and number not in self._generated:
                source, index = rows.whole
                drawn = np.sort(index[source == number])
                self._generated[number] = generate(fault, drawn)


def _put(
    fault: Fault,
    generated: Generated | None,
    rows: Rows,
    at: IntArray,
    images: np.ndarray,
    labels: IntArray,
    text: Mapping[str, np.ndarray],
    numbers: Mapping[str, FloatArray],
) -> None:
    """Fill in the instances that one fault makes."""
    targets, name = fault.targets, fault.faultload.name
    which = rows.index[at]
    indices = targets.indices[which]
    severity = fault.faultload.check_severity(fault.severity) * rows.intensity[at]
    faulted = generated.read(which) if generated else _applied(fault, rows, at, severity)
    images[at], labels[at] = faulted.images, faulted.labels
    text["ids"][at] = _fault_ids(targets.split.ids[indices], name, severity)
    text["track"][at], text["workload"][at] = targets.split.groups[indices], targets.workload
    text["category"][at], text["faultload"][at] = targets.category[which], name
    numbers["severity"][at] = severity
    for measure, values in faulted.measured.items():
        numbers[measure][at] = values


def _applied(fault: Fault, rows: Rows, at: IntArray, severity: FloatArray) -> Faulted:
    """Apply a fault to the instances of some rows."""
    targets, which = fault.targets, rows.index[at]
    indices = targets.indices[which]
    # Another visit of the same instance draws other noise.
    keys = targets.split.ids[indices].astype(object)
    again = rows.visit[at] > 0
    keys[again] = _of_visits(keys[again], rows.visit[at][again])
    images = _viewed(targets.split, indices, rows, at)
    return fault.faultload.apply(images, targets.labels[which], keys.astype(str), severity)


def _viewed(split: Split, indices: IntArray, rows: Rows, at: IntArray) -> Images:
    """Read images; add sensor noise to those that are shown as further views, before any fault."""
    images = split.images.read(indices)
    again = np.flatnonzero(rows.again[at])
    if again.size:
        keys = _of_visits(split.ids[indices[again]], rows.visit[at[again]])
        noise = PerInstance(0, "view", np.array(keys)).normal(*images.shape[1:])
        images[again] = np.clip(images[again] + np.float32(VIEW_NOISE) * noise, 0, 1)
    return images


def _of_visits(ids: np.ndarray, visits: IntArray) -> list[str]:
    """Say of instances that come again which visit it is."""
    return [f"{i}~{visit}" for i, visit in zip(ids, visits, strict=True)]


def check_positions(positions: IntArray, length: int | None) -> IntArray:
    """Return places in a stream of this length; raise where one is not there, negative ones included."""
    out = positions[(positions < 0) | (positions >= (np.inf if length is None else length))]
    if out.size:
        size = "no end" if length is None else f"{length} instances"
        raise IndexError(f"position {out[0]} is not in the stream, which has {size}")
    return positions


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
                    f"'{workload.name}', such as '{ids[int(found[0])]}'; expected none, since benchmark data "
                    "never fits or tunes anything: take them out of one of the two"
                )


def _fault_ids(ids: np.ndarray, faultload: str, severity: FloatArray) -> list[str]:
    """An ID instance may stand in the stream beside its faulted self; both need an id of their own."""
    levels, which = np.unique(severity, return_inverse=True)
    endings = [f"|{faultload}" + ("" if np.isnan(level) else f"@{level:g}") for level in levels]
    return [f"{i}{endings[place]}" for i, place in zip(ids, which, strict=True)]
