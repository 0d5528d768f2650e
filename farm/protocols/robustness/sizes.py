"""What a robustness evaluation is, before it runs: its trainings, counted; hours and disk, estimated."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from farm.config.experiment import Experiment

if TYPE_CHECKING:
    from farm.run.costs import Costs, SetSize

BESIDE = 0.35
"""Seconds of a cell beside all passes: as a run of robustness-small had them."""
A_CELL, AN_IMAGE = 18_000, 70
"""Bytes of readouts, as in that run."""
NOT_IN_IT = "transformations of images and reading them"


@dataclass
class Sizes:
    """All of a campaign, as if nothing of it were there yet."""

    cells: Sequence[tuple[Mapping[str, Any], Experiment]]
    costs: Costs

    def record(self) -> dict[str, Any]:
        """Return it as JSON; what could not be measured is null."""
        trainings, spent = self._networks()
        gans, spent_on_gans = self._gans()
        images, passes = self._streams()
        self._open_sets()
        seconds = {"trainings": spent, "GAN trainings": spent_on_gans, "streams": passes}
        known = bool(images)
        return {
            "cells": len(self.cells),
            "conditions": len({(label["faultload"], label["severity"]) for label, _ in self.cells}),
            "trainings": {"all": sum(trainings.values()), **trainings},
            "gan_trainings": gans,
            "seconds": {name: round(value, 1) for name, value in seconds.items()} if known else None,
            "nbytes": A_CELL * len(self.cells) + AN_IMAGE * images if known else None,
            "not_there": dict(self.costs.not_there),
            "not_in_it": [f"{name}: {why}" for name, why in self.costs.unknown.items()] + [NOT_IN_IT],
        }

    def _networks(self) -> tuple[dict[str, int], float]:
        """Count the networks that are trained for classifiers, and what that takes: one a repetition."""
        counted: Counter[str] = Counter()
        spent = 0.0
        first = {(label["classifier"], label["seed"]): (label, one) for label, one in self.cells}
        for label, experiment in first.values():
            n, seconds = self.costs.training_seconds(experiment)
            if n:
                counted[str(label["classifier"])] += n
            spent += seconds
        return dict(counted), spent

    def _gans(self) -> tuple[int, float]:
        """Count the faultloads that are trained, and what that takes at the most: each once for all cells."""
        found: dict[str, float] = {}
        measured: dict[str, float] = {}  # several trainings of one set take the same
        for label, experiment in self.cells:
            named = [fault for fault in experiment.faultload if "seed" in fault.parameters]
            # A transformation of one's own may have a seed: it is of all images, or beside natural ones.
            alone = len(experiment.faultload) == 1 and experiment.stream.ood_share == 0.5
            if not alone or not named or (title := str(label["faultload"])) in found:
                continue
            said = {**named[0].parameters, "name": named[0].name, "seed": None}
            kind = json.dumps(said, sort_keys=True, default=str)
            if kind not in measured:
                measured[kind] = self.costs.fault_training(named[0], experiment) or 0.0
            found[title] = measured[kind]
        return len(found), sum(found.values())

    def _streams(self) -> tuple[int, float]:
        """Count the images of all streams, and what the classifiers' passes over them take."""
        images, spent = 0, 0.0
        for _, experiment in self.cells:
            size, cost = self._size(experiment), self.costs.network(experiment)
            if size is None or cost is None:
                continue
            share = experiment.stream.ood_share
            n = size.test * (2 if share == 0.5 else 1)
            n = n if not isinstance(experiment.stream.length, int) else min(n, experiment.stream.length)
            images += n
            spent += BESIDE + n * cost.seconds
        return images, spent

    def _size(self, experiment: Experiment) -> SetSize | None:
        return self.costs.size(experiment.workload, experiment)

    def _open_sets(self) -> None:
        """Open the sets that faults bring, so that each that is not there is told."""
        seen: set[str] = set()
        for label, experiment in self.cells:
            for fault in experiment.faultload if label["faultload"] not in seen else ():
                self.costs.open_images(fault, experiment)
            seen.add(str(label["faultload"]))
