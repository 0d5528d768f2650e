"""What watching costs: cases, each beside what it is measured by, run in turn in one process.

A case has two sides, which are run in short blocks, one after the other, since other work on the machine
comes and goes: what is told is the ratio of their medians, and how it varies from block to block.
"""

from __future__ import annotations

import importlib
import os
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from farm import registry
from farm.api import (
    ArrayImages,
    Classifier,
    Images,
    Monitor,
    Observation,
    Split,
    Workload,
    check_number,
    collect,
    generator,
)
from farm.errors import FarmError, one_line
from farm.guard import Guard
from farm.run.fitting import ObservedSplit, union_of_layers
from farm.run.system import SystemUnderTest
from farm.run.testbed import Testbed
from farm.store.threads import limited_threads

if TYPE_CHECKING:
    from torch import Tensor

Run = Callable[[], object]

OUTPUTS = ("max-softmax", "max-logit", "entropy", "margin", "energy", "gen", "kl-matching", "openmax")
BOXES = ("oob", "oob-pca", "patterns")
KNN = {"name": "knn", "points": 2000}
EIGHT = ("max-softmax", "energy", "oob", "oob-pca", "patterns", "oob-isomap", KNN, "mahalanobis")
PARTS = ("watching", "gradients", "guard", "stream", "large", "peers")
BATCH, BLOCK = 64, 10
NUDGE, TEMPERATURE = 0.0014, 1000.0


@dataclass(frozen=True)
class Cost:
    """How a case came out: its ratio, and the tenth and ninetieth percentile of it over the blocks."""

    case: str
    ratio: float | None
    low: float | None = None
    high: float | None = None
    goal: float | None = None
    met: bool | None = None
    why: str = ""
    """Why there is no ratio."""

    def record(self) -> dict[str, Any]:
        """Return it as JSON."""
        told = asdict(self)
        return told if self.why else {key: value for key, value in told.items() if key != "why"}


@dataclass(frozen=True)
class Case:
    """Two things to run, and the goal for the time of the first over that of the second."""

    name: str
    run: Run
    beside: Run
    goal: float | None = None
    speed: bool = False
    """Whether ratio and goal are of speeds instead, of which more is better."""
    rounds: int | None = None
    once: bool = False
    """Whether one run is long enough to be a block."""

    def cost(self, rounds: int) -> Cost:
        """Run both in turn, and compare."""
        blocks = [(self._block(self.run), self._block(self.beside)) for _ in range(self.rounds or rounds)]
        columns = [[time for block in blocks for time in block[side]] for side in (0, 1)]
        ratios = [statistics.median(block[0]) / statistics.median(block[1]) for block in blocks]
        ratio = statistics.median(columns[0]) / statistics.median(columns[1])
        if self.speed:
            ratio, ratios = 1 / ratio, [1 / one for one in ratios]
        low, high = (float(np.percentile(ratios, percent)) for percent in (10, 90))
        met = None if self.goal is None else ratio >= self.goal if self.speed else ratio <= self.goal
        return Cost(self.name, ratio, low, high, self.goal, met)

    def _block(self, run: Run) -> list[float]:
        times = []
        for _ in range(1 if self.once else BLOCK + 1):
            start = time.perf_counter()
            run()
            times.append(time.perf_counter() - start)
        return times if self.once else times[1:]  # the first finds the other side's things in the caches


class SpeedCases:
    """The cases, on rendered signs and a LeNet, which the cache has after the first time.

    Parameters
    ----------
    large
        `module:function` that makes a network for images of 224 x 224 and 1,000 classes.
    """

    def __init__(self, large: str = "torchvision.models:resnet50") -> None:
        self._bed, self._factory = Testbed(seed=0), large

    @cached_property
    def _workload(self) -> Workload:
        return self._bed.workload("signs")

    @cached_property
    def _network(self) -> Classifier:
        return self._bed.classifier("lenet", self._workload)

    @cached_property
    def _images(self) -> Images:
        return self._workload.test.images.read(np.arange(BATCH))

    def costs(self, parts: Iterable[str] = PARTS, *, rounds: int = 40) -> Iterator[Cost]:
        """Measure the cases of these parts, one after the other."""
        check_number("rounds", rounds, low=1, whole=True)
        with limited_threads(1):
            for part in parts:
                try:
                    for case in getattr(self, f"_{part}")():
                        yield case if isinstance(case, Cost) else case.cost(rounds)
                except (FarmError, ImportError) as error:
                    yield Cost(part, None, why=one_line(error))

    def _watching(self) -> Iterator[Case]:
        for engine, outputs, boxes in (("onnx", 0.60, 0.70), ("eager", 1.20, 1.30)):
            yield self._watched(engine, [], 1, None)
            for name in OUTPUTS:
                yield self._watched(engine, [name], 1, outputs)
            for name in BOXES:
                yield self._watched(engine, [name], 1, boxes)
            for named in ("oob-isomap", KNN):
                yield self._watched(engine, [named], 1, 1.0 if engine == "onnx" else None)
        yield self._watched("onnx", EIGHT, 1, 1.5)
        for name in (*OUTPUTS, *BOXES[:2]):
            yield self._watched("onnx", [name], BATCH, 0.65)
        for named in (*BOXES[2:], "oob-isomap", KNN):
            yield self._watched("onnx", [named], BATCH, None)
        yield self._watched("onnx", EIGHT, BATCH, None)

    def _watched(self, engine: str, named: Sequence[Any], n: int, goal: float | None) -> Case:
        classifier, monitors = self._fitted(engine, named)
        images = self._images[:n]
        ids, layers = np.array([f"{i:016x}" for i in range(n)]), union_of_layers(monitors)

        def watch() -> object:
            seen = classifier.observe(images, layers, ids=ids, track=ids)
            return [monitor.judge(seen) for monitor in monitors]

        who = "nobody" if not named else monitors[0].name if len(named) == 1 else f"{len(named)} monitors"
        size = "one image" if n == 1 else f"batches of {n}"
        return Case(f"{size}, {who}, {engine}", watch, bare(self._network, images), goal)

    def _fitted(self, engine: str, named: Sequence[Any]) -> tuple[Classifier, list[Monitor]]:
        needed = self._bed.fit(named, self._network, self._workload)
        classifier = self._bed.on_engine(self._network, self._workload, needed, engine=engine)
        if classifier.engine.name != engine:
            raise FarmError(f"engine '{engine}': {classifier.engine.reason}")
        return classifier, self._bed.fit(named, classifier, self._workload)

    def _gradients(self) -> Iterator[Case]:
        (odin,) = self._bed.fit([{"name": "odin", "magnitude": NUDGE}], self._network, self._workload)
        for n in (1, BATCH):
            seen = self._network.observe(self._images[:n])
            minimal = partial(minimal_odin, self._network, self._images[:n])
            yield Case(f"odin, {n} at a time, over a minimal one", partial(odin.judge, seen), minimal, 1.05)

    def _guard(self) -> Iterator[Case]:
        image = (self._images[0].transpose(1, 2, 0) * 255).astype(np.uint8)
        beside = bare(self._network, self._images[:1])
        for name in ("max-softmax", "oob"):
            classifier, (monitor,) = self._fitted("onnx", [name])
            guard = Guard(classifier, monitor, shape=self._workload.shape)
            yield Case(f"guard, from an array, {name}, explained", partial(guard, image), beside, 1.0)

    def _stream(self) -> Iterator[Case]:
        classifier, monitors = self._fitted("eager", ["max-softmax", "oob"])
        n = len(self._workload.test)
        make = partial(self._bed.stream, self._workload, self._network, length=n)
        plain, faulted = make(), make({"name": "gaussian-noise", "severity": 3}, ood_share=1.0)

        def through(stream: Any) -> object:
            return sum(1 for _ in SystemUnderTest(classifier, monitors).steps(stream, BATCH))

        sides = partial(through, faulted), partial(through, plain)
        name = "speed of a stream with gaussian-noise, batches of 64"
        if not hasattr(os, "sched_getaffinity"):
            yield Case(name, *sides, speed=True, rounds=7, once=True)
            return
        cores = os.sched_getaffinity(0)
        if len(cores) > 1:
            yield Case(f"{name}, a core free", *sides, 0.95, speed=True, rounds=7, once=True)
        os.sched_setaffinity(0, {max(cores)})
        try:
            yield Case(f"{name}, no core free", *sides, 0.80, speed=True, rounds=7, once=True)
        finally:
            os.sched_setaffinity(0, cores)

    def _peers(self) -> Iterator[Case | Cost]:
        seen = self._network.observe(self._images, ["last-hidden"])
        features, alone = seen.features("last-hidden"), self._images[:1]
        from sklearn.manifold import Isomap

        train = ObservedSplit(self._network, self._workload.train, ["last-hidden"])
        points = collect(train, "last-hidden").features[:1000]
        isomap = Isomap(n_neighbors=5, eigen_solver="dense").fit(points)
        beside = bare(self._network, alone)
        yield Case("peer: scikit-learn's Isomap.transform", partial(isomap.transform, features[:1]), beside)
        yield from self._pytorch_ood(seen, beside)
        yield self._imagecorruptions()

    def _pytorch_ood(self, seen: Observation, beside: Run) -> Iterator[Case | Cost]:
        import torch

        try:
            detectors = importlib.import_module("pytorch_ood.detector")
        except Exception as error:  # noqa: BLE001 - it imports torchvision, which breaks in many ways
            yield Cost("peer: pytorch-ood", None, why=f"it cannot be imported: {one_line(error)}")
            return
        assert seen.logits is not None
        logits = torch.from_numpy(seen.logits[:1].copy())
        for name in ("MaxSoftmax", "EnergyBased"):
            score = getattr(detectors, name)(None).predict_logits
            yield Case(f"peer: pytorch-ood {name}", partial(_after, beside, partial(score, logits)), beside)

    def _imagecorruptions(self) -> Case | Cost:
        name = "peer: imagecorruptions gaussian_noise, over ours in batches"
        try:
            corrupt = importlib.import_module("imagecorruptions").corrupt
        except Exception as error:  # noqa: BLE001 - it needs an old setuptools
            return Cost(name, None, why=f"it cannot be imported: {one_line(error)}")
        pixels = [(image.transpose(1, 2, 0) * 255).astype(np.uint8) for image in self._images]
        rule = registry.faultload("gaussian-noise")
        ids, none = self._workload.test.ids[:BATCH], np.zeros(BATCH, dtype=np.int64)
        ours = partial(rule.apply, self._images, none, ids, np.full(BATCH, 3.0))
        return Case(name, lambda: [corrupt(image, 3, "gaussian_noise") for image in pixels], ours)

    def _large(self) -> Iterator[Case]:
        split = partial(_random_split, (3, 224, 224), 1000)
        names = tuple(f"class {label}" for label in range(1000))
        workload = Workload(
            "random images", names, split("train", 24), split("validation", 8), split("test", 1)
        )
        source = registry.model("module", factory=self._factory)
        network = source.classifier(workload, self._bed.context)
        monitors = self._bed.fit(["max-softmax", "energy", "mahalanobis"], network, workload)
        layers, image = union_of_layers(monitors), workload.test.images.read(np.arange(1))

        def watch() -> object:
            seen = network.observe(image, layers)
            return [monitor.judge(seen) for monitor in monitors]

        name = f"one image of 224 x 224, {self._factory.partition(':')[2]}, 3 monitors, eager"
        yield Case(name, watch, bare(network, image), 1.02, rounds=10)


def _random_split(shape: tuple[int, int, int], classes: int, name: str, n: int) -> Split:
    rng = generator(0, "speed", name)
    images, ids = rng.random((n, *shape), dtype=np.float32), np.array([f"{name} {i}" for i in range(n)])
    return Split(name, ArrayImages(images), rng.integers(classes, size=n), ids, ids)


def _after(first: Run, then: Run) -> object:
    first()
    return then()


def bare(network: Classifier, images: Images) -> Run:
    """Return the eager forward pass of a network alone."""
    import torch

    pixels = torch.from_numpy(images)

    def run() -> Tensor:
        with torch.inference_mode():
            return network.differentiable(pixels)

    return run


def minimal_odin(network: Classifier, images: Images) -> Tensor:
    """Two forward passes, one backward, and nothing else."""
    import torch
    from torch.nn import functional as F

    pixels = torch.tensor(images, requires_grad=True)
    loss = F.log_softmax(network.differentiable(pixels) / TEMPERATURE, dim=1).amax(dim=1).sum()
    (gradient,) = torch.autograd.grad(loss, pixels)
    with torch.inference_mode():
        nudged = pixels + NUDGE * gradient.sign()
        return F.softmax(network.differentiable(nudged).double() / TEMPERATURE, dim=1).amax(dim=1)
