"""Which whole design is safer, and which is cheaper: classifier, monitor, policy and fallback together."""

from farm.comparing.systems.comparison import System, SystemComparison, SystemPair, compare_systems
from farm.comparing.systems.designs import Design

__all__ = ["Design", "System", "SystemComparison", "SystemPair", "compare_systems"]
