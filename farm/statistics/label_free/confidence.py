"""Two estimates of the accuracy from confidences alone.

*Average thresholded confidence* finds the threshold below which lies as large a share of the reference as is
wrong there, and takes the target's share below it for wrong. *Difference of confidences* takes the accuracy
to fall by as much as the mean confidence does. Both give the reference's own accuracy back for itself.

References
----------
S. Garg, S. Balakrishnan, Z. C. Lipton, B. Neyshabur and H. Sedghi, "Leveraging Unlabeled Data to Predict
Out-of-Distribution Performance", ICLR 2022. D. Guillory, V. Shankar, S. Ebrahimi, T. Darrell and L. Schmidt,
"Predicting with Confidence on Unseen Distributions", ICCV 2021.
"""

from __future__ import annotations

import numpy as np

from farm.api.arrays import BoolArray, FloatArray, IntArray
from farm.statistics.drift import thresholds_of
from farm.statistics.label_free.samples import Estimate, SampleGroups, Told, missing, sums
from farm.statistics.resampling import Draw

_ROUNDING = 1e-9


def thresholded(reference: Told, right: BoolArray, target: Told, groups: SampleGroups) -> Estimate:
    """Estimate the accuracy on a target by average thresholded confidence.

    Where several instances have the confidence at the threshold, the part of them counts as wrong that makes
    the reference's share its error. Draws tell no more than 256 confidences of each sample apart.

    Parameters
    ----------
    reference, target
        How sure the classifier was: its greatest probability, or its negative entropy.
    right
        Which instances of the reference are.

    Examples
    --------
    The reference is wrong on two of five, so that 0.6 is its threshold; half of the target lies above:

    >>> groups = SampleGroups.of(np.arange(5), np.arange(4))
    >>> sure, right = np.array([0.5, 0.6, 0.7, 0.8, 0.9]), np.array([0, 1, 0, 1, 1], dtype=bool)
    >>> thresholded(sure, right, np.array([0.3, 0.6, 0.65, 0.9]), groups).value.value
    0.5
    """
    if why := missing(reference, target):
        return Estimate.nowhere(why)
    here, there = np.asarray(reference), np.asarray(target)
    if why := _all_alike(here, there):
        return Estimate.nowhere(why)
    if right.all() or not right.any():
        all_are = "right" if right.all() else "wrong"
        return Estimate.nowhere(f"all of the reference are {all_are}: no threshold can be learned")
    one_group = SampleGroups(np.zeros(len(here), dtype=np.int64), np.zeros(len(there), dtype=np.int64), 1)
    exact, drawn = (
        _share_above(here, right, there, whose, np.unique(np.concatenate(thresholds)))
        for whose, thresholds in (
            (one_group, [here, there]),
            (groups, [thresholds_of(here), thresholds_of(there)]),
        )
    )
    return Estimate(Estimate.of(exact, 1).value, drawn)


def _share_above(
    reference: FloatArray, right: BoolArray, target: FloatArray, groups: SampleGroups, thresholds: FloatArray
) -> Draw:
    """Return the share of the target above the reference's threshold, as a function of groups' weights."""
    here = _counted(reference, groups.reference, thresholds, groups.n)
    there = _counted(target, groups.target, thresholds, groups.n)
    wrong = np.bincount(groups.reference, weights=~right, minlength=groups.n)

    def draw(weights: FloatArray) -> FloatArray:
        rows = np.arange(len(weights))
        below, below_there = np.cumsum(weights @ here, axis=1), np.cumsum(weights @ there, axis=1)
        asked = weights @ wrong
        at = (below < asked[:, None] - _ROUNDING).sum(axis=1)
        before = np.maximum(at - 1, 0)
        first = np.where(at > 0, below[rows, before], 0.0)
        first_there = np.where(at > 0, below_there[rows, before], 0.0)
        mass = below[rows, at] - first
        part = (asked - first) / np.where(mass > 0, mass, 1.0)
        found = first_there + part * (below_there[rows, at] - first_there)
        n = below_there[:, -1]
        return np.asarray(1 - found / np.where(n > 0, n, np.nan))

    return draw


def _counted(values: FloatArray, code: IntArray, thresholds: FloatArray, n_groups: int) -> FloatArray:
    """Count values by group and by the first threshold that they do not exceed; the last column is above."""
    width = len(thresholds) + 1
    cells = code * width + np.searchsorted(thresholds, values, side="left")
    return np.bincount(cells, minlength=n_groups * width).reshape(n_groups, width).astype(np.float64)


def by_difference(reference: Told, right: BoolArray, target: Told, groups: SampleGroups) -> Estimate:
    """Estimate the accuracy on a target by the difference of mean confidences; never below 0 or above 1.

    Parameters
    ----------
    reference, target
        The probabilities of what was predicted.

    Examples
    --------
    Half of the reference are right, and the target is less sure by 0.2:

    >>> groups = SampleGroups.of(np.arange(2), np.arange(2))
    >>> found = by_difference(np.array([0.7, 0.9]), np.array([True, False]), np.array([0.5, 0.7]), groups)
    >>> round(found.value.value, 2)
    0.3
    """
    if why := missing(reference, target):
        return Estimate.nowhere(why)
    here, there = np.asarray(reference), np.asarray(target)
    for values in (here, there):
        out = values[(values < 0) | (values > 1)]
        if len(out):
            return Estimate.nowhere(f"confidences are no probabilities: {out[0]:g} is not from 0 to 1")
    if why := _all_alike(here, there):
        return Estimate.nowhere(why)
    ahead = sums(groups.reference, [np.ones(len(here)), right - here], groups.n)
    sure = sums(groups.target, [np.ones(len(there)), there], groups.n)

    def draw(weights: FloatArray) -> FloatArray:
        (n, more), (m, total) = (weights @ ahead).T, (weights @ sure).T
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.clip(more / n + total / m, 0.0, 1.0))

    return Estimate.of(draw, groups.n)


def _all_alike(reference: FloatArray, target: FloatArray) -> str | None:
    """Say why nothing is learned from confidences, if so; a single instance may be as sure as it likes."""
    for values, of in ((reference, "reference"), (target, "target")):
        if len(values) > 1 and np.ptp(values) == 0:
            return f"all of the {of} are equally sure: that tells nothing of mistakes"
    return None


def accuracy(right: BoolArray, code: IntArray, groups: SampleGroups) -> Estimate:
    """Return a sample's own accuracy: of the reference the yardstick, of a target the truth.

    Parameters
    ----------
    code
        The number of the group of each instance.
    """
    of_group = sums(code, [np.ones(len(right)), right.astype(np.float64)], groups.n)

    def draw(weights: FloatArray) -> FloatArray:
        n, hits = (weights @ of_group).T
        return np.asarray(hits / np.where(n > 0, n, np.nan))

    return Estimate.of(draw, groups.n)
