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
