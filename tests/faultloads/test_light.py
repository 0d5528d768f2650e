"""Light: against colorsys, Pillow, hand-worked numbers and values that the package imagecorruptions gives."""

from __future__ import annotations

import colorsys

import numpy as np
import pytest
from PIL import Image

from farm.errors import DataError
from faultloads.light import Brightness, Contrast, Greyscale, Saturate
from tests.faultloads.applying import apply, check_contract, check_grows, names, pictures
from tests.wording import refused

COLOURED = [Saturate, Greyscale]
PLAIN = [Brightness, Contrast]


def with_hsv(images, change):
    """Change hue, saturation and value of each pixel, one at a time."""
    pixels = images.transpose(0, 2, 3, 1).reshape(-1, 3).tolist()
    changed = [colorsys.hsv_to_rgb(*change(*colorsys.rgb_to_hsv(*pixel))) for pixel in pixels]
    n, _, high, wide = images.shape
    return np.array(changed).reshape(n, high, wide, 3).transpose(0, 3, 1, 2)


def small():
    """Return pictures with a black, a white and a grey pixel among them."""
    images = pictures(3, size=12)
    images[0, :, 0, :3] = [0, 1, 0.5]
    return images


@pytest.mark.parametrize("kind", [*COLOURED, *PLAIN])
def test_light_keeps_the_contract(kind):
    check_contract(kind(), grey=kind in PLAIN)
    if kind is not Greyscale:
        check_contract(kind(levels="cifar-10-c"), grey=kind in PLAIN)


@pytest.mark.parametrize("kind", [*COLOURED, *PLAIN])
@pytest.mark.parametrize("size", [1, 7, 64])
def test_an_image_is_the_same_in_every_batch(kind, size):
    images = pictures(64, size=9)
    whole = apply(kind(), images, 3)
    assert np.array_equal(apply(kind(), images[:size], 3, names(size)), whole[:size])


@pytest.mark.parametrize("kind", COLOURED)
def test_grey_images_have_no_colours_to_change(kind):
    with refused(DataError):
        apply(kind(), pictures(2, channels=1), 1)


@pytest.mark.parametrize("kind", [Brightness, Contrast, Greyscale])
def test_more_severe_is_more_change(kind):
    check_grows(kind(), pictures())


MORE = [(0.5, 0.05), (1, 0.1), (2, 0.2), (3, 0.3), (3.5, 0.35), (4, 0.4), (5, 0.5)]
CIFAR_MORE = [(1, 0.05), (2, 0.1), (3, 0.15), (4, 0.2), (5, 0.3)]


@pytest.mark.parametrize(
    ("levels", "severity", "more"),
    [("imagenet-c", *one) for one in MORE] + [("cifar-10-c", *one) for one in CIFAR_MORE],
)
def test_brightness_raises_the_value(levels, severity, more):
    fault = Brightness(levels=levels)
    images = small()
    expected = with_hsv(images, lambda hue, saturation, value: (hue, saturation, min(value + more, 1)))
    assert np.abs(apply(fault, images, severity) - expected).max() < 1e-6
    grey = images[:, :1]
    assert np.allclose(apply(fault, grey, severity), np.minimum(grey + more, 1), atol=1e-6)


SATURATE = [(0.5, 0.65, 0), (1, 0.3, 0), (2, 0.1, 0), (3, 2, 0), (3.5, 3.5, 0.05), (4, 5, 0.1), (5, 20, 0.2)]
CIFAR_SATURATE = [(1, 0.3, 0), (2, 0.1, 0), (3, 1.5, 0), (4, 2, 0.1), (5, 2.5, 0.2)]


@pytest.mark.parametrize(
    ("levels", "severity", "times", "plus"),
    [("imagenet-c", *one) for one in SATURATE] + [("cifar-10-c", *one) for one in CIFAR_SATURATE],
)
def test_saturate_changes_the_saturation(levels, severity, times, plus):
    images = small()
    expected = with_hsv(
        images, lambda hue, saturation, value: (hue, min(saturation * times + plus, 1), value)
    )
    assert np.abs(apply(Saturate(levels=levels), images, severity) - expected).max() < 2e-6


LEFT = [(0.5, 0.7), (1, 0.4), (2, 0.3), (3, 0.2), (4, 0.1), (4.5, 0.075), (5, 0.05)]
CIFAR_LEFT = [(1, 0.75), (2, 0.5), (3, 0.4), (4, 0.3), (5, 0.15)]


@pytest.mark.parametrize(
    ("levels", "severity", "left"),
    [("imagenet-c", *one) for one in LEFT] + [("cifar-10-c", *one) for one in CIFAR_LEFT],
)
def test_contrast_shrinks_towards_the_mean(levels, severity, left):
    images = pictures(3)
    means = images.astype(np.float64).mean(axis=(2, 3), keepdims=True)
    expected = (images - means) * left + means
    assert np.abs(apply(Contrast(levels=levels), images, severity) - expected).max() < 1e-6


def test_greyscale_ends_at_pillows_grey():
    images = pictures(2)
    faulted = apply(Greyscale(), images, 5)
    assert np.ptp(faulted, axis=1).max() == 0
    for image, grey in zip(images, faulted[:, 0], strict=True):
        levels = Image.fromarray(np.rint(image * 255).astype(np.uint8).transpose(1, 2, 0))
        assert np.abs(np.asarray(levels.convert("L")) / 255 - grey).max() < 0.75 / 255
    half = apply(Greyscale(), images, 2.5)
    assert np.allclose(half, (images + faulted) / 2, atol=1e-6)


# Pixel (10, 20) and the mean of the picture below, in grey levels of 8 bits, as the package imagecorruptions
# 1.1.2 gives them at severities 1 to 5; it cuts levels off, where we keep fractions.
PUBLISHED = {
    Brightness: (
        [[87, 125, 112], [105, 151, 135], [123, 176, 158], [141, 202, 181], [159, 227, 204]],
        [111.2, 129.63, 145.96, 160.46, 171.29],
    ),
    Contrast: (
        [[93, 86, 91], [96, 84, 92], [100, 82, 92], [104, 79, 92], [106, 78, 92]],
        [92.53, 92.52, 92.73, 92.52, 92.51],
    ),
    Saturate: (
        [[91, 100, 97], [97, 100, 99], [40, 100, 80], [0, 100, 66], [0, 100, 66]],
        [117.16, 124.14, 76.58, 67.75, 65.18],
    ),
}


@pytest.mark.parametrize("kind", PUBLISHED)
def test_levels_are_those_of_the_package_imagecorruptions(kind):
    row, column = np.mgrid[:32, :32]
    levels = np.stack([7 * row, 5 * column, 3 * (row + column)]) % 256
    image = (levels / 255).astype(np.float32)[None]
    for severity, pixel, mean in zip(range(1, 6), *PUBLISHED[kind], strict=True):
        faulted = apply(kind(), image, severity)[0] * 255
        difference = faulted[:, 10, 20] - pixel
        assert difference.min() > -0.01
        assert difference.max() < 1
        assert 0 <= faulted.mean() - mean < 1
