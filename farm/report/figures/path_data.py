"""Paths of an SVG in few letters."""

from __future__ import annotations

import re
from functools import lru_cache

_NOTHING = re.compile(r"M[^a-z]*(?=M|$)")
_POINTS = {"M": 1, "L": 1, "Q": 2, "C": 3}


def relative(path: str, x: float = 0.0, y: float = 0.0) -> str:
    """Write a path in tenths, each point from the one before: that takes half the letters.

    Examples
    --------
    >>> relative("M 10 20.04 L 15.25 20 L 16 30 z", 1, 0)
    'M11 20h5.2l.8 10z'
    """
    tokens = path.split()
    written: list[str] = []
    at, last_x, last_y, before = 0, 0, 0, ""
    while at < len(tokens):
        command = tokens[at]
        at += 1
        if command == "z":
            written.append("z")
            before = "z"
            continue
        points = []
        for _ in range(_POINTS[command]):
            new_x, new_y = round(10 * (float(tokens[at]) + x)), round(10 * (float(tokens[at + 1]) + y))
            points.append((new_x, new_y) if command == "M" else (new_x - last_x, new_y - last_y))
            at += 2
        last_x, last_y = new_x, new_y
        command = command if command == "M" else command.lower()
        if command == "l":
            dx, dy = points[0]
            if dx == dy == 0:
                continue
            if dx == 0 or dy == 0:
                command = "h" if dy == 0 else "v"
                numbers = tenth(dx or dy)
            else:
                numbers = _pair(dx, dy)
        else:
            numbers = "".join(" " * (i > 0 and one[0] >= 0) + _pair(*one) for i, one in enumerate(points))
        if command != before or command == "M":
            written.append(command + numbers)
        else:
            written.append(numbers if numbers.startswith("-") else " " + numbers)
        before = command
    return _NOTHING.sub("", "".join(written))


def _pair(x: int, y: int) -> str:
    return f"{tenth(x)}{'' if y < 0 else ' '}{tenth(y)}"


@lru_cache(maxsize=20_000)
def tenth(tenths: int) -> str:
    """Write tenths, without what need not be written."""
    text = f"{tenths / 10:g}" if abs(tenths) < 1_000_000 else f"{tenths / 10:.0f}"
    return text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text
