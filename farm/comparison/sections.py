"""One part of a comparison, such as a faultload: monitors in order, and who cannot be told from the best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from farm.comparison.measures import Measured
from farm.comparison.resampled import resampled
from farm.comparison.sets import BenchmarkSet
from farm.measures import Measure, undefined
from farm.statistics.bootstrap import Bootstrap
from farm.statistics.table import Missing
from farm.statistics.wilcoxon import holm

UNDEFINED, NOT_RUN, FAILED = "undefined", "not run", "failed"
"""Why a monitor may have no value."""


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
    gap: str | None = None
    """Why there is no value, in a word: `undefined`, `not run` or `failed`."""


@dataclass(frozen=True)
class Section:
    """One value of what the comparison is by, and all that was found there."""

    name: str
    sets: tuple[str, ...]
    n_streams: int
    n: int
    """Instances; the ID instances that sets of one run share count once."""
    n_groups: int | None
    """Tracks that were resampled; None where nothing was."""
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
    found = {m: _value(sets, measure, m) for m in monitors}
    values = {m: value for m, (value, _) in found.items() if value.defined}
    made = resampled(sets, measure, values, level=1 - alpha, replicates=replicates, seed=seed)
    sign = -1 if measure.higher_is_better else 1
    ranked = sorted(values, key=lambda m: sign * values[m].value)
    p = _p_values(made, measure, ranked)
    standings = [_standing(m, values[m], made, measure, p, ranked, alpha) for m in ranked]
    for monitor, (why, gap) in found.items():
        if gap is not None:
            standings.append(Standing(monitor, why, why, why, why, None, gap))
    return Section(
        name=name,
        sets=tuple(one.name for one in sets),
        n_streams=sum(len(one.streams) for one in sets),
        n=_instances(sets),
        n_groups=None if isinstance(made, str) else made.n_groups,
        standings=tuple(standings),
        notes=tuple(_notes(made, standings)),
    )


def _instances(sets: Sequence[BenchmarkSet]) -> int:
    streams = [stream for one in sets for stream in one.streams]
    shared = {stream.run: int((~stream.is_ood).sum()) for stream in streams}
    return sum(shared.values()) + sum(int(stream.is_ood.sum()) for stream in streams)


def _notes(made: Bootstrap | str, standings: Sequence[Standing]) -> Iterator[str]:
    if isinstance(made, str) and any(standing.value.defined for standing in standings):
        yield f"no intervals: {made}"
    for standing in standings:
        if not standing.value.defined:
            yield f"{standing.monitor}: {standing.value.reason}"


def _value(sets: Sequence[BenchmarkSet], measure: Measured, monitor: str) -> tuple[Measure, str | None]:
    """Average over sets; where it has no value on one of them it has no mean, and the word for that."""
    cells = [(one, one.cell(measure, monitor)) for one in sets]
    gaps: dict[str, list[str]] = {FAILED: [], NOT_RUN: [], UNDEFINED: []}
    for one, cell in cells:
        if isinstance(cell, Missing):
            why = one.failures.get(monitor)
            some = cell.reason.removeprefix("was not run").strip()
            gaps[FAILED if why else NOT_RUN].append(why or (f"{some} of {one.name}" if some else one.name))
        elif not cell.defined:
            gaps[UNDEFINED].append(str(cell.reason))
    for gap, reasons in gaps.items():
        if reasons:
            where = f" on {len(reasons)} of {len(sets)} sets" if len(sets) > 1 else ""
            return undefined(f"{gap}{where} ({reasons[0]})"), gap
    return Measure(float(np.mean([cell.value for _, cell in cells if isinstance(cell, Measure)]))), None


def _p_values(made: Bootstrap | str, measure: Measured, ranked: Sequence[str]) -> dict[str, float]:
    """Give each monitor's p of no difference to the best, where there is one."""
    if isinstance(made, str) or not ranked:
        return {}
    best, *others = ranked
    raw = {m: made.difference(measure.name, best, m).p for m in others}
    known = {m: p.value for m, p in raw.items() if p.defined}
    return dict(zip(known, holm(list(known.values())), strict=True))


def _standing(
    monitor: str,
    value: Measure,
    made: Bootstrap | str,
    measure: Measured,
    p: dict[str, float],
    ranked: Sequence[str],
    alpha: float,
) -> Standing:
    best = monitor == ranked[0]
    its_own = undefined("it is the best")
    if isinstance(made, str):
        why = undefined(made)
        return Standing(monitor, value, why, why, its_own if best else why, True if best else None)
    interval = made.interval(measure.name, monitor)
    ends = (interval.low, interval.high)
    if best:
        return Standing(monitor, value, *ends, its_own, True)
    if monitor not in p:
        reason = made.difference(measure.name, ranked[0], monitor).p.reason
        return Standing(monitor, value, *ends, undefined(f"the difference to the best: {reason}"), None)
    return Standing(monitor, value, *ends, Measure(p[monitor]), p[monitor] >= alpha)
