"""What faultloads are tried on: small workloads of pictures, a classifier with gradients, no cache."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter
from scipy.special import softmax

from farm.api import (
    ArrayImages,
    Capabilities,
    Classifier,
    Context,
    FaultContext,
    Faulted,
    Faultload,
    FaultTargets,
    Images,
    IntArray,
    NoCache,
    OODImages,
    RawOutputs,
    Split,
    StrArray,
    Workload,
)

CLASSES = ("ash", "birch", "cedar", "dogwood")


def pictures(n: int = 16, channels: int = 3, size: int = 32, seed: int = 0) -> Images:
    """Make smooth coloured images whose values are whole grey levels of 8 bits."""
    rough = np.random.default_rng(seed).normal(size=(n, channels, size, size))
    smooth = gaussian_filter(rough, 3, axes=(2, 3), mode="wrap")
    spread = np.ptp(smooth, axis=(1, 2, 3), keepdims=True)
    unit = (smooth - smooth.min(axis=(1, 2, 3), keepdims=True)) / spread
    made: Images = (np.rint(unit * 255) / 255).astype(np.float32)
    return made


class Nearest(Classifier):
    """Knows each class's mean image; the nearer an image is to it, the likelier the class."""

    name = digest = "nearest"
    nbytes = 0

    def __init__(self, split: Split, classes: tuple[str, ...]) -> None:
        self.classes, self.capabilities = classes, Capabilities(logits=True, gradients=True)
        images = split.images.read(np.arange(len(split)))
        self.means = np.stack([images[split.labels == label].mean(axis=0) for label in range(len(classes))])

    def differentiable(self, images: Any) -> Any:
        """Return logits that torch can differentiate."""
        import torch

        return -((images[:, None] - torch.from_numpy(self.means)) ** 2).sum(dim=(2, 3, 4))

    def _forward(self, images: Images, layers: Any, members: int) -> RawOutputs:
        del layers, members
        import torch

        with torch.no_grad():
            logits = self.differentiable(torch.tensor(images)).numpy()
        return RawOutputs(softmax(logits.astype(np.float64), axis=1), logits)


class Prepared(NamedTuple):
    """A fault that is ready, and what it acts upon."""

    fault: Faultload
    targets: FaultTargets

    @property
    def highest(self) -> float:
        """The highest severity; NaN where there is none."""
        return float(self.fault.severities[-1]) if self.fault.severities else float("nan")

    def images(self, rows: IntArray) -> Images:
        """Return the images that a stream would hand to the fault."""
        return self.targets.split.images.read(self.targets.indices[rows])

    def apply(
        self,
        rows: IntArray,
        severity: Any = None,
        *,
        images: Images | None = None,
        labels: IntArray | None = None,
        ids: StrArray | None = None,
    ) -> Faulted:
        """Apply the fault to some of its instances as a stream does, at its highest severity by default."""
        level = np.asarray(self.highest if severity is None else severity, dtype=float)
        return self.fault.apply(
            self.images(rows) if images is None else images,
            self.targets.labels[rows] if labels is None else labels,
            self.targets.split.ids[self.targets.indices[rows]] if ids is None else ids,
            np.broadcast_to(level, len(rows)).copy(),
        )


class World:
    """A workload of pictures of one shape, another one that stands for whichever is named, a classifier."""

    def __init__(
        self, shape: tuple[int, int, int] = (3, 32, 32), n: int = 48, images: NDArray[Any] | None = None
    ) -> None:
        channels, high, wide = shape
        pixels = pictures(2 * n, channels, max(high, wide))[:, :, :high, :wide] if images is None else images
        half = len(pixels) // 2
        test, train = _split("test", pixels[:half]), _split("train", pixels[half:])
        elsewhere = _split("test", pixels[half:, :, ::-1, ::-1].copy())
        empty = replace(train, name="validation")
        self.workload = Workload("here", CLASSES, train, empty, test)
        self.elsewhere = Workload("elsewhere", ("elm", "fir", "gum", "hazel"), train, empty, elsewhere)
        self.classifier = Nearest(train, CLASSES)

    def ready(self, fault: Faultload, seed: int = 0) -> Prepared:
        """Have a fault prepared."""
        base = Context(seed=seed, cache=NoCache())
        split = self.workload.test
        context = FaultContext(
            self.workload, split, self.classifier, lambda _, part: OODImages.of(self.elsewhere, part), base
        )
        return Prepared(fault, fault.prepare(context))


@cache
def worlds() -> dict[str, World]:
    """Return those that faultloads are tried on: square colour images first, then others."""
    return {
        "colour": World(),
        "grey": World((1, 32, 32)),
        "wide colour": World((3, 20, 29), n=10),
        "high grey": World((1, 31, 24), n=10),
    }


def _split(name: str, pixels: NDArray[Any]) -> Split:
    n = len(pixels)
    # Frames of a track are neighbours, and a track is of one class.
    tracks = np.array([f"{name}-track-{i // 4 * 4 + i % 2}" for i in range(n)])
    ids = np.array([f"{name}-{i}" for i in range(n)])
    return Split(name, ArrayImages(pixels), np.arange(n) // 2 % len(CLASSES), ids, tracks)
