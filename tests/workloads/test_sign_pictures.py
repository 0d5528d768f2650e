"""Rendered signs stay what they were: that a pictogram is right a person sees, that it moved nobody does.

Results of today stand beside those of last year, so no constant of the drawing may change unnoticed.
"""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest
from numpy.typing import NDArray

from farm.api import Context
from farm.workloads.sign_camera import choose_view
from farm.workloads.sign_catalogue import ABROAD, HOME, Country
from farm.workloads.sign_scenes import PLACES, draw_face
from farm.workloads.signs import Signs
from tests.wording import same_text

PARTS = 8


def parts(picture: NDArray[np.float64]) -> str:
    """Return the means of the parts of a picture, row by row."""
    size = len(picture) // PARTS
    means = picture.reshape(PARTS, size, PARTS, size, -1).mean(axis=(1, 3, 4))
    return "\n".join(" ".join(f"{value:.2f}" for value in row) for row in means)


@pytest.mark.parametrize("country", [HOME, ABROAD], ids=["home", "abroad"])
def test_faces_are_drawn_as_they_were(country: Country) -> None:
    """In grey where there is a plate, and below it where there is none."""
    lines = []
    for design in country.designs:
        colours = np.asarray(draw_face(design, country.style), dtype=float) / 255
        grey = colours[..., :3] @ [0.5, 0.3, 0.2]
        lines += [f"{design.name}:", parts((0.2 + 0.8 * grey) * colours[..., 3])]
    same_text(lines)


def test_places_look_as_they_did() -> None:
    lines = []
    for name, paint in PLACES.items():
        for seed in range(4):
            lines += [f"{name} {seed}:", parts(paint(np.random.default_rng(seed)).astype(float))]
    same_text(lines)


def test_views_are_chosen_as_they_were() -> None:
    """Their numbers; textures are drawn by the generator alone."""
    lines = []
    for seed in range(30):
        view = asdict(choose_view(np.random.default_rng(seed)))
        plain = {name: value for name, value in view.items() if np.ndim(value) < 2}
        told = {
            name: np.round(np.asarray(value, dtype=float), 3).ravel().tolist()
            for name, value in plain.items()
        }
        lines.append(f"{seed}: {told}")
    same_text(lines)


def test_photographs_are_taken_as_they_were() -> None:
    """Of every light and weather, near and far: means of parts, and of the colours."""
    source = Signs(train_groups=2, validation_groups=2, test_groups=2, views=2)
    split = source.load(Context(seed=7)).test
    lines = []
    for place in range(0, len(split), 3):
        picture = split.images.read(np.array([place]))[0].transpose(1, 2, 0).astype(float)
        colours = " ".join(f"{value:.2f}" for value in picture.mean(axis=(0, 1)))
        lines += [f"{split.ids[place]}: {colours}", parts(picture)]
    same_text(lines)
