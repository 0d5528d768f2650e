"""What becomes of boxes and masks when faults act upon their images."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from farm.api import BoolArray, DrawKeys, Faultload, FloatArray, IntArray, Split, StrArray

Shapes = NDArray[np.float32]
"""N x height x width: how much of each pixel shows the object."""
SEEN = np.float32(0.5)
"""A pixel is of the object where it shows so much of it."""


class Origin(NamedTuple):
    """Where some rows of a batch come from."""

    rows: IntArray
    split: Split
    places: IntArray
    workload: str


class Step(NamedTuple):
    """What one fault did to some rows of a batch: enough to do the same to shapes."""

    faultload: Faultload
    rows: IntArray
    ids: StrArray
    severity: FloatArray
    """0 where it changed nothing."""
    keys: DrawKeys


def followed(
    origins: Iterable[Origin], steps: Sequence[Step], n: int, shape: tuple[int, int, int]
) -> tuple[FloatArray, BoolArray, StrArray]:
    """Return the boxes and masks of n images of this shape after all steps, and why one has none.

    What moves are images of each object's mask, and of its outline for the box: as the pixels did. A box that
    nothing moved is kept to the last bit; a moved one has whole pixels.
    """
    channels, high, wide = shape
    boxes, masks, lost = np.full((n, 4), np.nan), np.zeros((n, high, wide), np.bool_), np.full(n, "", object)
    for origin in origins:
        _look_up(origin, boxes, masks, lost)
    outlines = _outlines(boxes, masks)
    # As a rule no mask differs from its outline, and one of them moves for both.
    differ = masks.any() and (outlines != masks).any()
    kinds = [outlines, masks.astype(np.float32)] if differ else [outlines]
    moved = np.zeros(n, dtype=np.bool_)
    for fault, rows, ids, severity, keys in steps:
        acts = rows[(severity != 0) & (lost[rows] == "")]
        if fault.objects == "unknown":
            lost[acts] = f"faultload '{fault.name}' does not say what becomes of objects"
        elif fault.objects == "hidden":
            lost[acts] = f"hidden by '{fault.name}'"
        elif fault.objects == "move" and acts.size:
            for shapes in kinds:
                images = np.repeat(shapes[rows, None], channels, axis=1)
                shapes[rows] = fault.follow(images, ids, severity, keys)[:, 0]
            moved[acts] = True
            lost[acts[outlines[acts].max(axis=(1, 2)) < SEEN]] = f"out of sight after '{fault.name}'"
    boxed = moved & ~np.isnan(boxes[:, 0])
    boxes[boxed] = extents(outlines[boxed] >= SEEN)
    if masks.any():
        masks[moved] = kinds[-1][moved] >= SEEN
    boxes[lost != ""], masks[lost != ""] = np.nan, False
    return boxes, masks, lost.astype(str)


def _look_up(origin: Origin, boxes: FloatArray, masks: BoolArray, lost: NDArray[np.object_]) -> None:
    """Fill in what is known of the objects before any fault."""
    rows, split, places, workload = origin
    if split.boxes is not None:
        boxes[rows] = split.boxes[places]
    if split.masks is not None:
        masks[rows] = split.masks[places]
    nowhere = np.isnan(boxes[rows, 0]) & ~masks[rows].any(axis=(1, 2))
    lost[rows[nowhere]] = f"workload '{workload}' does not tell where it is"


def _outlines(boxes: FloatArray, masks: BoolArray) -> Shapes:
    """Return the shape whose extent each box is: the mask, or the filled box where part of it is covered."""
    outlines = masks.astype(np.float32)
    agree = np.abs(extents(masks) - boxes).max(axis=1) <= 1  # not where either is missing
    other = ~np.isnan(boxes[:, 0]) & ~agree
    outlines[other] = filled(boxes[other], masks.shape[1:])
    return outlines


def filled(boxes: FloatArray, size: tuple[int, ...]) -> Shapes:
    """Return the part of each pixel that lies in the box, in images of this height and width.

    Examples
    --------
    >>> filled(np.array([[1, 0, 2.5, 1]]), (2, 4))[0].tolist()
    [[0.0, 1.0, 0.5, 0.0], [0.0, 0.0, 0.0, 0.0]]
    """
    left, top, right, bottom = boxes.T[..., None]
    down, across = (
        np.clip(np.minimum(end, np.arange(n) + 1) - np.maximum(start, np.arange(n)), 0, 1)
        for start, end, n in ((top, bottom, size[0]), (left, right, size[1]))
    )
    return np.asarray(down[:, :, None] * across[:, None], dtype=np.float32)


def extents(masks: BoolArray) -> FloatArray:
    """Return the smallest box around each mask, NaN where it is empty.

    Examples
    --------
    >>> extents(np.array([[[False, True, True], [False, True, False]]])).tolist()
    [[1.0, 0.0, 3.0, 2.0]]
    """
    lines: list[BoolArray] = [np.asarray(masks.any(axis=axis)) for axis in (1, 2)]
    starts = [line.argmax(axis=1) for line in lines]
    ends = [line.shape[1] - line[:, ::-1].argmax(axis=1) for line in lines]
    boxes = np.stack([*starts, *ends], axis=1).astype(np.float64)
    boxes[~lines[0].any(axis=1)] = np.nan
    return boxes
