"""How sure MCC, AUROC, rates and costs are, and the differences between monitors on one stream.

A replicate is the stream with its groups drawn anew (`farm.statistics.resampling`); every monitor and
measure is computed of the same replicates, so a difference is one between monitors that saw the same.

The interval is the *expanded percentile* interval: quantiles of the replicates, but further out than the
level says, by what a t distribution has in wider tails than a normal one and by the root of k / (k - 1),
where k counts the groups of the part that has the fewest. In simulations of MCC and FNR (500 streams each,
of 5 to 500 groups a part, of 1 to 30 instances that resemble each other) the plain percentile interval
covered the true value in 85 to 95 % of the streams where 95 % was asked for, BCa in 86 to 97 %, both the less
the fewer groups there were, and this one in 93 to 96 %.

One AUROC's interval is a *logit t* interval: Student's on the scale of log-odds, with the standard error of
the replicates, expanded likewise. Near 1 an AUROC is too skewed for quantiles: in 7 such simulations they
covered it in 88 to 97 % of the streams, this interval in 92 to 97 % (least with 0.98 and 20 groups a part).
Differences of AUROC have percentile intervals, which covered 91 to 96 % in 4 simulations of 300 streams.

References
----------
T. C. Hesterberg, "What teachers should know about the bootstrap: resampling in the undergraduate statistics
curriculum", The American Statistician 69 (2015).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import expit, logit
from scipy.stats import norm, t

from farm.api.arrays import FloatArray
from farm.errors import ParameterError, suggestion
from farm.measures.measure import Measure, undefined
from farm.statistics.replicated import Column, Method, Replicated
from farm.statistics.resampling import Resampling

REPLICATES = 2000
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Interval:
    """One monitor's measure and where it may lie."""

    measure: str
    monitor: str
    value: Measure
    low: Measure
    high: Measure
    level: float
    n: int
    n_groups: int
    replicates: int
    undefined: int
    """In how many replicates the measure is undefined."""
    method: Method


@dataclass(frozen=True)
class Difference:
    """By how much one monitor's measure exceeds the other's on the same stream, and where that may lie."""

    measure: str
    one: str
    other: str
    value: Measure
    low: Measure
    high: Measure
    above: Measure
    """The share of the replicates, of those where it is defined, in which the first monitor has more."""
    below: Measure
    """The same for less; what `above` and `below` leave of 1 is ties."""
    p: Measure
    """Two-sided bootstrap p-value: 1 less the level at which the interval would begin to hold 0."""
    level: float
    n: int
    n_groups: int
    replicates: int
    undefined: int
    """In how many replicates the measure of either is undefined."""
    method: Method


@dataclass(frozen=True)
class Bootstrap:
    """All replicates of all measures and monitors; intervals and differences are read off them."""

    n: int
    n_groups: int
    fewest: int
    """How many groups the part with the fewest has."""
    why_not: str | None
    """Why nothing could be resampled, if so."""
    level: float
    replicates: int
    points: Mapping[Column, Measure]
    draws: Mapping[Column, FloatArray] = field(repr=False)
    methods: Mapping[Column, Method] = field(default_factory=dict, repr=False)

    def interval(self, measure: str, monitor: str) -> Interval:
        """Give one monitor's measure with its interval."""
        point, draws = self._column(measure, monitor)
        method = self.methods.get((measure, monitor), "expanded percentile")
        low, high = self._ends(point, draws, method)
        return Interval(measure, monitor, point, low, high, self.level, *self._sizes(draws), method)

    def difference(self, measure: str, one: str, other: str) -> Difference:
        """Give by how much the first monitor's measure exceeds the second's."""
        (a, draws_a), (b, draws_b) = self._column(measure, one), self._column(measure, other)
        point = _minus(a, b, one, other)
        draws = draws_a - draws_b
        # Two columns of one matrix product may differ in their last bits where their values are the same.
        draws[np.abs(draws) <= _ROUNDING * np.maximum(np.abs(draws_a), np.abs(draws_b))] = 0.0
        method: Method = "expanded percentile"
        low, high = self._ends(point, draws, method)
        known = draws[~np.isnan(draws)]
        sides = (undefined(str(low.reason)),) * 3
        if low.defined or (point.value == 0 and len(known) and not known.any()):
            above, below = float(np.mean(known > 0)), float(np.mean(known < 0))
            sides = (Measure(above), Measure(below), Measure(self._p(known)))
        return Difference(
            measure, one, other, point, low, high, *sides, self.level, *self._sizes(draws), method
        )

    def _column(self, measure: str, monitor: str) -> tuple[Measure, FloatArray]:
        if (measure, monitor) not in self.points:
            asked, known = f"{measure} of {monitor}", [" of ".join(column) for column in self.points]
            raise ParameterError(f"bootstrap: '{asked}'; {suggestion(asked, known)}")
        return self.points[measure, monitor], self.draws[measure, monitor]

    def _sizes(self, draws: FloatArray) -> tuple[int, int, int, int]:
        return self.n, self.n_groups, self.replicates, int(np.isnan(draws).sum())

    def _ends(self, point: Measure, draws: FloatArray, method: Method) -> tuple[Measure, Measure]:
        why = self.why_not or point.reason or self._too_few(draws)
        if why:
            return undefined(why), undefined(why)
        if method == "logit t":
            k, odds = self.fewest, point.value * (1 - point.value)
            error = math.sqrt(k / (k - 1)) * np.nanstd(draws, ddof=1) / odds
            half = t.ppf(0.5 + self.level / 2, k - 1) * error
            low, high = (expit(logit(point.value) + way * half) for way in (-1, 1))
        else:
            tail = self._tail()
            low, high = np.nanquantile(draws, [tail, 1 - tail])
        return Measure(float(low)), Measure(float(high))

    def _too_few(self, draws: FloatArray) -> str | None:
        """Say what the replicates lack for an interval, if anything."""
        tail, known = self._tail(), draws[~np.isnan(draws)]
        if tail * len(draws) < 1:
            return f"{len(draws)} replicates are too few for a level of {self.level} and {self.fewest} groups"
        if len(draws) - len(known) > tail * len(draws):
            missing = len(draws) - len(known)
            return f"undefined in {missing} of {len(draws)} replicates: an end may lie among them"
        if np.ptp(known) <= _ROUNDING * np.abs(known).max():
            # The ends would meet, as if all were certain. Wilson's interval of 50 misses in 50 is wide, too.
            return f"the same in each of the {len(known)} replicates: they tell no spread"
        return None

    def _tail(self) -> float:
        """Give the share of replicates that lies beyond each end."""
        k = self.fewest
        return float(norm.cdf(math.sqrt(k / (k - 1)) * t.ppf((1 - self.level) / 2, k - 1)))

    def _p(self, known: FloatArray) -> float:
        """Ask which level has 0 at an end; replicates that are 0 or undefined count for no difference."""
        k, defined = self.fewest, len(known)
        further = max(np.count_nonzero(known > 0), np.count_nonzero(known < 0))
        tail = (1 + self.replicates - further) / (1 + self.replicates)
        if defined == 0 or tail >= 0.5:
            return 1.0
        return float(2 * t.cdf(norm.ppf(tail) * math.sqrt((k - 1) / k), k - 1))


def bootstrap(
    measures: Sequence[Replicated],
    resampling: Resampling,
    *,
    seed: int,
    name: str = "",
    replicates: int = REPLICATES,
    level: float = 0.95,
) -> Bootstrap:
    """Compute all measures of all monitors in the same replicates of a stream.

    Parameters
    ----------
    measures
        `Counted`, `Mean`, `Auroc`, or the like.
    resampling
        The stream's groups and parts.
    name
        The stream's name, so that two streams with one seed do not share their draws.

    Examples
    --------
    >>> from farm.oracle import specific
    >>> from farm.statistics.replicated import Counted
    >>> is_ood = np.arange(200) < 100
    >>> alarms = {"odin": np.arange(200) < 90, "oob": np.arange(200) < 60}
    >>> codes = {monitor: specific(alarm, is_ood) for monitor, alarm in alarms.items()}
    >>> found = bootstrap([Counted("specific", codes, ["fnr"])], Resampling(200, is_ood=is_ood), seed=0)
    >>> odin = found.interval("specific_fnr", "odin")
    >>> odin.value.value, round(odin.low.value, 2), round(odin.high.value, 2)
    (0.1, 0.04, 0.17)
    >>> difference = found.difference("specific_fnr", "odin", "oob")
    >>> round(difference.value.value, 2), round(difference.high.value, 2), difference.p.value < 0.05
    (-0.3, -0.21, True)
    """
    if replicates < 1:
        raise ParameterError(f"bootstrap: replicates = {replicates}; expected at least 1")
    if not 0 < level < 1:
        raise ParameterError(f"bootstrap: level = {level}; expected a number between 0 and 1")
    points: dict[Column, Measure] = {}
    methods: dict[Column, Method] = {}
    draws: dict[Column, FloatArray] = {}
    prepared = [(measure.points(), measure.draw(resampling)) for measure in measures]
    blocks: list[list[FloatArray]] = [[] for _ in prepared]
    if resampling.why_not is None:
        for weights in resampling.weights(replicates, seed=seed, name=name):
            for block, (_, draw) in zip(blocks, prepared, strict=True):
                block.append(draw(weights))
    for measure, block, (columns, _) in zip(measures, blocks, prepared, strict=True):
        table = np.concatenate(block) if block else np.full((replicates, len(columns)), np.nan)
        points |= columns
        methods |= dict.fromkeys(columns, measure.method)
        draws |= dict(zip(columns, table.T, strict=True))
    return Bootstrap(
        resampling.n,
        resampling.n_groups,
        resampling.fewest,
        resampling.why_not,
        level,
        replicates,
        points,
        draws,
        methods,
    )


def _minus(a: Measure, b: Measure, one: str, other: str) -> Measure:
    for measure, monitor in ((a, one), (b, other)):
        if not measure.defined:
            return undefined(f"{monitor}: {measure.reason}")
    return Measure(a.value - b.value)
