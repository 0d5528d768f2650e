"""How sure MCC, AUROC, rates and costs are, and the differences between monitors on one stream.

A replicate is the stream with its groups drawn anew (`farm.statistics.resampling`); every monitor and
measure is computed of the same replicates, so a difference is one between monitors that saw the same.

The interval is the *expanded percentile* interval: quantiles of the replicates, but further out than the
level says, by what a t distribution has in wider tails than a normal one and by the root of k / (k - 1),
where k counts the groups of the part that has the fewest. In simulations of MCC and FNR (500 streams each,
of 5 to 500 groups a part, of 1 to 30 instances that resemble each other) the plain percentile interval
covered the true value in 85 to 95 % of the streams where 95 % was asked for, BCa in 86 to 97 %, both the less
the fewer groups there were, and this one in 93 to 96 %. Of differences of AUROC it covered 91 to 96 % in 4
simulations of 300 streams. One AUROC near 1 is skewed: quantiles covered it in 88 to 97 % in 7 such ones.

References
----------
T. C. Hesterberg, "What teachers should know about the bootstrap: resampling in the undergraduate statistics
curriculum", The American Statistician 69 (2015).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from farm.api.arrays import FloatArray
from farm.errors import ParameterError, suggestion
from farm.measures.measure import Bounded, Measure, undefined
from farm.statistics.resampling import Resampling, draws
from farm.statistics.resolution import REPLICATES, p_of, rarest, tail_of

Column: TypeAlias = tuple[str, str]
"""A measure and a monitor."""

_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Difference(Bounded):
    """By how much one monitor's measure exceeds the other's on the same stream, and where that may lie."""

    p: Measure
    """Two-sided bootstrap p-value: 1 less the level at which the interval would begin to hold 0."""


@dataclass(frozen=True)
class Bootstrap:
    """All replicates of all measures and monitors; intervals and differences are read off them."""

    n_groups: int
    fewest: int
    """How many groups the part with the fewest has."""
    why_not: str | None
    """Why nothing could be resampled, if so."""
    level: float
    points: Mapping[Column, Measure]
    draws: Mapping[Column, FloatArray] = field(repr=False)
    replicates: int = REPLICATES

    def interval(self, measure: str, monitor: str) -> Bounded:
        """Return one monitor's measure with its interval."""
        point, draws = self._column(measure, monitor)
        return Bounded(point, *self._ends(point, draws))

    def difference(self, measure: str, one: str, other: str) -> Difference:
        """Return by how much the first monitor's measure exceeds the second's."""
        (a, draws_a), (b, draws_b) = self._column(measure, one), self._column(measure, other)
        point = _minus(a, b, one, other)
        draws = draws_a - draws_b
        # Two columns of one matrix product may differ in their last bits where their values are the same.
        draws[np.abs(draws) <= _ROUNDING * np.maximum(np.abs(draws_a), np.abs(draws_b))] = 0.0
        low, high = self._ends(point, draws)
        known = draws[~np.isnan(draws)]
        same = point.value == 0 and len(known) > 0 and not known.any()
        p = Measure(self._p(known, len(draws))) if low.defined or same else low
        return Difference(point, low, high, p)

    def _column(self, measure: str, monitor: str) -> tuple[Measure, FloatArray]:
        if (measure, monitor) not in self.points:
            asked, known = f"{measure} of {monitor}", [" of ".join(column) for column in self.points]
            raise ParameterError(f"bootstrap: '{asked}'; {suggestion(asked, known)}")
        return self.points[measure, monitor], self.draws[measure, monitor]

    def _ends(self, point: Measure, draws: FloatArray) -> tuple[Measure, Measure]:
        why = self.why_not or point.reason or self._too_few(draws)
        if why:
            return undefined(why), undefined(why)
        tail = tail_of(1 - self.level, self.fewest)
        low, high = np.nanquantile(draws, [tail, 1 - tail])
        return Measure(float(low)), Measure(float(high))

    def _too_few(self, draws: FloatArray) -> str | None:
        """Say what the replicates lack for an interval, if anything."""
        tail, known = tail_of(1 - self.level, self.fewest), draws[~np.isnan(draws)]
        if tail * len(draws) < 1:
            return f"{len(draws)} replicates are too few for a level of {self.level} and {self.fewest} groups"
        if len(draws) - len(known) > tail * len(draws):
            missing = len(draws) - len(known)
            return f"undefined in {missing} of {len(draws)} replicates: an end may lie among them"
        if np.ptp(known) <= _ROUNDING * np.abs(known).max():
            # The ends would meet, as if all were certain. Wilson's interval of 50 misses in 50 is wide, too.
            return f"the same in each of the {len(known)} replicates: they tell no spread"
        return None

    def _p(self, known: FloatArray, replicates: int) -> float:
        """Ask which level has 0 at an end; replicates that are 0 or undefined count for no difference."""
        further = max(np.count_nonzero(known > 0), np.count_nonzero(known < 0))
        tail = max((1 + replicates - further) / (1 + replicates), rarest(self.fewest))
        return 1.0 if tail >= 0.5 else p_of(tail, self.fewest)


def bootstrap(
    points: Mapping[Column, Measure],
    values: Callable[[FloatArray], Mapping[Column, FloatArray]],
    resampling: Resampling,
    *,
    seed: int,
    replicates: int = REPLICATES,
    level: float = 0.95,
    fewest: int | None = None,
) -> Bootstrap:
    """Compute all measures of all monitors in the same replicates of a stream.

    Parameters
    ----------
    points
        The values of the stream as it is.
    values
        Gives the same of draws: from weights, a row a replicate and a column a group, a value a replicate.
    resampling
        The stream's groups and parts.
    fewest
        How many groups the part with the fewest has, if other parts count than those that are drawn.

    Examples
    --------
    >>> from farm.statistics.resampling import means_by_weight
    >>> costs, resampling = np.arange(100) % 7, Resampling(100)
    >>> mean = means_by_weight(costs, resampling)
    >>> column = ("cost", "odin")
    >>> found = bootstrap({column: Measure(2.95)}, lambda w: {column: mean(w)}, resampling, seed=0)
    >>> cost = found.interval("cost", "odin")
    >>> round(cost.value.value, 2), round(cost.low.value, 1), round(cost.high.value, 1)
    (2.95, 2.5, 3.3)
    """
    if replicates < 1:
        raise ParameterError(f"bootstrap: replicates = {replicates}; expected at least 1")
    if not 0 < level < 1:
        raise ParameterError(f"bootstrap: level = {level}; expected a number between 0 and 1")
    if points and resampling.why_not is None:
        drawn = draws(values, resampling.weights(replicates, seed=seed))
    else:
        drawn = {column: np.full(replicates, np.nan) for column in points}
    return Bootstrap(
        n_groups=resampling.n_groups,
        fewest=resampling.fewest if fewest is None else fewest,
        why_not=resampling.why_not,
        level=level,
        points=points,
        draws=drawn,
        replicates=replicates,
    )


def _minus(a: Measure, b: Measure, one: str, other: str) -> Measure:
    for measure, monitor in ((a, one), (b, other)):
        if not measure.defined:
            return undefined(f"{monitor}: {measure.reason}")
    return Measure(a.value - b.value)
