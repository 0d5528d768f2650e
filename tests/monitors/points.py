"""Points of two classes, in place of what a layer makes of images."""

from __future__ import annotations

import numpy as np

from farm.api import Observation


def seen(points: np.ndarray, predicted: np.ndarray) -> Observation:
    """Return an observation of these points in the last hidden layer, each predicted with certainty."""
    n = len(points)
    return Observation(
        ids=np.arange(n).astype(str),
        images=np.zeros((n, 1, 2, 2), np.float32),
        probabilities=np.eye(2)[predicted],
        predicted=predicted,
        confidence=np.ones(n),
        activations={"last-hidden": points.astype(np.float32)},
    )
