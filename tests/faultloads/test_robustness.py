"""The ten transformations of the framework for robustness: each number of its Table 12."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

from farm.api import PerInstance
from farm.errors import DataError
from faultloads import robustness
from faultloads._warps import affine, askew
from faultloads._weather_textures import cut_at_random, rain_texture, snow_texture
from faultloads.robustness import (
    RobustnessBlur,
    RobustnessCrop,
    RobustnessFog,
    RobustnessGrey,
    RobustnessNoise,
    RobustnessPerspective,
    RobustnessRain,
    RobustnessReflection,
    RobustnessRotation,
    RobustnessSnow,
)
from tests.faultloads.applying import apply, change, check_contract, check_grows, names, pictures
from tests.wording import refused

ALL = [
    RobustnessBlur,
    RobustnessCrop,
    RobustnessFog,
    RobustnessGrey,
    RobustnessNoise,
    RobustnessPerspective,
    RobustnessRain,
    RobustnessReflection,
    RobustnessRotation,
    RobustnessSnow,
]


def each(*levels):
    """Return each of five levels with its severity."""
    return list(enumerate(levels, start=1))


def drawn(kind, n):
    return PerInstance(0, kind.__name__, names(n))


def test_there_are_ten():
    public = [name for name in vars(robustness) if name.startswith("Robustness")]
    assert sorted(public) == [kind.__name__ for kind in ALL]
    assert {kind.origin for kind in ALL} == {"framework for robustness, Table 12"}


@pytest.mark.parametrize("kind", ALL)
def test_they_keep_the_contract(kind):
    check_contract(kind(), grey=kind is not RobustnessGrey)


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("size", [1, 7, 64])
def test_an_image_is_the_same_in_every_batch(kind, size):
    images = pictures(64, size=12)
    whole = apply(kind(), images, 3)
    assert np.array_equal(apply(kind(), images[:size], 3, names(size)), whole[:size])


@pytest.mark.parametrize("kind", ALL)
def test_more_severe_is_more_change(kind):
    check_grows(kind(), pictures(32))


@pytest.mark.parametrize("kind", [RobustnessReflection, RobustnessRain])
def test_they_scale_with_the_image(kind):
    small, large = (change(kind(), np.zeros((64, 1, side, side), np.float32), 3) for side in (32, 64))
    assert small.mean() == pytest.approx(large.mean(), rel=0.1)


@pytest.mark.parametrize(("severity", "share"), each(0.2, 0.35, 0.4, 0.45, 0.5))
def test_noise_is_blended_in_its_share(severity, share):
    images = pictures(4)
    noise = drawn(RobustnessNoise, 4).uniform(3, 32, 32)
    expected = (1 - share) * images + share * noise
    assert np.allclose(apply(RobustnessNoise(), images, severity), expected, atol=1e-6)


@pytest.mark.parametrize(("severity", "share"), each(0.2, 0.4, 0.6, 0.8, 1))
def test_grey_is_blended_in_its_share(severity, share):
    images = pictures(4)
    grey = np.tensordot(images, [0.299, 0.587, 0.114], axes=(1, 0))[:, None]
    expected = (1 - share) * images + share * grey
    assert np.allclose(apply(RobustnessGrey(), images, severity), expected, atol=1e-6)


def test_grey_needs_colours():
    with refused(DataError):
        apply(RobustnessGrey(), pictures(1, channels=1), 1)


@pytest.mark.parametrize(
    ("kind", "texture", "degrees", "severity", "intensities"),
    [
        *(
            (RobustnessSnow, snow_texture, 180, *level)
            for level in each([1], [1, 1], [1.5, 1.5], [1.5, 1.5, 1], [1.5, 1.5, 1.5])
        ),
        *(
            (RobustnessRain, rain_texture, 20, *level)
            for level in each([0.1, 0.1], [0.2, 0.2], [0.3, 0.3], [0.4, 0.4], [0.5, 0.4, 0.2])
        ),
    ],
)
def test_a_texture_is_added_once_for_each_intensity(kind, texture, degrees, severity, intensities):
    images = pictures(4)
    expected, random = images, drawn(kind, 4)
    for intensity in intensities:
        piece = cut_at_random(texture(32), (32, 32), random, degrees=degrees, nearer=2)
        expected = np.clip(expected + intensity * piece, 0, 1)
    assert np.allclose(apply(kind(), images, severity), expected, atol=1e-6)


def test_fog_is_a_cloud_blended_in_its_share():
    images = pictures(4)
    clouds = [
        (apply(RobustnessFog(), images, severity) - (1 - share) * images) / share
        for severity, share in each(0.3, 0.4, 0.5, 0.6, 0.7)
    ]
    for cloud in clouds:
        assert np.allclose(cloud, clouds[0], atol=1e-5)
    noise = drawn(RobustnessFog, 4).uniform(32, 32)
    blurred = ndimage.gaussian_filter(noise, 3, axes=(1, 2), mode="wrap")  # 6 pixels of 64 are 3 of 32
    for cloud, soft in zip(clouds[0], blurred, strict=True):
        expected = 0.5 + 0.5 * (soft - soft.min()) / np.ptp(soft)
        assert np.abs(cloud - expected).max() < 1e-3


@pytest.mark.parametrize(
    ("severity", "level"), each((0.2, 0.9), (0.3, 0.85), (0.4, 0.8), (0.5, 0.75), (0.6, 0.7))
)
def test_perspective_moves_corners_and_keeps_the_middle(severity, level):
    strength, part = level
    images = pictures(4)
    moves = strength / 2 * drawn(RobustnessPerspective, 4).uniform(4, 2)
    signs = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])
    corners = (np.array([[0, 0], [1, 0], [1, 1], [0, 1]]) + signs * moves).astype(np.float32)
    expected = askew(images, corners, part=part)
    assert np.allclose(apply(RobustnessPerspective(), images, severity), expected, atol=1e-5)


@pytest.mark.parametrize(("severity", "sigma"), each(1.5, 2, 2.5, 3, 3.5))
@pytest.mark.parametrize("size", [32, 64])
def test_blur_is_of_so_many_pixels_of_64(severity, sigma, size):
    images = pictures(2, size=size)
    expected = ndimage.gaussian_filter(images, sigma * size / 64, axes=(2, 3), mode="nearest")
    assert np.abs(apply(RobustnessBlur(), images, severity) - expected).max() < 1e-5


@pytest.mark.parametrize(("severity", "degrees"), each(10, 15, 20, 25, 30))
def test_rotation_is_uniform_within_its_degrees(severity, degrees):
    images = pictures(4)
    angles = np.float32(degrees) * drawn(RobustnessRotation, 4).uniform(low=-1, high=1)
    assert np.allclose(
        apply(RobustnessRotation(), images, severity), affine(images, degrees=angles), atol=1e-6
    )


@pytest.mark.parametrize(("severity", "pixels"), each(62, 60, 58, 56, 54))
def test_crop_keeps_so_many_pixels_of_64(severity, pixels):
    images = pictures(4)
    across, down = (1 - pixels / 64) * drawn(RobustnessCrop, 4).uniform(2, low=-0.5, high=0.5).T
    expected = affine(images, part=pixels / 64, across=across, down=down)
    assert np.allclose(apply(RobustnessCrop(), images, severity), expected, atol=1e-5)


@pytest.mark.parametrize(("severity", "side"), each(8, 12, 16, 20, 24))
def test_reflection_is_a_blurred_square_of_so_many_pixels(severity, side):
    black = np.zeros((3, 1, 64, 64), dtype=np.float32)
    places = drawn(RobustnessReflection, 3).uniform(2, low=-0.5, high=0.5)
    # The square drawn eight times as fine, so that it may begin between two pixels.
    fine = 8
    for result, place in zip(apply(RobustnessReflection(), black, severity), places, strict=True):
        square = np.zeros((64 * fine, 64 * fine))
        top, left = (np.rint((32 + (64 - side) * place - side / 2) * fine)).astype(int)
        square[top : top + side * fine, left : left + side * fine] = 1
        blurred = ndimage.gaussian_filter(square, side / 4 * fine, mode="constant")
        expected = blurred.reshape(64, fine, 64, fine).mean(axis=(1, 3))
        assert np.abs(result[0] - expected).max() < 0.02
