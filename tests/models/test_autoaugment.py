"""AutoAugment's policy for CIFAR-10: its table, its chances, and boxes that stay where they are."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from models._autoaugment import OPERATIONS, POLICY, autoaugment
from models.training import threads_held

TABLE = """
Invert 1 7 Contrast 2 6; Rotate 7 2 TranslateX 3 9; Sharpness 8 1 Sharpness 9 3
ShearY 5 8 TranslateY 7 9; AutoContrast 5 8 Equalize 9 2; ShearY 2 7 Posterize 3 7
Color 4 3 Brightness 6 7; Sharpness 3 9 Brightness 7 9; Equalize 6 5 Equalize 5 1
Contrast 6 7 Sharpness 6 5; Color 7 7 TranslateX 5 8; Equalize 3 7 AutoContrast 4 8
TranslateY 4 3 Sharpness 2 6; Brightness 9 6 Color 2 8; Solarize 5 2 Invert 0 3
Equalize 2 0 AutoContrast 6 0; Equalize 2 8 Equalize 6 4; Color 9 9 Equalize 6 6
AutoContrast 8 4 Solarize 2 8; Brightness 1 3 Color 7 0; Solarize 4 5 AutoContrast 9 3
TranslateY 9 9 TranslateY 7 9; AutoContrast 9 2 Solarize 8 3; Equalize 8 8 Invert 1 3
TranslateY 7 9 AutoContrast 9 1
"""
"""Operation, tenths of its chance, and magnitude, as DeepVoltaire's AutoAugment has them of the paper."""
MOVES = {"ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate"}


def rng(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_the_policy_is_that_of_the_paper() -> None:
    written = [row.split() for row in TABLE.strip().replace("\n", ";").split(";")]
    assert [
        [[name, f"{10 * chance:g}", str(magnitude)] for name, chance, magnitude in steps] for steps in POLICY
    ] == [[row[:3], row[3:]] for row in written]
    assert len(POLICY) == 25


def test_what_moves_objects_is_known_and_how_much_of_the_policy_it_is() -> None:
    assert {name for name, operation in OPERATIONS.items() if operation.moves} == MOVES
    left = [sum(name not in MOVES for name, _, _ in steps) for steps in POLICY]
    assert [left.count(n) for n in (2, 1, 0)] == [18, 4, 3]


@pytest.mark.parametrize(
    ("name", "magnitude", "number"),
    [
        ("ShearY", 8, 0.24),
        ("TranslateX", 9, 9 / 32),
        ("Rotate", 2, 6),
        ("Solarize", 5, 128),
        ("Posterize", 7, 5.2),
        ("Color", 0, 0.1),
        ("Contrast", 5, 1),
        ("Brightness", 9, 1.72),
        *((name, 0, 0) for name in sorted(MOVES)),
        ("Solarize", 0, 256),
        ("Posterize", 0, 8),
    ],
)
def test_magnitudes_are_tenths_of_ranges(name, magnitude, number) -> None:
    assert OPERATIONS[name].number(magnitude) == pytest.approx(number)


def noisy(n: int) -> Tensor:
    """Return colourful images of little contrast, which every operation changes."""
    return 0.1 + 0.85 * torch.rand(n, 3, 24, 24, generator=rng(7))


def outcomes(image: Tensor, *, moves: bool) -> list[tuple[float, Tensor]]:
    """Return all that the policy may make of an image, with the chance of each, by trying everything."""
    found = []
    for steps in POLICY:
        made = [(1 / len(POLICY), image)]
        for name, chance, magnitude in steps:
            if not moves and name in MOVES:
                continue
            number = OPERATIONS[name].number(magnitude)
            numbers = [number, -number] if name in MOVES else [number]
            done = [
                (
                    before * chance / len(numbers),
                    OPERATIONS[name].do(one, torch.tensor([each], dtype=torch.float64)),
                )
                for before, one in made
                for each in numbers
            ]
            made = [(before * (1 - chance), one) for before, one in made] + done
        found += made
    return found


@pytest.mark.parametrize("moves", [True, False])
def test_each_outcome_comes_as_often_as_the_policy_says(moves) -> None:
    n, image = 8000, noisy(1)
    marks = torch.rand(image.numel(), 4, generator=rng(9), dtype=torch.float64)
    possible: list[list[Tensor | float]] = []
    for chance, outcome in outcomes(image, moves=moves):
        mark = outcome.double().flatten(1) @ marks
        same = next((one for one in possible if (one[1] - mark).abs().max() < 1e-3), None)
        if same is None:
            possible.append([chance, mark])
        else:
            same[0] += chance
    made = autoaugment(image.expand(n, -1, -1, -1), rng(), moves=moves)
    apart = torch.cdist(made.double().flatten(1) @ marks, torch.cat([mark for _, mark in possible]))
    assert apart.amin(dim=1).max() < 1e-3
    seen = torch.bincount(apart.argmin(dim=1), minlength=len(possible)) / n
    chances = torch.tensor([chance for chance, _ in possible])
    assert len(chances) > (40 if moves else 25)
    assert ((seen - chances).abs() <= 4.5 * (chances * (1 - chances) / n).sqrt() + 1 / n).all()


@pytest.mark.parametrize("shape", [(1, 16, 16), (3, 32, 32), (3, 24, 41)])
@pytest.mark.parametrize("moves", [True, False])
def test_images_stay_images(shape, moves) -> None:
    images = torch.rand(300, *shape, generator=rng(1))
    before = images.clone()
    made = autoaugment(images, rng(), moves=moves)
    assert torch.equal(images, before)
    assert (made.shape, made.dtype) == (images.shape, torch.float32)
    assert made.min() >= 0
    assert made.max() <= 1


def test_the_same_seed_gives_the_same_images_whatever_the_threads() -> None:
    images = noisy(200)
    made = []
    for threads in (1, 2):
        with threads_held(threads):
            made.append(autoaugment(images, rng(3)))
    assert torch.equal(*made)
    assert not torch.equal(made[0], autoaugment(images, rng(4)))


def test_the_global_generator_is_neither_read_nor_moved() -> None:
    before = torch.get_rng_state()
    autoaugment(noisy(50), rng())
    assert torch.equal(before, torch.get_rng_state())


def painted(n: int) -> tuple[Tensor, Tensor]:
    """Return images with a bright box somewhere, and which of their pixels it is.

    A black and a white pixel in a corner leave nothing to stretch: a box of the only two levels that there
    are would be gone where what is bright is inverted after that.
    """
    corners = np.random.default_rng(5).integers(2, 14, (n, 2))
    place = torch.zeros(n, 24, 24, dtype=torch.bool)
    for one, (left, top) in zip(place, corners.tolist(), strict=True):
        one[top : top + 9, left : left + 8] = True
    images = torch.where(place[:, None], torch.tensor([0.9, 0.85, 0.9]).view(3, 1, 1), 0.3)
    images[:, :, 0, 0], images[:, :, 0, 23] = 0, 1
    return images, place


def found(images: Tensor, place: Tensor) -> Tensor:
    """Return which pixels are more like the middle of the box as it was than like what was around it."""
    inside = torch.stack(
        [image[:, where].median(dim=1).values for image, where in zip(images, place, strict=True)]
    )
    outside = torch.stack(
        [image[:, ~where].median(dim=1).values for image, where in zip(images, place, strict=True)]
    )
    apart = [(images - one[:, :, None, None]).abs().sum(dim=1) for one in (inside, outside)]
    nearer = apart[0] < apart[1]
    nearer[:, :2] = False  # where the corners are, and what sharpening spreads of them
    return nearer


def test_boxes_never_move_where_they_are_learned() -> None:
    images, place = painted(1500)
    assert torch.equal(found(images, place), place)
    stayed = autoaugment(images, rng(), moves=False)
    assert (stayed != images).flatten(1).any(dim=1).double().mean() > 0.5
    assert torch.equal(found(stayed, place), place)
    moved = found(autoaugment(images, rng()), place) != place
    assert 0.1 < moved.flatten(1).any(dim=1).double().mean() < 0.4
