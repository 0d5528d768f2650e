"""The classes of pytorch-ood: how each is entered, and what of its constructor a classifier fills in."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import nn

from farm.api import Classifier, Head
from farm.errors import ParameterError, RequirementError, one_line, suggestion

PACKAGE = "pytorch_ood"
FROM_HEAD = frozenset({"head", "w", "b"})
"""What constructors call the last linear layer, or its weights and bias."""
FROM_CLASSIFIER = FROM_HEAD | {"model", "encoder", "backbone"}
REFUSED = {
    "Gram": "it runs the network part by part, and a classifier shows no parts",
    "NACUE": "it puts hooks on parts of the network, and a classifier shows no parts",
    "MCD": "it puts the network under watch into training mode",
    "OpenMax": "an instance's score depends on which classes are predicted in the rest of its batch (as of "
    "0.4.0); use the monitor 'openmax'",
    "RankFeat": "it needs the network behind a convolution; of maps of one place, as the last hidden layer "
    "is, it leaves nothing",
}
"""Detectors that cannot work here, and why."""


class Way(NamedTuple):
    """How a kind of detector is entered."""

    takes: str
    """What is scored: `logits`, `features`, `maps`, `layers`, `images`, or `last-layer` with its features."""
    predict: str
    fit: str


WAYS = (
    Way("logits", "predict_logits", "fit_logits"),
    Way("features", "predict_features", "fit_features"),
    Way("maps", "predict_feature_maps", "fit_feature_maps"),
    Way("layers", "predict_structured", "fit_structured"),
)
# What differentiates by weights is given the one layer whose weights are shown; all else gets images.
LAST_LAYER, IMAGES = Way("last-layer", "predict", "fit"), Way("images", "predict", "fit_features")


class Detector:
    """One class of the library, by name, with the settings for its constructor.

    Raises a `RequirementError` where the library is missing, and a `ParameterError` where it has no such
    class or the class no such setting.
    """

    def __init__(self, name: str, settings: Mapping[str, Any]) -> None:
        classes = _classes()
        if name not in classes:
            alike = [n for n in classes if n.lower() == name.lower()]
            hint = f"did you mean '{alike[0]}'?" if alike else suggestion(name, classes)
            raise ParameterError(f"detector is '{name}', which pytorch-ood does not have; {hint}")
        if name in REFUSED:
            raise ParameterError(f"detector is '{name}', which does not work here: {REFUSED[name]}")
        self.name, self._class = name, classes[name]
        self._signature = inspect.signature(self._class).parameters
        self._settings = self._checked(settings)
        by_method = (way for way in WAYS if hasattr(self._class, way.predict))
        self.way = LAST_LAYER if "param_filter" in self._signature else next(by_method, IMAGES)
        self.wants_head = self.way is LAST_LAYER or not FROM_HEAD.isdisjoint(self._signature)
        self.learns = bool(getattr(self._class, "requires_fit", False))

    @property
    def version(self) -> str:
        """The library's version."""
        return str(importlib.import_module(PACKAGE).__version__)

    def make(self, classifier: Classifier, n_layers: int) -> Any:
        """Make one around a classifier; what scores observations needs no network of its own."""
        given: dict[str, Any] = {"encoder": None, "backbone": None, "model": None}
        if self.way.takes == "layers":
            given["model"] = [None] * n_layers  # only their number counts
        if self.way is IMAGES:
            given["model"] = given["encoder"] = classifier.differentiable
        if self.wants_head:
            linear = _linear(classifier.head)
            head = nn.Sequential(nn.Flatten(), linear) if self.way.takes == "maps" else linear
            given |= {"head": head, "w": linear.weight, "b": linear.bias}
            given["model"] = linear if self.way is LAST_LAYER else None
        filled = {name: value for name, value in given.items() if name in self._signature}
        try:
            return self._class(**filled, **self._settings)
        except Exception as error:
            raise ParameterError(f"detector '{self.name}' cannot be made: {one_line(error)}") from error

    def _checked(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        own = {n: p for n, p in self._signature.items() if n not in FROM_CLASSIFIER}
        open_ended = any(p.kind is p.VAR_KEYWORD for p in own.values())
        for name in settings:
            if name in FROM_CLASSIFIER or (name not in own and not open_ended):
                why = "it comes from the classifier" if name in FROM_CLASSIFIER else suggestion(name, own)
                raise ParameterError(f"settings names '{name}', no setting of detector '{self.name}'; {why}")
        for name, parameter in own.items():
            fixed = parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
            if not fixed and parameter.default is parameter.empty and name not in settings:
                raise ParameterError(f"detector '{self.name}' needs '{name}' in settings")
        # A file can hold lists of numbers, and no tensors.
        tensors = {n for n, p in own.items() if p.annotation in (torch.Tensor, "torch.Tensor", "Tensor")}
        return {n: torch.tensor(v) if n in tensors else v for n, v in settings.items()}


def _linear(head: Head) -> nn.Linear:
    weights, bias = (torch.from_numpy(array.copy()) for array in head)
    # An ordinary one would draw its first weights from the generator that all of torch shares.
    linear = nn.utils.skip_init(nn.Linear, weights.shape[1], weights.shape[0]).requires_grad_(False)
    linear.weight.copy_(weights)
    linear.bias.copy_(bias)
    assert isinstance(linear, nn.Linear)
    return linear


def _classes() -> dict[str, Any]:
    """Return all detectors by name."""
    try:
        importlib.import_module(PACKAGE)
        module = importlib.import_module(f"{PACKAGE}.detector")
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name == PACKAGE:
            raise RequirementError(
                "monitor 'pytorch-ood' needs the package pytorch-ood, which is not installed; "
                "try: pip install 'farm-testbed[ood]'"
            ) from None
        # It imports torchvision, which breaks beside a torch that it was not built for.
        raise RequirementError(f"pytorch-ood cannot be imported: {one_line(error)}") from error
    return {n: c for n, c in vars(module).items() if isinstance(c, type) and hasattr(c, "predict")}
