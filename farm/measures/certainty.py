"""What a classifier's own probabilities are worth, whatever watches it, summed up in bounded memory.

All is of the instances that have a right answer. Parts add up to the same as the whole, in any order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from farm.api.arrays import BoolArray, FloatArray
from farm.measures.calibration import why_not_parted
from farm.measures.histogram import Histogram
from farm.measures.measure import Measure, ratio, undefined
from farm.measures.probability_sums import (
    CLASSIFIER_ECE,
    CLASSIFIER_NLL,
    ProbabilitySums,
    why_unanswered,
)
from farm.measures.units import in_units

BRIER_MEAN, BRIER_SUM = "classifier_brier_mean", "classifier_brier_sum"
CONFIDENCE_AUROC = "classifier_confidence_auroc"
CERTAINTY = (BRIER_MEAN, BRIER_SUM, CONFIDENCE_AUROC, CLASSIFIER_ECE, CLASSIFIER_NLL)
"""The names that records have for it."""
_UNITS = 52


@dataclass(frozen=True)
class BrierSums:
    """The Brier scores of some instances.

    Examples
    --------
    >>> answered, brier = np.array([True, True, False]), np.array([0.5, 0.25, np.nan])
    >>> found = BrierSums.of(answered, brier)
    >>> {name: measure.value for name, measure in (found + found).measures(n_classes=3).items()}
    {'classifier_brier_mean': 0.125, 'classifier_brier_sum': 0.375}
    """

    n: int
    """All instances."""
    answered: int
    """Those that have a right answer."""
    missing: int
    """Those of them without a score."""
    total: int

    @classmethod
    def of(cls, answered: BoolArray, brier: FloatArray | None) -> BrierSums:
        """Sum up what is known; without any scores all are missing."""
        n, n_answered = len(answered), int(np.count_nonzero(answered))
        if brier is None:
            return cls(n, n_answered, n_answered, 0)
        own = brier[answered]
        known = own[~np.isnan(own)]
        return cls(n, n_answered, n_answered - len(known), in_units(known, _UNITS))

    def __add__(self, other: BrierSums) -> BrierSums:
        return BrierSums(**{name: mine + getattr(other, name) for name, mine in vars(self).items()})

    def measures(self, n_classes: int | None) -> dict[str, Measure]:
        """Return the mean of the scores, and that divided by the number of classes, which may be unknown."""
        why = why_unanswered(self.n, self.answered)
        if self.missing and not why:
            some = f"the Brier score is missing for {self.missing:,} of {self.answered:,} instances"
            why = "no probabilities were given" if self.missing == self.answered else some
        if why:
            return dict.fromkeys((BRIER_MEAN, BRIER_SUM), undefined(why))
        total = ratio(self.total, self.answered << _UNITS, "no instances")
        if not n_classes:
            return {BRIER_MEAN: undefined("the number of classes was not given"), BRIER_SUM: total}
        return {BRIER_MEAN: Measure(total.value / n_classes), BRIER_SUM: total}


@dataclass(frozen=True, eq=False)
class CertaintySums:
    """How sure a classifier was of its right and wrong predictions, and what its probabilities are worth."""

    right: Histogram
    """The confidences of right predictions."""
    wrong: Histogram
    brier: BrierSums
    probabilities: ProbabilitySums

    @classmethod
    def of(
        cls,
        answered: BoolArray,
        wrong: BoolArray,
        confidence: FloatArray | None,
        brier: FloatArray | None,
        label_probability: FloatArray | None = None,
        **bins: Any,
    ) -> CertaintySums:
        """Sum up some instances; `bins` are those of `Histogram.of`."""
        sure = np.full(len(answered), np.nan) if confidence is None else confidence
        right, mistaken = (Histogram.of(sure[answered & rows], **bins) for rows in (~wrong, wrong))
        probabilities = ProbabilitySums.of(answered, ~wrong, confidence, label_probability)
        return cls(right, mistaken, BrierSums.of(answered, brier), probabilities)

    def __add__(self, other: CertaintySums) -> CertaintySums:
        return CertaintySums(**{name: mine + getattr(other, name) for name, mine in vars(self).items()})

    @property
    def why_not_parted(self) -> str | None:
        """Why confidences cannot tell right predictions from wrong ones; None if they can."""
        hits = self.right.n + self.right.missing
        return why_not_told_apart(
            self.brier.n, hits, self.wrong.n + self.wrong.missing, self.right.missing + self.wrong.missing
        )


def why_not_told_apart(n: int, hits: int, mistakes: int, missing: int) -> str | None:
    """Say why confidences cannot tell so many right predictions from so many wrong ones.

    Examples
    --------
    >>> why_not_told_apart(n=5, hits=3, mistakes=0, missing=0)
    'each of the 3 predictions is right'
    """
    answered = hits + mistakes
    if why := why_unanswered(n, answered):
        return why
    if missing:
        some = f"the confidence is missing for {missing:,} of {answered:,} instances"
        return "no confidence was given" if missing == answered else some
    return why_not_parted(answered, hits)
