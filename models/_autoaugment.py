"""AutoAugment's policy for CIFAR-10, on batches: Cubuk et al., CVPR 2019.

A policy is 25 sub-policies of two operations each, with the chance that each is done, and its magnitude. Each
image of a batch gets one of them at random.

The sub-policies are the same in TensorFlow's model garden, in torchvision and in DeepVoltaire's AutoAugment;
20 of them are among the 95 of the authors' own code, and Fast AutoAugment has a 6 for the 8 of the 14th. In
what a magnitude means they differ. Here it is what the authors' code for CIFAR-10 makes of it
(tensorflow/models, research/autoaugment):

- A tenth of the range each. Torchvision and DeepVoltaire part ranges by 9, so that 9 is the end.
- Shears are up to 0.3 and rotations up to 30 degrees, to either side by chance.
- Translations are up to 10 of CIFAR-10's 32 pixels: here up to 10/32 of the side, whatever the size. The
  paper's 150 pixels are of large images; torchvision and DeepVoltaire take 150/331 of the side.
- Colour, contrast, brightness and sharpness are from 0.1 to 1.9, as in the paper: 0 is nearly none of it, 5
  the image as it is. Torchvision and DeepVoltaire take 1 + or - 0.1 of the magnitude, by chance.
- Posterising is an exception: the authors' code keeps 4 bits at 0 and none at 10, while the paper has 4 to 8.
  Here it is 8 bits at 0 and 4 at 10: at 7, the only magnitude there is, 5, as torchvision has it.
- What comes in from outside is grey, as in the model garden and DeepVoltaire's; it is the mean of CIFAR-10 in
  the authors' code, and black in torchvision.

Where boxes are learned, what moves objects is left out: shears, translations and rotations. Inverting,
solarising, posterising, contrast of both kinds, equalising, colour, brightness and sharpness remain. All 25
sub-policies are drawn as often as before: 18 whole, 4 with one of their operations left, and the images of
the 3 that have none stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from models._image_operations import (
    equalised,
    inverted,
    posterised,
    rotated,
    sheared_x,
    sheared_y,
    solarised,
    translated_x,
    translated_y,
    with_brightness,
    with_colour,
    with_contrast,
    with_full_contrast,
    with_sharpness,
)

MAGNITUDES = 10
"""What magnitudes are parts of."""


class Operation(NamedTuple):
    """What is done to images by a number each: `none` at a magnitude of 0, `most` at that of 10.

    What is `signed` is done to either side; what `moves` takes objects out of their boxes.
    """

    do: Callable[[Tensor, Tensor], Tensor]
    none: float = 0.0
    most: float = 0.0
    signed: bool = False
    moves: bool = False

    def number(self, magnitude: int) -> float:
        """Return the number of a magnitude."""
        return self.none + (self.most - self.none) * magnitude / MAGNITUDES


OPERATIONS: Mapping[str, Operation] = {
    "ShearX": Operation(sheared_x, most=0.3, signed=True, moves=True),
    "ShearY": Operation(sheared_y, most=0.3, signed=True, moves=True),
    "TranslateX": Operation(translated_x, most=10 / 32, signed=True, moves=True),
    "TranslateY": Operation(translated_y, most=10 / 32, signed=True, moves=True),
    "Rotate": Operation(rotated, most=30, signed=True, moves=True),
    "Invert": Operation(inverted),
    "Solarize": Operation(solarised, none=256, most=0),
    "Posterize": Operation(posterised, none=8, most=4),
    "AutoContrast": Operation(with_full_contrast),
    "Equalize": Operation(equalised),
    "Color": Operation(with_colour, none=0.1, most=1.9),
    "Contrast": Operation(with_contrast, none=0.1, most=1.9),
    "Brightness": Operation(with_brightness, none=0.1, most=1.9),
    "Sharpness": Operation(with_sharpness, none=0.1, most=1.9),
}
"""By the names that the paper has for them."""

Step = tuple[str, float, int]
"""An operation, the chance that it is done, and its magnitude."""
POLICY: tuple[tuple[Step, Step], ...] = (
    (("Invert", 0.1, 7), ("Contrast", 0.2, 6)),
    (("Rotate", 0.7, 2), ("TranslateX", 0.3, 9)),
    (("Sharpness", 0.8, 1), ("Sharpness", 0.9, 3)),
    (("ShearY", 0.5, 8), ("TranslateY", 0.7, 9)),
    (("AutoContrast", 0.5, 8), ("Equalize", 0.9, 2)),
    (("ShearY", 0.2, 7), ("Posterize", 0.3, 7)),
    (("Color", 0.4, 3), ("Brightness", 0.6, 7)),
    (("Sharpness", 0.3, 9), ("Brightness", 0.7, 9)),
    (("Equalize", 0.6, 5), ("Equalize", 0.5, 1)),
    (("Contrast", 0.6, 7), ("Sharpness", 0.6, 5)),
    (("Color", 0.7, 7), ("TranslateX", 0.5, 8)),
    (("Equalize", 0.3, 7), ("AutoContrast", 0.4, 8)),
    (("TranslateY", 0.4, 3), ("Sharpness", 0.2, 6)),
    (("Brightness", 0.9, 6), ("Color", 0.2, 8)),
    (("Solarize", 0.5, 2), ("Invert", 0.0, 3)),
    (("Equalize", 0.2, 0), ("AutoContrast", 0.6, 0)),
    (("Equalize", 0.2, 8), ("Equalize", 0.6, 4)),
    (("Color", 0.9, 9), ("Equalize", 0.6, 6)),
    (("AutoContrast", 0.8, 4), ("Solarize", 0.2, 8)),
    (("Brightness", 0.1, 3), ("Color", 0.7, 0)),
    (("Solarize", 0.4, 5), ("AutoContrast", 0.9, 3)),
    (("TranslateY", 0.9, 9), ("TranslateY", 0.7, 9)),
    (("AutoContrast", 0.9, 2), ("Solarize", 0.8, 3)),
    (("Equalize", 0.8, 8), ("Invert", 0.1, 3)),
    (("TranslateY", 0.7, 9), ("AutoContrast", 0.9, 1)),
)

_NAMES = list(OPERATIONS)
_WHICH = torch.tensor([[_NAMES.index(name) for name, _, _ in steps] for steps in POLICY])
_CHANCES = torch.tensor([[chance for _, chance, _ in steps] for steps in POLICY])
_NUMBERS = torch.tensor(
    [[OPERATIONS[name].number(magnitude) for name, _, magnitude in steps] for steps in POLICY],
    dtype=torch.float64,
)


def autoaugment(images: Tensor, rng: torch.Generator, *, moves: bool = True) -> Tensor:
    """Return images, floats in [0, 1], with a sub-policy done to each; without `moves` boxes stay right.

    Images with as many rows in a batch, by a generator in the same state, are the same, whatever the threads.

    Examples
    --------
    >>> images = torch.rand(8, 3, 16, 16, generator=torch.Generator().manual_seed(0))
    >>> made = [autoaugment(images, torch.Generator().manual_seed(1)) for _ in range(2)]
    >>> torch.equal(*made), torch.equal(made[0], images)
    (True, False)
    """
    n = len(images)
    chosen = torch.randint(len(POLICY), (n,), generator=rng)
    done = torch.rand(n, 2, generator=rng) < _CHANCES[chosen]
    sides = torch.randint(2, (n, 2), generator=rng) * 2 - 1
    made = images.clone()
    for step in range(2):
        which = torch.where(done[:, step], _WHICH[chosen, step], -1)
        for number, operation in enumerate(OPERATIONS.values()):
            rows = torch.nonzero(which == number).flatten()
            if len(rows) and (moves or not operation.moves):
                values = _NUMBERS[chosen[rows], step]
                made[rows] = operation.do(
                    made[rows], values * sides[rows, step] if operation.signed else values
                )
    return made
