"""What resampling says of monitors on the streams of some sets: the mean over them, again and again.

Sets of one run share their ID instances, and often the images that their faults were put on. So a track is
drawn once for all streams it occurs in: were each stream drawn by itself, the mean over many sets would seem
surer than it is. In each draw every stream keeps its own share of OOD instances.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from farm.api.arrays import BoolArray, FloatArray, IntArray
from farm.comparison.measures import Measured
from farm.comparison.sets import BenchmarkSet, Said, Stream
from farm.measures import Measure
from farm.measures.many import MANY
from farm.oracle import outcomes
from farm.statistics.bootstrap import Bootstrap
from farm.statistics.replicated import Auroc, Draw
from farm.statistics.resampling import FEWEST, Resampling

Form = Callable[[FloatArray], FloatArray]
"""From counts, their kinds along the last axis, to a measure."""


def resampled(
    sets: Sequence[BenchmarkSet],
    measure: Measured,
    values: Mapping[str, Measure],
    *,
    level: float,
    replicates: int,
    seed: int,
) -> Bootstrap | str:
    """Resample all streams together, for the monitors that have `values`; or say why that cannot be done."""
    monitors = list(values)
    if not monitors:
        return "no monitor has a value"
    streams = [(one, stream) for one in sets for stream in one.streams]
    apart = [Resampling(len(stream), group=stream.track) for _, stream in streams]
    fewest: list[int] = []
    for (one, stream), alone in zip(streams, apart, strict=True):
        for side, rows in (("ID", ~stream.is_ood), ("OOD", stream.is_ood)):
            if not rows.any():
                continue
            fewest.append(len(np.unique(alone.code[rows])))
            if fewest[-1] < FEWEST:
                few = f"{fewest[-1]} track{'s' if fewest[-1] > 1 else ''}"
                return f"{one.name}: the {side} instances are of {few}; resampling needs at least {FEWEST}"
    together, columns = put_together(streams, apart)
    terms = []
    for (one, stream), alone, own in zip(streams, apart, columns, strict=True):
        draw = _draw(measure, stream, monitors, alone)
        if draw is None:
            return f"{measure.name} has no interval by resampling"
        terms.append((draw, own, 1 / (len(sets) * len(one.streams))))
    table = np.concatenate(
        [
            np.sum([share * draw(weights[:, own]) for draw, own, share in terms], axis=0)
            for weights in together.weights(replicates, seed=seed)
        ]
    )
    return Bootstrap(
        n=together.n,
        n_groups=together.n_groups,
        fewest=min(fewest),
        why_not=None,
        level=level,
        replicates=replicates,
        points={(measure.name, monitor): values[monitor] for monitor in monitors},
        draws=dict(zip([(measure.name, monitor) for monitor in monitors], table.T, strict=True)),
    )


def put_together(
    streams: Sequence[tuple[BenchmarkSet, Stream]], apart: Sequence[Resampling]
) -> tuple[Resampling, list[IntArray]]:
    """Give all streams' tracks as one, and of each stream the places of its own tracks among them.

    Images of one name in two runs on one workload are drawn together even where their pixels differ, as
    those of rendered workloads do from seed to seed: they are of one class and one kind all the same.
    """
    places: dict[tuple[str, str], int] = {}
    columns = []
    for (one, stream), alone in zip(streams, apart, strict=True):
        names = np.empty(alone.n_groups, dtype=stream.track.dtype)
        names[alone.code] = stream.track
        known = [places.setdefault((one.workload, name), len(places)) for name in names.tolist()]
        columns.append(np.array(known, dtype=np.int64))
    group = np.concatenate([own[alone.code] for own, alone in zip(columns, apart, strict=True)])
    is_ood = np.concatenate([stream.is_ood for _, stream in streams])
    found = Resampling(len(group), is_ood=is_ood, group=group)
    # Tracks with ID and OOD instances, or ID in one stream and OOD in another, may leave a part next to
    # nothing: then all are drawn as one part.
    return (Resampling(len(group), group=group) if found.why_not else found), columns


def _draw(measure: Measured, stream: Stream, monitors: Sequence[str], alone: Resampling) -> Draw | None:
    if measure.name == "auroc":
        scores = {m: said.score for m in monitors if (said := stream.said[m]).score is not None}
        return Auroc(scores, stream.is_ood).draw(alone) if len(scores) == len(monitors) else None
    table = tabulated(measure, stream, monitors, alone)
    if table is None:
        return None
    return lambda weights: table.form(np.sum([side.counts(weights) for side in table.sides], axis=0))


def tabulated(
    measure: Measured, stream: Stream, monitors: Sequence[str], alone: Resampling
) -> Tabulated | None:
    """Count what a measure follows from, track by track; None where it does not follow from counts."""
    task, form = measure.name.rpartition(".")[0], form_of(measure)
    if form is None:
        return None
    codes = [kinds_of(task, stream, stream.said[m]) for m in monitors]
    kinds = 4 if task else 6
    sides = [Side.of(codes, kinds, rows, alone) for rows in (~stream.is_ood, stream.is_ood) if rows.any()]
    return Tabulated(form, sides)


def form_of(measure: Measured) -> Form | None:
    """Give what makes a measure of counts; None where it does not follow from them."""
    task, _, name = measure.name.rpartition(".")
    return MANY[name] if task else _OF_DECISIONS.get(name)


def kinds_of(task: str, stream: Stream, said: Said) -> IntArray:
    """Give each instance's kind: its outcome of a task, or what became of its decision."""
    should_cancel = stream.should_cancel if said.should_cancel is None else said.should_cancel
    if task:
        codes = (
            outcomes(stream.is_ood, said.alarm)
            if task == "specific"
            else outcomes(should_cancel, said.cancelled)
        )
        return codes.astype(np.int64)
    # 0: no decision was acted upon, 1: a wrong one, 2: a right one; and 3 more where the classifier is wrong.
    return 3 * should_cancel.astype(np.int64) + said.decided + said.right


_N, _MISTAKEN = np.ones(6), np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])
_WRONG, _RIGHT = np.array([0.0, 1.0, 0.0] * 2), np.array([0.0, 0.0, 1.0] * 2)


def _share(part: FloatArray, whole: FloatArray) -> Form:
    """Make the share that some kinds have of others; NaN where there are none of these."""

    def form(counts: FloatArray) -> FloatArray:
        n = counts @ whole
        return np.asarray(counts @ part / np.where(n > 0, n, np.nan))

    return form


_OF_DECISIONS: Mapping[str, Form] = {
    "coverage": _share(_WRONG + _RIGHT, _N),
    "accepted_accuracy": _share(_RIGHT, _WRONG + _RIGHT),
    "safety_gain": _share(_MISTAKEN - _WRONG, _N),
    "residual_hazard": _share(_WRONG, _N),
    "availability_cost": _share(_N - _MISTAKEN - _RIGHT, _N),
}
"""As `farm.measures.tally` has them: of what was acted upon, a fallback's decisions among it."""


@dataclass(frozen=True)
class Side:
    """The ID or the OOD instances of a stream, counted by track."""

    groups: IntArray
    """The numbers of the tracks that have such instances."""
    sizes: FloatArray
    by_kind: FloatArray
    """A row a track; its columns are monitors x kinds."""
    kinds: int

    @classmethod
    def of(cls, codes: Sequence[IntArray], kinds: int, rows: BoolArray, alone: Resampling) -> Side:
        """Count the instances in `rows`."""
        groups, group = np.unique(alone.code[rows], return_inverse=True)
        cells = kinds * len(groups)
        counted = [np.bincount(kinds * group + kind[rows], minlength=cells) for kind in codes]
        by_kind = np.hstack([each.reshape(-1, kinds) for each in counted]).astype(np.float64)
        return cls(groups, np.bincount(group).astype(np.float64), by_kind, kinds)

    def counts(self, weights: FloatArray) -> FloatArray:
        """Count each draw's instances, scaled to as many as there are; NaN where a draw has none."""
        drawn = weights[:, self.groups]
        n = drawn @ self.sizes
        scale = self.sizes.sum() / np.where(n > 0, n, np.nan)
        return np.asarray((drawn @ self.by_kind * scale[:, None]).reshape(len(weights), -1, self.kinds))


@dataclass(frozen=True)
class Tabulated:
    """A stream's instances counted, and what a measure makes of the counts."""

    form: Form
    sides: list[Side]
    """The ID instances, if there are any, and the OOD ones."""
