"""How far out an interval's ends must be at least, where hardly any track differs between now and before.

Resampling draws what was seen. Where nothing differs each draw says 0, as if that were certain; with a few
differing tracks it still knows nothing of those that would differ in another stream. How rarely something may
happen that was seen m times has an exact bound, the m-th of the Poisson distribution (3.0 at 95 % for m = 0).
So many tracks more than were seen might differ, each in the way that changes the measure most: so far out
the ends are at least. A track that occurs in several sets changes in all of them, and it changes as a whole,
unless enough tracks were seen to differ to tell of how many instances a change is.

References
----------
F. Garwood, "Fiducial limits for the Poisson distribution", Biometrika 28 (1936).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from scipy.stats import gamma

from farm.api.arrays import BoolArray, FloatArray, IntArray
from farm.comparison.measures import Measured
from farm.comparison.resampled import Form, Side, put_together, tabulated
from farm.comparison.sets import BenchmarkSet, Stream
from farm.measures.ranking import auroc
from farm.statistics.resampling import Resampling

FEW = 10
"""From so many differing tracks on, resampling alone tells how far out the ends are."""
SIZES = 5
"""From so many on, no further one is taken to differ in more instances than the largest of them."""


@dataclass(frozen=True)
class Unseen:
    """How far differences that were not seen may move a paired difference, at most."""

    changed: int
    """Tracks in which the measure differs between the two."""
    down: float
    up: float


def unseen(
    sets: Sequence[BenchmarkSet],
    measure: Measured,
    now: str,
    then: str,
    *,
    level: float,
    constant: bool,
) -> Unseen:
    """Bound what was not seen, for a two-sided interval of this level.

    Parameters
    ----------
    sets
        Where both monitors, `now` and `then`, have a value.
    constant
        Whether the difference is the same in all that was drawn, so that no track is another than the rest.
    """
    streams = [(one, stream) for one in sets for stream in one.streams]
    apart = [Resampling(len(stream), group=stream.track) for _, stream in streams]
    together, columns = put_together(streams, apart)
    parts = [
        (part, own[part.groups], 1 / (len(sets) * len(one.streams)))
        for (one, stream), alone, own in zip(streams, apart, columns, strict=True)
        for part in _parts(measure, stream, now, then, alone)
    ]
    changed = np.zeros(together.n_groups, dtype=np.bool_)
    for part, tracks, _ in parts:
        changed[tracks[part.changed]] = True
    n_changed = int(changed.sum())
    if n_changed >= FEW and not constant:
        return Unseen(n_changed, 0.0, 0.0)
    exceptions = 0 if constant else n_changed
    more = float(gamma.ppf(0.5 + level / 2, exceptions + 1)) - exceptions
    known = [float(part.sizes.max(initial=0)) for part, _, _ in parts if part.sizes is not None]
    largest = max(known) if known and n_changed >= SIZES and not constant else np.inf
    down, up = np.zeros(together.n_groups), np.zeros(together.n_groups)
    for part, tracks, share in parts:
        least, most = part.reach(more, largest)
        down[tracks] += share * least
        up[tracks] += share * most
    # Where all tracks differ alike, an exception may differ by as much as that the other way.
    ways = 2 if constant and n_changed else 1
    return Unseen(n_changed, ways * float(down.min()), ways * float(up.max()))


@dataclass(frozen=True)
class _Part:
    """The ID or the OOD instances of one stream."""

    groups: IntArray
    changed: BoolArray
    """Which of these tracks differ between now and before so that the measure does."""
    form: Form
    counts: FloatArray
    """Of the whole stream, by kind."""
    own: FloatArray
    """Of these instances."""
    moves: Sequence[tuple[int, int]]
    """From which kind to which an instance may change."""
    sizes: FloatArray | None
    """In how many instances each track differs; None where counts are of no instances."""

    def reach(self, tracks: float, largest: float) -> tuple[float, float]:
        """Say how far the measure falls and rises if so many tracks change, none in more than `largest`."""
        n = self.own.sum()
        size = n / len(self.groups) if self.sizes is None else min(n / len(self.groups), largest)
        change = min(tracks * size, n)
        moved = np.tile(self.counts, (len(self.moves), 1))
        for counts, (start, end) in zip(moved, self.moves, strict=True):
            some = min(change, self.own[start])
            counts[start] -= some
            counts[end] += some
        values = self.form(moved) - self.form(self.counts[None])
        values = np.append(values[~np.isnan(values)], 0.0)
        return float(values.min()), float(values.max())


def _parts(measure: Measured, stream: Stream, now: str, then: str, alone: Resampling) -> Iterator[_Part]:
    table = tabulated(measure, stream, [now, then], alone)
    if table is None:
        yield from _by_scores(stream, now, then, alone)
        return
    tables = [_table(side) for side in table.sides]
    counts = np.sum([each[:, 0].sum(axis=0) for each in tables], axis=0)
    for side, each in zip(table.sides, tables, strict=True):
        undone = table.form(counts - (each[:, 0] - each[:, 1])) - table.form(counts[None])
        sizes = np.abs(each[:, 0] - each[:, 1]).sum(axis=1) / 2
        # What leaves the measure as it is, such as an alarm on OOD with the FPR, is no change of it.
        changed = (sizes > 0) & ~(np.abs(undone) <= 1e-12)
        # A verdict may change; whether the classifier was right, and what is OOD, stays as it is.
        half = len(counts) // 2
        moves = [move for first in (0, half) for move in permutations(range(first, first + half), 2)]
        yield _Part(side.groups, changed, table.form, counts, each[:, 0].sum(axis=0), moves, sizes * changed)


def _table(side: Side) -> FloatArray:
    """Give tracks x (now, before) x kinds."""
    return side.by_kind.reshape(len(side.groups), 2, -1)


def _by_scores(stream: Stream, now: str, then: str, alone: Resampling) -> Iterator[_Part]:
    """Take AUROC: of each side's instances, a share has at most this share of the pairs in it."""
    scores, former = stream.said[now].score, stream.said[then].score
    if scores is None or former is None:
        return
    value = auroc(scores, stream.is_ood).value
    pairs = np.array([1 - value, value])
    for rows in (~stream.is_ood, stream.is_ood):
        groups, group = np.unique(alone.code[rows], return_inverse=True)
        changed = np.bincount(group, weights=scores[rows] != former[rows]) > 0
        yield _Part(groups, changed, lambda counts: counts[..., 1], pairs, pairs, [(0, 1), (1, 0)], None)
