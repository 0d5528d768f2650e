"""What explanations have in common: the parts of a score that weigh most, and the likeliest classes."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

import numpy as np

from farm.api import Explanation, FloatArray, IntArray, Monitor, Observation

MOST = 10
"""So many parts of a score are told."""


def heaviest(layer: str, parts: FloatArray, neurons: IntArray | None = None) -> dict[str, float]:
    """Name the largest parts of a score after the neurons they come from, and leave out what adds nothing.

    Examples
    --------
    >>> heaviest("fc2", np.array([0.5, -1.0, 0.0, 2.0]))
    {'fc2[3]': 2.0, 'fc2[0]': 0.5}
    """
    order = np.argsort(-parts, kind="stable")[:MOST]
    names = np.arange(len(parts)) if neurons is None else neurons
    return {
        f"{layer}[{int(names[i])}]": float(parts[i]) for i in order if np.isfinite(parts[i]) and parts[i] > 0
    }


def likeliest(one: Observation, classes: Sequence[str]) -> Explanation:
    """Name the two likeliest classes of one instance, with their probabilities and logits."""
    # Where probabilities round to 0, logits still tell which class comes second.
    rank = (one.probabilities if one.logits is None else one.logits)[0].astype(np.float64)
    first = int(one.predicted[0])
    rank[first] = -np.inf
    second = int(rank.argmax())
    told = []
    for label in (first, second):
        logit = "" if one.logits is None else f" (logit {float(one.logits[0, label]):.3g})"
        told.append(f"'{classes[label]}' with probability {float(one.probabilities[0, label]):.3g}{logit}")
    if second == first:
        return Explanation(f"the only class is {told[0]}", details={"likeliest": classes[first]})
    return Explanation(
        f"the likeliest class is {told[0]}, the second {told[1]}",
        details={"likeliest": classes[first], "second": classes[second]},
    )


class ToldByOutputs(Monitor, ABC):
    """Base of the monitors whose score comes from the classifier's outputs alone: these are the reason."""

    def _explain(self, observation: Observation) -> Explanation:
        return likeliest(observation, self.classifier.classes)
