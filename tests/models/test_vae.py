"""The variational autoencoder: its divergence in closed form, and outputs without chance."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import integrate, stats

from farm.api import Context
from farm.errors import ParameterError
from farm.testing.fakes import tiny_workload
from models.vae import VAE, VAEModule, divergence
from tests.wording import refused

WORKLOAD = tiny_workload()
IMAGES = WORKLOAD.test.images.read(np.arange(20))


def test_the_divergence_is_that_of_the_closed_form() -> None:
    rng = np.random.default_rng(0)
    mean, spread = rng.normal(size=(6, 4)), rng.uniform(0.3, 3, size=(6, 4))
    expected = (np.log(1 / spread) + (spread**2 + mean**2) / 2 - 0.5).sum(axis=1)
    found = divergence(torch.from_numpy(mean), torch.from_numpy(2 * np.log(spread))).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_the_divergence_is_the_integral_that_defines_it() -> None:
    one, prior = stats.norm(0.7, 1.8), stats.norm()
    expected, _ = integrate.quad(lambda x: one.pdf(x) * (one.logpdf(x) - prior.logpdf(x)), -30, 30)
    found = divergence(torch.tensor([[0.7]]), torch.tensor([[2 * np.log(1.8)]])).item()
    assert found == pytest.approx(expected, rel=1e-5)


def test_the_loss_is_the_evidence_lower_bound_a_pixel() -> None:
    torch.manual_seed(0)
    module = VAEModule((3, 8, 8), bottleneck=4, width=4)
    images = torch.from_numpy(IMAGES)
    with torch.inference_mode():
        losses = module.losses(images, torch.Generator().manual_seed(5)).numpy()
        mean, log_variance = (part.numpy().astype(np.float64) for part in module.posterior(images))
        noise = torch.randn(20, 4, generator=torch.Generator().manual_seed(5)).numpy()
        latent = torch.from_numpy((mean + np.exp(log_variance / 2) * noise).astype(np.float32))
        p = 1 / (1 + np.exp(-module.decoder(latent).numpy().astype(np.float64)))
    entropy = -(IMAGES * np.log(p) + (1 - IMAGES) * np.log(1 - p)).sum(axis=(1, 2, 3))
    kl = 0.5 * (mean**2 + np.exp(log_variance) - 1 - log_variance).sum(axis=1)
    np.testing.assert_allclose(losses, (entropy + kl) / (3 * 8 * 8), rtol=1e-5)


def test_its_outputs_are_those_of_the_mean_of_the_posterior() -> None:
    network = VAE(bottleneck=4, epochs=2).network(WORKLOAD, Context())
    latent = network.compute(IMAGES, "latent")
    assert latent.shape == (20, 4)
    assert np.array_equal(latent, network.compute(IMAGES, "latent"))
    with torch.inference_mode():
        mean, _ = network.module.posterior(torch.from_numpy(IMAGES))
    np.testing.assert_allclose(latent, mean.numpy(), rtol=1e-5, atol=1e-6)
    p, x = network.reconstruct(IMAGES), IMAGES.astype(np.float64)
    expected = -(x * np.log(p) + (1 - x) * np.log(1 - p)).mean(axis=(1, 2, 3))
    np.testing.assert_allclose(network.compute(IMAGES, "error"), expected, rtol=1e-5)


def test_validation_draws_the_same_in_every_epoch() -> None:
    # With a rate of next to nothing nothing changes from epoch to epoch but what is drawn.
    losses = VAE(bottleneck=4, epochs=3, learning_rate=1e-12).network(WORKLOAD, Context()).notes
    assert losses["validation_loss"] == pytest.approx([losses["final_validation_loss"]] * 3, rel=1e-7)


@pytest.mark.parametrize("size", [(9, 13), (31, 33)])
def test_images_of_odd_sizes_come_back_at_theirs(size) -> None:
    module = VAEModule((1, *size), bottleneck=4, width=2)
    assert module.values(torch.rand(2, 1, *size), "reconstruction").shape == (2, 1, *size)


@pytest.mark.parametrize("wrong", [{"bottleneck": 0}, {"width": "wide"}, {"patience": 0}])
def test_parameters_that_make_no_sense_are_named(wrong) -> None:
    with refused(ParameterError):
        VAE(**wrong)
