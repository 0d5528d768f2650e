"""Have scores moved? How far those of two samples lie apart, and how sure that is where they come in tracks.

The drift is Kolmogorov's and Smirnov's distance: of all thresholds that there may be, at the one where the
shares of instances above differ most, by how much they do. So it says by how much an alarm rate can have
moved, wherever its threshold lies; and it sees any change, also of scores that are only more spread out.

Tracks are drawn anew within each sample (`farm.statistics.resampling`), whatever their sizes. To exchange
tracks between samples would be exact only where both come in tracks of one kind, and a reference of single
images beside a log of drives does not. Two things follow from draws. How far the difference strays from the
one that was seen, at the threshold where it strays most, gives p and the lower bound. The upper bound takes
each threshold by itself, and of all their bounds the highest: the true distance is at one of them. Like the
bounds of `farm.gate`, it counts a track more that was not seen.

References
----------
L. Kish, "Survey Sampling" (1965). J. Praestgaard, "Permutation and bootstrap Kolmogorov-Smirnov tests for the
equality of two distributions", Scandinavian Journal of Statistics 22 (1995).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from farm.api.arrays import FloatArray, IntArray
from farm.api.guarantees.binomial import smallest
from farm.api.randomness import generator
from farm.errors import DataError
from farm.measures.measure import Bounded, Measure, undefined
from farm.statistics.resampling import FEWEST, Resampling, codes, exponential_weights
from farm.statistics.resolution import (
    BEYOND,
    MOST_GROUPS,
    MOST_REPLICATES,
    REPLICATES,
    p_of,
    rarest,
    tail_of,
)

THRESHOLDS = 256
"""Of so many scores of each sample the distance is exact; of more it is off by 1/256 at most."""
GROUPS = 500
"""More tracks of a sample are joined at random to as many groups: draws of these tell as much."""
_ROWS = 1024
"""So many draws are held at a time."""


@dataclass(frozen=True)
class DriftResolution:
    """How small a p of drift there can be, by replicates, tracks and the number of monitors asked about."""

    fewest: int
    """Tracks of the sample with the fewest; of uneven ones, how many of one size would tell as much."""
    monitors: int
    alpha: float = 0.05

    @property
    def replicates(self) -> int:
        """How many draws so many monitors ask for."""
        wanted = math.ceil(BEYOND / (2 * tail_of(self.alpha / self.monitors, self.fewest)))
        return min(max(wanted, REPLICATES), MOST_REPLICATES)

    @property
    def floor(self) -> float:
        """The smallest p that there can be, corrected for the number of monitors.

        Examples
        --------
        >>> [round(DriftResolution(tracks, 3).floor, 4) for tracks in (4, 5, 6, 600)]
        [0.2633, 0.097, 0.035, 0.0016]
        """
        if self.fewest < 2:
            return 1.0
        tail = max(1 / (1 + self.replicates), rarest(self.fewest))
        return min(self.monitors * p_of(tail / 2, self.fewest), 1.0)

    @property
    def enough(self) -> bool:
        """Whether any drift could be seen."""
        return self.fewest >= FEWEST and self.floor < self.alpha

    @property
    def needed(self) -> int | None:
        """How many tracks a sample it takes to see any drift; None where no number helps."""

        def enough(tracks: int) -> bool:
            return DriftResolution(tracks, self.monitors, self.alpha).enough

        return smallest(enough) if enough(MOST_GROUPS) else None


@dataclass(frozen=True, eq=False)
class ScoreSample:
    """One sample's scores, counted by group: above each threshold, and in all."""

    above: FloatArray
    """A row a group, a column a threshold."""
    sizes: FloatArray
    n_tracks: int
    worth: int
    """As many tracks of one size would tell as much (Kish's effective number)."""

    @classmethod
    def of(cls, scores: FloatArray, track: IntArray, thresholds: FloatArray, seed: int) -> ScoreSample:
        """Count scores."""
        n_tracks = int(track.max()) + 1
        n_groups = min(n_tracks, GROUPS)
        group = generator(seed, "drift", "groups").permutation(n_tracks)[track] % n_groups
        above_some = np.searchsorted(thresholds, scores, side="left")
        width = len(thresholds) + 1
        cells = np.bincount(group * width + above_some, minlength=n_groups * width).reshape(n_groups, width)
        # A score that is above k thresholds is above the first k.
        above = np.cumsum(cells[:, :0:-1], axis=1)[:, ::-1].astype(np.float64)
        frames = np.bincount(track).astype(np.float64)
        worth = round(frames.sum() ** 2 / float(frames @ frames))
        return cls(above, cells.sum(axis=1).astype(np.float64), n_tracks, worth)

    @property
    def n_groups(self) -> int:
        """How many groups are drawn."""
        return len(self.sizes)

    @property
    def typical(self) -> float:
        """The size of the group that a typical instance is of."""
        return float(self.sizes @ self.sizes / self.sizes.sum())

    def variance(self, at: int) -> float:
        """Return how much the share above one threshold varies from sample to sample of so many groups."""
        share = self.above[:, at].sum() / self.sizes.sum()
        return float(np.sum((self.above[:, at] - share * self.sizes) ** 2) / self.sizes.sum() ** 2)

    def shares(
        self, weights: FloatArray, unseen: FloatArray | None = None, *, up: bool = False
    ) -> FloatArray:
        """Return the shares above each threshold, a row a draw; an unseen group has all of them, or none."""
        more = np.zeros(len(weights)) if unseen is None else self.typical * unseen
        above = weights @ self.above
        if up:
            above += more[:, None]
        return np.asarray(above / (weights @ self.sizes + more)[:, None])


@dataclass(frozen=True, eq=False)
class ScoreDrift:
    """How far the scores of a log lie from those of a reference, with what draws of both tell of it."""

    distance: Measure
    threshold: float
    """Where the shares of instances above differ most."""
    above: tuple[float, float]
    """The shares above it: in the log, and in the reference."""
    resolution: DriftResolution
    n_fewest: int
    """How many tracks there are in the sample where they tell least."""
    beside: float
    """Which share of the variance there is the reference's."""
    why_not: str | None
    """Why draws tell nothing of it, if so."""
    strayed: FloatArray = field(repr=False)
    """How far each draw's difference strays from the one seen, where it strays most."""
    further: FloatArray = field(repr=False)
    """At each threshold and either way, how great the difference may be: a row a draw."""

    @property
    def p(self) -> Measure:
        """How often samples of the same scores lie as far apart; of this monitor alone."""
        if self.why_not or not self.distance.defined:
            return undefined(str(self.why_not or self.distance.reason))
        fewest = self.resolution.fewest
        # Draws of the same counts may differ in their last bits.
        beyond = np.count_nonzero(self.strayed >= self.distance.value * (1 - 1e-9))
        tail = max((1 + beyond) / (1 + len(self.strayed)), rarest(fewest))
        return Measure(1.0 if tail >= 1 else p_of(tail / 2, fewest))

    def low(self, level: float) -> Measure:
        """Return a lower bound of the distance; 0 where chance may explain it."""
        if self.why_not or not self.distance.defined:
            return undefined(str(self.why_not or self.distance.reason))
        tail = 2 * tail_of(1 - level, self.resolution.fewest)
        if tail * len(self.strayed) < 1:
            return undefined(_too_few(len(self.strayed), level))
        return Measure(max(self.distance.value - float(np.quantile(self.strayed, 1 - tail)), 0.0))

    def high(self, level: float) -> Measure:
        """Return an upper bound of the distance."""
        if self.why_not or not self.distance.defined:
            return undefined(str(self.why_not or self.distance.reason))
        if (1 - level) * len(self.further) < 1:
            return undefined(_too_few(len(self.further), level))
        most = float(np.quantile(self.further, level, axis=0).max())
        return Measure(min(max(most, self.distance.value), 1.0))


def score_drift(
    log: tuple[FloatArray, IntArray],
    reference: tuple[FloatArray, IntArray],
    *,
    monitors: int = 1,
    alpha: float = 0.05,
    replicates: int | None = None,
    seed: int = 0,
) -> ScoreDrift:
    """Compare the scores of a log with those of a reference; beside scores stand the numbers of tracks.

    Parameters
    ----------
    monitors
        Among so many drift is looked for.
    alpha
        How often drift may be found where there is none.
    replicates
        Draws; None for as many as the number of monitors asks for.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> track, scores = np.repeat(np.arange(50), 4), random.normal(size=(2, 200))
    >>> same, moved = (score_drift((scores[0] + by, track), (scores[1], track)) for by in (0, 1))
    >>> round(same.distance.value, 2), round(same.p.value, 2), same.low(0.95).value
    (0.1, 0.23, 0.0)
    >>> round(moved.distance.value, 2), moved.p.value < 0.01, round(moved.low(0.95).value, 1)
    (0.46, True, 0.3)
    """
    samples = log, reference
    for scores, track in samples:
        if not len(scores) or len(scores) != len(track):
            raise DataError(f"drift: {len(scores)} scores of {len(track)} instances; expected one for each")
    thresholds = np.unique(np.concatenate([thresholds_of(scores) for scores, _ in samples]))
    counted = [ScoreSample.of(scores, codes(track), thresholds, seed) for scores, track in samples]
    ones = [np.ones((1, each.n_groups)) for each in counted]
    shares = [each.shares(one)[0] for each, one in zip(counted, ones, strict=True)]
    seen = shares[0] - shares[1]
    at = int(np.argmax(np.abs(seen)))
    fewest = min(counted, key=lambda each: each.worth)
    resolution = DriftResolution(fewest.worth, monitors, alpha)
    why_not = None
    if not resolution.enough:
        uneven = f", whose sizes differ so that they count as {fewest.worth}"
        few = f"{fewest.n_tracks} tracks{uneven if fewest.worth < fewest.n_tracks else ''}"
        needed = (
            f"needs at least {resolution.needed}" if resolution.needed else "asks for more than any number"
        )
        among = f" among {monitors} monitors" if monitors > 1 else ""
        why_not = f"there are {few}; a test of drift{among} {needed}"
    elif len(thresholds) == 1:
        why_not = "all scores are the same"
    nothing = np.empty((0, 2 * len(thresholds)))
    return ScoreDrift(
        distance=Measure(float(abs(seen[at]))),
        threshold=float(thresholds[at]),
        above=(float(shares[0][at]), float(shares[1][at])),
        resolution=resolution,
        n_fewest=fewest.n_tracks,
        beside=_beside(*(each.variance(at) for each in counted)),
        why_not=why_not,
        strayed=nothing[:, 0]
        if why_not
        else _strayed(counted, seen, replicates or resolution.replicates, seed),
        further=nothing if why_not else _further(counted, replicates or REPLICATES, seed),
    )


def rate_difference(one: Bounded, other: Bounded) -> Bounded:
    """Return by how much one rate exceeds another of other instances, by the interval that each has.

    The interval of the difference is as wide as the two errors together, each taken on the side where it
    counts, whatever the intervals are made of: single instances (then it is Newcombe's), or tracks.

    References
    ----------
    R. G. Newcombe, "Interval estimation for the difference between independent proportions", Statistics in
    Medicine 17 (1998), method 10. G. Y. Zou, A. Donner, "Construction of confidence limits about effect
    measures", Statistics in Medicine 27 (2008).

    Examples
    --------
    >>> from farm.measures.measure import share
    >>> found = rate_difference(share(56, 70, ""), share(48, 80, ""))
    >>> round(found.value.value, 1), round(found.low.value, 4), round(found.high.value, 4)
    (0.2, 0.0524, 0.3339)
    """
    for each in (one, other):
        if not each.value.defined:
            return Bounded.nowhere(each.value)
    p, q = one.value.value, other.value.value
    missing = next((end for each in (one, other) for end in (each.low, each.high) if not end.defined), None)
    if missing is not None:
        return Bounded(Measure(p - q), missing, missing)
    low = p - q - math.hypot(p - one.low.value, other.high.value - q)
    high = p - q + math.hypot(one.high.value - p, q - other.low.value)
    return Bounded(Measure(p - q), Measure(low), Measure(high))


def thresholds_of(scores: FloatArray) -> FloatArray:
    """Return all values, or so many of them that equal shares of the scores lie between."""
    values = np.unique(scores)
    if len(values) <= THRESHOLDS:
        return values
    ranks = np.arange(1, THRESHOLDS + 1) / THRESHOLDS
    return np.asarray(np.quantile(scores, ranks, method="inverted_cdf"))


def _strayed(counted: list[ScoreSample], seen: FloatArray, replicates: int, seed: int) -> FloatArray:
    k, n = counted[0].n_groups, sum(each.n_groups for each in counted)
    resampling = Resampling(n, is_ood=np.arange(n) >= k)
    found = []
    for weights in _chunks(resampling.weights(replicates, seed=seed)):
        difference = counted[0].shares(weights[:, :k]) - counted[1].shares(weights[:, k:])
        found.append(np.abs(difference - seen).max(axis=1))
    return np.concatenate(found)


def _further(counted: list[ScoreSample], replicates: int, seed: int) -> FloatArray:
    """Draw the difference at each threshold, either way, with an unseen track where it weighs more."""
    k, n = counted[0].n_groups, sum(each.n_groups for each in counted)
    part = [each.typical / each.sizes.sum() for each in counted]
    in_log = part[0] >= part[1]
    found = []
    for weights in _chunks(exponential_weights(replicates, n + 1, seed=seed)):
        log, reference, unseen = weights[:, :k], weights[:, k:n], weights[:, n]
        ways = []
        for way in (1, -1):
            first = counted[0].shares(log, unseen if in_log else None, up=in_log and way > 0)
            second = counted[1].shares(reference, None if in_log else unseen, up=not in_log and way < 0)
            ways.append(way * (first - second))
        found.append(np.hstack(ways))
    return np.vstack(found)


def _beside(log: float, reference: float) -> float:
    return reference / (log + reference) if log + reference > 0 else 0.0


def _chunks(blocks: Iterator[FloatArray]) -> Iterator[FloatArray]:
    for block in blocks:
        for start in range(0, len(block), _ROWS):
            yield block[start : start + _ROWS]


def _too_few(replicates: int, level: float) -> str:
    return f"{replicates} draws are too few for a level of {100 * level:g} %"
