"""Two recording setups: each has a camera, and streets and vehicles of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from farm.workloads.scene_solids import Colour, Range
from farm.workloads.sign_catalogue import ABROAD, HOME, Country


@dataclass(frozen=True)
class Setup:
    """What all scenes of one recording have in common; ranges are of metres, or shares of the usual."""

    camera_height: Range
    sharpness: float
    """Pixels a unit of tangent: what is far away is seen with few of them."""
    defocus: Range
    """Widths of the blur, in 48ths of a picture."""
    noise: float
    contrast: Range
    cast: Colour
    """The white balance's mistake in red, green and blue."""
    country: Country
    cars: Mapping[str, float]
    """How often each kind of car is met."""
    paints: tuple[Colour, ...]
    buses: tuple[Colour, ...]
    bonnets: float
    """How many lorries have one; the others' drivers sit above the engine."""
    housings: tuple[Colour, ...]
    """Of traffic lights."""
    boards: float
    """How many traffic lights stand before a dark board."""
    clothes: tuple[Colour, ...]
    walls: tuple[Colour, ...]
    asphalt: Colour
    places: Mapping[str, float]
    """How often a street is one of a town, of a suburb, of the country."""
    half_road: Range
    driving_left: bool


_BLACK, _WHITE, _SILVER, _GREY = (0.08, 0.08, 0.09), (0.9, 0.9, 0.88), (0.66, 0.67, 0.69), (0.36, 0.37, 0.39)
_RED, _BLUE, _NAVY, _GREEN = (0.66, 0.1, 0.1), (0.15, 0.32, 0.62), (0.1, 0.14, 0.28), (0.12, 0.3, 0.18)
_BEIGE, _BROWN, _YELLOW, _ORANGE = (
    (0.74, 0.68, 0.54),
    (0.36, 0.24, 0.16),
    (0.88, 0.72, 0.14),
    (0.85, 0.42, 0.1),
)
_SKY, _PINK, _OLIVE = (0.5, 0.68, 0.82), (0.8, 0.5, 0.55), (0.4, 0.42, 0.22)

SETUPS: Mapping[str, Setup] = {
    "home": Setup(
        camera_height=(1.25, 1.55),
        sharpness=900,
        defocus=(0.25, 0.6),
        noise=0.01,
        contrast=(0.85, 1.15),
        cast=(1.0, 1.0, 1.0),
        country=HOME,
        cars={"saloon": 0.38, "hatchback": 0.17, "estate": 0.1, "off-roader": 0.28, "van": 0.07},
        paints=(_BLACK, _WHITE, _SILVER, _GREY, _RED, _BLUE, _NAVY, _BEIGE),
        buses=(_RED, _BLUE, _YELLOW, _YELLOW),
        bonnets=0.15,
        housings=(_BLACK, (0.14, 0.15, 0.14), _YELLOW),
        boards=0.35,
        clothes=(_BLACK, _NAVY, _GREY, _RED, _BLUE, _WHITE, _BROWN, _GREEN, _BEIGE, _YELLOW),
        walls=((0.6, 0.52, 0.44), (0.68, 0.66, 0.62), (0.5, 0.36, 0.3), (0.46, 0.47, 0.5), (0.75, 0.7, 0.6)),
        asphalt=(0.33, 0.33, 0.35),
        places={"town": 0.5, "suburb": 0.35, "country": 0.15},
        half_road=(4.5, 8.0),
        driving_left=False,
    ),
    "elsewhere": Setup(
        camera_height=(1.7, 2.0),
        sharpness=600,
        defocus=(0.35, 0.75),
        noise=0.014,
        contrast=(0.8, 1.05),
        cast=(1.03, 1.0, 0.95),
        country=ABROAD,
        cars={"saloon": 0.12, "hatchback": 0.42, "estate": 0.24, "off-roader": 0.07, "van": 0.15},
        paints=(_BLACK, _WHITE, _SKY, _GREY, _BROWN, _GREEN, _OLIVE, _SILVER),
        buses=(_RED, _ORANGE, _YELLOW, _SKY),
        bonnets=0.6,
        housings=(_GREEN, _GREY, _BLACK),
        boards=0.05,
        clothes=(_BLACK, _OLIVE, _GREY, _PINK, _SKY, _WHITE, _BROWN, _ORANGE),
        walls=(
            (0.62, 0.34, 0.26),
            (0.85, 0.78, 0.62),
            (0.8, 0.62, 0.46),
            (0.72, 0.74, 0.7),
            (0.55, 0.3, 0.24),
        ),
        asphalt=(0.37, 0.36, 0.35),
        places={"town": 0.4, "suburb": 0.25, "country": 0.35},
        half_road=(3.0, 5.0),
        driving_left=True,
    ),
}
