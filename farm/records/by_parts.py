"""Judge readouts part by part, in memory that does not grow with their number.

Counts are those that `judge` gives. Measures that need every score or time come from histograms, each with a
bound on its error: a record has `auroc_error` beside `auroc`. Parts may come in any order, and may be judged
apart, on several machines: merged, they come to the same records as the whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from farm.api.arrays import IntArray
from farm.files import check_files, read_record
from farm.measures.accumulate import Accumulator
from farm.measures.histogram import BINS
from farm.oracle import ORACLE
from farm.readouts import SCHEMA
from farm.records.kinds import Key, Kind
from farm.records.notes import failures, noted
from farm.records.parts import Partition, partition
from farm.records.reading import ROWS, parts_of
from farm.records.record import Record, records
from farm.records.summed import Summed, Sums
from farm.records.tallies import tallies
from farm.records.verdicts import Truth, Verdicts, decisions, truth, verdicts


def judge_by_parts(
    parts: Iterable[tuple[pd.DataFrame, pd.DataFrame]], run: Mapping[str, Any], *, bins: int = BINS
) -> list[Record]:
    """Judge instances and the alarms on them as they come; each part holds the tables that `judge` takes."""
    judged = ByParts(run, bins=bins)
    for instances, alarms in parts:
        judged.add(instances, alarms)
    return judged.records()


def judge_folder(folder: Path | str, *, rows: int = ROWS, bins: int = BINS) -> list[Record]:
    """Judge a run's folder, so many instances at a time, checking that it is complete and unchanged."""
    run = read_record(Path(folder) / "run.json", SCHEMA, ["files", "layers"])
    check_files(Path(folder), run["files"], ["instances.parquet", "alarms.parquet"])
    return judge_by_parts(
        parts_of(folder, rows, but=failures(run)), {**run, "folder": str(folder)}, bins=bins
    )


class ByParts:
    """A run's readouts, summed up as they come.

    Parameters
    ----------
    run
        What is known of the run, as `judge` takes it.
    bins
        The most bins of each histogram of scores: one for ID and one for each group of OOD instances.

    Examples
    --------
    >>> instances = pd.DataFrame({"label": [0, 1, 1, -1], "predicted": [0, 1, 0, 1]})
    >>> instances = instances.assign(position=range(4), is_ood=[False, False, False, True])
    >>> alarms = pd.DataFrame({"position": range(4), "monitor": "odin", "alarm": [False, True, False, True]})
    >>> alarms = alarms.assign(score=[0.1, 0.7, 0.2, 0.7])
    >>> first, second = ByParts({}), ByParts({})
    >>> first.add(instances[:2], alarms[:2])
    >>> second.add(instances[2:], alarms[2:])
    >>> record = first.merge(second).records()[0]
    >>> record["monitor"], record["specific"]["error"], record["auroc_error"]
    ('odin', 0.25, 0.0)
    """

    def __init__(self, run: Mapping[str, Any], *, bins: int = BINS) -> None:
        self._run, self._bins = run, bins
        self._sums = Sums()
        self._classes: dict[int, int] = {}

    def add(self, instances: pd.DataFrame, alarms: pd.DataFrame) -> None:
        """Take down a part: instances, and all the alarms on them."""
        failed = failures(self._run)
        if failed:
            alarms = alarms[~alarms["monitor"].isin(failed)]
        as_told = truth(instances, decisions(alarms))
        parted = partition(instances, None if as_told.why_no_ood else as_told.is_ood)
        said = {verdict.monitor: verdict for verdict in verdicts(alarms, as_told.position)}
        noted(self._run, said)  # nobody else is called as the perfect monitor is
        self._sums.scored |= any(verdict.score is not None for verdict in said.values())
        self._sums.episodes |= as_told.episode is not None
        if as_told.why_no_ood:
            given = instances.get("is_ood")
            self._sums.without_is_ood += len(instances) if given is None else int(given.isna().sum())
        said[ORACLE] = Verdicts(ORACLE, as_told.is_ood, as_told.should_cancel, time_us=as_told.time_us)
        keys, codes = self._keys(parted), self._codes(as_told.classes)
        known = as_told.in_order(parted.order)
        for name, verdict in said.items():
            in_order = verdict.in_order(parted.order).coded(known)
            self._put(self._monitor(name), in_order, known, parted, keys, codes)
        self._fold()

    def merge(self, other: ByParts) -> ByParts:
        """Give both together; what is known of the run is what this one knows."""
        both = ByParts(self._run, bins=self._bins)
        for one in (self, other):
            codes = both._codes(np.array([*one._classes], dtype=np.int64))
            for name, monitor in one._sums.monitors.items():
                both._sums.monitors[name] = both._monitor(name).merge(monitor.recoded(codes))
            both._sums.kinds.merge(one._sums.kinds)
            both._sums.without_is_ood += one._sums.without_is_ood
            both._sums.scored |= one._sums.scored
            both._sums.episodes |= one._sums.episodes
        both._fold()
        return both

    def records(self) -> list[Record]:
        """Give records of the form that `judge` gives, with errors where measures have some."""
        return records(Summed(self._sums, self._run), self._run)

    def _monitor(self, name: str) -> Accumulator:
        return self._sums.monitors.setdefault(name, Accumulator(bins=self._bins))

    def _keys(self, parted: Partition) -> list[Key | None]:
        """Say under which key each stratum is counted; None is ID, and all where ID and OOD are not known."""
        groups = [part.group for part in parted.parts if part.name == "ood"]
        self._sums.kinds.meet(groups)
        return [None, *(self._sums.kinds.key(Kind(g.faultload, g.category), g.severity) for g in groups)]

    def _codes(self, classes: IntArray) -> IntArray:
        """Give each class a code that is the same in every part."""
        found = [self._classes.setdefault(number, len(self._classes)) for number in classes.tolist()]
        return np.array(found, dtype=np.int64)

    def _fold(self) -> None:
        """Count as one what has turned out to be a ramp."""
        for monitor in self._sums.monitors.values():
            for key in monitor.keys():  # noqa: SIM118 - it is no dict
                if isinstance(key, Key) and (folded := self._sums.kinds.key(*key)) != key:
                    monitor.rename(key, folded)

    @staticmethod
    def _put(
        monitor: Accumulator,
        said: Verdicts,
        known: Truth,
        parted: Partition,
        keys: Iterable[Key | None],
        codes: IntArray,
    ) -> None:
        for number, (key, tally) in enumerate(zip(keys, tallies(known, said, parted), strict=True)):
            if tally.n:
                rows = parted.stratum(number)
                score, time_us = (x if x is None else x[rows] for x in (said.score, said.time_us))
                monitor.put(key, tally.recoded(codes), score, time_us)
