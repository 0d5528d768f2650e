"""Boxes around what a class's training data make of a hidden layer: the part that all box monitors share.

A box is a range in each dimension, around one k-means cluster of one class's correctly classified training
data. The score of an instance is the smallest enlargement tau that would let it into a box of its *predicted*
class: at most 0 inside, and the more above the farther outside. So tau is the threshold, and may be set as
published or be calibrated like any other.

Where several layers are watched, an instance is inside when it is inside at every one of them, as published:
the layer at which it is farthest outside decides. One tau holds for all layers, so in units of activation the
layer with the largest values decides most often; in widths the layers are comparable.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence

import numpy as np

from farm.api import (
    JSON,
    LAST_HIDDEN,
    POOLS,
    Explanation,
    Features,
    FitData,
    Monitor,
    Needs,
    Observation,
    Plane,
    State,
    check_choice,
    check_number,
    collect,
)
from farm.errors import ParameterError
from monitors._box_reasons import reason_of
from monitors._box_spaces import Points, Space
from monitors._layer import RightByClass
from monitors._layer_boxes import LayerBoxes, fit_boxes

NO_BOX = 1e9
"""The score where a class has no box at all: outside of everything, and still a finite number."""


class BoxMonitor(Monitor):
    """Base of the box monitors. Subclasses say into which space the boxes are put."""

    def __init__(
        self,
        *,
        clusters: int = 3,
        tau: float | None = None,
        tau_unit: str = "activation",
        boundary: str = "closed",
        layer: str | Sequence[str] = LAST_HIDDEN,
        pool: str = "mean",
    ) -> None:
        check_choice("pool", pool, POOLS)
        check_number("clusters", clusters, low=1, whole=True)
        if tau is not None:
            check_number("tau", tau, low=0)
        check_choice("tau_unit", tau_unit, ("activation", "width"))
        check_choice("boundary", boundary, ("closed", "strict"))
        if boundary == "strict" and tau is None:
            raise ParameterError("boundary is 'strict', which means nothing without a tau; set tau")
        self._clusters, self._tau, self._layers, self._pool = clusters, tau, _names(layer), pool
        self._in_widths, self._strict = tau_unit == "width", boundary == "strict"

    @property
    def needs(self) -> Needs:
        """The hidden layers watched."""
        return Needs(layers=self._layers, pool=self._pool)

    @property
    def fixed_threshold(self) -> float | None:
        """Tau, where it is set."""
        return self._tau

    @abstractmethod
    def _fit_space(self, layer: str, by_class: Sequence[Points], seed: int) -> State:
        """Learn a projection of the points of each class; a class that it cannot serve gets no box."""

    @abstractmethod
    def _space(self, state: State) -> Space:
        """Unpack what `_fit_space` gave."""

    def _fit(self, data: FitData) -> State:
        # One layer after the other, so that only one layer's values are held together.
        fitted = [self._fit_layer(data, layer) for layer in self._layers]
        return {
            self._prefix(i) + name: array for i, state in enumerate(fitted) for name, array in state.items()
        }

    def _fit_layer(self, data: FitData, layer: str) -> State:
        by_class = RightByClass(collect(data, layer), len(data.classes))
        space = self._fit_space(layer, by_class, data.seed)
        boxes = fit_boxes(self._space(space), by_class, self._clusters, data.seed)
        return {**space, **boxes}

    def _prefix(self, i: int) -> str:
        """Tell the arrays of several layers apart; a single layer's go by their plain names."""
        return f"layer{i}." if len(self._layers) > 1 else ""

    def _load(self, state: State) -> None:
        self._boxes: list[LayerBoxes] = []
        for i, layer in enumerate(self._layers):
            start = self._prefix(i)
            own = {name.removeprefix(start): a for name, a in state.items() if name.startswith(start)}
            self._boxes.append(LayerBoxes(layer, self._space(own), own, in_widths=self._in_widths))

    def _score(self, observation: Observation) -> Features:
        score = self._boxes[0].outside(observation)
        for boxes in self._boxes[1:]:
            score = np.maximum(score, boxes.outside(observation))
        score = score.astype(np.float64, copy=False)
        if self._strict:
            # A point exactly on a face counts as outside: one step up decides it.
            score = np.nextafter(score, np.inf)
        return np.where(score < NO_BOX, score, NO_BOX)

    def _explain(self, observation: Observation) -> Explanation:
        # The layer at which it is farthest outside decides; a class without boxes there is farther than all.
        nearest = [boxes.nearest(observation) for boxes in self._boxes]
        decides = max(nearest, key=lambda box: math.inf if box is None else box.outside)
        name = self.classifier.classes[int(observation.predicted[0])]
        face = self._tau if self._strict else None
        return reason_of(decides, name, in_widths=self._in_widths, outside_from=face)

    def _plane(self, observation: Observation) -> Plane | None:
        # As alarmed: what is outside of a box by no more than its class's threshold is let in.
        threshold = self.calibration.thresholds(observation.predicted[:1])
        return self._boxes[0].plane(observation, float(np.ravel(threshold)[0]))

    def notes(self) -> Mapping[str, JSON]:
        """What is to know of the boxes; of several layers, for each of them."""
        notes = {layer: boxes.notes() for layer, boxes in zip(self._layers, self._boxes, strict=True)}
        return notes if len(notes) > 1 else notes[self._layers[0]]


def _names(layer: str | Sequence[str]) -> tuple[str, ...]:
    names = (layer,) if isinstance(layer, str) else layer
    right = isinstance(names, (list, tuple)) and names and all(isinstance(n, str) for n in names)
    if not right or len(set(names)) < len(names):
        raise ParameterError(f"layer is {layer!r}; expected a layer's name, or a list of names, each once")
    return tuple(names)
