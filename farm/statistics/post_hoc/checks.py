"""What is refused before anything is fitted to probabilities or boxes, or applied to them."""

from __future__ import annotations

import numpy as np

from farm.api.arrays import Features, FloatArray, IntArray, check_labels
from farm.errors import DataError
from farm.measures.calibration import why_no_probabilities
from farm.measures.localization import why_not_measured

FLOOR = float(np.finfo(np.float32).tiny)
"""Probabilities below it are taken for it, 1.2e-38: single precision has not all digits of smaller ones, and
0 has no logarithm."""


def checked(probabilities: Features, where: str, n_classes: int | None = None) -> FloatArray:
    """Return probabilities in double precision; refuse what are none, or of another number of classes.

    Examples
    --------
    >>> checked(np.array([[0.5, 0.25]]), "temperature")
    Traceback (most recent call last):
    farm.errors.DataError: temperature: the probabilities of instance 0 are off a sum of 1 by 0.25; expected 1
    """
    shape = probabilities.shape
    if len(shape) != 2 or n_classes not in (None, shape[1]):
        raise DataError(
            f"{where}: probabilities of shape {shape}; expected instances x {n_classes or 'classes'}"
        )
    try:
        why = why_no_probabilities(probabilities) if len(probabilities) else None
    except DataError as wrong:
        raise DataError(f"{where}: {wrong}") from None
    if why:
        raise DataError(f"{where}: {why}; expected those of all")
    return probabilities.astype(np.float64)


def labelled(probabilities: Features, labels: IntArray, where: str) -> FloatArray:
    """Return the same of validation data: there have to be some, each of a known class.

    Examples
    --------
    >>> labelled(np.array([[0.5, 0.5]]), np.array([-1]), "temperature")
    Traceback (most recent call last):
    farm.errors.DataError: temperature: label -1 at position 0; expected 0 to 1
    """
    found = checked(probabilities, where)
    if labels.shape != (len(found),):
        raise DataError(f"{where}: {len(found)} instances, labels of shape {labels.shape}; expected as many")
    if not len(found):
        raise DataError(f"{where}: no validation instances; expected some to fit to")
    check_labels(labels, found.shape[1], where)
    return found


def logarithms(probabilities: FloatArray) -> FloatArray:
    """Return the logarithms of probabilities, with those below `FLOOR` taken for it."""
    return np.log(np.maximum(probabilities, FLOOR))


def check_measurable(
    predicted: FloatArray,
    spread: FloatArray | None,
    target: FloatArray,
    where: str,
    sides: int | None = None,
) -> None:
    """Refuse boxes of which a side has no place, or no spread above 0 where there are spreads."""
    check_sides(predicted, where, sides)
    try:
        why = why_not_measured(predicted, target, spread)
    except DataError as wrong:
        raise DataError(f"{where}: {wrong}") from None
    if why:
        needed = (
            "a prediction and a target" if spread is None else "a prediction, a target and a spread above 0"
        )
        raise DataError(f"{where}: {why}; expected {needed} of each side")


def check_sides(predicted: FloatArray, where: str, sides: int | None = None) -> None:
    """Refuse what is no table of so many sides.

    Examples
    --------
    >>> check_sides(np.zeros(4), "conformal boxes", 4)
    Traceback (most recent call last):
    farm.errors.DataError: conformal boxes: predictions of shape (4,); expected instances x 4
    """
    if predicted.ndim != 2 or sides not in (None, predicted.shape[1]):
        raise DataError(
            f"{where}: predictions of shape {predicted.shape}; expected instances x {sides or 'sides'}"
        )
