"""How far several networks can be believed, side by side: what they said against what there was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from farm.report.figures import style
from farm.report.figures.keys import Legend
from farm.report.figures.multiples import ACROSS, height_of, laid_out, told

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

COLUMNS, SIDE, LEFT = 4, 2.05, 0.7
"""How many panels stand side by side, how long a side of one is, and where they begin, in inches."""


@style.applied()
def reliabilities(frame: pd.DataFrame, *, x: str, y: str, title: str = "") -> Figure:
    """Draw what there was against what was said: a panel a network, a line a stream, and the diagonal.

    Parameters
    ----------
    frame
        Columns `network`, `stream`, `said` and `was`, both from 0 to 1.
    x, y
        What was said, and what there was.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = [("vanilla", stream, said, said * share) for stream, share in (("none", 1), ("fog", 0.7))
    ...         for said in (0.2, 0.6, 1.0)]
    >>> frame = pd.DataFrame(rows, columns=["network", "stream", "said", "was"])
    >>> axes = reliabilities(frame, x="Confidence", y="Accuracy").axes[0]
    >>> axes.get_title("left"), axes.get_xlabel(), len(axes.lines)
    ('vanilla', 'Confidence', 3)
    """
    frame = frame[np.isfinite(frame[["said", "was"]].to_numpy(dtype=float)).all(axis=1)]
    if frame.empty:
        return style.said("There is nothing to compare with what was said.", title=title)
    networks, streams = list(dict.fromkeys(frame["network"])), list(dict.fromkeys(frame["stream"]))
    columns = min(len(networks), COLUMNS)
    wide = max(LEFT + columns * (SIDE + ACROSS), 5.0)
    legend = Legend([told(name) for name in streams], wide - 0.2)
    bottom = legend.height + style.LINE_HEIGHT + 0.55
    sheet = style.figure(wide, bottom + height_of(len(networks), columns, SIDE), title=title)
    places = laid_out(sheet, len(networks), columns, (LEFT, bottom), (SIDE, SIDE))
    for name, (column, last, axes) in zip(networks, places, strict=True):
        axes.set(xlim=(0, 1), ylim=(0, 1))
        style.ticks(axes, x=style.unit(), y=style.unit())
        axes.tick_params(axis="y", labelleft=not column)
        axes.plot([0, 1], [0, 1], **style.REFERENCE)
        own = frame[frame["network"] == name]
        for index, stream in enumerate(streams):
            course = own[own["stream"] == stream].sort_values("said")
            look = style.Look.of(index)
            line: dict[str, Any] = {"color": look.colour, "linestyle": look.dashes, "linewidth": 1.3}
            dots: dict[str, Any] = {"marker": look.marker, "markersize": 4, "markeredgewidth": 0}
            axes.plot(course["said"], course["was"], clip_on=False, **line, **dots)
        shown = style.shortened(told(name), SIDE, style.BOLD * style.NORMAL)
        style.name_panel(axes, shown, x=x if last else "", y="" if column else y)
    words = "Dotted: as often as was said."
    style.write(sheet, 0.1, legend.height + 0.16, words)
    legend.draw(sheet, 0.1, legend.height + 0.06)
    return sheet
