"""Faultloads that change the pixels of instances there are: the part that all transformations share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from farm.api.arrays import FloatArray, Images, IntArray, StrArray
from farm.api.faultload import FaultContext, Faulted, Faultload, FaultTargets, change_of
from farm.api.randomness import PerInstance


class Transformation(Faultload):
    """Changes the pixels of the instances of the split it is given.

    A subclass writes `_transform`, which gets a part of a batch at one severity and random numbers keyed by
    the instances' ids; it may leave the range [0, 1], to which the result is cut. It must give each image the
    same bits whatever the batch: work elementwise or image by image, not by matrix products over a batch.
    """

    severities: ClassVar[tuple[int, ...]] = (1, 2, 3, 4, 5)
    keeps_meaning: bool = True
    """Whether the original label is still right; where not, the label becomes -1."""

    @abstractmethod
    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images: ...

    def _make_ready(self, context: FaultContext) -> None:
        """Keep what `_transform` needs beyond pixels: the split, the classifier."""

    def _prepare(self, context: FaultContext) -> FaultTargets:
        self._make_ready(context)
        return context.every_instance(self.category, keeps_meaning=self.keeps_meaning)

    def _apply(self, images: Images, labels: IntArray, ids: StrArray, severity: FloatArray) -> Faulted:
        levels = np.unique(severity)
        if len(levels) == 1 and levels[0] != 0:  # as a rule: nothing to pick out and to put back
            result = self._at(images, float(levels[0]), ids)
        else:
            result = images.copy()
            for level in levels[levels != 0]:
                rows = np.isnan(severity) if np.isnan(level) else severity == level
                result[rows] = self._at(images[rows], float(level), ids[rows])
        return Faulted(result, labels, change_of(images, result))

    def _at(self, images: Images, severity: float, ids: StrArray) -> Images:
        changed = self._transform(images, severity, PerInstance(self._seed, self.name, ids))
        own = not np.may_share_memory(changed, images) and changed.flags.writeable
        return np.clip(changed, 0, 1, out=changed if own else None)


def at_severity(severity: float, levels: Sequence[float], neutral: float) -> float:
    """Give a parameter at a severity: one value a level from 1 on, between them in proportion.

    `neutral` is the value that changes nothing, at severity 0.

    Examples
    --------
    >>> at_severity(2, [0.04, 0.06, 0.08, 0.09, 0.10], neutral=0)
    0.06
    >>> at_severity(0.5, [0.04, 0.06, 0.08, 0.09, 0.10], neutral=0)
    0.02
    """
    return float(np.interp(severity, np.arange(len(levels) + 1), [neutral, *levels]))
