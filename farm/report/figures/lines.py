"""What follows a course: a measure over levels of a transformation, epochs of a training, or more data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from farm.report.figures import style
from farm.report.figures.keys import Entry, Legend, key
from farm.report.figures.multiples import ACROSS, height_of, laid_out, scale, told

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = 4
LEFT, WIDTH, HEIGHT = 0.7, 2.05, 1.5
"""Where panels begin, and their size, in inches."""
PLAIN = "plain"
"""What level 0 is called: no transformation."""
THIN: dict[str, Any] = {"linewidth": 0.9, "clip_on": False}


@style.applied()
def lines_over_levels(frame: pd.DataFrame, *, measure: str, title: str = "") -> Figure:
    """Draw how a measure changes with the level: a panel a transformation, a line a classifier, with a band.

    Parameters
    ----------
    frame
        Columns `transformation`, `level` (0: the plain test set), `classifier`, `mean`, `low` and `high`
        (NaN: no band there).
    measure
        Its name.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = [("fog", level, "baseline", 0.99 - level / 10, 0.9 - level / 10, 1.0) for level in range(3)]
    >>> frame = pd.DataFrame(rows, columns=["transformation", "level", "classifier", "mean", "low", "high"])
    >>> axes = lines_over_levels(frame, measure="accuracy").axes[0]
    >>> axes.get_title("left"), [text.get_text() for text in axes.get_xticklabels()]
    ('fog', ['plain', '1', '2'])
    """
    if not len(frame) or not np.isfinite(frame["mean"].to_numpy(dtype=float)).any():
        return style.said(f"No {measure} is defined here.", title=title)
    transformations = list(dict.fromkeys(frame["transformation"]))
    classifiers = list(dict.fromkeys(frame["classifier"]))
    columns = _columns(len(transformations))
    legend = Legend([told(name) for name in classifiers], _wide(columns) - 0.2)
    bottom = legend.height + style.LINE_HEIGHT + 0.55
    height = bottom + height_of(len(transformations), columns, HEIGHT)
    sheet = style.figure(_wide(columns), height, title=title)
    ends = frame[["low", "high"]].to_numpy(dtype=float).ravel()
    limits, marks = scale(frame["mean"].to_numpy(dtype=float), ends, HEIGHT)
    places = laid_out(sheet, len(transformations), columns, (LEFT, bottom), (WIDTH, HEIGHT))
    for name, (column, last, axes) in zip(transformations, places, strict=True):
        own = frame[frame["transformation"] == name]
        levels = sorted({float(level) for level in own["level"]})
        axes.set(xlim=(levels[0] - 0.3, levels[-1] + 0.3), ylim=limits)
        style.ticks(axes, x={at: told(at) if at else PLAIN for at in levels}, y=marks, grid="y")
        axes.tick_params(axis="y", labelleft=not column)
        for index, classifier in enumerate(classifiers):
            course = own[own["classifier"] == classifier].sort_values("level")
            _line(axes, course, style.Look.of(index), max(0.3 / (1 + len(classifiers)), 0.04))
        _name(axes, name, x="Level" if last else "", y="" if column else measure)
    words = (
        f"{PLAIN.capitalize()}: the test set without a transformation. Bands: the interval around each line."
    )
    style.write(sheet, 0.1, legend.height + 0.16, words)
    legend.draw(sheet, 0.1, legend.height + 0.06)
    return sheet


def _line(axes: Axes, frame: pd.DataFrame, look: style.Look, shade: float) -> None:
    level, mean, low, high = (frame[name].to_numpy(dtype=float) for name in ("level", "mean", "low", "high"))
    known = np.isfinite(low) & np.isfinite(high)
    axes.fill_between(level, low, high, where=known, color=look.colour, alpha=shade, linewidth=0)
    beside = np.convolve(known, [1, 0, 1])[1:-1] > 0
    alone = known & ~beside  # of one level a band has no width
    axes.vlines(level[alone], low[alone], high[alone], color=look.colour, linewidth=1, clip_on=False)
    shape = {"linestyle": look.dashes, "linewidth": 1.3, "marker": look.marker, "markersize": 4}
    axes.plot(level, mean, color=look.colour, markeredgewidth=0, clip_on=False, **shape)


@style.applied()
def training_curves(
    frame: pd.DataFrame, *, threshold: float | None = None, measure: str = "Value", title: str = ""
) -> Figure:
    """Draw how trainings went: a panel a set, a thin line a training, and a marker where it was kept.

    Parameters
    ----------
    frame
        Columns `training`, `set`, `epoch`, `value` and `kept`; perhaps `threshold`, that of each set.
    threshold
        At which value a training was to be kept, where the frame does not say so.
    measure
        What the value is.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = [(n, "DCGAN", epoch, epoch / 5, n * epoch == 2) for n in (1, 3) for epoch in range(4)]
    >>> frame = pd.DataFrame(rows, columns=["training", "set", "epoch", "value", "kept"])
    >>> axes = training_curves(frame, threshold=0.3, measure="accuracy").axes[0]
    >>> axes.get_title("left"), axes.get_title("right"), axes.get_xlabel()
    ('DCGAN', '1 of 2 kept', 'Epoch')
    """
    if not len(frame) or not np.isfinite(frame["value"].to_numpy(dtype=float)).any():
        return style.said("No training has a value here.", title=title)
    sets = list(dict.fromkeys(frame["set"]))
    thresholds = _thresholds(frame, threshold)
    columns, bottom = _columns(len(sets)), style.LINE_HEIGHT + 0.55
    sheet = style.figure(_wide(columns), bottom + height_of(len(sets), columns, HEIGHT), title=title)
    bounds = np.array(list(thresholds.values()), dtype=float)
    limits, marks = scale(np.concatenate([frame["value"].to_numpy(dtype=float), bounds]), np.empty(0), HEIGHT)
    epochs = frame["epoch"].to_numpy(dtype=float)
    first, last_epoch = float(epochs.min()), max(float(epochs.max()), float(epochs.min()) + 1)
    places = laid_out(sheet, len(sets), columns, (LEFT, bottom), (WIDTH, HEIGHT))
    for name, (column, last, axes) in zip(sets, places, strict=True):
        own = frame[frame["set"] == name]
        axes.set(xlim=(first, last_epoch), ylim=limits)
        whole = {at: words for at, words in style.steps(first, last_epoch, 4).items() if at == round(at)}
        style.ticks(axes, x=whole, y=marks, grid="y")
        axes.tick_params(axis="y", labelleft=not column)
        if name in thresholds:
            at = thresholds[name]
            axes.axhline(at, **_THRESHOLD)
            # On the side with more room, and at the left, where trainings are still far from it.
            side = "bottom" if at < sum(limits) / 2 else "top"
            style.write(axes, first, at, f" {style.number(at, 'g')}", va=side, color=style.INK)
        trainings = own.groupby("training", sort=False)
        for _, training in trainings:
            course = training.sort_values("epoch")
            axes.plot(
                course["epoch"], course["value"].astype(float), color=style.SERIES[0], alpha=0.55, **THIN
            )
        kept = own[own["kept"].astype(bool)]
        axes.plot(kept["epoch"], kept["value"].astype(float), **_KEPT | style.POINT)
        n = kept["training"].nunique()
        beside = "" if n == trainings.ngroups else f"{n} of {trainings.ngroups} kept"
        _name(axes, name, beside, x="Epoch" if last else "", y="" if column else measure)
    entries: list[Entry] = [("one training", {"color": style.SERIES[0], "linewidth": 0.9})]
    entries += [("kept as it was here", _KEPT)]
    if thresholds:
        entries += [("threshold", _THRESHOLD)]
    key(sheet, 0.1, 0.12, entries)
    return sheet


@style.applied()
def growth_curves(frame: pd.DataFrame, *, measure: str, of: str, title: str = "") -> Figure:
    """Draw how a measure moves with more data: a panel each of the data, and a line each of what is measured.

    Parameters
    ----------
    frame
        Columns `panel`, `line`, `n` and `value`.
    measure
        What the value is.
    of
        What `n` counts, such as images.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = [("train", f"k = {k}", n, min(n / 400, 1) / k) for k in (1, 2) for n in (100, 200, 400)]
    >>> frame = pd.DataFrame(rows, columns=["panel", "line", "n", "value"])
    >>> axes = growth_curves(frame, measure="coverage", of="images").axes[0]
    >>> axes.get_title("left"), axes.get_xlabel(), axes.get_ylabel()
    ('train', 'Images', 'coverage')
    """
    if not len(frame) or not np.isfinite(frame["value"].to_numpy(dtype=float)).any():
        return style.said(f"No {measure} is defined here.", title=title)
    panels, lines = list(dict.fromkeys(frame["panel"])), list(dict.fromkeys(frame["line"]))
    columns = _columns(len(panels))
    legend = Legend([told(name) for name in lines], _wide(columns) - 0.2)
    bottom = legend.height + 0.55
    sheet = style.figure(_wide(columns), bottom + height_of(len(panels), columns, HEIGHT), title=title)
    limits, marks = scale(frame["value"].to_numpy(dtype=float), np.empty(0), HEIGHT)
    places = laid_out(sheet, len(panels), columns, (LEFT, bottom), (WIDTH, HEIGHT))
    for name, (column, last, axes) in zip(panels, places, strict=True):
        own = frame[frame["panel"] == name]
        most = max(float(own["n"].max()), 1.0)
        axes.set(xlim=(0, most), ylim=limits)
        style.ticks(axes, x=style.steps(0, most, 4), y=marks, grid="y")
        axes.tick_params(axis="y", labelleft=not column)
        for index, line in enumerate(lines):
            course = own[own["line"] == line].sort_values("n")
            look = style.Look.of(index)
            shape = {"linestyle": look.dashes, "linewidth": 1.3, "marker": look.marker, "markersize": 4}
            axes.plot(
                course["n"], course["value"], color=look.colour, markeredgewidth=0, clip_on=False, **shape
            )
        _name(axes, name, x=of.capitalize() if last else "", y="" if column else measure)
    legend.draw(sheet, 0.1, legend.height + 0.06)
    return sheet


_THRESHOLD: dict[str, Any] = style.REFERENCE | {"color": style.INK}
_KEPT: dict[str, Any] = {"color": style.SERIES[1], "marker": "D", "linestyle": "none"}


def _thresholds(frame: pd.DataFrame, threshold: float | None) -> dict[Any, float]:
    """Return the threshold of each set that has one."""
    if "threshold" not in frame:
        return {} if threshold is None else dict.fromkeys(frame["set"], float(threshold))
    return {
        name: float(own.iloc[0])
        for name, own in frame.dropna(subset=["threshold"]).groupby("set")["threshold"]
    }


def _columns(n: int) -> int:
    """Return how many of so many panels stand side by side, in rows of about one length."""
    return -(-n // -(-n // COLUMNS))


def _wide(columns: int) -> float:
    return max(LEFT + columns * (WIDTH + ACROSS), 5.0)


def _name(axes: Axes, name: Any, beside: str = "", *, x: str, y: str) -> None:
    room = WIDTH - style.width_of(beside) - 0.1 * bool(beside)
    shown = style.shortened(told(name), room, style.BOLD * style.NORMAL)
    style.name_panel(axes, shown, beside, x=x, y=style.shortened(y, HEIGHT))
