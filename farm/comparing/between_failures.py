"""The mean time between failures of an ordered stream, and how sure it is.

A failure is a run of wrong decisions that were acted upon, one after the other: of one track where the
instances have tracks, else of the stream. Where instances share tracks, tracks are drawn
(`farm.statistics.by_track.rate_by_track`). Elsewhere failures are taken to come independently of each other,
as those of a Poisson process; where they come in heaps, the ends are too near.
"""

from __future__ import annotations

import numpy as np

from farm.api.arrays import BoolArray, IntArray
from farm.errors import ParameterError
from farm.judging import VerdictTable
from farm.measures import Bounded, Measure, undefined
from farm.measures.failures import failures_begin
from farm.statistics.by_track import rate_by_track
from farm.statistics.poisson import expected_events

MTBF = "mtbf"


def table_failures(table: VerdictTable, monitor: str | None, part: IntArray) -> BoolArray:
    """Say where failures begin in each part of a stream, of all decisions where there is no monitor."""
    failed = table.should_cancel
    if monitor is not None:
        said = table.said[monitor]
        failed = said.decided & ~said.right
    sequence = table.track_code if table.has_tracks else np.zeros(len(table), dtype=np.int64)
    return failures_begin(failed, table.position, sequence, part)


def between_failures(
    table: VerdictTable, begins: BoolArray, level: float = 0.95, frame_rate: float | None = None
) -> Bounded:
    """Return the mean number of instances to a failure, or of seconds, between its ends.

    Where nothing failed it is undefined, and so is the upper end; the lower one is not.

    Parameters
    ----------
    begins
        At which of the table's instances a failure begins.
    level
        Each end holds by itself with (1 + level) / 2.
    frame_rate
        Instances a second; where it is given, the time is in seconds.

    Examples
    --------
    >>> from farm.judging.table import made_truth
    >>> wrong = np.zeros(600, dtype=bool)
    >>> table = VerdictTable.from_arrays(made_truth(wrong=wrong, is_ood=wrong), [])
    >>> found = between_failures(table, wrong, frame_rate=10)
    >>> found.value.reason, round(found.low.value, 1), found.high.reason
    ('no failure in 600 instances', 16.3, 'no failure in 600 instances')
    """
    if frame_rate is not None and not frame_rate > 0:
        raise ParameterError(f"between failures: frame_rate = {frame_rate}; expected a number above 0")
    if table.why_no_label:
        return Bounded.nowhere(undefined(table.why_no_label))
    n, seen = len(table), int(begins.sum())
    none = undefined(f"no failure in {n:,} instances")
    if table.shares_tracks:
        low, high = rate_by_track(begins, table.track_code, level)
    else:
        low, high = (Measure(events / n) for events in expected_events(seen, level))
    time = 1.0 if frame_rate is None else 1 / frame_rate
    least = Measure(time / high.value) if high.defined else high
    if not seen:
        return Bounded(none, least, none)
    return Bounded(Measure(time * n / seen), least, Measure(time / low.value) if low.defined else low)
