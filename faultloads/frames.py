"""Anomalies of a camera that spoil whole frames: black, stuck or torn."""

from __future__ import annotations

import numpy as np

from farm.api import (
    BoolArray,
    DrawKeys,
    FaultContext,
    FloatArray,
    Images,
    IntArray,
    PerInstance,
    Split,
    StrArray,
)
from faultloads._instances import InstanceFault, Places
from faultloads.anomaly import Anomaly


class BlackFrame(Anomaly):
    """Nothing but black arrives.

    Parameters
    ----------
    no_answer
        Whether no right answer remains: the label becomes -1.

    Examples
    --------
    >>> white, ids = np.ones((1, 3, 4, 4), np.float32), np.array(["a"])
    >>> BlackFrame().apply(white, np.array([0]), ids, np.array([np.nan])).images.max()
    np.float32(0.0)
    """

    severities = ()
    objects = "hidden"
    origin = "own"

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        del severity, random
        return np.zeros_like(images)


class _PreviousFrame(InstanceFault):
    """What the camera showed before: the track's previous frame.

    The first frame of a track has the one before it in the split's order, which shows something else; that of
    the very first is the split's last.
    """

    reads_other_instances = True

    category = "anomaly"

    def __init__(self, *, no_answer: bool = False) -> None:
        self.keeps_meaning = not no_answer

    def _make_ready(self, context: FaultContext) -> None:
        self._split = context.split
        self._places = Places(context.split, f"faultload '{self.name}'")
        self._before = previous_frames(context.split)

    def _previous(self, ids: StrArray) -> Images:
        return self._split.images.read(self._before[self._places.of(ids)])


class StuckFrame(_PreviousFrame):
    """The camera is frozen: it still shows the previous frame, while the label is that of the new one.

    The previous frame is the one before it of the same track. The first of a track shows the instance before
    it in the split's order, as all do where a track is a single picture; the very first shows the last one.

    Parameters
    ----------
    no_answer
        Whether no right answer remains: the label becomes -1.

    Examples
    --------
    >>> StuckFrame().category, StuckFrame().severities
    ('anomaly', ())
    """

    objects = "hidden"
    origin = "own"

    def _change(
        self, images: Images, labels: IntArray, ids: StrArray, severity: FloatArray, random: PerInstance
    ) -> Images:
        del images, labels, severity, random
        return self._previous(ids)


class TornFrame(_PreviousFrame):
    """The lower part is still of the previous frame: 0.1, 0.25, 0.4, 0.55 or 0.7 of it at severities 1 to 5.

    The previous frame is the one that `stuck-frame` would show.

    Parameters
    ----------
    no_answer
        Whether no right answer remains: the label becomes -1.

    Examples
    --------
    >>> TornFrame(no_answer=True).keeps_meaning
    False
    """

    severities = (1, 2, 3, 4, 5)
    objects = "move"
    origin = "own"

    def _change(
        self, images: Images, labels: IntArray, ids: StrArray, severity: FloatArray, random: PerInstance
    ) -> Images:
        del labels, random
        return np.where(_old_rows(images, severity), self._previous(ids), images)

    def _follow(self, shapes: Images, severity: FloatArray, keys: DrawKeys) -> Images:
        del keys
        return np.where(_old_rows(shapes, severity), np.float32(0), shapes)


def _old_rows(images: Images, severity: FloatArray) -> BoolArray:
    """Say which rows are still of the previous frame, in a shape that stretches over images."""
    high = images.shape[2]
    share = np.interp(severity, range(6), (0, 0.1, 0.25, 0.4, 0.55, 0.7))
    return np.asarray(np.arange(high) >= np.rint(high * (1 - share))[:, None])[:, None, :, None]


def previous_frames(split: Split) -> IntArray:
    """Return each instance's previous frame: of its track, or else of the split's order."""
    before = np.roll(np.arange(len(split)), 1)
    # By track, and within a track in the split's order.
    order = np.argsort(split.groups, kind="stable")
    same = split.groups[order[1:]] == split.groups[order[:-1]]
    before[order[1:][same]] = order[:-1][same]
    return before
