"""KL matching: a softmax unlike those that ID data of any class usually get is distrusted."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from farm.api import JSON, Features, FitData, FloatArray, Observation, State, check_choice
from monitors._reasons import ToldByOutputs
from monitors.max_softmax import TINY


class KLMatching(ToldByOutputs):
    """Compares the softmax with one template a class: the mean softmax of what is predicted as that class.

    The score is the least Kullback-Leibler divergence KL(p || template) over all templates. A class that is
    never predicted has no template. It needs probabilities only, so that it serves black boxes too.

    Parameters
    ----------
    source
        The ID data of the templates: 'validation' as published, or 'training'. Templates of validation data
        have seen what the threshold is calibrated on; those of training data are surer than unseen data.

    Examples
    --------
    >>> templates = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> least_divergence(np.array([[0.75, 0.25], [0.5, 0.5]]), np.log(templates)).round(4)
    array([0.    , 0.1438])
    """

    reference = "Hendrycks et al.: Scaling out-of-distribution detection for real-world settings, ICML 2022"

    def __init__(self, *, source: str = "validation") -> None:
        check_choice("source", source, ("validation", "training"))
        self._source = source

    def _fit(self, data: FitData) -> State:
        n = len(data.classes)
        sums, counts = np.zeros((n, n)), np.zeros(n, dtype=np.int64)
        for observation, _ in data.validation if self._source == "validation" else data:
            np.add.at(sums, observation.predicted, observation.probabilities)
            counts += np.bincount(observation.predicted, minlength=n)
        there = counts > 0
        return {"templates": sums[there] / counts[there, None], "counts": counts}

    def _load(self, state: State) -> None:
        self._log_templates = np.log(np.maximum(state["templates"].astype(np.float64), TINY))
        self._missing = int((state["counts"] == 0).sum())

    def _score(self, observation: Observation) -> Features:
        return least_divergence(observation.probabilities, self._log_templates)

    def notes(self) -> Mapping[str, JSON]:
        """How many classes are never predicted and so have no template."""
        return {"classes_without_template": self._missing}


def least_divergence(probabilities: FloatArray, log_templates: FloatArray) -> FloatArray:
    """Return each row's Kullback-Leibler divergence from the nearest template."""
    p = np.maximum(probabilities, 0.0)
    own = (p * np.log(np.maximum(p, TINY))).sum(axis=1)
    # The nearest template is the one with the least cross-entropy.
    result: FloatArray = own - (p @ log_templates.T).max(axis=1)
    return result
