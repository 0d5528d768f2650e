"""When the training of a network stops, whose weights it keeps, and what it reads."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from farm.api import Context
from farm.errors import ComponentFailure, ParameterError
from farm.testing.fakes import tiny_workload
from models import _network_training
from models._network_training import NetworkModule, Schedule, train
from tests.wording import refused

SCHEDULE = Schedule(epochs=9, batch_size=8, learning_rate=0.01, patience=2)


class Brightness(NetworkModule):
    """Learns the mean of all pixels."""

    outputs = ("mean",)

    def __init__(self) -> None:
        super().__init__()
        self.mean = nn.Parameter(torch.zeros(()))

    def losses(self, images: Tensor, rng: torch.Generator) -> Tensor:
        return ((images - self.mean) ** 2).flatten(1).mean(dim=1)

    def values(self, images: Tensor, output: str) -> Tensor:
        return self.mean.expand(len(images))


@pytest.mark.parametrize(
    ("losses", "epochs", "best"),
    [
        ([1.0, 0.5, 0.6, 0.7, 0.1], 4, 1),
        ([1.0, 1.0, 0.5, 0.6, 0.4, 0.5, 0.4, 0.1], 7, 4),
        ([float(9 - i) for i in range(9)], 9, 8),
    ],
)
def test_it_stops_when_patience_ends_and_keeps_the_best_weights(monkeypatch, losses, epochs, best) -> None:
    weights: list[float] = []

    def loss(module, split, batch_size, rng) -> float:
        weights.append(float(module.mean.detach()))
        return losses[len(weights) - 1]

    monkeypatch.setattr(_network_training, "_loss", loss)
    module = Brightness()
    curve = train(module, tiny_workload(), SCHEDULE, Context(), "tiny")
    assert curve == losses[:epochs]
    assert len(set(weights)) == epochs
    assert float(module.mean.detach()) == weights[best]


def test_the_validation_loss_is_the_mean_over_all_images() -> None:
    workload = tiny_workload()
    module = Brightness()
    # Batches of 7 leave a smaller one at the end, which must not weigh more.
    schedule = Schedule(epochs=1, batch_size=7, learning_rate=0.01, patience=1)
    [loss] = train(module, workload, schedule, Context(), "tiny")
    images = workload.validation.images.read(np.arange(len(workload.validation))).astype(np.float64)
    assert loss == pytest.approx(((images - float(module.mean.detach())) ** 2).mean(), rel=1e-6)


def test_no_more_than_a_batch_is_read_at_once() -> None:
    workload = tiny_workload()
    read: list[int] = []

    class Watched:
        def __init__(self, images) -> None:
            self.images, self.shape = images, images.shape

        def __len__(self) -> int:
            return len(self.images)

        def read(self, indices):
            read.append(len(indices))
            return self.images.read(indices)

    parts = {
        name: replace(getattr(workload, name), images=Watched(getattr(workload, name).images))
        for name in ("train", "validation")
    }
    train(Brightness(), replace(workload, **parts), SCHEDULE, Context(), "tiny")
    assert max(read) == 8


def test_a_loss_that_is_no_number_ends_training(monkeypatch) -> None:
    monkeypatch.setattr(_network_training, "_loss", lambda *given: float("nan"))
    with refused(ComponentFailure):
        train(Brightness(), tiny_workload(), SCHEDULE, Context(), "tiny")
    losses = iter([1.0, float("inf")])
    monkeypatch.setattr(_network_training, "_loss", lambda *given: next(losses))
    assert train(Brightness(), tiny_workload(), SCHEDULE, Context(), "tiny") == [1.0]


@pytest.mark.parametrize("wrong", ["epochs", "batch_size", "learning_rate", "patience"])
def test_settings_that_make_no_sense_are_named(wrong) -> None:
    with refused(ParameterError):
        replace(SCHEDULE, **{wrong: 0})
