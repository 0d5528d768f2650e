"""What is done to batches of images, against Pillow image by image."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from PIL import Image, ImageEnhance, ImageOps
from torch import Tensor

from models import _image_operations as operations

GREY = 128
SIZES = [(16, 16), (32, 32), (20, 47)]
"""Height and width."""
NUMBERS = {
    operations.sheared_x: (-0.24, 0.21),
    operations.sheared_y: (-0.24, 0.21),
    operations.translated_x: (-9 / 32, 8 / 32),
    operations.translated_y: (-9 / 32, 3 / 32),
    operations.rotated: (-6, 6, 30),
    operations.inverted: (0,),
    operations.solarised: (51.2, 128, 204.8, 256),
    operations.posterised: (4, 5.2, 7, 8),
    operations.with_full_contrast: (0,),
    operations.equalised: (0,),
    operations.with_colour: (0.1, 0.64, 1, 1.72),
    operations.with_contrast: (0.1, 1, 1.18, 1.36),
    operations.with_brightness: (0.1, 0.64, 1, 1.72),
    operations.with_sharpness: (0.28, 0.64, 1, 1.72),
}


def pictures(channels: int, height: int, width: int) -> list[Image.Image]:
    """Return images that are bright, dark, of few levels, of one level, and of a slope, by their seed."""
    rng = np.random.default_rng(channels * height)
    slope = np.broadcast_to(np.linspace(3, 250, width)[None, :, None], (height, width, channels))
    arrays = [
        rng.integers(0, 256, (height, width, channels)),
        rng.integers(180, 256, (height, width, channels)),
        rng.integers(20, 90, (height, width, channels)) * [1, 2, 1][:channels],
        rng.choice([10, 50, 51, 200], (height, width, channels), p=[0.7, 0.1, 0.1, 0.1]),
        np.full((height, width, channels), 77),
        slope,
    ]
    return [
        Image.fromarray(one.astype(np.uint8)[:, :, 0] if channels == 1 else one.astype(np.uint8))
        for one in arrays
    ]


def tensors(images: list[Image.Image]) -> Tensor:
    arrays = [np.atleast_3d(np.asarray(image)).transpose(2, 0, 1) for image in images]
    return torch.from_numpy(np.stack(arrays).astype(np.float32) / np.float32(255))


def affine(image: Image.Image, *rows: float) -> Image.Image:
    fill = (GREY,) * len(image.getbands())
    return image.transform(image.size, Image.Transform.AFFINE, rows, fillcolor=fill)


BLENDS = (
    operations.with_colour,
    operations.with_contrast,
    operations.with_brightness,
    operations.with_sharpness,
)
PILLOW: dict[Callable[[Tensor, Tensor], Tensor], Callable[[Image.Image, float], Image.Image]] = {
    operations.sheared_x: lambda image, share: affine(image, 1, share, 0, 0, 1, 0),
    operations.sheared_y: lambda image, share: affine(image, 1, 0, 0, share, 1, 0),
    operations.translated_x: lambda image, share: affine(image, 1, 0, share * image.width, 0, 1, 0),
    operations.translated_y: lambda image, share: affine(image, 1, 0, 0, 0, 1, share * image.height),
    operations.rotated: lambda image, degrees: image.rotate(
        degrees, fillcolor=(GREY,) * len(image.getbands())
    ),
    operations.inverted: lambda image, _: ImageOps.invert(image),
    operations.solarised: lambda image, threshold: ImageOps.solarize(image, threshold),
    operations.posterised: lambda image, bits: ImageOps.posterize(image, round(bits)),
    operations.with_full_contrast: lambda image, _: ImageOps.autocontrast(image),
    operations.equalised: lambda image, _: ImageOps.equalize(image),
    operations.with_colour: lambda image, factor: ImageEnhance.Color(image).enhance(factor),
    operations.with_contrast: lambda image, factor: ImageEnhance.Contrast(image).enhance(factor),
    operations.with_brightness: lambda image, factor: ImageEnhance.Brightness(image).enhance(factor),
    operations.with_sharpness: lambda image, factor: ImageEnhance.Sharpness(image).enhance(factor),
}
CASES = [
    pytest.param(do, number, id=f"{do.__name__}-{number:g}") for do, row in NUMBERS.items() for number in row
]


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(("do", "number"), CASES)
def test_each_is_what_pillow_makes_of_the_image(do, number, channels) -> None:
    for height, width in SIZES:
        images = pictures(channels, height, width)
        numbers = torch.full((len(images),), number, dtype=torch.float64)
        found = do(tensors(images), numbers)
        assert found.dtype == torch.float32
        wanted = tensors([PILLOW[do](image, number) for image in images])
        assert (found - wanted).abs().max() * 255 < most_apart(do, number)


def most_apart(do, number) -> float:
    """Return below how many levels of 256 the two are apart.

    Pillow cuts off what a level has behind the point, and rounds the grey, or the smooth image, that it
    blends with: of contrast twice, since the mean is one of whole levels.
    """
    if do is operations.with_full_contrast:
        return 1
    return 1 + abs(1 - number) if do in BLENDS else 1e-3


@pytest.mark.parametrize(
    ("do", "number"),
    [
        *((do, 0) for do in (operations.sheared_x, operations.sheared_y, operations.rotated)),
        *((do, 0) for do in (operations.translated_x, operations.translated_y)),
        *((do, 1) for do in BLENDS),
        (operations.solarised, 256),
        (operations.posterised, 8),
    ],
)
def test_there_is_a_number_at_which_each_does_nothing(do, number) -> None:
    images = tensors(pictures(3, 20, 47))
    torch.testing.assert_close(
        do(images, torch.full((len(images),), float(number))), images, rtol=0, atol=1e-7
    )


def test_each_image_has_a_number_of_its_own() -> None:
    images = tensors(pictures(3, 16, 16))
    for do, numbers in NUMBERS.items():
        own = torch.tensor([numbers[i % len(numbers)] for i in range(len(images))], dtype=torch.float64)
        together = do(images, own)
        alone = [do(images[[i]], own[[i]]) for i in range(len(images))]
        torch.testing.assert_close(together, torch.cat(alone), rtol=0, atol=1e-6)


def test_floats_between_two_levels_are_not_lost_where_pillow_needs_no_levels() -> None:
    images = torch.rand(4, 3, 16, 16, generator=torch.Generator().manual_seed(0))
    half = operations.with_brightness(images, torch.full((4,), 0.5))
    torch.testing.assert_close(half, images / 2)
    turned = operations.translated_x(images, torch.full((4,), 0.25))
    assert torch.equal(turned[:, :, :, :12], images[:, :, :, 4:])
