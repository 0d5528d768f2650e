"""The critical-difference diagram: monitors by mean rank, joined by a bar where they cannot be told apart.

It draws what `farm.statistics.ranks` found and computes no statistic. The axis, the names and the bars are
scikit-posthocs'; the bar of the critical difference and all the words are added here. Neither pyplot nor the
user's matplotlib settings take part, and the same comparison gives the same file.
"""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from farm.errors import ParameterError
from farm.statistics.ranks import RankComparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = {
    # Each without the date or the version, which would make two files of one comparison differ.
    ".svg": {"Date": None, "Creator": None},
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
LINE = 0.26
"""Inches from one name to the next."""
INK, GREY = "#1a1a1a", "#8a8a8a"
BAR = "#b5341f"


def draw_critical_difference(comparison: RankComparison, path: Path, *, about: str = "") -> None:
    """Write the diagram as SVG, PNG or PDF, by the path's suffix.

    Parameters
    ----------
    comparison
        What to draw.
    path
        Where to.
    about
        What was compared on, such as a category of faults; the title begins with it.
    """
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise ParameterError(f"diagram '{path}': suffix '{path.suffix}'; expected {', '.join(FORMATS)}")
    # Imported late: these take a second, and `farm --help` must not wait for them.
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({"svg.hashsalt": "farm", "font.size": 9})
        figure = Figure(dpi=150, facecolor="white")
        FigureCanvasAgg(figure)
        _fill(figure, comparison, about)
        figure.savefig(path, bbox_inches="tight", pad_inches=0.15, metadata=FORMATS[suffix])


def _fill(figure: Figure, comparison: RankComparison, about: str) -> None:
    k = len(comparison.monitors)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    end = max(float(k), 1 + comparison.critical_difference)
    axes.set_xlim(1, end)
    bottom, top = _draw_ranks(axes, comparison) - 0.5, 3.2
    axes.set_ylim(bottom, top)
    figure.set_size_inches(5.5 + 0.1 * k, LINE * (top - bottom))
    axes.set_xticks(range(1, k + 1) if k <= 15 else sorted({1, *range(5, k + 1, 5), k}))
    axes.tick_params(axis="x", direction="in", pad=3, color=INK)
    _draw_critical_difference(axes, comparison)
    _write_words(figure, axes, comparison, about)


def _draw_ranks(axes: Axes, comparison: RankComparison) -> float:
    """Draw axis, names and bars, one line of names being 1 high; say how low the lowest name is."""
    from pandas import DataFrame
    from scikit_posthocs import critical_difference_diagram

    # Groups were found already: whoever shares one is given p = 1, all others p = 0.
    names = list(comparison.monitors)
    together = DataFrame(0.0, index=names, columns=names)
    for group in comparison.groups:
        together.loc[list(group), list(group)] = 1.0
    margin = 0.02 * (len(names) - 1)
    artists = critical_difference_diagram(
        dict(zip(names, comparison.mean_ranks, strict=True)),
        together,
        alpha=0.5,
        ax=axes,
        label_fmt_left="{label}  {rank:.2f}\N{NO-BREAK SPACE}",
        label_fmt_right="\N{NO-BREAK SPACE}{rank:.2f}  {label}",
        # A name with two dollar signs is a name, no formula.
        label_props={"parse_math": False},
        elbow_props={"color": GREY, "linewidth": 0.8, "clip_on": False},
        marker_props={"color": INK, "s": 12, "clip_on": False},
        crossbar_props={"color": INK, "linewidth": 2.5, "marker": "|", "markersize": 7, "clip_on": False},
        text_h_margin=margin,
    )
    for label in artists["labels"]:
        label.set_color(INK)
    # Their points come out of a set, in an order that changes from run to run; a bar needs its two ends.
    for (bar,) in artists["crossbars"]:
        ranks = [float(x) for x in bar.get_xdata()]
        bar.set_data([min(ranks), max(ranks)], [bar.get_ydata()[0]] * 2)
    return min(float(label.get_position()[1]) for label in artists["labels"])


def _draw_critical_difference(axes: Axes, comparison: RankComparison) -> None:
    width = comparison.critical_difference
    axes.plot([1, 1 + width], [1.7, 1.7], color=BAR, linewidth=2.5, marker="|", markersize=7, clip_on=False)
    label = f"CD = {width:.2f} (Nemenyi, \N{GREEK SMALL LETTER ALPHA} = {comparison.alpha:g})"
    axes.text(1, 2.15, label, color=BAR, va="bottom", ha="left")


def _write_words(figure: Figure, axes: Axes, comparison: RankComparison, about: str) -> None:
    """Put the title above and the explanation below, as wide as the diagram with its names."""
    figure.draw_without_rendering()
    box = axes.get_tightbbox()
    assert box is not None, "the axes are visible"
    corner = figure.transFigure.inverted()
    left, top = corner.transform((box.x0, box.y1))
    _, bottom = corner.transform((box.x0, box.y0))
    inch = 1 / figure.get_figheight()
    # A letter is about 0.55 times as wide as it is high.
    letters = int(box.width / figure.dpi * 72 / (8 * 0.55))

    def write(words: list[str], y: float, **style: Any) -> None:
        text = "\n".join(line for each in words for line in textwrap.wrap(each, letters))
        figure.text(left, y, text, ha="left", parse_math=False, color=INK, linespacing=1.35, **style)

    subtitle = _subtitle(comparison)
    rows = sum(len(textwrap.wrap(each, letters)) for each in subtitle)
    write(subtitle, top + 0.1 * inch, va="bottom", fontsize=8)
    above = top + (0.2 + 0.16 * rows) * inch
    write([_title(comparison, about)], above, va="bottom", fontsize=11, weight="bold")
    write(_footnotes(comparison), bottom - 0.1 * inch, va="top", fontsize=8)


def _title(comparison: RankComparison, about: str) -> str:
    direction = "higher is better" if comparison.higher_is_better else "lower is better"
    return f"{about + ': ' if about else ''}{comparison.measure} ({direction})"


def _subtitle(comparison: RankComparison) -> list[str]:
    best = (
        f"Mean rank over {comparison.counted}. Rank 1 is a set's best monitor: a lower mean rank is better."
    )
    return [best] + ([f"{comparison.too_few}."] if comparison.too_few else [])


def _footnotes(comparison: RankComparison) -> list[str]:
    joined = "Monitors joined by a black bar cannot be told apart: their mean ranks differ by at most CD."
    if comparison.too_few:
        joined = "So few sets tell no monitors apart, so one bar joins them all, whatever CD is."
    elif not comparison.any_differ:
        joined = "No difference between the monitors is shown, so one bar joins them all, whatever CD is."
    return [joined, comparison.tests[0] + ".", *(f"Note: {note}." for note in comparison.notes)]
