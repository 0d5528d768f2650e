"""The free energy of logits, and logits from the last hidden layer: what several families build upon."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from farm.api import FloatArray, Head, IntArray, Observation, Peak, peak
from farm.errors import RequirementError


def peak_of(observation: Observation) -> Peak:
    """Look at the observed logits so, once for all monitors that do."""
    if observation.logits is None:
        raise RequirementError("logits were not observed; declare them in the monitor's needs")
    return observation.once(peak, observation.logits)


def peak_of_softmax(observation: Observation) -> Peak:
    """Look at what softmax is made of: logits, or where there are none the probabilities' logarithms."""
    if observation.logits is not None:
        return peak_of(observation)
    return observation.once(peak_of_probabilities, observation.probabilities)


def peak_of_probabilities(probabilities: FloatArray) -> Peak:
    """Look at rows of probabilities as at the logits that they are the softmax of.

    Examples
    --------
    >>> peak_of_probabilities(np.array([[0.5, 0.5, 0.0]])).softmax()[0].tolist()
    [[0.5, 0.5, 0.0]]
    """
    with np.errstate(divide="ignore"):  # of no probability at all it is minus infinity
        return peak(np.log(np.maximum(probabilities, 0.0, dtype=np.float64)))


def log_sum_exp(logits: NDArray[np.floating]) -> FloatArray:
    """Return log(sum(exp(logits))) a row, in float64: the more evidence for any class, the greater.

    Examples
    --------
    >>> log_sum_exp(np.array([[0.0, 0.0], [1000.0, 0.0]])).round(4).tolist()
    [0.6931, 1000.0]
    """
    return free_energy(peak(logits))


def free_energy(seen: Peak) -> FloatArray:
    """Return what `log_sum_exp` does of the logits, from their peak."""
    result: FloatArray = seen.best + np.log1p(seen.doubt)
    return result


def logits_of(observation: Observation) -> FloatArray:
    """Return the observed logits in float64."""
    if observation.logits is None:
        raise RequirementError("logits were not observed; declare them in the monitor's needs")
    return observation.once(_widened, observation.logits)


def _widened(logits: NDArray[np.floating]) -> FloatArray:
    wide = logits.astype(np.float64)
    wide.setflags(write=False)
    return wide


def lead_of(logits: FloatArray, classes: IntArray) -> FloatArray:
    """Give, a row, by how much one class leads over the best of the others.

    Examples
    --------
    >>> lead_of(np.array([[5.0, 2.0, 3.0], [5.0, 2.0, 3.0]]), np.array([0, 1])).tolist()
    [2.0, -3.0]
    """
    rows = np.arange(len(logits))
    others = logits.copy()
    others[rows, classes] = -np.inf
    result: FloatArray = logits[rows, classes] - others.max(axis=1)
    return result


class WideHead:
    """A classifier's last linear layer in float64, so that huge activations do not overflow.

    Examples
    --------
    >>> head = WideHead(Head(np.eye(2, dtype=np.float32), np.ones(2, np.float32)))
    >>> head(np.array([[2.0, 3.0]])).tolist()
    [[3.0, 4.0]]
    """

    def __init__(self, head: Head) -> None:
        self.weights: FloatArray = np.asarray(head.weights, dtype=np.float64)
        self.bias: FloatArray = np.asarray(head.bias, dtype=np.float64)
        self._across = np.ascontiguousarray(self.weights.T)

    def __call__(self, features: FloatArray) -> FloatArray:
        """Return the logits of these features."""
        result: FloatArray = features @ self._across + self.bias
        return result
