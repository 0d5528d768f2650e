"""Where hiding a part of an image changes the classifier's mind, and how much of that is on the object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from farm.api.arrays import BoolArray
from farm.measures.occlusion import AtThreshold
from farm.report.figures import style
from farm.report.figures.keys import key, sample
from farm.report.figures.multiples import ACROSS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = 4
SIDE = 1.9
"""The longer side of an image, in inches."""
WIDTH = 6.1
"""What words below all images need, in inches."""
BELOW = 0.5
"""The room for what stands under an image."""
HOT, OUTLINE = "#d1330a", "#00e5ff"
"""Not the page's colours: what lies on an image stays what it is in the dark."""
STRONGEST = 0.85
"""How far the strongest heat covers the image."""
STEPS, STEP, GREY = 9, 0.13, 0xB0
"""The scale of heat: how many steps, how wide each, and the grey that it lies on."""
PRECISION: dict[str, Any] = {"color": style.SERIES[0], "linewidth": 1.5}
COVERING: dict[str, Any] = {"color": style.SERIES[1], "linewidth": 1.5, "linestyle": style.DASHES[1]}


@dataclass(frozen=True)
class OccludedImage:
    """One image with its heat map.

    `pixels` (H x W x 1 or 3) and `mask` (H x W) may be smaller than the image that the classifier saw, which
    was `size` pixels high and wide; the patch was `window` pixels wide and moved by `stride`. `predicted` is
    the name of the class, and `plain` its probability with nothing hidden. `says` is a line about it.
    """

    pixels: NDArray[np.uint8]
    heat: NDArray[np.floating]
    mask: BoolArray
    size: tuple[int, int]
    window: int
    stride: int
    predicted: str
    plain: float
    says: str = ""


@style.applied()
def occlusion_maps(images: Sequence[OccludedImage], *, title: str = "") -> Figure:
    """Draw images, in grey, under their heat maps, each with the outline of its object.

    Where it is red, a patch that hides what is there lowers the probability of the predicted class.

    Examples
    --------
    >>> grey, mask = np.full((8, 8, 1), 128, np.uint8), np.zeros((8, 8), bool)
    >>> heat = np.array([[0.9, 0.1], [0.9, 0.9]])
    >>> one = OccludedImage(grey, heat, mask, (8, 8), window=4, stride=4, predicted="stop", plain=0.98)
    >>> [text.get_text() for text in occlusion_maps([one]).axes[0].texts]
    ['stop, 0.98', '']
    """
    if not images:
        return style.said("There are no heat maps to show.", title=title)
    columns = min(len(images), COLUMNS)
    rows = -(-len(images) // columns)
    bottom = 0.5 + 2 * style.LINE_HEIGHT
    width = max(0.1 + columns * (SIDE + ACROSS), WIDTH)
    sheet = style.figure(width, bottom + rows * (SIDE + BELOW), title=title)
    for place, one in enumerate(images):
        row, column = divmod(place, columns)
        corner = 0.1 + column * (SIDE + ACROSS), bottom + (rows - 1 - row) * (SIDE + BELOW) + BELOW - 0.1
        _image(style.panel(sheet, *corner, SIDE, SIDE), one)
    _key(sheet, images[0], any(one.mask.any() for one in images))
    return sheet


def _image(axes: Axes, one: OccludedImage) -> None:
    height, width = one.size
    longer = max(height, width)
    axes.set(xlim=(0, longer), ylim=(longer, 0), xticks=[], yticks=[])
    axes.spines["bottom"].set_visible(False)
    # Grey, so that no colour of the image is taken for heat.
    grey = np.rint(one.pixels.mean(axis=2)).astype(np.uint8)
    paper = np.repeat(grey[..., None], 3, axis=2)
    axes.imshow(paper, extent=(0, width, height, 0), interpolation="none", aspect="auto")
    axes.imshow(_coloured(one.heat), extent=_extent(one), interpolation="none", aspect="auto")
    axes.set(xlim=(0, longer), ylim=(longer, 0))
    if one.mask.any() and not one.mask.all():
        _outline(axes, one)
    words = f"{style.shortened(one.predicted, SIDE - 0.45)}, {style.number(one.plain)}"
    for row, (line, ink) in enumerate(((words, style.INK), (style.shortened(one.says, SIDE), style.FAINT))):
        down = longer * (1 + (0.15 + row * style.LINE_HEIGHT) / SIDE)
        style.write(axes, 0, down, line, color=ink)


def _coloured(heat: NDArray[np.floating]) -> NDArray[np.uint8]:
    """Return what lies over an image: the less is left of the probability, the less is seen through it."""
    levels = [int(HOT[at : at + 2], 16) for at in (1, 3, 5)]
    covers = np.rint(255 * STRONGEST * (1 - np.clip(heat, 0, 1)))
    layers = [*(np.full(heat.shape, level) for level in levels), covers]
    return np.stack(layers, axis=-1).astype(np.uint8)


def _extent(one: OccludedImage) -> tuple[float, float, float, float]:
    """Say where the map lies: each cell about the middle of the patch, and as wide as its step."""
    start = (one.window - one.stride) / 2
    rows, columns = one.heat.shape
    return start, start + columns * one.stride, start + rows * one.stride, start


def _outline(axes: Axes, one: OccludedImage) -> None:
    # Padded, so that the line goes around an object that is cut off at the border, too.
    mask = np.pad(one.mask, 1).astype(float)
    down, across = (
        (np.arange(-1, n + 1) + 0.5) * side / n for n, side in zip(one.mask.shape, one.size, strict=True)
    )
    for colour, width in (("#010101", 2.4), (OUTLINE, 1.1)):
        axes.contour(across, down, mask, levels=[0.5], colors=[colour], linewidths=[width])


def _key(sheet: Figure, one: OccludedImage, outlined: bool) -> None:
    patch = f"A patch of {one.window} x {one.window} pixels hides a part; a cell is the middle of a position."
    said = "Below an image: the class predicted with nothing hidden, and its probability."
    for row, words in enumerate((patch, said), start=1):
        style.write(sheet, 0.1, 0.12 + row * style.LINE_HEIGHT, words)
    x, y = 0.1, 0.12
    for words in ("Probability of that class with the patch there:", "1"):
        style.write(sheet, x, y, words, color=style.INK)
        x += style.width_of(words) + 0.1
    for step in range(STEPS):
        (levels,) = _coloured(np.array([1 - step / (STEPS - 1)]))
        over = levels[:3] + (GREY - levels[:3].astype(int)) * (255 - int(levels[3])) // 255
        sample(sheet, x + step * STEP, y, STEP, color=over / 255, linewidth=10)
    x += STEPS * STEP + 0.1
    style.write(sheet, x, y, "0", color=style.INK)
    if outlined:
        key(sheet, x + 0.3, y, [("the object", {"color": OUTLINE, "linewidth": 2})])


@style.applied()
def precision_curve(points: Sequence[AtThreshold], *, rho: float | None = None, title: str = "") -> Figure:
    """Draw mean precision and covering over the threshold below which positions are hot.

    Below it stands of how many images precision is defined: those that have a hot position at all.

    Parameters
    ----------
    points
        At each threshold what was measured.
    rho
        The threshold that tables go by, marked.

    Examples
    --------
    >>> from farm.measures.occlusion import over_thresholds
    >>> heat, occluding = np.array([[[0.2, 0.4]]]), np.array([[[True, False]]])
    >>> axes, below = precision_curve(over_thresholds(heat, occluding, [0.1, 0.3, 0.5])).axes
    >>> axes.get_ylabel(), below.get_ylabel()
    ('Mean over images', 'Images')
    """
    means = np.array([[at.precision.mean.value, at.covering.mean.value] for at in points]).reshape(-1, 2)
    if not np.isfinite(means).any():
        why = f": {points[-1].covering.mean.reason}" if points else ""
        return style.said(f"Neither precision nor covering is defined{why}.", title=title)
    rhos, n = np.array([at.rho for at in points]), len(points[0].precision.each)
    size, left, bottom, low = (4.6, 2.6), 0.7, 0.6, 0.55
    sheet = style.figure(left + size[0] + 0.2, bottom + low + 0.35 + size[1] + 0.55, title=title)
    axes = style.panel(sheet, left, bottom + low + 0.35, *size)
    below = style.panel(sheet, left, bottom, size[0], low)
    axes.set(xlim=(0, 1), ylim=(0, 1))
    below.set(xlim=(0, 1), ylim=(0, max(n, 1)))
    style.ticks(axes, x=style.unit(), y=style.unit())
    axes.tick_params(axis="x", labelbottom=False)
    style.ticks(below, x=style.unit(), y={0.0: "0", float(n): f"{n:,}"})
    style.name_panel(axes, "", y="Mean over images")
    words = "Threshold: positions with a lower probability are hot"
    style.name_panel(below, "", "for how many images it is defined", x=words, y="Images")
    for column, look in enumerate((PRECISION, COVERING)):
        axes.plot(rhos, means[:, column], clip_on=False, **look)
    for measured, look in (("precision", PRECISION), ("covering", COVERING)):
        below.plot(rhos, [getattr(at, measured).n_defined for at in points], clip_on=False, **look)
    if rho is not None:
        for one in (axes, below):
            one.plot([rho, rho], one.get_ylim(), **style.REFERENCE)
    top = bottom + low + 0.35 + size[1]
    entries = [("precision: hot positions that touch the object, of all hot ones", PRECISION)]
    entries += [("covering: hot positions that touch the object, of all that touch it", COVERING)]
    for row, entry in enumerate(entries):
        key(sheet, left, top + 0.16 + (1 - row) * style.LINE_HEIGHT, [entry])
    return sheet
