"""What resampling says of monitors on the streams of some sets: each drawn anew, and the mean over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, cast

import numpy as np

from farm.api.arrays import FloatArray
from farm.comparison.measures import Measured
from farm.comparison.sets import BenchmarkSet, Stream
from farm.measures import Measure, undefined
from farm.measures.many import MANY
from farm.oracle import outcomes, specific
from farm.statistics.bootstrap import Bootstrap, bootstrap
from farm.statistics.replicated import Auroc, Column, Counted, Replicated
from farm.statistics.resampling import Resampling


def resampled(
    sets: Sequence[BenchmarkSet],
    measure: Measured,
    monitors: Sequence[str],
    *,
    level: float,
    replicates: int,
    seed: int,
) -> Bootstrap | str:
    """Resample every stream, and average; or say why that cannot be done."""
    found: list[tuple[Bootstrap, str]] = []
    for one in sets:
        for stream in one.streams:
            replicated = _replicated(measure, stream, monitors)
            if replicated is None:
                return f"{measure.name} has no interval by resampling"
            grouped = Resampling(len(stream), is_ood=stream.is_ood, group=stream.track)
            # Named by the workload: sets that share ID images draw them alike.
            made = bootstrap(
                [replicated], grouped, seed=seed, name=one.workload, replicates=replicates, level=level
            )
            if made.why_not:
                return f"{one.name}: {made.why_not}"
            found.append((made, one.name))
    return _averaged(found, measure, monitors)


def _replicated(measure: Measured, stream: Stream, monitors: Sequence[str]) -> Replicated | None:
    task, dot, name = measure.name.partition(".")
    if not dot:  # shares such as the residual hazard are of the overall task
        task, name = "overall", measure.name
    if name in MANY:
        said = {m: outcomes(stream.should_cancel, stream.cancelled[m]) for m in monitors}
        if task == "specific":
            said = {m: specific(stream.alarm[m], stream.is_ood) for m in monitors}
        return Counted(cast(Literal["specific", "overall"], task), said, [name])
    if measure.name == "auroc" and all(m in stream.score for m in monitors):
        return Auroc({m: stream.score[m] for m in monitors}, stream.is_ood)
    return None


def _averaged(
    found: Sequence[tuple[Bootstrap, str]], measure: Measured, monitors: Sequence[str]
) -> Bootstrap:
    """Average streams; where a monitor's measure is undefined on one of them, so is its mean."""
    first = found[0][0]
    columns = {monitor: next(c for c in first.points if c[1] == monitor) for monitor in monitors}
    points: dict[Column, Measure] = {}
    draws: dict[Column, FloatArray] = {}
    for monitor, column in columns.items():
        values = [made.points[column] for made, _ in found]
        missing = [
            f"{where}: {v.reason}" for v, (_, where) in zip(values, found, strict=True) if not v.defined
        ]
        known = undefined(missing[0]) if missing else Measure(float(np.mean([v.value for v in values])))
        points[measure.name, monitor] = known
        draws[measure.name, monitor] = np.mean([made.draws[column] for made, _ in found], axis=0)
    return Bootstrap(
        n=sum(made.n for made, _ in found),
        n_groups=sum(made.n_groups for made, _ in found),
        fewest=min(made.fewest for made, _ in found),
        why_not=None,
        level=first.level,
        replicates=first.replicates,
        points=points,
        draws=cast(Mapping[Column, FloatArray], draws),
    )
