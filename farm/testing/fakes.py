"""Fakes with the real interface and a lambda for a body, and a workload that is made in milliseconds.

They pass through the same drivers and checks as real components, and load no torch. By `module:attribute` an
experiment can name them too: `farm.testing.fakes:TinySource`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax

from farm.api import (
    BOX,
    BOX_SPREAD,
    LAST_HIDDEN,
    ArrayImages,
    Capabilities,
    Category,
    Classifier,
    Context,
    DrawKeys,
    FaultContext,
    Faulted,
    Faultload,
    FaultTargets,
    Features,
    FitData,
    FloatArray,
    Images,
    IntArray,
    ModelSource,
    Monitor,
    Needs,
    Observation,
    RawOutputs,
    Split,
    State,
    StrArray,
    Workload,
    WorkloadSource,
    check_number,
    generator,
)
from farm.errors import RequirementError

NO_NEEDS = Needs()
CLASSES = ("ash", "birch", "cedar", "dogwood")
BLEND = 0.6
"""At most this much of an image is another class's pattern; beyond a half it looks like that class."""


def doubt(observation: Observation) -> FloatArray:
    """Score by the probability that the predicted class lacks."""
    return 1.0 - observation.confidence


class FakeMonitor(Monitor):
    """A monitor that scores, and fits, with the functions it is given.

    Parameters
    ----------
    score
        From an observation to one number an instance.
    fixed_threshold
        The threshold that the method itself defines; None calibrates it.
    needs
        What the monitor must be given.
    fit
        From training data to the state; learns nothing where not given.
    name
        What tables call it.

    Examples
    --------
    >>> dark = FakeMonitor(score=lambda observation: -observation.images.mean(axis=(1, 2, 3)), name="dark")
    >>> dark.name
    'dark'
    """

    def __init__(
        self,
        *,
        score: Callable[[Observation], Any] = doubt,
        fixed_threshold: float | None = None,
        needs: Needs = NO_NEEDS,
        fit: Callable[[FitData], Any] = lambda data: {},  # noqa: ARG005
        name: str | None = None,
    ) -> None:
        self._score_with, self._fixed_threshold = score, fixed_threshold
        self._needs, self._fit_with = needs, fit
        self.name = name or self.name

    @property
    def parameters(self) -> dict[str, Any]:
        """Its parameters as JSON: functions by their names."""
        return _as_json(super().parameters)

    @property
    def needs(self) -> Needs:
        """What it was told to need."""
        return self._needs

    @property
    def fixed_threshold(self) -> float | None:
        """The threshold it was given."""
        return self._fixed_threshold

    def _fit(self, data: FitData) -> State:
        return cast(State, self._fit_with(data))

    def _load(self, state: State) -> None:
        del state  # its body looks at observations only

    def _score(self, observation: Observation) -> Features:
        return cast(Features, self._score_with(observation))


class FakeFaultload(Faultload):
    """A faultload that turns images into OOD ones with the function it is given.

    Parameters
    ----------
    transform
        From images to images of the same shape.
    severities
        The severities it knows, rising; none where severity means nothing.
    category
        What kind of fault it is.
    label
        The label of every OOD instance, -1 where no right answer remains; None keeps the instance's own.
    name
        What tables call it.

    Examples
    --------
    >>> negative = FakeFaultload(transform=lambda images: 1 - images, name="negative")
    >>> images, ids = np.zeros((1, 3, 8, 8), np.float32), np.array(["a"])
    >>> negative.apply(images, np.array([2]), ids, np.array([np.nan])).images.max()
    np.float32(1.0)
    """

    category: Category = "noise"  # type: ignore[misc] # a constant of real faultloads, a parameter of this one
    severities: tuple[int, ...] = ()  # type: ignore[misc]

    def __init__(
        self,
        *,
        transform: Callable[[Images], Any] = lambda images: images,
        severities: Sequence[int] = (),
        category: Category = "noise",
        label: int | None = None,
        name: str | None = None,
    ) -> None:
        self._transform, self._label = transform, label
        self.severities, self.category = tuple(severities), category
        self.name = name or self.name

    @property
    def parameters(self) -> dict[str, Any]:
        """Its parameters as JSON: functions by their names."""
        return _as_json(super().parameters)

    def _prepare(self, context: FaultContext) -> FaultTargets:
        return context.every_instance(self.category)

    def _apply(
        self, images: Images, labels: IntArray, ids: StrArray, severity: FloatArray, keys: DrawKeys
    ) -> Faulted:
        del ids, severity, keys
        changed = labels if self._label is None else np.full_like(labels, self._label)
        return Faulted(self._transform(images), changed)


class FakeClassifier(Classifier):
    """A classifier that gives what its functions give, and counts how often it is asked.

    Parameters
    ----------
    probabilities
        From images to one row of probabilities each.
    classes
        The class names.
    layers
        Hidden layers: a function from images to activations each.
    logits
        From images to logits; a classifier without logits where not given.
    outputs
        What it gives beyond classes: a function from images each, such as to `box` and `box_spread`.
    name
        What tables call it.

    Examples
    --------
    >>> coin = FakeClassifier(lambda images: np.full((len(images), 2), 0.5), classes=("heads", "tails"))
    >>> coin.observe(np.zeros((3, 1, 8, 8), np.float32)).confidence
    array([0.5, 0.5, 0.5])
    >>> coin.calls
    1
    """

    def __init__(
        self,
        probabilities: Callable[[Images], ArrayLike],
        classes: Sequence[str],
        *,
        layers: Mapping[str, Callable[[Images], ArrayLike]] | None = None,
        logits: Callable[[Images], ArrayLike] | None = None,
        outputs: Mapping[str, Callable[[Images], ArrayLike]] | None = None,
        name: str = "fake-classifier",
    ) -> None:
        self.name, self.classes = name, tuple(classes)
        self._probabilities, self._layers, self._logits = probabilities, dict(layers or {}), logits
        self._outputs = dict(outputs or {})
        self.capabilities = Capabilities(
            logits=logits is not None,
            layers=tuple(self._layers),
            boxes=BOX in self._outputs,
            box_spread=BOX_SPREAD in self._outputs,
        )
        self.calls = 0
        """How many batches it was asked about."""

    @property
    def digest(self) -> str:
        """A hash of its name and classes."""
        text = "\x1f".join([self.name, *self.classes])
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    @property
    def nbytes(self) -> int:
        """It keeps nothing."""
        return 0

    def _forward(self, images: Images, layers: Sequence[str], members: int) -> RawOutputs:
        self.calls += 1
        if members:
            raise RequirementError(f"classifier '{self.name}' is one network: it gives no members")
        return RawOutputs(
            np.asarray(self._probabilities(images)),
            None if self._logits is None else np.asarray(self._logits(images), dtype=np.float32),
            {layer: np.asarray(self._layers[layer](images), dtype=np.float32) for layer in layers},
            outputs={name: np.asarray(make(images)) for name, make in self._outputs.items()},
        )


def tiny_workload(
    *,
    classes: Sequence[str] = CLASSES,
    size: int = 8,
    tracks: Sequence[int] = (8, 6, 6),
    frames: int = 4,
    seed: int = 0,
    name: str = "tiny",
) -> Workload:
    """Make a small workload of RGB images in memory: separable, but not perfectly.

    Each class has a coarse pattern that follows from its name, so that classes of one name look alike in two
    such workloads. An image is its class's pattern, blended with another's, lit as its track is, and noisy.

    Parameters
    ----------
    classes
        The class names, two at least.
    size
        Height and width.
    tracks
        Groups a class in train, validation and test.
    frames
        Images a group.
    seed
        Other images of the same classes for another seed.
    name
        What to call it; ids begin with it.

    Examples
    --------
    >>> workload = tiny_workload()
    >>> [len(split) for split in workload.splits], workload.shape
    ([128, 96, 96], (3, 8, 8))
    """
    check_number("size", size, low=1, whole=True)
    check_number("classes", len(classes), low=2, whole=True)
    patterns = np.stack([_pattern(label, size) for label in classes])
    names = ("train", "validation", "test")
    train, validation, test = (
        _tiny_split(split, patterns, n, frames, generator(seed, "tiny", name, split), name)
        for split, n in zip(names, tracks, strict=True)
    )
    return Workload(name, tuple(classes), train, validation, test)


class TinySource(WorkloadSource):
    """The recipe of a tiny workload.

    Parameters
    ----------
    classes, size, tracks, frames, seed
        As for `tiny_workload`.
    title
        What to call the workload.

    Examples
    --------
    >>> TinySource(size=16).load(Context()).shape
    (3, 16, 16)
    """

    def __init__(
        self,
        *,
        classes: Sequence[str] = CLASSES,
        size: int = 8,
        tracks: Sequence[int] = (8, 6, 6),
        frames: int = 4,
        seed: int = 0,
        title: str = "tiny",
    ) -> None:
        self._made = partial(
            tiny_workload, classes=classes, size=size, tracks=tracks, frames=frames, seed=seed, name=title
        )

    def _load(self, context: Context) -> Workload:
        del context
        return self._made()


class TinyModel(ModelSource):
    """The recipe of a classifier that knows each class's mean image, and nothing else.

    Examples
    --------
    >>> workload = tiny_workload()
    >>> classifier = TinyModel().classifier(workload, Context())
    >>> seen = classifier.observe(workload.test.images.read(np.arange(len(workload.test))), ["last-hidden"])
    >>> 0.8 < (seen.predicted == workload.test.labels).mean() < 1
    np.True_
    """

    trained_here = False

    def classifier(self, workload: Workload, context: Context) -> FakeClassifier:
        """Take the means of the training data."""
        del context
        images = workload.train.images.read(np.arange(len(workload.train)))
        labels = range(len(workload.classes))
        means = np.stack([images[workload.train.labels == label].mean(axis=0) for label in labels])

        def distances(batch: Images) -> FloatArray:
            apart = batch[:, None].astype(np.float64) - means
            return np.asarray((apart**2).sum(axis=(2, 3, 4)))

        return FakeClassifier(
            lambda batch: softmax(-distances(batch), axis=1),
            workload.classes,
            layers={LAST_HIDDEN: distances},
            logits=lambda batch: -distances(batch),
            name=self.name,
        )


def _pattern(label: str, size: int) -> FloatArray:
    """Return a class's look: three by three patches of colour, 3 x size x size."""
    patches = generator(0, "tiny", "pattern", label).uniform(0.2, 0.8, (3, 3, 3))
    which = np.arange(size) * 3 // size
    return np.asarray(patches[:, which][:, :, which])


def _tiny_split(
    name: str, patterns: FloatArray, tracks: int, frames: int, rng: np.random.Generator, title: str
) -> Split:
    n_classes = len(patterns)
    group = np.repeat(np.arange(n_classes * tracks), frames)
    labels = group // tracks
    n = len(labels)
    others = (labels + rng.integers(1, n_classes, n)) % n_classes
    blend = rng.uniform(0, BLEND, n)[:, None, None, None] ** 2 / BLEND
    light = rng.normal(0, 0.03, n_classes * tracks)[group, None, None, None]
    images = (1 - blend) * patterns[labels] + blend * patterns[others] + light
    images += rng.normal(0, 0.04, images.shape)
    return Split(
        name,
        ArrayImages(np.rint(np.clip(images, 0, 1) * 255).astype(np.uint8)),
        labels.astype(np.int64),
        np.array([f"{title}/{name}/{i:05d}" for i in range(n)]),
        np.array([f"{title}/{name}/track-{i:04d}" for i in group]),
    )


def _as_json(parameters: Mapping[str, Any]) -> dict[str, Any]:
    plain = (bool, int, float, str, list, tuple, type(None))
    return {
        name: value if isinstance(value, plain) else getattr(value, "__qualname__", repr(value))
        for name, value in parameters.items()
    }
