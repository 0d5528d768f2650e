"""What networks take, before one is trained: measured by a few passes of untrained ones over a few images."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from farm.api import ModelSource, NetworkSource, OwnNetwork, Workload, WorkloadSource
from farm.config.experiment import Experiment
from farm.config.specs import ComponentSpec, FaultSpec
from farm.errors import ExperimentError, FarmError, one_line
from farm.run.builder import make_named
from farm.run.networks import source_of_network
from farm.run.testbed import Testbed
from farm.store.threads import limited_threads

IMAGES, TIMES = 64, 3
"""So many images a pass, as in a batch of a training; the fastest of so many passes counts."""
LATENT = "latent"
# A training step passes the batch once forward, and back, which takes twice that; after each epoch the
# validation images pass forward once.
FORWARD, STEP = 1.0, 3.0


@dataclass(frozen=True)
class NetworkCost:
    """What one pass over one image takes in seconds, what its arrays take, and the epochs that it trains."""

    seconds: float
    nbytes: int
    epochs: int
    latent: int = 0
    """Of a network with a bottleneck: the numbers that pass it."""


@dataclass(frozen=True)
class SetSize:
    """The images of a set's splits, and the numbers of an image."""

    train: int
    validation: int
    test: int
    values: int


class Costs:
    """Measures each set and each network once. What cannot be measured is None, and `unknown` says why."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._kept: dict[str, Any] = {}
        self.not_there: dict[str, str] = {}
        """Sets that cannot be opened, and why."""
        self.unknown: dict[str, str] = {}
        """Networks that cannot be made untrained, and why."""

    def size(self, spec: ComponentSpec, experiment: Experiment) -> SetSize | None:
        """Open a set, and count."""
        if (found := self._workload(spec, experiment)) is None:
            return None
        values = int(np.prod(found.shape))
        return SetSize(len(found.train), len(found.validation), len(found.test), values)

    def classes(self, spec: ComponentSpec, experiment: Experiment) -> tuple[str, ...] | None:
        """Return a set's classes."""
        found = self._workload(spec, experiment)
        return None if found is None else found.classes

    def open_images(self, fault: FaultSpec, experiment: Experiment) -> None:
        """Open the images that a fault brings, so that it is told where they are not there, or do not fit."""
        workload = self._workload(experiment.workload, experiment)
        if workload is None or "workload" not in fault.parameters:
            return
        spec = ComponentSpec.model_validate(fault.parameters["workload"])

        def opened() -> Any:
            bed, recipe = self._bed(experiment), self._recipe(experiment, None)
            classifier = bed.untrained(recipe, workload) if isinstance(recipe, ModelSource) else None
            if classifier is not None:
                return bed.fault_notes(fault, workload, classifier)
            source: WorkloadSource = make_named("workload", spec)
            return bed.ood_images(source, beside=workload)

        title = fault.alias or spec.alias or str(spec.parameters.get("title") or spec.name)
        self._once(f"images of {_said(fault)}", title, opened, self.not_there)

    def network(self, experiment: Experiment, need: OwnNetwork | None = None) -> NetworkCost | None:
        """Measure a network that monitors ask for on an experiment's workload, or else its classifier.

        What is by the classifier's own recipe takes what the classifier takes.
        """
        if (workload := self._workload(experiment.workload, experiment)) is None:
            return None
        own = need if need is not None and need.network else None
        source = self._recipe(experiment, own)
        if source is None:
            return None
        key = f"cost of {_recipe_said(experiment, own)} on {_said(experiment.workload)}"
        title = own.title if own else f"model '{source.name}'"
        found: NetworkCost | None = self._once(
            key, title, lambda: _measured(source, workload, experiment, self._bed(experiment)), self.unknown
        )
        return found

    def trainings(self, experiment: Experiment) -> list[NetworkCost | None]:
        """Measure the networks that are trained for an experiment's classifier: several of an ensemble."""
        workload, source = self._workload(experiment.workload, experiment), self._recipe(experiment, None)
        if not isinstance(source, ModelSource):
            return []
        if workload is None:
            return [None for _ in source.trainings()]
        found: list[NetworkCost | None] = []
        for one in source.trainings():
            key = f"training of {one.recipe} on {_said(experiment.workload)}"
            make = partial(_measured, one, workload, experiment, self._bed(experiment))
            found.append(self._once(key, f"model '{one.name}'", make, self.unknown))
        return found

    def training_seconds(self, experiment: Experiment) -> tuple[int, float]:
        """Count the networks that are trained for an experiment's classifier, and what all epochs take."""
        size = self.size(experiment.workload, experiment)
        trainings = self.trainings(experiment)
        seconds = 0.0
        for cost in trainings:
            if size is not None and cost is not None:
                seconds += cost.epochs * cost.seconds * (STEP * size.train + FORWARD * size.validation)
        return len(trainings), seconds

    def fault_training(self, fault: FaultSpec, experiment: Experiment) -> float | None:
        """Return the seconds that a faultload which is trained takes at the most, as it tells untrained.

        0 of one that is not trained.
        """
        workload = self._workload(experiment.workload, experiment)
        source = self._recipe(experiment, None)
        if workload is None or not isinstance(source, ModelSource):
            return None

        def seconds() -> float:
            bed = self._bed(experiment)
            classifier = bed.untrained(source, workload)
            if classifier is None:
                raise ExperimentError("its classifier cannot be made untrained")
            told = bed.fault_notes(fault, workload, classifier).get("seconds", 0.0)
            return float(told) if isinstance(told, int | float) else 0.0

        title = f"faultload '{fault.alias or fault.name}'"
        found: float | None = self._once(
            f"{_said(fault)} on {_said(experiment.workload)}", title, seconds, self.unknown
        )
        return found

    def trains(self, experiment: Experiment, need: OwnNetwork | None = None) -> bool:
        """Say whether a network is trained: one that brings its weights along, or cannot be made, is not."""
        source = self._recipe(experiment, need)
        return isinstance(source, NetworkSource) or (source is not None and source.trained_here)

    def _recipe(self, experiment: Experiment, need: OwnNetwork | None) -> ModelSource | NetworkSource | None:
        def make() -> ModelSource | NetworkSource:
            model: ModelSource = make_named("model", experiment.classifier)
            return model if need is None else source_of_network(need, model, "a monitor")

        title = need.title if need else experiment.classifier.name
        found: ModelSource | NetworkSource | None = self._once(
            f"recipe of {_recipe_said(experiment, need)}", title, make, self.unknown
        )
        return found

    @cached_property
    def multiplication(self) -> float:
        """Return the seconds of one multiplication and addition in a product of matrices."""
        n, values, points = 64, 512, 2048
        one, other = np.ones((n, values), np.float32), np.ones((values, points), np.float32)
        with limited_threads(1):
            return _fastest(lambda: one @ other) / (n * values * points)

    def _workload(self, spec: ComponentSpec, experiment: Experiment) -> Workload | None:
        title = spec.alias or str(spec.parameters.get("title") or spec.name)

        def load() -> Workload:
            source: WorkloadSource = make_named("workload", spec)
            return self._bed(experiment).workload(source, contents=False)

        found: Workload | None = self._once(_said(spec), title, load, self.not_there)
        return found

    def _bed(self, experiment: Experiment) -> Testbed:
        return Testbed(experiment.seed, threads=experiment.threads, folder=self._home, untrained=True)

    def _once(self, key: str, title: str, make: Callable[[], Any], reasons: dict[str, str]) -> Any:
        if key not in self._kept:
            try:
                self._kept[key] = make()
                if self._kept[key] is None:
                    reasons[title] = "it cannot be made untrained"
            except FarmError as error:
                self._kept[key] = None
                reasons[title] = one_line(error)
        return self._kept[key]


def _measured(
    source: ModelSource | NetworkSource, workload: Workload, experiment: Experiment, bed: Testbed
) -> NetworkCost | None:
    images = workload.train.images.read(np.arange(min(IMAGES, len(workload.train))))
    said = source.parameters.get("epochs")
    epochs = said if isinstance(said, int) else 0
    latent = 0
    with limited_threads(experiment.threads):
        if isinstance(source, ModelSource):
            if (made := bed.untrained(source, workload)) is None:
                return None
            seconds, nbytes = _fastest(lambda: made.observe(images)), made.nbytes or 0
        else:
            if (network := source.untrained(workload, bed.context)) is None:
                return None
            seconds = _fastest(lambda: network.compute(images, network.outputs[-1]))
            nbytes = sum(array.nbytes for array in network.state.values())
            if LATENT in network.outputs:
                latent = network.compute(images[:1], LATENT).shape[1]
    return NetworkCost(seconds / len(images), nbytes, epochs, latent)


def _recipe_said(experiment: Experiment, need: OwnNetwork | None) -> str:
    return f"{need} beside {_said(experiment.classifier)}" if need else _said(experiment.classifier)


def _said(spec: ComponentSpec) -> str:
    return spec.model_dump_json(by_alias=True)


def _fastest(make: Callable[[], Any]) -> float:
    """Return the seconds of the fastest of a few times: whatever else the machine does only takes longer."""
    make()  # warmed up
    found = []
    for _ in range(TIMES):
        started = time.perf_counter()
        make()
        found.append(time.perf_counter() - started)
    return min(found)
