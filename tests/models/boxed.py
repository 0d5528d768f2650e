"""Workloads without boxes, given the boxes of what is bright in them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from farm.api import FloatArray, Images, Split, Workload


def with_boxes(workload: Workload) -> Workload:
    """Return the workload with a box around what is brighter than a quarter in each image."""
    train, validation, test = (_boxed(split) for split in workload.splits)
    return replace(workload, train=train, validation=validation, test=test)


def _boxed(split: Split) -> Split:
    images = split.images.read(np.arange(len(split)))
    return replace(split, boxes=np.array([_box(image) for image in images]))


def _box(image: Images) -> FloatArray:
    bright = image.max(axis=0) > 0.25
    down, across = np.flatnonzero(bright.any(axis=1)), np.flatnonzero(bright.any(axis=0))
    return np.array([across[0], down[0], across[-1] + 1, down[-1] + 1], dtype=np.float64)
