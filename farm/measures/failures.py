"""When an ordered stream fails: decisions that are wrong one after the other are one failure."""

from __future__ import annotations

import numpy as np

from farm.api.arrays import BoolArray, IntArray


def failures_begin(failed: BoolArray, position: IntArray, sequence: IntArray, part: IntArray) -> BoolArray:
    """Say at which instances a failure begins: at those that fail where the one before did not.

    Parameters
    ----------
    failed
        Which instances fail.
    position
        Their places in the stream, in any order.
    sequence
        The number of the sequence, such as a track, that each instance is of; no failure leaves its own.
    part
        The number of the part that each is counted in: what goes on in another one begins there anew.

    Examples
    --------
    >>> failed = np.array([False, True, True, True, False, True])
    >>> road = np.array([0, 0, 0, 1, 1, 1])
    >>> failures_begin(failed, np.arange(6), np.zeros(6), road).tolist()
    [False, True, False, True, False, True]
    """
    order = np.lexsort((position, sequence))
    goes_on = np.zeros(len(order), dtype=np.bool_)
    goes_on[1:] = failed[order[:-1]]
    for of in (sequence, part):
        goes_on[1:] &= of[order[1:]] == of[order[:-1]]
    begins = np.zeros(len(order), dtype=np.bool_)
    begins[order] = failed[order] & ~goes_on
    return begins
