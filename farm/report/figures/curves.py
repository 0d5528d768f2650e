"""What scores are worth at every threshold: ROC, precision against recall, risk against coverage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from farm.measures.curve import Curve
from farm.measures.ranking import RiskCoverage
from farm.report.figures import style
from farm.report.figures.keys import Legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS = 50
"""So many show a curve as all of its points would."""
NOTE = "Marker: the threshold a monitor is calibrated to."
FEWEST = 0.02
"""From this coverage on the risk is drawn."""
REASONS = 3
"""So many reasons for curves that are missing are told."""

Point = tuple[float, float]


@dataclass(frozen=True)
class Calibrated:
    """Where a monitor stands in each of the three pictures with the threshold that it is calibrated to."""

    roc: Point | None = None
    precision_recall: Point | None = None
    risk_coverage: Point | None = None


@dataclass(frozen=True)
class ScoreCurves:
    """All curves of one monitor."""

    monitor: str
    roc: Curve
    precision_recall: Curve
    risk_coverage: RiskCoverage
    at: Calibrated = Calibrated()


def roc(curves: Sequence[ScoreCurves], *, title: str = "") -> Figure:
    """Draw the share of OOD instances found against that of false alarms.

    Examples
    --------
    >>> from farm.measures.ranking import Separation
    >>> scores, wrong = np.array([0.1, 0.3, 0.3, 0.4]), np.array([False, False, True, True])
    >>> separation = Separation.of(scores, wrong)
    >>> curves = separation.roc(), separation.precision_recall(), RiskCoverage.of(scores, wrong)
    >>> axes = roc([ScoreCurves("oob", *curves, Calibrated(roc=(0.0, 0.5)))]).axes[0]
    >>> axes.get_xlabel(), axes.get_ylabel()
    ('False alarms: share of ID flagged', 'Found: share of OOD flagged')
    """
    return _draw(curves, [_roc], title)


def precision_recall(curves: Sequence[ScoreCurves], *, title: str = "") -> Figure:
    """Draw how many alarms are right against how much of OOD is found; see `roc`."""
    return _draw(curves, [_precision_recall], title)


def risk_coverage(curves: Sequence[ScoreCurves], *, title: str = "") -> Figure:
    """Draw how often accepted decisions are wrong against how many are accepted; see `roc`."""
    return _draw(curves, [_risk_coverage], title)


def score_curves(curves: Sequence[ScoreCurves], *, title: str = "") -> Figure:
    """Draw all three side by side; see `roc`."""
    return _draw(curves, [_roc, _precision_recall, _risk_coverage], title)


@style.applied()
def _draw(curves: Sequence[ScoreCurves], kinds: Sequence[Kind], title: str) -> Figure:
    if not curves:
        return style.said("No monitor has scores here.", title=title)
    if all(
        each.roc.why_not and each.precision_recall.why_not and each.risk_coverage.why_not for each in curves
    ):
        return style.said(f"No curve is defined: {curves[0].roc.why_not}.", title=title)
    size, gap = (2.6, 0.72) if len(kinds) > 1 else (4.2, 0.6)
    width = 0.1 + len(kinds) * (gap + size)
    legend = Legend([each.monitor for each in curves], width - gap)
    notes = _notes(curves)
    top = legend.height + style.LINE_HEIGHT * len(notes) + 0.6
    sheet = style.figure(width, top + size + 0.3, title=title)
    for place, kind in enumerate(kinds):
        axes = style.panel(sheet, gap + place * (gap + size), top, size, size)
        axes.set(xlim=(0, 1), ylim=(0, 1))
        kind(axes, curves)
    legend.draw(sheet, gap, top - 0.5)
    for row, note in enumerate(notes):
        y = top - 0.64 - legend.height - row * style.LINE_HEIGHT
        style.write(sheet, gap, y, style.shortened(note, width - 0.8))
    return sheet


def _notes(curves: Sequence[ScoreCurves]) -> list[str]:
    """Say what the marker is, and why which monitors have no curve."""
    missing: dict[str, list[str]] = {}
    for each in curves:
        why = each.roc.why_not or each.precision_recall.why_not or each.risk_coverage.why_not
        if why:
            missing.setdefault(why, []).append(each.monitor)
    marked = any(each.at != Calibrated() for each in curves)
    told = [f"\N{EN DASH} {why}: {', '.join(names)}" for why, names in list(missing.items())[:REASONS]]
    return [*([NOTE] if marked else []), *told]


def _roc(axes: Axes, curves: Sequence[ScoreCurves]) -> None:
    axes.plot([0, 1], [0, 1], **style.REFERENCE)
    style.write(axes, 0.97, 0.9, "chance", ha="right", rotation=45)
    _lines(axes, [each.roc for each in curves], [each.at.roc for each in curves])
    words = {"x": "False alarms: share of ID flagged", "y": "Found: share of OOD flagged"}
    style.name_panel(axes, "ROC", "better ↖", **words)
    style.ticks(axes, x=style.unit(), y=style.unit())


def _precision_recall(axes: Axes, curves: Sequence[ScoreCurves]) -> None:
    drawn = [each.precision_recall for each in curves]
    share = next((float(curve.y[-1]) for curve in drawn if not curve.why_not), None)
    if share is not None:
        _level(axes, share, "chance")
    _lines(axes, drawn, [each.at.precision_recall for each in curves])
    words = {"x": "Recall: share of OOD found", "y": "Precision: share of alarms that are right"}
    style.name_panel(axes, "Precision and recall", "better ↗", **words)
    style.ticks(axes, x=style.unit(), y=style.unit())


def _risk_coverage(axes: Axes, curves: Sequence[ScoreCurves]) -> None:
    drawn = [_curve(each.risk_coverage) for each in curves]
    risks = [curve for curve in drawn if not curve.why_not]
    if risks:
        axes.set_ylim(0, max(1.08 * max(float(curve.y.max()) for curve in risks), 0.01))
        _level(axes, float(risks[0].y[-1]), "no monitor")
    _lines(axes, drawn, [each.at.risk_coverage for each in curves])
    words = {"x": "Coverage: share accepted", "y": "Risk: share wrong among accepted"}
    style.name_panel(axes, "Risk and coverage", "better ↓", **words)
    style.ticks(axes, x=style.unit(), y=style.steps(*axes.get_ylim()))


Kind = Callable[["Axes", Sequence[ScoreCurves]], None]


def _curve(each: RiskCoverage) -> Curve:
    """Return what is to be seen: among the very first instances the risk jumps from 0 to 1 and back."""
    if each.why_not:
        return Curve.nowhere(each.why_not)
    seen = each.coverage >= FEWEST
    return Curve(each.coverage[seen], each.risk[seen])


def _level(axes: Axes, height: float, words: str) -> None:
    axes.plot([0, 1], [height, height], **style.REFERENCE)
    low, high = axes.get_ylim()
    style.write(axes, 0.01, height + 0.015 * (high - low), words)


def _lines(axes: Axes, curves: Sequence[Curve], points: Sequence[Point | None]) -> None:
    for index, (curve, point) in enumerate(zip(curves, points, strict=True)):
        look = style.Look.of(index)
        if not curve.why_not:
            thin = curve.thinned(POINTS)
            axes.plot(thin.x, thin.y, color=look.colour, linestyle=look.dashes, linewidth=1.4, clip_on=False)
        if point is not None and all(np.isfinite(point)):
            axes.plot(*point, color=look.colour, marker=look.marker, zorder=3, **style.POINT)
