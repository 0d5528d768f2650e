"""How good a classifier's probabilities are, all classes considered: Brier scores and log-likelihood."""

from __future__ import annotations

import numpy as np

from farm.api.arrays import NO_ANSWER, BoolArray, Features, FloatArray, IntArray, check_labels
from farm.api.component import check_number
from farm.errors import DataError
from farm.measures.measure import Measure, ratio, undefined

TOLERANCE = 1e-4
"""By how much probabilities may miss [0, 1], and their sum 1: single precision is allowed for."""


def accuracy(right: BoolArray) -> Measure:
    """Share of the predictions that are right."""
    return ratio(int(np.count_nonzero(right)), len(right), "no instances")


def brier_sum(probabilities: Features, label: IntArray) -> Measure:
    """Squared distance to the truth, summed over classes: from 0 to 2.

    Examples
    --------
    >>> round(brier_sum(np.array([[0.7, 0.2, 0.1]]), np.array([0])).value, 4)
    0.14
    """
    if why := _why_not(probabilities, label):
        return undefined(why)
    of_label = _of_label(probabilities, label)
    # Without a table of ones and zeros as large as the probabilities.
    squares = np.einsum("ij,ij->i", probabilities, probabilities, dtype=np.float64)
    others = np.maximum(squares - of_label**2, 0.0)
    return Measure(float(np.mean((1 - of_label) ** 2 + others)))


def brier_mean(probabilities: Features, label: IntArray) -> Measure:
    """Squared distance to the truth, averaged over classes: from 0 to 2 / classes.

    Publications give either this or the sum under the one name of Brier score.

    Examples
    --------
    >>> round(brier_mean(np.array([[0.7, 0.2, 0.1]]), np.array([0])).value, 4)
    0.0467
    """
    total = brier_sum(probabilities, label)
    return Measure(total.value / probabilities.shape[1]) if total.defined else total


def nll(probabilities: Features, label: IntArray, *, floor: float | None = None) -> Measure:
    """Negative log-likelihood: the mean of -log of the right class's probability.

    A right class of probability 0 makes it infinite, which is reported as undefined; probabilities that
    saturate in single precision do that. A `floor` replaces smaller ones: the value then depends on it.

    Examples
    --------
    >>> round(nll(np.array([[0.5, 0.5], [0.25, 0.75]]), np.array([0, 1])).value, 4)
    0.4904
    >>> nll(np.array([[1.0, 0.0]]), np.array([1])).reason
    'infinite: the right class has probability 0 for 1 of 1 instances'
    """
    if floor is not None:
        check_number("nll: floor", floor, above=0, high=1)
    if why := _why_not(probabilities, label):
        return undefined(why)
    of_label = np.maximum(_of_label(probabilities, label), 0.0 if floor is None else floor)
    impossible = int(np.count_nonzero(of_label == 0))
    if impossible:
        n = len(label)
        return undefined(f"infinite: the right class has probability 0 for {impossible} of {n} instances")
    return Measure(float(-np.mean(np.log(of_label))))


def _why_not(probabilities: Features, label: IntArray) -> str | None:
    """Say why probabilities cannot be scored; refuse what are none."""
    if probabilities.ndim != 2 or len(probabilities) != len(label):
        shape = probabilities.shape
        raise DataError(f"probabilities of shape {shape}, {len(label)} labels; expected instances x classes")
    n = len(label)
    if n == 0:
        return "no instances"
    check_labels(label, probabilities.shape[1], "probabilities", no_answer=True)
    missing = int(np.isnan(probabilities).any(axis=1).sum())
    if missing:
        return f"the probabilities are missing for {missing} of {n} instances"
    low, high = float(probabilities.min()), float(probabilities.max())
    if low < -TOLERANCE or high > 1 + TOLERANCE:
        raise DataError(f"probabilities go from {low:g} to {high:g}; expected numbers from 0 to 1")
    off = np.abs(probabilities.sum(axis=1, dtype=np.float64) - 1)
    if off.max() > TOLERANCE:
        at = int(off.argmax())
        raise DataError(f"the probabilities of instance {at} are off a sum of 1 by {off[at]:.3g}; expected 1")
    without = int(np.count_nonzero(label == NO_ANSWER))
    return f"{without} of {n} instances have no right answer" if without else None


def _of_label(probabilities: Features, label: IntArray) -> FloatArray:
    return probabilities[np.arange(len(label)), label].astype(np.float64)
