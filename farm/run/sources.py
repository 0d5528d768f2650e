"""Where the instances of a stream come from: a workload's test split, and what faults make of instances."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from farm.api import (
    FAULT_MEASURES,
    JSON,
    NO_ANSWER,
    Batch,
    DrawKeys,
    FloatArray,
    Images,
    IntArray,
    Objects,
    PerInstance,
    Split,
    StrArray,
    Workload,
    change_of,
    copies_of,
    levels_of,
)
from farm.errors import DataError, ExperimentError
from farm.run.conditions import Kind, condition_of, kinds_of
from farm.run.faults import Fault, Generated, generate
from farm.run.following import Origin, Step, followed
from farm.run.rows import Rows

T = TypeVar("T", bound=np.generic)

VIEW_NOISE = 0.02
"""The spread of the sensor noise between views of one object, where a workload has no real ones."""


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
    everywhere: Sequence[Fault] = ()
    timed: bool = False
    """Whether it is for a stream with time, where a fault's draw may last."""
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
        if (
            rule.uses_classifier
            or rule.reads_other_instances
            or rule.lags
            or targets.split is not self.workload.test
        ):
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
        """How many instances there are: in the test split, then of each fault."""
        return [len(self.workload.test), *(len(fault.targets.indices) for fault in self.faults)]

    @cached_property
    def pools(self) -> Sequence[int]:
        """Where each fault's images come from, the test split's first: 0 where it changes test instances."""
        test = self.workload.test
        own = [
            fault.targets.split is not test or not np.array_equal(fault.targets.indices, np.arange(len(test)))
            for fault in self.faults
        ]
        return [0, *(number if its_own else 0 for number, its_own in enumerate(own, 1))]

    @cached_property
    def _meaningless(self) -> Sequence[bool]:
        """Whether no right answer remains after a fault, for each of them."""
        return [bool((fault.targets.labels == NO_ANSWER).all()) for fault in self.faults]

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
            "faults": [fault.provenance(timed=self.timed) for fault in self.faults],
            "everywhere": [fault.provenance(timed=self.timed) for fault in self.everywhere],
        }

    def guard(self, workload: Workload) -> None:
        """Raise where an image, or one of its group, is in the workload's training or validation data."""
        splits = [(self.workload.test, f"workload '{self.workload.name}'")]
        splits += [(fault.targets.split, f"faultload '{fault.faultload.name}'") for fault in self.faults]
        for split, what in splits:
            check_unseen(workload, split.digests, split.groups, split.ids, what)
        for fault in self.faults:
            self._check_foreign(fault)

    def guard_against(self, split: Split, what: str) -> None:
        """Raise where an image that a fault brings from elsewhere is one of these."""
        for fault in self.faults:
            targets = fault.targets
            if targets.workload == self.workload.name:
                continue  # test instances, changed
            digests = targets.split.digests
            check_not_taught(
                split, [digests[i] for i in targets.indices], f"faultload '{fault.faultload.name}'", what
            )

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
        if rows.whole is not None:
            self._generate(*rows.whole)
        made = self._made(rows)
        if rows.shown is not None:
            self._show(made, rows, np.flatnonzero(rows.shows_other), rows.shown)
        for fault in self.everywhere:
            severity = np.full(len(rows), fault.faultload.check_severity(fault.severity))
            made.measured["success"][:] = np.nan  # of an attack, before its image was changed once more
            keys = self._keys(fault, rows, made, np.arange(len(rows)), made.called, np.full(len(rows), -1))
            faulted = fault.faultload.apply(made.images, made.labels, made.called, severity, keys)
            made.images = faulted.images
            made.steps.append(Step(fault.faultload, np.arange(len(rows)), made.called, severity, keys))
            made.called = _fault_ids(made.called, fault.faultload.name, severity)
            together = np.strings.add(made.faultload, f"+{fault.faultload.name}")
            made.faultload = np.where(rows.is_ood, together, made.faultload)
        return Batch(
            ids=made.called,
            images=made.images,
            labels=made.labels,
            is_ood=rows.is_ood,
            category=made.category,
            faultload=made.faultload,
            severity=made.severity,
            track=made.track,
            workload=made.workload,
            episode=rows.episode,
            conditions=made.conditions,
            **{f"fault_{name}": values for name, values in made.measured.items()},
            find_objects=partial(self._find_objects, rows, made.steps) if any(self._known) else None,
        )

    def _made(self, rows: Rows) -> _Made:
        """Read the images of some rows, and apply to each the faults that act upon it, one after another."""
        made = self._unfaulted(rows)
        clean = made.images
        for column in range(rows.fault.shape[1]):
            made.images = _in_places(
                (at, self._act(number, at, column, rows, made) if number else _some(made.images, at))
                for number, at in _each(rows.fault[:, column])
            )
        if rows.fault.shape[1] > 1 and (several := np.flatnonzero((rows.fault > 0).sum(axis=1) > 1)).size:
            made.severity[several] = made.measured["success"][several] = np.nan
            for name, values in change_of(clean[several], made.images[several]).items():
                made.measured[name][several] = values
        made.called = _of_visits(made.called, rows.visit)
        return made

    def _unfaulted(self, rows: Rows) -> _Made:
        """Read images as they come from the test split, or from where a fault takes them."""
        n, origins = len(rows), list(self._origins(rows))
        ids = _in_places((at, split.ids[places]) for at, split, places, _ in origins)
        return _Made(
            images=_in_places((one.rows, _viewed(one, rows)) for one in origins),
            labels=_in_places((at, split.labels[places]) for at, split, places, _ in origins),
            ids=_of_visits(ids, rows.visit),
            called=ids,
            track=_in_places((at, split.groups[places]) for at, split, places, _ in origins),
            workload=_in_places((at, np.full(len(at), workload)) for at, _, _, workload in origins),
            category=np.full(n, ""),
            faultload=np.full(n, ""),
            severity=np.full(n, np.nan),
            conditions={
                name: _in_places((one.rows, condition_of(one, name, kind)) for one in origins)
                for name, kind in self._conditions.items()
            },
            measured={name: np.full(n, np.nan) for name in FAULT_MEASURES},
        )

    def _origins(self, rows: Rows) -> Iterator[Origin]:
        """Say where rows come from: the test split, or the images that a fault brings."""
        for pool, at in _each(rows.pool):
            if pool:
                targets = self.faults[pool - 1].targets
                yield Origin(at, targets.split, targets.indices[rows.index[at]], targets.workload)
            else:
                yield Origin(at, self.workload.test, rows.index[at], self.workload.name)

    def _find_objects(self, rows: Rows, steps: Sequence[Step]) -> Objects:
        """Follow boxes and masks through what faults did to these rows."""
        boxes, masks, lost = followed(self._origins(rows), steps, len(rows), self.workload.shape)
        has_boxes, has_masks = self._known
        return Objects(boxes if has_boxes else None, masks if has_masks else None, lost)

    @cached_property
    def _known(self) -> tuple[bool, bool]:
        """Whether any instance may have a box, and a mask."""
        splits = self._splits
        return any(one.boxes is not None for one in splits), any(one.masks is not None for one in splits)

    @cached_property
    def _conditions(self) -> Mapping[str, Kind]:
        """The conditions that any instance may have."""
        return kinds_of(self._splits)

    @property
    def _splits(self) -> Sequence[Split]:
        """Where instances may come from."""
        return [self.workload.test, *(fault.targets.split for fault in self.faults)]

    def _act(self, number: int, at: IntArray, column: int, rows: Rows, made: _Made) -> Images:
        """Let one fault act upon some of the instances, and return their images."""
        fault, name = self.faults[number - 1], self.faults[number - 1].faultload.name
        targets, index = fault.targets, rows.index[at]
        severity = fault.faultload.check_severity(fault.severity) * rows.intensity[at, column]
        first = made.faultload[at] == ""
        # Images that another fault brought are none of this one's targets; what brings some acts first.
        own = rows.pool[at] == self.pools[number]
        target = np.where(own, index, 0)
        labels = np.where(own, targets.labels[target], made.labels[at])
        category = targets.category[target]
        lost = ~first & (made.labels[at] == NO_ANSWER)
        labels[lost | self._meaningless[number - 1]] = NO_ANSWER
        if (generated := self._generated.get(number)) is not None:
            faulted, keys = generated.read(index), DrawKeys(made.ids[at])
        else:
            keys = self._keys(fault, rows, made, at, made.ids[at], rows.coming[at, column])
            faulted = fault.faultload.apply(_some(made.images, at), labels, made.ids[at], severity, keys)
        made.labels[at] = faulted.labels
        made.steps.append(Step(fault.faultload, at, made.ids[at], severity, keys))
        made.called = _renamed(made.called, at, _fault_ids(made.called[at], name, severity))
        made.category = _renamed(made.category, at, np.where(first, category, made.category[at]))
        together = np.where(first, name, np.strings.add(made.faultload[at], f"+{name}"))
        made.faultload = _renamed(made.faultload, at, together)
        made.severity[at] = severity
        for measure, values in faulted.measured.items():
            made.measured[measure][at] = values
        return faulted.images

    def _keys(
        self, fault: Fault, rows: Rows, made: _Made, at: IntArray, ids: StrArray, coming: IntArray
    ) -> DrawKeys:
        """Say what a fault's random numbers are keyed by, for as long as a draw of it lasts."""
        coherence = fault.lasting(timed=self.timed)
        if coherence == "instance":
            return DrawKeys(ids)
        if coherence == "track" and not self.timed:
            return DrawKeys(np.char.add("track ", made.track[at]))
        if coherence == "track":
            return DrawKeys(_named("object", rows.pool[at], rows.object[at]))
        if coherence == "episode":
            return DrawKeys(_named("coming", coming))
        step, rest = np.divmod(rows.position[at], fault.drift)
        return DrawKeys(_named("time", coming, step), _named("time", coming, step + 1), rest / fault.drift)

    def _show(self, made: _Made, rows: Rows, other: IntArray, shown: Rows) -> None:
        """Put in the place of some images what the camera shows instead: another instant of the stream."""
        before = self._unfaulted(rows.at(other)).images
        made.images = made.images.copy()  # it may be the fault's, or the source's, own
        made.images[other] = self._made(shown.at(other)).images
        for name, values in change_of(before, made.images[other]).items():
            made.measured[name][other] = values

    def _generate(self, acting: IntArray, index: IntArray) -> None:
        """Make what dear faults make of a stream without time, unless it is made."""
        for number, fault in enumerate(self.faults, start=1):
            if fault.faultload.uses_classifier and number not in self._generated:
                self._generated[number] = generate(fault, np.sort(index[acting == number]))


@dataclass
class _Made:
    """Instances while faults act upon them, one after another."""

    images: Images
    labels: IntArray
    ids: StrArray
    """What faults know them by: with the visit, where they come again."""
    called: StrArray
    """What readouts call them: with the faults, too."""
    track: StrArray
    workload: StrArray
    category: StrArray
    faultload: StrArray
    severity: FloatArray
    conditions: Mapping[str, StrArray | FloatArray]
    """No fault changes them: they are those in which the picture was taken."""
    measured: Mapping[str, FloatArray]
    steps: list[Step] = field(default_factory=list)
    """What faults did, in their order."""


def _named(what: str, *numbers: IntArray) -> StrArray:
    rows = zip(*numbers, strict=True)
    return np.array([f"{what} {':'.join(map(str, row))}" for row in rows])


def _viewed(origin: Origin, rows: Rows) -> Images:
    """Read images; add sensor noise to those that are shown as further views, before any fault."""
    at, split, places, _ = origin
    images = split.images.read(places)
    again = np.flatnonzero(rows.again[at])
    if again.size:
        keys = _of_visits(split.ids[places[again]], rows.visit[at[again]])
        noise = PerInstance(0, "view", keys).normal(*images.shape[1:])
        images = images.copy()  # a source may give its own
        images[again] = np.clip(images[again] + np.float32(VIEW_NOISE) * noise, 0, 1)
    return images


def _each(numbers: IntArray) -> Iterator[tuple[int, IntArray]]:
    """Yield each of the numbers, the lowest first, and the rows that have it; 0 and none without any."""
    different = sorted(set(numbers.tolist()) or {0})
    for number in different:
        yield number, np.flatnonzero(numbers == number) if different[1:] else np.arange(len(numbers))


def _some(values: NDArray[T], at: IntArray) -> NDArray[T]:
    """Return some rows, given in their order: where these are all, nothing is copied."""
    return values if len(at) == len(values) else values[at]


def _in_places(parts: Iterable[tuple[IntArray, NDArray[T]]]) -> NDArray[T]:
    """Put rows together that were made in parts, each of which says where its rows belong."""
    parts = list(parts)
    if len(parts) == 1:  # as a rule
        return parts[0][1]
    values = [part for _, part in parts]
    together = np.empty((sum(map(len, values)), *values[0].shape[1:]), np.result_type(*values))
    for at, part in parts:
        together[at] = part
    return together


def _renamed(names: StrArray, at: IntArray, part: StrArray) -> StrArray:
    """Give some rows, in their order, other names, which may be longer than those that are there."""
    if len(at) == len(names):
        return part
    renamed = names.astype(np.result_type(names, part))
    renamed[at] = part
    return renamed


def _of_visits(ids: StrArray, visits: IntArray) -> StrArray:
    """Say of instances that come again which visit it is."""
    if not visits.any():
        return ids
    return np.where(visits > 0, np.strings.add(ids, np.strings.add("~", visits.astype(str))), ids)


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


def check_not_taught(taught: Split, digests: Sequence[bytes], who: str, what: str) -> None:
    """Raise where OOD images are among those that monitors learned from."""
    copies = copies_of(taught, digests)
    if copies.size:
        raise DataError(
            f"{who}: {copies.size} of its images are also in '{taught.name}', which {what} gives to learn "
            "from; expected none, since outliers that were learned from show nothing: give them different "
            "images"
        )


def _fault_ids(ids: StrArray, faultload: str, severity: FloatArray) -> StrArray:
    """An ID instance may stand in the stream beside its faulted self; both need an id of their own."""
    levels = levels_of(severity)
    endings = [f"|{faultload}" + ("" if np.isnan(level) else f"@{level:g}") for level in levels]
    return np.strings.add(ids, np.array(endings, dtype=str)[np.searchsorted(levels, severity)])
