"""OpenMax: what lies too far from its class's mean logits gives evidence away to a class 'unknown'."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import scipy
from numpy.typing import NDArray

from farm.api import JSON, Features, FitData, FloatArray, Needs, Observation, State, check_number, peak
from monitors._reasons import ToldByOutputs
from monitors.max_softmax import TINY

FEWEST = 3
"""Different distances below which a class gets no Weibull distribution."""


class OpenMax(ToldByOutputs):
    """Moves a share of the greatest logits to an 'unknown' one; its log-odds are the score.

    Of each class it keeps the mean logits of correctly classified training data and a Weibull distribution
    (location 0) of the largest Euclidean distances from that mean. The logit of the i-th likeliest of `alpha`
    classes loses the share (alpha + 1 - i) / alpha times the distribution's value at the distance from that
    class's mean. The score is log(p / (1 - p)) of the unknown class: it ranks as p does, but does not
    saturate. A class with too few points to fit is one of which nothing is known: its distribution is 1
    everywhere.

    Parameters
    ----------
    tail
        How many of a class's largest distances its distribution is fitted on.
    alpha
        How many of the likeliest classes give logit away; all of them, where there are fewer.

    Examples
    --------
    >>> shape, scale = weibull_of_tail(np.array([1.0, 2.0, 3.0, 4.0, 5.0]), 3)
    >>> round(shape, 1), round(scale, 1)
    (5.7, 4.3)
    """

    reference = "Bendale, Boult: Towards open set deep networks, CVPR 2016"

    def __init__(self, *, tail: int = 20, alpha: int = 10) -> None:
        check_openmax(tail, alpha)
        self._tail, self._alpha = tail, alpha

    @property
    def needs(self) -> Needs:
        """Logits."""
        return Needs(logits=True)

    def _fit(self, data: FitData) -> State:
        return fit_openmax(data, self._tail)

    def _load(self, state: State) -> None:
        self._layer = OpenMaxLayer(state, self._alpha)
        self._short = int((state["counts"].astype(np.int64) < self._tail).sum())

    def _score(self, observation: Observation) -> Features:
        assert observation.logits is not None
        logits, unknown = self._layer.revised(observation.logits)
        best = logits.max(axis=1)
        rest = np.log(np.exp(logits - best[:, None]).sum(axis=1))
        return np.asarray(unknown - best - rest)

    def notes(self) -> Mapping[str, JSON]:
        """How many classes have too few points: none of the distribution, or less than the whole tail."""
        return {
            "classes_without_distribution": int(self._layer.unfitted.sum()),
            "classes_with_a_short_tail": self._short,
        }


class OpenMaxLayer:
    """What stands in softmax's place: it moves a share of the greatest logits to an 'unknown' one."""

    def __init__(self, state: State, alpha: int) -> None:
        self._alpha = alpha
        self._mean = state["mean"].astype(np.float64)
        shape, scale = state["weibull"].astype(np.float64).T
        self.unfitted = shape == 0.0
        self._shape, self._log_scale = shape, np.log(np.maximum(scale, TINY))

    def revised(self, observed: NDArray[np.floating]) -> tuple[FloatArray, FloatArray]:
        """Return the logits without what they gave away, and that of the unknown class, which got it."""
        logits = observed.astype(np.float64)
        rows = np.arange(len(logits))[:, None]
        top = np.argsort(-logits, axis=1, kind="stable")[:, : self._alpha]
        share = 1.0 - np.arange(top.shape[1]) / top.shape[1]
        given = logits[rows, top] * share * self._outlying(logits, top)
        logits[rows, top] -= given
        return logits, given.sum(axis=1)

    def probabilities(self, observed: NDArray[np.floating]) -> FloatArray:
        """Return the probabilities of all classes, that of the unknown one last."""
        return peak(np.column_stack(self.revised(observed))).softmax()[0]

    def _outlying(self, logits: FloatArray, classes: NDArray[np.int64]) -> FloatArray:
        """Return the Weibull probability of a smaller distance from each of a row's classes."""
        distance = np.linalg.norm(logits[:, None] - self._mean[classes], axis=2)
        log_ratio = np.log(np.maximum(distance, TINY)) - self._log_scale[classes]
        # Beyond e^5 the exponential is 0 anyway; a power of a huge distance would overflow.
        share = -np.expm1(-np.exp(np.minimum(self._shape[classes] * log_ratio, 5.0)))
        return np.where(self.unfitted[classes], 1.0, share)


def check_openmax(tail: int, alpha: int) -> None:
    """Check the parameters of OpenMax."""
    check_number("tail", tail, low=FEWEST, whole=True)
    check_number("alpha", alpha, low=1, whole=True)


def fit_openmax(data: FitData, tail: int) -> State:
    """Take each class's mean logits, and the distribution of its largest distances from them."""
    n = len(data.classes)
    logits, labels = [np.empty((0, n), np.float32)], [np.empty(0, dtype=np.int64)]
    for observation, right in data:
        assert observation.logits is not None  # the needs say so
        correct = observation.predicted == right
        logits.append(observation.logits[correct])
        labels.append(right[correct])
    points, of = np.concatenate(logits), np.concatenate(labels)
    mean, weibull = np.zeros((n, n)), np.zeros((n, 2))  # a shape of 0: no distribution
    counts = np.bincount(of, minlength=n)
    for label in np.flatnonzero(counts):
        own = points[of == label].astype(np.float64)
        mean[label] = own.mean(axis=0)
        distances = np.linalg.norm(own - mean[label], axis=1)
        weibull[label] = weibull_of_tail(distances, tail) or 0.0
    return {"mean": mean, "weibull": weibull, "counts": counts}


def weibull_of_tail(distances: FloatArray, tail: int) -> tuple[float, float] | None:
    """Fit shape and scale to the largest distances; None where too few of them differ."""
    largest = np.sort(distances[distances > 0])[-tail:]
    if len(np.unique(largest)) < FEWEST:
        return None
    # In units of the largest, and from the shape that the spread of the logarithms suggests: far from it
    # the search for the likeliest shape can get lost.
    unit = largest / largest[-1]
    start = np.pi / np.sqrt(6.0) / np.log(unit).std()
    with np.errstate(all="ignore"):
        shape, _, scale = scipy.stats.weibull_min.fit(unit, start, floc=0.0, scale=1.0)
    return float(shape), float(scale * largest[-1])
