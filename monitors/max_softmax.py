"""Max-softmax: the less probability the likeliest class has, the more anomalous the instance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from farm.api import Features, FloatArray, Observation, Peak, peak
from monitors._reasons import ToldByOutputs
from monitors._unlearned import Unlearned
from monitors.free_energy import peak_of

TINY = np.finfo(np.float64).tiny


class MaxSoftmax(Unlearned, ToldByOutputs):
    """The baseline of Hendrycks and Gimpel: distrust what is predicted with little confidence.

    The score is the log-odds against the predicted class, log((1 - p) / p). It ranks as 1 - p does, but does
    not saturate: two instances of which one is 0.99999999 certain and one 0.999999999 still differ.

    Examples
    --------
    >>> confident, doubtful = log_odds_against(np.array([[9.0, 0.0, 0.0], [1.0, 0.9, 0.0]]))
    >>> bool(doubtful > confident)
    True
    """

    reference = "Hendrycks, Gimpel: A baseline for detecting misclassified and OOD examples, ICLR 2017"

    def _score(self, observation: Observation) -> Features:
        if observation.logits is not None:
            return log_odds(peak_of(observation))
        # A black box gives probabilities only; where the others round to nothing, so does the doubt.
        probabilities = observation.probabilities
        others = probabilities.copy()
        others[np.arange(len(others)), observation.predicted] = 0.0
        against = np.maximum(others.sum(axis=1), TINY) / np.maximum(observation.confidence, TINY)
        return np.asarray(np.log(against))


def log_odds_against(logits: NDArray[np.floating]) -> FloatArray:
    """Return log((1 - p) / p) of the likeliest class from logits, without forming p."""
    return log_odds(peak(logits))


def log_odds(seen: Peak) -> FloatArray:
    """Return the same from the logits' peak."""
    if seen.doubt.all():
        return np.asarray(np.log(seen.doubt))
    # Somewhere all others vanish beside the best: count from the second best.
    below = seen.below.copy()
    below[np.arange(len(below)), below.argmax(axis=1)] = -np.inf
    second = below.max(axis=1)
    result: FloatArray = second + np.log(np.exp(below - second[:, None]).sum(axis=1))
    return result
