"""Shaping by what an instance's own activations are: the few great ones, and all of them together."""

from __future__ import annotations

import numpy as np

from farm.api import FloatArray, check_number
from monitors.shaping import Shaping

GREATEST_EXPONENT = 200.0
"""Scaling stops at e to this power: far beyond any use, and still a finite number."""


class Scale(Shaping):
    """SCALE: all activations times the exponential of their sum over the sum of the greatest ones.

    Parameters
    ----------
    quantile
        The share of an instance's activations that are not among its greatest.

    Examples
    --------
    >>> Scale().parameters["quantile"]
    0.85
    """

    reference = (
        "Xu, Chen, Franchi, Yao: Scaling for training time and post-hoc out-of-distribution detection "
        "enhancement, ICLR 2024"
    )

    def __init__(self, *, quantile: float = 0.85) -> None:
        check_number("quantile", quantile, low=0, high=1)
        self._quantile = quantile

    def _shape(self, features: FloatArray) -> FloatArray:
        return features * _boost(features, greatest(features, self._quantile))


class Ash(Shaping):
    """ASH-S: only an instance's greatest activations stay, made larger for what the others were.

    Parameters
    ----------
    quantile
        The share of an instance's activations that are set to 0.

    Examples
    --------
    >>> Ash(quantile=0.65).parameters["quantile"]
    0.65
    """

    reference = (
        "Djurisic, Bozanic, Ashok, Liu: Extremely simple activation shaping for out-of-distribution "
        "detection, ICLR 2023"
    )

    def __init__(self, *, quantile: float = 0.9) -> None:
        check_number("quantile", quantile, low=0, high=1)
        self._quantile = quantile

    def _shape(self, features: FloatArray) -> FloatArray:
        kept = greatest(features, self._quantile)
        return kept * _boost(features, kept)


def greatest(features: FloatArray, quantile: float) -> FloatArray:
    """Set all but the greatest activations of each row to 0; at least one stays, and equal ones together.

    Examples
    --------
    >>> greatest(np.array([[1.0, 4.0, 2.0, 3.0]]), 0.5).tolist()
    [[0.0, 4.0, 0.0, 3.0]]
    """
    dropped = min(round(features.shape[1] * quantile), features.shape[1] - 1)
    least = np.partition(features, dropped, axis=1)[:, dropped, None]
    return np.where(features >= least, features, 0.0)


def _boost(features: FloatArray, kept: FloatArray) -> FloatArray:
    """Return the factor of each row: e to the power of the whole sum over the sum of what is kept."""
    whole, part = features.sum(axis=1), kept.sum(axis=1)
    ratio = np.divide(whole, part, out=np.zeros_like(whole), where=part != 0)
    result: FloatArray = np.exp(np.clip(ratio, -GREATEST_EXPONENT, GREATEST_EXPONENT))[:, None]
    return result
