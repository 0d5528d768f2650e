"""Rendered scenes stay what they were: that a lorry is one a person sees, that it changed nobody does.

Results of today stand beside those of last year, so no constant of the drawing may change unnoticed.
"""

from __future__ import annotations

import numpy as np
import pytest

from farm.api import Context
from farm.workloads.scenes import Scenes
from tests.wording import same_text

PARTS = 6


@pytest.mark.parametrize("setup", ["home", "elsewhere"])
@pytest.mark.parametrize("objects", ["usual", "unusual", "unknown"])
def test_scenes_look_as_they_did(setup: str, objects: str) -> None:
    """Of each class: what is known of it, its box, the mean of each colour, and of parts of the picture."""
    split = Scenes(train=2, validation=1, test=1, setup=setup, objects=objects).load(Context(seed=3)).train
    lines = []
    for place in range(len(split)):
        picture = split.images.read(np.array([place]))[0].astype(float)
        said = ", ".join(str(split.conditions[name][place]) for name in ("kind", "weather", "light"))
        colours = " ".join(f"{value:.2f}" for value in picture.mean(axis=(1, 2)))
        lines.append(f"{split.ids[place]}: {said}; {split.boxes[place].astype(int).tolist()}; {colours}")
        side = picture.shape[1] // PARTS
        means = picture.reshape(3, PARTS, side, PARTS, side).mean(axis=(0, 2, 4))
        lines += [" ".join(f"{value:.2f}" for value in row) for row in means]
    same_text(lines)
