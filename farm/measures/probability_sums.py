"""A classifier's calibration error and likelihood, summed up: parts add up to the same as the whole.

All is of the instances that have a right answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farm.api.arrays import BoolArray, FloatArray, IntArray
from farm.measures.calibration import BINS, TOLERANCE
from farm.measures.measure import Measure, undefined
from farm.measures.units import in_units

CLASSIFIER_ECE, CLASSIFIER_NLL = "classifier_ece", "classifier_nll"
_UNITS, _OF_LOGARITHMS = 52, 42
"""Logarithms go up to 745."""


@dataclass(frozen=True)
class ProbabilitySums:
    """By how much a classifier was surer than right, bin by bin, and how likely it held what is right.

    Examples
    --------
    >>> yes, sure, right = np.ones(4, dtype=bool), np.array([0.8, 0.8, 0.6, 0.6]), np.array([1, 1, 1, 0]) > 0
    >>> found = ProbabilitySums.of(yes, right, sure, np.array([0.8, 0.8, 0.6, 0.4]))
    >>> {name: round(measure.value, 4) for name, measure in (found + found).measures().items()}
    {'classifier_ece': 0.15, 'classifier_nll': 0.4684}
    """

    n: int
    """All instances."""
    answered: int
    """Those that have a right answer."""
    unsure: int
    """Those of them without a confidence."""
    beyond: int
    """Those whose confidence is no probability."""
    gaps: tuple[int, ...]
    """By bins of confidence, how many are right less the sum of their confidences."""
    unlikely: int
    """Those without a probability of the right class."""
    impossible: int
    """Those of which it is 0."""
    logarithms: int

    @classmethod
    def of(
        cls,
        answered: BoolArray,
        right: BoolArray,
        confidence: FloatArray | None,
        label_probability: FloatArray | None,
    ) -> ProbabilitySums:
        """Sum up what is known; of what was not given all is missing."""
        n, nowhere = len(answered), np.full(len(answered), np.nan)
        sure = (nowhere if confidence is None else confidence)[answered]
        likely = (nowhere if label_probability is None else label_probability)[answered]
        unknown, possible = np.isnan(sure), likely > 0
        usual = (sure >= -TOLERANCE) & (sure <= 1 + TOLERANCE)
        gap, number = right[answered][usual] - sure[usual], equal_bins(sure[usual])
        return cls(
            n=n,
            answered=len(sure),
            unsure=int(unknown.sum()),
            beyond=int((~usual & ~unknown).sum()),
            gaps=tuple(in_units(gap[number == place], _UNITS) for place in range(BINS)),
            unlikely=int(np.isnan(likely).sum()),
            impossible=int((likely <= 0).sum()),
            logarithms=in_units(-np.log(likely[possible]), _OF_LOGARITHMS),
        )

    def __add__(self, other: ProbabilitySums) -> ProbabilitySums:
        both = {name: mine + getattr(other, name) for name, mine in vars(self).items() if name != "gaps"}
        gaps = tuple(a + b for a, b in zip(self.gaps, other.gaps, strict=True))
        return ProbabilitySums(**both, gaps=gaps)

    def measures(self) -> dict[str, Measure]:
        """Return the calibration error over ten equal bins, and the mean of -log of what is right."""
        return {CLASSIFIER_ECE: self._ece(), CLASSIFIER_NLL: self._nll()}

    def _ece(self) -> Measure:
        if why := why_unanswered(self.n, self.answered):
            return undefined(why)
        if self.unsure:
            some = f"the confidence is missing for {self.unsure:,} of {self.answered:,} instances"
            return undefined("no confidence was given" if self.unsure == self.answered else some)
        if self.beyond:
            return undefined(
                f"the confidence is no probability for {self.beyond:,} of {self.answered:,} instances"
            )
        return Measure(sum(map(abs, self.gaps)) / (self.answered << _UNITS))

    def _nll(self) -> Measure:
        if why := why_unanswered(self.n, self.answered):
            return undefined(why)
        if self.unlikely:
            some = f"the probability is missing for {self.unlikely:,} of {self.answered:,} instances"
            return undefined("no probabilities were given" if self.unlikely == self.answered else some)
        if self.impossible:
            return undefined(
                f"infinite: the right class has probability 0 for {self.impossible:,} of {self.answered:,} "
                "instances"
            )
        return Measure(self.logarithms / (self.answered << _OF_LOGARITHMS))


def equal_bins(confidence: FloatArray) -> IntArray:
    """Return the number of each confidence's bin, of ten from 0 to 1: above one end, up to the other.

    Examples
    --------
    >>> equal_bins(np.array([0.0, 0.1, 0.11, 1.0])).tolist()
    [0, 0, 1, 9]
    """
    ends = np.linspace(0.0, 1.0, BINS + 1)[1:]
    return np.asarray(np.minimum(np.searchsorted(ends, confidence, side="left"), BINS - 1), dtype=np.int64)


def why_unanswered(n: int, answered: int) -> str | None:
    """Say why no instance has a right answer; None if one has."""
    return None if answered else f"none of the {n:,} instances has a right answer" if n else "no instances"
