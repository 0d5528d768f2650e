"""Streams that are drawn from sources.

Without time: every instance once, at a given share, shuffled or one source after the other. With time: a
schedule says when faults come, and instances are drawn pass by pass.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import count

import numpy as np

from farm.api import (
    JSON,
    ORDERS,
    Batch,
    IntArray,
    Schedule,
    Workload,
    check_choice,
    check_number,
    generator,
)
from farm.errors import ExperimentError
from farm.run.faults import Fault
from farm.run.sources import Rows, Sources, check_positions


class FromSources:
    """What every stream that is drawn from sources shares."""

    _sources: Sources

    @property
    def classes(self) -> tuple[str, ...]:
        """The classifier's classes."""
        return self._sources.workload.classes

    @property
    def uses_classifier(self) -> bool:
        """Whether making the next instances runs a classifier."""
        return self._sources.uses_classifier

    def guard(self, workload: Workload) -> None:
        """Raise where an image, or one of its group, is in the workload's training or validation data."""
        self._sources.guard(workload)


class BenchmarkStream(FromSources):
    """A finite stream of ID test instances and, where there are faults, of OOD ones.

    Parameters
    ----------
    workload
        Gives the ID instances: its test split, nothing else.
    faults
        Give the OOD instances, each its share of them; none makes a stream of ID instances alone.
    everywhere
        Faults that are applied to ID and OOD instances alike.
    order
        `shuffled`, or `sequential` (all ID instances, then fault by fault).
    ood_share
        The share of OOD instances; as many instances as allow it are drawn without replacement. None takes
        every instance of all.
    length
        Cut the stream to this many instances, keeping the share. Where there are fewer, it has those.
    seed
        The experiment's seed.
    """

    def __init__(
        self,
        workload: Workload,
        *faults: Fault,
        everywhere: Sequence[Fault] = (),
        order: str = "shuffled",
        ood_share: float | None = None,
        length: int | None = None,
        seed: int = 0,
    ) -> None:
        check_choice("stream.order", order, ORDERS)
        if ood_share is not None:
            check_number("stream.ood_share", ood_share, low=0, high=1)
        if length is not None:
            check_number("stream.length", length, low=1, whole=True)
        self._sources = Sources(workload, faults, everywhere)
        n_id, *n_faults = self._sources.sizes
        shares = [fault.share for fault in faults]
        # Where nothing is asked of the shares, each fault gives all of its own.
        everything = ood_share is None and len(set(shares)) <= 1
        n_ood = sum(n_faults) if everything else _most(n_faults, shares)
        take_id, take_ood = _counts(n_id, n_ood, ood_share, length)
        self._asked_length = length
        takes = n_faults if take_ood == sum(n_faults) else _portions(take_ood, n_faults, shares)
        parts = []
        for number, (size, take) in enumerate(zip((n_id, *n_faults), (take_id, *takes), strict=True)):
            drawn = _draw(generator(seed, "stream", "source", number), size, take)
            parts.append((np.full(len(drawn), number), drawn))
        source, index = (np.concatenate(column) for column in zip(*parts, strict=True))
        if order == "shuffled":
            mixed = generator(seed, "stream", "order").permutation(len(source))
            source, index = source[mixed], index[mixed]
        self._rows = Rows.plain(source, index)
        self._order, self._asked_share, self._seed = order, ood_share, seed
        self.guard(workload)

    @property
    def length(self) -> int:
        """How many instances there are."""
        return len(self._rows)

    @property
    def shortened(self) -> str | None:
        """What to say where more instances were asked for than there are."""
        if self._asked_length is None or self._asked_length <= self.length:
            return None
        at = "" if self._asked_share is None else f" at stream.ood_share {self._asked_share:g}"
        return (
            f"stream.length is {self._asked_length}, and there are {self.length} instances{at}: all are used"
        )

    @property
    def n_ood(self) -> int:
        """How many of them are OOD."""
        return int((self._rows.source > 0).sum())

    @property
    def provenance(self) -> Mapping[str, JSON]:
        """What made this stream."""
        return {
            "order": self._order,
            "asked_ood_share": self._asked_share,
            "seed": self._seed,
            "length": self.length,
            "n_ood": self.n_ood,
            "ood_share": self.n_ood / self.length,
            **({"asked_length": self._asked_length} if self.shortened else {}),
            **self._sources.provenance,
        }

    def batches(self, size: int) -> Iterator[Batch]:
        """Yield batches of at most this many instances, from the start."""
        for start in range(0, self.length, size):
            yield self._sources.batch(self._rows.part(start, start + size))

    def at(self, positions: IntArray) -> Batch:
        """Return some instances by their places in the stream, just as they come, in any order."""
        return self._sources.batch(self._rows.at(check_positions(positions, self.length)))


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

    def at(self, positions: IntArray) -> Batch:
        """Return some instances by their places in the stream, just as they come, in any order.

        All that comes before is drawn once more, without its images. An attack is applied to these instances
        together, where in the stream it was to those of a batch: its last bits may be others.
        """
        wanted, places = np.unique(check_positions(positions, self._length), return_inverse=True)
        found: Rows | None = None
        start = 0
        for rows in self._rows():
            inside = wanted[(wanted >= start) & (wanted < start + len(rows))] - start
            found = rows.at(inside) if found is None else found.with_next(rows.at(inside))
            start += len(rows)
            if start > wanted.max(initial=-1):
                break
        assert found is not None, "a stream with time has instances"
        return self._sources.batch(found.at(places))

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
        """Return (place, visit) of a source's instances for ever, each pass in another order."""
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
        if number == 0:
            groups = self._sources.workload.test.groups
        else:
            targets = self._sources.faults[number - 1].targets
            groups = targets.split.groups[targets.indices]
        _, group = np.unique(groups, return_inverse=True)
        order = np.argsort(group, kind="stable")
        tracks = np.split(order, np.cumsum(np.bincount(group))[:-1])
        for i in rng.permutation(len(tracks)):
            yield tracks[i]


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
    if length is None or length > sum(take):
        return take
    short_ood = min(round(length * share_now), take[1])
    return length - short_ood, short_ood


def _most(sizes: Sequence[int], shares: Sequence[float]) -> int:
    """How many OOD instances there are at the most, if each fault is to have its share of them."""
    if not sizes:
        return 0
    total = sum(shares)
    most = min(size * total / share for size, share in zip(sizes, shares, strict=True))
    return math.floor(min(most + 1e-9, sum(sizes)))


def _portions(take: int, sizes: Sequence[int], shares: Sequence[float]) -> list[int]:
    """Share out whole instances; what rounding leaves goes to whoever is farthest below its share."""
    if not sizes:
        return []
    wanted = np.array(shares) / sum(shares) * take
    portions = np.minimum(np.floor(wanted).astype(np.int64), sizes)
    while portions.sum() < take:
        short = np.where(portions < sizes, wanted - portions, -np.inf)
        portions[int(short.argmax())] += 1
    return [int(portion) for portion in portions]


def _draw(rng: np.random.Generator, n: int, take: int) -> IntArray:
    """Draw without replacement, keeping the original order."""
    return np.sort(rng.permutation(n)[:take])


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
