"""Streams with time: faults come by a schedule over objects that pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from farm.api import JSON, Batch, IntArray, Schedule, Workload, check_number
from farm.errors import ExperimentError
from farm.run.faults import Fault
from farm.run.rows import Rows
from farm.run.scene import Scene
from farm.run.schedules import check_acting
from farm.run.sources import Sources, check_positions
from farm.run.streams import FromSources


class TimedStream(FromSources):
    """A stream whose faults come by a schedule, finite or endless, with constant memory.

    Every object of a source passes once before any passes again; from its second visit on an instance's id
    ends in `~1`, `~2`, ... and faults whose draws last for one instance draw other ones.

    Parameters
    ----------
    workload
        Gives the ID instances: its test split, nothing else.
    faults
        Give the OOD instances, each its share of them, in intervals that name no faults of their own.
    schedule
        Says when faults come.
    named
        The faults of each interval that names some.
    everywhere
        Faults that are applied to ID and OOD instances alike.
    length
        How many instances; None has no end.
    frame_rate
        Instances a second, where that means something.
    seed
        The experiment's seed.
    """

    def __init__(
        self,
        workload: Workload,
        *faults: Fault,
        schedule: Schedule,
        named: Sequence[Sequence[Fault]] = (),
        everywhere: Sequence[Fault] = (),
        length: int | None = None,
        frame_rate: float | None = None,
        seed: int = 0,
    ) -> None:
        if length is not None:
            check_number("stream.length", length, low=1, whole=True)
        if frame_rate is not None:
            check_number("stream.frame_rate", frame_rate, above=0)
        named = named or [()] * len(schedule.intervals)
        rules = [[fault.faultload for fault in own] for own in named]
        check_acting(schedule, [fault.faultload for fault in faults], rules)
        together = list(faults)
        for fault in (one for own in named for one in own):
            if not any(fault is known for known in together):
                together.append(fault)
        self._sources = Sources(workload, together, everywhere, timed=True)
        numbers = {id(fault): number for number, fault in enumerate(together, 1)}
        own = [[numbers[id(fault)] for fault in interval] for interval in named]
        for interval in own:
            brought = [number for number in interval if self._sources.pools[number]]
            if len(brought) > 1:
                names = " and ".join(together[number - 1].faultload.name for number in brought)
                raise ExperimentError(
                    f"stream.order '{schedule.name}': {names} bring images in one interval; expected "
                    "one: give each an interval of its own"
                )
        self._scene = Scene(self._sources, schedule, own, len(faults), seed)
        self._schedule, self._length, self._seed = schedule, length, seed
        self._frame_rate = frame_rate
        self.guard(workload)

    @property
    def length(self) -> int | None:
        """How many instances there are; None where there is no end."""
        return self._length

    @property
    def longest_track(self) -> int:
        """How many ID instances of one track come in a row at most."""
        return self._schedule.views or super().longest_track

    @property
    def provenance(self) -> Mapping[str, JSON]:
        """What made this stream."""
        return {
            "order": self._schedule.recipe,
            "seed": self._seed,
            "length": self._length,
            "frame_rate": self._frame_rate,
            **self._sources.provenance,
        }

    def batches(self, size: int) -> Iterator[Batch]:
        """Yield batches of at most this many instances, from the start."""
        return self._batches(self._stretches(self._together(size)), size)

    def _stretches(self, size: int) -> Iterator[Rows]:
        """Yield runs of this many rows, until the stream ends."""
        left = self._length
        for rows in _regrouped(self._scene.rows(), size):
            now = rows if left is None else rows.part(0, left)
            yield now
            if left is not None:
                left -= len(now)
                if left <= 0:
                    return

    def at(self, positions: IntArray) -> Batch:
        """Return some instances by their places in the stream, just as they come, in any order.

        All that comes before is planned once more, without its images. An attack is applied to these
        instances together, where in the stream it was to those of a batch: its last bits may be others.
        """
        wanted, places = np.unique(check_positions(positions, self._length), return_inverse=True)
        found: Rows | None = None
        start = 0
        for rows in self._scene.rows():
            inside = wanted[(wanted >= start) & (wanted < start + len(rows))] - start
            found = rows.at(inside) if found is None else found.with_next(rows.at(inside))
            start += len(rows)
            if start > wanted.max(initial=-1):
                break
        assert found is not None, "a stream with time has instances"
        return self._sources.batch(found.at(places))


def _regrouped(stretches: Iterator[Rows], size: int) -> Iterator[Rows]:
    """Cut stretches of any length into runs of one size."""
    held: Rows | None = None
    for rows in stretches:
        held = rows if held is None else held.with_next(rows)
        start = 0
        while len(held) - start >= size:
            yield held.part(start, start + size)
            start += size
        held = held.part(start, len(held))
