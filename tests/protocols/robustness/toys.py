"""Images that tell a classifier how sure to be, labels that are drawn so; and classifiers, sets and faults.

An image says in one pixel which class it seems to be of, and in another how surely. It is of that class with
just this chance, so that who believes the pixels is calibrated, and theory knows all measures.
"""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from farm.api import (
    ArrayImages,
    Classifier,
    Context,
    DrawKeys,
    FaultContext,
    Faulted,
    Faultload,
    FaultTargets,
    FloatArray,
    Images,
    IntArray,
    ModelSource,
    PerInstance,
    RawOutputs,
    SavedClassifier,
    Split,
    State,
    StrArray,
    Transformation,
    Workload,
    WorkloadSource,
    check_number,
    generator,
)
from tests.protocols.robustness.made_results import made_training

HERE = "tests.protocols.robustness.toys"
CLASSES = ("one", "two", "three")
LEAST, MOST = 0.4, 1.0
"""How sure a classifier is, from the darkest pixel to the brightest."""
SIZES = {"train": 60, "validation": 60, "test": 600}
MUDDLED = 0.15
"""The share of images of which `Muddle` changes the class that they seem to be of, at each level."""
BREAKS_AT = 2
BRIGHTEST_NATURAL = 0.5
LOG = "FARM_TEST_TRAININGS"


def seeming(images: Images) -> IntArray:
    """Return the class that each image seems to be of."""
    return np.minimum((np.asarray(images)[:, 0, 0, 0] * len(CLASSES)).astype(np.int64), len(CLASSES) - 1)


def sureness(images: Images) -> FloatArray:
    """Return how surely."""
    return LEAST + (MOST - LEAST) * np.asarray(images, dtype=np.float64)[:, 0, 0, 1]


def believed(images: Images, sure: FloatArray) -> FloatArray:
    """Return probabilities: the class that it seems to be of, and the others with what is left."""
    rest = (1 - sure) / (len(CLASSES) - 1)
    probabilities = np.repeat(rest[:, None], len(CLASSES), axis=1)
    probabilities[np.arange(len(images)), seeming(images)] = sure
    return probabilities


def _drawn(rng: np.random.Generator, n: int, brightest: float = 1.0) -> tuple[Images, IntArray]:
    """Draw images, and the labels that they have with the chance that they tell."""
    images = rng.uniform(0, 1, (n, 3, 4, 4)).astype(np.float32)
    apparent = rng.integers(0, len(CLASSES), n)
    images[:, 0, 0, 0] = (apparent + 0.5) / len(CLASSES)
    images[:, 0, 0, 1] *= brightest
    others = (apparent + rng.integers(1, len(CLASSES), n)) % len(CLASSES)
    return images, np.where(rng.uniform(size=n) < sureness(images), apparent, others)


class Honest(WorkloadSource):
    """Images whose labels are drawn as they tell, two of each track."""

    def __init__(self, *, title: str = "honest", brightest: float = 1.0) -> None:
        self._title, self._brightest = title, brightest

    def _load(self, context: Context) -> Workload:
        train, validation, test = (self._split(name, context.seed) for name in SIZES)
        own = "" if self._title == "honest" else f"{self._title} "
        return Workload(self._title, tuple(own + name for name in CLASSES), train, validation, test)

    def _split(self, name: str, seed: int) -> Split:
        n = SIZES[name]
        images, labels = _drawn(generator(seed, self._title, name), n, self._brightest)
        ids = np.array([f"{self._title}/{name}/{i}" for i in range(n)])
        tracks = np.array([f"{self._title}/{name}/track {i // 2}" for i in range(n)])
        return Split(name, ArrayImages(images), labels, ids, tracks)


class Believer(Classifier):
    """Believes the pixels, or is as sure of each image as the next.

    By its first weight it is more or less sure, and calibrated where that is 1; the second tells trainings
    apart, and does nothing.
    """

    def __init__(self, weight: FloatArray, *, constant: bool) -> None:
        self.name, self.classes = "believer", CLASSES
        self._weight, self._constant = weight, constant

    @property
    def digest(self) -> str:
        return hashlib.blake2b(self._weight.tobytes(), digest_size=16).hexdigest()

    @property
    def nbytes(self) -> int:
        return self._weight.nbytes

    @property
    def state(self) -> State:
        return {"weight": self._weight}

    def _forward(self, images: Images, layers: Sequence[str], members: int) -> RawOutputs:
        sure = np.full(len(images), 0.6) if self._constant else sureness(images) ** self._weight[0]
        return RawOutputs(believed(images, np.clip(sure, 0.35, 1.0)))


class Trained(ModelSource):
    """Draws its weights by the seed, and notes each training."""

    def __init__(self, *, constant: bool = False, spread: float = 0.0) -> None:
        self._constant, self._spread = constant, spread

    def classifier(self, workload: Workload, context: Context) -> Classifier:
        noted(f"{self.name} {context.seed}")
        drawn = generator(context.seed, "weight", self.name).normal()
        return Believer(np.array([np.exp(self._spread * drawn), drawn]), constant=self._constant)

    def untrained(self, workload: Workload, context: Context) -> Classifier:
        del workload, context
        return Believer(np.ones(2), constant=self._constant)

    def restore(self, saved: SavedClassifier) -> Classifier:
        return Believer(saved.state["weight"], constant=self._constant)


class Given(Trained):
    """Brings its weight along."""

    trained_here = False

    def __init__(self, *, weight: float = 1.0) -> None:
        super().__init__()
        self._weight = weight

    def classifier(self, workload: Workload, context: Context) -> Classifier:
        del workload, context
        return Believer(np.array([self._weight, 0.0]), constant=False)


class Muddle(Transformation):
    """Makes a share of images seem to be of any class, each with the same chance."""

    category = "shift"

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        changed = images.copy()
        other = (random.integers(0, len(CLASSES) - 1, 1)[:, 0] + 0.5) / len(CLASSES)
        muddled = random.uniform(1)[:, 0] < MUDDLED * severity
        changed[muddled, 0, 0, 0] = other[muddled]
        return changed


class Breaks(Muddle):
    """Cannot do one of its levels."""

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        if severity == BREAKS_AT:
            raise ArithmeticError("the lens fell off")
        return super()._transform(images, severity, random)


class Seeded(Muddle):
    """Has a seed of its own, and is not trained."""

    def __init__(self, *, seed: int = 0) -> None:
        check_number("seed", seed, low=0, whole=True)


class Drawn(Faultload):
    """Images by a seed of its own, as of a GAN, with a GAN's notes; notes each training."""

    category: ClassVar[Any] = "novelty"

    def __init__(self, *, seed: int | None = None, brightest: float = 1.0) -> None:
        if seed is not None:
            check_number("seed", seed, low=0, whole=True)
        self._own_seed, self._brightest = seed, brightest

    def _prepare(self, context: FaultContext) -> FaultTargets:
        seed = context.base.seed if self._own_seed is None else self._own_seed
        n = len(context.split)

        def make() -> State:
            noted(f"{self.name} {seed}")
            return {"images": _drawn(generator(seed, "drawn"), n, self._brightest)[0]}

        if context.base.untrained:
            images, notes = _drawn(generator(seed, "drawn"), n)[0], {"untrained": True, "seconds": 7.5}
        else:
            images = np.asarray(context.base.cache.arrays("drawn", {"seed": seed, "n": n}, make)["images"])
            made: Mapping[str, Any] = made_training(self.name, self.name).notes
            notes = {**made, "seed": seed, "sheet": hashlib.blake2b(images.tobytes()).hexdigest()}
        ids = np.array([f"{self.name}/{i}" for i in range(n)])
        split, labels = Split(self.name, ArrayImages(images), np.full(n, -1), ids, ids), np.full(n, -1)
        category = np.full(n, self.category)
        return FaultTargets(split, self.name, np.arange(n), labels, category, notes=notes)

    def _apply(
        self, images: Images, labels: IntArray, ids: StrArray, severity: FloatArray, keys: DrawKeys
    ) -> Faulted:
        del ids, severity, keys
        return Faulted(images, labels)


def noted(what: str) -> None:
    """Leave a file that says what was trained, whichever process does it, in the folder `LOG` names."""
    if folder := os.environ.get(LOG):
        (Path(folder) / uuid.uuid4().hex).write_text(what, encoding="utf-8")


def robustness(**changes: Any) -> dict[str, Any]:
    """Return a robustness evaluation of the toys, small enough to be run."""
    return {
        "name": "toy",
        "protocol": "robustness",
        "seed": 4,
        "repetitions": 3,
        "workload": {"name": f"{HERE}:Honest", "title": "honest"},
        "classifiers": [
            {"name": f"{HERE}:Trained", "as": "calibrated"},
            {"name": f"{HERE}:Trained", "as": "varying", "spread": 0.3},
            {"name": f"{HERE}:Trained", "as": "constant", "constant": True},
        ],
        "transformations": [
            {"name": f"{HERE}:Muddle", "as": "muddle"},
            {"name": f"{HERE}:Breaks", "as": "breaks"},
        ],
        "levels": [1, BREAKS_AT],
        "natural": {"name": f"{HERE}:Honest", "title": "natural", "brightest": BRIGHTEST_NATURAL},
        "sets": ["uniform-noise", "natural-images"],
        "gans": [{"name": f"{HERE}:Drawn", "as": "dim", "brightest": BRIGHTEST_NATURAL}],
        "gan_trainings": 2,
        **changes,
    }


def written(folder: Path, values: dict[str, Any]) -> Path:
    """Write a file."""
    import yaml

    path = folder / "toy.yaml"
    path.write_text(yaml.safe_dump(values, sort_keys=False), encoding="utf-8")
    return path
