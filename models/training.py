"""Training a small network on a workload: deterministic, stopped early on validation data."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from farm.api import Context, Split, Workload, derived_seed


@dataclass(frozen=True)
class Recipe:
    """How to train; everything here decides the weights."""

    epochs: int
    batch_size: int
    learning_rate: float
    weight_decay: float
    patience: int
    augment: bool


def train(module: nn.Module, workload: Workload, recipe: Recipe, context: Context, name: str) -> None:
    """Train by Adam with one cycle; keep the weights of the epoch that validation data liked best."""
    with threads_held(context.threads):
        _train(module, workload, recipe, context, name)


@contextmanager
def threads_held(threads: int) -> Iterator[None]:
    """Hold torch to the thread count that the checkpoint is kept under, whoever asks for it."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _train(module: nn.Module, workload: Workload, recipe: Recipe, context: Context, name: str) -> None:
    images, labels = _tensors(workload.train)
    held_out = _tensors(workload.validation)
    rng = torch.Generator().manual_seed(derived_seed(context.seed, name, "training"))
    optimiser = torch.optim.AdamW(module.parameters(), recipe.learning_rate, weight_decay=recipe.weight_decay)
    steps = -(-len(images) // recipe.batch_size)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, recipe.learning_rate, total_steps=steps * recipe.epochs
    )
    best, best_loss, waited = copy.deepcopy(module.state_dict()), float("inf"), 0
    for _ in context.progress.track(range(recipe.epochs), f"training {name}"):
        module.train()
        for chosen in torch.randperm(len(images), generator=rng).split(recipe.batch_size):
            batch = images[chosen]
            if recipe.augment:
                batch = jitter(batch, rng)
            loss = F.cross_entropy(module(batch), labels[chosen])
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
            schedule.step()
        now = _loss(module, *held_out)
        if now < best_loss:
            best, best_loss, waited = copy.deepcopy(module.state_dict()), now, 0
        else:
            waited += 1
            if waited >= recipe.patience:
                break
    module.load_state_dict(best)
    module.zero_grad(set_to_none=True)


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


def _tensors(split: Split) -> tuple[Tensor, Tensor]:
    return torch.from_numpy(split.images.read(np.arange(len(split)))), torch.from_numpy(split.labels)


def _loss(module: nn.Module, images: Tensor, labels: Tensor) -> float:
    module.eval()
    with torch.inference_mode():
        parts = zip(images.split(256), labels.split(256), strict=True)
        losses = [float(F.cross_entropy(module(x), y, reduction="sum")) for x, y in parts]
    return sum(losses) / len(labels)
