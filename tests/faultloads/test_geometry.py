"""Geometry: against Pillow's transformations, with the random numbers that an instance gets."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from farm.api import PerInstance
from farm.errors import ParameterError
from faultloads._warps import affine, askew
from faultloads.geometry import Crop, Perspective, Reflection, Rotation, Scale, Translation
from tests.faultloads.applying import apply, change, check_contract, check_grows, names, pictures
from tests.wording import refused

BORDERED = [Rotation, Translation, Scale, Perspective]
ALL = [*BORDERED, Crop, Reflection]
INNER = np.s_[:, :, 8:-8, 8:-8]


def by_pillow(images, method, data):
    """Transform each plane as Pillow does, between pixels in proportion."""
    n, channels, high, wide = images.shape
    planes = [
        Image.fromarray(plane).transform((wide, high), method, data, Image.Resampling.BILINEAR)
        for plane in images.reshape(-1, high, wide)
    ]
    return np.stack([np.asarray(plane) for plane in planes]).reshape(n, channels, high, wide)


@pytest.mark.parametrize("kind", ALL)
def test_geometry_keeps_the_contract(kind):
    check_contract(kind())


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("size", [1, 7, 64])
def test_an_image_is_the_same_in_every_batch(kind, size):
    images = pictures(64, size=12)
    whole = apply(kind(), images, 3)
    assert np.array_equal(apply(kind(), images[:size], 3, names(size)), whole[:size])


@pytest.mark.parametrize("kind", ALL)
def test_more_severe_is_more_change(kind):
    check_grows(kind(), pictures(32))


@pytest.mark.parametrize("kind", BORDERED)
def test_a_border_is_one_of_three(kind):
    results = [apply(kind(border=border), pictures(4), 5) for border in ("edge", "mirror", "black")]
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert not np.array_equal(results[one], results[other])
    assert (results[2] == 0).sum() > 100
    with refused(ParameterError):
        kind(border="white")


def test_content_turns_counter_clockwise_as_pillow_turns_it():
    images = pictures(3)
    turned = affine(images, degrees=np.array([25, 25, 25], dtype=np.float32))
    for image, result in zip(images, turned, strict=True):
        for plane, faulted in zip(image, result, strict=True):
            expected = np.asarray(Image.fromarray(plane).rotate(25, Image.Resampling.BILINEAR))
            assert np.abs(expected - faulted)[8:-8, 8:-8].max() < 1e-4


@pytest.mark.parametrize(("severity", "degrees"), [(0.5, 3), (1, 6), (3, 18), (4.5, 27), (5, 30)])
def test_rotation_is_uniform_within_its_degrees(severity, degrees):
    images = pictures(4)
    drawn = PerInstance(0, "Rotation", names(4)).uniform(low=-1, high=1)
    expected = affine(images, degrees=np.float32(degrees) * drawn)
    assert np.allclose(apply(Rotation(), images, severity), expected, atol=1e-6)


AUTHORS_ANGLES = [-45, -22.5, 22.5, 45]


def test_rotation_takes_one_of_the_angles_that_are_given():
    image = pictures(1, channels=1)
    plane = Image.fromarray(image[0, 0])
    turned = [np.asarray(plane.rotate(angle, Image.Resampling.BILINEAR)) for angle in AUTHORS_ANGLES]
    fault = Rotation(angles=AUTHORS_ANGLES, border="black")
    seen = []
    for ours in apply(fault, np.repeat(image, 60, axis=0), 5):
        distances = [np.abs(ours[0] - other)[8:-8, 8:-8].max() for other in turned]
        assert min(distances) < 1e-4
        seen.append(int(np.argmin(distances)))
    assert min(np.bincount(seen, minlength=4)) >= 5
    half = apply(Rotation(angles=[45]), image, 2.5)
    assert np.allclose(half, apply(Rotation(angles=[22.5]), image, 5), atol=1e-6)


@pytest.mark.parametrize("angles", [30, "30", [], [200], [None]])
def test_wrong_angles_are_told(angles):
    with refused(ParameterError):
        Rotation(angles=angles)


def test_a_move_by_whole_pixels_is_a_shift():
    images = pictures(2)
    moved = affine(images, across=2 / 32, down=-3 / 32)
    assert np.allclose(moved[:, :, 3:, :-2], images[:, :, :-3, 2:], atol=1e-5)
    assert np.allclose(moved[:, :, :3, :-2], images[:, :, :1, 2:], atol=1e-5)  # the edge goes on


def test_a_part_is_enlarged_as_pillow_enlarges_it():
    images = pictures(2)
    seen = affine(images, part=0.75, across=1 / 32, down=-2 / 32)
    left, top, side = 16 + 1 - 12, 16 - 2 - 12, 24
    expected = by_pillow(images, Image.Transform.EXTENT, (left, top, left + side, top + side))
    assert np.abs(expected - seen).max() < 1e-4


@pytest.mark.parametrize(("kind", "farthest"), [(Translation, 0.3), (Crop, 0.2)])
def test_moves_stay_within_their_shares(kind, farthest):
    column = np.arange(32, dtype=np.float32) / 32
    images = np.broadcast_to(column, (200, 1, 32, 32)).copy()
    middles = apply(kind(), images, 5)[:, 0, 15:17, 15:17].mean(axis=(1, 2)) - images[0, 0, 15, 15:17].mean()
    assert np.abs(middles).max() <= farthest
    assert np.ptp(middles) > 1.8 * farthest


def test_scale_enlarges_and_shrinks_alike():
    column = np.arange(32, dtype=np.float32) / 32
    images = np.broadcast_to(column, (200, 1, 32, 32)).copy()
    slopes = np.diff(apply(Scale(), images, 5)[:, 0, 16, 15:17], axis=1)[:, 0] * 32
    assert slopes.min() == pytest.approx(1 / 1.75, abs=0.02)
    assert slopes.max() == pytest.approx(1.75, abs=0.04)
    assert 80 < (slopes > 1).sum() < 120


def test_a_tilted_plane_is_pillows_perspective():
    images = pictures(1)
    corners = np.array([[0.1, 0.05], [0.8, 0.2], [0.95, 0.9], [0.02, 0.7]])
    square = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    # Pillow wants the map from a corner's new place back to its old one, in pixels: eight linear equations.
    rows, sides = [], []
    for (x, y), (u, v) in zip(corners * 32, square * 32, strict=True):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        sides += [u, v]
    data = np.linalg.solve(rows, sides)
    expected = by_pillow(images, Image.Transform.PERSPECTIVE, data)
    tilted = askew(images, corners[None].astype(np.float32))
    assert np.abs(expected - tilted)[INNER].max() < 1e-4


def test_corners_that_stay_change_nothing():
    images = pictures(2)
    square = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], dtype=np.float32)
    assert np.allclose(askew(images, np.stack([square, square])), images, atol=1e-5)


def test_a_crop_has_nothing_beyond_the_image():
    row, column = np.mgrid[:32, :32].astype(np.float32) / 31
    images = np.stack([row, column])[None].repeat(50, axis=0)[:, :1]
    cropped = apply(Crop(), images, 5)
    steps = np.diff(cropped[:, 0], axis=1)
    # Where the edge went on there would be rows that are alike; at most half a pixel of it is seen.
    assert (steps[:, 1:-1] > 0).all()
    assert np.median(steps) == pytest.approx(0.6 / 31, abs=1e-4)


def test_a_reflection_is_brightest_in_its_middle_and_never_darkens():
    images = pictures(20)
    weak, strong = (apply(Reflection(), images, severity) for severity in (1, 5))
    assert (weak >= images - 1e-6).all()
    assert (strong >= weak - 1e-6).all()
    assert strong.max(axis=(1, 2, 3)).min() > 0.98


def test_a_reflection_scales_with_the_image():
    small, large = (change(Reflection(), np.zeros((8, 1, side, side), np.float32), 3) for side in (32, 96))
    assert np.allclose(small, large, rtol=0.02)
