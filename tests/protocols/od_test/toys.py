"""Images of one number each, their brightness, for which the best accuracy is known; and what looks at it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from farm.api import (
    ArrayImages,
    Classifier,
    Context,
    Images,
    ModelSource,
    Observation,
    RawOutputs,
    SavedClassifier,
    Split,
    State,
    Workload,
    WorkloadSource,
    generator,
)

HERE = "tests.protocols.od_test.toys"
SPREAD = 0.05
SIZES = {"train": 800, "validation": 1500, "test": 1500}


def brightness(images: Images) -> np.ndarray:
    return np.asarray(images, dtype=np.float64).mean(axis=(1, 2, 3))


def how_bright(observation: Observation) -> np.ndarray:
    """Score an image by its brightness."""
    return brightness(observation.images)


class Bright(WorkloadSource):
    """Images of 4 x 4 pixels that are all as bright as a normal draw around `mean`."""

    def __init__(self, *, mean: float, title: str, copy_of: str | None = None) -> None:
        self._mean, self._title, self._drawn = mean, title, copy_of or title

    def _load(self, context: Context) -> Workload:
        train, validation, test = (self._split(name, context.seed) for name in SIZES)
        classes = (f"{self._title}-a", f"{self._title}-b")
        return Workload(self._title, classes, train, validation, test)

    def _split(self, name: str, seed: int) -> Split:
        n = SIZES[name]
        rng = generator(seed, "bright", self._drawn, name)
        light = np.clip(rng.normal(self._mean, SPREAD, n), 0, 1)[:, None, None, None]
        # A little of each image's own, which no copy has by chance, and which leaves the mean as it is.
        own = rng.normal(0, 0.02, (n, 1, 4, 4))
        images = (light + own - own.mean(axis=(1, 2, 3), keepdims=True)).clip(0, 1).astype(np.float32)
        ids = np.array([f"{self._title}/{name}/{i}" for i in range(n)])
        return Split(name, ArrayImages(images), np.arange(n) % 2, ids, ids)


class NearestBrightness(Classifier):
    """Takes an image for the class whose mean brightness is nearest."""

    def __init__(self, means: np.ndarray, classes: Sequence[str]) -> None:
        self.name, self.classes, self._means = "nearest", tuple(classes), means

    @property
    def digest(self) -> str:
        return hashlib.blake2b(self._means.tobytes()).hexdigest()

    @property
    def nbytes(self) -> int:
        return self._means.nbytes

    @property
    def state(self) -> State:
        return {"means": self._means}

    def _forward(self, images: Images, layers: Sequence[str], members: int) -> RawOutputs:
        near = np.exp(-(((brightness(images)[:, None] - self._means) / SPREAD) ** 2) / 2) + 1e-300
        return RawOutputs(near / near.sum(axis=1, keepdims=True))


class BrightModel(ModelSource):
    """Learns the mean brightness of each class; remembers the ids of all that it learned from."""

    taught: ClassVar[dict[str, set[str]]] = {}

    def classifier(self, workload: Workload, context: Context) -> Classifier:
        for split in (workload.train, workload.validation):
            type(self).taught.setdefault(workload.name, set()).update(map(str, split.ids))
        light = brightness(workload.train.images.read(np.arange(len(workload.train))))
        labels = range(len(workload.classes))
        means = np.array([light[workload.train.labels == label].mean() for label in labels])
        return NearestBrightness(means, workload.classes)

    def restore(self, saved: SavedClassifier) -> Classifier:
        return NearestBrightness(saved.state["means"], saved.classes)


def bright(title: str, mean: float, **more: Any) -> dict[str, Any]:
    """Return the specification of a set."""
    return {"name": f"{HERE}:Bright", "as": title, "mean": mean, "title": title, **more}


def od_test(**changes: Any) -> dict[str, Any]:
    """Return an OD-test of one source in the middle, and outliers on both sides of it."""
    return {
        "name": "toy",
        "protocol": "od-test",
        "sources": [bright("grey", 0.5)],
        "outliers": [bright("light", 0.65), bright("white", 0.75), bright("dark", 0.3)],
        "networks": [{"name": f"{HERE}:BrightModel", "as": "net"}],
        "methods": [
            {"name": "callable", "as": "brightness", "function": f"{HERE}:how_bright"},
            {"name": "binary-classifier", "as": "BinClass"},
            {"name": "random", "networks": "none"},
        ],
        "optimistic": True,
        **changes,
    }


def written(folder: Path, values: dict[str, Any]) -> Path:
    """Write an OD-test's file."""
    import yaml

    path = folder / "toy.yaml"
    path.write_text(yaml.safe_dump(values, sort_keys=False), encoding="utf-8")
    return path


class Planted(Bright):
    """Its test images are the training images of 'light'."""

    def _split(self, name: str, seed: int) -> Split:
        if name != "test":
            return super()._split(name, seed)
        light = Bright(mean=self._mean, title="light")._split("train", seed)
        ids = np.array([f"{self._title}/test/{i}" for i in range(len(light))])
        return Split("test", light.images, light.labels, ids, ids)
