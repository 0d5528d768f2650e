"""One monitor's measure on one stream: in draws of its tracks, with a track more that nobody has seen.

What was not seen may be as bad as it likes, but it is no larger and no worse than it has to be taken for: as
large as the track that a typical instance is of, and as bad as the track is that a typical bad instance is
of, one that is wholly bad counted among them. Where no track is bad, or each bad one is wholly so, that is a
wholly bad track.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

import numpy as np

from farm.api.arrays import FloatArray, IntArray
from farm.comparison.resampled import Form

Way: TypeAlias = Literal[-1, 1]
"""Whether it makes the measure lower or higher."""


@dataclass(frozen=True, eq=False)
class Extra:
    """The unseen track's instances on one side of a stream, and by how much they change the measure."""

    kind: int
    amount: float
    change: float


@dataclass(frozen=True, eq=False)
class Drawn:
    """What was drawn of a stream's side: of how many instances, and what of them."""

    n: FloatArray
    """A number a draw."""
    of: FloatArray
    """The numbers of each kind, or an area; the first axis is the draws'."""


class Term(Protocol):
    """A measure of one monitor on one stream."""

    @property
    def tracks(self) -> Sequence[IntArray]:
        """On each side that the stream has, the numbers of its tracks."""

    def extra(self, side: int, way: Way) -> Extra:
        """Give what moves the measure this way most."""

    def values(
        self, drawn: Sequence[Drawn], extras: Sequence[Extra | None], weight: FloatArray
    ) -> FloatArray:
        """Give the measure in each draw, the unseen track with its weight added where there is one."""


@dataclass(frozen=True, eq=False)
class Table:
    """Of one side and monitor, how many instances of each kind each track has."""

    tracks: IntArray
    sizes: FloatArray
    by_kind: FloatArray
    possible: Sequence[int]
    """The kinds that an instance of this side can be of."""

    def amount(self, kind: int) -> float:
        """Say how many instances of a kind an unseen track is taken to have."""
        return typical(self.sizes) * worst_share(self.by_kind[:, kind] / self.sizes)


@dataclass(frozen=True, eq=False)
class Counted:
    """A measure that follows from how many instances are of which kind."""

    form: Form
    tables: Sequence[Table]

    @property
    def tracks(self) -> Sequence[IntArray]:
        """On each side that the stream has, the numbers of its tracks."""
        return [table.tracks for table in self.tables]

    def extra(self, side: int, way: Way) -> Extra:
        """Try each kind."""
        table = self.tables[side]
        own = table.by_kind.sum(axis=0)
        rest = sum((other.by_kind.sum(axis=0) for other in self.tables), -own)
        extras = []
        for kind in table.possible:
            amount = table.amount(kind)
            more = own + amount * np.eye(len(own))[kind]
            change = float(self.form(rest + more * own.sum() / more.sum()) - self.form(rest + own))
            extras.append(Extra(kind, amount, 0.0 if np.isnan(change) else change))
        return max(extras, key=lambda extra: way * extra.change)

    def trials(self) -> tuple[int, int] | None:
        """Give a rate as a share of tracks, where they are all alike, and each is so wholly or not at all.

        Then nothing need be drawn.
        """
        worth = self.form(np.eye(self.tables[0].by_kind.shape[1]))
        counted = ~np.isnan(worth)
        tables = [table for table in self.tables if counted[list(table.possible)].any()]
        if len(tables) != 1 or (worth[list(tables[0].possible)] < 0).any():
            return None
        by_kind = tables[0].by_kind[:, counted]
        whole, part = by_kind.sum(axis=1), by_kind @ worth[counted]
        part, whole = part[whole > 0], whole[whole > 0]
        if np.ptp(whole) > 0 or not np.isin(part, (0, whole[0])).all():
            return None
        return int((part > 0).sum()), len(whole)

    def values(
        self, drawn: Sequence[Drawn], extras: Sequence[Extra | None], weight: FloatArray
    ) -> FloatArray:
        """Scale each side to as many instances as there are, so that the share of OOD ones stays."""
        counts = np.zeros_like(drawn[0].of)
        for table, side, extra in zip(self.tables, drawn, extras, strict=True):
            n, of = side.n, side.of
            if extra is not None:
                n, of = n + extra.amount * weight, of.copy()
                of[:, extra.kind] += extra.amount * weight
            counts += of * (table.sizes.sum() / n)[:, None]
        return self.form(counts)


@dataclass(frozen=True, eq=False)
class Ranked:
    """The area under the ROC curve: an unseen track adds pairs in the wrong order, or in the right one."""

    tracks: Sequence[IntArray]
    sizes: Sequence[FloatArray]
    areas: Sequence[FloatArray]
    """On each side, each track's share of pairs in the right order."""

    def extra(self, side: int, way: Way) -> Extra:
        """Add the right ones to make the area greater, and the wrong ones to make it less."""
        sizes, right = self.sizes[side], self.areas[side]
        amount = typical(sizes) * worst_share(right if way > 0 else 1 - right)
        area = float(sizes @ right / sizes.sum())
        end = 1.0 if way > 0 else 0.0
        return Extra(int(end), amount, (end - area) * amount / (sizes.sum() + amount))

    def values(
        self, drawn: Sequence[Drawn], extras: Sequence[Extra | None], weight: FloatArray
    ) -> FloatArray:
        """Give pairs with the unseen track their part of the area."""
        area = drawn[0].of
        for side, extra in zip(drawn, extras, strict=True):
            if extra is not None:
                more = extra.amount * weight
                area = (area * side.n + extra.kind * more) / (side.n + more)
        return area


def typical(sizes: FloatArray) -> float:
    """Give the size of the track that a typical instance is of."""
    return float(sizes @ sizes / sizes.sum())


def worst_share(shares: FloatArray) -> float:
    """Give the share of the track that a typical bad instance is of, with one that is wholly bad.

    Examples
    --------
    >>> worst_share(np.zeros(9)), worst_share(np.ones(9)), round(worst_share(np.full(9, 1 / 3)), 12)
    (1.0, 1.0, 0.5)
    """
    return float((shares @ shares + 1) / (shares.sum() + 1))
