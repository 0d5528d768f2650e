"""Runs as samples, one of them labelled: what an accuracy without labels can be estimated from.

Images with no right answer count as wrong, whatever was predicted. Only ID instances serve as a reference;
where nobody knows which these are, all that have a label do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from farm.api.arrays import BoolArray, FloatArray, IntArray
from farm.errors import DataError
from farm.judging.notes import noted
from farm.judging.table import VerdictTable
from farm.statistics.label_free.estimates import LabelFree, label_free
from farm.statistics.label_free.samples import Signals, Told
from farm.store.readouts import Readouts

LEAST_PROBABILITY = 1e-7
"""Smaller ones are taken for it: single precision tells no two probabilities next to 1 apart any further."""
MOST_CLASSES = 50
"""Of more classes, confidence and entropy stand for all probabilities among the features."""


@dataclass(frozen=True, eq=False)
class SampledRun:
    """A run or a log, aligned: instances of it are a sample."""

    readouts: Readouts
    table: VerdictTable

    @classmethod
    def of(cls, readouts: Readouts) -> SampledRun:
        """Align a run, or a log; one on validation data serves as well as one on test data.

        Examples
        --------
        >>> from farm.testing import make_readouts
        >>> made = make_readouts({"odin": [0, 1]}, run={"stream": {"split": "validation"}})
        >>> SampledRun.of(made).reference.tolist()
        [0, 1]
        """
        return cls(readouts, VerdictTable.of(readouts.instances, readouts.alarms, held_out(readouts).run))

    @property
    def reference(self) -> IntArray:
        """The rows of labelled ID instances."""
        is_id = np.ones(len(self.table), dtype=np.bool_) if self.table.why_no_ood else ~self.table.is_ood
        return np.flatnonzero(is_id & ~self.table.unlabelled)

    @property
    def classifier(self) -> str | None:
        """The digest of its classifier; None where that is not known."""
        return (self.readouts.run.get("classifier") or {}).get("digest")

    def right(self, rows: IntArray) -> BoolArray:
        """Return on which instances the classifier is right."""
        return ~self.table.should_cancel[rows]

    @property
    def called(self) -> str:
        """What it is called in a reason."""
        return str(self.readouts.run.get("folder") or self.readouts.run.get("name") or "the run")

    @cached_property
    def probabilities(self) -> FloatArray | None:
        """The probabilities of all classes, but none below the least; None where they were not kept."""
        try:
            return np.maximum(self.readouts.probabilities.astype(np.float64), LEAST_PROBABILITY)
        except DataError:
            return None

    @property
    def scores(self) -> dict[str, FloatArray]:
        """The scores of monitors that know something, by name; of those that have one for each instance."""
        own = [each.name for each in noted(self.readouts.run, self.table.said) if not each.yardstick]
        found = {name: self.table.said[name].scores for name in own if name in self.table.said}
        return {
            name: scores for name, scores in found.items() if scores is not None and np.isfinite(scores).all()
        }

    def signals(self, rows: IntArray, confidence: Told, features: Told) -> Signals:
        """Return what is told of some instances; confidences and features are those of all."""
        p = self.probabilities
        return Signals(
            track=self.table.track_code[rows],
            confidence=_some(confidence, rows),
            negative_entropy=(
                f"{self.called}: the probabilities of all classes were not kept"
                if p is None
                else (p[rows] * np.log(p[rows])).sum(axis=1)
            ),
            features=_some(features, rows),
        )

    @property
    def confidence(self) -> Told:
        """How sure the classifier was of what it predicted."""
        sure = self.table.confidence
        if sure is None or np.isnan(sure).all():
            return f"{self.called}: no confidence was given"
        missing = int(np.count_nonzero(~np.isfinite(sure)))
        if missing:
            return f"{self.called}: the confidence of {missing:,} of {len(sure):,} instances is no number"
        return sure


def estimate(
    reference: SampledRun,
    target: SampledRun,
    rows: IntArray | None = None,
    *,
    with_truth: bool = False,
    seed: int = 0,
) -> LabelFree:
    """Estimate how often a target's classifier is right from the labelled ID instances of a reference.

    Parameters
    ----------
    rows
        Which instances of the target; None for all. Where it is the reference itself, others than ID ones.
    with_truth
        Whether the target's labels, which are then all known, tell each method's error.

    Examples
    --------
    >>> from farm.testing import make_readouts
    >>> wrong = np.arange(100) % 4 == 0
    >>> may = SampledRun.of(make_readouts({"odin": wrong}, wrong=wrong, confidence=0.9 - 0.3 * wrong))
    >>> june = make_readouts({"odin": wrong}, label=None, predicted=0, confidence=np.arange(100) % 2 * 0.9)
    >>> round(estimate(may, SampledRun.of(june)).accuracy["atc"].value.value, 3)
    0.5
    """
    first = reference.reference
    second = np.arange(len(target.table)) if rows is None else rows
    if not len(first):
        return LabelFree.nowhere(f"{reference.called} has no labelled ID instance")
    if not len(second):
        return LabelFree.nowhere(f"{target.called} has no instances")
    known = {each.classifier for each in (reference, target)} - {None}
    if len(known) > 1:
        return LabelFree.nowhere(f"{target.called} is of another classifier than {reference.called}")
    sure, sure_there = confidences(reference, target)
    here, there = features(reference, target)
    return label_free(
        reference.signals(first, sure, here),
        reference.right(first),
        target.signals(second, sure_there, there),
        truth=target.right(second) if with_truth else None,
        shared_tracks=reference is target,
        seed=seed,
    )


def confidences(first: SampledRun, second: SampledRun) -> tuple[Told, Told]:
    """Return the confidences of two runs, unless only one's are probabilities."""
    here, there = first.confidence, second.confidence
    if isinstance(here, str) or isinstance(there, str):
        return here, there
    if _are_probabilities(here) == _are_probabilities(there):
        return here, there
    other = second if _are_probabilities(here) else first
    why = f"{other.called}: its confidences are no probabilities, those it is held against are"
    return why, why


def features(first: SampledRun, second: SampledRun) -> tuple[Told, Told]:
    """Return what tells the instances of two runs apart: probabilities or confidences, and monitors' scores.

    Examples
    --------
    >>> from farm.testing import make_readouts
    >>> made = make_readouts({"odin": {"score": [0.5, 2.0]}}, confidence=[0.5, 0.75])
    >>> features(SampledRun.of(made), SampledRun.of(made))[0].round(2).tolist()
    [[0.0, 0.5], [1.1, 2.0]]
    """
    runs = (first, second)
    kept = [[run.scores[name] for name in first.scores if name in second.scores] for run in runs]
    for columns, own in zip(kept, _of_classifier(first, second), strict=True):
        columns[:0] = own
    if not kept[0]:
        why = (
            f"{first.called} and {second.called} have no features in common: neither probabilities or "
            "confidences nor a monitor's scores of all instances"
        )
        return why, why
    here, there = (np.column_stack(columns) for columns in kept)
    return here, there


def _of_classifier(first: SampledRun, second: SampledRun) -> list[list[FloatArray]]:
    """Return the columns of either run that follow from the classifier's probabilities."""
    runs = (first, second)
    classes = [list(run.readouts.run.get("classes") or ()) for run in runs]
    kept = [run.probabilities for run in runs if run.probabilities is not None]
    if len(kept) == len(runs) and classes[0] == classes[1]:
        if len(classes[0]) <= MOST_CLASSES:
            return [list(np.log(p).T) for p in kept]
        return [[_log_odds(p.max(axis=1)), (p * np.log(p)).sum(axis=1)] for p in kept]
    values = [each for each in confidences(first, second) if not isinstance(each, str)]
    if len(values) < len(runs):
        return [[], []]
    return [[_log_odds(each) if _are_probabilities(values[0]) else each] for each in values]


def _are_probabilities(confidence: FloatArray) -> bool:
    return bool(((confidence >= 0) & (confidence <= 1)).all())


def _log_odds(p: FloatArray) -> FloatArray:
    p = np.clip(p, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
    return np.asarray(np.log(p) - np.log1p(-p))


def _some(told: Told, rows: IntArray) -> Told:
    return told if isinstance(told, str) else told[rows]


def held_out(readouts: Readouts) -> Readouts:
    """Return a run on validation data as one on test data: no classifier or monitor learned from either.

    A threshold did from validation data, of which scores and classifiers know nothing.
    """
    stream = readouts.run.get("stream") or {}
    if stream.get("split") != "validation":
        return readouts
    noted_stream = {key: value for key, value in stream.items() if key != "split"}
    return replace(readouts, run={**readouts.run, "stream": noted_stream})
