"""Conformal p-values of a stream: how rare is each score among the reference and all that came before?"""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

from farm.api.arrays import FloatArray
from farm.errors import ParameterError

BINS = 256
"""Scores are told apart by so many places at most: memory stays the same however long the stream."""


class ConformalRanks:
    """Ranks each score among those of a reference and of the stream so far, and adds it to them.

    As long as all of them are exchangeable, the p-values are independent and uniform, exactly and however
    small the reference: ties are broken by lot. Where the stream were compared with a fixed reference alone,
    all p-values would share the reference's luck, and a long stream would betray it as a change. For a
    memory that does not grow, every second score of the reference only says where to cut the scale into
    bins, and is counted no more.

    Parameters
    ----------
    reference
        Scores while all is well.

    Examples
    --------
    >>> ranks = ConformalRanks(np.array([1.0, 1.0, 2.0, 2.0, 3.0, 3.0]))
    >>> ranks.p(9.0, 0.5), ranks.p(0.0, 0.5)
    (0.25, 0.9)

    References
    ----------
    V. Vovk, A. Gammerman, G. Shafer, "Algorithmic learning in a random world" (2005), chapter 8.
    """

    def __init__(self, reference: FloatArray) -> None:
        finite = int(np.isfinite(reference).sum())
        if not finite or finite < len(reference):
            raise ParameterError(
                f"reference has {len(reference)} scores, {finite} of them finite; expected at least one, and "
                "all of them"
            )
        cuts = np.unique(reference[::2])
        places = np.linspace(0, len(cuts) - 1, min(BINS, len(cuts))).round().astype(int)
        self._cuts: list[float] = cuts[places].tolist()
        own = np.searchsorted(cuts[places], reference[1::2], side="right")
        self._counted: list[int] = np.bincount(own, minlength=len(places) + 1).tolist()
        self.forget()

    def p(self, score: float, uniform: float) -> float:
        """Return the p-value of a score, small where it is high, and count it; `uniform` is from [0, 1)."""
        place, counts = bisect_right(self._cuts, score), self._counts
        above = sum(counts[place + 1 :])
        counts[place] += 1
        self._n += 1
        # From (0, 1], for logarithms.
        return (above + (1.0 - uniform) * counts[place]) / self._n

    def forget(self) -> None:
        """Know the reference alone."""
        self._counts = list(self._counted)
        self._n = sum(self._counts)
