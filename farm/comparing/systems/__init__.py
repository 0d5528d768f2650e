"""Which whole design is safer, and which is cheaper: classifier, monitor, policy and fallback together."""

from farm.comparing.systems.comparison import compare_systems
from farm.comparing.systems.designs import SystemDesign
from farm.comparing.systems.found import System, SystemComparison, SystemPair

__all__ = ["System", "SystemComparison", "SystemDesign", "SystemPair", "compare_systems"]
