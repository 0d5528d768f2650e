"""What can be told of a log, or of any run, by the scenarios that there could be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from farm.comparing.joint_tracks import ALARM_RATE
from farm.comparing.measures import ACCURACY
from farm.config.files import find_domain
from farm.config.scenario_domain import load_domain
from farm.errors import DataError, ParameterError, suggestion
from farm.judging.inspection import Look
from farm.judging.readouts import load_run
from farm.protocols.dependability import tables
from farm.protocols.dependability.coverage import ScenarioCoverage
from farm.protocols.dependability.performance import JudgedImages, MeasuredScenarios
from farm.protocols.dependability.streams import ScenarioCodes
from farm.protocols.dependability.watched import WatchedCells
from farm.store.logs import CONDITION, condition_columns
from farm.store.readouts import Readouts

HAZARD = "residual_hazard"
RARE = 0.05
SECONDS = 5.0
"""For what to record next."""


def scenario_looks(place: Path, domain: str, ks: Sequence[int]) -> Iterator[Look]:
    """Return what a run or a log says by scenarios: coverage, alarms, and where labels are known accuracy.

    Parameters
    ----------
    place
        A run's folder, or a log with a column for each condition.
    domain
        A file of conditions and restrictions, or the name of one that ships with the testbed.
    ks
        How many conditions a cell has.
    """
    path = find_domain(domain, Path())
    made = load_domain(path)
    for k in ks:
        if not 1 <= k <= len(made.names):
            raise ParameterError(f"--k {k}; expected from 1 to {len(made.names)}, the number of conditions")
    readouts = _with_conditions(place, made.names)
    scenarios = ScenarioCodes(made, str(path), {})
    name = str(readouts.run.get("name") or place.name)
    yield from tables.coverage_looks(ScenarioCoverage.of_data(scenarios, {name: readouts}, ks, (1, SECONDS)))
    images = JudgedImages.of(readouts, scenarios, made.names)
    for measure, monitor in _told(images):
        one = MeasuredScenarios(measure, monitor, images, 1.0)
        yield tables.scenario_look(one)
    codes = scenarios.codes(readouts)
    if images.table.why_no_ood is None and images.table.is_ood.any():
        faults = readouts.instances["faultload"].fillna("OOD").to_numpy(dtype=np.str_)
        ood = images.table.is_ood
        by_fault = {str(one): codes[ood & (faults == one)] for one in np.unique(faults[ood])}
        yield from tables.watched_looks(WatchedCells.of_codes(scenarios, codes[~ood], by_fault, ks, RARE))


def _with_conditions(place: Path, names: Sequence[str]) -> Readouts:
    """Return readouts with the conditions of a domain; in the columns of logs case makes no difference."""
    readouts = load_run(place, [name.lower() for name in names])
    known = condition_columns(map(str, readouts.instances.columns))
    by_case = {name.lower(): column for name, column in known.items()}
    columns = {}
    for name in names:
        if name.lower() not in by_case:
            others = [*known, *((readouts.run.get("log") or {}).get("ignored_columns") or ())]
            raise DataError(
                f"{place} does not tell the condition '{name}' of its instances; {suggestion(name, others)}"
            )
        columns[by_case[name.lower()]] = CONDITION.format(name)
    return replace(readouts, instances=readouts.instances.rename(columns=columns))


def _told(images: JudgedImages) -> Iterator[tuple[str, str | None]]:
    """Yield what can be told scenario by scenario."""
    labelled = images.table.why_no_label is None
    if labelled:
        yield ACCURACY, None
    for monitor in images.table.said:
        yield ALARM_RATE, monitor
        if labelled:
            yield HAZARD, monitor
