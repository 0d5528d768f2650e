"""How low and how high shares, means and rates of instances may be, whole tracks being weighed anew.

Each is the mean of a number that every instance has, as `farm.statistics.bounds` weighs tracks. What tells
them apart is how bad one more track may be that was not seen.

Of a *share*, as bad as the track that a typical bad instance is of, one that is wholly bad counted among
them. Of a *mean* of numbers that are not all alike, such as weights of which the heaviest are rare, what was
seen tells nothing of the worst to come: there all of its instances have the worst value there is. Of a
*rate of events*, it has one more than the worst track that was seen: an event lasts, so that no track could
have one at each of its instances.

Each end holds by itself with (1 + level) / 2: both ends of 95 % with 97.5 %. In simulations of means (400
streams each, 6 to 150 tracks of 1 to 30 instances, one mistake in 50 to one in 3 of the heaviest weight) the
ends held in 98 to 100 % of the streams. Those of rates held in 95 to 100 % where each track had a rate of its
own, up to six tracks of which each has 2 events on the average, and every second one next to none: there the
upper end held in 91 %. Tracks that fail far more often than any that was seen are beyond what rates tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from farm.api.arrays import BoolArray, FloatArray, IntArray
from farm.errors import ParameterError
from farm.measures.measure import Bounded, Measure, undefined
from farm.statistics.bounds import Counted, Drawn, TrackedSides, too_few_tracks, typical, unseen
from farm.statistics.resampling import codes

Amounts: TypeAlias = Callable[[FloatArray, FloatArray], dict[int, float]]
"""From tracks' sizes and what they have of two kinds to what an unseen track may have of either."""


def share_by_track(hit: BoolArray, track: IntArray, level: float = 0.95) -> tuple[Measure, Measure]:
    """Return the ends of the share of instances that are hit.

    Parameters
    ----------
    hit
        Which instances are; there has to be one.
    track
        The number of each instance's track.

    Examples
    --------
    >>> track = np.arange(400) // 20
    >>> low, high = share_by_track(track < 3, track)
    >>> round(low.value, 3), round(high.value, 3)
    (0.032, 0.379)
    """
    return next(shares_by_track([hit], track, level))


def shares_by_track(
    hits: Sequence[BoolArray], track: IntArray, level: float = 0.95
) -> Iterator[tuple[Measure, Measure]]:
    """Return the ends of several shares of the same instances, for which tracks are drawn once."""
    return _ends([hit.astype(np.float64) for hit in hits], track, level, partial(unseen, possible=(0, 1)))


def share_of_a_track(hit: BoolArray, counts: BoolArray, track: NDArray[Any], level: float = 0.95) -> Bounded:
    """Return how likely one random instance of a random track is hit, if it is one that counts.

    Each track counts the same, however long it is: what it has is a share of its instances.

    Parameters
    ----------
    hit
        Which instances are; those that do not count are never.
    counts
        Which instances count.
    track
        What each instance belongs to.

    Examples
    --------
    >>> track = np.repeat(np.arange(40), np.where(np.arange(40) < 4, 30, 10))
    >>> found = share_of_a_track(track < 4, np.ones(len(track), dtype=bool), track)
    >>> found.value.value, round(found.low.value, 3), round(found.high.value, 3)
    (0.1, 0.028, 0.237)
    """
    code = codes(track)
    size = np.bincount(code)
    hits, counted = (np.bincount(code, weights=own) / size for own in (hit & counts, counts))
    if not counts.any():
        return Bounded.nowhere(undefined("no instance counts"))
    value = Measure(float(hits.sum() / counted.sum()))
    if (few := too_few_tracks(int((counted > 0).sum()))) is not None:
        return Bounded(value, few, few)
    every = np.arange(len(size))
    sides = TrackedSides(every, [every])
    by_kind = np.column_stack([counted - hits, hits, 1 - counted])
    (weighed,) = sides.weighed
    sums = weighed.sums(by_kind)
    possible = unseen(np.ones(len(size)), by_kind, (0, 1))
    term = Counted(_share_of_counting, [weighed.groups], [weighed.sizes], [sums], [possible])
    return Bounded(value, *sides.interval(term, value, lambda: sides.draw([sums]), level))


def mean_by_track(
    values: FloatArray, track: IntArray, *, lowest: float, highest: float, level: float = 0.95
) -> Bounded:
    """Return the mean of a bounded number that each instance has, between its ends.

    Where all instances have the lowest value the upper end is above it all the same: of tracks of one size it
    is Clopper and Pearson's, times the highest.

    Parameters
    ----------
    lowest, highest
        The least and the greatest that an instance could have. The further apart these are, the wider is the
        interval of a few tracks.

    Examples
    --------
    >>> track = np.arange(400) // 20
    >>> found = mean_by_track(np.zeros(400), track, lowest=0, highest=4)
    >>> found.low.value, round(found.high.value, 3)
    (0.0, 0.674)
    """
    if not lowest < highest:
        raise ParameterError(
            f"mean: from {lowest:g} to {highest:g}; expected a lowest value below the highest"
        )
    if not len(values):
        return Bounded.nowhere(undefined("no instances"))
    out = np.flatnonzero(~((values >= lowest) & (values <= highest)))
    if len(out):
        raise ParameterError(
            f"mean: {values[out[0]]:g} at place {out[0]}; expected a number from {lowest:g} to {highest:g}"
        )
    width = highest - lowest

    def anything(sizes: FloatArray, by_kind: FloatArray) -> dict[int, float]:  # noqa: ARG001 - whatever was seen
        return dict.fromkeys((0, 1), typical(sizes))

    ends = next(_ends([(values - lowest) / width], track, level, anything))
    value = float(values.mean())
    low, high = (Measure(lowest + width * end.value, end.reason) for end in ends)
    # Rounding may put an end of a mean without spread a last bit beyond it.
    return Bounded(
        Measure(value),
        Measure(min(low.value, value)) if low.defined else low,
        Measure(max(high.value, value)) if high.defined else high,
    )


def rate_by_track(begins: BoolArray, track: IntArray, level: float = 0.95) -> tuple[Measure, Measure]:
    """Return the ends of how many events there are an instance.

    Parameters
    ----------
    begins
        At which instances an event begins; there has to be an instance.

    Examples
    --------
    >>> track = np.arange(400) // 20
    >>> low, high = rate_by_track(np.arange(400) % 100 == 7, track)
    >>> round(low.value, 4), round(high.value, 4)
    (0.0029, 0.0326)
    """
    return next(_ends([begins.astype(np.float64)], track, level, _events, exact=False))


def _events(sizes: FloatArray, by_kind: FloatArray) -> dict[int, float]:
    """Return as how large an unseen track without an event is taken, and how many another one has."""
    return {0: typical(sizes), 1: 1.0 + float(by_kind[:, 1].max())}


def _ends(
    values: Sequence[FloatArray], track: IntArray, level: float, amounts: Amounts, *, exact: bool = True
) -> Iterator[tuple[Measure, Measure]]:
    """Return the ends of means of values from 0 to 1.

    Parameters
    ----------
    exact
        Whether tracks that have nothing but 0, or nothing but 1, are single trials.
    """
    sides = TrackedSides(codes(track), [np.arange(len(track))])
    (tracks,), (weighed,) = sides.tracks, sides.weighed
    if (few := too_few_tracks(len(tracks.groups))) is not None:
        yield from [(few, few)] * len(values)
        return
    parts = [np.column_stack([1 - own, own]) for own in values]
    counts = [weighed.sums(own) for own in parts]
    draw = cache(lambda: sides.draw([np.hstack(counts)]))

    def drawn(place: int) -> tuple[list[Drawn], FloatArray]:
        (side,), weight = draw()
        return [Drawn(side.n, side.of[:, 2 * place : 2 * place + 2])], weight

    for place, (own, by_kind) in enumerate(zip(parts, counts, strict=True)):
        possible = amounts(tracks.sizes, tracks.sums(own))
        term = Counted(_share, [weighed.groups], [weighed.sizes], [by_kind], [possible])
        value = Measure(float(values[place].mean()))
        if exact:
            yield sides.interval(term, value, partial(drawn, place), level)
        else:
            found = term.interval(value, *drawn(place), level)
            yield found.low, found.high


def _share(counts: FloatArray) -> FloatArray:
    """Return the share of the second of two kinds."""
    return np.asarray(counts[..., 1] / counts.sum(axis=-1))


def _share_of_counting(counts: FloatArray) -> FloatArray:
    """Return the share of the second of the first two kinds; the third does not count."""
    with np.errstate(invalid="ignore"):
        return _share(counts[..., :2])
