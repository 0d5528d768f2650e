"""Images that components note: one below the other in a picture, as text."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from typing import Any

import numpy as np
from PIL import Image


def noted_images(notes: Mapping[str, Any]) -> np.ndarray:
    """Return the images that stand in notes as `samples`, in their `size`: N x height x width x channels."""
    with Image.open(io.BytesIO(base64.b64decode(notes["samples"]))) as strip:
        rows = np.asarray(strip, dtype=np.uint8)
    height, width = notes["size"]
    return rows.reshape(-1, height, width, 1 if rows.ndim == 2 else 3)
