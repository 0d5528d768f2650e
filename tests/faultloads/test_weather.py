"""Weather: against plain transcriptions of the published definitions, with the numbers an instance draws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

from farm.api import PerInstance
from farm.errors import ParameterError
from faultloads import _weather_textures as textures
from faultloads.robustness import RobustnessFog
from faultloads.weather import Fog, Frost, Rain, Snow
from tests.faultloads.applying import apply, change, check_contract, check_grows, names, pictures
from tests.wording import refused

ALL = [Snow, Frost, Fog, Rain]
TEXTURES = [textures.snow_texture, textures.rain_texture, textures.frost_texture]


@pytest.mark.parametrize("kind", ALL)
def test_weather_keeps_the_contract(kind):
    check_contract(kind())
    if kind is not Rain:
        check_contract(kind(levels="cifar-10-c"))


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("size", [1, 7, 64])
def test_an_image_is_the_same_in_every_batch(kind, size):
    images = pictures(64, size=12)
    whole = apply(kind(), images, 3)
    assert np.array_equal(apply(kind(), images[:size], 3, names(size)), whole[:size])


@pytest.mark.parametrize("kind", [Snow, Fog, Rain])
def test_more_severe_is_more_change(kind):
    # Published steps of snow need not make each severity stronger: flakes get larger, then smaller.
    check_grows(kind(), pictures(32), (0.3, 0.6, 1, 5) if kind is Snow else (0.5, 1, 1.5, 2, 2.5, 3, 4, 5))


# --- snow: mean, deviation, enlargement, threshold, radius, sigma, share of the image's own tones ---

SNOW = {
    "imagenet-c": [
        (0.1, 0.3, 3, 0.5, 10, 4, 0.8),
        (0.2, 0.3, 2, 0.5, 12, 4, 0.7),
        (0.55, 0.3, 4, 0.9, 12, 8, 0.7),
        (0.55, 0.3, 4.5, 0.85, 12, 8, 0.65),
        (0.55, 0.3, 2.5, 0.85, 12, 12, 0.55),
    ],
    "cifar-10-c": [
        (0.1, 0.2, 1, 0.6, 8, 3, 0.95),
        (0.1, 0.2, 1, 0.5, 10, 4, 0.9),
        (0.15, 0.3, 1.75, 0.55, 10, 4, 0.9),
        (0.25, 0.3, 2.25, 0.6, 12, 6, 0.85),
        (0.3, 0.3, 1.25, 0.65, 14, 12, 0.8),
    ],
}


def published_flakes(noise, angle, mean, deviation, factor, threshold, radius, sigma):
    side = len(noise)
    kept = int(np.ceil(side / factor))
    top = (side - kept) // 2
    layer = (mean + deviation * noise)[top : top + kept, top : top + kept]
    # Published is the cut to size after the smear, which differs at the right edge by what lies beyond it.
    layer = ndimage.zoom(layer, factor, order=1)[:side, :side]
    layer[layer < threshold] = 0
    layer = np.clip(layer, 0, 1)
    weights = np.exp(-(np.arange(2 * radius + 1) ** 2) / (2 * sigma**2))
    weights /= weights.sum()
    smeared = np.zeros((side, side))
    row, column = np.mgrid[:side, :side]
    for step, weight in enumerate(weights):
        down = np.ceil(step * np.sin(np.deg2rad(angle)) - 0.5)
        along = np.ceil(step * np.cos(np.deg2rad(angle)) - 0.5)
        rows = np.clip(row + down, 0, side - 1).astype(int)
        columns = np.clip(column + along, 0, side - 1).astype(int)
        smeared += weight * layer[rows, columns]
    return smeared


@pytest.mark.parametrize("levels", SNOW)
@pytest.mark.parametrize("severity", [1, 2, 3, 4, 5])
def test_snow_is_the_published_one(levels, severity):
    *falling, left = SNOW[levels][severity - 1]
    images = pictures(4)
    random = PerInstance(0, "Snow", names(4))
    noise, angles = random.normal(32, 32), random.uniform(low=-135, high=-45)
    for image, result, layer, angle in zip(
        images, apply(Snow(levels=levels), images, severity), noise, angles, strict=True
    ):
        flakes = published_flakes(layer.astype(np.float64), float(angle), *falling)
        grey = np.tensordot([0.299, 0.587, 0.114], image, axes=1)
        pale = left * image + (1 - left) * np.maximum(image, grey * 1.5 + 0.5)
        expected = np.clip(pale + flakes + np.rot90(flakes, 2), 0, 1)
        assert np.abs(expected - result).max() < 1e-4


def test_snow_made_for_larger_images_is_finer():
    black = np.zeros((16, 1, 32, 32), dtype=np.float32)
    coarse, fine = apply(Snow(), black, 3), apply(Snow(made_for=224), black, 3)
    steps = [np.abs(np.diff(snow, axis=3)).mean() / snow.std() for snow in (coarse, fine)]
    assert steps[1] > 1.3 * steps[0]
    assert np.array_equal(apply(Snow(made_for=32), black, 3), coarse)
    with refused(ParameterError):
        Snow(made_for=1.5)


# --- fog ---

FOG = {
    "imagenet-c": {1: (1.5, 2), 2: (2, 2), 3: (2.5, 1.7), 4: (2.5, 1.5), 5: (3, 1.4), 0.5: (0.75, 2)},
    "cifar-10-c": {1: (0.2, 3), 2: (0.5, 3), 3: (0.75, 2.5), 4: (1, 2), 5: (1.5, 1.75), 0.5: (0.1, 3)},
}


def published_plasma(noise, decay):
    """Make the published height map point by point; `noise` has a uniform number in [-1, 1] for each."""
    side = len(noise)
    heights = np.zeros((side, side))
    step, wibble = side, 100.0

    def put(row, column, neighbours):
        mean = sum(heights[r % side, c % side] for r, c in neighbours) / 4
        heights[row, column] = mean + wibble * wibble * noise[row, column]

    while step >= 2:
        half = step // 2
        for row in range(half, side, step):
            for column in range(half, side, step):
                put(row, column, [(row + i, column + j) for i in (-half, half) for j in (-half, half)])
        cross = [(-half, 0), (half, 0), (0, -half), (0, half)]
        for row in range(0, side, half):
            for column in range((row + half) % step, side, step):
                put(row, column, [(row + i, column + j) for i, j in cross])
        step, wibble = half, wibble / decay
    heights -= heights.min()
    return heights / heights.max()


@pytest.mark.parametrize("levels", FOG)
@pytest.mark.parametrize("severity", [0.5, 1, 2, 3, 4, 5])
@pytest.mark.parametrize("size", [32, 20])
def test_fog_is_the_published_one(levels, severity, size):
    height, decay = FOG[levels][severity]
    images = pictures(3, size=size)[:, :, : size - 3]
    noises = PerInstance(0, "Fog", names(3)).uniform(32, 32, low=-1, high=1)
    for image, result, noise in zip(images, apply(Fog(levels=levels), images, severity), noises, strict=True):
        plasma = published_plasma(noise.astype(np.float64), decay)[: size - 3, :size]
        expected = np.clip((image + height * plasma) * image.max() / (image.max() + height), 0, 1)
        assert np.abs(expected - result).max() < 1e-5


def test_fog_of_one_source_is_not_that_of_another():
    images = pictures(4)
    assert Fog.origin != RobustnessFog.origin
    assert not np.allclose(apply(Fog(), images, 3), apply(RobustnessFog(), images, 3), atol=0.1)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_weather_falls_on_the_smallest_images(size):
    for kind in ALL:
        assert np.isfinite(apply(kind(), np.full((2, 3, size, size), 0.5, np.float32), 5)).all()


def test_a_black_image_has_no_light_for_fog():
    assert apply(Fog(), np.zeros((1, 3, 8, 8), dtype=np.float32), 5).max() == 0


# --- frost and rain ---


FROST = {
    "imagenet-c": [(1, 0.4), (0.8, 0.6), (0.7, 0.7), (0.65, 0.7), (0.6, 0.75)],
    "cifar-10-c": [(1, 0.2), (1, 0.3), (0.9, 0.4), (0.85, 0.4), (0.75, 0.45)],
}


@pytest.mark.parametrize("levels", FROST)
@pytest.mark.parametrize("severity", [1, 2, 3, 4, 5])
def test_frost_weighs_image_and_texture_as_published(levels, severity):
    left, added = FROST[levels][severity - 1]
    black = np.zeros((6, 3, 32, 32), dtype=np.float32)
    ice = apply(Frost(levels=levels), black, severity) / added
    assert np.allclose(ice, apply(Frost(), black, 1) / 0.4, atol=1e-5)  # the same piece at each severity
    assert 0.3 < ice.mean() < 0.7
    assert ice.std() > 0.1
    images = pictures(6)
    expected = np.clip(left * images + added * ice, 0, 1)
    assert np.allclose(apply(Frost(levels=levels), images, severity), expected, atol=1e-5)


def test_rain_falls_in_the_same_streaks_at_each_severity():
    black = np.zeros((8, 1, 32, 32), dtype=np.float32)
    weak, strong = (apply(Rain(), black, severity).reshape(8, -1) for severity in (1, 5))
    for one, other in zip(weak, strong, strict=True):
        assert np.corrcoef(one, other)[0, 1] > 0.9
    # Streaks are longer down than across.
    rain = apply(Rain(), np.zeros((32, 1, 64, 64), dtype=np.float32), 5)
    assert np.abs(np.diff(rain, axis=3)).mean() > 1.5 * np.abs(np.diff(rain, axis=2)).mean()


def test_rain_scales_with_the_image():
    small, large = (change(Rain(), np.zeros((64, 1, side, side), np.float32), 3) for side in (32, 96))
    assert small.mean() == pytest.approx(large.mean(), rel=0.1)


@pytest.mark.parametrize("draw", TEXTURES)
def test_textures_go_on_from_their_other_side(draw):
    texture = draw(24)
    assert texture.shape == (96, 96)
    assert texture.dtype == np.float32
    assert texture.min() >= 0
    assert texture.max() <= 1
    for axis in (0, 1):
        steps = np.abs(np.diff(texture, axis=axis)).mean()
        seam = np.abs(np.take(texture, 0, axis) - np.take(texture, -1, axis)).mean()
        assert seam < 2 * steps


@pytest.mark.parametrize("draw", TEXTURES)
def test_textures_are_drawn_to_the_images_size(draw):
    small, large = draw(16), draw(64)
    assert large.mean() == pytest.approx(small.mean(), rel=0.25)
    blocks = large.reshape(64, 4, 64, 4).mean(axis=(1, 3))
    assert np.corrcoef(blocks.ravel(), small.ravel())[0, 1] > 0.7


def test_pieces_are_cut_pixel_for_pixel():
    texture = textures.snow_texture(16)
    random = PerInstance(0, "x", names(3))
    pieces = textures.cut_at_random(texture, (16, 12), random, degrees=0)
    assert pieces.shape == (3, 1, 16, 12)
    again = PerInstance(0, "x", names(3)).uniform(4, low=-0.5, high=0.5)
    for piece, (across, down, _, _) in zip(pieces, again, strict=True):
        rows = (0.5 + down) * 64 - 8 + np.arange(16)
        columns = (0.5 + across) * 64 - 6 + np.arange(12)
        places = np.meshgrid(rows, columns, indexing="ij")
        expected = ndimage.map_coordinates(texture, places, order=1, mode="grid-wrap")
        assert np.abs(piece[0] - expected).max() < 1e-3
