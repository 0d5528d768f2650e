"""Judge readouts part by part, in memory that does not grow with their number.

Counts are those that `judge` gives. Measures that need every score or time come from histograms, each with a
bound on its error: a record has `auroc_error` beside `auroc`. Parts may come in any order, and may be judged
apart, on several machines: merged, they come to the same records as the whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from farm.api.arrays import FloatArray, IntArray
from farm.errors import DataError
from farm.judging.guarantees import not_judged
from farm.judging.intervals import Intervals, NotCounted, OfInstances
from farm.judging.notes import failures, noted, number_of_classes
from farm.judging.reading import has_values, parts_of
from farm.judging.record import MEASURED, RANKED, Fields, Record, records
from farm.judging.strata import tallies
from farm.judging.table import VerdictTable
from farm.judging.whole_stream import not_along_time
from farm.measures import undefined
from farm.measures.accumulate import Accumulator, ScoreHistogram, time_quantiles
from farm.measures.boxes import LOCALIZATION, NO_BOXES
from farm.measures.certainty import CONFIDENCE_AUROC, CertaintySums
from farm.measures.histogram import BINS
from farm.measures.oracle import ORACLE
from farm.measures.parts import Group, Kinds, Part, Partition
from farm.measures.tally import Tally
from farm.store.files import check_files
from farm.store.records import read_record
from farm.store.run_form import SCHEMA, RunForm
from farm.store.run_tables import ALARMS, INSTANCES, check_columns

TRACKS_NOT_COUNTED = "tracks are not counted where readouts are judged by parts"
NOT_BY_PARTS = "not told where readouts are judged by parts"
ERRORS = {name: f"{name}_error" for name in (*RANKED, CONFIDENCE_AUROC)}
"""The fields that bound the errors of others, each standing behind its own."""


def judge_by_parts(
    parts: Iterable[tuple[pd.DataFrame, pd.DataFrame]], run: Mapping[str, Any], *, bins: int = BINS
) -> list[Record]:
    """Judge instances and the alarms on them as they come; each part holds the tables that `judge` takes."""
    return _summed(ByParts(run, bins=bins), parts).records()


def judge_folder(folder: Path | str, *, rows: int | None = None, bins: int = BINS) -> list[Record]:
    """Judge a run's folder, so many instances at a time, checking that it is complete and unchanged."""
    run = read_record(Path(folder) / "run.json", SCHEMA, RunForm)
    check_files(Path(folder), run["files"], [INSTANCES, ALARMS])
    for name in (INSTANCES, ALARMS):
        check_columns(Path(folder) / name)
    judged = ByParts({**run, "folder": str(folder)}, bins=bins)
    judged.has_tracks = has_values(Path(folder) / INSTANCES, "track")
    return _summed(judged, parts_of(folder, rows, but=failures(run))).records()


def _summed(judged: ByParts, parts: Iterable[tuple[pd.DataFrame, pd.DataFrame]]) -> ByParts:
    """Take down all parts."""
    for instances, alarms in parts:
        judged.add(instances, alarms)
    return judged


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
        self._classes: dict[int, int] = {}
        self.monitors: dict[str, Accumulator] = {}
        """The perfect one among them; in place of its times, of which it has none, are the classifier's."""
        self.kinds = Kinds()
        self.without_is_ood = 0
        self.scored = self.episodes = self.has_tracks = False
        """Whether any score was given, and whether any part has an episode, or a track."""
        self.boxed = "boxes" in run

    def add(self, instances: pd.DataFrame, alarms: pd.DataFrame) -> None:
        """Take down a part: instances, and all the alarms on them."""
        table = VerdictTable.of(instances, alarms, self._run)
        noted(self._run, table.said)  # nobody else is called as the perfect monitor is
        self.scored |= any(said.score is not None for said in table.said.values())
        self.episodes |= table.episode is not None
        self.has_tracks |= table.has_tracks
        self.boxed |= table.boxes is not None
        if table.why_no_ood:
            given = instances.get("is_ood")
            self.without_is_ood += len(instances) if given is None else int(given.isna().sum())
        keys, codes, everyone = self._keys(table.partition), self._codes(table.classes), table.with_oracle()
        for name, counted in tallies(table, everyone).items():
            monitor, values = self._monitor(name), (everyone[name].score, everyone[name].time_us)
            for key, tally, rows in zip(keys, counted, table.partition.strata, strict=True):
                if tally.n:
                    certainty = None
                    if name == ORACLE:
                        answered, wrong = table.answered[rows], table.should_cancel[rows]
                        own = (table.confidence, table.brier, table.label_probability)
                        known = (_taken(each, rows) for each in own)
                        certainty = CertaintySums.of(answered, wrong, *known, most=self._bins)
                    score, time_us = (_taken(column, rows) for column in values)
                    monitor.put(key, tally.recoded(codes), score, time_us, certainty)
        self._fold()

    def merge(self, other: ByParts) -> ByParts:
        """Return both together; what is known of the run is what this one knows."""
        both = ByParts(self._run, bins=self._bins)
        for one in (self, other):
            codes = both._codes(np.array([*one._classes], dtype=np.int64))
            for name, monitor in one.monitors.items():
                both.monitors[name] = both._monitor(name).merge(monitor.recoded(codes))
            both.kinds.merge(one.kinds)
            both.without_is_ood += one.without_is_ood
            both.scored |= one.scored
            both.episodes |= one.episodes
            both.has_tracks |= one.has_tracks
            both.boxed |= one.boxed
        both._fold()
        return both

    def records(self) -> list[Record]:
        """Return records of the form that `judge` gives, with errors where measures have some."""
        summed = Summed(self, self._run)
        return records(summed, self._run, promises=not_judged(summed.monitors, NOT_BY_PARTS))

    def _monitor(self, name: str) -> Accumulator:
        return self.monitors.setdefault(name, Accumulator(bins=self._bins))

    def _keys(self, parted: Partition) -> list[Group | None]:
        """Say under which key each stratum is counted; None is ID, and all where ID and OOD are not known."""
        groups = [part.group for part in parted.parts if part.name == "ood"]
        self.kinds.meet(groups)
        return [None, *map(self.kinds.key, groups)]

    def _codes(self, classes: IntArray) -> IntArray:
        """Return each class a code that is the same in every part."""
        found = [self._classes.setdefault(number, len(self._classes)) for number in classes.tolist()]
        return np.array(found, dtype=np.int64)

    def _fold(self) -> None:
        """Count as one what has turned out to be a ramp."""
        for monitor in self.monitors.values():
            for key in monitor.keys():  # noqa: SIM118 - it is no dict
                if isinstance(key, Group) and (folded := self.kinds.key(key)) != key:
                    monitor.rename(key, folded)


class Summed:
    """A run that has been summed up, ready to be measured part by part."""

    measured: ClassVar[Sequence[str]] = tuple(
        each for name in MEASURED for each in ((name, ERRORS[name]) if name in ERRORS else (name,))
    )

    def __init__(self, sums: ByParts, run: Mapping[str, Any]) -> None:
        oracle = sums.monitors.get(ORACLE)
        if oracle is None:
            raise DataError("instances: there is none to judge; expected at least one")
        n = _size(oracle)
        heard = [name for name in sums.monitors if name != ORACLE]
        for name in heard:
            if (count := _size(sums.monitors[name])) != n:
                raise DataError(
                    f"alarms of monitor '{name}': {count:,} for {n:,} instances; expected one for each "
                    "instance"
                )
        self._sums, self.monitors = sums, noted(run, heard)
        self._n_classes = number_of_classes(run)
        missing = sums.without_is_ood
        some = f"is_ood is missing for {missing:,} of {n:,} instances"
        self.why_no_ood = None if not missing else "is_ood was not given" if missing == n else some
        keys = oracle.keys()
        groups = [key for key in keys if isinstance(key, Group)]
        self._keys: Mapping[Part, Sequence[Group | None]] = (
            {Part(Group(), "all", ()): [*groups, *([None] if None in keys else [])]}
            if missing
            else sums.kinds.parts(groups, some_id=None in keys)
        )

    @property
    def parts(self) -> list[Part]:
        """What is to be told of, group by group."""
        return list(self._keys)

    def tally(self, monitor: str, part: Part | None) -> Tally:
        """Return what was counted on a part; where it is None, on all ID instances."""
        return self._sums.monitors[monitor].sums([None] if part is None else self._keys[part]).tally

    def intervals(self, part: Part) -> Intervals:
        """Return what tells how sure measures are on a part: all follows from counts."""
        if self._sums.has_tracks:
            return NotCounted(TRACKS_NOT_COUNTED)
        sums = self._sums.monitors
        # Where it is not known of all instances what is OOD, none of these tallies is of one side.
        apart = [self._keys[part]] if self.why_no_ood else [[key] for key in self._keys[part]]
        sides = {name: [one.sums(keys).tally for keys in apart] for name, one in sums.items()}
        return OfInstances(sides, part.group.category)

    def ranking(self, monitor: str, part: Part) -> Fields:
        """Return what follows from scores, with bounds on the errors."""
        unscored = monitor == ORACLE or not self._sums.scored
        why_not = "no scores were given" if unscored else self.why_no_ood
        if why_not:
            return dict.fromkeys((*RANKED, *(ERRORS[name] for name in RANKED)), undefined(why_not))
        return dict(self._sums.monitors[monitor].scores(self._keys[part]).measures())

    def certainty(self, part: Part) -> Fields:
        """Return what follows from the classifier's own probabilities, with a bound on the AUROC's error."""
        sums = self._sums.monitors[ORACLE].sums(self._keys[part]).certainty
        why = sums.why_not_parted
        auroc = (undefined(why),) * 2 if why else ScoreHistogram(sums.wrong, sums.right).auroc()
        ranked = dict(zip((CONFIDENCE_AUROC, ERRORS[CONFIDENCE_AUROC]), auroc, strict=True))
        return {**sums.brier.measures(self._n_classes), **ranked, **sums.probabilities.measures()}

    def localization(self, part: Part) -> Fields:  # noqa: ARG002 - of all parts alike
        """Say why nothing follows from boxes: their sums would hang on the order of the parts."""
        boxed = self._sums.boxed
        return dict.fromkeys(LOCALIZATION, undefined(NOT_BY_PARTS if boxed else NO_BOXES))

    def along_time(self, monitor: str, part: Part) -> Fields:  # noqa: ARG002 - no monitor has any
        """Say why nothing follows from the order of the stream."""
        if not self._sums.episodes:
            return not_along_time("the stream has no episodes")
        return not_along_time(NOT_BY_PARTS if part.name == "all" else "told of part all")

    def times(self, monitor: str, part: Part) -> Fields | None:
        """Return quantiles over those instances that were timed; None without any."""
        times = self._sums.monitors[monitor].sums(self._keys[part]).times
        if not times.n:
            return None
        return {"n": times.n, **{name: measure.value for name, measure in time_quantiles(times).items()}}


def _taken(column: FloatArray | None, rows: IntArray) -> FloatArray | None:
    return None if column is None else column[rows]


def _size(summed: Accumulator) -> int:
    return summed.sums(summed.keys()).tally.n
