"""What a dependability evaluation takes, before it runs: measured by a few passes of an untrained network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from farm.config.experiment import Experiment

if TYPE_CHECKING:
    from farm.run.costs import Costs, SetSize

BESIDE = 0.35
"""Seconds of a stream beside all passes."""
A_STREAM, AN_IMAGE = 18_000, 70
"""Bytes of readouts, without layers."""
NOT_IN_IT = "transformers and attacks, monitors, reading images, and what metrics take when they are found"


@dataclass
class Sizes:
    """All streams of an evaluation, as if nothing of it were there yet."""

    cells: Sequence[tuple[Mapping[str, Any], Experiment]]
    costs: Costs

    def record(self) -> dict[str, Any]:
        """Return it as JSON; what could not be measured is null."""
        first = self.cells[0][1]
        size = self.costs.size(first.workload, first)
        trainings, spent = self.costs.training_seconds(first)
        streams, occlusion, images = self._passes(size)
        for _, one in self.cells:
            for fault in one.faultload:
                self.costs.open_images(fault, one)
        seconds = {"training": spent, "streams": streams, "heat maps": occlusion}
        return {
            "cells": len(self.cells),
            "trainings": trainings,
            "seconds": {name: round(value, 1) for name, value in seconds.items()} if images else None,
            "nbytes": A_STREAM * len(self.cells) + AN_IMAGE * images if images else None,
            "not_there": dict(self.costs.not_there),
            "not_in_it": [f"{name}: {why}" for name, why in self.costs.unknown.items()] + [NOT_IN_IT],
        }

    def _passes(self, size: SetSize | None) -> tuple[float, float, int]:
        """Return the seconds of streams and of heat maps, and how many images stream."""
        streams, occlusion, images = 0.0, 0.0, 0
        for _, one in self.cells:
            cost = self.costs.network(one)
            if size is None or cost is None:
                continue
            n = size.train if one.stream.split == "train" else size.test
            n = min(n, one.stream.length) if isinstance(one.stream.length, int) else n
            images += n
            streams += BESIDE + n * cost.seconds
            if one.occlusion is not None:
                # As if images were square; a wide one has more places.
                side = round((size.values / 3) ** 0.5)
                places = max((side - one.occlusion.window) // one.occlusion.stride + 1, 0) ** 2
                occlusion += min(one.occlusion.images, n) * places * cost.seconds
        return streams, occlusion, images
