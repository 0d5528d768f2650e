"""When training stops, and whose weights it keeps."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from farm.api import Context, NoCache
from farm.testing.fakes import tiny_workload
from models import training
from models.training import Recipe, train

RECIPE = Recipe(epochs=9, batch_size=8, learning_rate=0.01, weight_decay=0.0, patience=2, augment=False)


@pytest.mark.parametrize(
    ("losses", "epochs", "best"),
    [
        ([1.0, 0.5, 0.6, 0.7, 0.1], 4, 1),
        ([1.0, 1.0, 0.5, 0.6, 0.4, 0.5, 0.4, 0.1], 7, 4),
        ([float(9 - i) for i in range(9)], 9, 8),
    ],
)
def test_it_stops_when_patience_ends_and_keeps_the_best_weights(monkeypatch, losses, epochs, best) -> None:
    weights: list[Tensor] = []

    def loss(module: nn.Module, images: Tensor, labels: Tensor) -> float:
        weights.append(torch.cat([p.detach().flatten().clone() for p in module.parameters()]))
        return losses[len(weights) - 1]

    monkeypatch.setattr(training, "_loss", loss)
    workload = tiny_workload()
    torch.manual_seed(0)
    n_classes = len(workload.classes)
    module = nn.Sequential(nn.Flatten(), nn.LazyLinear(n_classes))
    module(torch.from_numpy(workload.train.images.read([0])))
    train(module, workload, RECIPE, Context(seed=0, cache=NoCache()), "tiny")
    kept = torch.cat([p.detach().flatten() for p in module.parameters()])
    assert len(weights) == epochs
    assert [torch.equal(kept, each) for each in weights] == [i == best for i in range(epochs)]
