"""Detectors of the library pytorch-ood as monitors: an extra, `pip install 'farm-testbed[ood]'`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from farm.api import (
    JSON,
    LAST_HIDDEN,
    POOLS,
    Features,
    FitData,
    FloatArray,
    Monitor,
    Needs,
    Observation,
    State,
    check_choice,
    derived_seed,
)
from farm.errors import ParameterError
from monitors._detectors import Detector

NO_SCORE = 1e300
"""What an instance gets for which a detector has no number: nothing is more anomalous."""


class PytorchOod(Monitor):
    """Any detector of pytorch-ood that fits the contract; the score is its own, higher = more anomalous.

    Its methods and constructor decide what it gets: the observed logits, the features of `layer`, the last
    hidden layer as maps of one place, several layers, or images. With images it runs the
    classifier itself, which the readouts show. One that differentiates by weights gets the last linear layer
    as its network; one that wants features through which gradients flow back to images gets logits.

    The state is what it was fitted on, and it is fitted anew from that when loaded, so memory grows with the
    data. It computes in float32: where that overflows or divides 0 by 0, the score is 1e300, or -1e300 for
    minus infinity. A threshold of 1e300 tells that it had no number for much of the ID validation data.

    Parameters
    ----------
    detector
        The name of its class in `pytorch_ood.detector`.
    settings
        Further arguments of its constructor; model, encoder, backbone, head, w and b are filled in.
    layer, pool
        The layer whose values are the features, and its pooling, as for `oob`; a list for several layers.
    source
        The ID data that it is fitted on: `training`, or `validation` as some methods have it.

    Examples
    --------
    In an experiment: `{name: pytorch-ood, as: theirs, detector: KNN, settings: {k: 10}}`.

    >>> from farm.api import parameters_of
    >>> list(parameters_of(PytorchOod))
    ['detector', 'settings', 'layer', 'pool', 'source']
    """

    reference = (
        "Kirchheim, Filax, Ortmeier: PyTorch-OOD: a library for out-of-distribution detection based on "
        "PyTorch, CVPR workshops 2022"
    )

    def __init__(
        self,
        *,
        detector: str,
        settings: Mapping[str, Any] | None = None,
        layer: str | Sequence[str] = LAST_HIDDEN,
        pool: str = "mean",
        source: str = "training",
    ) -> None:
        check_choice("pool", pool, POOLS)
        check_choice("source", source, ("training", "validation"))
        self._kind = Detector(detector, settings or {})
        self._takes, self._source, self._pool = self._kind.way.takes, source, pool
        self._layers = layers = (layer,) if isinstance(layer, str) else tuple(layer)
        choices = {"layers": ("layers", len(layers) > 0), "features": ("one layer", len(layers) == 1)}
        no_choice = (f"'{LAST_HIDDEN}'", layers == (LAST_HIDDEN,))
        expected, right = choices.get("" if self._kind.wants_head else self._takes, no_choice)
        if not right:
            raise ParameterError(f"layer is {layer!r}; for detector '{detector}' expected {expected}")

    @property
    def needs(self) -> Needs:
        """What the detector asks for."""
        if self._takes == "images":
            return Needs(gradients=True, logits=self._kind.learns)
        if self._takes == "logits":
            return Needs(logits=True)
        return Needs(layers=self._layers, pool=self._pool, head=self._kind.wants_head)

    def _fit(self, data: FitData) -> State:
        detector = self._kind.make(self.classifier, len(self._layers))
        # A setting can tell some of them what they would learn.
        if not self._kind.learns or getattr(detector, "_is_fitted", False):
            return {}
        takes = "logits" if self._takes == "images" else self._takes
        seen = data.validation if self._source == "validation" else data
        rows = [(self._inputs(observation, takes), labels) for observation, labels in seen]
        inputs = zip(*(arrays for arrays, _ in rows), strict=True)
        return {
            **{f"inputs.{i}": np.concatenate(parts) for i, parts in enumerate(inputs)},
            "labels": np.concatenate([labels for _, labels in rows]),
            "seed": np.array(derived_seed(data.seed, "pytorch-ood", self._kind.name)),
        }

    def _load(self, state: State) -> None:
        self._detector = self._kind.make(self.classifier, len(self._layers))
        if not state:
            return
        inputs = [_tensor(state[name], np.float32) for name in state if name.startswith("inputs.")]
        fit = getattr(self._detector, self._kind.way.fit)
        with torch.random.fork_rng(devices=[]), np.errstate(all="ignore"):
            torch.default_generator.manual_seed(int(state["seed"]))
            fit(inputs if self._takes == "layers" else inputs[0], _tensor(state["labels"], np.int64))

    def _score(self, observation: Observation) -> Features:
        if not len(observation):
            return np.empty(0)
        inputs = [_tensor(values, np.float32) for values in self._inputs(observation, self._takes)]
        predict = getattr(self._detector, self._kind.way.predict)
        with torch.no_grad(), np.errstate(all="ignore"):
            scores = predict(inputs if self._takes == "layers" else inputs[0])
        wide: FloatArray = scores.detach().cpu().double().numpy()
        return np.nan_to_num(wide, nan=NO_SCORE, posinf=NO_SCORE, neginf=-NO_SCORE)

    def notes(self) -> Mapping[str, JSON]:
        """The library's version, and what of an observation the detector sees."""
        return {"pytorch_ood": self._kind.version, "sees": self._takes}

    def _inputs(self, observation: Observation, takes: str) -> list[NDArray[Any]]:
        if takes == "images":
            return [observation.images]
        if takes == "logits":
            assert observation.logits is not None  # the needs say so
            return [observation.logits]
        features = [observation.features(layer) for layer in self._layers]
        return [rows[:, :, None, None] for rows in features] if takes == "maps" else features


def _tensor(values: NDArray[Any], dtype: type[np.generic]) -> torch.Tensor:
    # Observations are read-only, and torch wants what it may write to.
    return torch.from_numpy(np.require(values, dtype, requirements=["C", "W"]))
