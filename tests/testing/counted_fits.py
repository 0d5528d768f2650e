"""Monitors whose fits are counted, in a file of their own: identities go through all that it imports."""

from __future__ import annotations

import numpy as np

from farm.api import LAST_HIDDEN, Monitor, Needs
from farm.testing.fakes import FakeMonitor


class Mean(Monitor):
    """Learns the mean image, and counts its fits; refuses so many states."""

    fits = refusals = 0

    def __init__(self, *, shift: float = 0.0) -> None:
        self._shift = shift

    def _fit(self, data):
        Mean.fits += 1
        mean = np.mean([o.images.mean(axis=0) for o, _ in data], axis=0)
        return {
            "mean": np.asfortranarray(mean + self._shift),
            "n": np.array(3),
            "names": np.array(["é", "b"]),
        }

    def _load(self, state):
        if Mean.refusals:
            Mean.refusals -= 1
            raise ValueError("not like this")
        self._mean, self._names = state["mean"], state["names"]

    def _score(self, observation):
        return np.abs(observation.images - self._mean).mean(axis=(1, 2, 3))

    def notes(self):
        return {"names": self._names.tolist()}


class Forgetful(Mean):
    """Keeps what it learned beside its state."""

    def _fit(self, data):
        self._scale = 2.0
        return super()._fit(data)

    def _score(self, observation):
        return super()._score(observation) * getattr(self, "_scale", 1.0)


class Body(Mean):
    """Was made with what cannot be written down, and tells it as text."""

    def __init__(self, *, body=len) -> None:
        super().__init__()

    @property
    def parameters(self):
        return {"body": "len"}


class Hidden(Mean):
    """Needs a layer."""

    @property
    def needs(self):
        return Needs(layers=(LAST_HIDDEN,))


class Watching(FakeMonitor):
    """Tells which layers there were when it was fitted."""

    def __init__(self, *, seen, name) -> None:
        super().__init__(name=name)
        self._seen = seen

    def _fit(self, data):
        observation, _ = next(iter(data))
        self._seen.append(tuple(observation.activations))
        return {}
