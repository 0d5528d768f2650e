"""Boxes and masks follow what faults do to images, or are dropped with the reason."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farm import registry
from farm.api import (
    ArrayImages,
    Context,
    DrawKeys,
    FaultContext,
    OODImages,
    Split,
    Transformation,
    Workload,
)
from farm.run.benchmark_set import StoredStream, write_benchmark
from farm.run.faults import Fault
from farm.run.following import Origin, Step, extents, followed
from farm.run.schedules import Recurring
from farm.run.streams import BenchmarkStream
from farm.run.timed import TimedStream

SIDE = 16
BORDERED = ("rotation", "translation", "scale", "perspective")
"""Faults that are told what lies beyond the border."""
COLUMNS = ("boxes", "masks", "lost")
NOWHERE = [np.nan] * 4


class Moved(Transformation):
    """Moves images to the right, by the severity in pixels; black comes in."""

    category = "shift"
    objects = "move"

    def _transform(self, images, severity, random):
        moved = np.roll(images, round(severity), axis=3)
        moved[..., : round(severity)] = 0
        return moved


class Turned(Transformation):
    """Turns images by 90 degrees, clockwise."""

    category = "shift"
    severities = ()
    objects = "move"

    def _transform(self, images, severity, random):
        return np.rot90(images, -1, axes=(2, 3))


class Silent(Turned):
    """Turns images, and does not say so."""

    objects = "unknown"


def fault(made, name=None):
    made.name = name or type(made).__name__.lower()
    return made


def one(boxes, masks=None, n=1):
    """Return a split of black images with these boxes and masks."""
    ids = np.array([f"i{i}" for i in range(n)])
    images = ArrayImages(np.zeros((n, 3, SIDE, SIDE), np.uint8))
    boxes = None if boxes is None else np.array(boxes, dtype=float)
    return Split("test", images, np.zeros(n, dtype=int), ids, ids, boxes=boxes, masks=masks)


def through(split, *steps):
    """Follow what is known of a split's images through faults, each with its severity."""
    rows = np.arange(len(split))
    done = [
        Step(one, rows, split.ids, np.full(len(rows), float(severity)), DrawKeys(split.ids))
        for one, severity in steps
    ]
    return followed([Origin(rows, split, rows, "w")], done, len(rows), split.images.shape)


def mask_of(box):
    left, top, right, bottom = box
    mask = np.zeros((1, SIDE, SIDE), np.bool_)
    mask[:, top:bottom, left:right] = True
    return mask


# Worked out by hand -------------------------------------------------------------------------------------


def test_a_box_and_a_mask_move_as_the_pixels_do():
    boxes, masks, lost = through(one([[2, 3, 6, 9]], mask_of([2, 3, 6, 9])), (fault(Moved()), 4))
    assert boxes.tolist() == [[6, 3, 10, 9]]
    assert np.array_equal(masks, mask_of([6, 3, 10, 9]))
    assert lost.tolist() == [""]


def test_a_quarter_turn_turns_a_box():
    boxes, masks, _ = through(one([[2, 3, 6, 10]]), (fault(Turned()), np.nan))
    assert boxes.tolist() == [[SIDE - 10, 2, SIDE - 3, 6]]
    assert not masks.any()


def test_what_half_left_the_image_ends_at_its_border_and_what_left_it_is_told():
    split = one([[10, 3, 14, 9], [12, 3, 14, 9]], n=2)
    boxes, _, lost = through(split, (fault(Moved()), 4))
    assert boxes[0].tolist() == [14, 3, 16, 9]
    assert np.isnan(boxes[1]).all()
    assert lost.tolist() == ["", "out of sight after 'moved'"]


def test_several_faults_move_one_after_another():
    steps = [(fault(Moved()), 4), (fault(Turned()), np.nan), (fault(Moved()), 1)]
    boxes, _, _ = through(one([[2, 3, 6, 9]]), *steps)
    # To [6, 3, 10, 9], turned to [16 - 9, 6, 16 - 3, 10], and on by 1.
    assert boxes.tolist() == [[8, 6, 14, 10]]


def test_a_covered_object_s_box_moves_whole_and_its_mask_in_part():
    boxes, masks, _ = through(one([[2, 3, 6, 9]], mask_of([2, 3, 6, 5])), (fault(Moved()), 4))
    assert boxes.tolist() == [[6, 3, 10, 9]]
    assert np.array_equal(masks, mask_of([6, 3, 10, 5]))


def test_a_box_that_nothing_moves_is_kept_to_the_last_bit():
    odd = [[2.1, 3.3, 6.7, 9.9]]
    stays = registry.faultload("fog")
    assert through(one(odd), (fault(stays), 3), (fault(Moved()), 0))[0].tolist() == odd


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        ([(registry.faultload("black-frame"), np.nan)], "hidden by 'black-frame'"),
        ([(fault(Silent()), np.nan)], "faultload 'silent' does not say what becomes of objects"),
        ([(registry.faultload("black-frame"), np.nan), (fault(Silent()), np.nan)], "hidden by 'black-frame'"),
        ([(registry.faultload("black-frame"), np.nan), (fault(Moved()), 1)], "hidden by 'black-frame'"),
    ],
)
def test_what_is_hidden_or_unknown_is_dropped_with_the_first_reason(steps, why):
    boxes, masks, lost = through(one([[2, 3, 6, 9]], mask_of([2, 3, 6, 9])), *steps)
    assert np.isnan(boxes).all()
    assert not masks.any()
    assert lost.tolist() == [why]


def test_what_was_never_known_is_told():
    boxes, _, lost = through(one([NOWHERE]), (fault(Moved()), 1))
    assert np.isnan(boxes).all()
    assert lost.tolist() == ["workload 'w' does not tell where it is"]


# Faults that there are ----------------------------------------------------------------------------------


def test_a_crop_enlarges_a_box():
    boxes, _, lost = through(one([[6, 6, 10, 10]] * 8, n=8), (registry.faultload("crop"), 5))
    assert set(lost) == {""}
    sides = boxes[:, 2:] - boxes[:, :2]  # 4 pixels of 0.6 of the image
    assert np.abs(sides - 4 / 0.6).max() <= 1


@pytest.mark.parametrize("border", ["edge", "mirror"])
@pytest.mark.parametrize("name", BORDERED)
def test_beyond_the_border_no_object_goes_on_and_none_is_mirrored(name, border):
    split = one([[0, 4, 3, 12]] * 20, n=20)
    found, black = (through(split, (registry.faultload(name, border=how), 5)) for how in (border, "black"))
    assert np.array_equal(found[0], black[0], equal_nan=True)
    if name == "translation":
        assert np.nanmax(found[0][:, 2] - found[0][:, 0]) == 3


def test_the_lower_part_of_a_torn_frame_hides_what_is_there():
    boxes, _, lost = through(one([[2, 2, 6, 12], [2, 12, 6, 14]], n=2), (registry.faultload("torn-frame"), 3))
    assert boxes[0].tolist() == [2, 2, 6, 10]  # 0.4 of 16 rows are of the previous frame
    assert lost.tolist() == ["", "out of sight after 'torn-frame'"]


def test_a_composition_does_what_its_parts_do():
    parts = {
        "stay": ["fog", "gaussian-noise"],
        "move": ["fog", "rotation"],
        "hidden": ["rotation", "black-frame"],
        "unknown": ["black-frame", f"{__name__}:Silent"],
    }
    made = {fate: registry.faultload("compose", faults=faults) for fate, faults in parts.items()}
    assert {fate: whole.objects for fate, whole in made.items()} == {fate: fate for fate in parts}
    split = one([[2, 3, 6, 9]] * 5, n=5)
    whole, _, _ = through(split, (made["move"], 4))
    alone, _, _ = through(split, (registry.faultload("rotation"), 4))
    assert np.array_equal(whole, alone)
    assert not np.array_equal(whole, split.boxes)


@pytest.mark.parametrize("name", sorted(registry.entries("faultload")))
def test_every_registered_fault_says_what_becomes_of_objects(name):
    if name != "compose":
        assert registry.component_class("faultload", name).objects in ("stay", "move", "hidden")


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(
        ["rotation", "translation", "scale", "perspective", "crop", "swirl", "elastic-transform"]
    ),
    st.integers(0, 9),
    st.integers(0, 9),
)
def test_the_mask_is_where_a_white_object_on_black_is_seen(name, left, top):
    mask = mask_of([left, top, left + 6, top + 6])
    made = registry.faultload(name, **({"border": "black"} if name in BORDERED else {}))
    severity = 5.0 if made.severities else np.nan
    split = one([[left, top, left + 6, top + 6]], mask)
    boxes, moved, lost = through(split, (made, severity))
    white = np.repeat(mask[:, None], 3, axis=1).astype(np.float32)
    seen = made.apply(white, np.array([0]), split.ids, np.array([severity])).images[:, 0] >= 0.5
    if name in BORDERED:
        assert np.array_equal(moved, seen)
    assert not (moved & ~seen).any()  # others show it beyond the border, too
    assert np.array_equal(boxes, extents(moved), equal_nan=True)
    assert (lost[0] == "") == moved.any()


# In streams ---------------------------------------------------------------------------------------------


def signs(n=12, boxes=True, name="signs"):
    """Return a workload of white squares on black, with boxes and masks."""
    rng = np.random.default_rng(len(name))

    def split(part, n):
        left, top = rng.integers(2, 8, (2, n))
        box = np.stack([left, top, left + 5, top + 4], axis=1)
        masks = np.concatenate([mask_of(row) for row in box])
        pixels = np.repeat(masks[:, None], 3, axis=1) * 255 - rng.integers(0, 9, (n, 3, SIDE, SIDE))
        images = ArrayImages(np.clip(pixels, 0, 255).astype(np.uint8))
        ids = np.array([f"{name}/{part}/{i}" for i in range(n)])
        known = {"boxes": box.astype(float), "masks": masks} if boxes else {}
        return Split(part, images, np.arange(n) % 2, ids, ids, **known)

    return Workload(name, ("a", "b"), split("train", n), split("validation", n), split("test", n))


def prepared(made, workload, severity=None, other=None, **at_work):
    load = lambda spec, part: OODImages.of(other, part)  # noqa: E731
    targets = made.prepare(FaultContext(workload, workload.test, None, load, Context()))
    return Fault(made, targets, severity, **at_work)


def all_objects(stream, size):
    found = [batch.objects for batch in stream.batches(size)]
    return {
        name: np.concatenate([getattr(one, name) for one in found]) for name in ("boxes", "masks", "lost")
    }


def same(one, other):
    assert np.array_equal(one["boxes"], other["boxes"], equal_nan=True)
    assert np.array_equal(one["masks"], other["masks"])
    assert one["lost"].tolist() == other["lost"].tolist()


@pytest.fixture(scope="module")
def stream():
    workload, other = signs(), signs(name="elsewhere", boxes=False)
    given = (("rotation", 4), ("fog", 3), ("black-frame", None), ("crop", 5))
    faults = [prepared(registry.faultload(name), workload, severity) for name, severity in given]
    novelty = registry.faultload("novelty", workload="elsewhere")
    novel = prepared(novelty, workload, None, replace(other, classes=("c", "d")))
    return BenchmarkStream(workload, *faults, novel, seed=1)


def test_in_a_stream_each_instance_has_what_its_fault_left(stream):
    batch = next(stream.batches(1000))
    found = batch.objects
    why = {name: set(found.lost[batch.faultload == name]) for name in set(batch.faultload)}
    assert why == {
        **{name: {""} for name in ("", "rotation", "fog", "crop")},
        "black-frame": {"hidden by 'black-frame'"},
        "novelty": {"workload 'elsewhere' does not tell where it is"},
    }
    seen = batch.images.mean(axis=1)
    for i in np.flatnonzero(np.isin(batch.faultload, ["", "rotation", "crop"])):
        assert seen[i][found.masks[i]].mean() > seen[i][~found.masks[i]].mean() + 0.6
        assert np.array_equal(extents(found.masks[i : i + 1])[0], found.boxes[i])


@pytest.mark.parametrize("size", [1, 7])
def test_no_batch_size_matters(stream, size):
    same(all_objects(stream, size), all_objects(stream, 1000))


def test_a_stream_without_boxes_has_no_objects_and_one_without_masks_no_masks():
    plain, workload = signs(boxes=False), signs()
    assert next(BenchmarkStream(plain, seed=1).batches(4)).objects is None
    boxed = replace(workload, test=replace(workload.test, masks=None))
    found = next(BenchmarkStream(boxed, seed=1).batches(4)).objects
    assert found.masks is None
    assert not np.isnan(found.boxes).any()


def test_what_is_applied_everywhere_moves_id_instances_too():
    workload = signs()
    turned = prepared(registry.faultload("rotation"), workload, 5)
    batch = next(BenchmarkStream(workload, everywhere=[turned], seed=1).batches(100))
    before = workload.test.boxes[[workload.test.ids.tolist().index(i.split("|")[0]) for i in batch.ids]]
    assert (batch.objects.boxes != before).any()
    seen = batch.images.mean(axis=1)
    assert seen[batch.objects.masks].min() > seen[~batch.objects.masks].mean()


@pytest.mark.parametrize("size", [1, 9, 100])
def test_over_time_faults_act_together_and_a_camera_that_lags_hides_what_is_there(size):
    workload = signs(30)
    given = (("rotation", 4), ("delayed-frame", 2))
    faults = [prepared(registry.faultload(name), workload, severity) for name, severity in given]
    stream = TimedStream(workload, *faults, schedule=Recurring(period=20, burst=8), length=60, seed=2)
    found, batches = all_objects(stream, size), list(stream.batches(60))
    faultload = np.concatenate([batch.faultload for batch in batches])
    same(found, all_objects(stream, 60))
    assert {name: set(found["lost"][faultload == name]) for name in set(faultload)} == {
        "": {""},
        "rotation": {""},
        "delayed-frame": {"hidden by 'delayed-frame'"},
    }


@pytest.mark.parametrize("images", ["npy", "png"])
@pytest.mark.parametrize("size", [1, 5, 1000])
def test_a_written_set_streams_them_back_unchanged(stream, tmp_path, images, size):
    write_benchmark(stream, tmp_path / "set", images=images, batch_size=7)
    stored = StoredStream(tmp_path / "set")
    same(all_objects(stored, size), all_objects(stream, 1000))
    places = np.array([5, 0, 7])
    assert np.array_equal(stored.at(places).objects.masks, stream.at(places).objects.masks)


def test_a_set_of_a_stream_without_boxes_has_no_column_for_them(tmp_path):
    write_benchmark(BenchmarkStream(signs(boxes=False), seed=1), tmp_path / "set")
    stored = StoredStream(tmp_path / "set")
    assert next(stored.batches(4)).objects is None
    assert not (tmp_path / "set" / "masks.npy").exists()
