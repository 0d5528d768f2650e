"""One faultload that keeps all rules, and for each rule one or more that break it and no other."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np

from farm.api import Faulted, Faultload, FaultTargets, Transformation, check_number

COUNT = {"calls": 0}


class Good(Transformation):
    """Images in the dark, with noise.

    Parameters
    ----------
    depth
        How dark they are at the highest severity.

    Examples
    --------
    >>> Good(depth=0.5).category
    'shift'
    """

    category = "shift"
    objects = "stay"

    def __init__(self, *, depth: float = 0.5) -> None:
        check_number("depth", depth, above=0, high=1)
        self._depth = depth

    def _transform(self, images, severity, random):
        noise = random.normal(*images.shape[1:])
        return images * np.float32(1 - self._depth * severity / 5) + np.float32(0.001 * severity) * noise


class Plain(Good):
    """The good one without parameters.

    Examples
    --------
    >>> Plain().parameters
    {}
    """

    def __init__(self) -> None:
        super().__init__()


class NeedsParameters(Good):
    """The good one, which has to be told."""

    def __init__(self, *, depth: float) -> None:
        super().__init__(depth=depth)


class RefusesColours(Plain):
    """The good one for grey images alone.

    >>> 1
    1
    """

    def _make_ready(self, context):
        from farm.errors import DataError

        if context.workload.shape[0] != 1:
            raise DataError("it takes grey images only")


class ActsOnFew(Plain):
    """The good one for three instances.

    >>> 1
    1
    """

    def _prepare(self, context):
        return _of(super()._prepare(context), slice(3))


def _of(targets: FaultTargets, rows: Any) -> FaultTargets:
    return replace(
        targets,
        indices=targets.indices[rows],
        labels=targets.labels[rows],
        category=targets.category[rows],
    )


# What it says of itself ----------------------------------------------------------------------------------


class WithoutExample(Plain):
    """Images in the dark."""


class TakesPositions(Good):
    """Images in the dark.

    >>> 1
    1
    """

    def __init__(self, depth: float = 0.5) -> None:
        super().__init__(depth=depth)


class ParameterNotDocumented(Good):
    """Images in the dark.

    >>> 1
    1
    """


class ParameterIsNoJson(Plain):
    """Images in the dark.

    Parameters
    ----------
    depth
        An array.

    Examples
    --------
    >>> 1
    1
    """

    def __init__(self, *, depth: float = np.float32(0.5)) -> None:  # type: ignore[assignment]
        check_number("depth", float(depth) if isinstance(depth, np.float32) else depth, above=0)
        super().__init__()


class ParameterNotChecked(Plain):
    """Images in the dark.

    Parameters
    ----------
    depth
        Anything.

    Examples
    --------
    >>> 1
    1
    """

    def __init__(self, *, depth=0.5) -> None:
        super().__init__()


class OverridesApply(Plain):
    """Images in the dark.

    >>> 1
    1
    """

    def apply(self, images, labels, ids, severity):
        return super().apply(images, labels, ids, severity)


class CategoryUnknown(Plain):
    """Images in the dark.

    >>> 1
    1
    """

    category = "darkness"


class SeveritiesFall(Plain):
    """Images in the dark.

    >>> 1
    1
    """

    severities = (3, 2, 1)


# What it chooses -----------------------------------------------------------------------------------------


class ChoosesTwice(Plain):
    """Images in the dark.

    >>> 1
    1
    """

    def _prepare(self, context):
        return _of(super()._prepare(context), np.repeat(np.arange(10), 2))


class NotesAreNoJson(Plain):
    """Images in the dark.

    >>> 1
    1
    """

    def _prepare(self, context):
        return replace(super()._prepare(context), notes={"when": np.datetime64("now")})


class MovesLabels(Plain):
    """Images in the dark.

    >>> 1
    1
    """

    def _prepare(self, context):
        found = super()._prepare(context)
        return replace(found, labels=(found.labels + 1) % 4)


class NothingIsRightButItIsNoNovelty(Plain):
    """Images in the dark.

    >>> 1
    1
    """

    keeps_meaning = False


# What it makes of images ---------------------------------------------------------------------------------


class MakesNaN(Plain):
    """Images in the dark.

    >>> 1
    1
    """

    def _transform(self, images, severity, random):
        return super()._transform(images, severity, random) / (0 if severity == 2 else 1) * np.nan


class LeavesTheRange(Plain):
    """Images in the dark.

    >>> 1
    1
    """

    def _apply(self, images, labels, ids, severity, keys):
        return Faulted(images + 1, labels)


class MakesDoubles(Plain):
    """Images in the dark.

    >>> 1
    1
    """

    def _apply(self, images, labels, ids, severity, keys):
        return Faulted(images.astype(np.float64) / 2, labels)


class ChangesNothing(Plain):
    """Images as they are.

    >>> 1
    1
    """

    def _transform(self, images, severity, random):
        return images


class MeasuresWrongly(Plain):
    """Images in the dark.

    >>> 1
    1
    """

    def _apply(self, images, labels, ids, severity, keys):
        found = super()._apply(images, labels, ids, severity, keys)
        return found._replace(measured={"linf": found.measured["l2"]})


class WritesIntoItsInput(Plain):
    """Images in the dark.

    >>> 1
    1
    """

    def _apply(self, images, labels, ids, severity, keys):
        found = super()._apply(images, labels, ids, severity, keys)
        images *= 0.5
        return found


class DrawsFromNobodysGenerator(Plain):
    """Images in the dark, with noise.

    >>> 1
    1
    """

    def _transform(self, images, severity, random):
        noise = np.random.default_rng().normal(size=images.shape)
        return images * (1 - severity / 10) + (0.001 * severity * noise).astype(np.float32)


class SubtractsTheBatchMean(Plain):
    """Images in the dark.

    >>> 1
    1
    """

    def _transform(self, images, severity, random):
        return images * np.float32(1 - severity / 10) - images.mean() * np.float32(0.01 * severity)


class DrawsByPlace(Plain):
    """Images in the dark, with noise.

    >>> 1
    1
    """

    def _transform(self, images, severity, random):
        noise = np.random.default_rng(self._seed).normal(size=images.shape)
        return images * (1 - severity / 10) + (0.001 * severity * noise).astype(np.float32)


class ForgetsTheSeed(Plain):
    """Images in the dark, with noise.

    >>> 1
    1
    """

    def _at_each(self, *given):
        self._seed = 0
        return super()._at_each(*given)


class TakesOneSeverityForAll(Plain):
    """Images in the dark.

    >>> 1
    1
    """

    def _apply(self, images, labels, ids, severity, keys):
        return super()._apply(images, labels, ids, np.full(len(ids), severity.max()), keys)


class GetsWeaker(Plain):
    """Images in the dark.

    >>> 1
    1
    """

    def _transform(self, images, severity, random):
        return super()._transform(images, 5.5 - severity, random)


class DeclaredNotMonotone(GetsWeaker):
    """Images in the dark.

    >>> 1
    1
    """

    not_monotone = "its levels are those of a paper"


class WantsSquares(Plain):
    """Images in the dark.

    >>> 1
    1
    """

    objects = "unknown"

    def _transform(self, images, severity, random):
        found = super()._transform(images, severity, random)
        return (found + found.swapaxes(2, 3)) / 2


class SaysThatObjectsStay(Plain):
    """Images moved to the right, in the dark.

    >>> 1
    1
    """

    def _transform(self, images, severity, random):
        return np.roll(super()._transform(images, severity, random), round(severity), axis=3)


class DoesNotMoveObjectsAlong(SaysThatObjectsStay):
    """Images moved to the right, in the dark.

    >>> 1
    1
    """

    objects = "move"

    def _move(self, shapes, severity, random):
        return shapes


class ObjectsDoWhatNobodyKnows(Plain):
    """Images in the dark.

    >>> 1
    1
    """

    objects = "leave"


class HangsOnTheProcess(Plain):
    """Images in the dark.

    >>> 1
    1
    """

    def _transform(self, images, severity, random):
        return super()._transform(images, severity, random) * np.float32(1 - os.getpid() % 1000 / 1e5)


class NotAFaultload(Faultload):
    """Has no category, and nothing else."""

    def _prepare(self, context):
        raise ValueError("why not")

    def _apply(self, images, labels, ids, severity, keys):
        raise ValueError("why not")
