"""One part of a comparison, such as a faultload: monitors in order, and who cannot be told from the best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from statsmodels.stats.multitest import multipletests

from farm.comparison.measures import Measured
from farm.comparison.resampled import resampled
from farm.comparison.sets import BenchmarkSet
from farm.measures import Measure, undefined
from farm.statistics.bootstrap import Bootstrap


@dataclass(frozen=True)
class Standing:
    """Where one monitor stands in a section."""

    monitor: str
    value: Measure
    """The mean over the section's sets."""
    low: Measure
    high: Measure
    p: Measure
    """Of no difference to the best, Holm's correction made for all that are compared with it."""
    like_best: bool | None
    """Whether it cannot be told from the best on these streams; None where that is not known."""
    failure: str | None = None


@dataclass(frozen=True)
class Section:
    """One value of what the comparison is by, and all that was found there."""

    name: str
    sets: tuple[str, ...]
    n_streams: int
    n: int
    """Instances, of all streams together."""
    standings: tuple[Standing, ...]
    """Best first; those without a value last."""
    notes: tuple[str, ...]

    @property
    def best(self) -> str | None:
        """The monitor with the best value."""
        return self.standings[0].monitor if self.standings and self.standings[0].value.defined else None


def section(
    name: str,
    sets: Sequence[BenchmarkSet],
    measure: Measured,
    monitors: Sequence[str],
    *,
    alpha: float,
    replicates: int,
    seed: int,
) -> Section:
    """Compare monitors on the streams of these sets."""
    failures = {m: why for one in sets for m, why in one.failures.items()}
    lasted = [m for m in monitors if all(m in s.alarm for one in sets for s in one.streams)]
    values = {m: _mean(sets, measure, m) for m in monitors}
    made = resampled(sets, measure, lasted, level=1 - alpha, replicates=replicates, seed=seed)
    ranked = sorted(
        (m for m in monitors if values[m].defined),
        key=lambda m: -values[m].value if measure.higher_is_better else values[m].value,
    )
    p = _p_values(made, measure, ranked)
    standings = [_standing(m, values[m], made, measure, p, ranked, alpha) for m in ranked]
    for monitor in monitors:
        if monitor not in ranked:
            why = undefined(str(values[monitor].reason))
            standings.append(Standing(monitor, why, why, why, why, None, failures.get(monitor)))
    return Section(
        name=name,
        sets=tuple(one.name for one in sets),
        n_streams=sum(len(one.streams) for one in sets),
        n=sum(one.n for one in sets),
        standings=tuple(standings),
        notes=tuple(_notes(made, standings)),
    )


def _notes(made: Bootstrap | str, standings: Sequence[Standing]) -> Iterator[str]:
    if isinstance(made, str):
        yield f"no intervals: {made}"
    for standing in standings:
        if standing.failure:
            yield f"{standing.monitor} failed: {standing.failure}"
        elif not standing.value.defined:
            yield f"{standing.monitor} is undefined: {standing.value.reason}"


def _mean(sets: Sequence[BenchmarkSet], measure: Measured, monitor: str) -> Measure:
    values = []
    for one in sets:
        for records in one.records:
            if monitor not in records:
                return undefined(f"it was not run on {one.name}")
            value = measure.of(records[monitor])
            if not value.defined:
                return undefined(f"{one.name}: {value.reason}")
            values.append(value.value)
    return Measure(float(np.mean(values)))


def _p_values(made: Bootstrap | str, measure: Measured, ranked: Sequence[str]) -> dict[str, float]:
    """Give each monitor's p of no difference to the best, where there is one."""
    if isinstance(made, str) or not ranked:
        return {}
    best, *others = ranked
    raw = {m: made.difference(measure.name, best, m).p for m in others}
    known = {m: p.value for m, p in raw.items() if p.defined}
    if not known:
        return {}
    corrected = multipletests(list(known.values()), method="holm")[1]
    return dict(zip(known, map(float, corrected), strict=True))


def _standing(
    monitor: str,
    value: Measure,
    made: Bootstrap | str,
    measure: Measured,
    p: dict[str, float],
    ranked: Sequence[str],
    alpha: float,
) -> Standing:
    if isinstance(made, str):
        why = undefined(made)
        return Standing(monitor, value, why, why, why, None)
    interval = made.interval(measure.name, monitor)
    if monitor == ranked[0]:
        return Standing(monitor, value, interval.low, interval.high, undefined("it is the best"), True)
    if monitor not in p:
        why = undefined("the difference to the best has no p")
        return Standing(monitor, value, interval.low, interval.high, why, None)
    return Standing(monitor, value, interval.low, interval.high, Measure(p[monitor]), p[monitor] >= alpha)
