"""How often decisions are wrong among those accepted, from the most trusted few to all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farm.api.arrays import BoolArray, FloatArray, IntArray
from farm.errors import DataError
from farm.measures.measure import Measure, undefined


@dataclass(frozen=True)
class RiskCoverage:
    """What accepting everything up to a score means, for each score that occurs, from the lowest on.

    Instances of one score are accepted together: no threshold can part them, and the order in which they came
    means nothing.

    References
    ----------
    Y. Geifman, G. Uziel and R. El-Yaniv, "Bias-Reduced Uncertainty Estimation for Deep Neural Classifiers",
    ICLR 2019 (the area, and its excess over the best order).

    Examples
    --------
    >>> wrong = np.array([False, True, False, True])
    >>> curve = RiskCoverage.of(np.array([0.1, 0.2, 0.3, 0.4]), wrong)
    >>> curve.coverage.tolist(), curve.risk.tolist()
    ([0.25, 0.5, 0.75, 1.0], [0.0, 0.5, 0.3333333333333333, 0.5])
    >>> round(curve.area().value, 4), round(curve.excess_area().value, 4)
    (0.3333, 0.125)
    """

    accepted: IntArray
    """How many instances have that score or a lower one."""
    wrong: IntArray
    """On how many of them the decision is wrong."""
    why_not: str | None = None
    """Why there is no curve."""

    @classmethod
    def of(cls, scores: FloatArray, wrong: BoolArray) -> RiskCoverage:
        """Sort instances by their score, the most trusted (lowest) first; ties form blocks."""
        n = len(scores)
        if n != len(wrong):
            raise DataError(f"risk-coverage: {n} scores and {len(wrong)} decisions; expected as many")
        missing = int(np.isnan(scores).sum())
        if n == 0 or missing:
            none = np.empty(0, dtype=np.int64)
            why = f"the score is missing for {missing} of {n} instances" if n else "no instances"
            return cls(none, none, why)
        order = np.argsort(scores)
        ranked = scores[order]
        last = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))
        return cls(last + 1, np.cumsum(wrong[order], dtype=np.int64)[last])

    @property
    def n(self) -> int:
        """All instances."""
        return int(self.accepted[-1]) if self.accepted.size else 0

    @property
    def coverage(self) -> FloatArray:
        """Share of all instances that are accepted."""
        return self.accepted / max(self.n, 1)

    @property
    def risk(self) -> FloatArray:
        """Share of wrong decisions among those accepted."""
        return self.wrong / self.accepted

    def area(self) -> Measure:
        """Area under the curve (AURC): the mean risk when accepting the first 1, 2, ... n instances.

        Within a block of ties it is the mean over all orders of the block.
        """
        if self.why_not:
            return undefined(self.why_not)
        first = np.arange(1, self.n + 1)
        wrong = np.interp(first, np.append(0, self.accepted), np.append(0, self.wrong))
        return Measure(float(np.mean(wrong / first)))

    def best_area(self) -> Measure:
        """Give the area with all right decisions before all wrong ones: no order has a smaller one."""
        if self.why_not:
            return undefined(self.why_not)
        first = np.arange(1, self.n + 1)
        right = self.n - int(self.wrong[-1])
        return Measure(float(np.mean(np.maximum(first - right, 0) / first)))

    def excess_area(self) -> Measure:
        """By how much the area exceeds the best one (E-AURC): the monitor's share, not the classifier's."""
        if self.why_not:
            return undefined(self.why_not)
        return Measure(max(self.area().value - self.best_area().value, 0.0))


def aurc(scores: FloatArray, wrong: BoolArray) -> Measure:
    """Area under the risk-coverage curve; higher scores are accepted later.

    Examples
    --------
    >>> aurc(np.array([0.5, 0.5]), np.array([True, False])).value
    0.5
    """
    return RiskCoverage.of(scores, wrong).area()


def excess_aurc(scores: FloatArray, wrong: BoolArray) -> Measure:
    """Area under the risk-coverage curve beyond that of the best order.

    Examples
    --------
    >>> excess_aurc(np.array([0.1, 0.2, 0.3]), np.array([False, False, True])).value
    0.0
    """
    return RiskCoverage.of(scores, wrong).excess_area()
