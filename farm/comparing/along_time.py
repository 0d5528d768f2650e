"""Comparing by delays and false alarms: onsets of all streams are one table, drawn episode by episode.

Quiet instances are drawn by whole tracks. Sets of one run share these, and each run's count once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from farm.api.arrays import BoolArray, FloatArray
from farm.comparing.measures import Measured
from farm.judging import JudgedRun
from farm.judging.whole_stream import SeenAlong, WholeStream
from farm.measures import Measure, undefined
from farm.measures.along_time import FalseAlarms
from farm.measures.delays import Delays
from farm.measures.episodes import Noticed
from farm.measures.parts import Part
from farm.statistics.bootstrap import Bootstrap, Column, bootstrap
from farm.statistics.resampling import FEWEST, Draw, Resampling, means_by_weight, quantile_by_weight
from farm.statistics.resolution import Resolution

FALSE_ALARMS, CANCELLATION, MISSED = "false_alarms_per_1000", "cancellation_delay", "missed_onsets"


@dataclass(frozen=True, eq=False)
class StreamPart:
    """One fault's episodes in a run whose whole stream is known."""

    run: JudgedRun
    part: Part
    workload: str

    @property
    def stream(self) -> WholeStream | None:
        """The run's whole stream; None where it has no episodes."""
        return self.run.stream

    def seen(self, monitor: str) -> SeenAlong:
        """Return how a monitor noticed all of the stream's episodes."""
        found = self.run.seen(monitor)
        assert found is not None, "the stream has episodes"
        return found

    def noticed(self, monitor: str, measure: Measured) -> Noticed:
        """Return how a monitor noticed the part's episodes, by its alarms or by what was cancelled."""
        assert self.stream is not None, "the stream has episodes"
        seen = self.seen(monitor)
        signal = seen.by_cancelling if measure.name == CANCELLATION else seen.by_alarm
        return signal.take(self.stream.of_part(self.part))

    def quiet(self) -> BoolArray:
        """Say which instances are quiet, in the order of the run's table."""
        assert self.stream is not None, "the stream has episodes"
        found = np.zeros(len(self.run.table), dtype=np.bool_)
        found[self.stream.along[self.stream.episodes.quiet]] = True
        return found


def pooled(parts: Sequence[StreamPart], measure: Measured, monitor: str) -> Measure:
    """Measure a monitor on the onsets, or the quiet instances, of several streams."""
    if any(each.stream is None for each in parts):
        return undefined("the stream has no episodes")
    if measure.name == FALSE_ALARMS:
        seen = [each.seen(monitor).false_alarms for each in _each_run(parts)]
        return FalseAlarms(sum(one.quiet for one in seen), sum(one.alarms for one in seen)).per_1000
    delays = Delays.together(each.noticed(monitor, measure).delays for each in parts)
    return delays.missed_share if measure.name == MISSED else delays.quantile(0.5)


def size(parts: Sequence[StreamPart], measure: Measured) -> tuple[int, str]:
    """Return how many onsets or quiet instances there are, and the word for them."""
    known = [each for each in parts if each.stream is not None]
    if measure.name == FALSE_ALARMS:
        return sum(int(each.quiet().sum()) for each in _each_run(known)), "quiet instances"
    return sum(int(each.stream.of_part(each.part).sum()) for each in known if each.stream), "onsets"


def drawn_of(measure: Measured) -> str:
    """Say what is drawn whole."""
    return "tracks of quiet instances" if measure.name == FALSE_ALARMS else "episodes"


def redrawn(
    parts: Sequence[StreamPart],
    measure: Measured,
    points: Mapping[str, Measure],
    *,
    level: float,
    replicates: int | None,
    seed: int,
    control: bool,
) -> Bootstrap | str:
    """Draw episodes, or tracks of quiet instances, anew, the same for all monitors; or say why not."""
    if measure.name == FALSE_ALARMS:
        resampling, made = _of_false_alarms(parts, list(points))
    else:
        resampling, made = _of_onsets(parts, measure, list(points))
    if resampling.why_not:
        return f"{resampling.n_groups} {drawn_of(measure)}; resampling needs at least {FEWEST}"
    if replicates is None:
        replicates = Resolution.planned(resampling.fewest, len(points), 1 - level, control).replicates

    def values(weights: FloatArray) -> dict[Column, FloatArray]:
        return {(measure.name, monitor): draw(weights) for monitor, draw in made.items()}

    columns = {(measure.name, monitor): value for monitor, value in points.items()}
    return bootstrap(columns, values, resampling, seed=seed, replicates=replicates, level=level)


def _of_false_alarms(
    parts: Sequence[StreamPart], monitors: Sequence[str]
) -> tuple[Resampling, dict[str, Draw]]:
    rows = [(each, each.quiet()) for each in _each_run(parts)]
    named = [
        pd.DataFrame({"workload": each.workload, "track": each.run.table.track[quiet]})
        for each, quiet in rows
    ]
    group = pd.concat(named).groupby(["workload", "track"]).ngroup().to_numpy()
    resampling = Resampling(len(group), group=group)
    alarms = ((m, [each.run.table.said[m].alarm[quiet] for each, quiet in rows]) for m in monitors)
    return resampling, {
        m: means_by_weight(np.where(np.concatenate(own), 1000.0, 0.0), resampling) for m, own in alarms
    }


def _of_onsets(
    parts: Sequence[StreamPart], measure: Measured, monitors: Sequence[str]
) -> tuple[Resampling, dict[str, Draw]]:
    delays = {m: np.concatenate([each.noticed(m, measure).delay for each in parts]) for m in monitors}
    episodes = Resampling(len(next(iter(delays.values()))))
    draw = _share_missed if measure.name == MISSED else _median
    return episodes, {monitor: draw(delay) for monitor, delay in delays.items()}


def _median(delay: FloatArray) -> Draw:
    known = np.flatnonzero(~np.isnan(delay))
    return quantile_by_weight(delay[known], 0.5, known)


def _share_missed(delay: FloatArray) -> Draw:
    sums = np.column_stack([~np.isnan(delay), np.isinf(delay)]).astype(np.float64)

    def draw(weights: FloatArray) -> FloatArray:
        n, missed = (weights @ sums).T
        return np.asarray(missed / np.where(n > 0, n, np.nan))

    return draw


def _each_run(parts: Sequence[StreamPart]) -> list[StreamPart]:
    """Return one part of each run: all of them have its quiet instances."""
    return list({each.run.table.run: each for each in parts}.values())
