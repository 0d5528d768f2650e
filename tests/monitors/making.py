"""How the tests that walk the registry make a monitor that cannot be made, or not soon, without arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from farm import registry
from farm.api import Monitor
from farm.errors import RequirementError

TARGETS = {name: entry.target for name, entry in registry.entries("monitor").items()}
NAMES = sorted(TARGETS)
REQUIRED: Mapping[str, Mapping[str, Any]] = {
    "adwin": {"of": "max-softmax"},
    "callable": {"function": "farm.testing.fakes:doubt"},
    "cusum": {"of": "max-softmax"},
    "ewma": {"of": "max-softmax"},
    "fusion": {"members": ["max-softmax", "knn"]},
    # Networks that learn enough to be seen at work, in seconds.
    "pixelcnn": {"network": {"epochs": 1, "filters": 4, "blocks": 1, "mixtures": 2}},
    "reconstruction": {"network": {"epochs": 3}},
    "martingale": {"of": "max-softmax"},
    "page-hinkley": {"of": "max-softmax"},
    "pytorch-ood": {"detector": "KNN"},
    "vote": {"members": ["max-softmax", "knn"]},
}


def make(name: str, **parameters: Any) -> Monitor:
    """Make it, with whatever it cannot do without.

    By its target, which spares looking through all installed packages for the name each time.
    """
    made = registry.monitor(TARGETS[name], **{**REQUIRED.get(name, {}), **parameters})
    made.name = name
    return made


def make_or_skip(name: str, **parameters: Any) -> Monitor:
    """Make it, or skip the test where the extra that it needs is not installed."""
    try:
        return make(name, **parameters)
    except RequirementError as error:
        pytest.skip(str(error))


def wants_what_lenet_lacks(monitor: Monitor) -> bool:
    """Say whether it asks for members or boxes; LeNet has no dropout, and says of no object where it is."""
    return monitor.needs.members > 0 or monitor.needs.boxes
