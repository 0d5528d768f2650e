"""How high a score ranks among all before it: uniform for as long as nothing has changed."""

from __future__ import annotations

import numpy as np

from farm.api.arrays import FloatArray, IntArray
from farm.api.randomness import generator
from farm.errors import DataError

_BLOCK = 256


class ConformalRanks:
    """Conformal p-values of a stream of scores, in constant memory.

    While reference and stream are exchangeable, p-values are independent and uniform, exactly: each score is
    ranked among the reference **and all scores before it**, and ties are broken at random. Ranked among a
    fixed reference alone, p-values of many scores would depend on each other, and whatever multiplies them
    would promise too much.

    No score is kept. One half of the reference, drawn at random, cuts the line into bins; the other half and
    the scores that come are counted by bin, and those of a bin are ties. A bin is a function of the score, so
    that nothing is lost of what is promised, only of what is noticed: how scores of one bin differ.

    Parameters
    ----------
    reference
        Scores from before, at least four, in any order.
    bins
        At most so many.

    References
    ----------
    V. Vovk, A. Gammerman, G. Shafer, "Algorithmic Learning in a Random World" (2005), theorem 8.2.

    Examples
    --------
    >>> ranks = ConformalRanks(np.arange(100.0))
    >>> round(ranks.p(1000.0, 0.5), 4), round(ranks.p(1000.0, 0.5), 4), round(ranks.p(-1.0, 0.5), 4)
    (0.0098, 0.0192, 0.9906)
    """

    def __init__(self, reference: FloatArray, bins: int = 1024) -> None:
        scores = np.asarray(reference, dtype=np.float64).reshape(-1)
        if len(scores) < 4:
            raise DataError(f"{len(scores)} reference scores; expected at least 4")
        _check(scores)
        if bins < 2:
            raise DataError(f"{bins} bins; expected at least 2")
        scores = generator(0, "conformal ranks").permutation(scores)
        cutting, counted = np.array_split(scores, 2)
        edges = np.unique(cutting)
        if len(edges) >= bins:
            edges = edges[np.arange(1, bins) * len(edges) // bins]
        self._edges = edges
        self._reference = np.bincount(self._bins(counted), minlength=len(edges) + 1)
        self.forget()

    @property
    def n(self) -> int:
        """How many scores a next one is ranked among."""
        return int(self._counts.sum())

    def forget(self) -> None:
        """Rank among the reference alone again."""
        self._counts = self._reference.copy()

    def p(self, score: float, uniform: float) -> float:
        """Return the p-value of the next score, small where it is high, and count the score.

        Parameters
        ----------
        uniform
            A random number from 0 to 1 that nothing else has seen.
        """
        return float(self.add(np.array([score]), np.array([uniform]))[0])

    def add(self, scores: FloatArray, uniforms: FloatArray) -> FloatArray:
        """Return the p-values of the next scores, in order, and count them."""
        scores = np.asarray(scores, dtype=np.float64)
        _check(scores)
        if len(scores) != len(uniforms):
            raise DataError(f"{len(uniforms)} random numbers of {len(scores)} scores; expected one for each")
        p = np.empty(len(scores))
        for start in range(0, len(scores), _BLOCK):
            part = slice(start, start + _BLOCK)
            p[part] = self._block(self._bins(scores[part]), uniforms[part])
        return p

    def _bins(self, scores: FloatArray) -> IntArray:
        return np.searchsorted(self._edges, scores, side="right").astype(np.int64)

    def _block(self, bins: IntArray, uniforms: FloatArray) -> FloatArray:
        before = np.tri(len(bins), k=-1, dtype=np.bool_)
        up_to = np.cumsum(self._counts)
        n = up_to[-1] + np.arange(len(bins))
        higher = up_to[-1] - up_to[bins] + ((bins > bins[:, None]) & before).sum(axis=1)
        same = self._counts[bins] + ((bins == bins[:, None]) & before).sum(axis=1)
        self._counts += np.bincount(bins, minlength=len(self._counts))
        return np.asarray((higher + uniforms * (same + 1)) / (n + 1))


def _check(scores: FloatArray) -> None:
    out = np.flatnonzero(np.isnan(scores))
    if len(out):
        raise DataError(f"score {scores[out[0]]} at place {out[0]}; expected a number")
