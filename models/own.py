"""Classifiers that people bring along: a torch module with weights, or any function."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from farm.api import (
    Classifier,
    Context,
    FunctionClassifier,
    Images,
    ModelSource,
    SavedClassifier,
    State,
    Workload,
)
from farm.errors import ExperimentError
from farm.registry import import_target
from models._answers import check_gives
from models._inputs import (
    Task,
    as_list,
    checked_size,
    class_order,
    first_look,
    looks_like_probabilities,
    preprocessing,
)
from models._weights import fit_weights, read_weights
from models.torch_classifier import TorchClassifier, load_arrays


class OwnModule(ModelSource):
    """Your own `torch.nn.Module` with its weights.

    Passes with dropout, of which `mc-dropout` makes a classifier, drop at its own `torch.nn.Dropout` and
    wherever `dropout_after` says.

    Parameters
    ----------
    factory
        `module:function` that makes the module; it is called without arguments.
    weights
        A state dict: a `.pt` or `.pth` file (loaded with `weights_only`) or `.safetensors`. None takes the
        module as the factory gives it.
    mean, std
        The normalisation a channel that the module was trained with; images come in [0, 1].
    size
        The height and width that the module takes, if not the workload's.
    classes
        The class names in the order of the module's outputs, if not the workload's order.
    device
        Where to run it, as torch names it.
    last_hidden
        The part whose input is the last hidden layer, if not the last linear layer.
    gives
        What the module gives: `[logits]`, a tensor; `[logits, box]`, a mapping with these keys or a tuple in
        this order; or `[box]` alone, and then all classes are as likely. A box is left, top, right, bottom in
        pixels of the image that the module gets; with `size` it is brought back to the workload's.
    dropout_after
        Parts of the module by their names, and the share of their outputs that passes with dropout drop.

    Examples
    --------
    >>> OwnModule(factory="nets:make", gives=["logits", "box"]).parameters["gives"]
    ['logits', 'box']
    """

    trained_here = False

    def __init__(
        self,
        *,
        factory: str,
        weights: str | None = None,
        mean: Sequence[float] | None = None,
        std: Sequence[float] | None = None,
        size: Sequence[int] | None = None,
        classes: Sequence[str] | None = None,
        device: str = "cpu",
        last_hidden: str | None = None,
        gives: Sequence[str] = ("logits",),
        dropout_after: Mapping[str, float] | None = None,
    ) -> None:
        self._factory, self._weights = factory, weights
        self._gives, self._after = check_gives(gives), dropout_after
        self._mean, self._std, self._size = mean, std, checked_size(size)
        self._classes, self._device, self._last_hidden = classes, device, last_hidden

    def check(self, context: Context) -> None:
        """Import the factory and look for the weights."""
        import_target(self._factory, "classifier.factory")
        if self._weights is not None:
            context.find(self._weights, "classifier.weights")

    def classifier(self, workload: Workload, context: Context) -> Classifier:
        """Make the module, load its weights, and try it on one image."""
        module = self._module()
        if self._weights is not None:
            path = context.find(self._weights, "classifier.weights")
            fit_weights(module, read_weights(path), path)
        classifier = self._around(module, workload)
        seen = first_look(classifier, workload)
        if looks_like_probabilities(seen.logits):
            raise ExperimentError(
                f"classifier.factory '{self._factory}' gives probabilities already; expected logits: "
                "leave out its softmax, or use 'function'"
            )
        return classifier

    def restore(self, saved: SavedClassifier) -> Classifier:
        """Call the factory again, and put the saved arrays in place of what it made."""
        module = self._module()
        load_arrays(module, saved.state, f"classifier.factory '{self._factory}'")
        return self._around(module, saved)

    def _module(self) -> nn.Module:
        factory = import_target(self._factory, "classifier.factory")
        try:
            inspect.signature(factory).bind()
        except TypeError as error:
            if callable(factory):
                raise ExperimentError(
                    f"classifier.factory '{self._factory}' is called without arguments ({error}): "
                    "give each a default"
                ) from error
        module = factory() if callable(factory) else factory
        if not isinstance(module, nn.Module):
            kind = type(module).__name__
            raise ExperimentError(
                f"classifier.factory '{self._factory}' gave a {kind}; expected an nn.Module"
            )
        return module

    def _around(self, module: nn.Module, task: Task) -> TorchClassifier:
        return TorchClassifier(
            module,
            task.classes,
            name=self.name,
            preprocessing=preprocessing(self._mean, self._std, self._size, task),
            device=self._device,
            last_hidden=self._last_hidden,
            order=class_order(self._classes, task),
            version=self._factory,
            gives=self._gives,
            dropout_after=self._after,
        )


class OwnFunction(ModelSource):
    """Any function from images to probabilities: a black box.

    Parameters
    ----------
    function
        `module:function`. It gets float32 images N x C x H x W and returns one row of probabilities each.
    version
        Say here which version it is: the testbed cannot see inside, and keeps this with the results.
    mean, std, size, classes
        As for `module`: normalisation, input size, and the order in which the function counts classes.
    """

    trained_here = False

    def __init__(
        self,
        *,
        function: str,
        version: str = "",
        mean: Sequence[float] | None = None,
        std: Sequence[float] | None = None,
        size: Sequence[int] | None = None,
        classes: Sequence[str] | None = None,
    ) -> None:
        self._function, self._version = function, version
        self._mean, self._std, self._size = as_list(mean), as_list(std), checked_size(size)
        self._classes = as_list(classes)

    def check(self, context: Context) -> None:
        """Import the function."""
        del context
        import_target(self._function, "classifier.function")

    def classifier(self, workload: Workload, context: Context) -> Classifier:
        """Import the function and try it on one image."""
        del context
        classifier = self._around(workload)
        first_look(classifier, workload)
        return classifier

    def restore(self, saved: SavedClassifier) -> Classifier:
        """Import the function again: nothing else is known of it."""
        return self._around(saved)

    def _around(self, task: Task) -> FunctionClassifier:
        function = import_target(self._function, "classifier.function")
        if not callable(function):
            raise ExperimentError(f"classifier.function '{self._function}' cannot be called")
        prepare = preprocessing(self._mean, self._std, self._size, task)
        order = class_order(self._classes, task)

        def call(images: Images) -> Any:
            with torch.inference_mode():
                ready = prepare(torch.from_numpy(np.require(images, requirements=["C", "W"]))).numpy()
            answers = np.asarray(function(ready), dtype=np.float64)
            return answers if order is None or answers.ndim != 2 else answers[:, order]

        settings = (self._function, self._version, self._mean, self._std, self._size, self._classes)
        source = inspect.getsourcefile(function) if inspect.isroutine(function) else None
        code = Path(source).read_bytes() if source else b""
        identity = repr(settings) + hashlib.blake2b(code, digest_size=16).hexdigest()
        return _Imported(call, task.classes, name=self.name, version=identity)


class _Imported(FunctionClassifier):
    """A function that is imported by name, which is all there is to save."""

    @property
    def state(self) -> State:
        """No arrays."""
        return {}
