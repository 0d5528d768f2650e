"""All that a page tells, found once: runs judged, benchmark sets, answers, ranks, and what failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from farm.api.arrays import FloatArray
from farm.comparing.comparison import conclusions, yardsticks_of
from farm.comparing.conclusions import Conclusion
from farm.comparing.measures import measured
from farm.comparing.sets import NO_SEVERITY, BenchmarkSet, judged_runs, sets_of
from farm.errors import DataError
from farm.gate.answer import Answer, answers, plain_confidence
from farm.gate.baseline.cells import CellChanges, cell_changes
from farm.judging import JudgedRun, Record, VerdictTable
from farm.judging.classifier_check import classifier_warnings
from farm.judging.readouts import load_runs
from farm.measures.parts import Part
from farm.report.page.html import slug
from farm.statistics.table import Missing
from farm.store.campaign_folder import CampaignFolder, planned_cells
from farm.store.pictures import Pictures, load_pictures
from farm.store.readouts import Readouts

OVERALL, SPECIFIC = "overall.mcc", "specific.mcc"


@dataclass(frozen=True, eq=False)
class ReportedRun:
    """A run with its pictures, if it kept any."""

    judged: JudgedRun
    pictures: Pictures | None
    unlabelled: Readouts | None = None
    """The readouts themselves, where neither labels nor `is_ood` are known: then alarms can be counted."""

    @property
    def run(self) -> Mapping[str, Any]:
        """What is noted of it."""
        return self.judged.run

    @property
    def folder(self) -> str:
        """Where it is."""
        return str(self.run.get("folder") or self.run.get("name") or "readouts")

    @property
    def title(self) -> str:
        """What it is: its cell's title in a campaign, or else its folder."""
        return str((self.run.get("cell") or {}).get("title") or self.folder)

    @property
    def confidence(self) -> FloatArray | None:
        """How sure the classifier was of each instance; None where that is not known of all."""
        known = self.judged.table.confidence
        return None if known is None or np.isnan(known).any() else known

    def class_name(self, code: int) -> str:
        """Name a class by its code."""
        if code < 0:
            return "no right answer"
        number, classes = int(self.judged.table.classes[code]), self.run.get("classes") or ()
        return str(classes[number]) if 0 <= number < len(classes) else str(number)


@dataclass(frozen=True, eq=False)
class ReportedSet:
    """A benchmark set as the page shows it: in numbers of all its runs, and in detail of the first one."""

    id: str
    """Where it stands on the page."""
    set: BenchmarkSet
    run: ReportedRun
    part: Part

    @property
    def stream(self) -> VerdictTable:
        """The instances of the first run: all ID ones, and the OOD ones of this fault."""
        return self.set.streams[0]

    @property
    def fault(self) -> str:
        """The fault and its severity, in a few words."""
        severity = "" if self.set.severity == NO_SEVERITY else f" {self.set.severity}"
        return f"{self.set.faultload}{severity}"

    @cached_property
    def records(self) -> list[Record]:
        """The first run's records, one a monitor; MCC and FNR have their intervals."""
        return self.run.judged.records_of(self.part, bounded=("mcc", "fnr"))

    def record(self, monitor: str) -> Record | None:
        """Return one monitor's record."""
        return next((each for each in self.records if each["monitor"] == monitor), None)

    def value(self, measure: str, monitor: str) -> float:
        """Return the mean of a measure over the runs; NaN where it is undefined in any."""
        cell = self.set.cell(measured(measure), monitor)
        return float("nan") if isinstance(cell, Missing) or not cell.defined else cell.value

    def why_not(self, measure: str, monitor: str) -> str:
        """Return why a measure has no value."""
        cell = self.set.cell(measured(measure), monitor)
        return str(cell.reason)


@dataclass(frozen=True, eq=False)
class Findings:
    """What a page tells."""

    places: tuple[str, ...]
    """What was asked for: folders and logs."""
    runs: tuple[ReportedRun, ...]
    sets: tuple[ReportedSet, ...]
    monitors: tuple[str, ...]
    """Those that are ranked, the best by their mean overall MCC first; yardsticks stand last."""
    yardsticks: frozenset[str]
    answers: tuple[Answer, ...]
    warnings: tuple[tuple[str, str], ...]
    """A folder, and a sign that its classifier is not what was meant."""
    failures: tuple[tuple[str, str], ...]
    """What failed where, and why."""
    unfinished: str = ""
    """What of a campaign is missing."""
    earlier: str | None = None
    """The run or campaign that this one is compared with."""
    changes: CellChanges | None = None
    """What is another than there."""
    campaigns: tuple[Mapping[str, Any], ...] = ()
    """As they were asked for."""
    not_compared: str = ""
    """Why two places that were given are not compared, but taken together."""

    @property
    def names(self) -> str:
        """The experiments' names."""
        return ", ".join(dict.fromkeys(str(each.run.get("name") or each.folder) for each in self.runs))

    @property
    def cells(self) -> list[ReportedSet]:
        """The sets that are shown in detail: those of which anything is known that verdicts need."""
        return [one for one in self.sets if one.run.unlabelled is None]

    @cached_property
    def _first(self) -> dict[int, str]:
        return {id(one.run): one.id for one in reversed(self.sets)}

    def first_of_run(self, one: ReportedSet) -> bool:
        """Whether a set is its run's first: what is the same in all sets of a run is told there."""
        return self._first[id(one.run)] == one.id

    @property
    def categories(self) -> dict[str, list[ReportedSet]]:
        """The sets by the category of their fault."""
        found: dict[str, list[ReportedSet]] = {}
        for one in self.cells:
            found.setdefault(one.set.category, []).append(one)
        return dict(sorted(found.items()))

    def label(self, one: ReportedSet) -> str:
        """Return what to call a set: its fault, and where there are several the workload and classifier."""
        around = {(each.set.workload, each.set.classifier) for each in self.sets}
        return one.set.name if len(around) > 1 else one.fault

    @cached_property
    def conclusions(self) -> dict[str, tuple[Conclusion, ...]]:
        """What ranks say of each category, by overall and by specific MCC."""
        sets = [one.set for one in self.sets]
        return {name: conclusions(sets, name, self.monitors) for name in (OVERALL, SPECIFIC)}

    def mean(self, sets: Sequence[ReportedSet], measure: str, monitor: str) -> float:
        """Return the mean over sets; NaN where any has no value."""
        return float(np.mean([one.value(measure, monitor) for one in sets])) if sets else float("nan")


def find(places: Sequence[Path | str]) -> Findings:
    """Judge runs, campaigns and logs, and find out all that a page tells.

    Of two places with runs of the same streams the page is of the second, and tells what changed since the
    first; any others are taken together.
    """
    loaded = [load_runs([place]) for place in places]
    changes, earlier, why_not = None, None, ""
    if len(loaded) == 2:
        changes, why_not = _changes(*loaded)
        if changes is not None:
            earlier, places, loaded = str(places[0]), places[1:], loaded[1:]
    runs = [run for own in loaded for run in own]
    return findings_of(
        runs,
        [_pictures(run) for run in runs],
        places=tuple(map(str, places)),
        failures=tuple(_failed_cells(places)),
        unfinished=_unfinished(places),
        earlier=earlier,
        changes=changes,
        campaigns=tuple(
            CampaignFolder(p).record()["campaign"] for p in places if CampaignFolder.is_campaign(p)
        ),
        not_compared=why_not,
    )


def findings_of(
    runs: Sequence[Readouts],
    pictures: Sequence[Pictures | None],
    *,
    places: tuple[str, ...] = (),
    failures: tuple[tuple[str, str], ...] = (),
    unfinished: str = "",
    earlier: str | None = None,
    changes: CellChanges | None = None,
    campaigns: tuple[Mapping[str, Any], ...] = (),
    not_compared: str = "",
) -> Findings:
    """Judge readouts, and find out all that a page tells."""
    judged = judged_runs(runs, needed=())
    reported = tuple(map(_reported_run, judged, pictures, runs))
    sets = sets_of(judged)
    known = tuple(_reported(sets, reported))
    yardsticks = frozenset(yardsticks_of(sets))
    confidence = plain_confidence(run.run for run in runs)
    return Findings(
        places=places,
        runs=reported,
        sets=known,
        monitors=_ordered(known, yardsticks),
        yardsticks=yardsticks,
        answers=tuple(answers(sets, confidence=confidence)),
        warnings=tuple(
            (run.folder, told) for run in reported for told in classifier_warnings(run.judged.table)
        ),
        failures=(*failures, *_failed_monitors(reported)),
        unfinished=unfinished,
        earlier=earlier,
        changes=changes,
        campaigns=campaigns,
        not_compared=not_compared,
    )


def _changes(earlier: Sequence[Readouts], later: Sequence[Readouts]) -> tuple[CellChanges | None, str]:
    """Compare two places; where they have nothing in common that can be compared, say why."""
    try:
        found = cell_changes(judged_runs(earlier), judged_runs(later))
    except DataError as error:  # other streams, or labels that are not known
        return None, str(error)
    return found, "" if found is not None else "no run of one has its like in the other"


def _pictures(run: Readouts) -> Pictures | None:
    folder = Path(str(run.run["folder"]))
    return load_pictures(folder) if folder.is_dir() else None


def _reported_run(judged: JudgedRun, pictures: Pictures | None, readouts: Readouts) -> ReportedRun:
    known = not (judged.table.why_no_ood and judged.table.unlabelled.all())
    return ReportedRun(judged, pictures, None if known else readouts)


def _reported(sets: Sequence[BenchmarkSet], runs: Sequence[ReportedRun]) -> Iterator[ReportedSet]:
    """Find the run and the part that each set's first stream is of, and give each set an id of its own."""
    taken: dict[str, int] = {}
    for one in sets:
        run = runs[one.streams[0].run]
        name = f"cell-{slug(one.name)}"
        taken[name] = taken.get(name, 0) + 1
        yield ReportedSet(name if taken[name] == 1 else f"{name}-{taken[name]}", one, run, one.whole[0].part)


def _ordered(sets: Sequence[ReportedSet], yardsticks: frozenset[str]) -> tuple[str, ...]:
    """Return the monitors, the best first; those without a value behind, and yardsticks last."""
    monitors = dict.fromkeys(m for one in sets for records in one.set.records for m in records)

    def key(monitor: str) -> tuple[bool, int, float]:
        values = np.array([one.value(OVERALL, monitor) for one in sets])
        known = values[~np.isnan(values)]
        # Whoever failed on the hard sets is not better for it.
        return monitor in yardsticks, len(values) - len(known), -float(known.mean()) if known.size else 0.0

    return tuple(sorted(monitors, key=key))


def _failed_monitors(runs: Sequence[ReportedRun]) -> Iterator[tuple[str, str]]:
    for run in runs:
        for note in run.judged.monitors:
            if note.failure:
                yield f"{note.name} in {run.title}", note.failure


def _failed_cells(places: Sequence[Path | str]) -> Iterator[tuple[str, str]]:
    for folder, cell, place in _planned(places):
        failure = folder.failure(cell["id"]) if place is None else None
        if failure is not None:
            yield f"cell {cell['title']} of {folder.path}", failure["reason"]


def _unfinished(places: Sequence[Path | str]) -> str:
    missing = Counter(str(folder.path) for folder, _, place in _planned(places) if place is None)
    return "; ".join(f"{n} cells of {path} are not there" for path, n in missing.items())


def _planned(places: Sequence[Path | str]) -> Iterator[tuple[CampaignFolder, Mapping[str, Any], Path | None]]:
    for folder in (CampaignFolder(place) for place in places if CampaignFolder.is_campaign(place)):
        for cell, place in planned_cells(folder):
            yield folder, cell, place
