"""What a classifier or a monitor is worth in each scenario, the weakest first.

A cell has the instances that agree in some conditions, such as all at night in the rain. A measure that is a
share has Wilson's interval there, or that of whole tracks where instances share some; another one is
resampled by tracks, as `farm compare` does it; the time between failures has an interval of its own.

References
----------
C.-H. Cheng, G. Nührenberg, C.-H. Huang and H. Yasuoka, "Towards dependability metrics for neural networks",
MEMOCODE (2018), section II E.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import pandas as pd

from farm.api.arrays import IntArray
from farm.comparing.between_failures import MTBF, between_failures, table_failures
from farm.comparing.joint_tracks import ALARM_RATE, form_by_name, kinds_in, n_kinds, task_of
from farm.comparing.measures import ACCURACY, CLASSIFIER, ENDS, Measured, measured
from farm.comparing.sections import resampled
from farm.comparing.sets import NO_SEVERITY, BenchmarkSet
from farm.errors import ParameterError, suggestion
from farm.judging import JudgedRun, VerdictTable
from farm.measures import Bounded, Measure, undefined, wilson
from farm.measures.oracle import ORACLE
from farm.measures.parts import Group, Part, Partition
from farm.statistics.by_track import share_by_track
from farm.statistics.resolution import REPLICATES

SHARES = (
    *(
        f"{task}.{rate}"
        for task in ("overall", "specific")
        for rate in ("fpr", "fnr", "recall", "precision", "error", "micro_f1")
    ),
    *(ALARM_RATE, "coverage", "accepted_accuracy", "residual_hazard", ACCURACY),
)
"""The measures that are shares of instances of some kind."""
Scenario: TypeAlias = Mapping[str, str | None]
"""From conditions to their values; None where an instance has none."""


@dataclass(frozen=True, slots=True)
class ScenarioValue(Bounded):
    """A measure in one scenario, and how low and how high it may be."""

    scenario: Scenario
    n: int
    n_tracks: int
    """An instance without a track is one of its own."""
    higher_is_better: bool

    @property
    def at_best(self) -> Measure:
        """The end on the good side: the scenario is no better than that."""
        return self.high if self.higher_is_better else self.low

    @property
    def at_worst(self) -> Measure:
        """The end on the bad side."""
        return self.low if self.higher_is_better else self.high


def by_scenario(
    table: VerdictTable,
    conditions: Mapping[str, Sequence[str | None]],
    measure: str,
    monitor: str | None = None,
    *,
    by: Sequence[str] | None = None,
    level: float = 0.95,
    seed: int = 0,
    replicates: int = REPLICATES,
    frame_rate: float | None = None,
) -> list[ScenarioValue]:
    """Return a measure in each scenario that occurs, those first that are surely weak.

    What is compared is the end on the good side: a scenario comes first if even at its best it is weak, so
    that a few instances that happened to go wrong do not lead. Scenarios without that end come last.

    Parameters
    ----------
    table
        A judged run, or some of it.
    conditions
        By name, a word for each of the table's instances.
    measure
        A measure that monitors are compared by, or one of the classifier's; or `MTBF`.
    monitor
        Whose measure; None where it is the classifier's own. Of `MTBF`, None lets all decisions pass.
    by
        The conditions that scenarios are told apart by; all that are given where none is named.
    level
        Of both ends together; each holds by itself with (1 + level) / 2.
    frame_rate
        Instances a second; with it the time between failures is in seconds.

    Examples
    --------
    >>> from farm.judging.table import made_truth
    >>> light = np.repeat(["day", "night"], [300, 100])
    >>> wrong = np.arange(400) % np.where(light == "day", 20, 4) == 0
    >>> table = VerdictTable.from_arrays(made_truth(wrong=wrong, is_ood=np.zeros(400, dtype=bool)), [])
    >>> for cell in by_scenario(table, {"light": light}, "classifier_accuracy"):
    ...     ends = [round(end.value, 3) for end in (cell.low, cell.high)]
    ...     print(cell.scenario["light"], cell.n, cell.value.value, ends)
    night 100 0.75 [0.657, 0.825]
    day 300 0.95 [0.919, 0.969]
    """
    by = tuple(conditions) if by is None else tuple(by)
    what = Measured(MTBF, higher_is_better=True) if measure == MTBF else measured(measure)
    _check(table, conditions, by, what, monitor)
    cells = _cells(conditions, by)
    part = np.empty(len(table), dtype=np.int64)
    for number, rows in enumerate(cells.values()):
        part[rows] = number
    begins = table_failures(table, monitor, part) if measure == MTBF else None
    found = []
    for words, rows in cells.items():
        cell = table.take(rows)
        if begins is not None:
            bounded = between_failures(cell, begins[rows], level, frame_rate)
        elif not (value := _value(cell, what, monitor)).defined:
            bounded = Bounded.nowhere(value)
        elif what.name in SHARES:
            bounded = Bounded(value, *_ends_of_share(cell, what, monitor or CLASSIFIER, level))
        else:
            one = BenchmarkSet("this stream", CLASSIFIER, _words(words), "", NO_SEVERITY, streams=[cell])
            asked = {what: {monitor or CLASSIFIER: value}}
            drawn = resampled([one], asked, level=level, replicates=replicates, seed=seed)[what]
            if isinstance(drawn, str):
                bounded = Bounded(value, undefined(drawn), undefined(drawn))
            else:
                bounded = drawn.interval(what.name, monitor or CLASSIFIER)
        ends = (bounded.value, bounded.low, bounded.high)
        scenario = dict(zip(by, words, strict=True))
        found.append(ScenarioValue(*ends, scenario, len(rows), cell.n_tracks, what.higher_is_better))
    return sorted(found, key=_strength)


def discounted(value: Measure, measure: str, coverage: float) -> Measure:
    """Return a value that counts for a share of the scenarios only, all others being as bad as can be.

    A higher value that is better is multiplied by the share, and 0 is what counts as bad; what is below 0
    stays. Of a lower one that is better, 1 counts as bad, or the worst Brier score or calibration error. Of
    what has no worst value there is none, unless all was seen.

    Parameters
    ----------
    coverage
        The share of scenarios that were seen.

    Examples
    --------
    >>> discounted(Measure(0.9), "classifier_accuracy", 0.5).value
    0.45
    >>> discounted(Measure(0.1), "overall.error", 0.5).value
    0.55
    """
    if not 0 <= coverage <= 1:
        raise ParameterError(f"discounted: coverage = {coverage}; expected a share from 0 to 1")
    if not value.defined:
        return value
    if measure == MTBF or measured(measure).higher_is_better:
        return Measure(min(value.value, value.value * coverage))
    _, worst = ENDS.get(measure, (0.0, 1.0))
    if math.isinf(worst):
        return value if coverage == 1 else undefined(f"no value of {measure} counts as the worst")
    return Measure(worst - (worst - value.value) * coverage)


def _check(
    table: VerdictTable,
    conditions: Mapping[str, Sequence[str | None]],
    by: Sequence[str],
    what: Measured,
    monitor: str | None,
) -> None:
    if not by:
        raise ParameterError("by scenario: no condition is named; expected at least one")
    for name in by:
        if name not in conditions:
            raise ParameterError(f"by scenario: no condition '{name}'; {suggestion(name, conditions)}")
        if len(conditions[name]) != len(table):
            raise ParameterError(
                f"by scenario: {len(conditions[name])} values of condition '{name}'; expected {len(table)}, "
                "one an instance"
            )
    if what.along_time:
        raise ParameterError(
            f"by scenario: {what.name} is measured along whole streams; take another measure"
        )
    if what.of_classifier and monitor is not None:
        raise ParameterError(
            f"by scenario: {what.name} is the classifier's own; expected no monitor, and not '{monitor}'"
        )
    if monitor is None and what.name != MTBF and not what.of_classifier:
        raise ParameterError(
            f"by scenario: {what.name} needs a monitor; expected one of {', '.join(table.said)}"
        )
    if monitor is not None and monitor not in table.said:
        raise ParameterError(f"by scenario: no monitor '{monitor}'; {suggestion(monitor, table.said)}")


def _cells(
    conditions: Mapping[str, Sequence[str | None]], by: Sequence[str]
) -> dict[tuple[str | None, ...], IntArray]:
    """Return the rows of each scenario that occurs, in the order of its words."""
    columns = [pd.Series(np.asarray(conditions[name], dtype=object), dtype=object) for name in by]
    told = [column.where(column.notna(), None).tolist() for column in columns]
    cells: dict[tuple[str | None, ...], list[int]] = {}
    for row, words in enumerate(zip(*told, strict=True)):
        cells.setdefault(words, []).append(row)
    known = sorted(cells, key=lambda words: [(word is None, str(word)) for word in words])
    return {words: np.array(cells[words]) for words in known}


def _words(words: Sequence[str | None]) -> str:
    return ", ".join("not told" if word is None else str(word) for word in words)


def _value(cell: VerdictTable, what: Measured, monitor: str | None) -> Measure:
    """Return a measure of a cell: all of its instances are one part."""
    told_apart = cell.why_no_ood is None
    sides = (~cell.is_ood, cell.is_ood) if told_apart else (np.ones(len(cell), dtype=np.bool_),)
    partition = Partition(
        [np.flatnonzero(side) for side in sides], (Part(Group(), "all", tuple(range(len(sides)))),)
    )
    said = {} if monitor is None else {monitor: cell.said[monitor]}
    judged = JudgedRun({}, replace(cell, said=said, partition=partition))
    (record,) = (each for each in judged.points if each["monitor"] == (monitor or ORACLE))
    return what.of(record)


def _ends_of_share(cell: VerdictTable, what: Measured, monitor: str, level: float) -> tuple[Measure, Measure]:
    """Return the ends of a share that has a value: an instance alone is worth 0 or 1, or does not count."""
    task = task_of(what.name)
    worth = form_by_name(what.name)(np.eye(n_kinds(task)))[kinds_in(cell, task, monitor)]
    counting = ~np.isnan(worth)
    hit = worth[counting] == 1
    if cell.shares_tracks:
        return share_by_track(hit, cell.track_code[counting], level)
    return wilson(int(hit.sum()), len(hit), level)


def _strength(each: ScenarioValue) -> tuple[bool | float, ...]:
    """Return what puts the weakest first: by its good end, else by its value, else by its other end."""
    told = (each.at_best, each.value, each.at_worst)
    first = next((measure.value for measure in told if measure.defined), 0.0)
    return *(not measure.defined for measure in told), first if each.higher_is_better else -first
