"""A run's whole stream: how each monitor noticed its episodes, and what of that belongs to which fault."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from farm.api.arrays import BoolArray, FloatArray, IntArray
from farm.judging.record import Fields, plain
from farm.judging.table import Judgement, VerdictTable
from farm.measures import Measure, undefined
from farm.measures.along_time import FalseAlarms, threshold_at
from farm.measures.delays import Delays
from farm.measures.episodes import Episodes, Noticed
from farm.measures.parts import Part

ALONG_TIME = ("false_alarms_per_1000", "detection_delay", "cancellation_delay")
"""What follows from the order of the stream."""
FALSE_ALARMS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
"""False alarms a thousand quiet instances at which delays are compared."""


@dataclass(frozen=True)
class SeenAlong:
    """How one monitor noticed each episode of a stream, and how often it cried wolf."""

    by_alarm: Noticed
    by_cancelling: Noticed
    false_alarms: FalseAlarms


@dataclass(frozen=True, eq=False)
class WholeStream:
    """The whole stream: a delay counts every instance that passes."""

    along: IntArray
    """Row numbers in the order of the stream."""
    episodes: Episodes
    stratum: IntArray
    """The number of the stratum that the instance is of with which each episode begins: its fault."""
    frame_rate: float | None
    """Instances a second."""

    @classmethod
    def of(cls, known: VerdictTable, run: Mapping[str, Any]) -> WholeStream | None:
        """Sort out when things went wrong; None where the stream has no episodes."""
        if known.episode is None:
            return None
        along = np.argsort(known.position)
        episodes = Episodes(known.episode[along], known.is_ood[along])
        onset = along[episodes.onset]
        stratum = np.zeros(len(onset), dtype=np.int64)
        for number, rows in enumerate(known.partition.strata):
            stratum[np.isin(onset, rows)] = number
        return cls(along, episodes, stratum, (run.get("stream") or {}).get("frame_rate"))

    def seen(self, said: Judgement) -> SeenAlong:
        """Follow one monitor, whose alarms come in the order of the table."""
        alarm, cancelled = said.alarm[self.along], said.cancelled[self.along]
        noticed = self.episodes.noticed
        return SeenAlong(noticed(alarm), noticed(cancelled), self.episodes.false_alarms(alarm))

    def alarm_at(self, scores: FloatArray, rate: float) -> BoolArray:
        """Return the alarms along the stream that scores would raise at a rate of false ones."""
        score = scores[self.along]
        return np.asarray(score > threshold_at(score[self.episodes.quiet], rate))

    def of_part(self, part: Part) -> BoolArray:
        """Say which episodes are of a part's fault."""
        return np.isin(self.stratum, part.strata)

    def fields(self, seen: SeenAlong, part: Part) -> Fields:
        """Measure one monitor on a part: delays of its own episodes, and false alarms of the whole stream."""
        own = self.of_part(part)
        return {
            "false_alarms_per_1000": seen.false_alarms.per_1000,
            "detection_delay": self._delay(seen.by_alarm.take(own).delays),
            "cancellation_delay": self._delay(seen.by_cancelling.take(own).delays),
        }

    def _delay(self, delays: Delays) -> Fields:
        found = {
            "median": delays.quantile(0.5),
            "p95": delays.quantile(0.95),
            "p95_bound": delays.bound_of_p95(),
        }
        if self.frame_rate is not None:
            found |= {f"{name}_seconds": in_seconds(each, self.frame_rate) for name, each in found.items()}
        found["missed_share"] = delays.missed_share
        return {"n": delays.onsets, **delays.by_outcome, "empty": self.episodes.empty, **plain(found)}


def in_seconds(delay: Measure, frame_rate: float) -> Measure:
    """Return a number of instances in seconds."""
    return Measure(delay.value / frame_rate) if delay.defined else delay


def not_along_time(why: str) -> Fields:
    """Return the fields of a whole stream, undefined."""
    return dict.fromkeys(ALONG_TIME, undefined(why))
