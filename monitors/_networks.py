"""Networks of a monitor's own: asked for, kept among its arrays, made again, run once for all monitors."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from farm.api import (
    JSON,
    Classifier,
    FitData,
    FloatArray,
    Images,
    Network,
    Observation,
    OwnNetwork,
    State,
    TrainedNetwork,
)
from farm.errors import ParameterError, RequirementError
from farm.registry import restored

RECIPE = "recipe"
OUTLIER = "outlier"
"""The class of outliers, where a classifier of a monitor's own tells them from in-distribution images."""
OD_TEST = (
    "Shafaei, Schmidt, Little: A less biased evaluation of out-of-distribution sample detectors, BMVC 2019"
)
"""Where many methods with networks of their own, or with outliers, stand side by side."""
PLAIN = (bool, int, float, str, type(None))


def own_network(name: str, asked: Mapping[str, Any] | None, **fixed: JSON) -> OwnNetwork:
    """Return what to ask the testbed for: a registered network with the parameters that somebody sets.

    Monitors that want the same share it, so that names come in one order.

    Examples
    --------
    >>> own_network("autoencoder", {"epochs": 5}, loss="mse").parameters
    (('epochs', 5), ('loss', 'mse'))
    """
    if asked is not None and not isinstance(asked, Mapping):
        raise ParameterError(f"network is {asked!r}; expected the parameters of network '{name}' by name")
    own = dict(asked or {})
    for key, value in own.items():
        if not isinstance(key, str) or key in fixed:
            why = "which is a parameter of the monitor" if key in fixed else "which is no text"
            raise ParameterError(f"network has the parameter {key!r}, {why}")
        values = value if isinstance(value, list | tuple) else [value]
        if not all(isinstance(each, PLAIN) for each in values):
            raise ParameterError(f"network: {key} is {value!r}; expected a number, text or a list of such")
        own[key] = tuple(value) if isinstance(value, list) else value
    return OwnNetwork(name, tuple(sorted({**own, **fixed}.items())))


def packed(needs: Sequence[OwnNetwork], data: FitData) -> dict[str, NDArray[Any]]:
    """Take the trained networks as arrays of a monitor's own state; what is no array goes in as JSON."""
    state: dict[str, NDArray[Any]] = {}
    for i, need in enumerate(needs):
        trained = data.networks[need]
        recipe = {
            "kind": trained.kind,
            "name": trained.name,
            "parameters": dict(trained.parameters),
            "shape": trained.shape,
            "classes": trained.classes,
            "notes": dict(trained.notes),
        }
        state[f"network{i}.{RECIPE}"] = np.frombuffer(json.dumps(recipe).encode(), dtype=np.uint8)
        state.update({f"network{i}.state.{name}": array for name, array in trained.state.items()})
    return state


def unpacked(state: State) -> list[TrainedNetwork]:
    """Return the networks that `packed` put into a state."""
    found: list[TrainedNetwork] = []
    while (key := f"network{len(found)}.{RECIPE}") in state:
        recipe = json.loads(state[key].tobytes())
        prefix = f"network{len(found)}.state."
        own = {name.removeprefix(prefix): array for name, array in state.items() if name.startswith(prefix)}
        shape, classes = tuple(recipe.pop("shape")), tuple(recipe.pop("classes"))
        found.append(TrainedNetwork(**recipe, shape=shape, classes=classes, state=own))
    return found


def training_notes(state: State) -> dict[str, JSON]:
    """Say of each network how its training went, and of a classifier how many classes it tells apart."""
    notes: list[JSON] = []
    for trained in unpacked(state):
        told: dict[str, JSON] = {}
        if trained.classes and trained.notes:
            told = {"classes": len(trained.classes), "against_outliers": OUTLIER in trained.classes}
        notes.append({**trained.notes, **told})
    return {"networks": notes} if any(notes) else {}


def networks_in(state: State) -> list[Network]:
    """Make the networks that are no classifiers again."""
    return [cast(Network, restored(trained)) for trained in unpacked(state)]


def output_of(network: Network, name: str, observation: Observation) -> FloatArray:
    """Return an output for these images, once for all monitors with an equal network."""
    return observation.once(network.output(name), observation.images)


@dataclass(frozen=True)
class OwnClassifier:
    """A classifier of a monitor's own; `Observation.once` runs it once for all monitors with an equal one."""

    digest: str
    classifier: Classifier = field(compare=False, repr=False)

    def __call__(self, images: Images) -> Observation:
        return self.classifier.observe(images)

    def seen(self, observation: Observation) -> Observation:
        """Return what it sees where the classifier under watch saw this."""
        return observation.once(self, observation.images)

    def logits(self, observation: Observation) -> FloatArray:
        """Return its logits in float64."""
        found = self.seen(observation).logits
        if found is None:
            raise RequirementError(
                f"logits are needed, which classifier '{self.classifier.name}' does not give"
            )
        return found.astype(np.float64)


def classifiers_in(state: State) -> list[OwnClassifier]:
    """Make the classifiers again."""
    made = [cast(Classifier, restored(trained)) for trained in unpacked(state)]
    return [OwnClassifier(each.digest, each) for each in made]
