"""How low and how high a measure of counts may be: tracks weighed anew, and one more that was not seen.

Frames of a track resemble each other, so tracks are what is drawn. Each has a random weight, exponential (the
Bayesian bootstrap), and one more is weighed with them. What was not seen may be as bad as it likes, but it is
no larger and no worse than it has to be taken for: as large as the track that a typical instance is of, and
as bad as the track that a typical bad instance is of, one that is wholly bad counted among them. Where no
track is bad, or each bad one is wholly so, that is a wholly bad track.

Here is what belongs to one stream; `farm.gate.bounds` weighs the tracks of several streams together.

References
----------
D. B. Rubin, "The Bayesian bootstrap", The Annals of Statistics 9 (1981).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol, TypeAlias

import numpy as np

from farm.api.arrays import BoolArray, FloatArray, IntArray
from farm.api.randomness import generator
from farm.measures.measure import Bounded, Measure, undefined
from farm.statistics.clopper_pearson import high_of_share, low_of_share
from farm.statistics.resampling import FEWEST, draws, exponential_weights

Form: TypeAlias = Callable[[FloatArray], FloatArray]
"""From counts, their kinds along the last axis, to a measure."""
Way: TypeAlias = Literal[-1, 1]
"""Whether it makes the measure lower or higher."""
WAYS: tuple[Way, Way] = (-1, 1)
DRAWS = 2000
MOST_DRAWN = 2000
"""So many tracks are weighed one by one."""


@dataclass(frozen=True, eq=False)
class SideTracks:
    """Some instances of a stream, such as the OOD ones, and the tracks that they are of."""

    rows: BoolArray | IntArray
    groups: IntArray
    """The numbers of the tracks that have some."""
    track: IntArray
    """Of each of the instances, the place of its track among these."""
    sizes: FloatArray
    """How many instances each track has."""

    @classmethod
    def of(cls, rows: BoolArray | IntArray, code: IntArray) -> SideTracks:
        """Find the tracks of those instances; `code` is the number of each instance's track."""
        groups, track = np.unique(code[rows], return_inverse=True)
        return cls(rows, groups, track, np.bincount(track).astype(np.float64))

    def counts(self, kind: IntArray, kinds: int) -> FloatArray:
        """Return how many instances of each kind each track has, a row a track."""
        cells = kinds * len(self.groups)
        counts = np.bincount(kinds * self.track + kind[self.rows], minlength=cells)
        return counts.reshape(-1, kinds).astype(np.float64)

    def sums(self, parts: FloatArray) -> FloatArray:
        """Return the same where an instance is in parts of several kinds: `parts` has a row an instance."""
        own, n = parts[self.rows], len(self.groups)
        return np.column_stack([np.bincount(self.track, weights=part, minlength=n) for part in own.T])


@dataclass(frozen=True, eq=False)
class Drawn:
    """What was drawn of a stream's side: of how many instances, and what of them."""

    n: FloatArray
    """A number a draw."""
    of: FloatArray
    """The numbers of each kind, or an area; the first axis is the draws'."""


@dataclass(frozen=True, eq=False)
class Extra:
    """The unseen track's instances on one side of a stream, and by how much they change the measure."""

    kind: int
    amount: float
    change: float


class Sided(Protocol):
    """A measure on one stream that an unseen track may change on either side."""

    @property
    def tracks(self) -> Sequence[IntArray]:
        """The tracks of each side, by their numbers."""

    def extra(self, side: int, way: Way) -> Extra:
        """Return what moves the measure this way most."""


@dataclass(frozen=True, eq=False)
class Counted:
    """A measure that follows from how many instances are of which kind; all but its form is side by side."""

    form: Form
    tracks: Sequence[IntArray]
    """The numbers of the tracks among those of all streams."""
    sizes: Sequence[FloatArray]
    by_kind: Sequence[FloatArray]
    """How many instances of each kind each track has."""
    amounts: Sequence[Mapping[int, float]]
    """Of each kind that is possible, how many instances an unseen track is taken to have."""

    @property
    def sides(self) -> list[int]:
        """The sides whose instances count for the measure, whatever they turn out to be."""
        counted = ~np.isnan(self._worth)
        return [side for side, amounts in enumerate(self.amounts) if counted[list(amounts)].any()]

    @cached_property
    def _worth(self) -> FloatArray:
        """The measure of one instance of each kind; NaN where it does not count."""
        return self.form(np.eye(self.by_kind[0].shape[1]))

    @cached_property
    def _extras(self) -> list[list[Extra]]:
        """An unseen track of each possible kind, side by side."""
        counts = np.array([by_kind.sum(axis=0) for by_kind in self.by_kind])
        total, each_kind = counts.sum(axis=0), np.eye(counts.shape[1])
        seen, found = self.form(total), []
        for own, possible in zip(counts, self.amounts, strict=True):
            kinds, amounts = list(possible), np.array(list(possible.values()))
            more = own + amounts[:, None] * each_kind[kinds]
            changed = self.form(total - own + more * (own.sum() / more.sum(axis=1))[:, None]) - seen
            changed[np.isnan(changed)] = 0.0
            found.append(
                [Extra(*each) for each in zip(kinds, amounts.tolist(), changed.tolist(), strict=True)]
            )
        return found

    def extra(self, side: int, way: Way) -> Extra:
        """Return what moves the measure this way most, of all kinds."""
        return max(self._extras[side], key=lambda extra: way * extra.change)

    def trials(self) -> tuple[int, int] | None:
        """Return a rate as a share of tracks, where they are all alike, and each is so wholly or not at all.

        Then nothing need be drawn.
        """
        worth, sides = self._worth, self.sides
        if len(sides) != 1 or (worth[list(self.amounts[sides[0]])] < 0).any():
            return None
        counted = ~np.isnan(worth)
        by_kind = self.by_kind[sides[0]][:, counted]
        whole, part = by_kind.sum(axis=1), by_kind @ worth[counted]
        part, whole = part[whole > 0], whole[whole > 0]
        if np.ptp(whole) > 0 or not np.isin(part, (0, whole[0])).all():
            return None
        return int((part > 0).sum()), len(whole)

    def values(
        self, drawn: Sequence[Drawn], extras: Sequence[Extra | None], weight: FloatArray
    ) -> FloatArray:
        """Return the measure in each draw, with its weight the unseen track where there is one.

        Each side is scaled to as many instances as there are, so that the share of OOD ones stays.
        """
        counts = np.zeros_like(drawn[0].of)
        for sizes, side, extra in zip(self.sizes, drawn, extras, strict=True):
            n, of = side.n, side.of
            if extra is not None:
                n, of = n + extra.amount * weight, of.copy()
                of[:, extra.kind] += extra.amount * weight
            counts += of * (sizes.sum() / n)[:, None]
        return self.form(counts)

    def interval(
        self, value: Measure, drawn: Sequence[Drawn], weight: FloatArray, level: float = 0.95
    ) -> Bounded:
        """Put the measure's value between two ends, of draws of this stream alone."""
        n_tracks = 1 + max(int(tracks.max()) for tracks in self.tracks)
        low, high = (self.values(drawn, placed([self], [1.0], way, n_tracks)[0], weight) for way in WAYS)
        return between(value, low, high, (1 + level) / 2)


def between(value: Measure, low: FloatArray, high: FloatArray, level: float) -> Bounded:
    """Put a value between a quantile of draws that are rather low and one of draws that are rather high.

    Each end alone is at this level.
    """
    if (1 - level) * len(low) < 1:
        why = undefined(f"{len(low)} draws are too few for a level of {100 * level:g} %")
        return Bounded(value, why, why)
    # At a level of 50 % the middle of the draws may lie beyond the value.
    least = min(float(np.quantile(low, 1 - level)), value.value)
    most = max(float(np.quantile(high, level)), value.value)
    return Bounded(value, Measure(least), Measure(most))


def between_trials(value: Measure, trials: tuple[int, int], level: float) -> Bounded:
    """Put a share of independent trials between Clopper and Pearson's ends, each at this level."""
    return Bounded(value, Measure(low_of_share(*trials, level)), Measure(high_of_share(*trials, level)))


def placed(
    terms: Sequence[Sided], shares: Sequence[float], way: Way, n_tracks: int
) -> list[list[Extra | None]]:
    """Put the unseen track where some track is, and where it changes the mean most; stream by stream."""
    extras = [[term.extra(side, way) for side in range(len(term.tracks))] for term in terms]
    change = np.zeros(n_tracks)
    for term, share, own in zip(terms, shares, extras, strict=True):
        for tracks, extra in zip(term.tracks, own, strict=True):
            change[tracks] += share * extra.change
    like = int(np.argmax(way * change))
    return [
        [extra if like in tracks else None for tracks, extra in zip(term.tracks, own, strict=True)]
        for term, own in zip(terms, extras, strict=True)
    ]


def bundles(n_tracks: int) -> IntArray:
    """Return the bundle of each track, where these are too many to be weighed one by one."""
    return np.asarray(generator(0, "bundles").permutation(n_tracks) % MOST_DRAWN)


class TrackedSides:
    """The sides of a stream with their tracks, and with what is weighed: very many tracks in bundles.

    Parameters
    ----------
    code
        The number of each instance's track.
    sides
        The rows of each side.
    """

    def __init__(self, code: IntArray, sides: Sequence[BoolArray | IntArray]) -> None:
        self.n_tracks = int(code.max()) + 1
        self.bundled = self.n_tracks > MOST_DRAWN
        """Whether tracks are weighed in bundles, which takes no longer however many there are."""
        self.tracks = [SideTracks.of(rows, code) for rows in sides]
        self.weighed = self.tracks
        """The same by what has a weight of its own."""
        if self.bundled:
            bundle = bundles(self.n_tracks)
            self.weighed = [SideTracks.of(rows, bundle[code]) for rows in sides]
        self._n_weights = min(self.n_tracks, MOST_DRAWN) + 1

    def draw(self, counts: Sequence[FloatArray]) -> tuple[list[Drawn], FloatArray]:
        """Weigh anew; return what is drawn of each side, and the unseen track's weight.

        Counts are any numbers of what is weighed, side by side.
        """
        sized = zip(self.weighed, counts, strict=True)
        together = [(side.groups, np.column_stack([side.sizes, own])) for side, own in sized]

        def of(weights: FloatArray) -> dict[int, FloatArray]:
            found = {number: weights[:, own] @ total for number, (own, total) in enumerate(together)}
            return found | {-1: weights[:, -1]}

        found = draws(of, exponential_weights(DRAWS, self._n_weights, seed=0))
        return [Drawn(found[number][:, 0], found[number][:, 1:]) for number in range(len(counts))], found[-1]

    def interval(
        self,
        term: Counted,
        value: Measure,
        drawn: Callable[[], tuple[Sequence[Drawn], FloatArray]],
        level: float = 0.95,
    ) -> tuple[Measure, Measure]:
        """Return the ends of a measure; where tracks are trials of a rate nothing is drawn."""
        trials = None if self.bundled else term.trials()
        if trials is None:
            found = term.interval(value, *drawn(), level)
        else:
            found = between_trials(value, trials, (1 + level) / 2)
        return found.low, found.high


def of_counts(form: Form, by_side: FloatArray, possible: Sequence[Sequence[int]]) -> Counted:
    """Return a measure of instances that each stand alone, of which no more is known than their counts.

    Parameters
    ----------
    by_side
        How many instances of each kind there are, a row a side.
    possible
        The kinds that an unseen instance of each side may be of.
    """
    return Counted(
        form,
        tracks=[np.array([side]) for side in range(len(by_side))],
        sizes=list(by_side.sum(axis=1, keepdims=True)),
        by_kind=list(by_side[:, None]),
        amounts=[dict.fromkeys(kinds, 1.0) for kinds in possible],
    )


def drawn_by_count(by_side: FloatArray, *, seed: int = 0) -> tuple[list[Drawn], FloatArray]:
    """Weigh instances anew of which each stands alone: a sum of exponential weights is gamma distributed."""
    random = generator(seed, "bounds", "counts")
    weighed = [random.standard_gamma(counts, (DRAWS, len(counts))) for counts in by_side]
    return [Drawn(of.sum(axis=1), of) for of in weighed], random.standard_exponential(DRAWS)


def too_few_tracks(n: int, what: str = "the instances") -> Measure | None:
    """Return why there is no interval, where there are too few tracks for one."""
    if n >= FEWEST:
        return None
    return undefined(f"{what} are of {n} track{'' if n == 1 else 's'}; an interval needs at least {FEWEST}")


def unseen(sizes: FloatArray, by_kind: FloatArray, possible: Iterable[int]) -> dict[int, float]:
    """Return of each possible kind how many instances an unseen track is taken to have."""
    size = typical(sizes)
    return {kind: size * worst_share(by_kind[:, kind] / sizes) for kind in possible}


def typical(sizes: FloatArray) -> float:
    """Return the size of the track that a typical instance is of."""
    return float(np.square(sizes).sum() / sizes.sum())


def worst_share(shares: FloatArray) -> float:
    """Return the share of the track that a typical bad instance is of, with one that is wholly bad.

    Examples
    --------
    >>> worst_share(np.zeros(9)), worst_share(np.ones(9)), round(worst_share(np.full(9, 1 / 3)), 12)
    (1.0, 1.0, 0.5)
    """
    return float((np.square(shares).sum() + 1) / (shares.sum() + 1))
