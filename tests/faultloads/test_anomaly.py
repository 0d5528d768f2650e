"""Anomalies: which lines, bits, channels and frames they spoil, and that the rest stays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from farm.api import ArrayImages, Context, FaultContext, Split
from farm.errors import DataError, ParameterError
from farm.testing.fakes import tiny_workload
from faultloads.anomaly import (
    BitFlips,
    DeadColumns,
    DeadRows,
    DroppedChannel,
    PixelTrap,
    RowAddLogic,
    ShiftedPixel,
)
from faultloads.frames import BlackFrame, StuckFrame, TornFrame, previous_frames
from tests.wording import refused

LINES = [PixelTrap, RowAddLogic, ShiftedPixel]
GRADED = [*LINES, DeadRows, DeadColumns, BitFlips, TornFrame]
ALL = [*GRADED, DroppedChannel, BlackFrame, StuckFrame]


@pytest.fixture(scope="module")
def workload():
    return tiny_workload(size=32)


def prepared(fault, workload, split=None):
    chosen = split or workload.test
    targets = fault.prepare(FaultContext(workload, chosen, None, lambda spec: workload, Context()))
    return fault, targets


def applied(fault, images, severity=np.nan, ids=None):
    n = len(images)
    names = np.arange(n).astype(str) if ids is None else ids
    return fault.apply(images, np.zeros(n, int), names, np.full(n, float(severity))).images


def noise(n=20, channels=3, high=32, wide=32):
    values = np.random.default_rng(0).uniform(0.01, 1, (n, channels, high, wide))
    return values.astype(np.float32)


def on_test(fault, workload, severity=np.nan, rows=None):
    test = workload.test
    chosen = np.arange(len(test)) if rows is None else np.array(rows)
    return applied(fault, test.images.read(chosen), severity, test.ids[chosen])


@pytest.mark.parametrize(
    ("high", "severity", "count"),
    [(32, 1, 3), (32, 2, 5), (32, 3, 10), (64, 1, 6), (64, 3, 20), (16, 3, 5), (32, 2.4, 7), (8, 0.5, 1)],
)
def test_pixel_trap_blackens_as_many_whole_rows_as_the_level_says(high, severity, count):
    images = noise(high=high)
    faulted = applied(PixelTrap(), images, severity)
    black = (faulted == 0).all(axis=(1, 3))
    assert black.sum(axis=1).tolist() == [count] * len(images)
    for image, before, rows in zip(faulted, images, black, strict=True):
        assert np.array_equal(image[:, ~rows], before[:, ~rows])


def test_pixel_trap_takes_each_row_as_often_as_any_other():
    black = (applied(PixelTrap(), noise(n=600), 3) == 0).all(axis=(1, 3))
    share = black.mean(axis=0)
    assert abs(share - 10 / 32).max() < 5 * np.sqrt(0.3 * 0.7 / 600)


@pytest.mark.parametrize(("high", "severity", "count"), [(32, 1, 3), (32, 2, 5), (32, 3, 10), (48, 3, 15)])
@pytest.mark.parametrize(("definition", "above"), [("authors", 2), ("own", 0)])
def test_row_add_logic_repeats_the_row_that_the_definition_says(high, severity, count, definition, above):
    # The authors write, of an image that is rows first: ind = int(rows / 2) - 2; image[ind + i] = image[ind]
    # for i from 1 to the level.
    images = noise(high=high)
    expected = images.copy()
    for image in expected:
        row = int(high / 2) - above
        for i in range(1, count + 1):
            image[:, row + i] = image[:, row]
    assert np.array_equal(applied(RowAddLogic(definition=definition), images, severity), expected)
    if definition == "authors":
        assert np.array_equal(applied(RowAddLogic(), images, severity), expected)


def test_a_row_is_added_in_the_smallest_images():
    images = noise(high=2)
    expected = images[:, :, [0, 0]]
    assert np.array_equal(applied(RowAddLogic(), images, 1), expected)


@pytest.mark.parametrize(("wide", "severity", "level"), [(32, 1, 3), (32, 2, 5), (32, 3, 10), (64, 1, 6)])
@pytest.mark.parametrize(("definition", "beyond"), [("authors", 0), ("own", 1)])
def test_shifted_pixel_rolls_each_row_by_the_shifts_of_the_definition(
    wide, severity, level, definition, beyond
):
    # The authors write: start = randint(0, level) for each row, which is below the level; pixel j is then
    # pixel (start + j) modulo the width.
    images = noise(wide=wide)
    faulted = applied(ShiftedPixel(definition=definition), images, severity)
    seen = set()
    for image, before in zip(faulted, images, strict=True):
        for row in range(images.shape[2]):
            rolls = [
                k for k in range(wide) if np.array_equal(image[:, row], np.roll(before[:, row], -k, axis=1))
            ]
            assert len(rolls) == 1
            seen.add(rolls[0])
    assert seen == set(range(level + beyond))


def test_shifted_pixel_follows_the_authors_by_default_and_moves_something_in_narrow_images():
    images = noise()
    assert np.array_equal(
        applied(ShiftedPixel(), images, 2), applied(ShiftedPixel(definition="authors"), images, 2)
    )
    narrow = noise(wide=5)
    assert not np.array_equal(applied(ShiftedPixel(), narrow, 1), narrow)


@pytest.mark.parametrize("cls", [RowAddLogic, ShiftedPixel])
def test_another_definition_is_refused(cls):
    with refused(ParameterError):
        cls(definition="ours")


@pytest.mark.parametrize(("cls", "axis"), [(DeadRows, 2), (DeadColumns, 3)])
@pytest.mark.parametrize(("severity", "count"), [(1, 1), (2, 2), (3, 4), (4, 7), (5, 11)])
def test_dead_lines_are_constant_and_the_others_stay(cls, axis, severity, count):
    images = noise(high=32, wide=32)
    faulted = applied(cls(), images, severity)
    changed = np.moveaxis(faulted != images, axis, 1).reshape(len(images), 32, -1)
    assert changed.any(axis=2).sum(axis=1).tolist() == [count] * len(images)
    lines = np.moveaxis(faulted, axis, 1).reshape(len(images), 32, -1)[changed.any(axis=2)]
    assert (lines == lines[:, :1]).all()
    assert len(np.unique(lines[:, 0])) > count  # each has a grey level of its own
    given = applied(cls(value=0.25), images, severity)
    assert (given[given != images] == 0.25).all()


@pytest.mark.parametrize(("severity", "share"), [(1, 0.003), (2, 0.01), (3, 0.03), (4, 0.06), (5, 0.12)])
def test_bit_flips_turn_the_share_of_bits_that_the_level_says(severity, share):
    eight = np.random.default_rng(1).integers(0, 256, (40, 3, 32, 32), dtype=np.uint8)
    faulted = applied(BitFlips(), eight.astype(np.float32) / np.float32(255), severity)
    flipped = np.unpackbits(np.rint(faulted * 255).astype(np.uint8) ^ eight)
    assert abs(flipped.mean() - share) < 5 * np.sqrt(share / flipped.size)
    # Every bit of the eight is as likely to flip.
    each = flipped.reshape(-1, 8).mean(axis=0)
    assert abs(each - share).max() < 5 * np.sqrt(share / (flipped.size / 8))


def test_bits_that_flip_at_a_level_flip_at_a_higher_one_too():
    black = np.zeros((4, 3, 32, 32), np.float32)
    low, high = (np.rint(applied(BitFlips(), black, s) * 255).astype(np.uint8) for s in (2, 4))
    assert ((low & ~high) == 0).all()


def test_one_channel_is_lost_and_not_always_the_same():
    images = noise(n=60)
    faulted = applied(DroppedChannel(), images)
    lost = (faulted == 0).all(axis=(2, 3))
    assert (lost.sum(axis=1) == 1).all()
    assert np.array_equal(faulted[~lost], images[~lost])
    assert (lost.sum(axis=0) > 8).all()


def test_a_grey_image_has_no_channel_to_lose():
    with refused(DataError):
        applied(DroppedChannel(), noise(channels=1))


def test_a_black_frame_is_black():
    assert not applied(BlackFrame(), noise()).any()


def grouped(*groups):
    n = len(groups)
    pixels = np.arange(n, dtype=np.float32)[:, None, None, None] / 10 + np.zeros((n, 3, 10, 4), np.float32)
    names = np.array([f"i{k}" for k in range(n)])
    return Split("test", ArrayImages(pixels), np.zeros(n, int), names, np.array(groups))


@pytest.mark.parametrize(
    ("groups", "before"),
    [
        ("abacb", [4, 0, 0, 2, 1]),
        ("aaa", [2, 0, 1]),
        ("abc", [2, 0, 1]),
        ("bbaab", [4, 0, 1, 2, 1]),
    ],
)
def test_the_previous_frame_is_the_tracks_or_else_the_splits(groups, before):
    assert previous_frames(grouped(*groups)).tolist() == before


def test_a_stuck_frame_shows_the_previous_one_and_a_torn_one_its_lower_part():
    split = grouped(*"abacb")
    tiny = replace(tiny_workload(), test=split)
    images = split.images.read(np.arange(5))
    stuck, torn = StuckFrame(), TornFrame()
    for fault in (stuck, torn):
        fault._make_ready(FaultContext(tiny, split, None, lambda spec: tiny, Context()))
    old = images[[4, 0, 0, 2, 1]]
    assert np.array_equal(applied(stuck, images, ids=split.ids), old)
    for severity, rows in ((1, 1), (2, 2), (3, 4), (4, 6), (5, 7), (0, 0)):
        expected = images.copy()
        if rows:
            expected[:, :, -rows:] = old[:, :, -rows:]
        assert np.array_equal(applied(torn, images, severity, split.ids), expected)


def test_severities_may_differ_within_a_batch(workload):
    torn, _ = prepared(TornFrame(), workload)
    rows = np.arange(6)
    images, ids = workload.test.images.read(rows), workload.test.ids[rows]
    mixed = torn.apply(images, np.zeros(6, int), ids, np.array([0, 1, 2.5, 3, 4, 5.0])).images
    for row, severity in enumerate([0, 1, 2.5, 3, 4, 5]):
        assert np.array_equal(mixed[row], applied(torn, images, severity, ids)[row])


def test_an_instance_that_is_shown_again_has_the_same_previous_frame(workload):
    stuck, _ = prepared(StuckFrame(), workload)
    ids = workload.test.ids[:4]
    again = np.array([f"{name}~2" for name in ids])
    assert np.array_equal(applied(stuck, noise(4), ids=again), applied(stuck, noise(4), ids=ids))


def test_an_instance_of_another_split_is_told(workload):
    stuck, _ = prepared(StuckFrame(), workload)
    with refused(DataError):
        applied(stuck, noise(n=1), ids=np.array(["elsewhere"]))


@pytest.mark.parametrize("cls", ALL)
def test_the_label_stays_unless_no_answer_is_asked_for(cls, workload):
    _, kept = prepared(cls(), workload)
    assert kept.labels.tolist() == workload.test.labels.tolist()
    assert set(kept.category) == {"anomaly"}
    _, gone = prepared(cls(no_answer=True), workload)
    assert set(gone.labels) == {-1}


@pytest.mark.parametrize("cls", ALL)
def test_an_instance_looks_the_same_whatever_else_is_in_its_batch(cls, workload):
    fault, _ = prepared(cls(), workload)
    severity = 2.5 if fault.severities else np.nan
    whole = on_test(fault, workload, severity)
    assert whole.dtype == np.float32
    for size in (1, 7, 64):
        parts = [on_test(fault, workload, severity, range(i, min(i + size, 96))) for i in range(0, 96, size)]
        assert np.concatenate(parts).tobytes() == whole.tobytes()


@pytest.mark.parametrize("cls", [c for c in ALL if c not in (DroppedChannel, StuckFrame, TornFrame)])
@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 17, 40), (1, 2, 2)])
def test_any_size_grey_or_not(cls, shape):
    fault = cls()
    faulted = applied(fault, noise(3, *shape), fault.severities[-1] if fault.severities else np.nan)
    assert faulted.shape == (3, *shape)
    assert ((faulted >= 0) & (faulted <= 1)).all()


@pytest.mark.parametrize("cls", GRADED)
def test_a_higher_severity_changes_more(cls, workload):
    fault, _ = prepared(cls(), workload)
    clean = workload.test.images.read(np.arange(len(workload.test)))
    steps = np.arange(0, fault.severities[-1] + 0.5, 0.5)
    change = [np.abs(on_test(fault, workload, s) - clean).mean() for s in steps]
    assert change[0] == 0
    assert (np.diff(change) >= 0).all()
    assert (np.diff(change[::2]) > 0).all()


@pytest.mark.parametrize("cls", [DeadRows, DeadColumns])
@pytest.mark.parametrize("value", [-0.1, 1.5, "white", True])
def test_a_value_out_of_range_is_told(cls, value):
    with refused(ParameterError):
        cls(value=value)


def test_what_changed_is_measured(workload):
    for fault in (PixelTrap(), StuckFrame()):
        prepared(fault, workload)
        rows = np.arange(5)
        images, ids = workload.test.images.read(rows), workload.test.ids[rows]
        severity = np.full(5, 2.0 if fault.severities else np.nan)
        faulted = fault.apply(images, np.zeros(5, int), ids, severity)
        change = (faulted.images - images).astype(float).reshape(5, -1)
        assert faulted.measured["linf"] == pytest.approx(abs(change).max(axis=1))
        assert faulted.measured["l2"] == pytest.approx(np.linalg.norm(change, axis=1))
