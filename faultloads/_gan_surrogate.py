"""The classifier that stands in for the one under test while a GAN is trained: trained first, then frozen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import numpy as np

from farm.api import Classifier, FaultContext, ModelSource, Workload
from farm.errors import ComponentFailure, ParameterError, RequirementError
from farm.registry import make

Recipe = str | Mapping[str, Any]
"""A model's name, or a mapping with it and its parameters."""


def check_recipe(surrogate: Recipe) -> None:
    """Raise where a mapping names no model."""
    if isinstance(surrogate, Mapping) and "name" not in surrogate:
        raise ParameterError(f"surrogate is {surrogate!r}; expected a model's name, or a mapping with one")


def trained_surrogate(surrogate: Recipe, context: FaultContext, seed: int, who: str) -> Classifier | None:
    """Train it, or find it in the cache; in a dry run it is untrained, and None where it cannot be that."""
    parameters = {"name": surrogate} if isinstance(surrogate, str) else dict(surrogate)
    source = cast(ModelSource, make("model", parameters.pop("name"), parameters))
    if context.base.untrained:
        return source.untrained(context.workload, replace(context.base, seed=seed))
    found = context.trained(source, seed)
    if not found.capabilities.gradients:
        raise RequirementError(
            f"{who} needs gradients, which its surrogate '{found.name}' does not give: name one that gives "
            "them (surrogate: four-convolutions)"
        )
    return found


def accuracy_of(surrogate: Classifier, workload: Workload, who: str) -> float:
    """Return its accuracy on validation data; raise where it has learned next to nothing."""
    split = workload.validation
    right = sum(
        int((seen.predicted == split.labels[rows]).sum())
        for rows in split.chunks(256)
        for seen in [surrogate.observe(split.images.read(rows), ids=split.ids[rows])]
    )
    accuracy = right / len(split)
    chance = float(np.bincount(split.labels).max()) / len(split)
    # Twice as good as chance; where chance is great, halfway to being always right.
    least = min(2 * chance, (1 + chance) / 2)
    if accuracy < least:
        raise ComponentFailure(
            f"{who}: its surrogate '{surrogate.name}' has an accuracy of {accuracy:.2g} on validation data; "
            f"expected at least {least:.2g}, as the commonest class alone gives {chance:.2g}: give it more "
            "epochs (surrogate: {name: four-convolutions, epochs: 30}), or look at the labels"
        )
    return accuracy
