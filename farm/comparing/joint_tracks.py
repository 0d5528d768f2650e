"""The tracks of several streams as one, and each stream's instances counted by track, to be drawn together.

Sets of one run share their ID instances, and often the images that their faults were put on. So a track is
drawn once for all streams it occurs in: were each stream drawn by itself, the mean over many sets would seem
surer than it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

from farm.api.arrays import BoolArray, FloatArray, IntArray
from farm.comparing.classifier_sums import (
    BRIER,
    GAPS,
    MEANS,
    OF_PREDICTIONS,
    MeanParts,
    gap_parts,
)
from farm.comparing.measures import ACCURACY, CLASSIFIER, Measured, measured
from farm.comparing.sets import BenchmarkSet
from farm.errors import ParameterError
from farm.judging import Judgement, VerdictTable
from farm.measures.certainty import BRIER_MEAN, BRIER_SUM, CONFIDENCE_AUROC
from farm.measures.many import MANY, OF_DECISIONS, accuracy, brier, flagged
from farm.statistics.bootstrap import Column
from farm.statistics.bounds import Drawn, Form, SideTracks
from farm.statistics.resampling import Resampling, areas_by_weight

AUROC, ALARM_RATE = "auroc", "alarm_rate"
AREAS = (AUROC, CONFIDENCE_AUROC)
"""What is a share of pairs, and no sum over instances."""


@dataclass(frozen=True, eq=False)
class StreamTracks:
    """One stream with its tracks, and where these are among all that are drawn."""

    of: BenchmarkSet
    table: VerdictTable
    alone: Resampling
    own: IntArray
    """The numbers of its tracks among those of all streams."""
    share: float
    """Its part of the mean over sets."""


@dataclass(frozen=True, eq=False)
class JointTracks:
    """The streams of some sets, and all their tracks."""

    streams: Sequence[StreamTracks]
    together: Resampling

    @classmethod
    def of(cls, sets: Sequence[BenchmarkSet]) -> JointTracks:
        """Number all streams' tracks.

        Images of one name in two runs on one workload are drawn together even where their pixels differ, as
        those of rendered workloads do from seed to seed: they are of one class and one kind all the same.
        """
        places: dict[tuple[str, str], int] = {}
        streams = []
        for one in sets:
            for table in one.streams:
                alone = Resampling(len(table), group=table.track)
                names = np.empty(alone.n_groups, dtype=table.track.dtype)
                names[alone.code] = table.track
                known = [places.setdefault((one.workload, name), len(places)) for name in names.tolist()]
                share = 1 / (len(sets) * len(one.streams))
                streams.append(StreamTracks(one, table, alone, np.array(known, dtype=np.int64), share))
        group = np.concatenate([each.own[each.alone.code] for each in streams])
        is_ood = np.concatenate([each.table.is_ood for each in streams])
        found = Resampling(len(group), is_ood=is_ood, group=group)
        # Tracks with ID and OOD instances, or ID in one stream and OOD in another, may leave a part next to
        # nothing: then all are drawn as one part.
        return cls(streams, Resampling(len(group), group=group) if found.why_not else found)


Block: TypeAlias = Mapping[tuple[str, str], list[Drawn]]
"""Of some draws, by task and monitor, what was drawn of each side."""


class RankedInstances:
    """Instances that scores should part: OOD from ID ones, or wrong predictions from right ones.

    Parameters
    ----------
    scores
        By monitor; higher should be those of which `flagged` is true.
    code
        The number of each instance's track.
    """

    def __init__(self, scores: Mapping[str, FloatArray], flagged: BoolArray, code: IntArray) -> None:
        self.scores, self.flagged = scores, flagged
        self.sides = [SideTracks.of(rows, code) for rows in (~flagged, flagged)]
        self._areas = {name: areas_by_weight(own, flagged, code) for name, own in scores.items()}

    @classmethod
    def of(
        cls, stream: VerdictTable, alone: Resampling, name: str, monitors: Sequence[str]
    ) -> RankedInstances:
        """Take those of a stream, or of the classifier's confidence those that have a right answer."""
        if name == AUROC:
            return cls({m: scores_of(stream, m) for m in monitors}, stream.is_ood, alone.code)
        rows = stream.answered
        doubt = dict.fromkeys(monitors, -confidence_of(stream))
        return cls(doubt, stream.should_cancel[rows], alone.code[rows])

    def drawn(self, weights: FloatArray) -> dict[str, list[Drawn]]:
        """Draw the areas, by monitor; side by side there is the same one beside the number of instances."""
        n = [weights[:, side.groups] @ side.sizes for side in self.sides]
        areas = {monitor: area(weights) for monitor, area in self._areas.items()}
        return {monitor: [Drawn(own, area) for own in n] for monitor, area in areas.items()}


class StreamCounts:
    """One stream's instances counted by track, for all measures and monitors at once: a draw is one product.

    Parameters
    ----------
    stream, alone
        A stream and its tracks.
    columns
        Measures and monitors; a measure is one of `AREAS`, or follows from decisions or from the classifier's
        own predictions.
    """

    def __init__(self, stream: VerdictTable, alone: Resampling, columns: Sequence[Column]) -> None:
        self.sides = [
            SideTracks.of(rows, alone.code) for rows in (~stream.is_ood, stream.is_ood) if rows.any()
        ]
        self.forms: dict[str, Form] = {
            name: form_on(stream, name) for name, _ in columns if name not in (*AREAS, *GAPS)
        }
        summed = [name for name, _ in columns if name not in AREAS]
        self._places: dict[str, dict[str, int]] = {task_of(name): {} for name in summed}
        for name, monitor in columns:
            if name in summed:
                places = self._places[task_of(name)]
                places.setdefault(monitor, len(places))
        self._by_task = {
            task: [np.hstack([_counts(side, stream, task, m) for m in places]) for side in self.sides]
            for task, places in self._places.items()
        }
        asked = {area: [m for name, m in columns if name == area] for area in AREAS}
        self.ranked = {
            area: RankedInstances.of(stream, alone, area, own) for area, own in asked.items() if own
        }

    def bundled(self, bundle: IntArray) -> StreamCounts:
        """Return the counts of bundles, which have a weight each; `bundle` is that of each track."""
        found = copy(self)
        found.sides, found._by_task = [], {task: [] for task in self._by_task}
        for number, side in enumerate(self.sides):
            groups, place = np.unique(bundle[side.groups], return_inverse=True)
            sizes = np.bincount(place, weights=side.sizes).astype(np.float64)
            found.sides.append(SideTracks(side.rows, groups, place[side.track], sizes))
            for task, by_side in self._by_task.items():
                total = np.zeros((len(groups), by_side[number].shape[1]))
                np.add.at(total, place, by_side[number])
                found._by_task[task].append(total)
        return found

    def by_kind(self, task: str, monitor: str) -> list[FloatArray]:
        """Return how many instances of each kind the tracks have, side by side."""
        kinds, place = n_kinds(task), self._places[task][monitor]
        return [counts[:, kinds * place : kinds * (place + 1)] for counts in self._by_task[task]]

    def drawn(self, weights: FloatArray) -> Block:
        """Draw what measures are of; a column of weights is one of the stream's tracks."""
        block: dict[tuple[str, str], list[Drawn]] = {}
        for name, ranked in self.ranked.items():
            block |= {(name, monitor): drawn for monitor, drawn in ranked.drawn(weights).items()}
        for number, side in enumerate(self.sides):
            own = weights[:, side.groups]
            n = own @ side.sizes
            for task, by_side in self._by_task.items():
                counts = (own @ by_side[number]).reshape(len(own), -1, n_kinds(task))
                for monitor, place in self._places[task].items():
                    block.setdefault((task, monitor), []).append(Drawn(n, counts[:, place]))
        return block

    def values(self, column: Column, block: Block) -> FloatArray:
        """Return a measure in each draw; each side is scaled to as many instances as there are.

        So the share of OOD instances stays. It is NaN where a draw has none of a side.
        """
        name, monitor = column
        drawn = block[task_of(name), monitor]
        if name in AREAS:
            return drawn[0].of
        counts = np.zeros_like(drawn[0].of)
        for side, each in zip(self.sides, drawn, strict=True):
            counts += each.of * (side.sizes.sum() / np.where(each.n > 0, each.n, np.nan))[:, None]
        return self.forms[name](counts)


def task_of(name: str) -> str:
    """Name what a measure is computed of: outcomes of a task, or decisions, or scores."""
    if name == ALARM_RATE:
        return "specific"  # it is counted of alarms, and not of what was cancelled
    if name in (BRIER_MEAN, BRIER_SUM):
        return BRIER
    return name if name in (*AREAS, ACCURACY, *OF_PREDICTIONS) else name.rpartition(".")[0]


def n_kinds(task: str) -> int:
    """Return of how many kinds instances are: outcomes of a task, or what became of decisions.

    Predictions of the classifier's own are right or wrong.
    """
    if task in OF_PREDICTIONS:
        return GAPS[task] + 1 if task in GAPS else 3
    return {"": 6, ACCURACY: 2}.get(task, 4)


def totals(stream: VerdictTable, task: str, monitor: str) -> FloatArray:
    """Return how many instances of a stream are of each kind."""
    if task in OF_PREDICTIONS:
        return np.asarray(parts_in(stream, task).sum(axis=0))
    return np.bincount(kinds_in(stream, task, monitor), minlength=n_kinds(task)).astype(np.float64)


def _counts(side: SideTracks, stream: VerdictTable, task: str, monitor: str) -> FloatArray:
    """Return how many instances of each kind the tracks of a side have."""
    if task in OF_PREDICTIONS:
        return side.sums(parts_in(stream, task))
    return side.counts(kinds_in(stream, task, monitor), n_kinds(task))


def kinds_in(stream: VerdictTable, task: str, monitor: str) -> IntArray:
    """Return the kind of each of a stream's instances; of `OF_PREDICTIONS` there are none."""
    if task == ACCURACY:
        return stream.should_cancel.astype(np.int64)
    return kinds_of(task, stream.said[monitor])


def parts_in(stream: VerdictTable, task: str) -> FloatArray:
    """Return what each of a stream's instances adds to the sums that a task is computed of."""
    return gap_parts(stream, task) if task in GAPS else MeanParts.of(stream, task).parts


def kinds_of(task: str, judged: Judgement) -> IntArray:
    """Return each instance's kind."""
    if not task:
        return judged.consequences
    return (judged.specific if task == "specific" else judged.overall).astype(np.int64)


def form_of(measure: Measured) -> Form | None:
    """Return what makes a measure of counts; None where it does not follow from them."""
    task, _, name = measure.name.rpartition(".")
    if name in _FORMS:
        return _FORMS[name]
    if task:
        return MANY[name]
    return partial(_of_consequences, OF_DECISIONS[name]) if name in OF_DECISIONS else None


_FORMS: Mapping[str, Form] = {ALARM_RATE: flagged, ACCURACY: accuracy, BRIER_SUM: brier}


def _a_class(n_classes: int, parts: FloatArray) -> FloatArray:
    return brier(parts) / n_classes


_SUMS = np.array([[1.0, 0, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 0, 1]])
"""What each kind of consequence adds to the sums that measures of decisions follow from."""


def _of_consequences(form: Form, counts: FloatArray) -> FloatArray:
    return form(counts @ _SUMS)


def form_by_name(name: str, n_classes: int | None = None) -> Form:
    """Return what makes a measure of counts; one that does not follow from them is refused.

    The classifier tells so many classes apart, where that is known.
    """
    if name == BRIER_MEAN and n_classes:
        return partial(_a_class, n_classes)
    if (form := form_of(measured(name))) is None:
        raise ParameterError(f"bounds: measure '{name}'; expected {AUROC}, or what follows from decisions")
    return form


def form_on(stream: VerdictTable, name: str) -> Form:
    """Return what makes a measure of a stream's counts, or of its sums."""
    if name in MEANS:
        return MeanParts.of(stream, name).mean
    return form_by_name(name, stream.classifier_classes)


def confidence_of(stream: VerdictTable) -> FloatArray:
    """Return how sure the classifier was of each instance that has a right answer."""
    if stream.confidence is None:
        raise ParameterError(f"bounds: {CLASSIFIER} has no confidence; expected one for each instance")
    return stream.confidence[stream.answered]


def scores_of(stream: VerdictTable, monitor: str) -> FloatArray:
    """Return a monitor's scores, of which there has to be one for each instance."""
    scores = stream.said[monitor].scores
    if scores is None:
        raise ParameterError(f"bounds: monitor '{monitor}' has no scores; expected one for each instance")
    return scores
