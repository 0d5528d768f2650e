"""What every registered fault is tried on: small workloads, a classifier with gradients, no cache.

Run as a module it makes every fault anew, and writes what came of it: what another process made is compared
with what this one makes.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from farm import registry
from farm.api import (
    ArrayImages,
    Capabilities,
    Classifier,
    Context,
    FaultContext,
    Faultload,
    FaultTargets,
    NoCache,
    OODImages,
    RawOutputs,
    Split,
    Workload,
)
from farm.store.threads import limited_threads
from tests.faultloads.applying import pictures

NEEDED = {
    "novelty": {"workload": "elsewhere"},
    "compose": {"faults": ["gaussian-noise", {"name": "pixel-trap", "severity": 1}]},
    "square-attack": {"queries": 20},
}
NAMES = sorted(registry.entries("faultload"))
CLASSES = ("ash", "birch", "cedar", "dogwood")
SURROGATE = {"name": "lenet", "epochs": 1}


class Nearest(Classifier):
    """Knows each class's mean image; the nearer an image is to it, the likelier the class."""

    name, digest, nbytes = "nearest", "nearest", 0

    def __init__(self, split: Split, classes: tuple[str, ...]) -> None:
        self.classes, self.capabilities = classes, Capabilities(logits=True, gradients=True)
        images = split.images.read(np.arange(len(split)))
        self.means = np.stack([images[split.labels == label].mean(axis=0) for label in range(len(classes))])

    def differentiable(self, images):
        import torch

        return -((images[:, None] - torch.from_numpy(self.means)) ** 2).sum(dim=(2, 3, 4))

    def _forward(self, images, layers, members):
        import torch

        with torch.no_grad():
            logits = self.differentiable(torch.tensor(images))
        return RawOutputs(torch.softmax(logits.double(), 1).numpy(), logits.numpy())


class Prepared(NamedTuple):
    """A fault that is ready, and what it acts upon."""

    fault: Faultload
    targets: FaultTargets

    @property
    def highest(self) -> float:
        return float(self.fault.severities[-1]) if self.fault.severities else float("nan")

    def images(self, rows):
        """Return the images that a stream would hand to the fault."""
        return self.targets.split.images.read(self.targets.indices[rows])

    def apply(self, rows, severity=None, *, images=None, labels=None, ids=None):
        """Apply the fault to some of its instances as a stream does, at its highest severity by default."""
        level = np.asarray(self.highest if severity is None else severity, dtype=float)
        return self.fault.apply(
            self.images(rows) if images is None else images,
            self.targets.labels[rows] if labels is None else labels,
            self.targets.split.ids[self.targets.indices[rows]] if ids is None else ids,
            np.broadcast_to(level, len(rows)).copy(),
        )


class World:
    """A workload of pictures of one shape, another one for novelty, and a classifier."""

    def __init__(self, shape=(3, 32, 32), n=48, images=None) -> None:
        channels, high, wide = shape
        pixels = pictures(2 * n, channels, max(high, wide))[:, :, :high, :wide] if images is None else images
        half = len(pixels) // 2
        test, train = _split("test", pixels[:half]), _split("train", pixels[half:])
        elsewhere = _split("test", pixels[half:, :, ::-1, ::-1].copy())
        empty = replace(train, name="validation")
        self.workload = Workload("here", CLASSES, train, empty, test)
        self.elsewhere = Workload("elsewhere", ("elm", "fir", "gum", "hazel"), train, empty, elsewhere)
        self.classifier = Nearest(train, CLASSES)

    def prepare(self, name: str, seed: int = 0, **arguments: object) -> Prepared:
        """Make a fault, and have it prepared."""
        fault = registry.faultload(name, **(NEEDED.get(name, {}) | arguments))
        base = Context(seed=seed, cache=NoCache())
        context = FaultContext(
            self.workload,
            self.workload.test,
            self.classifier,
            lambda spec, split: OODImages.of(self.elsewhere, split),
            base,
        )
        return Prepared(fault, fault.prepare(context))


def _split(name, pixels):
    n = len(pixels)
    # Frames of a track are neighbours, and a track is of one class.
    tracks = np.array([f"{name}-track-{i // 4 * 4 + i % 2}" for i in range(n)])
    ids = np.array([f"{name}-{i}" for i in range(n)])
    return Split(name, ArrayImages(pixels), np.arange(n) // 2 % len(CLASSES), ids, tracks)


def made_anew() -> dict[str, np.ndarray]:
    """Prepare and apply every fault, and an attack on a model trained for it, and give all images."""
    world, rows = World(), np.arange(24)
    with limited_threads(1):
        made = {name: world.prepare(name).apply(rows).images for name in NAMES}
        made["a surrogate"] = world.prepare("fgsm", surrogate=SURROGATE).apply(rows).images
    return made


if __name__ == "__main__":
    np.savez(sys.argv[1], **made_anew())
