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
    BoolArray,
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
from faultloads._classes import class_number
from faultloads._instances import InstanceFault


class Attack(InstanceFault):
    """Small changes that are to make the classifier under test err.

    A subclass writes `_attack`. The right class is the instance's label; where no right answer remains, it is
    what the attacked classifier predicts. Success is measured on the classifier under test, whomever the
    attack aims at: 1 where its prediction is no longer what it was before the attack or, with a `target`, is
    that class; NaN where the image was left alone.
    """

    category = "adversarial"
    coherence = "instance"  # whoever attacks does so image by image
    objects = "stay"
    uses_classifier = True
    needs_gradients: ClassVar[bool] = True

    def __init__(
        self,
        *,
        surrogate: str | Mapping[str, Any] | None = None,
        target: str | int | None = None,
        skip_wrong: bool = False,
    ) -> None:
        if isinstance(surrogate, Mapping) and "name" not in surrogate:
            raise ParameterError(
                f"surrogate is {surrogate!r}; expected a model's name, or a mapping with one"
            )
        self._surrogate, self._wished, self._skip_wrong = surrogate, target, skip_wrong
        self._aim: int | None = None

    @abstractmethod
    def _attack(self, images: Images, labels: IntArray, random: PerInstance) -> Images: ...

    def _make_ready(self, context: FaultContext) -> None:
        self._target = self._attacked = context.classifier
        if self._wished is not None:
            self._aim = class_number(context.workload, self._wished, "target")
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
        clean, now = (self._target.observe(seen, ids=ids).predicted for seen in (images, faulted.images))
        success = (clean != now if self._aim is None else now == self._aim).astype(np.float64)
        success[self._left_alone(labels, clean)] = np.nan
        return faulted._replace(measured={**faulted.measured, "success": success})

    def _change(
        self, images: Images, labels: IntArray, ids: StrArray, severity: FloatArray, random: PerInstance
    ) -> Images:
        del severity
        predicted = self._target.observe(images, ids=ids).predicted if self._skip_wrong else labels
        left_alone = self._left_alone(labels, predicted)
        if (labels == NO_ANSWER).any():
            labels = np.where(labels == NO_ANSWER, self._attacked.observe(images, ids=ids).predicted, labels)
        if not left_alone.any():
            return self._attack(images, labels, random)
        result, rows = images.copy(), np.flatnonzero(~left_alone)
        if rows.size:
            chosen = PerInstance(self._seed, self.name, ids[rows])
            result[rows] = self._attack(images[rows], labels[rows], chosen)
        return result

    def _left_alone(self, labels: IntArray, predicted: IntArray) -> BoolArray:
        """Tell which images are not attacked: those that show the target, and wrong ones if so asked."""
        left_alone: BoolArray = (labels != NO_ANSWER) & (predicted != labels) & self._skip_wrong
        if self._aim is not None:
            left_alone |= labels == self._aim
        return left_alone


def reach(images: Images, eps: float) -> tuple[Images, Images]:
    """Return the least and the greatest value of each pixel that lies no further away than `eps`.

    To the last bit: a sum of two floating-point numbers may be rounded to beyond.
    """
    step = np.float32(eps)
    if float(step) > eps:
        step = np.nextafter(step, np.float32(0))
    low, high = images - step, images + step
    low = np.where(images.astype(np.float64) - low > step, np.nextafter(low, np.float32(2)), low)
    high = np.where(high.astype(np.float64) - images > step, np.nextafter(high, np.float32(-2)), high)
    return np.maximum(low, 0), np.minimum(high, 1)


def _trained(recipe: str | Mapping[str, Any], context: FaultContext) -> Classifier:
    parameters = {"name": recipe} if isinstance(recipe, str) else dict(recipe)
    source = cast(ModelSource, make("model", parameters.pop("name"), parameters))
    if context.base.untrained:
        return source.untrained(context.workload, context.base) or context.classifier
    return context.trained(source)
