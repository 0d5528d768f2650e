"""Baselines: what monitors said of a stream, kept as text beside the code, to be compared with now."""

from farm.gate.baseline.baseline import Baseline, before, load_baseline, paired_sets, side_by_side
from farm.gate.baseline.comparison import BaselineComparison, compare_with_baseline
from farm.gate.baseline.difference import PairedDifference, paired_differences
from farm.gate.baseline.entry import BaselineRun
from farm.gate.baseline.saving import Renewed, save_baseline

__all__ = [
    "Baseline",
    "BaselineComparison",
    "BaselineRun",
    "PairedDifference",
    "Renewed",
    "before",
    "compare_with_baseline",
    "load_baseline",
    "paired_differences",
    "paired_sets",
    "save_baseline",
    "side_by_side",
]
