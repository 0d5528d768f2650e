"""Mirrored training images: each beside its original, and none that is somewhere else already."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from farm.api import ArrayImages, Context, Split, Workload, WorkloadSource, check_workload
from farm.errors import FarmError, ParameterError
from farm.run.testbed import Testbed
from farm.store.cache import DiskCache
from farm.testing.fakes import tiny_workload
from farm.workloads.mirrored import Mirrored, with_mirrored
from tests.wording import refused

TINY = {"name": "farm.testing.fakes:TinySource"}


@pytest.fixture(scope="module")
def both():
    return tiny_workload(), Mirrored(of=TINY).load(Context())


def pixels(split):
    return split.images.read(np.arange(len(split)))


def test_each_training_image_is_there_as_it_is_and_mirrored(both):
    plain, mirrored = both
    check_workload(mirrored)
    n = len(plain.train)
    assert mirrored.notes == {"mirrored": {"mirrored": n, "symmetric": 0, "copies": 0}}
    images = pixels(mirrored.train)
    np.testing.assert_array_equal(images[:n], pixels(plain.train))
    np.testing.assert_array_equal(images[n:], pixels(plain.train)[:, :, :, ::-1])
    assert mirrored.train.ids[n:].tolist() == [f"{one}/mirrored" for one in plain.train.ids]
    for column in ("labels", "groups"):
        whole = getattr(mirrored.train, column)
        np.testing.assert_array_equal(whole[:n], getattr(plain.train, column))
        np.testing.assert_array_equal(whole[n:], getattr(plain.train, column))


def test_the_rest_and_the_name_are_the_other_workloads(both):
    plain, mirrored = both
    assert (mirrored.name, mirrored.classes) == (plain.name, plain.classes)
    for split in ("validation", "test"):
        assert getattr(mirrored, split).content_hash == getattr(plain, split).content_hash


def test_images_are_mirrored_as_they_are_read_in_any_order(both):
    plain, mirrored = both
    n, whole = len(plain.train), pixels(mirrored.train)
    rows = np.array([n + 3, 0, 2 * n - 1, 3, 3])
    np.testing.assert_array_equal(mirrored.train.images.read(rows), whole[rows])
    assert mirrored.train.images.read(rows[:1]).dtype == np.float32
    assert mirrored.train.images._images.array.shape[0] == n


def of_images(name, images, first=0, **more):
    n = len(images)
    ids = np.array([f"{name}/{first + i}" for i in range(n)])
    return Split(name, ArrayImages(images), np.arange(n) % 2, ids, ids, **more)


def random_images(n, seed):
    return np.random.default_rng(seed).random((n, 1, 4, 6), dtype=np.float32)


def test_symmetric_images_and_those_of_other_splits_are_left_out():
    images = random_images(5, 0)
    images[1] = (images[1] + images[1][..., ::-1]) / 2
    other, third = random_images(2, 1), random_images(2, 2)
    other[0], third[1] = images[2][..., ::-1], images[4][..., ::-1]
    train, symmetric, copies = with_mirrored(
        of_images("train", images), of_images("validation", other), of_images("test", third)
    )
    assert (symmetric, copies) == (1, 2)
    assert train.ids[5:].tolist() == ["train/0/mirrored", "train/3/mirrored"]
    np.testing.assert_array_equal(pixels(train)[5:], images[[0, 3]][..., ::-1])


def test_boxes_masks_and_conditions_go_with_the_images():
    masks = np.zeros((2, 4, 6), dtype=bool)
    masks[0, 1:3, :2] = True
    boxes = np.array([[0.0, 1, 2, 3], [np.nan] * 4])
    light = np.array(["day", "night"])
    split = of_images("train", random_images(2, 0), boxes=boxes, masks=masks, conditions={"light": light})
    train, *_ = with_mirrored(split)
    np.testing.assert_array_equal(train.boxes[2:], [[4, 1, 6, 3], [np.nan] * 4])
    np.testing.assert_array_equal(train.masks[2:], masks[..., ::-1])
    assert train.masks[2, 1:3, 4:].all()
    assert train.conditions["light"].tolist() == ["day", "night", "day", "night"]


class Flat(WorkloadSource):
    """Knows no splits, and says which shape it was asked for."""

    def _load(self, context: Context) -> Workload:
        raise AssertionError("it has no splits")

    def _load_ood(self, context, like):
        return replace(tiny_workload(), notes={"like": list(like)})


def test_as_ood_images_it_is_the_other_workload():
    source = Mirrored(of=f"{__name__}:Flat")
    assert source.load_ood(Context(), (3, 8, 8)).images.content_hash == tiny_workload().test.content_hash


def test_a_rendered_workload_is_found_in_the_cache(tmp_path, monkeypatch):
    signs = {"name": "signs", "train_groups": 2, "validation_groups": 1, "test_groups": 1, "views": 1}
    first = Testbed(cache=DiskCache(tmp_path)).workload(Mirrored(of=signs))
    monkeypatch.setattr("farm.workloads.signs.photograph", None)
    again = Testbed(cache=DiskCache(tmp_path)).workload(Mirrored(of=signs))
    assert again.content_hash == first.content_hash
    assert again.name == "signs"
    assert len(again.train) > 60
    assert again.recipe == {"name": "mirrored", "of": signs}


@pytest.mark.parametrize(
    "of",
    [
        3,
        {"size": 8},
        "digit",
        {"name": "digits", "size": 3},
        {"name": "farm.workloads.mirrored:Mirrored", "of": "digits"},
    ],
)
def test_mistakes_are_told(of):
    with refused(ParameterError, FarmError):
        Mirrored(of=of)
