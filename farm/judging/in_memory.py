"""What is measured of one monitor on one part of a run, with all of the run in memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from farm.judging.guarantees import realised_promises
from farm.judging.intervals import BOUNDED, Intervals, OfInstances, OfTracks, TrackDraws
from farm.judging.notes import Noted, noted
from farm.judging.record import MEASURED, RANKED, Fields, Record, records
from farm.judging.strata import Ascending, Certainty, quantiles, tallies, total
from farm.judging.table import VerdictTable
from farm.judging.whole_stream import SeenAlong, WholeStream, not_along_time
from farm.measures import Separation, undefined
from farm.measures.accumulate import QUANTILES
from farm.measures.boxes import LOCALIZATION, NO_BOXES
from farm.measures.parts import Part
from farm.measures.tally import Tally


@dataclass(frozen=True)
class Findings:
    """All that follows from one monitor's verdicts, whatever the part."""

    counted: list[Tally]
    """One for each stratum."""
    scores: Ascending | None
    times: Ascending | None
    along_time: SeenAlong | None
    """None where the stream has no episodes."""


@dataclass(frozen=True, eq=False)
class JudgedRun:
    """A run's table with what is noted of the run; what is measured of it is counted when it is asked for."""

    run: Mapping[str, Any]
    table: VerdictTable
    measured: ClassVar[Sequence[str]] = MEASURED

    @classmethod
    def of(
        cls, instances: pd.DataFrame, alarms: pd.DataFrame, run: Mapping[str, Any], number: int = 0
    ) -> JudgedRun:
        """Align a run's tables; `number` tells it from others that it is compared with."""
        return cls(run, VerdictTable.of(instances, alarms, run, number))

    @cached_property
    def records(self) -> list[Record]:
        """One record for each part and monitor."""
        return records(self, self.run, promises=realised_promises(self))

    @cached_property
    def points(self) -> list[Record]:
        """The same without intervals, for whoever needs none."""
        return records(self, self.run, bounded=())

    def records_of(self, *parts: Part, bounded: Collection[str] = BOUNDED) -> list[Record]:
        """Return one record for each monitor on some of the parts; `bounded` measures have intervals."""
        return records(self, self.run, parts=parts, bounded=bounded)

    @cached_property
    def monitors(self) -> list[Noted]:
        """The monitors in the order of the run; the oracle is the last."""
        return noted(self.run, self.table.said)

    @property
    def parts(self) -> tuple[Part, ...]:
        """What is to be told of, group by group."""
        return self.table.partition.parts

    @property
    def why_no_ood(self) -> str | None:
        """Why ID and OOD cannot be told apart; None if they can."""
        return self.table.why_no_ood

    @cached_property
    def _found(self) -> Mapping[str, Findings]:
        """What follows from the verdicts of the monitors that did not fail, and of the perfect one."""
        stream, everyone = self.stream, self.table.with_oracle()
        parted, counted = self.table.partition, tallies(self.table, everyone)
        return {
            name: Findings(
                counted[name],
                None if said.score is None else Ascending(said.score, parted),
                None if said.time_us is None else Ascending(said.time_us, parted),
                None if stream is None else stream.seen(said),
            )
            for name, said in everyone.items()
        }

    def tally(self, monitor: str, part: Part | None) -> Tally:
        """Return what was counted on a part; where it is None, on all ID instances."""
        counted = self._found[monitor].counted
        return counted[0] if part is None else total(counted, part)

    def intervals(self, part: Part, level: float = 0.95) -> Intervals:
        """Return what tells how sure measures are on a part: by tracks, where instances share some."""
        rows, category = self.table.partition.strata, part.group.category
        strata = [number for number in part.strata if len(rows[number])]
        n_tracks = self._track_draws.n_tracks(strata) if self.table.has_tracks else None
        if n_tracks is not None and n_tracks < sum(len(rows[number]) for number in strata):
            return OfTracks(self._track_draws, strata, category, n_tracks, level)
        sides = {name: [found.counted[number] for number in strata] for name, found in self._found.items()}
        return OfInstances(sides, category, n_tracks, level)

    @cached_property
    def _track_draws(self) -> TrackDraws:
        return TrackDraws(self.table, self.table.with_oracle())

    def ranking(self, monitor: str, part: Part) -> Fields:
        """Return what follows from scores."""
        scores = self._found[monitor].scores
        why_not = "no scores were given" if scores is None else self.why_no_ood
        if scores is None or why_not:
            return dict.fromkeys(RANKED, undefined(str(why_not)))
        # Stratum 0 is ID, and every other one OOD.
        by_side = [[scores.strata[s] for s in part.strata if (s == 0) == is_id] for is_id in (True, False)]
        id_scores, ood_scores = (side[0] if side else np.empty(0) for side in by_side)
        return dict(Separation(id_scores, ood_scores, ascending=True).measures())

    @cached_property
    def _certainty(self) -> Callable[[Part], Fields]:
        """What tells the classifier's own measures: the same for each monitor, so they are kept."""
        return cache(Certainty(self.table).measures)

    def certainty(self, part: Part) -> Fields:
        """Return what follows from the classifier's own probabilities."""
        return self._certainty(part)

    @cached_property
    def _localization(self) -> Callable[[Part], Fields]:
        """What tells the measures of boxes: the same for each monitor, so they are kept."""

        def measured(part: Part) -> Fields:
            boxes = self.table.boxes
            if boxes is None:
                return dict.fromkeys(LOCALIZATION, undefined(NO_BOXES))
            return dict(boxes.take(self.table.partition.rows(part)).measures())

        return cache(measured)

    def localization(self, part: Part) -> Fields:
        """Return what follows from the classifier's boxes."""
        return self._localization(part)

    @cached_property
    def stream(self) -> WholeStream | None:
        """When things went wrong along the stream; None where it has no episodes."""
        return WholeStream.of(self.table, self.run)

    def seen(self, monitor: str) -> SeenAlong | None:
        """Return how a monitor noticed each episode; None where there are none."""
        return self._found[monitor].along_time

    def along_time(self, monitor: str, part: Part) -> Fields:
        """Return what follows from the order of the stream: of part `all` only, as it is of all instances."""
        seen = self.seen(monitor)
        if self.stream is None or seen is None or part.name != "all":
            return not_along_time("the stream has no episodes" if seen is None else "told of part all")
        return self.stream.fields(seen, part)

    def times(self, monitor: str, part: Part) -> Fields | None:
        """Return quantiles over those instances that were timed; None without any."""
        times = self._found[monitor].times
        known = [] if times is None else times.known(part)
        if not (n := sum(map(len, known))):
            return None
        return {"n": n, **dict(zip(QUANTILES, quantiles(known, [*QUANTILES.values()]), strict=True))}
