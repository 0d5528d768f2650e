"""Two features of the instances, and the boxes that a monitor has put around those it knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from farm.api.arrays import BoolArray, FloatArray
from farm.report.figures import style
from farm.report.figures.keys import key

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Box = tuple[float, float, float, float]
MIDDLE, REACH = (0.02, 0.98), 0.6
"""The picture shows what lies between these quantiles, or within so many times their distance of them."""
POINTS = 800
"""Of more points of one kind, only each second, third, ... is drawn."""
SIZE = (5.2, 4.2)
ID_LOOK: dict[str, Any] = {"marker": "s", "markersize": 2.6, "color": style.ID, "markeredgewidth": 0}
OOD_LOOK: dict[str, Any] = {"marker": "x", "markersize": 3.2, "color": style.OOD, "markeredgewidth": 0.7}


@style.applied()
def plane(points: pd.DataFrame, boxes: Sequence[Box], *, axes: tuple[str, str], title: str = "") -> Figure:
    """Draw instances as points in a plane, and boxes around them.

    Parameters
    ----------
    points
        Columns `x`, `y` and `is_ood`.
    boxes
        Of each the lowest and the highest x, then the lowest and the highest y; they are numbered from 0.
    axes
        What x and y are.

    Examples
    --------
    >>> import pandas as pd
    >>> points = pd.DataFrame({"x": [0.1, 0.4, 2.0], "y": [0.2, 0.3, 2.0], "is_ood": [False, False, True]})
    >>> [text.get_text() for text in plane(points, [(0, 0.5, 0.1, 0.4)], axes=("fc1", "fc2")).axes[0].texts]
    ['0']
    """
    known = (
        points[np.isfinite(points[["x", "y"]].to_numpy(dtype=float)).all(axis=1)] if len(points) else points
    )
    if not len(known):
        return style.said("There are no points to show.", title=title)
    xy, is_ood = known[["x", "y"]].to_numpy(dtype=float), known["is_ood"].to_numpy(dtype=bool)
    corners = np.array(boxes, dtype=float).reshape(-1, 2, 2)
    kinds = [xy[kind] for kind in (~is_ood, is_ood) if kind.any()]
    limits = [_limits([kind[:, one] for kind in kinds], corners[:, one].ravel()) for one in (0, 1)]
    inside = np.all([(xy[:, i] >= limits[i][0]) & (xy[:, i] <= limits[i][1]) for i in (0, 1)], axis=0)
    left, bottom = 0.75, 0.5 + 2 * style.LINE_HEIGHT
    sheet = style.figure(left + SIZE[0] + 0.2, bottom + SIZE[1] + 0.15, title=title)
    drawn = style.panel(sheet, left, bottom, *SIZE)
    drawn.set(xlim=limits[0], ylim=limits[1])
    style.ticks(drawn, x=style.steps(*limits[0]), y=style.steps(*limits[1]))
    style.name_panel(drawn, "", x=style.shortened(axes[0], 4), y=style.shortened(axes[1], 3))
    _points(drawn, xy[inside & ~is_ood], xy[inside & is_ood])
    _boxes(drawn, corners, limits)
    _key(sheet, left, is_ood, len(points) - int(inside.sum()), bool(len(boxes)))
    return sheet


def _limits(kinds: Sequence[FloatArray], edges: FloatArray) -> tuple[float, float]:
    """Return ends that hold nearly all of each kind: one value far off must not squash the others."""
    every = np.concatenate([*kinds, edges[np.isfinite(edges)]])
    middles = [np.quantile(values, MIDDLE) for values in kinds]
    low, high = min(float(m[0]) for m in middles), max(float(m[1]) for m in middles)
    reach = REACH * (high - low) or np.inf
    near = every[(every >= low - reach) & (every <= high + reach)]
    ends = float(near.min(initial=low)), float(near.max(initial=high))
    slack = 0.04 * (ends[1] - ends[0]) or 0.5
    return ends[0] - slack, ends[1] + slack


def _points(axes: Axes, known: FloatArray, ood: FloatArray) -> None:
    for points, look in ((known, ID_LOOK), (ood, OOD_LOOK)):
        every = -(-len(points) // POINTS) or 1
        axes.plot(*points[::every].T, linestyle="none", clip_on=False, **look)


def _boxes(axes: Axes, corners: FloatArray, limits: Sequence[tuple[float, float]]) -> None:
    from matplotlib.collections import LineCollection

    ends = np.array(limits)
    lines = []
    for number, box in enumerate(corners):
        (x0, x1), (y0, y1) = np.clip(box, ends[:, :1], ends[:, 1:])
        lines.append([(x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0)])
        style.write(axes, x0, y1, str(number), color=style.INK, weight="bold", va="bottom")
    axes.add_collection(LineCollection(lines, colors=style.INK, linewidths=1.0, clip_on=False), autolim=False)


def _key(sheet: Figure, left: float, is_ood: BoolArray, outside: int, boxed: bool) -> None:
    looks: tuple[dict[str, Any], ...] = (ID_LOOK | {"markersize": 4}, OOD_LOOK | {"markersize": 4.5})
    entries = []
    for name, look, n in zip(("ID", "OOD"), looks, (int((~is_ood).sum()), int(is_ood.sum())), strict=True):
        every = -(-n // POINTS)
        entries.append((f"{name} (n = {n:,}{f', one in {every} drawn' if every > 1 else ''})", look))
    key(sheet, left, 0.1 + style.LINE_HEIGHT, entries)
    told = "The boxes are numbered. " if boxed else ""
    if outside:
        points = "One point is" if outside == 1 else f"{outside:,} points are"
        told += f"{points} not in this picture: far outside, or undefined."
    style.write(sheet, left, 0.1, told)
