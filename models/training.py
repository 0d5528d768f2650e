"""Training a small network on a workload: deterministic, stopped early on validation data."""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from farm.api import JSON, Context, Split, Workload, check_choice, check_number, derived_seed
from farm.errors import ParameterError
from models._autoaugment import autoaugment

LOSSES = ("cross-entropy", "logistic", "adversarial")
FGSM_STEP = 0.01
"""The adversarial loss moves pixels by this share of their range, as Lakshminarayanan et al. do."""


@dataclass(frozen=True)
class Recipe:
    """How to train; everything here decides the weights.

    `loss` is `cross-entropy`; `logistic`, the binary cross-entropy of each class against all others, summed
    over classes; or `adversarial`, cross-entropy on each batch and on its FGSM examples. `augment` is what is
    done to training images: one of `AUGMENTATIONS`.
    """

    epochs: int
    batch_size: int
    learning_rate: float
    weight_decay: float
    patience: int
    augment: str = "none"
    loss: str = "cross-entropy"

    def __post_init__(self) -> None:
        check_number("epochs", self.epochs, low=1, whole=True)
        check_number("batch_size", self.batch_size, low=1, whole=True)
        check_number("learning_rate", self.learning_rate, above=0)
        check_number("weight_decay", self.weight_decay, low=0)
        check_number("patience", self.patience, low=1, whole=True)
        check_choice("augment", self.augment, tuple(AUGMENTATIONS))
        check_choice("loss", self.loss, LOSSES)


class Goal(ABC):
    """What training brings down: what each image should have given, and a loss of what it gave."""

    loss: str
    """What the loss is called."""

    @abstractmethod
    def targets(self, split: Split) -> Tensor:
        """Return a row an image."""

    @abstractmethod
    def training_loss(self, module: nn.Module, images: Tensor, targets: Tensor) -> Tensor:
        """Return the mean loss of a batch."""

    @abstractmethod
    def summed_loss(self, given: Any, targets: Tensor) -> Tensor:
        """Return the sum of the losses of a batch, of images that no adversary has touched."""

    @abstractmethod
    def scores(self, given: Any, targets: Tensor) -> dict[str, Tensor]:
        """Return by name what is told of training, a number an image."""


class Labels(Goal):
    """The right class of each image, by logits."""

    def __init__(self, loss: str) -> None:
        self.loss = loss

    def targets(self, split: Split) -> Tensor:
        """Return its labels."""
        return torch.from_numpy(split.labels)

    def training_loss(self, module: nn.Module, images: Tensor, targets: Tensor) -> Tensor:
        """Return the loss of the logits, or of those of FGSM examples too."""
        return _training_loss(module, images, targets, self.loss)

    def summed_loss(self, given: Any, targets: Tensor) -> Tensor:
        """Return the loss of the logits."""
        return _summed_loss(given, targets, self.loss)

    def scores(self, given: Any, targets: Tensor) -> dict[str, Tensor]:
        """Return whether the likeliest class is the right one."""
        return {"train_accuracy": given.argmax(dim=1) == targets}


def train(
    module: nn.Module,
    workload: Workload,
    recipe: Recipe,
    context: Context,
    name: str,
    goal: Goal | None = None,
) -> dict[str, JSON]:
    """Train by Adam with one cycle; keep the weights of the epoch that validation data liked best.

    Without a goal it is the labels, by the recipe's loss. Return how it went: `loss`, `augment` where images
    were changed, `validation_loss` (one an epoch), `best_epoch` (from 1) and the goal's scores, such as
    `train_accuracy`, of the weights that were kept, on training data as they are. What is no number is None.
    """
    # Dropout draws from torch's global generator, which is nobody else's for as long as this takes.
    with threads_held(context.threads), torch.random.fork_rng(devices=[]):
        torch.manual_seed(derived_seed(context.seed, name, "dropout"))
        return _train(module, workload, recipe, context, name, goal or Labels(recipe.loss))


@contextmanager
def threads_held(threads: int) -> Iterator[None]:
    """Hold torch to the thread count that the checkpoint is kept under, whoever asks for it."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _train(
    module: nn.Module, workload: Workload, recipe: Recipe, context: Context, name: str, goal: Goal
) -> dict[str, JSON]:
    images, targets = _images(workload.train), goal.targets(workload.train)
    held_out = _images(workload.validation), goal.targets(workload.validation)
    rng = torch.Generator().manual_seed(derived_seed(context.seed, name, "training"))
    optimiser = torch.optim.AdamW(module.parameters(), recipe.learning_rate, weight_decay=recipe.weight_decay)
    sizes = _batch_sizes(len(images), recipe.batch_size, module)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, recipe.learning_rate, total_steps=len(sizes) * recipe.epochs
    )
    best, best_loss, best_epoch, waited = copy.deepcopy(module.state_dict()), float("inf"), 0, 0
    curve: list[float] = []
    for _ in context.progress.track(range(recipe.epochs), f"training {name}"):
        module.train()
        for chosen in torch.randperm(len(images), generator=rng).split(sizes):
            batch = AUGMENTATIONS[recipe.augment](images[chosen], rng)
            loss = goal.training_loss(module, batch, targets[chosen])
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
            schedule.step()
        now = _loss(module, *held_out, goal)
        curve.append(now)
        if now < best_loss:
            best, best_loss, best_epoch, waited = copy.deepcopy(module.state_dict()), now, len(curve), 0
        else:
            waited += 1
            if waited >= recipe.patience:
                break
    module.load_state_dict(best)
    module.zero_grad(set_to_none=True)
    return {
        "loss": goal.loss,
        **({} if recipe.augment == "none" else {"augment": recipe.augment}),
        "validation_loss": [round(value, 6) if math.isfinite(value) else None for value in curve],
        "best_epoch": best_epoch,
        **_means(module, images, targets, goal),
    }


def jitter(images: Tensor, rng: torch.Generator) -> Tensor:
    """Turn, scale, shift and relight each image a little; signs are never mirrored."""
    n = len(images)
    angle, scale, light, gain = (torch.rand(n, generator=rng) * 2 - 1 for _ in range(4))
    shift = (torch.rand(n, 2, generator=rng) * 2 - 1) * 0.1
    angle, scale = angle * 0.17, 1 + scale * 0.1
    cos, sin = torch.cos(angle) * scale, torch.sin(angle) * scale
    rows = torch.stack([torch.stack([cos, -sin, shift[:, 0]], 1), torch.stack([sin, cos, shift[:, 1]], 1)], 1)
    grid = F.affine_grid(rows, list(images.shape), align_corners=False)
    moved = F.grid_sample(images, grid, padding_mode="border", align_corners=False)
    relit = moved * (1 + 0.25 * gain).view(-1, 1, 1, 1) + (0.1 * light).view(-1, 1, 1, 1)
    return relit.clamp(0, 1)


AUGMENTATIONS: Mapping[str, Callable[[Tensor, torch.Generator], Tensor]] = {
    "none": lambda images, _: images,
    "jitter": jitter,
    "autoaugment": autoaugment,
    "autoaugment without moves": partial(autoaugment, moves=False),
}
"""What may be done to each batch of training images, by the training's own generator."""


def jittered(augment: bool) -> str:
    """Name what is done to training images where no more is asked than whether anything is."""
    return "jitter" if augment else "none"


def _batch_sizes(n: int, size: int, module: nn.Module) -> list[int]:
    """Cut an epoch into batches; one image alone has no spread to normalise a batch by."""
    sizes = [min(size, n - start) for start in range(0, n, size)]
    if sizes[-1] > 1 or not any(
        isinstance(part, nn.modules.batchnorm._BatchNorm) for part in module.modules()
    ):
        return sizes
    if size == 1:
        raise ParameterError("batch_size is 1; expected at least 2 for a network with batch normalisation")
    return [*sizes[:-2], size + 1]


def _training_loss(module: nn.Module, images: Tensor, labels: Tensor, loss: str) -> Tensor:
    if loss != "adversarial":
        return _mean_loss(module(images), labels, loss)
    images = images.detach().requires_grad_()
    plain = F.cross_entropy(module(images), labels)
    (slope,) = torch.autograd.grad(plain, images, retain_graph=True)
    attacked = (images + FGSM_STEP * slope.sign()).clamp(0, 1).detach()
    return plain + F.cross_entropy(module(attacked), labels)


def _mean_loss(logits: Tensor, labels: Tensor, loss: str) -> Tensor:
    return (
        F.cross_entropy(logits, labels)
        if loss != "logistic"
        else _summed_loss(logits, labels, loss) / len(labels)
    )


def _summed_loss(logits: Tensor, labels: Tensor, loss: str) -> Tensor:
    if loss != "logistic":
        return F.cross_entropy(logits, labels, reduction="sum")
    targets = F.one_hot(labels, logits.shape[1]).to(logits.dtype)
    return F.binary_cross_entropy_with_logits(logits, targets, reduction="sum")


def _images(split: Split) -> Tensor:
    return torch.from_numpy(split.images.read(np.arange(len(split))))


def _loss(module: nn.Module, images: Tensor, targets: Tensor, goal: Goal) -> float:
    """Return the loss of images that no adversary has touched."""
    module.eval()
    with torch.inference_mode():
        parts = zip(images.split(256), targets.split(256), strict=True)
        losses = [float(goal.summed_loss(module(x), y)) for x, y in parts]
    return sum(losses) / len(targets)


def _means(module: nn.Module, images: Tensor, targets: Tensor, goal: Goal) -> dict[str, JSON]:
    """Return the mean of each of the goal's scores."""
    module.eval()
    sums: dict[str, float] = {}
    with torch.inference_mode():
        for x, y in zip(images.split(256), targets.split(256), strict=True):
            for name, values in goal.scores(module(x), y).items():
                sums[name] = sums.get(name, 0.0) + float(values.double().sum())
    return {name: round(total / len(targets), 6) for name, total in sums.items()}
