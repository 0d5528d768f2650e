"""Which traffic signs there are, in two countries: plates, pictograms, names and national styles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import cos, pi

from farm.workloads.sign_pen import Colour, Path, arc

_ROOT3 = 3**0.5
_OCTAGON = 1 / cos(pi / 8)
_ARMS = [(0, -0.34), (0.7, -1), (1, -0.68), (0.33, 0), (1, 0.68), (0.7, 1)]

OUTLINES: Mapping[str, Path] = {
    "circle": arc(0, 0, 1, 1, 0, 350),
    "triangle": [(0, -0.93), (1, _ROOT3 - 0.93), (-1, _ROOT3 - 0.93)],
    "inverted triangle": [(0, 0.93), (1, 0.93 - _ROOT3), (-1, 0.93 - _ROOT3)],
    "square": [(-0.92, -0.92), (0.92, -0.92), (0.92, 0.92), (-0.92, 0.92)],
    "diamond": [(0, -1), (1, 0), (0, 1), (-1, 0)],
    "octagon": arc(0, 0, _OCTAGON, _OCTAGON, 22.5, 337.5, step=45),
    "pentagon": [(0, -1), (0.96, -0.12), (0.8, 0.92), (-0.8, 0.92), (-0.96, -0.12)],
    "saltire": [*_ARMS, *((-x, -y) for x, y in _ARMS)],
}
"""The shapes of the plates, each centred in the square from -1 to 1, y downwards."""


@dataclass(frozen=True)
class Plate:
    """A kind of sign: its outline, its layers of colour from the edge inwards, and where it is painted.

    Each layer is a colour and how far from the edge it begins.
    """

    outline: str
    layers: tuple[tuple[str, float], ...]
    ink: str = "black"
    size: float = 0.6
    centre: tuple[float, float] = (0.0, 0.0)


PLATES: Mapping[str, Plate] = {
    "prohibition": Plate("circle", (("red", 0), ("white", 0.2)), size=0.64),
    "end": Plate("circle", (("black", 0), ("white", 0.07)), size=0.72),
    "no entry": Plate("circle", (("white", 0), ("red", 0.06)), "white", 0.72),
    "no stopping": Plate("circle", (("red", 0), ("blue", 0.2)), size=0.78),
    "order": Plate("circle", (("white", 0), ("blue", 0.07)), "white", 0.66),
    "warning": Plate("triangle", (("red", 0), ("white", 0.13)), size=0.43, centre=(0, 0.2)),
    "give way": Plate("inverted triangle", (("red", 0), ("white", 0.2))),
    "stop": Plate("octagon", (("white", 0), ("red", 0.08)), "white", 0.74),
    "priority": Plate("diamond", (("black", 0), ("white", 0.04), ("yellow", 0.22))),
    "information": Plate("square", (("white", 0), ("blue", 0.08)), "white", 0.66),
    "caution": Plate("diamond", (("yellow", 0), ("black", 0.05), ("yellow", 0.11)), size=0.47),
    "school": Plate("pentagon", (("lime", 0), ("black", 0.05), ("lime", 0.11)), size=0.6, centre=(0, 0.14)),
    "fast road": Plate("square", (("white", 0), ("green", 0.08)), "white", 0.66),
    "marker": Plate("square", (("white", 0), ("black", 0.06)), "yellow", 0.7),
    "railway": Plate("saltire", (("red", 0),), "white", 1.0),
}


@dataclass(frozen=True)
class SignDesign:
    """One class of signs."""

    name: str
    plate: str
    pictogram: str


@dataclass(frozen=True)
class Style:
    """How a country paints: its colours, and how its rims, pictograms and strokes compare with the plan's."""

    palette: Mapping[str, Colour]
    rim: float = 1.0
    pictogram: float = 1.0
    weight: float = 1.0
    corner: float = 0.08
    """How round the corners of the plates are, as a share of the plate's half width."""


@dataclass(frozen=True)
class Country:
    """A catalogue of signs in one style; `name` is the workload's, and begins every id."""

    name: str
    style: Style
    designs: tuple[SignDesign, ...]

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the signs, in the order of their labels."""
        return tuple(design.name for design in self.designs)


def _designs(table: str) -> tuple[SignDesign, ...]:
    rows = ([cell.strip() for cell in line.split("|")] for line in table.strip().splitlines())
    return tuple(SignDesign(*row) for row in rows)


HOME = Country(
    "signs",
    Style(
        palette={
            "white": (240, 240, 238),
            "black": (26, 26, 28),
            "red": (200, 28, 38),
            "blue": (22, 82, 172),
            "yellow": (250, 196, 24),
            "amber": (245, 176, 28),
            "green": (24, 140, 76),
        }
    ),
    _designs(
        """
        speed-limit-30      | prohibition | 30
        speed-limit-50      | prohibition | 50
        speed-limit-80      | prohibition | 80
        speed-limit-100     | prohibition | 100
        no-overtaking       | prohibition | two cars
        no-lorries          | prohibition | lorry
        no-vehicles         | prohibition | nothing
        no-entry            | no entry    | bar
        end-of-restrictions | end         | diagonals
        danger              | warning     | exclamation
        bend-left           | warning     | bend left
        bend-right          | warning     | bend right
        crossroads          | warning     | diagonal cross
        pedestrians         | warning     | walker
        bicycles            | warning     | bicycle
        road-works          | warning     | digger
        traffic-signals     | warning     | lamps
        slippery-road       | warning     | skid
        give-way            | give way    | nothing
        stop                | stop        | stop
        priority-road       | priority    | nothing
        turn-left           | order       | turn left
        turn-right          | order       | turn right
        straight-on         | order       | up
        keep-left           | order       | down left
        keep-right          | order       | down right
        roundabout          | order       | roundabout
        cycle-path          | order       | bicycle
        pedestrian-crossing | information | crossing walker
        parking             | information | P
        """
    ),
)
"""The country that the classifier learns."""

ABROAD = Country(
    "signs-abroad",
    Style(
        palette={
            "white": (244, 236, 206),
            "black": (36, 32, 34),
            "red": (214, 62, 34),
            "blue": (18, 104, 168),
            "yellow": (246, 208, 40),
            "amber": (240, 164, 34),
            "green": (14, 122, 66),
            "lime": (190, 222, 40),
        },
        rim=1.25,
        pictogram=0.92,
        weight=1.15,
        corner=0.2,
    ),
    _designs(
        """
        speed-limit-50      | prohibition | 50
        speed-limit-80      | prohibition | 80
        no-entry            | no entry    | bar
        bend-left           | warning     | bend left
        pedestrians         | warning     | walker
        give-way            | give way    | nothing
        stop                | stop        | stop
        turn-right          | order       | turn right
        roundabout          | order       | roundabout
        parking             | information | P
        no-parking          | no stopping | slash
        no-stopping         | no stopping | red cross
        no-u-turn           | prohibition | u-turn
        minimum-speed-40    | order       | 40
        steep-hill          | warning     | slope
        animal-crossing     | caution     | deer
        two-way-traffic     | caution     | two-way
        school-zone         | school      | children
        level-crossing      | railway     | white arms
        sharp-turn          | marker      | chevron
        motorway            | fast road   | motorway
        dead-end            | information | dead end
        hospital            | information | H
        """
    ),
)
"""A second country: it shares the first ten classes with `HOME`, painted its own way, and adds others."""
