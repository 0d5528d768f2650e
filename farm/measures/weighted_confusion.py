"""What mistakes weigh by what they can lead to: to overlook a pedestrian is worse than to imagine one."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from farm.api.arrays import BoolArray, FloatArray, IntArray, check_labels
from farm.errors import DataError
from farm.measures.measure import Measure, ratio
from farm.measures.probability_sums import why_unanswered


@dataclass(frozen=True, eq=False)
class SeverityMatrix:
    """How much each confusion weighs; what is right weighs 0."""

    classes: tuple[str, ...]
    weights: FloatArray
    """A row a class as it is, a column what it is taken for."""

    @property
    def heaviest(self) -> float:
        """The greatest weight, which is above 0."""
        return float(self.weights.max())


@dataclass(frozen=True, slots=True)
class Confusion:
    """One class taken for another."""

    label: int
    predicted: int
    n: int
    weight: float
    share: float
    """Its part of the total weight."""


@dataclass(frozen=True, eq=False)
class WeightedConfusion:
    """The weights of predictions that have a right answer, and where most of it comes from.

    How sure the mean is `farm.statistics.by_track.mean_by_track` tells of `weights`, from 0 to the heaviest,
    and the tracks of those that are `answered`.

    References
    ----------
    C.-H. Cheng, G. Nührenberg, C.-H. Huang and H. Yasuoka, "Towards dependability metrics for neural
    networks", MEMOCODE (2018), section II H.

    Examples
    --------
    >>> matrix = SeverityMatrix(("pedestrian", "vehicle"), np.array([[0.0, 4.0], [1.0, 0.0]]))
    >>> found = WeightedConfusion.of(matrix, np.array([0, 0, 1, 1, -1]), np.array([0, 1, 0, 0, 1]))
    >>> found.mean.value, found.n, found.unanswered
    (1.5, 4, 1)
    >>> found.costliest[0]
    Confusion(label=0, predicted=1, n=1, weight=4.0, share=0.6666666666666666)
    """

    n: int
    """Instances that have a right answer; the others do not count."""
    unanswered: int
    mean: Measure
    """Mean weight an instance."""
    costliest: tuple[Confusion, ...]
    """All confusions that were seen and weigh something, those first that weigh most in all."""
    weights: FloatArray = field(repr=False)
    """Of each instance that has a right answer."""
    answered: BoolArray = field(repr=False)

    @classmethod
    def of(cls, matrix: SeverityMatrix, label: IntArray, predicted: IntArray) -> WeightedConfusion:
        """Weigh predictions; the label -1 stands for no right answer."""
        n_classes = len(matrix.classes)
        if len(label) != len(predicted):
            raise DataError(f"confusion: {len(label)} labels and {len(predicted)} predictions")
        check_labels(label, n_classes, "confusion", no_answer=True)
        check_labels(predicted, n_classes, "confusion: predicted")
        answered = label >= 0
        n = int(np.count_nonzero(answered))
        pair = label[answered] * n_classes + predicted[answered]
        counts, weight = np.bincount(pair, minlength=n_classes**2), matrix.weights.ravel()
        summed = counts * weight
        total = float(summed.sum())
        costly = np.flatnonzero(summed > 0)
        # Of those that weigh as much in all, the heavier one, then the first.
        order = costly[np.lexsort((-weight[costly], -summed[costly]))]
        return cls(
            n=n,
            unanswered=len(label) - n,
            mean=ratio(total, n, str(why_unanswered(len(label), n))),
            costliest=tuple(
                Confusion(
                    *divmod(int(i), n_classes), int(counts[i]), float(weight[i]), float(summed[i] / total)
                )
                for i in order
            ),
            weights=weight[pair],
            answered=answered,
        )
