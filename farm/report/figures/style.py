"""One look for all figures: colours, lettering, and where panels stand. Lengths are in inches.

On a page each colour is a CSS variable (`VARIABLES`), so that it can be another one in the dark (`DARK`).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from rich.cells import cell_len

from farm.report.output import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from farm.report.figures.drawn import Drawn

INK, FAINT, LINE, GRID, PAPER = "#1a1a1a", "#666666", "#8a8a8a", "#d9d9d9", "#ffffff"
ALARM, ID, OOD = "#b5341f", "#5b7f9e", "#c8510a"
SERIES = ("#0055a5", "#e27915", "#13a76c", "#ca79bb", "#844000", "#8078f0", "#62485a", "#2a0a0a")
"""Okabe and Ito's hues, at least 3:1 on white, and far apart for the colour-blind, too."""
MARKERS = "osD^vPX<>phd"
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.3, 1.3)), (0, (6, 1.5, 1.3, 1.5)))

VARIABLES = {"--ink": INK, "--faint": FAINT, "--line": LINE, "--grid": GRID, "--paper": PAPER}
VARIABLES |= {"--alarm": ALARM, "--id": ID, "--ood": OOD}
VARIABLES |= {f"--series-{number}": colour for number, colour in enumerate(SERIES, start=1)}
"""The names that the style's colours have on a page."""
_IN_THE_DARK = ["#e8e8e8", "#a3a3a3", "#7d7d7d", "#3a3f45", "#16191d", "#ff7b63", "#86a9c8", "#f0904e"]
_IN_THE_DARK += ["#2f8cff", "#f0702a", "#5ee67a", "#a55fb3", "#b25a45", "#fbb6ff", "#9aa09e", "#e6fbeb"]
DARK = dict(zip(VARIABLES, _IN_THE_DARK, strict=True))
"""What they may be on a dark page."""

REFERENCE: dict[str, Any] = {"color": LINE, "linewidth": 0.8, "linestyle": (0, (2, 2)), "clip_on": False}
"""A line to compare with."""
POINT: dict[str, Any] = {"markersize": 7, "markeredgecolor": PAPER, "markeredgewidth": 0.6, "clip_on": False}
"""A single point that counts."""
CENTRED = {"ha": "center", "va": "center_baseline"}
SMALL, NORMAL, LARGE = 8, 9, 11
"""Sizes of letters, in points."""
BOLD = 1.13
"""How much wider bold letters are."""
LINE_HEIGHT = 0.19
NAME = 1.9
"""How wide a name may be."""


Ticks = dict[float, str]
Grid = Literal["x", "y", "xy", ""]


@dataclass(frozen=True)
class Look:
    """How one monitor is drawn: by colour, and for who cannot tell colours by marker and dashes, too."""

    colour: str
    marker: str
    dashes: Any

    @classmethod
    def of(cls, index: int) -> Look:
        """Return the look of a monitor by its place among all of a page; the first 36 differ.

        Examples
        --------
        >>> Look.of(0) == Look(SERIES[0], "o", "-"), Look.of(8).colour == Look.of(0).colour
        (True, True)
        """
        dashes = DASHES[(index + index // len(SERIES)) % len(DASHES)]
        return cls(SERIES[index % len(SERIES)], MARKERS[index % len(MARKERS)], dashes)


@contextmanager
def applied() -> Iterator[None]:
    """Draw in the one style, whatever the user's settings are; also a decorator."""
    import matplotlib  # late, here and elsewhere: it takes a second, and `farm --help` must not wait for it

    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()
        own: Any = {"svg.hashsalt": "farm", "font.size": NORMAL, "text.parse_math": False}
        matplotlib.rcParams.update(own)
        # A name in letters that the font lacks is for the page's own font to show.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def figure(width: float, height: float, *, title: str = "") -> Drawn:
    """Return an empty figure; a title stands above the height asked for."""
    from farm.report.figures.drawn import Drawn

    more = 0.34 if title else 0.0
    drawn = Drawn(figsize=(width, height + more), dpi=150, facecolor=PAPER)
    if title:
        words = shortened(title, width - 0.2, BOLD * LARGE)
        write(drawn, 0.1, height + 0.1, words, size=LARGE, color=INK, weight="bold")
    return drawn


def said(words: str, *, title: str = "") -> Figure:
    """Return a figure that says why there is nothing to see."""
    sheet = figure(5, 0.5, title=title)
    write(sheet, 0.1, 0.2, shortened(words, 4.8))
    return sheet


def panel(sheet: Figure, left: float, bottom: float, width: float, height: float) -> Axes:
    """Add axes with their corner there, seen from the figure's corner: no frame, and a pale ground line."""
    w, h = sheet.get_size_inches()
    axes = sheet.add_axes((left / w, bottom / h, width / w, height / h), facecolor="none")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set(color=LINE, linewidth=0.8)
    axes.tick_params(length=0, labelsize=SMALL, labelcolor=FAINT, pad=3)
    return axes


def ticks(axes: Axes, *, x: Ticks | None = None, y: Ticks | None = None, grid: Grid = "xy") -> None:
    """Put ticks where a mapping from places to texts says, and pale lines across at them.

    Limits stay what they are: set them first.
    """
    if x is not None:
        limits = axes.get_xlim()
        axes.set_xticks(list(x), list(x.values()))
        axes.set_xlim(limits)
    if y is not None:
        limits = axes.get_ylim()
        axes.set_yticks(list(y), list(y.values()))
        axes.set_ylim(limits)
    if grid:
        axes.grid(axis="both" if grid == "xy" else grid, color=GRID, linewidth=0.6, clip_on=False)
    axes.set_axisbelow(True)


def name_panel(axes: Axes, name: str, beside: str = "", *, x: str = "", y: str = "") -> None:
    """Write a panel's name, what is said beside it on the right, and what its axes show."""
    # A height of their own spares the search for one.
    axes.set_title(name, loc="left", y=1.0, pad=6, fontsize=NORMAL, color=INK, weight="bold")
    axes.set_title(beside, loc="right", y=1.0, pad=6, fontsize=SMALL, color=FAINT)
    axes.set_xlabel(x, fontsize=SMALL, color=INK)
    axes.set_ylabel(y, fontsize=SMALL, color=INK)


def steps(low: float, high: float, n: int = 5) -> Ticks:
    """Return about so many round numbers between two, and how they are written.

    Examples
    --------
    >>> steps(-0.5, 1.0, 3)
    {-0.5: '−0.5', 0.0: '0', 0.5: '0.5', 1.0: '1'}
    """
    from matplotlib.ticker import MaxNLocator

    slack = 1e-9 * (high - low)
    places = [float(at) for at in MaxNLocator(n, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)]
    return {at: number(at, "g") for at in places if low - slack <= at <= high + slack}


def unit() -> Ticks:
    """Return the ticks of a share."""
    return {0.0: "0", 0.25: "0.25", 0.5: "0.5", 0.75: "0.75", 1.0: "1"}


def number(value: float, form: str = ".2f") -> str:
    """Write a number with a true minus sign, and no minus before zero.

    Examples
    --------
    >>> number(-0.25), number(-0.001)
    ('−0.25', '0.00')
    """
    return format(value, "z" + form).replace("-", "\N{MINUS SIGN}")


def write(where: Figure | Axes, x: float, y: float, words: str, **options: Any) -> None:
    """Write a line; on a figure, `x` and `y` are inches from its corner."""
    size = options.pop("size", SMALL)
    if hasattr(where, "get_size_inches"):
        width, height = where.get_size_inches()
        x, y = x / width, y / height
    where.text(x, y, words, **({"color": FAINT, "fontsize": size, "rotation_mode": "anchor"} | options))


def shortened(text: str, width: float = NAME, size: float = SMALL) -> str:
    r"""Return a text on one line, its middle left out where it is too wide.

    Examples
    --------
    >>> shortened("a\nname"), shortened("a-very-long-name-of-something", 1.2)
    ('a name', 'a-very-lo…omething')
    """
    text = visible(" ".join(text.split()))
    kept = text
    while kept and width_of(kept, size) > width:
        left = len(kept.replace("…", "")) - 1
        kept = f"{text[: (left + 1) // 2]}…{text[len(text) - left // 2 :]}"
    return kept


def width_of(text: str, size: float = SMALL) -> float:
    """Return about how wide a text is, in a font that is none of the narrow ones."""
    narrow = sum(letter in "fijlrt.,:;'|!()[]-_ " for letter in text)
    wide = sum(letter.isupper() + 2 * (letter in "mwMW@%") for letter in text)
    return (0.65 * cell_len(text) - 0.25 * narrow + 0.1 * wide) * size / 72
