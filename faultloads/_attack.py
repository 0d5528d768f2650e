"""What all attacks share: whom they aim at, and how to tell whether they succeeded."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, cast

import numpy as np

from farm.api import (
    JSON,
    NO_ANSWER,
    Classifier,
    DrawKeys,
    FaultContext,
    Faulted,
    FaultTargets,
    FloatArray,
    Images,
    IntArray,
    ModelSource,
    PerInstance,
    StrArray,
)
from farm.errors import ParameterError, RequirementError
from farm.registry import make
from faultloads._instances import InstanceFault


class Attack(InstanceFault):
    """Small changes that are to make the classifier under test err.

    A subclass writes `_attack`. The right class is the instance's label; where no right answer remains, it is
    what the attacked classifier predicts. Success is measured on the classifier under test, whomever the
    attack aims at: 1 where its prediction is no longer what it was before the attack.
    """

    category = "adversarial"
    coherence = "instance"  # whoever attacks does so image by image
    uses_classifier = True
    needs_gradients: ClassVar[bool] = True

    def __init__(self, *, surrogate: str | Mapping[str, Any] | None = None) -> None:
        if isinstance(surrogate, Mapping) and "name" not in surrogate:
            raise ParameterError(
                f"surrogate is {surrogate!r}; expected a model's name, or a mapping with one"
            )
        self._surrogate = surrogate

    @abstractmethod
    def _attack(self, images: Images, labels: IntArray, random: PerInstance) -> Images: ...

    def _make_ready(self, context: FaultContext) -> None:
        self._target = self._attacked = context.classifier
        if self._surrogate is not None:
            self._attacked = _trained(self._surrogate, context)
        if self.needs_gradients and not self._attacked.capabilities.gradients:
            raise RequirementError(
                f"faultload '{self.name}' needs gradients, which classifier '{self._attacked.name}' does not "
                "give: name a surrogate that gives them (surrogate: lenet), or take 'square-attack', which "
                "asks for probabilities alone"
            )

    def _prepare(self, context: FaultContext) -> FaultTargets:
        targets = super()._prepare(context)
        attacked: dict[str, JSON] = {
            "attacked": self._attacked.name,
            "attacked_digest": self._attacked.digest,
            "attacked_is_surrogate": self._surrogate is not None,
        }
        return replace(targets, notes={**targets.notes, **attacked})

    def _apply(
        self, images: Images, labels: IntArray, ids: StrArray, severity: FloatArray, keys: DrawKeys
    ) -> Faulted:
        faulted = super()._apply(images, labels, ids, severity, keys)
        clean, now = (self._target.observe(seen).predicted for seen in (images, faulted.images))
        return faulted._replace(measured={**faulted.measured, "success": (clean != now).astype(np.float64)})

    def _change(
        self, images: Images, labels: IntArray, ids: StrArray, severity: FloatArray, random: PerInstance
    ) -> Images:
        del ids, severity
        if (labels == NO_ANSWER).any():
            labels = np.where(labels == NO_ANSWER, self._attacked.observe(images).predicted, labels)
        return self._attack(images, labels, random)


def _trained(recipe: str | Mapping[str, Any], context: FaultContext) -> Classifier:
    parameters = {"name": recipe} if isinstance(recipe, str) else dict(recipe)
    source = cast(ModelSource, make("model", parameters.pop("name"), parameters))
    if context.base.untrained:
        return source.untrained(context.workload, context.base) or context.classifier
    return source.classifier(context.workload, context.base)
