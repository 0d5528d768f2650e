"""Logits as seen from the greatest of each row: what softmax and many scores are made of."""

from __future__ import annotations

import math
from contextlib import nullcontext
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from farm.api.arrays import BoolArray, FloatArray, IntArray

_UNCLEAR = partial(np.errstate, invalid="ignore")
"""What is no number is looked for when all is done, and told by whoever asks."""


class Peak(NamedTuple):
    """Rows of logits in float64, each less the greatest of its row."""

    top: IntArray
    """Where the greatest is; the first, of equal ones."""
    best: FloatArray
    below: FloatArray
    """Each logit less the greatest of its row."""
    others: FloatArray
    """exp(below), and 0 in the place of the greatest: there it would be 1, beside which doubts are lost."""
    doubt: FloatArray
    """The sum of `others`: the odds against the likeliest class."""

    def softmax(self) -> tuple[FloatArray, FloatArray]:
        """Return the softmax, and its greatest values; both are read-only."""
        if len(self.doubt) == 1:  # one image at a time: steps on numbers cost less than on arrays
            total = 1.0 + float(self.doubt[0])
            found, greatest = self.others / total, np.array([1.0 / total])
            found[0, self.top[0]] = 1.0 / total
        else:
            totals = 1.0 + self.doubt
            found, greatest = self.others / totals[:, None], 1.0 / totals
            found[np.arange(len(totals)), self.top] = greatest
        found.setflags(write=False)
        greatest.setflags(write=False)
        return found, greatest

    def unclear(self) -> BoolArray | None:
        """Say where a logit is no number, which shows in the greatest or in the sum; None where nowhere."""
        if len(self.doubt) == 1 and math.isfinite(self.best[0] + self.doubt[0]):
            return None
        unclear = ~np.isfinite(self.best + self.doubt)
        return unclear if unclear.any() else None


def peak(logits: NDArray[np.floating]) -> Peak:
    """Look at rows of logits from the greatest; what is returned is read-only.

    Examples
    --------
    >>> seen = peak(np.array([[1.0, 3.0, 3.0]], dtype=np.float32))
    >>> seen.top, seen.others.round(4).tolist(), seen.softmax()[0].round(4).tolist()
    (array([1]), [[0.1353, 0.0, 1.0]], [[0.0634, 0.4683, 0.4683]])
    """
    wide = logits.astype(np.float64)
    if len(wide) == 1:
        place = int(wide[0].argmax())
        greatest = float(wide[0, place])
        with nullcontext() if math.isfinite(greatest) else _UNCLEAR():
            below = wide - greatest
        others = np.exp(below)
        others[0, place] = 0.0
        top, best = np.array([place]), np.array([greatest])
    else:
        rows, top = np.arange(len(wide)), wide.argmax(axis=1)
        best = wide[rows, top]
        with _UNCLEAR():
            below = wide - best[:, None]
        others = np.exp(below)
        others[rows, top] = 0.0
    seen = Peak(top, best, below, others, np.add.reduce(others, axis=1))
    for array in seen:
        array.setflags(write=False)
    return seen
