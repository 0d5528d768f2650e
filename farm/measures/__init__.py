"""Pure functions from counts or arrays to numbers, or to the reason why there is none."""

from farm.measures.accumulate import Accumulator
from farm.measures.along_time import FalseAlarms, Series, windowed_series
from farm.measures.bounded import Bounded
from farm.measures.calibration import calibration_measures, confidence_auroc, ece, reliability
from farm.measures.classification import (
    Agreement,
    accepted_accuracy,
    classifier_accuracy,
    coverage,
    multiclass_mcc,
    relative_change,
    system_outcome,
)
from farm.measures.cost import Costs, CostTally
from farm.measures.decision import balanced_accuracy, trimmed_accuracy, trimmed_counts
from farm.measures.delay import OUTSIDE, Delays, false_alarms_per_1000
from farm.measures.detection import (
    OVERALL,
    SPECIFIC,
    Counts,
    Wording,
    availability_cost,
    detection_measures,
    error,
    fnr,
    fpr,
    mcc,
    micro_f1,
    precision,
    recall,
    residual_hazard,
    safety_gain,
    weighted_f1,
)
from farm.measures.histogram import Histogram
from farm.measures.intervals import wilson
from farm.measures.localization import (
    gaussian_nll,
    iou,
    kuleshov_error,
    mae,
    mean_iou,
    quantile_table,
    regression_ece,
)
from farm.measures.measure import Measure, ratio, undefined
from farm.measures.per_class import ClassResult, per_label, per_predicted
from farm.measures.prevalence import AtPrevalence, at_prevalence
from farm.measures.probabilities import accuracy, brier_mean, brier_sum, nll
from farm.measures.ranking import Separation, aupr, aupr_id, auroc, detection_error, fpr_at_tpr, least_error
from farm.measures.risk import RiskCoverage, aurc, excess_aurc
from farm.measures.score_histogram import ScoreHistogram
from farm.measures.tally import Tally

__all__ = [
    "OUTSIDE",
    "OVERALL",
    "SPECIFIC",
    "Accumulator",
    "Agreement",
    "AtPrevalence",
    "Bounded",
    "ClassResult",
    "CostTally",
    "Costs",
    "Counts",
    "Delays",
    "FalseAlarms",
    "Histogram",
    "Measure",
    "RiskCoverage",
    "ScoreHistogram",
    "Separation",
    "Series",
    "Tally",
    "Wording",
    "accepted_accuracy",
    "accuracy",
    "at_prevalence",
    "aupr",
    "aupr_id",
    "aurc",
    "auroc",
    "availability_cost",
    "balanced_accuracy",
    "brier_mean",
    "brier_sum",
    "calibration_measures",
    "classifier_accuracy",
    "confidence_auroc",
    "coverage",
    "detection_error",
    "detection_measures",
    "ece",
    "error",
    "excess_aurc",
    "false_alarms_per_1000",
    "fnr",
    "fpr",
    "fpr_at_tpr",
    "gaussian_nll",
    "iou",
    "kuleshov_error",
    "least_error",
    "mae",
    "mcc",
    "mean_iou",
    "micro_f1",
    "multiclass_mcc",
    "nll",
    "per_label",
    "per_predicted",
    "precision",
    "quantile_table",
    "ratio",
    "recall",
    "regression_ece",
    "relative_change",
    "reliability",
    "residual_hazard",
    "safety_gain",
    "system_outcome",
    "trimmed_accuracy",
    "trimmed_counts",
    "undefined",
    "weighted_f1",
    "wilson",
    "windowed_series",
]
