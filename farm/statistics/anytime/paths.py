"""Bounds after each value of a whole stream."""

from __future__ import annotations

from typing import Literal, TypeAlias

from farm.api.arrays import FloatArray
from farm.api.component import check_choice
from farm.statistics.anytime.bernstein import BernsteinSequence
from farm.statistics.anytime.betting import BettingSequence

Method: TypeAlias = Literal["betting", "bernstein"]
METHODS = {"betting": BettingSequence, "bernstein": BernsteinSequence}


def path(
    values: FloatArray, level: float = 0.95, method: Method = "betting"
) -> tuple[FloatArray, FloatArray]:
    """Return the lower and the upper bound of a mean after each value from 0 to 1.

    Examples
    --------
    >>> import numpy as np
    >>> low, high = path(np.ones(100))
    >>> [round(float(low[n - 1]), 3) for n in (1, 10, 100)], float(high[-1])
    ([0.0, 0.605, 0.951], 1.0)
    """
    check_choice("method", method, tuple(METHODS))
    return METHODS[method](level).follow(values)
