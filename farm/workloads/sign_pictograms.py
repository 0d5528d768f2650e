"""What is painted on the signs: one small function a pictogram, found by name in `PICTOGRAMS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from farm.workloads.sign_pen import Path, Pen, arc


def _numeral(text: str) -> Callable[[Pen], None]:
    width = 0.92 if len(text) < 3 else 1.04
    return lambda pen: pen.text(text, width, 0.72, 0.25 if len(text) < 3 else 0.2)


def _letter(text: str) -> Callable[[Pen], None]:
    return lambda pen: pen.text(text, 0.6, 0.9, 0.34)


def _nothing(pen: Pen) -> None:
    """Leave the face empty: some signs say all they have to say by shape and colour."""


def _stop(pen: Pen) -> None:
    pen.text("STOP", 1.05, 0.48, 0.19)


def _bar(pen: Pen) -> None:
    pen.polygon([(-1, -0.27), (1, -0.27), (1, 0.27), (-1, 0.27)])


def _car_from_behind(pen: Pen) -> None:
    pen.polygon([(-0.6, -0.85), (0.6, -0.85), (0.85, -0.1), (-0.85, -0.1)])
    pen.polygon([(-1, -0.15), (1, -0.15), (1, 0.6), (-1, 0.6)])
    pen.polygon([(-0.9, 0.5), (-0.5, 0.5), (-0.5, 0.95), (-0.9, 0.95)])
    pen.polygon([(0.5, 0.5), (0.9, 0.5), (0.9, 0.95), (0.5, 0.95)])
    pen.polygon([(-0.45, -0.65), (0.45, -0.65), (0.58, -0.2), (-0.58, -0.2)], "white")


def _two_cars(pen: Pen) -> None:
    _car_from_behind(pen.at(0.54, 0.05, 0.48))
    _car_from_behind(pen.at(-0.54, 0.05, 0.48).inked("red"))


def _lorry(pen: Pen) -> None:
    pen.polygon([(-1, -0.6), (0.3, -0.6), (0.3, 0.35), (-1, 0.35)])
    pen.polygon([(0.4, -0.3), (0.78, -0.3), (1, 0.05), (1, 0.35), (0.4, 0.35)])
    pen.polygon([(-1, 0.3), (1, 0.3), (1, 0.42), (-1, 0.42)])
    for x in (-0.6, 0.68):
        pen.disc(x, 0.5, 0.24, colour="white")
        pen.disc(x, 0.5, 0.19)


def _diagonals(pen: Pen) -> None:
    for shift in (-0.3, 0.0, 0.3):
        pen.stroke([(-0.78 + shift, 0.78 + shift), (0.78 + shift, -0.78 + shift)], 0.16)


def _exclamation(pen: Pen) -> None:
    pen.polygon([(-0.24, -0.95), (0.24, -0.95), (0.13, 0.4), (-0.13, 0.4)])
    pen.disc(0, 0.76, 0.22)


def _bend(side: int) -> Callable[[Pen], None]:
    path = [(-0.45, 0.95), (-0.45, 0.35), *arc(0.15, 0.3, 0.6, 0.6, 180, 260), (0.3, -0.36)]
    mirrored = [(side * x, y) for x, y in path]
    return lambda pen: pen.arrow(mirrored, 0.34, 0.55)


def _diagonal_cross(pen: Pen) -> None:
    pen.stroke([(-0.62, -0.62), (0.62, 0.62)], 0.36)
    pen.stroke([(-0.62, 0.62), (0.62, -0.62)], 0.36)


def _walker(pen: Pen) -> None:
    pen.disc(0.08, -0.8, 0.2)
    pen.stroke([(0.02, -0.45), (-0.04, 0.12)], 0.34)
    pen.stroke([(-0.04, 0.15), (0.3, 0.5), (0.36, 0.95)], 0.2)
    pen.stroke([(-0.06, 0.15), (-0.2, 0.58), (-0.52, 0.92)], 0.2)
    pen.stroke([(0.06, -0.46), (0.38, -0.15), (0.55, 0.05)], 0.15)
    pen.stroke([(-0.02, -0.46), (-0.38, -0.25), (-0.46, 0.08)], 0.15)


def _bicycle(pen: Pen) -> None:
    for x in (-0.6, 0.6):
        pen.ring(x, 0.3, 0.38, 0.13)
    pen.stroke([(-0.6, 0.3), (-0.28, -0.3), (0.4, -0.3), (0, 0.3), (-0.6, 0.3)], 0.12)
    pen.stroke([(0, 0.3), (-0.36, -0.46)], 0.12)
    pen.stroke([(-0.52, -0.48), (-0.2, -0.48)], 0.14)
    pen.stroke([(0.6, 0.3), (0.34, -0.58), (0.62, -0.62)], 0.12)


def _digger(pen: Pen) -> None:
    pen.disc(-0.22, -0.78, 0.2)
    pen.stroke([(-0.28, -0.42), (-0.5, 0.12)], 0.34)
    pen.stroke([(-0.5, 0.15), (-0.2, 0.45), (-0.24, 0.92)], 0.2)
    pen.stroke([(-0.54, 0.15), (-0.66, 0.55), (-0.9, 0.92)], 0.2)
    pen.stroke([(-0.24, -0.42), (0.1, -0.05), (0.32, 0.1)], 0.16)
    pen.stroke([(-0.1, -0.22), (0.55, 0.5)], 0.12)
    pen.polygon([(0.2, 0.98), (1, 0.98), (0.72, 0.5), (0.52, 0.44)])


def _lamps(pen: Pen) -> None:
    pen.polygon([(-0.38, -1), (0.38, -1), (0.38, 1), (-0.38, 1)])
    for y, colour in ((-0.64, "red"), (0.0, "amber"), (0.64, "green")):
        pen.disc(0, y, 0.27, colour=colour)


def _skid(pen: Pen) -> None:
    _car_from_behind(pen.at(0, -0.38, 0.56))
    for x in (-0.32, 0.42):
        pen.stroke([(x, 0.3), (x - 0.22, 0.52), (x + 0.14, 0.74), (x - 0.1, 1)], 0.15)


def _turn(side: int) -> Callable[[Pen], None]:
    path = [(-0.4, 0.9), (-0.4, 0.1), *arc(-0.1, 0.05, 0.3, 0.3, 180, 270), (0.25, -0.25)]
    mirrored = [(side * x, y) for x, y in path]
    return lambda pen: pen.arrow(mirrored, 0.36, 0.58)


def _arrow(path: Path) -> Callable[[Pen], None]:
    return lambda pen: pen.arrow(path, 0.36, 0.6)


def _roundabout(pen: Pen) -> None:
    for start in (-90, 30, 150):
        pen.arrow(arc(0, 0, 0.66, 0.66, start + 5, start + 68), 0.26, 0.36)


def _crossing_walker(pen: Pen) -> None:
    pen.polygon([(0, -1.02), (1.12, 0.95), (-1.12, 0.95)], "white")
    _walker(pen.at(0, 0.27, 0.58).inked("black"))
    for x in (-0.6, -0.3, 0.3, 0.6):
        pen.stroke([(x, 0.84), (x * 0.8, 0.68)], 0.1, "black")


def _deer(pen: Pen) -> None:
    pen.polygon([(-0.85, -0.05), (0.2, -0.2), (0.45, -0.6), (0.6, -0.5), (0.45, 0.25), (-0.8, 0.35)])
    pen.polygon([(0.38, -0.62), (0.62, -0.66), (0.95, -0.42), (0.9, -0.3), (0.5, -0.38)])
    for top, foot in ((-0.7, -0.95), (-0.6, -0.45), (0.25, 0.2), (0.36, 0.75)):
        pen.stroke([(top, 0.2), (foot, 0.98)], 0.15)
    pen.stroke([(0.5, -0.6), (0.35, -0.98)], 0.11)
    pen.stroke([(0.42, -0.78), (0.15, -0.9)], 0.1)
    pen.stroke([(0.55, -0.62), (0.68, -0.98)], 0.11)


def _children(pen: Pen) -> None:
    _walker(pen.at(-0.42, -0.06, 0.9))
    _walker(pen.at(0.5, 0.2, 0.66))


def _slash(pen: Pen) -> None:
    pen.stroke([(-0.8, -0.8), (0.8, 0.8)], 0.3, "red")


def _red_cross(pen: Pen) -> None:
    _slash(pen)
    pen.stroke([(-0.8, 0.8), (0.8, -0.8)], 0.3, "red")


def _u_turn(pen: Pen) -> None:
    pen.arrow([(0.42, 0.75), (0.42, -0.2), *arc(0, -0.2, 0.42, 0.42, 0, -180), (-0.42, 0.25)], 0.28, 0.4)
    pen.stroke([(-0.85, -0.85), (0.85, 0.85)], 0.18, "red")


def _slope(pen: Pen) -> None:
    pen.polygon([(-1.05, 0.85), (1.05, 0.85), (-1.05, -0.35)])
    pen.arrow([(-0.35, -0.6), (0.35, -0.2)], 0.2, 0.36)


def _two_way(pen: Pen) -> None:
    pen.arrow([(-0.45, 0.9), (-0.45, -0.45)], 0.28, 0.48)
    pen.arrow([(0.45, -0.9), (0.45, 0.45)], 0.28, 0.48)


def _white_arms(pen: Pen) -> None:
    for side in (-1, 1):
        pen.polygon([(side * x, y) for x, y in ((-0.86, -0.68), (-0.7, -0.84), (0.86, 0.68), (0.7, 0.84))])


def _motorway(pen: Pen) -> None:
    pen.polygon([(-0.95, 1), (-0.35, -0.95), (-0.12, -0.95), (-0.12, 1)])
    pen.polygon([(0.95, 1), (0.35, -0.95), (0.12, -0.95), (0.12, 1)])
    pen.polygon([(-1.05, -0.42), (1.05, -0.42), (1.05, -0.12), (-1.05, -0.12)])


def _dead_end(pen: Pen) -> None:
    pen.polygon([(-0.24, -0.35), (0.24, -0.35), (0.24, 1), (-0.24, 1)])
    pen.polygon([(-0.8, -0.85), (0.8, -0.85), (0.8, -0.35), (-0.8, -0.35)], "red")


def _chevron(pen: Pen) -> None:
    for x in (-0.62, 0.42):
        pen.polygon([(x - 0.5, -1), (x, -1), (x + 0.6, 0), (x, 1), (x - 0.5, 1), (x + 0.1, 0)])


PICTOGRAMS: Mapping[str, Callable[[Pen], None]] = {
    "nothing": _nothing,
    "30": _numeral("30"),
    "40": _numeral("40"),
    "50": _numeral("50"),
    "80": _numeral("80"),
    "100": _numeral("100"),
    "stop": _stop,
    "bar": _bar,
    "two cars": _two_cars,
    "lorry": _lorry,
    "diagonals": _diagonals,
    "exclamation": _exclamation,
    "bend left": _bend(-1),
    "bend right": _bend(1),
    "diagonal cross": _diagonal_cross,
    "walker": _walker,
    "bicycle": _bicycle,
    "digger": _digger,
    "lamps": _lamps,
    "skid": _skid,
    "turn left": _turn(-1),
    "turn right": _turn(1),
    "up": _arrow([(0, 0.95), (0, -0.4)]),
    "down right": _arrow([(-0.62, -0.62), (0.28, 0.28)]),
    "down left": _arrow([(0.62, -0.62), (-0.28, 0.28)]),
    "roundabout": _roundabout,
    "crossing walker": _crossing_walker,
    "P": _letter("P"),
    "H": _letter("H"),
    "deer": _deer,
    "children": _children,
    "slash": _slash,
    "red cross": _red_cross,
    "u-turn": _u_turn,
    "slope": _slope,
    "two-way": _two_way,
    "white arms": _white_arms,
    "motorway": _motorway,
    "dead end": _dead_end,
    "chevron": _chevron,
}
