"""Sets of classes that hold the right one as often as was asked.

*Least ambiguous* sets hold each class that is likely enough: no others of that coverage are smaller on the
average. They are empty where no class is. *Adaptive* sets hold the likeliest classes up to a sum of
probability that is much the same for all instances, so that those of hard ones are larger; their coverage
differs less between easy and hard ones.

Validation data that probabilities were calibrated on are not like new data any more, if only a little: take
others for the sets, or sets of what the network says itself.

References
----------
M. Sadinle, J. Lei and L. Wasserman, "Least Ambiguous Set-Valued Classifiers with Bounded Error Levels",
Journal of the American Statistical Association 114 (2019). Y. Romano, M. Sesia and E. Candès,
"Classification with Valid and Adaptive Coverage", NeurIPS 2020. V. Vovk, "Conditional validity of inductive
conformal predictors", ACML 2012: a threshold for each class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from farm.api.arrays import NO_ANSWER, BoolArray, Features, FloatArray, IntArray, check_labels
from farm.api.component import check_choice
from farm.errors import DataError
from farm.measures.measure import Measure, undefined
from farm.measures.probability_sums import why_unanswered
from farm.statistics.post_hoc.checks import checked, labelled
from farm.statistics.post_hoc.conformal import Threshold, check_track
from farm.statistics.post_hoc.coverage import LEVEL, CoverageHad

SetKind: TypeAlias = Literal["least-ambiguous", "adaptive"]
_WHERE = "conformal sets"


@dataclass(frozen=True, slots=True)
class ConformalSets:
    """Which classes are likely enough to be in a set, as validation data tell.

    Examples
    --------
    >>> says = np.array([[0.9, 0.1]] * 9 + [[0.4, 0.6]] * 10)
    >>> fitted = ConformalSets.fit(says, np.array([0] * 9 + [1] * 9 + [0]), 0.9)
    >>> fitted.apply(np.array([[0.8, 0.2], [0.5, 0.5]])).tolist()
    [[True, False], [False, False]]
    """

    thresholds: tuple[Threshold, ...]
    """One for all classes, or one for each."""
    n_classes: int
    kind: SetKind
    drawn: bool
    """Whether adaptive sets are drawn."""

    @classmethod
    def fit(
        cls,
        probabilities: Features,
        labels: IntArray,
        coverage: float,
        *,
        kind: SetKind = "least-ambiguous",
        draws: FloatArray | None = None,
        each_class: bool = False,
        track: NDArray[Any] | None = None,
    ) -> ConformalSets:
        """Find the thresholds.

        Parameters
        ----------
        coverage
            Which share of the sets of new instances is to hold the right class.
        draws
            For adaptive sets a number from 0 to 1 for each instance, such as
            `farm.api.uniform_by_id(seed, "conformal sets", ids)`. Then the coverage is no higher than was
            asked, but for the step of one validation instance. Without them sets are never empty, and may
            cover more: never less than the likeliest class alone.
        each_class
            Whether each class is to have that coverage by itself. One with too few validation instances is
            in every set. Otherwise rare classes may have less than all together do.
        track
            What each instance belongs to; None where they are exchangeable.
        """
        check_choice(f"{_WHERE}: kind", kind, ("least-ambiguous", "adaptive"))
        found = labelled(probabilities, labels, _WHERE)
        check_track(track, len(labels))
        rows = [labels == label for label in range(found.shape[1])] if each_class else [labels >= 0]
        own = _scores(found, kind, draws)[np.arange(len(labels)), labels]
        thresholds = [Threshold.of(own[of], coverage, None if track is None else track[of]) for of in rows]
        return cls(tuple(thresholds), found.shape[1], kind, draws is not None)

    def apply(self, probabilities: Features, draws: FloatArray | None = None) -> BoolArray:
        """Return which classes each set holds, instances x classes."""
        if self.drawn != (draws is not None):
            raise DataError(
                f"{_WHERE}: fitted {'with' if self.drawn else 'without'} draws; expected the same"
            )
        found = checked(probabilities, _WHERE, self.n_classes)
        most = [threshold.score for threshold in self.thresholds]
        return np.asarray(_scores(found, self.kind, draws) <= np.array(most))

    def coverage(
        self, sets: BoolArray, labels: IntArray, *, track: NDArray[Any] | None = None, level: float = LEVEL
    ) -> CoverageHad:
        """Return how many sets hold the right class, of instances that have one.

        To have it of one class, hand in the instances of that class: chance is told of thresholds for all
        classes as if each class were like all.
        """
        if sets.shape != (len(labels), self.n_classes):
            raise DataError(
                f"{_WHERE}: sets of shape {sets.shape}, {len(labels)} labels; expected {len(labels)} x "
                f"{self.n_classes}"
            )
        check_labels(labels, self.n_classes, _WHERE, no_answer=True)
        check_track(track, len(labels))
        rows = np.flatnonzero(labels != NO_ANSWER)
        right = labels[rows]
        return CoverageHad.of(
            sets[rows, right],
            self.thresholds,
            right if len(self.thresholds) > 1 else None,
            track=None if track is None else track[rows],
            level=level,
            why_none=why_unanswered(len(labels), len(rows)) or "",
        )

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "kind": self.kind,
            "drawn": self.drawn,
            "n_classes": self.n_classes,
            "thresholds": [threshold.record() for threshold in self.thresholds],
        }


def size_counts(sets: BoolArray) -> IntArray:
    """Return how many sets hold no class, one, two, and so on up to all.

    Examples
    --------
    >>> size_counts(np.array([[True, False], [True, True], [True, False]])).tolist()
    [0, 2, 1]
    """
    return np.bincount(sets.sum(axis=1), minlength=sets.shape[1] + 1)


def mean_size(sets: BoolArray) -> Measure:
    """Return how many classes a set holds on the average.

    Examples
    --------
    >>> mean_size(np.array([[True, False], [True, True]])).value
    1.5
    """
    return Measure(float(sets.sum(axis=1).mean())) if len(sets) else undefined("no instances")


def _scores(probabilities: FloatArray, kind: SetKind, draws: FloatArray | None) -> FloatArray:
    """Return how surprising each class would be."""
    if kind == "least-ambiguous":
        if draws is not None:
            raise DataError(f"{_WHERE}: draws are for kind 'adaptive'; expected none for '{kind}'")
        return 1 - probabilities
    if draws is not None:
        _check_draws(draws, len(probabilities))
    order = np.argsort(-probabilities, axis=1, kind="stable")
    ranked = np.take_along_axis(probabilities, order, axis=1)
    likelier = np.cumsum(ranked, axis=1) - ranked
    if draws is not None:
        likelier += draws[:, None] * ranked
    found = np.empty_like(likelier)
    np.put_along_axis(found, order, likelier, axis=1)
    return found


def _check_draws(draws: FloatArray, n: int) -> None:
    if draws.shape != (n,):
        raise DataError(f"{_WHERE}: {n} instances, draws of shape {draws.shape}; expected as many")
    wrong = np.flatnonzero(~((draws >= 0) & (draws <= 1)))
    if wrong.size:
        at = int(wrong[0])
        raise DataError(f"{_WHERE}: draw {draws[at]:g} at position {at}; expected a number from 0 to 1")
