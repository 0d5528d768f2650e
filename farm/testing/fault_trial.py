"""One faultload on trial: made and prepared anew as often as rules want it."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from farm.api import Faulted, Faultload, Images, IntArray
from farm.errors import DataError
from farm.testing.fault_world import Prepared, World, worlds
from farm.testing.rules import Breach
from farm.testing.trial import ComponentTrial

STEP, FEW = 1e-4, 0.02
"""Of what looks at the classifier, so few pixels may differ by more than this where its batch differs."""
SIDE, SQUARE = 96, (slice(16, 40), slice(24, 48))
"""An image, and a square in it beside the middle: of whole blocks of a JPEG file, and far from the border."""


class FaultTrial(ComponentTrial[Faultload]):
    """Prepares and applies a faultload on colour images, or on grey ones where it refuses these."""

    kind = "faultload"

    @cached_property
    def world(self) -> World:
        """What it is tried on."""
        colour, grey = worlds()["colour"], worlds()["grey"]
        try:
            colour.ready(self.make()).apply(np.arange(1))
        except DataError:
            return grey
        except Exception:  # noqa: BLE001 - what else is the matter is for a rule to find
            return colour
        return colour

    @cached_property
    def ready(self) -> Prepared:
        """It, prepared."""
        return self.prepared()

    @cached_property
    def faulted(self) -> Faulted:
        """What it makes at its highest severity."""
        return self.ready.apply(self.rows)

    @property
    def rows(self) -> IntArray:
        """The instances that most rules look at: every other one."""
        return np.arange(0, len(self.ready.targets.indices), 2)

    def prepared(self, seed: int = 0) -> Prepared:
        """Make and prepare it anew."""
        return self.world.ready(self.make(), seed)

    @property
    def acts_on_its_own(self) -> bool:
        """Whether it acts upon the workload's own instances, and brings none from elsewhere."""
        return self.ready.targets.split is self.world.workload.test

    def strayed(self) -> float:
        """Say how far beside the place that the fault tells a bright square is seen, in pixels.

        Seen is what the square changes in the faulted image, but for a change of the whole image. Only what
        is seen where nothing of it is told counts, since dirt may cover any part of the rest.
        """
        shape = (self.world.workload.shape[0], SIDE, SIDE)
        ready = World(shape, n=8).ready(self.make())
        rows = np.arange(len(ready.targets.indices))
        dark = np.full((len(rows), *shape), 0.25, dtype=np.float32)
        dark[..., 0, 0], dark[..., -1, -1] = 0, 1  # so that no image is stretched otherwise than the other
        square = np.zeros_like(dark)
        square[..., SQUARE[0], SQUARE[1]] = 1
        bright = ready.apply(rows, images=np.where(square == 1, np.float32(0.75), dark)).images
        change = bright - ready.apply(rows, images=dark).images
        seen = np.abs(change - np.median(change, axis=(2, 3), keepdims=True)).mean(axis=1)
        ids = ready.targets.split.ids[ready.targets.indices[rows]]
        told = ready.fault.follow(square, ids, np.full(len(rows), ready.highest)).mean(axis=1)
        outside = seen * (told == 0) / np.maximum(seen.sum(axis=(1, 2), keepdims=True), 1e-6)
        beside = []
        for place in np.mgrid[:SIDE, :SIDE]:
            middle = (place * told).sum(axis=(1, 2)) / np.maximum(told.sum(axis=(1, 2)), 1e-6)
            beside.append(((place - middle[:, None, None]) * outside).sum(axis=(1, 2)))
        return float(np.hypot(*beside).mean())

    def differ(self, one: Images, other: Images) -> bool:
        """Say whether images are not the same; gradients are sums, whose last bits the batch decides."""
        if self.given.uses_classifier:
            return bool((np.abs(one - other) > STEP).mean() > FEW)
        return not np.array_equal(one, other)

    def same(self, one: Images, other: Images, when: str) -> None:
        """Raise where images that should be the same are not."""
        if self.differ(one, other):
            n = int((one != other).any(axis=(1, 2, 3)).sum())
            raise Breach(f"{n} of {len(one)} images come out otherwise {when}; expected the same bits")
