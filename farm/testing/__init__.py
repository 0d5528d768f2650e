"""What helps to test components, ours and other people's: checks of monitors, fakes with the real interface.

The checks load torch, which the fakes do without: they are imported when they are first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from farm.testing.monitor_checks import RULES, check_monitor, check_monitors
    from farm.testing.rules import Finding, MonitorCheckError, Report
    from farm.testing.small_system import SmallSystem

HOMES = {
    "RULES": "monitor_checks",
    "check_monitor": "monitor_checks",
    "check_monitors": "monitor_checks",
    "Finding": "rules",
    "MonitorCheckError": "rules",
    "Report": "rules",
    "SmallSystem": "small_system",
}

__all__ = [
    "RULES",
    "Finding",
    "MonitorCheckError",
    "Report",
    "SmallSystem",
    "check_monitor",
    "check_monitors",
]


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.{HOMES[name]}"), name)
