"""PixelCNN++: nothing is known of what comes later, and bits go towards the entropy."""

from __future__ import annotations

import base64
import io

import numpy as np
import pytest
import torch
from PIL import Image

from farm.api import ArrayImages, Context, Split, Workload
from farm.errors import ParameterError
from farm.testing.fakes import tiny_workload
from models.pixelcnn import PixelCNN, PixelCNNModule
from tests.wording import refused


def made(shape, *, filters: int = 4, blocks: int = 3, mixtures: int = 2) -> PixelCNNModule:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return PixelCNNModule(shape, filters, blocks, mixtures).eval().requires_grad_(False)


def of_pixels(pixels: np.ndarray, name: str = "toy") -> Workload:
    """Make a workload of images of 8 bits."""
    parts = {}
    n = len(pixels) // 3
    for i, split in enumerate(("train", "validation", "test")):
        ids = np.array([f"{split} {j}" for j in range(n)])
        images = ArrayImages(pixels[i * n : (i + 1) * n].astype(np.uint8))
        parts[split] = Split(split, images, np.arange(n) % 2, ids, ids)
    return Workload(name, ("a", "b"), **parts)


@pytest.mark.parametrize("shape", [(1, 6, 7), (3, 6, 7)])
def test_no_term_knows_of_later_pixels_or_later_channels(shape) -> None:
    module = made(shape)
    rng = np.random.default_rng(0)
    pixels = torch.from_numpy(rng.integers(0, 256, (1, *shape)).astype(np.float32))
    before = module.terms(pixels).numpy()[0]
    # In the order in which an image is drawn: rows, columns, then channels.
    place = np.arange(np.prod(shape)).reshape(shape[1], shape[2], shape[0]).transpose(2, 0, 1)
    touched = np.zeros(shape, dtype=bool)
    for channel, row, column in np.ndindex(*shape):
        changed = pixels.clone()
        changed[0, channel, row, column] = (changed[0, channel, row, column] + 128) % 256
        after = module.terms(changed).numpy()[0]
        here = place[channel, row, column]
        np.testing.assert_allclose(after[place < here], before[place < here], rtol=0, atol=1e-5)
        assert abs(after[channel, row, column] - before[channel, row, column]) > 1e-4
        touched |= (abs(after - before) > 1e-5) & (place > here)
    # All but the very first depends on something.
    assert touched.sum() == touched.size - 1


def test_a_pixel_is_told_by_all_that_is_near_above_and_to_its_left() -> None:
    module = made((1, 8, 9), filters=8)
    pixels = torch.randint(0, 256, (1, 1, 8, 9), generator=torch.Generator().manual_seed(0)).float()
    pixels.requires_grad_(True)
    module.mixtures(pixels).means[0, :, 0, 4, 4].sum().backward()
    seen = pixels.grad[0, 0].numpy() != 0
    # There is no blind spot: above to the right, too.
    assert seen[:4].all()
    assert seen[4, :4].all()
    assert not seen[4, 4:].any()
    assert not seen[5:].any()


def test_bits_are_the_terms_of_the_image_at_8_bits() -> None:
    workload = tiny_workload()
    network = PixelCNN(filters=4, blocks=1, mixtures=2, epochs=1).network(workload, Context())
    images = workload.test.images.read(np.arange(8))
    pixels = np.rint(images * 255)
    with torch.inference_mode():
        terms = network.module.terms(torch.from_numpy(pixels)).numpy()
    expected = -terms.mean(axis=(1, 2, 3)) / np.log(2)
    np.testing.assert_allclose(network.compute(images, "bits"), expected, rtol=1e-6)
    off = np.random.default_rng(0).uniform(-0.4, 0.4, images.shape)
    nearly = (np.clip(pixels + off, 0, 255) / 255).astype(np.float32)
    np.testing.assert_array_equal(network.compute(nearly, "bits"), network.compute(images, "bits"))


def test_bits_go_towards_the_entropy_of_coins_and_never_below() -> None:
    coins = np.random.default_rng(0).integers(0, 2, (600, 1, 6, 6)) * 255
    workload = of_pixels(coins)
    network = PixelCNN(
        filters=8, blocks=1, mixtures=3, epochs=12, batch_size=10, learning_rate=5e-3, patience=12
    ).network(workload, Context())
    losses = network.notes["validation_loss"]
    assert losses[0] > losses[3] > network.notes["final_validation_loss"]
    # A coin has one bit, and no distribution needs fewer on average; what these coins fell to adds noise.
    assert 0.99 < network.notes["final_validation_loss"] < 1.02
    constant = np.zeros((1, 1, 6, 6), np.float32)
    assert network.compute(constant, "bits")[0] == pytest.approx(1, abs=0.2)
    assert network.compute(constant + np.float32(0.5), "bits")[0] > 4


def test_what_follows_from_earlier_pixels_costs_nothing() -> None:
    # Each image is one coin, in all its pixels and channels: 1 bit for 75 values.
    coins = np.repeat(np.random.default_rng(0).integers(0, 2, 300) * 255, 75).reshape(300, 3, 5, 5)
    network = PixelCNN(
        filters=8, blocks=1, mixtures=3, epochs=15, batch_size=10, learning_rate=5e-3, patience=15
    ).network(of_pixels(coins), Context())
    assert network.notes["final_validation_loss"] < 0.1
    drawn = network.sample(12, seed=0)
    assert drawn.shape == (12, 3, 5, 5)
    assert (abs(drawn - drawn.mean(axis=(1, 2, 3), keepdims=True).round()) < 0.01).mean() > 0.9
    assert 0 < drawn[:, 0, 0, 0].mean() < 1


def test_samples_are_images_of_8_bits_and_the_same_for_the_same_seed() -> None:
    network = PixelCNN(filters=4, blocks=1, mixtures=2, epochs=1).network(tiny_workload(), Context())
    drawn = network.sample(3, seed=1)
    assert drawn.dtype == np.float32
    assert drawn.shape == (3, 3, 8, 8)
    assert np.array_equal(np.rint(drawn * 255) / np.float32(255), drawn)
    assert np.array_equal(drawn, network.sample(3, seed=1))
    assert not np.array_equal(drawn, network.sample(3, seed=2))
    assert len(np.unique(drawn)) > 10
    with refused(ParameterError):
        network.sample(0, seed=1)


@pytest.mark.parametrize(
    ("shape", "size"), [((1, 32, 32), (32, 32)), ((3, 96, 96), (32, 32)), ((1, 64, 31), (32, 16))]
)
def test_images_above_32_pixels_are_shrunk_with_their_sides_in_proportion(shape, size) -> None:
    module = made(shape, blocks=1)
    assert module.size == size
    images = torch.rand(2, *shape, generator=torch.Generator().manual_seed(0))
    pixels = module.pixels(images)
    assert pixels.shape == (2, shape[0], *size)
    assert torch.equal(pixels, pixels.round())
    assert module.values(images, "bits").shape == (2,)
    if max(shape) > 32:  # averaged over what is shrunk: noise gets weaker
        assert pixels.std() < 0.7 * (images * 255).std()


def test_its_notes_tell_the_size_it_sees() -> None:
    network = PixelCNN(filters=4, blocks=1, mixtures=2, epochs=1).network(tiny_workload(), Context())
    assert network.notes["size"] == [8, 8]
    assert network.notes["loss"] == "bits per dimension"


@pytest.mark.parametrize("wrong", [{"filters": 0}, {"blocks": 0}, {"mixtures": 1.5}, {"learning_rate": 0}])
def test_parameters_that_make_no_sense_are_named(wrong) -> None:
    with refused(ParameterError):
        PixelCNN(**wrong)


def test_what_it_draws_is_kept_and_shown() -> None:
    workload = tiny_workload()
    recipe = PixelCNN(filters=4, blocks=1, epochs=1)
    network = recipe.network(workload, Context())
    drawn = network.state["drawn"]
    assert (drawn.shape, drawn.dtype) == ((16, 3, 8, 8), np.uint8)
    again = recipe.restore(network.state, workload.shape)
    assert np.array_equal(again.drawn, drawn)
    with Image.open(io.BytesIO(base64.b64decode(again.notes["samples"]))) as strip:
        rows = np.asarray(strip)
    assert np.array_equal(rows.reshape(16, 8, 8, 3).transpose(0, 3, 1, 2), drawn)


def test_an_images_bits_do_not_depend_on_the_others() -> None:
    workload = tiny_workload()
    network = PixelCNN(filters=8, blocks=2, epochs=1).network(workload, Context())
    images = workload.test.images.read(np.arange(40))
    alone = np.concatenate([network.compute(images[i : i + 1], "bits") for i in range(40)])
    assert np.allclose(network.compute(images, "bits"), alone, rtol=0, atol=1e-9)
