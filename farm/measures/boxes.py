"""The boxes that a classifier predicts, beside where the objects are: what of them is measured."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from farm.api.arrays import BoolArray, FloatArray
from farm.api.boxes import SIDES
from farm.measures.localization import (
    LEVELS,
    Level,
    gaussian_losses,
    gaussian_nll,
    iou,
    mae,
    mean_iou,
    quantile_table,
    quantiles,
    regression_ece,
)
from farm.measures.measure import Measure, undefined

BOX_MAE, BOX_IOU, BOX_NLL, BOX_ECE = "box_mae", "box_iou", "box_nll", "box_ece"
LOCALIZATION = (BOX_MAE, BOX_IOU, BOX_NLL, BOX_ECE)
"""The names that records have for it."""
OF_SPREAD = (BOX_NLL, BOX_ECE)
"""What cannot be told without a spread."""
MOST_ECE = 0.45
"""The calibration error where each target lies below, or above, all that was predicted."""
NO_BOXES, NO_SPREAD = "the classifier predicts no boxes", "the classifier gives no spread of its boxes"


@dataclass(frozen=True, eq=False)
class Boxes:
    """Where some objects are and where a classifier says they are, a row an instance.

    Examples
    --------
    >>> target = np.array([[0.0, 0.0, 4.0, 4.0]])
    >>> found = Boxes(target, target + 1.0, None, np.array([None])).measures()
    >>> found["box_mae"].value, round(found["box_iou"].value, 4), found["box_nll"].reason
    (1.0, 0.3913, 'the classifier gives no spread of its boxes')
    """

    target: FloatArray
    predicted: FloatArray
    spread: FloatArray | None
    """A standard deviation for each coordinate; None where the classifier gives none."""
    lost: NDArray[np.object_]
    """Why an object is nowhere; None where it is there, or nobody told."""

    def __len__(self) -> int:
        return len(self.target)

    def take(self, rows: NDArray[Any]) -> Boxes:
        """Return some of them, by their numbers or a mask."""
        spread = None if self.spread is None else self.spread[rows]
        return Boxes(self.target[rows], self.predicted[rows], spread, self.lost[rows])

    @property
    def known(self) -> BoolArray:
        """Of which instances it is known where the object is."""
        return np.asarray(np.isfinite(self.target).all(axis=1), dtype=np.bool_)

    def measures(self) -> dict[str, Measure]:
        """Return what records hold of them."""
        return {name: self.measure(name) for name in LOCALIZATION}

    def measure(self, name: str) -> Measure:
        """Return one of the measures; undefined where an instance has not what it is of."""
        if why := self.nowhere():
            return undefined(why)
        if name == BOX_MAE:
            return mae(self.predicted, self.target)
        if name == BOX_IOU:
            return mean_iou(self.predicted, self.target)
        if self.spread is None:
            return undefined(NO_SPREAD)
        of_spread = gaussian_nll if name == BOX_NLL else regression_ece
        return of_spread(self.predicted, self.spread, self.target)

    def each(self, name: str) -> FloatArray:
        """Return what each instance adds to a mean: of all measures but the calibration error.

        Examples
        --------
        >>> target = np.array([[0.0, 0.0, 4.0, 4.0], [0.0, 0.0, 2.0, 2.0]])
        >>> Boxes(target, target + [[1.0], [0.5]], None, np.array([None, None])).each("box_mae").tolist()
        [1.0, 0.5]
        """
        if name == BOX_IOU:
            return iou(self.predicted, self.target)
        if name == BOX_MAE:
            losses = np.abs(self.predicted - self.target)
        else:
            assert self.spread is not None, "whoever asks knows that there is a value"
            losses = gaussian_losses(self.predicted, self.spread, self.target)
        return np.asarray(losses.mean(axis=1))

    def gaps(self) -> FloatArray:
        """Return what each instance adds to the gap between levels and shares, of each side and level.

        The calibration error is the mean of the absolute means of these columns.
        """
        assert self.spread is not None, "whoever asks knows that there is a value"
        below = quantiles(self.predicted, self.spread, self.target)[..., None] <= np.array(LEVELS)
        return np.asarray((below - np.array(LEVELS)).reshape(len(self), -1))

    def tables(self) -> dict[str, tuple[Level, ...]]:
        """Return, of each side, predicted quantiles beside the share of targets that do lie below them."""
        if self.spread is None:
            return {}
        columns = zip(SIDES, self.predicted.T, self.spread.T, self.target.T, strict=True)
        return {side: quantile_table(*own) for side, *own in columns}

    def nowhere(self) -> str | None:
        """Say of how many instances it is not known where the object is, and why; None where it is of all."""
        missing = ~self.known
        n = int(missing.sum())
        if not n:
            return None
        ((reason, _),) = Counter(self.lost[missing].tolist()).most_common(1)
        return f"no box for {n:,} of {len(self):,} instances{f' ({reason})' if reason else ''}"


def why_no_boxes(boxes: Boxes | None, *, spread: bool) -> str | None:
    """Say what boxes, and where it is needed their spread, lack to be measured; None if nothing."""
    if boxes is None:
        return NO_BOXES
    return boxes.nowhere() or (NO_SPREAD if spread and boxes.spread is None else None)
