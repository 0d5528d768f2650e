"""The threshold that scores of new instances keep to as often as was asked, whatever their distribution.

Among n exchangeable scores a new one may have each rank with the same chance. So it is at most the k-th
lowest of the n with a chance of k / (n + 1) or more, which is the coverage asked for where
k = ceil((n + 1) coverage). Where that is more than n, nothing less than everything has this coverage.

Frames of one track are not exchangeable with a new instance: they resemble each other, and not it. With
tracks each of these counts the same, its frames a share of it, n is how many tracks there are, and the
promise is of any one frame of a new track. In simulations (2,000 draws of 10, 30 and 100 tracks of 1 to 30
frames, coverages of 0.5 to 0.95, another 50 tracks covered by them) the share of frames covered lay within
its 95 % interval in 95 to 100 % of draws, however alike the frames of a track were; taken for exchangeable,
very like frames had an interval that held in 40 %. Nothing of this holds where long tracks are the harder
ones: then a smaller share of frames is covered than of tracks.

References
----------
V. Vovk, A. Gammerman and G. Shafer, "Algorithmic Learning in a Random World" (2005). Y. Lee, R. F. Barber and
R. Willett, "Distribution-free inference with hierarchical data" (2023).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from farm.api.arrays import FloatArray
from farm.errors import DataError, ParameterError
from farm.statistics.resampling import codes
from farm.statistics.wording import counted

_ROUNDING = 1e-9
"""Keeps 0.95 * 20 from being more than 19."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """The score up to which new instances are covered.

    Examples
    --------
    >>> Threshold.of(np.arange(19.0), 0.9)
    Threshold(coverage=0.9, score=17.0, n=19, unit='instance', tied=False)
    >>> Threshold.of(np.arange(5.0), 0.9).why_all
    'a coverage of 90 % needs 9 validation instances; there are 5'
    """

    coverage: float
    """The one asked for."""
    score: float
    """Infinite where nothing less than everything has that coverage."""
    n: int
    """How many validation instances, or tracks of them, there are."""
    unit: str
    tied: bool
    """Whether several of them have just that score: then more may be covered than was asked."""

    @classmethod
    def of(cls, scores: FloatArray, coverage: float, track: NDArray[Any] | None = None) -> Threshold:
        """Find it.

        Parameters
        ----------
        scores
            Of validation instances, each with what is right; high where that is a surprise.
        track
            What each instance belongs to; None where they are exchangeable.
        """
        if not 0 < coverage < 1:
            raise ParameterError(f"coverage is {coverage}; expected a number between 0 and 1")
        check_track(track, len(scores))
        wrong = np.flatnonzero(np.isnan(scores))
        if wrong.size:
            raise DataError(f"conformal: no score at position {wrong[0]}; expected a number for each")
        code = np.arange(len(scores)) if track is None else codes(track)
        sizes = np.bincount(code)
        order = np.argsort(scores, kind="stable")
        ranked, below = scores[order], np.cumsum(1 / sizes[code[order]])
        place = int(np.searchsorted(below, (len(sizes) + 1) * coverage - _ROUNDING))
        score = float(ranked[place]) if place < len(ranked) else math.inf
        tied = len(np.unique(code[scores == score])) > 1
        return cls(coverage, score, len(sizes), "instance" if track is None else "track", tied)

    @property
    def rank(self) -> int:
        """Of n + 1 in rising order, which one it is."""
        return rank(self.n, self.coverage)

    @property
    def why_all(self) -> str | None:
        """Why everything is covered, if so."""
        if self.score < math.inf:
            return None
        needed = counted(fewest(self.coverage), f"validation {self.unit}")
        are = "is" if self.n == 1 else "are"
        return f"a coverage of {100 * self.coverage:g} % needs {needed}; there {are} {self.n:,}"

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it, a threshold that is infinite as null."""
        return {
            "coverage": self.coverage,
            "threshold": None if self.why_all else self.score,
            "n": self.n,
            "unit": self.unit,
            "why_all": self.why_all,
        }


def rank(n: int, coverage: float) -> int:
    """Return the lowest rank, of n + 1 scores, that a new one is at most at with this chance.

    Examples
    --------
    >>> rank(19, 0.95), rank(18, 0.95), rank(100, 0.9)
    (19, 19, 91)
    """
    return math.ceil((n + 1) * coverage - _ROUNDING)


def fewest(coverage: float) -> int:
    """Return how many validation instances it takes to cover less than everything.

    Examples
    --------
    >>> fewest(0.5), fewest(0.9), fewest(0.95), fewest(0.99)
    (1, 9, 19, 99)
    """
    return math.ceil(coverage / (1 - coverage) - _ROUNDING)


def check_track(track: NDArray[Any] | None, n: int) -> None:
    """Raise where there is not one track an instance."""
    if track is not None and track.shape != (n,):
        raise DataError(
            f"conformal: {counted(n, 'instance')}, tracks of shape {track.shape}; expected as many"
        )
