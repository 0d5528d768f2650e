"""Every figure of a report: from statistics that are computed already to a picture, in one style.

Importing this loads no matplotlib: each figure does when it is drawn. `save` writes one to a file, and
`as_svg` makes it a part of an HTML page.
"""

from farm.report.figures.accuracies import accuracies_by_source, mean_accuracies, optimism_gaps
from farm.report.figures.along_stream import ScoresOverTime, along_stream
from farm.report.figures.boxes import BoxedImage, box_reliability, boxes_on_images
from farm.report.figures.classifier import confusion, reliability
from farm.report.figures.curves import (
    Calibrated,
    ScoreCurves,
    precision_recall,
    risk_coverage,
    roc,
    score_curves,
)
from farm.report.figures.delays import DelayCurve, delay_curves
from farm.report.figures.differing import comparison_intervals
from farm.report.figures.heat import heat_colour, heat_map
from farm.report.figures.lines import growth_curves, lines_over_levels, training_curves
from farm.report.figures.occlusion import OccludedImage, occlusion_maps, precision_curve
from farm.report.figures.output import FORMATS, as_svg, check_target, save
from farm.report.figures.plane import plane
from farm.report.figures.ranks import critical_difference
from farm.report.figures.reliabilities import reliabilities
from farm.report.figures.scores import MonitorScores, score_distributions
from farm.report.figures.severity import severity_curves
from farm.report.figures.spreads import means_with_spread
from farm.report.figures.style import DARK, VARIABLES, Look
from farm.report.figures.timeline import PlannedInterval, timeline
from farm.report.figures.worth import specific_and_overall, trade_off, worth_against_cost

__all__ = [
    "DARK",
    "FORMATS",
    "VARIABLES",
    "BoxedImage",
    "Calibrated",
    "DelayCurve",
    "Look",
    "MonitorScores",
    "OccludedImage",
    "PlannedInterval",
    "ScoreCurves",
    "ScoresOverTime",
    "accuracies_by_source",
    "along_stream",
    "as_svg",
    "box_reliability",
    "boxes_on_images",
    "check_target",
    "comparison_intervals",
    "confusion",
    "critical_difference",
    "delay_curves",
    "growth_curves",
    "heat_colour",
    "heat_map",
    "lines_over_levels",
    "mean_accuracies",
    "means_with_spread",
    "occlusion_maps",
    "optimism_gaps",
    "plane",
    "precision_curve",
    "precision_recall",
    "reliabilities",
    "reliability",
    "risk_coverage",
    "roc",
    "save",
    "score_curves",
    "score_distributions",
    "severity_curves",
    "specific_and_overall",
    "timeline",
    "trade_off",
    "training_curves",
    "worth_against_cost",
]
