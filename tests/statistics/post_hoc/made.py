"""Networks whose mistakes are known: what they say, and what is right."""

from __future__ import annotations

import json

import numpy as np
from scipy.special import softmax


def classified(random, n, *, factor=2.0, noise=1.0, classes=4, apart=2.0):
    """Probabilities that are right at a noise of 1, but for logits that are too large by a factor."""
    labels = random.integers(0, classes, n)
    image = apart * np.eye(classes)[labels] + noise * random.normal(size=(n, classes))
    return softmax(factor * apart * image, axis=1), labels


def boxed(random, n, *, factor=2.0, off=0.0):
    """Boxes with normal errors, larger than their spread by a factor, and with a bias in spreads."""
    predicted, spread = random.uniform(0, 100, (n, 4)), random.uniform(0.5, 5, (n, 4))
    return predicted, spread, predicted + spread * (off + factor * random.normal(size=(n, 4)))


def as_json(record):
    """What is left of a record where JSON has been; NaN and infinity would not pass."""
    return json.loads(json.dumps(record, allow_nan=False))
