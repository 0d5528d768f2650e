"""Streams with time: a schedule says when faults come, and instances are drawn pass by pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count

import numpy as np

from farm.api import (
    JSON,
    Batch,
    IntArray,
    Schedule,
    Split,
    Workload,
    check_number,
    generator,
)
from farm.errors import ExperimentError
from farm.sources import Fault, FromSources, Rows, Sources


class TimedStream(FromSources):
    """A stream whose faults come by a schedule, finite or endless, with constant memory.

    Every instance of a source comes once before any comes again (object by object where views of one come
    in a row); from its second visit on an instance's id ends in `~1`, `~2`, ... and faults draw other noise.

    Parameters
    ----------
    workload
        Gives the ID instances: its test split, nothing else.
    faults
        Give the OOD instances, each its share of them.
    schedule
        Says when faults come.
    everywhere
        Faults that are applied to ID and OOD instances alike.
    length
        How many instances; None has no end.
    seed
        The experiment's seed.
    """

    def __init__(
        self,
        workload: Workload,
        *faults: Fault,
        schedule: Schedule,
        everywhere: Sequence[Fault] = (),
        length: int | None = None,
        seed: int = 0,
    ) -> None:
        if length is not None:
            check_number("stream.length", length, low=1, whole=True)
        if not faults:
            raise ExperimentError(f"stream.order is '{schedule.name}', but no faultload is named; name one")
        for fault in faults:
            who = f"faultload '{fault.faultload.name}'"
            if schedule.ramps_severity and not fault.faultload.severities:
                raise ExperimentError(f"{who} has no severity to ramp; let the ramp be of: share")
            if fault.faultload.reads_other_instances:
                raise ExperimentError(
                    f"{who} takes images from its split's order, not from the stream's; expected a stream "
                    "without time"
                )
        self._sources = Sources(workload, faults, everywhere)
        self._schedule, self._length, self._seed = schedule, length, seed
        self.guard(workload)

    @property
    def length(self) -> int | None:
        """How many instances there are; None where there is no end."""
        return self._length

    @property
    def provenance(self) -> Mapping[str, JSON]:
        """What made this stream."""
        return {
            "order": self._schedule.recipe,
            "seed": self._seed,
            "length": self._length,
            **self._sources.provenance,
        }

    def batches(self, size: int) -> Iterator[Batch]:
        """Yield batches of at most this many instances, from the start."""
        left = self._length
        for rows in _regrouped(self._rows(), size):
            now = rows if left is None else rows.part(0, left)
            yield self._sources.batch(now)
            if left is not None:
                left -= len(now)
                if left <= 0:
                    return

    def _rows(self) -> Iterator[Rows]:
        faults = self._sources.faults
        shares = np.cumsum([fault.share for fault in faults]) / sum(fault.share for fault in faults)
        shares[-1] = 1.0  # whatever rounding made of it
        queues = [self._queue(number) for number in range(len(faults) + 1)]
        views = self._schedule.objects
        for stretch_number, plan in enumerate(self._schedule.stretches(self._seed)):
            chance = generator(self._seed, "stream", "which fault", stretch_number).random(len(plan.is_ood))
            chance = chance[::views].repeat(views)[: len(chance)]
            source = np.where(plan.is_ood, 1 + np.searchsorted(shares, chance, side="right"), 0)
            index = np.empty(len(source), dtype=np.int64)
            visit = np.empty(len(source), dtype=np.int64)
            for number, queue in enumerate(queues):
                at = np.flatnonzero(source == number)
                drawn = [next(queue) for _ in at]
                index[at], visit[at] = np.array(drawn, dtype=np.int64).reshape(-1, 2).T
            yield Rows(source, index, plan.intensity, plan.episode, visit, visit % views > 0)

    def _queue(self, number: int) -> Iterator[tuple[int, int]]:
        """Give (place, visit) of a source's instances for ever, each pass in another order."""
        size = self._sources.sizes[number]
        views = self._schedule.objects
        for turn in count():
            rng = generator(self._seed, "stream", "pass", number, turn)
            if views == 1:
                yield from ((int(i), turn) for i in rng.permutation(size))
                continue
            for track in self._objects(number, rng):
                # Of a long track some part; one that is too short is seen again from its start.
                start = int(rng.integers(0, max(len(track) - views, 0) + 1))
                frames = track[start : start + views]
                for view in range(views):
                    yield int(frames[view % len(frames)]), turn * views + view // len(frames)

    def _objects(self, number: int, rng: np.random.Generator) -> Iterator[IntArray]:
        split, rows = self._split(number)
        _, group = np.unique(split.groups[rows], return_inverse=True)
        order = np.argsort(group, kind="stable")
        tracks = np.split(order, np.cumsum(np.bincount(group))[:-1])
        for i in rng.permutation(len(tracks)):
            yield tracks[i]

    def _split(self, number: int) -> tuple[Split, IntArray]:
        if number == 0:
            test = self._sources.workload.test
            return test, np.arange(len(test))
        targets = self._sources.faults[number - 1].targets
        return targets.split, targets.indices


def _regrouped(stretches: Iterator[Rows], size: int) -> Iterator[Rows]:
    """Cut stretches of any length into runs of one size."""
    held: Rows | None = None
    for rows in stretches:
        held = rows if held is None else _joined(held, rows)
        start = 0
        while len(held) - start >= size:
            yield held.part(start, start + size)
            start += size
        held = held.part(start, len(held))


def _joined(first: Rows, second: Rows) -> Rows:
    names = first.__dataclass_fields__
    return Rows(**{name: np.concatenate([getattr(first, name), getattr(second, name)]) for name in names})
