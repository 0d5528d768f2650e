"""Temperature scaling: doubt is counted after the classifier's confidence has been made honest on ID data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import scipy

from farm.api import JSON, Explanation, Features, FitData, FloatArray, IntArray, Needs, Observation, State
from monitors._reasons import ToldByOutputs
from monitors.max_softmax import log_odds_against

LOWEST, HIGHEST = 0.01, 100.0
"""Where the temperature is searched. A classifier that is always right would want 0, a blind one infinity."""


class TemperatureScaling(ToldByOutputs):
    """Max-softmax at the one temperature that makes the labels of ID validation data likeliest.

    The score is the log-odds against the likeliest class at that temperature. With more than two classes it
    does not rank as max-softmax does: a high temperature gives the unlikely classes more of a say.

    Examples
    --------
    >>> logits, labels = np.array([[4.0, 0.0]] * 4), np.array([0, 0, 0, 1])
    >>> round(best_temperature(logits, labels), 3)  # 3 in 4 are right: softmax(4 / T) is to be 0.75
    3.641
    """

    reference = "Guo, Pleiss, Sun, Weinberger: On calibration of modern neural networks, ICML 2017"

    @property
    def needs(self) -> Needs:
        """Logits."""
        return Needs(logits=True)

    def _fit(self, data: FitData) -> State:
        logits, labels = [], []
        for observation, right in data.validation:
            assert observation.logits is not None  # the needs say so
            logits.append(observation.logits.astype(np.float64))
            labels.append(right)
        return {"temperature": np.array(best_temperature(np.concatenate(logits), np.concatenate(labels)))}

    def _load(self, state: State) -> None:
        self._temperature = float(state["temperature"])

    def _score(self, observation: Observation) -> Features:
        assert observation.logits is not None
        return log_odds_against(observation.logits.astype(np.float64) / self._temperature)

    def _explain(self, observation: Observation) -> Explanation:
        told = super()._explain(observation)
        return replace(told, reason=f"{told.reason}; logits are divided by {self._temperature:.3g}")

    def notes(self) -> Mapping[str, JSON]:
        """The temperature, and whether the search ended where it may not go on."""
        at_edge = not 1.01 * LOWEST < self._temperature < 0.99 * HIGHEST
        return {"temperature": self._temperature, "at_edge": at_edge}


def best_temperature(logits: FloatArray, labels: IntArray) -> float:
    """Return the temperature at which the labels have the lowest mean negative log-likelihood."""
    behind = logits - logits[np.arange(len(labels)), labels][:, None]  # 0 at the label's own class
    best = behind.max(axis=1, keepdims=True)

    def loss(log_temperature: float) -> float:
        t = np.exp(log_temperature)
        return float((best[:, 0] / t + np.log(np.exp((behind - best) / t).sum(axis=1))).mean())

    # Convex in 1 / T, so that along log T there is one valley at most.
    found = scipy.optimize.minimize_scalar(
        loss, bounds=(np.log(LOWEST), np.log(HIGHEST)), method="bounded", options={"xatol": 1e-6}
    )
    # Where every label is the likeliest class, the loss is 0 long before the lowest temperature.
    return LOWEST if loss(np.log(LOWEST)) <= found.fun else float(np.exp(found.x))
