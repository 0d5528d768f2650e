"""Images that say what they show, in which weather, and where; and a network that looks at known pixels.

The object is a square of one brightness, which is the class. The classifier measures how bright the square is,
so that what hides it upsets the decision and nothing else does; its layer is switched on by two known pixels.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from farm.api import (
    ArrayImages,
    Capabilities,
    Classifier,
    Context,
    FunctionClassifier,
    Images,
    ModelSource,
    PerInstance,
    RawOutputs,
    SavedClassifier,
    Split,
    State,
    Transformation,
    Workload,
    WorkloadSource,
    generator,
)

HERE = "tests.protocols.dependability.toys"
CLASSES = ("dark", "bright")
SIDE, CORNER, WIDTH = 12, 4, 4
"""The images' side, and where the object begins and how wide it is."""
SIZES = {"train": 80, "validation": 40, "test": 120}
WEATHERS, LIGHTS = ("dry", "wet"), ("day", "night")
NEURONS = 4


class Squares(WorkloadSource):
    """Squares under conditions: in the test data nothing is both wet and at night."""

    def __init__(self, *, conditions: bool = True, masks: bool = True) -> None:
        self._conditions, self._masks = conditions, masks

    def _load(self, context: Context) -> Workload:
        train, validation, test = (self._split(name, context.seed) for name in SIZES)
        return Workload("squares", CLASSES, train, validation, test)

    def _split(self, name: str, seed: int) -> Split:
        n, rng = SIZES[name], generator(seed, "squares", name)
        images = rng.uniform(0.3, 0.7, (n, 3, SIDE, SIDE)).astype(np.float32)
        labels = np.arange(n) % 2
        inside = slice(CORNER, CORNER + WIDTH)
        images[:, :, inside, inside] = np.where(labels == 1, 0.9, 0.1)[:, None, None, None]
        wet, night = np.arange(n) % 3 == 0, np.arange(n) % 5 == 0
        if name == "test":
            night &= ~wet
        images[:, 0, 0, 0], images[:, 0, 0, 1] = np.where(wet, 1.0, 0.0), np.where(night, 1.0, 0.0)
        masks = np.zeros((n, SIDE, SIDE), dtype=np.bool_)
        masks[:, inside, inside] = True
        ids = np.array([f"{name}/{i}" for i in range(n)])
        conditions = {
            "weather": np.where(wet, "wet", "dry"),
            "light": np.where(night, "night", "day"),
            "speed": np.arange(n, dtype=np.float64),
        }
        return Split(
            name,
            ArrayImages(images),
            labels,
            ids,
            np.array([f"{name}/track {i // 2}" for i in range(n)]),
            masks=masks if self._masks else None,
            conditions=conditions if self._conditions else {},
        )


def brightness(images: Images) -> np.ndarray:
    """Return how bright the object is."""
    inside = slice(CORNER, CORNER + WIDTH)
    return np.asarray(images, dtype=np.float64)[:, :, inside, inside].mean(axis=(1, 2, 3))


class Looker(Classifier):
    """Is as sure of `bright` as the object is bright; wrong wherever it is night."""

    def __init__(self) -> None:
        self.name, self.classes = "looker", CLASSES
        self.capabilities = Capabilities(layers=("units",))

    @property
    def digest(self) -> str:
        return hashlib.blake2b(b"looker", digest_size=16).hexdigest()

    @property
    def nbytes(self) -> int:
        return 0

    @property
    def state(self) -> State:
        return {}

    def _forward(self, images: Images, layers: Sequence[str], members: int) -> RawOutputs:
        bright = brightness(images)
        night = np.asarray(images)[:, 0, 0, 1] > 0.5
        bright = np.where(night, 1 - bright, bright)
        wet = np.asarray(images)[:, 0, 0, 0]
        # Never on, always on, on where it is wet, and on where it is dark.
        units = np.column_stack([np.zeros(len(images)), np.ones(len(images)), wet, bright < 0.5])
        activations = {"units": units.astype(np.float32)} if layers else {}
        return RawOutputs(np.column_stack([1 - bright, bright]), activations=activations)


class Given(ModelSource):
    """Makes a `Looker`, which needs no training."""

    trained_here = False

    def classifier(self, workload: Workload, context: Context) -> Classifier:
        del workload, context
        return Looker()

    def restore(self, saved: SavedClassifier) -> Classifier:
        del saved
        return Looker()


class BlackBox(Given):
    """Makes one that nobody can look into."""

    def classifier(self, workload: Workload, context: Context) -> Classifier:
        del context
        inside = Looker()
        return FunctionClassifier(lambda images: inside.observe(images).probabilities, workload.classes)


class Fade(Transformation):
    """Makes the object greyer, by a tenth for each level."""

    category = "shift"

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        del random
        changed = images.copy()
        changed[:, :, 1:] += np.float32(severity / 10) * (0.5 - changed[:, :, 1:])
        return changed


class Breaks(Fade):
    """Cannot do it."""

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        raise ArithmeticError("the lens fell off")


def dependability(**changes: Any) -> dict[str, Any]:
    """Return a dependability evaluation of the toys, which takes a moment."""
    return {
        "name": "toy",
        "protocol": "dependability",
        "workload": f"{HERE}:Squares",
        "classifier": f"{HERE}:Given",
        "data": ["train", "test"],
        "neurons": {"layers": "units", "k": [1, 2], "groups": 5},
        "loss": {"transformers": [{"name": f"{HERE}:Fade", "as": "fade"}], "severity": 4},
        "occlusion": {"images": 10, "window": 2, "stride": 1, "fill": 0.5},
        **changes,
    }


def written(folder: Path, values: dict[str, Any]) -> Path:
    """Write a file."""
    import yaml

    path = folder / "toy.yaml"
    path.write_text(yaml.safe_dump(values, sort_keys=False), encoding="utf-8")
    return path
