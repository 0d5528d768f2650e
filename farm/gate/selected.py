"""What a criterion selects of some runs: benchmark sets, their streams and rows, and the monitors on them.

That what was selected has not what the measure needs is an error, never a pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from farm.api.arrays import NO_ANSWER, FloatArray
from farm.comparing import BenchmarkSet
from farm.comparing.measures import CLASSIFIER
from farm.comparing.sets import NO_CATEGORY, NO_SEVERITY
from farm.errors import suggestion
from farm.gate.criterion import Criterion
from farm.gate.measures import ALONG_TIME, Need, Side
from farm.gate.population import GatedRun, Population, RunOfSet, RunRows, grouped
from farm.measures.boxes import why_no_boxes
from farm.measures.episodes import OUTSIDE, begun
from farm.store.readouts import Readouts

WITHOUT_LABELS = "alarm_rate and drift need neither labels nor is_ood"
ID = "ID"
"""What stands in a fault's place where only ID instances are selected, which all faults of a run share."""


@dataclass(frozen=True, eq=False)
class Selected:
    """What one verdict on each of some monitors is about."""

    name: str
    """Such as `category:noise`."""
    streams: tuple[RunOfSet, ...]
    """With the selected instances alone."""
    sets: tuple[BenchmarkSet, ...]
    """The same streams set by set, without records."""
    runs: tuple[RunRows, ...]
    """The same instances run by run, as rows of the readouts."""
    monitors: tuple[str, ...]
    """Those to judge; of a measure that is not of monitors, `CLASSIFIER` alone."""
    failures: Mapping[str, str]
    """Why monitors failed, by name: their streams have nothing of them."""

    @property
    def set_names(self) -> tuple[str, ...]:
        """The names of the sets."""
        return tuple(one.name for one in self.sets)

    @property
    def sound(self) -> list[str]:
        """The monitors that did not fail."""
        return [name for name in self.monitors if name not in self.failures]


def select(runs: Sequence[Readouts] | Population, criterion: Criterion) -> list[Selected]:
    """Select what a criterion is about: one, or one for each value of its `each`. Nothing is an error.

    Parameters
    ----------
    runs
        Those on one workload and classifier with one fault are repetitions of one set. For several criteria
        make a `Population` of them first: it has all that does not depend on a criterion.
    criterion
        What is to be judged.

    Examples
    --------
    >>> import pandas as pd
    >>> from farm.gate.criterion import parse_criterion
    >>> instances = pd.DataFrame({"position": range(4), "label": 0, "predicted": 0, "category": "shift"})
    >>> instances = instances.assign(is_ood=[False, False, True, True], faultload="fog")
    >>> alarms = pd.DataFrame({"position": range(4), "monitor": "odin", "alarm": [True, False, True, True]})
    >>> runs = [Readouts(instances, alarms)]
    >>> (selected,) = select(runs, parse_criterion("specific.fpr <= 5 % on id"))
    >>> selected.name, selected.monitors, len(selected.sets[0].streams[0])
    ('id', ('odin',), 2)
    >>> selected.runs[0].table.position.tolist()
    [0, 1]
    >>> select(runs, parse_criterion("specific.fpr <= 5 % on category:shif"))
    Traceback (most recent call last):
    farm.errors.ExperimentError: criterion 'specific.fpr <= 5 % on category:shif': nothing has category:shif;
        did you mean 'shift'? there is shift
    """
    population = runs if isinstance(runs, Population) else Population.of(runs)
    selection = criterion.selection
    every = []
    for apart, streams in grouped(population.matching(criterion), criterion):
        if criterion.gated.kind in ALONG_TIME:
            _check_whole(streams, population, criterion)
        name = replace(selection, each=None, conditions=(*apart, *selection.conditions)).name
        if selection.side or criterion.gated.sides or criterion.gated.kind in ALONG_TIME:
            _check_is_ood(streams, criterion)
        own = _of_side(streams, selection.side)
        if not own:
            what, value = ("OOD", "false") if selection.side == "ood" else ("ID", "true")
            raise criterion.error(f"there is no {what} instance: 'is_ood' is {value} for all of {name}")
        gated = list(dict.fromkeys(each.run for each in own))
        monitors = _monitors(gated, criterion)
        failures = {m: why for m in monitors if (why := _failure(m, gated))}
        rows = tuple(RunRows.of(own, run) for run in gated)
        selected = Selected(name, tuple(own), _sets(own), rows, monitors, failures)
        for need, missing in _missing(selected, criterion.gated.needs):
            hint = _hint(criterion, selected) if need == "ood" else ""
            raise criterion.error(f"{criterion.measure} {missing}{hint}")
        every.append(selected)
    return every


def _check_is_ood(streams: Sequence[RunOfSet], criterion: Criterion) -> None:
    """Check that ID and OOD instances are known apart."""
    for each in streams:
        if why := each.stream.why_no_ood:
            side = f" on {criterion.selection.side}" if criterion.selection.side else ""
            raise criterion.error(
                f"{criterion.measure}{side} needs 'is_ood' for all {each.size}: {why}; {WITHOUT_LABELS}"
            )


def _of_side(streams: Sequence[RunOfSet], side: Side | None) -> list[RunOfSet]:
    """Leave one side of each stream; where it has none, nothing of it."""
    if side is None:
        return list(streams)
    if side == "ood":
        return [each.only(each.stream.is_ood) for each in streams if each.stream.is_ood.any()]
    by_run: dict[int, RunOfSet] = {}
    for each in streams:
        if each.run.number not in by_run and not each.stream.is_ood.all():
            of = BenchmarkSet(each.of.workload, each.of.classifier, ID, NO_CATEGORY, NO_SEVERITY)
            by_run[each.run.number] = replace(each.only(~each.stream.is_ood), of=of)
    return list(by_run.values())


def _sets(streams: Sequence[RunOfSet]) -> tuple[BenchmarkSet, ...]:
    """Sort streams into sets again."""
    sets: dict[BenchmarkSet, BenchmarkSet] = {}
    for each in streams:
        sets.setdefault(each.of, replace(each.of, records=[], streams=[])).streams.append(each.stream)
    return tuple(sets.values())


def _check_whole(streams: Sequence[RunOfSet], population: Population, criterion: Criterion) -> None:
    """Check that each run is selected with all of its faults: a delay counts every instance that passes."""
    chosen = {(each.run.number, each.of) for each in streams}
    runs = {number for number, _ in chosen}
    for each in population.streams:
        if each.run.number in runs and (each.run.number, each.of) not in chosen:
            raise criterion.error(
                f"{criterion.measure} is measured along whole streams, and that of {each.run.name} also has "
                f"{each.of.name}, which is not selected; select all of its faults, or run them apart"
            )


def _monitors(runs: Sequence[GatedRun], criterion: Criterion) -> tuple[str, ...]:
    """Name those to judge, each of which has to be in all runs that are selected."""
    if not criterion.gated.of_monitors:
        return (CLASSIFIER,)
    known = {name: each for run in runs for name, each in run.monitors.items()}
    asked = criterion.monitors
    if asked is None:
        blind = {name for run in runs for name in run.yardsticks}
        asked = tuple(name for name, each in known.items() if each.ranked and name not in blind)
        if not asked:
            raise criterion.error(
                "no run has a monitor that it ranks, but for those that know nothing; name one with 'for'"
            )
    for name in asked:
        if name not in known:
            raise criterion.error(
                f"monitor '{name}' is in no run that is selected; {suggestion(name, known)}"
            )
        if without := [run.name for run in runs if name not in run.monitors]:
            raise criterion.error(
                f"monitor '{name}' is not in {without[0]}; expected it in each of the {len(runs)} runs that "
                "are selected: name others with 'for'"
            )
    return asked


def _failure(monitor: str, runs: Sequence[GatedRun]) -> str | None:
    """Say in a clause that a monitor failed and why, and in which run where there are several."""
    if monitor == CLASSIFIER:
        return None
    failures = [(run.name, why) for run in runs if (why := run.monitors[monitor].failure)]
    if not failures:
        return None
    name, why = failures[0]
    # Whoever tells of it has named the monitor already, and a failure's own words mostly begin with it.
    bare = why.removeprefix(f"monitor '{monitor}'")
    is_named = bare != why and bare.startswith((" ", ": its "))
    if len(runs) > 1:
        short = bare.lstrip(": ") if is_named else why
        return f"the monitor failed in {len(failures)} of {len(runs)} runs ({name}: {short})"
    if not is_named:
        return f"the monitor failed: {why}"
    return f"the monitor{bare}" if bare.startswith(" ") else f"the monitor's {bare.removeprefix(': its ')}"


def _missing(selected: Selected, needs: frozenset[Need]) -> Iterator[tuple[Need, str]]:
    """Say what a measure needs and what was selected has not."""
    for each in selected.streams:
        is_ood = each.stream.is_ood
        if "labels" in needs and (why := each.stream.why_no_label):
            yield "labels", f"needs 'label' for all {each.size}: {why}; {WITHOUT_LABELS}"
        if "id" in needs and is_ood.all():
            yield "id", f"needs ID instances, and 'is_ood' is true for all {each.size}"
        if "ood" in needs and not is_ood.any():
            yield "ood", f"needs OOD instances, and 'is_ood' is false for all {each.size}"
        if "answers" in needs and (each.stream.label == NO_ANSWER).all():
            yield (
                "answers",
                f"needs instances that have a right answer, and 'label' is -1 for all {each.size}",
            )
        if "brier" in needs and (lacks := _lacks(each.stream.brier, each)):
            yield "brier", f"needs 'brier' {lacks}"
        if "confidence" in needs and (lacks := _lacks(each.stream.confidence, each)):
            yield "confidence", f"needs 'confidence' {lacks}"
        if "label_probability" in needs and (lacks := _lacks(each.stream.label_probability, each)):
            yield "label_probability", f"needs 'label_probability' {lacks}"
        if "boxes" in needs and (why := why_no_boxes(each.stream.boxes, spread="box_spread" in needs)):
            yield "boxes", f"needs boxes for all {each.size}: {why}"
        if "image_size" in needs and each.stream.image_size is None:
            unknown = f"{each.run.name} does not note it; box_iou needs none"
            yield "image_size", f"needs the images' height and width, and {unknown}"
        if "classes" in needs and each.stream.classifier_classes is None:
            unknown = f"{each.run.name} does not note it; classifier_brier_sum needs none"
            yield "classes", f"needs the number of classes, and {unknown}"
        for name in selected.sound if "scores" in needs else ():
            if each.stream.said[name].scores is None:
                lacks = f"'score' is missing for alarms of monitor '{name}' in {each.run.name}"
                yield "scores", f"needs scores, and {lacks}; name others with 'for'"
    for run, table in ((each.run, each.table) for each in selected.runs):
        for name in selected.sound if "monitor_times" in needs else ():
            if _untimed(table.said[name].time_us):
                lacks = f"'monitor_time_us' is missing for all alarms of monitor '{name}' in {run.name}"
                yield "monitor_times", f"needs times, and {lacks}"
        if "classifier_times" in needs and _untimed(table.time_us):
            lacks = f"'classifier_time_us' is missing for all instances of {run.name}"
            yield "classifier_times", f"needs times, and {lacks}"
        if "episodes" in needs and not run.has_episodes:
            yield "episodes", f"needs a stream with onsets, and {run.name} has no column 'episode'"
        elif "episodes" in needs and (
            table.episode is None or (begun(table.episode, table.is_ood) == OUTSIDE).all()
        ):
            order = f" in the order '{run.order}'" if run.order else ""
            yield "episodes", f"needs onsets, and by 'episode' the stream of {run.name}{order} has none"
        for name in selected.sound if "bytes" in needs else ():
            if run.monitors[name].nbytes is None:
                yield "bytes", f"needs the size of monitor '{name}', and 'nbytes' is not noted in {run.name}"


def _lacks(values: FloatArray | None, of: RunOfSet) -> str | None:
    """Say for how many instances that have a right answer there is no value; None where all have one."""
    answered = of.stream.answered
    missing = int(answered.sum()) if values is None else int(np.isnan(values[answered]).sum())
    return (
        f"where there is a right answer, and it is missing for {missing:,} of {of.size}" if missing else None
    )


def _untimed(time_us: FloatArray | None) -> bool:
    return time_us is None or bool(np.isnan(time_us).all())


def _hint(criterion: Criterion, selected: Selected) -> str:
    """Say how to leave out streams without OOD instances, where others have some."""
    side_free = criterion.selection.side is None and criterion.gated.refuses("ood") is None
    some = any(each.stream.is_ood.any() for each in selected.streams)
    return "; 'on ood' leaves such streams out" if side_free and some else ""
