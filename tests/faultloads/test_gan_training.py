"""The parts of a GAN: losses by hand, the source's layers, images of any size, the rule, the rounds."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn

from farm.testing.fakes import tiny_workload
from faultloads._gan_modules import MAPS, Discriminator, Generator
from faultloads._gan_settings import GanSettings, StoppingRule
from faultloads._gan_training import (
    CLIP,
    GanTrainer,
    discriminator_loss,
    generator_loss,
    unsure_loss,
)

REAL, DRAWN = np.array([2.0, -1.0, 0.5]), np.array([-0.5, 1.5, 0.0])
LOGITS = np.array([[2.0, 0.0, -1.0], [0.3, 0.3, 0.3]])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def as_tensors(*arrays):
    return [torch.from_numpy(array) for array in arrays]


def test_the_loss_of_the_unsure_is_the_divergence_from_uniform() -> None:
    p = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
    expected = (np.log((1 / 3) / p) / 3).sum(axis=1).mean()
    assert float(unsure_loss(*as_tensors(LOGITS))) == pytest.approx(expected, rel=1e-12)
    assert float(unsure_loss(torch.zeros(4, 7, dtype=torch.float64))) == pytest.approx(0, abs=1e-12)


def test_losses_of_a_gan_are_cross_entropies() -> None:
    real, drawn = as_tensors(REAL, DRAWN)
    told = -np.log(sigmoid(REAL)).mean() - np.log(1 - sigmoid(DRAWN)).mean()
    assert float(discriminator_loss(real, drawn, "gan")) == pytest.approx(told)
    taken_for_real = -np.log(sigmoid(DRAWN)).mean()
    assert float(generator_loss(drawn, "gan", inverted=False)) == pytest.approx(taken_for_real)
    told_from_real = -np.log(1 - sigmoid(DRAWN)).mean()
    assert float(generator_loss(drawn, "gan", inverted=True)) == pytest.approx(told_from_real)


def test_losses_of_a_wgan_are_means() -> None:
    real, drawn = as_tensors(REAL, DRAWN)
    assert float(discriminator_loss(real, drawn, "wgan")) == pytest.approx(1 / 3 - 0.5)
    assert float(generator_loss(drawn, "wgan", inverted=False)) == pytest.approx(-1 / 3)
    assert float(generator_loss(drawn, "wgan", inverted=True)) == pytest.approx(1 / 3)


def test_its_layers_are_those_of_the_source() -> None:
    """At 64 x 64 and width 64: filters [512, 256, 128, 64, 3] and [64, 128, 256, 512, 1], as in a DCGAN."""
    generator, discriminator = Generator((3, 64, 64), 14, 64, 100), Discriminator((3, 64, 64), 14, 64)
    assert [part.out_channels for part in generator.convolutions] == [512, 256, 128, 64, 3]
    assert [part.out_channels for part in discriminator.convolutions] == [64, 128, 256, 512, 1]
    for module in (generator, discriminator):
        assert [part.kernel_size for part in module.convolutions] == [(4, 4)] * 5
        assert [part.num_features for part in module.modules() if isinstance(part, nn.BatchNorm2d)]
    sizes = []
    for part in [*generator.convolutions, *discriminator.convolutions]:
        part.register_forward_hook(lambda part, given, made: sizes.append(tuple(made.shape[2:])))
    labels = torch.tensor([0, 13])
    discriminator(generator(torch.zeros(2, 100), labels), labels)
    assert sizes == [(4, 4), (8, 8), (16, 16), (32, 32), (64, 64), (32, 32), (16, 16), (8, 8), (4, 4), (1, 1)]


@pytest.mark.parametrize("shape", [(3, 32, 32), (1, 28, 28), (3, 17, 23), (3, 1, 40), (1, 1, 1), (3, 48, 33)])
def test_images_of_any_size_are_drawn_and_told(shape) -> None:
    labels = torch.tensor([0, 4, 2])
    images = Generator(shape, 5, 2, 6)(torch.randn(3, 6), labels)
    assert images.shape == (3, *shape)
    assert ((images >= 0) & (images <= 1)).all()
    assert Discriminator(shape, 5, 2)(images, labels).shape == (3,)


def test_the_class_decides_what_both_networks_give() -> None:
    torch.manual_seed(0)
    generator, discriminator = Generator((3, 16, 16), 4, 4, 6).eval(), Discriminator((3, 16, 16), 4, 4).eval()
    noise, images, labels = torch.randn(1, 6).expand(4, 6), torch.rand(1, 3, 16, 16), torch.arange(4)
    drawn = generator(noise, labels)
    assert all((drawn[0] != drawn[i]).any() for i in (1, 2, 3))
    assert len(set(discriminator(images.expand(4, -1, -1, -1), labels).tolist())) == 4
    assert discriminator.embedding.embedding_dim == MAPS


@pytest.mark.parametrize(
    ("values", "over", "kept"),
    [
        ([0.1], False, 0),
        ([0.1, 0.2, 0.15], False, 1),
        ([0.1, 0.2, 0.2], False, 2),
        ([0.1, 0.2, 0.15, 0.3], True, 1),
        ([0.1, 0.2, 0.31], True, 1),
        ([0.3], True, None),
    ],
)
def test_the_rule_of_lee_keeps_the_best_below(values, over, kept) -> None:
    rule = StoppingRule("accuracy", 0.3)
    assert (rule.is_over(values), rule.kept(values)) == (over, kept)
    failed = rule.failure(values, [1.0 + i for i in range(len(values))]) is not None
    assert failed == (not over or kept is None)


@pytest.mark.parametrize(("values", "over"), [([2.0, 0.01], False), ([2.0, 0.005], True), ([0.001], True)])
def test_the_rule_of_sricharan_keeps_what_met_it(values, over) -> None:
    rule = StoppingRule("classifier_loss", 0.005)
    assert (rule.is_over(values), rule.kept(values)) == (over, len(values) - 1)
    assert (rule.failure(values, [1.0, 2.0][: len(values)]) is None) == over


def test_without_a_limit_the_last_is_kept_and_nothing_fails() -> None:
    for measure in ("accuracy", "classifier_loss"):
        rule = StoppingRule(measure, None)
        assert not rule.is_over([0.0, 1.0, 0.5])
        assert rule.kept([0.0, 1.0, 0.5]) == 2
        assert rule.failure([0.0], [1.0]) is None


def trainer(**settings):
    given = {"loss": "gan", "epochs": 2, "checks": 1, "width": 1, "latent": 2, "batch_size": 10}
    given |= {"learning_rate": 1e-3, "weight": 1.0, "critic_steps": 3, "inverted": False} | settings
    workload = tiny_workload()  # of 128 training images
    made = GanSettings(name="gan-lee", rule=StoppingRule("accuracy", None), **given)
    return GanTrainer(made, workload.train, 4, None, 0)


@pytest.mark.parametrize("loss", ["gan", "wgan"])
def test_an_epoch_is_cut_into_rounds_and_checks(loss) -> None:
    parts = list(trainer(loss=loss, checks=3)._parts())
    assert [share for share, _ in parts] == pytest.approx([1 / 3, 2 / 3, 1])
    rounds = [one for _, part in parts for one in part]
    assert [len(one) for one in rounds] == ([1] * 12 if loss == "gan" else [3] * 4)
    shown = np.concatenate([batch for one in rounds for batch in one])
    assert len(set(shown)) == len(shown) == 120  # what is left is less than a batch
    assert list(map(len, (part for _, part in parts))) == ([4, 4, 4] if loss == "gan" else [1, 1, 2])


def test_more_checks_than_rounds_are_one_a_round() -> None:
    assert len(list(trainer(batch_size=500, checks=5)._parts())) == 1
    assert len(list(trainer(loss="wgan", checks=50)._parts())) == 4


def test_the_weights_of_a_critic_stay_small() -> None:
    gan = trainer(loss="wgan")
    gan.learn([np.arange(10)])
    most = {name: float(one.detach().abs().max()) for name, one in gan.discriminator.named_parameters()}
    clipped = {name for name in most if name.startswith("convolutions")}
    assert max(most[name] for name in clipped) <= CLIP * (1 + 1e-6)
    assert CLIP < most["norms.1.weight"] <= 1 < most["embedding.weight"]


def test_a_generator_that_wants_to_be_told_is_told_sooner() -> None:
    """After as many steps, the discriminator takes its images for real less than those of one that hides."""
    seen = []
    for inverted in (False, True):
        gan = trainer(inverted=inverted, width=4, latent=8, batch_size=32)
        for _ in range(2):
            for _, rounds in gan._parts():
                for one in rounds:
                    gan.learn(one)
        gan.discriminator.eval()
        images, asked = gan._drawn(64, "probe")
        with torch.no_grad():
            seen.append(float(gan.discriminator(images, asked).mean()))
    assert seen[1] < seen[0]
    assert not math.isnan(seen[0])


def test_torch_s_own_generator_is_left_alone() -> None:
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    gan = trainer()
    gan.learn([np.arange(10)])
    gan.sheet(3)
    assert torch.rand(1) == expected
