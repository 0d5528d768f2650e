"""The contract of faultloads: which instances they act upon, and what they make of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np

from farm.api.arrays import (
    JSON,
    NO_ANSWER,
    FloatArray,
    Images,
    IntArray,
    StrArray,
    check_images,
    check_labels,
)
from farm.api.classifier import Classifier, ModelSource
from farm.api.component import Component
from farm.api.context import Context, NoCache
from farm.api.data import OODImages, Split, Workload
from farm.api.randomness import DrawKeys, PerInstance
from farm.errors import ComponentFailure, DataError, Failure, ParameterError, UserError, one_line

Category = Literal["novelty", "adversarial", "shift", "noise", "anomaly"]
CATEGORIES: tuple[str, ...] = get_args(Category)
Coherence = Literal["instance", "track", "episode", "drifting"]
COHERENCES: tuple[str, ...] = get_args(Coherence)
"""How long a fault's random draw lasts in a stream with time: for one instance, for an object's views, for as
long as the fault stays, or so long too, but slowly moving."""
ObjectFate = Literal["stay", "move", "hidden", "unknown"]
OBJECT_FATES: tuple[str, ...] = get_args(ObjectFate)
"""What becomes of the object on an image, and so of its box and mask."""
FAULT_MEASURES = ("linf", "l2", "success")
"""The greatest and the Euclidean change of the pixels; whether an attack changed the prediction."""


def change_of(before: Images, after: Images) -> dict[str, FloatArray]:
    """Measure how far the pixels of each image moved: the greatest change, and the Euclidean one."""
    n = len(before)
    linf, l2 = np.empty(n), np.empty(n)
    # In pieces that stay in the processor's cache: over a whole batch this cost more than most faults.
    step = max(1, 2**17 // max(1, before[:1].size))
    for start in range(0, n, step):
        part = slice(start, start + step)
        change = (after[part] - before[part]).reshape(len(before[part]), -1)
        np.maximum(change.max(axis=1), -change.min(axis=1), out=linf[part])
        exact = change.astype(np.float64)
        np.vecdot(exact, exact, out=l2[part])
    return {"linf": linf, "l2": np.sqrt(l2, out=l2)}


@dataclass(frozen=True)
class FaultContext:
    """What a faultload may know while it prepares."""

    workload: Workload
    split: Split
    """The split whose instances become OOD: test for a benchmark, validation for a validation fault."""
    classifier: Classifier
    load_ood: Callable[[Any, str], OODImages]
    """Loads images of another workload by its specification (a name, or a mapping with a name and parameters)
    and the split that is asked for: `test` is all there is, where no test split is laid out."""
    base: Context
    train: Callable[[ModelSource, int], Classifier] | None = None
    """Trains a model on the workload by a seed, once for all that ask for the same; None: each time anew."""

    def trained(self, source: ModelSource, seed: int | None = None) -> Classifier:
        """Return a classifier of the fault's own, trained by a seed, or by the experiment's."""
        own = self.base.seed if seed is None else seed
        if self.train is not None:
            return self.train(source, own)
        # A model's own key does not tell its parameters.
        return source.classifier(self.workload, replace(self.base, seed=own, cache=NoCache()))

    def every_instance(self, category: Category, *, keeps_meaning: bool = True) -> FaultTargets:
        """Choose all instances of the split, with their labels or, where no meaning is left, with -1."""
        n = len(self.split)
        labels = self.split.labels if keeps_meaning else np.full(n, NO_ANSWER)
        return FaultTargets(self.split, self.workload.name, np.arange(n), labels, np.full(n, category))


@dataclass(frozen=True)
class FaultTargets:
    """The instances that a fault acts upon, with the label that is right for each afterwards or -1."""

    split: Split
    workload: str
    indices: IntArray
    labels: IntArray
    category: StrArray
    notes: Mapping[str, JSON] = field(default_factory=dict)


class Faulted(NamedTuple):
    """OOD images, their labels (-1 where no right answer remains), and what was measured of the change.

    `measured` has some of `FAULT_MEASURES`, one number an instance; they go into the readouts.
    """

    images: Images
    labels: IntArray
    measured: Mapping[str, FloatArray] = {}


HELD = -1
"""A lag: the camera shows what it showed last."""


class Faultload(Component, ABC):
    """A named rule that turns instances into OOD instances.

    `prepare` and `apply` are drivers and final. One that changes pixels is a `Transformation`; one that
    brings instances from elsewhere writes `_prepare` itself.
    """

    category: ClassVar[Category]
    severities: ClassVar[tuple[int, ...]] = ()
    """The severities that are defined, lowest first; empty where severity means nothing, and is null. One
    between two of them is allowed (a ramp passes through it), and 0 means no change."""
    not_monotone: ClassVar[str] = ""
    """Why a higher severity need not change an image more; empty where it does."""
    uses_classifier: bool = False
    """Whether `apply` runs a classifier, as attacks do: then it cannot run while the classifier works."""
    reads_other_instances: bool = False
    """Whether `apply` looks up other instances of the split, as a stuck frame does."""
    lags: ClassVar[bool] = False
    """Whether the camera shows an earlier instant while it acts, which `lag` tells: in streams with time."""
    coherence: ClassVar[Coherence] = "episode"
    """How long a draw lasts in a stream with time, where the experiment does not say it."""
    objects: ClassVar[ObjectFate] = "unknown"
    """What becomes of the object on an image: it stays where it is (in other colours, blurred, covered in
    part), it moves with the pixels, as `_follow` tells, or nothing of it is left to see (`hidden`)."""
    origin: ClassVar[str] = ""
    """Whose definition it follows, where there are several of the same name."""

    _n_classes: int = np.iinfo(np.int64).max  # until it is prepared, any label may be right
    _seed: int = 0

    def prepare(self, context: FaultContext) -> FaultTargets:
        """Choose the instances to act upon, and make ready what `apply` needs."""
        self._n_classes, self._seed = len(context.workload.classes), context.base.seed
        targets = self._prepare(context)
        where = f"faultload '{self.name}'"
        if not len(targets.indices):
            notes = dict(targets.notes)
            raise DataError(f"{where} has no instance to act upon; expected at least one: {notes}")
        check_labels(targets.labels, len(context.workload.classes), where, no_answer=True)
        if targets.split.images.shape != context.workload.shape:
            raise DataError(
                f"{where}: images are {targets.split.images.shape}; expected {context.workload.shape} "
                f"as in workload '{context.workload.name}'{_resized(targets.split, context.workload)}"
            )
        return targets

    def apply(
        self,
        images: Images,
        labels: IntArray,
        ids: StrArray,
        severity: FloatArray,
        keys: DrawKeys | None = None,
    ) -> Faulted:
        """Turn a batch into OOD instances; severity is one an instance, NaN where it means nothing.

        Random numbers are keyed by `keys`; where not given, by the instances' ids.
        """
        who = f"faultload '{self.name}'"
        try:
            faulted = self._apply(images, labels, ids, severity, keys or DrawKeys(ids))
        except (UserError, Failure):
            raise
        except Exception as error:
            raise ComponentFailure(f"{who} failed at instance '{ids[0]}': {one_line(error)}") from error
        if faulted.images.shape != images.shape:
            raise ComponentFailure(f"{who} returned shape {faulted.images.shape}; expected {images.shape}")
        if np.shape(faulted.labels) != labels.shape:
            shape = np.shape(faulted.labels)
            raise ComponentFailure(f"{who} returned labels of shape {shape}; expected {labels.shape}")
        try:
            check_images(faulted.images, who, ids)
            check_labels(faulted.labels, self._n_classes, who, no_answer=True)
        except DataError as error:
            raise ComponentFailure(str(error)) from error
        return faulted

    def follow(
        self,
        shapes: Images,
        ids: StrArray,
        severity: FloatArray,
        keys: DrawKeys | None = None,
    ) -> Images:
        """Move shapes as `apply` moves the pixels of images that have the same ids or keys.

        A shape is an image like those, 1 on an object and 0 beside it.
        """
        if self.objects == "stay":
            return shapes
        if self.objects == "hidden":
            return np.where(severity.reshape(-1, 1, 1, 1) == 0, shapes, np.float32(0))
        moved = self._follow(shapes, severity, keys or DrawKeys(ids))
        if moved.shape != shapes.shape:
            raise ComponentFailure(
                f"faultload '{self.name}' moved shapes of {shapes.shape} to {moved.shape}; expected the same"
            )
        return moved

    def _follow(self, shapes: Images, severity: FloatArray, keys: DrawKeys) -> Images:
        """Move shapes, where objects `move`."""
        raise NotImplementedError(f"faultload '{self.name}' does not say where objects move to")

    def lag(self, severity: float, chance: float) -> int:
        """Say how many instants ago was what the camera shows, where a fault `lags`.

        0 is the present one, and `HELD` what it showed last. `chance` is a random number from 0 to 1, another
        one at each instant.
        """
        raise NotImplementedError(f"faultload '{self.name}' does not lag: {severity}, {chance}")

    def check_severity(self, severity: float | None) -> float:
        """Check a severity that somebody asks for; give NaN where this faultload has none."""
        if not self.severities:
            if severity is not None:
                raise ParameterError(f"faultload '{self.name}' has no severity; got {severity}: leave it out")
            return float("nan")
        highest = self.severities[-1]
        if severity is None or not 0 <= severity <= highest:
            way = f"{{name: {self.name}, severity: {min(3, highest)}}}"
            raise ParameterError(
                f"faultload '{self.name}': severity is {severity}; expected a number from 0 to {highest}"
                + (f", as in faultload: {way} or --set 'faultload={way}'" if severity is None else "")
            )
        return float(severity)

    @abstractmethod
    def _prepare(self, context: FaultContext) -> FaultTargets: ...

    @abstractmethod
    def _apply(
        self, images: Images, labels: IntArray, ids: StrArray, severity: FloatArray, keys: DrawKeys
    ) -> Faulted: ...


def _resized(split: Split, workload: Workload) -> str:
    channels, height, width = workload.shape
    more = "" if split.images.shape[0] == channels else f" and channels: {channels}"
    return (
        f": a folder or an index takes size: [{height}, {width}]{more}; arrays have to be saved so, or "
        "novelty takes resize: true"
    )


class Transformation(Faultload):
    """A faultload that changes the pixels of the instances of the split it is given.

    A subclass writes `_transform`, which gets a part of a batch at one severity and random numbers, which
    are the same for as long as the stream lets a draw last; it may leave the range [0, 1], to which the
    result is cut. It must give each image the same bits whatever the batch: work elementwise or image by
    image, not by matrix products over a batch.
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

    def _apply(
        self, images: Images, labels: IntArray, ids: StrArray, severity: FloatArray, keys: DrawKeys
    ) -> Faulted:
        del ids
        result = self._at_each(self._transform, images, severity, keys)
        return Faulted(result, labels, change_of(images, result))

    def _follow(self, shapes: Images, severity: FloatArray, keys: DrawKeys) -> Images:
        return self._at_each(self._move, shapes, severity, keys)

    def _move(self, shapes: Images, severity: float, random: PerInstance) -> Images:
        """Move shapes as `_transform` moves pixels, whose random numbers it draws again."""
        return self._transform(shapes, severity, random)

    def _at_each(
        self,
        work: Callable[[Images, float, PerInstance], Images],
        images: Images,
        severity: FloatArray,
        keys: DrawKeys,
    ) -> Images:
        """Work on the images of each severity; 0 changes nothing."""

        def at(level: float, part: Images, keys: DrawKeys) -> Images:
            changed = work(part, level, PerInstance(self._seed, self.name, keys))
            own = not np.may_share_memory(changed, part) and changed.flags.writeable
            return np.clip(changed, 0, 1, out=changed if own else None)

        levels = levels_of(severity)
        if len(levels) == 1 and levels[0] != 0:  # as a rule: nothing to pick out and to put back
            return at(float(levels[0]), images, keys)
        result = images.copy()
        for level in levels[levels != 0]:
            rows = np.isnan(severity) if np.isnan(level) else severity == level
            result[rows] = at(float(level), images[rows], keys[rows])
        return result


def levels_of(severity: FloatArray) -> FloatArray:
    """Return each severity that there is, the lowest first and NaN last."""
    # As a rule there is one, which is told sooner than found by sorting.
    return severity[:1] if (severity == severity[:1]).all() else np.unique(severity)


def at_severity(severity: float, levels: Sequence[float], neutral: float) -> float:
    """Return a parameter at a severity: one value a level from 1 on, between them in proportion.

    `neutral` is the value that changes nothing, at severity 0.

    Examples
    --------
    >>> at_severity(2, [0.04, 0.06, 0.08, 0.09, 0.10], neutral=0)
    0.06
    >>> at_severity(0.5, [0.04, 0.06, 0.08, 0.09, 0.10], neutral=0)
    0.02
    """
    return float(np.interp(severity, np.arange(len(levels) + 1), [neutral, *levels]))
