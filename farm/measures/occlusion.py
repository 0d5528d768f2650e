"""Whether a classifier looks at the object: where a hidden patch lowers the probability of its class.

A heat map has, for each position of the patch, the probability of the class that was predicted without it.
Positions below a threshold are hot: what is hidden there matters. Those where the patch touches the object
are the occluding ones.

References
----------
C.-H. Cheng et al., "Towards Dependability Metrics for Neural Networks", MEMOCODE 2018, sections II F and G.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from farm.api.arrays import BoolArray, FloatArray
from farm.api.component import check_number
from farm.errors import DataError
from farm.measures.measure import Measure, ratio, undefined

Heat = NDArray[np.floating]
"""Probabilities by row and column of the patch's positions; of several images, image by image."""
OfOne = Callable[[Heat, BoolArray, float], Measure]

NO_IMAGE = "no images"
NOT_OCCLUDING = "no position of the patch touches the object"


def precision(heat: Heat, occluding: BoolArray, rho: float) -> Measure:
    """Return which share of the hot positions touch the object: low where the surroundings decide.

    Examples
    --------
    >>> heat, occluding = np.array([[0.2, 0.3], [0.9, 0.4]]), np.array([[True, False], [True, False]])
    >>> round(precision(heat, occluding, 0.5).value, 4)
    0.3333
    >>> precision(heat, occluding, 0.1).reason
    'no hot position: nothing that is hidden lowers the probability below 0.1'
    """
    hot = _hot(heat, occluding, rho)
    why = f"no hot position: nothing that is hidden lowers the probability below {rho:g}"
    return ratio(_count(hot & occluding), _count(hot), why)


def covering(heat: Heat, occluding: BoolArray, rho: float) -> Measure:
    """Return which share of the positions that touch the object are hot: high where small occlusions matter.

    Examples
    --------
    >>> heat, occluding = np.array([[0.2, 0.3], [0.9, 0.4]]), np.array([[True, False], [True, False]])
    >>> covering(heat, occluding, 0.5).value, covering(heat, occluding, 0.1).value
    (0.5, 0.0)
    """
    hot = _hot(heat, occluding, rho)
    return ratio(_count(hot & occluding), _count(occluding), NOT_OCCLUDING)


def _hot(heat: Heat, occluding: BoolArray, rho: float) -> BoolArray:
    check_number("rho", rho, low=0, high=1)
    if heat.shape != occluding.shape or heat.ndim != 2:
        raise DataError(
            f"the heat map has shape {heat.shape}, the occluding positions {occluding.shape}; expected the "
            "same, rows x columns"
        )
    # A plain number, so that a map of single precision is compared in that: 0.7 is not below 0.7.
    return np.asarray(heat < float(rho), dtype=np.bool_)


def _count(positions: BoolArray) -> int:
    return int(np.count_nonzero(positions))


@dataclass(frozen=True)
class OverImages:
    """One measure of several images.

    Examples
    --------
    >>> found = OverImages((Measure(0.5), undefined("hidden by 'fog'"), Measure(1.0)))
    >>> found.mean.value, found.minimum.value, found.maximum.value, found.n_defined, found.undefined
    (0.75, 0.5, 1.0, 2, {"hidden by 'fog'": 1})
    """

    each: tuple[Measure, ...]
    """In the order of the images."""

    @property
    def values(self) -> FloatArray:
        """One number an image, NaN where it is undefined."""
        return np.array([one.value for one in self.each], dtype=np.float64)

    @property
    def n_defined(self) -> int:
        """Of how many images it is defined: those that mean, minimum and maximum are of."""
        return sum(one.defined for one in self.each)

    @property
    def undefined(self) -> Mapping[str, int]:
        """Of how many images it is not, for each reason."""
        return dict(Counter(one.reason for one in self.each if one.reason is not None))

    @property
    def mean(self) -> Measure:
        """The mean of what is defined."""
        return self._reduced(np.mean)

    @property
    def minimum(self) -> Measure:
        """The least of what is defined."""
        return self._reduced(np.min)

    @property
    def maximum(self) -> Measure:
        """The greatest of what is defined."""
        return self._reduced(np.max)

    def _reduced(self, reduce: Callable[[FloatArray], np.floating]) -> Measure:
        known = self.values[~np.isnan(self.values)]
        if known.size:
            return Measure(float(reduce(known)))
        told = "; ".join(f"{why} ({n:,} of {len(self.each):,} images)" for why, n in self.undefined.items())
        return undefined(told or NO_IMAGE)


@dataclass(frozen=True)
class AtThreshold:
    """What heat maps say where positions below one probability are hot."""

    rho: float
    precision: OverImages
    covering: OverImages


def at_threshold(
    heat: Heat, occluding: BoolArray, rho: float, *, why_not: Sequence[str] | None = None
) -> AtThreshold:
    """Measure several images at one threshold.

    Parameters
    ----------
    heat, occluding
        Images x rows x columns.
    rho
        Positions with a probability below it are hot.
    why_not
        For each image why nobody knows where its object is, empty where that is known.

    Examples
    --------
    >>> heat = np.array([[[0.2, 0.9]], [[0.8, 0.9]], [[0.1, 0.1]]])
    >>> occluding = np.array([[[True, True]], [[False, True]], [[False, False]]])
    >>> found = at_threshold(heat, occluding, 0.5, why_not=("", "", "hidden by 'fog'"))
    >>> found.precision.values, found.covering.values
    (array([ 1., nan, nan]), array([0.5, 0. , nan]))
    """
    said = list(repeat("", len(heat)) if why_not is None else why_not)
    if not len(heat) == len(occluding) == len(said):
        raise DataError(
            f"there are {len(heat)} heat maps, {len(occluding)} maps of occluding positions and {len(said)} "
            "reasons why there are none; expected one each an image"
        )

    def over(measure: OfOne) -> OverImages:
        images = zip(heat, occluding, said, strict=True)
        return OverImages(tuple(undefined(why) if why else measure(h, o, rho) for h, o, why in images))

    return AtThreshold(float(rho), over(precision), over(covering))


def over_thresholds(
    heat: Heat, occluding: BoolArray, rhos: Sequence[float], *, why_not: Sequence[str] | None = None
) -> tuple[AtThreshold, ...]:
    """Measure several images at each of some thresholds, as `at_threshold` does at one.

    Examples
    --------
    >>> heat, occluding = np.array([[[0.2, 0.4]]]), np.array([[[True, False]]])
    >>> [at.precision.mean.value for at in over_thresholds(heat, occluding, [0.3, 0.5])]
    [1.0, 0.5]
    """
    return tuple(at_threshold(heat, occluding, rho, why_not=why_not) for rho in rhos)
