"""Attacks that note what they act upon, in a file of their own: identities go through all that it imports."""

from __future__ import annotations

import numpy as np

from farm.api import Faulted, Faultload
from farm.testing.fakes import TinyModel


class Leaning(Faultload):
    """An attack whose pixels depend on the whole batch, as those of real ones do in their last bits."""

    category, uses_classifier, severities = "adversarial", True, (1, 2, 3)

    def __init__(self, *, strength=0.1, fails=False):
        self._strength, self._fails = strength, fails
        self.applied = []

    def _prepare(self, context):
        self._classifier = context.classifier
        return context.every_instance("adversarial")

    def _apply(self, images, labels, ids, severity, keys):
        if self._fails:
            raise ValueError("no gradient")
        self.applied.append(ids.tolist())
        seen = self._classifier.observe(images)
        lean = np.float32(self._strength * severity[0] * (0.1 + 0.05 * self._seed) * images.mean())
        changed = np.clip(images + lean * seen.confidence.astype(np.float32)[:, None, None, None], 0, 1)
        now = self._classifier.observe(changed).predicted
        # Labels of its own, and one measure left out, as the contract allows.
        return Faulted(changed, (labels + 1) % 4, {"success": (now != seen.predicted).astype(float)})


class Darker(Leaning):
    """An attack that takes little memory itself."""

    severities = ()

    def _apply(self, images, labels, ids, severity, keys):
        self.applied.append(ids.tolist())
        return Faulted(images / 2, labels)


class Called(Leaning):
    """An attack that is given a function, and tells its parameters in words of its own."""

    def __init__(self, *, change):
        super().__init__()
        self._change = change

    @property
    def parameters(self):
        return {"change": "a function"}

    def _apply(self, images, labels, ids, severity, keys):
        self.applied.append(ids.tolist())
        return Faulted(self._change(images), labels)


class OtherModel(TinyModel):
    """Another recipe of the same classifier."""
