"""One part of a comparison, such as a faultload: monitors in order, and who cannot be told from the best.

Where a control is named, each other monitor is compared with that one instead.

How sure that is resampling says: the mean over the streams of some sets, again and again. All measures are of
the same draws, and in each draw every stream keeps its own share of OOD instances.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from farm.api.arrays import FloatArray
from farm.comparing.along_time import StreamPart, pooled, redrawn, size
from farm.comparing.classifier_sums import GAPS, MEANS
from farm.comparing.joint_tracks import AUROC, JointTracks, StreamCounts, form_of
from farm.comparing.measures import Measured
from farm.comparing.sets import BenchmarkSet, each_once
from farm.measures import Measure, undefined
from farm.measures.certainty import BRIER_MEAN, CONFIDENCE_AUROC
from farm.statistics.bootstrap import Bootstrap, Column, bootstrap
from farm.statistics.corrections import holm
from farm.statistics.resampling import FEWEST
from farm.statistics.resolution import Resolution, of_all_pairs
from farm.statistics.table import Missing

UNDEFINED, NOT_RUN, FAILED = "undefined", "not run", "failed"
"""Why a monitor may have no value."""
NO_VALUE = "no monitor has a value"


@dataclass(frozen=True)
class Standing:
    """Where one monitor stands in a section."""

    monitor: str
    value: Measure
    """The mean over the section's sets."""
    low: Measure
    high: Measure
    p: Measure
    """Of no difference to the best, corrected for all pairs of monitors; or to the control, by Holm."""
    like_best: bool | None
    """Whether it cannot be told from the best on these streams; None where no answer is possible or asked."""
    gap: str | None = None
    """Why there is no value, in a word: `undefined`, `not run` or `failed`."""
    like_control: bool | None = None
    """Whether it cannot be told from the control; None where there is none, or no answer is possible."""


@dataclass(frozen=True)
class Section:
    """One value of what the comparison is by, and all that was found there."""

    name: str
    sets: tuple[str, ...]
    n_streams: int
    n: int
    """Instances; those that sets of one run share count once. Along time, onsets or quiet instances."""
    n_groups: int | None
    """Tracks that were resampled; None where nothing was."""
    standings: tuple[Standing, ...]
    """Best first; those without a value last."""
    notes: tuple[str, ...]
    resolution: Resolution | None = None
    """How small p can be at all; None where nothing was resampled."""
    control: str | None = None
    """The monitor that the others are compared with; None: the best."""
    unit: str = "instances"
    """What `n` counts."""

    @property
    def best(self) -> str | None:
        """The monitor with the best value."""
        return self.standings[0].monitor if self.standings and self.standings[0].value.defined else None


def section(
    name: str,
    sets: Sequence[BenchmarkSet],
    measure: Measured,
    monitors: Sequence[str],
    *,
    alpha: float,
    replicates: int | None,
    seed: int,
    control: str | None = None,
) -> Section:
    """Compare monitors on the streams of these sets."""
    (found,) = sections(
        name, sets, [measure], monitors, alpha=alpha, replicates=replicates, seed=seed, control=control
    ).values()
    return found


def sections(
    name: str,
    sets: Sequence[BenchmarkSet],
    measures: Sequence[Measured],
    monitors: Sequence[str],
    *,
    alpha: float,
    replicates: int | None,
    seed: int,
    control: str | None = None,
) -> dict[str, Section]:
    """Compare monitors by several measures of the same draws; by the measures' names.

    Without `replicates`, there are as many as the number of monitors asks for.
    """
    cells = {measure: {m: _value(sets, measure, m) for m in monitors} for measure in measures}
    values = {
        measure: {m: value for m, (value, _) in own.items() if value.defined}
        for measure, own in cells.items()
    }
    by_control = control is not None
    made = resampled(sets, values, level=1 - alpha, replicates=replicates, seed=seed, control=by_control)
    found = {}
    for measure, drawn in made.items():
        own = values[measure]
        ranked = sorted(own, key=lambda m: own[m].value, reverse=measure.higher_is_better)
        p = _p_values(drawn, measure, ranked, control)
        resolution = None
        if not isinstance(drawn, str):
            known = sum(each.defined for each in p.values())
            resolution = Resolution(drawn.fewest, drawn.replicates, known + 1, alpha, by_control)
        n, unit = sum(int(rows.sum()) for _, _, rows in each_once(sets)), "instances"
        if measure.along_time:
            n, unit = size(_whole(sets), measure)
        standings = tuple(_standings(measure, cells[measure], drawn, p, resolution, control))
        found[measure.name] = Section(
            name=name,
            sets=tuple(one.name for one in sets),
            n_streams=sum(len(one.streams) for one in sets),
            n=n,
            unit=unit,
            n_groups=None if isinstance(drawn, str) else drawn.n_groups,
            standings=standings,
            notes=tuple(_notes(drawn, standings, resolution, control)),
            resolution=resolution,
            control=control,
        )
    return found


def _standings(
    measure: Measured,
    cells: Mapping[str, tuple[Measure, str | None]],
    made: Bootstrap | str,
    p: Mapping[str, Measure],
    resolution: Resolution | None,
    control: str | None,
) -> Iterator[Standing]:
    for monitor, own in p.items():
        if isinstance(made, str):
            low = high = undefined(made)
        else:
            interval = made.interval(measure.name, monitor)
            low, high = interval.low, interval.high
        like = None
        if monitor == (control or next(iter(p))):
            like = True
        elif own.defined and resolution is not None and resolution.enough:
            like = own.value >= resolution.alpha
        of_best, of_control = (like, None) if control is None else (None, like)
        yield Standing(monitor, cells[monitor][0], low, high, own, of_best, None, of_control)
    for monitor, (why, gap) in cells.items():
        if gap is not None:
            yield Standing(monitor, why, why, why, why, None, gap)


def _p_values(
    made: Bootstrap | str, measure: Measured, ranked: Sequence[str], control: str | None
) -> dict[str, Measure]:
    """Return each monitor's p of no difference to the best or the control, or why there is none."""
    if not ranked:
        return {}
    than, role = (ranked[0], "best") if control is None else (control, "control")
    others = [m for m in ranked if m != than]
    found = dict.fromkeys(ranked, undefined(f"it is the {role}"))
    if than not in ranked:
        return dict.fromkeys(ranked, undefined(f"{than}, the control, has no value"))
    if isinstance(made, str):
        return found | dict.fromkeys(others, undefined(made))
    raw = {m: made.difference(measure.name, than, m).p for m in others}
    known = [m for m in others if raw[m].defined]
    values = [raw[m].value for m in known]
    corrected = [of_all_pairs(p, len(known) + 1) for p in values] if control is None else holm(values)
    why = {m: undefined(f"the difference to the {role}: {raw[m].reason}") for m in others if m not in known}
    return found | why | dict(zip(known, map(Measure, corrected), strict=True))


def _notes(
    made: Bootstrap | str,
    standings: Sequence[Standing],
    resolution: Resolution | None,
    control: str | None,
) -> Iterator[str]:
    if isinstance(made, str) and any(standing.value.defined for standing in standings):
        yield f"no intervals: {made}"
    if resolution is not None and not resolution.enough and any(each.p.defined for each in standings):
        yield f"no monitor can be told from {control or 'another'} here: {resolution.words}"
    for standing in standings:
        if not standing.value.defined:
            yield f"{standing.monitor}: {standing.value.reason}"


def _value(sets: Sequence[BenchmarkSet], measure: Measured, monitor: str) -> tuple[Measure, str | None]:
    """Average over sets; where it has no value on one of them it has no mean, and the word for that.

    Along time, the onsets of all sets are one table.
    """
    cells = [(one, one.cell(measure, monitor)) for one in sets]
    gaps: dict[str, list[str]] = {FAILED: [], NOT_RUN: [], UNDEFINED: []}
    for one, cell in cells:
        if isinstance(cell, Missing):
            why = one.failures.get(monitor)
            some = cell.reason.removeprefix("was not run").strip()
            gaps[FAILED if why else NOT_RUN].append(why or (f"{some} of {one.name}" if some else one.name))
        elif not cell.defined and not measure.along_time:
            gaps[UNDEFINED].append(str(cell.reason))
    for gap, reasons in gaps.items():
        if reasons:
            where = f" on {len(reasons)} of {len(sets)} sets" if len(sets) > 1 else ""
            return undefined(f"{gap}{where} ({reasons[0]})"), gap
    if measure.along_time:
        found = pooled(_whole(sets), measure, monitor)
        return found, None if found.defined else UNDEFINED
    return Measure(float(np.mean([cell.value for _, cell in cells if isinstance(cell, Measure)]))), None


def resampled(
    sets: Sequence[BenchmarkSet],
    values: Mapping[Measured, Mapping[str, Measure]],
    *,
    level: float,
    replicates: int | None,
    seed: int,
    control: bool = False,
) -> dict[Measured, Bootstrap | str]:
    """Resample all streams together, once for all measures of the monitors that have a value of them.

    What is measured along time is drawn by episodes, or by tracks of quiet instances. Where nothing can be
    drawn for a measure, its place holds the reason.
    """
    drawn: dict[Measured, Bootstrap | str] = {}
    options: dict[str, Any] = {"level": level, "replicates": replicates, "seed": seed, "control": control}
    for measure in [each for each in values if each.along_time]:
        own = values[measure]
        drawn[measure] = redrawn(_whole(sets), measure, own, **options) if own else NO_VALUE
    others = {measure: own for measure, own in values.items() if not measure.along_time}
    return drawn | _by_tracks(sets, others, **options)


def _whole(sets: Sequence[BenchmarkSet]) -> list[StreamPart]:
    return [each for one in sets for each in one.whole]


def _by_tracks(
    sets: Sequence[BenchmarkSet],
    values: Mapping[Measured, Mapping[str, Measure]],
    *,
    level: float,
    replicates: int | None,
    seed: int,
    control: bool,
) -> dict[Measured, Bootstrap | str]:
    if not any(values.values()):
        return dict.fromkeys(values, NO_VALUE)
    joint = JointTracks.of(sets)
    fewest, too_few = _fewest(joint)
    why_not: dict[Measured, str | None] = {
        measure: too_few or _why_not(measure, sets, list(own)) if own else NO_VALUE
        for measure, own in values.items()
    }
    points = {
        (measure.name, monitor): value
        for measure, own in values.items()
        if why_not[measure] is None
        for monitor, value in own.items()
    }
    asked = list(points)
    counts = [StreamCounts(each.table, each.alone, asked) for each in joint.streams]

    def means(weights: FloatArray) -> dict[Column, FloatArray]:
        sums = {column: np.zeros(len(weights)) for column in asked}
        for each, counted in zip(joint.streams, counts, strict=True):
            block = counted.drawn(weights[:, each.own])
            for column in asked:
                sums[column] += each.share * counted.values(column, block)
        return sums

    if replicates is None:
        most = max(map(len, values.values()))
        replicates = Resolution.planned(fewest, most, 1 - level, control).replicates
    made = bootstrap(
        points, means, joint.together, seed=seed, replicates=replicates, level=level, fewest=fewest
    )
    return {measure: why or made for measure, why in why_not.items()}


def _fewest(joint: JointTracks) -> tuple[int, str | None]:
    """Return how many tracks the side of a stream with the fewest has, and why these are too few, if so."""
    found = []
    for each in joint.streams:
        is_ood = each.table.is_ood
        for side, rows in (("ID", ~is_ood), ("OOD", is_ood)):
            if rows.any():
                found.append(n := len(np.unique(each.alone.code[rows])))
                if n < FEWEST:
                    few = f"{n} track{'s' if n > 1 else ''}; resampling needs at least {FEWEST}"
                    return n, f"{each.of.name}: the {side} instances are of {few}"
    return min(found), None


def _why_not(measure: Measured, sets: Sequence[BenchmarkSet], monitors: Sequence[str]) -> str | None:
    if measure.name in GAPS:
        return f"draws of {measure.name} are farther from 0 than it is, and give it no interval"
    if measure.name == AUROC:
        streams = [stream for one in sets for stream in one.streams]
        follows = all(stream.said[m].scores is not None for stream in streams for m in monitors)
    else:
        # What has a value and follows from the classifier's own probabilities has all of them.
        follows = measure.name in (BRIER_MEAN, CONFIDENCE_AUROC, *MEANS) or form_of(measure) is not None
    return None if follows else f"{measure.name} has no interval by resampling"
