"""Crops of two photographs: natural images, the same for a seed, and no pixel on two sides."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from farm.api import Context, check_workload
from farm.errors import ParameterError
from farm.run.testbed import Testbed
from farm.testing.fakes import tiny_workload
from farm.workloads import photographs
from farm.workloads.photographs import PARTS, Photographs
from tests.wording import refused


def pixels(split):
    return split.images.read(np.arange(len(split)))


def ood(seed=0, like=None, **parameters):
    return Photographs(**parameters).load_ood(Context(seed=seed), like).images


@pytest.fixture(scope="module")
def workload():
    return Photographs(n=200).load(Context(seed=0))


def test_it_is_a_workload_of_two_classes(workload):
    check_workload(workload)
    assert (workload.classes, workload.shape) == (("china", "flower"), (3, 32, 32))
    assert [np.bincount(split.labels).tolist() for split in workload.splits] == [[60, 60], [20, 20], [20, 20]]
    for split in workload.splits:
        images = pixels(split)
        assert images.dtype == np.float32
        assert images.min() >= 0
        assert images.max() <= 1
        assert images.std() > 0.1
    # The flower is orange before dark green, the temple stands before a bright sky.
    means = [pixels(workload.train)[workload.train.labels == label].mean() for label in (0, 1)]
    assert means[0] > means[1] + 0.05


def test_all_images_are_distinct(workload):
    digests = [digest for split in workload.splits for digest in split.digests]
    assert len({*digests}) == len(digests) == 200
    made = ood(n=300, smallest=0.02, largest=0.05, size=4)
    assert len({*made.digests}) == len(made) == 300


def test_a_seed_makes_the_same_images_and_another_seed_others(workload):
    assert Photographs(n=200).load(Context(seed=0)).content_hash == workload.content_hash
    assert Photographs(n=200).load(Context(seed=1)).content_hash != workload.content_hash
    assert ood(0, n=20).content_hash == ood(0, n=20).content_hash != ood(1, n=20).content_hash


def test_more_images_begin_with_the_fewer(workload):
    more = Photographs(n=215).load(Context(seed=0))
    for few, many in zip(workload.splits, more.splits, strict=True):
        assert len(many) > len(few)
        np.testing.assert_array_equal(many.ids[: len(few)], few.ids)
        np.testing.assert_array_equal(pixels(many)[: len(few)], pixels(few))
    np.testing.assert_array_equal(pixels(ood(n=30))[:20], pixels(ood(n=20)))


def places(monkeypatch):
    """Have photographs whose pixels tell their column and their row, and return what is cut from them."""
    height, width, cut = 427, 640, []
    columns, rows = np.meshgrid(np.arange(width), np.arange(height))
    told = np.stack([columns // 256, columns % 256, rows // 2], axis=2).astype(np.uint8)
    whole = photographs._resized

    def resized(crop, shape):
        left, right = (int(crop[0, at, 0]) * 256 + int(crop[0, at, 1]) for at in (0, -1))
        cut.append((left, right, *crop.shape[:2]))
        return whole(crop, shape)

    monkeypatch.setattr(
        "sklearn.datasets.load_sample_images", lambda: type("Two", (), {"images": [told, told]})
    )
    monkeypatch.setattr(photographs, "_resized", resized)
    return cut


def test_each_split_has_columns_of_its_own(monkeypatch):
    cut = places(monkeypatch)
    Photographs(n=400, smallest=0.1, largest=1).load(Context(seed=0))
    assert [side for *_, side, _ in cut] == [side for *_, side in cut]
    of = {part: [cut[i] for i in range(400) if photographs.TURNS[i % 10] == part] for part in PARTS}
    reach = {part: (min(c[0] for c in crops), max(c[1] for c in crops)) for part, crops in of.items()}
    for part, (first, last) in {"train": (0, 383), "validation": (384, 511), "test": (512, 639)}.items():
        assert first <= reach[part][0] < first + 20
        assert last - 20 < reach[part][1] <= last
        sides = [side for *_, side in of[part]]
        assert 43 <= min(sides) < max(sides) <= last - first + 1


def test_sides_are_shares_of_the_height_and_ood_images_come_from_anywhere(monkeypatch):
    cut = places(monkeypatch)
    made = ood(n=200, smallest=0.25, largest=0.75)
    sides = [side for *_, side in cut]
    assert round(0.25 * 427) <= min(sides) < 130
    assert 300 < max(sides) <= round(0.75 * 427)
    assert min(c[0] for c in cut) < 20
    assert max(c[1] for c in cut) > 620
    assert len(made) == 200


@pytest.mark.parametrize(
    ("parameters", "like", "shape"),
    [
        ({}, None, (3, 32, 32)),
        ({}, (3, 20, 24), (3, 20, 24)),
        ({}, (1, 8, 8), (1, 8, 8)),
        ({"size": 16}, (1, 8, 8), (1, 16, 16)),
        ({"size": 48}, None, (3, 48, 48)),
    ],
)
def test_ood_images_have_the_shape_of_id_ones_where_no_size_is_said(parameters, like, shape):
    made = ood(like=like, n=12, **parameters)
    assert made.images.shape == shape
    assert len(made) == 12


def test_what_is_smaller_is_filtered_against_aliasing():
    stripes = np.zeros((64, 64, 3), np.uint8)
    stripes[:, ::2] = 255
    small = photographs._resized(stripes, (3, 8, 8))
    assert np.ptp(small[:, :, 1:-1].astype(int)) <= 4
    assert abs(small.mean() - 127.5) < 3
    grey = photographs._resized(stripes, (1, 8, 8))
    np.testing.assert_array_equal(grey[0], np.asarray(Image.fromarray(stripes).convert("L").resize((8, 8))))


def test_they_serve_as_novelty():
    bed, workload = Testbed(0), tiny_workload()
    made = bed.ood_images({"name": "photographs", "n": 25}, beside=workload)
    assert made.images.images.shape == workload.shape
    assert len(made.images) == len({*made.images.groups}) == 25


def test_too_many_images_for_the_photographs_are_told(monkeypatch):
    flat = np.full((427, 640, 3), 7, np.uint8)
    monkeypatch.setattr(
        "sklearn.datasets.load_sample_images", lambda: type("Two", (), {"images": [flat, flat]})
    )
    with refused(ParameterError):
        ood(n=10)


@pytest.mark.parametrize(
    "parameters",
    [{"size": 0}, {"n": 9}, {"smallest": 0}, {"smallest": 0.4}, {"largest": 0.1}, {"largest": 1.1}],
)
def test_mistakes_are_told(parameters):
    with refused(ParameterError):
        Photographs(**parameters)
