"""What an OD-test is, before it runs: its trainings, counted; its hours and its disk, estimated."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from farm.api import ALL_MEMBERS, Monitor, OwnNetwork
from farm.config.experiment import Experiment
from farm.config.specs import ComponentSpec
from farm.protocols.od_test.results import LABEL
from farm.protocols.od_test.trainings import Training, training_for

if TYPE_CHECKING:
    from farm.run.costs import Costs, NetworkCost, SetSize

Cells = Iterable[tuple[Mapping[str, Any], Experiment]]
"""The label and the experiment of each."""

# A training step passes the batch once forward, and back, which takes twice that; with the adversarial loss
# also once more of each. A fifth of the images only ever pass forward, to choose the epoch.
FORWARD, STEP, ADVERSARIAL = 1.0, 3.0, 3.0
HELD_OUT = 0.2
GRADIENTS = 4.0
"""Passes of a method that enters the classifier again: once with gradients, once without."""
SEARCH = 222.0
"""Passes of a method that chooses, on outliers, how far to follow a gradient: 202 forward, 10 back."""
BESIDE = 0.5
"""Seconds of a cell beside all passes: as a run of od-test-small had them."""
A_CELL, AN_IMAGE, OF_MONITOR, OF_VERDICT = 16_000, 40, 1_300, 12
"""Bytes of readouts, as in that run: for a cell, an image, a monitor, and both."""
NOT_IN_IT = "what methods compute in fits beside passes and distances; reading images"


@dataclass
class Sizes:
    """All of a campaign, as if nothing of it were there yet."""

    cells: Cells
    costs: Costs
    workers: int = 1
    unmeasured: set[str] = field(default_factory=set)
    """The sources of which no network, or not one that is needed, could be measured."""

    def __post_init__(self) -> None:
        self._made: dict[str, Monitor] = {}
        self.cells = list(self.cells)

    def monitors(self, experiment: Experiment) -> list[Monitor]:
        """Return the methods of a cell; each is made once."""
        return [self._monitor(spec) for spec in experiment.monitors]

    def _monitor(self, spec: ComponentSpec) -> Monitor:
        key = spec.model_dump_json(by_alias=True)
        if key not in self._made:
            self._made[key] = cast(Monitor, spec.make("monitor"))
        return self._made[key]

    @cached_property
    def trainings(self) -> dict[Training, Experiment]:
        """Every network that is trained, and a cell that it is trained for."""
        found: dict[Training, Experiment] = {}
        for label, experiment in self.cells:
            for need in (None, *(n for one in self.monitors(experiment) for n in one.needs.networks)):
                if self.costs.trains(experiment, need):
                    found.setdefault(training_for(label, need), experiment)
        return found

    @property
    def triplets(self) -> int:
        """How many of D_s, D_v and D_t there are; those with D_v = D_t are none."""
        of = {(label["workload"], label[LABEL], label["faultload"]) for label, _ in self.cells}
        return sum(validation != target for _, validation, target in of)

    @property
    def by_kind(self) -> dict[str, int]:
        """How many networks of each kind are trained."""
        return dict(Counter(training.kind for training in self.trainings))

    @cached_property
    def seconds(self) -> dict[str, float]:
        """What trainings, fits and streams take of one worker, as far as networks could be measured."""
        spent: dict[str, float] = defaultdict(float)
        for training, experiment in self.trainings.items():
            spent["trainings"] += self._training(training, experiment)
        for label, experiment in self._fits.values():
            spent["fits"] += self._fit(label, experiment)
        for label, experiment in self.cells:
            spent["streams"] += BESIDE + self._stream(label, experiment)
        return dict(spent)

    @cached_property
    def nbytes(self) -> dict[str, int]:
        """What is kept on disk, as far as networks could be measured."""
        kept: dict[str, float] = defaultdict(float)
        for training, experiment in self.trainings.items():
            if cost := self._cost(experiment, training.need):
                kept["networks"] += cost.nbytes
        for label, experiment in self._fits.values():
            for monitor in self.monitors(experiment):
                kept["fitted methods"] += self._kept_of(monitor, label, experiment)
        for label, experiment in self.cells:
            images, n = self._images(label, experiment), len(experiment.monitors)
            kept["readouts"] += A_CELL + n * OF_MONITOR + images * (AN_IMAGE + n * OF_VERDICT)
        return {name: round(value) for name, value in kept.items()}

    @cached_property
    def _fits(self) -> dict[tuple[Any, ...], tuple[Mapping[str, Any], Experiment]]:
        """A cell of each source, network and D_v: what is fitted there serves every D_t."""
        by = ("seed", "workload", "classifier", LABEL)
        widest = sorted(self.cells, key=lambda cell: len(cell[1].monitors))
        return {tuple(label[key] for key in by): (label, experiment) for label, experiment in widest}

    def _cost(self, experiment: Experiment, need: OwnNetwork | None = None) -> NetworkCost | None:
        return self.costs.network(experiment, need)

    def _source(self, label: Mapping[str, Any], experiment: Experiment) -> SetSize | None:
        found = self.costs.size(experiment.workload, experiment)
        if found is None:
            self.unmeasured.add(label["workload"])
        return found

    def _outliers(self, fault: ComponentSpec | None, experiment: Experiment, source: SetSize) -> SetSize:
        """Return how many images a fault's set has; those of noise, and of a set not there, as the source."""
        if fault is None:
            return source
        spec = _set_of(fault)
        if spec.parameters.get("n", 0) is None:
            return source
        return self.costs.size(spec, experiment) or source

    def _training(self, training: Training, experiment: Experiment) -> float:
        size, cost = self.costs.size(experiment.workload, experiment), self._cost(experiment, training.need)
        if size is None or cost is None:
            self.unmeasured.add(training.source)
            return 0.0
        if not cost.epochs:
            self.costs.unknown[training.kind] = "it does not say for how many epochs it is trained"
        images, step = size.train, STEP
        if training.need and training.need.against_outliers:
            outliers = self._outliers(experiment.validation_fault, experiment, size)
            images = 2 * min(size.train + size.validation, outliers.train)
        if training.need and ("loss", "adversarial") in training.need.parameters:
            step *= ADVERSARIAL
        return images * cost.epochs * cost.seconds * ((1 - HELD_OUT) * step + HELD_OUT * FORWARD)

    def _fit(self, label: Mapping[str, Any], experiment: Experiment) -> float:
        """Passes over ID data and outliers: the classifier's once, those of own networks for each method."""
        size, cost = self._source(label, experiment), self._cost(experiment)
        if size is None or cost is None:
            return 0.0
        outliers = self._outliers(experiment.validation_fault, experiment, size)
        judged = size.validation + min(size.validation, outliers.train)
        monitors = self.monitors(experiment)
        spent = (size.train + judged) * _passes(monitors) * cost.seconds
        for monitor in monitors:
            own = sum(self._pass(experiment, need) for need in monitor.needs.networks)
            points, values = self._points(monitor, experiment, size)
            # Once to fit, once for the threshold.
            spent += 2 * judged * (own + points * values * self.costs.multiplication)
            spent += (points if monitor.needs.networks else 0) * own
            if monitor.needs.gradients and monitor.needs.outliers:
                most = monitor.parameters.get("selection_images")
                spent += SEARCH * cost.seconds * min(judged, 2 * most if type(most) is int else judged)
        return spent

    def _stream(self, label: Mapping[str, Any], experiment: Experiment) -> float:
        """Passes over a stream: what several methods ask of an equal network is computed once."""
        size, cost = self._source(label, experiment), self._cost(experiment)
        if size is None or cost is None:
            return 0.0
        monitors = self.monitors(experiment)
        gradients = sum(one.needs.gradients for one in monitors)
        a_pass = cost.seconds * (_passes(monitors) + GRADIENTS * gradients)
        a_pass += sum(
            self._pass(experiment, need) for need in {n for one in monitors for n in one.needs.networks}
        )
        looked_up = {(one.needs.networks, *self._points(one, experiment, size)) for one in monitors}
        products = sum(points * values for _, points, values in looked_up)
        return self._images(label, experiment) * (a_pass + products * self.costs.multiplication)

    def _images(self, label: Mapping[str, Any], experiment: Experiment) -> int:
        """Return the images of a stream: as many of one set as of the other."""
        if (size := self._source(label, experiment)) is None:
            return 0
        target = self._outliers(experiment.faultload[0], experiment, size)
        n = size.train if target is size else target.test
        return 2 * min(size.test, n)

    def _pass(self, experiment: Experiment, need: OwnNetwork) -> float:
        cost = self._cost(experiment, need)
        return 0.0 if cost is None else cost.seconds

    def _points(self, monitor: Monitor, experiment: Experiment, size: SetSize) -> tuple[int, int]:
        """Return how many training images a method keeps by its parameter `points`, and the numbers of each.

        They are kept as pixels, or as what passes its network's bottleneck; as layers it would say so.
        """
        most = monitor.parameters.get("points")
        if type(most) is not int or monitor.needs.layers:
            return 0, 0
        costs = [self._cost(experiment, need) for need in monitor.needs.networks]
        return min(most, size.train), sum(one.latent for one in costs if one) if costs else size.values

    def _kept_of(self, monitor: Monitor, label: Mapping[str, Any], experiment: Experiment) -> float:
        """Return the bytes of a fitted method, which has its networks in it."""
        if (size := self._source(label, experiment)) is None:
            return 0.0
        points, values = self._points(monitor, experiment, size)
        costs = [self._cost(experiment, need) for need in monitor.needs.networks]
        return 4.0 * points * values + sum(one.nbytes for one in costs if one)

    def record(self) -> dict[str, Any]:
        """Return it as JSON; what could not be measured is null."""
        for label, experiment in self.cells:  # so that each set that is not there is told
            self._source(label, experiment)
            self.costs.size(_set_of(experiment.faultload[0]), experiment)
        seconds, nbytes = self.seconds, self.nbytes
        known = seconds["trainings"] > 0
        return {
            "cells": len(list(self.cells)),
            "triplets": self.triplets,
            "trainings": {"all": len(self.trainings), **self.by_kind},
            "seconds": seconds if known else None,
            "nbytes": nbytes if known else None,
            "not_there": dict(self.costs.not_there),
            "not_in_it": [f"source '{name}'" for name in sorted(self.unmeasured)]
            + [f"'{name}': {why}" for name, why in self.costs.unknown.items()]
            + [NOT_IN_IT],
        }


def _passes(monitors: Iterable[Monitor]) -> int:
    """Return how often a classifier runs for all of them; a mean runs all its members in any case."""
    members = [one.needs.members for one in monitors]
    return 1 + max((number for number in members if number != ALL_MEMBERS), default=0)


def _set_of(fault: ComponentSpec) -> ComponentSpec:
    """Return the set that a fault brings as outliers."""
    return ComponentSpec.model_validate(fault.parameters["workload"])
