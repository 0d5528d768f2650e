"""Boxes as columns of readouts: where the object is after all faults, and where the classifier says it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from farm.api import BOX, BOX_SPREAD, SPREAD_DDOF, Batch, Classifier, Observation
from farm.api.boxes import BOX_LOST, PREDICTED_BOX, SPREAD_OF_BOX, TRUE_BOX


def box_columns(batch: Batch, seen: Observation) -> dict[str, NDArray[Any]]:
    """Return the columns of a batch; none where the classifier predicts no boxes, and then nobody looks."""
    if BOX not in seen.outputs:
        return {}
    n, objects = len(batch), batch.objects
    boxes, lost = np.full((n, 4), np.nan), np.full(n, "nothing in the stream has a box", object)
    if objects is not None and objects.boxes is not None:
        there = np.isfinite(objects.boxes).all(axis=1)
        boxes[there] = objects.boxes[there]
        lost = np.where(objects.lost != "", objects.lost, "its box is not told").astype(object)
        lost[there] = ""
    found = dict(zip(TRUE_BOX, boxes.T, strict=True)) | {BOX_LOST: lost.astype(str)}
    for output, columns in ((BOX, PREDICTED_BOX), (BOX_SPREAD, SPREAD_OF_BOX)):
        if output in seen.outputs:
            found |= dict(zip(columns, seen.outputs[output].T.astype(np.float64), strict=True))
    return found


def box_record(shape: tuple[int, int, int], classifier: Classifier) -> Mapping[str, Any]:
    """Return what a run tells of its boxes: the size of the images that they lie in, and of the spread."""
    told = {"height": shape[1], "width": shape[2], "spread_ddof": classifier.notes.get(SPREAD_DDOF)}
    return {"boxes": told}
