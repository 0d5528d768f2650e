"""Training networks that are no classifiers: by a loss of their own, read batch by batch, deterministic."""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from farm.api import Context, Images, IntArray, Split, Workload, check_number, derived_seed
from farm.errors import ComponentFailure
from models.training import threads_held


@dataclass(frozen=True)
class Schedule:
    """How long and how fast to train; everything here decides the weights."""

    epochs: int
    batch_size: int
    learning_rate: float
    patience: int

    def __post_init__(self) -> None:
        check_number("epochs", self.epochs, low=1, whole=True)
        check_number("batch_size", self.batch_size, low=1, whole=True)
        check_number("learning_rate", self.learning_rate, above=0)
        check_number("patience", self.patience, low=1, whole=True)


class NetworkModule(nn.Module, ABC):
    """What is trained: a module that has a loss an image, and outputs that can be asked of it."""

    outputs: ClassVar[tuple[str, ...]]

    @abstractmethod
    def losses(self, images: Tensor, rng: torch.Generator) -> Tensor:
        """Return a loss an image; what is drawn on the way comes from this generator."""

    @abstractmethod
    def values(self, images: Tensor, output: str) -> Tensor:
        """Return one of its outputs, a row an image."""


def train(
    module: NetworkModule, workload: Workload, schedule: Schedule, context: Context, name: str
) -> list[float]:
    """Train by Adam; return the validation loss of each epoch, and keep the weights of the lowest."""
    with threads_held(context.threads):
        return _train(module, workload, schedule, context, name)


def _train(
    module: NetworkModule, workload: Workload, schedule: Schedule, context: Context, name: str
) -> list[float]:
    rng = torch.Generator().manual_seed(derived_seed(context.seed, name, "training"))
    optimiser = torch.optim.Adam(module.parameters(), schedule.learning_rate)
    n = len(workload.train)
    curve: list[float] = []
    best, waited = copy.deepcopy(module.state_dict()), 0
    for _ in context.progress.track(range(schedule.epochs), f"training {name}"):
        module.train()
        for chosen in torch.randperm(n, generator=rng).split(schedule.batch_size):
            loss = module.losses(_read(workload.train, chosen.numpy()), rng).mean()
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
        # The same draws in each epoch, so that epochs are compared and not their luck.
        drawn = torch.Generator().manual_seed(derived_seed(context.seed, name, "validation"))
        now = _loss(module, workload.validation, schedule.batch_size, drawn)
        if not math.isfinite(now):  # no later epoch gets well again
            break
        if not curve or now < min(curve):
            best, waited = copy.deepcopy(module.state_dict()), 0
        else:
            waited += 1
        curve.append(now)
        if waited >= schedule.patience:
            break
    if not curve:
        raise ComponentFailure(
            f"network '{name}' has no finite loss after its first epoch; "
            f"set a learning_rate below {schedule.learning_rate:g}"
        )
    module.load_state_dict(best)
    module.zero_grad(set_to_none=True)
    return curve


def _loss(module: NetworkModule, split: Split, batch_size: int, rng: torch.Generator) -> float:
    module.eval()
    total = 0.0
    with torch.inference_mode():
        for indices in split.chunks(batch_size):
            total += float(module.losses(_read(split, indices), rng).double().sum())
    return total / len(split)


def _read(split: Split, indices: IntArray) -> Tensor:
    return as_tensor(split.images.read(indices))


def as_tensor(images: Images) -> Tensor:
    """Return images as a tensor; a copy of those that nobody may write to, of which torch warns."""
    return torch.from_numpy(np.require(images, requirements=["C", "W"]))
