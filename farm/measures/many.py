"""The measures of many confusion matrices at once, for resampling and for re-weighting.

The last axis holds tn, fp, fn and tp, the order of the outcome codes: counts, or shares of any whole. What is
undefined is NaN; the reason is the business of `farm.measures.detection`, whose functions these equal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from farm.api.arrays import FloatArray


def mcc(matrices: FloatArray) -> FloatArray:
    """Matthews correlation coefficient."""
    tn, fp, fn, tp = _columns(matrices)
    # The root of each half: shares may be so small that the product of all four margins is 0.
    spread = np.sqrt((tp + fn) * (tn + fp)) * np.sqrt((tp + fp) * (tn + fn))
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
    positives = (tp + fn) * np.nan_to_num(_ratio(2 * tp, 2 * tp + mistakes))
    negatives = (tn + fp) * np.nan_to_num(_ratio(2 * tn, 2 * tn + mistakes))
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


def safety_gain(matrices: FloatArray) -> FloatArray:
    """Share of all decisions that were wrong and cancelled."""
    return _ratio(matrices[..., 3], matrices.sum(axis=-1))


def residual_hazard(matrices: FloatArray) -> FloatArray:
    """Share of all decisions that were wrong and let through."""
    return _ratio(matrices[..., 2], matrices.sum(axis=-1))


def availability_cost(matrices: FloatArray) -> FloatArray:
    """Share of all decisions that were right and cancelled nevertheless."""
    return _ratio(matrices[..., 1], matrices.sum(axis=-1))


MANY: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    form.__name__: form
    for form in (
        mcc,
        fpr,
        fnr,
        precision,
        recall,
        micro_f1,
        weighted_f1,
        error,
        safety_gain,
        residual_hazard,
        availability_cost,
    )
}
"""By the names of the functions in `farm.measures.detection` that give the same of one matrix."""


def _columns(matrices: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    return matrices[..., 0], matrices[..., 1], matrices[..., 2], matrices[..., 3]


def _ratio(part: FloatArray, whole: FloatArray) -> FloatArray:
    divided = np.full(np.broadcast(part, whole).shape, np.nan)
    np.divide(part, whole, out=divided, where=whole > 0)
    return divided
