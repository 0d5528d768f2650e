"""A linear support-vector machine between in-distribution validation data and outliers."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterable, Mapping

import numpy as np

from farm.api import JSON, Features, FitData, FloatArray, Monitor, Needs, Observation, State
from farm.errors import ComponentFailure

TOLERANCE = 1e-8
"""Where the search may stop: by default so early that the last bits of features show in the scores."""
STEPS = 100_000
"""So many rounds over the data the fit may take."""
SPREAD = 1e-9
"""A feature that varies by less than this share of its size says nothing, nor one below `SMALLEST`."""
SMALLEST = 1e-100
NOT_CONVERGED = f"the fit of the support-vector machine was stopped after {STEPS} rounds"


class SvmMonitor(Monitor):
    """Base of monitors that put a linear SVM on some features; its decision value is the score.

    A subclass says what the features of an observation are (`_features`), and learns whatever these need
    before (`_prepare`, `_take`).
    """

    @property
    def needs(self) -> Needs:
        """Outliers."""
        return Needs(outliers=True)

    @property
    def fixed_threshold(self) -> float:
        """The machine's own: an alarm is on the outliers' side."""
        return 0.0

    @abstractmethod
    def _features(self, observation: Observation) -> FloatArray:
        """Return the features, a row an instance."""

    def _prepare(self, data: FitData) -> State:
        """Learn from ID training data what the features need."""
        del data
        return {}

    def _take(self, state: State) -> None:
        """Unpack what `_prepare` learned."""
        del state

    def _fit(self, data: FitData) -> State:
        own = self._prepare(data)
        self._take(own)
        inside = self._rows("ID validation data", (observation for observation, _ in data.validation))
        return {**own, **fit_svm(inside, self._rows("outliers", data.outliers or ()))}

    def _rows(self, what: str, observations: Iterable[Observation]) -> FloatArray:
        found = [self._features(observation) for observation in observations]
        if not sum(map(len, found)):
            raise ComponentFailure(f"monitor '{self.name}' got no {what}; expected at least one instance")
        return np.concatenate(found)

    def _load(self, state: State) -> None:
        self._take(state)
        self._weights, self._bias = state["weights"].astype(np.float64), float(state["bias"])
        self._balanced_accuracy = float(state["balanced_accuracy"])
        self._converged = bool(state["converged"])

    def _score(self, observation: Observation) -> Features:
        return np.asarray(self._features(observation) @ self._weights + self._bias)

    def notes(self) -> Mapping[str, JSON]:
        """How well the fit tells its own data apart, and a warning where it was stopped."""
        told: dict[str, JSON] = {"balanced_accuracy_of_fit": self._balanced_accuracy}
        return told if self._converged else told | {"warning": NOT_CONVERGED}


def fit_svm(inside: FloatArray, outside: FloatArray) -> dict[str, np.ndarray]:
    """Fit a linear SVM that is above 0 for the outliers, on features of mean 0 and variance 1.

    OD-test minimises the mean hinge loss of m instances with a weight decay of 1 / m, that of the bias too:
    mean(hinge) + |w|^2 / (2 m). Times m that is the sum of the hinge losses + |w|^2 / 2, which is
    scikit-learn's `LinearSVC` with C = 1. Both classes weigh the same, however many instances each has.

    Examples
    --------
    >>> fitted = fit_svm(np.array([[0.0], [1.0]]), np.array([[3.0], [4.0]]))
    >>> bool(np.isclose(2.0 * fitted["weights"][0] + fitted["bias"], 0.0, atol=1e-3))
    True
    """
    from sklearn.exceptions import ConvergenceWarning  # not before: a guard fits nothing
    from sklearn.svm import LinearSVC

    # Of both classes alike, so that the larger one does not decide what counts as far.
    mean = (inside.mean(axis=0) + outside.mean(axis=0)) / 2
    spread = np.sqrt((np.square(inside - mean).mean(axis=0) + np.square(outside - mean).mean(axis=0)) / 2)
    size = np.maximum(abs(inside).max(axis=0), abs(outside).max(axis=0))
    told = (spread > SPREAD * size) & (spread > SMALLEST)
    scale = np.where(told, spread, 1.0)
    rows = np.where(told, (np.concatenate([inside, outside]) - mean) / scale, 0.0)
    is_outlier = np.repeat([0, 1], [len(inside), len(outside)])
    machine = LinearSVC(
        C=1.0, loss="hinge", dual=True, class_weight="balanced", tol=TOLERANCE, max_iter=STEPS, random_state=0
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        machine.fit(rows, is_outlier)
    for each in caught:
        if not issubclass(each.category, ConvergenceWarning):
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
    weights = machine.coef_[0] / scale * told
    bias = machine.intercept_[0] - mean @ weights
    right = ((inside @ weights + bias <= 0).mean() + (outside @ weights + bias > 0).mean()) / 2
    return {
        "weights": np.asarray(weights),
        "bias": np.array(bias),
        "balanced_accuracy": np.array(right),
        "converged": np.array(not any(issubclass(each.category, ConvergenceWarning) for each in caught)),
    }
