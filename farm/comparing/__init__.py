"""From judged runs to claims: which monitor is better, on which faults, by how much, and how sure that is.

Two kinds of claim are kept apart. *On these streams*: the instances are resampled, whole tracks at a time,
and the claim is about streams of this kind. *Over benchmark sets*: the sets are what is counted, and the
claim is about faults of this category.
"""

from farm.comparing.comparison import BY, Comparison, compare_runs
from farm.comparing.conclusions import Conclusion
from farm.comparing.measures import MEASURES, Measured, measured
from farm.comparing.sections import Section, Standing
from farm.comparing.sets import BenchmarkSet, benchmark_sets

__all__ = [
    "BY",
    "MEASURES",
    "BenchmarkSet",
    "Comparison",
    "Conclusion",
    "Measured",
    "Section",
    "Standing",
    "benchmark_sets",
    "compare_runs",
    "measured",
]
