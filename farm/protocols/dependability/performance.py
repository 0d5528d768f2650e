"""What decisions are worth, scenario by scenario: the classifier's, and with monitors under all faults."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd

from farm.comparing.between_failures import MTBF
from farm.comparing.by_scenario import ScenarioValue, by_scenario, discounted
from farm.comparing.measures import CLASSIFIER, OF_CLASSIFIER
from farm.judging.table import VerdictTable
from farm.measures.measure import Bounded, Measure, undefined
from farm.protocols.dependability.activity import told_by
from farm.protocols.dependability.coverage import ScenarioCoverage
from farm.protocols.dependability.kinds import SCENARIO
from farm.protocols.dependability.rows import LEVEL, Lacking, MetricRow
from farm.protocols.dependability.streams import MISSING, ScenarioCodes, Streams
from farm.store.readouts import Readouts

ALL, DISCOUNTED, WEAKEST = "all", "discounted", "weakest"
TEST = "test"
HOW = "draws of tracks where images share some, else Wilson's or Garwood's interval"
TOGETHER = "chosen of all scenarios, whose ends hold together"
UNORDERED = "the stream is shuffled; say `performance: {ordered: true}` where images come as they were taken"
NO_MONITOR = "no monitor is asked for; name some under monitors"


@dataclass(frozen=True, eq=False)
class JudgedImages:
    """A table of images, with the words of each condition that scenarios are told by."""

    table: VerdictTable
    conditions: Mapping[str, list[str | None]]

    @classmethod
    def of(cls, readouts: Readouts, scenarios: ScenarioCodes, names: Sequence[str]) -> JudgedImages:
        """Judge readouts, and name the value of each condition."""
        codes = scenarios.codes(readouts)
        conditions: dict[str, list[str | None]] = {}
        for name in names:
            own = codes[:, scenarios.domain.names.index(name)]
            values = np.array([*scenarios.domain.conditions[name], None], dtype=object)
            conditions[name] = values[np.where(own == MISSING, len(values) - 1, own)].tolist()
        return cls(VerdictTable.of(readouts.instances, readouts.alarms, readouts.run), conditions)


@dataclass(frozen=True, eq=False)
class MeasuredScenarios:
    """A measure of the classifier, or of a monitor, in each scenario."""

    measure: str
    monitor: str | None
    images: JudgedImages
    coverage: float
    """The share of the scenarios that the test data have."""
    frame_rate: float | None = None
    _known: dict[tuple[bool, float], list[ScenarioValue]] = field(
        default_factory=dict, init=False, repr=False
    )
    """What was measured: of all images or scenario by scenario, at each level."""

    @property
    def prefix(self) -> str:
        """What the names of parts begin with."""
        return "" if self.monitor is None else f"{self.monitor}, "

    @property
    def title(self) -> str:
        """What tables call it."""
        return self.measure if self.monitor is None else f"{self.measure} of {self.monitor}"

    def cells(self, level: float = LEVEL) -> list[ScenarioValue]:
        """Return the scenarios, those first that are weak even at their better end."""
        return self._measured(level)

    def all(self, level: float = LEVEL) -> ScenarioValue:
        """Return the measure of all images."""
        (one,) = self._measured(level, whole=True)
        return one

    def _measured(self, level: float, *, whole: bool = False) -> list[ScenarioValue]:
        """Measure, once for each level: tables, figures and sentences ask again and again."""
        if (whole, level) not in self._known:
            conditions = {ALL: [ALL] * len(self.images.table)} if whole else self.images.conditions
            self._known[whole, level] = by_scenario(
                self.images.table,
                conditions,
                self.measure,
                self.monitor,
                level=level,
                frame_rate=self.frame_rate,
            )
        return self._known[whole, level]

    def discounted(self, level: float = LEVEL) -> Bounded:
        """Return the measure where a scenario that was never recorded counts as worst."""
        every = self.all(level)
        return Bounded(
            *(discounted(each, self.measure, self.coverage) for each in (every.value, every.low, every.high))
        )

    def rows(self, level: float) -> Iterator[MetricRow]:
        """Yield the measure of all images, discounted, of the weakest scenario, and of each."""
        metric, both = f"{SCENARIO}.{self.measure}", 2 * level - 1
        every, cells, about = self.all(both), self.cells(both), self.monitor or CLASSIFIER
        sizes = dict.fromkeys((ALL, DISCOUNTED), (every.n, every.n_tracks, HOW))
        whole = {ALL: plain(every), DISCOUNTED: self.discounted(both)}
        if self.measure != MTBF:
            one = self.weakest
            sizes[WEAKEST] = (one.n, one.n_tracks, f"{told_scenario(one)}: {TOGETHER}")
            whole[WEAKEST] = _bounds_of_worst(self._at_once(both))
        for part, value in whole.items():
            n, tracks, how = sizes[part]
            yield MetricRow(metric, f"{self.prefix}{part}", value, n, how, tracks=tracks, about=about)
        for one in cells:
            part = f"{self.prefix}{told_scenario(one)}"
            yield MetricRow(metric, part, plain(one), one.n, HOW, True, one.n_tracks, about)

    def _at_once(self, level: float) -> list[ScenarioValue]:
        """Return the scenarios that are told, with ends so far apart that all hold at once with the level."""
        told = self.told
        return [] if not told else _told(self.cells(1 - (1 - level) / len(told)))

    @cached_property
    def told(self) -> list[ScenarioValue]:
        """The scenarios of which each condition is told."""
        return _told(self.cells())

    @cached_property
    def weakest(self) -> ScenarioValue:
        """The scenario with the worst value; where none has any, the first."""
        known = [one for one in self.told if one.value.defined] or self.cells()
        sign = 1 if known[0].higher_is_better else -1
        return min(known, key=lambda one: sign * one.value.value)

    @cached_property
    def surely_weak(self) -> list[ScenarioValue]:
        """The scenarios that are weaker than all images together, where the ends of all hold at once."""
        every = self.all().value
        if not every.defined:
            return []
        sign = 1 if self.weakest.higher_is_better else -1
        return [
            one
            for one in self._at_once(LEVEL)
            if one.at_best.defined and sign * one.at_best.value < sign * every.value
        ]


def told_scenario(one: ScenarioValue) -> str:
    """Return a scenario in words."""
    return ", ".join(
        f"{name}={'not told' if value is None else value}" for name, value in one.scenario.items()
    )


def plain(one: ScenarioValue) -> Bounded:
    """Return a scenario's value and its ends alone."""
    return Bounded(one.value, one.low, one.high)


def _told(cells: list[ScenarioValue]) -> list[ScenarioValue]:
    return [one for one in cells if None not in one.scenario.values()]


def _bounds_of_worst(cells: list[ScenarioValue]) -> Bounded:
    """Return the worst value of any scenario and its ends, where all scenarios' ends hold together."""
    if not cells:
        return Bounded.nowhere(undefined("no image has all conditions"))
    pick = min if cells[0].higher_is_better else max
    values = [one.value for one in cells if one.value.defined]
    value = Measure(pick(one.value for one in values)) if values else cells[0].value
    return Bounded(value, *(_whole([getattr(one, end) for one in cells], pick) for end in ("low", "high")))


def _whole(ends: list[Measure], pick: Callable[[Iterable[float]], float]) -> Measure:
    """Return the one end of all; where one is missing there is none."""
    return next((one for one in ends if not one.defined), None) or Measure(pick(one.value for one in ends))


@dataclass(frozen=True, eq=False)
class NextRecording:
    """What to record next for the scenario in which a monitor is weakest."""

    of: MeasuredScenarios
    weakest: ScenarioValue
    """One that is surely weak, if there is any, else that with the worst value."""
    scenario: Mapping[str, str]
    new: int
    """How many cells it would be the first to have; 0 where all that it has was recorded."""


@dataclass(frozen=True, eq=False)
class ScenarioPerformance:
    """All measures that were asked for, each scenario by scenario."""

    found: tuple[MeasuredScenarios, ...]
    recorded: ScenarioCoverage
    """Of the test data."""
    lacking: tuple[tuple[str, str, str], ...]
    """Measures that have no value, of which part, and why."""

    @classmethod
    def of_streams(cls, streams: Streams) -> ScenarioPerformance | Lacking:
        """Judge the test data as they are, and with all faults put on them."""
        scenarios, asked = streams.scenarios, streams.spec.performance
        if isinstance(scenarios, str):
            return Lacking(tuple(f"{SCENARIO}.{one}" for one in (*asked.measures, MTBF)), scenarios)
        names = told_by(streams, scenarios)
        told, ks = streams.spec.scenarios, {len(names), *streams.spec.scenarios.k}
        recorded = ScenarioCoverage.of_data(scenarios, {TEST: streams.plain}, sorted(ks), (1, told.seconds))
        share = recorded.share(TEST, len(names))
        plain = JudgedImages.of(streams.plain, scenarios, names)
        joined = _together([streams.plain, *streams.faulted.values()])
        every = JudgedImages.of(joined, scenarios, names)
        monitors = [name for name in streams.spec.monitor_names if name in every.table.said]
        notes = {note["name"]: note["failure"] for note in joined.run["monitors"]}
        silent = [(f"{name}, {ALL}", why) for name in streams.spec.monitor_names if (why := notes.get(name))]
        if not streams.spec.monitors:
            silent = [(ALL, NO_MONITOR)]
        found: list[MeasuredScenarios] = []
        lacking: list[tuple[str, str, str]] = []
        for measure in asked.measures:
            if measure in OF_CLASSIFIER:
                found.append(MeasuredScenarios(measure, None, plain, share))
            else:
                found += [MeasuredScenarios(measure, name, every, share) for name in monitors]
                lacking += [(measure, part, why) for part, why in silent]
        if asked.ordered:
            found += [
                MeasuredScenarios(MTBF, name, plain, share, asked.frame_rate) for name in (None, *monitors)
            ]
        else:
            lacking.append((MTBF, ALL, UNORDERED))
        return cls(tuple(found), recorded, tuple(lacking))

    @property
    def next_recordings(self) -> list[NextRecording]:
        """What to record next for the weakest scenario of each monitor."""
        found = []
        for one in self.found:
            if one.monitor is None or one.measure == MTBF:
                continue
            weakest = (one.surely_weak or [one.weakest])[0]
            cell = {name: value for name, value in weakest.scenario.items() if value is not None}
            proposal = self.recorded.scenario_with(TEST, cell)
            scenario = cell if proposal is None else self.recorded.of.domain.written(proposal.scenario)
            found.append(NextRecording(one, weakest, scenario, 0 if proposal is None else proposal.gain))
        return found

    def rows(self, level: float) -> list[MetricRow]:
        """Return each measure of all images, of the weakest scenario, and of each."""
        rows = [row for one in self.found for row in one.rows(level)]
        rows += [
            MetricRow(f"{SCENARIO}.{measure}", part, Bounded.nowhere(undefined(why)), 0, "")
            for measure, part, why in self.lacking
        ]
        return rows


def _together(every: list[Readouts]) -> Readouts:
    """Return several streams of one classifier one behind the other."""
    instances, alarms, start = [], [], 0
    for one in every:
        instances.append(one.instances.assign(position=one.instances["position"] + start))
        alarms.append(one.alarms.assign(position=one.alarms["position"] + start))
        start += int(one.instances["position"].max()) + 1
    failed = {m["name"]: m["failure"] for one in every for m in one.run["monitors"] if m["failure"]}
    monitors = [{**m, "failure": failed.get(m["name"])} for m in every[0].run["monitors"]]
    joined = pd.concat(alarms, ignore_index=True)
    return Readouts(pd.concat(instances, ignore_index=True), joined, {**every[0].run, "monitors": monitors})
