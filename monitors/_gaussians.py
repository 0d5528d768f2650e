"""Gaussians of one covariance, in the space where it is the unit matrix: distances there are plain ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from farm.api import Features, FloatArray, IntArray, State
from monitors._layer import blocks

ROUNDING = float(np.finfo(np.float32).eps)


def gaussians(name: str, features: Features, means: FloatArray, index: IntArray) -> State:
    """Return the origin, the whitening factor and the means: factor @ factor.T is the precision matrix.

    `index` is the row of each one's mean.
    """
    scattered, squares = scatter(features, lambda rows: means[index[rows]])
    variances, directions = np.linalg.eigh(scattered / len(features))
    # What float32 cannot tell from a constant: a deviation of its rounding error at the features' size.
    size = max(float(variances[-1]), squares / features.size)
    floor = len(variances) * ROUNDING**2 * size
    kept = variances > floor
    factor = directions[:, kept] / np.sqrt(variances[kept])
    origin = means.mean(axis=0)
    white = (means - origin) @ factor
    arrays = {"origin": origin, "factor": factor, "means": white, "centres": means}
    return {f"{name}.{part}": array for part, array in arrays.items()}


def scatter(features: Features, centres: Callable[[slice], FloatArray]) -> tuple[FloatArray, float]:
    """Return the sum of all outer products of rows less their centres, and that of all squares."""
    sums = np.zeros((features.shape[1],) * 2)
    squares = 0.0
    for rows in blocks(features):
        wide = features[rows].astype(np.float64)
        squares += float(np.square(wide).sum())
        wide -= centres(rows)
        sums += wide.T @ wide
    return sums, squares


class WhitenedMeans(NamedTuple):
    """Squared distances in a whitened space, where they are plain Euclidean ones."""

    origin: FloatArray
    factor: FloatArray
    means: FloatArray
    """One row a class, already whitened."""
    centres: FloatArray
    """The same as they are."""
    squares: FloatArray
    """The squared lengths of the whitened means."""

    @classmethod
    def load(cls, name: str, state: State) -> WhitenedMeans:
        """Unpack the arrays of this name."""
        parts = ("origin", "factor", "means", "centres")
        origin, factor, means, centres = (
            np.ascontiguousarray(state[f"{name}.{part}"], dtype=np.float64) for part in parts
        )
        return cls(origin, factor, means, centres, np.square(means).sum(axis=1))

    def nearest(self, features: Features) -> FloatArray:
        """Return each row's squared distance to the mean nearest to it."""
        # |x - m|^2 = |x|^2 - 2 x.m + |m|^2: one product for all classes, and |x|^2 plays no part in which.
        white = (features - self.origin) @ self.factor
        cross = self.squares - 2.0 * (white @ self.means.T)
        result: FloatArray = np.maximum(np.square(white).sum(axis=1) + cross.min(axis=1), 0.0)
        return result

    def parts(self, features: Features) -> tuple[int, FloatArray]:
        """Return one row's nearest mean, and what each feature adds to the squared distance from it.

        With x - m the difference and P the precision, (x - m)' P (x - m) is a sum over the features of x - m.
        """
        white = (features - self.origin) @ self.factor
        which = int(np.square(white - self.means).sum(axis=1).argmin())
        parts: FloatArray = (features - self.centres[which]) * (self.factor @ (white - self.means[which]))
        return which, parts
