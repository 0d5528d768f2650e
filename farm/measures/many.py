"""The measures of counts, defined once: of many confusion matrices at a time, or of one.

The last axis holds tn, fp, fn and tp, the order of the outcome codes: counts, or shares of any whole. What is
undefined is NaN. `farm.measures.detection` takes them of one matrix, and knows the reason.

Measures of decisions follow from four sums: of all instances, of those that the classifier gets wrong, and of
those on which a wrong or a right decision was acted upon, a fallback's among them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from farm.api.arrays import FloatArray
from farm.measures.calibration import MOST_BRIER

_LEAST = 1e-290
"""Products below it lose digits."""


def mcc(matrices: FloatArray) -> FloatArray:
    """Matthews correlation coefficient."""
    tn, fp, fn, tp = _columns(matrices)
    positive, flagged = (tp + fn) * (tn + fp), (tp + fp) * (tn + fn)
    margins = positive * flagged
    # The root of each half: shares may be so small that the product of all four margins is next to 0.
    spread = np.where(margins > _LEAST, np.sqrt(margins), np.sqrt(positive) * np.sqrt(flagged))
    return np.clip(_ratio(tp * tn - fp * fn, spread), -1.0, 1.0)


def fpr(matrices: FloatArray) -> FloatArray:
    """Share of the negatives that were flagged."""
    tn, fp, _, _ = _columns(matrices)
    return _ratio(fp, fp + tn)


def fnr(matrices: FloatArray) -> FloatArray:
    """Share of the positives that were not flagged."""
    _, _, fn, tp = _columns(matrices)
    return _ratio(fn, fn + tp)


def precision(matrices: FloatArray) -> FloatArray:
    """Share of the flagged that are positive."""
    _, fp, _, tp = _columns(matrices)
    return _ratio(tp, tp + fp)


def recall(matrices: FloatArray) -> FloatArray:
    """Share of the positives that were flagged."""
    _, _, fn, tp = _columns(matrices)
    return _ratio(tp, tp + fn)


def f1(matrices: FloatArray) -> FloatArray:
    """Harmonic mean of precision and recall of the positives; 0 where they exist and none was flagged."""
    _, fp, fn, tp = _columns(matrices)
    return _ratio(2 * tp, 2 * tp + fp + fn)


def weighted_f1(matrices: FloatArray) -> FloatArray:
    """Mean of the positives' and the negatives' F1, weighted by how many there are of each."""
    tn, fp, fn, tp = _columns(matrices)
    mistakes = fp + fn
    # A class without members has weight 0, whatever its F1.
    positives = np.nan_to_num(_ratio((tp + fn) * 2 * tp, 2 * tp + mistakes))
    negatives = np.nan_to_num(_ratio((tn + fp) * 2 * tn, 2 * tn + mistakes))
    return _ratio(positives + negatives, matrices.sum(axis=-1))


def error(matrices: FloatArray) -> FloatArray:
    """Share of wrong verdicts."""
    _, fp, fn, _ = _columns(matrices)
    return _ratio(fp + fn, matrices.sum(axis=-1))


def micro_f1(matrices: FloatArray) -> FloatArray:
    """Share of right verdicts: of a binary task, F1 over both classes' pooled counts."""
    tn, _, _, tp = _columns(matrices)
    return _ratio(tn + tp, matrices.sum(axis=-1))


def flagged(matrices: FloatArray) -> FloatArray:
    """Share of all that was flagged: the alarm rate of the specific task."""
    _, fp, _, tp = _columns(matrices)
    return _ratio(fp + tp, matrices.sum(axis=-1))


def coverage(sums: FloatArray) -> FloatArray:
    """Share of the instances on which a decision was acted upon."""
    n, _, wrong, right = _columns(sums)
    return _ratio(wrong + right, n)


def accepted_accuracy(sums: FloatArray) -> FloatArray:
    """Share of right ones among the decisions acted upon."""
    _, _, wrong, right = _columns(sums)
    return _ratio(right, wrong + right)


def risk(sums: FloatArray) -> FloatArray:
    """Share of wrong ones among the decisions acted upon."""
    _, _, wrong, right = _columns(sums)
    return _ratio(wrong, wrong + right)


def safety_gain(sums: FloatArray) -> FloatArray:
    """By how much fewer of all decisions are wrong than the classifier's alone."""
    n, mistaken, wrong, _ = _columns(sums)
    return _ratio(mistaken - wrong, n)


def residual_hazard(sums: FloatArray) -> FloatArray:
    """Share of all decisions that were wrong and acted upon."""
    n, _, wrong, _ = _columns(sums)
    return _ratio(wrong, n)


def availability_cost(sums: FloatArray) -> FloatArray:
    """By how much fewer of all decisions are right than the classifier's alone."""
    n, mistaken, _, right = _columns(sums)
    return _ratio(n - mistaken - right, n)


def accuracy(counts: FloatArray) -> FloatArray:
    """Share of the first of two kinds, right predictions and wrong ones."""
    return _ratio(counts[..., 0], counts.sum(axis=-1))


def brier(parts: FloatArray) -> FloatArray:
    """Brier score, summed over classes, of three sums.

    They are what instances lack to the worst score, and what they have of it, in units of the worst one, and
    the number of those without a right answer, which do not count.
    """
    return MOST_BRIER * parts_ratio(parts)


def parts_ratio(parts: FloatArray) -> FloatArray:
    """Return the second of three sums as a share of the first two."""
    return _ratio(parts[..., 1], parts[..., 0] + parts[..., 1])


MANY: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    form.__name__: form for form in (mcc, fpr, fnr, precision, recall, micro_f1, weighted_f1, error)
}
"""The measures of a task by name: `farm.measures.detection` takes each of one matrix."""
OF_DECISIONS: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    form.__name__: form
    for form in (coverage, accepted_accuracy, risk, safety_gain, residual_hazard, availability_cost)
}
"""The measures of decisions by name; of four sums along the last axis."""
OF_ACCEPTED = ("accepted_accuracy", "risk")
"""Those of them that are shares of the decisions acted upon, and so nothing where each was cancelled."""


def _columns(matrices: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    return matrices[..., 0], matrices[..., 1], matrices[..., 2], matrices[..., 3]


def _ratio(part: FloatArray, whole: FloatArray) -> FloatArray:
    divided = np.full(np.broadcast(part, whole).shape, np.nan)
    np.divide(part, whole, out=divided, where=whole > 0)
    return divided
