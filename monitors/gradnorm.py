"""GradNorm: how strongly the last layer's weights would have to change for the prediction to be uniform."""

from __future__ import annotations

import numpy as np

from farm.api import (
    LAST_HIDDEN,
    Features,
    FloatArray,
    Needs,
    Observation,
    check_number,
)
from monitors._unlearned import Unlearned
from monitors.free_energy import logits_of


class GradNorm(Unlearned):
    """The size of the gradient that would make the prediction uniform, negated: familiar instances pull more.

    The gradient is that of the Kullback-Leibler divergence from the uniform distribution to the softmax, with
    respect to the weights of the last linear layer (not its bias), and its size is the sum of all absolute
    values. It is the outer product of (softmax - 1 / classes) / temperature with the features, so its size is
    the product of their sizes, and no backward pass is run. That holds where the last layer is linear, so the
    classifier must be one that shows that layer's weights, though only their being there matters.

    Parameters
    ----------
    temperature
        Divides the logits. The higher it is, the more the size of the features decides.

    Examples
    --------
    >>> GradNorm().of(np.array([[1.0, -2.0]]), np.log([[3.0, 1.0]])).round(6)
    array([-1.5])
    """

    reference = (
        "Huang, Geng, Li: On the importance of gradients for detecting distributional shifts in the wild, "
        "NeurIPS 2021"
    )

    def __init__(self, *, temperature: float = 1.0) -> None:
        check_number("temperature", temperature, above=0)
        self._temperature = temperature

    @property
    def needs(self) -> Needs:
        """What enters the last layer, what leaves it, and that it is linear."""
        return Needs(layers=(LAST_HIDDEN,), logits=True, head=True)

    def _score(self, observation: Observation) -> Features:
        return self.of(observation.features(LAST_HIDDEN), logits_of(observation))

    def of(self, features: Features, logits: FloatArray) -> FloatArray:
        """Return the score of each row of features and of the logits that they lead to."""
        share = np.exp((logits - logits.max(axis=1, keepdims=True)) / self._temperature)
        share /= share.sum(axis=1, keepdims=True)
        pull = np.abs(share - 1.0 / logits.shape[1]).sum(axis=1) / self._temperature
        result: FloatArray = -pull * np.abs(features).sum(axis=1, dtype=np.float64)
        return result
