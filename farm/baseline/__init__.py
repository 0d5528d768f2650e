"""Baselines: what monitors said of a stream, kept as text beside the code, to be compared with now."""

from farm.baseline.baseline import Baseline, load_baseline
from farm.baseline.comparing import (
    BaselineComparison,
    compare_with_baseline,
)
from farm.baseline.difference import PairedDifference, paired_differences
from farm.baseline.kept import Kept
from farm.baseline.pairing import before, both_sides, paired_sets, side_by_side
from farm.baseline.saving import Renewed, save_baseline

__all__ = [
    "Baseline",
    "BaselineComparison",
    "Kept",
    "PairedDifference",
    "Renewed",
    "before",
    "both_sides",
    "compare_with_baseline",
    "load_baseline",
    "paired_differences",
    "paired_sets",
    "save_baseline",
    "side_by_side",
]
