"""Streams without time: every instance once, at a given share, shuffled or one source after the other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import partial

import numpy as np

from farm.api import (
    JSON,
    ORDERS,
    Batch,
    IntArray,
    Objects,
    Split,
    Workload,
    check_choice,
    check_number,
    generator,
)
from farm.errors import ExperimentError
from farm.run.faults import Fault, chunk_size
from farm.run.rows import Rows
from farm.run.sources import Sources, check_positions

TOGETHER = 64
"""At most so many images are read and faulted at once where batches are smaller."""
_COLUMNS = tuple(column.name for column in fields(Batch) if column.name != "conditions")


class FromSources:
    """What every stream that is drawn from sources shares."""

    _sources: Sources

    def _together(self, size: int) -> int:
        """Say how many instances are made at once: what a classifier makes of one depends on the others."""
        return size if self.uses_classifier else together(size, self._sources.workload.shape)

    def _batches(self, stretches: Iterable[Rows], size: int) -> Iterator[Batch]:
        """Make the images of stretches of rows, and cut each stretch into batches of at most this size."""
        for rows in stretches:
            yield from cut(self._sources.batch(rows), size)

    @property
    def classes(self) -> tuple[str, ...]:
        """The classifier's classes."""
        return self._sources.workload.classes

    @property
    def longest_track(self) -> int:
        """How many ID instances of one track come in a row at most."""
        return int(np.unique(self._sources.workload.test.groups, return_counts=True)[1].max())

    @property
    def uses_classifier(self) -> bool:
        """Whether making the next instances runs a classifier."""
        return self._sources.uses_classifier

    def guard(self, workload: Workload) -> None:
        """Raise where an image, or one of its group, is in the workload's training or validation data."""
        self._sources.guard(workload)

    def guard_against(self, split: Split, what: str) -> None:
        """Raise where an instance is one of these images, of which something was learned."""
        self._sources.guard_against(split, what)


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
        for fault in (*faults, *everywhere):
            check_untimed(fault)
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
        acting, index = (np.concatenate(column) for column in zip(*parts, strict=True))
        if order == "shuffled":
            mixed = generator(seed, "stream", "order").permutation(len(acting))
            acting, index = acting[mixed], index[mixed]
        self._rows = Rows.plain(acting, np.array(self._sources.pools)[acting], index)
        self._order, self._asked_share, self._seed = order, ood_share, seed
        self.guard(workload)

    @property
    def length(self) -> int:
        """How many instances there are."""
        return len(self._rows)

    @property
    def longest_track(self) -> int:
        """How many ID instances of one track come in a row at most; shuffled, each comes by itself."""
        return 1 if self._order == "shuffled" else super().longest_track

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
        return int(self._rows.is_ood.sum())

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
        step = self._together(size)
        starts = range(0, self.length, step)
        return self._batches((self._rows.part(start, start + step) for start in starts), size)

    def at(self, positions: IntArray) -> Batch:
        """Return some instances by their places in the stream, just as they come, in any order."""
        return self._sources.batch(self._rows.at(check_positions(positions, self.length)))


def together(size: int, shape: Sequence[int]) -> int:
    """Say how many instances to make at once, in whole batches of a size.

    To make an image alone takes several times as long as among others.

    Examples
    --------
    >>> [together(size, (3, 32, 32)) for size in (1, 30, 256)], together(1, (3, 224, 224))
    ([64, 60, 256], 27)
    """
    return max(min(TOGETHER, chunk_size(shape)) // size, 1) * size


def cut(batch: Batch, size: int) -> Iterator[Batch]:
    """Yield the parts of a batch, of at most this many instances."""
    if len(batch) <= size:
        yield batch
        return
    whole = {name: getattr(batch, name) for name in _COLUMNS}
    for start in range(0, len(batch), size):
        part = slice(start, start + size)
        find = None if batch.__dict__["find_objects"] is None else partial(_objects, batch, part)
        yield Batch(
            **{name: values[part] for name, values in whole.items()},
            conditions={name: values[part] for name, values in batch.conditions.items()},
            find_objects=find,
        )


def _objects(batch: Batch, part: slice) -> Objects:
    found = batch.objects
    assert found is not None, "whoever asks knows that there is something to find"
    boxes, masks, lost = found.boxes, found.masks, found.lost
    return Objects(None if boxes is None else boxes[part], None if masks is None else masks[part], lost[part])


def check_untimed(fault: Fault) -> None:
    """Raise where a fault needs a stream with time."""
    who = f"faultload '{fault.faultload.name}'"
    # What a classifier is needed for is made once for all instances, each by itself.
    lasting = ("instance",) if fault.faultload.uses_classifier else ("instance", "track")
    if fault.coherence not in (None, *lasting):
        raise ExperimentError(
            f"{who}: coherence is '{fault.coherence}'; in a stream without time expected "
            + " or ".join(lasting)
        )
    if fault.faultload.lags:
        raise ExperimentError(
            f"{who} shows other instants of the stream; expected a stream with time, such as stream.order: "
            "{name: recurring}"
        )


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
