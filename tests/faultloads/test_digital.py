"""Digital faults: against Pillow, and against a plain transcription of the published motion blur."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from farm.api import PerInstance
from farm.errors import ParameterError
from faultloads._warps import motion_weights, smear
from faultloads.digital import JpegCompression, MotionBlur, Pixelate
from tests.faultloads.applying import apply, change, check_contract, check_grows, names, pictures
from tests.wording import refused

ALL = [MotionBlur, Pixelate, JpegCompression]
SIZES = {"imagenet-c": [0.6, 0.5, 0.4, 0.3, 0.25], "cifar-10-c": [0.95, 0.9, 0.85, 0.75, 0.65]}
QUALITIES = {"imagenet-c": [25, 18, 15, 10, 7], "cifar-10-c": [80, 65, 58, 50, 40]}


@pytest.mark.parametrize("kind", ALL)
def test_digital_faults_keep_the_contract(kind):
    check_contract(kind())
    check_contract(kind(levels="cifar-10-c"))


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("size", [1, 7, 64])
def test_an_image_is_the_same_in_every_batch(kind, size):
    images = pictures(64, size=12)
    whole = apply(kind(), images, 3)
    assert np.array_equal(apply(kind(), images[:size], 3, names(size)), whole[:size])


def test_more_severe_is_more_change():
    check_grows(MotionBlur(), pictures())
    check_grows(JpegCompression(), pictures(), (0.5, 1, 3, 4, 5))
    # Published steps need not make each severity stronger: which pixels share a block changes.
    check_grows(Pixelate(), pictures(), (1, 3, 5))


def published_motion(image, radius, sigma, degrees):
    """Blur as published: for each step a moved copy, its missing edge filled with the last pixels."""
    width = 2 * radius + 1
    weights = np.exp(-(np.arange(width) ** 2) / (2 * sigma**2))
    weights /= weights.sum()
    high, wide = image.shape[1:]
    total = np.zeros(image.shape)
    for step, weight in enumerate(weights):
        down = int(np.ceil(step * np.sin(np.deg2rad(degrees)) - 0.5))
        along = int(np.ceil(step * np.cos(np.deg2rad(degrees)) - 0.5))
        for row in range(high):
            for column in range(wide):
                from_row, from_column = (
                    min(max(row + down, 0), high - 1),
                    min(max(column + along, 0), wide - 1),
                )
                total[:, row, column] += weight * image[:, from_row, from_column]
    return total


@pytest.mark.parametrize(
    ("levels", "severity", "radius", "sigma"),
    [
        *(("imagenet-c", *one) for one in ((1, 10, 3), (3, 15, 8), (5, 20, 15))),
        *(("cifar-10-c", *one) for one in ((1, 6, 1), (2, 6, 1.5), (3, 6, 2), (4, 8, 2), (5, 9, 2.5))),
    ],
)
def test_motion_blur_is_the_published_one(levels, severity, radius, sigma):
    images = pictures(3, size=13)
    faulted = apply(MotionBlur(levels=levels), images, severity)
    angles = PerInstance(0, "MotionBlur", names(3)).uniform(low=-45, high=45)
    for image, result, angle in zip(images, faulted, angles, strict=True):
        assert np.abs(published_motion(image, radius, sigma, float(angle)) - result).max() < 3e-5


@pytest.mark.parametrize(("degrees", "pixel"), [(0, (4, 2)), (90, (2, 4)), (-90, (6, 4)), (180, (4, 6))])
def test_a_smear_takes_from_the_direction_of_its_degrees(degrees, pixel):
    point = np.zeros((1, 1, 9, 9), dtype=np.float32)
    point[0, 0, 4, 4] = 1
    smeared = smear(point, [0.5, 0.3, 0.2], np.array([degrees], dtype=np.float32))
    assert smeared[0, 0, 4, 4] == np.float32(0.5)
    assert smeared[0, 0][pixel] == np.float32(0.2)
    assert smeared.sum() == pytest.approx(1)


def test_motion_weights_fade_to_one_side_and_sum_to_one():
    weights = motion_weights(10, 3)
    assert sum(weights) == pytest.approx(1, abs=1e-4)
    assert weights == sorted(weights, reverse=True)
    assert weights[3] / weights[0] == pytest.approx(np.exp(-0.5))


def test_made_for_scales_the_motion():
    images = pictures()
    assert change(MotionBlur(made_for=224), images, 5).mean() < change(MotionBlur(), images, 5).mean() / 2
    assert np.array_equal(apply(MotionBlur(made_for=32), images, 5), apply(MotionBlur(), images, 5))
    with refused(ParameterError):
        MotionBlur(made_for=0)


@pytest.mark.parametrize("size", [5, 8, 27, 32, 33])
@pytest.mark.parametrize("levels", SIZES)
@pytest.mark.parametrize("severity", [1, 2, 3, 4, 5])
def test_pixelate_is_pillows_resizing(size, levels, severity):
    images = pictures(2, size=size)
    small = int(size * SIZES[levels][severity - 1])
    # Where a pixel's middle lies on the border of two blocks, rounding decides which one Pillow shows.
    clear = (2 * np.arange(size) + 1) * small % (2 * size) != 0
    assert clear.mean() >= 0.8
    for image, result in zip(images, apply(Pixelate(levels=levels), images, severity), strict=True):
        for plane, faulted in zip(image, result, strict=True):
            shrunken = Image.fromarray(plane).resize((small, small), Image.Resampling.BOX)
            expected = shrunken.resize((size, size), Image.Resampling.NEAREST)
            assert np.abs(np.asarray(expected) - faulted)[np.ix_(clear, clear)].max() < 1e-6


# Pixel (10, 20) and the mean of the picture below, in grey levels of 8 bits, as the package imagecorruptions
# 1.1.2 gives them at severities 1 to 5; it rounds twice to whole levels, where we keep fractions.
PUBLISHED = (
    [[74, 103, 94], [74, 103, 94], [63, 98, 86], [60, 95, 83], [67, 108, 94]],
    [93.54, 93.67, 93.17, 93.42, 93.67],
)


def test_pixelate_is_that_of_the_package_imagecorruptions():
    row, column = np.mgrid[:32, :32]
    levels = np.stack([7 * row, 5 * column, 3 * (row + column)]) % 256
    image = (levels / 255).astype(np.float32)[None]
    for severity, pixel, mean in zip(range(1, 6), *PUBLISHED, strict=True):
        faulted = apply(Pixelate(), image, severity)[0] * 255
        assert np.abs(faulted[:, 10, 20] - pixel).max() <= 1.01
        assert faulted.mean() == pytest.approx(mean, abs=1)


def test_pixelate_out_of_square():
    image = pictures(1, channels=1)[:, :, :20]
    expected = Image.fromarray(image[0, 0]).resize((16, 10), Image.Resampling.BOX)
    expected = expected.resize((32, 20), Image.Resampling.NEAREST)
    assert np.abs(np.asarray(expected) - apply(Pixelate(), image, 2)[0, 0]).max() < 1e-6


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("levels", QUALITIES)
@pytest.mark.parametrize("severity", [1, 2, 3, 4, 5])
def test_jpeg_compression_is_pillows(channels, levels, severity):
    images = pictures(4, channels)[:, :, :27]
    for image, result in zip(images, apply(JpegCompression(levels=levels), images, severity), strict=True):
        greys = np.rint(image * 255).astype(np.uint8).transpose(1, 2, 0).squeeze()
        file = BytesIO()
        Image.fromarray(greys).save(file, "JPEG", quality=QUALITIES[levels][severity - 1])
        expected = np.asarray(Image.open(file)).reshape(27, 32, channels).transpose(2, 0, 1)
        assert np.array_equal(np.rint(result * 255), expected)
