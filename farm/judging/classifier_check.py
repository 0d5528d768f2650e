"""Is the classifier what it was meant to be? What its predictions look like where it was put in wrongly.

Weights that were not loaded, images in another scale than in training and classes in another order all give a
run that looks like any other: monitors of a classifier that knows nothing are compared all the same.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from farm.api.arrays import NO_ANSWER, BoolArray, FloatArray, IntArray
from farm.judging.table import VerdictTable
from farm.statistics.wording import percent_words

FEWEST = 30
"""Instances below which predictions look like anything."""
NEAR_CHANCE = 0.1
"""Cohen's kappa of labels and predictions: 0 at chance, 1 where each is right."""
MORE_RIGHT = 0.1
"""By at least so much more are right, and at most half as many wrong, if classes are in a wrong order."""
MOST_CLASSES = 2000
"""Of more no table of pairs is made."""
SATURATED, ALL_BUT_FEW = 0.999, 0.99
"""Where all but few confidences are as high, and more are wrong than that allows for."""


def classifier_warnings(table: VerdictTable) -> list[str]:
    """Return a sentence for each sign that the classifier is not what was meant, with likely causes.

    What it knows is judged by ID instances that have a label, or where nothing tells which are ID by all that
    have one; where there are hardly any, nothing is said.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from farm.judging.table import made_truth
    >>> no = np.zeros(90, dtype=bool)
    >>> known = replace(made_truth(wrong=no, is_ood=no), label=np.arange(90) % 3, classes=np.arange(3))
    >>> for warning in classifier_warnings(VerdictTable.from_arrays(known, [])):
    ...     print(warning)
    the classifier is near chance: 33 % of 90 ID images are right, and 33 % would be by guessing; it
    predicts class 0 for 100 %; likely causes: weights that were not loaded or trained, images normalised
    otherwise than in training, classes in another order
    """
    rows = ~table.is_ood & ~table.unlabelled & (table.label != NO_ANSWER)
    label, predicted = table.label[rows], table.predicted[rows]
    if len(label) < FEWEST or label.min() == label.max():
        return []
    images = "images, OOD ones perhaps among them," if table.why_no_ood else "ID images"
    found = list(_wrong_order(label, predicted, table.n_classes, images)) or list(
        _near_chance(label, predicted, table.classes, images)
    )
    if table.confidence is not None:
        found += _saturated(label != predicted, table.confidence[rows], images)
    return found


def _wrong_order(label: IntArray, predicted: IntArray, n_classes: int, images: str) -> Iterator[str]:
    """Find another order on every second instance, and see how many of the rest are right with it."""
    n, right = len(label), float(np.mean(label == predicted))
    if n_classes > MOST_CLASSES:
        return
    tables = [_counts(label[half::2], predicted[half::2], n_classes) for half in (0, 1)]
    # No order makes more right than the most frequent label of each predicted class.
    if sum(float(each.max(axis=0).sum()) for each in tables) / n < right + MORE_RIGHT:
        return
    from scipy.optimize import linear_sum_assignment  # not before: hardly a run needs it

    other = 0.0
    for fitted, held_out in (tables, tables[::-1]):
        other += float(held_out[linear_sum_assignment(fitted, maximize=True)].sum()) / n
    if other >= right + MORE_RIGHT and 1 - other <= (1 - right) / 2:
        yield (
            f"the classes look permuted: {percent_words(right)} of {n:,} {images} are right, and "
            f"{percent_words(other)} would be in another order of the classes; likely causes: class names or "
            "folders sorted otherwise than in training, labels that begin at 1"
        )


def _near_chance(label: IntArray, predicted: IntArray, classes: IntArray, images: str) -> Iterator[str]:
    shares, taken = (np.bincount(each, minlength=len(classes)) / len(label) for each in (label, predicted))
    right, chance = float(np.mean(label == predicted)), float(shares @ taken)
    if right - chance < NEAR_CHANCE * (1 - chance):
        most = int(np.argmax(taken))
        yield (
            f"the classifier is near chance: {percent_words(right)} of {len(label):,} {images} are right, "
            f"and {percent_words(chance)} would be by guessing; it predicts class {classes[most]} for "
            f"{percent_words(float(taken[most]))}; likely causes: weights that were not loaded or trained, "
            "images normalised otherwise than in training, classes in another order"
        )


def _saturated(wrong: BoolArray, confidence: FloatArray, images: str) -> Iterator[str]:
    high, n = float(np.mean(confidence >= SATURATED)), len(wrong)
    allowed = max(10 * float(np.mean(1 - confidence)), 0.01, 2 / n)  # two may be wrong by chance
    if high >= ALL_BUT_FEW and float(np.mean(wrong)) > allowed:
        yield (
            f"the confidences are saturated: {percent_words(high)} of {n:,} {images} have {SATURATED:g} or "
            f"more, though {percent_words(float(np.mean(wrong)))} are wrong; likely causes: images "
            "normalised otherwise than in training (0 to 255 for 0 to 1), outputs of a function that are 0 "
            "and 1 alone"
        )


def _counts(label: IntArray, predicted: IntArray, n_classes: int) -> FloatArray:
    """Count pairs of label and prediction."""
    cells = np.bincount(label * n_classes + predicted, minlength=n_classes**2)
    return cells.reshape(n_classes, n_classes).astype(np.float64)
