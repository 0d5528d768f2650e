"""What an evaluation of uncertainty takes, before it runs: trainings, counted; hours and disk, estimated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from farm.config.experiment import Experiment
from farm.errors import suggestion
from farm.protocols.uncertainty.asked import Uncertainty

if TYPE_CHECKING:
    from farm.run.costs import Costs

BESIDE = 0.35
"""Seconds of a cell beside all passes."""
A_CELL, AN_IMAGE = 18_000, 160
"""Bytes of readouts, with boxes, a few classes and monitors."""
NOT_IN_IT = "simulated weather, monitors, reading images, and what results take when they are found"
MEMBER = "ensemble-member"


@dataclass
class Sizes:
    """All of a campaign, as if nothing of it were there yet."""

    cells: Sequence[tuple[Mapping[str, Any], Experiment]]
    costs: Costs

    def record(self) -> dict[str, Any]:
        """Return it as JSON; what could not be measured is null."""
        trainings, spent = self._networks()
        images, passes = self._streams()
        seconds = {"trainings": spent, "streams": passes}
        return {
            "cells": len(self.cells),
            "streams": len({label["faultload"] for label, _ in self.cells}),
            "trainings": {"all": sum(trainings.values()), **trainings},
            "seconds": {name: round(value, 1) for name, value in seconds.items()} if images else None,
            "nbytes": A_CELL * len(self.cells) + AN_IMAGE * images if images else None,
            "not_there": dict(self.costs.not_there),
            "not_in_it": [f"{name}: {why}" for name, why in self.costs.unknown.items()] + [NOT_IN_IT],
        }

    def _networks(self) -> tuple[dict[str, int], float]:
        """Count the networks that are trained, and what that takes; ensembles find those of members."""
        counted: Counter[str] = Counter()
        spent = 0.0
        first = {(label["classifier"], label["seed"]): (label, one) for label, one in self.cells}
        members = [one.classifier for _, one in first.values() if one.classifier.name == MEMBER]
        trained = [one.parameters["of"] for one in members]
        for label, experiment in first.values():
            if experiment.classifier.parameters.get("of") in trained and experiment.classifier.name != MEMBER:
                continue
            n, seconds = self.costs.training_seconds(experiment)
            title = str(label["classifier"])
            if experiment.classifier.name == MEMBER:
                title = f"{title.rpartition(' ')[0]}s"
            if n:
                counted[title] += n
            spent += seconds
        return dict(counted), spent

    def _streams(self) -> tuple[int, float]:
        """Count the images of all streams, and what passes over them take; other data as the test data."""
        images, spent = 0, 0.0
        opened: set[str] = set()
        for label, experiment in self.cells:
            for fault in experiment.faultload if label["faultload"] not in opened else ():
                self.costs.open_images(fault, experiment)
            opened.add(str(label["faultload"]))
            size, cost = self.costs.size(experiment.workload, experiment), self.costs.network(experiment)
            if size is None or cost is None:
                continue
            n = size.validation if experiment.stream.split == "validation" else size.test
            images += n
            spent += BESIDE + n * cost.seconds
        return images, spent


def lacking(
    said: Mapping[str, Any], cells: Sequence[tuple[Mapping[str, Any], Experiment]], costs: Costs
) -> list[str]:
    """Say what of the file does not fit the data: groups of classes that these do not have."""
    merged, (_, first) = Uncertainty.model_validate(said).merged, cells[0]
    if merged is None or (classes := costs.classes(first.workload, first)) is None:
        return []
    return [
        f"merged.groups.{group}: '{name}' is no class of '{first.workload.alias or first.workload.name}'; "
        f"{suggestion(name, classes)}"
        for group, names in merged.groups.items()
        for name in names
        if name not in classes
    ]
