"""A map of monitors against faults: where a measure is good is blue, where it is bad is orange."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from farm.report.figures import style
from farm.report.figures.keys import sample

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GOOD = ("#f5f5f5", "#a9cfe5", "#4a97c9", "#1666a5", "#073b70")
BAD = ("#f5f5f5", "#fbcf9d", "#e8913d", "#b75a0c", "#6f3206")
DARK_INK, LIGHT_INK, NOWHERE = "#010101", "#fefefe", ("#ececec", "#555555")
"""Not the page's ink: what stands on a coloured cell stays what it is in the dark."""
CELL = 0.27


def heat_colour(value: float, low: float, high: float, higher_is_better: bool = True) -> tuple[str, str]:
    """Return the colours of a cell and of the number in it.

    The best value is dark blue. Where 0 lies between the ends it is pale, and the worst is dark orange;
    else the worst is pale.

    Examples
    --------
    >>> heat_colour(1.0, -1.0, 1.0, True), heat_colour(0.0, 0.0, 1.0, True)
    (('#073b70', '#fefefe'), ('#f5f5f5', '#010101'))
    """
    if math.isnan(value):
        return NOWHERE
    value = min(max(value, low), high)
    if not higher_is_better:
        value, low, high = -value, -high, -low
    if low < 0 < high:
        scale, share = (GOOD, value / high) if value >= 0 else (BAD, value / low)
    else:
        scale, share = GOOD, (value - low) / (high - low) if high > low else 0.0
    colour = _between(scale, share)
    return colour, max(DARK_INK, LIGHT_INK, key=lambda ink: contrast(ink, colour))


def contrast(one: str, other: str) -> float:
    """Return how far two colours are apart in lightness, from 1 to 21, as WCAG 2 has it.

    Examples
    --------
    >>> round(contrast("#000000", "#ffffff"), 1)
    21.0
    """
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    shares = [level / 255 for level in _levels(colour)]
    red, green, blue = (s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _levels(colour: str) -> list[int]:
    return [int(colour[at : at + 2], 16) for at in (1, 3, 5)]


def _between(scale: tuple[str, ...], share: float) -> str:
    place = share * (len(scale) - 1)
    at = min(int(place), len(scale) - 2)
    pairs = zip(_levels(scale[at]), _levels(scale[at + 1]), strict=True)
    return "#" + "".join(f"{round(one + (place - at) * (other - one)):02x}" for one, other in pairs)


@style.applied()
def heat_map(
    values: pd.DataFrame,
    *,
    measure: str,
    higher_is_better: bool = True,
    low: float = -1.0,
    high: float = 1.0,
    title: str = "",
) -> Figure:
    """Draw a table of faults (rows) and monitors (columns) in colours, each value written in its cell.

    Parameters
    ----------
    values
        Its index names the faults, its columns the monitors; NaN is undefined.
    measure
        Its name, and whether its higher values are better.
    low, high
        Where the colours end. The defaults are for MCC; a rate goes from 0.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"oob": [0.8, float("nan")], "odin": [-0.1, 0.4]}, index=["fog", "rain"])
    >>> [text.get_text() for text in heat_map(table, measure="MCC").axes[0].texts][:6]
    ['−0.10', '0.40', '–', '0.80', 'fog', 'rain']
    """
    if not values.notna().any(axis=None):
        return style.said(f"No {measure} is defined here.", title=title)
    faults, monitors = ([str(name) for name in names] for names in (values.index, values.columns))
    left = max(style.width_of(style.shortened(name)) for name in faults) + 0.25
    above = 0.72 * max(style.width_of(style.shortened(name)) for name in monitors) + 0.2
    cell = min(max((9.2 - left) / len(monitors), 0.4), 0.62)
    width, height = cell * len(monitors), CELL * len(faults)
    bottom = 2.2 * style.LINE_HEIGHT
    key = 4.2 + style.width_of(style.shortened(measure, 3.0))
    sheet = style.figure(left + max(width + above, key), bottom + height + above, title=title)
    axes = style.panel(sheet, left, bottom, width, height)
    axes.set(xlim=(0, len(monitors)), ylim=(len(faults), 0), xticks=[], yticks=[])
    axes.spines["bottom"].set_visible(False)
    table = values.to_numpy(dtype=float)
    _cells(axes, [[heat_colour(value, low, high, higher_is_better) for value in row] for row in table])
    written = []
    for (row, column), value in np.ndenumerate(table):
        _, ink = heat_colour(float(value), low, high, higher_is_better)
        told = "\N{EN DASH}" if math.isnan(value) else style.number(value)
        written.append((ink, column + 0.5, row + 0.5, told))
    # Those of one ink together take less room in a page.
    for ink, x, y, told in sorted(written, key=lambda cell: cell[0]):
        style.write(axes, x, y, told, color=ink, **style.CENTRED)
    for row, name in enumerate(faults):
        own = {"ha": "right", "va": "center_baseline", "color": style.INK}
        style.write(axes, -0.12, row + 0.5, style.shortened(name), **own)
    for column, name in enumerate(monitors):
        style.write(axes, column + 0.45, -0.25, style.shortened(name), color=style.INK, rotation=40)
    _key(sheet, left, measure, (low, high), higher_is_better)
    return sheet


def _cells(axes: Axes, colours: list[list[tuple[str, str]]]) -> None:
    """Fill the cells, and hatch those without a value."""
    from matplotlib.collections import LineCollection, PolyCollection

    corners, fills, hatches = [], [], []
    for y, row in enumerate(colours):
        for x, (colour, _) in enumerate(row):
            corners.append([(x, y), (x + 0.96, y), (x + 0.96, y + 0.94), (x, y + 0.94)])
            fills.append(colour)
            if (colour, _) == NOWHERE:
                hatches += [[(x + at, y + 0.94), (x + at + 0.2, y)] for at in (0.05, 0.2, 0.55, 0.7)]
    axes.add_collection(PolyCollection(corners, facecolors=fills, linewidths=0, clip_on=False))
    if hatches:
        axes.add_collection(LineCollection(hatches, colors=NOWHERE[1], linewidths=0.4, clip_on=False))


def _key(sheet: Figure, left: float, measure: str, ends: tuple[float, float], higher_is_better: bool) -> None:
    """Say which colour is which."""
    worst, best = ends if higher_is_better else ends[::-1]
    x, y = left, 0.12
    told = style.shortened(measure, 3.0), f"worst {style.number(worst, 'g')}"
    for words, ink in zip(told, (style.INK, style.FAINT), strict=True):
        style.write(sheet, x, y, words, color=ink)
        x += style.width_of(words) + 0.15
    for step in range(9):
        value = worst + (best - worst) * step / 8
        colour, _ = heat_colour(value, *ends, higher_is_better)
        sample(sheet, x + step * 0.2, y, 0.2, color=colour, linewidth=10)
    style.write(sheet, x + 1.9, y, f"best {style.number(best, 'g')}, \N{EN DASH} undefined")
