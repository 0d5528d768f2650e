"""What a camera does to the light that reaches it: exposure, blur and noise, for many pictures at once.

Pictures are N x height x width x 3. What is done to one does not depend on which others are with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from farm.api import BoolArray, FloatArray

Pixels: TypeAlias = NDArray[np.float32]

_PAD = 4


def column(values: Sequence[float]) -> Pixels:
    """Shape one number a picture so that it spreads over rows, columns and colours."""
    return np.array(values, np.float32)[:, None, None, None]


def exposed(
    picture: Pixels, exposures: Sequence[float], contrasts: Sequence[float], casts: Sequence[Pixels]
) -> Pixels:
    """Set exposure, contrast and white balance."""
    level = picture.mean(axis=(1, 2, 3), keepdims=True)
    # The camera makes up for most of the light, not for all of it.
    gain = column(exposures) * (0.42 / np.maximum(level, 0.05)) ** np.float32(0.7)
    cast = np.stack(casts)[:, None, None]
    return np.asarray(gain * cast * (level + column(contrasts) * (picture - level)), np.float32)


def blurred(
    picture: Pixels, defocus: Sequence[float], motions: Sequence[tuple[float, float]], pad: int = _PAD
) -> Pixels:
    """Blur every picture by its own defocus and motion, in pixels, in the frequency domain."""
    from scipy import fft  # it takes longer to import than pictures that are in the cache to read

    height, width = (side + 2 * pad for side in picture.shape[1:3])
    padded = np.pad(picture, ((0, 0), (pad, pad), (pad, pad), (0, 0)), "edge")
    down = np.fft.fftfreq(height).astype(np.float32)[:, None]
    across = np.fft.rfftfreq(width).astype(np.float32)[None, :]
    sigma, dx, dy = (
        np.array(values, np.float32)[:, None, None]
        for values in zip(
            *((one, *motion) for one, motion in zip(defocus, motions, strict=True)), strict=True
        )
    )
    transfer = np.exp(-2 * (np.pi * sigma) ** 2 * (down**2 + across**2)) * np.sinc(dx * across + dy * down)
    spectrum = fft.rfft2(padded, axes=(1, 2)) * transfer[..., None]
    result: Pixels = fft.irfft2(spectrum, (height, width), axes=(1, 2))
    return result[:, pad:-pad, pad:-pad]


def developed(picture: Pixels, noises: Sequence[float], sensor: Pixels) -> NDArray[np.uint8]:
    """Add the sensor's noise, and return bytes, N x 3 x height x width."""
    # Photons come one by one: the brighter, the noisier, over a floor of the electronics.
    picture = picture + column(noises) * np.sqrt(0.4 + np.clip(picture, 0, 1)) * sensor
    images = np.rint(np.clip(picture, 0, 1) * 255).astype(np.uint8).transpose(0, 3, 1, 2)
    return np.ascontiguousarray(images)


def boxes_around(outlines: BoolArray) -> FloatArray:
    """Return left, top, right, bottom of what is True, in pixels."""
    height, width = outlines.shape[1:]
    columns: BoolArray = np.asarray(outlines.any(axis=1))
    rows: BoolArray = np.asarray(outlines.any(axis=2))
    left, top = columns.argmax(axis=1), rows.argmax(axis=1)
    right, bottom = width - columns[:, ::-1].argmax(axis=1), height - rows[:, ::-1].argmax(axis=1)
    return np.stack([left, top, right, bottom], axis=1).astype(np.float64)
