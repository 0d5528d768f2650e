"""How good a classifier's probabilities are, and whether it is as often right as its confidence says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from farm.api.arrays import NO_ANSWER, BoolArray, Features, FloatArray, IntArray, check_labels
from farm.api.component import check_choice, check_number
from farm.errors import DataError
from farm.measures.measure import Measure, ratio, undefined, wilson
from farm.measures.oracle import should_be_cancelled
from farm.measures.ranking import Separation

Equal: TypeAlias = Literal["width", "mass"]
"""What the bins have in common: how wide they are, or how many instances they hold."""

TOLERANCE = 1e-4
"""By how much probabilities may miss [0, 1], and their sum 1: single precision is allowed for."""
BINS = 10
MOST_BRIER = 2.0
"""The Brier score, summed over classes, of who is wholly sure and wrong."""


@dataclass(frozen=True, slots=True)
class Bin:
    """Instances of like confidence: above `low` and up to `high`, the first bin from `low` on."""

    low: float
    high: float
    n: int
    confidence: Measure
    """Their mean confidence."""
    accuracy: Measure
    accuracy_low: Measure
    accuracy_high: Measure
    """Wilson's interval of the accuracy."""


def reliability(
    confidence: Features, right: BoolArray, *, bins: int = BINS, equal: Equal = "width", level: float = 0.95
) -> tuple[Bin, ...]:
    """Tabulate how often predictions are right against how sure the classifier was.

    Parameters
    ----------
    confidence
        The probability of what was predicted.
    right
        Which predictions are right; one without a right answer is not.
    bins
        How many. Of equal mass there are fewer where confidences tie: equal ones are never parted.
    equal
        `width`: from 0 to 1, some perhaps empty. `mass`: as many instances in each as ties allow.
    level
        Of the interval.

    Examples
    --------
    >>> table = reliability(np.array([0.6, 0.7, 0.9, 1.0]), np.array([True, False, True, True]), bins=2)
    >>> [(b.low, b.high, b.n, b.accuracy.value) for b in table]
    [(0.0, 0.5, 0, nan), (0.5, 1.0, 4, 0.75)]
    """
    check_number("reliability: bins", bins, low=1, whole=True)
    check_choice("reliability: equal", equal, ("width", "mass"))
    if _unknown(confidence, right) and not len(confidence):
        return ()
    sure = _checked(confidence)
    ends = _ends(sure, bins, equal)
    number = np.minimum(np.searchsorted(ends[1:], sure, side="left"), len(ends) - 2)
    n = np.bincount(number, minlength=len(ends) - 1).tolist()
    total = np.bincount(number, weights=sure, minlength=len(n)).tolist()
    hits = np.bincount(number[right], minlength=len(n)).tolist()
    return tuple(
        Bin(
            float(ends[i]),
            float(ends[i + 1]),
            n[i],
            ratio(total[i], n[i], "no instances"),
            ratio(hits[i], n[i], "no instances"),
            *wilson(hits[i], n[i], level),
        )
        for i in range(len(n))
    )


def ece(confidence: Features, right: BoolArray, *, bins: int = BINS, equal: Equal = "width") -> Measure:
    """Expected calibration error: the mean gap, over instances, between a bin's confidence and accuracy.

    It depends on the bins, and is above 0 by chance alone: compare it at one binning and one n. The
    parameters are those of `reliability`.

    Examples
    --------
    >>> round(ece(np.array([0.8, 0.8, 0.6, 0.6]), np.array([True, True, True, False])).value, 4)
    0.15
    """
    if why := _unknown(confidence, right):
        return undefined(why)
    table = [b for b in reliability(confidence, right, bins=bins, equal=equal) if b.n]
    return Measure(sum(b.n * abs(b.accuracy.value - b.confidence.value) for b in table) / len(right))


def confidence_auroc(confidence: Features, right: BoolArray) -> Measure:
    """Chance that a right prediction is surer than a wrong one, a tie counting half.

    Only the order of confidences matters, so that any measure of certainty will do.

    Examples
    --------
    >>> confidence_auroc(np.array([0.9, 0.6, 0.8]), np.array([True, True, False])).value
    0.5
    """
    n, hits = len(right), int(np.count_nonzero(right))
    if why := _unknown(confidence, right) or why_not_parted(n, hits):
        return undefined(why)
    sure = confidence.astype(np.float64)
    return Separation(sure[~right], sure[right]).auroc()


def why_not_parted(n: int, hits: int) -> str | None:
    """Say why nothing can tell right predictions from wrong ones; None where there are both."""
    return f"{'each' if hits else 'none'} of the {n:,} predictions is right" if hits in (0, n) else None


def label_probabilities(probabilities: Features, label: IntArray) -> FloatArray:
    """Return the probability that each instance's right class has; NaN where none is right.

    Examples
    --------
    >>> label_probabilities(np.array([[0.7, 0.3], [0.2, 0.8]]), np.array([0, -1])).tolist()
    [0.7, nan]
    """
    found = probabilities[np.arange(len(label)), label].astype(np.float64, copy=False)
    found[label == NO_ANSWER] = np.nan
    return found


def brier_scores(probabilities: Features, of_label: FloatArray) -> FloatArray:
    """Return each instance's squared distance to the truth, summed over classes: from 0 to 2.

    It is NaN where `of_label`, which is that of `label_probabilities`, is.

    Examples
    --------
    >>> probabilities = np.array([[0.7, 0.2, 0.1]])
    >>> brier_scores(probabilities, label_probabilities(probabilities, np.array([0]))).round(4).tolist()
    [0.14]
    """
    return brier_of(sums_of_squares(probabilities), of_label)


def sums_of_squares(probabilities: Features) -> FloatArray:
    """Return the sum of each instance's squared probabilities."""
    squares: FloatArray = np.einsum("ij,ij->i", probabilities, probabilities, dtype=np.float64)
    return squares


def brier_of(squares: FloatArray, of_label: FloatArray) -> FloatArray:
    """Return what `brier_scores` does, without a table of ones and zeros as large as the probabilities.

    `squares` are their `sums_of_squares`.
    """
    others = np.maximum(squares - of_label**2, 0.0)
    # Single precision may leave a sum of probabilities a little above 1.
    return np.asarray(np.minimum((1 - of_label) ** 2 + others, MOST_BRIER))


def brier_sum(probabilities: Features, label: IntArray) -> Measure:
    """Squared distance to the truth, summed over classes: from 0 to 2.

    Examples
    --------
    >>> round(brier_sum(np.array([[0.7, 0.2, 0.1]]), np.array([0])).value, 4)
    0.14
    """
    if why := _unscorable(probabilities, label):
        return undefined(why)
    return Measure(float(np.mean(brier_scores(probabilities, label_probabilities(probabilities, label)))))


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
    if why := _unscorable(probabilities, label):
        return undefined(why)
    of_label = np.maximum(label_probabilities(probabilities, label), 0.0 if floor is None else floor)
    impossible = int(np.count_nonzero(of_label == 0))
    if impossible:
        n = len(label)
        return undefined(f"infinite: the right class has probability 0 for {impossible:,} of {n:,} instances")
    return Measure(float(-np.mean(np.log(of_label))))


def calibration_measures(
    probabilities: Features, label: IntArray, *, bins: int = BINS, floor: float | None = None
) -> dict[str, Measure]:
    """Return all of it, of a classifier that predicts its most probable class.

    Examples
    --------
    >>> found = calibration_measures(np.array([[0.9, 0.1], [0.6, 0.4]]), np.array([0, 1]))
    >>> {name: round(found[name].value, 3) for name in ("accuracy", "brier_sum", "ece_equal_width")}
    {'accuracy': 0.5, 'brier_sum': 0.37, 'ece_equal_width': 0.35}
    """
    total = brier_sum(probabilities, label)  # refuses what are no probabilities
    confidence = probabilities.max(axis=1)
    right = ~should_be_cancelled(label, probabilities.argmax(axis=1))
    why = _unknown(confidence, right)
    return {
        "accuracy": undefined(why)
        if why
        else ratio(int(np.count_nonzero(right)), len(right), "no instances"),
        "brier_mean": brier_mean(probabilities, label),
        "brier_sum": total,
        "nll": nll(probabilities, label, floor=floor),
        "ece_equal_width": ece(confidence, right, bins=bins, equal="width"),
        "ece_equal_mass": ece(confidence, right, bins=bins, equal="mass"),
        "confidence_auroc": confidence_auroc(confidence, right),
    }


def why_no_probabilities(values: Features) -> str | None:
    """Say of how many instances the probabilities are missing; refuse what are none.

    Examples
    --------
    >>> why_no_probabilities(np.array([[0.7, 0.3], [np.nan, 0.8]]))
    'the probabilities are missing for 1 of 2 instances'
    """
    n = len(values)
    missing = int(np.isnan(values).any(axis=1).sum())
    if missing or n == 0:
        return f"the probabilities are missing for {missing:,} of {n:,} instances" if n else "no instances"
    low, high = float(values.min()), float(values.max())
    if low < -TOLERANCE or high > 1 + TOLERANCE:
        raise DataError(f"probabilities go from {low:g} to {high:g}; expected numbers from 0 to 1")
    off = np.abs(values.sum(axis=1, dtype=np.float64) - 1)
    if off.max() > TOLERANCE:
        at = int(off.argmax())
        raise DataError(f"the probabilities of instance {at} are off a sum of 1 by {off[at]:.3g}; expected 1")
    return None


def _unknown(confidence: Features, right: BoolArray) -> str | None:
    """Say why there is nothing to measure."""
    missing, n = int(np.isnan(confidence).sum()), len(confidence)
    if n != len(right):
        raise DataError(f"{n} confidences for {len(right)} predictions; expected as many")
    if n and not missing:
        return None
    return f"the confidence is missing for {missing:,} of {n:,} instances" if n else "no instances"


def _checked(confidence: Features) -> FloatArray:
    bad = np.flatnonzero(~((confidence >= -TOLERANCE) & (confidence <= 1 + TOLERANCE)))
    if bad.size:
        at = int(bad[0])
        raise DataError(f"confidence {confidence[at]} at position {at}; expected a number from 0 to 1")
    return confidence.astype(np.float64)


def _ends(confidence: FloatArray, bins: int, equal: Equal) -> FloatArray:
    """Return the bins' ends; those of equal mass are confidences that occur, so that no bin is empty."""
    if equal == "width":
        return np.linspace(0.0, 1.0, bins + 1)
    ranked = np.sort(confidence)
    last = [-(-number * len(ranked) // bins) - 1 for number in range(1, bins + 1)]
    return np.append(ranked[0], np.unique(ranked[last]))


def _unscorable(probabilities: Features, label: IntArray) -> str | None:
    """Say why probabilities cannot be scored; refuse what are none."""
    if probabilities.ndim != 2 or len(probabilities) != len(label):
        shape = probabilities.shape
        raise DataError(f"probabilities of shape {shape}, {len(label)} labels; expected instances x classes")
    n = len(label)
    if n == 0:
        return "no instances"
    check_labels(label, probabilities.shape[1], "probabilities", no_answer=True)
    if why := why_no_probabilities(probabilities):
        return why
    without = int(np.count_nonzero(label == NO_ANSWER))
    return f"{without:,} of {n:,} instances have no right answer" if without else None
