"""Pure functions from counts or arrays to numbers, or to the reason why there is none.

Here is what most of the house speaks of; all else is imported from its own module.
"""

from farm.measures.detection import OVERALL, SPECIFIC, Counts
from farm.measures.measure import Bounded, Measure, ratio, undefined, wilson
from farm.measures.ranking import Separation, auroc

__all__ = [
    "OVERALL",
    "SPECIFIC",
    "Bounded",
    "Counts",
    "Measure",
    "Separation",
    "auroc",
    "ratio",
    "undefined",
    "wilson",
]
