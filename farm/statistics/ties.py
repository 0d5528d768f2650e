"""Numbers that differ only by how a computer rounds are equal."""

from __future__ import annotations

import numpy as np

from farm.api.arrays import FloatArray

DIGITS = 12
"""Values that agree to so many significant digits tie. A float64 holds nearly 16; sums lose some."""


def settled(values: FloatArray, scale: float) -> FloatArray:
    """Round to 12 significant digits of `scale`, so that 0.3 - 0.2 and 0.2 - 0.1 tie.

    Examples
    --------
    >>> differences = np.array([0.3 - 0.2, 0.2 - 0.1])
    >>> len(set(differences.tolist())), len(set(settled(differences, 0.3).tolist()))
    (2, 1)
    """
    # A scale below 1e-200 is as good as 0, and 10 to the power of its digits would overflow.
    if scale < 1e-200:
        return values
    return np.asarray(np.round(values, DIGITS - 1 - int(np.floor(np.log10(scale)))), dtype=np.float64)
