"""What physical bounds measure of an image by itself, and how far out it is, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from farm.api import Explanation, FloatArray, Images

MEASURES = {
    "black": ("mean brightness", "below"),
    "saturated": ("share of values at full scale", "above"),
    "flat": ("contrast", "below"),
}
"""What each check measures, and where no training image is."""


def measured(images: Images, checks: Sequence[str], full_scale: float) -> FloatArray:
    """Return one row an image and one column a check, higher = worse."""
    n, channels, height, width = images.shape
    pixels = images.reshape(n, channels, height * width)
    found = np.empty((n, len(checks)))
    for column, check in enumerate(checks):
        if check == "black":
            found[:, column] = -pixels.mean(axis=(1, 2))
        elif check == "saturated":
            found[:, column] = (pixels >= full_scale).mean(axis=(1, 2))
        else:
            found[:, column] = -_contrast(pixels)
    return found


def told_by_checks(
    checks: Sequence[str], values: FloatArray, worst: FloatArray, beyond: FloatArray
) -> Explanation:
    """Tell the check that finds most: its value, the worst of the training images, and how far beyond it is.

    Examples
    --------
    >>> told_by_checks(["black"], np.array([-0.05]), np.array([-0.2]), np.array([3.0])).reason
    "'black' finds most: mean brightness is 0.05, no training image is below 0.2 (3 std beyond)"
    """
    if not checks:
        return Explanation()
    at = int(beyond.argmax())
    what, side = MEASURES[checks[at]]
    value, bound, far = abs(float(values[at])), abs(float(worst[at])), float(beyond[at])
    where = f"{abs(far):.3g} std {'beyond' if far > 0 else 'within'}"
    said = f"{what} is {value:.3g}, no training image is {side} {bound:.3g} ({where})"
    order = [i for i in np.argsort(-beyond, kind="stable") if beyond[i] > 0]
    return Explanation(
        f"'{checks[at]}' finds most: {said}",
        {checks[i]: float(beyond[i]) for i in order},
        details={"check": checks[at], "value": value, "worst_in_training": bound},
    )


def with_frozen(told: Explanation, frozen: bool | None, score: float) -> Explanation:
    """Add what the comparison with the image before found; None where that is not known any more."""
    if frozen is None:
        note = "whether it is the same as the image before it is kept for the latest batch only"
    elif frozen:
        parts = {"frozen": score, **told.contributions}
        return Explanation("the same image as the one before it", parts, details={"check": "frozen"})
    else:
        note = "not the same as the image before it"
    return replace(told, reason="; ".join(filter(None, (told.reason, note))))


def _contrast(pixels: NDArray[np.float32]) -> NDArray[np.float32]:
    centred = pixels - pixels.mean(axis=2, keepdims=True)
    variance: NDArray[np.float32] = np.vecdot(centred, centred).mean(axis=1) / pixels.shape[2]
    return np.sqrt(variance)
