"""What explanations have in common: the parts of a score that weigh most, by name."""

from __future__ import annotations

import numpy as np

from farm.api import FloatArray, IntArray

MOST = 10
"""So many parts of a score are told."""


def heaviest(layer: str, parts: FloatArray, neurons: IntArray | None = None) -> dict[str, float]:
    """Name the largest parts of a score after the neurons they come from, and leave out what adds nothing.

    Examples
    --------
    >>> heaviest("fc2", np.array([0.5, -1.0, 0.0, 2.0]))
    {'fc2[3]': 2.0, 'fc2[0]': 0.5}
    """
    order = np.argsort(-parts, kind="stable")[:MOST]
    names = np.arange(len(parts)) if neurons is None else neurons
    return {
        f"{layer}[{int(names[i])}]": float(parts[i]) for i in order if np.isfinite(parts[i]) and parts[i] > 0
    }
