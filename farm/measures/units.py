"""Sums that are the same in any order, to the last bit: of whole numbers of a small unit."""

from __future__ import annotations

import numpy as np

from farm.api.arrays import FloatArray

_HALF = 26


def in_units(values: FloatArray, bits: int) -> int:
    """Return the sum of numbers in units of 2**-bits, each rounded; none may then have more than 63 bits.

    Examples
    --------
    >>> in_units(np.array([0.5, 0.25]), 2)
    3
    """
    units = np.rint(np.ldexp(values, bits)).astype(np.int64)
    # In two halves, as the sum of a few thousand would be beyond what 64 bits hold.
    return (int((units >> _HALF).sum()) << _HALF) + int((units & ((1 << _HALF) - 1)).sum())
