"""What helps to test components, ours and other people's: checks of monitors, fakes with the real interface.

The checks load torch, which the fakes do without: they are imported when they are first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from farm.testing.assertions import assert_monitor
    from farm.testing.benchmark import Benchmark
    from farm.testing.made_readouts import make_readouts
    from farm.testing.monitor_checks import RULES, check_monitor, check_monitors
    from farm.testing.rules import Finding, MonitorCheckError, Report
    from farm.testing.small_system import SmallSystem

HOMES = {
    "Benchmark": "benchmark",
    "RULES": "monitor_checks",
    "assert_monitor": "assertions",
    "check_monitor": "monitor_checks",
    "check_monitors": "monitor_checks",
    "make_readouts": "made_readouts",
    "Finding": "rules",
    "MonitorCheckError": "rules",
    "Report": "rules",
    "SmallSystem": "small_system",
}

__all__ = [
    "RULES",
    "Benchmark",
    "Finding",
    "MonitorCheckError",
    "Report",
    "SmallSystem",
    "assert_monitor",
    "check_monitor",
    "check_monitors",
    "make_readouts",
]


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.{HOMES[name]}"), name)
