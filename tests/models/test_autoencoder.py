"""The autoencoder: its errors by their formulas, and images of all sizes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from farm.api import Context
from farm.errors import ParameterError
from farm.testing.fakes import tiny_workload
from models._convolutional import Decoder, Encoder
from models.autoencoder import Autoencoder
from tests.wording import refused

WORKLOAD = tiny_workload()
IMAGES = WORKLOAD.test.images.read(np.arange(20))


def test_the_error_is_the_mean_squared_difference_to_the_reconstruction() -> None:
    network = Autoencoder(loss="mse", epochs=2).network(WORKLOAD, Context())
    again = network.reconstruct(IMAGES)
    assert again.shape == IMAGES.shape
    expected = [np.mean((a - b.astype(np.float64)) ** 2) for a, b in zip(again, IMAGES, strict=True)]
    np.testing.assert_allclose(network.compute(IMAGES, "error"), expected, rtol=1e-5)


def test_the_error_is_the_mean_cross_entropy_with_pixels_as_targets() -> None:
    network = Autoencoder(loss="bce", epochs=2).network(WORKLOAD, Context())
    p, x = network.reconstruct(IMAGES), IMAGES.astype(np.float64)
    expected = -(x * np.log(p) + (1 - x) * np.log(1 - p)).mean(axis=(1, 2, 3))
    np.testing.assert_allclose(network.compute(IMAGES, "error"), expected, rtol=1e-5)


@pytest.mark.parametrize("loss", ["mse", "bce"])
def test_the_validation_loss_is_the_mean_error(loss) -> None:
    network = Autoencoder(loss=loss, epochs=2).network(WORKLOAD, Context())
    images = WORKLOAD.validation.images.read(np.arange(len(WORKLOAD.validation)))
    errors = network.compute(images, "error")
    assert network.notes["final_validation_loss"] == pytest.approx(errors.mean(), rel=1e-5)


@pytest.mark.parametrize("loss", ["mse", "bce"])
def test_noise_is_drawn_again_worse_than_what_it_was_trained_on(loss) -> None:
    network = Autoencoder(loss=loss, epochs=20).network(WORKLOAD, Context())
    noise = np.random.default_rng(0).random(IMAGES.shape, dtype=np.float32)
    seen = ((network.reconstruct(IMAGES) - IMAGES) ** 2).mean()
    unseen = ((network.reconstruct(noise) - noise) ** 2).mean()
    assert seen < 0.02
    assert unseen > 4 * seen


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("size", [(8, 8), (9, 13), (16, 16), (28, 28), (31, 33), (64, 8), (96, 96)])
def test_images_of_any_size_come_back_at_theirs(channels, size) -> None:
    network = Autoencoder(bottleneck=5, width=2)
    module = network._module((channels, *size))
    state = {f"module.{key}": value.numpy() for key, value in module.state_dict().items()}
    made = network.restore({**state, "validation_loss.mse": np.array([1.0])}, (channels, *size))
    images = np.random.default_rng(0).random((3, channels, *size), dtype=np.float32)
    assert made.reconstruct(images).shape == images.shape
    assert made.compute(images, "latent").shape == (3, 5)
    assert made.compute(images, "error").shape == (3,)


def test_every_pixel_of_an_odd_image_is_looked_at_and_drawn() -> None:
    shape = (1, 9, 13)
    encoder, decoder = Encoder(shape, 16, 6), Decoder(shape, 16, 6)
    images = torch.rand(20, *shape, generator=torch.Generator().manual_seed(0)).requires_grad_(True)
    logits = decoder(encoder(images))
    assert (logits.std(dim=0) > 0).all()
    logits.sum().backward()
    assert (images.grad != 0).any(dim=0).all()


@pytest.mark.parametrize("wrong", [{"loss": "mae"}, {"bottleneck": 0}, {"width": 0.5}, {"epochs": 0}])
def test_parameters_that_make_no_sense_are_named(wrong) -> None:
    with refused(ParameterError):
        Autoencoder(**wrong)
