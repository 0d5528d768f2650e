"""When training stops, and whose weights it keeps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from farm.api import Context, NoCache
from farm.errors import ParameterError
from farm.testing.fakes import tiny_workload
from models import training
from models.training import Recipe, train
from tests.wording import refused

RECIPE = Recipe(epochs=9, batch_size=8, learning_rate=0.01, weight_decay=0.0, patience=2)


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

    def loss(module: nn.Module, images: Tensor, labels: Tensor, kind: str) -> float:
        weights.append(torch.cat([p.detach().flatten().clone() for p in module.parameters()]))
        return losses[len(weights) - 1]

    monkeypatch.setattr(training, "_loss", loss)
    workload = tiny_workload()
    torch.manual_seed(0)
    n_classes = len(workload.classes)
    module = nn.Sequential(nn.Flatten(), nn.LazyLinear(n_classes))
    module(torch.from_numpy(workload.train.images.read([0])))
    notes = train(module, workload, RECIPE, Context(seed=0, cache=NoCache()), "tiny")
    kept = torch.cat([p.detach().flatten() for p in module.parameters()])
    assert len(weights) == epochs
    assert [torch.equal(kept, each) for each in weights] == [i == best for i in range(epochs)]
    assert notes["validation_loss"] == losses[:epochs]
    assert notes["best_epoch"] == best + 1


def linear(n_classes: int, pixels: int = 3 * 64) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(pixels, n_classes))


def batch(n_classes: int = 4) -> tuple[Tensor, Tensor]:
    torch.manual_seed(1)
    return torch.rand(6, 3, 8, 8), torch.tensor([0, 1, 2, 3, 0, 1]) % n_classes


def test_logistic_is_the_binary_cross_entropy_of_each_class_against_all_others() -> None:
    module, (images, labels) = linear(4), batch()
    chances = torch.sigmoid(module(images)).double()
    own = torch.eye(4, dtype=torch.float64)[labels]
    by_hand = -(own * chances.log() + (1 - own) * (1 - chances).log()).sum(dim=1).mean()
    found = training._training_loss(module, images, labels, "logistic").item()
    assert found == pytest.approx(by_hand.item())
    assert training._loss(module, images, labels, training.Labels("logistic")) == pytest.approx(
        by_hand.item()
    )


def test_adversarial_adds_the_loss_of_fgsm_examples_with_the_true_labels() -> None:
    module, (images, labels) = linear(4), batch()
    images[0] = 0  # from where some pixels may go up alone
    weights = module[1].weight
    wrong = torch.softmax(module(images), 1) - torch.eye(4)[labels]
    slope = (wrong @ weights).reshape(images.shape)  # that of a linear classifier's cross-entropy
    attacked = (images + 0.01 * slope.sign()).clamp(0, 1).detach()
    plain = F.cross_entropy(module(images), labels)
    against = F.cross_entropy(module(attacked), labels)
    assert against.item() > plain.item()
    got = training._training_loss(module, images, labels, "adversarial")
    assert got.item() == pytest.approx((plain + against).item(), rel=1e-6)
    (wanted,) = torch.autograd.grad(plain + against, weights)
    (found,) = torch.autograd.grad(got, weights)
    torch.testing.assert_close(found, wanted)
    # Epochs are chosen without an adversary.
    assert training._loss(module, images, labels, training.Labels("adversarial")) == pytest.approx(
        plain.item()
    )


@pytest.mark.parametrize("loss", training.LOSSES)
def test_every_loss_learns_and_tells_how_it_went(loss) -> None:
    workload = tiny_workload()
    module = linear(len(workload.classes))
    recipe = replace(RECIPE, loss=loss, patience=9)
    notes = train(module, workload, recipe, Context(seed=0, cache=NoCache()), "tiny")
    images = torch.from_numpy(workload.train.images.read(np.arange(len(workload.train))))
    right = (module(images).argmax(dim=1).numpy() == workload.train.labels).mean()
    assert notes["train_accuracy"] == pytest.approx(right, abs=1e-6)
    assert right > 0.7
    assert notes["loss"] == loss
    assert len(notes["validation_loss"]) == RECIPE.epochs
    assert min(notes["validation_loss"]) == notes["validation_loss"][notes["best_epoch"] - 1]


@pytest.mark.parametrize("wrong", [{"loss": "hinge"}, {"augment": "flip"}])
def test_an_unknown_loss_or_augmentation_is_told(wrong) -> None:
    with refused(ParameterError):
        replace(RECIPE, **wrong)


@pytest.mark.parametrize("name", [name for name in training.AUGMENTATIONS if name != "none"])
def test_training_images_alone_are_changed_by_what_the_recipe_names(monkeypatch, name) -> None:
    workload, seen = tiny_workload(), []
    change = training.AUGMENTATIONS[name]

    def noted(images: Tensor, rng: torch.Generator) -> Tensor:
        seen.append(images)
        return change(images, rng)

    monkeypatch.setattr(training, "AUGMENTATIONS", {**training.AUGMENTATIONS, name: noted})
    weights, recipe = {}, replace(RECIPE, augment=name, patience=9)
    for asked in (RECIPE, recipe, recipe):
        module = linear(len(workload.classes))
        notes = train(module, workload, asked, Context(seed=0, cache=NoCache()), "tiny")
        weights.setdefault(asked, []).append(module[1].weight.detach())
        assert notes.get("augment", "none") == asked.augment
    assert sum(map(len, seen)) == 2 * RECIPE.epochs * len(workload.train)
    train_images = set(map(bytes, workload.train.images.read(np.arange(len(workload.train)))))
    assert {bytes(image.numpy()) for images in seen for image in images} == train_images
    assert torch.equal(*weights[recipe])
    assert not torch.equal(weights[recipe][0], weights[RECIPE][0])


def test_a_last_image_alone_joins_the_batch_before_it_where_batches_are_normalised() -> None:
    normalised, plain = nn.Sequential(nn.BatchNorm1d(3)), nn.Linear(3, 2)
    assert training._batch_sizes(9, 4, plain) == [4, 4, 1]
    assert training._batch_sizes(9, 4, normalised) == [4, 5]
    assert training._batch_sizes(10, 4, normalised) == [4, 4, 2]
    with refused(ParameterError):
        training._batch_sizes(9, 1, normalised)


def test_dropout_in_training_neither_reads_nor_moves_the_global_generator() -> None:
    workload, weights = tiny_workload(), []
    for seed in (1, 2):
        module = nn.Sequential(nn.Flatten(), nn.Dropout(0.5), linear(4)[1])
        torch.manual_seed(seed)
        before = torch.get_rng_state()
        train(module, workload, RECIPE, Context(seed=0, cache=NoCache()), "tiny")
        assert torch.equal(torch.get_rng_state(), before)
        weights.append(module[2].weight.detach().clone())
    assert torch.equal(*weights)
