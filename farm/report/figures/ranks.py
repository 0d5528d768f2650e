"""The critical-difference diagram: monitors by mean rank, joined by a bar where they cannot be told apart.

It draws what `farm.statistics.ranks` found and computes no statistic. The axis, the names and the bars are
scikit-posthocs'; the bar of the critical difference and all the words are added here.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from farm.report.figures import style
from farm.report.output import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from farm.statistics.ranks import RankComparison

NAME_HEIGHT, NAME_WIDTH = 0.26, 4.0
"""Inches from one name to the next, and how wide one with its rank may be."""


@style.applied()
def critical_difference(comparison: RankComparison, *, about: str = "") -> Figure:
    """Draw the diagram of a comparison by ranks.

    Parameters
    ----------
    comparison
        What to draw.
    about
        What was compared on, such as a category of faults; the title begins with it.

    Examples
    --------
    >>> from farm.measures.measure import Measure
    >>> from farm.statistics.ranks import compare_ranks
    >>> from farm.statistics.table import full_table
    >>> cells = {(f"fog {i}", m): Measure(at + i) for i in range(7) for m, at in (("a", 0), ("b", 1))}
    >>> ranks = compare_ranks(full_table(cells, "mcc", higher_is_better=True, a_set_is="one fault"))
    >>> [text.get_text() for text in critical_difference(ranks, about="shift").texts][1]
    'shift: mcc (higher is better)'
    """
    k = len(comparison.monitors)
    sheet = style.figure(5, 5)
    sheet.beyond = True  # the names stand outside the axes
    axes = sheet.add_axes((0.0, 0.0, 1.0, 1.0))
    end = max(float(k), 1 + comparison.critical_difference)
    axes.set_xlim(1, end)
    bottom, top = _draw_ranks(axes, comparison) - 0.5, 3.2
    axes.set_ylim(bottom, top)
    sheet.set_size_inches(5.5 + 0.1 * k, NAME_HEIGHT * (top - bottom))
    axes.set_xticks(range(1, k + 1) if k <= 15 else sorted({1, *range(5, k + 1, 5), k}))
    axes.tick_params(axis="x", direction="in", pad=3, color=style.INK)
    _draw_critical_difference(axes, comparison)
    _write_words(sheet, axes, comparison, about)
    return sheet


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
        elbow_props={"color": style.LINE, "linewidth": 0.8, "clip_on": False},
        marker_props={"color": style.INK, "s": 12, "clip_on": False},
        crossbar_props={
            "color": style.INK,
            "linewidth": 2.5,
            "marker": "|",
            "markersize": 7,
            "clip_on": False,
        },
        text_h_margin=margin,
    )
    for label in artists["labels"]:
        label.set_color(style.INK)
        text = visible(label.get_text()).replace("\n", " ")
        label.set_text(text if style.width_of(text) < NAME_WIDTH else style.shortened(text, NAME_WIDTH))
    # Their points come out of a set, in an order that changes from run to run; a bar needs its two ends.
    for (bar,) in artists["crossbars"]:
        ranks = [float(x) for x in bar.get_xdata()]
        bar.set_data([min(ranks), max(ranks)], [bar.get_ydata()[0]] * 2)
    return min(float(label.get_position()[1]) for label in artists["labels"])


def _draw_critical_difference(axes: Axes, comparison: RankComparison) -> None:
    width = comparison.critical_difference
    own: dict[str, Any] = {"color": style.ALARM, "linewidth": 2.5, "markersize": 7}
    axes.plot([1, 1 + width], [1.7, 1.7], marker="|", clip_on=False, **own)
    label = f"CD = {width:.2f} (Nemenyi, \N{GREEK SMALL LETTER ALPHA} = {comparison.alpha:g})"
    axes.text(1, 2.15, label, color=style.ALARM, va="bottom", ha="left")


def _write_words(sheet: Figure, axes: Axes, comparison: RankComparison, about: str) -> None:
    """Put the title above and the explanation below, as wide as the diagram with its names."""
    sheet.draw_without_rendering()
    box = axes.get_tightbbox()
    assert box is not None, "the axes are visible"
    corner = sheet.transFigure.inverted()
    left, top = corner.transform((box.x0, box.y1))
    _, bottom = corner.transform((box.x0, box.y0))
    inch = 1 / sheet.get_figheight()
    # A letter is about 0.55 times as wide as it is high.
    letters = int(box.width / sheet.dpi * 72 / (8 * 0.55))

    def write(words: list[str], y: float, **options: Any) -> None:
        text = "\n".join(line for each in words for line in textwrap.wrap(visible(each), letters))
        sheet.text(left, y, text, ha="left", color=style.INK, linespacing=1.35, **options)

    subtitle = _subtitle(comparison)
    rows = sum(len(textwrap.wrap(each, letters)) for each in subtitle)
    write(subtitle, top + 0.1 * inch, va="bottom", fontsize=style.SMALL)
    above = top + (0.2 + 0.16 * rows) * inch
    write([_title(comparison, about)], above, va="bottom", fontsize=style.LARGE, weight="bold")
    write(_footnotes(comparison), bottom - 0.1 * inch, va="top", fontsize=style.SMALL)


def _title(comparison: RankComparison, about: str) -> str:
    direction = "higher is better" if comparison.higher_is_better else "lower is better"
    return f"{about + ': ' if about else ''}{comparison.measure} ({direction})"


def _subtitle(comparison: RankComparison) -> list[str]:
    best = (
        f"Mean rank over {comparison.counted}. Rank 1 is a set's best monitor: a lower mean rank is better."
    )
    return [best] + ([f"{comparison.too_few}."] if comparison.too_few else [])


def _footnotes(comparison: RankComparison) -> list[str]:
    joined = "Monitors joined by a bar cannot be told apart: their mean ranks differ by at most CD."
    if comparison.too_few:
        joined = "So few sets tell no monitors apart, so one bar joins them all, whatever CD is."
    elif not comparison.any_differ:
        joined = "No difference between the monitors is shown, so one bar joins them all, whatever CD is."
    return [joined, comparison.tests[0] + ".", *(f"Note: {note}." for note in comparison.notes)]
