"""Faults that must know which instance they have before them: its id and its label, not its pixels alone."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from farm.api import (
    DrawKeys,
    FaultContext,
    Faulted,
    Faultload,
    FaultTargets,
    FloatArray,
    Images,
    IntArray,
    PerInstance,
    Split,
    StrArray,
    change_of,
)
from farm.errors import DataError


class InstanceFault(Faultload):
    """Changes the pixels of instances of the split, and knows which ones they are.

    A subclass writes `_change`, which gets the instances whose severity is not 0, and may leave the range
    [0, 1], to which the result is cut.
    """

    keeps_meaning: bool = True
    """Whether the original label is still right; where not, the label becomes -1."""

    @abstractmethod
    def _change(
        self, images: Images, labels: IntArray, ids: StrArray, severity: FloatArray, random: PerInstance
    ) -> Images: ...

    def _make_ready(self, context: FaultContext) -> None:
        """Keep what `_change` needs of the context."""

    def _prepare(self, context: FaultContext) -> FaultTargets:
        self._make_ready(context)
        return context.every_instance(self.category, keeps_meaning=self.keeps_meaning)

    def _apply(
        self, images: Images, labels: IntArray, ids: StrArray, severity: FloatArray, keys: DrawKeys
    ) -> Faulted:
        result = images.copy()
        rows = np.flatnonzero(severity != 0)  # NaN, where severity means nothing, is not 0
        if rows.size:
            random = PerInstance(self._seed, self.name, keys[rows])
            changed = self._change(images[rows], labels[rows], ids[rows], severity[rows], random)
            result[rows] = np.clip(changed, 0, 1)
        return Faulted(result, labels, change_of(images, result))


class Places:
    """Finds the instances of a split by their ids; a stream that shows one again calls it `id~visit`."""

    def __init__(self, split: Split, who: str) -> None:
        self._places = {str(name): place for place, name in enumerate(split.ids)}
        self._where, self._who = f"split '{split.name}'", who

    def of(self, ids: StrArray) -> IntArray:
        """Return each instance's place in the split."""
        return np.array([self._place(str(name)) for name in ids], dtype=np.int64)

    def _place(self, name: str) -> int:
        for known in (name, name.rpartition("~")[0]):
            if known in self._places:
                return self._places[known]
        raise DataError(
            f"{self._who} takes images from {self._where} and finds no instance '{name}' there; expected the "
            "instances that it was prepared for"
        )
