"""Elastic transform: against a transcription of the published definition with scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

from farm.api import PerInstance
from farm.errors import ParameterError
from faultloads.elastic import ElasticTransform
from tests.faultloads.applying import apply, change, check_contract, check_grows, names, pictures
from tests.wording import refused


def test_elastic_transform_keeps_the_contract():
    check_contract(ElasticTransform())


def test_elastic_transform_grows_with_severity():
    check_grows(ElasticTransform(), pictures())


@pytest.mark.parametrize(("severity", "strength"), [*enumerate([12.5, 16.25, 21.25, 25, 30], start=1)])
@pytest.mark.parametrize("shape", [(32, 32), (48, 36)])
def test_pixels_come_from_where_the_definition_says(severity, strength, shape):
    images = np.ascontiguousarray(pictures(2, size=48)[:, :, : shape[0], : shape[1]])
    limit = 0.005 * shape[0]
    fields = PerInstance(0, "ElasticTransform", names(2)).uniform(2, *shape, low=-limit, high=limit)
    sigma = (0.01 * shape[0], 0.01 * shape[1])
    result = apply(ElasticTransform(), images, severity)
    for image, field, ours in zip(images, fields.astype(np.float64), result, strict=True):
        down, along = (
            strength * ndimage.gaussian_filter(part, sigma, mode="reflect", truncate=3) for part in field
        )
        places = np.mgrid[: shape[0], : shape[1]] + np.array([down, along])
        for plane, our_plane in zip(image, ours, strict=True):
            expected = ndimage.map_coordinates(plane.astype(np.float64), places, order=1, mode="reflect")
            assert np.abs(our_plane - expected).max() < 1e-5


SHARES = {
    "imagenet-c": [
        (244 * 2, 244 * 0.7, 244 * 0.1),
        (244 * 2, 244 * 0.08, 244 * 0.2),
        (244 * 0.05, 244 * 0.01, 244 * 0.02),
        (244 * 0.07, 244 * 0.01, 244 * 0.02),
        (244 * 0.12, 244 * 0.01, 244 * 0.02),
    ],
    "cifar-10-c": [
        (0, 0, 32 * 0.08),
        (32 * 0.05, 32 * 0.2, 32 * 0.07),
        (32 * 0.08, 32 * 0.06, 32 * 0.06),
        (32 * 0.1, 32 * 0.04, 32 * 0.05),
        (32 * 0.1, 32 * 0.03, 32 * 0.03),
    ],
}
MADE_FOR = {"imagenet-c": 224, "cifar-10-c": 32}


@pytest.mark.parametrize("levels", SHARES)
@pytest.mark.parametrize("severity", [1, 2, 3, 4, 5])
def test_hendrycks_moves_three_points_and_then_each_pixel(levels, severity):
    strength, sigma, points = (32 / MADE_FOR[levels] * size for size in SHARES[levels][severity - 1])
    images = pictures(3)
    random = PerInstance(0, "ElasticTransform", names(3))
    moves = random.uniform(3, 2, low=-points, high=points).astype(np.float64)
    fields = random.uniform(2, 32, 32, low=-1, high=1).astype(np.float64)
    result = apply(ElasticTransform(levels=levels), images, severity)
    for image, move, field, ours in zip(images, moves, fields, result, strict=True):
        centre, half = 32 // 2, 32 // 3
        before = np.array(
            [
                [centre + half, centre + half],
                [centre + half, centre - half],
                [centre - half, centre - half],
            ]
        )
        after = before + move
        # The affine map (x, y, 1) -> place in the original, from where the points are to where they were.
        back = np.linalg.solve(np.column_stack([after, np.ones(3)]), before)
        x, y = np.meshgrid(np.arange(32), np.arange(32))
        columns, rows = np.moveaxis(np.stack([x, y, np.ones_like(x)], axis=-1) @ back, -1, 0)
        down, along = (
            strength * ndimage.gaussian_filter(part, sigma, mode="reflect", truncate=3) for part in field
        )
        for plane, our_plane in zip(image.astype(np.float64), ours, strict=True):
            moved = ndimage.map_coordinates(plane, [rows, columns], order=1, mode="mirror")
            expected = ndimage.map_coordinates(moved, [y + down, x + along], order=1, mode="reflect")
            assert np.abs(our_plane - expected).max() < 2e-4


@pytest.mark.parametrize("levels", SHARES)
def test_hendrycks_elastic_transform_keeps_the_contract(levels):
    fault = ElasticTransform(levels=levels)
    check_contract(fault)
    for size in (1, 2, 3):
        assert np.isfinite(apply(fault, pictures(2, size=size), 2)).all()


def test_smoothing_is_imagecorruptions_alone():
    with refused(ParameterError):
        ElasticTransform(levels="cifar-10-c", smoothing=0.05)


def test_all_channels_move_alike():
    grey = pictures(4, channels=1)
    colour = apply(ElasticTransform(), np.repeat(grey, 3, axis=1), 3)
    assert np.array_equal(colour, np.repeat(apply(ElasticTransform(), grey, 3), 3, axis=1))


def test_more_smoothing_is_gentler():
    images = pictures()
    assert (
        change(ElasticTransform(smoothing=0.05), images, 3).mean()
        < change(ElasticTransform(), images, 3).mean()
    )


@pytest.mark.parametrize("smoothing", [0, -1, 2, "soft"])
def test_a_wrong_smoothing_is_told(smoothing):
    with refused(ParameterError):
        ElasticTransform(smoothing=smoothing)
