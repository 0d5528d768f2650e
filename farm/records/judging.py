"""What is measured of one monitor on one part of a run, with all of the run in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from farm.measures import Measure, Separation, undefined
from farm.measures.accumulate import QUANTILES
from farm.measures.tally import Tally
from farm.oracle import ORACLE
from farm.records import along_time, fields
from farm.records.along_time import Stream
from farm.records.ascending import Ascending, quantiles
from farm.records.fields import MEASURED, RANKED, Fields
from farm.records.notes import Noted, failures, noted
from farm.records.parts import Part, Partition, partition
from farm.records.tallies import tallies, total
from farm.records.verdicts import Truth, Verdicts, decisions, truth, verdicts


@dataclass(frozen=True)
class Findings:
    """All that follows from one monitor's verdicts, whatever the part."""

    counted: list[Tally]
    """One for each stratum."""
    scores: Ascending | None
    times: Ascending | None
    along_time: Fields | None
    """Of the whole stream; None where it has no episodes."""

    @classmethod
    def of(cls, said: Verdicts, known: Truth, parted: Partition, stream: Stream | None) -> Findings:
        """Count, and sort; `known` is in the partition's order, what was said in that of the table."""
        in_order = said.in_order(parted.order).coded(known)
        return cls(
            tallies(known, in_order, parted),
            None if in_order.score is None else Ascending(in_order.score, parted),
            None if in_order.time_us is None else Ascending(in_order.time_us, parted),
            None if stream is None else stream.fields(said.alarm),
        )


@dataclass(frozen=True)
class Judging:
    """A run with everything counted and sorted, ready to be measured part by part."""

    why_no_ood: str | None
    """Why ID and OOD cannot be told apart; None if they can."""
    partition: Partition
    classifier_times: Ascending | None
    monitors: list[Noted]
    """In the order of the run; the oracle is the last."""
    found: Mapping[str, Findings]
    """Of each monitor that did not fail."""

    @classmethod
    def of(cls, instances: pd.DataFrame, alarms: pd.DataFrame, run: Mapping[str, Any]) -> Judging:
        """Align the tables, sort out the parts and count."""
        failed = failures(run)
        if failed:
            alarms = alarms[~alarms["monitor"].isin(failed)]
        as_told = truth(instances, decisions(alarms))
        parted = partition(instances, None if as_told.why_no_ood else as_told.is_ood)
        known, stream = as_told.in_order(parted.order), Stream.of(as_told)
        found = {
            said.monitor: Findings.of(said, known, parted, stream)
            for said in verdicts(alarms, as_told.position)
        }
        monitors = noted(run, found)
        perfect = Verdicts(ORACLE, alarm=as_told.is_ood, cancelled=as_told.should_cancel)
        found[ORACLE] = Findings.of(perfect, known, parted, stream)
        times = None if known.time_us is None else Ascending(known.time_us, parted)
        return cls(as_told.why_no_ood, parted, times, monitors, found)

    @property
    def parts(self) -> tuple[Part, ...]:
        """What is to be told of, group by group."""
        return self.partition.parts

    def size(self, part: Part) -> Fields:
        """Say how many instances a part has, and what share of them is OOD."""
        return fields.size(total(self.found[ORACLE].counted, part), self.why_no_ood)

    def measure(self, monitor: Noted, part: Part) -> Fields:
        """Give every field of `MEASURED`; one that is undefined as a `Measure` with its reason."""
        if monitor.failure is not None:
            return fields.failed(monitor.failure)
        found = self.found[monitor.name]
        counted = total(found.counted, part)
        measured = {
            **fields.detection(monitor.name, counted, self.why_no_ood),
            **fields.classification(monitor.name, counted),
            **fields.size_and_acceptance(monitor, found.counted[0], self.why_no_ood),
            **self._ranking(found.scores, part),
            **self._along_time(found.along_time, part),
            "monitor_time_us": _times(found.times, part),
            "classifier_time_us": _times(self.classifier_times, part),
        }
        return {name: measured[name] for name in MEASURED}

    def _ranking(self, scores: Ascending | None, part: Part) -> Fields:
        why_not = "no scores were given" if scores is None else self.why_no_ood
        if scores is None or why_not:
            return dict.fromkeys(RANKED, undefined(str(why_not)))
        # Stratum 0 is ID, and every other one OOD.
        by_side = [[scores.stratum(s) for s in part.strata if (s == 0) == is_id] for is_id in (True, False)]
        id_scores, ood_scores = (side[0] if side else np.empty(0) for side in by_side)
        return dict(Separation(id_scores, ood_scores, ascending=True).measures())

    @staticmethod
    def _along_time(found: Fields | None, part: Part) -> Fields:
        if found is None or part.name != "all":
            return along_time.nothing("the stream has no episodes" if found is None else "told of part all")
        return found


def _times(times: Ascending | None, part: Part) -> Measure | Fields:
    """Give quantiles over those instances that were timed."""
    known = [] if times is None else times.known(part)
    n = sum(len(values) for values in known)
    if not n:
        return undefined("no times were given")
    return {"n": n, **dict(zip(QUANTILES, quantiles(known, [*QUANTILES.values()]), strict=True))}
