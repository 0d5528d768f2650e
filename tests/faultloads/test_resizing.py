"""Images of another shape: the same pixels as torch's, and the same bits whatever is read with them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from farm.api import ArrayImages, Split
from farm.errors import ParameterError
from faultloads._resizing import LUMA, ResizedImages, resized, triangle_filter
from tests.wording import refused

SIZES = [(8, 8), (5, 13), (32, 20), (16, 16), (1, 40)]


def pictures(channels=3, height=16, width=16, n=7):
    return np.random.default_rng(0).random((n, channels, height, width), dtype=np.float32)


@pytest.mark.parametrize("size", SIZES)
def test_it_is_torchs_antialiased_bilinear(size):
    images = pictures()
    got = ResizedImages(ArrayImages(images), (3, *size)).read(np.arange(7))
    wanted = F.interpolate(
        torch.from_numpy(images), size, mode="bilinear", antialias=True, align_corners=False
    )
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, wanted.numpy(), atol=1e-5)


def test_each_image_has_the_same_bits_whatever_is_read_with_it():
    source = ResizedImages(ArrayImages(pictures()), (3, 11, 9))
    whole = source.read(np.arange(7))
    for rows in ([3], [6, 3, 0], [3, 3]):
        np.testing.assert_array_equal(source.read(np.array(rows)), whole[rows])


def test_grey_becomes_three_equal_channels_and_colours_become_luma():
    grey, colours = pictures(channels=1), pictures()
    to_colours = ResizedImages(ArrayImages(grey), (3, 16, 16)).read(np.arange(7))
    np.testing.assert_array_equal(to_colours, grey.repeat(3, axis=1))
    to_grey = ResizedImages(ArrayImages(colours), (1, 16, 16)).read(np.arange(7))
    assert LUMA.sum() == pytest.approx(1)
    by_hand = 0.299 * colours[:, 0] + 0.587 * colours[:, 1] + 0.114 * colours[:, 2]
    np.testing.assert_allclose(to_grey[:, 0], by_hand, atol=1e-6)


def test_white_stays_white_and_black_black():
    for value in (0.0, 1.0):
        flat = ArrayImages(np.full((1, 3, 96, 96), value, np.float32))
        for shape in ((1, 32, 32), (3, 7, 31), (3, 100, 97)):
            made = ResizedImages(flat, shape).read(np.array([0]))
            assert made.min() >= 0
            assert made.max() <= 1
            np.testing.assert_allclose(made, value, atol=1e-6)


def test_channels_that_have_no_meaning_are_refused():
    with refused(ParameterError):
        ResizedImages(ArrayImages(pictures(channels=4)), (3, 8, 8))


@pytest.mark.parametrize(("old", "new"), [(4, 4), (1, 5), (5, 1), (7, 3), (3, 7)])
def test_weights_of_a_pixel_sum_to_one(old, new):
    weights = triangle_filter(old, new)
    assert weights.shape == (new, old)
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    np.testing.assert_allclose(weights[::-1, ::-1], weights, atol=1e-12)
    if old == new:
        np.testing.assert_array_equal(weights, np.eye(old))


def test_boxes_and_masks_fit_the_new_size():
    masks = np.zeros((2, 8, 16), dtype=bool)
    masks[0, 2:6, 4:8] = True
    ids = np.array(["a", "b"])
    boxes = np.array([[4.0, 2, 8, 6], [np.nan] * 4])
    images = ArrayImages(pictures(height=8, width=16, n=2))
    split = Split("test", images, np.array([0, 1]), ids, ids, boxes=boxes, masks=masks)
    found = resized(split, (3, 16, 8))
    np.testing.assert_array_equal(found.boxes, [[2, 4, 4, 12], [np.nan] * 4])
    assert found.masks.shape == (2, 16, 8)
    assert np.argwhere(found.masks[0]).min(axis=0).tolist() == [4, 2]
    assert np.argwhere(found.masks[0]).max(axis=0).tolist() == [11, 3]
    assert not found.masks[1].any()
