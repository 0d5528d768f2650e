"""What every registered fault is tried on by its name: worlds of the kit for faultloads."""

from __future__ import annotations

from farm import registry
from farm.api import Faultload
from farm.testing import fault_world
from farm.testing.fault_world import Prepared

LITTLE_TRAINING = {
    "epochs": 1,
    "width": 1,
    "latent": 4,
    "batch_size": 48,
    "seed": 0,
    "surrogate": {"name": "four-convolutions", "width": 8, "epochs": 20, "batch_size": 16, "augment": False},
}
NEEDED = {
    "novelty": {"workload": "elsewhere"},
    "compose": {"faults": ["gaussian-noise", {"name": "pixel-trap", "severity": 1}]},
    "square-attack": {"queries": 20},
    # As little training as there can be, of a seed of their own; without a limit that luck may not reach.
    "gan-lee": {"accuracy": None, **LITTLE_TRAINING},
    "gan-sricharan": {"classifier_loss": None, **LITTLE_TRAINING},
}
NAMES = sorted(registry.entries("faultload"))


def made(name: str, **arguments: object) -> Faultload:
    """Make a registered fault, with what it needs to be made."""
    return registry.faultload(name, **(NEEDED.get(name, {}) | arguments))


class World(fault_world.World):
    """One that faults are prepared in by name."""

    def prepare(self, name: str, seed: int = 0, **arguments: object) -> Prepared:
        """Make a fault, and have it prepared."""
        return self.ready(made(name, **arguments), seed)
