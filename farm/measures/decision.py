"""Accuracy of a binary decision where positives and negatives count the same, however many there are."""

from __future__ import annotations

import numpy as np

from farm.api.arrays import BoolArray, IntArray
from farm.api.randomness import generator
from farm.measures.detection import SPECIFIC, Counts, Wording
from farm.measures.measure import Measure, ratio, undefined
from farm.measures.oracle import outcomes, tally


def balanced_accuracy(counts: Counts) -> Measure:
    """Mean of the share of positives that were flagged and the share of negatives that were not.

    Half for whoever decides without looking: by chance, always, or never.

    Examples
    --------
    >>> balanced_accuracy(Counts(tp=3, fp=10, tn=30, fn=1)).value
    0.75
    """
    c = counts
    if c.positive == 0:
        return undefined(c.none(c.wording.positive))
    if c.positive == c.n:
        return undefined(c.each(c.wording.positive))
    return Measure((c.tp / c.positive + c.tn / (c.n - c.positive)) / 2)


def trimmed_counts(
    flagged: BoolArray, positive: BoolArray, *, seed: int | None, wording: Wording = SPECIFIC
) -> Counts:
    """Count the outcomes once the larger class is trimmed to the size of the smaller one.

    What is kept depends on `positive` and the seed alone, so that all monitors of a stream are judged on the
    same instances.

    Parameters
    ----------
    flagged, positive
        Which instances were, and which should have been: alarms and `is_ood`, or cancelled and wrong.
    seed
        Draws what is kept. None keeps the first ones, as OD-test's authors did; in a set that is sorted by
        class these are the first classes alone.
    wording
        How reasons speak of the two.

    Examples
    --------
    >>> positive = np.array([False, False, True, False, False, True])
    >>> trimmed_counts(np.array([True, False, True, True, True, True]), positive, seed=None)
    Counts(tp=2, fp=1, tn=1, fn=0)
    """
    rows = np.flatnonzero(~positive), np.flatnonzero(positive)
    fewest = min(len(own) for own in rows)
    kept = np.concatenate([_some(own, fewest, seed) for own in rows])
    return Counts(**tally(outcomes(positive[kept], flagged[kept])), wording=wording)


def trimmed_accuracy(
    flagged: BoolArray, positive: BoolArray, *, seed: int | None, wording: Wording = SPECIFIC
) -> Measure:
    """Accuracy once the larger class is trimmed to the size of the smaller one, as OD-test measures it.

    Over all draws its mean is the balanced accuracy, which uses every instance and varies less; this one is
    for comparison with published numbers. The parameters are those of `trimmed_counts`.

    References
    ----------
    A. Shafaei, M. Schmidt and J. J. Little, "A Less Biased Evaluation of Out-of-distribution Sample
    Detectors", BMVC 2019.

    Examples
    --------
    >>> positive = np.array([False, False, True, False, False, True])
    >>> trimmed_accuracy(np.array([True, False, True, True, True, True]), positive, seed=None).value
    0.75
    """
    full = Counts(**tally(outcomes(positive, flagged)), wording=wording)
    if full.positive in (0, full.n):
        return balanced_accuracy(full)  # undefined, and it says why
    counts = trimmed_counts(flagged, positive, seed=seed, wording=wording)
    return ratio(counts.tp + counts.tn, counts.n, "no instances")


def _some(rows: IntArray, n: int, seed: int | None) -> IntArray:
    if seed is None or len(rows) == n:
        return rows[:n]
    return generator(seed, "measures", "trim").choice(rows, n, replace=False)
