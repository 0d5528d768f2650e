"""How often methods are right, a row a method: over all sets, set by set, and where a test is too kind.

A method stands on a network, whose colour and marker it has in all these figures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from farm.report.figures import style
from farm.report.figures.keys import Entry, key

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CHANCE = 0.5
ROW, NAME, WIDTH = 0.23, 2.4, 4.6
"""The height of a row, and how wide a name and the axes are, in inches."""
SMALL_WIDTH, ACROSS, DOWN, COLUMNS = 1.75, 0.22, 0.62, 4
"""The size of a panel of one set, what lies between two, and how many stand side by side."""
NUMBER = 0.62
"""The width of a column of numbers."""
NOTHING = "no network"
SAME: dict[str, Any] = {"color": style.SERIES[1], "marker": "s"}
OTHER: dict[str, Any] = {"color": style.SERIES[0], "marker": "o"}


@style.applied()
def mean_accuracies(frame: pd.DataFrame, *, networks: Sequence[str] = (), title: str = "") -> Figure:
    """Draw each method's mean accuracy with its interval, in the order of the rows.

    Parameters
    ----------
    frame
        Columns `method`, `network` (empty: none), `n`, `mean`, `low` and `high` (NaN: no interval).
    networks
        All of a page's, in one order: each has the same colour in all figures.

    Examples
    --------
    >>> import pandas as pd
    >>> row = {"method": "ODIN", "network": "VGG", "n": 56, "mean": 0.8, "low": 0.7, "high": 0.9}
    >>> axes = mean_accuracies(pd.DataFrame([row])).axes[0]
    >>> [text.get_text() for text in axes.get_yticklabels()], [text.get_text() for text in axes.texts]
    (['ODIN/VGG'], ['mean', 'triplets', '0.800', '56', 'chance'])
    """
    if not _any_defined(frame, "mean"):
        return style.said("No mean accuracy is defined here.", title=title)
    looks, n = _looks(frame, networks), len(frame)
    names = _names(frame)
    left = _widest(names) + 0.2
    width = left + WIDTH + 2 * NUMBER + 0.1
    entries = _packed(looks, width - 0.2)
    bottom = 0.5 + (len(entries) * style.LINE_HEIGHT + 0.1 if entries else 0.0)
    sheet = style.figure(width, bottom + ROW * n + 0.32, title=title)
    axes = style.panel(sheet, left, bottom, WIDTH, ROW * n)
    axes.set(xlim=_limits(frame, ["mean", "low", "high"]), ylim=(n - 0.5, -0.5))
    _grounds(axes, names, style.steps(*axes.get_xlim(), 6))
    for x, words in ((1 + NUMBER / WIDTH, "mean"), (1 + 2 * NUMBER / WIDTH, "triplets")):
        style.write(axes, x, -0.75, words, ha="right", transform=axes.get_yaxis_transform())
    _means(axes, frame, looks)
    for row, (mean, count) in enumerate(zip(frame["mean"], frame["n"], strict=True)):
        _numbers(axes, row, _told(mean), f"{int(count):,}")
    style.write(axes, CHANCE, -0.75, "chance", ha="center")
    style.name_panel(axes, "", x="Mean accuracy; whiskers: 95 % interval over source sets")
    for line, row_of_key in enumerate(entries):
        key(sheet, 0.1, 0.1 + (len(entries) - 1 - line) * style.LINE_HEIGHT, row_of_key)
    return sheet


@style.applied()
def accuracies_by_source(
    frame: pd.DataFrame, *, sources: Sequence[str] = (), networks: Sequence[str] = (), title: str = ""
) -> Figure:
    """Draw each method's mean accuracy on each source set: a panel a set, the same rows in each.

    Parameters
    ----------
    frame
        As `mean_accuracies` has it, and a column `source`. Methods stand in the order in which they come;
        where one has no result on a set, its place says so.
    sources, networks
        All of a page's, in their order.

    Examples
    --------
    >>> import pandas as pd
    >>> row = {"method": "ODIN", "network": "VGG", "n": 56, "mean": 0.8, "low": 0.7, "high": 0.9}
    >>> frame = pd.DataFrame([row | {"source": "digits"}, row | {"source": "signs"}])
    >>> [axes.get_title("left") for axes in accuracies_by_source(frame).axes]
    ['digits', 'signs']
    """
    if not _any_defined(frame, "mean"):
        return style.said("No mean accuracy is defined here.", title=title)
    looks = _looks(frame, networks)
    methods = frame[["method", "network"]].drop_duplicates()
    names, n = _names(methods), len(methods)
    there = set(frame["source"])
    sources = [name for name in dict.fromkeys([*sources, *frame["source"]]) if name in there]
    rows = -(-len(sources) // COLUMNS)
    columns = -(-len(sources) // rows)
    left = _widest(names) + 0.2
    width = max(left + columns * (SMALL_WIDTH + ACROSS), 5.0)
    entries = _packed(looks, width - 0.2)
    bottom = 0.3 + style.LINE_HEIGHT * (1 + len(entries))
    sheet = style.figure(width, bottom + rows * (ROW * n + DOWN), title=title)
    limits = _limits(frame, ["mean", "low", "high"])
    for place, source in enumerate(sources):
        row, column = divmod(place, columns)
        up = bottom + (rows - 1 - row) * (ROW * n + DOWN) + 0.3
        axes = style.panel(sheet, left + column * (SMALL_WIDTH + ACROSS), up, SMALL_WIDTH, ROW * n)
        axes.set(xlim=limits, ylim=(n - 0.5, -0.5))
        _grounds(axes, names if column == 0 else [""] * n, style.unit())
        own = methods.merge(frame[frame["source"] == source], how="left", on=["method", "network"])
        _means(axes, own, looks)
        for at in np.flatnonzero(own["mean"].isna()):
            style.write(axes, sum(limits) / 2, int(at), "no result", **style.CENTRED)
        style.name_panel(axes, style.shortened(str(source), SMALL_WIDTH, style.BOLD * style.NORMAL))
    told = "Mean accuracy; whiskers: 95 % interval over sets learned from and judged on; dashed line: chance."
    style.write(sheet, 0.1, bottom - 0.16, told)
    for line, row_of_key in enumerate(entries):
        key(sheet, 0.1, 0.1 + (len(entries) - 1 - line) * style.LINE_HEIGHT, row_of_key)
    return sheet


@style.applied()
def optimism_gaps(frame: pd.DataFrame, *, title: str = "") -> Figure:
    """Draw how much better each method looks on the set that it learned from than on others.

    Parameters
    ----------
    frame
        Columns `method`, `network`, `optimistic` (the accuracy on the same set), `honest` and `gap`.

    Examples
    --------
    >>> import pandas as pd
    >>> row = {"method": "BinClass", "network": "VGG", "optimistic": 0.99, "honest": 0.68, "gap": 0.31}
    >>> [text.get_text() for text in optimism_gaps(pd.DataFrame([row])).axes[0].texts]
    ['gap', '0.310', 'chance']
    """
    if not _any_defined(frame, "gap"):
        return style.said("No result is optimistic here.", title=title)
    names, n = _names(frame), len(frame)
    left, bottom = _widest(names) + 0.2, 0.5
    sheet = style.figure(max(left + WIDTH + NUMBER + 0.1, 6.4), bottom + ROW * n + 0.58, title=title)
    axes = style.panel(sheet, left, bottom, WIDTH, ROW * n)
    axes.set(xlim=_limits(frame, ["optimistic", "honest"]), ylim=(n - 0.5, -0.5))
    _grounds(axes, names, style.steps(*axes.get_xlim(), 6))
    style.write(axes, 1 + NUMBER / WIDTH, -0.75, "gap", ha="right", transform=axes.get_yaxis_transform())
    ends = frame[["optimistic", "honest"]].to_numpy(dtype=float)
    rows = np.arange(n)
    axes.hlines(rows, ends.min(axis=1), ends.max(axis=1), color=style.LINE, linewidth=2, zorder=1)
    for values, look in zip(ends.T, (SAME, OTHER), strict=True):
        axes.plot(values, rows, linestyle="none", **style.POINT, **look)
    for row, gap in enumerate(frame["gap"]):
        _numbers(axes, row, _told(gap))
    style.write(axes, CHANCE, -0.75, "chance", ha="center")
    style.name_panel(axes, "", x="Accuracy")
    entries: list[Entry] = [
        ("judged on other sets", OTHER),
        ("on the set that it learned from", SAME),
    ]
    key(sheet, 0.1, bottom + ROW * n + 0.36, entries)
    return sheet


def _any_defined(frame: pd.DataFrame, column: str) -> bool:
    return bool(len(frame)) and bool(np.isfinite(frame[column].to_numpy(dtype=float)).any())


def _names(frame: pd.DataFrame) -> list[str]:
    """Return what each row is called; of what is too long, the middle is left out."""
    titles = (f"{m}/{n}" if n else str(m) for m, n in zip(frame["method"], frame["network"], strict=True))
    return [style.shortened(title, NAME) for title in titles]


def _widest(names: Sequence[str]) -> float:
    return max(map(style.width_of, names))


def _looks(frame: pd.DataFrame, networks: Sequence[str]) -> dict[str, style.Look]:
    """Return the look of each network that is there; without a network comes last."""
    there = [str(name) for name in dict.fromkeys(frame["network"])]
    order = [name for name in dict.fromkeys([*networks, *there]) if name]
    return {name: style.Look.of(at) for at, name in enumerate([*order, ""]) if name in there}


def _packed(looks: dict[str, style.Look], width: float) -> list[list[Entry]]:
    """Return the key line by line; empty where all rows stand on one network."""
    lines: list[list[Entry]] = []
    room = 0.0
    for name, look in looks.items() if len(looks) > 1 else ():
        shown = style.shortened(name) if name else NOTHING
        wide = 0.44 + style.width_of(shown)
        if wide > room:
            lines.append([])
            room = width
        lines[-1].append((shown, {"color": look.colour, "marker": look.marker}))
        room -= wide
    return lines


def _limits(frame: pd.DataFrame, columns: list[str]) -> tuple[float, float]:
    """Return the ends of the axis: chance and 1 are always in sight."""
    values = frame[columns].to_numpy(dtype=float)
    return min(float(np.nanmin(values)), CHANCE) - 0.03, max(float(np.nanmax(values)), 1.0) + 0.01


def _grounds(axes: Axes, names: Sequence[str], marks: style.Ticks) -> None:
    low, _ = axes.get_xlim()
    style.ticks(
        axes,
        x={at: told for at, told in marks.items() if low <= at <= 1},
        y=dict(enumerate(names)),
        grid="x",
    )
    axes.tick_params(axis="y", labelcolor=style.INK)
    axes.axvline(CHANCE, **style.REFERENCE | {"color": style.INK})


def _means(axes: Axes, frame: pd.DataFrame, looks: dict[str, style.Look]) -> None:
    rows = np.arange(len(frame))
    for network, look in looks.items():
        own = (frame["network"] == network).to_numpy()
        if not own.any():
            continue
        mean, low, high = (frame[name].to_numpy(dtype=float)[own] for name in ("mean", "low", "high"))
        bounded = np.isfinite(low) & np.isfinite(high)
        axes.hlines(
            rows[own][bounded], low[bounded], high[bounded], color=look.colour, linewidth=1.4, clip_on=False
        )
        options: dict[str, Any] = {
            "marker": look.marker,
            "color": look.colour,
            **style.POINT,
            "markersize": 6,
        }
        axes.plot(mean, rows[own], linestyle="none", **options)


def _numbers(axes: Axes, row: int, *texts: str) -> None:
    """Write numbers at the right of a row."""
    for place, text in enumerate(texts, start=1):
        across = {"transform": axes.get_yaxis_transform(), "ha": "right", "va": "center_baseline"}
        style.write(axes, 1 + place * NUMBER / WIDTH, row, text, color=style.INK, **across)


def _told(value: float) -> str:
    return "\N{EN DASH}" if math.isnan(value) else style.number(value, ".3f")
