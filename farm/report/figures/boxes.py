"""Where the classifier says objects are: on a few images beside the truth, and whether its spread is true."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from farm.api.arrays import FloatArray
from farm.report.figures import style
from farm.report.figures.keys import key
from farm.report.figures.multiples import ACROSS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from farm.measures.localization import Level

COLUMNS = 4
SIDE = 1.5
"""The longer side of an image, in inches."""
BELOW = 0.45
"""The room for what stands under an image."""
TRUTH: dict[str, Any] = {"color": "#00e5ff", "linewidth": 1.3}
PREDICTED: dict[str, Any] = {"color": "#ff8c1a", "linewidth": 1.3, "linestyle": style.DASHES[1]}
"""Not the page's colours: what lies on an image stays what it is in the dark."""


@dataclass(frozen=True)
class BoxedImage:
    """An image (H x W x 1 or 3), perhaps smaller than what was seen, which was `size` high and wide.

    `truth` and `predicted` are left, top, right and bottom there; `says` is a line about it.
    """

    pixels: NDArray[np.uint8]
    size: tuple[int, int]
    truth: FloatArray
    predicted: FloatArray
    says: str = ""


@style.applied()
def boxes_on_images(images: Sequence[BoxedImage], *, title: str = "") -> Figure:
    """Draw images, each with where its object is and where the classifier says that it is.

    Examples
    --------
    >>> grey, box = np.full((8, 8, 1), 128, np.uint8), np.array([2.0, 2.0, 6.0, 6.0])
    >>> one = BoxedImage(grey, (8, 8), box, box + 1, "stop, IoU 0.39")
    >>> [text.get_text() for text in boxes_on_images([one]).axes[0].texts]
    ['stop, IoU 0.39']
    """
    if not images:
        return style.said("There are no images with boxes to show.", title=title)
    columns = min(len(images), COLUMNS)
    rows = -(-len(images) // columns)
    width = max(0.1 + columns * (SIDE + ACROSS), 3.6)
    sheet = style.figure(width, 0.4 + rows * (SIDE + BELOW), title=title)
    for place, one in enumerate(images):
        row, column = divmod(place, columns)
        corner = 0.1 + column * (SIDE + ACROSS), 0.3 + (rows - 1 - row) * (SIDE + BELOW) + BELOW
        _image(style.panel(sheet, *corner, SIDE, SIDE), one)
    key(sheet, 0.1, 0.12, [("where it is", TRUTH), ("where the classifier says it is", PREDICTED)])
    return sheet


def _image(axes: Axes, one: BoxedImage) -> None:
    height, width = one.size
    longer = max(height, width)
    axes.spines["bottom"].set_visible(False)
    pixels = np.repeat(one.pixels, 3, axis=2) if one.pixels.shape[2] == 1 else one.pixels
    axes.imshow(pixels, extent=(0, width, height, 0), interpolation="none", aspect="auto")
    for box, look in ((one.truth, TRUTH), (one.predicted, PREDICTED)):
        if np.isfinite(box).all():
            left, top, right, bottom = np.clip(box, -longer, 2 * longer)
            corners = [left, right, right, left, left], [top, top, bottom, bottom, top]
            axes.plot(*corners, color="#010101", linewidth=2.4)
            axes.plot(*corners, **look)
    axes.set(xlim=(0, longer), ylim=(longer, 0), xticks=[], yticks=[])
    style.write(axes, 0, longer * (1 + 0.17 / SIDE), style.shortened(one.says, SIDE), color=style.INK)


@style.applied()
def box_reliability(tables: Mapping[str, Sequence[Level]], *, title: str = "") -> Figure:
    """Draw, of each side of boxes, how many targets lie below what should be the quantile of a level.

    Examples
    --------
    >>> from farm.measures.localization import quantile_table
    >>> table = quantile_table(np.zeros(9), np.ones(9), np.linspace(-1, 1, 9))
    >>> [axes.get_ylabel() for axes in box_reliability({"left": table}).axes]
    ['Share of targets below']
    """
    known = {side: rows for side, rows in tables.items() if rows and rows[0].share.defined}
    if not known:
        why = next((f": {rows[0].share.reason}" for rows in tables.values() if rows), "")
        return style.said(f"There is no spread of boxes to show{why}.", title=title)
    size, left, bottom, above = 3.6, 0.75, 0.55, 0.3 + style.LINE_HEIGHT
    sheet = style.figure(left + size + 0.2, bottom + size + above, title=title)
    axes = style.panel(sheet, left, bottom, size, size)
    axes.set(xlim=(0, 1), ylim=(0, 1))
    style.ticks(axes, x=style.unit(), y=style.unit())
    style.name_panel(axes, "", x="Predicted quantile", y="Share of targets below")
    axes.plot([0, 1], [0, 1], **style.REFERENCE)
    entries = []
    for number, (side, rows) in enumerate(known.items()):
        look = style.Look.of(number)
        levels = [0.0, *(row.level for row in rows)]
        shares = [0.0, *(row.share.value for row in rows)]
        line: dict[str, Any] = {"color": look.colour, "linestyle": look.dashes, "linewidth": 1.5}
        axes.plot(levels, shares, clip_on=False, **line)
        beside = np.array(levels[1:]) + 0.008 * (number - (len(known) - 1) / 2)
        low, high = ([getattr(row, end).value for row in rows] for end in ("low", "high"))
        axes.vlines(beside, low, high, color=look.colour, linewidth=0.9, clip_on=False)
        entries.append((side, line))
    key(sheet, left, bottom + size + 0.15, entries)
    return sheet
