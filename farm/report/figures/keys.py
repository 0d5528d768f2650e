"""What says in a figure which look is whose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from farm.report.figures import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Entry = tuple[str, dict[str, Any]]
"""A name, and how matplotlib draws what it names."""
BESIDE, MANY = 0.75, 8
"""The room for a look beside a name, and how many names may stand in one column."""


@dataclass(frozen=True)
class Legend:
    """The names of monitors and their looks, in columns."""

    names: Sequence[str]
    width: float

    @property
    def shown(self) -> list[str]:
        """The names, so short that many stand in two columns at least."""
        widest = min(style.NAME, self.width / 2 - BESIDE) if len(self.names) > MANY else style.NAME
        return [style.shortened(name, widest) for name in self.names]

    @property
    def columns(self) -> int:
        """How many names stand side by side."""
        longest = max((style.width_of(name) for name in self.shown), default=1.0)
        return max(int(self.width / (longest + BESIDE) + 1e-9), 1)

    @property
    def height(self) -> float:
        """How much room it takes."""
        return -(-len(self.names) // self.columns) * style.LINE_HEIGHT

    def draw(self, sheet: Figure, left: float, top: float) -> None:
        """Draw it below a height, each column from top to bottom."""
        rows = -(-len(self.names) // self.columns)
        for index, name in enumerate(self.shown):
            look = style.Look.of(index)
            x = left + index // rows * self.width / self.columns
            y = top - (index % rows + 0.8) * style.LINE_HEIGHT
            sample(sheet, x, y, 0.4, color=look.colour, linestyle=look.dashes, linewidth=1.5)
            sample(sheet, x + 0.2, y, color=look.colour, marker=look.marker)
            style.write(sheet, x + 0.47, y, name, color=style.INK)


def sample(sheet: Figure, x: float, y: float, length: float = 0.0, **look: Any) -> None:
    """Draw a line, or a marker, as it stands beside a word at that height."""
    from matplotlib.lines import Line2D

    wide, high = sheet.get_size_inches()
    ends = [x / wide, (x + length) / wide] if length else [x / wide]
    usual: dict[str, Any] = {"markersize": 6, "markeredgewidth": 0, "solid_capstyle": "butt"}
    sheet.add_artist(
        Line2D(ends, [(y + 0.04) / high] * len(ends), transform=sheet.transFigure, **usual | look)
    )


def key(sheet: Figure, x: float, y: float, entries: Sequence[Entry]) -> float:
    """Say what is what, side by side; return where the last one ends."""
    for name, look in entries:
        length = 0.0 if "marker" in look else 0.25
        sample(sheet, x + 0.06 * (not length), y, length, **look)
        x += max(length, 0.12) + 0.07
        style.write(sheet, x, y, name, color=style.INK)
        x += style.width_of(name) + 0.25
    return x
