"""What networks that are trained here have in common: they are trained once, kept, and made again."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn

from farm.api import (
    JSON,
    Classifier,
    Context,
    ModelSource,
    SavedClassifier,
    State,
    Workload,
    derived_seed,
)
from farm.errors import ParameterError
from models import training
from models.torch_classifier import Preprocessing, TorchClassifier, load_arrays, members_seed

_NOTES = "notes of the training"
"""Beside weights, whose names have no spaces."""


class TrainedModel(ModelSource, ABC):
    """A network trained on the workload's training split and stopped early on its validation split.

    The weights are kept in the cache under the content of all that made them: the data, these parameters,
    the seed, the code, the thread count, the machine's arithmetic and the version of torch.

    A subclass sets `_recipe` and makes the module, which takes normalised images and gives logits by its
    last linear layer. For the loss `logistic` that begins with each class's share of all classes.
    """

    kind: ClassVar[str]
    """What its random numbers and its entries in the cache are called."""
    smallest: ClassVar[int]
    """The fewest pixels along an image."""
    _recipe: training.Recipe

    @abstractmethod
    def _network(self, shape: tuple[int, int, int], classes: int) -> nn.Module:
        """Make the module with the weights that training begins with, by torch's own generator."""

    def _size(self, shape: tuple[int, int, int]) -> tuple[int, int] | None:  # noqa: ARG002
        """Return the height and width that images are brought to; None where they stay as they are."""
        return None

    def _versions(self) -> Mapping[str, JSON]:
        """Return what else decides the weights."""
        return {}

    def classifier(self, workload: Workload, context: Context) -> Classifier:
        """Train on the workload, or find the checkpoint in the cache."""
        module, preprocessing = self._parts(workload, context)

        def make() -> State:
            notes = self._train(module, preprocessing, workload, context)
            told = np.frombuffer(json.dumps(notes, allow_nan=False).encode(), dtype=np.uint8)
            return {**{k: v.numpy() for k, v in module.state_dict().items()}, _NOTES: told}

        kept = dict(context.cache.arrays(self.kind, self._key(workload, context), make))
        notes = json.loads(np.asarray(kept.pop(_NOTES), dtype=np.uint8).tobytes())
        module.load_state_dict({k: torch.from_numpy(v.copy()) for k, v in kept.items()})
        classifier = self._drawing(module, workload, preprocessing, context)
        classifier.notes = {**notes, **classifier.notes}
        return classifier

    def _train(
        self, module: Any, preprocessing: Preprocessing, workload: Workload, context: Context
    ) -> Mapping[str, JSON]:
        """Train the module; return how it went."""
        whole = nn.Sequential(preprocessing, module)
        return training.train(whole, workload, self._recipe, context, self.kind)

    def untrained(self, workload: Workload, context: Context) -> Classifier:
        """Make it with the weights that training begins with."""
        module, preprocessing = self._parts(workload, context)
        return self._drawing(module, workload, preprocessing, context)

    def restore(self, saved: SavedClassifier) -> Classifier:
        """Make it again from its weights, without training."""
        module = self._module(saved.shape, len(saved.classes), seed=0)
        load_arrays(module, saved.state, f"model '{self.name}'")
        mean, std = (saved.state[f"preprocessing.{part}"].ravel().tolist() for part in ("mean", "std"))
        preprocessing = Preprocessing(mean, std, self._size(saved.shape))
        return self._around(module, saved.classes, preprocessing, members_seed(saved.state))

    def _drawing(
        self, module: nn.Module, workload: Workload, preprocessing: Preprocessing, context: Context
    ) -> Classifier:
        drawn = derived_seed(context.seed, self.kind, "members")
        return self._around(module, workload.classes, preprocessing, drawn)

    def _around(
        self, module: nn.Module, classes: tuple[str, ...], preprocessing: Preprocessing, seed: int
    ) -> Classifier:
        """Make a classifier of it, whose members are drawn by this seed."""
        return TorchClassifier(
            module, classes, name=self.name, preprocessing=preprocessing, members_seed=seed
        )

    def _parts(self, workload: Workload, context: Context) -> tuple[nn.Module, Preprocessing]:
        height, width = workload.shape[1:]
        if min(height, width) < self.smallest:
            raise ParameterError(
                f"{self.kind} needs images of at least {self.smallest} x {self.smallest}; workload "
                f"'{workload.name}' has {height} x {width}"
            )
        module = self._module(workload.shape, len(workload.classes), context.seed)
        return module, Preprocessing(*_statistics(workload), self._size(workload.shape))

    def _module(self, shape: tuple[int, int, int], classes: int, seed: int) -> nn.Module:
        # Of its own generator: torch's global one is neither read nor moved.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(derived_seed(seed, self.kind, "weights"))
            module = self._network(shape, classes)
        if self._recipe.loss == "logistic":
            # Else the first steps do nothing but learn that a class is rare among all classes.
            last = [part for part in module.modules() if isinstance(part, nn.Linear)][-1]
            nn.init.constant_(last.bias, -math.log(classes - 1))
        return module

    def _key(self, workload: Workload, context: Context) -> Mapping[str, JSON]:
        # Its parameters and its code are in the key of whatever a component keeps.
        return {
            "workload": workload.content_hash,
            "seed": context.seed,
            "threads": context.threads,
            "torch": torch.__version__,
            "numpy": np.__version__,
            "arithmetic": torch.backends.cpu.get_cpu_capability(),
            **self._versions(),
        }


def _statistics(workload: Workload) -> tuple[list[float], list[float]]:
    """Mean and spread of each channel over the training data."""
    total = np.zeros(workload.shape[0])
    squares = np.zeros(workload.shape[0])
    pixels = 0
    for indices in workload.train.chunks(1024):
        images = workload.train.images.read(indices).astype(np.float64)
        total += images.sum(axis=(0, 2, 3))
        squares += (images**2).sum(axis=(0, 2, 3))
        pixels += images[:, 0].size
    mean = total / pixels
    spread = np.sqrt(np.maximum(squares / pixels - mean**2, 1e-6))
    return mean.tolist(), spread.tolist()
