"""The threshold that scores of new instances keep to as often as was asked, whatever their distribution.

It is found as the threshold of a monitor that is calibrated so (`farm.api.guarantees.conformal`).

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
from farm.api.guarantees.conformal import covering, fewest, rank
from farm.errors import DataError, ParameterError
from farm.statistics.resampling import codes
from farm.statistics.wording import counted


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
        score, n = covering(scores, coverage, code), int(code.max(initial=-1)) + 1
        tied = len(np.unique(code[scores == score])) > 1
        return cls(coverage, score, n, "instance" if track is None else "track", tied)

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


def check_track(track: NDArray[Any] | None, n: int) -> None:
    """Raise where there is not one track an instance."""
    if track is not None and track.shape != (n,):
        raise DataError(
            f"conformal: {counted(n, 'instance')}, tracks of shape {track.shape}; expected as many"
        )
