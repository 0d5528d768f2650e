"""The guards on data: splits share nothing, labels are classes, pixels are numbers in range."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from farm.api import (
    ArrayImages,
    Context,
    Split,
    Workload,
    WorkloadSource,
    check_workload,
    copies_of,
    image_digests,
)
from farm.errors import DataError
from tests.wording import refused


def pixels(split, dtype=np.uint8):
    images = split.images.read(np.arange(len(split)))
    return images if dtype == np.float32 else np.rint(images * 255).astype(np.uint8)


def with_images(split, images):
    return replace(split, images=ArrayImages(images))


class Given(WorkloadSource):
    """Gives a workload that a test made, through the driver that checks it."""

    def __init__(self, *, workload):
        self._workload = workload

    def _load(self, context):
        return self._workload


def load(workload):
    return Given(workload=workload).load(Context())


class Lazy:
    """Images that nobody looked at before they are read."""

    def __init__(self, array):
        self._array = array
        self.shape = array.shape[1:]

    def __len__(self):
        return len(self._array)

    def read(self, indices):
        return self._array[indices]


# Images ------------------------------------------------------------------------------------------------


def test_bytes_are_read_as_floats_from_0_to_1():
    source = ArrayImages(np.array([0, 51, 255], np.uint8).reshape(3, 1, 1, 1))
    read = source.read(np.array([2, 0, 1]))
    assert read.dtype == np.float32
    assert read.ravel().tolist() == [1.0, 0.0, np.float32(51) / np.float32(255)]


def test_reading_gives_a_copy_that_may_be_changed():
    source = ArrayImages(np.zeros((1, 1, 2, 2), np.float32))
    source.read(np.array([0]))[:] = 1.0
    assert source.read(np.array([0])).max() == 0.0


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((3, 4, 4), np.uint8),
        np.zeros((1, 3, 4, 4)),
    ],
)
def test_an_array_that_holds_no_images_is_refused(array):
    with refused(DataError):
        ArrayImages(array)


@given(arrays(np.uint8, (4, 1, 2, 2)))
def test_bytes_and_floats_of_the_same_image_have_one_digest(images):
    everything = np.arange(4)
    as_bytes, as_floats = ArrayImages(images), ArrayImages(images.astype(np.float32) / np.float32(255))
    assert image_digests(as_bytes.read(everything)) == image_digests(as_floats.read(everything))


@given(arrays(np.uint8, (1, 1, 2, 2)), st.integers(0, 3), st.integers(1, 255))
def test_a_change_of_one_level_in_one_pixel_changes_the_digest(image, where, step):
    other = image.copy()
    other.reshape(-1)[where] = (int(image.reshape(-1)[where]) + step) % 256
    first, second = (image_digests(ArrayImages(x).read(np.arange(1))) for x in (image, other))
    assert first != second


def test_a_change_that_nobody_could_see_does_not_hide_a_copy():
    image = np.full((1, 1, 2, 2), 0.5, np.float32)
    assert image_digests(image) == image_digests(image + np.float32(1e-4))


def test_pixels_are_rounded_to_the_nearest_level():
    level = np.full((1, 1, 2, 2), 100 / 255, np.float32)
    for near in (99.6, 100.4):
        assert image_digests(np.full((1, 1, 2, 2), near / 255, np.float32)) == image_digests(level)
    assert image_digests(np.full((1, 1, 2, 2), 99.4 / 255, np.float32)) != image_digests(level)


def test_the_same_bytes_in_another_shape_are_another_image():
    image = np.arange(4, dtype=np.float32).reshape(1, 1, 1, 4) / 4
    assert image_digests(image) != image_digests(image.reshape(1, 1, 2, 2))


# Splits ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("column", ["labels", "ids", "groups", "boxes", "masks"])
def test_a_column_of_another_length_is_told(tiny, column):
    shorter = {column: np.arange(5).astype(str if column in ("ids", "groups") else int)}
    with refused(DataError):
        replace(tiny.test, **shorter)


def test_a_condition_of_another_length_is_told(tiny):
    with refused(DataError):
        replace(tiny.test, conditions={"weather": np.array(["sun", "rain"])})


def test_repeated_ids_are_refused(tiny):
    ids = tiny.test.ids.copy()
    ids[3] = ids[0]
    with refused(DataError):
        replace(tiny.test, ids=ids)


def test_chunks_cover_a_split_once_and_in_order(tiny):
    chunks = list(tiny.test.chunks(7))
    assert np.concatenate(chunks).tolist() == list(range(len(tiny.test)))
    assert {len(chunk) for chunk in chunks[:-1]} == {7}


@pytest.mark.parametrize("column", ["labels", "ids", "groups", "images"])
def test_the_content_hash_notices_a_change_of(tiny, column):
    changed = {
        "labels": lambda: (tiny.test.labels + 1) % 4,
        "ids": lambda: tiny.test.ids[::-1],
        "groups": lambda: np.char.add(tiny.test.groups, "x"),
        "images": lambda: ArrayImages(pixels(tiny.test)[::-1].copy()),
    }
    assert replace(tiny.test, **{column: changed[column]()}).content_hash != tiny.test.content_hash


def test_the_content_hash_is_over_every_bit_though_copies_are_found_at_8_bits(tiny):
    images = np.full((len(tiny.test), 3, 8, 8), 0.5, np.float32)
    plain, near = (with_images(tiny.test, x) for x in (images, images + np.float32(0.001)))
    assert plain.digests == near.digests
    assert plain.content_hash != near.content_hash
    assert replace(tiny, test=plain).content_hash != replace(tiny, test=near).content_hash
    assert copies_of(plain, near.digests).tolist() == list(range(len(tiny.test)))


def test_a_workloads_hash_notices_a_changed_class_name(tiny):
    assert replace(tiny, classes=("ash", "birch", "cedar", "elm")).content_hash != tiny.content_hash


# Workloads ---------------------------------------------------------------------------------------------


def test_a_good_workload_passes(tiny):
    assert load(tiny) is tiny


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("split", ["train", "validation"])
def test_a_test_image_planted_in_the_other_splits_is_caught(tiny, split, dtype):
    images = pixels(getattr(tiny, split), dtype)
    images[7] = pixels(tiny.test, dtype)[11]
    planted = replace(tiny, **{split: with_images(getattr(tiny, split), images)})
    with refused(DataError):
        load(planted)


def test_a_copy_is_caught_though_one_is_bytes_and_the_other_floats(tiny):
    images = pixels(tiny.train, np.float32)
    images[0] = pixels(tiny.test, np.float32)[0]
    with refused(DataError):
        load(replace(tiny, train=with_images(tiny.train, images)))


def test_a_group_on_both_sides_is_caught(tiny):
    groups = tiny.validation.groups.astype(object)
    groups[5] = tiny.train.groups[9]
    planted = replace(tiny, validation=replace(tiny.validation, groups=groups.astype(str)))
    with refused(DataError):
        load(planted)


@pytest.mark.parametrize("label", [4, -1])
@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_a_label_that_is_no_class_is_told(tiny, split, label):
    labels = getattr(tiny, split).labels.copy()
    labels[2] = label
    planted = replace(tiny, **{split: replace(getattr(tiny, split), labels=labels)})
    with refused(DataError):
        load(planted)


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_an_empty_split_is_told(tiny, split):
    empty = Split(
        split,
        ArrayImages(np.empty((0, 3, 8, 8), np.uint8)),
        np.empty(0, int),
        np.empty(0, str),
        np.empty(0, str),
    )
    with refused(DataError):
        load(replace(tiny, **{split: empty}))


@pytest.mark.parametrize("left", [0, 1])
def test_a_class_with_fewer_than_two_training_images_is_told(tiny, left):
    labels = tiny.train.labels.copy()
    labels[np.flatnonzero(labels == 2)[left:]] = 0
    with refused(DataError):
        load(replace(tiny, train=replace(tiny.train, labels=labels)))


@pytest.mark.parametrize("pixel", [np.nan, np.inf, 1.5])
@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_a_pixel_out_of_range_is_told_with_split_and_id(tiny, split, pixel):
    part = getattr(tiny, split)
    images = pixels(part, np.float32)
    images[4, 1, 2, 3] = pixel
    with refused(DataError):
        load(replace(tiny, **{split: replace(part, images=Lazy(images))}))


@pytest.mark.parametrize(("pixel", "rule"), [(np.nan, "finite values"), (200.0, "values in [0, 1]")])
def test_a_pixel_of_images_in_memory_is_told_with_split_and_id(tiny, pixel, rule):
    images = pixels(tiny.test, np.float32)
    images[4, 1, 2, 3] = pixel
    with refused(DataError):
        load(replace(tiny, test=with_images(tiny.test, images)))


def test_images_of_another_size_are_told(tiny):
    smaller = with_images(tiny.test, pixels(tiny.test)[:, :, :4].copy())
    with refused(DataError):
        load(replace(tiny, test=smaller))


def test_repeated_class_names_are_told(tiny):
    with refused(DataError):
        check_workload(replace(tiny, classes=("ash", "birch", "ash", "cedar")))


def test_labels_that_are_no_whole_numbers_are_told(tiny):
    with refused(DataError):
        check_workload(replace(tiny, train=replace(tiny.train, labels=tiny.train.labels.astype(float))))


def test_copies_are_named_by_their_position(tiny):
    digests = [*tiny.test.digests[:2], tiny.train.digests[5], tiny.test.digests[3]]
    assert copies_of(tiny.train, digests).tolist() == [2]
    assert copies_of(tiny.train, tiny.test.digests).tolist() == []


def test_a_workloads_shape_is_channels_height_width(tiny):
    assert isinstance(tiny, Workload)
    assert tiny.shape == (3, 8, 8)


def test_who_only_looks_reads_no_pixels(tiny):
    class Unread(ArrayImages):
        def read(self, indices):
            raise AssertionError("a pixel was read")

    def unread(split):
        return replace(split, images=Unread(pixels(split)))

    closed = replace(tiny, **{split.name: unread(split) for split in tiny.splits})
    check_workload(closed, contents=False)
    with refused(AssertionError):
        check_workload(closed)
