"""Shaping: change the last hidden layer's activations or weights, and take the energy of the new logits."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from farm.api import (
    LAST_HIDDEN,
    Features,
    FitData,
    FloatArray,
    Head,
    Monitor,
    Needs,
    Observation,
    State,
    check_number,
    collect,
)
from monitors.free_energy import WideHead, log_sum_exp


class Shaping(Monitor):
    """Base: the energy of logits made anew from the last hidden layer. Subclasses say how it is shaped."""

    @property
    def needs(self) -> Needs:
        """The last hidden layer, and the weights behind it."""
        return Needs(layers=(LAST_HIDDEN,), head=True)

    def _fit(self, data: FitData) -> State:
        del data  # most learn nothing
        return {}

    def _load(self, state: State) -> None:
        del state
        self._head = WideHead(self.classifier.head)

    def _score(self, observation: Observation) -> Features:
        features = observation.features(LAST_HIDDEN).astype(np.float64)
        return -log_sum_exp(self._head(self._shape(features)))

    @abstractmethod
    def _shape(self, features: FloatArray) -> FloatArray:
        """Return the activations that the new logits are made from."""


class React(Shaping):
    """ReAct: activations are clipped at what training data hardly ever exceed.

    Parameters
    ----------
    quantile
        The clip is this quantile of all training activations.

    Examples
    --------
    >>> React(quantile=0.95).needs.head
    True
    """

    reference = "Sun, Guo, Li: ReAct: out-of-distribution detection with rectified activations, NeurIPS 2021"

    def __init__(self, *, quantile: float = 0.9) -> None:
        check_number("quantile", quantile, low=0, high=1)
        self._quantile = quantile

    def _fit(self, data: FitData) -> State:
        return {"clip": np.array(np.quantile(collect(data, LAST_HIDDEN).features, self._quantile))}

    def _load(self, state: State) -> None:
        super()._load(state)
        self._clip = float(np.asarray(state["clip"], dtype=np.float64))

    def _shape(self, features: FloatArray) -> FloatArray:
        return np.minimum(features, self._clip)


class Dice(Shaping):
    """DICE: only the weights that contribute most to the logits of training data stay.

    Parameters
    ----------
    sparsity
        The share of weights that are set to 0.

    Examples
    --------
    >>> Dice(sparsity=0.7).parameters["sparsity"]
    0.7
    """

    reference = "Sun, Li: DICE: leveraging sparsification for out-of-distribution detection, ECCV 2022"

    def __init__(self, *, sparsity: float = 0.9) -> None:
        check_number("sparsity", sparsity, low=0, high=1)
        self._sparsity = sparsity

    def _fit(self, data: FitData) -> State:
        mean = collect(data, LAST_HIDDEN).features.mean(axis=0, dtype=np.float64)
        contribution = self.classifier.head.weights * mean
        return {"kept": contribution > np.quantile(contribution, self._sparsity)}

    def _load(self, state: State) -> None:
        weights, bias = self.classifier.head
        self._head = WideHead(Head(np.where(state["kept"], weights, np.float32(0)), bias))

    def _shape(self, features: FloatArray) -> FloatArray:
        return features
