"""Images that say what they show, in which weather, and where; and a network that looks at known pixels.

The object is a square of one brightness, which is the class. The classifier measures how bright its core is,
so that what hides the core upsets the decision, and at night also what hides the pixel that tells the night.
Its layers are switched on by known pixels, so that theory knows all metrics.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from farm.api import (
    ArrayImages,
    Capabilities,
    Classifier,
    Context,
    DrawKeys,
    FaultContext,
    Faulted,
    Faultload,
    FaultTargets,
    FloatArray,
    FunctionClassifier,
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
from farm.cli import main

HERE = "tests.protocols.dependability.toys"
CLASSES = ("dark", "bright")
SIDE = 12
OBJECT, CORE = slice(4, 8), slice(5, 7)
"""Rows and columns of the object, and of what the classifier sees of it."""
WET, NIGHT, ODD = (0, 0, 0), (0, 0, 1), (0, 0, 2)
"""The pixels that tell the weather, the light, and what switches on two units more."""
DARK, BRIGHT = 0.1, 0.9
SURE = 0.9
"""How sure the classifier is of each plain image."""
SIZES = {"train": 80, "validation": 40, "test": 120}
UNITS = 6


def truth(split: str = "test") -> pd.DataFrame:
    """Return what is known of the images: in the test data nothing is both wet and at night."""
    number = np.arange(SIZES[split])
    # Two of three nights show what is dark, so that what is wrong is not wrong as often either way.
    wet, night = number % 3 == 0, (number % 10 == 0) | (number % 30 == 25)
    if split == "test":
        night &= ~wet
    columns = {
        "id": [f"{split}/{i}" for i in number],
        "track": [f"{split}/track {i // 2}" for i in number],
        "label": number % 2,
        "wet": wet,
        "night": night,
        "odd": number % 20 < 2,
        "speed": number.astype(np.float64),
    }
    found = pd.DataFrame(columns)
    found["predicted"] = np.where(night, 1 - found["label"], found["label"])
    found["scenario"] = scenario(found)
    found["on"] = 1 + found["wet"] + (found["predicted"] == 0) + 2 * found["odd"]
    return found


def scenario(facts: pd.DataFrame) -> np.ndarray:
    """Return each image's scenario in the words of tables."""
    weather, light = np.where(facts["wet"], "wet", "dry"), np.where(facts["night"], "night", "day")
    return np.array([f"weather={one}, light={other}" for one, other in zip(weather, light, strict=True)])


class Squares(WorkloadSource):
    """Squares under conditions."""

    def __init__(
        self,
        *,
        conditions: bool = True,
        masks: bool = True,
        gaps: bool = False,
        slow_nights: bool = False,
        title: str = "squares",
    ) -> None:
        self._conditions, self._masks, self._gaps, self._title = conditions, masks, gaps, title
        self._slow_nights = slow_nights

    def _load(self, context: Context) -> Workload:
        train, validation, test = (self._split(name, context.seed) for name in SIZES)
        own = "" if self._title == "squares" else f"{self._title} "
        return Workload(self._title, tuple(own + name for name in CLASSES), train, validation, test)

    def _split(self, name: str, seed: int) -> Split:
        facts, rng = truth(name), generator(seed, self._title, name)
        images = rng.uniform(0.3, 0.7, (len(facts), 3, SIDE, SIDE)).astype(np.float32)
        shown = np.where(facts["label"] == 1, BRIGHT, DARK)
        images[:, :, OBJECT, OBJECT] = shown[:, None, None, None]
        for (channel, row, column), fact in ((WET, "wet"), (NIGHT, "night"), (ODD, "odd")):
            images[:, channel, row, column] = facts[fact]
        masks = np.zeros((len(facts), SIDE, SIDE), dtype=np.bool_)
        masks[:, OBJECT, OBJECT] = True
        weather = np.where(facts["wet"], "wet", "dry")
        if self._gaps:
            weather[::10] = ""
        conditions = {
            "weather": weather,
            "light": np.where(facts["night"], "night", "day"),
            "speed": facts["speed"].to_numpy() * (~facts["night"] if self._slow_nights else 1),
        }
        return Split(
            name,
            ArrayImages(images),
            facts["label"].to_numpy(),
            facts["id"].to_numpy(dtype=np.str_),
            facts["track"].to_numpy(dtype=np.str_),
            masks=masks if self._masks else None,
            conditions=conditions if self._conditions else {},
        )


class Looker(Classifier):
    """Is as sure of `bright` as the object is bright; wrong wherever it is night."""

    def __init__(self) -> None:
        self.name, self.classes = "looker", CLASSES
        self.capabilities = Capabilities(layers=("units", "maps", "pair"))

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
        pixels = np.asarray(images, dtype=np.float64)
        bright = pixels[:, :, CORE, CORE].mean(axis=(1, 2, 3))
        wet, night, odd = (pixels[(slice(None), *place)] for place in (WET, NIGHT, ODD))
        bright = np.where(night > 0.5, 1 - bright, bright)
        # Never on, always on, on where it is wet, where it is taken for dark, and two where it is odd.
        never, always = np.zeros(len(bright)), np.ones(len(bright))
        units = np.column_stack([never, always, wet, bright < 0.5, odd, odd]).astype(np.float32)
        maps = np.full((*units.shape, 2, 2), -5, dtype=np.float32)
        maps[:, :, 0, 1] = units  # so that the greatest value tells, and the mean does not
        known = {"units": units, "maps": maps, "pair": units[:, 2:4]}
        return RawOutputs(
            np.column_stack([1 - bright, bright]), activations={name: known[name] for name in layers}
        )


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


class Glare(Transformation):
    """Makes all brighter, by two in a hundred for each level."""

    category = "shift"

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        del random
        changed = images.copy()
        changed[:, :, 1:] += np.float32(severity / 50)
        return changed


class Nudge(Transformation):
    """Moves each pixel by `eps` towards grey, as an attack would."""

    category = "adversarial"
    severities = ()

    def __init__(self, *, eps: float = 0.3) -> None:
        check_number("eps", eps, low=0)
        self._eps = eps

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        del severity, random
        changed = images.copy()
        changed[:, :, 1:] += np.float32(self._eps) * np.sign(0.5 - changed[:, :, 1:])
        return changed


class Splash(Faultload):
    """Acts where it is wet, and changes nothing."""

    category = "shift"

    def _prepare(self, context: FaultContext) -> FaultTargets:
        rows = np.flatnonzero(truth()["wet"])
        labels = context.split.labels[rows]
        return FaultTargets(context.split, "squares", rows, labels, np.full(len(rows), self.category))

    def _apply(
        self, images: Images, labels: IntArray, ids: StrArray, severity: FloatArray, keys: DrawKeys
    ) -> Faulted:
        del ids, severity, keys
        return Faulted(images, labels)


class Breaks(Fade):
    """Cannot do it."""

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        raise ArithmeticError("the lens fell off")


FADE = {"name": f"{HERE}:Fade", "as": "fade"}
GLARE = {"name": f"{HERE}:Glare", "as": "glare"}
SEVERITY = 4


def dependability(**changes: Any) -> dict[str, Any]:
    """Return a dependability evaluation of the toys, which takes a moment; `...` leaves a key out."""
    values = {
        "name": "toy",
        "protocol": "dependability",
        "workload": f"{HERE}:Squares",
        "classifier": f"{HERE}:Given",
        "data": ["train", "test"],
        "scenarios": {"k": [1, 2], "rare": 0.2},
        "neurons": {"layers": ["units", "maps"], "k": [1, 2, 3], "groups": UNITS + 1},
        "loss": {"transformers": [FADE, GLARE], "severity": SEVERITY},
        "performance": {"ordered": True, "frame_rate": 10},
        "occlusion": {"images": 100, "window": 2, "stride": 1, "fill": 0.5, "rho": 0.75},
        "severities": "weights.yaml",
        **changes,
    }
    return {key: value for key, value in values.items() if value is not ...}


WEIGHTS: dict[str, Any] = {"weights": {"dark": {"bright": 4}, "bright": {"dark": 1}}}
"""What the severities are that the evaluation names."""


def written(folder: Path, values: dict[str, Any]) -> Path:
    """Write a file, and the severities beside it."""
    import yaml

    path = folder / "toy.yaml"
    path.write_text(yaml.safe_dump(values, sort_keys=False), encoding="utf-8")
    (folder / "weights.yaml").write_text(yaml.safe_dump(WEIGHTS), encoding="utf-8")
    return path


def run(folder: Path, *more: str, **changes: Any) -> int:
    """Run an evaluation of the toys into `out` beside its file, and return the exit code."""
    file = written(folder, dependability(**changes))
    return main(["run", str(file), "--out", str(folder / "out"), "--quiet", *more])
