"""Images and labels are checked the same way at every boundary."""

from __future__ import annotations

import re

import numpy as np
import pytest

from farm.api import check_images, check_labels
from farm.errors import DataError
from tests.wording import refused


def images(value=0.5, n=3):
    return np.full((n, 3, 4, 4), value, np.float32)


def test_good_images_pass_through_unchanged():
    given = images()
    assert check_images(given, "here") is given


def test_the_borders_of_the_range_are_inside():
    given = images()
    given[0], given[1] = 0.0, 1.0
    check_images(given, "here")


def test_no_images_are_fine():
    assert len(check_images(images(n=0), "here")) == 0


@pytest.mark.parametrize(
    "pixel",
    [
        1.5,
        -0.5,
        np.nan,
        np.inf,
    ],
)
def test_a_wrong_pixel_is_told_with_its_image_and_rule(pixel):
    given = images()
    given[1, 2, 3, 0] = pixel
    with refused(DataError):
        check_images(given, "here")
    with refused(DataError):
        check_images(given, "here", np.array(["a", "b", "c"]))


def test_a_wrong_layout_is_told_with_its_shape():
    with refused(DataError):
        check_images(np.zeros((4, 4), np.float32), "here")


@pytest.mark.parametrize("dtype", ["uint8", "float64"])
def test_another_dtype_is_refused(dtype):
    re.escape(f"here: images are {dtype}; expected float32 in [0, 1]")
    with refused(DataError):
        check_images(images().astype(dtype), "here")


def test_labels_are_classes():
    good = np.array([0, 2, 1])
    assert check_labels(good, 3, "here") is good


@pytest.mark.parametrize("label", [3, -1, -2])
def test_a_label_out_of_range_is_told_with_its_position(label):
    with refused(DataError):
        check_labels(np.array([0, label]), 3, "here")


def test_no_answer_is_a_label_only_where_it_is_allowed():
    check_labels(np.array([-1, 0]), 3, "here", no_answer=True)
    with refused(DataError):
        check_labels(np.array([-2]), 3, "here", no_answer=True)
