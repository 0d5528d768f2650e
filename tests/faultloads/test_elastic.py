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
