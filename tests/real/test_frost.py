"""Frost is as strong on real images as the original, whose texture is cut from photographs."""

from __future__ import annotations

import numpy as np
import pytest

from faultloads.weather import Frost
from tests.faultloads.applying import apply


def test_frost_changes_images_as_much_as_the_original(data_folder):
    """At severity 5 the original makes them brighter by 0.32, with a PSNR (of the mean error) of 8.6."""
    parts = []
    for name in ("gtsrb", "cifar10"):
        with np.load(data_folder / f"{name}.npz") as arrays:
            parts.append(arrays["x_test"][:500])
    images = (np.concatenate(parts).transpose(0, 3, 1, 2) / 255).astype(np.float32)
    change = apply(Frost(), images, 5) - images
    assert change.mean() == pytest.approx(0.32, abs=0.01)
    assert -10 * np.log10(np.square(change, dtype=np.float64).mean()) == pytest.approx(8.6, abs=0.15)
